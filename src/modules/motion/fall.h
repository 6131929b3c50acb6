/* Is the robot falling, and how does it lie? A fall is recognised before the impact, by the tilt of the trunk and by
 * the tilt that its turning will have caused a moment later: more than a step could still catch. These are pure
 * functions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"

struct fall_params {
    double tilt;  /* rad; with more tilt the fall cannot be stopped               */
    double ahead; /* s; how far the turning is extrapolated                       */
    double least; /* rad; with less tilt it is no fall, however fast the trunk turns */
};

/* numbers of HcmState.FALL_* */
enum fall_way { FALL_NONE, FALL_FRONT, FALL_BACK, FALL_LEFT, FALL_RIGHT };

/* Whether a fall is coming now, and to which side.
 * up: the upward direction of the world in the axes of the trunk, length 1. turning: rad/s in the axes of the trunk. */
enum fall_way fall_coming(const struct fall_params *p, struct vec3 up, struct vec3 turning);

/* A fall that is watched from look to look: one spike of the sensor is no fall, two looks in a row are. */
struct fall_watch {
    double coming; /* s, for how long a fall has been coming */
};
/* One look, dt seconds after the last. Returns the side when a fall begins to come, FALL_NONE otherwise. */
enum fall_way fall_look(struct fall_watch *watch, const struct fall_params *p, struct vec3 up, struct vec3 turning,
                        double dt);
bool fall_is_coming(const struct fall_watch *watch, double dt);

/* How a robot that is down lies: on its front, back, left or right. */
enum fall_way fall_lies(struct vec3 up);

/* rad between the trunk and upright */
double fall_tilt(struct vec3 up);
