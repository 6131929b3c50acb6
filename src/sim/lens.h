/* The rays of a camera. Directions are worked out by the camera's own lens model once, on a grid of every 8th pixel,
 * and interpolated between: with strong distortion (k1 = -0.4 at 640 pixels) the error stays below 0.05 pixels, and no
 * table of the picture's size travels through the cache. The picture is cut in tiles of 16 x 16 pixels. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "body/camera.h"

enum {
    NM_TILE = 16, /* pixels a side                 */
    NM_TILE_PIXELS = 16 * 16,
    NM_NODE = 8,            /* pixels between two grid nodes */
    NM_PICTURE_SIDE = 4096, /* largest width and height      */
};

struct nm_lens_map {
    struct nm_camera camera;
    uint32_t tiles_x, tiles_y; /* the last ones may reach beyond the picture              */
    uint32_t stride;           /* pixels of a row in buffers: 16 tiles_x                  */
    uint32_t nodes_x, nodes_y; /* 2 tiles_x + 1, 2 tiles_y + 1                            */
    float *node[3];            /* directions in the optical frame: x right, y down, z out */
    float wide_cos, wide_sin;  /* of the angle between the axis and the outermost ray      */
    float bend;                /* how far straight lines bow in the picture: a chord of n pixels by n^2 bend, at most */
    uint8_t *blind;            /* stride x 16 tiles_y: 1 where the lens shows nothing; NULL if it shows everything */
};

/* NULL and a sentence if the picture is too large or the lens model sees nothing. Memory is the arena's. */
struct nm_lens_map *nm_lens_map_new(struct nm_arena *arena, const struct nm_camera *camera, struct nm_err *err);
