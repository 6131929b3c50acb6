/* The inside of a started line-up, shared by the files of src/core that run it.
 *
 *   player ── cycles ── instances ── ports
 *      │         │
 *      │         ├── board: two buffers for each value it makes, a ring for each queue it makes
 *      │         └── inboxes: one mailbox for each cycle it reads from
 *      └── topics: counts, blob pools
 *
 * Inside a cycle a message is a pointer: an output has two buffers, the step writes the hidden one, nm_put makes them
 * change places and the readers' pointers follow. Between two cycles a mailbox carries the whole set of topics as it
 * stood when the producing cycle ended: three buffers, one owned by each side and one in between, exchanged by one
 * atomic instruction; queues travel beside it in single-producer single-consumer rings whose heads are part of the set.
 * An edge is a cycle without modules that somebody else drives.
 *
 * Several edges may bring the same value. Then each edge has its own mailbox, and for every topic the message that was
 * published last counts. A mailbox moves the pointers of a topic only for a newer message of that topic. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/blob.h"
#include "core/player.h"
#include "core/tf.h"

/* ---- one port of one instance (or edge) ---- */

struct port {
    const struct nm_port *row;
    uint32_t topic;
    void *member;                  /* where the module's struct has it; NULL where there is none       */
    struct source *source;         /* inputs: where the cycle gets the topic                            */
    struct value *value;           /* outputs of one value                                              */
    struct nm_ring *ring;          /* outputs of a queue                                                */
    uint64_t taken;                /* queue inputs: last local message seen                             */
    uint64_t lost;                 /* queue inputs: losses reported so far                               */
    const void **at;               /* queue inputs: room for the pointers                               */
    uint32_t cap;                  /* of `at`                                                           */
    uint64_t client;               /* who asks (requests) or is answered (replies); 0: everybody        */
    bool outside;                  /* edges: what it brings was said by somebody outside                */
    const struct nm_cycle *closed; /* edges: made by this edge of ours, so it is not taken from outside; NULL: open */
};

/* ---- what a cycle makes ---- */

struct value {
    uint32_t topic;
    const struct nm_type *type;
    void *front, *back; /* published and hidden message, each behind its slot                */
    uint64_t seq;
    uint64_t noted;        /* last one in a note of its cycle (run_record.c)                        */
    struct source *source; /* its readers in this cycle, or NULL                                */
};

struct nm_ring {
    uint32_t topic;
    const struct nm_type *type;
    struct nm_cycle *cycle;
    uint32_t cap;    /* messages a run; two runs are kept, for readers that step earlier   */
    uint32_t stride; /* bytes of slot and message                                         */
    uint32_t in_run; /* pushed in this run                                                */
    uint64_t total;  /* pushed ever; message i (from 1) lies in slot i % (2 cap)          */
    uint64_t noted;  /* last one in a note of its cycle (run_record.c)                        */
    uint64_t lost;
    unsigned char *slots; /* 2 cap of them and one of scratch                                  */
};

/* ---- between two cycles ---- */

struct lane { /* a queue inside a mailbox */
    uint32_t topic;
    const struct nm_type *type;
    struct nm_ring *ring; /* producer's queue, or                                             */
    struct value *value;  /* producer's value of which every change is wanted                 */
    uint64_t sent;        /* producer: last message looked at                                 */
    uint64_t written;     /* producer: message i (from 1) lies in slot i % cap                */
    uint64_t read;        /* consumer: this run's batch ends here, and begins behind `freed`  */
    uint32_t cap, stride;
    unsigned char *slots;
    _Atomic uint64_t freed; /* consumer                                                         */
    _Atomic uint64_t lost;
};

struct letter {          /* one of three buffers */
    unsigned char *data; /* slots and messages of the values                                 */
    uint64_t *heads;     /* of each lane, when the set was closed                            */
};

struct mailbox {
    struct nm_cycle *from, *to;
    uint32_t n_values, n_lanes;
    struct value **values;   /* the producer's                                                  */
    uint32_t *offsets;       /* of each slot in a letter                                        */
    struct source **sources; /* the consumer's                                                  */
    uint64_t *seen;          /* consumer: seq taken in                                          */
    uint64_t *seen_run;      /* consumer: the run in which it came                              */
    struct lane *lanes;
    struct letter letters[3];
    uint32_t write, read;                 /* letters owned by either side                                    */
    uint32_t trigger;                     /* topic that wakes the consumer; NM_NONE: none                    */
    bool wakes_always;                    /* an edge that waits for anything                                 */
    _Alignas(64) _Atomic uint32_t middle; /* index of the third letter, and a bit: not yet read */
};

