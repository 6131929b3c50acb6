/* The C half of onnx.sh: writes a random network as FOLDER/net.onnx, with its inputs and what we compute as one line of
 * text each: name, shape, numbers. Given a file, runs that instead.
 *   random_nets FOLDER SEED | FOLDER FILE */
#include <stdio.h>

#include "nn/graphs.h"
#include "nn/onnx.h"

static void numbers(FILE *to, const struct nm_net_value *v)
{
    fprintf(to, "%s ", v->name);
    for (uint32_t i = 0; i < v->shape.rank; i++) fprintf(to, "%s%u", i ? "," : "", v->shape.dims[i]);
    for (uint32_t i = 0; i < v->n; i++) fprintf(to, " %.9g", (double)v->at[i]);
    fputc('\n', to);
}

static int write_net(const char *folder, const char *which)
{
    struct nm_err err = {0};
    char path[600];
    size_t n;
    uint64_t seed = (uint64_t)atoll(which);
    struct nm_net *net = seed ? graph_random(seed, seed % 2, (uint32_t)(seed % 4), &err) : nm_onnx_load(which, &err);
    if (!net) return fprintf(stderr, "%s", err.text), -1;
    graph_feed(net, seed);
    nm_net_run(net);
    snprintf(path, sizeof path, "%s/net.txt", folder);
    FILE *text = fopen(path, "w");
    snprintf(path, sizeof path, "%s/net.onnx", folder);
    FILE *file = seed ? fopen(path, "wb") : NULL;
    if (!text || (seed && !file)) return perror(path), -1;
    int bad = 0;
    if (file) {
        void *bytes = nm_onnx_write(net, &n);
        bad = fwrite(bytes, 1, n, file) != n;
        bad |= fclose(file);
        free(bytes);
    }
    for (uint32_t i = 0; i < net->n_inputs; i++) numbers(text, &net->values[net->inputs[i]]);
    for (uint32_t i = 0; i < net->n_outputs; i++) numbers(text, &net->values[net->outputs[i]]);
    bad |= fclose(text);
    nm_net_free(net);
    return bad ? -1 : 0;
}

int main(int argc, char **argv) { return argc != 3 || write_net(argv[1], argv[2]); }
