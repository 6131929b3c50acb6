#include "modules/motion/fall.h"

double fall_tilt(struct vec3 up) { return acos(fmin(fmax(up.z, -1), 1)); }

enum fall_way fall_lies(struct vec3 up)
{
    /* On its front, its back points upwards; on its left side, its right side does. */
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
    /* it falls to the side to which it turns, not to the side to which it leaned */
    return fall_lies(vec3_add(up, vec3_scale(rate, p->ahead)));
}

enum fall_way fall_look(struct fall_watch *watch, const struct fall_params *p, struct vec3 up, struct vec3 turning,
                        double dt)
{
    enum fall_way way = fall_coming(p, up, turning);
    watch->coming = way == FALL_NONE ? 0 : watch->coming + dt;
    return watch->coming <= dt ? way : FALL_NONE;
}

bool fall_is_coming(const struct fall_watch *watch, double dt) { return watch->coming > 1.5 * dt; }
