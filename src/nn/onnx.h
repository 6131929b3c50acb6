/* ONNX files: networks as other people's tools write and read them.
 *
 * An ONNX file is one message in the wire format of Protocol Buffers. Of its many fields a policy needs a few dozen
 * numbers, so they are read here by hand, through one checked reader, and no library is needed. What is not understood
 * is refused with the node and its operator, never skipped; comments and versions of tools are skipped.
 *
 * Read: models with floats (and integers as shapes), operator sets 7 to 21, the operators of nn/net.h and Constant,
 * weights inside of the file. Written: what is left after reading, in the same operator set, floats as raw data. */
#pragma once

#include "nn/net.h"

enum { NM_ONNX_BYTES = 64 << 20 }; /* of a file, at most */

/* `name` is for sentences. NULL with a sentence. */
NM_EXPORT struct nm_net *nm_onnx_read(const void *bytes, size_t n, const char *name, struct nm_err *err);
NM_EXPORT struct nm_net *nm_onnx_load(const char *path, struct nm_err *err);

/* `open` has the sizes of dimensions that the file leaves open, by their place: {1, {50}} for a batch of 50. Those that
 * it does not have are 1. */
NM_EXPORT struct nm_net *nm_onnx_read_sized(const void *bytes, size_t n, const char *name,
                                            const struct nm_net_shape *open, struct nm_err *err);
NM_EXPORT struct nm_net *nm_onnx_load_sized(const char *path, const struct nm_net_shape *open, struct nm_err *err);

/* The file, to be freed. */
void *nm_onnx_write(const struct nm_net *net, size_t *n);
