/* JPEG, by libjpeg-turbo: camera frames on their way into logs and to browsers, and back. Nothing here ends the
 * program or prints, whatever the bytes are; all memory is bounded by the sizes that the caller allows. Not for inside
 * a cycle: the library takes memory. */
#pragma once

#include "codec/pixels.h"

enum {
    NM_JPEG_QUALITY = 80, /* what is right for camera frames unless somebody knows better */
    NM_JPEG_SCANS = 64,   /* of a progressive picture; more are an attack on our time     */
};

/* Bytes that are enough for any picture of this size at any quality. */
size_t nm_jpeg_room(uint32_t width, uint32_t height);

/* Encodings: mono8, rgb8, bgr8, rgba8, bgra8, yuv422 (also uyvy), yuv422_yuy2 (also yuyv). YUV 4:2:2 is stored as it
 * is, its colours are not computed again. `quality` is 1 to 100. The number of bytes comes in `n`; a picture that does
 * not fit in `cap` is refused. */
int nm_jpeg_encode(const struct nm_pixels *in, int quality, uint8_t *out, size_t cap, size_t *n, struct nm_err *err);

/* The same of a `const Image *`. */
#define nm_jpeg_encode_image(image, quality, out, cap, n, err)                                                         \
    nm_jpeg_encode(&NM_PIXELS(image), (quality), (out), (cap), (n), (err))

/* Size of a picture, from its head. */
int nm_jpeg_size(const uint8_t *bytes, size_t n, uint32_t *width, uint32_t *height, struct nm_err *err);

/* Decodes to rgb8, rows without gaps, into `out` of `cap` bytes; what does not fit, is cut short or damaged is refused.
 * `pixels` is told what it is. */
int nm_jpeg_decode(const uint8_t *bytes, size_t n, uint8_t *out, size_t cap, struct nm_pixels *pixels,
                   struct nm_err *err);
