/* A straight line of the world is straight in the rectified image, wherever it lies. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "body/robot.h"
#include "core/harness.h"
#include "core/nm.h"
#include "sensor_msgs/Image.h"

extern const struct nm_module rectify_module;

static void straight_lines_become_straight(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = nm_body_load(&arena, NM_ROOT "/robots/kid70", NULL);
    assert_non_null(body);
    const struct nm_camera *lens = &body->cameras[0].lens;
    static uint8_t yuyv[1280 * 1280 * 2];
    uint32_t w = lens->width, h = lens->height, checked = 0;
    for (uint32_t i = 0; i < w * h; i++) yuyv[2 * i] = 0, yuyv[2 * i + 1] = 128;
    const double slope = 0.6, above = -0.1; /* y = slope x + above on the plane z = 1 */
    for (double x = -0.6; x < 0.6; x += 0.0005) {
        struct pixel at;
        if (!nm_camera_project(lens, (struct vec3){x, slope * x + above, 1}, &at) || !nm_camera_sees(lens, at))
            continue;
        yuyv[2 * ((uint32_t)(at.v + 0.5) * w + (uint32_t)(at.u + 0.5))] = 255;
    }
    struct nm_harness *harness = nm_harness_new_with(&rectify_module, "every=1", body);
    Image *image = nm_harness_set(harness, "camera/image_raw");
    nm_text(image->header.frame_id, "%s", body->frames[body->cameras[0].frame].name);
    nm_text(image->encoding, "yuv422_yuy2");
    image->width = w, image->height = h, image->step = 2 * w;
    image->data = (struct nm_blob){.data = yuyv, .n = 2 * w * h, .cap = 2 * w * h};
    nm_harness_step(harness, 0.03);
    const Image *to = nm_harness_get(harness, "camera/image_rect_color");
    assert_non_null(to);
    assert_string_equal(to->encoding, "rgb8");
    for (uint32_t y = 0; y < to->height; y++)
        for (uint32_t x = 0; x < to->width; x++) {
            if (to->data.data[y * to->step + 3 * x] < 128) continue;
            double px = (x - lens->cx) / lens->fx, py = (y - lens->cy) / lens->fy;
            double off = fabs(py - slope * px - above) / hypot(1, slope) * lens->fx;
            if (off > 1.6) fail_msg("pixel %u %u is %.1f px off the line", x, y, off);
            checked++;
        }
    assert_true(checked > 300);
    nm_harness_free(harness);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(straight_lines_become_straight)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
