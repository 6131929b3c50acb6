/* A policy of two networks: each has the share of the answer that the second input says. A trainer that learns one of
 * them keeps the other, also in its checkpoint. A correction of the last layer counts at full speed ahead only; who
 * learns to walk slowly keeps it. */
#include "learn/rig.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/random.h"
#include "learn/policy.h"
#include "nn/onnx.h"

static const struct nm_walk_limits LIMITS = {.most = {1.6, 0.9, 0.8, 4.8}};

struct three { /* policies of one network each, and of both */
    struct nm_net *fast, *slow, *both;
};

static struct nm_net *make(const struct rig *rig, const struct nm_mlp *actor, const float *weights, const float *slow)
{
    struct nm_err err = {0};
    struct nm_net *net = nm_policy_net(&rig->gait, &LIMITS, actor, weights, slow, NULL, &err);
    if (!net) fail_msg("%s", err.text);
    return net;
}

static void make_three(struct rig *rig, struct three *to)
{
    const uint32_t widths[] = {NM_GAIT_OBS, 8, 8, NM_GAIT_ACTS};
    struct nm_dice dice = nm_dice_new(5, 6, 7);
    struct nm_mlp actor;
    nm_mlp_new(&actor, &rig->arena, widths, 3);
    float *weights[2];
    for (int k = 0; k < 2; k++) {
        weights[k] = nm_take_n(&rig->arena, float, actor.n);
        for (size_t i = 0; i < actor.n; i++) weights[k][i] = (float)(0.3 * nm_dice_both(&dice));
    }
    to->fast = make(rig, &actor, weights[0], NULL);
    to->slow = make(rig, &actor, weights[1], NULL);
    to->both = make(rig, &actor, weights[0], weights[1]);
}

static const float *ask(struct nm_net *net, const float *obs, float slow)
{
    memcpy(nm_net_input(net, 0), obs, NM_GAIT_OBS * sizeof *obs);
    if (net->n_inputs > 1) *nm_net_input(net, 1) = slow;
    nm_net_run(net);
    return nm_net_output(net, 0);
}

static void each_network_has_its_share(void **state)
{
    (void)state;
    struct rig rig;
    struct three n;
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    rig_begin(&rig, "kid70");
    make_three(&rig, &n);
    assert_int_equal(n.fast->n_inputs, 1);
    assert_int_equal(n.both->n_inputs, 2);
    for (int round = 0; round < 20; round++) {
        float obs[NM_GAIT_OBS], share = (float)round / 19, differs = 0;
        for (int i = 0; i < NM_GAIT_OBS; i++) obs[i] = (float)nm_dice_both(&dice);
        const float *fast = ask(n.fast, obs, 0), *slow = ask(n.slow, obs, 0), *both = ask(n.both, obs, share);
        for (int k = 0; k < NM_GAIT_ACTS; k++) {
            assert_float_equal(both[k], (1 - share) * fast[k] + share * slow[k], 1e-5);
            differs = fmaxf(differs, fabsf(fast[k] - slow[k]));
        }
        assert_true(differs > 0.05f);
    }
    nm_net_free(n.fast), nm_net_free(n.slow), nm_net_free(n.both);
    rig_end(&rig);
}

static struct nm_trainer *begin(const struct rig *rig, bool slow)
{
    struct nm_err err = {0};
    struct nm_learn_options options = {.seed = 3, .worlds = 8, .threads = 1, .slow = slow};
    struct nm_trainer *t = nm_trainer_new(rig->body, &rig->pitch, &options, &err);
    if (!t) fail_msg("%s", err.text);
    return t;
}

static void assert_same(const void *a, size_t n, const void *b, size_t m)
{
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
}

/* A file whose networks differ, whichever is learned next: each has its own weights again. */
static void both_networks_are_kept(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    char path[] = "/tmp/nutmeg-policy-XXXXXX";
    close(mkstemp(path));
    rig_begin(&rig, "kid70");
    struct nm_net *own = nm_onnx_load(NM_ROOT "/robots/kid70/walk.onnx", &err);
    if (!own) fail_msg("%s", err.text);
    struct nm_trainer *slow = begin(&rig, true), *fast = begin(&rig, false), *again = begin(&rig, true);
    assert_int_equal(nm_trainer_inherit(fast, rig.body, own, &err), 0);
    int32_t at = -1;
    size_t n, m;
    void *first = rig_policy(fast, &n);
    struct nm_net *two = nm_onnx_read(first, n, "first", &err);
    if (!two || (at = nm_net_find(two, NM_POLICY_SLOW "b2")) < 0) fail_msg("%s", err.text);
    for (uint32_t i = 0; i < two->values[at].n; i++) two->values[at].at[i] += 0.5f;
    free(first);
    first = nm_onnx_write(two, &n);

    /* the inherited networks are where they were, whichever is learned (b2 is that of the mirror image too) */
    struct nm_trainer *each[2] = {fast, again};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nm_trainer_inherit(each[i], rig.body, two, &err), 0);
        void *second = rig_policy(each[i], &m);
        assert_same(first, n, second, m);
        free(second);
    }
    /* and go on from a checkpoint; one of the other kind is refused */
    assert_int_equal(nm_trainer_save(again, path, &err), 0);
    assert_int_equal(nm_trainer_load(slow, path, &err), 0);
    void *third = rig_policy(slow, &m);
    assert_same(first, n, third, m);
    assert_int_equal(nm_trainer_load(fast, path, &err), -1);
    assert_non_null(strstr(err.text, "--slow"));
    unlink(path);
    free(first), free(third);
    nm_net_free(own), nm_net_free(two);
    nm_trainer_free(slow), nm_trainer_free(fast), nm_trainer_free(again);
    rig_end(&rig);
}

