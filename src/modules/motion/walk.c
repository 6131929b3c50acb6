/* Walks by cmd_vel or walk_command. The steps are walk_engine's; this module brings it the robot's joints, tilt and
 * feet, limits what is asked to what the walk can do, plans the steps to a target, swings the arms, and rises gently
 * into the stand from which it walks. Without a new velocity for a while it stops: whoever wants to walk must keep
 * saying so. */
#include <string.h>

#include "body/animation.h"
#include "core/nm.h"
#include "geometry_msgs/Twist.h"
#include "modules/imu.h"
#include "modules/motion/step_planner.h"
#include "modules/motion/walk_engine.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"
#include "sensor_msgs/JointState.h"

enum { ARM = 3, FROZEN = 10 }; /* joints of an arm; equal samples in a row that no living sensor gives */
static const double CLOSE = 0.02, ALIGNED = 0.06; /* m, rad: a target is reached              */
static const double LIMPING = 0.6;                /* of the speeds, without load cells        */
static const double SILENT = 0.1;                 /* s, without word a sensor is not believed */

struct walk {
    struct nm *nm;
    /* in */
    const Twist *cmd_vel;
    const WalkCommand *command;
    const HcmState *hcm;
    const JointState *joints;
    const Imu *imu;
    const FootPressure *feet;
    /* out */
    JointGoals *goals;
    WalkState *walk_state;
    /* params */
    double time_out, rise;   /* s          */
    double leap;             /* rad/s      */
    double arms[ARM], swing; /* rad, 1     */
    bool stabilise;
#define X(name, value, least, most, unit, power, about) double name;
    WALK_PARAMS(X)
#undef X
    /* state */
    struct walk_params tuned; /* scaled to the body */
    struct walk_engine engine;
    double mirror[ARM]; /* -1 where a joint of the right arm turns against its left one */
    double q[NM_JOINTS], from[NM_JOINTS], told[NM_JOINTS];
    uint64_t known; /* a bit a joint that has answered    */
    int64_t risen;  /* ns; begin of the rise, -1: not yet */
    double rises;   /* s                                  */
    struct {        /* what is wanted                     */
        uint8_t mode;
        double velocity[3];  /* m/s, m/s, rad/s; of TARGET the most */
        struct pose2 target; /* seen from the support foot          */
        int64_t told;        /* ns                                  */
    } wish;
    uint32_t steps;
    struct imu_watch watch;
    uint32_t same_imu; /* samples in a row that did not change, counted while it walks */
    char refused[128];
};

static void take_params(struct walk *f)
{
#define X(name, value, least, most, unit, power, about) f->tuned.name = f->name;
    WALK_PARAMS(X)
#undef X
    walk_params_scale(&f->tuned, f->engine.legs);
    if (!f->stabilise) walk_params_open_loop(&f->tuned);
}

static void reset(struct walk *f)
{
    walk_engine_reset(&f->engine, &f->tuned);
    f->known = 0;
    f->risen = -1;
    f->wish.mode = WalkCommand_STAND;
}

static int init(struct walk *f)
{
    if (!f->nm->body) return nm_fail(f->nm->err, "walk needs a body: give the line-up a `robot:`");
    if (walk_engine_init(&f->engine, f->nm->body, f->nm->err)) return -1;
    uint32_t twin[NM_JOINTS];
    double sign[NM_JOINTS];
    nm_mirror_joints(f->nm->body, twin, sign);
    for (uint32_t i = 0; i < f->nm->body->arm[NM_LEFT].n && i < ARM; i++)
        f->mirror[i] = sign[f->nm->body->arm[NM_LEFT].joints[i]];
    take_params(f);
    reset(f);
    return 0;
}

/* ---- what is measured ---- */

static void read_joints(struct walk *f)
{
    const JointState *in = f->joints;
    f->known |= nm_take_joints(f->nm->body, in->name.at, in->name.n, in->position.at, in->position.n, f->q);
}

/* A body that walks shakes its sensors: the same numbers again and again are a dead one's. While it stands they may be
 * those of a coarse one, so that death is only found in walking; then it lasts until they change. */
static bool imu_lives(struct walk *f)
{
    if (nm_fresh(f->nm, f->imu)) {
        bool same = imu_same(&f->watch, f->imu) > 0, walks = f->engine.mode == WALK_STEP;
        f->same_imu = !same ? 0 : walks || f->same_imu >= FROZEN ? f->same_imu + 1 : f->same_imu;
    }
    return f->same_imu < FROZEN;
}

