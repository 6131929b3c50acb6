/* A camera's electronics: exposure, white balance, a touch of blur, noise, and the format on the wire. */
#pragma once

#include <stdint.h>

#include "sim/raycast.h"

enum nm_picture_format {
    NM_RGB8, /* 3 bytes a pixel                            */
    NM_YUYV, /* YUV 4:2:2, Y0 U Y1 V: full range, BT.601   */
};

struct nm_shutter {
    float exposure;   /* 1: a white line in full light is just below white         */
    float white[3];   /* gains of red, green and blue                              */
    float blur;       /* 0 to 0.25: share of a pixel's light each neighbour gets   */
    float noise;      /* standard deviation of darkness, in steps of 256           */
    float shot_noise; /* added in full light; grows with the root of the light     */
};
#define NM_SHUTTER_PLAIN ((struct nm_shutter){1, {1, 1, 1}, 0, 0, 0})
#define NM_SHUTTER_USUAL ((struct nm_shutter){1, {1, 1, 1}, 0.06f, 1.5f, 2.5f})

/* Bytes of a picture: rows follow each other without gaps. An odd width is drawn with the last pixel doubled. */
uint32_t nm_picture_bytes(const struct nm_camera *camera, enum nm_picture_format format);

/* What the last nm_cast saw, as bytes. `seed` chooses the noise. */
void nm_develop(const struct nm_eye *eye, const struct nm_shutter *shutter, uint64_t seed,
                enum nm_picture_format format, uint8_t *bytes);
