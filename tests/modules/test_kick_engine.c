/* labels: slow
 * The kick in the simulated world, with the whole of lineups/motion.yaml, play in the gears, delays, noise, random
 * bodies and parts that hit each other: the ball flies, the robot stays upright, also where no ball lies. Margins are
 * wide; the benchmark tells the figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sim/scenario.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

/* One robot kicks a ball that it is told to lie at (x, y); it does lie there, or far away. */
static void kick(const char *robot, double x, double y, double direction, bool there, uint64_t seed, double speed)
{
    char text[1024];
    snprintf(text, sizeof text,
             "about: one kick\n"
             "field: kid\n"
             "random: 1\n"
             "world: {self_collision: all, sensor_delay: 8 ms}\n"
             "duration: 7.5 s\n"
             "lineup: motion\n"
             "robots: [{name: it, robot: %s, at: [0, 0, 0]}]\n"
             "ball: {at: [3, 2]}\n"
             "events:\n"
             "  - {at: 2.3 s, ball: {at: [%g, %g]}}\n"
             "  - at: 2.5 s\n"
             "    say: {robot: it, topic: kick/_action/send_goal/request,\n"
             "          message: {goal: {ball_pos: {x: %g, y: %g}, target: {x: %g, y: %g}}}}\n"
             "measures: [fallen, ball_speed_max, tilt_max]\n"
             "expect:\n"
             "  - {measure: fallen, is: false}\n"
             "  - {measure: tilt_max, above: 0.1}\n" /* it did not only stand there */
             "  - {measure: ball_speed_max, above: %g}\n",
             robot, there ? x : 3, y, x, y, x + 5 * cos(direction), y + 5 * sin(direction), there ? speed : -1);
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    struct nm_result result;
    nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
    struct nm_scenario *scenario = nm_scenario_parse("kick.yaml", text, strlen(text), NM_ROOT, &err);
    if (!scenario) fail_msg("%s", err.text);
    struct nm_run *run = nm_run_new(scenario, &(struct nm_run_options){.seed = seed, .registry = &registry}, &err);
    if (!run) fail_msg("%s", err.text);
    while (nm_run_step(run) > 0) {}
    nm_run_result(run, &result);
    if (!result.passed) fail_msg("%s, seed %llu: %s", robot, (unsigned long long)seed, result.failed);
    nm_run_free(run);
    nm_scenario_free(scenario);
    nm_arena_free(&arena);
}

static void kid70_kicks_with_either_foot_and_aside(void **state)
{
    (void)state;
    kick("kid70", 0.2, 0.05, 0, true, 31, 1.8);
    kick("kid70", 0.2, -0.05, 0.25, true, 32, 1.5);
}

static void kid70_passes_to_the_side(void **state)
{
    (void)state;
    kick("kid70", 0.2, 0.05, 1.4, true, 35, 0.7);
    kick("kid70", 0.2, -0.05, -1.1, true, 36, 0.7);
}

static void darwin_kicks_without_code_of_its_own(void **state)
{
    (void)state;
    kick("darwin", 0.165, 0.03, 0, true, 33, 0.9);
    kick("darwin", 0.165, -0.03, 0, true, 34, 0.9);
}

static void it_stays_upright_where_no_ball_lies(void **state)
{
    (void)state;
    kick("kid70", 0.2, -0.05, 0, false, 35, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kid70_kicks_with_either_foot_and_aside),
        cmocka_unit_test(kid70_passes_to_the_side),
        cmocka_unit_test(darwin_kicks_without_code_of_its_own),
        cmocka_unit_test(it_stays_upright_where_no_ball_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
