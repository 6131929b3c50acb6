#include "nn/net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/dense.h"

struct nm_net *nm_net_new(void)
{
    struct nm_net *net = calloc(1, sizeof *net);
    if (!net) abort();
    return net;
}

void nm_net_free(struct nm_net *net)
{
    if (!net) return;
    nm_arena_free(&net->arena);
    free(net);
}

/* ---- shapes ---- */

/* Elements; -1 beyond `most`. A dimension of 0 is refused: nothing here computes with nothing. */
static int64_t count(const struct nm_net_shape *s, int64_t most)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++) {
        if (!s->dims[i] || n > most / s->dims[i]) return -1;
        n *= s->dims[i];
    }
    return n;
}

static const char *shape_text(const struct nm_net_shape *s, char to[64])
{
    int used = snprintf(to, 64, "[");
    for (uint32_t i = 0; i < s->rank; i++)
        used += snprintf(to + used, 64 - (size_t)used, "%s%u", i ? ", " : "", s->dims[i]);
    snprintf(to + used, 64 - (size_t)used, "]");
    return to;
}

static uint32_t last_dim(const struct nm_net_shape *s) { return s->rank ? s->dims[s->rank - 1] : 1; }

/* A vector: one row, whatever its rank. */
static bool is_row(const struct nm_net_value *v) { return v->n == last_dim(&v->shape); }

/* ---- values ---- */

static int32_t add_value(struct nm_net *net, const char *name, const struct nm_net_shape *shape, int64_t most,
                         struct nm_err *err)
{
    char text[64];
    if (shape->rank > NM_NET_DIMS)
        return nm_fail(err, "'%s' has %u dimensions, at most %d are known here", name, shape->rank, NM_NET_DIMS);
    int64_t n = count(shape, most);
    if (n < 0)
        return nm_fail(err, "'%s' has the shape %s, which is empty or larger than %lld elements", name,
                       shape_text(shape, text), (long long)most);
    if (net->n_values == NM_NET_VALUES)
        return nm_fail(err, "'%s' is one value too many: %d are possible", name, NM_NET_VALUES);
    if (nm_net_find(net, name) >= 0) return nm_fail(err, "two values are named '%s'", name);
    net->values[net->n_values] =
        (struct nm_net_value){.name = nm_take_text(&net->arena, name), .shape = *shape, .n = (uint32_t)n};
    return (int32_t)net->n_values++;
}

static int32_t add_computed(struct nm_net *net, const char *name, const struct nm_net_shape *shape, struct nm_err *err)
{
    int32_t i = add_value(net, name, shape, NM_NET_COMPUTED - (int64_t)net->computed, err);
    if (i < 0) return -1;
    net->computed += net->values[i].n;
    net->values[i].at = nm_take_n(&net->arena, float, nm_padded(net->values[i].n));
    return i;
}

int32_t nm_net_add_input(struct nm_net *net, const char *name, struct nm_net_shape shape, struct nm_err *err)
{
    if (net->n_inputs == NM_NET_INPUTS)
        return nm_fail(err, "'%s' is one input too many: %d are possible", name, NM_NET_INPUTS);
    int32_t i = add_computed(net, name, &shape, err);
    if (i >= 0) net->inputs[net->n_inputs++] = (uint32_t)i;
    return i;
}

int32_t nm_net_add_constant(struct nm_net *net, const char *name, struct nm_net_shape shape, const float *at,
                            struct nm_err *err)
{
    int32_t i = add_value(net, name, &shape, NM_NET_CONSTANT, err);
    if (i < 0) return -1;
    struct nm_net_value *v = &net->values[i];
    v->constant = true;
    v->at = nm_take_n(&net->arena, float, nm_padded(v->n));
    memcpy(v->at, at, v->n * sizeof *at);
    return i;
}

