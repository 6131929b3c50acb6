/* The last gate before the motors: goals come out in servo angles, inside the joints' limits, and nothing that is no
 * number, no joint of this robot or not asked for comes out at all. */
#include "modules/body_rig.h"
#include "nutmeg_msgs/JointGoals.h"

extern const struct nm_module motor_goals_module;

static const struct nm_body *body; /* darwin: servos in both directions, with offsets */

static void add_goal(JointGoals *g, const char *name, double position)
{
    uint32_t i = g->name.n++;
    nm_text(g->name.at[i], "%s", name);
    g->position.at[i] = position;
    g->position.n = i + 1;
}

/* The goal of a joint as its servo gets it, turned back into joint space; NaN if it got none. */
static double sent(struct nm_harness *h, const char *name)
{
    const JointGoals *g = nm_harness_get(h, "servo_goals");
    const struct nm_servo *s = &body->servos[body->joints[nm_find_joint(body, name)].servo];
    for (uint32_t i = 0; g && i < g->name.n; i++)
        if (!strcmp(g->name.at[i], name)) return s->direction * g->position.at[i] + s->offset;
    return NAN;
}

static void goals_inside_the_limits_arrive_as_they_are(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_goals_module, NULL, body);
    uint64_t seed = 2;
    for (int round = 0; round < 50; round++) {
        double q[NM_JOINTS];
        JointGoals *g = nm_harness_set(h, "joint_goals");
        dice_joints(&seed, body, q);
        for (uint32_t i = body->n_joints; i-- > 0;) add_goal(g, body->joints[i].name, q[i]); /* in any order */
        nm_harness_step(h, 0.01);
        for (uint32_t i = 0; i < body->n_joints; i++) assert_near(sent(h, body->joints[i].name), q[i], 1e-12);
    }
    nm_harness_free(h);
}

static void a_goal_beyond_a_limit_is_held_there_and_does_not_move_on(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_goals_module, NULL, body);
    const struct nm_joint *knee = &body->joints[nm_find_joint(body, "left_knee")];
    JointGoals *g = nm_harness_set(h, "joint_goals");
    add_goal(g, "left_knee", knee->upper + 1);
    add_goal(g, "right_knee", 0.5);
    g->velocity.at[0] = g->velocity.at[1] = 2;
    g->effort.at[0] = 1000, g->effort.at[1] = -1000;
    g->stiffness.at[0] = 7, g->stiffness.at[1] = -1;
    g->velocity.n = g->effort.n = g->stiffness.n = 2;
    nm_harness_step(h, 0.01);
    const JointGoals *out = nm_harness_get(h, "servo_goals");
    assert_near(sent(h, "left_knee"), knee->upper, 1e-12);
    assert_near(out->velocity.at[0], 0, 0);
    assert_near(fabs(out->velocity.at[1]), 2, 1e-12);
    assert_near(fabs(out->effort.at[0]), knee->effort, 1e-9);
    assert_near(out->stiffness.at[0], 1, 0);
    assert_near(out->stiffness.at[1], 0, 0);
    nm_harness_free(h);
}

static void what_is_no_number_is_refused_and_the_rest_goes_on(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct nm_harness *h = nm_harness_new_with(&motor_goals_module, NULL, body);
        JointGoals *g = nm_harness_set(h, "joint_goals");
        add_goal(g, "left_knee", round == 0 ? (double)NAN : 0.3);
        add_goal(g, "right_knee", 0.4);
        if (round == 1) g->velocity.at[0] = INFINITY, g->velocity.at[1] = 0, g->velocity.n = 2;
        if (round == 2) g->stiffness.at[0] = NAN, g->stiffness.at[1] = 1, g->stiffness.n = 2;
        nm_harness_step(h, 0.01);
        assert_true(isnan(sent(h, "left_knee")));
        assert_near(sent(h, "right_knee"), 0.4, 1e-12);
        assert_int_equal(lines_with(h, "goal of left_knee refused: the goal is not a number"), 1);
        nm_harness_free(h);
    }
}

static void a_fault_is_told_once_until_it_is_over(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_goals_module, NULL, body);
    uint32_t told = 0;
    for (int i = 0; i < 400; i++) {
        JointGoals *g = nm_harness_set(h, "joint_goals");
        bool bad = i < 100 || i > 300;
        add_goal(g, bad ? "tail" : "left_knee", 0.1);
        nm_harness_step(h, 0.01);
        told += lines_with(h, "tail refused: this robot has no such joint");
        assert_int_equal(nm_harness_fresh(h, "servo_goals"), !bad);
    }
    assert_int_equal(told, 2);
    nm_harness_free(h);
}

static void joints_not_named_and_values_not_given_are_left_out(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_goals_module, NULL, body);
    JointGoals *g = nm_harness_set(h, "joint_goals");
    add_goal(g, "head_yaw", 0.2);
    add_goal(g, "head_yaw", 0.3); /* named twice: the first counts */
    nm_harness_step(h, 0.01);
    const JointGoals *out = nm_harness_get(h, "servo_goals");
    assert_int_equal(out->name.n, 1);
    assert_near(sent(h, "head_yaw"), 0.2, 1e-12);
    assert_int_equal(out->velocity.n + out->effort.n + out->stiffness.n + out->max_effort.n, 0);
    nm_harness_free(h);
}

static void arrays_of_different_length_are_refused_whole(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_goals_module, NULL, body);
    JointGoals *g = nm_harness_set(h, "joint_goals");
    add_goal(g, "head_yaw", 0.2);
    add_goal(g, "head_pitch", 0.2);
    g->velocity.n = 1;
    nm_harness_step(h, 0.01);
    assert_null(nm_harness_get(h, "servo_goals"));
    assert_int_equal(lines_with(h, "the arrays differ in length"), 1);
    nm_harness_free(h);
}

static void old_goals_are_not_repeated(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_goals_module, NULL, body);
    JointGoals *g = nm_harness_set(h, "joint_goals");
    add_goal(g, "head_yaw", 0.2);
    nm_harness_step(h, 0.01);
    assert_true(nm_harness_fresh(h, "servo_goals"));
    nm_harness_step(h, 0.01);
    assert_false(nm_harness_fresh(h, "servo_goals"));
    nm_harness_free(h);
}

int main(void)
{
    struct nm_arena arena = {0};
    body = nm_body_load(&arena, DARWIN, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goals_inside_the_limits_arrive_as_they_are),
        cmocka_unit_test(a_goal_beyond_a_limit_is_held_there_and_does_not_move_on),
        cmocka_unit_test(what_is_no_number_is_refused_and_the_rest_goes_on),
        cmocka_unit_test(a_fault_is_told_once_until_it_is_over),
        cmocka_unit_test(joints_not_named_and_values_not_given_are_left_out),
        cmocka_unit_test(arrays_of_different_length_are_refused_whole),
        cmocka_unit_test(old_goals_are_not_repeated),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nm_arena_free(&arena);
    return failed;
}
