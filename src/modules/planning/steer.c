#include "modules/planning/steer.h"

#include "base/clamp.h"

static const double SOFT = 0.35;      /* s of the speed that it lags behind the fastest stop                 */
static const double SLOWEST = 0.25;   /* share of the speed that is left while it turns as fast as it can  */
static const double WAVERING = 0.3;   /* s that turning back to the way must save                          */
static const double FIRST_TURN = 0.7; /* of the time of a turn at the beginning: it walks meanwhile        */
static const double BESIDES = 0.15;   /* of the shorter one of walk and turn that comes on top of the other */
static const double STRAIGHT = 0.5;   /* rad beside the way, and it walks straight on while it turns         */
static const double ABOUT = 2.85;     /* rad, about half a turn: it goes on as it has begun to turn ...        */
static const double FAR = 0.8;        /* m, ... far from the end of the way                                   */
static const double THERE = 0.15;     /* m, so near to the end it only turns to its final orientation      */

double steer_stopping(double distance, double change)
{
    double d = fabs(distance);
    return copysign(change * (sqrt(SOFT * SOFT + 2 * d / change) - SOFT), distance);
}

double steer_seconds(double distance, double change)
{
    return (sqrt(SOFT * SOFT + 2 * fabs(distance) / change) + SOFT) / 2;
}

/* The fastest walk in a direction of the robot's frame, m/s. Shares of forwards and sideways add up to one at most. */
static double fastest(const struct steer_limits *l, double direction)
{
    double x = cos(direction), y = sin(direction), along = x > 0 ? l->forward : l->backward;
    return 1 / (fabs(x) / along + fabs(y) / l->side);
}

/* Seconds to the end if it faces along the way and turns at the end. */
static double time_facing(const struct steer_limits *l, const struct steer_wish *w, double bearing)
{
    double first = fabs(bearing), last = fabs(angle_normal(w->final - w->ahead.theta));
    return w->remaining / l->forward + (FIRST_TURN * first + last) / l->turn;
}

/* Seconds to the end if it turns to its final orientation at once. */
static double time_holding(const struct steer_limits *l, const struct steer_wish *w, double bearing)
{
    double walk = w->remaining / fastest(l, angle_normal(bearing - w->final)), turn = fabs(w->final) / l->turn;
    return fmax(walk, turn) + BESIDES * fmin(walk, turn);
}

struct steer_velocity steer(const struct steer_limits *l, struct steer_wish *w, double *seconds)
{
    double bearing = atan2(w->ahead.y, w->ahead.x), facing = time_facing(l, w, bearing),
           holding = time_holding(l, w, bearing);
    bool sooner = holding < facing + (w->holds ? WAVERING : 0);
    w->holds = w->turn_early || w->remaining < THERE || (w->may_hold && sooner);
    *seconds = w->holds ? holding : facing;

    double wrong = w->holds ? w->final : bearing;
    if (fabs(wrong) > ABOUT && w->remaining > FAR && wrong * w->turning < 0) wrong += copysign(2 * M_PI, w->turning);
    if (fabs(wrong) > STRAIGHT) w->turning = copysign(1, wrong);
    double turn = nm_within(steer_stopping(wrong, l->change_turn), l->turn);
    double share = l->turn_fast > 0 ? nm_clamp((1 - fabs(turn) / l->turn) / l->turn_fast, SLOWEST, 1) : 1;
    /* steps to the side cost speed: who will soon face along the way makes none */
    double aside = w->holds ? bearing : copysign(fmax(fabs(bearing) - STRAIGHT, 0), bearing);
    double speed = fmin(share * fastest(l, aside), w->end_speed + steer_stopping(w->remaining, l->change));
    return (struct steer_velocity){speed * cos(aside), speed * sin(aside), turn};
}
