/* approach_ball: it looks for a ball where it lost it before it turns away, and tries again if its foot has missed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/harness.h"
#include "core/stamp.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/WalkCommand.h"

extern const struct nm_module approach_ball_module;

static const double TICK = 0.033;

/* A step with a ball straight ahead, so far away; 0: none. */
static const NavigationGoal *play(struct nm_harness *h, double far, double speed)
{
    const struct nm *nm = *(struct nm **)nm_harness_self(h);
    BallModel *ball = nm_harness_set(h, "ball");
    ball->valid = far > 0;
    ball->position.x = far;
    ball->velocity.x = speed;
    if (ball->valid) ball->last_seen = nm_stamp(nm->now);
    nm_harness_step(h, TICK);
    return nm_harness_get(h, "navigation_goal");
}

/* Seconds without a ball until it turns. */
static double waits(struct nm_harness *h)
{
    for (double t = 0; t < 5; t += TICK)
        if (play(h, 0, 0)->velocity.angular.z > 1) return t;
    return 5;
}

static void a_ball_that_was_lost_near_it_is_looked_for_there(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&approach_ball_module, "start=0");
    assert_true(waits(h) < 0.1); /* it never had one */
    for (int i = 0; i < 10; i++) assert_int_equal(play(h, 3, 0)->mode, NavigationGoal_WALK_BEHIND_BALL);
    assert_true(waits(h) < 0.1);
    for (int i = 0; i < 10; i++) assert_int_equal(play(h, 0.3, 0)->mode, NavigationGoal_WALK_BEHIND_BALL);
    double wait = waits(h);
    assert_true(wait > 0.7 && wait < 1.5);
    nm_harness_free(h);
}

static void after_a_kick_it_stands_unless_the_ball_still_lies_there(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&approach_ball_module, "start=0");
    for (int i = 0; i < 10; i++) play(h, 0.3, 0);
    ((WalkCommand *)nm_harness_set(h, "walk_command"))->kick = WalkCommand_KICK_FORWARD;
    play(h, 0.3, 0);
    for (int i = 0; i < 10; i++) assert_int_equal(play(h, 0.3 + 0.05 * i, 1.5)->mode, NavigationGoal_STAND);
    for (int i = 0; i < 10; i++) assert_int_equal(play(h, 2.5, 0)->mode, NavigationGoal_STAND); /* it has rolled */
    for (int i = 0; i < 10; i++) assert_int_equal(play(h, 0, 0)->mode, NavigationGoal_STAND);
    assert_int_equal(play(h, 0.3, 0)->mode, NavigationGoal_WALK_BEHIND_BALL); /* it was only thought to roll */
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ball_that_was_lost_near_it_is_looked_for_there),
        cmocka_unit_test(after_a_kick_it_stands_unless_the_ball_still_lies_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
