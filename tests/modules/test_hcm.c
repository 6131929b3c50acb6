/* The hardware control manager as a trace: what happens to a robot, and the states it goes through. The animation
 * player is the test itself: it takes what is asked of it, and after a while the robot lies or stands as the animation
 * makes it. */
#include "modules/body_rig.h"

#include "action_msgs/GoalStatus.h"
#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/Animation.h"
#include "humanoid_league_msgs/PlayAnimation.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/WalkState.h"
#include "std_srvs/SetBool.h"
#include "std_srvs/Trigger.h"

extern const struct nm_module hcm_module;

#define TICK 0.008
#define PLAY "play_animation/_action/"

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_harness *h;
    struct quat torso; /* as it is now */
    struct vec3 turning;
    uint8_t walk; /* WalkState */
    double drive; /* cmd_vel x; NaN: silent */
    bool request, animates, wants_kick, kicks;
    const char *arm_joint; /* that arm_goals name, or NULL                */
    float load;            /* N under each foot; negative: feet are silent */
    bool penalized, stopped;
    char trace[2048], asked[512];
    uint64_t caller; /* of the animation that plays */
    int64_t call;
    double left;         /* s of it; negative: none */
    bool fails;          /* neither get-ups nor turns succeed */
    bool mute;           /* neither sensors nor joints answer */
    struct quat posture; /* at its end              */
};

static void begin(struct rig *r, const char *settings)
{
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, KID70);
    r->h = nm_harness_new_with(&hcm_module, settings, r->body);
    r->torso = QUAT_IDENTITY;
    r->drive = NAN;
    r->load = -1;
    r->left = -1;
}

static void end(struct rig *r)
{
    nm_harness_free(r->h);
    nm_arena_free(&r->arena);
}

static void play(struct rig *r)
{
    const void *const *at;
    if (nm_harness_queue(r->h, PLAY "send_goal/request", &at)) {
        const PlayAnimation_SendGoal_Request *ask = at[0];
        const char *name = ask->goal.animation;
        assert_true(ask->goal.hcm);
        snprintf(r->asked + strlen(r->asked), sizeof r->asked - strlen(r->asked), "%s ", name);
        bool stands = !strncmp(name, "get_up", 6) || !strcmp(name, "stand");
        bool over = !strncmp(name, "turn_over", 9);
        r->posture = stands && !r->fails ? QUAT_IDENTITY : over && !r->fails ? quat_rpy(0, -M_PI / 2, 0) : r->torso;
        uint64_t caller = nm_slot(ask)->caller;
        int64_t call = nm_slot(ask)->call;
        PlayAnimation_SendGoal_Response *reply = nm_harness_set(r->h, PLAY "send_goal/reply");
        nm_slot(reply)->caller = caller;
        nm_slot(reply)->call = call;
        reply->accepted = true;
    }
    if (nm_harness_queue(r->h, PLAY "get_result/request", &at)) {
        r->caller = nm_slot(at[0])->caller;
        r->call = nm_slot(at[0])->call;
        r->left = 0.5;
    }
    if (r->left < 0) return;
    r->left -= TICK;
    if (r->left > 0) return;
    r->left = -1;
    r->torso = r->posture;
    PlayAnimation_GetResult_Response *result = nm_harness_set(r->h, PLAY "get_result/reply");
    nm_slot(result)->caller = r->caller;
    nm_slot(result)->call = r->call;
    result->status = GoalStatus_STATUS_SUCCEEDED;
    result->result.successful = true;
}

static void note(struct rig *r)
{
    const void *const *at;
    uint32_t n = nm_harness_queue(r->h, "rosout", &at);
    for (uint32_t i = 0; i < n; i++) {
        const char *line = ((const Log *)at[i])->msg, *to = strstr(line, "-> "), *colon = strchr(line, ':');
        if (!to || !colon || colon < to) continue;
        snprintf(r->trace + strlen(r->trace), sizeof r->trace - strlen(r->trace), "%.*s ", (int)(colon - to - 3),
                 to + 3);
    }
}

static void ask_for_arm(struct rig *r)
{
    if (!r->arm_joint) return;
    JointGoals *goals = nm_harness_set(r->h, "arm_goals");
    nm_text(goals->name.at[0], "%s", r->arm_joint);
    goals->name.n = goals->position.n = 1;
}

