/* Motions of one body on another that is built alike: limbs with the same axes in the same order, however its maker
 * called the joints, which way they count and where their zeros lie. */
#ifndef NM_BODY_ANIMATION_CARRY_H
#define NM_BODY_ANIMATION_CARRY_H

#include "base/export.h"
#include "body/animation.h"

struct nm_carry {
    int32_t to[NM_JOINTS];                     /* of each joint its counterpart, -1: none            */
    double sign[NM_JOINTS], offset[NM_JOINTS]; /* counterpart = sign * joint + offset, rad           */
    uint32_t n;                                /* joints that have one                               */
};

/* A limb is taken over whole or not at all. */
NM_EXPORT void nm_carry_find(const struct nm_body *from, const struct nm_body *to, struct nm_carry *carry);

/* Goals beyond the other's limits are held there, and moves that its servos are too slow for take longer. NULL where
 * a joint that it moves has no counterpart. */
NM_EXPORT struct nm_animation *nm_animation_carry(struct nm_arena *arena, const struct nm_animation *animation,
                                                  const struct nm_carry *carry, const struct nm_body *to);

#endif
