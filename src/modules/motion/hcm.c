/* The hardware control manager: knows what state the robot is in and who may move which joints, catches falls, gets up,
 * sits down, and switches motors off and on. The states are those of Marc Bestmann's thesis (2017, section 5.2.1), each
 * with entry, evaluate and exit, here the rows of one table; `stopped` is ours, for rules under which robots freeze.
 * What the state machine wants to see moving it asks of the animation player; the owners of the joints that it names
 * are obeyed by joint_owners. */
#include <string.h>

#include "action_msgs/GoalStatus.h"
#include "body/animation.h"
#include "core/nm.h"
#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/Animation.h"
#include "humanoid_league_msgs/PlayAnimation.h"
#include "humanoid_league_msgs/RobotControlState.h"
#include "modules/motion/fall.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/WalkState.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"
#include "std_srvs/SetBool.h"
#include "std_srvs/Trigger.h"

enum state {
    STARTUP,
    CONTROLABLE,
    WALKING,
    WALKING_STOPPING,
    ANIMATION_RUNNING,
    FALLING,
    FALLEN,
    TURNING_OVER,
    GETTING_UP,
    PENALTY_ANIMATION_IN,
    PENALTY,
    PENALTY_ANIMATION_OUT,
    RECORD,
    SITTING_DOWN,
    MOTOR_OFF,
    STANDING_UP,
    SHUTDOWN_ANIMATION,
    SHUTDOWN,
    HCM_OFF,
    STOPPED,
    STATES
};

/* an animation that the manager asked for */
enum play { PLAY_NONE, PLAY_ASKED, PLAY_RUNS, PLAY_DONE, PLAY_FAILED };

struct hcm {
    struct nm *nm;
    /* in */
    const Imu *imu;
    const JointState *joints;
    const Twist *cmd_vel;
    const WalkState *walk;
    const Animation *animation;
    const JointGoals *animated;
    const MatchState *match;
    nm_client(PlayAnimation_SendGoal) send;
    nm_client(PlayAnimation_GetResult) result;
    nm_server(Trigger) shutdown;
    nm_server(SetBool) record;
    nm_server(SetBool) motors;
    /* out */
    Twist *walk_vel;
    HcmState *state_out;
    RobotControlState *control_state;
    /* params */
    double tilt, ahead, least; /* of a fall                        */
    double upright;            /* rad                              */
    double quiet, settle;      /* rad/s, s: lies still             */
    double startup;            /* s                                */
    double idle;               /* s, 0: never                      */
    bool get_up, protect;
    int32_t tries;
    double rest; /* s, after so many tries */
    /* state */
    enum state state, previous;
    int64_t since; /* ns */
    char reason[128], refused[128];
    struct vec3 up, turning; /* in the trunk's axes                         */
    double coming;           /* s, for how long a fall has been coming      */
    int64_t still_since;     /* ns, the trunk turns slowly since            */
    int64_t commanded;       /* ns, last command of any kind                */
    int64_t told;            /* ns, last cmd_vel                            */
    bool wants_walk, wants_animation, animates;
    bool wants_shutdown, wants_record, wants_off;
    enum fall_way fall;
    int32_t tried; /* get-ups since it stood last */
    enum play play;
    uint64_t goal; /* number of the animation asked for */
    int64_t asked; /* ns */
    bool down_when_stopped;
};

/* what an evaluation decides: where to go, or STATES to stay; why goes into f->reason */
typedef enum state evaluation(struct hcm *f);

static enum state go(struct hcm *f, enum state to, const char *why)
{
    nm_text(f->reason, "%s", why);
    return to;
}

static double in_state(const struct hcm *f) { return nm_seconds(f->nm->now - f->since); }

/* ---- animations of the manager's own ---- */

static void goal_id(const struct hcm *f, uint8_t id[16])
{
    memcpy(id, "hcm\0\0\0\0", 8);
    memcpy(id + 8, &f->goal, sizeof f->goal);
}

