#include "modules/motion/kick_engine.h"

#include <string.h>

#include "base/clamp.h"

static const double FADE = 0.3;        /* s in which the joints go over into the plan           */
static const double MOVED_MOST = 0.03; /* m that the trunk gives way to the measured pressure   */
static const double SLOW = 0.2;        /* of a new pressure that is believed, a tick            */
static const double NO_WEIGHT = 0.4;   /* share of the weight with which no foot is lifted      */
static const double FALLEN = 0.7;      /* rad of tilt too much: nothing helps any more          */

/* ---- what follows from the body ---- */

void kick_params_scale(struct kick_params *p, double leg)
{
    double size = leg / KICK_LEG;
#define X(name, value, least, most, unit, power, about) p->plan.path.name *= pow(size, power);
    KICK_PATH_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) p->plan.reach.name *= pow(size, power);
    KICK_REACH_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) p->plan.name *= pow(size, power);
    KICK_PLAN_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) p->name *= pow(size, power);
    KICK_ENGINE_PARAMS(X)
#undef X
}

/* A servo without integral part stays behind a moving goal by (damping / gain) x speed, and yields by torque / gain. */
static void servo_of(struct kick_engine *e, uint32_t joint)
{
    struct nm_motor motor = nm_motor_of(e->body, joint);
    if (!(motor.gain > 0)) return;
    e->lag[joint] = motor.lag;
    e->yields[joint] = 1 / motor.gain;
}

static struct nm_leg_joint body_joint(const struct nm_leg *leg, bool ankle, bool pitch)
{
    struct nm_leg_joint j = nm_leg_joint(leg, ankle, pitch);
    return (struct nm_leg_joint){leg->chain.joints[j.at], j.sign};
}

int kick_engine_init(struct kick_engine *e, const struct nm_body *body, struct nm_err *err)
{
    memset(e, 0, sizeof *e);
    e->body = body;
    e->weight = body->mass * 9.81;
    for (int side = 0; side < 2; side++) {
        if (nm_leg_init(&e->leg[side], body, (enum nm_side)side, err)) return -1;
        const struct nm_chain *chain = &e->leg[side].chain;
        e->hip_roll[side] = body_joint(&e->leg[side], false, false);
        e->hip_pitch[side] = body_joint(&e->leg[side], false, true);
        e->ankle_roll[side] = body_joint(&e->leg[side], true, false);
        e->ankle_pitch[side] = body_joint(&e->leg[side], true, true);
        for (uint32_t i = 0; i < chain->n; i++) servo_of(e, chain->joints[i]);
    }
    return 0;
}

/* ---- the plan as it was ---- */

/* Where the plan has the capture point and the zero-moment point now: the pendulum's, from the centre of mass of three
 * poses. */
static void remember(struct kick_engine *e, double dt)
{
    double at[KICK_TRACKS], speed[KICK_TRACKS], w = e->plan.w;
    struct vec3 com[3];
    for (int i = 0; i < 3; i++) {
        struct nm_kin kin;
        nm_forward(e->body, e->pose[i].torso, e->pose[i].q, &kin);
        com[i] = nm_com(e->body, &kin);
    }
    struct vec3 v = vec3_scale(vec3_sub(com[2], com[0]), 0.5 / dt);
    struct vec3 a = vec3_scale(vec3_add(vec3_sub(com[2], com[1]), vec3_sub(com[0], com[1])), 1 / (dt * dt));
    kick_path_at(&e->plan.path, e->t, at, speed);
    e->newest = (e->newest + 1) % KICK_PAST;
    e->past[e->newest] = (struct kick_past){at[KICK_ROLL],
                                            at[KICK_LEAN],
                                            speed[KICK_ROLL],
                                            speed[KICK_LEAN],
                                            {com[1].x + v.x / w, com[1].y + v.y / w},
                                            {com[1].x - a.x / (w * w), com[1].y - a.y / (w * w)}};
}

static const struct kick_past *plan_then(const struct kick_engine *e, double look_back, double dt)
{
    uint32_t ago = (uint32_t)nm_clamp(look_back / dt + 0.5, 0, KICK_PAST - 1);
    return &e->past[(e->newest + KICK_PAST - ago) % KICK_PAST];
}

