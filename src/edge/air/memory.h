/* The air of a simulated field: radios that reach each other through memory, with the loss, delay, reordering and
 * duplication of a bad network, all drawn from a seed. What happens to a datagram depends on the seed, its sender and
 * receiver, and the number of datagrams that the sender sent before. It does not depend on the order in which radios
 * are made or robots are computed. One thread uses it and sets its clock. */
#pragma once

#include "edge/air/air.h"

enum { NM_AIR_RADIOS = 64, NM_AIR_WAITING = 64 /* datagrams that wait for a radio; more are lost */ };

struct nm_air_options {
    uint64_t seed;
    double loss;      /* 0 to 1: share that a receiver does not get                                      */
    double duplicate; /* 0 to 1: share that it gets twice, the second time with another delay            */
    double reorder;   /* 0 to 1: share that is held back by up to `hold`, so that later ones overtake it */
    int64_t delay;    /* ns, of every datagram                                                           */
    int64_t jitter;   /* ns, largest additional delay, evenly distributed                                */
    int64_t hold;     /* ns, at most                                                                     */
};

struct nm_air_stats {
    uint64_t sent;    /* by radios                                */
    uint64_t heard;   /* received                                 */
    uint64_t lost;    /* by chance; each copy counts              */
    uint64_t crowded; /* lost because too many waited for a radio */
    uint64_t doubled; /* duplicates made                          */
};

struct nm_air;

/* NULL with a sentence about a share outside 0 to 1 or a negative time. */
struct nm_air *nm_air_new(const struct nm_air_options *options, struct nm_err *err);
void nm_air_free(struct nm_air *air); /* with its radios */

/* A radio at a place; NULL with a sentence if the place is taken. It lives until it or the air is closed. Like a real
 * radio it does not hear itself. */
struct nm_radio *nm_air_radio(struct nm_air *air, struct nm_air_place place, struct nm_err *err);

/* Sets the time: datagrams that are due can be received. Time must not run backwards. */
void nm_air_advance(struct nm_air *air, int64_t now);
void nm_air_stats(const struct nm_air *air, struct nm_air_stats *stats);
