/* "Never an uncontrolled joint" is measured, and the measures can fail: a joint that is really let loose, torn off its
 * goal or sent where no motor can go shows in `loose`, `strayed` and `leap`; one that is held does not, nor does one
 * that a fault has broken. */
#include "sim_help.h"

#include <unistd.h>

#include "sim/scenario_parts.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static struct nm_scenario *good(const char *text)
{
    struct nm_err err = {0};
    struct nm_scenario *s = nm_scenario_parse("test.yaml", text, strlen(text), NM_ROOT, &err);
    if (!s) fail_msg("%s", err.text);
    return s;
}

static struct nm_result play(const char *text, const char *lineup)
{
    struct nm_err err = {0};
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_result result;
    struct nm_scenario *s = good(text);
    nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
    struct nm_run_options options = {.seed = 1, .lineup = lineup, .registry = &registry};
    struct nm_run *run = nm_run_new(s, &options, &err);
    if (!run) fail_msg("%s", err.text);
    while (nm_run_step(run) > 0) {}
    nm_run_result(run, &result);
    nm_run_free(run);
    nm_arena_free(&arena);
    nm_scenario_free(s);
    return result;
}

/* A robot whose joints do what the scenario says on joint_goals, and nothing else: every other joint is held as it
 * began. */
static struct nm_result play_by_hand(const char *events)
{
    static const char lineup[] = "robot: kid70\ncycles:\n  motion:\n    period: 8 ms\n"
                                 "    modules: [motor_states, motor_goals]\nremote: [servo_states, joint_goals]\n";
    char text[4096], file[] = "/tmp/nutmeg_grip_XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0 && write(fd, lineup, sizeof lineup - 1) == sizeof lineup - 1);
    close(fd);
    snprintf(text, sizeof text,
             "field: kid\nduration: 3 s\nrobot: kid70\nlineup: stand\nrobots: [{name: kid, at: [1, 1]}]\n"
             "measures: [loose, strayed, leap]\nevents:\n%s",
             events);
    struct nm_result result = play(text, file);
    unlink(file);
    return result;
}
enum { LOOSE, STRAYED, LEAP };

/* every 20 ms: where the left arm is to be, and how stiff */
#define ARM(from, times, position, stiffness)                                                                          \
    "  - {at: " from ", every: 20 ms, times: " times ", say: {robot: kid, topic: joint_goals,\n"                       \
    "     message: {name: [left_shoulder_roll], position: [" position "], stiffness: [" stiffness "]}}}\n"
#define RAISED_SLOWLY ARM("100 ms", "20", "0.3", "1") ARM("500 ms", "20", "0.6", "1")

static void a_joint_that_is_held_is_not_loose(void **state)
{
    (void)state;
    struct nm_result r = play_by_hand(RAISED_SLOWLY ARM("900 ms", "110", "0.9", "1"));
    assert_true(r.values[LOOSE][0] == 0);
    assert_true(r.values[STRAYED][0] < 0.3);
}

static void a_joint_that_goes_limp_is_loose_as_long_as_it_is(void **state)
{
    (void)state;
    struct nm_result r = play_by_hand(RAISED_SLOWLY ARM("900 ms", "30", "0.9", "1") ARM("1500 ms", "50", "0.9", "0"));
    assert_true(fabs(r.values[LOOSE][0] - 1.5) < 0.05); /* to the end */
    assert_true(r.values[STRAYED][0] > 0.4);            /* the arm drops */
}

static void a_motor_that_wakes_far_from_its_goal_leaps(void **state)
{
    (void)state;
    const char *held = RAISED_SLOWLY ARM("900 ms", "30", "0.9", "1"),
               *dropped = RAISED_SLOWLY ARM("900 ms", "30", "0.9", "1") ARM("1500 ms", "50", "0.9", "0")
                   ARM("2500 ms", "20", "0.9", "1");
    double before = play_by_hand(held).values[LEAP][0], after = play_by_hand(dropped).values[LEAP][0];
    assert_true(before < 0.35);
    assert_true(after > 0.5);
}

static void goals_that_cease_leave_a_joint_to_itself(void **state)
{
    (void)state;
    struct nm_result r = play_by_hand(ARM("100 ms", "50", "0.3", "1")); /* the last at 1.08 s, the end at 3 s */
    assert_true(fabs(r.values[LOOSE][0] - (3 - 1.08 - 0.15)) < 0.03);
}

