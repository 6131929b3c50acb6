/* The ball filter with all that a robot knows: the time of the image, where its camera looks, what stands in the way,
 * and its own kicks. */
#include "world_rig.h"

#include "body/robot.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/WalkCommand.h"

extern const struct nm_module ball_filter_module;

static struct nm_arena arena;
static const struct nm_body *body;

static int setup(void **state)
{
    struct nm_err err = {0};
    (void)state;
    body = nm_body_load(&arena, NM_ROOT "/robots/kid70", &err);
    return body ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

static const BallModel *go(struct nm_harness *h)
{
    nm_harness_step(h, STEP);
    return nm_harness_get(h, "ball");
}

static void a_late_image_shows_where_the_ball_was(void **state)
{
    (void)state;
    const double late = 0.1, v = 1.5, brake = 0.77;
    struct nm_harness *h = nm_harness_new(&ball_filter_module, NULL);
    double error = 0;
    int n = 0;
    for (int i = 0; i < 40; i++) {
        double t = i * STEP, then = fmax(t - late, 0);
        give_odometry(h, (struct pose2){0});
        add_percept(give_image(h, late), Percept_BALL, 3 - v * then + brake * then * then / 2, 0.3, 0.03);
        const BallModel *ball = go(h);
        if (t < 0.8) continue;
        error += fabs(ball->position.x - (3 - v * t + brake * t * t / 2));
        n++;
    }
    assert_true(error / n < 0.04); /* a tenth of a second of its way is 8 to 15 cm */
    nm_harness_free(h);
}

/* Sees the ball for a second, and then no more; returns for how many seconds it is believed to be there. */
static double remembered(double pan, bool robot_before)
{
    struct nm_harness *h = nm_harness_new_with(&ball_filter_module, "forget=6", body);
    const BallModel *ball = NULL;
    int steps = 0;
    for (int i = 0; i < 30; i++) {
        give_odometry(h, (struct pose2){0});
        give_camera(h, 0, 0.4);
        add_percept(give_image(h, 0.02), Percept_BALL, 1.5, 0, 0.05);
        ball = go(h);
    }
    assert_true(ball->valid);
    for (; steps < 240 && ball->valid; steps++) {
        if (robot_before) {
            Obstacle *o = nm_append(&((ObstacleModel *)nm_harness_set(h, "obstacles"))->obstacles, &Obstacle_type);
            o->kind = Obstacle_RIVAL;
            o->position = (Point){0.8, 0, 0};
            o->radius = 0.16f;
        }
        give_camera(h, pan, 0.4);
        give_image(h, 0.02);
        ball = go(h);
    }
    nm_harness_free(h);
    return steps * STEP;
}

/* A vision misses a ball that lies before it for half a second from time to time. */
static void a_ball_that_should_be_seen_and_is_not_is_lost_but_not_at_once(void **state)
{
    (void)state;
    double lasts = remembered(0, false);
    assert_true(lasts > 1 && lasts < 2.5);
}

static void a_ball_out_of_view_or_behind_a_robot_is_remembered(void **state)
{
    (void)state;
    assert_true(remembered(1.5, false) > 5);
    assert_true(remembered(0, true) > 5);
}

static double speed_after_a_kick(bool own)
{
    struct nm_harness *h = nm_harness_new(&ball_filter_module, NULL);
    const BallModel *ball = NULL;
    for (int i = 0; i < 36; i++) {
        double rolled = fmax(i - 32, 0) * STEP * 1.8;
        give_odometry(h, (struct pose2){0});
        if (own && i == 25) {
            WalkCommand *walk = nm_harness_set(h, "walk_command");
            walk->kick = WalkCommand_KICK_FORWARD;
            walk->kick_strength = 1;
        }
        add_percept(give_image(h, 0.02), Percept_BALL, 0.25 + rolled, 0.05, 0.04);
        ball = go(h);
    }
    double speed = hypot(ball->velocity.x, ball->velocity.y);
    nm_harness_free(h);
    return speed;
}

static void the_robots_own_kick_is_known_at_once(void **state)
{
    (void)state;
    double own = speed_after_a_kick(true), other = speed_after_a_kick(false);
    assert_true(own > 1.2 && own < 2.4);
    assert_true(own >= other);
}

/* A kick that a rival's foot throws back: the ball is soon where it is seen, not where it should have rolled. */
static void a_ball_that_is_seen_soon_counts_more_than_one_that_should_roll(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&ball_filter_module, NULL, body);
    int images = 0;
    for (int i = 0; i < 60; i++) {
        double rolled = fmax(i - 25, 0) * STEP * 2.5;
        bool back = i > 30;
        give_odometry(h, (struct pose2){0});
        give_camera(h, back ? 1.5 : 0, 0.6); /* nothing says that the other one is not there */
        add_percept(give_image(h, 0.02), Percept_BALL, back ? 0.5 : 0.5 + rolled, back ? -0.3 : 0, 0.04);
        const BallModel *ball = go(h);
        if (back && hypot(ball->position.x - 0.5, ball->position.y + 0.3) > 0.15) images++;
    }
    assert_in_range(images, 0, 12);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_image_shows_where_the_ball_was),
        cmocka_unit_test(a_ball_that_should_be_seen_and_is_not_is_lost_but_not_at_once),
        cmocka_unit_test(a_ball_out_of_view_or_behind_a_robot_is_remembered),
        cmocka_unit_test(the_robots_own_kick_is_known_at_once),
        cmocka_unit_test(a_ball_that_is_seen_soon_counts_more_than_one_that_should_roll),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
