/* Battery and heat: closed forms, then robots that stand, are held fast and run empty. */
#include "sim_help.h"

#include "sim/power.h"
#include "sim/scenario_parts.h"

static struct nm_arena arena;
static const struct nm_body *kid;

/* All motors at this duty and speed, or off. */
static void drive(struct nm_power *p, double duty, double speed, bool on, double seconds)
{
    struct nm_servo_state motors[NM_JOINTS];
    double speeds[NM_JOINTS];
    for (uint32_t j = 0; j < p->body->n_joints; j++) {
        motors[j] = (struct nm_servo_state){.goal.on = on, .duty = duty};
        speeds[j] = speed;
    }
    for (double t = 0; t < seconds; t += 0.004) nm_power_step(p, motors, speeds, 0.004);
}

static void a_cell_loses_voltage_with_its_charge(void **state)
{
    (void)state;
    assert_near(nm_power_cell(1), 4.2, 1e-12);
    assert_near(nm_power_cell(0.525), 3.845, 1e-9);
    assert_near(nm_power_cell(0), 3.27, 1e-12);
    assert_near(nm_power_cell(-1), 3.27, 1e-12);
    for (double c = 0; c < 1; c += 0.001) assert_true(nm_power_cell(c + 0.001) > nm_power_cell(c));
}

/* A robot that lies limp gives its computer 15 W: an hour is 15 Wh of its 43. */
static void the_computer_alone_drains_it(void **state)
{
    (void)state;
    struct nm_power p;
    nm_power_start(&p, kid, 1);
    assert_near(p.voltage, 16.8 - 0.06 * p.current, 1e-3);
    double used = 0;
    for (int minute = 0; minute < 60; minute++) {
        used += p.current / 60;
        drive(&p, 0, 0, false, 60);
    }
    assert_near(p.charge, 1 - used / 2.8, 2e-3);
    assert_in_range(1000 * p.charge, 600, 720);
    assert_near(p.temperature[0], 25, 1e-9);
}

/* At the start it gives the folder's voltage under the load of a usual walk. */
static void it_begins_at_the_nominal_voltage(void **state)
{
    (void)state;
    struct nm_power p;
    nm_power_start(&p, kid, NM_POWER_NOMINAL);
    assert_near(4 * nm_power_cell(p.charge) - 0.06 * 4, 14.8, 1e-6);
    assert_in_range(1000 * p.charge, 200, 400);
}

static void load_makes_it_sag_and_mains_do_not(void **state)
{
    (void)state;
    struct nm_power p;
    nm_power_start(&p, kid, 0.5);
    double before = p.voltage;
    drive(&p, 0.5, 0, true, 0.1); /* half of the stall current in all motors */
    double open = 4 * nm_power_cell(p.charge);
    assert_near(p.voltage, open - 0.06 * p.current, 1e-6);
    assert_true(before - p.voltage > 0.5 && p.current > 10);
    drive(&p, 0, 0, true, 0.1);
    assert_near(p.voltage, before, 0.02);
    /* at the speed at which the motors need all of their voltage they draw nothing */
    const struct nm_servo_type *t = &kid->servo_types[kid->servos[0].type];
    struct nm_servo_state motors[NM_JOINTS] = {0};
    double speeds[NM_JOINTS] = {0};
    uint32_t j = kid->servos[0].joint;
    motors[j] = (struct nm_servo_state){.goal.on = true, .duty = 0.5};
    for (int i = 0; i < 50; i++) {
        speeds[j] = 0.5 * p.voltage / t->kt;
        nm_power_step(&p, motors, speeds, 0.004);
    }
    assert_near(p.current, 15 / p.voltage, 0.01);
    nm_power_mains(&p, 14.8);
    drive(&p, 0.9, 0, true, 1);
    assert_near(p.voltage, 14.8, 0);
}

