/* The one reader of inertial sensors: the orientation and the turning rate of the torso from an Imu message, wherever
 * the sensor sits. The message may come from outside, so numbers that are not finite are not used. */
#pragma once

#include <string.h>

#include "body/kinematics.h"
#include "core/nm.h"
#include "sensor_msgs/Imu.h"

/* The frame of an Imu message: that of its header if the robot has it, otherwise the robot's imu, otherwise -1 for the
 * torso itself. */
static inline int32_t imu_frame(const struct nm_body *body, const Imu *imu)
{
    int32_t frame = body->imu;
    if (frame < 0 || strcmp(body->frames[frame].name, imu->header.frame_id)) {
        int32_t named = nm_find_frame(body, imu->header.frame_id);
        if (named >= 0) frame = named;
    }
    return frame;
}

/* The rotation from the frame of an Imu message into the torso. False if the sensor does not sit on the torso. */
static inline bool imu_to_torso(const struct nm_body *body, const Imu *imu, struct quat *turn)
{
    int32_t frame = imu_frame(body, imu);
    *turn = frame < 0 ? QUAT_IDENTITY : body->frames[frame].to_link.rot;
    return frame < 0 || body->frames[frame].link == 0;
}

/* The orientation of the torso from a filtered inertial sensor. False if the sensor has been silent for `timeout`
 * seconds, if the message has no orientation (its covariance begins with -1), or if the quaternion does not have
 * length 1. */
static inline bool torso_by_imu(struct nm *nm, const Imu *imu, double timeout, struct quat *torso_to_world)
{
    struct quat q = {imu->orientation.w, imu->orientation.x, imu->orientation.y, imu->orientation.z}, turn;
    double square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (nm_age(nm, imu) > nm_ns(timeout) || imu->orientation_covariance[0] < 0) return false;
    if (!(square > 0.5 && square < 2) || !imu_to_torso(nm->body, imu, &turn)) return false;
    *torso_to_world = quat_mul(quat_normal(q), quat_inv(turn));
    return true;
}

/* The turning rate of the torso, rad/s in the axes of the torso. False if the message has none. */
static inline bool turning_by_imu(const struct nm_body *body, const Imu *imu, struct vec3 *turning)
{
    struct vec3 w = {imu->angular_velocity.x, imu->angular_velocity.y, imu->angular_velocity.z};
    struct quat turn;
    if (!isfinite(w.x + w.y + w.z) || !imu_to_torso(body, imu, &turn)) return false;
    *turning = quat_apply(turn, w);
    return true;
}

/* The specific force at the sensor, m/s2 in the axes of the torso (9.81 upwards at rest), and the place of the sensor
 * in the torso. False if the message has none: its covariance begins with -1, or it reads less than any standing body.
 */
static inline bool force_by_imu(const struct nm_body *body, const Imu *imu, struct vec3 *force, struct vec3 *sensor)
{
    struct vec3 a = {imu->linear_acceleration.x, imu->linear_acceleration.y, imu->linear_acceleration.z};
    int32_t frame = imu_frame(body, imu);
    if (!isfinite(a.x + a.y + a.z) || !(vec3_norm(a) > 1e-3) || imu->linear_acceleration_covariance[0] < 0)
        return false;
    if (frame >= 0 && body->frames[frame].link != 0) return false;
    *force = frame < 0 ? a : quat_apply(body->frames[frame].to_link.rot, a);
    *sensor = frame < 0 ? (struct vec3){0, 0, 0} : body->frames[frame].to_link.pos;
    return true;
}

/* A working sensor has noise: equal samples in a row come from a frozen sensor, or from a coarse sensor at rest. The
 * caller decides how many are too many. */
struct imu_watch {
    Vector3 gyro, accel; /* of the last sample                  */
    uint32_t same;       /* samples in a row that were like it  */
};

/* Call it with each new sample. Returns how many samples in a row were equal to the one before. */
static inline uint32_t imu_same(struct imu_watch *w, const Imu *imu)
{
    const Vector3 *g = &imu->angular_velocity, *a = &imu->linear_acceleration;
    bool same = !memcmp(g, &w->gyro, sizeof *g) && !memcmp(a, &w->accel, sizeof *a);
    *w = (struct imu_watch){*g, *a, same ? w->same + 1 : 0};
    return w->same;
}
