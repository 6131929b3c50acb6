/* Rays against spheres, boxes, cylinders and capsules, in the solid's own frame. Textbook intersections (Haines,
 * An Introduction to Ray Tracing, 1989) written so that every loop is free of branches. */
#include <math.h>
#include <string.h>

#include "sim/ray_tile.h"
#include "base/wide.h"

#define NEAR (RAY_NEAR_MM * 1e-3f)

struct ray_local ray_localise(const struct ray_view *view, const struct nm_solid *s)
{
    static const float light[3] = {RAY_LIGHT_X, RAY_LIGHT_Y, RAY_LIGHT_Z};
    struct ray_local l = {.thing = s->thing, .kind = s->kind, .coat = s->coat, .number = s->number, .tag = s->tag};
    float d[3];
    for (int k = 0; k < 3; k++) d[k] = view->origin[k] - s->pos[k];
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j < 3; j++) l.m[k][j] = s->rot[j][k];
        l.o[k] = l.m[k][0] * d[0] + l.m[k][1] * d[1] + l.m[k][2] * d[2];
        l.light[k] = l.m[k][0] * light[0] + l.m[k][1] * light[1] + l.m[k][2] * light[2];
    }
    memcpy(l.half, s->half, sizeof l.half);
    memcpy(l.colour, s->colour, sizeof l.colour);
    return l;
}

#define LOCAL_RAY(l, tile, i)                                                                                          \
    float dx = (tile)->dx[i], dy = (tile)->dy[i], dz = (tile)->dz[i];                                                  \
    float x = (l)->m[0][0] * dx + (l)->m[0][1] * dy + (l)->m[0][2] * dz;                                               \
    float y = (l)->m[1][0] * dx + (l)->m[1][1] * dy + (l)->m[1][2] * dz;                                               \
    float z = (l)->m[2][0] * dx + (l)->m[2][1] * dy + (l)->m[2][2] * dz

/* Where `hit`, the pixel becomes the solid's: shade is the share of full light. */
static inline __attribute__((always_inline)) void put(struct ray_tile *tile, const struct ray_local *l, int i,
                                                      int32_t hit, float t, float shade)
{
    tile->t[i] = ray_pick(hit, t, tile->t[i]);
    tile->r[i] = ray_pick(hit, l->colour[0] * shade, tile->r[i]);
    tile->g[i] = ray_pick(hit, l->colour[1] * shade, tile->g[i]);
    tile->b[i] = ray_pick(hit, l->colour[2] * shade, tile->b[i]);
    tile->thing[i] = (l->thing & hit) | (tile->thing[i] & ~hit);
    tile->hit[i] = hit;
}

static inline __attribute__((always_inline)) float off_zero(float x) { return ray_pick(-(fabsf(x) < 1e-9f), 1e-9f, x); }

/* what stands behind the point of a positive number */
static inline __attribute__((always_inline)) float share(float x) { return x - (float)(int32_t)x; }

NM_WIDE static int32_t cast_box(struct ray_tile *restrict tile, const struct ray_local *restrict l, int from, int to)
{
    int32_t any = 0;
    for (int i = from; i < to; i++) {
        LOCAL_RAY(l, tile, i);
        x = off_zero(x);
        y = off_zero(y);
        z = off_zero(z);
        float all = 1 / (x * y * z), ix = y * z * all, iy = x * z * all, iz = x * y * all; /* one division for three */
        float mx = -l->o[0] * ix, my = -l->o[1] * iy, mz = -l->o[2] * iz;
        float kx = fabsf(ix) * l->half[0], ky = fabsf(iy) * l->half[1], kz = fabsf(iz) * l->half[2];
        float ax = mx - kx, ay = my - ky, az = mz - kz;
        float in = ray_most(ray_most(ax, ay), az), out = ray_least(ray_least(mx + kx, my + ky), mz + kz);
        int32_t hit = -((in < out) & (in > NEAR) & (in < tile->t[i]));
        /* the face that was entered last looks against the ray */
        float side =
            ray_pick(-(in == ay), copysignf(l->light[1], y * l->light[1]), copysignf(l->light[2], z * l->light[2]));
        side = ray_pick(-(in == ax), copysignf(l->light[0], x * l->light[0]), side);
        float shade = RAY_AMBIENT - side;
        put(tile, l, i, hit, in, shade);
        any |= hit;
    }
    return any;
}

NM_WIDE static int32_t cast_sphere(struct ray_tile *restrict tile, const struct ray_local *restrict l, int from, int to)
{
    int32_t any = 0;
    float r = l->half[0], c = l->o[0] * l->o[0] + l->o[1] * l->o[1] + l->o[2] * l->o[2] - r * r, k = 1 / r;
    for (int i = from; i < to; i++) {
        LOCAL_RAY(l, tile, i);
        float a = x * x + y * y + z * z, b = l->o[0] * x + l->o[1] * y + l->o[2] * z;
        float root = b * b - a * c;
        float t = (-b - sqrtf(ray_most(root, 0))) / a;
        int32_t hit = -((root > 0) & (t > NEAR) & (t < tile->t[i]));
        float shade = RAY_AMBIENT + k * ((l->o[0] + t * x) * l->light[0] + (l->o[1] + t * y) * l->light[1] +
                                         (l->o[2] + t * z) * l->light[2]);
        put(tile, l, i, hit, t, shade);
        any |= hit;
    }
    return any;
}

