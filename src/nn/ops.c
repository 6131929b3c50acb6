#include "nn/ops.h"

#include <math.h>
#include <string.h>

#include "nn/dense.h"
#include "nn/image.h"

#define NO_FIT "its inputs have shapes that do not go together"

struct nm_net_value *nm_net_in(struct nm_net *net, const struct nm_net_node *node, uint32_t i)
{
    struct nm_net_value *v = i < node->n_in && node->in[i] != NM_NET_NONE ? &net->values[node->in[i]] : NULL;
    return v && v->n ? v : NULL;
}
static float *result(const struct nm_net *net, const struct nm_net_node *node) { return net->values[node->out].at; }

const struct nm_net_attribute *nm_attribute(const struct nm_net_node *node, const char *name)
{
    for (const struct nm_net_attribute *a = node->with; a && a->name; a++)
        if (!strcmp(a->name, name)) return a;
    return NULL;
}
int64_t nm_attribute_whole(const struct nm_net_node *node, const char *name, int64_t usual)
{
    const struct nm_net_attribute *a = nm_attribute(node, name);
    return a ? a->i : usual;
}
float nm_attribute_float(const struct nm_net_node *node, const char *name, float usual)
{
    const struct nm_net_attribute *a = nm_attribute(node, name);
    return a ? a->f : usual;
}
const char *nm_attribute_text(const struct nm_net_node *node, const char *name, const char *usual)
{
    const struct nm_net_attribute *a = nm_attribute(node, name);
    return a ? a->s : usual;
}

/* ---- shapes and lists ---- */

enum { MOST_LIST = 64 };
struct list {
    uint32_t n;
    int64_t at[MOST_LIST];
    bool given;
};

/* Integers from the attribute (old operator sets) or from input i (newer ones). NULL, or what is wrong. */
static const char *list_of(struct nm_net *net, const struct nm_net_node *node, const char *name, uint32_t i,
                           struct list *list)
{
    const struct nm_net_attribute *a = name ? nm_attribute(node, name) : NULL;
    const struct nm_net_value *v = nm_net_in(net, node, i);
    *list = (struct list){.given = a || v, .n = a ? a->n : v ? v->n : 0};
    if (list->n > MOST_LIST) return "a list of integers is too long";
    if (v && !a && (!v->constant || !v->whole)) return "an input that must be a constant list of integers is not";
    for (uint32_t k = 0; k < list->n; k++) list->at[k] = a ? a->whole[k] : (int64_t)v->at[k];
    return NULL;
}

static int64_t clamp_whole(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

/* The axis as an index; -1 where there is none such. */
static int32_t axis_of(int64_t axis, uint32_t rank, uint32_t most)
{
    if (axis < 0) axis += rank;
    return axis < 0 || axis > most ? -1 : (int32_t)axis;
}

static uint32_t dims_product(const struct nm_net_shape *s, uint32_t from, uint32_t to)
{
    uint32_t n = 1;
    for (uint32_t i = from; i < to; i++) n *= s->dims[i];
    return n;
}

static const char *shape_same(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    *out = nm_net_in(net, node, 0)->shape;
    return NULL;
}

static void run_copy(const struct nm_net *net, const struct nm_net_node *node)
{
    memcpy(result(net, node), nm_net_has(net, node, 0)->at, net->values[node->out].n * sizeof(float));
}

/* ---- products of matrices ---- */

/* The matrix with padded rows, as it is or transposed. */
static void pack(float *to, const float *from, uint32_t rows, uint32_t columns, bool transposed)
{
    uint32_t wide = nm_padded(columns);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++)
            to[(size_t)r * wide + c] = from[transposed ? (size_t)c * rows + r : (size_t)r * columns + c];
}

struct product {
    uint32_t m, k, n, batches;
    size_t a_row, a_col, a_step, b_step; /* floats from one row, column, matrix to the next; 0: the same one   */
    const float *packed;                 /* b, where it is constant                                            */
    float *b, *c;                        /* room for a packed b that is not, and for rows that are padded      */
    bool turned;
    uint32_t c_row, c_col; /* of what Gemm adds: floats from one row and one column to the next                */
};

static const char *shape_product(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    struct nm_net_value *a = nm_net_in(net, node, 0), *b = nm_net_in(net, node, 1), *c = nm_net_in(net, node, 2);
    bool gemm = node->op == NM_OP_GEMM, turned_a = gemm && nm_attribute_whole(node, "transA", 0);
    struct product *p = nm_take_n(&net->arena, struct product, 1);
    struct nm_net_shape sa = a->shape, sb = b->shape;
    p->turned = gemm && nm_attribute_whole(node, "transB", 0);
    if (gemm && (sa.rank != 2 || sb.rank != 2)) return "its inputs are no matrices";
    if (!sa.rank || sb.rank < 2) return "its second input is no matrix, or its first a single number";
    uint32_t rows_b = sb.dims[sb.rank - 2], columns_b = sb.dims[sb.rank - 1];
    p->k = turned_a ? sa.dims[0] : sa.dims[sa.rank - 1];
    p->m = turned_a ? sa.dims[1] : sa.rank > 1 ? sa.dims[sa.rank - 2] : 1;
    p->n = p->turned ? rows_b : columns_b;
    if (p->k != (p->turned ? columns_b : rows_b))
        return "the matrix has another number of rows than its input has columns";
    p->a_row = turned_a ? 1 : p->k, p->a_col = turned_a ? p->m : 1;
    p->a_step = (size_t)p->m * p->k;
    uint32_t matrices_b = b->n / (rows_b * columns_b);
    p->batches = a->n / (p->m * p->k);
    *out = sa;
    if (gemm) out->dims[0] = p->m;
    out->dims[sa.rank - 1] = p->n;
    if (matrices_b > 1) { /* a stack of matrices: the leading dimensions must be the same, or missing in a */
        if (sa.rank != sb.rank && p->batches > 1) return NO_FIT;
        for (uint32_t i = 0; i + 2 < sb.rank && p->batches > 1; i++)
            if (sa.dims[i] != sb.dims[i]) return NO_FIT;
        if (p->batches == 1) {
            if (sa.rank < 2) return NO_FIT;
            *out = sb, out->dims[sb.rank - 2] = p->m, out->dims[sb.rank - 1] = p->n;
            p->a_step = 0;
        }
        p->batches = matrices_b;
        p->b_step = (size_t)rows_b * columns_b;
    } else if (!turned_a) { /* one matrix for all: rows of all batches are one long batch */
        if (sb.rank > sa.rank && sb.rank > 2) return NO_FIT;
        p->m *= p->batches, p->batches = 1;
    }
    if (c) { /* to m x n */
        uint32_t wide = c->shape.rank ? c->shape.dims[c->shape.rank - 1] : 1,
                 high = c->shape.rank > 1 ? c->shape.dims[c->shape.rank - 2] : 1;
        if (c->shape.rank > 2 || (wide != 1 && wide != p->n) || (high != 1 && high != p->m))
            return "what is added has another number of elements than the output";
        p->c_col = wide > 1, p->c_row = high > 1 ? wide : 0;
    }
    uint64_t room = (uint64_t)p->k * nm_padded(p->n), rows = (uint64_t)p->m * nm_padded(p->n);
    if (room > NM_NET_CONSTANT || rows > NM_NET_CONSTANT || p->batches > NM_NET_CONSTANT)
        return "the matrix is too large";
    if (b->constant && !p->b_step) {
        if (!b->packed[p->turned]) {
            float *to = nm_take_n(&net->arena, float, room);
            pack(to, b->at, p->k, p->n, p->turned);
            b->packed[p->turned] = to;
        }
        p->packed = b->packed[p->turned];
    } else {
        p->b = nm_take_n(&net->arena, float, room);
    }
    if (p->m > 1 || p->batches > 1) p->c = nm_take_n(&net->arena, float, rows);
    net->products += (uint64_t)p->batches * p->m * p->k * p->n;
    net->computed += room + rows;
    node->work = p;
    return NULL;
}