void kick_engine_begin(struct kick_engine *e, const double told[])
{
    e->t = e->waited = e->landed = 0;
    e->moved[0] = e->moved[1] = 0;
    e->gyro = (struct vec3){0, 0, 0};
    for (int i = 0; i < 2; i++) e->off[i] = e->off_rate[i] = e->ahead[i] = e->load[i] = 0;
    e->observing = false;
    for (int i = 0; i < 3; i++) kick_plan_pose(&e->plan, 0, e->moved, 0, &e->pose[i]);
    for (int i = 0; i < KICK_PAST; i++) remember(e, 1);
    memcpy(e->pressure, e->past[0].zmp, sizeof e->pressure);
    for (uint32_t j = 0; j < e->body->n_joints; j++) e->residual[j] = told[j] - e->pose[1].q[j];
}

/* ---- what is measured ---- */

/* Along the support sole, from it. */
static void over_sole(struct pose3 sole, double yaw, struct vec3 at, double out[2])
{
    double x = at.x - sole.pos.x, y = at.y - sole.pos.y;
    out[0] = cos(yaw) * x + sin(yaw) * y;
    out[1] = -sin(yaw) * x + cos(yaw) * y;
}

/* Centre of pressure of both feet and centre of mass, by the joints and the tilt as measured. Feet that feel nothing
 * are taken to be pressed where the plan has it. */
static void feel(struct kick_engine *e, const struct kick_sense *sense, const double planned[2], double roll,
                 double pitch, double com[2])
{
    struct nm_kin kin;
    double sum = 0;
    struct vec3 at = {0, 0, 0};
    nm_forward(e->body, (struct pose3){quat_rpy(roll, pitch, 0), {0, 0, 0}}, sense->q, &kin);
    struct pose3 sole = kin.pose[e->body->foot[e->plan.support].sole];
    double yaw = quat_yaw(sole.rot), pressure[2];
    over_sole(sole, yaw, nm_com(e->body, &kin), com);
    for (int side = 0; side < 2; side++) {
        const struct nm_foot *foot = &e->body->foot[side];
        e->load[side] = 0;
        for (uint32_t i = 0; sense->feet && i < foot->n_cells; i++) {
            double force = sense->cells[side][i];
            e->load[side] += force;
            at = vec3_add(at, vec3_scale(kin.pose[foot->cells[i]].pos, force));
        }
        sum += e->load[side];
    }
    memcpy(pressure, planned, sizeof pressure);
    if (sum >= 0.2 * e->weight) over_sole(sole, yaw, vec3_scale(at, 1 / sum), pressure);
    for (int i = 0; i < 2; i++) e->pressure[i] += SLOW * (pressure[i] - e->pressure[i]);
}

/* The pendulum driven by the measured centre of pressure, drawn to the measured centre of mass. */
static void observe(struct kick_engine *e, const struct kick_params *p, const double com[2], double dt)
{
    double w = e->plan.w;
    for (int i = 0; i < 2; i++) {
        if (!e->observing) {
            e->com[i] = com[i];
            e->com_speed[i] = 0;
        }
        e->com_speed[i] += w * w * (e->com[i] - e->pressure[i]) * dt;
        e->com[i] += e->com_speed[i] * dt;
        double error = com[i] - e->com[i];
        e->com[i] += p->observe_place * error;
        e->com_speed[i] += p->observe_speed * error;
    }
    e->observing = true;
}

static void look(struct kick_engine *e, const struct kick_params *p, const struct kick_sense *sense, double dt)
{
    double com[2];
    const struct kick_past *then = plan_then(e, p->look_back, dt);
    struct vec3 up = quat_apply(quat_inv(sense->torso_to_world), (struct vec3){0, 0, 1});
    double roll = atan2(up.y, up.z), pitch = atan2(-up.x, hypot(up.y, up.z));
    if (!isfinite(vec3_dot(up, sense->gyro))) return; /* a broken reading: what was known is kept */
    e->gyro = vec3_add(e->gyro, vec3_scale(vec3_sub(sense->gyro, e->gyro), 0.5));
    e->off[0] = roll - then->roll;
    e->off[1] = pitch - then->pitch;
    e->off_rate[0] = e->gyro.x - then->roll_rate;
    e->off_rate[1] = e->gyro.y - then->pitch_rate;
    feel(e, sense, then->zmp, roll, pitch, com);
    observe(e, p, com, dt);
    for (int i = 0; i < 2; i++) e->ahead[i] = e->com[i] + e->com_speed[i] / e->plan.w - then->capture[i];
}

/* ---- the clock ---- */

