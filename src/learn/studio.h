/* Labelled pictures without end, for learning to see: the ray caster draws a moment of a game that never was, and
 * everything that differs between halls, balls, robots and cameras is drawn anew by lot for each picture (domain
 * randomisation, Tobin et al. 2017). A picture depends on its seed and number alone, so any number of threads makes the
 * same ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "codec/labels.h"

enum { NM_STUDIO_LABELS = 64, NM_STUDIO_PATCH = 32, NM_STUDIO_PATCHES = 12 };

struct nm_shot {
    uint32_t width, height;
    uint8_t *rgb; /* the caller's: width x height x 3 */
    uint32_t n_labels;
    struct nm_label labels[NM_STUDIO_LABELS];
    uint32_t n_patches; /* grey squares around a ball, and around what a detector may take for one */
    uint8_t patch[NM_STUDIO_PATCHES][NM_STUDIO_PATCH * NM_STUDIO_PATCH];
    bool patch_is_ball[NM_STUDIO_PATCHES];
};

/* Fills everything but width, height and rgb. */
void nm_studio_take(uint64_t seed, uint64_t number, struct nm_shot *shot);
