/* Get-ups for a body that nobody has seen. The motions of known robots, in the poses that this body makes of them, are
 * played in the simulator. Where none of them works, CMA-ES searches around the best ones for a while. A body that gets
 * up from its back but not from its front is rolled over first. */
#pragma once

#include "body/animation.h"

struct get_up {
    const char *name;                  /* get_up_front …                                                      */
    int lying;                         /* enum nm_posture, before it                                          */
    const struct nm_animation *motion; /* the best that was found; NULL: there was nothing to begin with      */
    const char *from;                  /* the robot whose motion it was                                       */
    uint32_t wins, plays;              /* how often it ended on its feet, on bodies that differ a little      */
    uint32_t tries;                    /* motions that the search played                                      */
    bool rolls;                        /* from the front onto the back, and then as from there                */
};

enum { GET_UPS = 2, GET_UP_STARTS = 16 };
extern const struct get_up get_ups[GET_UPS]; /* their names and how the robot lies; from the back first */

struct get_up_search {
    struct nm_arena *arena;
    const char *field; /* path of its file                                     */
    double seconds;    /* of searching                                         */
    uint32_t jobs;     /* processes at a time                                  */
    uint32_t n_donors;
    const struct nm_body *donors[GET_UP_STARTS / 2]; /* whose motions it may begin with */
};

/* Fills the rest of `get_up`. `back`: the one from the back, for the one from the front; or NULL. -1 with a sentence;
 * the program must have a simulator. */
int get_up_find(const struct get_up_search *search, const struct nm_body *body, const struct get_up *back,
                struct get_up *get_up, struct nm_err *err);
