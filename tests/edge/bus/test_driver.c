/* The servo driver when nothing is broken: servos are read, joints follow their goals, boards speak, tables are
 * checked. In simulated time, against the virtual bus. */
#include "edge/bus/bus_rig.h"

#include <malloc.h>

static void limp_servos_are_read_and_left_alone(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    rig_run(rig, 0.5);
    for (int i = 0; i < RIG_ALL; i++) {
        const struct nm_bus_servo_state *s = &rig->states.servo[i];
        assert_true(s->fresh);
        assert_int_equal(s->phase, NM_BUS_LIMP);
        assert_near(s->position, 0.05 * i, 1e-3);
        assert_near(s->voltage, 12, 0.05);
        assert_near(s->temperature, 35, 0.5);
        assert_near(nm_vdevice_get(rig->device[i], "torque_enable"), 0, 0);
    }
    assert_near(rig->states.voltage, 12, 0.05);
    assert_int_equal(rig->n_events, 0);
}

static void joints_follow_inside_their_limits(void **state)
{
    struct rig *rig = *state;
    rig->servos[5].min = -0.3;
    rig->servos[5].max = 0.4;
    rig_start(rig);
    for (int n = 0; n < 200; n++) {
        for (int i = 0; i < RIG_ALL; i++) rig->goals.servo[i].position = 0.05 * i + 0.5 * sin(0.03 * n);
        rig_cycle(rig);
    }
    for (int i = 0; i < RIG_ALL; i++) rig->goals.servo[i].position = 1.0;
    rig_run(rig, 0.5);
    for (int i = 0; i < RIG_ALL; i++) assert_near(rig_joint(rig, i), i == 5 ? 0.4 : 1.0, 2e-3);
    rig->goals.servo[6].position = NAN; /* no goal is no motion */
    rig->goals.servo[7].position = INFINITY;
    rig_run(rig, 0.1);
    assert_near(rig_joint(rig, 6), 1.0, 2e-3);
    assert_near(rig_joint(rig, 7), 1.0, 2e-3);
}

/* One answer in 256 that is damaged passes the checksum of 1.0; it must not become a place to switch torque on at, nor
 * a jump in the joint states. */
static void a_wild_reading_is_not_believed(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, RIG_ALL, "MX-64", 1, 1);
    rig_start(&rig);
    double held = rig.device[4]->position;
    rig.device[4]->position = 2.5;
    rig_cycle(&rig);
    rig.device[4]->position = held;
    assert_false(rig.states.servo[4].fresh);
    assert_near(rig.states.servo[4].position, 0.2, 2e-3);
    rig_cycle(&rig);
    assert_true(rig.states.servo[4].fresh);
    assert_near(rig.states.servo[4].position, 0.2, 2e-3);
    rig_close(&rig);
}

static void gains_limits_and_feed_forward(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, RIG_ALL, "MX-64", 2, 1);
    rig.servos[0].p = 500;
    rig.servos[0].d = 7;
    rig.servos[0].velocity_feed = 11;
    rig.servos[0].torque = 0.6;
    rig_start(&rig);
    assert_near(nm_vdevice_get(rig.device[0], "p_gain"), 500, 0);
    assert_near(nm_vdevice_get(rig.device[0], "d_gain"), 7, 0);
    assert_near(nm_vdevice_get(rig.device[0], "velocity_feed"), 11, 0);
    assert_near(nm_vdevice_get(rig.device[0], "torque_limit"), 0.6, 2e-3);
    assert_near(nm_vdevice_get(rig.device[1], "p_gain"), 850, 0);
    rig.goals.servo[0].speed_limit = 1.5;
    rig.goals.servo[0].torque_limit = 0.4;
    rig_cycle(&rig);
    assert_near(nm_vdevice_get(rig.device[0], "speed_limit"), 1.5, 0.03);
    assert_near(nm_vdevice_get(rig.device[0], "torque_limit"), 0.4, 2e-3);
    /* 2 Nm at rest: duty = 2 R / (kt V), lead = duty / (k P) */
    double lead = 2 * 3.949 / (1.6225 * 12) / (0.0057546 * 850);
    rig.goals.servo[1].torque = rig.goals.servo[2].torque = 2;
    rig_cycle(&rig);
    assert_near(rig.states.servo[1].goal, 0.05 + lead, 2e-3);
    assert_near(rig.states.servo[2].goal, 0.10 + lead, 2e-3);
    assert_true(nm_vdevice_get(rig.device[1], "goal_position") > rig.device[1]->position);
    assert_true(nm_vdevice_get(rig.device[2], "goal_position") > rig.device[2]->position);
    rig_close(&rig);
}

