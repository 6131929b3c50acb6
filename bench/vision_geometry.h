/* Parts of nutmeg bench vision. */
#ifndef NM_BENCH_VISION_GEOMETRY_H
#define NM_BENCH_VISION_GEOMETRY_H

#include "bench.h"
#include "cmd/setup.h"

/* `folder`: of the robot */
void bench_around(struct nm_bench *bench, struct setup *setup, const struct nm_body *body);
void bench_calibration(struct nm_bench *bench, struct setup *setup, const char *folder);

#endif
