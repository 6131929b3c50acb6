/* The strong kick. It serves the action Kick, whose goal has the place of the ball and the target. It chooses the foot
 * (kick_choose.h) and refuses, with a reason, what no foot can reach. It asks the hardware control manager for legs and
 * arms (the Animation message of Marc Bestmann's thesis: request, first, last), plans while the robot stands
 * (kick_plan.h, kick_path.h) and kicks (kick_engine.h). While the walk stops, the ball is kept in the frame of the
 * odometry. The kick ends when the manager takes the joints away or the robot tips over. While the robot stands, the
 * module publishes where a ball lies best for a kick. */
#include <stdio.h>
#include <string.h>

#include "action_msgs/GoalStatus.h"
#include "core/action.h"
#include "core/poses.h"
#include "geometry_msgs/PointStamped.h"
#include "humanoid_league_msgs/Animation.h"
#include "humanoid_league_msgs/Kick.h"
#include "modules/imu.h"
#include "modules/motion/kick_engine.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "sensor_msgs/JointState.h"

enum stage { IDLE, ASKING, PLANNING, KICKING };

/* share of the aim that goes with each share of strength: at half strength a third is left, as simulated balls say */
static const double TURNS_LESS = 1.4;
static const double TELL = 0.5;           /* s between two words about the best place */
static const double TURNS_STOPPING = 0.3; /* rad, how far a walking robot may still turn until it stands */
static const double SILENT = 0.1;         /* s, without word the inertial sensor is not believed */

struct kick {
    struct nm *nm;
    /* in */
    const HcmState *hcm;
    const JointState *joints;
    const JointGoals *last_goals; /* what the joints were told last */
    const Imu *imu;
    const FootPressure *feet;
    const Odometry *odometry;
    nm_action(Kick) kick;
    /* out */
    PointStamped *place; /* where the ball lies best for the left foot */
    JointGoals *goals;
    Animation *flags;
    /* params */
    double patience;                 /* s */
    int32_t work;                    /* samples a tick */
    double calm;                     /* rad/s */
    double stop_for;                 /* m */
    double full, pass_full, weakest; /* m, m, share */
#define X(name, value, least, most, unit, power, about) double name;
    KICK_PATH_PARAMS(X)
    KICK_REACH_PARAMS(X)
    KICK_PLAN_PARAMS(X)
    KICK_ENGINE_PARAMS(X)
#undef X
    /* state */
    struct kick_params tuned, now; /* as set; as this kick has them */
    struct kick_engine engine;
    enum stage stage;
    int64_t asked;     /* ns; when the joints were asked for           */
    struct pose2 ball; /* with the direction; in odom where that is known, else in base_footprint */
    bool in_odom;
    double told[NM_JOINTS], q[NM_JOINTS];
    uint64_t known;     /* a bit a joint that has answered */
    int64_t told_place; /* ns; when it was said where the ball lies best; 0: never */
};

static void take_params(struct kick *f)
{
#define X(name, value, least, most, unit, power, about) f->tuned.plan.path.name = f->name;
    KICK_PATH_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) f->tuned.plan.reach.name = f->name;
    KICK_REACH_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) f->tuned.plan.name = f->name;
    KICK_PLAN_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) f->tuned.name = f->name;
    KICK_ENGINE_PARAMS(X)
#undef X
    kick_params_scale(&f->tuned, kick_leg_length(&f->engine.leg[NM_LEFT]));
}

/* ---- what is known ---- */

static void read_joints(struct kick *f)
{
    const JointState *in = f->joints;
    f->known |= nm_take_joints(f->nm->body, in->name.at, in->name.n, in->position.at, in->position.n, f->q);
}

static bool all_known(const struct kick *f)
{
    uint64_t all = (f->nm->body->n_joints < 64 ? 1ull << f->nm->body->n_joints : 0) - 1;
    return (f->known & all) == all;
}

/* Where the joints were told to be, so that load does not make them jump. */
static void read_told(struct kick *f)
{
    const JointGoals *in = f->last_goals;
    memcpy(f->told, f->q, sizeof f->told);
    nm_take_joints(f->nm->body, in->name.at, in->name.n, in->position.at, in->position.n, f->told);
}

static struct kick_want want_now(const struct kick *f)
{
    struct pose2 at = f->in_odom ? pose2_mul(pose2_inv(nm_pose2(&f->odometry->pose.pose)), f->ball) : f->ball;
    return (struct kick_want){at.x, at.y, at.theta};
}

