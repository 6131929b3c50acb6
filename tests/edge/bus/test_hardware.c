/* A line-up on the real servo driver: virtual devices in simulated time speak its bytes. Goals reach the servos, their
 * angles come back, faults become console lines, power is switched by the service. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "diagnostic_msgs/DiagnosticArray.h"
#include "edge/bus/hardware.h"
#include "nutmeg_msgs/ServoStates.h"
#include "rcl_interfaces/Log.h"
#include "sensor_msgs/JointState.h"
#include "sim/feed.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

struct rig {
    struct nm_arena arena;
    struct nm_registry registry;
    const struct nm_body *body;
    struct nm_lineup *lineup;
    struct nm_player *player;
    struct nm_bus_tables tables;
    struct nm_vbus *bus;
    struct nm_hardware *hardware;
    struct nm_edge *eyes;
    int64_t now, period;
    char console[4096];
    DiagnosticArray health; /* the last that told of readings */
};

static void check(bool ok, const struct nm_err *err)
{
    if (!ok) fail_msg("%s", err->text);
}

static void rig_start_at(struct rig *r, const char *robot, const char *setting, int period, double slowest)
{
    struct nm_err err = {0};
    char path[512], text[256];
    *r = (struct rig){0};
    nm_registry_init(&r->registry, &r->arena, __start_nm_modules, __stop_nm_modules);
    snprintf(path, sizeof path, "%s/robots/%s", NM_ROOT, robot);
    const struct nm_body *loaded = nm_body_load(&r->arena, path, &err);
    check(loaded, &err);
    struct nm_body *body = nm_take_n(&r->arena, struct nm_body, 1);
    *body = *loaded;
    body->bus_round = slowest;
    r->body = body;
    r->period = period * 1000000ll;
    int n = snprintf(text, sizeof text,
                     "cycles: {motion: {period: %d ms, modules: [motor_states, hold_pose, motor_goals, supervision]}}\n"
                     "remote: [servo_states, battery]\n",
                     period);
    struct nm_lineup_options options = {.root = NM_ROOT, .n_set = setting ? 1 : 0, .set = &setting};
    r->lineup = nm_lineup_parse(text, (size_t)n, "test.yaml", &r->registry, &options, &err);
    check(r->lineup, &err);
    r->player = nm_player_new(r->lineup, &(struct nm_player_options){.seed = 1, .body = r->body}, &err);
    check(r->player, &err);
    check(nm_bus_tables(r->body, &r->tables, &err) == 0, &err);
    r->bus = nm_vbus_of_tables(&r->tables, &err);
    check(r->bus, &err);
    r->hardware = nm_hardware_on(r->player, r->body, nm_vbus_io(r->bus), &err);
    check(r->hardware, &err);
    r->eyes = nm_edge_new(r->player, "eyes",
                          (struct nm_edge_port[]){{"joint_states", NM_PORT_IN, NULL, 0, 0},
                                                  {"rosout", NM_PORT_QUEUE, NULL, 16, 0},
                                                  {"diagnostics", NM_PORT_QUEUE, NULL, 16, 0},
                                                  {"servo_states", NM_PORT_IN, NULL, 0, 0}},
                          4, &err);
    check(r->eyes, &err);
}

static void rig_start_with(struct rig *r, const char *robot, const char *setting)
{
    rig_start_at(r, robot, setting, 8, 0);
}

static void rig_start(struct rig *r, const char *robot) { rig_start_with(r, robot, NULL); }

static void rig_end(struct rig *r)
{
    nm_hardware_free(r->hardware);
    nm_vbus_free(r->bus);
    nm_player_free(r->player);
    nm_lineup_free(r->lineup);
    nm_arena_free(&r->arena);
}

