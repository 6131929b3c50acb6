/* Which motor drives a joint of a robot of which only the URDF is known: one of the catalogue where effort and velocity
 * limits are a known motor's, otherwise one that has these limits. Limits that cannot move such a body, or that are
 * missing, are replaced by those of a body of the same build, in proportion to its weight and legs. */
#pragma once

#include "body/robot.h"

struct motors {
    double voltage;
    struct nm_battery battery;
    uint32_t n_types, protocol; /* of the servos' bus */
    struct nm_servo_type types[NM_JOINTS];
    uint32_t type_of[NM_JOINTS]; /* of each joint */
    uint32_t p[NM_JOINTS];       /* gain of each joint */
};

/* `like`: a robot whose motors were identified; where the catalogue names one of them, its model is taken. `said`: what
 * was assumed, a sentence each. */
void motors_choose(struct nm_arena *arena, const struct nm_body *body, const struct nm_body *like, struct motors *to,
                   struct nm_err *said);
