/* Scenarios: the files that come with Nutmeg are good, whatever is wrong in one is told with its line and the nearest
 * word, and what a file says happens when and how it says. */
#include "sim_help.h"

#include "core/files.h"
#include "sim/scenario_parts.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static struct nm_scenario *read_text_of(const char *text, struct nm_err *err)
{
    return nm_scenario_parse("test.yaml", text, strlen(text), NM_ROOT, err);
}

static struct nm_scenario *good(const char *text)
{
    struct nm_err err = {0};
    struct nm_scenario *s = read_text_of(text, &err);
    if (!s) fail_msg("%s", err.text);
    return s;
}

struct desk {
    struct nm_arena arena;
    struct nm_registry registry;
};

static struct nm_run *begin(struct desk *d, const struct nm_scenario *s, uint64_t seed)
{
    struct nm_err err = {0};
    memset(d, 0, sizeof *d);
    nm_registry_init(&d->registry, &d->arena, __start_nm_modules, __stop_nm_modules);
    struct nm_run *run = nm_run_new(s, &(struct nm_run_options){.seed = seed, .registry = &d->registry}, &err);
    if (!run) fail_msg("%s", err.text);
    return run;
}

static struct nm_result play(const struct nm_scenario *s, uint64_t seed)
{
    struct desk d;
    struct nm_result result;
    struct nm_run *run = begin(&d, s, seed);
    while (nm_run_step(run) > 0) {}
    nm_run_result(run, &result);
    nm_run_free(run);
    nm_arena_free(&d.arena);
    return result;
}

/* ---- files ---- */

static void good_in(const char *folder, uint32_t least)
{
    struct nm_arena arena = {0};
    uint32_t n;
    const char *const *names = nm_files_in(&arena, folder, ".yaml", &n);
    assert_true(n >= least);
    for (uint32_t i = 0; i < n; i++) {
        struct nm_err err = {0};
        const char *path = nm_take_format(&arena, "%s/%s.yaml", folder, names[i]);
        struct nm_scenario *s = nm_scenario_read(path, NM_ROOT, &err);
        if (!s) fail_msg("%s", err.text);
        assert_true(*s->about);
        struct desk d = {0};
        s->bus = false;                           /* the program's, not the library's */
        nm_run_free(begin(&d, s, s->first_seed)); /* every event has its robot, joint, topic and parameter */
        nm_arena_free(&d.arena);
        nm_scenario_free(s);
    }
    nm_arena_free(&arena);
}

static void the_scenarios_that_come_along_are_good(void **state)
{
    (void)state;
    good_in(NM_ROOT "/scenarios", 6);
    good_in(NM_ROOT "/scenarios/motion", 20);
}

