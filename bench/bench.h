/* Benchmarks: `nutmeg bench [GROUP] [--json] [--quick] …`. One file a benchmark; a result is an absolute with its unit,
 * a ratio against a peer or a limit measured in the same run, and a goal. A benchmark is a function `void
 * bench_NAME(struct nm_bench *)` and a row in the table of bench.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct nm_bench;
struct nm_bench_options;

/* One result. `ratio` is NAN where nothing was measured beside it; `goal` is text such as "<= 30 ns" or ">= 2 x". */
void nm_bench_report(struct nm_bench *bench, const char *name, double value, const char *unit, double ratio,
                     const char *goal, bool ok);
/* The same with the figure of somebody else beside it, as text, in place of a ratio. NaN: it was not measured, and the
 * goal is missed. */
void nm_bench_beside(struct nm_bench *bench, const char *name, double value, const char *unit, const char *known,
                     const char *goal, bool ok);
/* Rough figures are enough: a tenth of the repetitions. */
bool nm_bench_quick(const struct nm_bench *bench);

const struct nm_bench_options *nm_bench_options(const struct nm_bench *bench);
bool nm_bench_wants(const struct nm_bench *bench, const char *row); /* --only names it, or is not given */
void nm_bench_say(struct nm_bench *bench, const char *format, ...) __attribute__((format(printf, 2, 3))); /* a line */

/* The group cannot be measured at all, and nm_bench_run fails with this sentence. */
void nm_bench_fail(struct nm_bench *bench, const struct nm_err *err);

struct nm_bench_options {
    const char *group; /* NULL: all             */
    bool json;         /* one object a line     */
    bool quick;
    /* of the groups that play scenarios */
    const char *robot;    /* folder; NULL: the scenarios'         */
    uint64_t first_seed;  /* 0: the group's own                   */
    uint64_t last_seed;   /* at most so many are played as a row wants */
    double randomise;     /* share of the spread; negative: the scenarios' */
    uint32_t jobs;        /* processes; 0: two                    */
    const char *engine;   /* of the group walk; NULL: its first   */
    double learn;         /* of the group robots: minutes that each learns to walk; 0: none */
    const char *pictures; /* of the group vision: a folder of real pictures with tags; NULL: none */
    const char *only;     /* rows of the groups match and vision, words with commas between; NULL: all */
    FILE *to;
};
/* Runs a group; returns the number of goals missed, -1 with a sentence where there is no such group or it cannot be
 * measured. */
int nm_bench_run(const struct nm_bench_options *options, struct nm_err *err);
