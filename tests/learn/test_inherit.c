/* A policy carried over to another body: the same body gets the same policy, a body whose joints turn the other way
 * gets the other signs, longer legs are asked in their own units, and a net of other people is refused. */
#include "learn/rig.h"

#include <stdlib.h>

#include "base/random.h"
#include "learn/inherit.h"
#include "nn/onnx.h"

static struct nm_trainer *begin(const struct rig *rig)
{
    struct nm_err err = {0};
    struct nm_learn_options options = {.seed = 3, .worlds = 8, .threads = 1};
    struct nm_trainer *t = nm_trainer_new(rig->body, &rig->pitch, &options, &err);
    if (!t) fail_msg("%s", err.text);
    return t;
}

static struct nm_net *load_policy(void)
{
    struct nm_err err = {0};
    struct nm_net *net = nm_onnx_load(NM_ROOT "/robots/kid70/walk.onnx", &err);
    if (!net) fail_msg("%s", err.text);
    return net;
}

static struct nm_net *inherit(const struct rig *rig, const struct nm_body *from, const struct nm_net *policy)
{
    struct nm_err err = {0};
    struct nm_trainer *t = begin(rig);
    if (nm_trainer_inherit(t, from, policy, &err)) fail_msg("%s", err.text);
    struct nm_net *net = nm_trainer_net(t, &err);
    if (!net) fail_msg("%s", err.text);
    nm_trainer_free(t);
    return net;
}

static const float *ask(struct nm_net *net, const float *obs)
{
    memcpy(nm_net_input(net, 0), obs, NM_GAIT_OBS * sizeof *obs);
    nm_net_run(net);
    return nm_net_output(net, 0);
}

static void random_observation(struct nm_dice *dice, float obs[NM_GAIT_OBS])
{
    for (int i = 0; i < NM_GAIT_OBS; i++) obs[i] = (float)nm_dice_both(dice);
}

static void the_same_body_gets_the_same_policy(void **state)
{
    (void)state;
    struct rig rig;
    rig_begin(&rig, "kid70");
    struct nm_net *policy = load_policy(), *net = inherit(&rig, rig.body, policy);
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    for (int round = 0; round < 20; round++) {
        float obs[NM_GAIT_OBS];
        random_observation(&dice, obs);
        const float *was = ask(policy, obs), *is = ask(net, obs);
        for (int k = 0; k < NM_GAIT_ACTS; k++) assert_float_equal(was[k], is[k], 1e-4);
    }
    /* and is asked for as much as before; others begin with less */
    double asked = strtod(nm_net_note(net, "limits") + strlen("forward:"), NULL);
    assert_float_equal(asked, strtod(nm_net_note(policy, "limits") + strlen("forward:"), NULL), 0.01);
    nm_net_free(net);
    nm_net_free(policy);
    rig_end(&rig);
}

/* What kid70 learned answers alike on a body with another gait, if what it sees and says there is scaled. */
static void assert_alike(struct rig *rig, const struct nm_gait *other, const float seen[NM_GAIT_OBS],
                         const float said[NM_GAIT_ACTS])
{
    struct nm_net *policy = load_policy();
    const uint32_t widths[] = {NM_GAIT_OBS, 256, 256, 128, NM_GAIT_ACTS};
    struct nm_mlp mlp[2];
    struct nm_tape tape;
    struct nm_err err = {0};
    for (int i = 0; i < 2; i++) {
        nm_mlp_new(&mlp[i], &rig->arena, widths, 4);
        if (nm_inherit(i ? other : &rig->gait, &mlp[i], &rig->gait, policy, "", &err)) fail_msg("%s", err.text);
    }
    nm_tape_new(&tape, &rig->arena, &mlp[0], 1);
    struct nm_dice dice = nm_dice_new(1, 2, 4);
    for (int round = 0; round < 20; round++) {
        float obs[NM_GAIT_OBS], was[NM_GAIT_ACTS];
        random_observation(&dice, obs);
        memcpy(was, nm_mlp_forward(&mlp[0], &tape, obs, NM_GAIT_OBS, 1), sizeof was);
        for (int i = 0; i < NM_GAIT_OBS; i++) obs[i] *= seen[i];
        const float *is = nm_mlp_forward(&mlp[1], &tape, obs, NM_GAIT_OBS, 1);
        for (int k = 0; k < NM_GAIT_ACTS; k++) assert_float_equal(said[k] * was[k], is[k], 1e-4);
    }
    nm_net_free(policy);
}

static void fill(float *factors, int n)
{
    for (int i = 0; i < n; i++) factors[i] = 1;
}

