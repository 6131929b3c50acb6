/* A policy carried over to another body: the same body gets the same policy, a body whose joints turn the other way
 * gets the other signs, and a net of other people is refused. */
#include "learn/rig.h"

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
    nm_net_free(net);
    nm_net_free(policy);
    rig_end(&rig);
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
    gait.body = &turned;
    memcpy(joints, turned.joints, turned.n_joints * sizeof *joints);
    turned.joints = joints;
    for (int side = 0; side < 2; side++) {
        struct vec3 *axis = &joints[gait.joints[knees[side]]].axis;
        *axis = vec3_scale(*axis, -1);
    }
    struct nm_net *policy = load_policy();
    const uint32_t widths[] = {NM_GAIT_OBS, 256, 256, 128, NM_GAIT_ACTS};
    struct nm_mlp mlp[2];
    struct nm_tape tape;
    struct nm_err err = {0};
    for (int i = 0; i < 2; i++) {
        nm_mlp_new(&mlp[i], &rig.arena, widths, 4);
        if (nm_inherit(i ? &gait : &rig.gait, &mlp[i], &rig.gait, policy, &err)) fail_msg("%s", err.text);
    }
    nm_tape_new(&tape, &rig.arena, &mlp[0], 1);
    struct nm_dice dice = nm_dice_new(1, 2, 4);
    for (int round = 0; round < 20; round++) {
        float obs[NM_GAIT_OBS], was[NM_GAIT_ACTS];
        random_observation(&dice, obs);
        memcpy(was, nm_mlp_forward(&mlp[0], &tape, obs, NM_GAIT_OBS, 1), sizeof was);
        for (int f = 0; f < NM_GAIT_FRAMES; f++)
            for (int side = 0; side < 2; side++) {
                obs[f * NM_GAIT_FRAME + 6 + (int)knees[side]] *= -1;
                obs[f * NM_GAIT_FRAME + 6 + NM_GAIT_LEGS + (int)knees[side]] *= -1;
            }
        const float *is = nm_mlp_forward(&mlp[1], &tape, obs, NM_GAIT_OBS, 1);
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) {
            float sign = k == knees[0] || k == knees[1] ? -1 : 1;
            assert_float_equal(sign * was[k], is[k], 1e-4);
        }
    }
    nm_net_free(policy);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_body_gets_the_same_policy),
        cmocka_unit_test(a_joint_that_turns_the_other_way_gets_the_other_sign),
        cmocka_unit_test(darwin_walks_with_what_kid70_learned),
        cmocka_unit_test(another_net_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
