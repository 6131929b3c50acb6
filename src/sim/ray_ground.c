/* What every ray meets if nothing stands in its way: the carpet with its painted lines, the hall's floor, walls and
 * ceiling. Lines are painted by formula with the share of the pixel they cover, so that they neither flicker nor need a
 * texture. */
#include <math.h>

#include "sim/ray_tile.h"
#include "base/wide.h"

/* What is worth looking at in one tile. */
struct patch {
    float low[2], high[2];    /* the tile's ground in x and y                      */
    uint64_t paints, shadows; /* bit i: number i of the scene touches it           */
    bool carpet;              /* all rays meet the carpet                                                      */
    int face;                 /* through which all rays leave the hall, FACE_MANY if they differ               */
};

/* 0 to 3: the walls at -x, +x, -y, +y */
enum { FACE_FLOOR = 4, FACE_CEILING, FACE_MANY };

struct ground {
    float x[NM_TILE_PIXELS], y[NM_TILE_PIXELS];   /* the point of the floor           */
    float wx[NM_TILE_PIXELS], wy[NM_TILE_PIXELS]; /* extent of the pixel's patch      */
    float ix[NM_TILE_PIXELS], iy[NM_TILE_PIXELS]; /* and its inverse                  */
    float cover[NM_TILE_PIXELS];                  /* share of it that is painted      */
} __attribute__((aligned(64)));

#define INLINE static inline __attribute__((always_inline))

/* A number for a cell, by integer mixing as in MurmurHash3. */
INLINE uint32_t mix(int32_t x, int32_t y)
{
    uint32_t h = (uint32_t)x * 0x27d4eb2du + (uint32_t)y * 0x165667b1u;
    h = (h ^ (h >> 15)) * 0x85ebca6bu;
    return h ^ (h >> 13);
}

/* -0.5 to 0.5 */
INLINE float grain(int32_t x, int32_t y) { return (float)(int32_t)(mix(x, y) >> 9) * 0x1p-23f - 0.5f; }

INLINE int32_t cell(float x) { return (int32_t)(x + 4096) - 4096; }
INLINE float fraction(float x) { return x - (float)cell(x); }

/* `near` is one over the extent of a pixel there: what is finer than a pixel averages out */
INLINE void grass(float x, float y, float near, float rgb[3])
{
    float fine = 0.20f * ray_least(1, 0.010f * near), coarse = 0.05f * ray_least(1, 0.1f * near);
    float k = 1 + fine * grain(cell(x * 70), cell(y * 70)) + coarse * grain(cell(x * 9), cell(y * 9));
    rgb[0] = 0.150f * k;
    rgb[1] = 0.430f * k;
    rgb[2] = 0.170f * k;
}

INLINE void hall_floor(float x, float y, float rgb[3])
{
    float k = 0.46f + 0.05f * grain(cell(x * 1.25f), cell(y * 1.25f)) + 0.02f * grain(cell(x * 40), cell(y * 40));
    rgb[0] = k;
    rgb[1] = 0.97f * k;
    rgb[2] = 0.92f * k;
}

INLINE void ceiling(float x, float y, float rgb[3])
{
    int32_t lamp = -(fraction(x * 0.6f) < 0.7f) & -(fraction(y * 0.45f) < 0.12f);
    float k = ray_pick(lamp, 1.05f, 0.30f + 0.03f * grain(cell(x * 2), cell(y * 2)));
    rgb[0] = rgb[1] = rgb[2] = k;
}

