/* The operators of a network: what comes out of a node, and how it is computed where numbers stand in the order of
 * ONNX. What works on images in blocks is in nn/image.h; nn/net.c chooses. */
#pragma once

#include "nn/net.h"

struct nm_op {
    uint32_t least, most; /* inputs                                                                            */
    const char *known;    /* attributes as "kind:name kind:name"; others are refused                           */
    /* Checks the inputs and says the shapes of the outputs; may prepare node->work. NULL, or what is wrong.    */
    const char *(*shape)(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out);
    /* NULL: works on blocks only */
    void (*run)(const struct nm_net *net, const struct nm_net_node *node);
    bool view; /* the output has the numbers of the first input in the same order */
};
extern const struct nm_op nm_ops[NM_OPS];

/* An input; NULL where it is left out or has no elements. */
struct nm_net_value *nm_net_in(struct nm_net *net, const struct nm_net_node *node, uint32_t i);
static inline const struct nm_net_value *nm_net_has(const struct nm_net *net, const struct nm_net_node *node,
                                                    uint32_t i)
{
    return nm_net_in((struct nm_net *)net, node, i);
}

const struct nm_net_attribute *nm_attribute(const struct nm_net_node *node, const char *name); /* NULL: not there */
int64_t nm_attribute_whole(const struct nm_net_node *node, const char *name, int64_t usual);
float nm_attribute_float(const struct nm_net_node *node, const char *name, float usual);
const char *nm_attribute_text(const struct nm_net_node *node, const char *name, const char *usual);

/* One operation on two numbers, and one on a single number with its constants. n of nm_curve: any; x has room to a
 * multiple of NM_LANES. */
float nm_pair(enum nm_net_op op, float a, float b);
struct nm_curve {
    enum nm_net_op op;
    float a, b; /* alpha and beta or gamma, or the bounds of Clip */
};
bool nm_curve_of(const struct nm_net *net, const struct nm_net_node *node,
                 struct nm_curve *curve); /* false: no curve */
void nm_curve(const struct nm_curve *curve, float *x, size_t n);
