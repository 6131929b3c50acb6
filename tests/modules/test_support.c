/* The support foot: by weight with hysteresis, none in the air or lying, by height where the feet feel nothing. */
#include "modules/body_rig.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/SupportState.h"

extern const struct nm_module support_module;

static const struct nm_body *body;

/* The foot when the left one carries this share of `total` newtons. */
static uint8_t with_weight(struct nm_harness *h, double left_share, double total)
{
    FootPressure *p = nm_harness_set(h, "foot_pressure");
    p->left.valid = p->right.valid = true;
    p->left.force = (float)(left_share * total);
    p->right.force = (float)((1 - left_share) * total);
    p->left_share = (float)left_share;
    nm_harness_step(h, 0.01);
    const SupportState *s = nm_harness_get(h, "support_state");
    assert_true(s->measured);
    assert_near(s->left_share, left_share, 1e-6);
    return s->foot;
}

/* The foot when the left leg is shortened by bending its knee. */
static uint8_t with_knee(struct nm_harness *h, double bend)
{
    double q[NM_JOINTS] = {0};
    q[nm_find_joint(body, "left_hip_pitch")] = -bend / 2;
    q[nm_find_joint(body, "left_knee")] = bend;
    q[nm_find_joint(body, "left_ankle_pitch")] = -bend / 2;
    give_joints(h, body, q, NULL, 1);
    nm_harness_step(h, 0.01);
    const SupportState *s = nm_harness_get(h, "support_state");
    assert_false(s->measured);
    return s->foot;
}

static void a_foot_is_alone_only_when_it_carries_nearly_everything(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&support_module, "alone=0.85, shared=0.7", body);
    double weight = body->mass * 9.81;
    const struct {
        double left;
        uint8_t foot;
    } walk[] = {
        {0.5, SupportState_BOTH},  {0.8, SupportState_BOTH},   {0.9, SupportState_LEFT},  {0.75, SupportState_LEFT},
        {0.6, SupportState_BOTH},  {0.75, SupportState_BOTH},  {0.1, SupportState_RIGHT}, {0.25, SupportState_RIGHT},
        {0.35, SupportState_BOTH}, {0.05, SupportState_RIGHT}, {0.95, SupportState_LEFT},
    };
    for (size_t i = 0; i < sizeof walk / sizeof *walk; i++)
        assert_int_equal(with_weight(h, walk[i].left, weight), walk[i].foot);
    /* none, both, left, both, right, both, right, left */
    const SupportState *s = nm_harness_get(h, "support_state");
    assert_int_equal(s->changes, 7);
    assert_int_equal(s->since.nanosec, 110000000);
    nm_harness_free(h);
}

static void noise_around_a_threshold_does_not_flicker(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&support_module, NULL, body);
    uint64_t seed = 8;
    for (int i = 0; i < 500; i++) with_weight(h, 0.85 + dice(&seed, -0.1, 0.1), body->mass * 9.81);
    assert_true(((const SupportState *)nm_harness_get(h, "support_state"))->changes <= 2);
    nm_harness_free(h);
}

static void a_carried_robot_has_no_support(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&support_module, "carried=0.2", body);
    double weight = body->mass * 9.81;
    assert_int_equal(with_weight(h, 0.5, 0.1 * weight), SupportState_NONE);
    assert_int_equal(with_weight(h, 0.5, 0.25 * weight), SupportState_NONE); /* not yet down */
    assert_int_equal(with_weight(h, 0.5, 0.5 * weight), SupportState_BOTH);
    assert_int_equal(with_weight(h, 0.5, 0.25 * weight), SupportState_BOTH);
    assert_int_equal(with_weight(h, 0.5, 0.1 * weight), SupportState_NONE);
    nm_harness_free(h);
}

static void without_cells_the_lower_foot_supports(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&support_module, NULL, body);
    /* a leg of 0.28 m bent by b is 0.28 (1 - cos(b / 2)) shorter: 0.35 rad is 4.3 mm, 0.6 rad 12.5 mm */
    assert_int_equal(with_knee(h, 0), SupportState_BOTH);
    assert_int_equal(with_knee(h, 0.35), SupportState_BOTH);
    assert_int_equal(with_knee(h, 0.6), SupportState_RIGHT);
    assert_near(((const SupportState *)nm_harness_get(h, "support_state"))->left_share, 0, 0);
    assert_int_equal(with_knee(h, 0.35), SupportState_RIGHT);
    assert_int_equal(with_knee(h, 0.2), SupportState_BOTH);
    nm_harness_free(h);
}

static void the_torsos_tilt_tells_which_foot_is_lower(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&support_module, NULL, body);
    double q[NM_JOINTS] = {0};
    /* straight legs 93 mm apart, leant to the left by 0.2 rad: the left foot is lower by 18 mm */
    give_joints(h, body, q, NULL, 1);
    give_torso(h, quat_rpy(-0.2, 0, 2), (struct vec3){0});
    nm_harness_step(h, 0.01);
    assert_int_equal(((const SupportState *)nm_harness_get(h, "support_state"))->foot, SupportState_LEFT);
    give_joints(h, body, q, NULL, 1);
    give_torso(h, quat_rpy(0.2, 0, -1), (struct vec3){0});
    nm_harness_step(h, 0.01);
    assert_int_equal(((const SupportState *)nm_harness_get(h, "support_state"))->foot, SupportState_RIGHT);
    nm_harness_free(h);
}

static void a_lying_robot_has_no_support_whatever_presses(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&support_module, NULL, body);
    give_torso(h, quat_rpy(0, 1.5, 0), (struct vec3){0});
    assert_int_equal(with_weight(h, 0.5, body->mass * 9.81), SupportState_NONE);
    nm_harness_free(h);
}

static void when_the_cells_fall_silent_geometry_takes_over(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&support_module, NULL, body);
    assert_int_equal(with_weight(h, 1, body->mass * 9.81), SupportState_LEFT);
    nm_harness_step(h, 0.2);
    assert_false(nm_harness_fresh(h, "support_state")); /* no joints either: nothing to say */
    assert_int_equal(with_knee(h, 0.6), SupportState_RIGHT);
    nm_harness_free(h);
}

int main(void)
{
    struct nm_arena arena = {0};
    body = nm_body_load(&arena, KID70, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_foot_is_alone_only_when_it_carries_nearly_everything),
        cmocka_unit_test(noise_around_a_threshold_does_not_flicker),
        cmocka_unit_test(a_carried_robot_has_no_support),
        cmocka_unit_test(without_cells_the_lower_foot_supports),
        cmocka_unit_test(the_torsos_tilt_tells_which_foot_is_lower),
        cmocka_unit_test(a_lying_robot_has_no_support_whatever_presses),
        cmocka_unit_test(when_the_cells_fall_silent_geometry_takes_over),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nm_arena_free(&arena);
    return failed;
}
