/* An animation on its way from hands to a file: poses that somebody gives a limp robot, one frame each time a key is
 * pressed. Words steer it, one a line; an empty line (Enter alone) takes a frame:
 *
 *     (empty)         takes a frame; the move there gets the time that the servos need
 *     MS              takes a frame, the move takes so many ms
 *     pause MS        the last frame is held so long
 *     undo            forgets the last frame
 *     list            shows what has been taken
 *     JOINT DEGREES   moves a joint, where the robot is a simulated one; both_… moves the pair
 *     end             writes the file */
#ifndef NM_CMD_RECORDING_H
#define NM_CMD_RECORDING_H

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

#endif
