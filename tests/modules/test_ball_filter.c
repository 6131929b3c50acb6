/* The ball filter against the closed form of a rolling ball. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core/harness.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/BallRelative.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/Percepts.h"

extern const struct nm_module ball_filter_module;

static double gauss(void) { return sqrt(-2 * log(1 - drand48())) * cos(2 * M_PI * drand48()); }

/* The time of the next step, for what is measured then. */
static Time soon(struct nm_harness *h, double seconds)
{
    const struct nm *nm = *(struct nm **)nm_harness_self(h);
    return nm_stamp(nm->now + nm_ns(seconds));
}

static const BallModel *see(struct nm_harness *h, double x, double y)
{
    BallRelative *seen = nm_harness_set(h, "ball_relative");
    seen->header.stamp = soon(h, 0.033);
    seen->ball_relative.x = x;
    seen->ball_relative.y = y;
    seen->confidence = 1;
    nm_harness_step(h, 0.033);
    return nm_harness_get(h, "ball");
}

static void a_rolling_ball_is_tracked_to_its_rest(void **state)
{
    (void)state;
    const double k = 0.5, v = 2;
    struct nm_harness *h =
        nm_harness_new(&ball_filter_module, "friction=0.5, brake=0, learn_brake=false, tilt_share=0");
    const BallModel *ball = NULL;
    double error = 0;
    int n = 0;
    srand48(3);
    for (double t = 0; t < 2; t += 0.033) {
        double way = v / k * (1 - exp(-k * t)), x = 3 - way, y = 0.5 * way;
        ball = see(h, x + 0.05 * gauss(), y + 0.05 * gauss());
        if (t > 0.7) error += hypot(ball->position.x - x, ball->position.y - y), n++;
    }
    assert_true(ball->valid);
    assert_true(error / n < 0.05);
    assert_true(fabs(ball->velocity.x + v * exp(-k * 2)) < 0.25);
    /* rests v / k further */
    assert_true(fabs(ball->destination.x - (3 - v / k)) < 0.5);
    assert_true(ball->covariance[0] < 0.05 * 0.05);
    nm_harness_free(h);
}

static void the_robots_own_motion_does_not_move_the_ball(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&ball_filter_module, NULL);
    const BallModel *ball = NULL;
    for (int i = 0; i < 60; i++) {
        /* the robot walks forward at 0.5 m/s and turns; the ball lies at (3, 1) */
        struct pose2 robot = {0.5 * 0.033 * i, 0, 0.3 * 0.033 * i},
                     at = pose2_mul(pose2_inv(robot), (struct pose2){3, 1, 0});
        Odometry *o = nm_harness_set(h, "odometry");
        o->header.stamp = soon(h, 0.033);
        o->pose.pose.position.x = robot.x;
        o->pose.pose.orientation = (Quaternion){0, 0, sin(robot.theta / 2), cos(robot.theta / 2)};
        ball = see(h, at.x, at.y);
        if (i > 5) {
            assert_true(hypot(ball->position.x - at.x, ball->position.y - at.y) < 0.02);
            assert_true(hypot(ball->velocity.x, ball->velocity.y) < 0.1);
        }
    }
    nm_harness_free(h);
}

static void one_false_sighting_is_ignored_and_a_ball_that_stays_elsewhere_is_followed(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&ball_filter_module, NULL);
    for (int i = 0; i < 30; i++) see(h, 1, 0);
    assert_true(see(h, 4, 2)->position.x < 1.1);
    assert_true(see(h, 1, 0)->position.x < 1.1);
    int images = 0;
    while (see(h, 4, 2)->position.x < 3.9 && images < 200) images++;
    assert_in_range(images, 1, 60);
    nm_harness_free(h);
}

