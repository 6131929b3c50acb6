/* A model of the moving body (Rhoban, champion paper 2016, section 4.1). From joints, inertial sensor and support foot
 * it computes the torso over the ground, the soles, the centre of mass and the zero-moment point, for the measured
 * joints and for their goals. The support foot stands still, so the steps add up to the odometry. */
#include "base/clamp.h"
#include "body/state.h"
#include "core/nm.h"
#include "modules/sensing/drift.h"
#include "modules/sensing/readings.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BodyState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/SupportState.h"
#include "tf2_msgs/TFMessage.h"

/* Which way the torso points. If there is an inertial sensor, it is taken as exact (Rhoban 2016). Otherwise the foot
 * that carries the robot is taken to stand flat, and the joints give the rest. The heading goes on without a jump when
 * one takes over from the other, and when the support foot changes. */
struct attitude {
    bool begun;
    bool by_imu;
    double heading;    /* rad, of the world in which the sensor measures its yaw */
    enum nm_side flat; /* the foot that stands flat                              */
    double flat_yaw;   /* yaw of this foot in the world                          */
    struct quat torso_to_world;
};

struct body_model {
    struct nm *nm;
    /* in */
    const JointState *joints;
    const Imu *imu;
    const SupportState *support;
    const JointGoals *goals; /* of the run before: the walk steps later */
    /* out */
    BodyState *body;
    BodyState *goal;
    Odometry *odometry;
    nm_out_queue(TFMessage) tf;
    /* params */
    float imu_timeout, smoothing, speed_window;
    bool odom_tf;
    double drift, drift_turn, turn_drift, speed_noise;
    float play, play_torque;
    /* state */
    struct nm_state state;
    struct attitude attitude;
    struct drift unsure;
    double q[NM_JOINTS], qd[NM_JOINTS];
    int64_t time;                               /* ns, of the newest sample; 0: none */
    struct vec3 com_velocity, com_acceleration; /* in odom */
};

static const double gravity = 9.81;

/* ---- which way the torso points ---- */

static struct quat turned(double yaw, struct quat q) { return quat_mul(quat_rpy(0, 0, yaw), q); }

static void by_imu(struct attitude *a, struct quat imu)
{
    if (!a->by_imu) a->heading = a->begun ? quat_yaw(a->torso_to_world) - quat_yaw(imu) : 0;
    a->by_imu = true;
    a->torso_to_world = quat_normal(turned(a->heading, imu));
}

/* The sole's own axes are level: all that its pose in the torso holds beyond a yaw is the torso's tilt. */
static struct quat over_flat_sole(struct quat sole_to_torso, double sole_yaw)
{
    return quat_normal(turned(sole_yaw, quat_inv(sole_to_torso)));
}

static void by_foot(struct attitude *a, const struct nm_body *body, const struct nm_kin *in_torso, enum nm_side support)
{
    struct quat sole = in_torso->pose[body->foot[support].sole].rot;
    if (!a->begun) { /* the torso looks ahead, and the joints turn the sole */
        a->flat_yaw = -quat_yaw(over_flat_sole(sole, 0));
    } else if (a->by_imu) {
        a->flat_yaw = quat_yaw(quat_mul(a->torso_to_world, sole));
    } else if (support != a->flat) { /* the foot that stood until now gives the torso, and so the new foot */
        struct quat torso = over_flat_sole(in_torso->pose[body->foot[a->flat].sole].rot, a->flat_yaw);
        a->flat_yaw = quat_yaw(quat_mul(torso, sole));
    }
    a->by_imu = false;
    a->flat = support;
    a->torso_to_world = over_flat_sole(sole, a->flat_yaw);
}

/* imu: the torso by the sensor, NULL without one. in_torso: the joints as they are, with the base at the identity. */
static void attitude_update(struct attitude *a, const struct nm_body *body, const struct quat *imu,
                            const struct nm_kin *in_torso, enum nm_side support)
{
    if (imu)
        by_imu(a, *imu);
    else
        by_foot(a, body, in_torso, support);
    a->begun = true;
}

/* ---- the body ---- */

static enum nm_side support_side(const struct body_model *f)
{
    if (f->support->foot == SupportState_LEFT) return NM_LEFT;
    if (f->support->foot == SupportState_RIGHT) return NM_RIGHT;
    return f->state.n ? f->state.ring[f->state.newest].support : NM_LEFT;
}

