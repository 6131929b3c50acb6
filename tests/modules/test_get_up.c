/* labels: slow
 * The whole of lineups/motion.yaml on simulated robots that lie on front, back and side, and keepers who dive: they get
 * up, with play in the gears, delays, noise, random bodies, and parts that hit each other. Margins are wide; `nutmeg
 * sim get_up` and `nutmeg sim motion/dive_and_up` tell the figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/scenario.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static void passes(const char *path)
{
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    struct nm_result result;
    nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
    struct nm_scenario *scenario = nm_scenario_read(path, NM_ROOT, &err);
    if (!scenario) fail_msg("%s", err.text);
    struct nm_run *run = nm_run_new(scenario, &(struct nm_run_options){.seed = 1, .registry = &registry}, &err);
    if (!run) fail_msg("%s", err.text);
    while (nm_run_step(run) > 0) {}
    nm_run_result(run, &result);
    if (!result.passed) fail_msg("%s", result.failed);
    nm_run_free(run);
    nm_scenario_free(scenario);
    nm_arena_free(&arena);
}

static void everybody_gets_up(void **state)
{
    (void)state;
    passes(NM_ROOT "/scenarios/get_up.yaml");
}

static void a_keeper_stands_5_s_after_a_dive(void **state)
{
    (void)state;
    passes(NM_ROOT "/scenarios/motion/dive_and_up.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everybody_gets_up),
                                       cmocka_unit_test(a_keeper_stands_5_s_after_a_dive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