/* Asks for the first of the two that the robot has. */
static void ask_for(struct hcm *f, const char *name, const char *otherwise)
{
    const char *found = nm_find_animation(f->nm->body, name)                     ? name
                        : otherwise && nm_find_animation(f->nm->body, otherwise) ? otherwise
                                                                                 : NULL;
    f->play = PLAY_FAILED;
    if (!found) return;
    PlayAnimation_SendGoal_Request *ask = nm_call(f->nm, &f->send);
    f->goal++;
    goal_id(f, ask->goal_id.uuid);
    nm_text(ask->goal.animation, "%s", found);
    ask->goal.hcm = true;
    f->play = PLAY_ASKED;
    f->asked = f->nm->now;
}

static void hear_answers(struct hcm *f)
{
    for (uint32_t i = 0; i < f->send.replies.n; i++) {
        if (f->play != PLAY_ASKED) continue;
        f->play = f->send.replies.at[i]->accepted ? PLAY_RUNS : PLAY_FAILED;
        if (f->play == PLAY_FAILED) continue;
        PlayAnimation_GetResult_Request *ask = nm_call(f->nm, &f->result);
        goal_id(f, ask->goal_id.uuid);
    }
    for (uint32_t i = 0; i < f->result.replies.n; i++) {
        const PlayAnimation_GetResult_Response *r = f->result.replies.at[i];
        /* that of a goal which a newer one interrupted is not what is waited for */
        if (f->play == PLAY_RUNS && r->status != GoalStatus_STATUS_ABORTED)
            f->play = r->result.successful ? PLAY_DONE : PLAY_FAILED;
    }
    if (f->play == PLAY_ASKED && nm_seconds(f->nm->now - f->asked) > 0.5) f->play = PLAY_FAILED;
    if (f->play == PLAY_RUNS && nm_seconds(f->nm->now - f->asked) > 30) f->play = PLAY_FAILED;
}

static bool play_over(const struct hcm *f) { return f->play == PLAY_DONE || f->play == PLAY_FAILED; }

/* ---- what is going on ---- */

static void sense(struct hcm *f)
{
    if (!nm_fresh(f->nm, f->imu)) return;
    const Quaternion *o = &f->imu->orientation;
    const Vector3 *g = &f->imu->angular_velocity;
    if (!isfinite(o->w + o->x + o->y + o->z + g->x + g->y + g->z)) return;
    const struct nm_body *body = f->nm->body;
    bool of_imu = body->imu >= 0 && !strcmp(body->frames[body->imu].name, f->imu->header.frame_id);
    struct quat imu_to_torso = of_imu ? body->frames[body->imu].to_link.rot : QUAT_IDENTITY;
    struct quat torso_to_world = quat_mul((struct quat){o->w, o->x, o->y, o->z}, quat_inv(imu_to_torso));
    f->up = quat_apply(quat_inv(torso_to_world), (struct vec3){0, 0, 1});
    f->turning = quat_apply(imu_to_torso, (struct vec3){g->x, g->y, g->z});
    if (vec3_norm(f->turning) > f->quiet) f->still_since = f->nm->now;

    const struct fall_params p = {f->tilt, f->ahead, f->least};
    enum fall_way way = fall_coming(&p, f->up, f->turning);
    f->coming = way ? f->coming + nm_seconds(f->nm->dt) : 0;
    if (way && f->coming <= nm_seconds(f->nm->dt)) f->fall = way;
}

static bool is_upright(const struct hcm *f) { return fall_tilt(f->up) < f->upright; }
static bool is_still(const struct hcm *f) { return nm_seconds(f->nm->now - f->still_since) > f->settle; }
/* Two looks in a row: one spike of the sensor is no fall. */
static bool is_falling(const struct hcm *f) { return f->coming > 1.5 * nm_seconds(f->nm->dt); }

static void listen(struct hcm *f)
{
    if (nm_fresh(f->nm, f->cmd_vel)) {
        const Twist *v = f->cmd_vel;
        f->told = f->nm->now;
        f->wants_walk = v->linear.x != 0 || v->linear.y != 0 || v->angular.z != 0;
    }
    if (nm_seconds(f->nm->now - f->told) > 0.5) f->wants_walk = false;
    bool news = nm_fresh(f->nm, f->animation);
    f->wants_animation = news && f->animation->request && !f->animation->hcm;
    f->animates = news && !f->animation->hcm && !f->animation->last && !f->animation->request;
    if (f->wants_walk || f->wants_animation) f->commanded = f->nm->now;
}

