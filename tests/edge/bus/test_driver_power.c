/* When joints get torque and when they lose it: ramps at the start and after every rest, goals that grow old, servos
 * found standing, servos that protect themselves. In simulated time, against the virtual bus. */
#include "edge/bus/bus_rig.h"

/* Goals far from where the joints are: torque rises first, at the place, then they are led there. */
static void power_on_is_a_ramp(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    for (int i = 0; i < RIG_ALL; i++) rig->goals.servo[i].position = 0.05 * i + 0.6;
    rig_run(rig, 0.3);
    assert_near(rig->fastest, 0, 1e-9);
    nm_bus_set_power(rig->bus, NM_BUS_DRIVE);
    double last = 0;
    int rising = 0;
    for (int n = 0; n < 60; n++) {
        rig_cycle(rig);
        double limit = nm_vdevice_get(rig->device[7], "torque_limit");
        if (nm_vdevice_get(rig->device[7], "torque_enable") > 0) {
            assert_true(limit <= last + 0.06);
            rising += limit > last;
            last = limit;
        }
        if (rig->states.servo[7].phase == NM_BUS_RAMP) assert_near(rig_joint(rig, 7), 0.35, 2e-3);
    }
    assert_true(rising > 20);
    rig_run(rig, 1.0);
    assert_true(rig_all_on(rig));
    for (int i = 0; i < RIG_ALL; i++) assert_near(rig_joint(rig, i), 0.05 * i + 0.6, 2e-3);
    if (rig->fastest > 1.1 * rig->set.catch_up) fail_msg("%.2f rad/s", rig->fastest);
    assert_int_equal(rig->n_events, 0);
}

/* The process that makes goals has died: joints give way slowly, and come back gently. */
static void joints_are_damped_when_goals_grow_old(void **state)
{
    struct rig *rig = *state;
    rig->silent = true;
    rig_run(rig, 0.05);
    assert_true(rig_all_on(rig));
    rig_run(rig, 0.6);
    for (int i = 0; i < RIG_ALL; i++) {
        assert_int_equal(rig->states.servo[i].phase, NM_BUS_DAMPED);
        assert_near(nm_vdevice_get(rig->device[i], "torque_limit"), rig->set.damp_share, 2e-3);
    }
    /* someone moves the knee: the goal gives way instead of pulling it back */
    rig->device[14]->position += 0.5;
    rig_run(rig, 1.0);
    double moved = rig_joint(rig, 14);
    assert_true(moved > 0.05 * 14 + 0.05);
    rig->fastest = 0;
    rig->silent = false;
    rig_run(rig, 1.5);
    assert_true(rig_all_on(rig));
    assert_near(rig_joint(rig, 14), 0.05 * 14, 2e-3);
    assert_true(rig->fastest < 1.1 * rig->set.catch_up);
    assert_int_equal(rig_count(rig, NM_BUS_FAULT_GOALS, true), 1);
    assert_int_equal(rig_count(rig, NM_BUS_FAULT_GOALS, false), 1);
    assert_int_equal(rig->n_events, 2);
}

static void power_off_is_at_once(void **state)
{
    struct rig *rig = *state;
    nm_vbus_fault(rig->wires, rig->device[3], NM_VFAULT_MISSING, UINT32_MAX, 0); /* hears, but cannot be heard */
    rig_run(rig, 0.2);
    nm_bus_set_power(rig->bus, NM_BUS_LIMP_ALL);
    rig_cycle(rig);
    for (int i = 0; i < RIG_ALL; i++) assert_near(nm_vdevice_get(rig->device[i], "torque_enable"), 0, 0);
    rig_run(rig, 0.3);
    for (int i = 0; i < RIG_ALL; i++) assert_near(nm_vdevice_get(rig->device[i], "torque_enable"), 0, 0);
}

/* A program that crashed left the robot standing with torque on. The next one must not let it drop. */
static void servos_found_with_torque_on_are_kept(void **state)
{
    struct rig *rig = *state;
    nm_bus_close(rig->bus);
    rig_open(rig);
    rig->silent = true;
    rig->goals.stamp = 0;
    nm_bus_set_power(rig->bus, NM_BUS_DRIVE);
    for (int n = 0; n < 100; n++) {
        rig_cycle(rig);
        for (int i = 0; i < RIG_ALL; i++) {
            assert_near(nm_vdevice_get(rig->device[i], "torque_enable"), 1, 0);
            assert_near(nm_vdevice_get(rig->device[i], "torque_limit"), 1, 2e-3);
            assert_near(rig_joint(rig, i), 0.05 * i, 2e-3);
        }
    }
    rig->silent = false;
    rig_run(rig, 0.3);
    assert_true(rig_all_on(rig));
}

/* It protects itself: it is left in peace for a while, restarted where it takes that, and raised in a ramp. */
static void a_servo_that_shuts_itself_off_gets_a_rest(void **state)
{
    struct rig *rig = *state;
    nm_vdevice_shut_off(rig->device[9], NM_DXL_OVERLOAD);
    for (int n = 0; n < 150; n++) {
        rig_cycle(rig);
        double torque = nm_vdevice_get(rig->device[9], "torque_enable"),
               limit = nm_vdevice_get(rig->device[9], "torque_limit");
        assert_true(torque == 0 || limit == 0);
    }
    assert_int_equal(rig->states.servo[9].phase, NM_BUS_LIMP);
    assert_int_equal(rig->n_events, 1);
    assert_int_equal(rig->events[0].kind, NM_BUS_FAULT_HARDWARE);
    assert_non_null(strstr(rig->events[0].text, "right_hip_yaw"));
    assert_non_null(strstr(rig->events[0].text, "overload"));
    rig_run(rig, 1.5);
    assert_true(rig_all_on(rig));
    assert_int_equal(rig_count(rig, NM_BUS_FAULT_HARDWARE, true), 1);
    assert_int_equal(rig_count(rig, NM_BUS_FAULT_HARDWARE, false), 1);
    assert_int_equal(rig_count(rig, NM_BUS_FAULT_RESET, true), 0);
}

static void heat_is_told_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, RIG_ALL, "MX-64", 1, 1);
    rig_start(&rig);
    nm_vdevice_set(rig.device[15], "present_temperature", 75);
    rig_run(&rig, 1.0);
    nm_vdevice_set(rig.device[15], "present_temperature", 50);
    rig_run(&rig, 1.0);
    assert_int_equal(rig.n_events, 2);
    assert_non_null(strstr(rig.events[0].text, "right_knee (id 16, bus 0): 75 degrees"));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_BOTH(power_on_is_a_ramp, rig_made),
        RIG_BOTH(joints_are_damped_when_goals_grow_old, rig_started),
        RIG_BOTH(power_off_is_at_once, rig_started),
        RIG_BOTH(servos_found_with_torque_on_are_kept, rig_started),
        RIG_BOTH(a_servo_that_shuts_itself_off_gets_a_rest, rig_started),
        cmocka_unit_test(heat_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