static void run_product(const struct nm_net *net, const struct nm_net_node *node)
{
    const struct nm_net_value *a = nm_net_has(net, node, 0), *b = nm_net_has(net, node, 1),
                              *c = nm_net_has(net, node, 2);
    const struct product *p = node->work;
    bool gemm = node->op == NM_OP_GEMM;
    float alpha = gemm ? nm_attribute_float(node, "alpha", 1) : 1,
          beta = gemm ? nm_attribute_float(node, "beta", 1) : 1;
    uint32_t wide = nm_padded(p->n);
    for (uint32_t batch = 0; batch < p->batches; batch++) {
        float *y = result(net, node) + (size_t)batch * p->m * p->n, *to = p->c ? p->c : y;
        if (!p->packed) pack(p->b, b->at + batch * p->b_step, p->k, p->n, p->turned);
        memset(to, 0, (size_t)p->m * wide * sizeof *to);
        nm_dense(&(struct nm_product){.m = p->m,
                                      .k = p->k,
                                      .n = wide,
                                      .a = a->at + batch * p->a_step,
                                      .a_row = p->a_row,
                                      .a_col = p->a_col,
                                      .b = p->packed ? p->packed : p->b,
                                      .b_row = wide,
                                      .c = to,
                                      .c_row = wide});
        for (uint32_t r = 0; r < p->m && (p->c || gemm); r++)
            for (uint32_t i = 0; i < p->n; i++)
                y[(size_t)r * p->n + i] =
                    gemm ? alpha * to[(size_t)r * wide + i] + (c ? beta * c->at[r * p->c_row + i * p->c_col] : 0)
                         : to[(size_t)r * wide + i];
    }
}

/* ---- two numbers to one, with ONNX's broadcasting ---- */

/* Floats from one element to the next along each dimension of `to`, 0 where v has only one. False: it does not fit. */
static bool spread(const struct nm_net_shape *v, const struct nm_net_shape *to, size_t step[NM_NET_DIMS])
{
    size_t floats = 1;
    memset(step, 0, NM_NET_DIMS * sizeof *step);
    if (v->rank > to->rank) return false;
    for (uint32_t i = v->rank; i-- > 0;) {
        uint32_t d = i + to->rank - v->rank;
        if (v->dims[i] != 1 && v->dims[i] != to->dims[d]) return false;
        step[d] = v->dims[i] == 1 ? 0 : floats;
        floats *= v->dims[i];
    }
    return true;
}

/* The shape that all of the first n inputs spread to. */
static const char *shape_spread(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    *out = (struct nm_net_shape){0};
    for (uint32_t i = 0; i < node->n_in; i++) {
        const struct nm_net_shape *s = &nm_net_in(net, node, i)->shape;
        if (s->rank > out->rank) {
            uint32_t more = s->rank - out->rank;
            memmove(out->dims + more, out->dims, out->rank * sizeof *out->dims);
            for (uint32_t d = 0; d < more; d++) out->dims[d] = 1;
            out->rank = s->rank;
        }
        for (uint32_t d = 0; d < s->rank; d++) {
            uint32_t *to = &out->dims[d + out->rank - s->rank];
            if (*to == 1) *to = s->dims[d];
            if (s->dims[d] != *to && s->dims[d] != 1) return NO_FIT;
        }
    }
    if (node->op == NM_OP_PRELU && memcmp(out, &nm_net_in(net, node, 0)->shape, sizeof *out)) return NO_FIT;
    return NULL;
}

float nm_pair(enum nm_net_op op, float a, float b)
{
    switch (op) {
    case NM_OP_ADD: return a + b;
    case NM_OP_SUB: return a - b;
    case NM_OP_MUL: return a * b;
    case NM_OP_DIV: return a / b;
    case NM_OP_MIN: return a < b ? a : b;
    case NM_OP_MAX: return a > b ? a : b;
    case NM_OP_PRELU: return a < 0 ? a * b : a;
    case NM_OP_EQUAL: return a == b;
    default: return powf(a, b);
    }
}

