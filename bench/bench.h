/* Benchmarks: `nutmeg bench [GROUP] [--json] [--quick]`. One file a benchmark; a result is an absolute with its unit, a
 * ratio against a peer or a limit measured in the same run, and a goal. A benchmark is a function
 * `void bench_NAME(struct nm_bench *)` and a row in the table of bench.c. */
#ifndef NM_BENCH_H
#define NM_BENCH_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct nm_bench;

/* One result. `ratio` is NAN where nothing was measured beside it; `goal` is text such as "<= 30 ns" or ">= 2 x". */
void nm_bench_report(struct nm_bench *bench, const char *name, double value, const char *unit, double ratio,
                     const char *goal, bool ok);
/* Rough figures are enough: a tenth of the repetitions. */
bool nm_bench_quick(const struct nm_bench *bench);

struct nm_bench_options {
    const char *group; /* NULL: all             */
    bool json;         /* one object a line     */
    bool quick;
    FILE *to;
};
/* Runs a group; returns the number of goals missed, -1 with a sentence where there is no such group. */
int nm_bench_run(const struct nm_bench_options *options, struct nm_err *err);

#endif