static void sense(struct walk *f, struct walk_sense *s)
{
    bool lives = imu_lives(f), fresh = nm_age(f->nm, f->feet) < nm_ns(SILENT);
    *s = (struct walk_sense){
        .q = f->q, .torso_to_world = QUAT_IDENTITY, .feet = fresh && f->feet->left.valid && f->feet->right.valid};
    s->tilt = lives && torso_by_imu(f->nm, f->imu, SILENT, &s->torso_to_world) &&
              turning_by_imu(f->nm->body, f->imu, &s->gyro);
    for (int i = 0; i < NM_CELLS; i++) {
        s->cells[NM_LEFT][i] = f->feet->left.cells[i];
        s->cells[NM_RIGHT][i] = f->feet->right.cells[i];
    }
}

/* ---- what is asked ---- */

static bool take_velocity(struct walk *f, const Twist *v)
{
    double sum = v->linear.x + v->linear.y + v->angular.z;
    if (!isfinite(sum)) {
        nm_text(f->refused, "a velocity that is not finite");
        return false;
    }
    f->wish.velocity[0] = v->linear.x;
    f->wish.velocity[1] = v->linear.y;
    f->wish.velocity[2] = v->angular.z;
    f->wish.told = f->nm->now;
    f->refused[0] = 0;
    return true;
}

static void take_command(struct walk *f)
{
    const WalkCommand *c = f->command;
    const Pose2D *t = &c->target;
    if (c->mode > WalkCommand_TARGET) {
        nm_text(f->refused, "there is no mode %u", c->mode);
        return;
    }
    if (c->mode == WalkCommand_TARGET && !(fabs(t->x) < 100 && fabs(t->y) < 100 && isfinite(t->theta))) {
        nm_text(f->refused, "a target that is not finite, or farther than 100 m");
        return;
    }
    if (!take_velocity(f, &c->velocity)) return;
    f->wish.mode = c->mode;
    /* base_footprint lies half way between the feet */
    struct pose2 apart = f->engine.apart, middle = {apart.x / 2, apart.y / 2, apart.theta / 2};
    f->wish.target = pose2_mul(middle, (struct pose2){t->x, t->y, angle_normal(t->theta)});
    const char *why = c->kick != WalkCommand_KICK_NONE ? walk_kick_ask(c, &f->tuned, &f->engine.kick) : NULL;
    if (why) nm_text(f->refused, "%s", why);
}

static void listen(struct walk *f)
{
    if (nm_fresh(f->nm, f->cmd_vel) && take_velocity(f, f->cmd_vel)) {
        bool still = f->wish.velocity[0] == 0 && f->wish.velocity[1] == 0 && f->wish.velocity[2] == 0;
        f->wish.mode = still ? WalkCommand_STAND : WalkCommand_VELOCITY;
    }
    if (nm_fresh(f->nm, f->command)) take_command(f);
    bool old = nm_seconds(f->nm->now - f->wish.told) > f->time_out;
    if (f->wish.mode == WalkCommand_VELOCITY && old) f->wish.mode = WalkCommand_STAND;
}

/* A step of the planner towards the target, or none when it is reached. */
static struct walk_command to_target(struct walk *f)
{
    struct walk_engine *e = &f->engine;
    const struct walk_params *p = &f->tuned;
    struct walk_command c = {0};
    /* the next step begins where this one will land */
    bool steps = e->mode == WALK_STEP;
    struct pose2 foot = {steps ? e->aim[0] : 0, steps ? e->aim[1] : 0, steps ? e->land_yaw : 0};
    double side = steps ? -walk_engine_side(e->support) : walk_engine_side(e->support);
    struct pose2 middle = pose2_mul(foot, (struct pose2){0, 0.5 * side * e->width, 0});
    struct pose2 rest = pose2_mul(pose2_inv(middle), f->wish.target);
    if (hypot(rest.x, rest.y) < CLOSE * e->size && fabs(rest.theta) < ALIGNED) return c;
    double most[4] = {p->max_forward, p->max_backward, p->max_side, p->max_turn};
    const double asked[4] = {fabs(f->wish.velocity[0]), fabs(f->wish.velocity[0]), fabs(f->wish.velocity[1]),
                             fabs(f->wish.velocity[2])};
    for (int i = 0; i < 4; i++) most[i] = fmax(asked[i] > 0 ? fmin(most[i], asked[i]) : most[i], 0.01) * e->pace;
    struct step_limits limits = {.forward = most[0],
                                 .backward = most[1],
                                 .side = most[2],
                                 .turn = most[3],
                                 .change = fmin(p->change_x / fmax(most[0], most[1]), p->change_y / most[2]),
                                 .change_turn = p->change_turn};
    struct pose2 step = step_plan(&limits, rest, (struct pose2){e->step[0], e->step[1], e->step[2]});
    return (struct walk_command){.step = {step.x, step.y, step.theta}, .walk = true};
}

