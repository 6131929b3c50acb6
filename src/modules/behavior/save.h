/* What a keeper must know of a rolling ball: where and when it crosses his line. */
#pragma once

#include <math.h>

/* Time until a ball at speed v, which comes to rest after a way L, has rolled a distance d; infinite if it stops
 * before. Turf brakes it evenly: d = v t - v^2 / (4 L) t^2 */
static inline double time_to_roll(double d, double v, double L)
{
    return d < L ? 2 * L / v * (1 - sqrt(1 - d / L)) : INFINITY;
}
