/* What a keeper must know of a rolling ball: where and when it crosses his line. */
#ifndef NM_MODULES_BEHAVIOR_SAVE_H
#define NM_MODULES_BEHAVIOR_SAVE_H

#include <math.h>

/* Time until a ball that slows down by friction has rolled a distance d at initial speed v; infinite if it stops
 * before. d = v / k (1 - e^(-k t)) */
static inline double time_to_roll(double d, double v, double k)
{
    double share = d * k / v;
    return share < 1 ? -log(1 - share) / k : INFINITY;
}

#endif
