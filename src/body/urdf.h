/* Reads a robot's URDF, or xacro that is expanded first, into plain arrays. The file is taken as hostile: no document
 * type and so no entities, limits on size, depth, names and counts, finite numbers only, one root, no loop. Faults are
 * sentences `file:line: …`. Elements that are not geometry, mass or joints (gazebo, transmission, …) are skipped.
 * Format: the URDF XML specification. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/geometry.h"

enum {
    NM_URDF_SIZE = 8 << 20, /* bytes of text             */
    NM_URDF_DEPTH = 32,     /* nested elements           */
    NM_URDF_NAME = 128,     /* characters of a name      */
    NM_URDF_LINKS = 512,    /* links, and so joints      */
    NM_URDF_SHAPES = 8192,  /* visual and collision ones */
};

enum nm_joint_type { NM_FIXED, NM_REVOLUTE, NM_CONTINUOUS, NM_PRISMATIC };
enum nm_shape_kind { NM_BOX, NM_SPHERE, NM_CYLINDER, NM_MESH };

struct nm_link_shape {
    enum nm_shape_kind kind;
    struct vec3 size;     /* box: edges; sphere: x radius; cylinder: x radius, z length along its z axis; mesh: scale */
    const char *mesh;     /* the file's name as written, NULL unless a mesh                                           */
    struct pose3 to_link; /* shape to the link it belongs to                                                          */
    float rgba[4];        /* colour of a visual shape, light grey if none is given                                    */
    uint32_t link;        /* index of that link                                                                       */
    bool round;           /* a cylinder with round ends: a capsule, whose length includes them                        */
    bool guessed;         /* stands for a mesh whose file was not found                                               */
    uint32_t frame;       /* in a body: index of the frame that was its URDF link                                     */
};

/* How far a shape reaches from its own origin along a direction, if it is turned by `rot`. A mesh has no size. */
static inline double nm_shape_reach(const struct nm_link_shape *shape, struct quat rot, struct vec3 direction)
{
    struct vec3 d = quat_apply(quat_inv(rot), direction), size = shape->size;
    switch (shape->kind) {
    case NM_BOX: return (fabs(d.x) * size.x + fabs(d.y) * size.y + fabs(d.z) * size.z) / 2;
    case NM_SPHERE: return size.x;
    case NM_CYLINDER: return size.x * hypot(d.x, d.y) + size.z / 2 * fabs(d.z);
    case NM_MESH: break;
    }
    return 0;
}

struct nm_inertia {
    double mass;
    struct vec3 com;               /* in the link's frame                                */
    double xx, yy, zz, xy, xz, yz; /* tensor about the centre of mass, axes of the link  */
};

struct nm_urdf_link {
    const char *name;
    uint32_t line;
    int32_t joint; /* that carries it, -1 for the root */
    struct nm_inertia inertia;
};

struct nm_urdf_joint {
    const char *name;
    uint32_t line;
    enum nm_joint_type type;
    uint32_t parent, child;   /* links                                                          */
    struct pose3 to_parent;   /* the joint's frame, which is the child's at zero, to the parent */
    struct vec3 axis;         /* length 1, in the joint's frame                                 */
    bool limited;             /* false: continuous, or no limit was written                     */
    double lower, upper;      /* rad, m                                                         */
    double velocity, effort;  /* rad/s, Nm; infinite where not written                          */
    double damping, friction; /* Nm s/rad, Nm                                                   */
    int32_t mimic;            /* joint it follows: q = multiplier * q[mimic] + offset; or -1    */
    double multiplier, offset;
};

struct nm_urdf {
    const char *name, *file;
    uint32_t n_links, n_joints, n_visuals, n_collisions;
    uint32_t root; /* link */
    struct nm_urdf_link *links;
    struct nm_urdf_joint *joints;
    struct nm_link_shape *visuals, *collisions;
    const char *text;     /* as it was read, with xacro expanded; NULL if it was not a file */
    struct nm_err *notes; /* what was read but is odd: sentences, never NULL */
};

/* NULL after a fault. `file` names the text in sentences. All memory is the arena's. */
struct nm_urdf *nm_urdf_parse(struct nm_arena *arena, const char *file, const char *text, size_t size,
                              struct nm_err *err);
struct nm_urdf *nm_urdf_read(struct nm_arena *arena, const char *path, struct nm_err *err);
