#include "sim/picture.h"

#include <string.h>

#include "base/random.h"
#include "sim/grain.h"
#include "sim/ray_tile.h"
#include "base/wide.h"

enum { ROW = NM_PICTURE_SIDE + 2 * NM_TILE };

/* One row of light, 0 to 255 and beyond, with room for a neighbour on both sides. */
struct row {
    float rgb[3][ROW];
} __attribute__((aligned(64)));

static const float WHITE = 248.0f / NM_FULL_LIGHT; /* full light, exposure 1 */

uint32_t nm_picture_bytes(const struct nm_camera *camera, enum nm_picture_format format)
{
    uint32_t pairs = (camera->width + 1) / 2;
    return format == NM_RGB8 ? camera->width * camera->height * 3 : pairs * 4 * camera->height;
}

/* `side` is what the rows above and below give. */
NM_WIDE static void unpack(const uint32_t *restrict above, const uint32_t *restrict at, const uint32_t *restrict below,
                           uint32_t n, const float gain[3], float side, struct row *restrict row)
{
    float own = 1 - 2 * side;
    for (int k = 0; k < 3; k++) {
        float *restrict to = row->rgb[k] + NM_TILE;
        float g = gain[k] * WHITE;
        int shift = 10 * k;
        if (side > 0)
            for (uint32_t i = 0; i < n; i++) {
                float up = (float)(int32_t)(above[i] >> shift & 1023),
                      down = (float)(int32_t)(below[i] >> shift & 1023);
                to[i] = g * (own * (float)(int32_t)(at[i] >> shift & 1023) + side * (up + down));
            }
        else
            for (uint32_t i = 0; i < n; i++) to[i] = g * (float)(int32_t)(at[i] >> shift & 1023);
    }
}

NM_WIDE static void blur_along(struct row *restrict row, struct row *restrict to, uint32_t n, float side)
{
    float own = 1 - 2 * side;
    for (int k = 0; k < 3; k++) {
        float *restrict from = row->rgb[k] + NM_TILE, *restrict out = to->rgb[k] + NM_TILE;
        from[-1] = from[0];
        from[n] = from[n - 1];
        const float *left = from - 1, *right = from + 1;
        for (uint32_t i = 0; i < n; i++) out[i] = own * from[i] + side * (left[i] + right[i]);
    }
}

/* The light's own noise grows like its root; x (2 - x) has nearly that shape and costs no root. */
NM_WIDE static void add_noise(struct row *restrict row, uint32_t n, const int8_t *const restrict grains[3], float dark,
                              float shot)
{
    for (int k = 0; k < 3; k++) {
        float *restrict to = row->rgb[k] + NM_TILE;
        const int8_t *restrict grain = grains[k];
        for (uint32_t i = 0; i < n; i++) {
            float x = ray_least(to[i] * (1.0f / 248), 1), sigma = (dark + shot * x * (2 - x)) / NM_GRAIN_UNIT;
            to[i] += sigma * (float)grain[i];
        }
    }
}

static inline __attribute__((always_inline)) uint8_t level(float x)
{
    return (uint8_t)(int32_t)(ray_least(ray_most(x, 0), 255) + 0.5f);
}

NM_WIDE static void write_rgb(const struct row *restrict row, uint32_t n, uint8_t *restrict to)
{
    const float *restrict r = row->rgb[0] + NM_TILE, *restrict g = row->rgb[1] + NM_TILE,
                          *restrict b = row->rgb[2] + NM_TILE;
    for (uint32_t i = 0; i < n; i++) {
        to[3 * i] = level(r[i]);
        to[3 * i + 1] = level(g[i]);
        to[3 * i + 2] = level(b[i]);
    }
}

static void develop_rgb(const struct nm_eye *eye, const struct nm_shutter *shutter, const float gain[3], uint64_t seed,
                        uint8_t *bytes)
{
    uint32_t width = eye->lens->camera.width, height = eye->lens->camera.height, stride = eye->lens->stride;
    struct row first, second, *row;
    for (uint32_t y = 0; y < height; y++) {
        const uint32_t *at = eye->light + y * stride, *above = y ? at - stride : at;
        const uint32_t *below = y + 1 < height ? at + stride : at;
        row = &first;
        unpack(above, at, below, width, gain, shutter->blur, row);
        if (shutter->blur > 0) {
            blur_along(row, &second, width, shutter->blur);
            row = &second;
        }
        if (shutter->noise > 0 || shutter->shot_noise > 0) {
            uint64_t place = nm_spread(seed ^ nm_spread(y));
            const int8_t *const grains[3] = {eye->grains + place % NM_GRAINS, eye->grains + (place >> 16) % NM_GRAINS,
                                             eye->grains + (place >> 32) % NM_GRAINS};
            add_noise(row, width, grains, shutter->noise, shutter->shot_noise);
        }
        write_rgb(row, width, bytes + (size_t)y * width * 3);
    }
}

/* ---- YUYV: what cameras send; brightness and colour go their own ways, which halves the work ---- */

/* Brightness, and half of each colour difference so that two pixels add up to a pair's. */
struct yuv_row {
    float y[ROW], u[ROW], v[ROW];
} __attribute__((aligned(64)));