/* Rounds of the bus and of the line-up in turn; the bus has a clock of its own, which moves with each round. */
static void play(struct rig *r, double seconds)
{
    struct nm_bus_io io = nm_vbus_io(r->bus);
    for (int64_t end = r->now + nm_ns(seconds); r->now < end; r->now += r->period) {
        int64_t next = io.now(io.self) + r->period;
        nm_hardware_step(r->hardware, r->now);
        nm_vbus_advance(r->bus, next);
        assert_int_equal(nm_players_run(&r->player, 1, r->now + r->period, 1), 0);
        nm_edge_begin(r->eyes, r->now);
        const void *const *at;
        uint32_t lines = nm_edge_queue(r->eyes, 1, &at, NULL);
        for (uint32_t i = 0; i < lines; i++) {
            strncat(r->console, ((const Log *)at[i])->msg, sizeof r->console - strlen(r->console) - 2);
            strcat(r->console, "\n");
        }
        lines = nm_edge_queue(r->eyes, 2, &at, NULL);
        for (uint32_t i = 0; i < lines; i++) {
            const DiagnosticArray *array = at[i];
            if (array->status.n && !strncmp(array->status.at[0].name, "readings of ", 12)) r->health = *array;
        }
        nm_edge_end(r->eyes);
    }
}

static double joint(struct rig *r, const char *name)
{
    nm_edge_begin(r->eyes, r->now);
    const JointState *states = nm_edge_in(r->eyes, 0);
    double position = NAN;
    for (uint32_t i = 0; i < states->name.n; i++)
        if (!strcmp(states->name.at[i], name)) position = states->position.at[i];
    nm_edge_end(r->eyes);
    return position;
}

static int occurs(const char *text, const char *word)
{
    int n = 0;
    for (const char *c = text; (c = strstr(c, word)); c++) n++;
    return n;
}

static void a_line_up_moves_its_body_over_the_bus(void **state)
{
    (void)state;
    const char *const robots[] = {"kid70", "darwin"}; /* darwin's servos turn both ways */
    for (int i = 0; i < 2; i++) {
        struct rig r;
        rig_start(&r, robots[i]);
        play(&r, 8);
        double left = joint(&r, "left_knee"), right = joint(&r, "right_knee");
        assert_true(left > 0.3 && fabs(left - right) < 0.01);
        for (int s = 0; s < r.tables.n_servos; s++)
            assert_int_equal(nm_hardware_states(r.hardware)->servo[s].phase, NM_BUS_ON);
        rig_end(&r);
    }
}

static void a_dead_servo_is_told_once_and_comes_back(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "kid70");
    play(&r, 6);
    int knee = -1;
    for (int s = 0; s < r.tables.n_servos; s++)
        if (!strcmp(r.tables.servos[s].name, "left_knee")) knee = s;
    struct nm_vdevice *device = nm_vbus_device(r.bus, r.tables.servos[knee].wire, r.tables.servos[knee].id);
    double before = joint(&r, "left_knee");
    r.console[0] = '\0';
    nm_vbus_fault(r.bus, device, NM_VFAULT_DEAD, UINT32_MAX, 0);
    play(&r, 2);
    assert_int_equal(occurs(r.console, "left_knee"), 1);
    assert_true(fabs(joint(&r, "left_knee") - before) < 1e-9); /* its joint keeps the last angle */
    nm_vbus_fault(r.bus, device, NM_VFAULT_NONE, 0, 0);
    play(&r, 6);
    assert_int_equal(nm_hardware_states(r.hardware)->servo[knee].phase, NM_BUS_ON);
    assert_true(occurs(r.console, "left_knee") >= 2);
    rig_end(&r);
}