/* A cylinder along z with flat ends. */
NM_WIDE static int32_t cast_cylinder(struct ray_tile *restrict tile, const struct ray_local *restrict l, int from,
                                     int to)
{
    int32_t any = 0;
    float r = l->half[0], h = l->half[2], c = l->o[0] * l->o[0] + l->o[1] * l->o[1] - r * r, k = 1 / r;
    for (int i = from; i < to; i++) {
        LOCAL_RAY(l, tile, i);
        z = off_zero(z);
        float a = x * x + y * y + 1e-12f, b = l->o[0] * x + l->o[1] * y;
        float root = b * b - a * c;
        float both = 1 / (a * z), ia = z * both, iz = a * both;
        float side = (-b - sqrtf(ray_most(root, 0))) * ia, at = l->o[2] + side * z;
        float end = (-copysignf(h, z) - l->o[2]) * iz;
        float ex = l->o[0] + end * x, ey = l->o[1] + end * y;
        int32_t on_side = -((root > 0) & (fabsf(at) <= h)), on_end = -(ex * ex + ey * ey < r * r);
        float t = ray_pick(on_side, side, end);
        int32_t hit = (on_side | on_end) & -((t > NEAR) & (t < tile->t[i]));
        float round = k * ((l->o[0] + t * x) * l->light[0] + (l->o[1] + t * y) * l->light[1]);
        float flat = -copysignf(1, z) * l->light[2];
        put(tile, l, i, hit, t, RAY_AMBIENT + ray_pick(on_side, round, flat));
        any |= hit;
    }
    return any;
}

/* A cylinder along z with half a sphere on each end. */
NM_WIDE static int32_t cast_capsule(struct ray_tile *restrict tile, const struct ray_local *restrict l, int from,
                                    int to)
{
    int32_t any = 0;
    float r = l->half[0], h = l->half[2], c = l->o[0] * l->o[0] + l->o[1] * l->o[1] - r * r, k = 1 / r;
    for (int i = from; i < to; i++) {
        LOCAL_RAY(l, tile, i);
        float a = x * x + y * y + 1e-12f, b = l->o[0] * x + l->o[1] * y;
        float root = b * b - a * c;
        float a3 = a + z * z, both = 1 / (a * a3), ia = a3 * both, ia3 = a * both;
        float side = (-b - sqrtf(ray_most(root, 0))) * ia, at = l->o[2] + side * z;
        float oz = l->o[2] - copysignf(h, at);
        float b3 = b + oz * z, root3 = b3 * b3 - a3 * (c + oz * oz);
        float cap = (-b3 - sqrtf(ray_most(root3, 0))) * ia3;
        int32_t on_side = -((root > 0) & (fabsf(at) <= h)), on_cap = -(root3 > 0);
        float t = ray_pick(on_side, side, cap);
        int32_t hit = (on_side | on_cap) & -((t > NEAR) & (t < tile->t[i]));
        float nz = ray_pick(on_side, 0, oz + t * z);
        float shade =
            RAY_AMBIENT + k * ((l->o[0] + t * x) * l->light[0] + (l->o[1] + t * y) * l->light[1] + nz * l->light[2]);
        put(tile, l, i, hit, t, shade);
        any |= hit;
    }
    return any;
}

/* Black pentagons around the corners of an icosahedron, the classic ball: a third of it is black. */
NM_WIDE static void coat_ball(struct ray_tile *restrict tile, const struct ray_local *restrict l, int from, int to)
{
    /* six of the twelve corners; the others lie opposite */
    static const float corner[6][3] = {{0, 0.525731f, 0.850651f}, {0, -0.525731f, 0.850651f},
                                       {0.525731f, 0.850651f, 0}, {-0.525731f, 0.850651f, 0},
                                       {0.850651f, 0, 0.525731f}, {0.850651f, 0, -0.525731f}};
    float k = 1 / l->half[0];
    for (int i = from; i < to; i++) {
        LOCAL_RAY(l, tile, i);
        float t = tile->t[i], nearest = 0;
        float nx = k * (l->o[0] + t * x), ny = k * (l->o[1] + t * y), nz = k * (l->o[2] + t * z);
        for (int j = 0; j < 6; j++) {
            float p = fabsf(nx * corner[j][0] + ny * corner[j][1] + nz * corner[j][2]);
            nearest = ray_most(nearest, p);
        }
        float black = ray_pick(tile->hit[i] & -(nearest > 0.93f), 0.09f, 1);
        tile->r[i] *= black;
        tile->g[i] *= black;
        tile->b[i] *= black;
    }
}

