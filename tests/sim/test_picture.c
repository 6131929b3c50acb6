/* The camera's electronics: exposure, white balance, blur, noise and formats do what their names say. */
#include "sim/sim_help.h"

#include "sim/grain.h"
#include "sim/picture.h"

enum { W = 101, H = 40 }; /* odd: a pair is half outside */

static struct nm_eye *painted_eye(struct nm_arena *arena, uint32_t r, uint32_t g, uint32_t b)
{
    struct nm_camera camera = {.width = W, .height = H, .fx = 80, .fy = 80, .cx = 50, .cy = 20};
    nm_camera_ready(&camera);
    struct nm_eye *eye = nm_eye_new(arena, nm_lens_map_new(arena, &camera, NULL));
    for (uint32_t i = 0; i < eye->lens->stride * H; i++) eye->light[i] = r | g << 10 | b << 20;
    return eye;
}

static void exposure_and_white_balance_scale_the_light(void **state)
{
    struct nm_arena arena = {0};
    (void)state;
    struct nm_eye *eye = painted_eye(&arena, 400, 200, 100);
    uint8_t rgb[W * H * 3];
    struct nm_shutter shutter = NM_SHUTTER_PLAIN;
    nm_develop(eye, &shutter, 0, NM_RGB8, rgb);
    assert_int_equal(rgb[0], 124);
    assert_int_equal(rgb[1], 62);
    assert_int_equal(rgb[2], 31);
    shutter.exposure = 1.5f;
    shutter.white[2] = 2;
    nm_develop(eye, &shutter, 0, NM_RGB8, rgb);
    assert_int_equal(rgb[3 * (W * H - 1)], 186);
    assert_int_equal(rgb[3 * (W * H - 1) + 1], 93);
    assert_int_equal(rgb[3 * (W * H - 1) + 2], 93);
    shutter.exposure = 10;
    nm_develop(eye, &shutter, 0, NM_RGB8, rgb);
    assert_int_equal(rgb[0], 255); /* burnt out, not wrapped around */
    nm_arena_free(&arena);
}

static void yuyv_is_rgb_in_another_form(void **state)
{
    struct nm_arena arena = {0};
    (void)state;
    struct nm_eye *eye = painted_eye(&arena, 0, 0, 0);
    for (uint32_t y = 0; y < H; y++)
        for (uint32_t x = 0; x < W; x++)
            eye->light[y * eye->lens->stride + x] = (x * 7 % 800) | (y * 19 % 800) << 10 | ((x + y) * 5 % 800) << 20;
    static uint8_t rgb[W * H * 3], yuyv[(W + 1) * 2 * H];
    assert_int_equal(nm_picture_bytes(&eye->lens->camera, NM_YUYV), sizeof yuyv);
    nm_develop(eye, &NM_SHUTTER_PLAIN, 0, NM_RGB8, rgb);
    nm_develop(eye, &NM_SHUTTER_PLAIN, 0, NM_YUYV, yuyv);
    for (uint32_t y = 0; y < H; y++)
        for (uint32_t x = 0; x < W; x++) {
            const uint8_t *p = rgb + 3 * (y * W + x), *first = rgb + 3 * (y * W + (x & ~1u));
            const uint8_t *second = (x | 1) < W ? first + 3 : first, *pair = yuyv + y * (W + 1) * 2 + (x & ~1u) * 2;
            double mean[3];
            for (int k = 0; k < 3; k++) mean[k] = (first[k] + second[k]) / 2.0;
            assert_near(pair[x & 1 ? 2 : 0], 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2], 1.1);
            assert_near(pair[1], 128 - 0.168736 * mean[0] - 0.331264 * mean[1] + 0.5 * mean[2], 1.1);
            assert_near(pair[3], 128 + 0.5 * mean[0] - 0.418688 * mean[1] - 0.081312 * mean[2], 1.1);
        }
    nm_arena_free(&arena);
}

static void noise_has_the_deviation_that_was_asked_for(void **state)
{
    (void)state;
    for (int bright = 0; bright < 2; bright++) {
        struct nm_arena arena = {0};
        struct nm_eye *eye = painted_eye(&arena, bright ? 720 : 160, 400, 400);
        struct nm_shutter shutter = NM_SHUTTER_PLAIN;
        shutter.noise = 3;
        shutter.shot_noise = 4;
        double sum = 0, square = 0, beside = 0;
        uint8_t rgb[W * H * 3], again[W * H * 3];
        for (uint64_t seed = 0; seed < 20; seed++) {
            nm_develop(eye, &shutter, seed, NM_RGB8, rgb);
            for (int i = 0; i < W * H; i++) {
                double d = rgb[3 * i] - (bright ? 223.2 : 49.6);
                sum += d;
                square += d * d;
                if (i) beside += d * (rgb[3 * i - 3] - (bright ? 223.2 : 49.6));
            }
        }
        double n = 20.0 * W * H, x = bright ? 0.9 : 0.2, sigma = 3 + 4 * x * (2 - x);
        assert_near(sum / n, 0, 0.15);
        assert_near(sqrt(square / n), sigma, 0.15);
        assert_near(beside / square, 0, 0.03); /* neighbours know nothing of each other */
        nm_develop(eye, &shutter, 19, NM_RGB8, again);
        assert_memory_equal(rgb, again, sizeof rgb);
        nm_develop(eye, &shutter, 18, NM_RGB8, again);
        assert_memory_not_equal(rgb, again, sizeof rgb);
        nm_arena_free(&arena);
    }
}

static void blur_spreads_light_and_loses_none(void **state)
{
    struct nm_arena arena = {0};
    (void)state;
    struct nm_eye *eye = painted_eye(&arena, 0, 0, 0);
    uint8_t rgb[W * H * 3];
    struct nm_shutter shutter = NM_SHUTTER_PLAIN;
    shutter.blur = 0.1f;
    eye->light[20 * eye->lens->stride + 50] = 800;
    nm_develop(eye, &shutter, 0, NM_RGB8, rgb);
    assert_near(rgb[3 * (20 * W + 50)], 248 * 0.8 * 0.8, 1);
    assert_near(rgb[3 * (20 * W + 51)], 248 * 0.1 * 0.8, 1);
    assert_near(rgb[3 * (19 * W + 50)], 248 * 0.1 * 0.8, 1);
    assert_near(rgb[3 * (21 * W + 49)], 248 * 0.1 * 0.1, 1);
    int sum = 0;
    for (int i = 0; i < W * H; i++) sum += rgb[3 * i];
    assert_near(sum, 248, 5);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exposure_and_white_balance_scale_the_light),
        cmocka_unit_test(yuyv_is_rgb_in_another_form),
        cmocka_unit_test(noise_has_the_deviation_that_was_asked_for),
        cmocka_unit_test(blur_spreads_light_and_loses_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