static void what_lies_beyond_the_carpet_is_no_ball(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) { /* who does not know its place cannot tell */
        struct nm_harness *h = nm_harness_new(&ball_filter_module, NULL);
        for (int i = 0; i < 10; i++) {
            PoseWithCovarianceStamped *pose = nm_harness_set(h, "pose");
            pose->header.stamp = soon(h, 0.033);
            pose->pose.pose.position.x = 2;
            pose->pose.pose.orientation.w = 1;
            pose->pose.covariance[0] = pose->pose.covariance[7] = lost ? 4 : 0.01;
            assert_int_equal(see(h, 6, 0)->valid, lost);
        }
        assert_true(see(h, 1, 0)->valid);
        nm_harness_free(h);
    }
}

/* The robot stands at x = 0 until the ball has been seen, then walks to x_last at 0.3 m/s and sees it no more. */
static const BallModel *walk_blindly(struct nm_harness *h, double ball_x, double x_last)
{
    for (int i = 0; i < 30; i++) see(h, ball_x, 0.1);
    for (double x = 0; x < x_last; x += 0.3 * 0.033) {
        Odometry *o = nm_harness_set(h, "odometry");
        o->header.stamp = soon(h, 0.033);
        o->pose.pose.position.x = x;
        o->pose.pose.orientation.w = 1;
        Percepts *nothing = nm_harness_set(h, "percepts");
        nothing->header.stamp = soon(h, 0.033);
        nm_harness_step(h, 0.033);
    }
    return nm_harness_get(h, "ball");
}

static void a_ball_that_the_robot_walks_into_rolls_ahead_of_it(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&ball_filter_module, NULL);
    const BallModel *ball = walk_blindly(h, 0.5, 0.3);
    assert_true(fabs(ball->position.x - 0.2) < 0.03 && fabs(ball->velocity.x) < 0.05);
    nm_harness_free(h);
    h = nm_harness_new(&ball_filter_module, NULL);
    ball = walk_blindly(h, 0.5, 0.6);
    assert_true(ball->valid && ball->position.x > 0.2);
    nm_harness_free(h);
}

/* A kick against the feet of a rival: the ball is not behind it. */
static void an_unseen_ball_does_not_roll_through_a_rival(void **state)
{
    (void)state;
    for (int rival = 0; rival < 2; rival++) {
        struct nm_harness *h = nm_harness_new(&ball_filter_module, "brake=0.5, learn_brake=false");
        const BallModel *ball = NULL;
        for (int i = 0; i < 20; i++) see(h, 0.4 + 2 * 0.033 * fmax(i - 15, 0), 0);
        for (int i = 0; i < 20; i++) {
            ObstacleModel *others = nm_harness_set(h, "obstacles");
            Obstacle *o = rival ? nm_append(&others->obstacles, &Obstacle_type) : NULL;
            if (o) *o = (Obstacle){.kind = Obstacle_RIVAL, .position = {1.0, 0.05, 0}, .last_seen = soon(h, 0)};
            ((Percepts *)nm_harness_set(h, "percepts"))->header.stamp = soon(h, 0.033);
            nm_harness_step(h, 0.033);
            ball = nm_harness_get(h, "ball");
        }
        assert_true(ball->valid && (rival ? ball->position.x < 1 : ball->position.x > 1.2));
        nm_harness_free(h);
    }
}

static void an_unseen_ball_is_forgotten(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&ball_filter_module, "forget=2");
    assert_true(see(h, 1, 0)->valid);
    nm_harness_step(h, 1.9);
    assert_true(((const BallModel *)nm_harness_get(h, "ball"))->valid);
    nm_harness_step(h, 0.2);
    assert_false(((const BallModel *)nm_harness_get(h, "ball"))->valid);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rolling_ball_is_tracked_to_its_rest),
        cmocka_unit_test(the_robots_own_motion_does_not_move_the_ball),
        cmocka_unit_test(one_false_sighting_is_ignored_and_a_ball_that_stays_elsewhere_is_followed),
        cmocka_unit_test(what_lies_beyond_the_carpet_is_no_ball),
        cmocka_unit_test(a_ball_that_the_robot_walks_into_rolls_ahead_of_it),
        cmocka_unit_test(an_unseen_ball_does_not_roll_through_a_rival),
        cmocka_unit_test(an_unseen_ball_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
