/* What a scenario measures over a window, what it makes a score of, and the words that only motion needs: drives that
 * go on, conditions by name, blows from either side, robots that lie as they fell. */
#include "sim_help.h"

#include "sim/scenario_parts.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static struct nm_scenario *good(const char *text)
{
    struct nm_err err = {0};
    struct nm_scenario *s = nm_scenario_parse("test.yaml", text, strlen(text), NM_ROOT, &err);
    if (!s) fail_msg("%s", err.text);
    return s;
}

struct desk {
    struct nm_arena arena;
    struct nm_registry registry;
};

static struct nm_run *begin(struct desk *d, const struct nm_scenario *s, struct nm_run_options options)
{
    struct nm_err err = {0};
    memset(d, 0, sizeof *d);
    nm_registry_init(&d->registry, &d->arena, __start_nm_modules, __stop_nm_modules);
    options.registry = &d->registry;
    struct nm_run *run = nm_run_new(s, &options, &err);
    if (!run) fail_msg("%s", err.text);
    return run;
}

static struct nm_result play(const struct nm_scenario *s, struct nm_run_options options)
{
    struct desk d;
    struct nm_result result;
    struct nm_run *run = begin(&d, s, options);
    while (nm_run_step(run) > 0) {}
    nm_run_result(run, &result);
    nm_run_free(run);
    nm_arena_free(&d.arena);
    return result;
}

#define WALKER "field: kid\nrobot: kid70\nlineup: walk\nrobots: [{name: kid, at: [0, 10, 90 deg]}]\n"

static void a_drive_goes_on_until_the_next_one(void **state)
{
    (void)state;
    struct nm_scenario *s = good(WALKER "duration: 12 s\nevents:\n"
                                        "  - {at: 2 s, drive: {robot: kid, velocity: [0.3, 0, 0]}}\n"
                                        "  - {at: 7 s, drive: {robot: kid, velocity: [0, 0, 0]}}\n"
                                        "measures:\n"
                                        "  - {measure: speed_x, from: 4 s, to: 7 s, name: ahead}\n"
                                        "  - {measure: speed_y, from: 4 s, to: 7 s, name: aside}\n"
                                        "  - {measure: speed_x, from: 10 s, name: after}\n"
                                        "  - {measure: steps, from: 4 s, to: 7 s, name: steps}\n"
                                        "  - {measure: steps, from: 10 s, name: steps_after}\n"
                                        "  - {measure: steps_to_speed, from: 2 s, to: 7 s, name: start}\n"
                                        "  - falls\n");
    struct nm_result r = play(s, (struct nm_run_options){.seed = 1});
    assert_true(r.values[6][0] == 0);
    assert_true(r.values[0][0] > 0.15 && r.values[0][0] < 0.45);
    assert_true(fabs(r.values[1][0]) < 0.1);
    assert_true(fabs(r.values[2][0]) < 0.02);
    assert_true(r.values[3][0] >= 6 && r.values[3][0] <= 20);
    assert_true(r.values[4][0] == 0);
    assert_true(r.values[5][0] >= 1 && r.values[5][0] <= 12);
    assert_true(isnan(r.score));
    nm_scenario_free(s);
}

static void a_drive_that_has_a_time_ends(void **state)
{
    (void)state;
    struct nm_scenario *s = good(WALKER "duration: 8 s\nevents:\n"
                                        "  - {at: 2 s, drive: {robot: kid, velocity: [0.3, 0, 0], for: 2 s}}\n"
                                        "measures: [{measure: steps, from: 2 s, to: 4 s, name: a}, "
                                        "{measure: steps, from: 6.5 s, name: b}]\n");
    struct nm_result r = play(s, (struct nm_run_options){.seed = 1});
    assert_true(r.values[0][0] > 2);
    assert_true(r.values[1][0] == 0);
    nm_scenario_free(s);
}

