/* The C half of onnx.sh: writes random networks, with their inputs and what we compute as one line of text each.
 *   random_nets FOLDER N */
#include <stdio.h>

#include "nn/graphs.h"
#include "nn/onnx.h"

static void numbers(FILE *to, const char *name, const float *at, uint32_t n)
{
    fprintf(to, "%s", name);
    for (uint32_t i = 0; i < n; i++) fprintf(to, " %.9g", (double)at[i]);
    fputc('\n', to);
}

static int write_net(const char *folder, uint64_t seed)
{
    struct nm_err err = {0};
    char path[600];
    size_t n;
    struct nm_net *net = graph_random(seed, &err);
    if (!net) return fprintf(stderr, "%s", err.text), -1;
    for (uint32_t i = 0; i < net->n_inputs; i++)
        for (uint32_t j = 0; j < nm_net_width_in(net, i); j++) nm_net_input(net, i)[j] = (float)graph_both(&seed);
    nm_net_run(net);
    snprintf(path, sizeof path, "%s/net.txt", folder);
    FILE *text = fopen(path, "w");
    snprintf(path, sizeof path, "%s/net.onnx", folder);
    FILE *file = fopen(path, "wb");
    if (!text || !file) return perror(path), -1;
    void *bytes = nm_onnx_write(net, &n);
    int bad = fwrite(bytes, 1, n, file) != n;
    for (uint32_t i = 0; i < net->n_inputs; i++)
        numbers(text, net->values[net->inputs[i]].name, nm_net_input(net, i), nm_net_width_in(net, i));
    for (uint32_t i = 0; i < net->n_outputs; i++)
        numbers(text, net->values[net->outputs[i]].name, nm_net_output(net, i), nm_net_width_out(net, i));
    bad |= fclose(text) | fclose(file);
    free(bytes);
    nm_net_free(net);
    return bad ? -1 : 0;
}

int main(int argc, char **argv) { return argc != 3 || write_net(argv[1], (uint64_t)atoll(argv[2])); }