/* Boards along the carpet, then plain wall with pillars, then windows. `u` runs along the wall. */
INLINE void wall(float u, float v, int32_t which, float rgb[3])
{
    int32_t low = -(v < 0.95f), rail = -((v >= 0.95f) & (v < 1.02f)), high = -((v > 3.0f) & (v < 4.4f));
    int32_t pillar = -(fraction(u * 0.3f) < 0.09f), gap = -(fraction(u * 1.2f) < 0.45f);
    /* one number for the board or for the patch of plaster */
    int32_t across = cell(u * 0.6f), along = cell(v) & ~low;
    uint32_t number = mix(across, along + which);
    float plain = 0.68f + (float)(int32_t)(number >> 24) * (0.04f / 255);
    float upper = ray_pick(pillar, 0.52f, ray_pick(high, 0.98f, plain));
    float ink = ray_pick(gap & -((v > 0.3f) & (v < 0.7f)), 0.35f, 0);
    for (int k = 0; k < 3; k++) {
        float tint = (float)(int32_t)(number >> (8 * k) & 255) * (0.9f / 255) + ink;
        rgb[k] = ray_pick(low, ray_least(tint, 0.95f), ray_pick(rail, 0.25f, upper * (1 - 0.03f * (float)k)));
    }
}

INLINE void put(struct ray_tile *tile, int i, float t, const float rgb[3], int32_t thing)
{
    tile->t[i] = t;
    tile->r[i] = rgb[0];
    tile->g[i] = rgb[1];
    tile->b[i] = rgb[2];
    tile->thing[i] = thing;
}

NM_WIDE static void fill_carpet(const struct ray_view *restrict view, struct ray_tile *restrict tile,
                                struct ground *restrict ground, float pixel)
{
    float ox = view->origin[0], oy = view->origin[1], oz = view->origin[2], near = -1 / (oz * pixel);
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float t = -oz / tile->dz[i], x = ox + t * tile->dx[i], y = oy + t * tile->dy[i], rgb[3];
        grass(x, y, tile->dz[i] * near, rgb);
        put(tile, i, t, rgb, NM_THING_GRASS);
        ground->x[i] = x;
        ground->y[i] = y;
    }
}

/* Carpet or floor; where the tile looks above the floor (z kept negative there) fill_hall draws over it. */
NM_WIDE static void fill_floor(const struct ray_view *restrict view, struct ray_tile *restrict tile,
                               struct ground *restrict ground, float pixel)
{
    float ox = view->origin[0], oy = view->origin[1], oz = view->origin[2];
    float cx = view->scene->carpet_x, cy = view->scene->carpet_y, near = -1 / (oz * pixel);
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float dz = ray_least(tile->dz[i], -1e-3f), t = -oz / dz;
        float x = ox + t * tile->dx[i], y = oy + t * tile->dy[i], green[3], grey[3];
        int32_t on = -((fabsf(x) < cx) & (fabsf(y) < cy));
        grass(x, y, dz * near, green);
        hall_floor(x, y, grey);
        for (int k = 0; k < 3; k++) green[k] = ray_pick(on, green[k], grey[k]);
        put(tile, i, t, green, (NM_THING_GRASS & on) | (NM_THING_HALL & ~on));
        ground->x[i] = x;
        ground->y[i] = y;
    }
}

/* Walls and ceiling: the hall is a box seen from inside, so the ray leaves through the nearest face ahead of it. */
NM_WIDE static void fill_hall(const struct ray_view *restrict view, struct ray_tile *restrict tile)
{
    const struct nm_hall *hall = &view->scene->hall;
    float ox = view->origin[0], oy = view->origin[1], oz = view->origin[2], high = hall->height;
    int32_t seed = (int32_t)(hall->seed & 0xffff);
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float dx = tile->dx[i], dy = tile->dy[i], dz = tile->dz[i];
        dx = ray_pick(-(fabsf(dx) < 1e-9f), 1e-9f, dx);
        dy = ray_pick(-(fabsf(dy) < 1e-9f), 1e-9f, dy);
        dz = ray_pick(-(fabsf(dz) < 1e-9f), 1e-9f, dz);
        float all = 1 / (dx * dy * dz); /* one division for three */
        float tx = (copysignf(hall->half_x, dx) - ox) * (dy * dz * all);
        float ty = (copysignf(hall->half_y, dy) - oy) * (dx * dz * all);
        float tz = (ray_pick(-(dz > 0), high, 0) - oz) * (dx * dy * all);
        float t = ray_least(ray_least(tx, ty), tz), x = ox + t * dx, y = oy + t * dy, z = oz + t * dz;
        int32_t on_x = -(t == tx), on_top = -(t == tz) & -(dz > 0), on_floor = -(t == tz) & ~-(dz > 0);
        float side[3], top[3], now[3] = {tile->r[i], tile->g[i], tile->b[i]};
        wall(ray_pick(on_x, y, x), z, seed + ((on_x & 5) ^ (-(dx + dy > 0) & 2)), side);
        ceiling(x, y, top);
        for (int k = 0; k < 3; k++) now[k] = ray_pick(on_floor, now[k], ray_pick(on_top, top[k], side[k]));
        put(tile, i, t, now, (tile->thing[i] & on_floor) | (NM_THING_HALL & ~on_floor));
    }
}