/* ---- states ---- */

static enum state lies_or_stands(struct hcm *f, const char *why)
{
    f->commanded = f->nm->now;
    return go(f, is_upright(f) ? CONTROLABLE : FALLEN, why);
}

static enum state startup(struct hcm *f)
{
    bool ready = nm_slot(f->imu)->seq && nm_slot(f->joints)->seq;
    if (!ready || in_state(f) < f->startup) return STATES;
    return lies_or_stands(f, "sensors and joints answer");
}

static enum state controlable(struct hcm *f)
{
    if (is_falling(f)) return go(f, FALLING, "the trunk tilts beyond what a step could catch");
    if (!is_upright(f) && is_still(f)) return go(f, FALLEN, "found itself lying");
    if (f->wants_animation) return go(f, ANIMATION_RUNNING, "an animation asks for the joints");
    if (f->walk->state != WalkState_STANDING && f->walk->state != WalkState_OFF && nm_slot(f->walk)->seq)
        return go(f, WALKING, "the walk has left its stand");
    if (f->wants_off) return go(f, SITTING_DOWN, "told to switch the motors off");
    if (f->idle > 0 && nm_seconds(f->nm->now - f->commanded) > f->idle) return go(f, SITTING_DOWN, "no command came");
    return STATES;
}

static enum state walking(struct hcm *f)
{
    if (is_falling(f)) return go(f, FALLING, "the trunk tilts beyond what a step could catch");
    if (f->wants_animation) return go(f, WALKING_STOPPING, "an animation asks for the joints");
    if (f->wants_off) return go(f, WALKING_STOPPING, "told to switch the motors off");
    if (f->walk->state == WalkState_STANDING) return go(f, CONTROLABLE, "the walk stands");
    f->commanded = f->nm->now;
    return STATES;
}

static enum state walking_stopping(struct hcm *f)
{
    if (is_falling(f)) return go(f, FALLING, "the trunk tilts beyond what a step could catch");
    if (f->walk->state == WalkState_STANDING) return go(f, CONTROLABLE, "the walk stands");
    return STATES;
}

/* Keeper dives are animations and falls: while one plays, nothing is caught. */
static enum state animation_running(struct hcm *f)
{
    f->commanded = f->nm->now;
    if (f->animates || f->wants_animation || in_state(f) < 0.1) return STATES;
    if (is_falling(f) && !is_still(f)) return go(f, FALLING, "fell during an animation");
    return lies_or_stands(f, "the animation is over");
}

static void protect(struct hcm *f)
{
    static const char *const poses[] = {
        [FALL_FRONT] = "fall_front", [FALL_BACK] = "fall_back", [FALL_LEFT] = "fall_left", [FALL_RIGHT] = "fall_right"};
    f->play = PLAY_FAILED;
    if (f->protect && f->fall != FALL_NONE) ask_for(f, poses[f->fall], NULL);
}

static enum state falling(struct hcm *f)
{
    if (is_still(f) && in_state(f) > f->settle) {
        if (!is_upright(f)) return go(f, FALLEN, "lies still");
        return go(f, CONTROLABLE, "caught itself");
    }
    if (in_state(f) > 3) return lies_or_stands(f, "no longer falling");
    return STATES;
}

static void lie_down(struct hcm *f) { f->fall = fall_lies(f->up); }

static enum state fallen(struct hcm *f)
{
    if (is_upright(f) && is_still(f)) return go(f, CONTROLABLE, "stands upright again");
    f->fall = fall_lies(f->up);
    if (!f->get_up || !is_still(f)) return STATES;
    if (f->tried >= f->tries && in_state(f) < f->rest) return STATES;
    if (f->fall == FALL_LEFT || f->fall == FALL_RIGHT) return go(f, TURNING_OVER, "lies on its side");
    return go(f, GETTING_UP, f->fall == FALL_FRONT ? "lies on its front" : "lies on its back");
}

static void turn_over(struct hcm *f)
{
    f->tried = f->tried >= f->tries ? 1 : f->tried + 1;
    ask_for(f, f->fall == FALL_LEFT ? "turn_over_left" : "turn_over_right", "get_up_back");
}

