/* Leg inverse kinematics: a million random reachable poses come back, whatever the hip's axes; a target out of reach
 * gives the nearest pose, which is checked against brute force; legs that share a joint agree on it. */
#include "body/leg_ik.h"

#include "body/robots.h"

struct figures {
    uint32_t poses, bent;
    double worst_pose, worst_joint;
};

static void dice_leg(uint64_t *seed, const struct nm_leg *leg, double share, double q[])
{
    for (uint32_t i = 0; i < leg->chain.n; i++) {
        double middle = (leg->chain.lower[i] + leg->chain.upper[i]) / 2;
        double half = share * (leg->chain.upper[i] - leg->chain.lower[i]) / 2;
        q[i] = dice(seed, middle - half, middle + half);
    }
}

static struct figures round_trip(const struct nm_body *body, enum nm_side side, uint32_t n, double share)
{
    struct nm_leg leg;
    struct figures f = {.poses = n};
    uint64_t seed = 50 + (uint64_t)side;
    assert_int_equal(nm_leg_init(&leg, body, side, NULL), 0);
    for (uint32_t k = 0; k < n; k++) {
        double q[NM_GROUP], back[NM_GROUP] = {0};
        struct nm_ik_error error;
        dice_leg(&seed, &leg, share, q);
        struct pose3 target = nm_chain_forward(&leg.chain, q);
        if (nm_leg_ik(&leg, target, back, &error) != NM_REACHED)
            fail_msg("%s: pose %u was not reached, %g m and %g rad are left", body->name, k, error.distance,
                     error.angle);
        double off = pose_distance(nm_chain_forward(&leg.chain, back), target);
        f.worst_pose = fmax(f.worst_pose, off);
        for (uint32_t i = 0; i < leg.chain.n; i++)
            assert_true(back[i] >= leg.chain.lower[i] && back[i] <= leg.chain.upper[i]);
        if (!(q[3] > 0.05)) continue;
        f.bent++;
        for (uint32_t i = 0; i < leg.chain.n; i++) f.worst_joint = fmax(f.worst_joint, fabs(back[i] - q[i]));
    }
    printf("%s: %u poses, worst %.1e; %u with the knee bent, worst joint %.1e rad\n", body->name, f.poses, f.worst_pose,
           f.bent, f.worst_joint);
    return f;
}

static void a_million_poses_come_back(void **state)
{
    (void)state;
    static const char *const paths[] = {KID70, DARWIN, NAO};
    for (int i = 0; i < 3; i++) {
        struct nm_arena arena = {0};
        const struct nm_body *body = load(&arena, paths[i]);
        for (int side = 0; side < 2; side++) {
            struct nm_leg leg;
            assert_int_equal(nm_leg_init(&leg, body, (enum nm_side)side, NULL), 0);
            assert_int_equal(leg.method, NM_LEG_CLOSED);
            struct figures f = round_trip(body, (enum nm_side)side, i == 0 ? 500000 : 100000, 1);
            assert_true(f.worst_pose < 1e-9);
            assert_true(f.bent > f.poses / 2 && f.worst_joint < 1e-6);
        }
        nm_arena_free(&arena);
    }
}

/* Wolfgang's hip yaw misses the other two axes by more than a centimetre. Its hips turn by 90 degrees and its knee
 * bends by 170, where several answers and singular poses are common, so poses come from the middle of its limits. */
static void a_leg_whose_axes_do_not_meet_reaches_its_poses(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, WOLFGANG);
    for (int side = 0; side < 2; side++) {
        struct nm_leg leg;
        assert_int_equal(nm_leg_init(&leg, body, (enum nm_side)side, NULL), 0);
        assert_int_equal(leg.method, NM_LEG_SCANNED);
        assert_true(leg.miss > 0.005);
        assert_true(round_trip(body, (enum nm_side)side, 20000, 0.6).worst_pose < 1e-9);
    }
    nm_arena_free(&arena);
}

/* Along a motion the joints move on without a jump, on every robot and also where there are several answers. */
static void a_smooth_motion_gives_smooth_joints(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof all_robots / sizeof *all_robots; r++) {
        struct nm_arena arena = {0};
        struct nm_leg leg;
        double q[NM_GROUP] = {0}, last[NM_GROUP];
        const struct nm_body *body = load(&arena, all_robots[r]);
        assert_int_equal(nm_leg_init(&leg, body, NM_LEFT, NULL), 0);
        struct vec3 hip = leg.chain.point[0];
        double length = hip.z - leg.chain.home.pos.z;
        for (int k = 0; k < 1000; k++) {
            double t = 0.004 * k;
            struct pose3 sole = {
                quat_rpy(0.05 * sin(3 * t), 0.1 * sin(2 * t), 0.15 * sin(t)),
                {0.06 * length * sin(4 * t), hip.y + 0.02 * sin(5 * t), hip.z - (0.8 - 0.05 * sin(7 * t)) * length}};
            memcpy(last, q, sizeof last);
            struct nm_ik_error error;
            if (nm_leg_ik(&leg, sole, q, &error) != NM_REACHED)
                fail_msg("%s: %d: %g m and %g rad are left", body->name, k, error.distance, error.angle);
            for (uint32_t i = 0; i < 6 && k; i++)
                if (!(fabs(q[i] - last[i]) < 0.05))
                    fail_msg("%s: joint %u jumps from %g to %g", body->name, i, last[i], q[i]);
        }
        nm_arena_free(&arena);
    }
}

