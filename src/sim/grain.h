/* Picture noise comes from one table of normal numbers, read from a random place for every row and channel: as good to
 * the eye of a detector as fresh numbers, at a twentieth of their cost. */
#pragma once

#include <stdint.h>

enum {
    NM_GRAINS = 8192,   /* different ones; a power of two                     */
    NM_GRAIN_UNIT = 32, /* one standard deviation                             */
};

/* Fills NM_GRAINS numbers and `more` that repeat the first ones, so that a row may begin anywhere. */
void nm_grain_fill(int8_t *grains, uint32_t more);