/* One fault a line: what stands behind HEAD, and what must be said of it. */
#define HEAD "field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{name: kid, at: [1, 1]}]\n"
static const struct {
    const char *text, *line, *sentence;
} faults[] = {
    {"duration: 1 s\nrobots: []\n", "test.yaml:1:", "`field:` is missing"},
    {"field: kid\nrobots: []\n", "test.yaml:1:", "`duration:` is missing"},
    {"field: kidd\nduration: 1 s\nrobots: []\n", "test.yaml:1:", "did you mean 'kid'"},
    {"field: kid\nduration: 1\nrobots: []\n", "test.yaml:2:", "duration"},
    {"field: kid\nduration: 1 s\nrobots: [{name: a, robot: kid7, at: [0, 1]}]\n",
     "test.yaml:3:", "did you mean 'kid70'"},
    {"field: kid\nduration: 1 s\nrobots: [{name: a, at: [0, 1]}]\n", "test.yaml:3:", "which robot is 'a'"},
    {"field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{name: a}]\n", "test.yaml:4:", "`at:` is missing"},
    {"field: kid\nduration: 1 s\nrobot: kid70\nlineup: stant\nrobots: []\n", "test.yaml:4:", "did you mean 'stand'"},
    {"field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{at: [1, 1]}, {at: [1, 1.1]}]\n",
     "test.yaml:4:", "home2 begins inside home1"},
    {"field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{at: [0.1, 0]}]\n", "test.yaml:4:", "inside the ball"},
    {"field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{name: a b, at: [1, 0]}]\n", "test.yaml:4:", "the name 'a b'"},
    {"field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{name: a, at: [1, 0]}, {name: a, at: [2, 0]}]\n",
     "test.yaml:4:", "two robots are called 'a'"},
    {"field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{at: [1]}]\n", "test.yaml:4:", "a place is needed"},
    {"field: kid\nduration: 1 s\nrobot: kid70\nrobots: [{at: [1, 99]}]\n", "test.yaml:4:", "not between"},
    {HEAD "fidelty: flat\n", "test.yaml:5:", "did you mean 'fidelity'"},
    {HEAD "fidelity: flt\n", "test.yaml:5:", "did you mean 'flat'"},
    {HEAD "seeds: 9-2\n", "test.yaml:5:", "seeds '9-2'"},
    {HEAD "seeds: -4\n", "test.yaml:5:", "seeds '-4'"},
    {HEAD "random: 5\n", "test.yaml:5:", "5 is not between 0 and 4"},
    {HEAD "world: {frictoin: 1}\n", "test.yaml:5:", "did you mean 'friction'"},
    {HEAD "world: {self_collision: some}\n", "test.yaml:5:", "self_collision 'some'"},
    {HEAD "hardware: buss\n", "test.yaml:5:", "did you mean 'bus'"},
    {HEAD "colours: [red]\n", "test.yaml:5:", "two names"},
    {HEAD "colours: [red, mauvette]\n", "test.yaml:5:", "mauvette"},
    {HEAD "ball: {velocity: [1, 0]}\n", "test.yaml:5:", "`at:` is missing"},
    {HEAD "events: [{at: 1 s}]\n", "test.yaml:5:", "nothing happens"},
    {HEAD "events: [{push: {robot: kid, impulse: 1}}]\n", "test.yaml:5:", "`at:` is missing"},
    {HEAD "events: [{at: 1 s, push: {robot: kid}}]\n", "test.yaml:5:", "`impulse:` is missing"},
    {HEAD "events: [{at: 1 s, push: {robot: kit, impulse: 1}}]\n", "test.yaml:5:", "did you mean 'kid'"},
    {HEAD "events: [{at: 1 s, push: {robot: kid, impulse: [2, 1]}}]\n", "test.yaml:5:", "2 is above 1"},
    {HEAD "events: [{at: 1 s, push: {robot: kid, impulse: [1, 2, 3]}}]\n", "test.yaml:5:", "two ends"},
    {HEAD "events: [{at: 1 s, push: {robot: kid, impulse: .nan}}]\n", "test.yaml:5:", "not between"},
    {HEAD "events: [{at: 1 s, pull: {robot: kid}}]\n", "test.yaml:5:", "push"},
    {HEAD "events: [{at: 1 s, power: {robot: kid, on: true}, press: {robot: kid, button: start}}]\n",
     "test.yaml:5:", "make two of it"},
    {HEAD "events: [{at: 1 s, times: 3, power: {robot: kid, on: true}}]\n", "test.yaml:5:", "`every:`"},
    {HEAD "events: [{at: 1 s, every: 1 s, times: 1.5, power: {robot: kid, on: true}}]\n",
     "test.yaml:5:", "whole number"},
    {HEAD "events: [{at: 1 s, press: {robot: kid, button: stat}}]\n", "test.yaml:5:", "did you mean 'start'"},
    {HEAD "events: [{at: 1 s, fault: {robot: kid, what: servo dad}}]\n", "test.yaml:5:", "did you mean 'servo dead'"},
    {HEAD "events: [{at: 1 s, fault: {robot: kid, what: servo dead}}]\n", "test.yaml:5:", "needs a `joint:`"},
    {HEAD "events: [{at: 1 s, fault: {robot: kid, what: imu lost, side: left}}]\n",
     "test.yaml:5:", "has not a `side:`"},
    {HEAD "events: [{at: 1 s, say: {robot: kid, topic: a b, message: {}}}]\n", "test.yaml:5:", "topic 'a b'"},
    {HEAD "events: [{at: 1 s, shoot: {to: kd, speed: 1}}]\n", "test.yaml:5:", "'kd'"},
    {HEAD "events: 7\n", "test.yaml:5:", "a list is needed"},
    {HEAD "measures: [falen]\n", "test.yaml:5:", "did you mean 'fallen'"},
    {HEAD "measures: [time_to]\n", "test.yaml:5:", "needs a condition"},
    {HEAD "measures: [{time_to: {measure: tilt}}]\n", "test.yaml:5:", "`above:`"},
    {HEAD "until: [{measure: ball_speed, of: kid, above: 1}]\n", "test.yaml:5:", "leave `of:` out"},
    {HEAD "expect: [{measure: time_to, is: 1}]\n", "test.yaml:5:", "cannot be in one"},
    {HEAD "expect: {}\n", "test.yaml:5:", "a list"},
    {"[]\n", "test.yaml:1:", "map"},
};