/* Nobody moves: every value is known, so the score is known. */
static void a_score_is_the_weighted_sum_of_measures(void **state)
{
    (void)state;
    struct nm_scenario *s = good(
        "field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{name: a, at: [2, 1]}, {name: b, at: [2, -1]}]\n"
        "ball: {at: [3, 2]}\nmeasures: [survived, falls, time, ball_x, {measure: speed_x, from: 5 s, name: never}]\n"
        "score: {survived: 2, falls: -9, time: {weight: 1, most: 0.5}, ball_x: {weight: 1, least: 10},\n"
        "  never: {weight: 3, missing: 7}}\n");
    struct nm_result r = play(s, (struct nm_run_options){.seed = 1});
    assert_near(r.score, 2 * 1 + 0 + 0.5 + 10 + 21, 1e-6);
    nm_scenario_free(s);
}

static void odometry_and_orientation_are_compared_with_the_truth(void **state)
{
    (void)state;
    struct nm_scenario *s =
        good("field: kid\nrobot: kid70\nlineup: motion\nconditions: nominal\n"
             "robots: [{name: kid, at: [0, 10, 90 deg]}]\nduration: 9 s\nevents:\n"
             "  - {at: 2 s, drive: {robot: kid, velocity: [0.3, 0, 0], for: 4 s}}\n"
             "measures: [{measure: odometry_drift, from: 1.5 s}, {measure: tilt_error, from: 1 s}, path, "
             "{measure: odometry_turn, from: 1.5 s}]\n");
    struct nm_result r = play(s, (struct nm_run_options){.seed = 1});
    assert_true(r.values[2][0] > 0.5);
    assert_true(r.values[0][0] >= 0 && r.values[0][0] < 0.3 * r.values[2][0]);
    assert_true(r.values[1][0] > 0 && r.values[1][0] < 0.026); /* 1.5 degrees */
    assert_true(r.values[3][0] > 0 && r.values[3][0] < 0.3);
    nm_scenario_free(s);
}

/* Where a robot is told to go is seen from where it stands then: at first it is a metre off, later it is there. */
static void a_target_is_asked_for_and_measured(void **state)
{
    (void)state;
    static const double seconds[] = {2.05, 12};
    struct nm_scenario *s =
        good(WALKER "duration: 12 s\nevents:\n"
                    "  - {at: 2 s, target: {robot: kid, distance: 1, direction: 90 deg, turn: 0.5}}\n"
                    "measures: [target_error, target_turn, forward, {measure: last_step, from: 2 s}, falls]\n");
    struct nm_result r[2];
    for (int i = 0; i < 2; i++) r[i] = play(s, (struct nm_run_options){.seed = 1, .seconds = seconds[i]});
    assert_near(r[0].values[0][0], 1, 0.03);
    assert_near(r[0].values[1][0], 0.5, 0.03);
    assert_true(r[1].values[4][0] == 0);
    assert_true(r[1].values[0][0] < 0.4);
    assert_true(r[1].values[1][0] < 0.3);
    assert_true(fabs(r[1].values[2][0]) < 0.4); /* sideways, not forwards */
    assert_true(r[1].values[3][0] > 1 && r[1].values[3][0] < 9);
    nm_scenario_free(s);
    struct nm_scenario *nowhere = good(WALKER "duration: 0.1 s\nmeasures: [target_error, target_turn]\n");
    struct nm_result n = play(nowhere, (struct nm_run_options){.seed = 1});
    assert_true(isnan(n.values[0][0]) && isnan(n.values[1][0]));
    nm_scenario_free(nowhere);
}

