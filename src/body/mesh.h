/* The corners of a robot's meshes: STL (binary and text), OBJ and COLLADA. Faces are not needed, because shapes are
 * fitted around the corners (shapes.c). Files are taken as hostile: limits on size and number, finite numbers only, no
 * document type. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/geometry.h"

enum { NM_MESH_SIZE = 64 << 20, NM_MESH_POINTS = 4 << 20 };

struct nm_mesh {
    uint32_t n;
    struct vec3 *points; /* m, in the mesh's own axes */
};

/* -1 with a sentence that names the file. What kind it is follows from its bytes. */
int nm_mesh_parse(struct nm_arena *arena, const char *file, const char *bytes, size_t size, struct nm_mesh *mesh,
                  struct nm_err *err);

/* The mesh whose file a URDF in the folder `beside` writes as a path, file://… or package://PACKAGE/…: the package is
 * looked for in that folder and in those above it. */
int nm_mesh_read(struct nm_arena *arena, const char *beside, const char *name, struct nm_mesh *mesh,
                 struct nm_err *err);
