/* chase_ball: towards the ball, straight on only when it faces it, and around when there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/harness.h"
#include "geometry_msgs/Twist.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/HeadCommand.h"

extern const struct nm_module chase_ball_module;

static Twist chase(struct nm_harness *h, double x, double y)
{
    BallModel *ball = nm_harness_set(h, "ball");
    ball->valid = true;
    ball->position = (Point){x, y, 0};
    nm_harness_step(h, 0.02);
    return *(const Twist *)nm_harness_get(h, "cmd_vel");
}

static void it_walks_where_the_ball_is(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&chase_ball_module, "speed=0.3, turn=1");
    Twist ahead = chase(h, 2, 0), left = chase(h, 1, 1), behind = chase(h, -1, -0.2);
    assert_true(ahead.linear.x > 0.29 && ahead.angular.z == 0);
    assert_true(left.linear.x > 0 && left.linear.x < ahead.linear.x && left.angular.z == 1);
    assert_true(behind.linear.x == 0 && behind.angular.z == -1);
    const HeadCommand *head = nm_harness_get(h, "head_command");
    assert_int_equal(head->mode, HeadCommand_LOOK_AT);
    nm_harness_free(h);
}

static void it_looks_for_a_lost_ball_where_it_went(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&chase_ball_module, "patience=0.5, search=0.8");
    chase(h, 1, -1);
    nm_harness_step(h, 0.6);
    const Twist *v = nm_harness_get(h, "cmd_vel");
    assert_true(v->linear.x == 0 && v->angular.z < -0.7);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_walks_where_the_ball_is),
        cmocka_unit_test(it_looks_for_a_lost_ball_where_it_went),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
