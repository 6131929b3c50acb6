/* Is the robot falling, and how does it lie? A fall is known before the impact: the trunk's tilt, and where its turning
 * will have brought it in a moment, beyond what a step could still catch. Pure: numbers in, numbers out. */
#ifndef NM_MODULES_MOTION_FALL_H
#define NM_MODULES_MOTION_FALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"

struct fall_params {
    double tilt;  /* rad; beyond it nothing helps                                */
    double ahead; /* s; how far the turning is looked ahead                      */
    double least; /* rad; a smaller tilt is no fall, however fast it turns       */
};

/* numbers of HcmState.FALL_* */
enum fall_way { FALL_NONE, FALL_FRONT, FALL_BACK, FALL_LEFT, FALL_RIGHT };

/* up: the world's upwards in the trunk's axes, length 1. turning: rad/s in the trunk's axes. */
enum fall_way fall_coming(const struct fall_params *p, struct vec3 up, struct vec3 turning);

/* How a robot that is down lies: on its front, back, left or right. */
enum fall_way fall_lies(struct vec3 up);

/* rad between the trunk and upright */
double fall_tilt(struct vec3 up);

#endif