/* The same where all rays leave through one wall: that at +-half along axis 0 or 1. */
NM_WIDE static void fill_wall(const struct ray_view *restrict view, struct ray_tile *restrict tile, int axis)
{
    const struct nm_hall *hall = &view->scene->hall;
    const float *restrict across = axis ? tile->dy : tile->dx, *restrict along = axis ? tile->dx : tile->dy;
    float from = view->origin[axis], beside = view->origin[!axis], oz = view->origin[2];
    float half = axis ? hall->half_y : hall->half_x;
    int32_t seed = (int32_t)(hall->seed & 0xffff);
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float t = (copysignf(half, across[i]) - from) / across[i], rgb[3];
        int32_t far = -(tile->dx[i] + tile->dy[i] > 0) & 2;
        wall(beside + t * along[i], oz + t * tile->dz[i], seed + ((axis ? 0 : 5) ^ far), rgb);
        put(tile, i, t, rgb, NM_THING_HALL);
    }
}

NM_WIDE static void fill_ceiling(const struct ray_view *restrict view, struct ray_tile *restrict tile)
{
    float ox = view->origin[0], oy = view->origin[1], up = view->scene->hall.height - view->origin[2];
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float t = up / tile->dz[i], rgb[3];
        ceiling(ox + t * tile->dx[i], oy + t * tile->dy[i], rgb);
        put(tile, i, t, rgb, NM_THING_HALL);
    }
}

/* How far the ground point moves from pixel to pixel, in x and in y: the derivative of o + d (-oz / dz). */
NM_WIDE static void measure(const struct ray_view *restrict view, const struct ray_tile *restrict tile,
                            const struct ray_spread *restrict spread, struct ground *restrict ground)
{
    const float *du = spread->du, *dv = spread->dv;
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float dx = tile->dx[i], dy = tile->dy[i], dz = ray_least(tile->dz[i], -1e-3f), k = view->origin[2] / (dz * dz);
        ground->wx[i] = k * (fabsf(du[0] * dz - dx * du[2]) + fabsf(dv[0] * dz - dx * dv[2])) + 1e-6f;
        ground->wy[i] = k * (fabsf(du[1] * dz - dy * du[2]) + fabsf(dv[1] * dz - dy * dv[2])) + 1e-6f;
        ground->ix[i] = 1 / ground->wx[i];
        ground->iy[i] = 1 / ground->wy[i];
        ground->cover[i] = 0;
    }
}

/* The share of an interval of width w around a distance d from the middle of a strip of half width h. */
INLINE float strip_share(float d, float h, float w, float inverse)
{
    float inside = h + 0.5f * w - fabsf(d);
    return ray_most(ray_least(inside, ray_least(2 * h, w)) * inverse, 0);
}

NM_WIDE static void cover_strip(struct ground *restrict g, const struct nm_paint *restrict p)
{
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float c = strip_share(g->x[i] - p->x, p->half_x, g->wx[i], g->ix[i]) *
                  strip_share(g->y[i] - p->y, p->half_y, g->wy[i], g->iy[i]);
        g->cover[i] = ray_most(g->cover[i], c);
    }
}

