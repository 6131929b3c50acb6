/* The loops of vision over pixels against the same thing said plainly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "modules/vision/frame.h"

enum { W = 70, H = 38 };

static uint8_t bytes[2 * W * H] __attribute__((aligned(4)));
static const struct frame frame = {.bytes = bytes, .width = W, .height = H, .step = 2 * W};

static void scatter(uint64_t seed)
{
    struct nm_dice dice = nm_dice_new(seed, 1, 2);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(nm_dice_bits(&dice) >> 30);
}

/* Every pair gets one class, and carpet is what is_carpet says of its mean. */
static void classes_are_those_of_single_pixels(void **state)
{
    (void)state;
    uint8_t classes[W / 2 * (H / 2)];
    uint32_t seen[CLASS_BODY] = {0};
    for (uint64_t seed = 0; seed < 50; seed++) {
        scatter(seed);
        FieldColor color = {.y = 80, .u = (float)(90 + seed % 20), .v = 105, .hue_width = 0.4f, .saturation = 0.1f};
        const struct class_limits limits = {.carpet = carpet_of(&color), .white = 130, .dark = 60, .grey = 3};
        classify(&frame, &limits, classes);
        for (uint32_t i = 0; i < W / 2 * (H / 2); i++) {
            const uint8_t *p = frame_pair(&frame, 2 * (i % (W / 2)), 2 * (i / (W / 2)));
            int32_t y = (p[0] + p[2]) / 2, u = p[1] - 128, v = p[3] - 128;
            bool carpet = is_carpet(&limits.carpet, y, p[1], p[3]);
            bool hue = !carpet && 8 * (abs(u) + abs(v)) > 3 * y && abs(u) + abs(v) > 12;
            double turn = atan2(v, u) / (M_PI / 4);
            uint8_t expected = carpet    ? CLASS_FIELD
                               : hue     ? (uint8_t)(CLASS_HUE + (int)floor(turn < 0 ? turn + 8 : turn) % 8)
                               : y > 130 ? CLASS_WHITE
                               : y < 60  ? CLASS_DARK
                                         : CLASS_OTHER;
            bool between = hue && (abs(u) == abs(v) || !u || !v); /* on the line between two hues either will do */
            if (!between) assert_int_equal(classes[i], expected);
            seen[classes[i]]++;
        }
    }
    for (int k = 0; k < CLASS_BODY; k++) assert_true(seen[k] > 0);
}

static void sums_count_what_is_in_a_rectangle(void **state)
{
    (void)state;
    uint8_t classes[W * H];
    uint16_t table[(W + 1) * (H + 1)];
    struct nm_dice dice = nm_dice_new(3, 0, 0);
    for (size_t i = 0; i < sizeof classes; i++) classes[i] = nm_dice_bits(&dice) & 3;
    sum_class(classes, W, H, CLASS_FIELD, table);
    for (int round = 0; round < 200; round++) {
        uint32_t x0 = (uint32_t)(nm_dice_roll(&dice) * W), y0 = (uint32_t)(nm_dice_roll(&dice) * H), n = 0;
        uint32_t x1 = x0 + (uint32_t)(nm_dice_roll(&dice) * (W - x0 + 1)),
                 y1 = y0 + (uint32_t)(nm_dice_roll(&dice) * (H - y0 + 1));
        for (uint32_t y = y0; y < y1; y++)
            for (uint32_t x = x0; x < x1; x++) n += classes[y * W + x] == CLASS_FIELD;
        assert_int_equal(summed(table, W, x0, y0, x1, y1), n);
    }
}

static int slope(int x, int y, int across)
{
    static const int kernel[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    int sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += (across ? kernel[dx + 1][dy + 1] : kernel[dy + 1][dx + 1]) *
                   frame_y(&frame, (uint32_t)(x + dx), (uint32_t)(y + dy));
    return abs(sum);
}

static void sobel_is_the_sum_of_two_slopes(void **state)
{
    (void)state;
    uint8_t edges[W * H];
    scatter(7);
    assert_int_equal(sobel(&frame, 1, edges), H);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            bool rim = !x || !y || x == W - 1 || y == H - 1;
            int sum = rim ? 0 : (slope(x, y, 0) + slope(x, y, 1)) / 4;
            assert_int_equal(edges[y * W + x], sum > 255 ? 255 : sum);
        }
}

/* Against all thresholds tried one after the other. */
static void otsu_parts_two_hills(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(11, 0, 0);
    for (int round = 0; round < 20; round++) {
        uint8_t values[1003], parted[1003];
        double low = 20 + 60 * nm_dice_roll(&dice), high = 140 + 60 * nm_dice_roll(&dice), best = -1;
        for (size_t i = 0; i < sizeof values; i++)
            values[i] = (uint8_t)(nm_dice_roll(&dice) * 40 + (nm_dice_roll(&dice) < 0.3 ? high : low));
        int expected = 0;
        for (int t = 0; t < 255; t++) {
            double n[2] = {0}, sum[2] = {0};
            for (size_t i = 0; i < sizeof values; i++) n[values[i] > t]++, sum[values[i] > t] += values[i];
            if (n[0] == 0 || n[1] == 0) continue;
            double apart = sum[0] / n[0] - sum[1] / n[1], between = n[0] * n[1] * apart * apart;
            if (between > best * (1 + 1e-12)) best = between, expected = t;
        }
        uint8_t threshold = otsu(values, sizeof values);
        assert_true(abs(threshold - expected) <= 40); /* any place in the empty valley is as good */
        binarise(values, sizeof values, threshold, parted);
        for (size_t i = 0; i < sizeof values; i++) assert_int_equal(parted[i], values[i] > expected ? 255 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_those_of_single_pixels),
        cmocka_unit_test(sums_count_what_is_in_a_rectangle),
        cmocka_unit_test(sobel_is_the_sum_of_two_slopes),
        cmocka_unit_test(otsu_parts_two_hills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
