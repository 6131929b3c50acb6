/* Thumbnails: the mean of every 8 by 8 pixels, 1/64 of the bytes. Small enough to be kept of every frame of a game,
 * and enough to see what the robot looked at. */
#pragma once

#include "codec/pixels.h"

enum { NM_THUMBNAIL_BLOCK = 8 /* px */ };

/* Bytes of the thumbnail of an image; 0 and a sentence for an image that is none (nm_pixels_check). */
size_t nm_thumbnail_room(const struct nm_pixels *in, struct nm_err *err);

/* Writes the thumbnail in the image's own encoding, rows without gaps, into `out` of `cap` bytes and tells `small`
 * what it is. Blocks at the right and lower edge have as many pixels as there are; of YUV 4:2:2 two blocks share their
 * colour, as two pixels do. */
int nm_thumbnail(const struct nm_pixels *in, uint8_t *out, size_t cap, struct nm_pixels *small, struct nm_err *err);
