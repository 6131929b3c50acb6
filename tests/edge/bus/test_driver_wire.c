/* The driver's use of the wire: everybody is read in the time there is, nobody is talked over, however slow the servos
 * and however the bytes come. In simulated time, against the virtual bus. */
#include "edge/bus/bus_rig.h"

/* 20 servos and IMU at 1 Mbaud: one bus in 10 ms, three in 4 ms; and never a word into another's answer. */
static void the_wire_is_used_well(void **state)
{
    (void)state;
    static const struct {
        int protocol, wires;
        int64_t limit;
    } cases[] = {{1, 1, 10 * MS}, {1, 3, 4 * MS}, {2, 1, 10 * MS}, {2, 3, 4 * MS}};
    for (int c = 0; c < 4; c++) {
        struct rig rig;
        rig_init(&rig, RIG_ALL, "MX-64", cases[c].protocol, cases[c].wires);
        if (cases[c].protocol == 1)
            rig_board(&rig, "cm730", "CM-730", 1, 200, cases[c].wires - 1);
        else
            rig_board(&rig, "imu", "BitIMU", 2, 241, cases[c].wires - 1);
        nm_vdevice_set(rig.board[0], "dxl_power", 1);
        nm_vbus_supply(rig.wires, 12);
        rig_open(&rig);
        nm_bus_set_power(rig.bus, NM_BUS_DRIVE);
        rig_run(&rig, 1.5);
        assert_true(rig_all_on(&rig));
        rig.longest = 0;
        for (int n = 0; n < 100; n++) {
            rig_cycle(&rig);
            assert_int_equal(rig.states.unread, 0);
            for (int i = 0; i < RIG_ALL; i++) assert_true(rig.states.servo[i].fresh);
            assert_true(rig.states.board[0].fresh);
            /* what is lost to pauses is the devices' own 50 us an answer */
            int answers = RIG_ALL / cases[c].wires + 8;
            assert_true(rig.states.duration < rig.states.wire_time + answers * 60000);
        }
        if (rig.longest > cases[c].limit) fail_msg("%.2f ms a cycle", (double)rig.longest * 1e-6);
        for (int w = 0; w < cases[c].wires; w++) assert_int_equal(nm_vbus_counts(rig.wires, w).collisions, 0);
        rig_close(&rig);
    }
}

/* Servos slower than planned, cycles too short for them and no pause between two: everybody is read in turn, and
 * nobody is talked over. */
static void a_cycle_that_is_too_short_is_shared(void **state)
{
    struct rig *rig = *state;
    uint32_t before[RIG_ALL];
    nm_vbus_settings(rig->wires)->answer_gap = 300000;
    rig->set.cycle_limit = 0.006;
    rig_open(rig);
    for (int n = 0; n < 200; n++) nm_bus_cycle(rig->bus, &rig->goals, &rig->states);
    for (int i = 0; i < RIG_ALL; i++) before[i] = rig->states.servo[i].answered;
    for (int n = 0; n < 200; n++) nm_bus_cycle(rig->bus, &rig->goals, &rig->states);
    for (int i = 0; i < RIG_ALL; i++) {
        assert_true(rig->states.servo[i].answered > before[i] + 20);
        assert_int_equal(rig->states.servo[i].missed, 0);
    }
    assert_int_equal(nm_vbus_counts(rig->wires, 0).collisions, 0);
    struct nm_bus_event e;
    assert_false(nm_bus_next_event(rig->bus, &e));
}

/* Bytes may come one by one. */
static void any_cut_of_the_stream_will_do(void **state)
{
    struct rig *rig = *state;
    nm_vbus_settings(rig->wires)->bytewise = true;
    rig_start(rig);
    for (int i = 0; i < RIG_ALL; i++) assert_true(rig->states.servo[i].fresh);
}

static void the_factory_return_delay_is_removed(void **state)
{
    struct rig *rig = *state;
    for (int i = 0; i < RIG_ALL; i++) nm_vdevice_set(rig->device[i], "return_delay", 500e-6);
    rig_open(rig);
    rig_run(rig, 1.0);
    for (int i = 0; i < RIG_ALL; i++) assert_near(nm_vdevice_get(rig->device[i], "return_delay"), 0, 0);
    /* cycles that ended before the answers did, but no word into them */
    assert_int_equal(nm_vbus_counts(rig->wires, 0).collisions, 0);
}

/* R3: three buses behind one USB link, a combined read, everything written and read in less than 10 ms. */
static void a_router_board_drives_three_buses(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    rig_init(&rig, RIG_ALL, "MX-64", 1, 1);
    nm_vbus_wire(rig.wires, 0, 1000000, true, &err);
    for (int i = 0; i < RIG_ALL; i++) rig.device[i]->lane = (uint8_t)(i % 3);
    rig_board(&rig, "imu", "GY-85", 1, 241, 0);
    rig_board(&rig, "pins", "Pins", 1, 242, 0);
    rig.set.router[0] = true;
    nm_vdevice_set(rig.board[0], "gyro_y", 0.7);
    rig_open(&rig);
    nm_bus_set_power(rig.bus, NM_BUS_DRIVE);
    rig_run(&rig, 1.5);
    assert_true(rig_all_on(&rig));
    for (int i = 0; i < RIG_ALL; i++) assert_true(rig.states.servo[i].fresh);
    assert_near(rig.states.board[0].gyro[1], 0.7, 0.01);
    assert_near(rig.states.board[0].acc[2], 9.80665, 1e-3);
    rig.n_events = 0;
    rig.longest = 0;
    rig_run(&rig, 0.3);
    assert_true(rig.longest < 10 * MS);
    nm_vbus_fault(rig.wires, rig.device[14], NM_VFAULT_DEAD, UINT32_MAX, 0);
    rig_run(&rig, 0.3);
    for (int i = 0; i < RIG_ALL; i++) assert_int_equal(rig.states.servo[i].fresh, i != 14);
    assert_int_equal(rig.n_events, 1);
    assert_non_null(strstr(rig.events[0].text, "left_knee"));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wire_is_used_well),
        RIG_BOTH(a_cycle_that_is_too_short_is_shared, rig_made),
        RIG_BOTH(any_cut_of_the_stream_will_do, rig_made),
        RIG_BOTH(the_factory_return_delay_is_removed, rig_made),
        cmocka_unit_test(a_router_board_drives_three_buses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
