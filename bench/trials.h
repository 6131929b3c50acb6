/* Figures that are made of scenarios. A trial is a scenario played with some seeds, perhaps a little changed, each seed
 * in its own process. A row makes one figure of the seeds of a trial and sets it beside its goal. */
#pragma once

#include "bench.h"
#include "cmd/setup.h"
#include "sim/scenario.h"

enum { TRIAL_SEEDS = 80, TRIAL_ROBOTS = 2 };

struct trial {
    const char *scenario;  /* in scenarios/; NULL: not played as one                */
    uint32_t seeds, quick; /* how many; the same for --quick, 0: not played then    */
    double seconds;        /* of each with --quick; 0: as long as it is             */
    double size;           /* of its push or pendulum, 0: the scenario's            */
    double degrees;        /* of its kick, to the left; 0: the scenario's           */
    bool other_turf;       /* than the scenario's                                   */
    double turf;           /* m of blades                                           */
    double spread;         /* of bodies, times the scenario's; 0: the scenario's    */
    double velocity[3];    /* of its drives, m/s and rad/s; all 0: the scenario's   */
    const char *set;       /* a parameter, NULL: none                               */
    const char *does;      /* label of the measure that shows that a seed did what the row is about; NULL: none */
    double least;          /* and how much of it, either sign; of `path` in m/s     */
    /* out */
    uint32_t n, ended; /* that are played, and those that have been */
    struct trial_outcome {
        bool done;
        double cpu, span;  /* s of CPU inside the cycles of brains; s simulated */
        double module_cpu; /* s of it inside the module that was asked for      */
        double values[NM_SCENARIO_MEASURES][TRIAL_ROBOTS];
    } outcomes[TRIAL_SEEDS];
    char why[160]; /* the first reason why a seed was not played     */
    struct nm_scenario *read;
};

struct trial_options {
    struct setup *setup;
    const char *robot;  /* folder; NULL: the scenarios'                            */
    const char *lineup; /* file; NULL: the scenarios'                              */
    const char *module; /* whose CPU time is measured; NULL: none                  */
    double scale[4];    /* of drives forwards, backwards, sideways, turning        */
    uint64_t first_seed;
    uint32_t most_seeds;
    double randomise;
    uint32_t jobs;
    bool quick;
};

/* What the command line says; `first_seed`: unless it names seeds. -1 with a sentence if there is no such robot. */
int trial_options(struct trial_options *to, const struct nm_bench *bench, struct setup *setup, uint64_t first_seed,
                  struct nm_err *err);
/* Plays all trials, the seeds of all of them side by side. */
void trials_play(struct trial *trials, uint32_t n, const struct trial_options *options);
void trials_free(struct trial *trials, uint32_t n);

/* The measure of that label in one outcome; NaN if there is none. */
double trial_value(const struct trial *trial, uint32_t index, const char *label);
bool trial_played(const struct trial *trial);
double trial_sum(const struct trial *trial, const char *label); /* over its seeds */
/* A seed that did what its row is about: a robot that only stands or kneels, or refuses, has shown nothing. */
bool trial_did(const struct trial *trial, uint32_t index);

/* ---- rows ---- */

struct row;
typedef double row_figure(const struct trial *all, const struct row *row); /* NaN: not measured */

struct row {
    const char *name;
    uint32_t trial; /* index */
    row_figure *figure;
    const char *label; /* of the measure                         */
    double goal;       /* kid70's                                */
    bool least;        /* at least so much; otherwise at most    */
    double other;      /* the goal of other robots; NaN: none    */
    const char *unit, *known;
    uint32_t beside; /* what it is compared with               */
    bool early;      /* tells how many fell before the hit     */
};
#define AT_LEAST true
#define AT_MOST  false

row_figure row_mean;      /* over all seeds                                                    */
row_figure row_falls;     /* sum over seeds and robots; who did nothing counts as fallen       */
row_figure row_without;   /* seeds that did what they were to do, without any of the measure   */
row_figure row_withstood; /* those of them that were struck while they were upright            */
row_figure row_largest;

/* Plays all trials and tells each row as soon as it and all rows above it are known, with its goal. */
void trials_tell(struct nm_bench *bench, struct trial *trials, uint32_t n, const struct row *rows, const double *goals,
                 uint32_t n_rows, const struct trial_options *options);

/* One row of the table. Counts of robots are goals of twenty, those of falls are goals of all seeds: with fewer seeds
 * they shrink. */
void row_tell(struct nm_bench *bench, const struct trial *all, const struct row *row, double goal);
