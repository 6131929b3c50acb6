/* Random networks of all operators for tests. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/net.h"

static inline double graph_both(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}
static inline uint32_t graph_below(uint64_t *state, uint32_t n) { return (uint32_t)(fabs(graph_both(state)) * n) % n; }

struct graph {
    struct nm_net *net;
    struct nm_err *err;
    uint64_t dice;
    uint32_t n, values[80]; /* what may be read      */
    uint32_t names;
    uint32_t in[8], n_in; /* of the node in work   */
    struct nm_net_attribute with[8];
    int64_t lists[8][8];
    uint32_t n_with;
};

static inline uint32_t graph_pick(struct graph *g, uint32_t n) { return graph_below(&g->dice, n); }

static inline void graph_constant(struct graph *g, struct nm_net_shape shape, float low, float high)
{
    char name[40];
    uint32_t n = 1;
    for (uint32_t d = 0; d < shape.rank; d++) n *= shape.dims[d];
    float *at = malloc(n * sizeof *at);
    for (uint32_t i = 0; i < n; i++) at[i] = low + (high - low) * (float)(graph_both(&g->dice) + 1) / 2;
    snprintf(name, sizeof name, "c%u", g->names++);
    int32_t v = nm_net_add_constant(g->net, name, shape, at, g->err);
    g->in[g->n_in++] = (uint32_t)v;
    free(at);
}

static inline void graph_list(struct graph *g, uint32_t n, const int64_t *at)
{
    char name[40];
    snprintf(name, sizeof name, "l%u", g->names++);
    g->in[g->n_in++] = (uint32_t)nm_net_add_whole(g->net, name, (struct nm_net_shape){1, {n}}, at, g->err);
}

static inline void graph_whole(struct graph *g, const char *name, int64_t i)
{
    g->with[g->n_with++] = (struct nm_net_attribute){.name = name, .kind = 'i', .i = i};
}
static inline void graph_float(struct graph *g, const char *name, float f)
{
    g->with[g->n_with++] = (struct nm_net_attribute){.name = name, .kind = 'f', .f = f};
}
static inline void graph_text(struct graph *g, const char *name, const char *s)
{
    g->with[g->n_with++] = (struct nm_net_attribute){.name = name, .kind = 's', .s = s};
}
static inline void graph_wholes(struct graph *g, const char *name, uint32_t n, const int64_t *at)
{
    memcpy(g->lists[g->n_with], at, n * sizeof *at);
    g->with[g->n_with] = (struct nm_net_attribute){.name = name, .kind = 'I', .n = n, .whole = g->lists[g->n_with]};
    g->n_with++;
}

static inline struct nm_net_shape graph_ones(uint32_t rank)
{
    struct nm_net_shape s = {.rank = rank};
    for (uint32_t d = 0; d < rank; d++) s.dims[d] = 1;
    return s;
}