static void give_feet(struct rig *r)
{
    if (r->load < 0) return;
    FootPressure *feet = nm_harness_set(r->h, "foot_pressure");
    feet->left.force = feet->right.force = r->load;
    feet->left.valid = feet->right.valid = true;
}

static const HcmState *go_on(struct rig *r, double seconds)
{
    const double q[NM_JOINTS] = {0};
    for (double t = 0; t < seconds; t += TICK) {
        play(r);
        if (!r->mute) give_torso(r->h, r->torso, r->turning);
        if (!r->mute) give_joints(r->h, r->body, q, NULL, t);
        WalkState *walk = nm_harness_set(r->h, "walk_state");
        walk->state = r->walk;
        if (!isnan(r->drive)) ((Twist *)nm_harness_set(r->h, "cmd_vel"))->linear.x = r->drive;
        if (r->request || r->animates) ((Animation *)nm_harness_set(r->h, "animation"))->request = r->request;
        if (r->wants_kick || r->kicks) ((Animation *)nm_harness_set(r->h, "kick"))->request = r->wants_kick;
        ask_for_arm(r);
        give_feet(r);
        MatchState *match = nm_harness_set(r->h, "match_state");
        match->penalized = r->penalized;
        match->stopped = r->stopped;
        nm_harness_step(r->h, TICK);
        note(r);
    }
    return nm_harness_get(r->h, "hcm_state");
}

#define assert_trace(r, expected)                                                                                      \
    do {                                                                                                               \
        assert_string_equal((r)->trace, expected);                                                                     \
        (r)->trace[0] = 0;                                                                                             \
    } while (0)

static void falls(struct rig *r, double roll, double pitch)
{
    for (int i = 1; i <= 20; i++) {
        r->torso = quat_rpy(roll * i / 20, pitch * i / 20, 0);
        r->turning = (struct vec3){roll / (20 * TICK), pitch / (20 * TICK), 0};
        go_on(r, TICK);
    }
    r->turning = (struct vec3){0, 0, 0};
}

static void it_starts_walks_and_stands(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    const HcmState *s = go_on(&r, 0.2);
    assert_int_equal(s->state, HcmState_STARTUP);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_NOBODY);
    r.drive = 0.3;
    s = go_on(&r, 0.08);
    assert_non_null(strstr(s->refused, "cmd_vel: not while STARTUP"));
    assert_true(((const Twist *)nm_harness_get(r.h, "walk_vel"))->linear.x == 0);
    s = go_on(&r, 0.1);
    assert_int_equal(s->state, HcmState_CONTROLABLE);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_WALK);
    assert_int_equal(s->head_owner, HcmState_OWNER_HEAD);
    assert_true(((const Twist *)nm_harness_get(r.h, "walk_vel"))->linear.x == 0.3);
    r.walk = WalkState_WALKING;
    go_on(&r, 0.1);
    r.walk = WalkState_STANDING;
    go_on(&r, 0.1);
    assert_trace(&r, "CONTROLABLE WALKING CONTROLABLE ");
    end(&r);
}

/* However late they come: the first sample alone is not believed. */
static void sensors_are_believed_when_they_have_answered_for_a_while(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.mute = true;
    const HcmState *s = go_on(&r, 2);
    assert_int_equal(s->state, HcmState_STARTUP);
    r.mute = false;
    s = go_on(&r, 0.2);
    assert_int_equal(s->state, HcmState_STARTUP);
    s = go_on(&r, 0.2);
    assert_int_equal(s->state, HcmState_CONTROLABLE);
    end(&r);
}

static void it_gets_up_from_every_side(void **state)
{
    (void)state;
    static const struct {
        double roll, pitch;
        uint8_t fall;
        const char *asked, *trace;
    } ways[] = {
        {0, M_PI / 2, HcmState_FALL_FRONT, "fall_front get_up_front ", "FALLING FALLEN GETTING_UP CONTROLABLE "},
        {0, -M_PI / 2, HcmState_FALL_BACK, "fall_back get_up_back ", "FALLING FALLEN GETTING_UP CONTROLABLE "},
        {-M_PI / 2, 0, HcmState_FALL_LEFT, "fall_left turn_over_left get_up_back ",
         "FALLING FALLEN TURNING_OVER GETTING_UP CONTROLABLE "},
        {M_PI / 2, 0, HcmState_FALL_RIGHT, "fall_right turn_over_right get_up_back ",
         "FALLING FALLEN TURNING_OVER GETTING_UP CONTROLABLE "},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct rig r;
        begin(&r, NULL);
        go_on(&r, 1);
        r.trace[0] = 0;
        falls(&r, ways[i].roll, ways[i].pitch);
        const HcmState *s = nm_harness_get(r.h, "hcm_state");
        assert_int_equal(s->state, HcmState_FALLING);
        assert_int_equal(s->fall, ways[i].fall);
        assert_int_equal(s->left_arm_owner, HcmState_OWNER_HCM);
        s = go_on(&r, 5);
        assert_trace(&r, ways[i].trace);
        assert_string_equal(r.asked, ways[i].asked);
        assert_string_equal(s->reason, "stands again");
        end(&r);
    }
}

