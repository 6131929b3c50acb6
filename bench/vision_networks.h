/* Rows of `nutmeg bench vision`: the networks of models/ on one core, in turns with onnxruntime where it is installed.
 */
#ifndef NM_BENCH_VISION_NETWORKS_H
#define NM_BENCH_VISION_NETWORKS_H

#include "bench.h"

void bench_vision_networks(struct nm_bench *bench, const char *root);

#endif
