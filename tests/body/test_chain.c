/* A limb as a product of exponentials is the body's own kinematics, and the numeric inverse kinematics works on any. */
#include "body/chain.h"

#include "body/robots.h"

static void a_chain_moves_like_the_body(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof all_robots / sizeof *all_robots; r++) {
        struct nm_arena arena = {0};
        uint64_t seed = 20;
        const struct nm_body *body = load(&arena, all_robots[r]);
        const struct nm_group *groups[] = {&body->leg[0], &body->leg[1], &body->arm[0], &body->arm[1], &body->head};
        for (int g = 0; g < 5; g++) {
            struct nm_chain chain;
            assert_int_equal(nm_chain_init(&chain, body, groups[g], NULL), 0);
            for (int k = 0; k < 100; k++) {
                struct nm_kin kin;
                double all[NM_JOINTS], q[NM_GROUP];
                dice_joints(&seed, body, all);
                for (uint32_t i = 0; i < chain.n; i++) q[i] = all[chain.joints[i]];
                nm_forward(body, POSE_IDENTITY, all, &kin);
                assert_near(pose_distance(nm_chain_forward(&chain, q), kin.pose[groups[g]->end]), 0, 1e-12);
            }
        }
        nm_arena_free(&arena);
    }
}

/* Three joints cannot place a hand with its orientation; what they can is found again from nearby. */
static void an_arm_finds_its_pose_again(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, KID70);
    struct nm_chain chain;
    uint64_t seed = 21;
    assert_int_equal(nm_chain_init(&chain, body, &body->arm[NM_LEFT], NULL), 0);
    for (int k = 0; k < 2000; k++) {
        double q[NM_GROUP], near[NM_GROUP];
        struct nm_ik_error error;
        for (uint32_t i = 0; i < chain.n; i++) {
            q[i] = dice(&seed, chain.lower[i], chain.upper[i]);
            near[i] = q[i] + dice(&seed, -0.2, 0.2);
        }
        struct pose3 target = nm_chain_forward(&chain, q);
        assert_int_equal(nm_chain_ik(&chain, target, 0, near, &error), NM_REACHED);
        assert_near(pose_distance(nm_chain_forward(&chain, near), target), 0, 1e-9);
    }
    nm_arena_free(&arena);
}

static void a_held_joint_keeps_its_value(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, DARWIN);
    struct nm_chain chain;
    double q[NM_GROUP] = {0.1, 0.1, -0.5, 1, -0.5, 0};
    assert_int_equal(nm_chain_init(&chain, body, &body->leg[NM_RIGHT], NULL), 0);
    struct pose3 target = nm_chain_forward(&chain, q);
    q[0] = 0.3;
    assert_int_equal(nm_chain_ik(&chain, target, 1, q, NULL), NM_NEAREST);
    assert_near(q[0], 0.3, 0);
    q[0] = 0.1;
    assert_int_equal(nm_chain_ik(&chain, target, 1, q, NULL), NM_REACHED);
    assert_near(q[3], 1, 1e-6);
    nm_arena_free(&arena);
}

static void what_is_no_chain_is_refused(void **state)
{
    (void)state;
    static const char text[] =
        "<robot name='lift'><link name='base_link'/><link name='a'/><joint name='up' type='prismatic'>"
        "<parent link='base_link'/><child link='a'/><limit lower='0' upper='1' effort='1' "
        "velocity='1'/></joint></robot>";
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_chain chain;
    const struct nm_urdf *urdf = nm_urdf_parse(&arena, "lift.urdf", text, strlen(text), &err);
    assert_non_null(urdf);
    const struct nm_body *body = nm_body_from_urdf(&arena, urdf, &err);
    assert_non_null(body);
    assert_int_equal(nm_chain_init(&chain, body, &body->leg[0], &err), -1);
    assert_non_null(strstr(err.text, "the limb that was asked for does not exist"));
    struct nm_group lift = {.n = 1, .joints = {0}, .end = 1};
    assert_int_equal(nm_chain_init(&chain, body, &lift, &err), -1);
    assert_non_null(strstr(err.text, "joint up slides"));
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_moves_like_the_body),
        cmocka_unit_test(an_arm_finds_its_pose_again),
        cmocka_unit_test(a_held_joint_keeps_its_value),
        cmocka_unit_test(what_is_no_chain_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