/* Rows of the last dimension; each has its place in every input. */
static void run_spread(const struct nm_net *net, const struct nm_net_node *node)
{
    const struct nm_net_value *in[3], *y = &net->values[node->out];
    size_t step[3][NM_NET_DIMS], at[3];
    uint32_t n_in = node->n_in < 3 ? node->n_in : 3, rank = y->shape.rank, last = rank ? rank - 1 : 0,
             wide = rank ? y->shape.dims[last] : 1;
    bool whole = nm_net_has(net, node, 0)->whole;
    for (uint32_t i = 0; i < n_in; i++) {
        in[i] = nm_net_has(net, node, i);
        spread(&in[i]->shape, &y->shape, step[i]);
    }
    for (uint32_t row = 0; row < y->n / wide; row++) {
        for (uint32_t i = 0; i < n_in; i++) {
            uint32_t rest = row;
            at[i] = 0;
            for (uint32_t d = last; d-- > 0; rest /= y->shape.dims[d]) at[i] += rest % y->shape.dims[d] * step[i][d];
        }
        float *to = y->at + (size_t)row * wide;
        const float *a = in[0]->at + at[0], *b = n_in > 1 ? in[1]->at + at[1] : NULL;
        size_t p = step[0][last], q = n_in > 1 ? step[1][last] : 0;
        switch (node->op) {
        case NM_OP_ADD:
            for (uint32_t i = 0; i < wide; i++) to[i] = a[p * i] + b[q * i];
            break;
        case NM_OP_MUL:
            for (uint32_t i = 0; i < wide; i++) to[i] = a[p * i] * b[q * i];
            break;
        case NM_OP_WHERE:
            for (uint32_t i = 0; i < wide; i++) to[i] = a[p * i] != 0 ? b[q * i] : in[2]->at[at[2] + step[2][last] * i];
            break;
        default:
            for (uint32_t i = 0; i < wide; i++) {
                float v = b ? nm_pair(node->op, a[p * i], b[q * i]) : a[p * i];
                to[i] = whole && node->op == NM_OP_DIV ? truncf(v) : v;
            }
        }
    }
}

/* ---- one number to one ---- */

bool nm_curve_of(const struct nm_net *net, const struct nm_net_node *node, struct nm_curve *curve)
{
    static const struct { /* the usual alpha, and beta or gamma */
        float a, b;
    } usual[NM_OPS] = {[NM_OP_ELU] = {1, 0},
                       [NM_OP_SELU] = {1.67326319217681884765625f, 1.05070102214813232421875f},
                       [NM_OP_LEAKY_RELU] = {0.01f, 0},
                       [NM_OP_HARD_SIGMOID] = {0.2f, 0.5f}};
    if (node->op < NM_OP_ELU || node->op > NM_OP_CLIP) return false;
    *curve = (struct nm_curve){node->op, nm_attribute_float(node, "alpha", usual[node->op].a),
                               nm_attribute_float(node, node->op == NM_OP_SELU ? "gamma" : "beta", usual[node->op].b)};
    if (node->op == NM_OP_CLIP) {
        const struct nm_net_value *min = nm_net_has(net, node, 1), *max = nm_net_has(net, node, 2);
        curve->a = min ? *min->at : nm_attribute_float(node, "min", -INFINITY);
        curve->b = max ? *max->at : nm_attribute_float(node, "max", INFINITY);
    }
    return true;
}

void nm_curve(const struct nm_curve *curve, float *x, size_t n)
{
    const float a = curve->a, b = curve->b;
    size_t all = (n + NM_LANES - 1) / NM_LANES * NM_LANES;
    switch (curve->op) {
    case NM_OP_ELU: nm_elu(x, all, a); break;
    case NM_OP_SELU:
        nm_elu(x, all, a);
        for (size_t i = 0; i < n; i++) x[i] *= b;
        break;
    case NM_OP_TANH: nm_tanh(x, all); break;
    case NM_OP_SIGMOID: nm_sigmoid(x, all); break;
    case NM_OP_RELU:
        for (size_t i = 0; i < n; i++) x[i] = x[i] < 0 ? 0 : x[i];
        break;
    case NM_OP_LEAKY_RELU:
        for (size_t i = 0; i < n; i++) x[i] = x[i] < 0 ? a * x[i] : x[i];
        break;
    case NM_OP_HARD_SIGMOID:
    case NM_OP_HARD_SWISH: {
        bool swish = curve->op == NM_OP_HARD_SWISH;
        float slope = swish ? 1.0f / 6 : a, middle = swish ? 0.5f : b;
        for (size_t i = 0; i < n; i++) {
            float s = slope * x[i] + middle;
            s = s < 0 ? 0 : s > 1 ? 1 : s;
            x[i] = swish ? x[i] * s : s;
        }
        break;
    }
    case NM_OP_CLIP:
        for (size_t i = 0; i < n; i++) {
            float v = x[i] < a ? a : x[i];
            x[i] = v > b ? b : v; /* as ONNX: the upper bound wins */
        }
        break;
    case NM_OP_SOFTPLUS:
        for (size_t i = 0; i < n; i++) x[i] = x[i] > 20 ? x[i] : log1pf(expf(x[i]));
        break;
    case NM_OP_EXP:
        for (size_t i = 0; i < n; i++) x[i] = expf(x[i]);
        break;
    case NM_OP_LOG:
        for (size_t i = 0; i < n; i++) x[i] = logf(x[i]);
        break;
    case NM_OP_SQRT:
        for (size_t i = 0; i < n; i++) x[i] = sqrtf(x[i]);
        break;
    case NM_OP_ABS:
        for (size_t i = 0; i < n; i++) x[i] = fabsf(x[i]);
        break;
    case NM_OP_NEG:
        for (size_t i = 0; i < n; i++) x[i] = -x[i];
        break;
    case NM_OP_FLOOR:
        for (size_t i = 0; i < n; i++) x[i] = floorf(x[i]);
        break;
    default:
        for (size_t i = 0; i < n; i++) x[i] = ceilf(x[i]);
    }
}

static void run_curve(const struct nm_net *net, const struct nm_net_node *node)
{
    struct nm_curve curve;
    run_copy(net, node);
    nm_curve_of(net, node, &curve);
    nm_curve(&curve, result(net, node), net->values[node->out].n);
}

static const char *shape_clip(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    for (uint32_t i = 1; i < 3; i++) {
        const struct nm_net_value *v = nm_net_in(net, node, i);
        if (v && v->n != 1) return "a bound is not a single number";
        if (v && !v->constant) return "a bound is not constant";
    }
    return shape_same(net, node, out);
}

/* ---- the same numbers in another shape ---- */