/* A robot that stands carries its weight, moves nowhere, and takes no step; one that walks comes down harder. */
static void feet_and_ways_are_measured(void **state)
{
    (void)state;
    struct nm_scenario *s = good(WALKER "duration: 11 s\nevents:\n"
                                        "  - {at: 5 s, drive: {robot: kid, velocity: [0.3, 0, 0], for: 3 s}}\n"
                                        "measures:\n"
                                        "  - {measure: footfall, from: 3 s, to: 5 s, name: standing}\n"
                                        "  - {measure: footfall, from: 5 s, name: walking}\n"
                                        "  - {measure: moved, from: 3 s, to: 5 s, name: stayed}\n"
                                        "  - {measure: moved, from: 3 s, name: went}\n"
                                        "  - {measure: last_step, from: 3 s, to: 5 s, name: no_step}\n"
                                        "  - {measure: last_step, from: 5 s, name: step}\n"
                                        "  - distance\n");
    struct nm_result r = play(s, (struct nm_run_options){.seed = 1});
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_body *body = nm_body_load(&arena, NM_ROOT "/robots/kid70", &err);
    double weight = 9.81 * body->mass;
    assert_true(r.values[0][0] > 0.5 * weight && r.values[0][0] < 0.9 * weight);
    assert_true(r.values[1][0] > weight && r.values[1][0] < 6 * weight);
    assert_true(r.values[2][0] < 0.005);
    assert_near(r.values[3][0], r.values[6][0], 0.1);
    assert_true(r.values[3][0] > 0.4);
    assert_true(r.values[4][0] == 0);
    assert_true(r.values[5][0] > 2.5 && r.values[5][0] < 5);
    nm_arena_free(&arena);
    nm_scenario_free(s);
}

/* The energy of the servos is what the battery lost, less what the computer took. */
static void energy_comes_from_the_battery(void **state)
{
    (void)state;
    struct nm_scenario *s = good(WALKER "duration: 12 s\nevents:\n"
                                        "  - {at: 0 s, drive: {robot: kid, velocity: [0.3, 0, 0]}}\n"
                                        "measures: [charge, voltage, path, {measure: joules}, {measure: speed_x}]\n");
    struct desk d;
    struct nm_run *run = begin(&d, s, (struct nm_run_options){.seed = 1});
    const struct nm_body *body = nm_stage_body(nm_run_stage(run), 0);
    struct nm_result first, last;
    nm_run_step(run);
    nm_run_result(run, &first);
    while (nm_run_step(run) > 0) {}
    nm_run_result(run, &last);
    double drawn = (first.values[0][0] - last.values[0][0]) * body->battery.capacity * 3600 *
                   (first.values[1][0] + last.values[1][0]) / 2,
           own = last.values[3][0] * last.values[4][0] * 12;
    assert_true(own > 100);
    assert_near(own, drawn - body->battery.electronics * 12, 0.1 * own);
    nm_run_free(run);
    nm_arena_free(&d.arena);
    nm_scenario_free(s);
}

/* How calm the trunk is: the share of pictures without a pose is judged by the gate of the line-up. */
static void a_trunk_that_turns_too_fast_sees_nothing(void **state)
{
    (void)state;
    static const char *const gates[] = {"camera_pose.max_turn=50", "camera_pose.max_turn=0.1"};
    struct nm_scenario *s = good("field: kid\nrobot: kid70\nlineup: motion\n"
                                 "robots: [{name: kid, at: [0, 10, 90 deg]}]\nduration: 6 s\nevents:\n"
                                 "  - {at: 1.5 s, drive: {robot: kid, velocity: [0.3, 0, 0]}}\n"
                                 "measures: [{measure: camera_lost, from: 3 s}, {measure: trunk_rate, from: 3 s}]\n");
    for (int i = 0; i < 2; i++) {
        struct nm_result r = play(s, (struct nm_run_options){.seed = 1, .n_set = 1, .set = &gates[i]});
        assert_true(i ? r.values[0][0] > 0.7 : r.values[0][0] == 0);
        assert_true(r.values[1][0] > 0.1 && r.values[1][0] < 3);
    }
    nm_scenario_free(s);
    struct nm_scenario *blind = good(WALKER "duration: 0.5 s\nmeasures: [{measure: camera_lost}]\n");
    assert_true(isnan(play(blind, (struct nm_run_options){.seed = 1}).values[0][0]));
    nm_scenario_free(blind);
}

