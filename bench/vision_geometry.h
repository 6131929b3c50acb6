/* Parts of nutmeg bench vision. */
#pragma once

#include "bench.h"
#include "cmd/setup.h"

/* `folder`: of the robot */
void bench_around(struct nm_bench *bench, struct setup *setup, const struct nm_body *body);
void bench_calibration(struct nm_bench *bench, struct setup *setup, const char *folder);
