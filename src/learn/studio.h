/* Labelled pictures without end, for learning to see: the ray caster draws a moment of a game that never was, and
 * everything that differs between halls, balls, robots and cameras is drawn anew by lot for each picture (domain
 * randomisation, Tobin et al. 2017). A picture depends on its seed and number alone, so any number of threads makes the
 * same ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The classes of SweatyNet. */
enum nm_seen {
    NM_SEEN_BALL,
    NM_SEEN_POST, /* its foot                                              */
    NM_SEEN_X,    /* crossings of lines                                    */
    NM_SEEN_MARK, /* penalty mark                                          */
    NM_SEEN_L,
    NM_SEEN_T,
    NM_SEEN_ROBOT,    /* of any team: the lowest point in the middle          */
    NM_SEEN_OBSTACLE, /* people and things on the carpet; the point as above  */
    NM_SEEN_KINDS
};
extern const char *const nm_seen_name[NM_SEEN_KINDS];

enum { NM_STUDIO_LABELS = 64, NM_STUDIO_PATCH = 32, NM_STUDIO_PATCHES = 12 };

struct nm_label {
    enum nm_seen kind;
    float x, y;                  /* the point, pixels                                               */
    float left, top, wide, high; /* box                                                             */
    float distance;              /* m, from the camera's foot                                       */
    float shown;                 /* share of it that shows; small ones count neither way            */
};

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