static struct walk_command command(struct walk *f, const struct walk_sense *s)
{
    struct walk_command c = {0};
    if (f->wish.mode == WalkCommand_STAND) return c;
    if (!s->tilt) {
        nm_text(f->refused, "the inertial sensor is silent or frozen: no walking without it");
        f->wish.mode = WalkCommand_STAND;
        return c;
    }
    if (f->wish.mode == WalkCommand_TARGET) return to_target(f);
    double v[3];
    memcpy(v, f->wish.velocity, sizeof v);
    walk_limit(&f->tuned, v);
    bool limps = !s->feet && f->nm->body->foot[NM_LEFT].n_cells;
    c.walk = true;
    for (int i = 0; i < 3; i++) c.step[i] = v[i] * f->engine.pace * (limps ? LIMPING : 1);
    return c;
}

/* ---- what is told ---- */

/* A robot that stumbles wants its ankles elsewhere at once; its goals go there, but do not jump. */
static void put_joint(struct walk *f, uint32_t joint, double goal, double way)
{
    JointGoals *out = f->goals;
    uint32_t i = out->name.n;
    if (i == sizeof out->name.at / sizeof *out->name.at) return;
    nm_text(out->name.at[i], "%s", f->nm->body->joints[joint].name);
    double wanted = f->from[joint] + way * (goal - f->from[joint]), told = f->told[joint];
    double most = f->leap * nm_seconds(f->nm->dt);
    f->told[joint] = fmin(fmax(wanted, told - most), told + most);
    out->position.at[i] = f->told[joint];
    out->name.n = out->position.n = i + 1;
}

/* Each arm swings with the foot of the other side. */
static void put_arms(struct walk *f, double way)
{
    const struct nm_body *body = f->nm->body;
    for (int side = 0; side < 2; side++) {
        bool foot_swings = side == (int)f->engine.support; /* the other side's */
        double reach = 0.5 * (foot_swings ? f->engine.swing[0] : -f->engine.swing[0]);
        for (uint32_t i = 0; i < body->arm[side].n && i < ARM; i++) {
            double angle = f->arms[i] - (i ? 0 : f->swing * reach / f->engine.legs);
            put_joint(f, body->arm[side].joints[i], side == NM_RIGHT ? f->mirror[i] * angle : angle, way);
        }
    }
}

static uint8_t state_of(const struct walk *f, const struct walk_command *c)
{
    const struct walk_engine *e = &f->engine;
    if (e->mode == WALK_STAND) return WalkState_STANDING;
    if (e->kick.active) return WalkState_KICKING;
    if (!c->walk) return WalkState_STOPPING;
    return e->share < 1 ? WalkState_STARTING : WalkState_WALKING;
}

static void tell(struct walk *f, uint8_t state)
{
    const struct walk_engine *e = &f->engine;
    WalkState *w = f->walk_state;
    w->state = state;
    w->steps = f->steps;
    w->left_support = e->support == NM_LEFT;
    w->phase = (float)e->phase;
    w->step_duration = (float)e->duration;
    w->step = (Pose2D){e->step[0], e->step[1], e->step[2]};
    w->velocity.linear.x = e->step[0] / e->pace;
    w->velocity.linear.y = e->step[1] / e->pace;
    w->velocity.angular.z = e->step[2] / e->pace;
    w->instability = (float)fmin(hypot(e->error[0], e->error[1]) / (0.12 * e->size), 1);
    w->capture_steps = e->capture_steps;
    nm_text(w->refused, "%s", f->refused);
    nm_put(f->nm, w);
}

/* ---- the cycle ---- */

/* From wherever the joints are; the farther, the longer. */
static void begin_rise(struct walk *f)
{
    const struct nm_body *body = f->nm->body;
    double goals[2][NM_GROUP], farthest = 0;
    struct walk_sense level = {.q = f->q, .torso_to_world = QUAT_IDENTITY};
    walk_engine_reset(&f->engine, &f->tuned);
    walk_engine_step(&f->engine, &f->tuned, &level, &(struct walk_command){0}, nm_seconds(f->nm->dt), goals);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < 6; i++)
            farthest = fmax(farthest, fabs(goals[side][i] - f->q[body->leg[side].joints[i]]));
    memcpy(f->from, f->q, sizeof f->from);
    memcpy(f->told, f->q, sizeof f->told);
    f->risen = f->nm->now;
    f->rises = fmax(f->rise * fmin(farthest / 0.4, 1), 0.1);
}

