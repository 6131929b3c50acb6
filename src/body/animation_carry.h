/* Motions of one body on another. Limbs that are built alike (the same axes in the same order, however their maker
 * called the joints, which way they count and where their zeros lie) take over the angles. Other limbs take over the
 * pose: the sole under the hip, upper arm and forearm in their directions. Poses called stand or sit are put in
 * balance. */
#pragma once

#include "base/export.h"
#include "body/animation.h"

struct nm_carry {
    int32_t to[NM_JOINTS];                     /* of each joint its counterpart, -1: none            */
    double sign[NM_JOINTS], offset[NM_JOINTS]; /* counterpart = sign * joint + offset, rad           */
    uint32_t n;                                /* joints that have one                               */
    const struct nm_body *from;
    bool leg_by_pose[2], arm_by_pose[2];
};

/* Angles of a limb are taken over whole or not at all. */
NM_EXPORT void nm_carry_find(const struct nm_body *from, const struct nm_body *to, struct nm_carry *carry);

/* Goals beyond the other's limits are held there, and moves that its servos are too slow for take longer. A robot
 * without arms or head moves the rest. NULL where a pose cannot be made. A get-up ends in balance. */
NM_EXPORT struct nm_animation *nm_animation_carry(struct nm_arena *arena, const struct nm_animation *animation,
                                                  const struct nm_carry *carry, const struct nm_body *to);

/* A get-up: the body lies when it begins and stands when it ends. Its poses are carried over as near as they can be. */
NM_EXPORT bool nm_begins_lying(const struct nm_animation *animation);

/* Upper arm and forearm in two directions of the base, by the first `most` joints of the arm. False if it cannot come
 * near, and then q stays. */
NM_EXPORT bool nm_point_arm(const struct nm_body *body, enum nm_side side, const struct vec3 want[2], uint32_t most,
                            double q[]);
/* An arm that does not hang down at zero pose is let down. */
void nm_hang_arm(const struct nm_body *body, enum nm_side side, double q[]);
/* An arm in the directions that another body's has at those angles. */
NM_EXPORT bool nm_carry_arm(const struct nm_body *from, const double angles[], const struct nm_body *to,
                            enum nm_side side, uint32_t most, double q[]);

/* Gives moves that the servos are too slow for more time than the frames `was` had. */
NM_EXPORT void nm_animation_stretch(const struct nm_body *body, struct nm_animation *animation,
                                    const struct nm_animation_frame *was);
