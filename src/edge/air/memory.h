/* The air of a simulated field: radios that hear each other through memory, with the loss, delay, reordering and
 * duplication of a bad network, all drawn from a seed. What happens to a datagram depends on the seed, on who sends and
 * who hears it, and on how many the sender sent before: not on the order in which radios are made or robots computed.
 * One thread drives it; its clock is told. */
#ifndef NM_EDGE_AIR_MEMORY_H
#define NM_EDGE_AIR_MEMORY_H

#include "edge/air/air.h"

enum { NM_AIR_RADIOS = 64, NM_AIR_WAITING = 64 /* datagrams on their way to a radio; more are lost */ };

struct nm_air_options {
    uint64_t seed;
    double loss;      /* 0 to 1: share that a hearer does not get                                           */
    double duplicate; /* 0 to 1: share that it gets twice, the second with a delay of its own               */
    double reorder;   /* 0 to 1: share that is held back by up to `hold`, so that later ones overtake it    */
    int64_t delay;    /* ns, of every datagram                                                              */
    int64_t jitter;   /* ns, at most, evenly, on top                                                        */
    int64_t hold;     /* ns, at most                                                                        */
};

struct nm_air_stats {
    uint64_t sent;    /* by radios                                   */
    uint64_t heard;   /* handed to those who received them           */
    uint64_t lost;    /* by chance; a duplicate is lost on its own   */
    uint64_t crowded; /* found no room at a radio                    */
    uint64_t doubled; /* duplicates made                             */
};

struct nm_air;

/* NULL with a sentence about a share outside 0 to 1 or a negative time. */
struct nm_air *nm_air_new(const struct nm_air_options *options, struct nm_err *err);
void nm_air_free(struct nm_air *air); /* with its radios */

/* A radio at a place; NULL with a sentence if somebody is there already. Lives as long as the air, or until it is
 * closed. Like a real one it does not hear itself. */
struct nm_radio *nm_air_radio(struct nm_air *air, struct nm_air_place place, struct nm_err *err);

/* What is due by now can be received; time does not run backwards. */
void nm_air_advance(struct nm_air *air, int64_t now);
void nm_air_stats(const struct nm_air *air, struct nm_air_stats *stats);

#endif