/* Where a cycle reads a topic: its own board, or what came in. */
struct source {
    uint32_t topic;
    const struct nm_type *type;
    struct value *value;  /* made in this cycle                                              */
    struct nm_ring *ring; /* made in this cycle                                              */
    struct lane **lanes;  /* come in                                                         */
    const void *message;  /* latest that came in; never NULL                                 */
    struct mailbox *box;  /* that brought it; NULL: none yet                                 */
    uint64_t order;       /* of it, among the topic's messages of all makers                 */
    uint32_t n_lanes, n_in, n_last, n_queue;
    uint32_t depth; /* that its queue ports ask for                                    */
    struct port **in, **last;
};

/* ---- running ---- */

enum { BUCKETS = 128 }; /* of durations, see tally.c */

struct tally { /* durations, written by one thread, read by any */
    _Atomic uint64_t n, sum;
    _Atomic int64_t max;
    _Atomic uint32_t bucket[BUCKETS];
};

struct nm_instance {
    const struct nm_lineup_instance *plan;
    const struct nm_module *module;
    struct nm_cycle *cycle;
    void *self;
    void *birth;         /* its struct after init, where it is recorded or replayed; see snapshot.c */
    uint8_t *port_words; /* of it: for each word whether it belongs to a port */
    struct nm nm;
    uint32_t n_ports, n_outs, n_queues, n_lasts;
    struct port *ports;
    struct port **outs, **queues, **lasts; /* by kind, for the loop of a run */
    struct tally busy;
};

struct nm_cycle {
    struct nm_player *player;
    uint32_t index; /* among the player's cycles; edges come after those of the line-up */
    const char *name;
    const struct nm_lineup_cycle *plan; /* NULL: an edge */
    uint64_t run;
    int64_t now, dt;
    bool watched;                         /* somebody looks at what its modules show */
    struct nm_instance *_Atomic stepping; /* NULL: none */
    pthread_t runner;                     /* of this run */
    uint32_t n_instances, n_values, n_rings, n_sources, n_in, n_out;
    struct nm_instance **instances; /* in the order of their steps */
    int64_t *marks;                 /* clock before the first step and after each */
    struct value *values;
    struct nm_ring *rings;
    struct source *sources;
    struct mailbox **in, **out;
    struct nm_ring *log, *show;
    struct tf_tree *tf; /* NULL: nobody asks */
    struct port tf_ports[2];
    /* edges */
    uint32_t feeds; /* in a replay: the only cycle that gets what this edge makes; NM_NONE: everybody */
    uint32_t n_edge_ports;
    struct port *edge_ports;
    struct nm_port *edge_rows;
    struct nm_lineup_cycle *_Atomic beat; /* of an edge that has its own thread */
    void (*round)(void *user, int64_t now);
    void *user;
    _Atomic bool halt; /* ends that thread */
    /* virtual time */
    int64_t next; /* start of the next run                                */
    int64_t due;  /* outputs of the last run appear; INT64_MAX: they have */
    /* threads */
    pthread_t thread;
    uint32_t woken;                     /* edges: wake-ups taken in */
    _Alignas(64) _Atomic uint32_t wake; /* counts wake-ups */
    _Atomic uint32_t sleeping;
    _Atomic int64_t called;      /* ns; the last wake-up */
    _Atomic uint64_t generation; /* of parameters, taken in */
    _Atomic uint64_t runs, misses, skips, timeouts;
    _Atomic int64_t first_start, last_start;
    struct tally busy, late;
    int64_t entered;     /* CPU time of its thread when the run began */
    _Atomic int64_t cpu; /* ns, see nm_player_cpu                      */
    struct notes *notes; /* NULL: nobody takes notes of its runs */
};

struct topic_state {
    _Atomic uint64_t seq;
    _Atomic int64_t time, stamp;
    _Atomic uint64_t lost, no_blob;
    _Atomic uint64_t refused; /* messages from outside on a topic that an edge of ours makes */
    _Atomic uint32_t maker;   /* of the newest message; index of cycle or edge               */
    uint32_t blob;            /* largest an edge brings */
    struct nm_blob_pool *pool;
};

