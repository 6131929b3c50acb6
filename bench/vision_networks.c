#include "vision_networks.h"

#include <math.h>

#include "base/clock.h"
#include "nn/onnx.h"

enum { TURNS = 5 };

static const struct {
    const char *what, *model, *dims, *goal;
    struct nm_net_shape open;
    double ratio;
    uint32_t runs; /* a turn */
} rows[] = {
    {"half SweatyNet, 320x240", "heat", "1 3 240 320", ">= 1.3 x", {4, {1, 3, 240, 320}}, 1.3, 60},
    {"50 ball patches", "ball", "50 1 32 32", ">= 1.5 x", {1, {50}}, 1.5, 300},
};

/* us of its best run; NaN where onnxruntime is not installed. */
static double ask_peer(const char *root, const char *path, const char *dims, uint32_t runs)
{
    char command[1400];
    double median, best = NAN;
    snprintf(command, sizeof command, "node '%s/bench/onnx.mjs' '%s' %s %u 2>/dev/null", root, path, dims, runs);
    FILE *peer = popen(command, "r");
    if (peer && fscanf(peer, "onnxruntime: median %lf us, best %lf us", &median, &best) != 2) best = NAN;
    if (peer) pclose(peer);
    return best;
}

static double best_run(struct nm_net *net, uint32_t runs)
{
    int64_t best = INT64_MAX;
    for (uint32_t i = 0; i < runs; i++) {
        int64_t begin = nm_thread_time();
        nm_net_run(net);
        int64_t took = nm_thread_time() - begin;
        best = took < best ? took : best;
    }
    return 1e-3 * (double)best;
}

void bench_vision_networks(struct nm_bench *bench, const char *root)
{
    bool alone = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[600];
        struct nm_err err = {0};
        snprintf(path, sizeof path, "%s/models/%s.onnx", root, rows[i].model);
        struct nm_net *net = nm_onnx_load_sized(path, &rows[i].open, &err);
        if (!net) {
            nm_bench_fail(bench, &err);
            return;
        }
        float *in = nm_net_input(net, 0);
        for (uint32_t k = 0; k < nm_net_width_in(net, 0); k++) in[k] = sinf((float)k);
        double own = INFINITY, other = INFINITY;
        for (int turn = 0; turn < TURNS && !alone; turn++) {
            double theirs = ask_peer(root, path, rows[i].dims, rows[i].runs);
            alone = isnan(theirs);
            own = fmin(own, best_run(net, rows[i].runs));
            other = fmin(other, theirs);
        }
        if (alone) own = best_run(net, TURNS * rows[i].runs);
        double ratio = alone ? NAN : other / own;
        nm_bench_report(bench, rows[i].what, 1e-3 * own, "ms", ratio, rows[i].goal, ratio >= rows[i].ratio);
        nm_net_free(net);
    }
    if (alone) nm_bench_say(bench, "onnxruntime was not measured: it needs node and scripts/npm tests/interop");
}