int32_t nm_net_add_whole(struct nm_net *net, const char *name, struct nm_net_shape shape, const int64_t *at,
                         struct nm_err *err)
{
    int32_t i = add_value(net, name, &shape, NM_NET_DIMS, err);
    if (i < 0) return -1;
    int64_t *to = nm_take_n(&net->arena, int64_t, net->values[i].n);
    memcpy(to, at, net->values[i].n * sizeof *at);
    net->values[i].constant = true;
    net->values[i].whole = to;
    return i;
}

int nm_net_add_output(struct nm_net *net, uint32_t value, struct nm_err *err)
{
    if (net->n_outputs == NM_NET_INPUTS) return nm_fail(err, "more than %d outputs", NM_NET_INPUTS);
    if (!net->values[value].at) return nm_fail(err, "the output '%s' is not made of floats", net->values[value].name);
    net->outputs[net->n_outputs++] = value;
    return 0;
}

int nm_net_add_note(struct nm_net *net, const char *key, const char *text, struct nm_err *err)
{
    if (net->n_notes == NM_NET_INPUTS) return nm_fail(err, "more than %d notes (metadata)", NM_NET_INPUTS);
    net->notes[net->n_notes++] = (struct nm_net_note){nm_take_text(&net->arena, key), nm_take_text(&net->arena, text)};
    return 0;
}

int32_t nm_net_find(const struct nm_net *net, const char *name)
{
    for (uint32_t i = 0; i < net->n_values; i++)
        if (!strcmp(net->values[i].name, name)) return (int32_t)i;
    return -1;
}

const char *nm_net_note(const struct nm_net *net, const char *key)
{
    for (uint32_t i = 0; i < net->n_notes; i++)
        if (!strcmp(net->notes[i].key, key)) return net->notes[i].text;
    return NULL;
}

/* ---- operators: what comes out, and how ----
 *
 * `shape` checks the inputs and says the output's shape; it returns NULL or what is wrong. `run` computes. */

struct op {
    const char *name;
    uint32_t least, most; /* inputs */
    const char *(*shape)(struct nm_net *net, const struct nm_net_node *node, struct nm_net_shape *out);
    void (*run)(struct nm_net *net, const struct nm_net_node *node);
};

static struct nm_net_value *input(struct nm_net *net, const struct nm_net_node *node, uint32_t i)
{
    return i < node->n_in && node->in[i] != NM_NET_NONE ? &net->values[node->in[i]] : NULL;
}
static struct nm_net_value *output(struct nm_net *net, const struct nm_net_node *node)
{
    return &net->values[node->out];
}

/* The matrix with padded rows, as it is or transposed, made once for all nodes that use it. */
static void pack(struct nm_net *net, struct nm_net_value *v, bool transposed)
{
    uint32_t rows = v->shape.dims[transposed ? 1 : 0], columns = v->shape.dims[transposed ? 0 : 1],
             wide = nm_padded(columns);
    if (v->packed[transposed]) return;
    float *to = nm_take_n(&net->arena, float, (size_t)rows *wide);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++)
            to[(size_t)r * wide + c] = v->at[transposed ? (size_t)c * rows + r : (size_t)r * columns + c];
    v->packed[transposed] = to;
}

static const char *shape_product(struct nm_net *net, const struct nm_net_node *node, struct nm_net_shape *out)
{
    struct nm_net_value *a = input(net, node, 0), *b = input(net, node, 1), *c = input(net, node, 2);
    bool turned = node->op == NM_OP_GEMM && node->with.trans_b;
    if (node->op == NM_OP_GEMM && node->with.trans_a) return "transA is not known here";
    if (node->op == NM_OP_GEMM && a->shape.rank != 2) return "its first input is no matrix";
    if (!b->constant || b->shape.rank != 2) return "its second input is no constant matrix";
    if (!is_row(a) || !a->shape.rank) return "its first input has more than one row";
    if (a->n != b->shape.dims[turned ? 1 : 0])
        return "the matrix has another number of rows than its input has elements";
    uint32_t n = b->shape.dims[turned ? 0 : 1];
    if (c && c->n != 1 && (c->n != n || !is_row(c)))
        return "what is added has another number of elements than the output";
    if (nm_padded(n) > NM_NET_CONSTANT / b->shape.dims[turned ? 1 : 0]) return "the matrix is too large";
    *out = a->shape;
    out->dims[out->rank - 1] = n;
    pack(net, b, turned);
    net->products += (uint64_t)a->n * n;
    return NULL;
}

