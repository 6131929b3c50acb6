/* The geometric step planner (HULKs team research report, section 6.1.4). It finds the next step towards a pose. Steps
 * are never too long, never change too much from one to the next, and end at the pose without overshoot.
 *
 * Rotation is an intersection of intervals, translation one of two circles and a half-line: a circle around the origin
 * for the longest step, one around the last step for the largest change, the half-line towards the target. A condition
 * that contradicts the conditions before it is met as nearly as they allow. The longest step differs forwards,
 * backwards and sideways, so the geometry is done in a plane where each of them is 1. */
#pragma once

#include "base/geometry.h"

struct step_limits {
    double forward, backward, side; /* m, longest steps; all above 0                     */
    double turn;                    /* rad                                               */
    double change;                  /* share of the longest step, from one step to the next */
    double change_turn;             /* rad                                               */
};

/* Number of steps needed to come to rest exactly after `distance` if each step is shorter than the one before by
 * `change`: k steps cover change k (k + 1) / 2. It is 0 for no distance. */
double step_brake_count(double distance, double change);

/* The longest next step from which the rest of the distance can still be braked. */
double step_brake_length(double distance, double change);

/* target: the pose to reach, relative to where the robot stands now; last: the step before. */
struct pose2 step_plan(const struct step_limits *limits, struct pose2 target, struct pose2 last);
