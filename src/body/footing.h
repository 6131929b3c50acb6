/* Where the torso is over the ground, from its accelerometer and the feet that stand: a Kalman filter whose footholds
 * are part of the state (Bloesch et al., "State estimation for legged robots", RSS 2012), here on the ground only and
 * with an orientation that is taken as exact. A foot in the air is where the legs say, and so is one that has just
 * landed; a foot on the ground stays, and slips the more the less weight it has. Over the time of a step the
 * accelerometer is far better than feet that slide as they land and legs whose gears have play, and the feet keep it
 * from drifting. Flat, nothing allocates. */
#pragma once

#include <stdbool.h>

#include "base/geometry.h"
#include "body/robot.h"

enum { NM_FOOTING_PLACE, NM_FOOTING_SPEED, NM_FOOTING_FOOT, NM_FOOTING_STATES = NM_FOOTING_FOOT + 2 };

struct nm_footing {
    struct vec3 at[NM_FOOTING_STATES]; /* m, m/s, in odom, z 0: the sensor, its speed, the left and the right sole */
    double variance[NM_FOOTING_STATES][NM_FOOTING_STATES]; /* of them, the same along x and y */
    struct vec3 acceleration;                              /* m/s2 in odom, at the last sample */
    bool air[2];                                           /* a foot had no weight then        */
};

/* What came in with one sample. All vectors have the axes of odom. */
struct nm_footing_sample {
    double dt;                /* s since the last sample                                       */
    struct vec3 acceleration; /* m/s2, of the sensor; its z is not used                        */
    struct vec3 sole[2];      /* m, from the sensor to the origin of each sole                 */
    struct vec3 roll[2];      /* m, way of this origin since the last sample as the foot rolls */
    double share[2];          /* of the weight, 0 to 1; both 0 in the air                      */
};

/* The sensor is at a place and moves at an unknown speed. */
void nm_footing_start(struct nm_footing *footing, const struct nm_footing_sample *sample, struct vec3 place);
/* Returns the sensor's place. */
struct vec3 nm_footing_step(struct nm_footing *footing, const struct nm_footing_sample *sample);