enum { CHANGE_SETS = 16, CHANGES_LEAST = 64, CHANGES_MOST = 1024 /* what a ParameterChange in the log has room for */ };

struct change_set {
    uint32_t n;
    struct nm_change *changes; /* player->most_changes of them */
    uint32_t swap;             /* instance, NM_NONE */
    const struct nm_module *module;
    void *self;                    /* of the new build */
    const struct nm_value *values; /* of its parameters */
    bool keep;
};

struct nm_player {
    struct nm_arena arena;
    const struct nm_lineup *lineup;
    struct nm_player_options options;
    const char *name;
    uint32_t n_cycles, n_all; /* cycles of the line-up; with edges */
    struct nm_cycle **cycles;
    struct nm_instance *instances;
    struct topic_state *topics;
    bool linked; /* mailboxes are there: no more edges */
    _Atomic bool running;
    _Atomic bool real; /* it has run in threads: its clock goes on when it is stopped */
    _Atomic bool stop;
    _Atomic uint32_t watchers; /* of what modules show */
    bool replayed;             /* cycles hear each other through what is fed to them (run_replay.c) */
    struct nm_record *record;  /* NULL: nobody takes notes */
    void *gate;                /* of its edges, see edge/rules/gate.h */
    _Atomic int64_t virtual_now;
    pthread_mutex_t change_lock;
    _Atomic uint64_t generation;
    struct change_set *sets;
    uint32_t most_changes;    /* in one set: as many as there are parameters */
    struct nm_value **values; /* newest of each instance and parameter */
};

/* board.c: messages inside one cycle, and the mailboxes between two */
uint32_t message_stride(const struct nm_type *type);
void *message_new(struct nm_arena *arena, const struct nm_type *type, uint32_t topic);
void *ring_push(struct nm_ring *ring, uint64_t caller, int64_t call);
void value_publish(struct nm_cycle *cycle, struct value *value);
uint32_t port_gather(struct port *port, uint32_t *lost);

bool mailbox_send(struct mailbox *box);    /* true: the consumer's trigger is in it */
void mailbox_receive(struct mailbox *box); /* at the start of the consumer's run    */

static inline struct nm_slot *ring_slot(const struct nm_ring *ring, uint64_t i)
{
    return (struct nm_slot *)(void *)(ring->slots + (size_t)ring->stride * (i % (2 * ring->cap)));
}
static inline struct nm_slot *lane_slot(const struct lane *lane, uint64_t i)
{
    return (struct nm_slot *)(void *)(lane->slots + (size_t)lane->stride * (i % lane->cap));
}

/* link.c: from a line-up's graph to boards and mailboxes */
int player_link(struct nm_player *player, struct nm_err *err);
void port_bind(struct port *port); /* writes the pointers that a module's struct holds */

/* cycle.c: one run, between enter and leave, in the thread of the cycle */
void cycle_enter(struct nm_cycle *cycle);
void cycle_leave(struct nm_cycle *cycle);
void cycle_begin(struct nm_cycle *cycle, int64_t now);
void cycle_steps(struct nm_cycle *cycle);
void cycle_end(struct nm_cycle *cycle);
void cycle_account(struct nm_cycle *cycle);
void cycle_wake(struct nm_cycle *cycle);

/* player.c */
const struct nm_cycle *topic_hardware(const struct nm_player *player, uint32_t topic); /* our edge that makes it */
int instance_start(struct nm_instance *instance, const struct nm_module *module, void *self, struct nm_err *err);

/* change.c */
void changes_apply(struct nm_cycle *cycle);

/* run_record.c: notes of runs */
void record_link(struct nm_player *player);
void record_note(struct nm_cycle *cycle);
void record_change(struct nm_player *player, uint64_t generation, const struct change_set *set);

/* snapshot.c: what a cycle remembers at the end of a run, as bytes; and back. Bytes written, 0 where they do not fit */
void snapshot_births(struct nm_player *player);
size_t snapshot_most(const struct nm_cycle *cycle);
size_t snapshot_write(const struct nm_cycle *cycle, uint8_t *to, size_t room);

/* tally.c */
int64_t tally_end(uint32_t bucket); /* ns, its upper end */
void tally_add(struct tally *tally, int64_t ns);
void tally_read(const struct tally *tally, struct nm_times *times);
