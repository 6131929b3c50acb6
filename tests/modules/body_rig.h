/* What the tests of the modules around the body share: a robot, joints and torso as messages, the console's lines. */
#pragma once

#include "body/robots.h"

#include "body/kinematics.h"
#include "core/harness.h"
#include "rcl_interfaces/Log.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"

#define assert_pose_near(message, expected, eps)                                                                       \
    do {                                                                                                               \
        const Pose m_ = (message);                                                                                     \
        struct pose3 p_ = {{m_.orientation.w, m_.orientation.x, m_.orientation.y, m_.orientation.z},                   \
                           {m_.position.x, m_.position.y, m_.position.z}};                                             \
        assert_near(pose_distance(p_, (expected)), 0, (eps));                                                          \
    } while (0)

static inline Time stamp_of(double seconds)
{
    int64_t ns = nm_ns(seconds);
    return (Time){(int32_t)(ns / 1000000000), (uint32_t)(ns % 1000000000)};
}

/* All joints of the body as a JointState on `topic`; qd may be NULL. */
static inline JointState *give_joints_on(struct nm_harness *h, const char *topic, const struct nm_body *body,
                                         const double q[], const double qd[], double stamp)
{
    JointState *j = nm_harness_set(h, topic);
    j->header.stamp = stamp_of(stamp);
    for (uint32_t i = 0; i < body->n_joints; i++) {
        nm_text(j->name.at[i], "%s", body->joints[i].name);
        j->position.at[i] = q[i];
        j->velocity.at[i] = qd ? qd[i] : 0;
    }
    j->name.n = j->position.n = body->n_joints;
    j->velocity.n = qd ? body->n_joints : 0;
    return j;
}

static inline JointState *give_joints(struct nm_harness *h, const struct nm_body *body, const double q[],
                                      const double qd[], double stamp)
{
    return give_joints_on(h, "joint_states", body, q, qd, stamp);
}

static inline Imu *give_torso(struct nm_harness *h, struct quat torso_to_world, struct vec3 turning)
{
    Imu *imu = nm_harness_set(h, "imu/data");
    nm_text(imu->header.frame_id, "base_link");
    imu->orientation = (Quaternion){torso_to_world.x, torso_to_world.y, torso_to_world.z, torso_to_world.w};
    imu->angular_velocity = (Vector3){turning.x, turning.y, turning.z};
    return imu;
}

/* How many lines of the last step hold the text. */
static inline uint32_t lines_with(struct nm_harness *h, const char *text)
{
    const void *const *at;
    uint32_t n = nm_harness_queue(h, "rosout", &at), found = 0;
    for (uint32_t i = 0; i < n; i++) found += strstr(((const Log *)at[i])->msg, text) != NULL;
    return found;
}
