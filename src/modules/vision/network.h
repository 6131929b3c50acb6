/* Networks of the vision: where their files are, and how an image becomes what they see. */
#pragma once

#include "modules/vision/frame.h"
#include "nn/onnx.h"

enum { NETWORK_PATCH = 32 /* px a side */ };

/* For init: the network of a file, NULL with a sentence. A name without '/' is looked for in the robot's folder, then
 * in models/ beside the folder of the robots. `open`: sizes that the file leaves open. It must have one input of `in`
 * numbers and one output of `out`. */
struct nm_net *network_load(const struct nm *nm, const char *model, struct nm_net_shape open, uint32_t in,
                            uint32_t out);

/* The whole image in width x height pixels, 0 to 1: a plane of red, one of green, one of blue. */
void network_picture(const struct frame *f, uint32_t width, uint32_t height, float *to);

/* A square of the image around a pixel in NETWORK_PATCH x NETWORK_PATCH grey pixels, 0 to 1; what lies outside looks
 * like the nearest pixel inside. False, and nothing is written, if about half of it does. */
bool network_patch(const struct frame *f, double u, double v, double side, float *to);
