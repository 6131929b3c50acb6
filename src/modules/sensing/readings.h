/* From messages to numbers and back, for the modules around the body: poses, times, joints by name, and the torso's
 * tilt by an inertial sensor wherever it sits. Messages may come from outside: what is not finite is left out. */
#ifndef NM_MODULES_SENSING_READINGS_H
#define NM_MODULES_SENSING_READINGS_H

#include <string.h>

#include "body/kinematics.h"
#include "core/nm.h"
#include "geometry_msgs/Pose.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"

static inline struct quat quat_of(const Quaternion *q) { return (struct quat){q->w, q->x, q->y, q->z}; }
static inline Quaternion to_quaternion(struct quat q) { return (Quaternion){q.x, q.y, q.z, q.w}; }
static inline Point to_point(struct vec3 v) { return (Point){v.x, v.y, v.z}; }
static inline Vector3 to_vector(struct vec3 v) { return (Vector3){v.x, v.y, v.z}; }
static inline Pose to_pose(struct pose3 p) { return (Pose){to_point(p.pos), to_quaternion(p.rot)}; }

static inline int64_t ns_of(const Time *t) { return (int64_t)t->sec * 1000000000 + t->nanosec; }
static inline Time to_time(int64_t ns) { return (Time){(int32_t)(ns / 1000000000), (uint32_t)(ns % 1000000000)}; }

/* Takes over the joints that are named; the others keep their values. velocity may be NULL. */
static inline void read_joints(const struct nm_body *body, const JointState *from, double q[], double velocity[])
{
    for (uint32_t i = 0, guess = 0; i < from->name.n && i < from->position.n; i++) {
        int32_t joint = nm_find_joint_near(body, from->name.at[i], guess);
        if (joint < 0 || !isfinite(from->position.at[i])) continue;
        guess = (uint32_t)joint + 1;
        q[joint] = from->position.at[i];
        if (velocity && i < from->velocity.n && isfinite(from->velocity.at[i])) velocity[joint] = from->velocity.at[i];
    }
    nm_apply_mimics(body, q);
}

/* The frame that an Imu message speaks of, turned into the torso: that of its header where the robot has it, else the
 * robot's imu, else the torso itself. False for one that does not sit on the torso. */
static inline bool imu_to_torso(const struct nm_body *body, const Imu *imu, struct quat *turn)
{
    int32_t frame = body->imu;
    if (frame < 0 || strcmp(body->frames[frame].name, imu->header.frame_id)) {
        int32_t named = nm_find_frame(body, imu->header.frame_id);
        if (named >= 0) frame = named;
    }
    *turn = frame < 0 ? QUAT_IDENTITY : body->frames[frame].to_link.rot;
    return frame < 0 || body->frames[frame].link == 0;
}

/* The torso's orientation by a filtered inertial sensor, false where there is none: nothing heard for `timeout`
 * seconds, no orientation in it (its covariance begins with -1), or a quaternion that is none. */
static inline bool torso_by_imu(struct nm *nm, const Imu *imu, double timeout, struct quat *torso_to_world)
{
    struct quat q = quat_of(&imu->orientation), turn;
    double square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (nm_age(nm, imu) > nm_ns(timeout) || imu->orientation_covariance[0] < 0) return false;
    if (!(square > 0.5 && square < 2) || !imu_to_torso(nm->body, imu, &turn)) return false;
    *torso_to_world = quat_mul(quat_normal(q), quat_inv(turn));
    return true;
}

/* Angle between the torso's z axis and the vertical. */
static inline double tilt_of(struct quat torso_to_world)
{
    return acos(fmin(fmax(quat_apply(torso_to_world, (struct vec3){0, 0, 1}).z, -1), 1));
}

/* Every module here stands on a robot with two legs. */
static inline int needs_legs(const struct nm *nm, const char *module)
{
    if (!nm->body) return nm_fail(nm->err, "%s needs a robot: name one in the line-up or with --robot", module);
    if (!nm->body->leg[NM_LEFT].n || !nm->body->leg[NM_RIGHT].n)
        return nm_fail(nm->err, "%s needs legs, and robot %s has none: see nutmeg robot check", module, nm->body->name);
    return 0;
}

#endif
