/* From the robot folders to a driven bus: every robot's servo table is understood, and on a virtual bus with its
 * devices the driver brings all joints up and reads all boards. */
#include "edge/bus/bus_rig.h"

#include "edge/bus/bus_tables.h"

static const struct nm_body *load(struct nm_arena *arena, const char *name)
{
    struct nm_err err = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/robots/%s", NM_ROOT, name);
    const struct nm_body *body = nm_body_load(arena, path, &err);
    if (!body) fail_msg("%s", err.text);
    return body;
}

static void every_robot_comes_up(void **state)
{
    (void)state;
    static const char *const names[] = {"kid70", "darwin"};
    static struct nm_bus_goals goals;
    static struct nm_bus_states states;
    for (int r = 0; r < 2; r++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        struct nm_bus_tables t;
        const struct nm_body *body = load(&arena, names[r]);
        if (nm_bus_tables(body, &t, &err)) fail_msg("%s", err.text);
        assert_int_equal(t.n_servos, 20);
        struct nm_vbus *wires = nm_vbus_of_tables(&t, &err);
        if (!wires) fail_msg("%s", err.text);
        struct nm_bus_io io = nm_vbus_io(wires);
        struct nm_bus_driver *bus = nm_bus_open(&t.set, t.servos, t.n_servos, t.boards, t.n_boards, io, &err);
        if (!bus) fail_msg("%s", err.text);
        nm_bus_set_power(bus, NM_BUS_DRIVE);
        for (int n = 0; n < 200; n++) {
            int64_t began = io.now(io.self);
            goals.stamp = began;
            nm_bus_cycle(bus, &goals, &states);
            nm_vbus_advance(wires, began + 10 * MS);
        }
        for (int i = 0; i < t.n_servos; i++) {
            assert_int_equal(states.servo[i].phase, NM_BUS_ON);
            assert_float_equal(states.servo[i].voltage, body->voltage,
                               0.11); /* a full battery, as its servos read it */
        }
        for (int i = 0; i < t.n_boards; i++) assert_true(states.board[i].fresh);
        struct nm_bus_event e;
        if (nm_bus_next_event(bus, &e)) fail_msg("%s", e.text);
        nm_bus_close(bus);
        nm_vbus_free(wires);
        nm_arena_free(&arena);
    }
}

static void rows_are_the_folders(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_bus_tables t;
    const struct nm_body *body = load(&arena, "darwin");
    assert_int_equal(nm_bus_tables(body, &t, NULL), 0);
    for (int i = 0; i < t.n_servos; i++) {
        if (strcmp(t.servos[i].name, "left_knee")) continue;
        assert_int_equal(t.servos[i].id, 14);
        /* its servo turns against the joint: what limits the joint above limits the servo below */
        const struct nm_servo *servo = &body->servos[i];
        assert_true(servo->direction < 0);
        assert_true(t.servos[i].min == nm_servo_of_joint(servo, body->joints[servo->joint].upper));
        assert_true(t.servos[i].max == nm_servo_of_joint(servo, body->joints[servo->joint].lower));
        assert_string_equal(t.servos[i].model, "MX-28");
        assert_true(t.servos[i].min < t.servos[i].max);
    }
    for (int i = 0; i < t.n_boards; i++)
        assert_string_equal(t.boards[i].model, t.boards[i].id == 200 ? "CM-730" : "FSR");
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_robot_comes_up),
        cmocka_unit_test(rows_are_the_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
