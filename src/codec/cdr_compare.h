/* Where two messages differ, and over many pairs of them: which members, how often and by how much. Messages are read
 * as bytes by the definitions of their own logs (codec/cdr_walk.h), so they may be of any type and any length; where
 * the two definitions differ, members meet by name, as in codec/cdr_map.h.
 *
 * A place is a member of the type, its elements together: "position[]". A time counts as one number, in seconds. */
#pragma once

#include "base/arena.h"
#include "codec/cdr_walk.h"

struct nm_diff_place {
    const char *path; /* "header.stamp", "joints[].position" */
    uint64_t differ;  /* values that differ                                                                     */
    uint64_t unlike;  /* of them those without a size: texts, lengths, a number against NaN or an infinity      */
    double largest;   /* difference of two numbers                                                              */
    double squares;   /* sum over the differences of numbers                                                    */
    bool number;      /* its values are numbers                                                                 */
    bool listed;      /* in or below a list                                                                     */
    void *user;       /* the caller's, NULL at first                                                            */

    /* inside */
    const char *name;
    bool time, ignored;
    uint32_t n_kids;
    struct nm_diff_place **kids;
    struct nm_diff_place *next; /* all of a comparison, in the order they were met */
};

struct nm_diff {
    /* set by the caller, the rest zero */
    struct nm_arena *arena;
    double tolerance;         /* numbers that are not farther apart do not differ               */
    const char *const *leave; /* paths that are not compared, with everything below them        */
    uint32_t n_leave;
    /* called for every pair of numbers that is compared; NULL: nobody wants them. Then equal bytes are passed over */
    void (*seen)(void *user, struct nm_diff_place *place, double a, double b);
    void *user;

    /* found */
    uint64_t messages;              /* pairs compared                     */
    uint64_t differing;             /* pairs with a difference            */
    char path[256], a[128], b[128]; /* the first difference of all        */
    struct nm_diff_place *places;   /* that were met, in order, by `next` */

    /* inside */
    struct nm_diff_place root, **last;
    const struct nm_def *def_a, *def_b;
    bool same;
};

/* Compares one pair: the number of differences, or -1 with a sentence if the bytes of one are broken. */
int64_t nm_diff_pair(struct nm_diff *diff, const struct nm_def *def_a, const void *a, size_t size_a,
                     const struct nm_def *def_b, const void *b, size_t size_b, struct nm_err *err);

/* What cannot be compared because the definitions differ, a sentence a member; returns how many. */
uint32_t nm_diff_types(const struct nm_def *a, const struct nm_def *b, struct nm_err *found);