/* One lump of metal: T = hall + P R (1 - e^(-t / R C)). */
static void a_stalled_servo_heats_and_switches_itself_off(void **state)
{
    (void)state;
    struct nm_power p;
    uint32_t j = (uint32_t)nm_find_joint(kid, "left_knee");
    const struct nm_servo_type *t = &kid->servo_types[kid->servos[kid->joints[j].servo].type];
    nm_power_start(&p, kid, 1);
    nm_power_mains(&p, 14.8);
    double current = 0.2 * 14.8 / t->resistance, watts = current * current * t->resistance;
    drive(&p, 0.2, 0, true, 120);
    double lag = t->heat_capacity * t->thermal_resistance;
    double expected = 25 + watts * t->thermal_resistance * (1 - exp(-120 / lag));
    assert_near(p.temperature[j], expected, 0.05);
    assert_int_equal(p.hot, 0);
    double seconds = 0;
    for (; !(p.hot >> j & 1) && seconds < 600; seconds++) drive(&p, 0.9, 0, true, 1);
    assert_in_range(seconds, 20, 120);
    assert_near(p.temperature[j], t->max_temperature, 1.5);
    for (seconds = 0; p.hot >> j & 1 && seconds < 3600; seconds++) drive(&p, 0, 0, false, 1);
    assert_near(p.temperature[j], t->max_temperature - 10, 0.5);
}

/* ---- in a world ---- */

static struct nm_world *stand(struct nm_pitch *pitch, double charge)
{
    struct nm_world_options options = NM_WORLD_OPTIONS;
    double joints[NM_JOINTS];
    nm_stance(kid, 0.15, joints);
    options.charge = charge;
    struct nm_world_robot robot = {.body = kid, .joints = joints};
    load_pitch(pitch, "kid");
    return make_world(pitch, &robot, 1, &options);
}

static void bent_knees_grow_warm_and_drain_the_battery(void **state)
{
    (void)state;
    struct nm_pitch pitch;
    struct nm_world *world = stand(&pitch, 0.5);
    uint32_t knee = (uint32_t)nm_find_joint(kid, "left_knee"), head = (uint32_t)nm_find_joint(kid, "head_yaw");
    nm_world_step(world, 30 * 250);
    const struct nm_power *p = nm_world_power(world, 0);
    assert_true(uprightness(world, 0) > 0.95);
    assert_true(p->temperature[knee] > 25.5 && p->temperature[knee] < 50);
    assert_true(p->temperature[knee] > p->temperature[head] + 0.3);
    /* the computer draws one ampere, the legs less than four */
    assert_true(0.5 - p->charge > 30 * 0.9 / 3600 / 2.8 && 0.5 - p->charge < 30 * 5.0 / 3600 / 2.8);
    struct nm_sense sense;
    nm_world_sense(world, 0, &sense);
    assert_near(sense.voltage, p->voltage, 0.1);
    assert_near(sense.joints[knee].warmth, p->temperature[knee], 0.01);
    nm_world_free(world);
}

/* An arm that presses against its stop with all it has switches itself off after a minute or two. */
static void an_arm_at_its_stop_overheats(void **state)
{
    (void)state;
    struct nm_pitch pitch;
    struct nm_world *world = stand(&pitch, 1);
    uint32_t arm = (uint32_t)nm_find_joint(kid, "left_shoulder_pitch");
    struct nm_joint_goal goals[NM_JOINTS];
    double q[NM_JOINTS];
    nm_stance(kid, 0.15, q);
    for (uint32_t j = 0; j < kid->n_joints; j++)
        goals[j] = (struct nm_joint_goal){.position = q[j], .torque_limit = 1, .on = true};
    goals[arm].position = kid->joints[arm].upper + 1;
    nm_world_goals(world, 0, goals);
    int seconds = 0;
    for (; !nm_world_power(world, 0)->hot && seconds < 300; seconds++) nm_world_step(world, 250);
    assert_in_range(seconds, 20, 150);
    assert_true(nm_world_power(world, 0)->hot == 1ull << arm);
    nm_world_free(world);
}

