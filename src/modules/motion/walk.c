/* Walks by cmd_vel. The steps are walk_engine's; this module brings it the robot's joints, tilt and feet, limits what
 * is asked to what the walk can do, swings the arms, and rises gently into the stand from which it walks. Without a new
 * cmd_vel for a while it stops: whoever wants to walk must keep saying so. */
#include <string.h>

#include "core/nm.h"
#include "geometry_msgs/Twist.h"
#include "modules/motion/walk_engine.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/WalkState.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"

enum { ARM = 3 };

struct walk {
    struct nm *nm;
    /* in */
    const Twist *cmd_vel;
    const JointState *joints;
    const Imu *imu;
    const FootPressure *feet;
    /* out */
    JointGoals *goals;
    WalkState *walk_state;
    /* params */
    double max_forward, max_backward, max_side, max_turn; /* m/s, rad/s */
    double time_out, rise;                                /* s          */
    double arms[ARM], swing;                              /* rad, 1     */
#define X(name, value, least, most, unit, about) double name;
    WALK_PARAMS(X)
#undef X
    /* state */
    struct walk_params tuned;
    struct walk_engine engine;
    double q[NM_JOINTS], from[NM_JOINTS];
    uint64_t known; /* a bit a joint that has answered    */
    int64_t risen;  /* ns; begin of the rise, -1: not yet */
    int64_t told;   /* ns; last cmd_vel                   */
    uint32_t steps;
};

static void take_params(struct walk *f)
{
#define X(name, value, least, most, unit, about) f->tuned.name = f->name;
    WALK_PARAMS(X)
#undef X
}

static int init(struct walk *f)
{
    if (!f->nm->body) return nm_fail(f->nm->err, "walk needs a body: give the line-up a `robot:`");
    take_params(f);
    f->risen = -1;
    return walk_engine_init(&f->engine, f->nm->body, &f->tuned, f->nm->err);
}

static void reset(struct walk *f)
{
    walk_engine_reset(&f->engine, &f->tuned);
    f->known = 0;
    f->risen = -1;
}

static void read_joints(struct walk *f)
{
    const JointState *in = f->joints;
    for (uint32_t i = 0, guess = 0; i < in->name.n && i < in->position.n; i++) {
        int32_t joint = nm_find_joint_near(f->nm->body, in->name.at[i], guess);
        if (joint < 0 || !isfinite(in->position.at[i])) continue;
        guess = (uint32_t)joint + 1;
        f->q[joint] = in->position.at[i];
        f->known |= 1ull << joint;
    }
}

/* The command as one step; inside an ellipse of forwards and sideways, and the faster the less turn. */
static struct walk_command command(struct walk *f)
{
    struct walk_command c = {0};
    if (nm_fresh(f->nm, f->cmd_vel)) f->told = f->nm->now;
    if (!f->told || nm_seconds(f->nm->now - f->told) > f->time_out) return c;
    double vx = f->cmd_vel->linear.x, vy = f->cmd_vel->linear.y, wz = f->cmd_vel->angular.z;
    if (!isfinite(vx + vy + wz) || (vx == 0 && vy == 0 && wz == 0)) return c;
    double r = hypot(vx / (vx > 0 ? f->max_forward : f->max_backward), vy / f->max_side), scale = r > 1 ? 1 / r : 1;
    double turn = f->max_turn * (1 - 0.5 * fmin(r, 1));
    wz = wz > turn ? turn : wz < -turn ? -turn : wz;
    c.walk = true;
    c.step[0] = vx * scale * f->period;
    c.step[1] = vy * scale * f->period;
    c.step[2] = wz * f->period;
    return c;
}

static void sense(const struct walk *f, struct walk_sense *s)
{
    const Quaternion *o = &f->imu->orientation;
    const Vector3 *g = &f->imu->angular_velocity;
    struct pose3 imu_to_torso = f->nm->body->imu >= 0 ? f->nm->body->frames[f->nm->body->imu].to_link : POSE_IDENTITY;
    *s = (struct walk_sense){.q = f->q, .feet = f->feet->left.valid && f->feet->right.valid};
    s->torso_to_world = quat_mul((struct quat){o->w, o->x, o->y, o->z}, quat_inv(imu_to_torso.rot));
    s->gyro = quat_apply(imu_to_torso.rot, (struct vec3){g->x, g->y, g->z});
    for (int i = 0; i < 4; i++) {
        s->cells[NM_LEFT][i] = f->feet->left.cells[i];
        s->cells[NM_RIGHT][i] = f->feet->right.cells[i];
    }
}