static void sense(const struct kick *f, struct kick_sense *s)
{
    *s = (struct kick_sense){.q = f->q, .feet = f->feet->left.valid && f->feet->right.valid};
    if (!torso_by_imu(f->nm, f->imu, SILENT, &s->torso_to_world) || !turning_by_imu(f->nm->body, f->imu, &s->gyro))
        s->gyro = (struct vec3){NAN, NAN, NAN}; /* a broken reading, for the engine */
    for (int i = 0; i < NM_CELLS; i++) {
        s->cells[NM_LEFT][i] = f->feet->left.cells[i];
        s->cells[NM_RIGHT][i] = f->feet->right.cells[i];
    }
}

/* ---- begin and end ---- */

static void end(struct kick *f, uint8_t result, const char *why)
{
    static const int8_t status[] = {[Kick_Result_SUCCESS] = GoalStatus_STATUS_SUCCEEDED,
                                    [Kick_Result_REJECTED] = GoalStatus_STATUS_ABORTED,
                                    [Kick_Result_ABORTED] = GoalStatus_STATUS_ABORTED};
    bool cancelled = f->kick.state.cancel && result != Kick_Result_SUCCESS; /* a cancel may come too late */
    Kick_Result *out = nm_action_finish(f->nm, Kick, &f->kick, cancelled ? GoalStatus_STATUS_CANCELED : status[result]);
    out->result = result;
    nm_text(out->reason, "%s", why);
    if (result != Kick_Result_SUCCESS)
        nm_log(f->nm, NM_WARN, "kick %s: %s", result == Kick_Result_REJECTED ? "refused" : "given up", why);
    if (f->stage == PLANNING || f->stage == KICKING) {
        f->flags->request = f->flags->first = false;
        f->flags->last = true;
        nm_put(f->nm, f->flags);
    }
    f->stage = IDLE;
}

/* Shorter than a full kick is slower, along the same way; and it turns the robot less, so there is less to aim for.
 */
static void set_strength(struct kick *f, double distance)
{
    struct kick_path_params *p = &f->now.plan.path;
    double share = fmin(fmax(sqrt(distance / f->full), f->weakest), 1);
    double passes = fmin(fmax(sqrt(distance / f->pass_full), f->weakest), 1);
    double turns = fmax(1 - TURNS_LESS * (1 - share), 0);
    f->now = f->tuned;
    p->speed *= share;
    p->rising *= share;
    p->aim *= turns;
    p->aim_beside *= turns;
    p->aim_near *= turns;
    p->strike /= share;
    p->through_time /= share;
    p->pass_speed *= passes;
    p->pass_strike /= passes;
    p->pass_through_time /= passes;
}

/* Why it is not worth stopping a walk for this goal; NULL if it is. The rest is decided when the robot stands: until
 * then it comes nearer and turns. */
static const char *refusal_walking(const struct kick *f)
{
    const struct kick_reach_params *p = &f->now.plan.reach;
    struct kick_want want = want_now(f);
    if (hypot(want.ball_x, want.ball_y) > f->stop_for) return "the ball is too far away to stop walking for it";
    if (fabs(want.direction) > fmax(fmax(p->inwards, p->outwards), p->pass_most) + TURNS_STOPPING)
        return "no foot can kick in that direction";
    return NULL;
}

/* Why a kick cannot begin now; NULL if it can. */
static const char *refusal(struct kick *f, char *text, size_t size)
{
    static const bool asks_in[] = {[HcmState_CONTROLABLE] = true, [HcmState_WALKING] = true};
    uint8_t state = f->hcm->state;
    if (!nm_slot(f->hcm)->seq) return "the hardware control manager is silent";
    if (state >= sizeof asks_in || !asks_in[state]) return "the robot is not controlable now";
    if (!all_known(f)) return "not all joints have answered yet";
    if (state == HcmState_WALKING) return refusal_walking(f);
    struct kick_choice any;
    read_told(f);
    struct kick_stand stand = kick_stand_of(f->nm->body, f->told);
    struct kick_want want = want_now(f);
    const struct kick_plan_params *p = &f->now.plan;
    return kick_choose(&p->path, &p->reach, &stand, &want, &any, text, size) ? text : NULL;
}

