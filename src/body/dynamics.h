/* Inverse dynamics by the recursive Newton-Euler method (Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 5,
 * for a free base): the joint torques a motion needs, and the force and torque the world must give the base for it.
 * Nothing here allocates. */
#pragma once

#include "base/export.h"
#include "body/kinematics.h"

/* the motion, all in world axes; velocity and acceleration are those of the base's origin */
struct nm_motion {
    struct pose3 base_to_world;
    struct vec3 velocity, angular_velocity;
    struct vec3 acceleration, angular_acceleration;
    struct vec3 gravity; /* 0 0 -9.81, as it pulls */
    const double *q, *qd, *qdd;
};

/* something outside pushes at a frame's origin, in world axes: a foot's ground reaction, for instance */
struct nm_push {
    uint32_t frame;
    struct vec3 force, torque;
};

struct nm_effort {
    double torque[NM_JOINTS];  /* Nm (N), with the rotors' inertia, without friction         */
    struct vec3 force, moment; /* the base needs from outside besides the pushes: N in world
                                  axes, and Nm about the base's origin                       */
};

NM_EXPORT void nm_inverse_dynamics(const struct nm_body *body, const struct nm_motion *motion,
                                   const struct nm_push *pushes, uint32_t n_pushes, struct nm_effort *effort);

/* Motors also bear the torques of the joints that follow theirs. */
NM_EXPORT void nm_drive_followers(const struct nm_body *body, struct nm_effort *effort);

/* Zero-moment point on the plane z = ground: where the base's force, given without any push, meets the ground without
 * a tipping moment. False if the body does not press on the ground. */
NM_EXPORT bool nm_zmp(const struct nm_motion *motion, const struct nm_effort *effort, double ground, struct vec3 *zmp);