static void lies_on_the_left_and_turns(struct rig *r)
{
    begin(r, NULL);
    r->torso = quat_rpy(-M_PI / 2, 0, 0);
    r->fails = true;
    go_on(r, 0.6);
    assert_trace(r, "FALLEN TURNING_OVER ");
    assert_string_equal(r->asked, "turn_over_left ");
}

/* Half a radian from the back, while the animation still plays. That this one is over then is no news of the get-up. */
static void one_that_has_almost_turned_over_gets_up_at_once(void **state)
{
    (void)state;
    struct rig r;
    lies_on_the_left_and_turns(&r);
    uint64_t caller = r.caller;
    int64_t call = r.call;
    assert_true(r.left > 0);
    r.torso = quat_mul(quat_rpy(0, -M_PI / 2, 0), quat_rpy(0, 0, 0.5));
    r.turning = (struct vec3){0, 0, 4};
    go_on(&r, 2 * TICK);
    assert_trace(&r, "GETTING_UP ");
    assert_string_equal(r.asked, "turn_over_left get_up_back ");
    r.turning = (struct vec3){0, 0, 0};
    go_on(&r, 2 * TICK);
    PlayAnimation_GetResult_Response *result = nm_harness_set(r.h, PLAY "get_result/reply");
    nm_slot(result)->caller = caller;
    nm_slot(result)->call = call;
    result->status = GoalStatus_STATUS_SUCCEEDED;
    result->result.successful = true;
    r.fails = false;
    r.posture = QUAT_IDENTITY;
    go_on(&r, 0.2);
    assert_trace(&r, "");
    go_on(&r, 0.5);
    assert_trace(&r, "CONTROLABLE ");
    end(&r);
}

/* It waits as long as it rolls, for it may get there yet; then it turns again without a pause. */
static void one_that_still_lies_on_its_side_turns_again(void **state)
{
    (void)state;
    struct rig r;
    lies_on_the_left_and_turns(&r);
    r.turning = (struct vec3){0, 0, 2};
    go_on(&r, 1);
    assert_trace(&r, "");
    r.turning = (struct vec3){0, 0, 0};
    go_on(&r, 0.2);
    assert_trace(&r, "FALLEN TURNING_OVER ");
    assert_string_equal(r.asked, "turn_over_left turn_over_left ");
    end(&r);
}

/* 20 steps of the fall are 0.16 s: it must be known in the first half, long before the ground comes. */
static void a_fall_is_known_before_the_impact(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    go_on(&r, 1);
    r.turning = (struct vec3){0, 3, 0};
    r.torso = quat_rpy(0, 0.5, 0);
    const HcmState *s = go_on(&r, 3 * TICK);
    assert_int_equal(s->state, HcmState_FALLING);
    end(&r);
    /* leaning as far without turning, or one spike of the gyroscope, is no fall */
    begin(&r, NULL);
    go_on(&r, 1);
    r.torso = quat_rpy(0, 0.5, 0);
    go_on(&r, 0.5);
    r.turning = (struct vec3){0, 30, 0};
    go_on(&r, TICK);
    r.turning = (struct vec3){0, 0, 0};
    s = go_on(&r, 0.1);
    assert_int_equal(s->state, HcmState_CONTROLABLE);
    end(&r);
}

static void without_protection_the_walk_goes_on_until_it_lies(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "protect=false");
    go_on(&r, 1);
    falls(&r, 0, M_PI / 2);
    const HcmState *s = nm_harness_get(r.h, "hcm_state");
    assert_int_equal(s->state, HcmState_FALLING);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_WALK);
    assert_int_equal(s->head_owner, HcmState_OWNER_HEAD);
    s = go_on(&r, 3);
    assert_string_equal(r.asked, "get_up_front ");
    assert_int_equal(s->state, HcmState_CONTROLABLE);
    end(&r);
}

