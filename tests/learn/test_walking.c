/* The task: robots start upright, a fall is seen and paid for, standing still is better than falling or fidgeting where
 * nothing is asked, and the same seed is the same world. */
#include "learn/rig.h"

static void begin(struct nm_walking *w, const struct rig *rig, uint64_t seed)
{
    struct nm_err err = {0};
    if (nm_walking_new(w, &rig->gait, &rig->pitch, seed, &err)) fail_msg("%s", err.text);
    nm_walking_reset(w);
}

/* Some periods with one action; the sum of the rewards. */
static double hold(struct nm_walking *w, const float *act, int periods, bool *fell)
{
    struct nm_walked walked;
    float obs[NM_GAIT_OBS], extra[NM_WALKING_EXTRA];
    double sum = 0;
    *fell = false;
    for (int i = 0; i < periods && !*fell; i++) {
        nm_walking_observe(w, obs, extra);
        for (int k = 0; k < NM_GAIT_OBS; k++) assert_true(fabsf(obs[k]) < 30);
        for (int k = 0; k < NM_WALKING_EXTRA; k++) assert_true(fabsf(extra[k]) <= 20);
        nm_walking_step(w, act, &walked);
        sum += (double)walked.reward;
        *fell = walked.fell;
    }
    return sum;
}

static void the_stance_stands_in_many_bodies(void **state)
{
    (void)state;
    static const char *const robots[] = {"kid70", "darwin"};
    for (int r = 0; r < 2; r++) {
        struct rig rig;
        rig_begin(&rig, robots[r]);
        for (uint64_t seed = 1; seed <= 6; seed++) {
            struct nm_walking w;
            const float still[NM_GAIT_ACTS] = {0};
            bool fell;
            begin(&w, &rig, seed);
            double sum = hold(&w, still, 100, &fell);
            assert_false(fell);
            assert_true(sum / 100 > 0.08 && fabs(w.speed[0]) + fabs(w.speed[1]) < 0.05);
            assert_true(w.force[0] + w.force[1] > 0.7 * rig.body->mass * 9.81);
            nm_walking_free(&w);
        }
        rig_end(&rig);
    }
}

static void a_fall_ends_it_and_costs(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_walking w;
    float lean[NM_GAIT_ACTS] = {0};
    const float still[NM_GAIT_ACTS] = {0};
    bool fell, again;
    rig_begin(&rig, "kid70");
    begin(&w, &rig, 3);
    lean[2] = lean[8] = -4; /* both hips bend far forward */
    double sum = hold(&w, lean, 200, &fell);
    assert_true(fell && sum < -0.5);
    nm_walking_reset(&w);
    hold(&w, still, 60, &again);
    assert_false(again);
    nm_walking_free(&w);
    rig_end(&rig);
}

/* Trembling costs where nothing is asked. */
static void who_stands_still_gets_more(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_walking calm, nervous;
    const float still[NM_GAIT_ACTS] = {0};
    float shake[NM_GAIT_ACTS] = {0};
    double less = 0, more = 0;
    bool fell;
    rig_begin(&rig, "kid70");
    begin(&calm, &rig, 5), begin(&nervous, &rig, 5);
    for (int i = 0; i < 60; i++) {
        for (int k = 0; k < 12; k++) shake[k] = (i + k) % 2 ? 0.2f : -0.2f;
        more += hold(&calm, still, 1, &fell);
        less += hold(&nervous, shake, 1, &fell);
    }
    assert_true(more > less + 1);
    nm_walking_free(&calm), nm_walking_free(&nervous);
    rig_end(&rig);
}

static void same_seed_same_bits(void **state)
{
    (void)state;
    struct rig rig;
    rig_begin(&rig, "kid70");
    float obs[3][NM_GAIT_OBS], extra[3][NM_WALKING_EXTRA];
    struct nm_walk_limits limits = {.most = {0.3, 0.2, 0.2, 1}, .push = 0.5, .strict = 1};
    for (int i = 0; i < 3; i++) {
        struct nm_walking w;
        struct nm_err err = {0};
        struct nm_walked walked;
        if (nm_walking_new(&w, &rig.gait, &rig.pitch, i == 2 ? 8 : 7, &err)) fail_msg("%s", err.text);
        w.limits = &limits;
        nm_walking_reset(&w);
        for (int k = 0; k < 80; k++) {
            float act[NM_GAIT_ACTS];
            for (int j = 0; j < NM_GAIT_ACTS; j++) act[j] = 0.3f * (float)nm_dice_gauss(&w.dice);
            nm_walking_observe(&w, obs[i], extra[i]);
            nm_walking_step(&w, act, &walked);
            if (walked.fell) nm_walking_reset(&w);
        }
        nm_walking_free(&w);
    }
    assert_memory_equal(obs[0], obs[1], sizeof obs[0]);
    assert_memory_equal(extra[0], extra[1], sizeof extra[0]);
    assert_memory_not_equal(obs[0], obs[2], sizeof obs[0]);
    rig_end(&rig);
}

