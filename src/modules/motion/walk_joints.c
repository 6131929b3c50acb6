/* From feet and trunk to joints: inverse kinematics, what is made up for in advance, and balance by ankles and hips. */
#include <string.h>

#include "body/dynamics.h"
#include "body/stance.h"
#include "modules/motion/walk_parts.h"

static const double PASSES_OVER = 0.15; /* of a step, in which the weight goes from foot to foot; feedback too     */
static const double MOST_LAG = 0.25, MOST_GIVE = 0.12, MOST_ANKLE = 0.25; /* rad that a goal is moved at most      */
static const double NARROW = 0.03, TO_STEPS = 0.65; /* m, half of a foot for legs of WALK_LEG; see `narrow`        */
static const double SMALL = 0.05, HIPS_MORE = 2;    /* m, half of a short foot for legs of WALK_LEG; see `push` */
static const double STANDING = 0.4; /* of the feedback: two legs do it, and one that stands needs little           */

/* ---- what follows from the body ---- */

/* A servo without integral part stays behind a moving goal by (damping / gain) x speed, and yields by torque / gain. */
static void servo_weakness(const struct nm_body *body, uint32_t joint, double *lag, double *give)
{
    struct nm_motor motor = nm_motor_of(body, joint);
    *lag = motor.lag;
    *give = motor.gain > 0 ? 1 / motor.gain : 0;
}

static bool is_of_leg(const struct nm_body *body, uint32_t link)
{
    for (; link; link = body->joints[link - 1].parent)
        for (int side = 0; side < 2; side++)
            if (body->leg[side].joints[0] == link - 1) return true;
    return false;
}

/* Feedback that is LATE (sensor, filter, bus and motor) shakes what it should calm if it is stronger than
 *     gain x stiffness = pi / 2 x inertia / LATE + damping:
 * there the delay is a quarter of the period in which the hips and the trunk that they carry would swing. */
static double most_feedback(const struct walk_engine *e, const struct nm_kin *kin, struct vec3 hip)
{
    static const double LATE = 0.0355;
    const struct nm_body *body = e->body;
    uint32_t at = e->hip_pitch[NM_LEFT].at;
    double inertia = body->joints[e->leg[NM_LEFT].chain.joints[at]].armature;
    for (uint32_t l = 0; l < body->n_links; l++) {
        const struct nm_inertia *i = &body->inertia[l];
        struct vec3 off = vec3_sub(pose_apply(kin->pose[l], i->com), hip);
        if (!is_of_leg(body, l)) inertia += i->mass * (off.x * off.x + off.z * off.z) + (i->xx + i->yy + i->zz) / 3;
    }
    if (!(e->give[NM_LEFT][at] > 0)) return INFINITY;
    return e->give[NM_LEFT][at] * inertia * M_PI / 2 / LATE + e->lag[NM_LEFT][at];
}

int walk_joints_init(struct walk_engine *e, struct nm_err *err)
{
    const struct nm_body *body = e->body;
    struct nm_kin kin;
    double q[NM_JOINTS] = {0};
    nm_forward(body, POSE_IDENTITY, q, &kin);
    for (int side = 0; side < 2; side++) {
        if (nm_leg_init(&e->leg[side], body, (enum nm_side)side, err)) return -1;
        const struct nm_chain *chain = &e->leg[side].chain;
        e->hip_roll[side] = nm_leg_joint(&e->leg[side], false, false);
        e->hip_pitch[side] = nm_leg_joint(&e->leg[side], false, true);
        e->ankle_roll[side] = nm_leg_joint(&e->leg[side], true, false);
        e->ankle_pitch[side] = nm_leg_joint(&e->leg[side], true, true);
        for (uint32_t i = 0; i < chain->n; i++)
            servo_weakness(body, chain->joints[i], &e->lag[side][i], &e->give[side][i]);
    }
    const struct nm_chain *leg = &e->leg[NM_LEFT].chain;
    const uint32_t *pitch = e->leg[NM_LEFT].pitch;
    const struct vec3 front = {1, 0, 0}, left = {0, 1, 0}, right = {0, -1, 0};
    struct vec3 hip = leg->point[pitch[0]], ankle = leg->point[pitch[2]];
    e->legs = vec3_norm(vec3_sub(hip, ankle));
    if (!(e->legs > 0.02)) return nm_fail(err, "%s: its legs are %.3f m long, too short to walk", body->name, e->legs);
    e->size = e->legs / WALK_LEG;
    e->hip = hip.z;
    e->ankle = ankle.z - kin.pose[body->foot[NM_LEFT].sole].pos.z;
    e->nearest = nm_foot_reach(body, NM_LEFT, right) + nm_foot_reach(body, NM_RIGHT, left);
    e->outwards = fmin(nm_foot_reach(body, NM_LEFT, left), nm_foot_reach(body, NM_RIGHT, right));
    e->narrow = TO_STEPS * walk_clip(1 - 0.5 * (0.5 * e->nearest + e->outwards) / (NARROW * e->size), 0, 1);
    double foot = fmin(nm_foot_reach(body, NM_LEFT, front), nm_foot_reach(body, NM_LEFT, vec3_scale(front, -1)));
    e->push = foot < SMALL * e->size ? HIPS_MORE * e->weight * foot : INFINITY;
    e->upright = leg->released & 1 ? leg->home.pos.y - e->leg[NM_RIGHT].chain.home.pos.y : 0;
    e->most_hip = most_feedback(e, &kin, hip);
    e->com_in_torso = nm_com(body, &kin);
    return 0;
}