static void what_is_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct nm_err err = {0};
        struct nm_scenario *s = read_text_of(faults[i].text, &err);
        if (s) fail_msg("this was taken: %s", faults[i].text);
        if (!strstr(err.text, faults[i].line) || !strstr(err.text, faults[i].sentence))
            fail_msg("%sgave: %swithout '%s' or '%s'", faults[i].text, err.text, faults[i].line, faults[i].sentence);
    }
}

static void every_fault_of_a_file_is_told_at_once(void **state)
{
    (void)state;
    struct nm_err err = {0};
    assert_null(read_text_of(HEAD "seeds: x\nrandom: -3\nmeasures: [upwards]\n", &err));
    assert_int_equal(err.n, 3);
}

static void what_a_robot_lacks_is_told_before_it_begins(void **state)
{
    (void)state;
    static const struct {
        const char *event, *sentence;
    } rows[] = {
        {"fault: {robot: kid, what: servo dead, joint: left_kne}", "did you mean 'left_knee'"},
        {"set: {robot: kid, param: hold_pose.pse=sit}", "did you mean 'pose'"},
        {"set: {robot: kid, param: hold_pose.pose=lie}", "lie"},
        {"say: {robot: kid, topic: joint_stats, message: {}}", "did you mean 'joint_states'"},
        {"set: {robot: dummy, param: hold_pose.pose=sit}", "has no line-up"},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nm_err err = {0};
        char text[600];
        snprintf(text, sizeof text,
                 "field: kid\nduration: 1 s\nrobot: kid70\nrobots:\n  - {name: kid, lineup: stand, at: [1, 1]}\n"
                 "  - {name: dummy, at: [2, 2]}\nevents:\n  - {at: 0.5 s, %s}\n",
                 rows[i].event);
        struct nm_scenario *s = good(text);
        struct desk d = {0};
        nm_registry_init(&d.registry, &d.arena, __start_nm_modules, __stop_nm_modules);
        assert_null(nm_run_new(s, &(struct nm_run_options){.seed = 1, .registry = &d.registry}, &err));
        if (!strstr(err.text, rows[i].sentence) || !strstr(err.text, "test.yaml:8:"))
            fail_msg("%s: %s", rows[i].event, err.text);
        nm_arena_free(&d.arena);
        nm_scenario_free(s);
    }
}

/* ---- values ---- */

