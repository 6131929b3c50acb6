/* Operators on images: convolutions, pools, and whatever stands between them.
 *
 * An image is kept in blocks of eight channels (nChw8c): the eight numbers of a pixel stand together, so that one
 * register holds them, and a border of zeros around the image spares convolutions every question about edges. Channels
 * that fill no block are never read. A value that is one part of a Concat lies inside of the whole, so joining is free.
 * Images of one to four channels that only convolutions read have pixels of 1 or 4 floats instead of 8. */
#pragma once

#include "nn/ops.h"

enum { NM_BLOCK = 8 };

/* Numbers of elements in a file and of Cast's `to`. */
enum {
    NM_ELEMENT_FLOAT = 1,
    NM_ELEMENT_INT32 = 6,
    NM_ELEMENT_INT64 = 7,
    NM_ELEMENT_BOOL = 9,
    NM_ELEMENT_HALF = 10,
    NM_ELEMENT_DOUBLE = 11
};

struct nm_blocks {
    uint32_t n, c, h, w;
    uint32_t step;                     /* floats a pixel: 8, or 4 or 1                                    */
    size_t row, plane, image;          /* floats from one row, block, image to the next                   */
    uint32_t top, left, bottom, right; /* border, pixels                                                  */
    float *at;                         /* the first pixel inside of the border                            */
    struct nm_blocks *whole;           /* the image that holds this one as some of its channels; NULL: none */
    uint32_t first;                    /* block of `whole` with which it begins                           */
};

/* The shape functions of nn/ops.c. */
const char *nm_image_conv(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out);
const char *nm_image_norm(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out);
const char *nm_image_pool(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out);
const char *nm_image_resize(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out);

/* n, c, h, w of a shape of two to four dimensions; false: it is no image. */
bool nm_image_dims(const struct nm_net_shape *shape, uint32_t dims[4]);

/* ---- for nn/plan.c ---- */

/* Scale and shift of each channel that a node stands for: a BatchNormalization, or Add, Sub, Mul, Div with constants.
 * False: it is something else. */
bool nm_image_affine(struct nm_net *net, const struct nm_net_node *node, float *scale, float *shift);
/* The convolution gets the scale and shift, the curve (or NULL), and then its packed weights. NULL, or what is wrong.
 */
const char *nm_conv_pack(struct nm_net *net, const struct nm_net_node *node, const struct nm_blocks *x,
                         const float *scale, const float *shift, const struct nm_curve *curve);
/* True if the convolution can do the node that follows it too: a MaxPool of 2 x 2. */
bool nm_conv_pool(const struct nm_net_node *node, const struct nm_net_node *next);
/* The border of zeros that a node needs around its first input. */
void nm_image_border(const struct nm_net_node *node, struct nm_blocks *image);
/* Floats of scratch that a node needs. */
size_t nm_image_scratch(const struct nm_net *net, const struct nm_net_node *node);
/* The work of a node on blocks. Of two inputs step->work has the blocks. */
void nm_image_run(const struct nm_net *net, const struct nm_net_step *step);
/* Between the order of ONNX and blocks. */
void nm_image_enter(const struct nm_net *net, const struct nm_net_step *step);
void nm_image_leave(const struct nm_net *net, const struct nm_net_step *step);
void nm_blocks_enter(const struct nm_blocks *to, const float *from);
void nm_image_copy(const struct nm_net *net, const struct nm_net_step *step); /* blocks to blocks */