static void run_product(struct nm_net *net, const struct nm_net_node *node)
{
    const struct nm_net_value *a = input(net, node, 0), *b = input(net, node, 1), *c = input(net, node, 2);
    struct nm_net_value *y = output(net, node);
    uint32_t wide = nm_padded(y->n);
    bool gemm = node->op == NM_OP_GEMM;
    memset(y->at, 0, wide * sizeof *y->at);
    nm_dense(&(struct nm_product){.m = 1,
                                  .k = a->n,
                                  .n = wide,
                                  .a = a->at,
                                  .a_col = 1,
                                  .b = b->packed[gemm && node->with.trans_b],
                                  .b_row = wide,
                                  .c = y->at,
                                  .c_row = wide});
    if (!gemm) return;
    float alpha = node->with.alpha, beta = node->with.beta;
    for (uint32_t i = 0; i < y->n; i++) y->at[i] = alpha * y->at[i] + (c ? beta * c->at[c->n == 1 ? 0 : i] : 0);
}

/* Two of the same shape apart from leading ones, or one of them a single number. */
static const char *shape_pair(struct nm_net *net, const struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_value *a = input(net, node, 0), *b = input(net, node, 1);
    const struct nm_net_shape *longer = a->shape.rank >= b->shape.rank ? &a->shape : &b->shape,
                              *other = longer == &a->shape ? &b->shape : &a->shape;
    *out = a->n == 1 && b->n > 1 ? b->shape : b->n == 1 && a->n > 1 ? a->shape : *longer;
    if (a->n == 1 || b->n == 1)
        return out->rank < longer->rank ? "its inputs have shapes that do not go together here" : NULL;
    uint32_t more = longer->rank - other->rank;
    for (uint32_t i = 0; i < longer->rank; i++)
        if (longer->dims[i] != (i < more ? 1 : other->dims[i - more]))
            return "its inputs have shapes that do not go together here";
    return NULL;
}

static void run_pair(struct nm_net *net, const struct nm_net_node *node)
{
    const struct nm_net_value *a = input(net, node, 0), *b = input(net, node, 1);
    struct nm_net_value *y = output(net, node);
    uint32_t one = a->n > 1, two = b->n > 1;
    for (uint32_t i = 0; i < y->n; i++) {
        float p = a->at[one * i], q = b->at[two * i];
        y->at[i] = node->op == NM_OP_ADD   ? p + q
                   : node->op == NM_OP_SUB ? p - q
                   : node->op == NM_OP_MUL ? p * q
                                           : p / q;
    }
}

static const char *shape_same(struct nm_net *net, const struct nm_net_node *node, struct nm_net_shape *out)
{
    *out = input(net, node, 0)->shape;
    return NULL;
}

static void copy(struct nm_net *net, const struct nm_net_node *node)
{
    memcpy(output(net, node)->at, input(net, node, 0)->at, output(net, node)->n * sizeof(float));
}

static void run_curve(struct nm_net *net, const struct nm_net_node *node)
{
    struct nm_net_value *y = output(net, node);
    copy(net, node);
    switch (node->op) {
    case NM_OP_ELU: nm_elu(y->at, nm_padded(y->n), node->with.alpha); break;
    case NM_OP_TANH: nm_tanh(y->at, nm_padded(y->n)); break;
    case NM_OP_SIGMOID: nm_sigmoid(y->at, nm_padded(y->n)); break;
    default:
        for (uint32_t i = 0; i < y->n; i++) y->at[i] = y->at[i] < 0 ? 0 : y->at[i];
    }
}

static const char *shape_clip(struct nm_net *net, const struct nm_net_node *node, struct nm_net_shape *out)
{
    for (uint32_t i = 1; i < 3; i++)
        if (input(net, node, i) && input(net, node, i)->n != 1) return "a bound is not a single number";
    return shape_same(net, node, out);
}

