#include "codec/pixels.h"

#include <string.h>

/* `uyvy` and `yuyv` are ROS 2's newer names for its `yuv422` and `yuv422_yuy2`. */
static const struct nm_pixel_format FORMATS[] = {
    {.name = "mono8", .bytes = 1, .order = "y"},
    {.name = "rgb8", .bytes = 3, .order = "rgb"},
    {.name = "bgr8", .bytes = 3, .order = "bgr"},
    {.name = "rgba8", .bytes = 4, .order = "rgba"},
    {.name = "bgra8", .bytes = 4, .order = "bgra"},
    {.name = "yuv422", .bytes = 2, .paired = 1, .u0 = 0, .y0 = 1},
    {.name = "uyvy", .bytes = 2, .paired = 1, .u0 = 0, .y0 = 1},
    {.name = "yuv422_yuy2", .bytes = 2, .paired = 1, .u0 = 1, .y0 = 0},
    {.name = "yuyv", .bytes = 2, .paired = 1, .u0 = 1, .y0 = 0},
};

uint32_t nm_pixel_row(const struct nm_pixel_format *format, uint32_t width)
{
    return format->paired ? (width + 1) / 2 * 4 : width * format->bytes;
}

const struct nm_pixel_format *nm_pixels_check(const struct nm_pixels *in, struct nm_err *err)
{
    const struct nm_pixel_format *format = NULL;
    for (size_t i = 0; i < sizeof FORMATS / sizeof FORMATS[0] && !format; i++)
        if (!strcmp(FORMATS[i].name, in->encoding)) format = &FORMATS[i];
    if (!format) {
        nm_fail(
            err,
            "an image encoded as `%.31s` is none that we read: mono8, rgb8, bgr8, rgba8, bgra8, yuv422, yuv422_yuy2",
            in->encoding);
        return NULL;
    }
    if (!in->width || !in->height || in->width > NM_PIXELS_SIDE || in->height > NM_PIXELS_SIDE) {
        nm_fail(err, "an image of %u by %u pixels: each side must be 1 to %d", in->width, in->height, NM_PIXELS_SIDE);
        return NULL;
    }
    uint32_t row = nm_pixel_row(format, in->width);
    if (in->step < row || !in->data || in->n < (uint64_t)in->step * (in->height - 1) + row) {
        nm_fail(err, "an image of %u by %u pixels %s with rows of %u bytes has only %zu bytes", in->width, in->height,
                format->name, in->step, in->n);
        return NULL;
    }
    return format;
}
