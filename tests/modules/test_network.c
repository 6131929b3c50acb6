/* What networks are shown of an image, against the same thing said plainly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "modules/vision/network.h"

enum { W = 100, H = 60 };

static uint8_t bytes[2 * W * H];
static const struct frame frame = {.bytes = bytes, .width = W, .height = H, .step = 2 * W};

static double mix(double low, double high, double share) { return low + (high - low) * share; }

/* Each pixel has the mean colour of those it covers; a larger picture repeats them. */
static void a_picture_is_the_mean_of_what_it_covers(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{W, H}, {W / 2, H / 2}, {33, 17}, {W / 4, H / 3}, {2 * W, 2 * H}};
    static float picture[3 * 4 * W * H];
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(64 + (nm_dice_bits(&dice) >> 30) % 128);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t w = sizes[s][0], h = sizes[s][1];
        network_picture(&frame, w, h, picture);
        for (uint32_t i = 0; i < w * h; i++) {
            double sum[3] = {0}, n = 0;
            uint32_t x0 = i % w * W / w, x1 = (i % w + 1) * W / w, y0 = i / w * H / h, y1 = (i / w + 1) * H / h;
            for (uint32_t y = y0; y < y1 || y == y0; y++)
                for (uint32_t x = x0; x < x1 || x == x0; x++, n++) {
                    const uint8_t *p = bytes + (size_t)2 * W * y + 4 * (x / 2);
                    sum[0] += p[2 * (x & 1)], sum[1] += p[1] - 128, sum[2] += p[3] - 128;
                }
            const double rgb[3] = {sum[0] + 1.402 * sum[2], sum[0] - 0.344 * sum[1] - 0.714 * sum[2],
                                   sum[0] + 1.772 * sum[1]};
            for (uint32_t k = 0; k < 3; k++)
                assert_float_equal(picture[k * w * h + i], fmin(fmax(rgb[k] / n / 255, 0), 1), 1e-4);
        }
    }
}

/* In an image whose brightness rises evenly, a patch does too, from side to side, whatever its size and place. */
static void a_patch_of_a_slope_is_a_slope(void **state)
{
    (void)state;
    static float patch[NETWORK_PATCH * NETWORK_PATCH];
    struct nm_dice dice = nm_dice_new(4, 5, 6);
    for (uint32_t y = 0; y < H; y++)
        for (uint32_t x = 0; x < W; x++) bytes[2 * (y * W + x)] = (uint8_t)(x + 2 * y);
    for (int round = 0; round < 200; round++) {
        double side = mix(6, 50, nm_dice_roll(&dice)), u = mix(side / 2, W - 2 - side / 2, nm_dice_roll(&dice)),
               v = mix(side / 2, H - 2 - side / 2, nm_dice_roll(&dice));
        assert_true(network_patch(&frame, u, v, side, patch));
        for (uint32_t i = 0; i < NETWORK_PATCH * NETWORK_PATCH; i++) {
            double x = u + side * ((i % NETWORK_PATCH + 0.5) / NETWORK_PATCH - 0.5),
                   y = v + side * ((i / NETWORK_PATCH + 0.5) / NETWORK_PATCH - 0.5);
            assert_true(fabs(255 * (double)patch[i] - x - 2 * y) < 0.3);
        }
    }
}

static void a_patch_is_mostly_inside(void **state)
{
    (void)state;
    static float patch[NETWORK_PATCH * NETWORK_PATCH];
    assert_true(network_patch(&frame, 2, 30, 20, patch));
    assert_true(network_patch(&frame, W - 2, 30, 20, patch));
    assert_false(network_patch(&frame, 0, 30, 20, patch));
    assert_false(network_patch(&frame, 30, H, 20, patch));
    assert_false(network_patch(&frame, 30, 30, 3, patch));
    assert_false(network_patch(&frame, 30, 30, NAN, patch));
    assert_false(network_patch(&frame, NAN, 30, 20, patch));
    assert_false(network_patch(&frame, 30, 30, 1e30, patch));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_is_the_mean_of_what_it_covers),
        cmocka_unit_test(a_patch_of_a_slope_is_a_slope),
        cmocka_unit_test(a_patch_is_mostly_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
