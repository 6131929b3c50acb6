/* One animation on one simulated robot: what becomes of it. */
#pragma once

#include "body/animation.h"
#include "cmd/animate_record.h"

struct animate_run {
    const char *field; /* path of its file                                     */
    int lying;         /* enum nm_posture, 0: upright                          */
    uint64_t seed;
    double random; /* 0 to 1; above 0 in the hard conditions of scenarios, and lying anyhow */
    double every;  /* s between two rows of the table; 0: only the outcome */
};
struct animate_outcome {
    double tilt, height, moved; /* rad, m, m: at the end                                     */
    double facing;              /* 1: the front of its trunk looks up, -1: down              */
    double astray[2];           /* from flat soles under its mass: when it was nearest, and on average in the second
                                   half; 1 for feet that point ahead, or for a mass half the legs' length away */
    double load;                /* largest share of its duty that any servo used             */
    double behind;              /* rad, the farthest that a joint was from its goal          */
    uint32_t loaded, late;      /* the joints of those two                                   */
};
/* -1 with a sentence; -1 without one where the program has no simulator. */
int sim_animate(const struct nm_body *body, const struct nm_animation *animation, const struct animate_run *run,
                struct animate_outcome *outcome, struct nm_err *err) __attribute__((weak));

/* A limp robot held in the air, for a recording; -1 with a sentence. */
int sim_hand_new(struct nm_arena *arena, const struct nm_body *body, const char *field, struct hand *hand,
                 struct nm_err *err) __attribute__((weak));
void sim_hand_free(struct hand *hand) __attribute__((weak));
