/* A ball that rolls on the ground and gets slower evenly, and where somebody can meet it. */
#pragma once

#include "base/geometry.h"

struct nm_rolling {
    double x, y;   /* m, where it is now */
    double vx, vy; /* m/s                */
    double way;    /* m that it still rolls */
};

#define NM_ROLLING_RESTS 0.15 /* m/s: a slower ball is taken to rest */

/* s until it rests */
static inline double nm_rolling_lasts(const struct nm_rolling *ball)
{
    double speed = vec2_norm(ball->vx, ball->vy);
    return speed > NM_ROLLING_RESTS && ball->way > 0 ? 2 * ball->way / speed : 0;
}

/* s until a ball with a speed, m/s, that comes to rest after a way has rolled so far, both m; infinite if it rests
 * before */
static inline double nm_rolling_time(double far, double speed, double way)
{
    return far < way ? 2 * way / speed * (1 - sqrt(1 - far / way)) : INFINITY;
}

/* Where it is after so many seconds. */
static inline struct pose2 nm_rolling_at(const struct nm_rolling *ball, double seconds)
{
    double lasts = nm_rolling_lasts(ball), u = lasts > 0 ? fmin(fmax(seconds / lasts, 0), 1) : 0;
    double rolled = lasts > 0 ? ball->way * u * (2 - u) / vec2_norm(ball->vx, ball->vy) : 0;
    return (struct pose2){ball->x + rolled * ball->vx, ball->y + rolled * ball->vy, 0};
}

/* The first place on its way where somebody who needs `need` seconds to a place is not later than the ball; where it
 * comes to rest if there is none. Returns the seconds that he needs there. */
static inline double nm_rolling_met(const struct nm_rolling *ball, double (*need)(const void *user, struct pose2 at),
                                    const void *user, struct pose2 *at)
{
    enum { STEPS = 8 };
    double lasts = nm_rolling_lasts(ball), early = 0, needs = need(user, *at = nm_rolling_at(ball, 0));
    for (int k = 1; k <= STEPS && lasts > 0 && needs > early; k++) {
        double late = lasts * k / STEPS, then = need(user, nm_rolling_at(ball, late));
        if (then <= late) { /* between this step and the one before: where both take equally long */
            double before = needs - early, after = late - then;
            late = early + (late - early) * before / (before + after);
            needs = need(user, *at = nm_rolling_at(ball, late));
            return needs;
        }
        early = late;
        needs = then;
        *at = nm_rolling_at(ball, late);
    }
    return needs;
}