static void conditions_have_names_and_can_be_changed(void **state)
{
    (void)state;
    struct nm_scenario *s =
        good("field: kid\nduration: 1 s\nrobots: []\nworld: {sensor_delay: 16 ms}\nconditions: hard\n");
    assert_true(s->world.backlash && s->world.random == 1);
    assert_near(s->world.play, M_PI / 180, 1e-4);
    assert_int_equal(s->world.command_delay, 8000000);
    assert_int_equal(s->world.sensor_delay, 16000000); /* whatever stands first in the file */
    nm_scenario_free(s);
}

static void settings_of_the_caller_count_more(void **state)
{
    (void)state;
    struct nm_scenario *s = good("field: kid\nduration: 1 s\nrobot: kid70\n"
                                 "robots: [{name: kid, lineup: stand, at: [1, 1], set: [hold_pose.duration=3]}]\n");
    struct desk d;
    const char *set = "hold_pose.duration=5";
    struct nm_run *run = begin(&d, s, (struct nm_run_options){.seed = 1, .n_set = 1, .set = &set});
    const struct nm_player *player = nm_stage_player(nm_run_stage(run), 0);
    const struct nm_lineup *lineup = nm_player_lineup(player);
    uint32_t i = nm_lineup_instance(lineup, "hold_pose");
    struct nm_value value;
    nm_player_value(player, i, (uint32_t)nm_param_find(lineup->instances[i].module, "duration", NULL), &value);
    assert_near(value.number[0], 5, 1e-6);
    nm_run_free(run);
    nm_arena_free(&d.arena);
    nm_scenario_free(s);
}

/* A push to the left or to the right: over some seeds both happen. */
static void a_blow_comes_from_either_side(void **state)
{
    (void)state;
    struct nm_scenario *s =
        good("field: kid\nduration: 1.4 s\nrobot: kid70\nrobots: [{name: kid, at: [1, 1, 0]}]\nevents:\n"
             "  - {at: 1 s, push: {robot: kid, impulse: 6, direction: 90 deg, point: [0, 0, 0.1], "
             "either_side: true}}\nmeasures: [{measure: speed_y, from: 1 s}]\n");
    int left = 0, right = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct nm_result r = play(s, (struct nm_run_options){.seed = seed});
        left += r.values[0][0] > 0.1;
        right += r.values[0][0] < -0.1;
    }
    assert_int_equal(left + right, 8);
    assert_true(left && right);
    nm_scenario_free(s);
}

/* Without a point of its own a push acts at the centre of mass: it moves the trunk and hardly turns it. */
static void a_push_without_a_point_is_at_the_trunks_centre_of_mass(void **state)
{
    (void)state;
    static const char *const points[] = {"", ", point: [0, 0, 0.4]"};
    double tilt[2];
    for (int i = 0; i < 2; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "field: kid\nduration: 140 ms\nrobot: kid70\nrobots: [{name: kid, at: [1, 1, 0]}]\nevents:\n"
                 "  - {at: 100 ms, push: {robot: kid, impulse: 3, direction: 0%s}}\n"
                 "measures: [tilt_max, struck]\n",
                 points[i]);
        struct nm_scenario *s = good(text);
        struct nm_result r = play(s, (struct nm_run_options){.seed = 1});
        tilt[i] = r.values[0][0];
        assert_near(r.values[1][0], 1, 0);
        nm_scenario_free(s);
    }
    assert_true(tilt[0] < 0.5 * tilt[1]);
}

/* Lying is not the only fall: a robot that kneels with its trunk upright has fallen too, and so has one that the guard
 * of the physics had to put back. A blow that comes after the fall did not meet it upright. */