/* Kernel, strides, dilations and pads of a window that fits. */
static inline bool graph_window(struct graph *g, const struct nm_net_shape *x, bool dilate, int64_t size[2])
{
    int64_t stride[2], dilation[2], pads[4];
    uint32_t n = x->rank - 2;
    for (uint32_t d = 0; d < n; d++) {
        size[d] = 1 + graph_pick(g, 5);
        stride[d] = 1 + graph_pick(g, 3);
        dilation[d] = dilate ? 1 + graph_pick(g, 2) : 1;
        pads[d] = graph_pick(g, (uint32_t)size[d]), pads[n + d] = graph_pick(g, (uint32_t)size[d]);
        if ((size[d] - 1) * dilation[d] + 1 > x->dims[2 + d] + pads[d] + pads[n + d]) return false;
    }
    graph_wholes(g, "kernel_shape", n, size);
    graph_wholes(g, "strides", n, stride);
    if (dilate) graph_wholes(g, "dilations", n, dilation);
    static const char *const autos[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
    uint32_t how = graph_pick(g, 6);
    bool fits = true;
    for (uint32_t d = 0; d < n; d++) fits &= (size[d] - 1) * dilation[d] + 1 <= x->dims[2 + d] && size[d] >= stride[d];
    if (how < 3 && fits && !dilate)
        graph_text(g, "auto_pad", autos[how]);
    else
        graph_wholes(g, "pads", 2 * n, pads);
    return true;
}

/* The inputs and attributes of a node whose first input is x; false: not for this shape. */
static inline bool graph_fit(struct graph *g, enum nm_net_op op, const struct nm_net_value *x)
{
    const struct nm_net_shape s = x->shape;
    bool image = s.rank == 3 || s.rank == 4;
    uint32_t last = s.rank ? s.dims[s.rank - 1] : 1;
    int64_t list[8] = {0};
    switch (op) {
    case NM_OP_GEMM:
    case NM_OP_MATMUL: {
        uint32_t wide = 1 + graph_pick(g, 40);
        if ((op == NM_OP_GEMM && s.rank != 2) || !s.rank) return false;
        bool turned_a = op == NM_OP_GEMM && graph_pick(g, 4) == 0, turned = op == NM_OP_GEMM && graph_pick(g, 2);
        uint32_t k = turned_a ? s.dims[0] : last, m = turned_a ? last : s.rank > 1 ? s.dims[s.rank - 2] : 1;
        struct nm_net_shape b = {2, {turned ? wide : k, turned ? k : wide}};
        if (op == NM_OP_MATMUL && s.rank > 2 && graph_pick(g, 2)) { /* a stack */
            b = s;
            b.dims[b.rank - 2] = k, b.dims[b.rank - 1] = wide;
        }
        if (k > 4000) return false;
        graph_constant(g, b, -0.5f, 0.5f);
        if (op == NM_OP_MATMUL) return true;
        graph_whole(g, "transA", turned_a), graph_whole(g, "transB", turned);
        graph_float(g, "alpha", 0.7f), graph_float(g, "beta", 1.3f);
        uint32_t kind = graph_pick(g, 4);
        if (kind == 1) graph_constant(g, (struct nm_net_shape){1, {wide}}, -1, 1);
        if (kind == 2) graph_constant(g, (struct nm_net_shape){2, {m, 1}}, -1, 1);
        if (kind == 3) graph_constant(g, (struct nm_net_shape){2, {m, wide}}, -1, 1);
        return true;
    }
    case NM_OP_ADD:
    case NM_OP_SUB:
    case NM_OP_MUL:
    case NM_OP_DIV:
    case NM_OP_POW:
    case NM_OP_MIN:
    case NM_OP_MAX:
    case NM_OP_PRELU: {
        struct nm_net_shape b = s;
        uint32_t kind = graph_pick(g, 5);
        if (op == NM_OP_POW) return graph_constant(g, (struct nm_net_shape){0}, 2, 2), true;
        if (kind == 0) b = (struct nm_net_shape){0};
        if (kind == 1) b = graph_ones(s.rank), b.dims[s.rank > 1] = s.dims[s.rank > 1];
        if (kind == 2 && s.rank > 2) { b = (struct nm_net_shape){s.rank - 1, {s.dims[1], 1, 1, 1, 1}}; }
        if (kind == 3)
            for (uint32_t d = 0; d < b.rank; d++)
                if (graph_pick(g, 2)) b.dims[d] = 1;
        if (kind == 4 && op != NM_OP_DIV && op != NM_OP_PRELU) { /* two computed ones */
            g->in[g->n_in++] = g->in[0];
            for (uint32_t i = 0; i < g->n; i++)
                if (!memcmp(&g->net->values[g->values[i]].shape, &s, sizeof s)) g->in[1] = g->values[i];
            return true;
        }
        graph_constant(g, b, 0.5f, 1.5f);
        if (op != NM_OP_PRELU && op != NM_OP_DIV && graph_pick(g, 4) == 0) {
            uint32_t first = g->in[0];
            g->in[0] = g->in[1], g->in[1] = first;
        }
        return true;
    }
    case NM_OP_ELU: graph_float(g, "alpha", 0.7f); return true;
    case NM_OP_LEAKY_RELU: graph_float(g, "alpha", 0.1f); return true;
    case NM_OP_EXP:
    case NM_OP_LOG:
    case NM_OP_SQRT: return false; /* only after something that bounds them; see graph_random */
    case NM_OP_FLOOR:
    case NM_OP_CEIL: return false; /* jump where rounding differs */
    case NM_OP_CLIP:
        if (graph_pick(g, 2))
            g->in[g->n_in++] = NM_NET_NONE;
        else
            graph_constant(g, (struct nm_net_shape){0}, -0.5f, -0.2f);
        if (graph_pick(g, 2)) graph_constant(g, (struct nm_net_shape){0}, 0.3f, 1);
        return true;
    case NM_OP_CAST: graph_whole(g, "to", 1); return true;
    case NM_OP_RESHAPE:
        list[0] = graph_pick(g, 2) && s.rank ? 0 : (int64_t)(s.rank ? s.dims[0] : 1), list[1] = -1;
        graph_list(g, 2, list);
        return true;
    case NM_OP_FLATTEN: graph_whole(g, "axis", graph_pick(g, s.rank + 1)); return true;
    case NM_OP_SQUEEZE:
        for (uint32_t d = 0; d < s.rank; d++)
            if (s.dims[d] == 1) {
                list[0] = (int64_t)d - (graph_pick(g, 2) ? s.rank : 0);
                graph_list(g, 1, list);
                return true;
            }
        return false;
    case NM_OP_UNSQUEEZE:
        if (s.rank > 4) return false;
        list[0] = graph_pick(g, s.rank + 1);
        graph_list(g, 1, list);
        return true;
    case NM_OP_WHERE:
        graph_constant(g, (struct nm_net_shape){0}, 0, 1);
        return false; /* conditions are constants, which only shapes have */
    case NM_OP_CONCAT: {
        uint32_t axis = s.rank ? graph_pick(g, 3) ? (s.rank > 1) : graph_pick(g, s.rank) : 0;
        if (!s.rank) return false;
        for (uint32_t i = 0; i < g->n && g->n_in < 4; i++) {
            struct nm_net_shape other = g->net->values[g->values[i]].shape;
            if (other.rank != s.rank) continue;
            other.dims[axis] = s.dims[axis];
            if (!memcmp(&other, &s, sizeof s)) g->in[g->n_in++] = g->values[i];
        }
        graph_whole(g, "axis", (int64_t)axis - (graph_pick(g, 2) ? s.rank : 0));
        return true;
    }
    case NM_OP_TRANSPOSE:
        for (uint32_t d = 0; d < s.rank; d++) list[d] = d;
        for (uint32_t d = s.rank; d > 1; d--) {
            uint32_t other = graph_pick(g, d);
            int64_t t = list[d - 1];
            list[d - 1] = list[other], list[other] = t;
        }
        if (s.rank && graph_pick(g, 3)) graph_wholes(g, "perm", s.rank, list);
        return true;
    case NM_OP_SLICE: {
        if (!s.rank) return false;
        int64_t d = graph_pick(g, s.rank), size = s.dims[d], step = graph_pick(g, 3) == 0 ? 2 : 1;
        int64_t start = graph_pick(g, (uint32_t)size), end = graph_pick(g, 2) ? INT64_MAX : size;
        if (graph_pick(g, 4) == 0) step = -1, end = -INT64_MAX;
        graph_list(g, 1, &start), graph_list(g, 1, &end), graph_list(g, 1, &d), graph_list(g, 1, &step);
        return true;
    }
    case NM_OP_GATHER: {
        if (!s.rank || s.rank > 4) return false;
        uint32_t axis = graph_pick(g, s.rank);
        for (int i = 0; i < 3; i++)
            list[i] = (int64_t)graph_pick(g, s.dims[axis]) - (graph_pick(g, 2) ? s.dims[axis] : 0);
        graph_list(g, 3, list);
        graph_whole(g, "axis", axis);
        return true;
    }
    case NM_OP_PAD: {
        static const char *const modes[] = {"constant", "reflect", "edge"};
        uint32_t mode = graph_pick(g, 3);
        if (!s.rank || s.rank > 4) return false;
        for (uint32_t d = 0; d < 2 * s.rank; d++)
            list[d] = graph_pick(g, mode == 1 ? (s.dims[d % s.rank] < 3 ? s.dims[d % s.rank] : 3) : 3);
        graph_list(g, 2 * s.rank, list);
        if (!mode && graph_pick(g, 2)) graph_constant(g, (struct nm_net_shape){0}, 0.5f, 0.5f);
        graph_text(g, "mode", modes[mode]);
        return true;
    }
    case NM_OP_EXPAND: {
        if (!s.rank || s.rank > 4) return false;
        for (uint32_t d = 0; d < s.rank; d++) list[d] = s.dims[d] == 1 ? 2 : graph_pick(g, 2) ? 1 : s.dims[d];
        graph_list(g, s.rank, list);
        return true;
    }
    case NM_OP_DEPTH_TO_SPACE:
        if (s.rank != 4 || s.dims[1] % 4) return false;
        graph_whole(g, "blocksize", 2), graph_text(g, "mode", graph_pick(g, 2) ? "DCR" : "CRD");
        return true;
    case NM_OP_SPACE_TO_DEPTH:
        if (s.rank != 4 || s.dims[2] % 2 || s.dims[3] % 2) return false;
        graph_whole(g, "blocksize", 2);
        return true;
    case NM_OP_SOFTMAX:
        if (!s.rank) return false;
        graph_whole(g, "axis", (int64_t)graph_pick(g, s.rank) - (graph_pick(g, 2) ? s.rank : 0));
        return true;
    case NM_OP_REDUCE_MEAN:
        if (!s.rank) return false;
        list[0] = graph_pick(g, s.rank), list[1] = s.rank - 1;
        if (graph_pick(g, 4)) graph_wholes(g, "axes", list[0] != list[1] && graph_pick(g, 2) ? 2 : 1, list);
        graph_whole(g, "keepdims", graph_pick(g, 2));
        return true;
    case NM_OP_CONV: {
        int64_t size[2];
        uint32_t groups = 1, c = image ? s.dims[1] : 1, outs = 1 + graph_pick(g, graph_pick(g, 3) ? 20 : 50);
        if (!image || !graph_window(g, &s, graph_pick(g, 3) == 0, size)) return false;
        if (graph_pick(g, 3) == 0) groups = c, outs = graph_pick(g, 2) ? c : 2 * c;
        if (c % 2 == 0 && graph_pick(g, 4) == 0) groups = 2, outs = 2 * outs;
        if (graph_pick(g, 6) == 0 && c == 32) groups = 2, outs = 32;
        struct nm_net_shape w = {s.rank, {outs, c / groups, (uint32_t)size[0], (uint32_t)size[1]}};
        graph_constant(g, w, -0.3f, 0.3f);
        if (graph_pick(g, 2)) graph_constant(g, (struct nm_net_shape){1, {outs}}, -1, 1);
        graph_whole(g, "group", groups);
        return true;
    }
    case NM_OP_CONV_TRANSPOSE: {
        int64_t size[2], stride[2], dilation[2], pads[4], extra[2];
        uint32_t n = s.rank - 2, c = image ? s.dims[1] : 1, groups = c % 2 == 0 && graph_pick(g, 3) == 0 ? 2 : 1;
        if (!image) return false;
        for (uint32_t d = 0; d < n; d++) {
            size[d] = 1 + graph_pick(g, 4), stride[d] = 1 + graph_pick(g, 3), dilation[d] = 1 + graph_pick(g, 2);
            pads[d] = graph_pick(g, (uint32_t)size[d]), pads[n + d] = graph_pick(g, (uint32_t)size[d]);
            extra[d] = graph_pick(g, (uint32_t)stride[d]);
            if (stride[d] * (s.dims[2 + d] - 1) + (size[d] - 1) * dilation[d] + 1 + extra[d] <= pads[d] + pads[n + d])
                return false;
        }
        uint32_t outs = 1 + graph_pick(g, 12);
        struct nm_net_shape w = {s.rank, {c, outs, (uint32_t)size[0], (uint32_t)size[1]}};
        graph_constant(g, w, -0.3f, 0.3f);
        if (graph_pick(g, 2)) graph_constant(g, (struct nm_net_shape){1, {outs * groups}}, -1, 1);
        graph_whole(g, "group", groups);
        graph_wholes(g, "kernel_shape", n, size), graph_wholes(g, "strides", n, stride);
        graph_wholes(g, "dilations", n, dilation), graph_wholes(g, "pads", 2 * n, pads);
        graph_wholes(g, "output_padding", n, extra);
        return true;
    }
    case NM_OP_BATCH_NORM:
        if (s.rank < 2 || s.rank > 4) return false;
        for (int i = 0; i < 4; i++)
            graph_constant(g, (struct nm_net_shape){1, {s.dims[1]}}, i == 2 ? -0.5f : 0.5f, 1.5f);
        graph_float(g, "epsilon", 1e-3f);
        return true;
    case NM_OP_MAX_POOL:
    case NM_OP_AVERAGE_POOL: {
        int64_t size[2];
        if (!image || !graph_window(g, &s, op == NM_OP_MAX_POOL && graph_pick(g, 4) == 0, size)) return false;
        /* implementations differ about windows that begin behind the image */
        const struct nm_net_attribute *pads = &g->with[g->n_with - 1];
        bool behind = pads->kind != 'I';
        for (uint32_t d = s.rank - 2; d < pads->n; d++) behind |= pads->whole[d] > 0;
        for (uint32_t d = 0; d < s.rank - 2; d++) behind |= size[d] < g->lists[1][d];
        graph_whole(g, "ceil_mode", !behind && graph_pick(g, 2));
        if (op == NM_OP_AVERAGE_POOL) graph_whole(g, "count_include_pad", graph_pick(g, 2));
        return true;
    }
    case NM_OP_GLOBAL_MAX_POOL:
    case NM_OP_GLOBAL_AVERAGE_POOL: return image;
    case NM_OP_RESIZE: {
        static const char *const where[] = {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"},
                                 *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
        if (s.rank != 4) return false;
        bool linear = graph_pick(g, 2);
        graph_text(g, "mode", linear ? "linear" : "nearest");
        graph_text(g, "coordinate_transformation_mode", where[graph_pick(g, linear ? 4 : 3)]);
        if (!linear) graph_text(g, "nearest_mode", nearest[graph_pick(g, 4)]);
        g->in[g->n_in++] = NM_NET_NONE;
        if (graph_pick(g, 2)) {
            float scale[4] = {1, 1, graph_pick(g, 2) ? 2 : 0.5f, graph_pick(g, 2) ? 2 : 3};
            char name[40];
            if (s.dims[2] < 2) scale[2] = 2;
            snprintf(name, sizeof name, "s%u", g->names++);
            g->in[g->n_in++] =
                (uint32_t)nm_net_add_constant(g->net, name, (struct nm_net_shape){1, {4}}, scale, g->err);
        } else {
            g->in[g->n_in++] = NM_NET_NONE;
            list[0] = s.dims[0], list[1] = s.dims[1], list[2] = 2 * s.dims[2], list[3] = 1 + graph_pick(g, 30);
            graph_list(g, 4, list);
        }
        return true;
    }
    case NM_OP_UPSAMPLE: /* gone in the operator set that is written */
    case NM_OP_SHAPE:
    case NM_OP_FILLED:
    case NM_OP_EQUAL:
    case NM_OP_NEG:
    case NM_OP_ABS:
    case NM_OP_SPLIT: return op == NM_OP_NEG || op == NM_OP_ABS;
    default: return true;
    }
}

/* Some twenty nodes, each with a first input among the values that fit it. `all`: every value is an output, so that
 * nothing can be joined; else only some. `kind`: of loops, as in nn/conv.h. NULL only if something that must be
 * possible was refused. */
static inline struct nm_net *graph_random(uint64_t seed, bool all, uint32_t kind, struct nm_err *err)
{
    struct graph g = {.net = nm_net_new(), .err = err, .dice = seed * 77 + 5};
    uint32_t made = 0;
    g.net->kind = kind;
    const uint32_t channels[] = {1, 3, 8, 16, 5, 32};
    struct nm_net_shape image = {
        4, {1 + graph_pick(&g, 2), channels[graph_pick(&g, 6)], 2 + graph_pick(&g, 15), 2 + graph_pick(&g, 20)}};
    if (graph_pick(&g, 6) == 0) image = (struct nm_net_shape){3, {image.dims[0], image.dims[1], image.dims[3]}};
    g.values[g.n++] = (uint32_t)nm_net_add_input(g.net, "image", image, err);
    g.values[g.n++] =
        (uint32_t)nm_net_add_input(g.net, "row", (struct nm_net_shape){2, {1, 1 + graph_pick(&g, 40)}}, err);
    enum nm_net_op follow = NM_OPS; /* chains as networks have them: convolution, scale, curve */
    for (uint32_t tries = 0; tries < 400 && made < 18; tries++) {
        static const enum nm_net_op chain[] = {NM_OP_CONV, NM_OP_BATCH_NORM, NM_OP_RELU, NM_OP_MAX_POOL, NM_OP_CONCAT,
                                               NM_OP_CONV, NM_OP_LEAKY_RELU, NM_OP_ADD,  NM_OP_SIGMOID};
        enum nm_net_op op = follow != NM_OPS    ? follow
                            : graph_pick(&g, 3) ? (enum nm_net_op)graph_pick(&g, NM_OPS)
                                                : chain[graph_pick(&g, 9)];
        uint32_t from = follow != NM_OPS || graph_pick(&g, 2) ? g.n - 1 : graph_pick(&g, g.n);
        g.in[0] = g.values[from], g.n_in = 1, g.n_with = 0;
        follow = NM_OPS;
        const struct nm_net_value *x = &g.net->values[g.in[0]];
        if (x->n > 60000 || x->constant) continue;
        char name[40], outs[2][40];
        const char *out[2] = {outs[0], outs[1]};
        uint32_t n_out = 1;
        snprintf(name, sizeof name, "node%u", made);
        snprintf(outs[0], sizeof outs[0], "out%u", made), snprintf(outs[1], sizeof outs[1], "second%u", made);
        if (op == NM_OP_SPLIT && x->shape.rank && x->shape.dims[x->shape.rank - 1] > 1) {
            int64_t parts[2] = {1, x->shape.dims[x->shape.rank - 1] - 1};
            graph_list(&g, 2, parts);
            graph_whole(&g, "axis", -1);
            n_out = 2;
        } else if (!graph_fit(&g, op, x)) {
            continue;
        }
        g.with[g.n_with].name = NULL;
        int32_t value = nm_net_add_nodes(g.net, name, op, g.in, g.n_in, g.with, out, n_out, err);
        if (value < 0) {
            nm_net_free(g.net);
            return NULL;
        }
        made++;
        for (uint32_t i = 0; i < n_out; i++) g.values[g.n++] = (uint32_t)value + i;
        if (op == NM_OP_CONV && graph_pick(&g, 2)) follow = graph_pick(&g, 2) ? NM_OP_BATCH_NORM : NM_OP_RELU;
        if (op == NM_OP_BATCH_NORM && graph_pick(&g, 2)) follow = NM_OP_HARD_SWISH;
        if (op == NM_OP_SIGMOID) follow = (const enum nm_net_op[]){NM_OPS, NM_OPS, NM_OPS}[graph_pick(&g, 3)];
    }
    for (uint32_t i = 2; i < g.n; i++) { /* what nobody reads is an output, or everything */
        bool read = false;
        for (uint32_t k = 0; k < g.net->n_nodes; k++)
            for (uint32_t j = 0; j < g.net->nodes[k].n_in; j++) read |= g.net->nodes[k].in[j] == g.values[i];
        if (all || !read) nm_net_add_output(g.net, g.values[i], err);
    }
    nm_net_add_note(g.net, "about", "a random network", err);
    if (g.net->n_outputs && !nm_net_prepare(g.net, err)) return g.net;
    nm_net_free(g.net);
    return NULL;
}

/* Random inputs, the same for the same seed. */
static inline void graph_feed(struct nm_net *net, uint64_t seed)
{
    for (uint32_t i = 0; i < net->n_inputs; i++)
        for (uint32_t j = 0; j < nm_net_width_in(net, i); j++) nm_net_input(net, i)[j] = (float)graph_both(&seed);
}
