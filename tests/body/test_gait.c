/* What a learned walk sees and says is made from the model of any robot, and its mirror image is that of the robot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "body/gait.h"
#include "body/kinematics.h"

static const char *const ROBOTS[] = {"kid70", "darwin"};

static const struct nm_body *load(struct nm_arena *arena, const char *name, struct nm_gait *gait)
{
    struct nm_err err = {0};
    char path[300];
    snprintf(path, sizeof path, NM_ROOT "/robots/%s", name);
    const struct nm_body *body = nm_body_load(arena, path, &err);
    if (!body || nm_gait_init(gait, body, &err)) fail_msg("%s", err.text);
    return body;
}

static void the_stance_stands(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct nm_arena arena = {0};
        struct nm_gait g;
        struct nm_kin kin;
        const struct nm_body *body = load(&arena, ROBOTS[i], &g);
        nm_forward(body, POSE_IDENTITY, g.stance, &kin);
        struct vec3 l = kin.pose[body->foot[NM_LEFT].sole].pos, r = kin.pose[body->foot[NM_RIGHT].sole].pos,
                    com = nm_com(body, &kin);
        assert_true(fabs(l.x - r.x) < 1e-3 && fabs(l.z - r.z) < 1e-3 && fabs(l.y + r.y) < 2e-3);
        assert_true(fabs(com.x - l.x) < 2e-3); /* the mass is above the feet */
        assert_true(g.apart > 0.03 && fabs(g.apart - (l.y - r.y)) < 1e-9);
        for (uint32_t side = 0; side < 2; side++) { /* soles are flat, knees bent */
            struct vec3 up = quat_apply(kin.pose[body->foot[side].sole].rot, (struct vec3){0, 0, 1});
            assert_true(up.z > 0.9999);
            assert_true(fabs(g.stance[body->leg[side].joints[3]]) > 0.3);
        }
        assert_int_equal(g.n_joints, 14);
        nm_arena_free(&arena);
    }
}

/* Servos keep their gain. The same body with motors that turn at 30 rad/s follows its policy less stiffly, both sides
 * alike, and is still stiffer than its weight. */
static void fast_motors_follow_softly(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct nm_arena arena = {0};
        struct nm_gait g, fast;
        struct nm_err err = {0};
        struct nm_joint joints[NM_JOINTS];
        struct nm_body quick = *load(&arena, ROBOTS[i], &g);
        memcpy(joints, quick.joints, quick.n_joints * sizeof *joints);
        quick.joints = joints;
        for (uint32_t j = 0; j < quick.n_joints; j++) joints[j].velocity = 30;
        if (nm_gait_init(&fast, &quick, &err)) fail_msg("%s", err.text);
        double weight = quick.mass * 9.81 * g.stride;
        for (uint32_t j = 0; j < quick.n_joints; j++) assert_true(g.stiffness[j] == 1);
        for (uint32_t k = 0; k < 6; k++) {
            uint32_t left = g.joints[k], right = g.joints[6 + k];
            assert_true(fast.stiffness[left] <= 1 && fast.stiffness[left] == fast.stiffness[right]);
            assert_true(fast.stiffness[left] * nm_motor_of(&quick, left).gain > weight);
        }
        uint32_t knee = g.joints[3];
        double gain = nm_motor_of(&quick, knee).gain;
        assert_true(fabs(fast.stiffness[knee] * gain - fmin(gain, 2.2 * weight)) < 1e-9 * weight);
        nm_arena_free(&arena);
    }
}

/* Twice mirrored is as before, and a mirrored action moves the feet as a mirror shows them. */
static void the_mirror_is_true(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct nm_arena arena = {0};
        struct nm_gait g;
        const struct nm_body *body = load(&arena, ROBOTS[i], &g);
        for (uint32_t k = 0; k < NM_GAIT_OBS; k++) {
            assert_int_equal(g.obs[g.obs[k].from].from, k);
            assert_true(g.obs[k].sign * g.obs[g.obs[k].from].sign == 1);
        }
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) {
            assert_int_equal(g.act[g.act[k].from].from, k);
            assert_true(g.act[k].sign * g.act[g.act[k].from].sign == 1);
        }
        float act[NM_GAIT_ACTS], turned[NM_GAIT_ACTS];
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) act[k] = 0.3f * (float)sin(7.0 * k + 1);
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) turned[k] = g.act[k].sign * act[g.act[k].from];
        struct nm_gait_state a, b;
        struct nm_kin one, two;
        double q[NM_JOINTS], p[NM_JOINTS];
        const double ahead[3] = {0.2, 0, 0};
        nm_gait_start(&g, &a, 0), nm_gait_start(&g, &b, 0);
        nm_gait_act(&g, &a, act, ahead, q), nm_gait_act(&g, &b, turned, ahead, p);
        nm_forward(body, POSE_IDENTITY, q, &one), nm_forward(body, POSE_IDENTITY, p, &two);
        struct vec3 l = one.pose[body->foot[NM_LEFT].sole].pos, r = two.pose[body->foot[NM_RIGHT].sole].pos;
        assert_true(fabs(l.x - r.x) < 2e-3 && fabs(l.y + r.y) < 2e-3 && fabs(l.z - r.z) < 2e-3);
        nm_arena_free(&arena);
    }
}