static void units_and_ranges(void **state)
{
    (void)state;
    struct nm_scenario *s =
        good("field: kid\nduration: 1500 ms\nseeds: 3-12\nrandom: true\nrobot: kid70\nrobots:\n"
             "  - {name: a, at: [1, [-0.5, 0.5], 90 deg]}\n  - {name: b, team: 2, at: [-1, 1, 1.5]}\n"
             "world: {turf: 0.02, command_delay: 12 ms, spread: {mass: 0.2}}\n"
             "events:\n  - {at: [1 s, 2 s], push: {robot: [a, b], impulse: [1, 3], direction: [-180 deg, 180 deg]}}\n"
             "  - {at: 1 s, fault: {robot: all, what: imu spikes}}\n");
    assert_near(s->duration, 1.5, 1e-12);
    assert_int_equal(s->first_seed, 3);
    assert_int_equal(s->last_seed, 12);
    assert_near(s->world.random, 1, 0);
    assert_near(s->world.turf, 0.02, 0);
    assert_int_equal(s->world.command_delay, 12000000);
    assert_near(s->world.spread.mass, 0.2, 0);
    assert_near(s->robots[0].at.theta.low, M_PI / 2, 1e-12);
    assert_near(s->robots[0].at.y.high, 0.5, 0);
    assert_int_equal(s->robots[1].team, 1);
    assert_int_equal(s->robots[1].number, 1); /* the first of its team */
    assert_int_equal(s->events[0].robots, 3);
    assert_near(s->events[0].direction.low, -M_PI, 1e-12);
    assert_near(s->events[0].duration, 0.02, 0);
    assert_true(isinf(s->events[1].duration));
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    double low = 9, high = 0;
    for (int i = 0; i < 1000; i++) {
        double x = draw(&dice, s->events[0].size);
        low = fmin(low, x), high = fmax(high, x);
    }
    assert_true(low >= 1 && low < 1.05 && high <= 3 && high > 2.95);
    nm_scenario_free(s);
}

static void seeds_as_text(void **state)
{
    (void)state;
    uint64_t a, b;
    assert_int_equal(nm_seeds_parse("7", &a, &b), 0);
    assert_true(a == 7 && b == 7);
    assert_int_equal(nm_seeds_parse("1-20", &a, &b), 0);
    assert_true(a == 1 && b == 20);
    static const char *const bad[] = {"", "-", "a", "3-", "-3", "5-4", "1-2-3", "1 - 2", "1-1000000", "0x3"};
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!nm_seeds_parse(bad[i], &a, &b)) fail_msg("'%s' was taken", bad[i]);
}

/* ---- what happens ---- */

static void a_push_fells_whom_it_meets(void **state)
{
    (void)state;
    struct nm_scenario *s = good(
        "field: kid\nduration: 6 s\nrobot: kid70\nrobots:\n  - {name: hit, at: [1, 1]}\n  - {name: free, at: [1, -1]}\n"
        "events:\n  - {at: 1 s, push: {robot: hit, impulse: 8, direction: 90 deg, point: [0, 0, 0.1]}}\n"
        "measures: [fallen, falls, upright, tilt_max, time, {time_to: {measure: fallen, is: true}, name: down}]\n"
        "until: [{measure: fallen, of: any, is: true, after: 2 s}]\n"
        "expect: [{measure: fallen, of: hit, is: true}, {measure: fallen, of: free, is: false}]\n");
    struct nm_result r = play(s, 1);
    assert_true(r.passed);
    assert_string_equal(r.ended, "a robot's fallen is true");
    assert_near(nm_seconds(r.time), 2, 0.5);
    assert_near(r.values[0][0], 1, 0);
    assert_near(r.values[0][1], 0, 0);
    assert_near(r.values[1][0], 1, 0);
    assert_near(r.values[2][1], 1, 0);
    assert_true(r.values[3][0] > 1 && r.values[3][1] < 0.2);
    assert_true(r.values[5][0] > 1.1 && r.values[5][0] < 2);
    assert_true(isnan(r.values[5][1]));
    assert_int_equal(r.n_incidents, 0);
    nm_scenario_free(s);
}

