/* One robot that walks about while balls lie before it and roll past it, and how far what it believes of the ball is
 * from the truth: what `nutmeg eval ball` and the rows of the ball in `nutmeg bench world` are made of. A script moves
 * robot, head and ball by the truth, so with the same seed every line-up gets the same percepts. */
#pragma once

#include "cmd/setup.h"
#include "sim/stage.h"

struct ball_trial {
    enum nm_fidelity fidelity; /* flat, or percept: physics in hard conditions */
    uint64_t seed;
    double seconds;
    const char *lineup; /* its file; makes the topic `ball` */
};

enum ball_error {
    BALL_PLACE,     /* m, of a resting ball 1.7 to 2.3 m away                              */
    BALL_VELOCITY,  /* m/s, of a ball that rolls at 0.8 to 1.2 m/s                         */
    BALL_INTERCEPT, /* m, of the place where it will be met in 0.8 to 1.2 s                */
    BALL_ROLLING,   /* m, of the place of a rolling ball                                   */
    BALL_ERRORS
};

enum { BALL_SAMPLES = 2400 };
struct ball_result {
    bool done;
    char why[400];
    uint64_t hash;           /* of the percepts                                       */
    double cpu;              /* s inside cycles in a simulated second                 */
    uint32_t upright, known; /* samples; of them with a ball                        */
    uint32_t wrong;          /* of these: farther than half a metre from the ball   */
    double nees;             /* of the place, on average: 2 if calibrated           */
    uint32_t n[BALL_ERRORS];
    float errors[BALL_ERRORS][BALL_SAMPLES];
};

void ball_add_error(struct ball_result *result, enum ball_error kind, double error);
void ball_trial(struct setup *setup, const struct ball_trial *trial, struct ball_result *result);