static const char *shape_reshape(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_value *x = nm_net_in(net, node, 0);
    bool allow_zero = nm_attribute_whole(node, "allowzero", 0);
    struct list s;
    const char *wrong = list_of(net, node, NULL, 1, &s);
    if (wrong) return wrong;
    if (s.n > NM_NET_DIMS) return "its shape has too many dimensions";
    int32_t open = -1;
    int64_t known = 1;
    *out = (struct nm_net_shape){.rank = s.n};
    for (uint32_t i = 0; i < s.n; i++) {
        int64_t d = s.at[i];
        if (d == 0 && !allow_zero) {
            if (i >= x->shape.rank) return "its shape copies a dimension that its input does not have";
            d = x->shape.dims[i];
        }
        if (d == -1) {
            if (open >= 0) return "its shape leaves two dimensions open";
            open = (int32_t)i;
            continue;
        }
        if (d < 1 || d > NM_NET_COMPUTED || known > NM_NET_COMPUTED / d) return "its shape has an impossible dimension";
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

static const char *shape_flatten(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_value *x = nm_net_in(net, node, 0);
    int32_t axis = axis_of(nm_attribute_whole(node, "axis", 1), x->shape.rank, x->shape.rank);
    if (axis < 0) return "it has no such axis";
    *out = (struct nm_net_shape){
        2, {dims_product(&x->shape, 0, (uint32_t)axis), dims_product(&x->shape, (uint32_t)axis, x->shape.rank)}};
    return NULL;
}

/* A bit for each axis of the list. */
static const char *axes_of(const struct list *axes, uint32_t rank, uint32_t *bits)
{
    *bits = 0;
    for (uint32_t i = 0; i < axes->n; i++) {
        int32_t axis = rank ? axis_of(axes->at[i], rank, rank - 1) : -1;
        if (axis < 0) return "it has no such axis";
        if (*bits >> axis & 1) return "it names an axis twice";
        *bits |= 1u << axis;
    }
    return NULL;
}

static const char *shape_squeeze(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    struct list axes;
    uint32_t bits;
    bool more = node->op == NM_OP_UNSQUEEZE;
    const char *wrong = list_of(net, node, "axes", 1, &axes);
    if (wrong) return wrong;
    if (more && (!axes.given || x->rank + axes.n > NM_NET_DIMS)) return "it has no axes, or too many dimensions";
    uint32_t rank = more ? x->rank + axes.n : x->rank;
    if ((wrong = axes_of(&axes, rank, &bits))) return wrong;
    *out = (struct nm_net_shape){0};
    for (uint32_t d = 0, from = 0; d < rank; d++) {
        bool named = bits >> d & 1;
        if (more) {
            out->dims[out->rank++] = named ? 1 : x->dims[from++];
        } else {
            if (named && x->dims[d] != 1) return "it removes a dimension that is not 1";
            if (!named && (axes.given || x->dims[d] != 1)) out->dims[out->rank++] = x->dims[d];
        }
    }
    return NULL;
}

static const char *shape_cast(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    int64_t to = nm_attribute_whole(node, "to", 0);
    const struct nm_net_value *x = nm_net_in(net, node, 0);
    if (!x->constant && (to == NM_ELEMENT_INT32 || to == NM_ELEMENT_INT64 || to == NM_ELEMENT_BOOL))
        return "it makes integers of what is computed";
    if (to != NM_ELEMENT_FLOAT && to != NM_ELEMENT_DOUBLE && to != NM_ELEMENT_HALF && to != NM_ELEMENT_INT32 &&
        to != NM_ELEMENT_INT64 && to != NM_ELEMENT_BOOL)
        return "it casts to a type that is not known here";
    return shape_same(net, node, out);
}

static void run_cast(const struct nm_net *net, const struct nm_net_node *node)
{
    struct nm_net_value *y = (struct nm_net_value *)&net->values[node->out];
    int64_t to = nm_attribute_whole(node, "to", 0);
    run_copy(net, node);
    y->whole = to == NM_ELEMENT_INT32 || to == NM_ELEMENT_INT64 || to == NM_ELEMENT_BOOL;
    for (uint32_t i = 0; y->whole && i < y->n; i++) y->at[i] = to == NM_ELEMENT_BOOL ? y->at[i] != 0 : truncf(y->at[i]);
}

static const char *shape_shape(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    int64_t start = nm_attribute_whole(node, "start", 0), end = nm_attribute_whole(node, "end", x->rank);
    start = clamp_whole(start < 0 ? start + x->rank : start, 0, x->rank);
    end = clamp_whole(end < 0 ? end + x->rank : end, 0, x->rank);
    if (start >= end) return "it asks for no dimension";
    *out = (struct nm_net_shape){1, {(uint32_t)(end - start)}};
    int64_t *from = nm_take_n(&net->arena, int64_t, 1);
    *from = start;
    node->work = from;
    return NULL;
}

static void run_shape(const struct nm_net *net, const struct nm_net_node *node)
{
    struct nm_net_value *y = (struct nm_net_value *)&net->values[node->out];
    const struct nm_net_shape *x = &nm_net_has(net, node, 0)->shape;
    y->whole = true;
    for (uint32_t i = 0; i < y->n; i++) y->at[i] = (float)x->dims[*(const int64_t *)node->work + i];
}

/* A shape as a list in an input. */
static const char *dims_of(struct nm_net *net, const struct nm_net_node *node, uint32_t i, struct nm_net_shape *out)
{
    struct list s;
    const char *wrong = list_of(net, node, NULL, i, &s);
    if (wrong) return wrong;
    if (s.n > NM_NET_DIMS) return "its shape has too many dimensions";
    *out = (struct nm_net_shape){.rank = s.n};
    for (uint32_t d = 0; d < s.n; d++) {
        if (s.at[d] < 1 || s.at[d] > NM_NET_COMPUTED) return "its shape has an impossible dimension";
        out->dims[d] = (uint32_t)s.at[d];
    }
    return NULL;
}

static const char *shape_filled(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    return dims_of(net, node, 0, out);
}

static void run_filled(const struct nm_net *net, const struct nm_net_node *node)
{
    struct nm_net_value *y = (struct nm_net_value *)&net->values[node->out];
    const struct nm_net_attribute *a = nm_attribute(node, "value");
    y->whole = a && a->i;
    for (uint32_t i = 0; i < y->n; i++) y->at[i] = a ? a->f : 0;
}

/* ---- numbers that move: each dimension of the output has a table of places in the input ---- */

enum { FILL = -(1 << 28) }; /* in a table: nothing is there; sums with it stay negative */

struct pick {
    uint32_t rank, dims[NM_NET_DIMS];
    int32_t *places[NM_NET_DIMS];
    float fill;
    bool straight; /* places of the last dimension follow one another */
};

/* Tables that pick everything; `size` of them: of what comes out. NULL: too large. */
static struct pick *pick_new(struct nm_net *net, uint32_t n, const struct nm_net_shape *out)
{
    struct pick *picks = nm_take_n(&net->arena, struct pick, n);
    for (uint32_t k = 0; k < n; k++) {
        picks[k].rank = out[k].rank;
        for (uint32_t d = 0; d < out[k].rank; d++) {
            picks[k].dims[d] = out[k].dims[d];
            if (out[k].dims[d] > NM_NET_CONSTANT || (net->computed += out[k].dims[d]) > NM_NET_COMPUTED) return NULL;
            picks[k].places[d] = nm_take_n(&net->arena, int32_t, out[k].dims[d]);
        }
    }
    return picks;
}
#define TOO_LARGE "its output is too large"

static const char *pick_end(struct nm_net_node *node, struct pick *picks, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        struct pick *p = &picks[k];
        p->straight = p->rank && p->places[p->rank - 1][0] >= 0;
        for (uint32_t i = 1; p->straight && i < p->dims[p->rank - 1]; i++)
            p->straight = p->places[p->rank - 1][i] == p->places[p->rank - 1][0] + (int32_t)i;
    }
    node->work = picks;
    return NULL;
}

static float *pick_run(const struct pick *p, const float *from, float *to, uint32_t d, int32_t at)
{
    if (d == p->rank) return *to = at < 0 ? p->fill : from[at], to + 1;
    const int32_t *places = p->places[d];
    uint32_t n = p->dims[d];
    if (d + 1 < p->rank) {
        for (uint32_t i = 0; i < n; i++) to = pick_run(p, from, to, d + 1, at + places[i]);
        return to;
    }
    if (p->straight && at >= 0)
        memcpy(to, from + at + places[0], n * sizeof *to);
    else
        for (uint32_t i = 0; i < n; i++) to[i] = at + places[i] < 0 ? p->fill : from[at + places[i]];
    return to + n;
}

static void run_pick(const struct nm_net *net, const struct nm_net_node *node)
{
    const struct pick *p = node->work;
    for (uint32_t k = 0; k < node->n_out; k++)
        pick_run(&p[k], nm_net_has(net, node, 0)->at, net->values[node->out + k].at, 0, 0);
}

/* Floats from one element to the next along each dimension. */
static void steps_of(const struct nm_net_shape *s, int32_t step[NM_NET_DIMS])
{
    int32_t floats = 1;
    for (uint32_t d = s->rank; d-- > 0; floats *= (int32_t)s->dims[d]) step[d] = floats;
}

static const char *shape_transpose(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    const struct nm_net_attribute *perm = nm_attribute(node, "perm");
    int32_t step[NM_NET_DIMS];
    uint32_t from[NM_NET_DIMS], seen = 0;
    if (perm && perm->n != x->rank) return "it has another number of axes than its input";
    out->rank = x->rank;
    for (uint32_t d = 0; d < x->rank; d++) {
        int64_t axis = perm ? perm->whole[d] : x->rank - 1 - d;
        if (axis < 0 || axis >= x->rank || seen >> axis & 1) return "it has no such axis, or names one twice";
        seen |= 1u << axis;
        from[d] = (uint32_t)axis;
        out->dims[d] = x->dims[axis];
    }
    struct pick *p = pick_new(net, 1, out);
    if (!p) return TOO_LARGE;
    steps_of(x, step);
    for (uint32_t d = 0; d < x->rank; d++)
        for (uint32_t i = 0; i < p->dims[d]; i++) p->places[d][i] = (int32_t)i * step[from[d]];
    return pick_end(node, p, 1);
}

static const char *shape_slice(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    struct list starts, ends, axes, steps;
    int32_t step[NM_NET_DIMS];
    int64_t first[NM_NET_DIMS] = {0}, by[NM_NET_DIMS];
    const char *wrong = NULL;
    if ((wrong = list_of(net, node, "starts", 1, &starts)) || (wrong = list_of(net, node, "ends", 2, &ends)) ||
        (wrong = list_of(net, node, "axes", 3, &axes)) || (wrong = list_of(net, node, NULL, 4, &steps)))
        return wrong;
    if (!starts.given || starts.n != ends.n || (axes.given && axes.n != starts.n) ||
        (steps.given && steps.n != starts.n))
        return "its lists are missing or have different lengths";
    *out = *x;
    for (uint32_t d = 0; d < x->rank; d++) by[d] = 1;
    for (uint32_t i = 0; i < starts.n; i++) {
        int32_t d = x->rank ? axis_of(axes.given ? axes.at[i] : i, x->rank, x->rank - 1) : -1;
        if (d < 0) return "it has no such axis";
        int64_t size = x->dims[d], s = starts.at[i], e = ends.at[i], k = steps.given ? steps.at[i] : 1;
        if (!k || k < -NM_NET_WHOLE || k > NM_NET_WHOLE) return "its step is 0 or too large";
        s = clamp_whole(s < 0 ? s + size : s, 0, k > 0 ? size : size - 1);
        e = clamp_whole(e < 0 ? e + size : e, k > 0 ? 0 : -1, size);
        int64_t n = k > 0 ? (e - s + k - 1) / k : (s - e - k - 1) / -k;
        if (n < 1) return "it leaves nothing";
        out->dims[d] = (uint32_t)n, first[d] = s, by[d] = k;
    }
    struct pick *p = pick_new(net, 1, out);
    if (!p) return TOO_LARGE;
    steps_of(x, step);
    for (uint32_t d = 0; d < x->rank; d++)
        for (uint32_t i = 0; i < p->dims[d]; i++) p->places[d][i] = (int32_t)(first[d] + i * by[d]) * step[d];
    return pick_end(node, p, 1);
}

static const char *shape_split(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    struct list sizes;
    int32_t step[NM_NET_DIMS], axis = x->rank ? axis_of(nm_attribute_whole(node, "axis", 0), x->rank, x->rank - 1) : -1;
    const char *wrong = list_of(net, node, "split", 1, &sizes);
    if (wrong) return wrong;
    if (axis < 0) return "it has no such axis";
    uint32_t size = x->dims[axis], each = (size + node->n_out - 1) / node->n_out;
    if (sizes.given && sizes.n != node->n_out) return "it has another number of sizes than of outputs";
    if (!sizes.given && node->n_out > size) return "it has more outputs than there are elements";
    int64_t from = 0;
    for (uint32_t k = 0; k < node->n_out; k++) {
        int64_t n = sizes.given ? sizes.at[k] : k + 1 < node->n_out ? each : size - from;
        if (n < 1 || n > size - from) return "its sizes do not fit its input";
        out[k] = *x;
        out[k].dims[axis] = (uint32_t)n;
        from += n;
    }
    if (from != size) return "its sizes do not fit its input";
    struct pick *p = pick_new(net, node->n_out, out);
    if (!p) return TOO_LARGE;
    steps_of(x, step);
    from = 0;
    for (uint32_t k = 0; k < node->n_out; from += out[k++].dims[axis])
        for (uint32_t d = 0; d < x->rank; d++)
            for (uint32_t i = 0; i < p[k].dims[d]; i++)
                p[k].places[d][i] = (int32_t)(i + (d == (uint32_t)axis ? from : 0)) * step[d];
    return pick_end(node, p, node->n_out);
}

static const char *shape_gather(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    const struct nm_net_value *which = nm_net_in(net, node, 1);
    int32_t step[NM_NET_DIMS], axis = x->rank ? axis_of(nm_attribute_whole(node, "axis", 0), x->rank, x->rank - 1) : -1;
    if (axis < 0) return "it has no such axis";
    if (!which->constant || !which->whole) return "its indices are not constant integers";
    if (x->rank + which->shape.rank - 1 > NM_NET_DIMS) return "its output has too many dimensions";
    struct nm_net_shape flat = *x; /* with all indices as one dimension */
    flat.dims[axis] = which->n;
    struct pick *p = pick_new(net, 1, &flat);
    if (!p) return TOO_LARGE;
    steps_of(x, step);
    *out = (struct nm_net_shape){0};
    for (uint32_t d = 0; d < x->rank; d++) {
        for (uint32_t i = 0; i < p->dims[d]; i++) {
            float at = d == (uint32_t)axis ? which->at[i] : (float)i;
            if (at < 0) at += (float)x->dims[d];
            if (!(at >= 0) || at >= (float)x->dims[d]) return "an index is beyond its input";
            p->places[d][i] = (d == (uint32_t)axis ? (int32_t)at : (int32_t)i) * step[d];
        }
        if (d == (uint32_t)axis)
            for (uint32_t i = 0; i < which->shape.rank; i++) out->dims[out->rank++] = which->shape.dims[i];
        else
            out->dims[out->rank++] = x->dims[d];
    }
    return pick_end(node, p, 1);
}

static const char *shape_pad(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    const struct nm_net_value *fill = nm_net_in(net, node, 2);
    const char *mode = nm_attribute_text(node, "mode", "constant"), *wrong;
    struct list pads, axes;
    int32_t step[NM_NET_DIMS];
    int64_t before[NM_NET_DIMS] = {0};
    if ((wrong = list_of(net, node, "pads", 1, &pads)) || (wrong = list_of(net, node, NULL, 3, &axes))) return wrong;
    uint32_t n = axes.given ? axes.n : x->rank;
    bool reflect = !strcmp(mode, "reflect"), edge = !strcmp(mode, "edge");
    if (pads.n != 2 * n) return "it has another number of pads than of dimensions";
    if (fill && (!fill->constant || fill->n != 1)) return "its value is not a single constant";
    if (!reflect && !edge && strcmp(mode, "constant")) return "its mode is not known here";
    *out = *x;
    for (uint32_t i = 0; i < n; i++) {
        int32_t d = x->rank ? axis_of(axes.given ? axes.at[i] : i, x->rank, x->rank - 1) : -1;
        if (d < 0) return "it has no such axis";
        int64_t size = x->dims[d], low = pads.at[i], high = pads.at[i + n];
        if (low < -size || high < -size || low > NM_NET_WHOLE || high > NM_NET_WHOLE || size + low + high < 1)
            return "its pads are too large, or leave nothing";
        if (reflect && (low >= size || high >= size)) return "it reflects more than there is";
        out->dims[d] = (uint32_t)(size + low + high);
        before[d] = low;
    }
    struct pick *p = pick_new(net, 1, out);
    if (!p) return TOO_LARGE;
    steps_of(x, step);
    p->fill = fill ? *fill->at : nm_attribute_float(node, "value", 0);
    for (uint32_t d = 0; d < x->rank; d++)
        for (uint32_t i = 0; i < p->dims[d]; i++) {
            int64_t at = i - before[d], last = x->dims[d] - 1;
            if (reflect) at = at < 0 ? -at : at > last ? 2 * last - at : at;
            if (edge) at = clamp_whole(at, 0, last);
            p->places[d][i] = at < 0 || at > last ? FILL : (int32_t)at * step[d];
        }
    return pick_end(node, p, 1);
}

static const char *shape_expand(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    struct nm_net_shape to;
    size_t step[NM_NET_DIMS];
    const char *wrong = dims_of(net, node, 1, &to);
    if (wrong) return wrong;
    for (; to.rank < x->rank; to.rank++) { /* missing dimensions stand in front */
        memmove(to.dims + 1, to.dims, to.rank * sizeof *to.dims);
        to.dims[0] = 1;
    }
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t *d = &to.dims[to.rank - x->rank + i];
        if (*d == 1) *d = x->dims[i];
    }
    *out = to;
    if (!spread(x, out, step)) return NO_FIT;
    struct pick *p = pick_new(net, 1, out);
    if (!p) return TOO_LARGE;
    for (uint32_t d = 0; d < out->rank; d++)
        for (uint32_t i = 0; i < p->dims[d]; i++) p->places[d][i] = (int32_t)(i * step[d]);
    return pick_end(node, p, 1);
}