/* Rings and dots: across the ring a strip, cut by a box. A dot is a ring around nothing. */
NM_WIDE static void cover_ring(struct ground *restrict g, const struct nm_paint *restrict p)
{
    int32_t dot = -(p->kind == NM_PAINT_DOT);
    float radius = ray_pick(dot, 0, p->radius), half = ray_pick(dot, p->radius, p->half);
    float cut_x = ray_pick(dot, p->x, p->cut_x), cut_y = ray_pick(dot, p->y, p->cut_y);
    float half_x = ray_pick(dot, p->radius, p->half_x), half_y = ray_pick(dot, p->radius, p->half_y);
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float x = g->x[i] - p->x, y = g->y[i] - p->y, away = sqrtf(x * x + y * y) + 1e-6f;
        float w = (g->wx[i] * fabsf(x) + g->wy[i] * fabsf(y)) / away + 1e-6f;
        float c = strip_share(away - radius, half, w, 1 / w) *
                  strip_share(g->x[i] - cut_x, half_x, g->wx[i], g->ix[i]) *
                  strip_share(g->y[i] - cut_y, half_y, g->wy[i], g->iy[i]);
        g->cover[i] = ray_most(g->cover[i], c);
    }
}

NM_WIDE static void paint(struct ray_tile *restrict tile, const struct ground *restrict g)
{
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float worn = 0.93f + 0.06f * grain(cell(g->x[i] * 60), cell(g->y[i] * 60));
        float c = ray_pick(-(tile->thing[i] == NM_THING_GRASS), g->cover[i], 0);
        tile->r[i] += c * (worn - tile->r[i]);
        tile->g[i] += c * (worn - tile->g[i]);
        tile->b[i] += c * (worn - tile->b[i]);
        int32_t line = -(c > 0.5f);
        tile->thing[i] = (NM_THING_LINE & line) | (tile->thing[i] & ~line);
    }
}

NM_WIDE static void shade(struct ray_tile *restrict tile, const struct ground *restrict g,
                          const struct nm_shadow *restrict s)
{
    float k = 1 / (s->radius * s->radius);
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float x = g->x[i] - s->x, y = g->y[i] - s->y, q = ray_most(1 - (x * x + y * y) * k, 0);
        int32_t on = -((tile->thing[i] == NM_THING_GRASS) | (tile->thing[i] == NM_THING_LINE));
        float light = 1 - ray_pick(on, s->strength * q * q, 0);
        tile->r[i] *= light;
        tile->g[i] *= light;
        tile->b[i] *= light;
    }
}

static int face_of(const struct ray_view *view, const float d[3])
{
    const struct nm_hall *hall = &view->scene->hall;
    const float half[2] = {hall->half_x, hall->half_y};
    float best = d[2] > 1e-9f    ? (hall->height - view->origin[2]) / d[2]
                 : d[2] < -1e-9f ? -view->origin[2] / d[2]
                                 : INFINITY;
    int face = d[2] > 0 ? FACE_CEILING : FACE_FLOOR;
    for (int k = 0; k < 2; k++) {
        if (fabsf(d[k]) < 1e-9f) continue;
        float t = (copysignf(half[k], d[k]) - view->origin[k]) / d[k];
        if (t < best) {
            best = t;
            face = 2 * k + (d[k] > 0);
        }
    }
    return face;
}

/* Bit i: box i touches the patch. */
NM_WIDE static uint64_t touching(const struct nm_boxes *restrict boxes, uint32_t n, const struct patch *restrict p)
{
    uint64_t found = 0;
    float low_x = p->low[0], high_x = p->high[0], low_y = p->low[1], high_y = p->high[1];
    for (uint32_t i = 0; i < n; i++)
        found |= (uint64_t)((boxes->high_x[i] >= low_x) & (boxes->low_x[i] <= high_x) & (boxes->high_y[i] >= low_y) &
                            (boxes->low_y[i] <= high_y))
                 << i;
    return found;
}

