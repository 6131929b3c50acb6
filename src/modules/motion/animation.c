/* Plays the key-frame motions of the robot's folder. It serves the action PlayAnimation. A goal of higher priority
 * interrupts the one that is playing; goals of the hardware control manager have the highest priority. A goal that is
 * refused gets a reason. Before anything moves, the player asks the manager for the joints (the Animation message of
 * Marc Bestmann's thesis: request, first, last). One that begins with a strike is a dive: it asks for them at once,
 * even in the middle of a step. Every file is checked against the body at the start. */
#include <string.h>

#include "action_msgs/GoalStatus.h"
#include "body/animation.h"
#include "core/action.h"
#include "humanoid_league_msgs/Animation.h"
#include "humanoid_league_msgs/PlayAnimation.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"

enum { BY_HCM = 100 }; /* added to the priority of the manager's own goals */

struct animation {
    struct nm *nm;
    /* in */
    const HcmState *hcm;
    const JointState *joints;
    const JointGoals *last_goals; /* what the joints were told last */
    const Imu *imu;
    nm_action(PlayAnimation) play;
    /* out */
    JointGoals *goals;
    Animation *flags;
    /* params */
    double patience; /* s     */
    double haste;    /* share */
    /* state */
    int32_t playing; /* in the body's animations, -1: none        */
    uint32_t priority;
    bool by_hcm;
    bool moving;    /* the joints are ours                        */
    int64_t asked;  /* ns; when the joints were asked for         */
    double t, lead; /* s into it; share of speed in the first move */
    double from[NM_JOINTS];
    double q[NM_JOINTS]; /* as measured last */
    uint64_t known;
    uint32_t ankle[2][2]; /* side, roll or pitch; the body's n_joints: none */
};

static void read_joints(struct animation *f)
{
    const JointState *in = f->joints;
    f->known |= nm_take_joints(f->nm->body, in->name.at, in->name.n, in->position.at, in->position.n, f->q);
}

/* ---- goals ---- */

/* Why a goal cannot be played now; NULL if it can. */
static const char *refusal(struct animation *f, const PlayAnimation_Goal *goal, int32_t *index)
{
    static const bool asks_in[] = {[HcmState_CONTROLABLE] = true,
                                   [HcmState_WALKING] = true,
                                   [HcmState_MOTOR_OFF] = true,
                                   [HcmState_ANIMATION_RUNNING] = true};
    const struct nm_animation *found = nm_find_animation(f->nm->body, goal->animation);
    uint8_t state = f->hcm->state;
    if (!found) return "this robot has no such animation";
    *index = (int32_t)(found - f->nm->body->animations);
    if (!nm_slot(f->hcm)->seq) return "the hardware control manager is silent";
    if (!goal->hcm && (state >= sizeof asks_in || !asks_in[state]))
        return "the hardware control manager does not give up the joints now";
    if ((found->joints & f->known) != found->joints) return "not all of its joints have answered yet";
    if (f->playing >= 0 && found->priority + (goal->hcm ? BY_HCM : 0) <= f->priority && !(goal->hcm && f->by_hcm))
        return "another animation of the same or higher priority is playing";
    return NULL;
}

/* Starts at the last goals of the joints, so that joints under load do not jump; limp joints start where they are. */
static void begin(struct animation *f)
{
    const struct nm_animation *a = &f->nm->body->animations[f->playing];
    const JointGoals *told = f->last_goals;
    memcpy(f->from, f->q, sizeof f->from);
    for (uint32_t i = 0, guess = 0; i < told->name.n && i < told->position.n; i++) {
        int32_t joint = nm_find_joint_near(f->nm->body, told->name.at[i], guess);
        if (joint < 0 || (i < told->stiffness.n && told->stiffness.at[i] < 0.5f)) continue;
        guess = (uint32_t)joint + 1;
        f->from[joint] = told->position.at[i];
    }
    /* the first move is made as slow as the slowest joint needs */
    double need = 1;
    for (uint32_t j = 0; j < f->nm->body->n_joints; j++) {
        if (!(a->frames[0].joints >> j & 1) || a->frames[0].strike) continue;
        double speed = (a->cubic ? 1.5 : 1) * fabs(a->frames[0].goal[j] - f->from[j]) / a->frames[0].at;
        need = fmax(need, speed / (f->haste * f->nm->body->joints[j].velocity));
    }
    f->lead = 1 / need;
    f->t = 0;
    f->moving = true;
}

static void take_goal(struct animation *f, const PlayAnimation_Goal *goal)
{
    int32_t index = -1;
    const char *why = refusal(f, goal, &index);
    if (why) {
        nm_log(f->nm, NM_WARN, "animation %s refused: %s", goal->animation, why);
        nm_action_reject(f->nm, PlayAnimation, &f->play); /* and nobody is asked for joints: a walk goes on */
        return;
    }
    if (f->playing >= 0)
        nm_log(f->nm, NM_INFO, "animation %s interrupted by %s", f->nm->body->animations[f->playing].name,
               goal->animation);
    nm_action_accept(f->nm, PlayAnimation, &f->play);
    f->playing = index;
    f->by_hcm = goal->hcm;
    f->priority = f->nm->body->animations[index].priority + (goal->hcm ? BY_HCM : 0);
    f->moving = false;
    f->asked = f->nm->now;
}