static void it_rests_after_many_tries_and_longer_each_time(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "tries=2, rest=3");
    r.fails = true;
    r.torso = quat_rpy(0, M_PI / 2, 0);
    go_on(&r, 3.5);
    assert_trace(&r, "FALLEN GETTING_UP FALLEN GETTING_UP FALLEN ");
    go_on(&r, 3);
    assert_trace(&r, "GETTING_UP FALLEN GETTING_UP FALLEN ");
    go_on(&r, 4); /* six seconds now */
    assert_trace(&r, "");
    go_on(&r, 3);
    assert_trace(&r, "GETTING_UP FALLEN GETTING_UP FALLEN ");
    end(&r);
}

static void an_animation_waits_for_the_walk_to_stop(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.walk = WalkState_WALKING;
    go_on(&r, 1);
    r.request = true;
    r.drive = 0.3;
    const HcmState *s = go_on(&r, 0.2);
    assert_int_equal(s->state, HcmState_WALKING);
    assert_true(((const Twist *)nm_harness_get(r.h, "walk_vel"))->linear.x == 0);
    r.walk = WalkState_STANDING;
    s = go_on(&r, 0.1);
    assert_int_equal(s->state, HcmState_ANIMATION_RUNNING);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_ANIMATION);
    assert_int_equal(s->head_owner, HcmState_OWNER_HEAD); /* it names no joint of the head */
    r.request = false, r.animates = true;
    go_on(&r, 0.5);
    r.animates = false;
    go_on(&r, 0.3);
    assert_trace(&r, "CONTROLABLE WALKING WALKING_STOPPING CONTROLABLE ANIMATION_RUNNING CONTROLABLE ");
    end(&r);
}

static void a_kick_is_given_legs_and_arms_when_the_walk_stands(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.walk = WalkState_WALKING;
    go_on(&r, 1);
    r.wants_kick = true;
    const HcmState *s = go_on(&r, 0.2);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_WALK);
    r.walk = WalkState_STANDING;
    s = go_on(&r, 3 * TICK);
    assert_int_equal(s->state, HcmState_ANIMATION_RUNNING);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_KICK);
    assert_int_equal(s->right_leg_owner, HcmState_OWNER_KICK);
    assert_int_equal(s->left_arm_owner, HcmState_OWNER_KICK);
    assert_int_equal(s->head_owner, HcmState_OWNER_HEAD);
    r.wants_kick = false, r.kicks = true;
    s = go_on(&r, 1);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_KICK);
    r.request = true; /* an animation must wait for the end of the kick, and hears why */
    s = go_on(&r, TICK);
    assert_string_equal(s->refused, "animation: not while KICKING");
    r.request = r.kicks = false;
    s = go_on(&r, 0.2);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_WALK);
    assert_trace(&r, "CONTROLABLE WALKING WALKING_STOPPING CONTROLABLE KICKING CONTROLABLE ");
    end(&r);
}

static void falls_penalties_and_stops_take_the_joints_from_a_kick(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        static const char *const traces[] = {"FALLING ", "PENALTY_ANIMATION_IN ", "STOPPED "};
        struct rig r;
        begin(&r, NULL);
        go_on(&r, 1);
        r.wants_kick = true;
        go_on(&r, 3 * TICK);
        r.wants_kick = false, r.kicks = true;
        go_on(&r, 0.2);
        r.trace[0] = 0;
        if (how == 0) falls(&r, 0, M_PI / 2);
        r.penalized = how == 1;
        r.stopped = how == 2;
        const HcmState *s = go_on(&r, 2 * TICK);
        assert_trace(&r, traces[how]);
        assert_int_not_equal(s->left_leg_owner, HcmState_OWNER_KICK);
        assert_int_not_equal(s->left_arm_owner, HcmState_OWNER_KICK);
        end(&r);
    }
}