/* The same robot twice gives the same bits, and an emptier battery gives weaker servos. */
static void worlds_with_batteries_repeat_themselves(void **state)
{
    (void)state;
    struct nm_pitch pitch;
    const double charges[] = {0.8, 0.8, 0.05};
    double bend[3], charge[3];
    uint32_t knee = (uint32_t)nm_find_joint(kid, "left_knee");
    for (int i = 0; i < 3; i++) {
        struct nm_world *world = stand(&pitch, charges[i]);
        struct nm_truth truth;
        struct nm_world_draw draw;
        nm_world_step(world, 500);
        nm_world_truth(world, 0, &truth);
        nm_world_drawn(world, 0, &draw);
        bend[i] = truth.q[knee];
        charge[i] = nm_world_power(world, 0)->charge;
        double share = nm_world_power(world, 0)->voltage / 14.8;
        assert_near(draw.servos[knee].stall, share * nm_servo_model_of(kid, knee).stall, 1e-9);
        nm_world_free(world);
    }
    assert_true(bend[0] == bend[1] && charge[0] == charge[1]);
    assert_true(bend[2] > bend[0] + 1e-3); /* the knees give way further */
}

/* ---- with a line-up ---- */

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static struct nm_result play(const char *text)
{
    struct nm_err err = {0};
    struct nm_arena memory = {0};
    struct nm_registry registry;
    struct nm_result result;
    struct nm_scenario *scenario = nm_scenario_parse("test.yaml", text, strlen(text), NM_ROOT, &err);
    if (!scenario) fail_msg("%s", err.text);
    nm_registry_init(&registry, &memory, __start_nm_modules, __stop_nm_modules);
    struct nm_run *run = nm_run_new(scenario, &(struct nm_run_options){.seed = 1, .registry = &registry}, &err);
    if (!run) fail_msg("%s", err.text);
    while (nm_run_step(run) > 0) {}
    nm_run_result(run, &result);
    nm_run_free(run);
    nm_scenario_free(scenario);
    nm_arena_free(&memory);
    return result;
}

#define WALKS                                                                                                          \
    "field: kid\nrobot: kid70\nlineup: motion\nrobots: [{name: kid, at: [0, 10, 90 deg]}]\n"                           \
    "events: [{at: 2 s, drive: {robot: kid, velocity: [0.2, 0, 0]}}]\n"

/* Through servo_states, the battery's topic, supervision and the manager: an almost empty battery makes it sit. */
static void a_low_battery_makes_a_walking_robot_sit_down(void **state)
{
    (void)state;
    struct nm_result r = play(WALKS "world: {charge: 0.036}\nduration: 30 s\nmeasures: [height, "
                                    "{measure: speed_x, from: 3 s, to: 6 s, name: first}, "
                                    "{measure: speed_x, from: 25 s, name: last}]\n");
    assert_true(r.values[1][0] > 0.1);
    assert_true(fabs(r.values[2][0]) < 0.01);
    assert_true(r.values[0][0] < 0.25);
}

/* The battery at the start gives the voltage that the walk was tuned with, and is used up in half an hour. */
static void a_walk_begins_at_the_nominal_voltage_and_drains(void **state)
{
    (void)state;
    struct nm_result r = play(WALKS "duration: 20 s\nmeasures: [voltage, charge, hottest, "
                                    "{measure: speed_x, from: 5 s, name: speed}]\n");
    struct nm_power fresh;
    nm_power_start(&fresh, kid, NM_POWER_NOMINAL);
    assert_near(r.values[0][0], 14.8, 0.3);
    double drained = fresh.charge - r.values[1][0];
    assert_true(drained * 60 > 0.1 && drained * 60 < 0.8); /* in 20 minutes */
    assert_true(r.values[2][0] > 25.5);
    assert_true(r.values[3][0] > 0.1);
}

static int set_up(void **state)
{
    (void)state;
    kid = load_robot(&arena, "kid70");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_loses_voltage_with_its_charge),
        cmocka_unit_test(the_computer_alone_drains_it),
        cmocka_unit_test(it_begins_at_the_nominal_voltage),
        cmocka_unit_test(load_makes_it_sag_and_mains_do_not),
        cmocka_unit_test(a_stalled_servo_heats_and_switches_itself_off),
        cmocka_unit_test(bent_knees_grow_warm_and_drain_the_battery),
        cmocka_unit_test(an_arm_at_its_stop_overheats),
        cmocka_unit_test(worlds_with_batteries_repeat_themselves),
        cmocka_unit_test(a_low_battery_makes_a_walking_robot_sit_down),
        cmocka_unit_test(a_walk_begins_at_the_nominal_voltage_and_drains),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
