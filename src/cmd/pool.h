/* Pieces of work in processes of their own, several at a time: a crash costs one piece, and two cores do twice the
 * work. A piece sends its result through a pipe as the flat struct that it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct pool {
    uint32_t n;           /* pieces, numbered from 0                                      */
    uint32_t jobs;        /* processes at a time                                          */
    size_t size;          /* of a result                                                  */
    double seconds;       /* of CPU that a piece may take before it is ended; 0: no limit */
    const char *what;     /* the pieces, for a line of progress such as "3 of 20 games"; NULL: no line */
    void *results;        /* [n], where results are put; or NULL                                       */
    size_t why, why_size; /* of a text in a result that says why there is none; size 0: there is no such text */
    /* In a child: fills the result. The child then ends without closing anything of its parent's. */
    void (*work)(void *user, uint32_t index, void *result);
    /* In the parent, as pieces end, in any order; or NULL. `died` says why there is no result. */
    void (*done)(void *user, uint32_t index, const void *result, const char *died);
    bool (*quit)(void); /* true: nothing more is begun, and what was begun gets SIGTERM. NULL: never */
    void *user;
};

/* The members for results of a struct that has a text for why there is none. */
#define POOL_RESULTS(at, type, text)                                                                                   \
    .size = sizeof(struct type), .results = (at), .why = offsetof(struct type, text),                                  \
    .why_size = sizeof((struct type *)0)->text

/* Returns when all pieces have ended; -1 with a sentence if no process can be made. */
int pool_run(const struct pool *pool, struct nm_err *err);