static void take_goal(struct kick *f, const Kick_Goal *goal)
{
    char text[128];
    double dx = goal->target.x - goal->ball_pos.x, dy = goal->target.y - goal->ball_pos.y, distance = hypot(dx, dy);
    struct pose2 ball = {goal->ball_pos.x, goal->ball_pos.y, distance > 0 ? atan2(dy, dx) : 0};
    if (f->stage != IDLE) {
        nm_log(f->nm, NM_WARN, "kick refused: another kick is still running");
        nm_action_reject(f->nm, Kick, &f->kick);
        return;
    }
    nm_action_accept(f->nm, Kick, &f->kick); /* so that a refusal can tell its reason */
    if (!isfinite(ball.x + ball.y + distance)) {
        end(f, Kick_Result_REJECTED, "ball or target of the goal is not a number");
        return;
    }
    f->in_odom = nm_slot(f->odometry)->seq > 0;
    f->ball = f->in_odom ? pose2_mul(nm_pose2(&f->odometry->pose.pose), ball) : ball;
    set_strength(f, distance);
    const char *why = refusal(f, text, sizeof text);
    if (why) {
        end(f, Kick_Result_REJECTED, why);
        return;
    }
    f->stage = ASKING;
    f->asked = f->nm->now;
}

static void begin_plan(struct kick *f)
{
    char why[128];
    struct kick_choice choice;
    const struct kick_plan_params *p = &f->now.plan;
    read_told(f);
    struct kick_stand stand = kick_stand_of(f->nm->body, f->told);
    struct kick_want want = want_now(f);
    f->stage = PLANNING;
    f->flags->first = true;
    if (kick_choose(&p->path, &p->reach, &stand, &want, &choice, why, sizeof why))
        end(f, Kick_Result_REJECTED, why);
    else
        kick_plan_begin(&f->engine.plan, f->nm->body, f->engine.leg, p, &stand, choice, &want);
}

static void best_place(const struct kick *f, double xy[2])
{
    struct kick_stand stand = kick_stand_of(f->nm->body, f->told);
    kick_best_place(&f->tuned.plan.path, &stand, NM_LEFT, xy);
}

/* Now and then while it stands, for whoever walks to the ball or lays it down; for the right foot it is the mirror
 * image. */
static void tell_place(struct kick *f)
{
    double xy[2];
    if (f->told_place && nm_seconds(f->nm->now - f->told_place) < TELL) return;
    f->told_place = f->nm->now;
    read_told(f);
    best_place(f, xy);
    nm_text(f->place->header.frame_id, "base_footprint");
    f->place->point = (Point){xy[0], xy[1], 0};
    nm_put(f->nm, f->place);
}

/* ---- tick by tick ---- */

static void put_goals(struct kick *f)
{
    const struct nm_body *body = f->nm->body;
    JointGoals *out = f->goals;
    for (int limb = 0; limb < 4; limb++) {
        const struct nm_group *group = limb < 2 ? &body->leg[limb] : &body->arm[limb - 2];
        for (uint32_t k = 0; k < group->n; k++) {
            uint32_t i = out->name.n;
            if (i == sizeof out->name.at / sizeof *out->name.at) break;
            nm_text(out->name.at[i], "%s", body->joints[group->joints[k]].name);
            out->position.at[i] = f->told[group->joints[k]];
            out->name.n = out->position.n = i + 1;
        }
    }
    nm_put(f->nm, out);
    nm_put(f->nm, f->flags);
}

static void ask(struct kick *f)
{
    f->flags->request = true;
    nm_put(f->nm, f->flags);
    if (nm_seconds(f->nm->now - f->asked) > f->patience)
        end(f, Kick_Result_REJECTED, "the hardware control manager did not give the joints");
}

/* A robot that still rocks from its last step does not begin. */
static bool is_calm(const struct kick *f)
{
    struct vec3 turning = {0};
    turning_by_imu(f->nm->body, f->imu, &turning);
    return !(hypot(turning.x, turning.y) > f->calm) || nm_seconds(f->nm->now - f->asked) > f->patience;
}

/* What choosing did not see: then the nearest that surely can be had is the best place. */
static void refuse_plan(struct kick *f, const char *why)
{
    char text[128];
    double xy[2];
    best_place(f, xy);
    snprintf(text, sizeof text, "%.80s; best is %.0f cm ahead, %.0f cm aside", why, 100 * xy[0], 100 * xy[1]);
    end(f, Kick_Result_REJECTED, text);
}

static void plan(struct kick *f)
{
    char why[128];
    enum kick_progress progress = kick_plan_work(&f->engine.plan, (uint32_t)f->work, why, sizeof why);
    put_goals(f);
    if (progress == KICK_IMPOSSIBLE) refuse_plan(f, why);
    if (progress != KICK_PLANNED || !is_calm(f)) return;
    kick_engine_begin(&f->engine, f->told);
    f->stage = KICKING;
}

