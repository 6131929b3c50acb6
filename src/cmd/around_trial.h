/* Trials of what a camera tells beside percepts (line-up `around`), in the simulator: the visual compass in a hall that
 * it has seen from other places, and the visual odometry of a robot that walks. */
#pragma once

#include "cmd/setup.h"

struct compass_trial {
    uint64_t seed;       /* of the hall and of the places */
    uint32_t learn, ask; /* images */
    /* result */
    uint32_t told, right; /* answers with a confidence above one half, and of them those in the right half-plane */
    double error;         /* rad, mean over these answers */
    double seconds;       /* of CPU for an image           */
};
int compass_trial(struct setup *setup, const struct nm_body *body, struct compass_trial *trial, struct nm_err *err);

struct way_trial {
    uint64_t seed;
    double way; /* m: when the robot has come so far, it is measured */
    /* result */
    double error, legs; /* m, where the robot is and where it is by what it saw; the same by its legs alone */
    double seconds;     /* of the robot's time */
};
int way_trial(struct setup *setup, struct way_trial *trial, struct nm_err *err);
