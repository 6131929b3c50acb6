#include "codec/thumbnail.h"

#include "base/wide.h"

enum { BLOCK = NM_THUMBNAIL_BLOCK, CHANNELS = 4 };

static uint32_t blocks(uint32_t pixels) { return (pixels + BLOCK - 1) / BLOCK; }

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint8_t mean(uint32_t sum, uint32_t n) { return (uint8_t)((sum + n / 2) / n); }

size_t nm_thumbnail_room(const struct nm_pixels *in, struct nm_err *err)
{
    const struct nm_pixel_format *format = nm_pixels_check(in, err);
    return format ? (size_t)nm_pixel_row(format, blocks(in->width)) * blocks(in->height) : 0;
}

/* Sum of every `stride`th byte. */
static uint32_t sum_of(const uint8_t *at, uint32_t stride, uint32_t n)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += at[i * stride];
    return sum;
}

/* One row of blocks: `rows` rows of pixels from `from` on. */
static void shrink_plain(const struct nm_pixels *in, uint32_t bytes, const uint8_t *from, uint32_t rows, uint8_t *to)
{
    for (uint32_t b = 0; b < blocks(in->width); b++) {
        uint32_t n = least(BLOCK, in->width - b * BLOCK), sums[CHANNELS] = {0};
        for (uint32_t y = 0; y < rows; y++) {
            const uint8_t *at = from + (size_t)y * in->step + (size_t)b * BLOCK * bytes;
            for (uint32_t k = 0; k < bytes; k++) sums[k] += sum_of(at + k, bytes, n);
        }
        for (uint32_t k = 0; k < bytes; k++) *to++ = mean(sums[k], n * rows);
    }
}

/* Sums down the columns of bytes: vectors do what single sums would take long for. */
NM_WIDE static void add_rows(const uint8_t *restrict from, uint32_t step, uint32_t rows, uint32_t n,
                             uint16_t *restrict sums)
{
    for (uint32_t i = 0; i < n; i++) sums[i] = from[i];
    for (uint32_t y = 1; y < rows; y++)
        for (uint32_t i = 0; i < n; i++) sums[i] = (uint16_t)(sums[i] + from[(size_t)y * step + i]);
}

/* The usual case of what follows: a pair of blocks that lies inside the image, of YUV 4:2:2. */
static void shrink_inside(const uint16_t *sums, const struct nm_pixel_format *format, uint32_t rows, uint8_t *to)
{
    uint32_t light[2] = {0}, colour[2] = {0};
    for (uint32_t i = 0; i < BLOCK; i++) {
        light[0] += sums[2 * i + format->y0];
        light[1] += sums[2 * BLOCK + 2 * i + format->y0];
        colour[0] += sums[4 * i + format->u0];
        colour[1] += sums[4 * i + format->u0 + 2];
    }
    to[format->y0] = mean(light[0], BLOCK * rows);
    to[format->y0 + 2] = mean(light[1], BLOCK * rows);
    to[format->u0] = mean(colour[0], BLOCK * rows);
    to[format->u0 + 2] = mean(colour[1], BLOCK * rows);
}

/* A pair of blocks at a time: two lights, and one colour from all their pairs of pixels. */
static void shrink_pairs(const struct nm_pixels *in, const struct nm_pixel_format *format, const uint8_t *from,
                         uint32_t rows, uint8_t *to)
{
    enum { PAIR = 2 * BLOCK, MOST = 4096 };
    uint32_t x = 0;
    if (in->width <= MOST) {
        uint16_t sums[2 * MOST];
        uint32_t whole = in->width / PAIR * PAIR;
        add_rows(from, in->step, rows, 2 * whole, sums);
        for (; x < whole; x += PAIR, to += 4) shrink_inside(sums + 2 * x, format, rows, to);
    }
    for (; x < in->width; x += PAIR, to += 4) {
        uint32_t left = least(BLOCK, in->width - x), right = least(PAIR, in->width - x) - left;
        uint32_t pairs = (left + right + 1) / 2, light[2] = {0}, colour[2] = {0};
        for (uint32_t y = 0; y < rows; y++) {
            const uint8_t *at = from + (size_t)y * in->step + (size_t)x * 2;
            light[0] += sum_of(at + format->y0, 2, left);
            light[1] += sum_of(at + BLOCK * 2 + format->y0, 2, right);
            colour[0] += sum_of(at + format->u0, 4, pairs);
            colour[1] += sum_of(at + format->u0 + 2, 4, pairs);
        }
        to[format->y0] = mean(light[0], left * rows);
        to[format->y0 + 2] = right ? mean(light[1], right * rows) : to[format->y0];
        to[format->u0] = mean(colour[0], pairs * rows);
        to[format->u0 + 2] = mean(colour[1], pairs * rows);
    }
}

int nm_thumbnail(const struct nm_pixels *in, uint8_t *out, size_t cap, struct nm_pixels *small, struct nm_err *err)
{
    const struct nm_pixel_format *format = nm_pixels_check(in, err);
    if (!format) return -1;
    uint32_t step = nm_pixel_row(format, blocks(in->width)), height = blocks(in->height);
    if ((size_t)step * height > cap)
        return nm_fail(err, "the thumbnail of an image of %u by %u pixels has %zu bytes, there is room for %zu",
                       in->width, in->height, (size_t)step * height, cap);
    for (uint32_t b = 0; b < height; b++) {
        const uint8_t *from = in->data + (size_t)b * BLOCK * in->step;
        uint32_t rows = least(BLOCK, in->height - b * BLOCK);
        if (format->paired)
            shrink_pairs(in, format, from, rows, out + (size_t)b * step);
        else
            shrink_plain(in, format->bytes, from, rows, out + (size_t)b * step);
    }
    *small = (struct nm_pixels){blocks(in->width), height, step, in->encoding, out, (size_t)step * height};
    return 0;
}
