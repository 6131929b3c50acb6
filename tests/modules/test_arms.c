/* Arms go through key states on request: with bounded speed, behind the back only by way of the side, back to the walk
 * after the time-out, and never against somebody who stands above them. */
#include "modules/body_rig.h"

#include "body/animation.h"

#include "nutmeg_msgs/ArmCommand.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"

extern const struct nm_module arms_module;

#define TICK 0.008

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_harness *h;
    uint8_t above;       /* owner of both arms where they are not the walk's or arms' */
    double q[NM_JOINTS]; /* told last                                                 */
    bool asked[2];       /* arm_goals named that arm in the last step                 */
};

static void begin(struct rig *r)
{
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, KID70);
    r->h = nm_harness_new_with(&arms_module,
                               "aside=[0.2, 0.6, -0.6], back=[1.2, 0.25, -1.2], front=[-0.6, 0.2, -1.2], speed=2, "
                               "fast_speed=4",
                               r->body);
}

static void end(struct rig *r)
{
    nm_harness_free(r->h);
    nm_arena_free(&r->arena);
}

/* The manager and the gate: an arm is given when it is asked for. */
static void step(struct rig *r)
{
    HcmState *s = nm_harness_set(r->h, "hcm_state");
    s->left_arm_owner = r->above ? r->above : r->asked[NM_LEFT] ? HcmState_OWNER_ARMS : HcmState_OWNER_WALK;
    s->right_arm_owner = r->above ? r->above : r->asked[NM_RIGHT] ? HcmState_OWNER_ARMS : HcmState_OWNER_WALK;
    JointGoals *told = nm_harness_set(r->h, "joint_goals");
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        nm_text(told->name.at[j], "%s", r->body->joints[j].name);
        told->position.at[j] = r->q[j];
    }
    told->name.n = told->position.n = r->body->n_joints;
    const uint8_t owner[2] = {s->left_arm_owner, s->right_arm_owner};
    nm_harness_step(r->h, TICK);
    const JointGoals *goals = nm_harness_get(r->h, "arm_goals");
    bool news = nm_harness_fresh(r->h, "arm_goals");
    memset(r->asked, 0, sizeof r->asked);
    for (uint32_t i = 0; news && i < goals->name.n; i++) {
        int32_t j = nm_find_joint(r->body, goals->name.at[i]);
        int side = goals->name.at[i][0] == 'l' ? NM_LEFT : NM_RIGHT;
        r->asked[side] = true;
        if (owner[side] != HcmState_OWNER_ARMS) continue;
        assert_true(fabs(goals->position.at[i] - r->q[j]) < 4.001 * TICK);
        r->q[j] = goals->position.at[i];
    }
}

static void go_on(struct rig *r, double seconds)
{
    for (double t = 0; t < seconds; t += TICK) step(r);
}

static void command(struct rig *r, const char *left, const char *right, float timeout, bool fast)
{
    ArmCommand *c = nm_harness_set(r->h, "arm_command");
    nm_text(c->left, "%s", left);
    nm_text(c->right, "%s", right);
    c->timeout = timeout;
    c->fast = fast;
}

static double angle(const struct rig *r, const char *joint) { return r->q[nm_find_joint(r->body, joint)]; }

static void an_arm_goes_aside_and_its_mirror_image_too(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    go_on(&r, 0.1);
    assert_false(r.asked[NM_LEFT]);
    command(&r, "aside", "", 0, false);
    go_on(&r, 1);
    assert_near(angle(&r, "left_shoulder_roll"), 0.6, 1e-9);
    assert_near(angle(&r, "left_elbow"), -0.6, 1e-9);
    assert_near(angle(&r, "right_shoulder_roll"), 0, 1e-9);
    assert_false(r.asked[NM_RIGHT]);
    command(&r, "aside", "aside", 0, false);
    go_on(&r, 1);
    assert_near(angle(&r, "right_shoulder_roll"), -0.6, 1e-9);
    assert_near(angle(&r, "right_shoulder_pitch"), 0.2, 1e-9);
    assert_near(angle(&r, "right_elbow"), -0.6, 1e-9);
    end(&r);
}