static void observations_mirror_like_the_robot(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_gait g;
    load(&arena, "kid70", &g);
    struct nm_gait_state a, b;
    float one[NM_GAIT_OBS], two[NM_GAIT_OBS], act[NM_GAIT_ACTS], turned[NM_GAIT_ACTS];
    double q[NM_JOINTS], p[NM_JOINTS];
    const double left[3] = {0.1, 0.2, -0.3}, right[3] = {0.1, -0.2, 0.3};
    nm_gait_start(&g, &a, 0.1), nm_gait_start(&g, &b, 0.6);
    for (int step = 0; step < 6; step++) {
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) act[k] = 0.3f * (float)sin(7.0 * k + step);
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) turned[k] = g.act[k].sign * act[g.act[k].from];
        nm_gait_act(&g, &a, act, left, q), nm_gait_act(&g, &b, turned, right, p);
        struct vec3 gyro = {0.1, 0.2 * step, 0.3}, up = {0.05, 0.1, 0.98};
        nm_gait_observe(&g, &a, gyro, up, q, left, one);
        nm_gait_observe(&g, &b, (struct vec3){-gyro.x, gyro.y, -gyro.z}, (struct vec3){up.x, -up.y, up.z}, p, right,
                        two);
        for (uint32_t k = 0; k < NM_GAIT_OBS; k++)
            assert_true(fabsf(two[k] - g.obs[k].sign * one[g.obs[k].from]) < 1e-4f);
    }
    nm_arena_free(&arena);
}

static void goals_stay_inside_of_the_ranges(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_gait g;
    const struct nm_body *body = load(&arena, "kid70", &g);
    struct nm_gait_state s;
    double q[NM_JOINTS];
    const double ahead[3] = {0.2, 0, 0};
    for (int sign = -1; sign <= 1; sign += 2) {
        float act[NM_GAIT_ACTS];
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) act[k] = (float)sign * 1e6f;
        nm_gait_start(&g, &s, 0);
        nm_gait_act(&g, &s, act, ahead, q);
        for (uint32_t j = 0; j < body->n_joints; j++)
            assert_true(q[j] >= body->joints[j].lower && q[j] <= body->joints[j].upper);
    }
    nm_arena_free(&arena);
}

/* Asked for nothing the clock ends its step and stops; asked again it goes on from there. */
static void the_clock_stops_between_two_steps(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_gait g;
    load(&arena, "kid70", &g);
    struct nm_gait_state s;
    const float act[NM_GAIT_ACTS] = {0};
    const double still[3] = {0}, ahead[3] = {0.2, 0, 0};
    double q[NM_JOINTS];
    float obs[NM_GAIT_OBS];
    nm_gait_start(&g, &s, 0.2);
    int n = 0;
    for (; n < 100 && !s.stands; n++) {
        assert_true(nm_gait_swing(&s) > 0); /* the left foot is in the air, and comes down first */
        nm_gait_act(&g, &s, act, still, q);
    }
    double rest = s.phase;
    assert_true(n > 1 && n < 60 && rest < 0.5 && rest > 0.4);
    nm_gait_act(&g, &s, act, still, q);
    assert_true(s.phase == rest && nm_gait_swing(&s) == 0);
    nm_gait_observe(&g, &s, (struct vec3){0}, (struct vec3){0, 0, 1}, q, still, obs);
    assert_true(obs[NM_GAIT_OBS - 2] == 0 && obs[NM_GAIT_OBS - 1] == 0);
    nm_gait_act(&g, &s, act, ahead, q);
    assert_true(!s.stands && s.phase > rest);
    nm_arena_free(&arena);
}

static void a_body_without_such_legs_is_refused(void **state)
{
    (void)state;
    struct nm_gait g;
    struct nm_err err = {0};
    struct nm_body body = {.name = "cart"};
    assert_int_equal(nm_gait_init(&g, &body, &err), -1);
    assert_non_null(strstr(err.text, "cart"));
}