static void low_trunks_and_torn_robots_have_fallen(void **state)
{
    (void)state;
    static const struct pose3 bad[] = {{QUAT_IDENTITY, {1, 1, 0.19}}, {QUAT_IDENTITY, {1, 1, 5000}}};
    struct nm_scenario *s =
        good("field: kid\nduration: 3 s\nrobot: kid70\nrobots: [{name: kid, at: [1, 1, 0]}]\nevents:\n"
             "  - {at: 2.5 s, push: {robot: kid, impulse: 0.1}}\n"
             "measures: [falls, tilt, struck, survived]\n");
    for (int i = 0; i < 2; i++) {
        struct desk d;
        struct nm_result r;
        struct nm_run *run = begin(&d, s, (struct nm_run_options){.seed = 1});
        double q[NM_JOINTS];
        nm_stance(nm_stage_body(run->stage, 0), 0.4, q);
        for (int k = 0; k < 100; k++) nm_run_step(run);
        nm_world_put(nm_stage_world(run->stage), 0, bad[i], q);
        nm_run_step(run);
        nm_run_result(run, &r);
        assert_near(r.values[0][0], 1, 0);
        assert_true(r.values[1][0] < 0.3);
        while (nm_run_step(run) > 0) {}
        nm_run_result(run, &r);
        assert_near(r.values[2][0], 0, 0);
        assert_true(r.values[3][0] < 0.2);
        nm_run_free(run);
        nm_arena_free(&d.arena);
    }
    nm_scenario_free(s);
}

/* The rows of the motion table cannot be passed by doing nothing: a robot that stands, steps on the spot or stays lying
 * is not what they expect, though it does not fall. */
static void doing_nothing_is_no_success(void **state)
{
    (void)state;
    static const struct {
        const char *scenario, *set;
        double seconds;
    } rows[] = {
        {"forward", "walk.max_forward=0", 6}, {"sideways", "walk.max_side=0", 6},
        {"spread", "walk.max_forward=0", 6},  {"random", "hcm.limp=true", 6},
        {"pendulum", "hcm.startup=9", 0},     {"get_up_front", "hcm.get_up=false", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[512];
        struct nm_err err = {0};
        snprintf(path, sizeof path, "%s/scenarios/motion/%s.yaml", NM_ROOT, rows[i].scenario);
        struct nm_scenario *s = nm_scenario_read(path, NM_ROOT, &err);
        if (!s) fail_msg("%s", err.text);
        struct nm_result r =
            play(s, (struct nm_run_options){.seed = 1, .seconds = rows[i].seconds, .n_set = 1, .set = &rows[i].set});
        if (r.passed) fail_msg("%s passed with %s", rows[i].scenario, rows[i].set);
        nm_scenario_free(s);
    }
}

static void who_fell_lies_anyhow_but_whole(void **state)
{
    (void)state;
    struct nm_scenario *s = good("field: kid\nduration: 3 s\nrobot: kid70\nworld: {self_collision: all}\n"
                                 "robots: [{name: kid, at: [1, 1, 0], lying: back, scatter: 0.6}]\n"
                                 "measures: [fallen, incidents, {measure: impact}, {measure: torque_max}]\n");
    double joints[4];
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct desk d;
        struct nm_run *run = begin(&d, s, (struct nm_run_options){.seed = seed});
        struct nm_truth truth;
        nm_world_truth(nm_stage_world(nm_run_stage(run)), 0, &truth);
        joints[seed - 1] = truth.q[3];
        assert_true(nm_world_overlap(nm_stage_world(nm_run_stage(run)), 0) < 0.004);
        nm_run_free(run);
        nm_arena_free(&d.arena);
        struct nm_result r = play(s, (struct nm_run_options){.seed = seed});
        assert_true(r.values[0][0] == 1 && r.values[1][0] == 0);
        assert_true(r.values[2][0] > 5 && r.values[3][0] > 0);
    }
    assert_true(fabs(joints[0] - joints[1]) > 1e-3 && fabs(joints[1] - joints[2]) > 1e-3);
    nm_scenario_free(s);
}