static void an_arm_is_given_while_somebody_moves_it(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    go_on(&r, 1);
    r.arm_joint = "right_elbow";
    const HcmState *s = go_on(&r, 2 * TICK);
    assert_int_equal(s->right_arm_owner, HcmState_OWNER_ARMS);
    assert_int_equal(s->left_arm_owner, HcmState_OWNER_WALK);
    falls(&r, 0, -M_PI / 2); /* a fall stands above */
    s = nm_harness_get(r.h, "hcm_state");
    assert_int_equal(s->right_arm_owner, HcmState_OWNER_HCM);
    go_on(&r, 3);
    s = nm_harness_get(r.h, "hcm_state");
    assert_int_equal(s->right_arm_owner, HcmState_OWNER_ARMS);
    r.arm_joint = NULL;
    s = go_on(&r, 2 * TICK);
    assert_int_equal(s->right_arm_owner, HcmState_OWNER_WALK);
    end(&r);
}

static void one_in_hands_neither_walks_nor_gets_up(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.load = 25;
    go_on(&r, 1);
    r.load = 0;
    go_on(&r, 0.1);
    r.load = 25; /* a hop is not being carried */
    go_on(&r, 0.5);
    r.load = 0;
    r.drive = 0.3;
    const HcmState *s = go_on(&r, 0.6);
    assert_int_equal(s->state, HcmState_CARRIED);
    assert_string_equal(s->refused, "cmd_vel: not while CARRIED");
    assert_true(((const Twist *)nm_harness_get(r.h, "walk_vel"))->linear.x == 0);
    falls(&r, 0, M_PI / 2); /* carried on its front, in hands that move a little */
    r.turning = (struct vec3){0.2, 0, 0};
    s = go_on(&r, 6);
    assert_int_equal(s->state, HcmState_CARRIED);
    r.torso = QUAT_IDENTITY;
    r.turning = (struct vec3){0, 0, 0};
    r.load = 25;
    r.drive = NAN;
    s = go_on(&r, 1);
    assert_trace(&r, "CONTROLABLE CARRIED CONTROLABLE ");
    /* carried again, and laid on the ground, where nothing moves it */
    r.load = 0;
    go_on(&r, 1);
    falls(&r, 0, M_PI / 2);
    go_on(&r, 2.9);
    assert_trace(&r, "CARRIED ");
    go_on(&r, 0.8);
    assert_trace(&r, "FALLEN GETTING_UP CONTROLABLE ");
    end(&r);
}

static void a_get_up_that_is_stuck_is_begun_anew(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "stuck=0.3");
    r.torso = quat_rpy(0, M_PI / 2, 0);
    go_on(&r, 0.9); /* the animation takes 0.5 s */
    assert_trace(&r, "FALLEN GETTING_UP FALLEN GETTING_UP ");
    end(&r);
}

static void the_hardware_is_asked_for_power_until_it_answers(void **state)
{
    (void)state;
    struct rig r;
    const void *const *at;
    begin(&r, NULL);
    go_on(&r, TICK);
    assert_int_equal(nm_harness_queue(r.h, "motor_power/request", &at), 1);
    assert_true(((const SetBool_Request *)at[0])->data);
    go_on(&r, 0.9);
    assert_int_equal(nm_harness_queue(r.h, "motor_power/request", &at), 0);
    uint32_t asked = 0;
    for (int i = 0; i < 30; i++) {
        go_on(&r, TICK / 2);
        asked += nm_harness_queue(r.h, "motor_power/request", &at);
    }
    assert_int_equal(asked, 1);
    uint64_t caller = 0;
    int64_t call = 0;
    ((SetBool_Request *)nm_harness_request(r.h, "motors", 1))->data = false; /* sits down, then power goes off */
    asked = 0;
    for (int i = 0; i < 200; i++) {
        go_on(&r, TICK / 2);
        if (!nm_harness_queue(r.h, "motor_power/request", &at) || ((const SetBool_Request *)at[0])->data) continue;
        caller = nm_slot(at[0])->caller, call = nm_slot(at[0])->call, asked++;
        SetBool_Response *reply = nm_harness_set(r.h, "motor_power/reply");
        nm_slot(reply)->caller = caller;
        nm_slot(reply)->call = call;
        reply->success = true;
    }
    assert_int_equal(asked, 1);
    assert_int_equal(((const HcmState *)nm_harness_get(r.h, "hcm_state"))->state, HcmState_MOTOR_OFF);
    end(&r);
}