/* Slow walking alone is no policy, and no checkpoint of one is taken. */
static void slow_walking_needs_the_other_network(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    char path[] = "/tmp/nutmeg-policy-XXXXXX";
    close(mkstemp(path));
    rig_begin(&rig, "kid70");
    struct nm_trainer *alone = begin(&rig, true), *other = begin(&rig, true);
    assert_null(nm_trainer_net(alone, &err));
    assert_non_null(strstr(err.text, "own one"));
    assert_int_equal(nm_trainer_save(alone, path, &err), 0);
    err = (struct nm_err){0};
    assert_int_equal(nm_trainer_load(other, path, &err), -1);
    assert_non_null(strstr(err.text, "damaged"));
    unlink(path);
    nm_trainer_free(alone), nm_trainer_free(other);
    rig_end(&rig);
}

/* Asked for a part of each speed that was trained. */
static void ask_for(float *obs, double ahead, double side, double turn)
{
    float *v = obs + NM_GAIT_FRAMES * NM_GAIT_FRAME;
    v[0] = (float)(NM_GAIT_SPEED * ahead * LIMITS.most[ahead < 0 ? NM_WALK_BACK : NM_WALK_FORWARD]);
    v[1] = (float)(NM_GAIT_SPEED * side * LIMITS.most[NM_WALK_SIDE]);
    v[2] = (float)(NM_GAIT_TURN * turn * LIMITS.most[NM_WALK_TURN]);
}

static void a_correction_counts_at_full_speed_ahead(void **state)
{
    (void)state;
    const struct {
        double ahead, side, turn, gate;
    } cases[] = {{1, 0, 0, 1},       {0.81, 0, 0, 1}, {1.4, 0, 0, 1},  {0.75, 0, 0, 0.5}, {1, 0.25, 0, 0.5},
                 {1, 0, -0.25, 0.5}, {0.69, 0, 0, 0}, {-1, 0, 0, 0},   {0, 1, 0, 0},      {0, 0, 1, 0},
                 {1, -0.2, 0.2, 0},  {0, 0, 0, 0},    {-1.4, 0, 0, 0}, {1, -0.1, 0.1, 1}};
    struct rig rig;
    struct nm_err err = {0};
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    const uint32_t widths[] = {NM_GAIT_OBS, 8, NM_CORRECTION_NEURONS, NM_GAIT_ACTS}, wide = nm_padded(NM_GAIT_ACTS);
    struct nm_correction correction, read;
    struct nm_mlp actor;
    rig_begin(&rig, "kid70");
    nm_mlp_new(&actor, &rig.arena, widths, 3);
    float *plain = nm_take_n(&rig.arena, float, actor.n), *whole = nm_take_n(&rig.arena, float, actor.n);
    for (size_t i = 0; i < actor.n; i++) plain[i] = whole[i] = (float)(0.3 * nm_dice_both(&dice));
    nm_correction_init(&correction, LIMITS.most);
    for (uint32_t i = 0; i <= NM_CORRECTION_NEURONS; i++)
        for (uint32_t o = 0; o < NM_GAIT_ACTS; o++) {
            correction.last[i][o] = (float)nm_dice_both(&dice);
            whole[nm_mlp_matrix(&actor, 2) + (size_t)i * wide + o] += correction.last[i][o];
        }
    struct nm_net *without = make(&rig, &actor, plain, NULL), *all = make(&rig, &actor, whole, NULL);
    struct nm_net *with = nm_policy_net(&rig.gait, &LIMITS, &actor, plain, NULL, &correction, &err);
    if (!with) fail_msg("%s", err.text);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float obs[NM_GAIT_OBS], gate = (float)cases[i].gate;
        for (int k = 0; k < NM_GAIT_OBS; k++) obs[k] = (float)nm_dice_both(&dice);
        ask_for(obs, cases[i].ahead, cases[i].side, cases[i].turn);
        assert_float_equal(nm_correction_gate(&correction, obs), cases[i].gate, 1e-4);
        const float *no = ask(without, obs, 0), *yes = ask(all, obs, 0), *part = ask(with, obs, 0);
        for (int k = 0; k < NM_GAIT_ACTS; k++) {
            assert_float_equal(part[k], no[k] + gate * (yes[k] - no[k]), gate > 0 && gate < 1 ? 5e-3f : 1e-4f);
            if (gate == 0) assert_true(part[k] == no[k]);
        }
    }
    assert_int_equal(nm_correction_read(&read, without, &err), 1);
    assert_int_equal(nm_correction_read(&read, with, &err), 0);
    assert_memory_equal(&read, &correction, sizeof read);
    int32_t at = nm_net_find(with, "gate2_b");
    with->values[at].at[0] = NAN;
    assert_int_equal(nm_correction_read(&read, with, &err), -1);
    assert_non_null(strstr(err.text, "another kind"));
    nm_net_free(without), nm_net_free(all), nm_net_free(with);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_network_has_its_share),
        cmocka_unit_test(both_networks_are_kept),
        cmocka_unit_test(a_correction_counts_at_full_speed_ahead),
        cmocka_unit_test(slow_walking_needs_the_other_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