/* The support as weights: what the module `support` decided counts, and between two feet their share. */
static void weights(const struct body_model *f, double weight[2])
{
    bool known = nm_slot(f->support)->seq > 0;
    uint8_t foot = f->support->foot;
    double left = foot == SupportState_LEFT ? 1 : foot == SupportState_RIGHT ? 0 : f->support->left_share;
    weight[NM_LEFT] = !known ? -1 : foot == SupportState_NONE ? 0 : left;
    weight[NM_RIGHT] = !known ? -1 : foot == SupportState_NONE ? 0 : 1 - left;
}

/* ---- what the messages say ---- */

/* Encoders sit before the play of their gears. Where a gear is loaded, it lies against one end of its play, and the
 * load tells which: a motor that pushes forward is ahead of its joint. The torque behind the gear is that of the
 * motor's duty without what its own speed takes back (Better Actuator Models, as in body/robot.h), and without what
 * its rotor takes for gaining speed: in a step that is often more than the rest. */
static void take_up_play(struct body_model *f, const double *before, double dt)
{
    const struct nm_body *body = f->nm->body;
    double effort[NM_JOINTS] = {0};
    nm_take_joints(body, f->joints->name.at, f->joints->name.n, f->joints->effort.at, f->joints->effort.n, effort);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < body->leg[side].n; i++) {
            uint32_t j = body->leg[side].joints[i];
            if (body->joints[j].servo < 0) continue;
            const struct nm_servo_type *t = &body->servo_types[body->servos[body->joints[j].servo].type];
            double duty = t->max_torque > 0 ? effort[j] / t->max_torque : 0;
            double torque = t->kt / t->resistance * (duty * body->voltage - t->kt * f->qd[j]) - t->damping * f->qd[j];
            if (dt > 0 && f->joints->velocity.n) torque -= t->armature * (f->qd[j] - before[j]) / dt;
            f->q[j] -= f->play / 2 * nm_clamp(torque / f->play_torque, -1, 1);
        }
}

/* Joint speeds as told, else from the way since the last sample. */
static void take_joints(struct body_model *f, double dt)
{
    double before[NM_JOINTS], slower[NM_JOINTS];
    memcpy(before, f->q, sizeof before);
    memcpy(slower, f->qd, sizeof slower);
    memset(f->qd, 0, sizeof f->qd);
    read_joints(f->nm->body, f->joints, f->q, f->qd);
    if (!f->joints->velocity.n && dt > 0)
        for (uint32_t i = 0; i < f->nm->body->n_joints; i++) f->qd[i] = (f->q[i] - before[i]) / dt;
    if (f->play > 0) take_up_play(f, slower, dt);
}

static struct vec3 angular_velocity(const struct body_model *f)
{
    struct vec3 turning = {0};
    if (f->attitude.by_imu) turning_by_imu(f->nm->body, f->imu, &turning);
    return turning;
}

static void take_attitude(struct body_model *f)
{
    struct nm_kin in_torso;
    struct quat torso;
    bool imu = torso_by_imu(f->nm, f->imu, f->imu_timeout, &torso);
    nm_forward(f->nm->body, POSE_IDENTITY, f->q, &in_torso);
    attitude_update(&f->attitude, f->nm->body, imu ? &torso : NULL, &in_torso, support_side(f));
}

/* ---- the current body ---- */

/* The centre of mass moves as the joints and the torso's turning say, seen from the sole that stands still. Its
 * acceleration is smoothed; a change of the feet is no acceleration. */
static void move_com(struct body_model *f, const struct nm_kin *kin, enum nm_side before, double dt)
{
    const struct nm_body *body = f->nm->body;
    enum nm_side support = f->state.ring[f->state.newest].support;
    struct nm_twist link[NM_LINKS], base = {.angular = quat_apply(kin->pose[0].rot, angular_velocity(f))};
    nm_velocities(body, kin, base, f->qd, link);
    struct vec3 sole = nm_frame_twist(body, kin, link, body->foot[support].sole).linear;
    struct vec3 velocity = vec3_sub(nm_com_motion(body, kin, link).linear, sole);
    if (dt > 0 && support == before) {
        double gain = 1 - exp(-dt / f->smoothing);
        struct vec3 rate = vec3_scale(vec3_sub(velocity, f->com_velocity), 1 / dt);
        f->com_acceleration = vec3_add(f->com_acceleration, vec3_scale(vec3_sub(rate, f->com_acceleration), gain));
    }
    f->com_velocity = velocity;
}

