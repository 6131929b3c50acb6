/* A network as a list of nodes, each an operator of ONNX. It is made by the functions below or read from a file
 * (nn/onnx.h), checked while it is made, prepared once, and then run without taking memory.
 *
 *     struct nm_net *net = nm_onnx_read(bytes, n, "walk.onnx", NULL, err);
 *     memcpy(nm_net_input(net, 0), observation, …);
 *     nm_net_run(net);
 *     use(nm_net_output(net, 0));
 *
 * All shapes are known when a network has been made. What depends only on shapes and constants is computed while it is
 * made. A net holds its values, so a thread has its own. What a trainer needs is in nn/mlp.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/export.h"

enum {
    NM_NET_DIMS = 6,
    NM_NET_NODES = 1024,
    NM_NET_VALUES = 4096,
    NM_NET_INPUTS = 32,          /* of a node, and of a net; outputs alike                    */
    NM_NET_CONSTANT = 1 << 24,   /* elements of one constant                                  */
    NM_NET_COMPUTED = 1 << 26,   /* elements of everything that nodes compute                 */
    NM_NET_NONE = NM_NET_VALUES, /* an input that is left out                                 */
    NM_NET_WHOLE = 1 << 24,      /* integers are kept as floats, which are exact up to this   */
    NM_NET_OPSET = 14,           /* of a network that is not read from a file                 */
};

/* The operators: name in the code, name in ONNX. nn/ops.c says how each works. */
/* clang-format off */
#define NM_NET_OPS(X)                                                                                                  \
    X(GEMM, "Gemm") X(MATMUL, "MatMul")                                                                                \
    X(ADD, "Add") X(SUB, "Sub") X(MUL, "Mul") X(DIV, "Div") X(POW, "Pow") X(MIN, "Min") X(MAX, "Max")                  \
    X(PRELU, "PRelu") X(EQUAL, "Equal")                                                                                \
    X(ELU, "Elu") X(SELU, "Selu") X(RELU, "Relu") X(LEAKY_RELU, "LeakyRelu") X(TANH, "Tanh") X(SIGMOID, "Sigmoid")     \
    X(HARD_SIGMOID, "HardSigmoid") X(HARD_SWISH, "HardSwish") X(SOFTPLUS, "Softplus") X(EXP, "Exp") X(LOG, "Log")      \
    X(SQRT, "Sqrt") X(ABS, "Abs") X(NEG, "Neg") X(FLOOR, "Floor") X(CEIL, "Ceil") X(CLIP, "Clip")                      \
    X(IDENTITY, "Identity") X(DROPOUT, "Dropout") X(CAST, "Cast")                                                      \
    X(RESHAPE, "Reshape") X(FLATTEN, "Flatten") X(SQUEEZE, "Squeeze") X(UNSQUEEZE, "Unsqueeze")                        \
    X(SHAPE, "Shape") X(FILLED, "ConstantOfShape") X(WHERE, "Where")                                                   \
    X(CONCAT, "Concat") X(TRANSPOSE, "Transpose") X(SLICE, "Slice") X(SPLIT, "Split") X(GATHER, "Gather")              \
    X(PAD, "Pad") X(EXPAND, "Expand") X(DEPTH_TO_SPACE, "DepthToSpace") X(SPACE_TO_DEPTH, "SpaceToDepth")              \
    X(SOFTMAX, "Softmax") X(REDUCE_MEAN, "ReduceMean")                                                                 \
    X(CONV, "Conv") X(CONV_TRANSPOSE, "ConvTranspose") X(BATCH_NORM, "BatchNormalization")                             \
    X(MAX_POOL, "MaxPool") X(AVERAGE_POOL, "AveragePool") X(GLOBAL_MAX_POOL, "GlobalMaxPool")                          \
    X(GLOBAL_AVERAGE_POOL, "GlobalAveragePool") X(RESIZE, "Resize") X(UPSAMPLE, "Upsample")
/* clang-format on */

enum nm_net_op {
#define NM_NET_OP(name, onnx) NM_OP_##name,
    NM_NET_OPS(NM_NET_OP)
#undef NM_NET_OP
        NM_OPS
};

struct nm_net_shape {
    uint32_t rank;
    uint32_t dims[NM_NET_DIMS];
};

struct nm_net_value {
    const char *name;
    struct nm_net_shape shape;
    uint32_t n; /* elements                                                                                      */
    bool constant;
    bool whole;               /* integers in the file: shapes, axes, indices. Only constants are                   */
    float *at;                /* n of them, and room to a multiple of NM_LANES; NULL: only as blocks, or unused    */
    const float *packed[2];   /* of matrices that Gemm or MatMul multiply with: rows padded, as it is, transposed  */
    struct nm_blocks *blocks; /* the same numbers as an image (nn/image.h); NULL: only in `at`                     */
};

