/* Images from files: PNG and JPEG, as the pixels that our vision works on. */
#pragma once

#include <stdint.h>

#include "base/error.h"

enum { NM_IMAGE_SIDE = 4096 /* px, of the largest file that is read */ };

/* YUV 4:2:2 (yuv422_yuy2), rows without gaps, from malloc. */
struct nm_image {
    uint32_t width, height; /* px; an odd last column is left out */
    uint8_t *yuyv;
};

/* By the name's ending: .png, .jpg, .jpeg. -1 with a sentence. */
int nm_image_read(const char *path, struct nm_image *image, struct nm_err *err);
void nm_image_free(struct nm_image *image);

/* Three bytes a pixel in, four bytes of two pixels out; BT.601 in full range, as the simulator and JPEG have it. */
void nm_rgb_to_yuyv(const uint8_t *rgb, uint32_t width, uint32_t height, uint32_t step, uint8_t *yuyv);
