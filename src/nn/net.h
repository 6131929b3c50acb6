/* A network as a list of nodes, each an operator of ONNX with one output. It is made by the functions below or read
 * from a file (nn/onnx.h), checked while it is made, and then run without taking memory.
 *
 *     struct nm_net *net = nm_onnx_read(bytes, n, "walk.onnx", err);
 *     memcpy(nm_net_input(net, 0), observation, …);
 *     nm_net_run(net);
 *     use(nm_net_output(net, 0));
 *
 * A batch has one element: what a robot asks. Dimensions that a file leaves open are 1. A net holds its values, so a
 * thread has its own. What a trainer needs is in nn/mlp.h. */
#ifndef NM_NN_NET_H
#define NM_NN_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/export.h"

enum {
    NM_NET_DIMS = 4,
    NM_NET_NODES = 1024,
    NM_NET_VALUES = 4096,
    NM_NET_INPUTS = 16,          /* of a node, and of a net; outputs of a net alike  */
    NM_NET_CONSTANT = 1 << 24,   /* elements of one constant                         */
    NM_NET_COMPUTED = 1 << 22,   /* elements of everything that nodes compute        */
    NM_NET_NONE = NM_NET_VALUES, /* an input that is left out                        */
};

enum nm_net_op {
    NM_OP_GEMM,
    NM_OP_MATMUL,
    NM_OP_ADD,
    NM_OP_SUB,
    NM_OP_MUL,
    NM_OP_DIV,
    NM_OP_ELU,
    NM_OP_RELU,
    NM_OP_TANH,
    NM_OP_SIGMOID,
    NM_OP_CLIP,
    NM_OP_CONCAT,
    NM_OP_IDENTITY,
    NM_OP_RESHAPE,
    NM_OP_FLATTEN,
    NM_OPS
};

struct nm_net_shape {
    uint32_t rank;
    uint32_t dims[NM_NET_DIMS];
};

struct nm_net_value {
    const char *name;
    struct nm_net_shape shape;
    uint32_t n; /* elements                                                         */
    bool constant;
    float *at;              /* n of them, and room to a multiple of NM_LANES; NULL of integers  */
    const int64_t *whole;   /* of constants of integers, which only Reshape reads               */
    const float *packed[2]; /* of matrices that Gemm or MatMul multiply with: rows padded, as it is or transposed */
};

/* What ONNX calls attributes. */
struct nm_net_attributes {
    float alpha, beta;     /* Gemm; alpha of Elu                        */
    bool trans_a, trans_b; /* Gemm                                      */
    float low, high;       /* Clip, where they are not inputs           */
    int64_t axis;          /* Concat, Flatten                           */
    bool allow_zero;       /* Reshape: a 0 is a 0, not "as it was"      */
};
#define NM_NET_ATTRIBUTES                                                                                              \
    ((struct nm_net_attributes){.alpha = 1, .beta = 1, .low = -INFINITY, .high = INFINITY, .axis = 1})

struct nm_net_node {
    const char *name;
    enum nm_net_op op;
    struct nm_net_attributes with;
    uint32_t n_in, in[NM_NET_INPUTS]; /* values, or NM_NET_NONE */
    uint32_t out;
};

struct nm_net_note { /* text that travels with the file, as ONNX's metadata */
    const char *key, *text;
};

struct nm_net {
    struct nm_arena arena;
    uint32_t n_values, n_nodes, n_inputs, n_outputs, n_notes;
    struct nm_net_value values[NM_NET_VALUES];
    struct nm_net_node nodes[NM_NET_NODES];
    uint32_t inputs[NM_NET_INPUTS], outputs[NM_NET_INPUTS];
    struct nm_net_note notes[NM_NET_INPUTS];
    uint64_t computed; /* elements of what nodes compute, so far */
    uint64_t products; /* multiplications of one run             */
};

NM_EXPORT struct nm_net *nm_net_new(void);
NM_EXPORT void nm_net_free(struct nm_net *net);

/* ---- making: each returns the value's index, or -1 with a sentence ---- */

int32_t nm_net_add_input(struct nm_net *net, const char *name, struct nm_net_shape shape, struct nm_err *err);
int32_t nm_net_add_constant(struct nm_net *net, const char *name, struct nm_net_shape shape, const float *at,
                            struct nm_err *err);
int32_t nm_net_add_whole(struct nm_net *net, const char *name, struct nm_net_shape shape, const int64_t *at,
                         struct nm_err *err);
/* `output` names the value that the node gives; `with` NULL: ONNX's defaults. */
int32_t nm_net_add_node(struct nm_net *net, const char *name, enum nm_net_op op, const uint32_t *in, uint32_t n_in,
                        const struct nm_net_attributes *with, const char *output, struct nm_err *err);
int nm_net_add_output(struct nm_net *net, uint32_t value, struct nm_err *err);
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

#endif