static void run_clip(struct nm_net *net, const struct nm_net_node *node)
{
    const struct nm_net_value *x = input(net, node, 0), *min = input(net, node, 1), *max = input(net, node, 2);
    struct nm_net_value *y = output(net, node);
    float low = min ? *min->at : node->with.low, high = max ? *max->at : node->with.high;
    for (uint32_t i = 0; i < y->n; i++) {
        float v = x->at[i] < low ? low : x->at[i];
        y->at[i] = v > high ? high : v; /* as ONNX: the upper bound wins */
    }
}

/* The axis as an index; -1 where there is none such. */
static int32_t axis_of(int64_t axis, uint32_t rank, uint32_t most)
{
    if (axis < 0) axis += rank;
    return axis < 0 || axis > most ? -1 : (int32_t)axis;
}

static const char *shape_concat(struct nm_net *net, const struct nm_net_node *node, struct nm_net_shape *out)
{
    *out = input(net, node, 0)->shape;
    if (!out->rank) return "it joins single numbers without a dimension";
    int32_t axis = axis_of(node->with.axis, out->rank, out->rank - 1);
    if (axis < 0) return "it has no such axis";
    for (uint32_t d = 0; d < (uint32_t)axis; d++)
        if (out->dims[d] != 1) return "only dimensions of 1 may stand before its axis here";
    for (uint32_t i = 1; i < node->n_in; i++) {
        const struct nm_net_shape *s = &input(net, node, i)->shape;
        if (s->rank != out->rank) return "its inputs have different ranks";
        for (uint32_t d = 0; d < s->rank; d++)
            if (d != (uint32_t)axis && s->dims[d] != out->dims[d]) return "its inputs differ in more than the axis";
        if (s->dims[axis] > NM_NET_CONSTANT - out->dims[axis]) return "its output is too large";
        out->dims[axis] += s->dims[axis];
    }
    return NULL;
}

static void run_concat(struct nm_net *net, const struct nm_net_node *node)
{
    float *to = output(net, node)->at;
    for (uint32_t i = 0; i < node->n_in; i++) {
        const struct nm_net_value *x = input(net, node, i);
        memcpy(to, x->at, x->n * sizeof *to);
        to += x->n;
    }
}

static const char *shape_reshape(struct nm_net *net, const struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_value *x = input(net, node, 0), *s = input(net, node, 1);
    if (!s->whole || s->shape.rank != 1) return "its shape is no constant list of integers";
    int32_t open = -1;
    int64_t known = 1;
    *out = (struct nm_net_shape){.rank = s->n};
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t d = s->whole[i];
        if (d == 0 && !node->with.allow_zero) {
            if (i >= x->shape.rank) return "its shape copies a dimension that its input does not have";
            d = x->shape.dims[i];
        }
        if (d == -1) {
            if (open >= 0) return "its shape leaves two dimensions open";
            open = (int32_t)i;
            continue;
        }
        if (d < 1 || d > NM_NET_CONSTANT || known > NM_NET_CONSTANT / d) return "its shape has an impossible dimension";
        out->dims[i] = (uint32_t)d;
        known *= d;
    }
    if (open >= 0) {
        if (x->n % known) return "its shape does not fit its input";
        out->dims[open] = (uint32_t)(x->n / known);
        known = x->n;
    }
    return known == x->n ? NULL : "its shape does not fit its input";
}

static const char *shape_flatten(struct nm_net *net, const struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_value *x = input(net, node, 0);
    int32_t axis = axis_of(node->with.axis, x->shape.rank, x->shape.rank);
    if (axis < 0) return "it has no such axis";
    *out = (struct nm_net_shape){2, {1, 1}};
    for (uint32_t i = 0; i < x->shape.rank; i++) out->dims[i >= (uint32_t)axis] *= x->shape.dims[i];
    return NULL;
}

