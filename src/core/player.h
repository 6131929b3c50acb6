/* A started line-up: the brain of one robot. It runs in threads (a robot, real time) or in virtual time (simulator,
 * replay, tests), the same modules in the same order; the world outside is connected by edges. */
#ifndef NM_CORE_PLAYER_H
#define NM_CORE_PLAYER_H

#include <pthread.h>

#include "core/lineup.h"

struct nm_player;
struct nm_edge;

struct nm_player_options {
    const char *name;           /* of this robot; the line-up's name if NULL                              */
    uint64_t seed;              /* of all random numbers                                                  */
    bool watched;               /* nm_show is looked at from the start                                    */
    const struct nm_body *body; /* what modules find in their context; must outlive the player     */
    /* called by the thread of a cycle before and after every run; tests forbid malloc between them */
    void (*enter)(void *user);
    void (*leave)(void *user);
    void *user;
};

/* Takes all memory that the line-up will ever need and calls the modules' init. The line-up must live as long as the
 * player. */
struct nm_player *nm_player_new(const struct nm_lineup *lineup, const struct nm_player_options *options,
                                struct nm_err *err);
void nm_player_free(struct nm_player *player); /* stops first if it runs */
const struct nm_lineup *nm_player_lineup(const struct nm_player *player);
uint64_t nm_player_seed(const struct nm_player *player);
const char *nm_player_name(const struct nm_player *player);
int64_t nm_player_now(const struct nm_player *player); /* ns; monotonic clock, or virtual time */

/* ---- edges: a cycle that somebody else drives (a bus, a log, a server, the simulator, a test) ---- */

struct nm_edge_port {
    const char *topic;
    enum nm_port_kind kind;     /* NM_PORT_IN, _QUEUE, _OUT, _OUT_QUEUE                         */
    const struct nm_type *type; /* NULL: whatever the line-up says; checked otherwise           */
    uint32_t depth, blob;       /* 0: the topic's own                                           */
};

/* Between nm_player_new and the start. A topic that nobody in the line-up makes or reads is refused with a sentence,
 * unless it is optional (kind | NM_EDGE_OPTIONAL): then the port stays silent.
 *
 * One writer an input: a topic that no module makes is made by one edge of ours (a bus, a joystick, the simulator).
 * What somebody outside says through an edge (a viewer, a peer) is marked kind | NM_EDGE_OUTSIDE: several edges may
 * bring that, the message published last counts, and it is refused and counted where an edge of ours makes the topic.
 */
enum { NM_EDGE_OPTIONAL = 64, NM_EDGE_OUTSIDE = 128 };
struct nm_edge *nm_edge_new(struct nm_player *player, const char *name, const struct nm_edge_port *ports, uint32_t n,
                            struct nm_err *err);
void nm_edge_begin(struct nm_edge *edge, int64_t now);       /* takes in what the cycles published            */
const void *nm_edge_in(struct nm_edge *edge, uint32_t port); /* latest; NULL only where an optional topic is absent */
bool nm_edge_fresh(const struct nm_edge *edge, uint32_t port);
uint32_t nm_edge_queue(struct nm_edge *edge, uint32_t port, const void *const **at, uint32_t *lost);
/* Reset at begin; NULL where the topic is absent, or where it comes from outside and an edge of ours makes it. */
void *nm_edge_out(struct nm_edge *edge, uint32_t port);
void nm_edge_put(struct nm_edge *edge, uint32_t port);
/* NULL as nm_edge_out. */
void *nm_edge_push(struct nm_edge *edge, uint32_t port);
/* A console line from an edge whose port `port` is rosout; `name` says which part of the player speaks. */
#define nm_edge_log(edge, port, level, name, ...)                                                                      \
    nm_edge_log_((edge), (port), (level), (name), __FILE__, __func__, __LINE__, __VA_ARGS__)
void nm_edge_log_(struct nm_edge *edge, uint32_t port, int level, const char *name, const char *file,
                  const char *function, int line, const char *format, ...) __attribute__((format(printf, 8, 9)));
bool nm_edge_blob(struct nm_edge *edge, uint32_t port, struct nm_blob *blob, uint32_t bytes);
/* The pool that the same blocks come from, for decoders; after the first begin. NULL without one. */
struct nm_blob_pool *nm_edge_pool(const struct nm_edge *edge, uint32_t port);
void nm_edge_end(struct nm_edge *edge); /* publishes and wakes triggered cycles          */
/* Real time: a thread of the edge's own, named after it, that calls `round` every period as a cycle's thread does:
 * rounds that are late are left out and counted, and its times are among those of the cycles (nm_player_cycle_stats).
 * It runs until nm_edge_stop, also while the player is stopped. */
struct nm_edge_beat {
    int64_t period, deadline; /* ns */
    int priority;             /* SCHED_FIFO; 0: none */
    void (*round)(void *user, int64_t now);
    void *user;
};
int nm_edge_start(struct nm_edge *edge, const struct nm_edge_beat *beat, struct nm_err *err);
void nm_edge_stop(struct nm_edge *edge); /* waits for the round under way; fine where it was never started */
/* Sleeps until something that the edge reads was published, or the time-out (ns); false after the time-out. Threads
 * only. */
