/* Every group of joints follows its one owner: nobody else's goals reach the motors, a new owner takes over gently
 * where he must, and what is off is limp. */
#include "modules/body_rig.h"

#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"

extern const struct nm_module joint_owners_module;

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_harness *h;
    double q[NM_JOINTS];
};

static void begin(struct rig *r)
{
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, KID70);
    r->h = nm_harness_new_with(&joint_owners_module, "blend=0.4", r->body);
    for (uint32_t j = 0; j < r->body->n_joints; j++) r->q[j] = 0.05;
}

static void end(struct rig *r)
{
    nm_harness_free(r->h);
    nm_arena_free(&r->arena);
}

/* Goals for all joints of the body on a topic. */
static void tell(struct rig *r, const char *topic, double goal, float stiffness)
{
    JointGoals *g = nm_harness_set(r->h, topic);
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        nm_text(g->name.at[j], "%s", r->body->joints[j].name);
        g->position.at[j] = goal;
        g->stiffness.at[j] = stiffness;
    }
    g->name.n = g->position.n = g->stiffness.n = r->body->n_joints;
}

static const JointGoals *go_on(struct rig *r, uint8_t legs, uint8_t arms, uint8_t head, double seconds)
{
    for (double t = 0; t < seconds; t += 0.008) {
        HcmState *s = nm_harness_set(r->h, "hcm_state");
        s->left_leg_owner = s->right_leg_owner = legs;
        s->left_arm_owner = s->right_arm_owner = arms;
        s->head_owner = head;
        give_joints(r->h, r->body, r->q, NULL, t);
        tell(r, "walk_goals", 1, 1);
        tell(r, "animation_goals", 2, 0.5f);
        tell(r, "head_goals", 3, 1);
        tell(r, "kick_goals", 4, 1);
        tell(r, "arm_goals", 5, 1);
        nm_harness_step(r->h, 0.008);
    }
    return nm_harness_get(r->h, "joint_goals");
}

static double goal(const struct rig *r, const JointGoals *g, const char *name, float *stiffness)
{
    (void)r;
    for (uint32_t i = 0; i < g->name.n; i++)
        if (!strcmp(g->name.at[i], name)) {
            if (stiffness) *stiffness = g->stiffness.at[i];
            return g->position.at[i];
        }
    fail_msg("%s has no goal", name);
    return NAN;
}

static void each_group_has_one_owner(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    const JointGoals *g = go_on(&r, HcmState_OWNER_WALK, HcmState_OWNER_ANIMATION, HcmState_OWNER_HEAD, 1);
    float stiffness = -1;
    assert_int_equal(g->name.n, r.body->n_joints);
    assert_near(goal(&r, g, "left_knee", NULL), 1, 1e-12);
    assert_near(goal(&r, g, "right_ankle_roll", NULL), 1, 1e-12);
    assert_near(goal(&r, g, "left_elbow", &stiffness), 2, 1e-12);
    assert_near(stiffness, 0.5, 1e-6);
    assert_near(goal(&r, g, "head_yaw", NULL), 3, 1e-12);
    end(&r);
}

static void a_kick_moves_what_is_given_to_it_and_so_do_the_arms(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    const JointGoals *g = go_on(&r, HcmState_OWNER_KICK, HcmState_OWNER_KICK, HcmState_OWNER_HEAD, 0.1);
    assert_near(goal(&r, g, "left_knee", NULL), 4, 1e-12);
    assert_near(goal(&r, g, "right_elbow", NULL), 4, 1e-12);
    assert_true(goal(&r, g, "head_yaw", NULL) < 3.001);
    g = go_on(&r, HcmState_OWNER_WALK, HcmState_OWNER_ARMS, HcmState_OWNER_HEAD, 1);
    assert_near(goal(&r, g, "left_knee", NULL), 1, 1e-12);
    assert_near(goal(&r, g, "right_elbow", NULL), 5, 1e-12);
    end(&r);
}

static void nobody_holds_and_off_is_limp(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    float stiffness = -1;
    const JointGoals *g = go_on(&r, HcmState_OWNER_NOBODY, HcmState_OWNER_OFF, HcmState_OWNER_RECORD, 0.1);
    assert_near(goal(&r, g, "left_knee", &stiffness), 0.05, 1e-12);
    assert_near(stiffness, 1, 1e-6);
    for (uint32_t j = 0; j < r.body->n_joints; j++) r.q[j] = 0.3; /* a hand moves the robot */
    g = go_on(&r, HcmState_OWNER_NOBODY, HcmState_OWNER_OFF, HcmState_OWNER_RECORD, 0.1);
    assert_near(goal(&r, g, "left_knee", NULL), 0.05, 1e-12);
    assert_near(goal(&r, g, "left_elbow", &stiffness), 0.3, 1e-12);
    assert_near(stiffness, 0, 1e-6);
    end(&r);
}

/* No step of a goal is larger than the blend allows: 1.5 times the way over its duration. */
static void the_walk_takes_over_gently(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    double last =
        goal(&r, go_on(&r, HcmState_OWNER_HCM, HcmState_OWNER_HCM, HcmState_OWNER_HCM, 0.1), "left_knee", NULL);
    assert_near(last, 2, 1e-12);
    for (int i = 0; i < 100; i++) {
        const JointGoals *g = go_on(&r, HcmState_OWNER_WALK, HcmState_OWNER_WALK, HcmState_OWNER_HEAD, 0.004);
        double now = goal(&r, g, "left_knee", NULL);
        assert_true(fabs(now - last) < 1.6 * 0.008 / 0.4);
        last = now;
    }
    assert_near(last, 1, 1e-9);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_group_has_one_owner),
        cmocka_unit_test(a_kick_moves_what_is_given_to_it_and_so_do_the_arms),
        cmocka_unit_test(nobody_holds_and_off_is_limp),
        cmocka_unit_test(the_walk_takes_over_gently),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