/* Both knees turn the other way: the same body otherwise. */
static void a_joint_that_turns_the_other_way_gets_the_other_sign(void **state)
{
    (void)state;
    struct rig rig;
    rig_begin(&rig, "kid70");
    struct nm_body turned = *rig.body;
    struct nm_joint joints[NM_JOINTS];
    struct nm_gait gait = rig.gait;
    uint32_t knees[2] = {3, 9};
    float seen[NM_GAIT_OBS], said[NM_GAIT_ACTS];
    gait.body = &turned;
    memcpy(joints, turned.joints, turned.n_joints * sizeof *joints);
    turned.joints = joints;
    fill(seen, NM_GAIT_OBS);
    fill(said, NM_GAIT_ACTS);
    for (int side = 0; side < 2; side++) {
        struct vec3 *axis = &joints[gait.joints[knees[side]]].axis;
        *axis = vec3_scale(*axis, -1);
        said[knees[side]] = -1;
        for (uint32_t f = 0; f < NM_GAIT_FRAMES; f++)
            seen[f * NM_GAIT_FRAME + 6 + knees[side]] = seen[f * NM_GAIT_FRAME + 6 + NM_GAIT_LEGS + knees[side]] = -1;
    }
    assert_alike(&rig, &gait, seen, said);
    rig_end(&rig);
}

/* On legs four times as long everything takes twice as long: the body turns half as fast, and the same answer belongs
 * to twice the speed. */
static void longer_legs_are_asked_in_their_own_units(void **state)
{
    (void)state;
    struct rig rig;
    rig_begin(&rig, "kid70");
    struct nm_gait gait = rig.gait;
    const int rest = NM_GAIT_FRAMES * NM_GAIT_FRAME;
    float seen[NM_GAIT_OBS], said[NM_GAIT_ACTS];
    gait.stride *= 4;
    gait.rate /= 2;
    fill(seen, NM_GAIT_OBS);
    fill(said, NM_GAIT_ACTS);
    for (int f = 0; f < NM_GAIT_FRAMES; f++)
        for (int i = 0; i < 3; i++) seen[f * NM_GAIT_FRAME + i] = 0.5f;
    seen[rest] = seen[rest + 1] = 2;
    seen[rest + 2] = 0.5f;
    assert_alike(&rig, &gait, seen, said);
    rig_end(&rig);
}

/* kid70 and darwin differ in size, order and axes: what kid70 learned keeps darwin on its feet, which a new network
 * does not. */
static double metres_walked(const struct rig *rig, struct nm_net *net, uint64_t seed)
{
    struct nm_walking w;
    struct nm_err err = {0};
    if (nm_walking_new(&w, &rig->gait, &rig->pitch, seed, &err)) fail_msg("%s", err.text);
    nm_walking_reset(&w);
    w.target[0] = 0.15 * rig->gait.pace;
    int periods = 0, most = (int)(6 / NM_GAIT_PERIOD);
    double walked = 0;
    struct nm_walked step = {0};
    for (; periods < most && !step.fell; periods++) {
        nm_walking_observe(&w, nm_net_input(net, 0), NULL);
        nm_net_run(net);
        nm_walking_step(&w, nm_net_output(net, 0), &step);
        walked += w.velocity.x * NM_GAIT_PERIOD;
    }
    nm_walking_free(&w);
    return step.fell ? 0 : walked;
}

static void darwin_walks_with_what_kid70_learned(void **state)
{
    (void)state;
    struct rig kid, darwin;
    rig_begin(&kid, "kid70");
    rig_begin(&darwin, "darwin");
    struct nm_net *policy = load_policy(), *net = inherit(&darwin, kid.body, policy);
    double walked = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) walked += metres_walked(&darwin, net, seed) / 4;
    assert_true(walked > 0.3); /* m in 6 s, asked for 1.3 */
    nm_net_free(net);
    nm_net_free(policy);
    rig_end(&darwin);
    rig_end(&kid);
}

static void another_net_is_refused(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    rig_begin(&rig, "kid70");
    struct nm_net *net = nm_onnx_load(NM_ROOT "/tests/fuzz/corpus/nn/small.onnx", &err);
    struct nm_trainer *t = begin(&rig);
    assert_non_null(net);
    assert_int_equal(nm_trainer_inherit(t, rig.body, net, &err), -1);
    assert_non_null(strstr(err.text, "kid70"));
    nm_trainer_free(t);
    nm_net_free(net);
    rig_end(&rig);
}

/* The critic is new and learns alone; after that the policy's first step is not longer than the next ones. */
static void who_goes_on_does_not_leap(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    rig_begin(&rig, "kid70");
    struct nm_net *own = load_policy();
    struct nm_trainer *t = begin(&rig);
    if (nm_trainer_inherit(t, rig.body, own, &err)) fail_msg("%s", err.text);
    const struct nm_learned *curve = NULL;
    uint32_t n = 0, together = 0;
    for (int i = 0; i < 64 && together < 3; i++) {
        if (nm_trainer_batch(t, &err)) fail_msg("%s", err.text);
        curve = nm_trainer_curve(t, &n);
        together += curve[n - 1].change > 1e-6;
        assert_true(fabs(curve[n - 1].change) < 0.5);
    }
    assert_int_equal(together, 3);
    nm_trainer_free(t);
    nm_net_free(own);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_goes_on_does_not_leap),
        cmocka_unit_test(the_same_body_gets_the_same_policy),
        cmocka_unit_test(a_joint_that_turns_the_other_way_gets_the_other_sign),
        cmocka_unit_test(longer_legs_are_asked_in_their_own_units),
        cmocka_unit_test(darwin_walks_with_what_kid70_learned),
        cmocka_unit_test(another_net_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
