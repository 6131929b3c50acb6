/* How a robot stands when nobody walks it: knees a little bent, soles flat on the ground, the centre of mass over their
 * middle, arms along the body. */
#pragma once

#include "body/robot.h"

/* m, how far a foot reaches from the origin of its sole in a direction of the sole's frame. */
NM_EXPORT double nm_foot_reach(const struct nm_body *body, enum nm_side side, struct vec3 way);

/* Fills n_joints angles. `bend` is the share by which the legs are shortened, 0 (straight) to 0.5. A robot without legs
 * that inverse kinematics can place keeps them at zero. */
void nm_stance(const struct nm_body *body, double bend, double q[]);

/* Where both soles are flat on the ground in a pose but the mass is not over them, the legs are moved under it. False
 * if they cannot. A pose that stands on something else stays as it is. */
bool nm_balance(const struct nm_body *body, double q[]);