/* An attribute of ONNX. A list of them ends with a name of NULL. */
struct nm_net_attribute {
    const char *name;
    char kind; /* f: float, i: integer, s: text, I: integers, F: floats; t: a constant */
    uint32_t n;
    float f;
    int64_t i;
    const char *s;
    const int64_t *whole;
    const float *floats;
};

struct nm_net_node {
    const char *name;
    enum nm_net_op op;
    const struct nm_net_attribute *with; /* ends with a name of NULL */
    uint32_t n_in, in[NM_NET_INPUTS];    /* values, or NM_NET_NONE   */
    uint32_t out, n_out;                 /* values, one behind the other */
    void *work;                          /* what the operator prepared for its run */
};

struct nm_net_note { /* text that travels with the file, as ONNX's metadata */
    const char *key, *text;
};

/* A piece of work of a run. */
struct nm_net;
struct nm_net_step {
    void (*run)(const struct nm_net *net, const struct nm_net_step *step);
    const struct nm_net_node *node;
    uint32_t in, out; /* values                           */
    const void *work; /* what `run` needs                 */
};

struct nm_net {
    struct nm_arena arena;
    uint32_t n_values, n_nodes, n_inputs, n_outputs, n_notes, n_steps;
    uint32_t opset; /* operators mean what this version of ONNX says                        */
    uint32_t kind;  /* of loops (nn/conv.h): 0, the best of this machine, unless a test asks */
    struct nm_net_value values[NM_NET_VALUES];
    struct nm_net_node nodes[NM_NET_NODES];
    uint32_t inputs[NM_NET_INPUTS], outputs[NM_NET_INPUTS];
    struct nm_net_note notes[NM_NET_INPUTS];
    struct nm_net_step *steps;
    float *scratch;    /* of the step that runs                               */
    uint64_t computed; /* elements of what nodes compute, so far              */
    uint64_t products; /* multiplications of one run                          */
};

NM_EXPORT struct nm_net *nm_net_new(void);
NM_EXPORT void nm_net_free(struct nm_net *net);

/* ---- making: each returns the value's index, or -1 with a sentence ---- */

int32_t nm_net_add_input(struct nm_net *net, const char *name, struct nm_net_shape shape, struct nm_err *err);
int32_t nm_net_add_constant(struct nm_net *net, const char *name, struct nm_net_shape shape, const float *at,
                            struct nm_err *err);
/* Larger integers mean "to the end" in every operator that is known here. */
static inline float nm_net_whole(int64_t v)
{
    const int64_t end = (int64_t)1 << 40;
    return (float)(v > NM_NET_WHOLE ? end : v < -NM_NET_WHOLE ? -end : v);
}
int32_t nm_net_add_whole(struct nm_net *net, const char *name, struct nm_net_shape shape, const int64_t *at,
                         struct nm_err *err);
/* `outputs` name the n_out values that the node gives, the first of which is returned; `with` NULL: ONNX's defaults. */
int32_t nm_net_add_nodes(struct nm_net *net, const char *name, enum nm_net_op op, const uint32_t *in, uint32_t n_in,
                         const struct nm_net_attribute *with, const char *const *outputs, uint32_t n_out,
                         struct nm_err *err);
static inline int32_t nm_net_add_node(struct nm_net *net, const char *name, enum nm_net_op op, const uint32_t *in,
                                      uint32_t n_in, const struct nm_net_attribute *with, const char *output,
                                      struct nm_err *err)
{
    return nm_net_add_nodes(net, name, op, in, n_in, with, &output, 1, err);
}
int nm_net_add_output(struct nm_net *net, uint32_t value, struct nm_err *err);
/* Ends the making: joins nodes, chooses layouts, takes all memory. nm_onnx_read does it by itself. */
int nm_net_prepare(struct nm_net *net, struct nm_err *err);
int nm_net_add_note(struct nm_net *net, const char *key, const char *text, struct nm_err *err);

/* ---- using ---- */

static inline float *nm_net_input(struct nm_net *net, uint32_t i) { return net->values[net->inputs[i]].at; }
static inline const float *nm_net_output(const struct nm_net *net, uint32_t i)
{
    return net->values[net->outputs[i]].at;
}
/* Elements of an input or output; 0 if there is none. */
static inline uint32_t nm_net_width_in(const struct nm_net *net, uint32_t i)
{
    return i < net->n_inputs ? net->values[net->inputs[i]].n : 0;
}
static inline uint32_t nm_net_width_out(const struct nm_net *net, uint32_t i)
{
    return i < net->n_outputs ? net->values[net->outputs[i]].n : 0;
}
NM_EXPORT void nm_net_run(struct nm_net *net);

int32_t nm_net_find(const struct nm_net *net, const char *name);              /* value, -1: none    */
NM_EXPORT const char *nm_net_note(const struct nm_net *net, const char *key); /* NULL: none         */
const char *nm_net_op_name(enum nm_net_op op);                                /* as ONNX writes it  */
int32_t nm_net_op_find(const char *name);                                     /* -1: not known here */