/* [N, C, H, W] as [N, (b, b,) C', H, W (, b, b)], picked in another order. */
static const char *shape_depth(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    int64_t size = nm_attribute_whole(node, "blocksize", 0);
    bool to_space = node->op == NM_OP_DEPTH_TO_SPACE;
    const char *mode = nm_attribute_text(node, "mode", "DCR");
    if (x->rank != 4 || size < 1 || size > 64) return "its input is no image, or its block size is impossible";
    uint32_t b = (uint32_t)size, n = x->dims[0], c = x->dims[1], h = x->dims[2], w = x->dims[3];
    bool crd = !strcmp(mode, "CRD");
    if (!crd && strcmp(mode, "DCR")) return "its mode is not known here";
    if (to_space ? c % (b * b) : h % b || w % b) return "its input does not divide into blocks";
    struct nm_net_shape wide = to_space ? (struct nm_net_shape){6, {n, c / (b * b), h, b, w, b}}
                                        : (struct nm_net_shape){6, {n, b, b, c, h / b, w / b}};
    *out = to_space ? (struct nm_net_shape){4, {n, c / (b * b), h * b, w * b}}
                    : (struct nm_net_shape){4, {n, c * b * b, h / b, w / b}};
    struct pick *p = pick_new(net, 1, &wide);
    if (!p) return TOO_LARGE;
    int32_t plane = (int32_t)(h * w), image = plane * (int32_t)c, bi = (int32_t)b, wi = (int32_t)w,
            deep = (int32_t)wide.dims[1] * plane;
    const int32_t step_space[6] = {image, crd ? bi * bi * plane : plane,
                                   wi,    crd ? bi * plane : bi * deep,
                                   1,     crd ? plane : deep},
                  step_depth[6] = {image, wi, 1, plane, bi * wi, bi};
    for (uint32_t d = 0; d < 6; d++)
        for (uint32_t i = 0; i < p->dims[d]; i++)
            p->places[d][i] = (int32_t)i * (to_space ? step_space : step_depth)[d];
    return pick_end(node, p, 1);
}