/* The floor within the hall is what most rays meet. */
static int face_below(const struct ray_view *view, const float d[3], float t)
{
    const struct nm_hall *hall = &view->scene->hall;
    if (d[2] < -1e-6f && fabsf(view->origin[0] + t * d[0]) < hall->half_x &&
        fabsf(view->origin[1] + t * d[1]) < hall->half_y)
        return FACE_FLOOR;
    return face_of(view, d);
}

/* The corners bound the tile: straight lines on the ground are nearly straight in a tile, and the hall is convex. A ray
 * that meets the ground far away or never is followed as far as the hall is long. */
static void survey(const struct ray_view *view, const struct ray_tile *tile, struct patch *p)
{
    static const int corner[4] = {0, NM_TILE - 1, NM_TILE_PIXELS - NM_TILE, NM_TILE_PIXELS - 1};
    const struct nm_scene *scene = view->scene;
    float reach = 3 * (scene->hall.half_x + scene->hall.half_y) + view->origin[2];
    p->low[0] = p->low[1] = INFINITY;
    p->high[0] = p->high[1] = -INFINITY;
    for (int i = 0; i < 4; i++) {
        float d[3] = {tile->dx[corner[i]], tile->dy[corner[i]], tile->dz[corner[i]]};
        float t = fminf(d[2] < 0 ? -view->origin[2] / d[2] : reach, reach);
        int face = face_below(view, d, t);
        p->face = i == 0 || face == p->face ? face : FACE_MANY;
        for (int k = 0; k < 2; k++) {
            float at = view->origin[k] + t * d[k];
            p->low[k] = fminf(p->low[k], at);
            p->high[k] = fmaxf(p->high[k], at);
        }
    }
    for (int k = 0; k < 2; k++) { /* half a pixel beyond, and the curve of the lens */
        float margin = 0.06f * (p->high[k] - p->low[k]) + 0.002f;
        p->low[k] -= margin;
        p->high[k] += margin;
    }
    float cx = scene->carpet_x, cy = scene->carpet_y;
    p->carpet = p->face == FACE_FLOOR && p->low[0] > -cx && p->high[0] < cx && p->low[1] > -cy && p->high[1] < cy;
    p->paints = p->shadows = 0;
    if (p->face < FACE_FLOOR || p->face == FACE_CEILING) return;
    p->paints = touching(&scene->paint_boxes, scene->n_paints, p);
    p->shadows = touching(&scene->shadow_boxes, scene->n_shadows, p);
}

static void fill(const struct ray_view *view, struct ray_tile *tile, struct ground *ground, const struct patch *patch,
                 float pixel)
{
    if (patch->face < FACE_FLOOR) {
        fill_wall(view, tile, patch->face / 2);
    } else if (patch->face == FACE_CEILING) {
        fill_ceiling(view, tile);
    } else if (patch->carpet) {
        fill_carpet(view, tile, ground, pixel);
    } else {
        fill_floor(view, tile, ground, pixel);
        if (patch->face == FACE_MANY) fill_hall(view, tile);
    }
}

void ray_background(const struct ray_view *view, struct ray_tile *tile, const struct ray_spread *spread)
{
    struct ground ground;
    struct patch patch;
    const float *du = spread->du;
    float pixel = sqrtf(du[0] * du[0] + du[1] * du[1] + du[2] * du[2]);
    survey(view, tile, &patch);

    fill(view, tile, &ground, &patch, pixel);
    if (patch.paints) {
        measure(view, tile, spread, &ground);
        for (uint64_t left = patch.paints; left; left &= left - 1) {
            const struct nm_paint *p = &view->scene->paints[__builtin_ctzll(left)];
            if (p->kind == NM_PAINT_STRIP)
                cover_strip(&ground, p);
            else
                cover_ring(&ground, p);
        }
        paint(tile, &ground);
    }
    for (uint64_t left = patch.shadows; left; left &= left - 1)
        shade(tile, &ground, &view->scene->shadows[__builtin_ctzll(left)]);
}