static void penalty_and_stop(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    go_on(&r, 1);
    r.penalized = true;
    go_on(&r, 1);
    r.request = true;
    const HcmState *s = go_on(&r, 0.1);
    assert_non_null(strstr(s->refused, "animation: not while PENALTY"));
    r.request = r.penalized = false;
    go_on(&r, 1);
    assert_trace(&r, "CONTROLABLE PENALTY_ANIMATION_IN PENALTY PENALTY_ANIMATION_OUT CONTROLABLE ");
    /* stopped: one that lies does not even get up */
    r.torso = quat_rpy(0, M_PI / 2, 0);
    r.stopped = true;
    s = go_on(&r, 4);
    assert_int_equal(s->state, HcmState_STOPPED);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_NOBODY);
    r.stopped = false;
    go_on(&r, 2);
    assert_trace(&r, "STOPPED FALLEN GETTING_UP CONTROLABLE ");
    end(&r);
}

static void motors_go_off_when_idle_and_on_at_the_next_command(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "idle=2");
    const HcmState *s = go_on(&r, 4);
    assert_trace(&r, "CONTROLABLE SITTING_DOWN MOTOR_OFF ");
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_OFF);
    assert_false(s->motors_on);
    r.drive = 0.2;
    go_on(&r, 1);
    assert_trace(&r, "STANDING_UP CONTROLABLE ");
    assert_string_equal(r.asked, "sit stand ");
    end(&r);
}

static void record_makes_it_limp_and_shutdown_sits_it_down(void **state)
{
    (void)state;
    struct rig r;
    const void *const *at;
    begin(&r, NULL);
    go_on(&r, 1);
    nm_harness_param(r.h, "limp=true"); /* by a parameter */
    const HcmState *s = go_on(&r, 0.1);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_RECORD);
    nm_harness_param(r.h, "limp=false");
    go_on(&r, 0.1);
    assert_trace(&r, "CONTROLABLE RECORD CONTROLABLE ");
    ((SetBool_Request *)nm_harness_request(r.h, "record", 1))->data = true; /* or by the service */
    s = go_on(&r, TICK);
    assert_int_equal(nm_harness_queue(r.h, "record/reply", &at), 1);
    assert_true(((const SetBool_Response *)at[0])->success);
    s = go_on(&r, 0.1);
    assert_int_equal(s->left_arm_owner, HcmState_OWNER_RECORD);
    nm_harness_request(r.h, "shutdown", 2);
    s = go_on(&r, 2);
    assert_int_equal(s->state, HcmState_HCM_OFF);
    assert_trace(&r, "RECORD SHUTDOWN_ANIMATION SHUTDOWN HCM_OFF ");
    /* off is off: a recording is refused with its reason */
    ((SetBool_Request *)nm_harness_request(r.h, "record", 3))->data = true;
    go_on(&r, TICK);
    assert_int_equal(nm_harness_queue(r.h, "record/reply", &at), 1);
    assert_false(((const SetBool_Response *)at[0])->success);
    assert_string_equal(((const SetBool_Response *)at[0])->message, "not while HCM_OFF");
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_walks_and_stands),
        cmocka_unit_test(sensors_are_believed_when_they_have_answered_for_a_while),
        cmocka_unit_test(it_gets_up_from_every_side),
        cmocka_unit_test(one_that_has_almost_turned_over_gets_up_at_once),
        cmocka_unit_test(one_that_still_lies_on_its_side_turns_again),
        cmocka_unit_test(a_fall_is_known_before_the_impact),
        cmocka_unit_test(without_protection_the_walk_goes_on_until_it_lies),
        cmocka_unit_test(it_rests_after_many_tries_and_longer_each_time),
        cmocka_unit_test(an_animation_waits_for_the_walk_to_stop),
        cmocka_unit_test(a_kick_is_given_legs_and_arms_when_the_walk_stands),
        cmocka_unit_test(falls_penalties_and_stops_take_the_joints_from_a_kick),
        cmocka_unit_test(an_arm_is_given_while_somebody_moves_it),
        cmocka_unit_test(one_in_hands_neither_walks_nor_gets_up),
        cmocka_unit_test(a_get_up_that_is_stuck_is_begun_anew),
        cmocka_unit_test(the_hardware_is_asked_for_power_until_it_answers),
        cmocka_unit_test(penalty_and_stop),
        cmocka_unit_test(motors_go_off_when_idle_and_on_at_the_next_command),
        cmocka_unit_test(record_makes_it_limp_and_shutdown_sits_it_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