static const char *shape_concat(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    *out = nm_net_in(net, node, 0)->shape;
    if (!out->rank) return "it joins single numbers without a dimension";
    int32_t axis = axis_of(nm_attribute_whole(node, "axis", 1), out->rank, out->rank - 1);
    if (axis < 0) return "it has no such axis";
    for (uint32_t i = 1; i < node->n_in; i++) {
        const struct nm_net_shape *s = &nm_net_in(net, node, i)->shape;
        if (s->rank != out->rank) return "its inputs have different ranks";
        for (uint32_t d = 0; d < s->rank; d++)
            if (d != (uint32_t)axis && s->dims[d] != out->dims[d]) return "its inputs differ in more than the axis";
        if (s->dims[axis] > NM_NET_COMPUTED - out->dims[axis]) return TOO_LARGE;
        out->dims[axis] += s->dims[axis];
    }
    return NULL;
}

static void run_concat(const struct nm_net *net, const struct nm_net_node *node)
{
    const struct nm_net_value *y = &net->values[node->out];
    uint32_t axis = (uint32_t)axis_of(nm_attribute_whole(node, "axis", 1), y->shape.rank, y->shape.rank - 1);
    uint32_t outer = dims_product(&y->shape, 0, axis);
    float *to = y->at;
    for (uint32_t o = 0; o < outer; o++)
        for (uint32_t i = 0; i < node->n_in; i++) {
            const struct nm_net_value *x = nm_net_has(net, node, i);
            uint32_t each = x->n / outer;
            memcpy(to, x->at + (size_t)o * each, each * sizeof *to);
            to += each;
        }
}