static enum state turning_over(struct hcm *f)
{
    if (!play_over(f)) return STATES;
    enum fall_way lies = fall_lies(f->up);
    bool turned = lies == FALL_FRONT || lies == FALL_BACK;
    return go(f, FALLEN, turned ? "has turned over" : "still lies on its side");
}

static void rise(struct hcm *f)
{
    f->tried = f->tried >= f->tries ? 1 : f->tried + 1;
    ask_for(f, f->fall == FALL_FRONT ? "get_up_front" : "get_up_back", NULL);
}

static enum state getting_up(struct hcm *f)
{
    if (!play_over(f)) return STATES;
    if (f->play == PLAY_FAILED) return go(f, FALLEN, "the get-up could not be played");
    if (!is_upright(f)) return go(f, FALLEN, "the get-up did not succeed");
    f->tried = 0;
    f->commanded = f->nm->now;
    return go(f, CONTROLABLE, "stands again");
}

static void stand(struct hcm *f) { ask_for(f, "stand", NULL); }
static void sit(struct hcm *f) { ask_for(f, "sit", NULL); }

static enum state penalty_animation_in(struct hcm *f)
{
    return play_over(f) ? go(f, PENALTY, "in the position of penalty") : STATES;
}

static enum state penalty(struct hcm *f)
{
    return f->match->penalized ? STATES : go(f, PENALTY_ANIMATION_OUT, "the penalty is over");
}

static enum state penalty_animation_out(struct hcm *f)
{
    if (f->play != PLAY_FAILED && !play_over(f)) return STATES;
    return lies_or_stands(f, "out of the position of penalty");
}

/* One who lies when the penalty ends has no use for standing straight. */
static void stand_if_upright(struct hcm *f)
{
    if (is_upright(f))
        stand(f);
    else
        f->play = PLAY_FAILED;
}

static enum state record(struct hcm *f) { return f->wants_record ? STATES : lies_or_stands(f, "recording is over"); }

static enum state sitting_down(struct hcm *f)
{
    if (is_falling(f) && f->up.z < 0.5) return go(f, FALLING, "fell while sitting down");
    return play_over(f) ? go(f, MOTOR_OFF, "sits") : STATES;
}

static enum state motor_off(struct hcm *f)
{
    if (f->wants_off && !f->wants_animation && !f->wants_walk) return STATES;
    if (!f->wants_walk && !f->wants_animation && (f->wants_off || f->idle > 0)) return STATES;
    f->wants_off = false;
    if (!is_upright(f)) return go(f, FALLEN, "a command came");
    return go(f, STANDING_UP, "a command came");
}

static enum state standing_up(struct hcm *f)
{
    if (is_falling(f)) return go(f, FALLING, "fell while standing up");
    return play_over(f) ? lies_or_stands(f, "stands") : STATES;
}

static void sit_if_upright(struct hcm *f)
{
    if (is_upright(f))
        sit(f);
    else
        f->play = PLAY_FAILED;
}

static enum state shutdown_animation(struct hcm *f) { return play_over(f) ? go(f, SHUTDOWN, "sits") : STATES; }

static enum state shutdown(struct hcm *f) { return in_state(f) > 0.2 ? go(f, HCM_OFF, "the joints are limp") : STATES; }

static void freeze(struct hcm *f) { f->down_when_stopped = !is_upright(f); }

/* One that stands or walks stops and stands; one that lies keeps its joints as they are. */
static enum state stopped(struct hcm *f)
{
    if (is_falling(f) && !f->down_when_stopped) return go(f, FALLING, "falls while play is stopped");
    return f->match->stopped ? STATES : lies_or_stands(f, "play goes on");
}

/* ---- the table ---- */

#define OWNERS(legs, arms, head) HcmState_OWNER_##legs, HcmState_OWNER_##arms, HcmState_OWNER_##head

