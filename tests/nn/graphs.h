/* Random networks for tests, and the same computed plainly in double precision. */
#ifndef TESTS_NN_GRAPHS_H
#define TESTS_NN_GRAPHS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/net.h"

static inline double graph_both(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}
static inline uint32_t graph_below(uint64_t *state, uint32_t n) { return (uint32_t)(fabs(graph_both(state)) * n) % n; }

/* Some ten nodes, each with inputs among the values that fit it; every operator comes up. NULL only if something that
 * must be possible was refused. */
static inline struct nm_net *graph_random(uint64_t seed, struct nm_err *err)
{
    struct nm_net *net = nm_net_new();
    char name[40], out[40];
    uint32_t rows[64], n = 0; /* values that are rows: [1, width] */
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "in%u", i);
        rows[n++] =
            (uint32_t)nm_net_add_input(net, name, (struct nm_net_shape){2, {1, 1 + graph_below(&seed, 40)}}, err);
    }
    for (uint32_t k = 0; k < 12; k++) {
        enum nm_net_op op = (enum nm_net_op)graph_below(&seed, NM_OPS);
        struct nm_net_attributes with = NM_NET_ATTRIBUTES;
        uint32_t in[3] = {rows[graph_below(&seed, n)]}, n_in = 1, width = net->values[in[0]].n;
        float numbers[64 * 64];
        for (int i = 0; i < 64 * 64; i++) numbers[i] = (float)graph_both(&seed);
        snprintf(name, sizeof name, "node%u", k), snprintf(out, sizeof out, "out%u", k);
        char one[40], two[40];
        snprintf(one, sizeof one, "one%u", k), snprintf(two, sizeof two, "two%u", k);
        if (width > 64) continue;
        if (op == NM_OP_GEMM || op == NM_OP_MATMUL) {
            uint32_t wide = 1 + graph_below(&seed, 64);
            with.trans_b = op == NM_OP_GEMM && graph_both(&seed) > 0;
            struct nm_net_shape shape = {2, {width, wide}}, turned = {2, {wide, width}};
            in[n_in++] = (uint32_t)nm_net_add_constant(net, one, with.trans_b ? turned : shape, numbers, err);
            if (op == NM_OP_GEMM && graph_both(&seed) > 0) {
                with.alpha = numbers[7], with.beta = numbers[8];
                in[n_in++] =
                    (uint32_t)nm_net_add_constant(net, two, (struct nm_net_shape){1, {wide}}, numbers + 9, err);
            }
        } else if (op >= NM_OP_ADD && op <= NM_OP_DIV) {
            uint32_t kind = graph_below(&seed, 3);
            for (int i = 0; i < 64; i++) numbers[i] += numbers[i] < 0 ? -1.0f : 1.0f; /* not by nearly nothing */
            struct nm_net_shape shape = kind == 0 ? (struct nm_net_shape){0} : (struct nm_net_shape){1, {width}};
            in[n_in++] =
                kind == 2 && op != NM_OP_DIV ? in[0] : (uint32_t)nm_net_add_constant(net, one, shape, numbers, err);
        } else if (op == NM_OP_CLIP) {
            with.low = -0.3f, with.high = 0.4f;
            if (graph_both(&seed) > 0) {
                in[n_in++] = graph_both(&seed) > 0
                                 ? NM_NET_NONE
                                 : (uint32_t)nm_net_add_constant(net, one, (struct nm_net_shape){0}, numbers, err);
                in[n_in++] = (uint32_t)nm_net_add_constant(net, two, (struct nm_net_shape){0}, numbers + 1, err);
                with.low = -INFINITY, with.high = INFINITY;
            }
        } else if (op == NM_OP_CONCAT) {
            with.axis = graph_both(&seed) > 0 ? 1 : -1;
            in[n_in++] = rows[graph_below(&seed, n)];
        } else if (op == NM_OP_RESHAPE) {
            const int64_t shape[2] = {graph_both(&seed) > 0 ? 1 : 0, -1};
            in[n_in++] = (uint32_t)nm_net_add_whole(net, one, (struct nm_net_shape){1, {2}}, shape, err);
        } else if (op == NM_OP_ELU) {
            with.alpha = 0.7f;
        }
        int32_t value = nm_net_add_node(net, name, op, in, n_in, &with, out, err);
        if (value < 0) {
            nm_net_free(net);
            return NULL;
        }
        rows[n++] = (uint32_t)value;
    }
    nm_net_add_output(net, rows[n - 1], err);
    nm_net_add_output(net, rows[n / 2], err);
    nm_net_add_note(net, "about", "a random network", err);
    return net;
}