/* Hips in the orders that exist, on a leg made for the test; also an offset between the legs' planes. */
static void every_order_of_hip_axes_is_solved(void **state)
{
    (void)state;
    static const char *const orders[][3] = {{"0 0 1", "1 0 0", "0 1 0"}, {"0 1 0", "1 0 0", "0 0 1"},
                                            {"1 0 0", "0 0 1", "0 1 0"}, {"0 1 0", "0 0 1", "1 0 0"},
                                            {"1 0 0", "0 1 0", "0 0 1"}, {"0 0.7 -0.7", "1 0 0", "0 -1 0"}};
    static const char joint[] = "<link name='%c%d'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/>"
                                "</inertial></link><joint name='%c_%d' type='revolute'><parent link='%c%d'/>"
                                "<child link='%c%d'/><origin xyz='%s'/><axis xyz='%s'/>"
                                "<limit lower='%s' upper='%s' effort='1' velocity='1'/></joint>";
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        char text[16384] = "<robot name='legs'><link name='base_link'/><link name='l0'/><link name='r0'/>"
                           "<joint name='hl' type='fixed'><parent link='base_link'/><child link='l0'/></joint>"
                           "<joint name='hr' type='fixed'><parent link='base_link'/><child link='r0'/></joint>";
        for (int side = 0; side < 2; side++) {
            char s = side ? 'r' : 'l';
            const char *place[6] = {side ? "0.01 -0.06 0" : "0.01 0.06 0",
                                    "0 0 0",
                                    "0 0 0",
                                    "0.02 0.01 -0.15",
                                    "-0.01 -0.02 -0.16",
                                    "0 0 0"};
            const char *axis[6] = {orders[o][0], orders[o][1], orders[o][2], "0 1 0", "0 1 0", "1 0 0"};
            for (int i = 0; i < 6; i++) {
                size_t used = strlen(text);
                snprintf(text + used, sizeof text - used, joint, s, i + 1, s, i, s, i, s, i + 1, place[i], axis[i],
                         i == 3 ? "0.1" : "-0.7", i == 3 ? "2" : "0.7");
            }
        }
        strcat(text, "</robot>");
        struct nm_arena arena = {0};
        const struct nm_body *body = load_text(&arena, text);
        assert_int_equal(body->leg[NM_LEFT].n, 6);
        assert_true(round_trip(body, NM_LEFT, 20000, 1).worst_pose < 1e-9); /* several answers keep these limits */
        nm_arena_free(&arena);
    }
}

static double total(struct pose3 a, struct pose3 b)
{
    double angle = quat_angle(a.rot, b.rot) * NM_IK_ARM;
    struct vec3 d = vec3_sub(a.pos, b.pos);
    return sqrt(vec3_dot(d, d) + angle * angle);
}

/* No pose of a large random sample, and no small change of the answer, is nearer to the target than the answer. */
static void out_of_reach_gives_the_nearest_pose_and_says_so(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, KID70);
    struct nm_leg leg;
    uint64_t seed = 60;
    uint32_t unreachable = 0;
    assert_int_equal(nm_leg_init(&leg, body, NM_LEFT, NULL), 0);
    for (int k = 0; k < 100; k++) {
        struct pose3 target = {quat_rpy(dice(&seed, -0.6, 0.6), dice(&seed, -0.6, 0.6), dice(&seed, -0.6, 0.6)),
                               {dice(&seed, -0.3, 0.3), dice(&seed, -0.2, 0.3), dice(&seed, -0.5, -0.1)}};
        double q[NM_GROUP];
        struct nm_ik_error error;
        if (nm_leg_ik(&leg, target, q, &error) == NM_REACHED) continue;
        unreachable++;
        struct pose3 got = nm_chain_forward(&leg.chain, q);
        double best = total(got, target);
        assert_near(error.distance, vec3_norm(vec3_sub(got.pos, target.pos)), 1e-9);
        assert_near(error.angle, quat_angle(got.rot, target.rot), 1e-9);
        for (uint32_t i = 0; i < 6; i++) assert_true(q[i] >= leg.chain.lower[i] && q[i] <= leg.chain.upper[i]);
        for (int i = 0; i < 20000; i++) {
            double other[NM_GROUP];
            dice_leg(&seed, &leg, 1, other);
            if (i % 2) /* around the answer */
                for (int m = 0; m < 6; m++)
                    other[m] = fmin(fmax(q[m] + dice(&seed, -0.05, 0.05), leg.chain.lower[m]), leg.chain.upper[m]);
            double there_ = total(nm_chain_forward(&leg.chain, other), target);
            if (there_ < best - 1e-7) fail_msg("target %d: %g is nearer than %g", k, there_, best);
        }
    }
    printf("%u targets out of reach\n", unreachable);
    assert_true(unreachable > 30);
    nm_arena_free(&arena);
}