static void an_event_waits_for_its_condition(void **state)
{
    (void)state;
    struct nm_scenario *s = good("field: kid\nduration: 3 s\nrobot: kid70\nrobots: [{name: kid, at: [1, 1, 90 deg]}]\n"
                                 "ball: {at: [3, 2], velocity: [1, 0]}\nevents:\n"
                                 "  - {when: {measure: ball_x, above: 3.3}, ball: {at: [0.5, 0], of: kid}}\n"
                                 "measures: [ball_x, ball_y, {time_to: {measure: ball_x, above: 3.3}}]\n");
    struct nm_result r = play(s, (struct nm_run_options){.seed = 1});
    assert_true(r.values[2][0] > 0.2 && r.values[2][0] < 1);
    assert_near(r.values[0][0], 1, 0.05); /* half a metre before a robot that looks to the left */
    assert_near(r.values[1][0], 1.5, 0.1);
    nm_scenario_free(s);
}

/* One fault a line. */
#define HEAD "field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{name: kid, at: [1, 1]}]\n"
static const struct {
    const char *text, *sentence;
} faults[] = {
    {HEAD "conditions: hardly\n", "did you mean 'hard'"},
    {HEAD "measures: [{measure: speed_x, from: 2 s, to: 1 s}]\n", "ends after it begins"},
    {HEAD "measures: [{measure: tilt, from: 2 s}]\n", "no measure of a window"},
    {HEAD "measures: [{name: x}]\n", "`measure:` or `time_to:`"},
    {HEAD "until: [{measure: speed_x, above: 1}]\n", "known only when its window is over"},
    {HEAD "measures: [falls]\nscore: {fals: 1}\n", "did you mean 'falls'"},
    {HEAD "measures: [falls]\nscore: [falls]\n", "weights"},
    {HEAD "measures: [falls]\nscore: {falls: {most: 1}}\n", "`weight:` is missing"},
    {HEAD "events: [{at: 1 s, drive: {robot: kid}}]\n", "`velocity:` is missing"},
    {HEAD "events: [{at: 1 s, drive: {robot: kid, velocity: [9, 0, 0]}}]\n", "not between"},
    {HEAD "events: [{at: 1 s, target: {robot: kid}}]\n", "`distance:` is missing"},
    {HEAD "events: [{at: 1 s, when: {measure: time, above: 1}, ball: {at: [1, 1]}}]\n", "either `at:` or `when:`"},
    {HEAD "events: [{at: 1 s, ball: {at: [1, 1], of: kit}}]\n", "did you mean 'kid'"},
    {HEAD "events: [{at: 1 s, every: [3 s, 1 s], ball: {at: [1, 1]}}]\n", "above 1"},
};

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct nm_err err = {0};
        struct nm_scenario *s = nm_scenario_parse("test.yaml", faults[i].text, strlen(faults[i].text), NM_ROOT, &err);
        if (s) fail_msg("this was taken: %s", faults[i].text);
        if (!strstr(err.text, faults[i].sentence)) fail_msg("%sgave: %s", faults[i].text, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drive_goes_on_until_the_next_one),
        cmocka_unit_test(a_drive_that_has_a_time_ends),
        cmocka_unit_test(a_score_is_the_weighted_sum_of_measures),
        cmocka_unit_test(odometry_and_orientation_are_compared_with_the_truth),
        cmocka_unit_test(a_target_is_asked_for_and_measured),
        cmocka_unit_test(feet_and_ways_are_measured),
        cmocka_unit_test(energy_comes_from_the_battery),
        cmocka_unit_test(a_trunk_that_turns_too_fast_sees_nothing),
        cmocka_unit_test(conditions_have_names_and_can_be_changed),
        cmocka_unit_test(settings_of_the_caller_count_more),
        cmocka_unit_test(a_blow_comes_from_either_side),
        cmocka_unit_test(a_push_without_a_point_is_at_the_trunks_centre_of_mass),
        cmocka_unit_test(low_trunks_and_torn_robots_have_fallen),
        cmocka_unit_test(doing_nothing_is_no_success),
        cmocka_unit_test(who_fell_lies_anyhow_but_whole),
        cmocka_unit_test(an_event_waits_for_its_condition),
        cmocka_unit_test(what_is_wrong_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