static void an_incident_is_told_and_the_match_goes_on(void **state)
{
    (void)state;
    struct nm_scenario *s = good(HEAD "events: [{at: 0.3 s, push: {robot: kid, impulse: 900}}]\n"
                                      "measures: [incidents, height]\n");
    struct nm_result r = play(s, 1);
    assert_true(r.n_incidents >= 1);
    assert_non_null(strstr(r.incidents[0].text, "put back"));
    assert_near(nm_seconds(r.incidents[0].time), 0.31, 0.02);
    assert_near(r.values[0][0], (double)r.n_incidents, 0);
    assert_near(nm_seconds(r.time), 1, 1e-9);
    assert_true(r.values[1][0] > 0.2); /* it stands again */
    nm_scenario_free(s);
}

static void a_bus_must_be_there_to_be_used(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_scenario *s = good(HEAD "hardware: bus\n");
    assert_null(nm_run_new(s, &(struct nm_run_options){.seed = 1}, &err));
    assert_non_null(strstr(err.text, "no servo bus"));
    nm_scenario_free(s);
}

static void what_was_expected_and_did_not_come(void **state)
{
    (void)state;
    struct nm_scenario *s = good(HEAD "expect: [{measure: distance, of: kid, above: 2}]\n");
    struct nm_result r = play(s, 1);
    assert_false(r.passed);
    assert_string_equal(r.failed, "kid's distance above 2 m");
    assert_string_equal(r.ended, "time is up");
    nm_scenario_free(s);
}

static void a_kidnapped_robot_does_not_count_the_way(void **state)
{
    (void)state;
    struct nm_scenario *s = good(HEAD "events:\n  - {at: 0.3 s, place: {robot: kid, at: [-2, 0, 180 deg]}}\n"
                                      "  - {at: 0.6 s, place: {robot: kid, at: [-2, 0], lying: front}}\n"
                                      "measures: [path, distance, fallen, turned]\n");
    struct nm_result r = play(s, 1);
    assert_true(r.values[0][0] < 0.3);
    assert_near(r.values[1][0], hypot(3, 1), 0.2);
    assert_near(r.values[2][0], 1, 0);
    nm_scenario_free(s);
}

static void a_ball_is_shot_and_scores(void **state)
{
    (void)state;
    struct nm_scenario *s = good("field: kid\nduration: 5 s\nrobots: []\nball: {at: [2, 0.5]}\n"
                                 "events: [{at: 0.5 s, shoot: {to: [4.6, 0], speed: 4}}]\n"
                                 "measures: [ball_speed_max, ball_distance, ball_x, ball_y, scored, ball_speed]\n"
                                 "until: [{measure: scored, above: 0}]\nexpect: [{measure: scored, is: 1}]\n");
    struct nm_result r = play(s, 1);
    assert_true(r.passed);
    assert_near(r.values[0][0], 4, 0.1);
    assert_true(r.values[1][0] > 2.5);
    assert_true(r.time < nm_ns(3));
    nm_scenario_free(s);
}

static void a_shot_is_aimed_at_a_robot(void **state)
{
    (void)state;
    struct nm_scenario *s =
        good("field: kid\nduration: 3 s\nrobot: kid70\nrobots: [{name: kid, at: [-1, -1]}]\n"
             "ball: {at: [1, 1]}\nevents: [{at: 0.2 s, shoot: {from: [0.5, 0], to: kid, speed: 2}}]\n"
             "measures: [ball_near, {time_to: {measure: ball_near, below: 0.3}}]\n");
    struct nm_result r = play(s, 1);
    assert_true(r.values[1][0] > 0.8 && r.values[1][0] < 2);
    nm_scenario_free(s);
}

