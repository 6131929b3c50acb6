/* What happens to a robot's eyes in a game: light that changes, and cameras that fail. Simulated images go through the
 * real camera edge, behind whose table of system calls stands a device that does what the trouble wants, and through a
 * line-up of a vision: how long the ball is lost, and what is reported. */
#pragma once

#include "cmd/vision_trial.h"

enum vision_trouble {
    TROUBLE_LIGHT_OFF, /* for 2 s                                       */
    TROUBLE_CAST,      /* lamps of another colour, from then on         */
    TROUBLE_SUN,       /* a spot crosses the field within 3 s           */
    TROUBLE_UNPLUGGED, /* these and the following last 2 s              */
    TROUBLE_FROZEN,
    TROUBLE_BLACK,
    TROUBLE_TORN,  /* the lower half is missing              */
    TROUBLE_STUCK, /* the exposure: all is white             */
    TROUBLE_TWICE, /* every image comes twice                */
    TROUBLE_CLOCK, /* stamps jump ahead and back             */
    VISION_TROUBLES
};
extern const char *const vision_troubles[VISION_TROUBLES];

struct trouble_result {
    bool seen;         /* the ball was found before; else the rest says nothing               */
    double back;       /* s, how long it was lost after the trouble (of a cast or the sun: at a time); INFINITY */
    uint32_t reported; /* warnings of the camera */
    uint32_t relieved; /* lines that a fault is over */
};
/* One image of the studio as a scene of 6 s at 15 Hz. -1 with a sentence if the line-up cannot be loaded. */
int vision_trouble(struct setup *setup, const struct nm_body *body, struct vision_studio *studio, uint64_t number,
                   enum vision_trouble trouble, struct trouble_result *result, struct nm_err *err);
