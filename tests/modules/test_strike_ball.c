/* strike_ball: to the ball that the robot sees, one kick when it lies before the foot that is about to swing, and on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/harness.h"
#include "geometry_msgs/PointStamped.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"

extern const struct nm_module strike_ball_module;

static WalkCommand strike(struct nm_harness *h, double x, double y, bool left_support)
{
    BallModel *ball = nm_harness_set(h, "ball");
    WalkState *walk = nm_harness_set(h, "walk_state");
    PointStamped *place = nm_harness_set(h, "kick_place");
    ball->valid = true;
    ball->position = (Point){x, y, 0};
    walk->state = WalkState_WALKING;
    walk->left_support = left_support;
    place->point = (Point){0.2, 0.05, 0};
    nm_harness_step(h, 0.02);
    const WalkCommand *told = nm_harness_get(h, "walk_command");
    return told ? *told : (WalkCommand){.mode = WalkCommand_STAND};
}

static void it_kicks_once_when_the_ball_lies_before_its_foot(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&strike_ball_module, "speed=0.25");
    WalkCommand far = strike(h, 1.5, 0.05, true), beside = strike(h, 0.6, 0.2, true);
    assert_int_equal(far.mode, WalkCommand_VELOCITY);
    assert_true(far.velocity.linear.x > 0.2 && far.kick == WalkCommand_KICK_NONE);
    assert_true(beside.velocity.linear.y > 0.05 && beside.kick == WalkCommand_KICK_NONE);
    /* the other foot stands: the left one is in the air already */
    assert_int_equal(strike(h, 0.22, 0.05, false).kick, WalkCommand_KICK_NONE);
    WalkCommand now = strike(h, 0.22, 0.05, true);
    assert_int_equal(now.kick, WalkCommand_KICK_FORWARD);
    assert_true(now.kick_left);
    assert_int_equal(strike(h, 0.22, 0.05, true).kick, WalkCommand_KICK_NONE); /* asked for once */
    nm_harness_free(h);
}

static void it_only_looks_when_it_may_not_go(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&strike_ball_module, "go=false");
    assert_int_equal(strike(h, 0.22, 0.05, true).mode, WalkCommand_STAND);
    const HeadCommand *head = nm_harness_get(h, "head_command");
    assert_true(head->mode == HeadCommand_LOOK_AT || head->mode == HeadCommand_ANGLES);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_kicks_once_when_the_ball_lies_before_its_foot),
        cmocka_unit_test(it_only_looks_when_it_may_not_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
