/* A player is a started line-up: the software of one robot. It runs in threads (on a robot, in real time) or in virtual
 * time (simulator, replay, tests), with the same modules in the same order. Edges connect it to the world outside. */
#pragma once

#include <pthread.h>

#include "core/lineup.h"

struct nm_player;
struct nm_edge;

struct nm_player_options {
    const char *name;           /* of this robot; NULL: the name of the line-up                    */
    uint64_t seed;              /* of all random numbers                                           */
    bool watched;               /* somebody looks at nm_show from the start                        */
    const struct nm_body *body; /* what modules find in their context; must outlive the player     */
    bool cpu;                   /* the CPU time of its cycles is measured                          */
};

/* Takes all memory that the line-up will ever need and calls init of every module. The line-up must live as long as the
 * player. */
struct nm_player *nm_player_new(const struct nm_lineup *lineup, const struct nm_player_options *options,
                                struct nm_err *err);
void nm_player_free(struct nm_player *player); /* stops it first if it runs */
const struct nm_lineup *nm_player_lineup(const struct nm_player *player);
uint64_t nm_player_seed(const struct nm_player *player);
const char *nm_player_name(const struct nm_player *player);
int64_t nm_player_now(const struct nm_player *player); /* ns, of the monotonic clock or of virtual time */

/* ---- edges ----
 * An edge is a cycle without modules. Other code drives it: a bus, a log, a server, the simulator, a test. */

struct nm_edge_port {
    const char *topic;
    enum nm_port_kind kind;     /* NM_PORT_IN, _QUEUE, _OUT, _OUT_QUEUE                         */
    const struct nm_type *type; /* must be the type of the topic; NULL: any                     */
    uint32_t depth, blob;       /* 0: those of the topic                                        */
};

/* Call it between nm_player_new and the start. A topic that no module of the line-up makes or reads is refused with a
 * sentence. If the port is optional (kind | NM_EDGE_OPTIONAL), it is accepted and nothing ever arrives.
 *
 * Every input has one writer. A topic that no module makes is made by one edge of ours (a bus, a joystick, the
 * simulator). A port that carries what somebody outside says (a viewer, a peer) is marked kind | NM_EDGE_OUTSIDE.
 * Several edges may have such a port for one topic; then the message that was published last counts. If an edge of ours
 * makes the topic, messages from outside are refused and counted. */
enum { NM_EDGE_OPTIONAL = 64, NM_EDGE_OUTSIDE = 128 };
struct nm_edge *nm_edge_new(struct nm_player *player, const char *name, const struct nm_edge_port *ports, uint32_t n,
                            struct nm_err *err);
/* Takes in what the cycles have published. */
void nm_edge_begin(struct nm_edge *edge, int64_t now);
/* The latest message; NULL only if the topic is optional and absent. */
const void *nm_edge_in(struct nm_edge *edge, uint32_t port);
bool nm_edge_fresh(const struct nm_edge *edge, uint32_t port);
uint32_t nm_edge_queue(struct nm_edge *edge, uint32_t port, const void *const **at, uint32_t *lost);
/* The message to fill, reset by nm_edge_begin. NULL if the topic is absent, or if the port is marked NM_EDGE_OUTSIDE
 * and an edge of ours makes the topic. */
void *nm_edge_out(struct nm_edge *edge, uint32_t port);
void nm_edge_put(struct nm_edge *edge, uint32_t port);
/* The next message of a queue, to be filled; NULL in the same cases. */
void *nm_edge_push(struct nm_edge *edge, uint32_t port);
/* Writes a line to the console. `port` must be the edge's port of rosout; `name` says which part of the player speaks.
 */
#define nm_edge_log(edge, port, level, name, ...)                                                                      \
    nm_edge_log_((edge), (port), (level), (name), __FILE__, __func__, __LINE__, __VA_ARGS__)
void nm_edge_log_(struct nm_edge *edge, uint32_t port, int level, const char *name, const char *file,
                  const char *function, int line, const char *format, ...) __attribute__((format(printf, 8, 9)));
bool nm_edge_blob(struct nm_edge *edge, uint32_t port, struct nm_blob *blob, uint32_t bytes);
/* The pool of these blobs, for decoders. Call it after the first nm_edge_begin. NULL: the topic has no pool. */
struct nm_blob_pool *nm_edge_pool(const struct nm_edge *edge, uint32_t port);
/* Publishes what was put and pushed, and wakes the cycles that it triggers. */
void nm_edge_end(struct nm_edge *edge);

/* In real time an edge may have its own thread, which has the edge's name and calls `round` once every period. As in a
 * cycle, rounds that are too late are left out and counted, and nm_player_cycle_stats gives the times. The thread runs
 * until nm_edge_stop, also while the player is stopped. */