static void too_far_is_a_straight_leg_that_points_there(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, KID70);
    struct nm_leg leg;
    double q[NM_GROUP];
    struct nm_ik_error error;
    assert_int_equal(nm_leg_init(&leg, body, NM_LEFT, NULL), 0);
    assert_int_equal(nm_leg_ik(&leg, (struct pose3){QUAT_IDENTITY, {0, 0.0464, -0.40}}, q, &error), NM_NEAREST);
    assert_near(error.distance, 0.06, 1e-9); /* 0.34 m is what the leg has */
    assert_near(error.angle, 0, 1e-9);
    for (int i = 0; i < 6; i++) assert_near(q[i], 0, 1e-4);

    /* to the last millimetre it is reached */
    assert_int_equal(nm_leg_ik(&leg, (struct pose3){QUAT_IDENTITY, {0, 0.0464, -0.34}}, q, &error), NM_REACHED);
    for (int i = 0; i < 6; i++) assert_near(q[i], 0, 1e-6);

    /* nonsense in, joints within their limits out */
    assert_int_equal(nm_leg_ik(&leg, (struct pose3){{NAN, 0, 0, 0}, {NAN, INFINITY, 0}}, q, &error), NM_NEAREST);
    for (uint32_t i = 0; i < 6; i++) assert_true(q[i] >= leg.chain.lower[i] && q[i] <= leg.chain.upper[i]);
    nm_arena_free(&arena);
}

/* NAO's hips turn by one motor: the leading leg decides, the other does what it still can. */
static void coupled_legs_agree_on_their_joint(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, NAO);
    struct nm_leg leg[2];
    uint64_t seed = 61;
    for (int side = 0; side < 2; side++) {
        assert_int_equal(nm_leg_init(&leg[side], body, (enum nm_side)side, NULL), 0);
        assert_int_equal(leg[side].coupled, 0);
    }
    for (int k = 0; k < 500; k++) {
        enum nm_side leading = k % 2 ? NM_LEFT : NM_RIGHT;
        double q[2][NM_GROUP], back[2][NM_GROUP] = {{0}};
        struct nm_ik_error error[2];
        struct pose3 target[2];
        for (int side = 0; side < 2; side++) dice_leg(&seed, &leg[side], 0.5, q[side]);
        q[NM_RIGHT][0] = q[NM_LEFT][0];
        for (int side = 0; side < 2; side++) target[side] = nm_chain_forward(&leg[side].chain, q[side]);

        /* feet that such legs can have are had */
        assert_int_equal(nm_legs_ik(leg, target, leading, back, error), NM_REACHED);
        assert_near(back[NM_LEFT][0], back[NM_RIGHT][0], 1e-12);
        for (int side = 0; side < 2; side++)
            assert_true(pose_distance(nm_chain_forward(&leg[side].chain, back[side]), target[side]) < 1e-9);

        /* the other foot turned further: the leading one stands, the other is near */
        enum nm_side other = leading == NM_LEFT ? NM_RIGHT : NM_LEFT;
        target[other].rot = quat_mul(target[other].rot, quat_rpy(0, 0, 0.1));
        assert_int_equal(nm_legs_ik(leg, target, leading, back, error), NM_NEAREST);
        assert_near(back[NM_LEFT][0], back[NM_RIGHT][0], 1e-12);
        assert_true(pose_distance(nm_chain_forward(&leg[leading].chain, back[leading]), target[leading]) < 1e-9);
        assert_true(error[other].distance < 0.01 && error[other].angle <= 0.1 + 1e-9);
    }
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_poses_come_back),
        cmocka_unit_test(a_leg_whose_axes_do_not_meet_reaches_its_poses),
        cmocka_unit_test(a_smooth_motion_gives_smooth_joints),
        cmocka_unit_test(every_order_of_hip_axes_is_solved),
        cmocka_unit_test(out_of_reach_gives_the_nearest_pose_and_says_so),
        cmocka_unit_test(too_far_is_a_straight_leg_that_points_there),
        cmocka_unit_test(coupled_legs_agree_on_their_joint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