static void behind_the_back_only_by_way_of_the_side(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    go_on(&r, 0.1);
    command(&r, "back", "", 0, true);
    bool was_aside = false;
    for (int i = 0; i < 200; i++) {
        step(&r);
        was_aside |= fabs(angle(&r, "left_shoulder_roll") - 0.6) < 1e-9;
        if (!was_aside) assert_true(angle(&r, "left_shoulder_pitch") <= 0.2 + 1e-9);
    }
    assert_true(was_aside);
    assert_near(angle(&r, "left_shoulder_pitch"), 1.2, 1e-9);
    command(&r, "", "", 0, true); /* and home the same way */
    was_aside = false;
    for (int i = 0; i < 200; i++) {
        step(&r);
        was_aside |= fabs(angle(&r, "left_shoulder_roll") - 0.6) < 1e-9;
    }
    assert_true(was_aside);
    assert_false(r.asked[NM_LEFT]);
    end(&r);
}

static void after_the_time_out_the_walk_has_the_arms_again(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    go_on(&r, 0.1);
    command(&r, "front", "front", 1, false);
    go_on(&r, 0.9);
    assert_true(r.asked[NM_LEFT] && r.asked[NM_RIGHT]);
    go_on(&r, 0.2);
    assert_false(r.asked[NM_LEFT] || r.asked[NM_RIGHT]);
    end(&r);
}

/* While falling the arms are the manager's: nothing is asked for. Then the command, which still stands, goes on from
 * where the arms are. */
static void a_fall_takes_precedence(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    go_on(&r, 0.1);
    command(&r, "aside", "aside", 0, false);
    go_on(&r, 0.1);
    r.above = HcmState_OWNER_HCM;
    go_on(&r, 0.1);
    assert_false(r.asked[NM_LEFT] || r.asked[NM_RIGHT]);
    r.q[nm_find_joint(r.body, "left_shoulder_pitch")] = -1;
    r.above = 0;
    go_on(&r, 3 * TICK);
    assert_true(fabs(angle(&r, "left_shoulder_pitch") + 1) < 0.1);
    go_on(&r, 2);
    assert_near(angle(&r, "left_shoulder_pitch"), 0.2, 1e-9);
    end(&r);
}

static void an_unknown_key_state_is_told_and_changes_nothing(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    go_on(&r, 0.1);
    command(&r, "sideways", "", 0, false);
    step(&r);
    assert_int_equal(lines_with(r.h, "no key state of the arms is called sideways"), 1);
    go_on(&r, 0.5);
    assert_false(r.asked[NM_LEFT]);
    end(&r);
}

/* From the walk's arms through every key state and home: no part of any robot meets another on the way. */
static void no_way_of_the_arms_meets_the_body(void **state)
{
    (void)state;
    static const char *const robots[] = {KID70, DARWIN}, *const keys[] = {"aside", "back", "front", "up", "back", ""};
    static const double walks[] = {0.35, 0.17, -1.57}, legs[] = {0, 0, -0.4, 0.7, -0.4, 0};
    for (int i = 0; i < 2; i++) {
        struct rig r = {0};
        uint32_t links[2];
        r.body = load(&r.arena, robots[i]);
        r.h = nm_harness_new_with(&arms_module, NULL, r.body);
        for (int side = 0; side < 2; side++) {
            for (uint32_t k = 0; k < 3; k++)
                r.q[r.body->arm[side].joints[k]] = side == NM_RIGHT && k == 1 ? -walks[k] : walks[k];
            for (uint32_t k = 0; k < 6; k++) r.q[r.body->leg[side].joints[k]] = legs[k];
        }
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            command(&r, keys[k], keys[k], 0, true);
            for (int t = 0; t < 200; t++) {
                step(&r);
                if (nm_self_collision(r.body, r.q, 0.003, links))
                    fail_msg("on the way to '%s' %s and %s meet", keys[k], r.body->frames[links[0]].name,
                             r.body->frames[links[1]].name);
            }
        }
        assert_false(r.asked[NM_LEFT] || r.asked[NM_RIGHT]);
        end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arm_goes_aside_and_its_mirror_image_too),
        cmocka_unit_test(behind_the_back_only_by_way_of_the_side),
        cmocka_unit_test(after_the_time_out_the_walk_has_the_arms_again),
        cmocka_unit_test(a_fall_takes_precedence),
        cmocka_unit_test(an_unknown_key_state_is_told_and_changes_nothing),
        cmocka_unit_test(no_way_of_the_arms_meets_the_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
