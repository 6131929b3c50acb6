/* labels: slow
 * The whole of lineups/motion.yaml on simulated robots that are pushed over: with the protecting pose trunk and gears
 * are hit less than without. Margins are wide; docs/motion.md has the figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/stage.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

struct hit {
    double impact, torque; /* m/s2 of the trunk, Nm in any gear: the largest */
};

/* Stands for 1.5 s, is pushed to its left for 0.1 s, and is watched until it lies. */
static struct hit fall(struct nm_registry *registry, const struct nm_pitch *pitch, uint64_t seed, const char *setting)
{
    const char *const set[] = {setting, "hcm.get_up=false"};
    const struct nm_stage_robot row = {.name = "kid",
                                       .folder = NM_ROOT "/robots/kid70",
                                       .lineup = NM_ROOT "/lineups/motion.yaml",
                                       .start = {-2, 0, 0},
                                       .n_set = 2,
                                       .set = set};
    struct nm_stage_options options = NM_STAGE_OPTIONS;
    struct nm_err err = {0};
    struct hit hit = {0, 0};
    struct vec3 before = {0, 0, 0};
    options.root = NM_ROOT;
    options.registry = registry;
    options.pitch = pitch;
    options.fidelity = NM_FIDELITY_PERCEPT;
    options.world.seed = seed;
    options.world.random = 1;
    options.world.self = NM_SELF_ALL;
    struct nm_stage *stage = nm_stage_new(&row, 1, &options, &err);
    if (!stage) fail_msg("%s", err.text);
    double t = 0, dt = nm_seconds(nm_stage_tick(stage));
    for (bool pushed = false; t < 3.5; t = nm_seconds(nm_stage_now(stage))) {
        if (t >= 1.5 && !pushed) nm_stage_push(stage, 0, (struct vec3){0, 6, 0}, (struct vec3){0, 0, 0.1}, 100000000);
        pushed |= t >= 1.5;
        nm_stage_step(stage);
        struct nm_truth truth;
        nm_world_truth(nm_stage_world(stage), 0, &truth);
        struct vec3 change = vec3_sub(truth.velocity, before);
        before = truth.velocity;
        if (t < 1.65) continue;
        hit.impact = fmax(hit.impact, vec3_norm(change) / dt);
        for (uint32_t j = 0; j < nm_stage_body(stage, 0)->n_joints; j++)
            hit.torque = fmax(hit.torque, fabs(truth.torque[j]));
    }
    struct nm_whereabouts where;
    nm_stage_whereabouts(stage, 0, &where);
    assert_true(where.fallen);
    nm_stage_free(stage);
    return hit;
}

static void trunk_and_gears_are_hit_less_with_protection(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_err err = {0};
    struct hit with = {0, 0}, without = {0, 0};
    nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
    if (nm_pitch_read(&pitch, NM_ROOT "/fields/kid.yaml", &err)) fail_msg("%s", err.text);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct hit a = fall(&registry, &pitch, seed, "hcm.protect=true"),
                   b = fall(&registry, &pitch, seed, "hcm.protect=false");
        with.impact += a.impact, with.torque += a.torque;
        without.impact += b.impact, without.torque += b.torque;
    }
    assert_true(with.impact < 0.8 * without.impact);
    assert_true(with.torque < 0.9 * without.torque);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(trunk_and_gears_are_hit_less_with_protection)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