/* The note in a policy's file fits the robot that it was written for, and each number in it is compared. */
static void a_note_of_another_gait_is_refused(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_gait g, other;
    struct nm_err err = {0};
    char text[4000];
    load(&arena, "kid70", &g);
    assert_true(nm_gait_describe(&g, text, sizeof text) < (int)sizeof text);
    assert_int_equal(nm_gait_check(&g, text, &err), 0);
    assert_int_equal(nm_gait_check(&g, "joints:\n  - [left_knee, 9, 9]", &err), -1);
    assert_int_equal(nm_gait_check(&g, "joints:\n  - [left_knee]", NULL), -1);
    assert_int_equal(nm_gait_check(&g, "meaning: 2", NULL), -1);
    assert_int_equal(nm_gait_check(&g, "", NULL), 0);
    const struct {
        double *number;
        const char *says;
    } all[] = {{&other.stance[g.joints[3]], "stance of left_knee"},
               {&other.scale[9], "size of an action of right_knee"},
               {&other.lift[3], "lift in the swing of left_knee"},
               {&other.rate, "clock"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        other = g;
        *all[i].number += 0.05;
        err = (struct nm_err){0};
        assert_int_equal(nm_gait_check(&other, text, &err), -1);
        if (!strstr(err.text, all[i].says)) fail_msg("%s: %s", all[i].says, err.text);
    }
    load(&arena, "darwin", &other);
    assert_int_equal(nm_gait_check(&other, text, NULL), -1);
    nm_arena_free(&arena);
}

/* A body that does at once what it is told gets to any place, faces where it should, is never faster than allowed, and
 * does not go past it; one that follows late is asked for less as it comes near. */
static void a_drive_ends_at_its_place(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_gait g;
    load(&arena, "kid70", &g);
    const double most[4] = {1.3, 0.8, 0.7, 4}, dt = 0.016, slow[3] = {0}, fast[3] = {1, 0, 0};
    const struct pose2 places[] = {{1.5, 0, 0}, {-1, 0.3, 1}, {0.2, -1, -3}, {0, 0, 2}, {0.05, 0.02, 0.1}};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        struct pose2 at = {0}, left = places[p];
        double v[3] = {0}, most_done = 0;
        for (int i = 0; i < 400; i++) {
            left = pose2_mul(pose2_inv(at), places[p]);
            nm_gait_drive(&g, left, slow, most, v);
            assert_true(v[0] <= most[0] + 1e-9 && v[0] >= -most[1] - 1e-9 && fabs(v[1]) <= most[2] + 1e-9);
            assert_true(fabs(v[2]) <= most[3] + 1e-9);
            at = pose2_mul(at, (struct pose2){v[0] * dt, v[1] * dt, v[2] * dt});
            most_done = fmax(most_done, hypot(at.x, at.y));
        }
        assert_true(hypot(left.x, left.y) < 0.01 && fabs(left.theta) < 0.02);
        assert_true(most_done < hypot(places[p].x, places[p].y) + 0.02);
    }
    double still[3], moving[3];
    nm_gait_drive(&g, (struct pose2){0.3, 0, 0}, slow, most, still);
    nm_gait_drive(&g, (struct pose2){0.3, 0, 0}, fast, most, moving);
    assert_true(moving[0] < 0.8 * still[0] && moving[0] > 0);
    nm_arena_free(&arena);
}

/* Slow is who is asked for little, in all directions together, for a while; who is asked for more is not, at once. */
static void slow_is_who_stays_slow(void **state)
{
    (void)state;
    const double most[4] = {1.5, 0.9, 0.8, 4.5}, spot[3] = {1e-6, 0, 0}, fast[3] = {1.4, 0, 0};
    const double half[3] = {-0.02 * 0.9, 0.02 * 0.8, -0.025 * 4.5}, much[3] = {-0.11 * 0.9, 0, 0};
    struct nm_gait_state s = {0};
    double slow = 0;
    for (int i = 0; i < 45; i++) assert_float_equal(nm_gait_slow(&s, spot, most), 0, 1e-9);
    for (int i = 0; i < 30; i++) {
        double now = nm_gait_slow(&s, spot, most);
        assert_true(now >= slow);
        slow = now;
    }
    assert_float_equal(slow, 1, 1e-9);
    assert_float_equal(nm_gait_slow(&s, half, most), 0.5, 1e-3);
    assert_float_equal(nm_gait_slow(&s, much, most), 0, 1e-9);
    assert_float_equal(nm_gait_slow(&s, spot, most), 0, 1e-9); /* and has to stay slow again */
    for (int i = 0; i < 100; i++) nm_gait_slow(&s, spot, most);
    assert_float_equal(nm_gait_slow(&s, fast, most), 0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stance_stands),
        cmocka_unit_test(fast_motors_follow_softly),
        cmocka_unit_test(the_mirror_is_true),
        cmocka_unit_test(observations_mirror_like_the_robot),
        cmocka_unit_test(goals_stay_inside_of_the_ranges),
        cmocka_unit_test(the_clock_stops_between_two_steps),
        cmocka_unit_test(a_body_without_such_legs_is_refused),
        cmocka_unit_test(a_note_of_another_gait_is_refused),
        cmocka_unit_test(a_drive_ends_at_its_place),
        cmocka_unit_test(slow_is_who_stays_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
