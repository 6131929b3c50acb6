/* Converts messages to numbers and back, for the modules of this folder: poses, times, joints by name. Messages may
 * come from outside, so numbers that are not finite are left out. */
#pragma once

#include "body/kinematics.h"
#include "core/nm.h"
#include "core/poses.h"
#include "core/stamp.h"
#include "modules/imu.h"
#include "sensor_msgs/JointState.h"

static inline Quaternion to_quaternion(struct quat q) { return (Quaternion){q.x, q.y, q.z, q.w}; }
static inline Point to_point(struct vec3 v) { return (Point){v.x, v.y, v.z}; }
static inline Vector3 to_vector(struct vec3 v) { return (Vector3){v.x, v.y, v.z}; }
static inline Pose to_pose(struct pose3 p) { return (Pose){to_point(p.pos), to_quaternion(p.rot)}; }

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

/* Angle between the torso's z axis and the vertical. */
static inline double tilt_of(struct quat torso_to_world)
{
    return acos(fmin(fmax(quat_apply(torso_to_world, (struct vec3){0, 0, 1}).z, -1), 1));
}

/* Every module of this folder needs a robot with two legs. */
static inline int needs_legs(const struct nm *nm)
{
    if (nm_need_body(nm)) return -1;
    if (!nm->body->leg[NM_LEFT].n || !nm->body->leg[NM_RIGHT].n)
        return nm_fail(nm->err, "%s needs legs, and robot %s has none: see nutmeg robot check", nm->name,
                       nm->body->name);
    return 0;
}
