/* What was known a moment ago becomes boxes in the image, and a ball that is hard to tell is found in such a box. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/harness.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/BallsInImage.h"
#include "modules/vision/regions.h"
#include "nutmeg_msgs/BallModel.h"

extern const struct nm_module regions_of_interest_module, ball_candidates_module;

static const struct nm_body *body;
static uint8_t yuyv[1280 * 1280 * 2], classes[640 * 640];
static struct pose3 camera_to_robot;
static int64_t now;

static Header header_at(int64_t time, const char *frame)
{
    Header header = {.stamp = nm_stamp(time)};
    nm_text(header.frame_id, "%s", frame);
    return header;
}

static Image *give_image(struct nm_harness *h, const char *topic, uint8_t *bytes, uint32_t shrink, uint32_t size)
{
    const struct nm_camera *lens = &body->cameras[0].lens;
    Image *image = nm_harness_set(h, topic);
    image->header = header_at(now, body->frames[body->cameras[0].frame].name);
    nm_text(image->encoding, "%s", size == 2 ? "yuv422_yuy2" : "mono8");
    image->width = lens->width / shrink, image->height = lens->height / shrink, image->step = size * image->width;
    image->data = (struct nm_blob){.data = bytes, .n = image->step * image->height, .cap = sizeof yuyv};
    return image;
}

/* A level robot looks 0.4 rad down. */
static void see(struct nm_harness *h)
{
    CameraPose *pose = nm_harness_set(h, "camera/pose");
    camera_to_robot.rot = quat_mul(quat_rpy(0, 0.4, 0), quat_rpy(-M_PI / 2, 0, -M_PI / 2));
    camera_to_robot.pos = (struct vec3){0, 0, 0.6};
    const struct quat *q = &camera_to_robot.rot;
    now += nm_ns(0.03);
    give_image(h, "camera/image_raw", yuyv, 1, 2);
    pose->header = header_at(now, "base_footprint");
    pose->pose = (Pose){{0, 0, 0.6}, {q->x, q->y, q->z, q->w}};
    pose->valid = true;
    nm_text(pose->camera, "%s", body->frames[body->cameras[0].frame].name);
}

static struct pixel seen_at(double x, double y, double z)
{
    struct pixel p = {-1, -1};
    nm_camera_from_world(&body->cameras[0].lens, camera_to_robot, (struct vec3){x, y, z}, &p);
    return p;
}

static void what_was_known_is_expected_where_it_would_be_seen(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&regions_of_interest_module, NULL, body);
    for (int old = 0; old < 2; old++) {
        see(h);
        BallModel *ball = nm_harness_set(h, "ball");
        ball->header = header_at(now - nm_ns(old ? 2 : 0.1), "base_footprint");
        ball->valid = true;
        ball->confidence = 1;
        ball->position = (Point){1.2, 0.3, 0};
        ball->velocity.x = 1; /* so that it is at 1.3 m when the image is taken */
        ball->covariance[0] = ball->covariance[5] = 0.001;
        PoseWithCovarianceStamped *where = nm_harness_set(h, "pose");
        where->header = header_at(now - nm_ns(0.05), "map");
        where->pose.pose = (Pose){{2.475, 1.3, 0}, {0, 0, 0, 1}}; /* 2 m before a post of the goal */
        where->pose.covariance[0] = where->pose.covariance[7] = old ? 4 : 0.001;
        where->pose.covariance[35] = 0.0001;
        nm_harness_step(h, 0.03);
        const RegionsOfInterest *balls = nm_harness_get(h, "ball_ROIs"), *posts = nm_harness_get(h, "goal_ROIs");
        const Image image = {.header = header_at(now, "")}, later = {.header = header_at(now + 1, "")};
        assert_int_equal(balls->regions.n, old ? 0 : 1);
        if (old) assert_int_equal(posts->regions.n, 0); /* a robot that knows little expects nothing */
        if (old) break;
        struct pixel b = seen_at(1.3, 0.3, 0.07), p = seen_at(2, 0, 0);
        assert_true(expected_at(balls, &image, b.u, b.v) > 0.5f);
        assert_true(expected_at(posts, &image, p.u, p.v) > 0.3f);
        assert_true(expected_at(balls, &image, b.u + 250, b.v) == 0);
        assert_true(expected_at(posts, &image, p.u, p.v + 100) == 0);
        assert_true(expected_at(balls, &later, b.u, b.v) == 0); /* regions of another image */
    }
    nm_harness_free(h);
}

/* Half of what is seen of the ball has the colour of the carpet. */
static void a_ball_that_is_hard_to_tell_is_found_where_it_is_expected(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&ball_candidates_module, NULL, body);
    const struct nm_camera *lens = &body->cameras[0].lens;
    uint32_t w = lens->width / 2, height = lens->height / 2, hits[2] = {0};
    for (int expected = 0; expected < 2; expected++) {
        see(h);
        struct pixel at = seen_at(1.2, 0, 0.07);
        double r = nm_camera_ball_radius(lens, camera_to_robot, at, 0.07) / 2;
        for (uint32_t i = 0; i < w * height; i++) {
            double u = i % w - at.u / 2, v = i / w - at.v / 2;
            bool white = hypot(u, v) < r && (i % w + i / w) % 2;
            classes[i] = white ? CLASS_WHITE : CLASS_FIELD;
        }
        give_image(h, "image_classes", classes, 2, 1);
        RegionsOfInterest *regions = nm_harness_set(h, "ball_ROIs");
        regions->header = header_at(now, "");
        if (expected) {
            regions->regions.at[0] = (RegionOfInterest){
                .x_offset = (uint32_t)at.u - 60, .y_offset = (uint32_t)at.v - 50, .width = 100, .height = 100};
            regions->confidence.at[0] = 1;
            regions->regions.n = regions->confidence.n = 1;
        }
        nm_harness_step(h, 0.03);
        const BallsInImage *found = nm_harness_get(h, "ball_candidates");
        for (uint32_t i = 0; i < found->candidates.n; i++) {
            const BallInImage *b = &found->candidates.at[i];
            hits[expected] += hypot(b->center.x - at.u, b->center.y - at.v) < 0.5 * r && fabs(b->diameter - 4 * r) < r;
        }
    }
    assert_int_equal(hits[0], 0);
    assert_int_equal(hits[1], 1);
    nm_harness_free(h);
}

int main(void)
{
    struct nm_arena arena = {0};
    body = nm_body_load(&arena, NM_ROOT "/robots/kid70", NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_known_is_expected_where_it_would_be_seen),
        cmocka_unit_test(a_ball_that_is_hard_to_tell_is_found_where_it_is_expected),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nm_arena_free(&arena);
    return failed;
}
