/* The kick as an action: refuses with the reason, asks for the joints and waits for them, plans, kicks, tells its
 * progress, and is over when the joints are taken away. */
#include "modules/body_rig.h"

#include "action_msgs/CancelGoal.h"
#include "action_msgs/GoalStatus.h"
#include "geometry_msgs/PointStamped.h"
#include "humanoid_league_msgs/Animation.h"
#include "humanoid_league_msgs/Kick.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"

extern const struct nm_module kick_module;

#define TICK 0.008
#define KICK "kick/_action/"

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_harness *h;
    uint8_t state; /* of the manager          */
    bool given;    /* the legs are the kick's */
    double q[NM_JOINTS], walked;
};

static void begin(struct rig *r)
{
    static const struct {
        const char *joint;
        double q;
    } stand[] = {{"hip_pitch", -0.44}, {"knee", 0.85}, {"ankle_pitch", -0.41}};
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, KID70);
    for (int i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", i & 1 ? "left" : "right", stand[i / 2].joint);
        r->q[nm_find_joint(r->body, name)] = stand[i / 2].q;
    }
    r->h = nm_harness_new_with(&kick_module, "patience=0.5", r->body);
}

static void end(struct rig *r)
{
    nm_harness_free(r->h);
    nm_arena_free(&r->arena);
}

static void go_on(struct rig *r)
{
    HcmState *s = nm_harness_set(r->h, "hcm_state");
    s->state = r->given ? HcmState_ANIMATION_RUNNING : r->state;
    s->left_leg_owner = s->right_leg_owner = r->given ? HcmState_OWNER_KICK : HcmState_OWNER_WALK;
    Odometry *o = nm_harness_set(r->h, "odometry");
    o->pose.pose.orientation.w = 1;
    o->pose.pose.position.x = r->walked;
    give_joints(r->h, r->body, r->q, NULL, 0);
    give_torso(r->h, QUAT_IDENTITY, (struct vec3){0, 0, 0});
    nm_harness_step(r->h, TICK);
}

static void send_towards(struct rig *r, uint8_t id, double x, double y, double target_x)
{
    Kick_SendGoal_Request *ask = nm_harness_request(r->h, KICK "send_goal", id);
    ask->goal_id.uuid[0] = id;
    ask->goal.ball_pos = (Vector3){x, y, 0};
    ask->goal.target = (Vector3){target_x, y, 0};
}

static void send(struct rig *r, uint8_t id, double x, double y) { send_towards(r, id, x, y, x + 5); }

static int accepted(struct rig *r)
{
    const void *const *at;
    if (nm_harness_queue(r->h, KICK "send_goal/reply", &at) != 1) return -1;
    return ((const Kick_SendGoal_Response *)at[0])->accepted;
}

/* The result of a goal, as a client gets it; NULL while there is none. */
static const Kick_GetResult_Response *result(struct rig *r, uint8_t id)
{
    const void *const *at;
    Kick_GetResult_Request *ask = nm_harness_request(r->h, KICK "get_result", 100 + id);
    ask->goal_id.uuid[0] = id;
    go_on(r);
    return nm_harness_queue(r->h, KICK "get_result/reply", &at) ? at[0] : NULL;
}

static const Animation *flags(struct rig *r)
{
    return nm_harness_fresh(r->h, "kick") ? nm_harness_get(r->h, "kick") : NULL;
}

static int percent(struct rig *r)
{
    const void *const *at;
    if (!nm_harness_queue(r->h, KICK "feedback", &at)) return -1;
    return ((const Kick_FeedbackMessage *)at[0])->feedback.percent_done;
}

/* Up to the moment when the joints are given. */
static void ask_and_get(struct rig *r, uint8_t id)
{
    go_on(r);
    send(r, id, 0.2, 0.05);
    go_on(r);
    assert_int_equal(accepted(r), 1);
    assert_true(flags(r) && flags(r)->request);
    assert_false(nm_harness_fresh(r->h, "kick_goals"));
    r->given = true;
    go_on(r);
    assert_true(flags(r) && flags(r)->first && !flags(r)->request);
}