static float float_at(const struct nm_vdevice *d, uint16_t address)
{
    float f;
    memcpy(&f, d->table + address, sizeof f);
    return f;
}

static void splines_go_ahead_to_the_servos_that_follow_them(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, "MX-64-Dynaban", 1, 1);
    rig_start(&rig);
    struct nm_bus_spline first = {.position = {0.2f, 1, 0, -2}, .torque = {0.5f}, .duration = 0.1f, .number = 1};
    rig.goals.servo[1].spline = &first;
    rig_cycle(&rig);
    const struct nm_vdevice *d = rig.device[1];
    float step = (float)(2 * M_PI / 4096);
    assert_near(nm_vdevice_get(d, "mode"), 3, 0);
    assert_near(nm_vdevice_get(d, "spline_duration"), 0.1, 1e-6);
    assert_near((double)float_at(d, 0x4B), 2048 + 0.2 / (double)step, 0.01);
    assert_near((double)(float_at(d, 0x4F) * step), 1, 1e-5);
    assert_near((double)(float_at(d, 0x57) * step), -2, 1e-5);
    assert_near((double)float_at(d, 0x60), 0.5, 1e-6);
    struct nm_bus_spline second = first;
    second.number = 2;
    second.duration = 0.2f;
    rig.goals.servo[1].spline = &second;
    rig_cycle(&rig);
    assert_near(nm_vdevice_get(d, "copy_next"), 1, 0);
    assert_near(nm_vdevice_get(d, "next_duration"), 0.2, 1e-6);
    assert_near(nm_vdevice_get(d, "spline_duration"), 0.1, 1e-6);
    nm_bus_set_power(rig.bus, NM_BUS_LIMP_ALL);
    rig_cycle(&rig);
    assert_near(nm_vdevice_get(d, "mode"), 0, 0);
    rig_close(&rig);
}

static void a_sub_controller_gives_power_imu_buttons_and_lights(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, RIG_ALL, "MX-28", 1, 1);
    rig_board(&rig, "cm730", "CM-730", 1, 200, 0);
    rig_open(&rig);
    nm_bus_set_power(rig.bus, NM_BUS_DRIVE);
    rig_run(&rig, 0.2);
    assert_near(nm_vdevice_get(rig.board[0], "dxl_power"), 1, 0);
    assert_int_equal(rig.states.servo[0].answered, 0); /* 300 ms to settle */
    rig_run(&rig, 1.0);
    assert_true(rig_all_on(&rig));
    assert_int_equal(rig.n_events, 0);
    nm_vdevice_set(rig.board[0], "gyro_x", 1.0);
    nm_vdevice_set(rig.board[0], "acc_y", -3.0);
    nm_vdevice_set(rig.board[0], "buttons", 2);
    rig.goals.led[0][0] = 5;
    rig.goals.led[0][1] = 0x7C00;
    rig_run(&rig, 0.05);
    const struct nm_bus_board_state *b = &rig.states.board[0];
    assert_true(b->fresh);
    assert_near(b->gyro[0], 1.0, 0.04);
    assert_near(b->acc[1], -3.0, 0.05);
    assert_near(b->acc[2], 9.80665, 1e-4);
    assert_near(b->voltage, 12, 0.05);
    assert_int_equal(b->buttons, 2);
    assert_near(nm_vdevice_get(rig.board[0], "led_panel"), 5, 0);
    assert_near(nm_vdevice_get(rig.board[0], "led_head"), 0x7C00, 0);
    nm_bus_set_power(rig.bus, NM_BUS_CUT);
    rig_run(&rig, 0.1);
    assert_near(nm_vdevice_get(rig.board[0], "dxl_power"), 0, 0);
    nm_bus_set_power(rig.bus, NM_BUS_DRIVE);
    rig_run(&rig, 1.0);
    assert_true(rig_all_on(&rig));
    assert_int_equal(rig.n_events, 0);
    rig_close(&rig);
}

