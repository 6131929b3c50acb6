/* The border over two cameras: where the lower camera has seen the end of the carpet, the upper one looks no further.
 */
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
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/FieldBorder.h"
#include "nutmeg_msgs/ImageSegments.h"
#include "sensor_msgs/Image.h"

extern const struct nm_module field_border_module;

/* Carpet up to row 150 in all columns. `below`: m to the border that the lower camera saw; 0: it saw none. */
static const FieldBorder *look(struct nm_harness *h, const struct nm_body *body, double below)
{
    static uint8_t yuyv[1280 * 1280 * 2];
    const struct nm_camera *lens = &body->cameras[0].lens;
    const char *camera = body->frames[body->cameras[0].frame].name;
    Image *image = nm_harness_set(h, "camera/image_raw");
    nm_text(image->header.frame_id, "%s", camera);
    nm_text(image->encoding, "yuv422_yuy2");
    image->width = lens->width, image->height = lens->height, image->step = 2 * lens->width;
    image->data = (struct nm_blob){.data = yuyv, .n = image->step * image->height, .cap = sizeof yuyv};
    CameraPose *pose = nm_harness_set(h, "camera/pose");
    struct quat level = quat_mul(quat_rpy(0, 0.2, 0), quat_rpy(-M_PI / 2, 0, -M_PI / 2));
    pose->pose = (Pose){{0, 0, 0.6}, {level.x, level.y, level.z, level.w}};
    pose->valid = true;
    nm_text(pose->camera, "%s", camera);
    ImageSegments *segments = nm_harness_set(h, "image_segments");
    for (uint32_t i = 0; i < 40; i++) {
        ImageSegment *other = &segments->vertical.at[segments->vertical.n++];
        *other = (ImageSegment){.line = (uint16_t)(16 * i), .begin = 0, .end = 150, .label = ImageSegment_OTHER};
        segments->vertical.at[segments->vertical.n++] = (ImageSegment){
            .line = (uint16_t)(16 * i), .begin = 150, .end = (uint16_t)lens->height, .label = ImageSegment_FIELD};
    }
    FieldBorder *lower = nm_harness_set(h, "field_border_below");
    for (int i = 0; below > 0 && i < 21; i++) {
        double bearing = 1 - 0.1 * i; /* from left to right */
        lower->points.at[lower->points.n++] =
            (Point32){(float)(below * cos(bearing)), (float)(below * sin(bearing)), 0};
        lower->in_image.n++;
        lower->seen.at[lower->seen.n++] = true;
    }
    nm_harness_step(h, 0.03);
    return nm_harness_get(h, "field_border");
}

static uint32_t seen(const FieldBorder *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->seen.n; i++) n += b->seen.at[i];
    return n;
}

static void the_upper_camera_goes_on_where_the_lower_one_ended(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = nm_body_load(&arena, NM_ROOT "/robots/kid70", NULL);
    struct nm_harness *h = nm_harness_new_with(&field_border_module, NULL, body);
    const FieldBorder *alone = look(h, body, 0);
    assert_true(alone && seen(alone) > 30);
    const FieldBorder *far = look(h, body, 50); /* beyond everything: it changes nothing */
    assert_true(seen(far) > 30);
    const FieldBorder *near = look(h, body, 0.5);
    assert_int_equal(seen(near), 0);
    for (uint32_t i = 0; i < near->points.n; i++) {
        double away = hypot((double)near->points.at[i].x, (double)near->points.at[i].y);
        if (!(away > 0.49 && away < 0.51)) fail_msg("point %u is %g m away", i, away);
    }
    nm_harness_free(h);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_upper_camera_goes_on_where_the_lower_one_ended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