double walk_stretch(const struct walk_engine *e, const struct walk_params *p)
{
    static const double ROOM = 0.02, STEP = 0.01, MOST = 0.97; /* of the leg: bent farther than it stands; … */
    for (double stretch = p->stretch; stretch < MOST; stretch += STEP) {
        bool both = true;
        for (int side = 0; side < 2; side++) {
            const struct nm_chain *chain = &e->leg[side].chain;
            double q[NM_GROUP], y = 0.5 * walk_engine_side((enum nm_side) !side) * e->width;
            struct vec3 sole = {chain->home.pos.x, y, e->hip - e->ankle - (stretch - ROOM) * e->legs};
            nm_leg_crouch(&e->leg[side], q);
            both &= nm_leg_ik(&e->leg[side], (struct pose3){QUAT_IDENTITY, sole}, q, NULL) == NM_REACHED;
        }
        if (both) return stretch;
    }
    return p->stretch;
}

/* ---- from feet and trunk to joints ---- */

static double lean_of(const struct walk_engine *e, const struct walk_params *p)
{
    return p->lean + p->lean_speed * e->step[0];
}

static struct pose3 swinging_sole(const struct walk_engine *e)
{
    return (struct pose3){quat_rpy(0, 0, e->swing_yaw), {e->swing[0], e->swing[1], e->swing[2]}};
}

void walk_pose_legs(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen,
                    double goals[2][NM_GROUP])
{
    double lean = lean_of(e, p);
    struct quat torso = quat_rpy(0, lean, 0.5 * e->swing_yaw);
    struct vec3 off = quat_apply(torso, e->com_in_torso);
    struct pose3 torso_to_here = {torso, {e->com[0] - off.x, e->com[1] - off.y, e->hips - e->hip}},
                 here_to_torso = pose_inv(torso_to_here);
    /* the swinging foot is turned against the tilt that the trunk has and should not have */
    struct quat back = quat_rpy(-p->level * (seen->roll + e->gyro.x * p->look_ahead),
                                -p->level * (seen->pitch + e->gyro.y * p->look_ahead - lean), 0);
    for (int side = 0; side < 2; side++) {
        bool swings = side != (int)e->support;
        struct pose3 in_torso = pose_mul(here_to_torso, swings ? swinging_sole(e) : POSE_IDENTITY);
        if (swings && e->mode == WALK_STEP) {
            const struct nm_leg *leg = &e->leg[side];
            in_torso = walk_kick_pose(e, p, e->phase, leg->chain.point[leg->pitch[0]], in_torso);
            in_torso.rot = quat_mul(back, in_torso.rot);
        }
        memcpy(goals[side], e->q_last[side], sizeof e->q_last[side]);
        nm_leg_ik(&e->leg[side], in_torso, goals[side], NULL);
    }
}

/* Torques of the planned posture: gravity tilted by the pendulum's acceleration, the ground's force at the pivot of the
 * foot that stands; after a change of feet the weight passes over within a part of the step. */