static void end(struct animation *f, int8_t status)
{
    f->flags->last = true;
    f->flags->hcm = f->by_hcm;
    f->playing = -1;
    f->moving = false;
    nm_action_finish(f->nm, PlayAnimation, &f->play, status)->successful = status == GoalStatus_STATUS_SUCCEEDED;
    nm_put(f->nm, f->flags);
}

/* ---- playing ---- */

/* The ankles give way to how the trunk turns. */
static double balance(const struct animation *f, const struct nm_animation *a, uint32_t joint)
{
    double turning[2] = {f->imu->angular_velocity.x, f->imu->angular_velocity.y};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 2; i++)
            if (f->ankle[side][i] == joint && isfinite(turning[i])) return a->balance[i] * turning[i];
    return 0;
}

static void put_goals(struct animation *f, const struct nm_animation *a)
{
    struct nm_animation_pose pose;
    JointGoals *out = f->goals;
    nm_animation_sample(a, f->from, f->t, &pose);
    for (uint32_t j = 0; j < f->nm->body->n_joints; j++) {
        if (!(a->joints >> j & 1) || out->name.n == sizeof out->name.at / sizeof *out->name.at) continue;
        uint32_t i = out->name.n++;
        nm_text(out->name.at[i], "%s", f->nm->body->joints[j].name);
        out->position.at[i] = pose.q[j] + balance(f, a, j);
        out->stiffness.at[i] = (float)pose.stiffness;
        out->position.n = out->stiffness.n = i + 1;
    }
    nm_put(f->nm, out);
}

static void advance(struct animation *f)
{
    const struct nm_animation *a = &f->nm->body->animations[f->playing];
    bool kicks = f->hcm->left_leg_owner == HcmState_OWNER_KICK;
    bool ours = f->by_hcm || (f->hcm->state == HcmState_ANIMATION_RUNNING && !kicks);
    if (!f->moving && !ours) {
        f->flags->request = true;
        f->flags->first = a->frames[0].strike;
        nm_put(f->nm, f->flags);
        if (nm_seconds(f->nm->now - f->asked) > f->patience) {
            nm_log(f->nm, NM_WARN, "animation %s given up: the joints were not given within %g s", a->name,
                   f->patience);
            end(f, GoalStatus_STATUS_ABORTED);
        }
        return;
    }
    if (f->moving && !ours) {
        nm_log(f->nm, NM_WARN, "animation %s given up: the hardware control manager took the joints", a->name);
        end(f, GoalStatus_STATUS_ABORTED);
        return;
    }
    f->flags->first = !f->moving;
    f->flags->hcm = f->by_hcm;
    if (!f->moving)
        begin(f);
    else
        f->t += nm_seconds(f->nm->dt) * (f->t < a->frames[0].at ? f->lead : 1);
    put_goals(f, a);
    nm_put(f->nm, f->flags);
    nm_action_feedback(f->nm, PlayAnimation, &f->play)->percent_done = (uint8_t)fmin(100 * f->t / a->duration, 100);
    if (f->t >= a->duration) end(f, GoalStatus_STATUS_SUCCEEDED);
}

static void step(struct animation *f)
{
    if (nm_fresh(f->nm, f->joints)) read_joints(f);
    const PlayAnimation_Goal *goal = nm_action_step(f->nm, PlayAnimation, &f->play);
    if (goal) take_goal(f, goal);
    if (f->playing < 0) return;
    if (f->play.state.cancel)
        end(f, GoalStatus_STATUS_CANCELED);
    else
        advance(f);
}

/* The last joints of a leg that turn about x and y. */
static void find_ankles(struct animation *f)
{
    const struct nm_body *body = f->nm->body;
    for (int side = 0; side < 2; side++) {
        f->ankle[side][0] = f->ankle[side][1] = body->n_joints;
        for (uint32_t i = 0; i < body->leg[side].n; i++) {
            uint32_t joint = body->leg[side].joints[i];
            if (fabs(body->joints[joint].axis.x) > 0.9) f->ankle[side][0] = joint;
            if (fabs(body->joints[joint].axis.y) > 0.9) f->ankle[side][1] = joint;
        }
    }
}

static int init(struct animation *f)
{
    const struct nm_body *body = f->nm->body;
    if (nm_need_body(f->nm)) return -1;
    uint32_t faults = 0;
    for (uint32_t i = 0; i < body->n_animations; i++)
        faults += nm_animation_check(body, &body->animations[i], f->nm->err);
    find_ankles(f);
    f->playing = -1;
    return faults ? -1 : 0;
}

#define SELF struct animation
static const struct nm_port ports[] = {
    NM_IN(hcm, HcmState, "hcm_state"),
    NM_IN(joints, JointState, "joint_states"),
    NM_LAST(last_goals, JointGoals, "joint_goals"),
    NM_IN(imu, Imu, "imu/data"),
    NM_ACTION(play, PlayAnimation, "play_animation"),
    NM_OUT(goals, JointGoals, "animation_goals"),
    NM_OUT(flags, Animation, "animation"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(patience, 4, 0.1, 60, "s",
             "how long it waits until it gets the joints, for instance until the walk has stopped"),
    NM_PARAM(haste, 0.6, 0.05, 1, "1", "speed of the move to the first frame, as a share of the servos' largest speed"),
    {0},
};
NM_MODULE(animation, "Plays key-frame motions of the robot's folder.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step))