static void it_refuses_with_the_reason(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    go_on(&r);
    send(&r, 1, 0.2, 0.4);
    go_on(&r);
    assert_null(flags(&r)); /* nothing moves, nobody is asked */
    const Kick_GetResult_Response *over = result(&r, 1);
    assert_non_null(over);
    assert_int_equal(over->result.result, Kick_Result_REJECTED);
    assert_non_null(strstr(over->result.reason, "cm too far left"));

    r.state = HcmState_FALLEN;
    go_on(&r);
    send(&r, 2, 0.2, 0.05);
    go_on(&r);
    over = result(&r, 2);
    assert_int_equal(over->result.result, Kick_Result_REJECTED);
    assert_non_null(strstr(over->result.reason, "not controlable"));

    r.state = HcmState_CONTROLABLE;
    go_on(&r);
    send(&r, 3, NAN, 0.05);
    go_on(&r);
    assert_int_equal(result(&r, 3)->result.result, Kick_Result_REJECTED);
    end(&r);
}

/* Whoever walks to the ball is told where it lies best, now and then, but not while it kicks. */
static void it_tells_where_the_ball_lies_best(void **state)
{
    (void)state;
    struct rig r;
    int told = 0;
    begin(&r);
    for (double t = 0; t < 5; t += TICK) {
        go_on(&r);
        if (!nm_harness_fresh(r.h, "kick_place")) continue;
        const PointStamped *place = nm_harness_get(r.h, "kick_place");
        assert_string_equal(place->header.frame_id, "base_footprint");
        assert_true(fabs(place->point.x - 0.2) < 0.01 && fabs(place->point.y - 0.03) < 0.01);
        told++;
    }
    assert_true(told >= 5 && told <= 20);
    ask_and_get(&r, 1);
    for (int i = 0; i < 200; i++) {
        go_on(&r);
        assert_false(nm_harness_fresh(r.h, "kick_place"));
    }
    end(&r);
}

static void it_waits_for_the_joints_but_not_for_ever(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    r.state = HcmState_WALKING;
    go_on(&r);
    send(&r, 1, 0.2, 0.05);
    for (int i = 0; i < 50; i++) {
        go_on(&r);
        assert_true(flags(&r)->request);
    }
    for (int i = 0; i < 20; i++) go_on(&r);
    assert_null(flags(&r));
    const Kick_GetResult_Response *over = result(&r, 1);
    assert_int_equal(over->result.result, Kick_Result_REJECTED);
    end(&r);
}

static void it_kicks_and_tells_its_progress(void **state)
{
    (void)state;
    struct rig r;
    int before = 0, ticks = 0;
    bool over = false;
    begin(&r);
    ask_and_get(&r, 1);
    while (!over && ticks++ < 1000) {
        go_on(&r);
        assert_non_null(flags(&r)); /* silence would be an end */
        over = flags(&r)->last;
        int now = percent(&r);
        if (now >= 0) assert_true(now >= before && now <= 100), before = now;
        const JointGoals *goals = nm_harness_get(r.h, "kick_goals");
        assert_int_equal(goals->name.n, 18); /* legs and arms */
        for (uint32_t i = 0; i < goals->position.n; i++) assert_true(isfinite(goals->position.at[i]));
    }
    assert_true(over);
    assert_int_equal(before, 100);
    r.given = false;
    const Kick_GetResult_Response *got = result(&r, 1);
    assert_int_equal(got->status, GoalStatus_STATUS_SUCCEEDED);
    assert_int_equal(got->result.result, Kick_Result_SUCCESS);
    end(&r);
}

/* From joints that were told something to joints that are told something else there is no jump. */
static void its_goals_begin_where_the_joints_were_told_to_be(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    ask_and_get(&r, 1);
    double before[NM_JOINTS];
    memcpy(before, r.q, sizeof before);
    for (int tick = 0; tick < 60; tick++) {
        const JointGoals *goals = nm_harness_get(r.h, "kick_goals");
        for (uint32_t i = 0; i < goals->name.n; i++) {
            int32_t joint = nm_find_joint(r.body, goals->name.at[i]);
            assert_true(fabs(goals->position.at[i] - before[joint]) < 0.02);
            before[joint] = goals->position.at[i];
        }
        go_on(&r);
    }
    end(&r);
}

static void it_gives_up_when_the_joints_are_taken(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    ask_and_get(&r, 1);
    for (int i = 0; i < 100; i++) go_on(&r);
    r.given = false;
    r.state = HcmState_FALLING;
    go_on(&r);
    assert_true(flags(&r)->last);
    const Kick_GetResult_Response *over = result(&r, 1);
    assert_int_equal(over->result.result, Kick_Result_ABORTED);
    assert_non_null(strstr(over->result.reason, "took the joints"));
    go_on(&r);
    assert_null(flags(&r));
    end(&r);
}