bool nm_edge_wait(struct nm_edge *edge, int64_t timeout);
void nm_edge_wake(struct nm_edge *edge); /* ends that sleep; from any thread */

/* The edge of ours that makes a topic: a bus, a joystick, the simulator. NULL: none, so it may come from outside. */
const char *nm_player_hardware(const struct nm_player *player, uint32_t topic);

/* Counts a message from outside that was not let in. */
void nm_player_refuse(struct nm_player *player, uint32_t topic);

/* A place for what the edges of this player share: who may come in (edge/rules/gate.h). NULL until one of them fills
 * it. */
void **nm_player_gate(struct nm_player *player);

/* ---- real time ---- */

int nm_player_start(struct nm_player *player, struct nm_err *err);
void nm_player_stop(struct nm_player *player);

/* ---- virtual time ---- */

/* Runs players up to, not including, the time `until` (ns): events in the order of time, then cycle; a cycle's outputs
 * appear at its start plus its cost. Players share nothing meanwhile, so any number of worker threads gives the same
 * bits. Edges are driven by the caller between two calls. Returns -1 when a player is running in threads. */
int nm_players_run(struct nm_player *const *players, uint32_t n, int64_t until, uint32_t workers);
/* Before the first run, for a player that joins a world under way: its time begins there and not at 0. -1 when it has
 * begun already. */
int nm_player_begin(struct nm_player *player, int64_t time);

/* ---- looking in; from any thread ---- */

struct nm_times { /* of the last while, ns */
    double mean;
    int64_t max, p50, p99, p999;
};

struct nm_cycle_stats {
    const char *name;
    uint64_t runs;
    uint64_t misses; /* finished after the deadline                    */
    uint64_t skips;  /* periods left out because a run took too long   */
    double rate;     /* Hz, since the start                            */
    struct nm_times busy, late;
};
/* Who is in a step now. Reads only, so that a signal handler may ask. */
struct nm_stepping {
    const char *robot, *cycle, *instance, *module;
    uint64_t run;
    pthread_t thread;
};
bool nm_player_stepping(const struct nm_player *player, uint32_t cycle, struct nm_stepping *who);

struct nm_step_stats {
    uint64_t steps;
    struct nm_times busy;
};
struct nm_topic_stats {
    uint64_t seq;      /* messages made                                  */
    int64_t time;      /* ns, when the newest was made; 0 if none        */
    int64_t stamp;     /* ns, by its header, else the same: when what it tells of was measured */
    uint64_t lost;     /* queue messages without room, at any reader     */
    uint64_t no_blob;  /* takes from an empty pool                       */
    uint64_t refused;  /* from outside, and not let in                   */
    const char *maker; /* cycle or edge that made the newest; NULL: none */
};
/* Cycles are those of the line-up, in its order; the edges follow. */
uint32_t nm_player_cycles(const struct nm_player *player);
/* Period and deadline of a cycle or of an edge with a thread of its own; NULL for any other edge. */
const struct nm_lineup_cycle *nm_player_plan(const struct nm_player *player, uint32_t cycle);
void nm_player_cycle_stats(const struct nm_player *player, uint32_t cycle, struct nm_cycle_stats *stats);
void nm_player_step_stats(const struct nm_player *player, uint32_t instance, struct nm_step_stats *stats);
void nm_player_topic_stats(const struct nm_player *player, uint32_t topic, struct nm_topic_stats *stats);
/* One more looks at what modules show (nm_show), or one less: each who said yes says no once. */
void nm_player_watch(struct nm_player *player, bool on);

/* ---- changing while it runs; from any thread ---- */

struct nm_change {
    uint32_t instance, param;
    struct nm_value value;
};
/* Applies a set of parameter values (validated by nm_value_parse) at each cycle's next boundary under one generation
 * number, which is returned; -1 with a sentence if a cycle has not yet taken in earlier sets. */
int64_t nm_player_set(struct nm_player *player, const struct nm_change *changes, uint32_t n, struct nm_err *err);
void nm_player_value(const struct nm_player *player, uint32_t instance, uint32_t param, struct nm_value *value);
/* An instance's struct, to look inside once the player has stopped. */
void *nm_player_self(const struct nm_player *player, uint32_t instance);
/* The module of an instance, after swaps. */
const struct nm_module *nm_player_module(const struct nm_player *player, uint32_t instance);
/* Puts another build of a module in an instance's place between two steps. Its ports must be the same. The state is
 * kept when both layouts are known and equal. Returns 1 if it was kept, 0 if it began anew, -1 with a sentence. Waits
 * for the cycle. */
int nm_player_swap(struct nm_player *player, uint32_t instance, const struct nm_module *module, struct nm_err *err);

#endif
