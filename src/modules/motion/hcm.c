/* The hardware control manager: knows what state the robot is in and who may move which joints, catches falls, gets up,
 * sits down, and switches motors off and on. Its states are in hcm_states.c; the owners that it names are obeyed by
 * joint_owners.
 *
 * Who wants joints asks, and moves only what hcm_state says is his:
 * - The animation player on `animation`, the kick on `kick`, with the thesis' Animation message in every cycle:
 *   `request` alone asks for the joints. The manager stops the walk (WALKING_STOPPING) and then grants them: state
 *   ANIMATION_RUNNING, and the legs' owner is OWNER_KICK for a kick, never so for an animation. From then on `first`
 *   with the first goals, no flag with all others, `last` at the end; silence for 0.1 s is an end too. A kick's goals
 *   are on `kick_goals`; legs and arms are its own, the head is not. When the owner changes, the joints are taken away:
 *   a fall (falls are caught while kicking, not while an animation plays: a dive is one), a penalty, a stop.
 * - Arms on `arm_goals`: goals that come and name joints of an arm ask for that arm. It is theirs (OWNER_ARMS) where it
 *   would be the walk's, until the goals end; a fall, an animation and a kick stand above. */
#include <string.h>

#include "body/robot.h"
#include "core/stamp.h"
#include "modules/motion/hcm_parts.h"

/* ---- what is heard ---- */

static void hear(struct hcm_mover *who, const Animation *said, bool news)
{
    who->wants = news && said->request && !said->hcm;
    who->moves = news && !said->hcm && !said->last && !said->request;
}

static void listen(struct hcm *f)
{
    if (nm_fresh(f->nm, f->cmd_vel)) {
        const Twist *v = f->cmd_vel;
        f->told = f->nm->now;
        f->wants_walk = v->linear.x != 0 || v->linear.y != 0 || v->angular.z != 0;
    }
    if (nm_seconds(f->nm->now - f->told) > 0.5) f->wants_walk = false;
    hear(&f->animator, f->animation, nm_fresh(f->nm, f->animation));
    hear(&f->kicker, f->kick, nm_fresh(f->nm, f->kick));
    if (f->wants_walk || f->animator.wants || f->kicker.wants) f->commanded = f->nm->now;
}

/* ---- what is told ---- */

static bool names(const struct hcm *f, const JointGoals *goals, const struct nm_group *group)
{
    for (uint32_t i = 0; i < goals->name.n; i++)
        for (uint32_t k = 0; k < group->n; k++)
            if (!strcmp(goals->name.at[i], f->nm->body->joints[group->joints[k]].name)) return true;
    return false;
}

/* A limb that the running animation does not name stays with whom it had. */
static uint8_t owner(const struct hcm *f, const struct nm_group *group, uint8_t by_row, uint8_t otherwise)
{
    return by_row != HcmState_OWNER_ANIMATION || names(f, f->animated, group) ? by_row : otherwise;
}

static uint8_t arm_owner(const struct hcm *f, enum nm_side side, uint8_t by_row)
{
    const struct nm_group *arm = &f->nm->body->arm[side];
    uint8_t by_animation = owner(f, arm, by_row, HcmState_OWNER_WALK);
    bool asked = by_animation == HcmState_OWNER_WALK && nm_fresh(f->nm, f->arm_goals) && names(f, f->arm_goals, arm);
    return asked ? HcmState_OWNER_ARMS : by_animation;
}

static void give_all(HcmState *out, uint8_t owner)
{
    out->left_leg_owner = out->right_leg_owner = out->left_arm_owner = out->right_arm_owner = owner;
    out->head_owner = owner == HcmState_OWNER_WALK ? HcmState_OWNER_HEAD : owner;
}

static void tell_owners(struct hcm *f)
{
    const struct nm_body *body = f->nm->body;
    const struct hcm_row *row = &hcm_rows[f->state];
    HcmState *out = f->state_out;
    out->head_owner = owner(f, &body->head, row->head, HcmState_OWNER_HEAD);
    out->left_arm_owner = arm_owner(f, NM_LEFT, row->arms);
    out->right_arm_owner = arm_owner(f, NM_RIGHT, row->arms);
    out->left_leg_owner = out->right_leg_owner = row->legs;
    if (f->state == STOPPED && f->down_when_stopped) give_all(out, HcmState_OWNER_NOBODY);
    if (f->state == FALLING && !f->protect) give_all(out, HcmState_OWNER_WALK);
}

static void tell(struct hcm *f)
{
    const struct hcm_row *row = &hcm_rows[f->state];
    HcmState *out = f->state_out;
    out->state = row->number;
    out->previous = hcm_rows[f->previous].number;
    out->since = nm_stamp(f->since);
    nm_text(out->reason, "%s", f->reason);
    nm_text(out->refused, "%s", f->refused);
    bool down = f->state == FALLING || f->state == FALLEN || f->state == TURNING_OVER || f->state == GETTING_UP;
    out->fall = (uint8_t)(down ? f->fall : FALL_NONE);
    out->motors_on = row->legs != HcmState_OWNER_OFF && row->legs != HcmState_OWNER_RECORD;
    tell_owners(f);
    nm_put(f->nm, out);
    /* the thesis knows neither stopped nor carried; a penalty is what comes nearest */
    f->control_state->state = row->number > HcmState_HCM_OFF ? RobotControlState_PENALTY : row->number;
    nm_put(f->nm, f->control_state);
}

