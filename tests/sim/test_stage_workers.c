/* labels: threads
 * The number of workers changes not one bit of what robots see and do. */
#include "theatre.h"

static uint64_t fingerprint(struct theatre *t, uint32_t workers, enum nm_fidelity fidelity)
{
    open_theatre(t);
    t->options.workers = workers;
    t->options.fidelity = fidelity;
    t->options.world.random = 1;
    bool flat = fidelity == NM_FIDELITY_FLAT;
    const char *file = lineup(t, flat ? "flat_player" : "witness, viewer, arm_lifter");
    const char *says[] = {"orders"};
    struct nm_stage_robot robots[SLOTS];
    for (int i = 0; i < SLOTS; i++) {
        const char **set = nm_take_n(&t->arena, const char *, 3);
        set[0] = nm_take_format(&t->arena, "%s.slot=%d", flat ? "flat_player" : "witness", i);
        set[1] = nm_take_format(&t->arena, "viewer.slot=%d", i);
        set[2] = nm_take_format(&t->arena, "arm_lifter.slot=%d", i);
        robots[i] = robot(nm_take_format(&t->arena, "r%d", i), i % 2 ? DARWIN : KID, file, -1.5 + 0.8 * i, 0.4);
        robots[i].set = set, robots[i].n_set = flat ? 1 : 3, robots[i].says = says, robots[i].n_says = flat;
    }
    struct nm_stage *stage = play(t, robots, SLOTS);
    nm_stage_push(stage, 0, (struct vec3){3, 1, 0}, (struct vec3){0, 0, 0.1}, 20000000);
    run(stage, flat ? 2 : 0.5); /* pictures take long */
    struct notes all = {0};
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct nm_whereabouts w;
        nm_stage_whereabouts(stage, i, &w);
        add_hash(&all, &w.base_to_field, sizeof w.base_to_field);
        add_hash(&all, &w.velocity, sizeof w.velocity);
        add_hash(&all, &notes[i].hash, sizeof notes[i].hash);
        assert_true(notes[i].hash != 0);
        if (!flat) assert_true(notes[i].pictures_n > 8);
    }
    close_theatre(t, stage);
    return all.hash;
}

static void workers_change_not_one_bit(void **state)
{
    (void)state;
    struct theatre t;
    uint64_t one = fingerprint(&t, 1, NM_FIDELITY_CAMERA), two = fingerprint(&t, 2, NM_FIDELITY_CAMERA);
    assert_true(one == two);
    assert_true(fingerprint(&t, 1, NM_FIDELITY_FLAT) == fingerprint(&t, 3, NM_FIDELITY_FLAT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_change_not_one_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
