#include "edge/camera/image_file.h"

#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "codec/jpeg.h"
#include "base/whole.h"

enum { FILE_BYTES = 64 << 20 };

static const char *ending(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot : "";
}

static bool is_jpeg(const char *path)
{
    return !strcasecmp(ending(path), ".jpg") || !strcasecmp(ending(path), ".jpeg");
}
static bool is_image(const char *path) { return is_jpeg(path) || !strcasecmp(ending(path), ".png"); }

static uint8_t byte_of(int32_t q16)
{
    int32_t x = (q16 + 32768) >> 16;
    return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
}

void nm_rgb_to_yuyv(const uint8_t *rgb, uint32_t width, uint32_t height, uint32_t step, uint8_t *yuyv)
{
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *p = rgb + (size_t)y * step;
        for (uint32_t x = 0; x + 1 < width; x += 2, p += 6, yuyv += 4) {
            int32_t r = p[0] + p[3], g = p[1] + p[4], b = p[2] + p[5];
            yuyv[0] = byte_of(19595 * p[0] + 38470 * p[1] + 7471 * p[2]);
            yuyv[1] = byte_of((-11059 * r - 21709 * g + 32768 * b) / 2 + (128 << 16));
            yuyv[2] = byte_of(19595 * p[3] + 38470 * p[4] + 7471 * p[5]);
            yuyv[3] = byte_of((32768 * r - 27439 * g - 5329 * b) / 2 + (128 << 16));
        }
    }
}

static uint8_t *read_png(const char *path, const uint8_t *bytes, size_t n, uint32_t *width, uint32_t *height,
                         struct nm_err *err)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    uint8_t *rgb = NULL;
    if (!png_image_begin_read_from_memory(&png, bytes, n)) {
        nm_fail(err, "%s: %s", path, png.message);
        return NULL;
    }
    png.format = PNG_FORMAT_RGB;
    *width = png.width;
    *height = png.height;
    if (png.width > NM_IMAGE_SIDE || png.height > NM_IMAGE_SIDE)
        nm_fail(err, "%s: an image of %u x %u pixels is too large; at most %d a side", path, png.width, png.height,
                NM_IMAGE_SIDE);
    else if (!(rgb = malloc(PNG_IMAGE_SIZE(png))))
        nm_fail(err, "%s: not enough memory", path);
    else if (!png_image_finish_read(&png, NULL, rgb, 0, NULL)) {
        nm_fail(err, "%s: %s", path, png.message);
        free(rgb);
        rgb = NULL;
    }
    png_image_free(&png);
    return rgb;
}

static uint8_t *read_jpeg(const char *path, const uint8_t *bytes, size_t n, uint32_t *width, uint32_t *height,
                          struct nm_err *err)
{
    struct nm_pixels pixels;
    if (nm_jpeg_size(bytes, n, width, height, err) < 0) return NULL;
    if (*width > NM_IMAGE_SIDE || *height > NM_IMAGE_SIDE) {
        nm_fail(err, "%s: an image of %u x %u pixels is too large; at most %d a side", path, *width, *height,
                NM_IMAGE_SIDE);
        return NULL;
    }
    size_t room = (size_t)*width * *height * 3;
    uint8_t *rgb = malloc(room);
    if (rgb && nm_jpeg_decode(bytes, n, rgb, room, &pixels, err) == 0) return rgb;
    free(rgb);
    return NULL;
}

int nm_image_read(const char *path, struct nm_image *image, struct nm_err *err)
{
    size_t n;
    uint32_t width = 0, height = 0;
    *image = (struct nm_image){0};
    if (!is_image(path)) return nm_fail(err, "%s: images end in .png, .jpg or .jpeg", path);
    char *bytes = nm_read_whole(path, FILE_BYTES, &n, err);
    if (!bytes) return -1;
    uint8_t *rgb = (is_jpeg(path) ? read_jpeg : read_png)(path, (const uint8_t *)bytes, n, &width, &height, err);
    free(bytes);
    if (!rgb) return -1;
    image->width = width & ~1u;
    image->height = height;
    image->yuyv = malloc((size_t)image->width * 2 * height + 4);
    if (image->yuyv) nm_rgb_to_yuyv(rgb, width, height, 3 * width, image->yuyv);
    free(rgb);
    return image->yuyv ? 0 : nm_fail(err, "%s: not enough memory", path);
}

void nm_image_free(struct nm_image *image)
{
    free(image->yuyv);
    *image = (struct nm_image){0};
}
