/* How a robot stands when nobody walks it: knees a little bent, soles flat under the hips, arms along the body. */
#ifndef NM_SIM_STANCE_H
#define NM_SIM_STANCE_H

#include "body/robot.h"

/* Fills n_joints angles. `bend` is the share by which the legs are shortened, 0 (straight) to 0.5. A robot without legs
 * that inverse kinematics can place keeps them at zero. */
void nm_stance(const struct nm_body *body, double bend, double q[]);

#endif
