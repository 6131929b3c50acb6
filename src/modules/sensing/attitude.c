#include "modules/sensing/attitude.h"

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
    if (!a->begun) { /* the torso looks ahead, the sole whither the joints turn it */
        a->flat_yaw = -quat_yaw(over_flat_sole(sole, 0));
    } else if (a->by_imu) {
        a->flat_yaw = quat_yaw(quat_mul(a->torso_to_world, sole));
    } else if (support != a->flat) { /* the foot that stood until now says where the torso is, and so the new one */
        struct quat torso = over_flat_sole(in_torso->pose[body->foot[a->flat].sole].rot, a->flat_yaw);
        a->flat_yaw = quat_yaw(quat_mul(torso, sole));
    }
    a->by_imu = false;
    a->flat = support;
    a->torso_to_world = over_flat_sole(sole, a->flat_yaw);
}

void attitude_update(struct attitude *a, const struct nm_body *body, const struct quat *imu,
                     const struct nm_kin *in_torso, enum nm_side support)
{
    if (imu)
        by_imu(a, *imu);
    else
        by_foot(a, body, in_torso, support);
    a->begun = true;
}