/* ---- over an axis ---- */

struct sweep {
    uint32_t outer, n, inner;
};

/* Before operator set 13 everything from the axis on counts as one. */
static const char *shape_softmax(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    bool old = net->opset < 13;
    int32_t axis = x->rank ? axis_of(nm_attribute_whole(node, "axis", old ? 1 : -1), x->rank, x->rank - 1) : -1;
    if (axis < 0) return "it has no such axis";
    struct sweep *s = nm_take_n(&net->arena, struct sweep, 1);
    s->outer = dims_product(x, 0, (uint32_t)axis);
    s->n = old ? dims_product(x, (uint32_t)axis, x->rank) : x->dims[axis];
    s->inner = old ? 1 : dims_product(x, (uint32_t)axis + 1, x->rank);
    node->work = s;
    return shape_same(net, node, out);
}

static void run_softmax(const struct nm_net *net, const struct nm_net_node *node)
{
    const struct sweep *s = node->work;
    run_copy(net, node);
    for (uint32_t o = 0; o < s->outer; o++)
        for (uint32_t i = 0; i < s->inner; i++) {
            float *x = result(net, node) + (size_t)o * s->n * s->inner + i, most = -INFINITY, sum = 0;
            for (uint32_t k = 0; k < s->n; k++) most = fmaxf(most, x[(size_t)k * s->inner]);
            for (uint32_t k = 0; k < s->n; k++) sum += x[(size_t)k * s->inner] = expf(x[(size_t)k * s->inner] - most);
            for (uint32_t k = 0; k < s->n; k++) x[(size_t)k * s->inner] /= sum;
        }
}

struct mean {
    uint32_t bits; /* of the axes that go */
    struct nm_net_shape kept;
};

static const char *shape_mean(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_shape *x = &nm_net_in(net, node, 0)->shape;
    struct mean *m = nm_take_n(&net->arena, struct mean, 1);
    struct list axes;
    bool keep = nm_attribute_whole(node, "keepdims", 1);
    const char *wrong = list_of(net, node, "axes", 1, &axes);
    if (wrong || (wrong = axes_of(&axes, x->rank, &m->bits))) return wrong;
    if (!axes.n && !nm_attribute_whole(node, "noop_with_empty_axes", 0)) m->bits = ~0u;
    m->kept = *x;
    *out = (struct nm_net_shape){0};
    for (uint32_t d = 0; d < x->rank; d++) {
        bool goes = m->bits >> d & 1;
        if (goes) m->kept.dims[d] = 1;
        if (!goes || keep) out->dims[out->rank++] = m->kept.dims[d];
    }
    node->work = m;
    return NULL;
}

