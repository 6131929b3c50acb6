/* A thumbnail's pixel is the mean of its 8 by 8 pixels, at the edges of those that exist; compared with a plain sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "codec/thumbnail.h"

static uint8_t pixels[1 << 18], out[1 << 14];

static uint32_t chance(uint32_t *seed) { return (*seed = *seed * 1664525 + 1013904223) >> 8; }

/* The byte of channel k (YUV: light, u, v) that pixel (x, y) has. */
static uint8_t value(const struct nm_pixels *in, const struct nm_pixel_format *f, uint32_t x, uint32_t y, uint32_t k)
{
    const uint8_t *row = in->data + (size_t)y * in->step;
    if (!f->paired) return row[x * f->bytes + k];
    return row[x / 2 * 4 + (k == 0 ? f->y0 + 2 * (x % 2) : f->u0 + 2 * (k - 1))];
}

/* Pixels from x0 on, `across` of them; colour is counted once a pair. */
static uint8_t mean(const struct nm_pixels *in, const struct nm_pixel_format *f, uint32_t x0, uint32_t across,
                    uint32_t y0, uint32_t k)
{
    uint32_t sum = 0, n = 0, stride = f->paired && k ? 2 : 1;
    for (uint32_t y = y0; y < y0 + 8 && y < in->height; y++)
        for (uint32_t x = x0; x < x0 + across && x < in->width; x += stride) sum += value(in, f, x, y, k), n++;
    return (uint8_t)((sum + n / 2) / n);
}

static void check(const char *encoding, uint32_t width, uint32_t height, uint32_t gap, uint32_t *seed)
{
    struct nm_pixels in = {width, height, 1 << 20, encoding, pixels, (size_t)1 << 40}, small;
    struct nm_err err = {0};
    const struct nm_pixel_format *f = nm_pixels_check(&in, &err);
    assert_non_null(f);
    in.step = nm_pixel_row(f, width) + gap;
    in.n = (size_t)in.step * height;
    assert_true(in.n <= sizeof pixels);
    for (size_t i = 0; i < in.n; i++) pixels[i] = (uint8_t)chance(seed);
    assert_int_equal(nm_thumbnail(&in, out, nm_thumbnail_room(&in, &err), &small, &err), 0);
    assert_int_equal(small.width, (width + 7) / 8);
    assert_int_equal(small.height, (height + 7) / 8);
    assert_non_null(nm_pixels_check(&small, &err));
    for (uint32_t y = 0; y < small.height; y++)
        for (uint32_t x = 0; x < small.width; x++)
            for (uint32_t k = 0; k < (f->paired ? 3 : f->bytes); k++) {
                bool shared = f->paired && k;
                uint8_t wanted = mean(&in, f, shared ? x / 2 * 16 : x * 8, shared ? 16 : 8, y * 8, k);
                if (value(&small, f, x, y, k) != wanted)
                    fail_msg("%s %ux%u (%u, %u) channel %u", encoding, width, height, x, y, k);
            }
}

static void test_means_of_blocks(void **state)
{
    (void)state;
    static const char *const encodings[] = {"mono8", "rgb8", "bgr8", "bgra8", "yuv422", "yuv422_yuy2"};
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++) {
        check(encodings[i], 64, 48, 0, &seed);
        check(encodings[i], 1, 1, 0, &seed);
        for (int k = 0; k < 100; k++)
            check(encodings[i], 1 + chance(&seed) % 100, 1 + chance(&seed) % 60, chance(&seed) % 9, &seed);
    }
}

static void test_no_room_and_no_image(void **state)
{
    (void)state;
    struct nm_pixels in = {64, 48, 64, "mono8", pixels, 64 * 48}, small;
    struct nm_err err = {0};
    assert_int_equal(nm_thumbnail_room(&in, &err), 48);
    assert_int_equal(nm_thumbnail(&in, out, 47, &small, &err), -1);
    assert_non_null(strstr(err.text, "has 48 bytes, there is room for 47"));
    in.n--;
    assert_int_equal(nm_thumbnail(&in, out, sizeof out, &small, &err), -1);
    assert_int_equal(nm_thumbnail_room(&in, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means_of_blocks),
        cmocka_unit_test(test_no_room_and_no_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
