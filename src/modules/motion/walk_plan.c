/* The nominal step for a constant command, and how the command follows what is asked. */
#include <complex.h>
#include <string.h>

#include "modules/motion/walk_parts.h"

double walk_pivot(const struct walk_engine *e, const struct walk_params *p, int axis)
{
    return axis == 0 ? p->pivot_x + p->pivot_speed * e->step[0] : walk_engine_side(e->support) * p->pivot_in;
}

/* Where the foot of the other side lands, and how it is turned then. Sideways the leading foot steps out by twice the
 * command and the other closes; a turn is done mostly by the foot that opens. */
static double complex foothold(const struct walk_engine *e, const struct walk_params *p, enum nm_side support,
                               const double step[3], double *yaw)
{
    double side = walk_engine_side(support), out = step[1] * side > 0 ? 2 * step[1] : 0;
    double across = side * (e->width + p->width_speed * fabs(step[0])) + out;
    bool opens = side * step[2] > 0;
    *yaw = 2 * step[2] * (opens ? p->turn_share : 1 - p->turn_share);
    /* on the circle around the trunk */
    return step[0] * cexp(0.5 * I * *yaw) + 0.5 * across * I * (1 + cexp(I * *yaw));
}

/* The first step begins with the mass between the feet, so that the body falls towards the foot in the air for longer
 * than in other steps. It must land before the capture point is beyond the middle of what that foot reaches outwards;
 * the motors add their lag. */
static double first_step(const struct walk_engine *e, const struct walk_params *p)
{
    double pivot = 0.5 * e->width - p->pivot_in, end = pivot + 0.5 * (e->width + e->outwards);
    return log(end / pivot) / (e->w * p->rate) + e->lag[e->support][e->leg[e->support].pitch[1]];
}

/* What is learnt at most, m, m, rad a step, for legs of WALK_LEG. Steps longer than SLOW may only become shorter, as
 * all to the side: pushing them on makes them fall. */
static const double MOST_TRIM[3] = {0.008, 0, 0.12}, SLOW = 0.06, MOST_SHORTER = 0.03;
static const double STEADY = 0.02; /* m, rad: a command that changes more teaches nothing */
enum { FIRST_TO_LEARN = 4 };       /* steps: the first ones are no measure                */

/* Of a trim, what a step of this length may have: fast steps have learnt more than slow ones can bear. */
static double bearable(const struct walk_engine *e, int axis, double step, double trim)
{
    double most = MOST_TRIM[axis] * (axis < 2 ? e->size : 1), shorter = fmin(MOST_SHORTER * e->size, 0.5 * fabs(step));
    bool one_sided = axis == 1 || (axis == 0 && fabs(step) > SLOW * e->size);
    if (!one_sided) return walk_clip(trim, -most, most);
    return step > 0 ? walk_clip(trim, -shorter, 0) : walk_clip(trim, 0, shorter);
}

/* For a constant command the capture point repeats itself every two steps: with d the foothold, r the turn back by its
 * yaw and p the pivot of each support, and E = e^(w T),
 *     b = r_l (p_l + E a - d_l) - p_r,    a = r_r (p_r + E b - d_r) - p_l,
 * where a and b are its distances from the pivots at the begin of a step on the left and on the right foot. Points of
 * the ground are complex numbers. */
void walk_plan_step(struct walk_engine *e, const struct walk_params *p)
{
    double step[3];
    for (int i = 0; i < 3; i++) step[i] = e->step[i] + bearable(e, i, e->step[i], e->trim[i]);
    enum nm_side here = e->support, there = walk_other(here);
    double yaw, next_yaw, ahead = walk_pivot(e, p, 0);
    e->duration = p->period * (1 + p->period_speed * fabs(step[0]));
    if (e->kick.active) e->duration *= p->kick_period;
    if (e->steps == 0) e->duration = fmin(e->duration, first_step(e, p));
    double grow = exp(e->w * p->rate * e->duration);
    double complex land = foothold(e, p, here, step, &yaw), next = foothold(e, p, there, step, &next_yaw);
    double complex pivot = ahead + I * walk_engine_side(here) * p->pivot_in,
                   next_pivot = ahead + I * walk_engine_side(there) * p->pivot_in;
    double complex back = cexp(-I * yaw), next_back = cexp(-I * next_yaw);
    double complex from = (next_back * (next_pivot - next + grow * (back * (pivot - land) - next_pivot)) - pivot) /
                          (1 - grow * grow * back * next_back);
    e->from_pivot[0] = creal(from);
    e->from_pivot[1] = cimag(from);
    e->land[0] = creal(land);
    e->land[1] = cimag(land);
    e->land_yaw = yaw;
}

/* The command moves towards what is asked by what one step may change. */
void walk_follow(struct walk_engine *e, const struct walk_params *p, const struct walk_command *command)
{
    const double most[3] = {p->change_x, p->change_y, p->change_turn};
    double off = hypot(e->error[0], e->error[1]), calm = walk_clip(2 - off / p->trouble, 0, 1);
    memcpy(e->asked[1], e->asked[0], sizeof e->asked[0]);
    for (int i = 0; i < 3; i++) {
        double wanted = command->walk ? calm * command->step[i] : 0, way = wanted - e->step[i];
        double change = i == 0 && way * e->step[i] < 0 ? most[i] * p->brake : most[i];
        e->step[i] += walk_clip(way, -change, change);
        e->asked[0][i] = e->step[i];
        if (!command->walk) e->trim[i] = 0;
    }
    e->share = walk_clip(e->share + p->start, 0, 1);
}

/* Over two steps, so that what the two feet do differently cancels out. The turn is the trunk's, since feet slip. */
void walk_learn(struct walk_engine *e, const struct walk_params *p, double heading)
{
    memmove(e->heading + 1, e->heading, 2 * sizeof *e->heading);
    e->heading[0] = heading;
    struct pose2 both = pose2_mul(e->step_before, e->stepped);
    double got[3] = {0.5 * p->stride * both.x, 0.5 * p->stride_side * both.y,
                     0.5 * angle_normal(e->heading[0] - e->heading[2])};
    e->step_before = e->stepped;
    if (e->steps < FIRST_TO_LEARN || e->caught || e->kick.active) return;
    for (int i = 0; i < 3; i++) {
        double asked = 0.5 * (e->asked[0][i] + e->asked[1][i]);
        if (fabs(e->asked[0][i] - e->asked[1][i]) > STEADY) continue;
        e->trim[i] = bearable(e, i, asked, e->trim[i] + p->trim * (asked - got[i]));
    }
}