/* Without a manager everything is the walk's. */
static bool owns_legs(const struct walk *f)
{
    bool managed = nm_slot(f->hcm)->seq != 0;
    return !managed ||
           (f->hcm->left_leg_owner == HcmState_OWNER_WALK && f->hcm->right_leg_owner == HcmState_OWNER_WALK);
}

static bool may_walk(const struct walk *f)
{
    bool managed = nm_slot(f->hcm)->seq != 0;
    return !managed || f->hcm->state == HcmState_CONTROLABLE || f->hcm->state == HcmState_WALKING;
}

/* What is wanted is dropped, with the reason; a robot that merely stands has nothing to be refused. */
static void drop_wish(struct walk *f, const char *why)
{
    if (f->wish.mode != WalkCommand_STAND) nm_text(f->refused, "%s", why);
    f->wish.mode = WalkCommand_STAND;
    f->engine.kick.wanted = false;
}

static void step(struct walk *f)
{
    if (nm_fresh(f->nm, f->joints)) read_joints(f);
    uint64_t all = (f->nm->body->n_joints < 64 ? 1ull << f->nm->body->n_joints : 0) - 1;
    if ((f->known & all) != all) return; /* a joint that never answered: nothing is known of the body */
    listen(f);
    if (!owns_legs(f)) {
        drop_wish(f, "the legs belong to somebody else");
        f->risen = -1;
        tell(f, WalkState_OFF);
        return;
    }
    if (!may_walk(f)) drop_wish(f, "the manager of the robot does not let it walk now");
    if (f->risen < 0) begin_rise(f);
    double t = fmin(nm_seconds(f->nm->now - f->risen) / f->rises, 1), way = t * t * t * (10 + t * (6 * t - 15));
    struct walk_sense s;
    double goals[2][NM_GROUP];
    sense(f, &s);
    struct walk_command c = t < 1 ? (struct walk_command){0} : command(f, &s);
    walk_engine_step(&f->engine, &f->tuned, &s, &c, nm_seconds(f->nm->dt), goals);
    if (f->engine.changed) {
        f->steps++;
        f->wish.target = pose2_mul(pose2_inv(f->engine.stepped), f->wish.target);
    }
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < 6; i++) put_joint(f, f->nm->body->leg[side].joints[i], goals[side][i], way);
    put_arms(f, way);
    nm_put(f->nm, f->goals);
    tell(f, state_of(f, &c));
    nm_show(f->nm, "error x", f->engine.error[0]);
    nm_show(f->nm, "error y", f->engine.error[1]);
}

#define SELF struct walk
static const struct nm_port ports[] = {
    NM_IN(cmd_vel, Twist, "cmd_vel"),
    NM_IN(command, WalkCommand, "walk_command", .optional = true),
    NM_IN(hcm, HcmState, "hcm_state", .optional = true),
    NM_IN(joints, JointState, "joint_states"),
    NM_IN(imu, Imu, "imu/data"),
    NM_IN(feet, FootPressure, "foot_pressure"),
    NM_OUT(goals, JointGoals, "joint_goals"),
    NM_OUT(walk_state, WalkState, "walk_state"),
    {0},
};
#define X(name, value, least, most, unit, power, about) NM_PARAM(name, value, least, most, unit, about),
static const struct nm_param params[] = {
    NM_PARAM(time_out, 0.5, 0.05, 10, "s", "stops when no velocity came for this long"),
    NM_PARAM(rise, 1, 0.1, 10, "s", "from wherever the joints are found into the stand; less if they are near it"),
    NM_PARAM(leap, 87.5, 5, 1000, "rad/s",
             "fastest that a goal moves: more than any good step needs, less than a stumbling one wants"),
    NM_PARAM_LIST(arms, "0.35 0.17 -1.57", -3.2, 3.2, "rad",
                  "left arm from the shoulder outwards; the right one mirrors it"),
    NM_PARAM(swing, 0.8, -3, 3, "1", "of the arms with the legs, against the yaw that swinging legs make"),
    NM_PARAM_SWITCH(stabilise, true, "place and time steps, turn ankles and hips by what is measured"),
    WALK_PARAMS(X){0},
};
#undef X
NM_MODULE(walk, "Walks by cmd_vel or walk_command: steps timed by the feet, placed where they catch the body.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .reset = NM_CALL(reset),
          .changed = NM_CALL(take_params), .step = NM_CALL(step))