/* Poses of a body in any world whose ground is z = 0, seen from its base_footprint. */
static void tell_poses(const struct nm_body *body, const struct nm_kin *kin, struct pose3 world_to_robot,
                       BodyState *out)
{
    out->torso = to_pose(pose_mul(world_to_robot, kin->pose[0]));
    out->left_sole = to_pose(pose_mul(world_to_robot, kin->pose[body->foot[NM_LEFT].sole]));
    out->right_sole = to_pose(pose_mul(world_to_robot, kin->pose[body->foot[NM_RIGHT].sole]));
    out->center_of_mass = to_point(pose_apply(world_to_robot, nm_com(body, kin)));
    nm_text(out->header.frame_id, "base_footprint");
}

static void tell_body(struct body_model *f, const struct nm_kin *kin)
{
    BodyState *out = f->body;
    struct pose3 odom_to_robot = pose_inv(nm_ground_pose(f->state.robot_to_odom));
    struct vec3 velocity = quat_apply(odom_to_robot.rot, f->com_velocity),
                acceleration = quat_apply(odom_to_robot.rot, f->com_acceleration);
    tell_poses(f->nm->body, kin, odom_to_robot, out);
    out->header.stamp = nm_stamp(f->time);
    out->orientation = to_quaternion(f->attitude.torso_to_world);
    out->angular_velocity = to_vector(angular_velocity(f));
    out->center_of_mass_velocity = to_vector(velocity);
    /* cart on a table (Kajita 2003): p = c - c_z / (g + c_z'') c'' */
    double arm = out->center_of_mass.z / fmax(gravity + acceleration.z, 1);
    out->zmp = (Point){out->center_of_mass.x - arm * acceleration.x, out->center_of_mass.y - arm * acceleration.y, 0};
    nm_put(f->nm, out);
}

static void tell_odometry(struct body_model *f)
{
    const struct nm_body *body = f->nm->body;
    struct pose2 now = f->state.robot_to_odom;
    struct nm_sample then;
    struct nm_kin kin;
    Odometry *out = f->odometry;
    nm_state_at(&f->state, body, f->time - nm_ns(f->speed_window), &then);
    nm_forward(body, then.torso_to_odom, then.q, &kin);
    struct pose2 way = pose2_mul(pose2_inv(now), nm_robot_to_odom(body, &kin));
    double dt = f->speed_window;
    /* the speed is that of the legs: a robot that is pushed finds it out by the difference */
    struct vec3 beside = quat_apply(quat_rpy(0, 0, -now.theta), vec3_sub(f->state.beside, then.beside));
    way.x += beside.x;
    way.y += beside.y;

    nm_text(out->header.frame_id, "odom");
    nm_text(out->child_frame_id, "base_footprint");
    out->header.stamp = nm_stamp(f->time);
    out->pose.pose = to_pose(nm_ground_pose(now));
    out->twist.twist.linear = (Vector3){-way.x / dt, -way.y / dt, 0};
    out->twist.twist.angular.z = -way.theta / dt;
    const struct drift_noise noise = {f->drift, f->drift_turn, f->turn_drift, f->speed_noise};
    drift_move(&f->unsure, now, &noise);
    drift_tell(&f->unsure, &noise, out);
    nm_put(f->nm, out);
}

static void add_transform(struct body_model *f, TFMessage *tf, const char *parent, const char *child, struct pose3 pose)
{
    TransformStamped *t = nm_append(&tf->transforms, &TransformStamped_type);
    t->header.stamp = nm_stamp(f->time);
    nm_text(t->header.frame_id, "%s", parent);
    nm_text(t->child_frame_id, "%s", child);
    t->transform.translation = to_vector(pose.pos);
    t->transform.rotation = to_quaternion(pose.rot);
}

static void tell_transforms(struct body_model *f, const struct nm_kin *kin)
{
    TFMessage *tf = nm_push(f->nm, &f->tf);
    struct pose3 robot_to_odom = nm_ground_pose(f->state.robot_to_odom);
    add_transform(f, tf, "base_footprint", "base_link", pose_mul(pose_inv(robot_to_odom), kin->pose[0]));
    if (f->odom_tf) add_transform(f, tf, "odom", "base_footprint", robot_to_odom);
}

