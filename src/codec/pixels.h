/* An image as rows of bytes, whoever holds it: what the JPEG codec and thumbnails work on. A sensor_msgs/Image is
 * looked at through NM_PIXELS; this folder knows no messages. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { NM_PIXELS_SIDE = 16384 /* px, of an image that we touch at all */ };

struct nm_pixels {
    uint32_t width, height; /* px                              */
    uint32_t step;          /* bytes from one row to the next  */
    const char *encoding;   /* as sensor_msgs/Image names them */
    const uint8_t *data;
    size_t n; /* bytes of data                   */
};

/* The pixels of a sensor_msgs/Image, as a compound literal that lives as long as its block. */
#define NM_PIXELS(image)                                                                                               \
    ((struct nm_pixels){(image)->width, (image)->height, (image)->step, (image)->encoding, (image)->data.data,         \
                        (image)->data.n})

/* How the bytes of an encoding lie. Two pixels of YUV 4:2:2 share their colour: u0 is the first byte of their colour,
 * y0 that of their light. */
struct nm_pixel_format {
    const char *name;
    uint32_t bytes;    /* of a pixel; of YUV 4:2:2, half of a pair           */
    int paired;        /* YUV 4:2:2                                          */
    uint32_t u0, y0;   /* in a pair                                          */
    const char *order; /* of what has three or four bytes: "rgb", "bgra" … */
};

/* The format of an image whose sizes agree with each other and with its bytes; NULL and a sentence otherwise. */
const struct nm_pixel_format *nm_pixels_check(const struct nm_pixels *in, struct nm_err *err);

/* Bytes of a row without anything behind it. */
uint32_t nm_pixel_row(const struct nm_pixel_format *format, uint32_t width);