static void weigh(const struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense,
                  double goals[2][NM_GROUP], double torque[2][NM_GROUP])
{
    double q[NM_JOINTS], zero[NM_JOINTS] = {0};
    memcpy(q, sense->q, e->body->n_joints * sizeof *q);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < e->leg[side].chain.n; i++) q[e->leg[side].chain.joints[i]] = goals[side][i];
    double ww = e->w * e->w, mass = e->body->mass;
    double pivot[2] = {walk_pivot(e, p, 0), walk_pivot(e, p, 1)};
    struct vec3 pull = {-ww * (e->com[0] - pivot[0]), e->mode == WALK_STEP ? -ww * (e->com[1] - pivot[1]) : 0,
                        -WALK_GRAVITY};
    /* the axes of `here`, which the torso is turned against by half the swinging foot's yaw */
    struct nm_motion motion = {.base_to_world = {quat_rpy(0, lean_of(e, p), 0.5 * e->swing_yaw), {0, 0, 0}},
                               .gravity = pull,
                               .q = q,
                               .qd = zero,
                               .qdd = zero};
    double over = e->mode == WALK_STAND ? 0.5 : 0.5 + 0.5 * e->share * walk_clip(e->phase / PASSES_OVER, 0, 1);
    struct nm_push pushes[2];
    for (int side = 0; side < 2; side++) {
        double share = side == (int)e->support ? over : 1 - over;
        double x = pivot[0], y = walk_engine_side((enum nm_side)side) * p->pivot_in;
        struct vec3 force = vec3_scale(pull, -mass * share);
        if (side != (int)e->support) {
            double c = cos(e->swing_yaw), s = sin(e->swing_yaw), along = x;
            x = c * along - s * y;
            y = s * along + c * y;
        }
        pushes[side] = (struct nm_push){e->body->foot[side].sole, force, vec3_cross((struct vec3){x, y, 0}, force)};
    }
    struct nm_effort effort;
    nm_inverse_dynamics(e->body, &motion, pushes, 2, &effort);
    nm_drive_followers(e->body, &effort);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < e->leg[side].chain.n; i++)
            torque[side][i] = effort.torque[e->leg[side].chain.joints[i]];
}

void walk_run_ahead(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense,
                    double goals[2][NM_GROUP], double dt)
{
    double torque[2][NM_GROUP] = {{0}};
    if (p->torque_ahead > 0) weigh(e, p, sense, goals, torque);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < e->leg[side].chain.n; i++) {
            double q = goals[side][i], speed = e->moved ? (q - e->q_last[side][i]) / dt : 0;
            goals[side][i] += p->speed_ahead * walk_clip(e->lag[side][i] * speed, -MOST_LAG, MOST_LAG);
            goals[side][i] += p->torque_ahead * walk_clip(e->give[side][i] * torque[side][i], -MOST_GIVE, MOST_GIVE);
            e->q_last[side][i] = q;
        }
    e->moved = true;
}

static void add(double goals[NM_GROUP], struct nm_leg_joint joint, double angle)
{
    goals[joint.at] += joint.sign * angle;
}

/* By the foot that stands; it fades in over the first part of a step, since a foot without load only shakes. */
void walk_balance(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen,
                  double goals[2][NM_GROUP])
{
    double roll = seen->roll + e->gyro.x * p->look_ahead,
           pitch = seen->pitch + e->gyro.y * p->look_ahead - lean_of(e, p);
    double ankle_pitch = p->gyro_ankle_pitch * e->gyro.y + p->tilt_ankle_pitch * pitch + p->ankle_x * e->error[0];
    double ankle_roll = p->gyro_ankle_roll * e->gyro.x + p->tilt_ankle_roll * roll - p->ankle_y * e->error[1];
    for (int side = 0; side < 2; side++) {
        double share = side == (int)e->support ? 1 : e->phase < PASSES_OVER ? 1 - e->phase / PASSES_OVER : 0;
        if (e->mode == WALK_STAND) share = STANDING;
        add(goals[side], e->ankle_pitch[side], share * walk_clip(ankle_pitch, -MOST_ANKLE, MOST_ANKLE));
        add(goals[side], e->ankle_roll[side], share * walk_clip(ankle_roll, -MOST_ANKLE, MOST_ANKLE));
        double give = e->give[side][e->hip_pitch[side].at], most = give > 0 ? e->push * give : INFINITY,
               hip_pitch = fmin(p->gyro_hip_pitch, e->most_hip) * e->gyro.y;
        add(goals[side], e->hip_pitch[side], share * walk_clip(hip_pitch, -most, most));
        add(goals[side], e->hip_roll[side], share * fmin(p->gyro_hip_roll, e->most_hip) * e->gyro.x);
    }
}