static void things_happen_again_and_again(void **state)
{
    (void)state;
    struct nm_scenario *s =
        good("field: kid\nduration: 1 s\nrobots: []\nball: {at: [2, 0.5]}\n"
             "events: [{at: 0.1 s, every: 0.2 s, times: 3, ball: {at: [[-1, 1], 0], velocity: [0, 1]}}]\n");
    struct desk d;
    struct nm_run *run = begin(&d, s, 4);
    double places[4] = {0};
    uint32_t seen = 0;
    while (nm_run_step(run) > 0)
        if (run->done[0] > seen) places[seen++] = nm_stage_ball(run->stage, NULL).x;
    assert_int_equal(seen, 3);
    assert_true(places[0] != places[1] && places[1] != places[2]);
    nm_run_free(run);
    nm_arena_free(&d.arena);
    nm_scenario_free(s);
}

static void parameters_and_words_reach_the_brain(void **state)
{
    (void)state;
    struct nm_scenario *s = good("field: kid\nduration: 4 s\nrobot: kid70\nlineup: stand\nrobots: [{name: kid, at: [1, "
                                 "1], set: [hold_pose.duration=0.5]}]\n"
                                 "events:\n  - {at: 1 s, set: {robot: kid, param: hold_pose.pose=sit}}\n"
                                 "measures: [height, tilt, goals]\n");
    struct nm_result r = play(s, 1);
    assert_true(r.values[0][0] < 0.22);
    assert_true(r.values[1][0] < 0.3);
    assert_true(r.values[2][0] > 400);
    assert_int_equal(r.n_faults, 0);
    nm_scenario_free(s);
}

static void a_flat_match_scores_and_repeats(void **state)
{
    (void)state;
    struct nm_scenario *s =
        good("field: kid\nfidelity: flat\nduration: 20 s\nrobot: kid70\nlineup: chase\n"
             "ball: {at: [[-1, 1], 0]}\nrobots: [{name: a, at: [-2, 0]}, {name: b, team: 2, at: [2, 1, 180 deg]}]\n"
             "measures: [path, ball_distance, falls]\n");
    struct nm_result one = play(s, 5), again = play(s, 5), other = play(s, 6);
    assert_true(one.values[0][0] > 0.3);
    assert_true(one.values[1][0] > 0.1);
    assert_memory_equal(&one, &again, sizeof one);
    assert_true(memcmp(one.values, other.values, sizeof one.values) != 0);
    nm_scenario_free(s);
}

static void the_same_seed_gives_the_same_bits(void **state)
{
    (void)state;
    struct nm_scenario *s =
        good("field: kid\nduration: 2 s\nrandom: 1\nrobot: kid70\nlineup: stand\n"
             "robots: [{name: kid, at: [[1, 1.2], 1, [-20 deg, 20 deg]]}]\n"
             "events: [{at: [0.5 s, 1 s], push: {robot: kid, impulse: [1, 2], direction: [-180 deg, 180 deg]}}]\n"
             "measures: [tilt, tilt_max, distance, path, turned, height]\n");
    struct nm_result one = play(s, 2), again = play(s, 2), other = play(s, 3);
    assert_memory_equal(&one, &again, sizeof one);
    assert_true(memcmp(one.values, other.values, sizeof one.values) != 0);
    nm_scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scenarios_that_come_along_are_good),
        cmocka_unit_test(what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(every_fault_of_a_file_is_told_at_once),
        cmocka_unit_test(what_a_robot_lacks_is_told_before_it_begins),
        cmocka_unit_test(units_and_ranges),
        cmocka_unit_test(seeds_as_text),
        cmocka_unit_test(a_push_fells_whom_it_meets),
        cmocka_unit_test(an_incident_is_told_and_the_match_goes_on),
        cmocka_unit_test(a_bus_must_be_there_to_be_used),
        cmocka_unit_test(what_was_expected_and_did_not_come),
        cmocka_unit_test(a_kidnapped_robot_does_not_count_the_way),
        cmocka_unit_test(a_ball_is_shot_and_scores),
        cmocka_unit_test(a_shot_is_aimed_at_a_robot),
        cmocka_unit_test(things_happen_again_and_again),
        cmocka_unit_test(parameters_and_words_reach_the_brain),
        cmocka_unit_test(a_flat_match_scores_and_repeats),
        cmocka_unit_test(the_same_seed_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
