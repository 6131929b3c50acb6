/* Learns to walk: proximal policy optimisation (Schulman and others, 2017) over a batch of worlds on all cores.
 *
 * The policy is symmetric by construction: the mean of a network's answer and of the mirror image of its answer to the
 * mirrored robot. A critic, which also sees the truth, is trained beside it and thrown away. What is asked grows by
 * itself, each direction for itself, while the robot reaches most of it; pushes grow while it seldom falls.
 *
 * The same seed, number of worlds and number of processes give the same bits, with any number of threads: sums run over
 * a fixed number of parts in a fixed order. */
#pragma once

#include "learn/crew.h"
#include "learn/exam.h"
#include "learn/walking.h"
#include "nn/net.h"

struct nm_learn_options {
    uint64_t seed;        /* of everything: bodies, commands, noise, weights */
    uint32_t worlds;      /* 8 to 65536, of all processes together           */
    uint32_t threads;     /* 1 to 64                                         */
    struct nm_crew *crew; /* whom it learns with; NULL: it learns alone      */
    bool (*quit)(void);   /* true: a batch is given up at once; NULL: never  */
    bool slow;            /* the network for slow walking, beside the one that was inherited */
};

/* One batch: a row of the learning curve. */
struct nm_learned {
    double seconds;               /* of work until its end, over all resumed runs       */
    double steps;                 /* of policies, in all                                */
    double reward;                /* a period, mean                                     */
    double falls;                 /* a second                                           */
    double watts;                 /* mean of the servos                                 */
    double noise;                 /* of the actions, mean                               */
    double change;                /* of the policy: divergence in the last epoch        */
    double gain;                  /* of the surrogate in the last epoch: what the small steps brought, by the critic */
    double rate;                  /* of learning                                        */
    double reached[NM_WALK_WAYS]; /* share of what was asked, smoothed     */
    struct nm_walk_limits limits; /* what was asked at most                */
};

struct nm_trainer;

struct nm_trainer *nm_trainer_new(const struct nm_body *body, const struct nm_pitch *pitch,
                                  const struct nm_learn_options *options, struct nm_err *err);
void nm_trainer_free(struct nm_trainer *trainer);
/* Begins with what another body has learned instead of nothing (learn/inherit.h). */
int nm_trainer_inherit(struct nm_trainer *trainer, const struct nm_body *body, const struct nm_net *policy,
                       struct nm_err *err);

/* Plays and learns once. 1 if it was given up because of `quit`, -1 with a sentence if another process is gone; then
 * everything is as it was after the batch before. -1 too if the numbers have gone out of all bounds. */
int nm_trainer_batch(struct nm_trainer *trainer, struct nm_err *err);
/* The learning curve so far; the last row is that of the last batch. */
const struct nm_learned *nm_trainer_curve(const struct nm_trainer *trainer, uint32_t *n);
/* Physical steps that worlds have made in this process. */
uint64_t nm_trainer_ticks(const struct nm_trainer *trainer);

/* Everything that is needed to go on, in a file of our own. A resumed run draws other bodies and commands than the one
 * that was interrupted would have drawn. */
int nm_trainer_save(const struct nm_trainer *trainer, const char *path, struct nm_err *err);
int nm_trainer_load(struct nm_trainer *trainer, const char *path, struct nm_err *err); /* rank 0 reads, for all */
/* The same from memory; `name` is for sentences. What is refused leaves the trainer as it was. */
int nm_trainer_take(struct nm_trainer *trainer, const char *name, const void *bytes, size_t n, struct nm_err *err);

/* The policy, with notes that say what its numbers mean. */
struct nm_net *nm_trainer_net(const struct nm_trainer *trainer, struct nm_err *err);

/* The policy alone, without noise, in worlds that no training saw. */
int nm_trainer_test(struct nm_trainer *trainer, uint64_t first_seed, uint32_t runs, double seconds,
                    struct nm_learn_score scores[NM_LEARN_SCORES], struct nm_err *err);