static void put_joint(struct walk *f, uint32_t joint, double goal, double way)
{
    JointGoals *out = f->goals;
    uint32_t i = out->name.n;
    if (i == sizeof out->name.at / sizeof *out->name.at) return;
    nm_text(out->name.at[i], "%s", f->nm->body->joints[joint].name);
    out->position.at[i] = f->from[joint] + way * (goal - f->from[joint]);
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
            double angle = f->arms[i], mirrored = side == NM_RIGHT && i == 1 ? -angle : angle;
            if (i == 0) mirrored -= f->swing * reach / 0.28;
            put_joint(f, body->arm[side].joints[i], mirrored, way);
        }
    }
}

static void tell(struct walk *f, const struct walk_command *c)
{
    const struct walk_engine *e = &f->engine;
    WalkState *w = f->walk_state;
    f->steps += e->changed;
    w->state = e->mode == WALK_STAND ? WalkState_STANDING
               : !c->walk            ? WalkState_STOPPING
               : e->steps < 4        ? WalkState_STARTING
                                     : WalkState_WALKING;
    w->steps = f->steps;
    w->left_support = e->support == NM_LEFT;
    w->phase = (float)e->phase;
    w->step_duration = (float)e->duration;
    w->step = (Pose2D){e->step[0], e->step[1], e->step[2]};
    w->velocity.linear.x = e->step[0] / e->duration;
    w->velocity.linear.y = e->step[1] / e->duration;
    w->velocity.angular.z = e->step[2] / e->duration;
    double off = hypot(e->error[0], e->error[1]) / 0.12;
    w->instability = (float)fmin(off, 1);
    nm_put(f->nm, w);
}

static void step(struct walk *f)
{
    if (nm_fresh(f->nm, f->joints)) read_joints(f);
    uint64_t all = (f->nm->body->n_joints < 64 ? 1ull << f->nm->body->n_joints : 0) - 1;
    if ((f->known & all) != all) return; /* a joint that never answered: nothing is known of the body */
    if (f->risen < 0) {
        memcpy(f->from, f->q, sizeof f->from);
        f->risen = f->nm->now;
    }
    double t = fmin(nm_seconds(f->nm->now - f->risen) / f->rise, 1), way = t * t * t * (10 + t * (6 * t - 15));
    struct walk_command c = command(f), none = {0};
    struct walk_sense s;
    double goals[2][NM_GROUP];
    sense(f, &s);
    walk_engine_step(&f->engine, &f->tuned, &s, t < 1 ? &none : &c, nm_seconds(f->nm->dt), goals);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < 6; i++) put_joint(f, f->nm->body->leg[side].joints[i], goals[side][i], way);
    put_arms(f, way);
    nm_put(f->nm, f->goals);
    tell(f, &c);
    nm_show(f->nm, "error x", f->engine.error[0]);
    nm_show(f->nm, "error y", f->engine.error[1]);
}

#define SELF struct walk
static const struct nm_port ports[] = {
    NM_IN(cmd_vel, Twist, "cmd_vel"),
    NM_IN(joints, JointState, "joint_states"),
    NM_IN(imu, Imu, "imu/data"),
    NM_IN(feet, FootPressure, "foot_pressure"),
    NM_OUT(goals, JointGoals, "joint_goals"),
    NM_OUT(walk_state, WalkState, "walk_state"),
    {0},
};
#define X(name, value, least, most, unit, about) NM_PARAM(name, value, least, most, unit, about),
static const struct nm_param params[] = {
    NM_PARAM(max_forward, 0.7, 0, 2, "m/s",
             "faster commands are cut: beyond its limit the walk falls instead of going faster"),
    NM_PARAM(max_backward, 0.55, 0, 2, "m/s", "the same backwards"),
    NM_PARAM(max_side, 0.35, 0, 2, "m/s", "the same sideways"),
    NM_PARAM(max_turn, 2.5, 0, 10, "rad/s", "the same for turns; half of it at full speed"),
    NM_PARAM(time_out, 0.5, 0.05, 10, "s", "stops when no cmd_vel came for this long"),
    NM_PARAM(rise, 1, 0.1, 10, "s", "from wherever the joints are found into the stand"),
    NM_PARAM_LIST(arms, "0.35 0.17 -1.57", -3.2, 3.2, "rad",
                  "left arm from the shoulder outwards; the right one mirrors it"),
    NM_PARAM(swing, 0.8, -3, 3, "1", "of the arms with the legs, against the yaw that swinging legs make"),
    WALK_PARAMS(X){0},
};
#undef X
NM_MODULE(walk, "Walks by cmd_vel: steps timed by the feet, placed where they catch the body.", .ports = ports,
          .params = params, .init = NM_CALL(init), .reset = NM_CALL(reset), .changed = NM_CALL(take_params),
          .step = NM_CALL(step))
