/* How a robot that can walk in every direction follows a way: which way it faces, how fast it walks and turns, and how
 * long it will take. It faces along the way where that is faster, and its final orientation where that is; so it turns
 * in arcs while it walks (HULKs team research report 2017, section 4.7.2, without its fixed threshold). */
#pragma once

#include <stdbool.h>

#include "base/geometry.h"

struct steer_limits {
    double forward, backward, side; /* m/s; all above 0                                                */
    double turn;                    /* rad/s                                                           */
    double turn_fast;               /* share of the turn that is lost at full speed                    */
    double change, change_side;     /* m/s2, how fast the walk changes its speed                       */
    double change_turn;             /* rad/s2                                                          */
};

struct steer_wish {
    struct pose2 ahead; /* a point on the way a little ahead, and the way's direction at its end; robot's frame */
    double final;       /* rad, orientation at the end, robot's frame                                */
    double remaining;   /* m along the way                                                           */
    double end_speed;   /* m/s at the end of the way; 0: it stops there                              */
    bool may_hold;      /* the final orientation may be faced before the end                         */
    bool turn_early;    /* faces its final orientation from the beginning                            */
    bool holds;         /* in and out: it faces the final orientation now                            */
    double turning;     /* in and out: 1: it turns to the left, -1: to the right, 0: it has not yet  */
};

struct steer_velocity {
    double x, y, turn; /* m/s, m/s, rad/s */
};

/* The fastest from which it can still stop within `distance`, if it brakes with `change`; with the sign of the
 * distance. v^2 / (2 change) = distance, and over the last centimetres slower than that. */
double steer_stopping(double distance, double change);
/* The distance divided by that speed: about the time that it takes. */
double steer_seconds(double distance, double change);

/* The velocity now. `seconds` becomes the time that the way will take. */
struct steer_velocity steer(const struct steer_limits *limits, struct steer_wish *wish, double *seconds);
