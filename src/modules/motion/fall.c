#include "modules/motion/fall.h"

double fall_tilt(struct vec3 up) { return acos(fmin(fmax(up.z, -1), 1)); }

enum fall_way fall_lies(struct vec3 up)
{
    /* upwards points out of the back of one that lies on its front, out of the right side of one that lies on its left
     */
    if (fabs(up.x) >= fabs(up.y)) return up.x < 0 ? FALL_FRONT : FALL_BACK;
    return up.y < 0 ? FALL_LEFT : FALL_RIGHT;
}

enum fall_way fall_coming(const struct fall_params *p, struct vec3 up, struct vec3 turning)
{
    double tilt = fall_tilt(up);
    if (!(tilt > p->least)) return FALL_NONE;
    /* d up / dt = up x turning in the trunk's axes: how fast the vertical sinks away */
    struct vec3 rate = vec3_cross(up, turning);
    double sinking = -rate.z / fmax(sin(tilt), 0.1); /* rad/s of tilt */
    if (tilt + fmax(sinking, 0) * p->ahead < p->tilt) return FALL_NONE;
    /* it falls where it is going, not where it happened to lean */
    return fall_lies(vec3_add(up, vec3_scale(rate, p->ahead)));
}
