/* nutmeg animate record: an animation from poses that somebody gives a limp robot, one frame each time Enter is
 * pressed. Commands control the recording, one per line:
 *
 *     (empty)         records a frame; the move to it gets the time that the servos need
 *     MS              records a frame; the move to it takes MS ms
 *     pause MS        holds the last frame for MS ms
 *     undo            removes the last frame
 *     list            shows all frames
 *     JOINT DEGREES   moves a joint of a simulated robot; both_… moves a left and right pair
 *     end             writes the file */
#pragma once

#include <stdio.h>

#include "body/animation.h"

/* Where poses come from. */
struct hand {
    void *self;
    /* rad, and a bit a joint that has answered; -1 with a sentence */
    int (*feel)(void *self, double q[], uint64_t *known, struct nm_err *err);
    /* moves a joint (rad) as a hand would; NULL: a person's hands do it */
    int (*move)(void *self, uint32_t joint, double angle, struct nm_err *err);
};

struct recording {
    const struct nm_body *body;
    struct hand hand;
    double haste; /* share of the servos' speed in moves whose time nobody gave */
    uint32_t n;
    struct nm_animation_frame frames[NM_ANIMATION_FRAMES];
};

/* Does one line; what it did, or why not, goes to `to`. True when it was the last: `end`. */
bool recording_line(struct recording *recording, const char *line, FILE *to);
/* The frames as an animation; it points into the recording. */
struct nm_animation recording_animation(struct recording *recording, const char *name, const char *about,
                                        const char *file);

struct setup;

int animate_record(int argc, char **argv);

/* cmd_animate.c: a robot's folder, by path or by its name in robots/ */
const char *animate_folder(struct setup *setup, const char *robot);
