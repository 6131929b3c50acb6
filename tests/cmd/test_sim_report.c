/* What came out of a scenario, for people and for programs: every robot has its row, several seeds a summary, and a
 * seed that crashed or an incident is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/sim_play.h"

static const char text[] = "field: kid\nduration: 1 s\nrobot: kid70\n"
                           "robots: [{name: red1, at: [1, 1]}, {name: blue1, team: 2, at: [-1, 1]}]\n"
                           "measures: [fallen, distance, scored, {time_to: {measure: tilt, above: 1}, name: tilted}]\n";

static struct nm_scenario *scenario(void)
{
    struct nm_err err = {0};
    struct nm_scenario *s = nm_scenario_parse("test.yaml", text, sizeof text - 1, NM_ROOT, &err);
    if (!s) fail_msg("%s", err.text);
    return s;
}

static struct sim_outcome outcome(uint64_t seed)
{
    struct sim_outcome o = {.done = true, .wall = 0.5, .result = {.seed = seed, .time = 2000000000, .passed = true}};
    snprintf(o.result.ended, sizeof o.result.ended, "time is up");
    o.result.values[0][1] = seed == 1;
    o.result.values[1][0] = 1.25;
    o.result.values[2][0] = 1;
    o.result.values[3][0] = NAN;
    o.result.values[3][1] = 0.5 * (double)seed;
    return o;
}

static char *printed(const struct nm_scenario *s, const struct sim_outcome *o, uint32_t n, bool json)
{
    char *to = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&to, &size);
    if (json)
        sim_json(s, o, file);
    else
        sim_table(s, o, n, 1, file);
    fclose(file);
    return to;
}

static void has(const char *all, const char *part)
{
    if (!strstr(all, part)) fail_msg("'%s' is not in:\n%s", part, all);
}

static void a_table_with_rows_and_summary(void **state)
{
    (void)state;
    struct nm_scenario *s = scenario();
    struct sim_outcome o[3] = {outcome(1), outcome(2), outcome(3)};
    o[1].result.n_incidents = 9;
    o[1].result.incidents[0].time = 1500000000;
    snprintf(o[1].result.incidents[0].text, sizeof o[1].result.incidents[0].text, "robot 0 was put back");
    o[2].done = false;
    snprintf(o[2].died, sizeof o[2].died, "its process was ended by signal 11");
    char *all = printed(s, o, 3, false);
    has(all, "blue1");
    has(all, "1.250");
    has(all, "1 of 2"); /* fell in one of the two that were played */
    has(all, "0.750");  /* mean of what was reached */
    has(all, "seed 2, 1.500 s: robot 0 was put back");
    has(all, "seed 2: 1 more incidents");
    has(all, "seed 3: its process was ended by signal 11");
    free(all);
    nm_scenario_free(s);
}

static void a_line_of_json(void **state)
{
    (void)state;
    struct nm_scenario *s = scenario();
    struct sim_outcome o = outcome(1);
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    o.result.passed = false;
    snprintf(o.result.failed, sizeof o.result.failed, "red1's distance above 2 m");
    char *all = printed(s, &o, 1, true);
    const struct nm_yaml *json = nm_yaml_parse(&arena, "json", all, strlen(all), &err);
    if (!json) fail_msg("%s", err.text);
    assert_string_equal(nm_yaml_get(json, "seed")->text, "1");
    assert_string_equal(nm_yaml_get(json, "passed")->text, "false");
    assert_string_equal(nm_yaml_get(json, "failed")->text, "red1's distance above 2 m");
    const struct nm_yaml *robots = nm_yaml_get(json, "robots");
    assert_string_equal(nm_yaml_get(nm_yaml_get(robots, "blue1"), "fallen")->text, "true");
    assert_string_equal(nm_yaml_get(nm_yaml_get(robots, "red1"), "distance")->text, "1.25");
    assert_string_equal(nm_yaml_get(nm_yaml_get(robots, "red1"), "tilted")->text, "null");
    assert_string_equal(nm_yaml_get(nm_yaml_get(json, "world"), "scored")->text, "1");
    free(all);
    o.done = false;
    all = printed(s, &o, 1, true);
    has(all, "\"died\"");
    free(all);
    nm_arena_free(&arena);
    nm_scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_with_rows_and_summary),
        cmocka_unit_test(a_line_of_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
