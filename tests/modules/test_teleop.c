/* A person drives while the enable button is held, inside the limits, and the robot stops when nobody does. */
#include "geometry_msgs/Twist.h"
#include "modules/body_rig.h"
#include "sensor_msgs/Joy.h"

extern const struct nm_module teleop_module;

static const Twist *drive(struct nm_harness *h, float ahead, float left, float turn, int enable)
{
    Joy *joy = nm_harness_set(h, "joy");
    joy->axes.n = 4;
    joy->axes.at[0] = left, joy->axes.at[1] = ahead, joy->axes.at[2] = 1, joy->axes.at[3] = turn;
    joy->buttons.n = 5;
    for (int i = 0; i < 5; i++) joy->buttons.at[i] = 0;
    joy->buttons.at[4] = enable;
    nm_harness_step(h, 0.02);
    return nm_harness_get(h, "cmd_vel");
}

static void the_sticks_drive_up_to_the_limits(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&teleop_module, "forward=0.4, backward=0.2, side=0.1, turn=1");
    const Twist *v = drive(h, 1, 0, 0, 1);
    assert_near(v->linear.x, 0.4, 1e-6);
    v = drive(h, -1, -1, 1, 1);
    assert_near(v->linear.x, -0.2, 1e-6);
    assert_near(v->linear.y, -0.1, 1e-6);
    assert_near(v->angular.z, 1, 1e-6);
    v = drive(h, 7, 0, -3, 1); /* beyond the end is the end */
    assert_near(v->linear.x, 0.4, 1e-6);
    assert_near(v->angular.z, -1, 1e-6);
    nm_harness_free(h);
}

static void around_the_middle_nothing_moves_and_speed_grows_without_a_jump(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&teleop_module, "dead_zone=0.2, shape=1, forward=1, backward=1");
    double last = -2;
    for (int i = -100; i <= 100; i++) {
        double x = drive(h, (float)i / 100, 0, 0, 1)->linear.x;
        if (abs(i) <= 20) assert_near(x, 0, 1e-6);
        if (i > 20) assert_near(x, (i / 100.0 - 0.2) / 0.8, 1e-6);
        assert_true(x >= last && x - last < 0.02 + (i == -100 ? 2 : 0));
        last = x;
    }
    nm_harness_free(h);
}

static void nothing_moves_without_the_enable_button(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&teleop_module, NULL);
    assert_null(drive(h, 1, 0, 0, 0));
    nm_harness_free(h);
}

static void a_released_button_stops_once_and_leaves_the_robot_to_others(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&teleop_module, NULL);
    assert_true(drive(h, 1, 0, 0, 1)->linear.x > 0);
    assert_near(drive(h, 1, 0, 0, 0)->linear.x, 0, 0);
    assert_true(nm_harness_fresh(h, "cmd_vel"));
    drive(h, 1, 0, 0, 0);
    assert_false(nm_harness_fresh(h, "cmd_vel"));
    nm_harness_free(h);
}

static void silence_stops(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&teleop_module, "timeout=0.5");
    drive(h, 1, 0, 0, 1);
    nm_harness_step(h, 0.4);
    assert_true(((const Twist *)nm_harness_get(h, "cmd_vel"))->linear.x > 0);
    nm_harness_step(h, 0.2);
    assert_near(((const Twist *)nm_harness_get(h, "cmd_vel"))->linear.x, 0, 0);
    nm_harness_step(h, 0.2);
    assert_false(nm_harness_fresh(h, "cmd_vel"));
    nm_harness_free(h);
}

static void a_joystick_with_fewer_axes_and_bad_numbers_is_no_danger(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&teleop_module, "axis_turn=12");
    const Twist *v = drive(h, NAN, INFINITY, 1, 1);
    assert_near(v->linear.x, 0, 0);
    assert_near(v->linear.y, 0, 0);
    assert_near(v->angular.z, 0, 0);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sticks_drive_up_to_the_limits),
        cmocka_unit_test(around_the_middle_nothing_moves_and_speed_grows_without_a_jump),
        cmocka_unit_test(nothing_moves_without_the_enable_button),
        cmocka_unit_test(a_released_button_stops_once_and_leaves_the_robot_to_others),
        cmocka_unit_test(silence_stops),
        cmocka_unit_test(a_joystick_with_fewer_axes_and_bad_numbers_is_no_danger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
