/* Which way the torso points: by the inertial sensor, taken as exact (Rhoban 2016), where there is one; otherwise the
 * foot that carries the robot is taken to stand flat, and the joints tell the rest. The heading goes on without a jump
 * when one takes over from the other, and when the feet change. Flat, no allocation. */
#ifndef NM_MODULES_SENSING_ATTITUDE_H
#define NM_MODULES_SENSING_ATTITUDE_H

#include "body/kinematics.h"

struct attitude {
    bool begun;
    bool by_imu;
    double heading;    /* rad, of the world in which the sensor tells its yaw                */
    enum nm_side flat; /* the foot that stands flat …                                        */
    double flat_yaw;   /* … with this yaw in the world                                       */
    struct quat torso_to_world;
};

/* imu: the torso by the sensor, NULL without one. in_torso: the joints as they are, with the base at the identity. */
void attitude_update(struct attitude *a, const struct nm_body *body, const struct quat *imu,
                     const struct nm_kin *in_torso, enum nm_side support);

#endif