/* No command jumps: it goes to its target within what nm_gait_follow allows, and gets there. */
static void commands_do_not_jump(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_walking w;
    const float still[NM_GAIT_ACTS] = {0};
    bool fell;
    rig_begin(&rig, "kid70");
    begin(&w, &rig, 3);
    assert_true(w.command[0] == 0);
    w.target[0] = 0.6 * rig.gait.pace;
    hold(&w, still, 10, &fell);
    assert_true(w.command[0] > 0.1 && w.command[0] < 0.5 * w.target[0]);
    hold(&w, still, 40, &fell);
    assert_true(w.command[0] == w.target[0]);
    w.target[0] = 0; /* twice as fast */
    hold(&w, still, 10, &fell);
    assert_true(w.command[0] > 0.2 * rig.gait.pace && w.command[0] < 0.4 * rig.gait.pace);
    hold(&w, still, 10, &fell);
    assert_true(w.command[0] == 0);
    nm_walking_free(&w);
    rig_end(&rig);
}

/* In training a new life is now and then that of another body, on ground whose slope changes; who steps on the spot
 * keeps its clock and is pushed within two seconds. */
static void lives_differ(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_walking w;
    struct nm_err err = {0};
    struct nm_walked walked;
    struct nm_walk_limits limits = {.most = {0.3, 0.2, 0.2, 1}, .push = 0.5, .strict = 1};
    const float still[NM_GAIT_ACTS] = {0};
    int bodies = 0, on_the_spot = 0;
    rig_begin(&rig, "kid70");
    if (nm_walking_new(&w, &rig.gait, &rig.pitch, 11, &err)) fail_msg("%s", err.text);
    w.limits = &limits;
    for (int life = 0; life < 80; life++) {
        double mass = w.mass;
        nm_walking_reset(&w);
        bodies += w.mass != mass;
        bool spot = hypot(w.target[0], w.target[1]) < 1e-3 && w.target[0] != 0;
        on_the_spot += spot;
        if (spot) assert_true(w.blow.at - nm_world_now(w.world) <= 2000000000);
        double slope = w.slope[0];
        nm_walking_step(&w, still, &walked);
        assert_true(w.slope[0] != slope && fabs(w.slope[0] - slope) < 1e-3);
        nm_walking_step(&w, still, &walked);
        if (spot) assert_false(w.state.stands);
    }
    assert_in_range(bodies, 1, 40);
    assert_in_range(on_the_spot, 1, 40);
    nm_walking_free(&w);
    rig_end(&rig);
}

/* Who learns to walk slowly steps on the spot about half of the time, and is seldom asked for more than slow speeds. */
static void slow_walking_is_slow(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_walking w;
    struct nm_err err = {0};
    struct nm_walk_limits limits = {.most = {1.5, 0.9, 0.8, 4.5}, .push = 0.5, .strict = 1};
    int slow = 0, on_the_spot = 0;
    enum { LIVES = 100 };
    rig_begin(&rig, "kid70");
    if (nm_walking_new(&w, &rig.gait, &rig.pitch, 12, &err)) fail_msg("%s", err.text);
    w.limits = &limits;
    w.slow = true;
    for (int life = 0; life < LIVES; life++) {
        nm_walking_reset(&w);
        const double *to = w.target, backs = to[0] < 0 ? limits.most[1] : limits.most[0];
        bool spot = hypot(to[0], to[1]) < 1e-3 && to[0] != 0;
        on_the_spot += spot;
        slow +=
            fabs(to[0]) <= 0.3 * backs && fabs(to[1]) <= 0.3 * limits.most[2] && fabs(to[2]) <= 0.3 * limits.most[3];
    }
    assert_in_range(on_the_spot, LIVES / 4, 3 * LIVES / 4);
    assert_in_range(slow, 3 * LIVES / 4, LIVES);
    nm_walking_free(&w);
    rig_end(&rig);
}

/* Pushes come most often from where robots fall, and everywhere else too. */
static void weak_sides_are_pushed_more_often(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_walking w;
    struct nm_err err = {0};
    struct nm_walk_limits limits = {.most = {0.3, 0.2, 0.2, 1}, .push = 0.5, .strict = 1, .tips = {[5] = 1}};
    int sides[NM_WALKING_SIDES] = {0}, left = 0;
    enum { LIVES = 600 };
    rig_begin(&rig, "kid70");
    if (nm_walking_new(&w, &rig.gait, &rig.pitch, 13, &err)) fail_msg("%s", err.text);
    w.limits = &limits;
    for (int life = 0; life < LIVES; life++) {
        nm_walking_reset(&w);
        assert_true(fabs(w.blow.direction) <= M_PI && w.struck == -1);
        sides[(int)(fabs(w.blow.direction) / (M_PI / 6 + 1e-9))]++;
        left += w.blow.direction > 0;
    }
    for (int k = 0; k < 5; k++) assert_in_range(sides[k], LIVES / 50, LIVES / 8); /* a sixteenth is expected */
    assert_in_range(sides[5], LIVES / 2, LIVES);
    assert_in_range(left, 2 * LIVES / 5, 3 * LIVES / 5);
    nm_walking_free(&w);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stance_stands_in_many_bodies),
        cmocka_unit_test(a_fall_ends_it_and_costs),
        cmocka_unit_test(who_stands_still_gets_more),
        cmocka_unit_test(same_seed_same_bits),
        cmocka_unit_test(commands_do_not_jump),
        cmocka_unit_test(lives_differ),
        cmocka_unit_test(slow_walking_is_slow),
        cmocka_unit_test(weak_sides_are_pushed_more_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
