/* The one reader of inertial sensors: how the torso stands and turns by an Imu message, wherever the sensor sits. The
 * message may come from outside: what is no number is no reading. */
#ifndef NM_MODULES_IMU_H
#define NM_MODULES_IMU_H

#include <string.h>

#include "body/kinematics.h"
#include "core/nm.h"
#include "sensor_msgs/Imu.h"

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
    struct quat q = {imu->orientation.w, imu->orientation.x, imu->orientation.y, imu->orientation.z}, turn;
    double square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (nm_age(nm, imu) > nm_ns(timeout) || imu->orientation_covariance[0] < 0) return false;
    if (!(square > 0.5 && square < 2) || !imu_to_torso(nm->body, imu, &turn)) return false;
    *torso_to_world = quat_mul(quat_normal(q), quat_inv(turn));
    return true;
}

/* How fast the torso turns, rad/s in its own axes; false where the sensor does not tell. */
static inline bool turning_by_imu(const struct nm_body *body, const Imu *imu, struct vec3 *turning)
{
    struct vec3 w = {imu->angular_velocity.x, imu->angular_velocity.y, imu->angular_velocity.z};
    struct quat turn;
    if (!isfinite(w.x + w.y + w.z) || !imu_to_torso(body, imu, &turn)) return false;
    *turning = quat_apply(turn, w);
    return true;
}

/* A living sensor is noisy: equal samples in a row come from a frozen one, or from a coarse one at rest. How many are
 * too many is for the reader to say. */
struct imu_watch {
    Vector3 gyro, accel; /* of the last sample                  */
    uint32_t same;       /* samples in a row that were like it  */
};

/* To be called with each new sample. Returns how many in a row did not differ from the one before. */
static inline uint32_t imu_same(struct imu_watch *w, const Imu *imu)
{
    const Vector3 *g = &imu->angular_velocity, *a = &imu->linear_acceleration;
    bool same = !memcmp(g, &w->gyro, sizeof *g) && !memcmp(a, &w->accel, sizeof *a);
    *w = (struct imu_watch){*g, *a, same ? w->same + 1 : 0};
    return w->same;
}

#endif
