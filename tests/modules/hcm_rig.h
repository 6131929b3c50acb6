/* A robot that falls, is carried and is asked for its joints, around the hardware control manager: who plays
 * animations, walks and presses is made up here, and the states that it goes through are kept as a trace. */
#pragma once

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
#include "sensor_msgs/BatteryState.h"
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
    bool request, hurries, animates, wants_kick, kicks;
    const char *arm_joint; /* that arm_goals name, or NULL                */
    float load;            /* N under each foot; negative: feet are silent */
    bool penalized, stopped;
    double charge; /* of the battery; NaN: it says nothing */
    char trace[2048], asked[512];
    uint64_t caller; /* of the animation that plays */
    int64_t call;
    double left;         /* s of it; negative: none */
    bool fails;          /* neither get-ups nor turns succeed */
    bool mute;           /* neither sensors nor joints answer */
    struct quat posture; /* at its end              */
};

static inline void begin(struct rig *r, const char *settings)
{
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, KID70);
    r->h = nm_harness_new_with(&hcm_module, settings, r->body);
    r->torso = QUAT_IDENTITY;
    r->drive = NAN;
    r->load = -1;
    r->charge = NAN;
    r->left = -1;
}

static inline void end(struct rig *r)
{
    nm_harness_free(r->h);
    nm_arena_free(&r->arena);
}

static inline void play(struct rig *r)
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

static inline void note(struct rig *r)
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

static inline void ask_for_arm(struct rig *r)
{
    if (!r->arm_joint) return;
    JointGoals *goals = nm_harness_set(r->h, "arm_goals");
    nm_text(goals->name.at[0], "%s", r->arm_joint);
    goals->name.n = goals->position.n = 1;
}

static inline void give_feet(struct rig *r)
{
    if (r->load < 0) return;
    FootPressure *feet = nm_harness_set(r->h, "foot_pressure");
    feet->left.force = feet->right.force = r->load;
    feet->left.valid = feet->right.valid = true;
}

static inline const HcmState *go_on(struct rig *r, double seconds)
{
    const double q[NM_JOINTS] = {0};
    for (double t = 0; t < seconds; t += TICK) {
        play(r);
        if (!r->mute) give_torso(r->h, r->torso, r->turning);
        if (!r->mute) give_joints(r->h, r->body, q, NULL, t);
        WalkState *walk = nm_harness_set(r->h, "walk_state");
        walk->state = r->walk;
        if (!isnan(r->drive)) ((Twist *)nm_harness_set(r->h, "cmd_vel"))->linear.x = r->drive;
        if (r->request || r->animates) {
            Animation *animation = nm_harness_set(r->h, "animation");
            animation->request = r->request;
            animation->first = r->hurries;
        }
        if (r->wants_kick || r->kicks) ((Animation *)nm_harness_set(r->h, "kick"))->request = r->wants_kick;
        ask_for_arm(r);
        give_feet(r);
        MatchState *match = nm_harness_set(r->h, "match_state");
        match->penalized = r->penalized;
        match->stopped = r->stopped;
        if (!isnan(r->charge)) ((BatteryState *)nm_harness_set(r->h, "battery_state"))->percentage = (float)r->charge;
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

static inline void falls(struct rig *r, double roll, double pitch)
{
    for (int i = 1; i <= 20; i++) {
        r->torso = quat_rpy(roll * i / 20, pitch * i / 20, 0);
        r->turning = (struct vec3){roll / (20 * TICK), pitch / (20 * TICK), 0};
        go_on(r, TICK);
    }
    r->turning = (struct vec3){0, 0, 0};
}
