/* hold_pose: from wherever the joints are found, gently and mirrored, into a pose over which the robot's mass stands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "body/kinematics.h"
#include "core/harness.h"
#include "nutmeg_msgs/JointGoals.h"
#include "sensor_msgs/JointState.h"

extern const struct nm_module hold_pose_module;
static const char *const robots[] = {"kid70", "darwin"};

static const struct nm_body *load(struct nm_arena *arena, const char *name)
{
    char path[512];
    struct nm_err err = {0};
    snprintf(path, sizeof path, "%s/robots/%s", NM_ROOT, name);
    const struct nm_body *body = nm_body_load(arena, path, &err);
    if (!body) fail_msg("%s", err.text);
    return body;
}

/* The robot's own parameters, as its folder has them. */
static void settings(const struct nm_body *body, const char *more, char *to, size_t size)
{
    const struct nm_yaml *legs = nm_yaml_get(nm_yaml_get(body->params, "hold_pose"), "stand_legs");
    size_t used = (size_t)snprintf(to, size, "%s, stand_legs=", more);
    assert_non_null(legs);
    nm_yaml_each(angle, legs) used += (size_t)snprintf(to + used, size - used, "%s ", angle->text);
    assert_true(used < size);
}

static void tell_joints(struct nm_harness *h, const struct nm_body *body, double all)
{
    JointState *s = nm_harness_set(h, "joint_states");
    for (uint32_t j = 0; j < body->n_joints; j++) {
        snprintf(s->name.at[j], sizeof s->name.at[j], "%s", body->joints[j].name);
        s->position.at[j] = all;
    }
    s->name.n = s->position.n = body->n_joints;
}

static double goal(const JointGoals *g, const char *name)
{
    for (uint32_t i = 0; i < g->name.n; i++)
        if (!strcmp(g->name.at[i], name)) return g->position.at[i];
    fail_msg("no goal for %s", name);
    return 0;
}

static void near(double a, double b, double most)
{
    if (!(fabs(a - b) <= most)) fail_msg("%g is not within %g of %g", a, most, b);
}

static void it_waits_for_the_joints_and_sets_out_from_there(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, "kid70");
    struct nm_harness *h = nm_harness_new_with(&hold_pose_module, "duration=1, stand_legs=0 0.1 -0.4 0.8 -0.4 0", body);
    nm_harness_step(h, 0.01);
    assert_null(nm_harness_get(h, "joint_goals"));
    tell_joints(h, body, 0.2);
    nm_harness_step(h, 0.01);
    const JointGoals *g = nm_harness_get(h, "joint_goals");
    assert_int_equal(g->name.n, 20);
    near(goal(g, "left_knee"), 0.2, 1e-3);
    double last = 0.2, fastest = 0;
    for (int i = 0; i < 100; i++) {
        nm_harness_step(h, 0.01);
        double now = goal(nm_harness_get(h, "joint_goals"), "left_knee");
        assert_true(now >= last - 1e-12);
        fastest = fmax(fastest, (now - last) / 0.01);
        last = now;
    }
    near(last, 0.8, 1e-6);
    near(fastest, 0.6 * 1.875, 0.01); /* the peak of least jerk */
    g = nm_harness_get(h, "joint_goals");
    near(goal(g, "left_hip_roll"), 0.1, 1e-6);
    near(goal(g, "right_hip_roll"), -0.1, 1e-6); /* mirrored */
    near(goal(g, "right_hip_pitch"), -0.4, 1e-6);
    nm_harness_free(h);
    nm_arena_free(&arena);
}

/* Where the mass stands, seen from the middle of the soles' cells, in shares of their half length. */
static double balance(const struct nm_body *body, const JointGoals *g)
{
    double q[NM_JOINTS] = {0}, low = 1, high = -1;
    struct nm_kin kin;
    for (uint32_t i = 0; i < g->name.n; i++) q[nm_find_joint(body, g->name.at[i])] = g->position.at[i];
    nm_forward(body, POSE_IDENTITY, q, &kin);
    struct pose3 sole = kin.pose[body->foot[0].sole];
    double mass = pose_apply(pose_inv(sole), nm_com(body, &kin)).x;
    for (uint32_t c = 0; c < body->foot[0].n_cells; c++) {
        double x = pose_apply(pose_inv(sole), kin.pose[body->foot[0].cells[c]].pos).x;
        low = fmin(low, x), high = fmax(high, x);
    }
    return (mass - (low + high) / 2) / ((high - low) / 2);
}

static void the_mass_stands_over_the_feet(void **state)
{
    (void)state;
    static const char *const poses[] = {"pose=stand", "pose=sit", "pose=straight"};
    for (int r = 0; r < 2; r++)
        for (int p = 0; p < 3; p++) {
            struct nm_arena arena = {0};
            const struct nm_body *body = load(&arena, robots[r]);
            char text[256];
            settings(body, poses[p], text, sizeof text);
            struct nm_harness *h = nm_harness_new_with(&hold_pose_module, text, body);
            tell_joints(h, body, 0);
            nm_harness_step(h, 0.01);
            nm_harness_step(h, 5);
            const JointGoals *g = nm_harness_get(h, "joint_goals");
            if (!(fabs(balance(body, g)) < (p ? 0.5 : 0.1)))
                fail_msg("%s %s: %g", robots[r], poses[p], balance(body, g));
            for (uint32_t i = 0; i < g->name.n; i++) {
                const struct nm_joint *j = &body->joints[nm_find_joint(body, g->name.at[i])];
                if (g->position.at[i] < j->lower || g->position.at[i] > j->upper)
                    fail_msg("%s %s: %s", robots[r], poses[p], j->name);
            }
            nm_harness_free(h);
            nm_arena_free(&arena);
        }
}

static void joints_that_come_late_join_in(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, "kid70");
    struct nm_harness *h = nm_harness_new_with(&hold_pose_module, "duration=1", body);
    JointState *s = nm_harness_set(h, "joint_states");
    snprintf(s->name.at[0], sizeof s->name.at[0], "left_knee");
    snprintf(s->name.at[1], sizeof s->name.at[1], "right_knee");
    s->position.at[0] = 0.3;
    s->position.at[1] = NAN;
    s->name.n = s->position.n = 2;
    nm_harness_step(h, 0.01);
    assert_int_equal(((const JointGoals *)nm_harness_get(h, "joint_goals"))->name.n, 1);
    tell_joints(h, body, 0.5);
    nm_harness_step(h, 0.01);
    const JointGoals *g = nm_harness_get(h, "joint_goals");
    assert_int_equal(g->name.n, 20);
    near(goal(g, "left_knee"), 0.3, 0.01); /* goes on from where its goal stood */
    near(goal(g, "right_knee"), 0.5, 0.01);
    nm_harness_free(h);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_waits_for_the_joints_and_sets_out_from_there),
        cmocka_unit_test(the_mass_stands_over_the_feet),
        cmocka_unit_test(joints_that_come_late_join_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