/* Stiffness has one meaning, a share of the gain P, whether goals go over a bus or straight to a simulated servo. */
static void stiffness_is_a_share_of_the_gain_on_the_bus_and_off_it(void **state)
{
    (void)state;
    static const double shares[] = {1, 0.5, 0.2};
    for (int k = 0; k < 3; k++) {
        struct rig r;
        char setting[64];
        snprintf(setting, sizeof setting, "hold_pose.stiffness=%g", shares[k]);
        rig_start_with(&r, "kid70", setting);
        play(&r, 4);
        for (uint32_t i = 0; i < r.body->n_servos; i++) {
            const struct nm_vdevice *d = nm_vbus_device(r.bus, r.tables.servos[i].wire, r.tables.servos[i].id);
            JointGoals goals = {
                .name = {.n = 1}, .position = {.n = 1}, .stiffness = {.n = 1, .at = {(float)shares[k]}}};
            struct nm_joint_goal direct[NM_JOINTS] = {0};
            uint32_t joint = r.body->servos[i].joint;
            snprintf(goals.name.at[0], sizeof goals.name.at[0], "%s", r.body->joints[joint].name);
            nm_feed_goals(r.body, &goals, direct);
            assert_true(direct[joint].p > 0 && fabs(nm_vdevice_get(d, "p_gain") - direct[joint].p) < 0.51);
            assert_true(fabs(nm_vdevice_get(d, "torque_limit") - direct[joint].torque_limit) < 2e-3);
        }
        rig_end(&r);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct rig r;
    struct nm_err err = {0};
    rig_start(&r, "kid70");
    assert_null(nm_hardware_on(r.player, NULL, nm_vbus_io(r.bus), &err));
    assert_non_null(strstr(err.text, "has no servos"));
    rig_end(&r);
}

/* ---- pace ---- */

/* Its rounds have the period of the line-up's cycle unless the robot needs longer, and end in time whoever is silent.
 */
static void line_up_and_robot_say_how_fast_the_rounds_are(void **state)
{
    (void)state;
    static const struct {
        int period;     /* ms, of the line-up's cycle */
        double slowest; /* s, of the robot's buses    */
        int64_t round;  /* ns                         */
    } cases[] = {{4, 0, 4000000}, {8, 0, 8000000}, {20, 0, 20000000}, {4, 0.01, 10000000}, {20, 0.01, 20000000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r;
        rig_start_at(&r, "kid70", NULL, cases[i].period, cases[i].slowest);
        assert_int_equal(nm_hardware_period(r.hardware), cases[i].round);
        for (int s = 0; s < r.tables.n_servos; s += 2)
            nm_vbus_fault(r.bus, nm_vbus_device(r.bus, r.tables.servos[s].wire, r.tables.servos[s].id),
                          NM_VFAULT_MISSING, UINT32_MAX, 0);
        for (int round = 0; round < 50; round++) {
            play(&r, 1e-9 * (double)r.period);
            assert_true(nm_hardware_states(r.hardware)->duration <= cases[i].round);
        }
        rig_end(&r);
    }
}

/* ---- the age of readings ---- */

static int64_t servo_stamp(struct rig *r)
{
    nm_edge_begin(r->eyes, r->now);
    const ServoStates *states = nm_edge_in(r->eyes, 3);
    int64_t stamp = (int64_t)states->header.stamp.sec * 1000000000 + states->header.stamp.nanosec;
    nm_edge_end(r->eyes);
    return stamp;
}

static const DiagnosticStatus *health_of(const struct rig *r, const char *device)
{
    for (uint32_t i = 0; i < r->health.status.n; i++)
        if (!strcmp(r->health.status.at[i].name + strlen("readings of "), device)) return &r->health.status.at[i];
    fail_msg("nothing is said about %s", device);
    return NULL;
}

static void messages_say_when_they_were_read(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "kid70");
    play(&r, 4);
    assert_true(r.now - servo_stamp(&r) <= 2 * r.period);
    assert_int_equal(health_of(&r, "imu")->level, DiagnosticStatus_OK);
    assert_int_equal(health_of(&r, "left_knee")->level, DiagnosticStatus_OK);

    /* nobody answers any more: the message comes all the same, but tells of the past */
    int64_t silent = r.now;
    for (int s = 0; s < r.tables.n_servos; s++)
        nm_vbus_fault(r.bus, nm_vbus_device(r.bus, r.tables.servos[s].wire, r.tables.servos[s].id), NM_VFAULT_DEAD,
                      UINT32_MAX, 0);
    nm_vbus_fault(r.bus, nm_vbus_device(r.bus, 0, 241), NM_VFAULT_DEAD, UINT32_MAX, 0);
    play(&r, 3);
    assert_true(servo_stamp(&r) <= silent + r.period);
    assert_int_equal(health_of(&r, "imu")->level, DiagnosticStatus_STALE);
    assert_int_equal(health_of(&r, "left_knee")->level, DiagnosticStatus_STALE);
    assert_int_equal(health_of(&r, "left_foot")->level, DiagnosticStatus_OK);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_up_moves_its_body_over_the_bus),
        cmocka_unit_test(a_dead_servo_is_told_once_and_comes_back),
        cmocka_unit_test(stiffness_is_a_share_of_the_gain_on_the_bus_and_off_it),
        cmocka_unit_test(line_up_and_robot_say_how_fast_the_rounds_are),
        cmocka_unit_test(messages_say_when_they_were_read),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
