/* Draws a scene as a camera sees it, by casting a ray for every pixel. An eye belongs to one camera and is used by one
 * thread at a time; the scene is only read. The same scene, pose and program give the same bits.
 *
 *     nm_cast(eye, &scene, camera_to_field);                 light and things of every pixel
 *     nm_develop(eye, &shutter, seed, NM_YUYV, bytes);       what the camera's electronics make of it (picture.h)
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "sim/lens.h"
#include "sim/scene.h"

/* Light is packed in 10 bits a channel: red lowest. NM_FULL_LIGHT is white in full light, brighter lamps burn out. */
enum { NM_FULL_LIGHT = 800 };

struct nm_eye {
    const struct nm_lens_map *lens;
    struct pose3 to_field; /* of the last picture */
    uint32_t *light;       /* lens->stride x 16 tiles_y                       */
    uint8_t *things;       /* enum nm_thing, the same size                    */
    float *range;          /* m from the camera, the same size; NULL unless nm_eye_measures was called */

    int8_t *grains; /* sim/grain.h */

    /* scratch */
    float *node[3];          /* directions in the field's axes                */
    struct nm_sight *sights; /* the solids that may show, with their outlines */
    uint32_t n_sights;
    uint16_t *column;   /* for each tile of a row: indices of those that touch it, NM_SCENE_SOLIDS a tile */
    uint16_t *column_n; /* and how many they are                         */
};

/* Many eyes may share a lens map. Memory is the arena's. */
struct nm_eye *nm_eye_new(struct nm_arena *arena, const struct nm_lens_map *lens);

/* From now on pictures have `range`, as those of a depth camera. */
void nm_eye_measures(struct nm_eye *eye, struct nm_arena *arena);

void nm_cast(struct nm_eye *eye, const struct nm_scene *scene, struct pose3 camera_to_field);