struct nm_edge_beat {
    int64_t period, deadline; /* ns */
    int priority;             /* SCHED_FIFO; 0: none */
    void (*round)(void *user, int64_t now);
    void *user;
};
int nm_edge_start(struct nm_edge *edge, const struct nm_edge_beat *beat, struct nm_err *err);
/* Waits for the end of the current round. Does nothing if the thread was never started. */
void nm_edge_stop(struct nm_edge *edge);
/* Sleeps until something that the edge reads is published; false if that takes longer than the time-out (ns). Only for
 * players that run in threads. */
bool nm_edge_wait(struct nm_edge *edge, int64_t timeout);
void nm_edge_wake(struct nm_edge *edge); /* ends that sleep; any thread may call it */

/* Name of the edge of ours that makes a topic (a bus, a joystick, the simulator). NULL if there is none; then the topic
 * may come from outside. */
const char *nm_player_hardware(const struct nm_player *player, uint32_t topic);

/* Counts a message from outside that was refused. */
void nm_player_refuse(struct nm_player *player, uint32_t topic);

/* Where the edges of this player keep what they share: the rules about who may write (edge/rules/gate.h). NULL until
 * one of them has set it. */
void **nm_player_gate(struct nm_player *player);

/* ---- real time ---- */

int nm_player_start(struct nm_player *player, struct nm_err *err);
void nm_player_stop(struct nm_player *player);

/* ---- virtual time ---- */

/* Runs players up to the time `until` (ns), which is not included. Events happen in the order of their times; at the
 * same time, in the order of the cycles. The outputs of a run appear at its start plus the cost of its cycle. Players
 * share nothing during the call, so the result is the same for any number of worker threads. The caller drives the
 * edges between two calls. Returns -1 if a player is running in threads. */
int nm_players_run(struct nm_player *const *players, uint32_t n, int64_t until, uint32_t workers);
/* For a player that joins a running world: its time begins at `time` and not at 0. Call it before the first run; later
 * it returns -1. */
int nm_player_begin(struct nm_player *player, int64_t time);

/* ---- looking inside; any thread may call these ---- */

struct nm_times { /* ns */
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
/* Which instance of a cycle is in its step now; false if none is. It only reads, so a signal handler may call it. */
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
    int64_t stamp;     /* ns, when its content was measured, by its header; without a header, `time` */
    uint64_t lost;     /* queue messages without room, at any reader     */
    uint64_t no_blob;  /* blobs for which the pool had no room           */
    uint64_t refused;  /* messages from outside that were refused        */
    const char *maker; /* cycle or edge that made the newest; NULL: none */
};
/* Number of cycles: first those of the line-up in its order, then the edges. */
uint32_t nm_player_cycles(const struct nm_player *player);
/* Period and deadline of a cycle, or of an edge that has its own thread; NULL for any other edge. */
const struct nm_lineup_cycle *nm_player_plan(const struct nm_player *player, uint32_t cycle);
void nm_player_cycle_stats(const struct nm_player *player, uint32_t cycle, struct nm_cycle_stats *stats);
void nm_player_step_stats(const struct nm_player *player, uint32_t instance, struct nm_step_stats *stats);
int64_t nm_player_cpu(
    const struct nm_player *player); /* ns in all cycles of the line-up, if asked for in the options */
void nm_player_topic_stats(const struct nm_player *player, uint32_t topic, struct nm_topic_stats *stats);
/* Counts who looks at what modules show (nm_show). Whoever calls it with true calls it with false at the end. */
void nm_player_watch(struct nm_player *player, bool on);

/* ---- changing it while it runs; any thread may call these ---- */

struct nm_change {
    uint32_t instance, param;
    struct nm_value value;
};
/* Sets parameters to values that nm_value_parse has checked. Every cycle takes all of them over at the start of its
 * next run. The set gets a generation number, which is returned; -1 with a sentence if a cycle has not yet taken over
 * earlier sets. */
int64_t nm_player_set(struct nm_player *player, const struct nm_change *changes, uint32_t n, struct nm_err *err);
void nm_player_value(const struct nm_player *player, uint32_t instance, uint32_t param, struct nm_value *value);
/* The struct of an instance. Look inside only when the player has stopped. */
void *nm_player_self(const struct nm_player *player, uint32_t instance);
/* The module of an instance, which nm_player_swap may have changed. */
const struct nm_module *nm_player_module(const struct nm_player *player, uint32_t instance);
/* Replaces the module of an instance by another build, between two steps. The ports must be the same. The state is kept
 * if the layouts of both structs are known and equal. Returns 1 if the state was kept, 0 if the module started again,
 * -1 with a sentence. Waits for the cycle. */
int nm_player_swap(struct nm_player *player, uint32_t instance, const struct nm_module *module, struct nm_err *err);