NM_WIDE static void to_yuv(const uint32_t *restrict light, uint32_t n, const float gain[3],
                           struct yuv_row *restrict row)
{
    float *restrict y = row->y + NM_TILE, *restrict u = row->u + NM_TILE, *restrict v = row->v + NM_TILE;
    float red = gain[0] * WHITE, green = gain[1] * WHITE, blue = gain[2] * WHITE;
    for (uint32_t i = 0; i < n; i++) {
        float r = ray_least(red * (float)(int32_t)(light[i] & 1023), 255);
        float g = ray_least(green * (float)(int32_t)(light[i] >> 10 & 1023), 255);
        float b = ray_least(blue * (float)(int32_t)(light[i] >> 20), 255);
        y[i] = 0.299f * r + 0.587f * g + 0.114f * b;
        u[i] = 64 - 0.084368f * r - 0.165632f * g + 0.25f * b;
        v[i] = 64 + 0.25f * r - 0.209344f * g - 0.040656f * b;
    }
}

NM_WIDE static void blur_down(const float *restrict above, const float *restrict at, const float *restrict below,
                              uint32_t n, float side, float *restrict to)
{
    float own = 1 - 2 * side;
    for (uint32_t i = 0; i < n; i++) to[i] = own * at[i] + side * (above[i] + below[i]);
}

struct yuyv_noise {
    const int8_t *bright, *colour;
    float dark, shot, tint; /* deviations of brightness in the dark, added in full light, and of colour */
};

/* Every pixel is two bytes: its Y, and the U of the pair (even pixels) or its V (odd ones). */
NM_WIDE static void write_yuyv(const float *restrict bright, const struct yuv_row *restrict row, uint32_t n, float side,
                               const struct yuyv_noise *restrict noise, uint16_t *restrict to)
{
    const float *restrict left = bright - 1, *restrict right = bright + 1, own = 1 - 2 * side;
    const float *restrict u = row->u + NM_TILE, *restrict v = row->v + NM_TILE;
    const float *restrict next_u = u + 1, *restrict last_v = v - 1;
    const int8_t *restrict grain = noise->bright, *restrict stain = noise->colour;
    float dark = noise->dark / NM_GRAIN_UNIT, shot = noise->shot / NM_GRAIN_UNIT, tint = noise->tint / NM_GRAIN_UNIT;
    for (uint32_t i = 0; i < n; i++) {
        float y = own * bright[i] + side * (left[i] + right[i]), x = ray_least(y * (1.0f / 248), 1);
        float colour = ray_pick(-(int32_t)(i & 1), last_v[i] + v[i], u[i] + next_u[i]);
        y += (dark + shot * x * (2 - x)) * (float)grain[i];
        colour += tint * (float)stain[i];
        to[i] = (uint16_t)((uint32_t)level(y) | (uint32_t)level(colour) << 8);
    }
}

/* The last pixel again, for an odd width and for the blur beyond both ends. */
static void pad(float *row, uint32_t width)
{
    row[NM_TILE - 1] = row[NM_TILE];
    row[NM_TILE + width] = row[NM_TILE + width + 1] = row[NM_TILE + width - 1];
}

static void develop_yuyv(const struct nm_eye *eye, const struct nm_shutter *shutter, const float gain[3], uint64_t seed,
                         uint8_t *bytes)
{
    uint32_t width = eye->lens->camera.width, height = eye->lens->camera.height, stride = eye->lens->stride;
    uint32_t even = width + (width & 1);
    struct yuv_row rows[3];
    float soft[ROW] __attribute__((aligned(64)));
    uint16_t pairs[ROW];
    /* independent noise of red, green and blue comes out of the sums above with these shares */
    const float bright = 0.669f, colour = 0.45f;
    struct yuyv_noise noise = {.dark = bright * shutter->noise, .shot = bright * shutter->shot_noise};
    noise.tint = colour * (shutter->noise + 0.6f * shutter->shot_noise);
    to_yuv(eye->light, width, gain, &rows[0]);
    for (uint32_t y = 0; y < height; y++) {
        struct yuv_row *at = &rows[y % 3], *next = &rows[(y + 1) % 3], *last = y ? &rows[(y + 2) % 3] : at;
        if (y + 1 < height) to_yuv(eye->light + (y + 1) * stride, width, gain, next);
        if (y + 1 == height) next = at;
        if (shutter->blur > 0)
            blur_down(last->y + NM_TILE, at->y + NM_TILE, next->y + NM_TILE, width, shutter->blur, soft + NM_TILE);
        float *light = shutter->blur > 0 ? soft : at->y;
        pad(light, width);
        pad(at->u, width);
        pad(at->v, width);
        uint64_t place = nm_spread(seed ^ nm_spread(y));
        noise.bright = eye->grains + place % NM_GRAINS;
        noise.colour = eye->grains + (place >> 16) % NM_GRAINS;
        write_yuyv(light + NM_TILE, at, even, shutter->blur, &noise, pairs);
        memcpy(bytes + (size_t)y * even * 2, pairs, even * 2);
    }
}

void nm_develop(const struct nm_eye *eye, const struct nm_shutter *shutter, uint64_t seed,
                enum nm_picture_format format, uint8_t *bytes)
{
    float gain[3];
    for (int k = 0; k < 3; k++) gain[k] = shutter->exposure * shutter->white[k];
    if (format == NM_YUYV)
        develop_yuyv(eye, shutter, gain, seed, bytes);
    else
        develop_rgb(eye, shutter, gain, seed, bytes);
}
