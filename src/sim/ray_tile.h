/* The 256 rays of a tile while it is drawn, all in the field's axes. A ray is origin + t (dx, dy, dz); directions are
 * nearly, not exactly, of length 1. Arrays, not structs, so that every loop over them is a vector loop. */
#pragma once

#include <stdint.h>

#include "sim/lens.h"
#include "sim/scene.h"

struct ray_tile {
    float dx[NM_TILE_PIXELS], dy[NM_TILE_PIXELS], dz[NM_TILE_PIXELS];
    float t[NM_TILE_PIXELS];
    float r[NM_TILE_PIXELS], g[NM_TILE_PIXELS], b[NM_TILE_PIXELS];
    int32_t thing[NM_TILE_PIXELS];
    int32_t hit[NM_TILE_PIXELS]; /* scratch: -1 where the last solid was hit, else 0 */
} __attribute__((aligned(64)));

/* A frame's constants. */
struct ray_view {
    const struct nm_scene *scene;
    float origin[3];
    float axes[3][3]; /* optical to field, rows */
};

/* How far rays of neighbouring pixels differ in this tile, along u and v. */
struct ray_spread {
    float du[3], dv[3];
};

/* a where the mask is all ones, b where it is zero: never a branch, so loops stay vector loops. */
static inline __attribute__((always_inline)) float ray_pick(int32_t mask, float a, float b)
{
    union {
        float f;
        int32_t i;
    } x = {.f = a}, y = {.f = b};
    x.i = (x.i & mask) | (y.i & ~mask);
    return x.f;
}
static inline __attribute__((always_inline)) float ray_least(float a, float b) { return a < b ? a : b; }
static inline __attribute__((always_inline)) float ray_most(float a, float b) { return a > b ? a : b; }

/* Light comes from lamps under the ceiling, all along the hall: mostly from above, a little more from one side. */
enum { RAY_NEAR_MM = 20 }; /* nothing nearer than this is drawn */
#define RAY_AMBIENT 0.62f
#define RAY_LIGHT_X 0.05f
#define RAY_LIGHT_Y (-0.09f)
#define RAY_LIGHT_Z 0.33f

/* A solid as seen from its own frame. */
struct ray_local {
    float o[3];     /* origin of the rays             */
    float m[3][3];  /* field to solid                 */
    float light[3]; /* RAY_LIGHT in the solid's frame */
    float half[3];
    float colour[3];
    int32_t thing;
    enum nm_solid_kind kind;
    enum nm_coat coat;
    uint32_t number;
    uint64_t tag;
};

/* Ground, lines and hall behind everything; fills t, colours and things. */
void ray_background(const struct ray_view *view, struct ray_tile *tile, const struct ray_spread *spread);

struct ray_local ray_localise(const struct ray_view *view, const struct nm_solid *solid);

/* One solid in front of what was drawn so far, on the pixels from `from` to before `to`, both multiples of NM_TILE. */
void ray_solid(struct ray_tile *tile, const struct ray_local *solid, int from, int to);