static void a_second_goal_does_not_disturb_the_first(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    ask_and_get(&r, 1);
    send(&r, 2, 0.2, -0.05);
    go_on(&r);
    assert_int_equal(accepted(&r), 0);
    assert_false(flags(&r)->last);
    end(&r);
}

static void it_can_be_cancelled_before_the_foot_is_lifted(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    ask_and_get(&r, 1);
    go_on(&r);
    CancelGoal_Request *ask = nm_harness_request(r.h, KICK "cancel_goal", 7);
    ask->goal_info.goal_id.uuid[0] = 1;
    go_on(&r);
    assert_true(flags(&r)->last);
    r.given = false;
    assert_int_equal(result(&r, 1)->status, GoalStatus_STATUS_CANCELED);
    end(&r);
}

/* On one leg it is too late: the kick is made, and whoever cancelled hears that it succeeded. */
static void a_cancel_that_comes_too_late_does_not_hide_the_success(void **state)
{
    (void)state;
    struct rig r;
    bool asked = false, over = false;
    begin(&r);
    ask_and_get(&r, 1);
    for (int ticks = 0; !over && ticks < 1000; ticks++) {
        if (!asked && percent(&r) > 60) {
            CancelGoal_Request *ask = nm_harness_request(r.h, KICK "cancel_goal", 7);
            ask->goal_info.goal_id.uuid[0] = 1;
            asked = true;
        }
        go_on(&r);
        over = flags(&r)->last;
    }
    assert_true(asked && over);
    r.given = false;
    const Kick_GetResult_Response *got = result(&r, 1);
    assert_int_equal(got->result.result, Kick_Result_SUCCESS);
    assert_int_equal(got->status, GoalStatus_STATUS_SUCCEEDED);
    end(&r);
}

/* Asking for the joints would stop the walk. */
static void a_walking_robot_walks_on_when_the_goal_is_refused(void **state)
{
    (void)state;
    static const struct {
        double x, y, target_x;
        const char *why;
    } goals[] = {{3, 0.05, 8, "too far away"}, {0.3, 0.05, -5, "no foot can kick"}, {NAN, 0, 5, "not a number"}};
    struct rig r;
    for (uint8_t i = 0; i < 3; i++) {
        begin(&r);
        r.state = HcmState_WALKING;
        go_on(&r);
        send_towards(&r, 1, goals[i].x, goals[i].y, goals[i].target_x);
        go_on(&r);
        assert_null(flags(&r));
        const Kick_GetResult_Response *over = result(&r, 1);
        assert_non_null(over);
        assert_null(flags(&r));
        assert_int_equal(over->result.result, Kick_Result_REJECTED);
        assert_non_null(strstr(over->result.reason, goals[i].why));
        end(&r);
    }
}

/* While the walk stops, the ball stays where it is and the robot comes nearer. */
static void the_ball_stays_in_the_world_while_the_robot_walks_on(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    r.state = HcmState_WALKING;
    go_on(&r);
    send(&r, 1, 0.5, 0.05); /* out of reach yet */
    go_on(&r);
    assert_true(flags(&r)->request);
    r.walked = 0.3;
    r.given = true;
    for (int i = 0; i < 20; i++) go_on(&r);
    assert_true(flags(&r) && !flags(&r)->last);
    end(&r);

    begin(&r);
    r.state = HcmState_WALKING;
    go_on(&r);
    send(&r, 1, 0.5, 0.05);
    go_on(&r);
    r.given = true; /* it has not moved */
    go_on(&r);
    assert_true(flags(&r)->last);
    r.given = false;
    const Kick_GetResult_Response *over = result(&r, 1);
    assert_int_equal(over->result.result, Kick_Result_REJECTED);
    assert_non_null(strstr(over->result.reason, "too far away"));
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_refuses_with_the_reason),
        cmocka_unit_test(it_tells_where_the_ball_lies_best),
        cmocka_unit_test(it_waits_for_the_joints_but_not_for_ever),
        cmocka_unit_test(it_kicks_and_tells_its_progress),
        cmocka_unit_test(its_goals_begin_where_the_joints_were_told_to_be),
        cmocka_unit_test(it_gives_up_when_the_joints_are_taken),
        cmocka_unit_test(a_second_goal_does_not_disturb_the_first),
        cmocka_unit_test(it_can_be_cancelled_before_the_foot_is_lifted),
        cmocka_unit_test(a_cancel_that_comes_too_late_does_not_hide_the_success),
        cmocka_unit_test(a_walking_robot_walks_on_when_the_goal_is_refused),
        cmocka_unit_test(the_ball_stays_in_the_world_while_the_robot_walks_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
