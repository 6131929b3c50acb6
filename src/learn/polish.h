/* The last stage of learning to walk: a direct search (CMA-ES, base/cmaes.h) for a small correction of the
 * policy's last layer that makes full speed ahead softer and cheaper.
 *
 * The trainer judges single actions by their noise and by what a critic expects. A footfall is decided by several
 * joints over several periods, and with small noise it is mostly chance which action is praised for it. Here whole
 * policies are compared without any noise, in the same worlds.
 *
 * What is searched is a periodic correction of the actions at full speed ahead: for each joint a constant and the first
 * harmonics of the clock. The last hidden layer sees the clock, so that such curves are, nearly, linear combinations of
 * its neurons; regression over a record of the walk finds them. No such combination is small enough where less speed,
 * or another direction, is asked for: there a gate keeps it out (learn/correction.h). The policy stays symmetric.
 *
 * All candidates of a generation and the policy that it began with walk in the same worlds; each generation has others.
 * The same seed and sizes give the same bits with any number of threads, also if the work was interrupted between. */
#pragma once

#include "learn/exam.h"
#include "learn/walking.h"
#include "nn/net.h"

struct nm_polish_options {
    uint64_t seed;
    uint32_t worlds;     /* 8 to 1024, in which each candidate walks       */
    uint32_t candidates; /* 4 to 1024, of a generation                     */
    uint32_t threads;    /* 1 to 64                                        */
    double seconds;      /* 4 to 60, of a walk                             */
    bool (*quit)(void);  /* true: a generation is given up; NULL: never    */
};

/* How a policy walks in some worlds. All but the last two is at full speed ahead, in the hard conditions. */
struct nm_polish_figures {
    double cost;              /* what the search makes small, seen from the policy that it began with */
    double speed;             /* m/s                                                  */
    double joules;            /* J/m of the servos                                    */
    double footfall, hardest; /* N: mean over all steps of the largest force of each; the hardest of all */
    double falls;             /* share of the runs                                    */
    double started;           /* m, in the first seconds                              */
    double tumbles, reward;   /* of slower walking, stops, and of all commands, with pushes: share of the runs with a
                                 fall; a period */
};

/* One generation: a row of the curve. */
struct nm_polished {
    double seconds;                        /* of work until its end, over all resumed runs */
    double walked;                         /* s that robots have walked so far             */
    double step;                           /* size of the search's steps                   */
    struct nm_polish_figures before, mean; /* what it began with; mean over the better half of the candidates */
};

struct nm_polish;

/* `policy` is one that nm_policy_net made for this body. NULL with a sentence. */
struct nm_polish *nm_polish_new(const struct nm_body *body, const struct nm_pitch *pitch, const struct nm_net *policy,
                                const struct nm_polish_options *options, struct nm_err *err);
void nm_polish_free(struct nm_polish *polish);

/* 1 if it was given up because of `quit`: then everything is as it was before. */
int nm_polish_generation(struct nm_polish *polish, struct nm_err *err);
const struct nm_polished *nm_polish_curve(const struct nm_polish *polish, uint32_t *n);
uint32_t nm_polish_numbers(const struct nm_polish *polish); /* that are searched */
double nm_polish_explained(const struct nm_polish *polish); /* share of the wanted curves that the neurons can give */

/* Everything that is needed to go on, with the policy that it began with. */
int nm_polish_save(const struct nm_polish *polish, const char *path, struct nm_err *err);
int nm_polish_load(struct nm_polish *polish, const char *path, struct nm_err *err);

/* The middle of the search as a policy, or the policy that it began with. */
struct nm_net *nm_polish_net(const struct nm_polish *polish, bool polished, struct nm_err *err);
/* Both in worlds that the search has not seen: [0] before, [1] after. */
int nm_polish_judge(struct nm_polish *polish, uint64_t first_seed, uint32_t worlds, struct nm_polish_figures figures[2],
                    struct nm_err *err);
int nm_polish_test(struct nm_polish *polish, bool polished, uint64_t first_seed, uint32_t runs, double seconds,
                   struct nm_learn_score scores[NM_LEARN_SCORES], struct nm_err *err);
