#include "modules/motion/walk_params.h"

#include <math.h>

void walk_params_scale(struct walk_params *p, double leg)
{
    double ratio = leg / WALK_LEG;
#define X(name, value, least, most, unit, power, about) p->name *= pow(ratio, power);
    WALK_PARAMS(X)
#undef X
}

void walk_params_open_loop(struct walk_params *p)
{
    p->place_x = p->place_y = p->place_side = p->timing = p->trim = p->pull = p->level = 0;
    p->trouble = 1e9;
    p->ankle_x = p->ankle_y = p->tilt_ankle_pitch = p->tilt_ankle_roll = 0;
    p->gyro_ankle_pitch = p->gyro_ankle_roll = p->gyro_hip_pitch = p->gyro_hip_roll = 0;
}

void walk_limit(const struct walk_params *p, double v[3])
{
    double along = v[0] > 0 ? p->max_forward : p->max_backward;
    double r = (along > 0 ? fabs(v[0]) / along : 0) + (p->max_side > 0 ? fabs(v[1]) / p->max_side : 0),
           scale = r > 1 ? 1 / r : 1;
    double turn = p->max_turn * (1 - p->turn_fast * fmin(r, 1));
    v[0] = along > 0 ? v[0] * scale : 0;
    v[1] = p->max_side > 0 ? v[1] * scale : 0;
    v[2] = fmin(fmax(v[2], -turn), turn);
}