static const struct state_row {
    const char *name;
    uint8_t number;           /* of HcmState and RobotControlState                      */
    uint8_t legs, arms, head; /* owners                                                 */
    bool walks;               /* cmd_vel goes through to the walk                       */
    bool overridden;          /* penalty, stop, recording and shutdown end it           */
    void (*entry)(struct hcm *);
    evaluation *evaluate;
    void (*exit)(struct hcm *);
} rows[STATES] = {
#define ROW(state, message, owners, walks, overridden, entry, evaluate, exit)                                          \
    [state] = {#state, HcmState_##message, owners, walks, overridden, entry, evaluate, exit}
    ROW(STARTUP, STARTUP, OWNERS(NOBODY, NOBODY, NOBODY), false, false, NULL, startup, NULL),
    ROW(CONTROLABLE, CONTROLABLE, OWNERS(WALK, WALK, HEAD), true, true, NULL, controlable, NULL),
    ROW(WALKING, WALKING, OWNERS(WALK, WALK, HEAD), true, true, NULL, walking, NULL),
    ROW(WALKING_STOPPING, WALKING, OWNERS(WALK, WALK, HEAD), false, true, NULL, walking_stopping, NULL),
    ROW(ANIMATION_RUNNING, ANIMATION_RUNNING, OWNERS(ANIMATION, ANIMATION, ANIMATION), false, true, NULL,
        animation_running, NULL),
    ROW(FALLING, FALLING, OWNERS(HCM, HCM, HCM), false, false, protect, falling, NULL),
    ROW(FALLEN, FALLEN, OWNERS(HCM, HCM, HCM), false, true, lie_down, fallen, NULL),
    ROW(TURNING_OVER, GETTING_UP, OWNERS(HCM, HCM, HCM), false, true, turn_over, turning_over, NULL),
    ROW(GETTING_UP, GETTING_UP, OWNERS(HCM, HCM, HCM), false, true, rise, getting_up, NULL),
    ROW(PENALTY_ANIMATION_IN, PENALTY_ANIMATION, OWNERS(HCM, HCM, HEAD), false, false, stand_if_upright,
        penalty_animation_in, NULL),
    ROW(PENALTY, PENALTY, OWNERS(HCM, HCM, HEAD), false, false, NULL, penalty, NULL),
    ROW(PENALTY_ANIMATION_OUT, PENALTY_ANIMATION, OWNERS(HCM, HCM, HEAD), false, false, stand_if_upright,
        penalty_animation_out, NULL),
    ROW(RECORD, RECORD, OWNERS(RECORD, RECORD, RECORD), false, false, NULL, record, NULL),
    ROW(SITTING_DOWN, ANIMATION_RUNNING, OWNERS(HCM, HCM, HCM), false, true, sit, sitting_down, NULL),
    ROW(MOTOR_OFF, MOTOR_OFF, OWNERS(OFF, OFF, OFF), false, true, NULL, motor_off, NULL),
    ROW(STANDING_UP, ANIMATION_RUNNING, OWNERS(HCM, HCM, HCM), false, true, stand, standing_up, NULL),
    ROW(SHUTDOWN_ANIMATION, SHUTDOWN, OWNERS(HCM, HCM, HCM), false, false, sit_if_upright, shutdown_animation, NULL),
    ROW(SHUTDOWN, SHUTDOWN, OWNERS(OFF, OFF, OFF), false, false, NULL, shutdown, NULL),
    ROW(HCM_OFF, HCM_OFF, OWNERS(OFF, OFF, OFF), false, false, NULL, NULL, NULL),
    ROW(STOPPED, STOPPED, OWNERS(WALK, WALK, HEAD), false, false, freeze, stopped, NULL),
#undef ROW
};

static void set_state(struct hcm *f, enum state to)
{
    if (rows[f->state].exit) rows[f->state].exit(f);
    nm_log(f->nm, NM_INFO, "%s -> %s: %s", rows[f->state].name, rows[to].name, f->reason);
    f->previous = f->state;
    f->state = to;
    f->since = f->nm->now;
    f->refused[0] = 0;
    if (rows[to].entry) rows[to].entry(f);
}

/* What comes from outside and stands above the state itself. */
static enum state overridden(struct hcm *f)
{
    bool off = f->state == SHUTDOWN_ANIMATION || f->state == SHUTDOWN || f->state == HCM_OFF;
    if (f->wants_shutdown && !off && f->state != FALLING) return go(f, SHUTDOWN_ANIMATION, "told to shut down");
    if (!rows[f->state].overridden) return STATES;
    if (f->wants_record) return go(f, RECORD, "told to be limp for a recording");
    if (f->match->penalized) return go(f, PENALTY_ANIMATION_IN, "penalized");
    if (f->match->stopped && f->state != MOTOR_OFF) return go(f, STOPPED, "play is stopped");
    return STATES;
}

/* ---- services ---- */

static void serve(struct hcm *f)
{
    for (uint32_t i = 0; i < f->shutdown.requests.n; i++) {
        Trigger_Response *r = nm_reply(f->nm, &f->shutdown, f->shutdown.requests.at[i]);
        f->wants_shutdown = r->success = true;
        nm_text(r->message, "sits down and switches off");
    }
    for (uint32_t i = 0; i < f->record.requests.n; i++) {
        SetBool_Response *r = nm_reply(f->nm, &f->record, f->record.requests.at[i]);
        bool on = f->record.requests.at[i]->data;
        r->success = !on || rows[f->state].overridden || f->state == RECORD;
        if (r->success)
            f->wants_record = on;
        else
            nm_text(r->message, "not while %s", rows[f->state].name);
    }
    for (uint32_t i = 0; i < f->motors.requests.n; i++) {
        SetBool_Response *r = nm_reply(f->nm, &f->motors, f->motors.requests.at[i]);
        bool off = !f->motors.requests.at[i]->data;
        r->success = f->state == CONTROLABLE || f->state == WALKING || f->state == MOTOR_OFF;
        if (r->success && !off && f->state == MOTOR_OFF) f->wants_walk = true; /* as a command would */
        if (r->success)
            f->wants_off = off;
        else
            nm_text(r->message, "not while %s", rows[f->state].name);
    }
}

/* ---- what is told ---- */

/* A limb that the running animation does not name stays with whom it had. */
static uint8_t owner(const struct hcm *f, const struct nm_group *group, uint8_t by_row, uint8_t otherwise)
{
    if (by_row != HcmState_OWNER_ANIMATION) return by_row;
    for (uint32_t i = 0; i < f->animated->name.n; i++)
        for (uint32_t k = 0; k < group->n; k++)
            if (!strcmp(f->animated->name.at[i], f->nm->body->joints[group->joints[k]].name)) return by_row;
    return otherwise;
}

static void tell(struct hcm *f)
{
    const struct nm_body *body = f->nm->body;
    const struct state_row *row = &rows[f->state];
    HcmState *out = f->state_out;
    bool lies = f->state == STOPPED && f->down_when_stopped;
    out->state = row->number;
    out->previous = rows[f->previous].number;
    out->since = (Time){(int32_t)(f->since / 1000000000), (uint32_t)(f->since % 1000000000)};
    nm_text(out->reason, "%s", f->reason);
    nm_text(out->refused, "%s", f->refused);
    bool down = f->state == FALLING || f->state == FALLEN || f->state == TURNING_OVER || f->state == GETTING_UP;
    out->fall = (uint8_t)(down ? f->fall : FALL_NONE);
    out->head_owner = owner(f, &body->head, row->head, HcmState_OWNER_HEAD);
    out->left_arm_owner = owner(f, &body->arm[NM_LEFT], row->arms, HcmState_OWNER_WALK);
    out->right_arm_owner = owner(f, &body->arm[NM_RIGHT], row->arms, HcmState_OWNER_WALK);
    out->left_leg_owner = out->right_leg_owner = lies ? HcmState_OWNER_NOBODY : row->legs;
    if (lies) out->left_arm_owner = out->right_arm_owner = out->head_owner = HcmState_OWNER_NOBODY;
    out->motors_on = row->legs != HcmState_OWNER_OFF && row->legs != HcmState_OWNER_RECORD;
    nm_put(f->nm, out);
    f->control_state->state = f->state == STOPPED ? RobotControlState_PENALTY : row->number;
    nm_put(f->nm, f->control_state);
}

/* The walk hears cmd_vel only where the state allows it; otherwise it is told to stop. */
static void pass_command(struct hcm *f)
{
    bool may = rows[f->state].walks;
    if (may && !nm_fresh(f->nm, f->cmd_vel)) return;
    if (may) *f->walk_vel = *f->cmd_vel;
    nm_put(f->nm, f->walk_vel);
    if (!may && f->wants_walk) nm_text(f->refused, "cmd_vel: not while %s", rows[f->state].name);
    if (!may && f->wants_animation && f->state != ANIMATION_RUNNING && f->state != WALKING_STOPPING)
        nm_text(f->refused, "animation: not while %s", rows[f->state].name);
}

static void step(struct hcm *f)
{
    sense(f);
    listen(f);
    serve(f);
    hear_answers(f);
    enum state next = overridden(f);
    if (next == STATES && rows[f->state].evaluate) next = rows[f->state].evaluate(f);
    if (next != STATES) set_state(f, next);
    pass_command(f);
    tell(f);
    nm_show(f->nm, "tilt", fall_tilt(f->up));
}

static void reset(struct hcm *f)
{
    f->state = f->previous = STARTUP;
    f->since = f->still_since = f->commanded = f->nm->now;
    f->told = INT64_MIN / 2;
    f->up = (struct vec3){0, 0, 1};
    f->turning = (struct vec3){0, 0, 0};
    f->coming = 0;
    f->fall = FALL_NONE;
    f->play = PLAY_NONE;
    f->tried = 0;
    f->wants_walk = f->wants_shutdown = f->wants_record = f->wants_off = false;
    f->refused[0] = 0;
    nm_text(f->reason, "%s", "started");
}

static int init(struct hcm *f)
{
    if (!f->nm->body) return nm_fail(f->nm->err, "hcm needs a robot: name one in the line-up or with --robot");
    reset(f);
    return 0;
}

#define SELF struct hcm
static const struct nm_port ports[] = {
    NM_IN(imu, Imu, "imu/data"),
    NM_IN(joints, JointState, "joint_states"),
    NM_IN(cmd_vel, Twist, "cmd_vel"),
    NM_LAST(walk, WalkState, "walk_state"),
    NM_LAST(animation, Animation, "animation"),
    NM_LAST(animated, JointGoals, "animation_goals"),
    NM_IN(match, MatchState, "match_state"),
    NM_CLIENT(send, PlayAnimation_SendGoal, "play_animation/_action/send_goal", 4),
    NM_CLIENT(result, PlayAnimation_GetResult, "play_animation/_action/get_result", 4),
    NM_SERVER(shutdown, Trigger, "shutdown", 2),
    NM_SERVER(record, SetBool, "record", 2),
    NM_SERVER(motors, SetBool, "motors", 2),
    NM_OUT(walk_vel, Twist, "walk_vel"),
    NM_OUT(state_out, HcmState, "hcm_state"),
    NM_OUT(control_state, RobotControlState, "robot_state"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(tilt, 0.9, 0.2, 1.5, "rad", "a trunk that will tilt so far is falling"),
    NM_PARAM(ahead, 0.15, 0, 1, "s", "how far ahead that is looked"),
    NM_PARAM(least, 0.45, 0, 1.5, "rad", "with less tilt it is no fall, however fast the trunk turns"),
    NM_PARAM(upright, 0.6, 0.1, 1.5, "rad", "with less tilt it stands"),
    NM_PARAM(quiet, 0.6, 0.05, 10, "rad/s", "slower turning is lying still"),
    NM_PARAM(settle, 0.25, 0, 5, "s", "how long it must lie still before it gets up"),
    NM_PARAM(startup, 0.5, 0, 10, "s", "until the sensors are believed"),
    NM_PARAM(idle, 0, 0, 3600, "s", "sits down and switches the motors off after so long without a command; 0: never"),
    NM_PARAM_SWITCH(get_up, true, "gets up after a fall"),
    NM_PARAM_SWITCH(protect, true, "takes a protecting pose in a fall"),
    NM_PARAM(tries, 5, 1, 100, "1", "get-ups in a row before it rests"),
    NM_PARAM(rest, 5, 0, 600, "s", "how long it rests then"),
    {0},
};
NM_MODULE(hcm, "The hardware control manager: states, falls, get-ups, and who moves which joints.", .ports = ports,
          .params = params, .init = NM_CALL(init), .reset = NM_CALL(reset), .step = NM_CALL(step))
