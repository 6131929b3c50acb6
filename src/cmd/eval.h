/* Line-ups compared honestly: all of them play the same seeds, each measure gets a confidence interval over the seeds,
 * and the difference to the first line-up is taken seed by seed, so that what is hard for all does not blur it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { EVAL_LINEUPS = 8, EVAL_SEEDS = 200 };

/* One measure: a value for each line-up and seed; NaN where a seed has none. */
struct eval_measure {
    const char *name, *unit;
    double values[EVAL_LINEUPS][EVAL_SEEDS];
};

/* Mean and half the width of its 95 % interval, over the values that are there; NaN of none, infinite width of one. */
struct eval_mean {
    double mean, half;
    uint32_t n;
};
struct eval_mean eval_mean(const double *values, uint32_t n);
/* The same of the differences a - b, where both are there. */
struct eval_mean eval_difference(const double *a, const double *b, uint32_t n);

/* A table: one line a line-up, one column a measure; below it the differences to the first line-up. */
void eval_print(const char *const *lineups, uint32_t n_lineups, const struct eval_measure *measures,
                uint32_t n_measures, uint32_t seeds, FILE *to);

int eval_ball(int argc, char **argv);   /* nutmeg eval ball   */
int eval_vision(int argc, char **argv); /* nutmeg eval vision */
int eval_match(int argc, char **argv);  /* nutmeg eval match  */