/* Before the foot is lifted the trunk makes up for a capture point that is off, and the time stands while the weight is
 * not yet over the support foot. False if it does not come. */
static bool shift(struct kick_engine *e, const struct kick_params *p, double other, double dt)
{
    for (int i = 0; i < 2; i++)
        e->moved[i] = nm_clamp(e->moved[i] - p->follow * dt * e->ahead[i], -MOVED_MOST, MOVED_MOST);
    bool there = other < p->lifted_load && fabs(e->ahead[1]) < p->lifted_off;
    if (e->t + dt < e->plan.path.t[KICK_SHIFTED] || there) {
        e->t += dt;
        return true;
    }
    e->waited += dt;
    if (e->waited < p->wait) return true;
    e->t += dt;
    return other < NO_WEIGHT;
}

/* After the ball: the more the robot tips towards the kicking foot, the sooner that is put down. Where it meets the
 * ground it stays, even if the plan has it lower: pushing on would tip the robot over the support foot. */
static void land(struct kick_engine *e, const struct kick_params *p, double other, double dt)
{
    const double *k = e->plan.path.t;
    double tips = nm_clamp(e->plan.path.side * e->ahead[1] - p->lifted_off, 0, 0.1);
    e->t += dt * fmin(1 + p->hurry * tips, 2);
    if (e->t < k[KICK_OVER] || other < p->landed_load) return;
    double at[KICK_TRACKS];
    kick_path_at(&e->plan.path, e->t, at, NULL);
    e->landed = at[KICK_Z];
    e->t = k[KICK_DOWN];
}

static bool advance(struct kick_engine *e, const struct kick_params *p, double dt)
{
    const double *k = e->plan.path.t;
    double sum = e->load[0] + e->load[1], other = e->load[!e->plan.support] / sum;
    bool felt = sum >= 0.5 * e->weight;
    if (felt && e->t <= k[KICK_SHIFTED]) return shift(e, p, other, dt);
    if (felt && e->t > k[KICK_THROUGH] && e->t < k[KICK_DOWN])
        land(e, p, other, dt);
    else
        e->t += dt;
    return true;
}

/* What was made up for, and where the foot landed, is given back while the weight returns between the feet. */
static void given_back(const struct kick_engine *e, double t, double moved[2], double *lifted)
{
    const double *k = e->plan.path.t;
    double u = nm_clamp((t - k[KICK_DOWN]) / (k[KICK_END] - k[KICK_DOWN]), 0, 1), share = 1 - u * u * (3 - 2 * u);
    for (int i = 0; i < 2; i++) moved[i] = share * e->moved[i];
    *lifted = share * e->landed;
}

/* ---- goals ---- */

/* Load of the joints: the ground carries the body where the plan has its weight, by one foot or both. */
static void torques(const struct kick_engine *e, const struct nm_motion *motion, double torque[NM_JOINTS])
{
    struct nm_effort effort;
    enum nm_side support = e->plan.support;
    double want[2], at[KICK_TRACKS];
    nm_inverse_dynamics(e->body, motion, NULL, 0, &effort);
    kick_plan_weight(&e->plan, e->t, want);
    kick_path_at(&e->plan.path, e->t, at, NULL);
    double other = at[KICK_Z] > 0.001 ? 0 : nm_clamp(want[1] / at[KICK_Y], 0, 1);
    struct nm_push pushes[2];
    for (int side = 0; side < 2; side++) {
        double share = side == (int)support ? 1 - other : other;
        struct vec3 force = vec3_scale(effort.force, share), sole = {0, 0, 0};
        if (side != (int)support) sole = (struct vec3){at[KICK_X], at[KICK_Y], 0};
        /* of the moment about the base its share, less what the force at the sole makes of it */
        struct vec3 arm = vec3_sub(sole, motion->base_to_world.pos);
        struct vec3 moment = vec3_sub(vec3_scale(effort.moment, share), vec3_cross(arm, force));
        pushes[side] = (struct nm_push){e->body->foot[side].sole, force, moment};
    }
    nm_inverse_dynamics(e->body, motion, pushes, 2, &effort);
    memcpy(torque, effort.torque, sizeof effort.torque);
}

