/* The rows of `nutmeg bench motion` are made of trials: a scenario played with some seeds, perhaps a little changed. */
#ifndef NM_BENCH_MOTION_H
#define NM_BENCH_MOTION_H

#include "cmd/setup.h"
#include "sim/scenario.h"

enum { MOTION_SEEDS = 64 };

struct motion_trial {
    const char *scenario;  /* in scenarios/motion; NULL: not played as one */
    uint32_t seeds, quick; /* how many; the same for --quick, 0: not played then    */
    double seconds;        /* of each with --quick; 0: as long as it is             */
    double size;           /* of its push or pendulum, 0: the scenario's            */
    double degrees;        /* of its kick, to the left; 0: the scenario's           */
    bool other_turf;       /* than the scenario's                                   */
    double turf;           /* m of blades                                           */
    const char *set;       /* a parameter, NULL: none                               */
    const char *does;      /* label of the measure that shows that a seed did what the row is about; NULL: none */
    double least;          /* and how much of it, either sign; of `path` in m/s     */
    /* out */
    uint32_t n; /* that were played */
    struct motion_outcome {
        bool done;
        double cpu, span; /* s of CPU inside the cycles of brains; s simulated */
        double values[NM_SCENARIO_MEASURES];
    } outcomes[MOTION_SEEDS];
    char why[160]; /* the first reason why a seed was not played     */
    struct nm_scenario *read;
};

struct motion_options {
    struct setup *setup;
    const char *robot;
    uint64_t first_seed;
    uint32_t most_seeds;
    double randomise;
    uint32_t jobs;
    bool quick;
};

/* Plays all trials, the seeds of all of them side by side. */
void motion_play(struct motion_trial *trials, uint32_t n, const struct motion_options *options);
/* The odometry of a few bodies, each calibrated by drives of its own and judged by others (nutmeg calibrate odometry):
 * mean distances from the ends of drives, m, as the first value of each outcome. */
void motion_calibrate(struct motion_trial *raw, struct motion_trial *calibrated, const struct motion_options *options);
/* The measure of that label in one outcome; NaN if there is none. */
double motion_value(const struct motion_trial *trial, uint32_t index, const char *label);

#endif
