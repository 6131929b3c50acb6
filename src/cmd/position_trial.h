/* One outing (sim/outing.h) and how far the poses of its robots were from the truth: what `nutmeg eval position` and
 * `nutmeg bench world` are made of. */
#pragma once

#include "cmd/setup.h"
#include "sim/outing.h"

enum position_incident {
    INCIDENT_NONE,
    INCIDENT_KIDNAP,     /* after 20 s the first robot is somewhere else       */
    INCIDENT_WRONG_SIDE, /* it begins at the touchline of the rivals' half     */
    INCIDENT_FALL,       /* after 20 s it falls and gets up turned             */
};

struct position_trial {
    enum position_incident incident;
    enum nm_fidelity fidelity;
    uint64_t seed;
    double seconds;     /* of play; with an incident until 32 s after it           */
    bool false_ones;    /* 20 % of the percepts are false, a third of these stay   */
    bool smooth;        /* beside it a smoother that knows what it sees            */
    bool silent;        /* no word from mates                                      */
    const char *lineup; /* its file                                               */
    uint32_t n_poses;
    const char *const *poses; /* topics */
};

enum { POSITION_SAMPLES = 1200 };
#define NEES_95 7.815f /* 95 % of a chi squared distribution with three degrees of freedom lie below */
struct position_errors {
    uint32_t n, mirrored;
    float place[POSITION_SAMPLES], turn[POSITION_SAMPLES]; /* m, rad                                           */
    float nees[POSITION_SAMPLES];                          /* of x, y and direction: 3 on average if calibrated */
    double recovered;   /* s from the incident until 20 cm and 15 degrees, which then last; NaN: never */
    bool mirrored_late; /* the mirrored pose 30 s after the incident                                           */
};
struct position_result {
    bool done;
    char why[400];
    uint64_t hash;                   /* of the percepts                                     */
    double step_us[NM_OUTING_POSES]; /* of the module that makes each pose, median of the first robot */
    double cpu;                      /* s inside cycles, a robot and simulated second       */
    double false_share;              /* of the percepts of the field                      */
    struct position_errors of[NM_OUTING_POSES];
    struct position_errors smoothed; /* of a smoother that knows what it sees */
};

void position_trial(struct setup *setup, const struct position_trial *trial, struct position_result *result);

void position_add_sample(struct position_errors *errors, const struct nm_outing_pose *pose);

/* The share-th of n numbers, 0 to 1; NaN of none. Sorts them. */
double position_quantile(float *values, uint32_t n, double share);
