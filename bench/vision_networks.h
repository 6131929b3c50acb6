/* Rows of `nutmeg bench vision`: the networks of models/ on one core, in turns with onnxruntime where it is installed.
 */
#pragma once

#include "bench.h"

void bench_vision_networks(struct nm_bench *bench, const char *root);