/* A net lets most of what is behind it through: the nearer one sees its cords, the farther a veil. */
NM_WIDE static void cast_net(struct ray_tile *restrict tile, const struct ray_local *restrict l, int from, int to)
{
    const float veil = 0.22f;
    int32_t along_x = -(l->half[0] > l->half[1]);
    for (int i = from; i < to; i++) {
        LOCAL_RAY(l, tile, i);
        x = off_zero(x);
        y = off_zero(y);
        z = off_zero(z);
        float all = 1 / (x * y * z), ix = y * z * all, iy = x * z * all, iz = x * y * all; /* one division for three */
        float mx = -l->o[0] * ix, my = -l->o[1] * iy, mz = -l->o[2] * iz;
        float kx = fabsf(ix) * l->half[0], ky = fabsf(iy) * l->half[1], kz = fabsf(iz) * l->half[2];
        float in = ray_most(ray_most(mx - kx, my - ky), mz - kz);
        float out = ray_least(ray_least(mx + kx, my + ky), mz + kz);
        int32_t hit = -((in < out) & (in > NEAR) & (in < tile->t[i]));
        float width = ray_pick(along_x, l->o[0] + in * x, l->o[1] + in * y), up = l->o[2] + in * z;
        float cu = share(width * 10 + 1000), cv = share(up * 10 + 1000);
        float cord = ray_pick(-((cu < 0.12f) | (cv < 0.12f)), 0.8f, 0);
        float far = ray_least(in * 0.25f, 1); /* cords melt into the veil within 4 m */
        float cover = ray_pick(hit, cord + far * (veil - cord), 0);
        tile->r[i] += cover * (0.8f * l->colour[0] - tile->r[i]);
        tile->g[i] += cover * (0.8f * l->colour[1] - tile->g[i]);
        tile->b[i] += cover * (0.8f * l->colour[2] - tile->b[i]);
    }
}

/* Digits of 3 x 5 dots, rows from the top, three bits each. */
static const uint16_t digits[10] = {075557, 026227, 071747, 071717, 055711, 074717, 074757, 071111, 075757, 075717};

/* A shirt's number on the chest and the back of a box, in white (on a white shirt in black). Few pixels have one. */
static void coat_number(struct ray_tile *tile, const struct ray_local *l, int from, int to)
{
    uint32_t number = l->number;
    float ink = l->colour[0] + l->colour[1] + l->colour[2] > 2 ? 0.05f : 0.9f;
    int two = number >= 10, columns = two ? 7 : 3;
    float dot = fminf(l->half[2] * 2 * 0.6f / 5, l->half[1] * 2 * 0.8f / (float)columns);
    for (int i = from; i < to; i++) {
        if (!tile->hit[i]) continue;
        LOCAL_RAY(l, tile, i);
        float t = tile->t[i], px = l->o[0] + t * x, py = l->o[1] + t * y, pz = l->o[2] + t * z;
        if (fabsf(fabsf(px) - l->half[0]) > 1e-4f) continue;
        float u = (px > 0 ? py : -py) / dot, v = pz / dot;
        int column = (int)floorf((float)columns / 2 + u), row = (int)floorf(2.5f - v + 0.2f * l->half[2] / dot);
        if (row < 0 || row > 4 || column < 0 || column >= columns || column == 3) continue;
        uint32_t digit = column > 3 || !two ? number % 10 : number / 10;
        if (digits[digit] >> (3 * (4 - row) + 2 - column % 4) & 1) tile->r[i] = tile->g[i] = tile->b[i] = ink;
    }
}

static void coat_tag(struct ray_tile *tile, const struct ray_local *l, int from, int to)
{
    for (int i = from; i < to; i++) {
        if (!tile->hit[i]) continue;
        LOCAL_RAY(l, tile, i);
        float t = tile->t[i], px = l->o[0] + t * x, py = l->o[1] + t * y, pz = l->o[2] + t * z;
        if (fabsf(px - l->half[0]) > 1e-4f) continue;
        int column = (int)floorf(5 + 5 * py / l->half[1]) - 1, row = (int)floorf(5 - 5 * pz / l->half[2]) - 1;
        if (row < 0 || row > 7 || column < 0 || column > 7 || l->tag >> (8 * row + column) & 1) continue;
        tile->r[i] = tile->g[i] = tile->b[i] = 0.05f;
    }
}

void ray_solid(struct ray_tile *tile, const struct ray_local *solid, int from, int to)
{
    static int32_t (*const cast[])(struct ray_tile *restrict, const struct ray_local *restrict, int, int) = {
        [NM_SOLID_BOX] = cast_box,
        [NM_SOLID_SPHERE] = cast_sphere,
        [NM_SOLID_CYLINDER] = cast_cylinder,
        [NM_SOLID_CAPSULE] = cast_capsule,
    };
    if (solid->coat == NM_COAT_NET) {
        cast_net(tile, solid, from, to);
        return;
    }
    if (!cast[solid->kind](tile, solid, from, to)) return;
    if (solid->coat == NM_COAT_BALL) coat_ball(tile, solid, from, to);
    if (solid->coat == NM_COAT_NUMBER) coat_number(tile, solid, from, to);
    if (solid->coat == NM_COAT_TAG) coat_tag(tile, solid, from, to);
}