static inline double graph_element(const struct nm_net *net, double *const *all, uint32_t value, uint32_t i)
{
    return all[value][net->values[value].n == 1 ? 0 : i];
}

/* The value of every node by the words of ONNX, one element at a time. The result, all[value][element], is to be freed
 * with graph_free. */
static inline double **graph_plain(const struct nm_net *net)
{
    double **all = calloc(net->n_values, sizeof *all);
    for (uint32_t v = 0; all && v < net->n_values; v++) {
        all[v] = calloc(net->values[v].n, sizeof **all);
        for (uint32_t i = 0; net->values[v].at && i < net->values[v].n; i++) all[v][i] = (double)net->values[v].at[i];
    }
    for (uint32_t k = 0; k < net->n_nodes; k++) {
        const struct nm_net_node *o = &net->nodes[k];
        double *y = all[o->out];
        uint32_t n = net->values[o->out].n, n_a = net->values[o->in[0]].n;
        for (uint32_t i = 0; i < n; i++) {
            double x = o->op == NM_OP_CONCAT || o->op == NM_OP_GEMM || o->op == NM_OP_MATMUL
                           ? 0
                           : graph_element(net, all, o->in[0], i),
                   z = o->op >= NM_OP_ADD && o->op <= NM_OP_DIV ? graph_element(net, all, o->in[1], i) : 0, low, high;
            switch (o->op) {
            case NM_OP_GEMM:
            case NM_OP_MATMUL:
                y[i] = 0;
                for (uint32_t j = 0; j < n_a; j++)
                    y[i] += all[o->in[0]][j] *
                            all[o->in[1]][o->op == NM_OP_GEMM && o->with.trans_b ? i * n_a + j : j * n + i];
                if (o->op == NM_OP_GEMM)
                    y[i] = (double)o->with.alpha * y[i] +
                           (o->n_in > 2 ? (double)o->with.beta * graph_element(net, all, o->in[2], i) : 0);
                break;
            case NM_OP_ADD: y[i] = x + z; break;
            case NM_OP_SUB: y[i] = x - z; break;
            case NM_OP_MUL: y[i] = x * z; break;
            case NM_OP_DIV: y[i] = x / z; break;
            case NM_OP_ELU: y[i] = x > 0 ? x : (double)o->with.alpha * expm1(x); break;
            case NM_OP_RELU: y[i] = fmax(x, 0); break;
            case NM_OP_TANH: y[i] = tanh(x); break;
            case NM_OP_SIGMOID: y[i] = 1 / (1 + exp(-x)); break;
            case NM_OP_CLIP:
                low = o->n_in > 1 && o->in[1] != NM_NET_NONE ? all[o->in[1]][0] : (double)o->with.low;
                high = o->n_in > 2 && o->in[2] != NM_NET_NONE ? all[o->in[2]][0] : (double)o->with.high;
                y[i] = fmin(fmax(x, low), high);
                break;
            case NM_OP_CONCAT: y[i] = i < n_a ? all[o->in[0]][i] : all[o->in[1]][i - n_a]; break;
            default: y[i] = x;
            }
        }
    }
    return all;
}

static inline void graph_free(const struct nm_net *net, double **all)
{
    for (uint32_t v = 0; v < net->n_values; v++) free(all[v]);
    free(all);
}

#endif