/* The walk hears cmd_vel only where the state allows it; otherwise it is told to stop. */
static void pass_command(struct hcm *f)
{
    const struct hcm_row *row = &hcm_rows[f->state];
    if (row->walks && !nm_fresh(f->nm, f->cmd_vel)) return;
    if (row->walks) *f->walk_vel = *f->cmd_vel;
    nm_put(f->nm, f->walk_vel);
    if (row->walks) return;
    bool waits = f->state == WALKING_STOPPING;
    if (f->wants_walk) nm_text(f->refused, "cmd_vel: not while %s", row->name);
    if (f->animator.wants && !waits && f->state != ANIMATION_RUNNING)
        nm_text(f->refused, "animation: not while %s", row->name);
    if (f->kicker.wants && !waits && f->state != KICKING) nm_text(f->refused, "kick: not while %s", row->name);
}

static void start_clocks(struct hcm *f)
{
    f->since = f->answers_since = f->still_since = f->down_since = f->at_rest_since = f->nm->now;
    f->commanded = f->loaded_since = f->nm->now;
    f->begun = true;
}

static void step(struct hcm *f)
{
    if (!f->begun) start_clocks(f);
    hcm_sense(f);
    listen(f);
    hcm_serve(f);
    hcm_hear_player(f);
    hcm_evaluate(f);
    hcm_switch_power(f);
    pass_command(f);
    tell(f);
    nm_show(f->nm, "tilt", fall_tilt(f->up));
}

static void reset(struct hcm *f)
{
    f->state = f->previous = STARTUP;
    f->begun = f->felt_load = f->drained = false;
    f->told = INT64_MIN / 2;
    f->lifted_since = INT64_MAX;
    f->up = (struct vec3){0, 0, 1};
    f->turning = (struct vec3){0, 0, 0};
    f->coming = 0;
    f->fall = FALL_NONE;
    f->play = PLAY_NONE;
    f->tried = 0;
    f->wants_walk = f->wants_shutdown = f->wants_record = f->wants_off = false;
    f->power_told = INT64_MIN;
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
    NM_IN(feet, FootPressure, "foot_pressure", .optional = true),
    NM_IN(cmd_vel, Twist, "cmd_vel"),
    NM_LAST(walk, WalkState, "walk_state"),
    NM_LAST(animation, Animation, "animation"),
    NM_LAST(animated, JointGoals, "animation_goals"),
    NM_LAST(kick, Animation, "kick", .optional = true),
    NM_LAST(arm_goals, JointGoals, "arm_goals", .optional = true),
    NM_IN(match, MatchState, "match_state"),
    NM_IN(battery, BatteryState, "battery_state", .optional = true),
    NM_CLIENT(send, PlayAnimation_SendGoal, "play_animation/_action/send_goal", 4),
    NM_CLIENT(result, PlayAnimation_GetResult, "play_animation/_action/get_result", 4),
    NM_CLIENT(power, SetBool, "motor_power", 4),
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
    NM_PARAM(ahead, 0.2, 0, 1, "s", "how far ahead that is looked"),
    NM_PARAM(least, 0.3, 0, 1.5, "rad", "with less tilt it is no fall, however fast the trunk turns"),
    NM_PARAM(least_kick, 0.45, 0, 1.5, "rad", "the same while kicking, which throws the trunk about"),
    NM_PARAM(upright, 0.6, 0.1, 1.5, "rad", "with less tilt it stands"),
    NM_PARAM(quiet, 0.6, 0.05, 10, "rad/s", "slower turning is being still"),
    NM_PARAM(settle, 0.25, 0, 5, "s", "for so long"),
    NM_PARAM(rocking, 1.5, 0.05, 20, "rad/s",
             "one that lies and turns slower has landed: it need not be still to get up"),
    NM_PARAM(landed, 0.15, 0, 5, "s", "for so long"),
    NM_PARAM(no_load, 4, 0, 1000, "N", "an upright robot with less under both feet is in somebody's hands"),
    NM_PARAM(lifted, 0.3, 0.02, 10, "s", "for so long"),
    NM_PARAM(put_down, 3, 0, 60, "s", "put down lying, it gets up after not being moved for so long"),
    NM_PARAM(startup, 0.35, 0, 10, "s", "sensors and joints are believed when they have answered for so long"),
    NM_PARAM(idle, 0, 0, 3600, "s", "sits down and switches the motors off after so long without a command; 0: never"),
    NM_PARAM(empty, 0.05, 0, 1, "1",
             "with less charge it sits down and switches the motors off until the battery was changed; 0: never"),
    NM_PARAM_SWITCH(get_up, true, "gets up after a fall"),
    NM_PARAM_SWITCH(protect, true, "takes a protecting pose in a fall; otherwise the walk goes on until it lies"),
    NM_PARAM_SWITCH(limp, false,
                    "limp for a recording by hand, as by the service record; nutmeg animate record sets it"),
    NM_PARAM(tries, 5, 1, 100, "1", "get-ups in a row before it rests"),
    NM_PARAM(rest, 5, 0, 600, "s",
             "how long it rests then, the first time; each rest is twice as long as the one before, up to 16 times"),
    NM_PARAM(stuck, 1.5, 0.1, 10, "s", "a get-up that lies still for so long has failed and is begun anew"),
    NM_PARAM(turned, 0.6, 0, 0.78, "rad", "one that turns over gets up when its back or front is so near the ground"),
    {0},
};
NM_MODULE(hcm, "The hardware control manager: states, falls, get-ups, and who moves which joints.", NM_PORTS(ports),
          NM_PARAMS(params), .init = NM_CALL(init), .reset = NM_CALL(reset), .step = NM_CALL(step))
