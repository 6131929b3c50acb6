/* Another sensor's angle stands for the servo's while it is young and plausible, and only then. */
#include "modules/body_rig.h"

extern const struct nm_module joint_interceptor_module;

static const struct nm_body *body;
static double q[NM_JOINTS];

/* What joint_states says of the left ankle when the servo says `servo`. */
static double after(struct nm_harness *h, double servo, double seconds)
{
    int32_t ankle = nm_find_joint(body, "left_ankle_pitch");
    q[ankle] = servo;
    double qd[NM_JOINTS] = {0};
    give_joints_on(h, "joint_states_measured", body, q, qd, 1);
    nm_harness_step(h, seconds);
    const JointState *j = nm_harness_get(h, "joint_states");
    assert_int_equal(j->name.n, body->n_joints);
    return j->position.at[ankle];
}

static void override(struct nm_harness *h, double position)
{
    JointState *o = nm_harness_set(h, "joint_overrides");
    nm_text(o->name.at[0], "left_ankle_pitch");
    nm_text(o->name.at[1], "tail"); /* nobody's joint */
    o->position.at[0] = position;
    o->position.at[1] = 7;
    o->name.n = o->position.n = 2;
}

static void an_override_stands_for_its_joint_alone_until_it_is_old(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&joint_interceptor_module, "timeout=0.05", body);
    assert_near(after(h, 0.1, 0.01), 0.1, 0);
    override(h, 0.15);
    assert_near(after(h, 0.1, 0.01), 0.15, 0);
    const JointState *j = nm_harness_get(h, "joint_states");
    assert_near(j->position.at[nm_find_joint(body, "right_ankle_pitch")], 0, 0);
    assert_near(after(h, 0.1, 0.04), 0.15, 0);
    assert_near(after(h, 0.1, 0.02), 0.1, 0);
    nm_harness_free(h);
}

static void an_override_far_from_the_servo_is_not_believed_and_told_once(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&joint_interceptor_module, "gate=0.2", body);
    uint32_t told = 0;
    for (int i = 0; i < 20; i++) {
        override(h, 0.5);
        assert_near(after(h, 0.1, 0.01), 0.1, 0);
        told += lines_with(h, "left_ankle_pitch: the other sensor measures 0.500 rad, the servo 0.100");
    }
    assert_int_equal(told, 1);
    override(h, 0.25);
    assert_near(after(h, 0.1, 0.01), 0.25, 0);
    nm_harness_free(h);
}

static void what_is_no_number_overrides_nothing(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&joint_interceptor_module, NULL, body);
    override(h, NAN);
    assert_near(after(h, 0.1, 0.01), 0.1, 0);
    nm_harness_free(h);
}

static void its_speed_counts_where_it_has_one(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&joint_interceptor_module, NULL, body);
    int32_t ankle = nm_find_joint(body, "left_ankle_pitch");
    override(h, 0.1);
    JointState *o = nm_harness_set(h, "joint_overrides"); /* a second one in the same step */
    nm_text(o->name.at[0], "left_ankle_pitch");
    o->position.at[0] = 0.12;
    o->velocity.at[0] = 3;
    o->name.n = o->position.n = o->velocity.n = 1;
    assert_near(after(h, 0.1, 0.01), 0.12, 0);
    assert_near(((const JointState *)nm_harness_get(h, "joint_states"))->velocity.at[ankle], 3, 0);
    nm_harness_free(h);
}

int main(void)
{
    struct nm_arena arena = {0};
    body = nm_body_load(&arena, KID70, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_override_stands_for_its_joint_alone_until_it_is_old),
        cmocka_unit_test(an_override_far_from_the_servo_is_not_believed_and_told_once),
        cmocka_unit_test(what_is_no_number_overrides_nothing),
        cmocka_unit_test(its_speed_counts_where_it_has_one),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nm_arena_free(&arena);
    return failed;
}
