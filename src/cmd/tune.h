/* The parts of `nutmeg tune`: CMA-ES over parameters of a line-up against the scores of scenarios. */
#pragma once

#include "base/cmaes.h"
#include "cmd/options.h"
#include "cmd/setup.h"
#include "sim/scenario.h"

enum { TUNE_PARAMS = 128, TUNE_SCENARIOS = 32, TUNE_HISTORY = 100000, TUNE_TEXT = 600 };

/* ---- what is searched ---- */

struct tune_param {
    const char *instance;
    const struct nm_param *param;
    bool animation;         /* a key frame's: the instance is the animation, the parameter a joint or the duration */
    uint32_t element;       /* of a list, or the frame            */
    double low, high;       /* where it is looked for             */
    double value;           /* as the line-up has it now          */
    struct nm_value before; /* the whole parameter, for its other elements */
};
struct tune_params {
    uint32_t n;
    struct tune_param at[TUNE_PARAMS];
};

/* From `instance.name`, `instance.name=low..high`, `instance.name[2]=…`; -1 with sentences. */
int tune_add(struct tune_params *params, const struct nm_player *player, const char *text, struct nm_err *err);
/* From a file of the form of params.yaml with a range, or nothing, in place of each value. */
int tune_add_file(struct tune_params *params, const struct nm_player *player, const char *path, struct nm_err *err);
/* Coordinates of the search, 0 to 1 over each range, to a value inside it. */
double tune_value(const struct tune_param *param, double x);
/* All of them as settings "instance.parameter=value", the elements of a list together; how many. */
uint32_t tune_settings(const struct tune_params *params, const double *x, char to[TUNE_PARAMS][TUNE_TEXT]);
/* The same as a file that fits robots/NAME/params.yaml. */
void tune_print(const struct tune_params *params, const double *x, FILE *to);

/* ---- key frames ---- */

/* Durations and angles of all frames of an animation in a robot's folder. */
int tune_add_animation(struct tune_params *params, struct nm_arena *arena, const char *folder, const char *name,
                       struct nm_err *err);
/* Its file with the values of a candidate. */
int tune_write_animation(const struct tune_params *params, const double *x, const char *folder, const char *name,
                         FILE *to, struct nm_err *err);
/* The robot's folder for a candidate: itself, or, where key frames are searched, a temporary one that the caller drops.
 * NULL with a sentence. */
const char *tune_make_folder(const struct tune_params *params, const double *x, struct nm_arena *arena,
                             const char *folder, struct nm_err *err);
void tune_drop_folder(struct nm_arena *arena, const char *made);

/* ---- the search ---- */

struct tune_generation {
    double best, mean, sigma; /* scores of its candidates, more is better */
};

struct tune {
    struct setup *setup;
    struct tune_params params;
    uint32_t n_scenarios;
    struct nm_scenario *scenarios[TUNE_SCENARIOS];
    const char *animation;          /* whose key frames are searched, or NULL           */
    const char *robot;              /* folder, in place of the scenarios'; NULL: theirs */
    uint64_t first, last;           /* seeds of the search                              */
    uint64_t test_first, test_last; /* never seen by it                                */
    uint32_t trials;                /* seeds of a candidate in each scenario            */
    uint32_t jobs;
    double seconds; /* of CPU that one run may take, 0: any */
    struct nm_cma *cma;
    uint32_t n_history, room;
    struct tune_generation *history;
    double simulated; /* s, so far */
    uint64_t n_died;
    char died[120]; /* the last reason */
};

/* The score of each point on given seeds, as the mean over them of the sum over the scenarios; NaN where
 * a run crashed. `each`, if not NULL, gets n x n_scenarios means. */
int tune_evaluate(struct tune *tune, const double *points, uint32_t n, const uint64_t *seeds, uint32_t n_seeds,
                  double *scores, double *each, struct nm_err *err);
/* One generation, on seeds of its own. 1 if the search was interrupted. */
int tune_generation(struct tune *tune, struct nm_err *err);

/* Everything that a search needs to continue, as a YAML file. */
int tune_save(const struct tune *tune, const char *path, struct nm_err *err);
int tune_load(struct tune *tune, const char *path, struct nm_err *err);

/* Best and mean of every generation as an SVG picture. */
void tune_plot(const struct tune_generation *history, uint32_t n, const char *title, FILE *to);