static void run_ahead(const struct kick_engine *e, const struct kick_params *p, double dt, double goals[NM_JOINTS])
{
    double qd[NM_JOINTS], qdd[NM_JOINTS], torque[NM_JOINTS];
    struct nm_motion motion;
    const double *k = e->plan.path.t;
    bool swings = e->t > k[KICK_LIFTED] && e->t < k[KICK_OVER];
    kick_motion(e->pose, e->body->n_joints, dt, qd, qdd, &motion);
    torques(e, &motion, torque);
    double fade = nm_clamp(e->t / FADE, 0, 1);
    for (int side = 0; side < 2; side++) {
        double ahead = swings && side != (int)e->plan.support ? p->strike_ahead : p->speed_ahead;
        for (uint32_t i = 0; i < e->leg[side].chain.n; i++) {
            uint32_t j = e->leg[side].chain.joints[i];
            goals[j] += ahead * e->lag[j] * qd[j];
            goals[j] += fade * p->torque_ahead * nm_clamp(e->yields[j] * torque[j], -0.25, 0.25);
        }
    }
}

static void add(double goals[NM_JOINTS], struct nm_leg_joint joint, double angle)
{
    goals[joint.at] += joint.sign * angle;
}

static void balance(const struct kick_engine *e, const struct kick_params *p, double goals[NM_JOINTS])
{
    const double *k = e->plan.path.t;
    double roll =
        p->gyro_ankle_roll * e->off_rate[0] + p->tilt_ankle_roll * e->off[0] - p->capture_ankle_roll * e->ahead[1];
    double pitch =
        p->gyro_ankle_pitch * e->off_rate[1] + p->tilt_ankle_pitch * e->off[1] + p->capture_ankle_pitch * e->ahead[0];
    double hip_roll = p->gyro_hip_roll * e->off_rate[0] + p->tilt_hip_roll * e->off[0];
    double hip_pitch = p->gyro_hip_pitch * e->off_rate[1] + p->tilt_hip_pitch * e->off[1];
    double fade = nm_clamp(e->t / FADE, 0, 1) * nm_clamp((k[KICK_END] - e->t) / FADE, 0, 1);
    bool both = e->t < k[KICK_SHIFTED] || e->t > k[KICK_DOWN];
    for (int side = 0; side < 2; side++) {
        bool stands = side == (int)e->plan.support;
        double share = stands || both ? fade : 0;
        add(goals, e->ankle_pitch[side], share * nm_clamp(pitch, -0.25, 0.25));
        add(goals, e->ankle_roll[side], share * nm_clamp(roll, -0.25, 0.25));
        add(goals, e->hip_pitch[side], share * nm_clamp(hip_pitch, -0.25, 0.25));
        add(goals, e->hip_roll[side], share * nm_clamp(hip_roll, -0.25, 0.25));
        if (stands || e->t < k[KICK_THROUGH] || e->t > k[KICK_DOWN]) continue;
        add(goals, e->ankle_pitch[side], -p->level * nm_clamp(e->off[1], -0.25, 0.25));
        add(goals, e->ankle_roll[side], -p->level * nm_clamp(e->off[0], -0.25, 0.25));
    }
}

enum kick_end kick_engine_step(struct kick_engine *e, const struct kick_params *p, const struct kick_sense *sense,
                               double dt, double goals[NM_JOINTS])
{
    double moved[2], lifted, left = 1 - nm_clamp(e->t / FADE, 0, 1), told[NM_JOINTS];
    look(e, p, sense, dt);
    bool carried = advance(e, p, dt);
    /* all three with the trunk moved alike, so that what is measured makes no accelerations */
    given_back(e, e->t, moved, &lifted);
    for (int i = 0; i < 3; i++) kick_plan_pose(&e->plan, e->t + (i - 1) * dt, moved, lifted, &e->pose[i]);
    remember(e, dt);

    for (uint32_t j = 0; j < e->body->n_joints; j++) told[j] = e->pose[1].q[j] + left * e->residual[j];
    run_ahead(e, p, dt, told);
    balance(e, p, told);
    for (int side = 0; side < 2; side++) {
        const struct nm_group *limbs[2] = {&e->body->leg[side], &e->body->arm[side]};
        for (int l = 0; l < 2; l++)
            for (uint32_t i = 0; i < limbs[l]->n; i++) goals[limbs[l]->joints[i]] = told[limbs[l]->joints[i]];
    }
    if (hypot(e->off[0], e->off[1]) > FALLEN) return KICK_FALLS;
    if (!carried) return KICK_NO_WEIGHT;
    return e->t >= kick_path_time(&e->plan.path) ? KICK_DONE : KICK_GOES_ON;
}