static void run_mean(const struct nm_net *net, const struct nm_net_node *node)
{
    const struct nm_net_value *x = nm_net_has(net, node, 0), *y = &net->values[node->out];
    const struct mean *m = node->work;
    size_t step[NM_NET_DIMS];
    uint32_t rank = x->shape.rank, last = rank ? rank - 1 : 0, wide = rank ? x->shape.dims[last] : 1;
    spread(&m->kept, &x->shape, step);
    memset(y->at, 0, y->n * sizeof *y->at);
    for (uint32_t row = 0; row < x->n / wide; row++) {
        size_t at = 0;
        uint32_t rest = row;
        for (uint32_t d = last; d-- > 0; rest /= x->shape.dims[d]) at += rest % x->shape.dims[d] * step[d];
        const float *from = x->at + (size_t)row * wide;
        for (uint32_t i = 0; i < wide; i++) y->at[at + (rank ? step[last] : 0) * i] += from[i];
    }
    float share = (float)y->n / (float)x->n;
    for (uint32_t i = 0; i < y->n; i++) y->at[i] *= share;
}

#define WINDOW           "s:auto_pad I:dilations I:kernel_shape I:pads I:strides"
#define PAIR(op)         [NM_OP_##op] = {2, 2, "", shape_spread, run_spread, false}
#define CURVE(op, known) [NM_OP_##op] = {1, 1, known, shape_same, run_curve, false}
const struct nm_op nm_ops[NM_OPS] = {
    [NM_OP_GEMM] = {2, 3, "f:alpha f:beta i:transA i:transB", shape_product, run_product, false},
    [NM_OP_MATMUL] = {2, 2, "", shape_product, run_product, false},
    PAIR(ADD),
    PAIR(SUB),
    PAIR(MUL),
    PAIR(DIV),
    PAIR(POW),
    PAIR(PRELU),
    PAIR(EQUAL),
    [NM_OP_MIN] = {1, 2, "", shape_spread, run_spread, false},
    [NM_OP_MAX] = {1, 2, "", shape_spread, run_spread, false},
    [NM_OP_WHERE] = {3, 3, "", shape_spread, run_spread, false},
    CURVE(ELU, "f:alpha"),
    CURVE(SELU, "f:alpha f:gamma"),
    CURVE(RELU, ""),
    CURVE(LEAKY_RELU, "f:alpha"),
    CURVE(TANH, ""),
    CURVE(SIGMOID, ""),
    CURVE(HARD_SIGMOID, "f:alpha f:beta"),
    CURVE(HARD_SWISH, ""),
    CURVE(SOFTPLUS, ""),
    CURVE(EXP, ""),
    CURVE(LOG, ""),
    CURVE(SQRT, ""),
    CURVE(ABS, ""),
    CURVE(NEG, ""),
    CURVE(FLOOR, ""),
    CURVE(CEIL, ""),
    [NM_OP_CLIP] = {1, 3, "f:min f:max", shape_clip, run_curve, false},
    [NM_OP_IDENTITY] = {1, 1, "", shape_same, run_copy, true},
    [NM_OP_DROPOUT] = {1, 3, "f:ratio i:seed", shape_same, run_copy, true},
    [NM_OP_CAST] = {1, 1, "i:to i:saturate", shape_cast, run_cast, true},
    [NM_OP_RESHAPE] = {2, 2, "i:allowzero", shape_reshape, run_copy, true},
    [NM_OP_FLATTEN] = {1, 1, "i:axis", shape_flatten, run_copy, true},
    [NM_OP_SQUEEZE] = {1, 2, "I:axes", shape_squeeze, run_copy, true},
    [NM_OP_UNSQUEEZE] = {1, 2, "I:axes", shape_squeeze, run_copy, true},
    [NM_OP_SHAPE] = {1, 1, "i:start i:end", shape_shape, run_shape, false},
    [NM_OP_FILLED] = {1, 1, "t:value", shape_filled, run_filled, false},
    [NM_OP_CONCAT] = {1, NM_NET_INPUTS, "i:axis", shape_concat, run_concat, false},
    [NM_OP_TRANSPOSE] = {1, 1, "I:perm", shape_transpose, run_pick, false},
    [NM_OP_SLICE] = {1, 5, "I:starts I:ends I:axes", shape_slice, run_pick, false},
    [NM_OP_SPLIT] = {1, 2, "i:axis I:split i:num_outputs", shape_split, run_pick, false},
    [NM_OP_GATHER] = {2, 2, "i:axis", shape_gather, run_pick, false},
    [NM_OP_PAD] = {1, 4, "s:mode I:pads f:value", shape_pad, run_pick, false},
    [NM_OP_EXPAND] = {2, 2, "", shape_expand, run_pick, false},
    [NM_OP_DEPTH_TO_SPACE] = {1, 1, "i:blocksize s:mode", shape_depth, run_pick, false},
    [NM_OP_SPACE_TO_DEPTH] = {1, 1, "i:blocksize", shape_depth, run_pick, false},
    [NM_OP_SOFTMAX] = {1, 1, "i:axis", shape_softmax, run_softmax, false},
    [NM_OP_REDUCE_MEAN] = {1, 2, "I:axes i:keepdims i:noop_with_empty_axes", shape_mean, run_mean, false},
    [NM_OP_CONV] = {2, 3, WINDOW " i:group", nm_image_conv, NULL, false},
    [NM_OP_CONV_TRANSPOSE] = {2, 3, WINDOW " i:group I:output_padding I:output_shape", nm_image_conv, NULL, false},
    [NM_OP_BATCH_NORM] = {5, 5, "f:epsilon f:momentum i:spatial i:training_mode", nm_image_norm, NULL, false},
    [NM_OP_MAX_POOL] = {1, 1, WINDOW " i:ceil_mode i:storage_order", nm_image_pool, NULL, false},
    [NM_OP_AVERAGE_POOL] = {1, 1, WINDOW " i:ceil_mode i:count_include_pad", nm_image_pool, NULL, false},
    [NM_OP_GLOBAL_MAX_POOL] = {1, 1, "", nm_image_pool, NULL, false},
    [NM_OP_GLOBAL_AVERAGE_POOL] = {1, 1, "", nm_image_pool, NULL, false},
    [NM_OP_RESIZE] = {1, 4,
                      "s:mode s:nearest_mode s:coordinate_transformation_mode f:cubic_coeff_a "
                      "i:exclude_outside f:extrapolation_value i:antialias s:keep_aspect_ratio_policy",
                      nm_image_resize, NULL, false},
    [NM_OP_UPSAMPLE] = {1, 2, "s:mode F:scales", nm_image_resize, NULL, false},
};
