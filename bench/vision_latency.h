/* Part of nutmeg bench vision. */
#pragma once

#include "bench.h"
#include "cmd/setup.h"

/* pictures: a folder of images of the size of the robot's camera. */
void bench_vision_latency(struct nm_bench *bench, struct setup *setup, const char *pictures);