static void foot_cells_of_all_makers(void **state)
{
    (void)state;
    struct rig one, two;
    rig_init(&one, 4, "MX-28", 1, 1);
    rig_board(&one, "right_foot", "FSR", 1, 111, 0);
    rig_board(&one, "left_foot", "ForceFoot", 1, 124, 0);
    one.boards[1].cell_zero[2] = 1000;
    one.boards[1].cell_gain[2] = -0.01;
    rig_open(&one);
    nm_vdevice_set(one.board[0], "cell_1", 12.5);
    nm_vdevice_set(one.board[1], "cell_2", -1500);
    rig_run(&one, 0.05);
    assert_near(one.states.board[0].cell[1], 12.5, 1e-3);
    assert_near(one.states.board[1].cell[2], 25, 1e-6);
    assert_int_equal(one.n_events, 0);
    rig_close(&one);

    rig_init(&two, 4, "MX-64", 2, 1);
    rig_board(&two, "left_foot", "BitFoot", 2, 101, 0);
    rig_board(&two, "right_foot", "BitFoot", 2, 102, 0);
    rig_board(&two, "imu", "BitIMU", 2, 241, 0);
    rig_open(&two);
    nm_vdevice_set(two.board[1], "cell_3", 7.25);
    nm_vdevice_set(two.board[2], "quaternion_w", 1);
    nm_vdevice_set(two.board[2], "gyro_z", -0.5);
    nm_vdevice_set(two.board[2], "button_1", 1);
    rig_run(&two, 0.05);
    assert_near(two.states.board[1].cell[3], 7.25, 1e-6);
    assert_near(two.states.board[2].orientation[0], 1, 1e-6);
    assert_near(two.states.board[2].gyro[2], -0.5, 1e-6);
    assert_int_equal(two.states.board[2].buttons, 2);
    assert_int_equal(two.n_events, 0);
    rig_close(&two);
}

static void another_model_than_in_the_table_is_told(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 4, "MX-64", 1, 1);
    snprintf(rig.servos[2].model, sizeof rig.servos[2].model, "MX-106");
    rig_open(&rig);
    rig_run(&rig, 0.3);
    assert_int_equal(rig.n_events, 1);
    assert_int_equal(rig.events[0].kind, NM_BUS_FAULT_MODEL);
    assert_string_equal(rig.events[0].text,
                        "left_shoulder_pitch (id 3, bus 0): is a MX-64 (model 310), the table says MX-106");
    rig_close(&rig);
}

static void a_cycle_allocates_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, RIG_ALL, "MX-64", 2, 3);
    rig_start(&rig);
    size_t before = mallinfo2().uordblks;
    rig_run(&rig, 1.0);
    assert_int_equal(mallinfo2().uordblks, before);
    rig_close(&rig);
}

static void tables_with_faults_are_refused_in_sentences(void **state)
{
    (void)state;
    struct nm_vbus *wires = nm_vbus_new();
    struct nm_bus_settings set = nm_bus_defaults();
    struct nm_err err = {0};
    struct nm_bus_servo servos[4] = {
        {.name = "left_knee", .model = "MX-64", .id = 1},
        {.name = "right_knee", .model = "MX-64", .id = 1},
        {.name = "head_yaw", .model = "MX-604", .id = 2},
        {.name = "head_pitch", .model = "CM-730", .id = 3, .wire = 2},
    };
    assert_null(nm_bus_open(&set, servos, 4, NULL, 0, nm_vbus_io(wires), &err));
    assert_non_null(strstr(err.text, "servo right_knee: id 1 on bus 0 is already used by left_knee"));
    assert_non_null(strstr(err.text, "did you mean 'MX-64'"));
    assert_non_null(strstr(err.text, "servo head_pitch: a CM-730 is not a servo"));
    err = (struct nm_err){0};
    assert_null(nm_bus_open(&set, servos, NM_BUS_SERVOS + 1, NULL, 0, nm_vbus_io(wires), &err));
    assert_non_null(strstr(err.text, "at most 32"));
    nm_vbus_free(wires);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_BOTH(limp_servos_are_read_and_left_alone, rig_made),
        RIG_BOTH(joints_follow_inside_their_limits, rig_made),
        cmocka_unit_test(a_wild_reading_is_not_believed),
        cmocka_unit_test(gains_limits_and_feed_forward),
        cmocka_unit_test(splines_go_ahead_to_the_servos_that_follow_them),
        cmocka_unit_test(a_sub_controller_gives_power_imu_buttons_and_lights),
        cmocka_unit_test(foot_cells_of_all_makers),
        cmocka_unit_test(another_model_than_in_the_table_is_told),
        cmocka_unit_test(a_cycle_allocates_nothing),
        cmocka_unit_test(tables_with_faults_are_refused_in_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