static void update(struct body_model *f)
{
    const struct nm_body *body = f->nm->body;
    int64_t time = nm_stamp_ns(f->joints->header.stamp);
    double dt = f->state.n && time > f->time ? nm_seconds(time - f->time) : 0;
    enum nm_side before = f->state.n ? f->state.ring[f->state.newest].support : NM_LEFT;
    struct nm_readings readings = {.time = time, .q = f->q};
    struct vec3 force;
    struct nm_kin kin;
    take_joints(f, dt);
    take_attitude(f);
    readings.torso_to_world = f->attitude.torso_to_world;
    weights(f, readings.weight);
    if (f->attitude.by_imu && force_by_imu(body, f->imu, &force, &readings.sensor)) readings.force = &force;
    nm_state_update(&f->state, body, &readings);
    const struct nm_sample *now = &f->state.ring[f->state.newest];
    f->time = now->time;

    nm_forward(body, now->torso_to_odom, now->q, &kin);
    move_com(f, &kin, before, dt);
    tell_body(f, &kin);
    tell_odometry(f);
    tell_transforms(f, &kin);
}

/* ---- the goal ---- */

/* As the goals would have it: the support foot flat on the ground, nothing moving. */
static void tell_goal(struct body_model *f)
{
    const struct nm_body *body = f->nm->body;
    const JointGoals *in = f->goals;
    double *q = f->state.goal;
    struct nm_kin kin;
    nm_take_joints(body, in->name.at, in->name.n, in->position.at, in->position.n, q);
    nm_apply_mimics(body, q);
    uint32_t sole = body->foot[support_side(f)].sole;
    nm_forward(body, POSE_IDENTITY, q, &kin);
    struct pose3 torso = pose_inv(kin.pose[sole]);
    nm_forward(body, torso, q, &kin);
    struct pose3 world_to_robot = pose_inv(nm_ground_pose(nm_robot_to_odom(body, &kin)));
    tell_poses(body, &kin, world_to_robot, f->goal);
    f->goal->orientation = f->goal->torso.orientation;
    f->goal->zmp = (Point){f->goal->center_of_mass.x, f->goal->center_of_mass.y, 0};
    f->goal->header.stamp = in->header.stamp;
    nm_put(f->nm, f->goal);
}

static void step(struct body_model *f)
{
    if (nm_fresh(f->nm, f->joints)) update(f);
    if (nm_fresh(f->nm, f->goals)) tell_goal(f);
}

static int init(struct body_model *f)
{
    if (needs_legs(f->nm)) return -1;
    nm_state_reset(&f->state, f->nm->body, (struct pose2){0});
    return 0;
}

#define SELF struct body_model
static const struct nm_port ports[] = {
    NM_IN(joints, JointState, "joint_states"),
    NM_IN(imu, Imu, "imu/data"),
    NM_IN(support, SupportState, "support_state"),
    NM_LAST(goals, JointGoals, "joint_goals"),
    NM_OUT(body, BodyState, "body_state"),
    NM_OUT(goal, BodyState, "body_goal"),
    NM_OUT(odometry, Odometry, "odometry"),
    NM_OUT_QUEUE(tf, TFMessage, "tf", 2, .many = true),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(imu_timeout, 0.1, 0.005, 5, "s",
             "after this time without an orientation the support foot is taken to stand flat"),
    NM_PARAM(smoothing, 0.03, 0.001, 1, "s",
             "time constant of the acceleration behind the zero-moment point; larger is calmer and later"),
    NM_PARAM(speed_window, 0.25, 0.01, 1.5, "s", "odometry has the mean speed over this time; about half a step"),
    NM_PARAM(play, 0, 0, 0.1, "rad", "play of the gears of the legs, from end to end; 0 if it is not known"),
    NM_PARAM(play_torque, 0.5, 0.01, 20, "N m", "a gear with at least this torque lies against one end of its play"),
    NM_PARAM_SWITCH(
        odom_tf, true,
        "publishes the transform odom to base_footprint; switch it off if another module makes the odometry"),
    DRIFT_PARAMS,
    {0},
};
NM_MODULE(body_model, "Torso over ground, soles, centre of mass, zero-moment point, odometry.", NM_PORTS(ports),
          NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))