static void a_goal_that_jumps_is_a_leap(void **state)
{
    (void)state;
    struct nm_result r = play_by_hand(ARM("100 ms", "50", "0.1", "1") ARM("1100 ms", "95", "1.3", "1"));
    assert_true(r.values[LEAP][0] > 1 && r.values[LEAP][0] < 1.2); /* of 1.2 rad a motor has made a little by then */
    assert_true(r.values[STRAYED][0] > 0.5);
    assert_true(r.values[LOOSE][0] == 0);
}

static void a_joint_that_a_fault_broke_is_not_counted(void **state)
{
    (void)state;
    struct nm_result r = play_by_hand(
        RAISED_SLOWLY ARM("900 ms", "110", "0.9", "1") "  - {at: 1.5 s, fault: {robot: kid, what: servo dead, joint: "
                                                       "left_shoulder_roll}}\n");
    assert_true(r.values[LOOSE][0] == 0);
    assert_true(r.values[STRAYED][0] < 0.3);
}

/* ---- a whole robot ---- */

#define WALKER                                                                                                         \
    "field: kid\nduration: 5 s\nrobot: kid70\nlineup: motion\nrobots: [{name: kid, at: [0, 10, 90 deg]}]\n"            \
    "measures: [{measure: loose, from: 1 s}, {measure: leap, from: 1 s}, {measure: speed_x, from: 3 s, name: pace}]\n" \
    "events:\n  - {at: 1 s, drive: {robot: kid, velocity: [0.2, 0, 0]}}\n"

static void a_walking_robot_has_all_joints_in_hand(void **state)
{
    (void)state;
    struct nm_result r = play(WALKER "expect:\n  - {measure: loose, below: 0.01}\n  - {measure: leap, below: 0.3}\n"
                                     "  - {measure: pace, above: 0.1}\n",
                              NULL);
    if (!r.passed) fail_msg("%s", r.failed);
}

static void motors_without_power_are_found(void **state)
{
    (void)state;
    struct nm_result r = play(WALKER "  - {at: 4 s, power: {robot: kid, on: false}}\n"
                                     "  - {at: 4.5 s, power: {robot: kid, on: true}}\n"
                                     "expect: [{measure: loose, below: 0.01}]\n",
                              NULL);
    assert_false(r.passed);
    assert_string_equal(r.failed, "kid's loose below 0.01 s");
    assert_true(fabs(r.values[0][0] - 0.5) < 0.03);
}

static void a_brain_that_hangs_is_found(void **state)
{
    (void)state;
    struct nm_result r = play(WALKER "  - {at: 3 s, fault: {robot: kid, what: computer stalled, for: 1 s}}\n", NULL);
    assert_true(fabs(r.values[0][0] - 0.85) < 0.03);
    r = play(WALKER "  - {at: 3 s, fault: {robot: kid, what: computer stalled, for: 20 ms}}\n", NULL);
    assert_true(r.values[0][0] == 0);
}

/* ---- expectations of what is known only at the end ---- */

static void expectations_name_what_is_measured(void **state)
{
    (void)state;
    struct nm_scenario *s = good(WALKER "expect: [{measure: pace, of: kid, above: 1}]\n");
    char text[100];
    assert_true(s->expect[0].listed && s->expect[0].index == 2);
    nm_condition_text(s, &s->expect[0], text, sizeof text);
    assert_string_equal(text, "kid's pace above 1 m/s");
    nm_scenario_free(s);
}

static void what_is_not_known_yet_cannot_end_a_run(void **state)
{
    static const char *const bad[] = {
        WALKER "until: [{measure: leap, above: 1}]\n",
        WALKER "expect: [{measure: speed_x, above: 1}]\n", /* listed as pace */
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct nm_err err = {0};
        assert_null(nm_scenario_parse("test.yaml", bad[i], strlen(bad[i]), NM_ROOT, &err));
        assert_non_null(strstr(err.text, "known only when its window is over"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joint_that_is_held_is_not_loose),
        cmocka_unit_test(a_joint_that_goes_limp_is_loose_as_long_as_it_is),
        cmocka_unit_test(a_motor_that_wakes_far_from_its_goal_leaps),
        cmocka_unit_test(goals_that_cease_leave_a_joint_to_itself),
        cmocka_unit_test(a_goal_that_jumps_is_a_leap),
        cmocka_unit_test(a_joint_that_a_fault_broke_is_not_counted),
        cmocka_unit_test(a_walking_robot_has_all_joints_in_hand),
        cmocka_unit_test(motors_without_power_are_found),
        cmocka_unit_test(a_brain_that_hangs_is_found),
        cmocka_unit_test(expectations_name_what_is_measured),
        cmocka_unit_test(what_is_not_known_yet_cannot_end_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