static void go_on(struct kick *f)
{
    static const char *const ends[] = {
        [KICK_NO_WEIGHT] = "the weight did not come over the support foot", [KICK_FALLS] = "the robot tips over"};
    struct kick_sense s;
    struct kick_engine *e = &f->engine;
    sense(f, &s);
    double dt = fmax(nm_seconds(f->nm->dt), 1e-3); /* a cycle that runs twice at one time makes no infinite speeds */
    enum kick_end over = kick_engine_step(e, &f->now, &s, dt, f->told);
    put_goals(f);
    nm_show(f->nm, "capture point ahead x", e->ahead[0]);
    nm_show(f->nm, "capture point ahead y", e->ahead[1]);
    double done = e->t / kick_path_time(&e->plan.path);
    nm_action_feedback(f->nm, Kick, &f->kick)->percent_done = (uint8_t)fmin(100 * done, 100);
    if (over == KICK_DONE)
        end(f, Kick_Result_SUCCESS, "");
    else if (over != KICK_GOES_ON)
        end(f, Kick_Result_ABORTED, ends[over]);
}

static void step(struct kick *f)
{
    if (nm_fresh(f->nm, f->joints)) read_joints(f);
    const Kick_Goal *goal = nm_action_step(f->nm, Kick, &f->kick);
    if (goal) take_goal(f, goal);
    if (f->stage == IDLE && f->hcm->state == HcmState_CONTROLABLE && all_known(f)) tell_place(f);
    if (f->stage == IDLE) return;
    bool ours = f->hcm->state == HcmState_ANIMATION_RUNNING && f->hcm->left_leg_owner == HcmState_OWNER_KICK;
    bool lifted = f->stage == KICKING && f->engine.t > f->engine.plan.path.t[KICK_SHIFTED];
    if (f->kick.state.cancel && !lifted) { /* on one leg it is too late */
        end(f, Kick_Result_ABORTED, "cancelled");
        return;
    }
    if (f->stage != ASKING && !ours) {
        end(f, Kick_Result_ABORTED, "the hardware control manager took the joints");
        return;
    }
    if (f->stage == ASKING && ours) begin_plan(f);
    if (f->stage == ASKING)
        ask(f);
    else if (f->stage == PLANNING)
        plan(f);
    else if (f->stage == KICKING)
        go_on(f);
}

static int init(struct kick *f)
{
    if (nm_need_body(f->nm)) return -1;
    if (kick_engine_init(&f->engine, f->nm->body, f->nm->err)) return -1;
    return 0;
}

#define SELF struct kick
static const struct nm_port ports[] = {
    NM_IN(hcm, HcmState, "hcm_state"),
    NM_IN(joints, JointState, "joint_states"),
    NM_LAST(last_goals, JointGoals, "joint_goals"),
    NM_IN(imu, Imu, "imu/data"),
    NM_IN(feet, FootPressure, "foot_pressure"),
    NM_IN(odometry, Odometry, "odometry"),
    NM_ACTION(kick, Kick, "kick"),
    NM_OUT(place, PointStamped, "kick_place"),
    NM_OUT(goals, JointGoals, "kick_goals"),
    NM_OUT(flags, Animation, "kick"),
    {0},
};
#define X(name, value, least, most, unit, power, about) NM_PARAM(name, value, least, most, unit, about),
static const struct nm_param params[] = {
    NM_PARAM(patience, 4, 0.1, 60, "s",
             "how long it waits until it gets the joints, for instance until the walk has stopped"),
    NM_PARAM(work, 240, 1, 100000, "1", "samples of the plan that are computed in one tick; a plan has about 3500"),
    NM_PARAM(calm, 0.3, 0.01, 10, "rad/s", "the weight is not shifted before the trunk turns slower than this"),
    NM_PARAM(stop_for, 0.8, 0.1, 20, "m", "a walking robot refuses a ball that is farther away, and keeps walking"),
    NM_PARAM(full, 4, 0.1, 20, "m", "distance from ball to target from which on the kick has its full strength"),
    NM_PARAM(pass_full, 1.2, 0.1, 20, "m", "the same for a pass"),
    NM_PARAM(weakest, 0.5, 0.1, 1, "1", "share of the full strength for the nearest targets"),
    KICK_PATH_PARAMS(X) KICK_REACH_PARAMS(X) KICK_PLAN_PARAMS(X) KICK_ENGINE_PARAMS(X){0},
};
#undef X
NM_MODULE(kick, "Kicks the ball to a target and stays upright.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .changed = NM_CALL(take_params), .step = NM_CALL(step))