static const struct op OPS[NM_OPS] = {
    [NM_OP_GEMM] = {"Gemm", 2, 3, shape_product, run_product},
    [NM_OP_MATMUL] = {"MatMul", 2, 2, shape_product, run_product},
    [NM_OP_ADD] = {"Add", 2, 2, shape_pair, run_pair},
    [NM_OP_SUB] = {"Sub", 2, 2, shape_pair, run_pair},
    [NM_OP_MUL] = {"Mul", 2, 2, shape_pair, run_pair},
    [NM_OP_DIV] = {"Div", 2, 2, shape_pair, run_pair},
    [NM_OP_ELU] = {"Elu", 1, 1, shape_same, run_curve},
    [NM_OP_RELU] = {"Relu", 1, 1, shape_same, run_curve},
    [NM_OP_TANH] = {"Tanh", 1, 1, shape_same, run_curve},
    [NM_OP_SIGMOID] = {"Sigmoid", 1, 1, shape_same, run_curve},
    [NM_OP_CLIP] = {"Clip", 1, 3, shape_clip, run_clip},
    [NM_OP_CONCAT] = {"Concat", 1, NM_NET_INPUTS, shape_concat, run_concat},
    [NM_OP_IDENTITY] = {"Identity", 1, 1, shape_same, copy},
    [NM_OP_RESHAPE] = {"Reshape", 2, 2, shape_reshape, copy},
    [NM_OP_FLATTEN] = {"Flatten", 1, 1, shape_flatten, copy},
};

const char *nm_net_op_name(enum nm_net_op op) { return OPS[op].name; }

int32_t nm_net_op_find(const char *name)
{
    for (int32_t i = 0; i < NM_OPS; i++)
        if (!strcmp(OPS[i].name, name)) return i;
    return -1;
}

/* Inputs that are there: all that must be, of floats apart from the shape of a Reshape. */
static const char *check_inputs(struct nm_net *net, const struct nm_net_node *node)
{
    const struct op *op = &OPS[node->op];
    if (node->n_in < op->least || node->n_in > op->most) return "it has a wrong number of inputs";
    for (uint32_t i = 0; i < node->n_in; i++) {
        const struct nm_net_value *v = input(net, node, i);
        bool shape = node->op == NM_OP_RESHAPE && i == 1;
        if (!v && (i < op->least || node->op == NM_OP_CONCAT)) return "an input that it needs is left out";
        if (v && !shape && !v->at) return "it computes with integers";
    }
    return NULL;
}

int32_t nm_net_add_node(struct nm_net *net, const char *name, enum nm_net_op op, const uint32_t *in, uint32_t n_in,
                        const struct nm_net_attributes *with, const char *out, struct nm_err *err)
{
    const struct nm_net_attributes usual = NM_NET_ATTRIBUTES;
    struct nm_net_shape shape = {0};
    if (net->n_nodes == NM_NET_NODES)
        return nm_fail(err, "node '%s' is one too many: %d are possible", name, NM_NET_NODES);
    if (n_in > NM_NET_INPUTS)
        return nm_fail(err, "node '%s' (%s): it has more than %d inputs", name, OPS[op].name, NM_NET_INPUTS);
    struct nm_net_node *node = &net->nodes[net->n_nodes];
    *node = (struct nm_net_node){.op = op, .with = with ? *with : usual, .n_in = n_in};
    memcpy(node->in, in, n_in * sizeof *in);
    const char *wrong = check_inputs(net, node);
    if (!wrong) wrong = OPS[op].shape(net, node, &shape);
    if (wrong) return nm_fail(err, "node '%s' (%s): %s", name, OPS[op].name, wrong);
    int32_t value = add_computed(net, out, &shape, err);
    if (value < 0) return nm_fail(err, "node '%s' (%s): its output is refused", name, OPS[op].name);
    node->name = nm_take_text(&net->arena, name);
    node->out = (uint32_t)value;
    net->n_nodes++;
    return value;
}

void nm_net_run(struct nm_net *net)
{
    for (uint32_t i = 0; i < net->n_nodes; i++) OPS[net->nodes[i].op].run(net, &net->nodes[i]);
}
