/* The inside of the log edge, shared by log.c, channels.c, notes.c and about.c. One thread (or the caller of
 * nm_log_poll) owns all of it but the atomic members. */
#ifndef NM_EDGE_LOG_COLLECT_H
#define NM_EDGE_LOG_COLLECT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/run_record.h"
#include "core/report.h"
#include "edge/log/log.h"
#include "edge/log/own.h"
#include "edge/log/tape.h"

enum { TAPES = 2 }; /* the log and the black box */

/* Topics of the log itself. */
enum own_topic { OWN_RECORD, OWN_TOPICS, OWN_SNAPSHOT, OWN_PARAMETERS, OWN_CYCLES, OWN_TRAFFIC, OWN_DESCRIPTION, OWN };

struct log_channel { /* a topic of one maker */
    uint32_t topic, maker;
    int id[TAPES]; /* 0: not on this tape */
    uint64_t count;
    uint64_t seen; /* bytes, for the statistics */
};

struct nm_log {
    struct nm_player *player;
    const struct nm_lineup *lineup;
    struct nm_arena arena;
    struct nm_log_options options;
    int64_t offset; /* ns, from the player's clock to the time in the log */
    struct nm_record *record;
    struct nm_edge *edge;
    struct tape *tapes[TAPES];
    enum nm_log_images images[TAPES];

    uint32_t *ports;      /* of each topic, NM_NONE: not read             */
    bool *times;          /* of each topic: its type holds times          */
    uint32_t *channel_of; /* topic x maker: index in channels, or NM_NONE */
    uint32_t n_makers, n_channels;
    struct log_channel *channels;
    _Atomic uint64_t *lost; /* of each topic: messages that found no room on the way here  */
    int own[OWN][TAPES];
    uint64_t own_count[OWN];
    bool opened; /* channels are there */
    bool ended;

    uint8_t *bytes, *picture; /* scratch that grows */
    bool signs;               /* there is a key     */
    uint8_t key[NM_OWN_KEY];  /* for snapshots      */
    size_t bytes_room, picture_room;
    void *scratch; /* a message of the log's own topics */
    struct nm_cycle_mark *marks;

    int64_t snapped, reported; /* ns                                                                   */
    uint32_t begun;            /* files of the tapes: each has a snapshot near its beginning           */
    uint64_t *noted, *told;    /* of each cycle: notes at the beginning of this look, notes in the log */
    uint64_t told_losses;
    pthread_t thread;
    bool threaded;
    _Atomic bool ending;
    _Atomic uint64_t messages;
    _Atomic int64_t cpu;
};

/* channels.c */
int channels_edge(struct nm_log *log, struct nm_err *err); /* ports                     */
int channels_open(struct nm_log *log, struct nm_err *err); /* once the player is linked */
void channels_take(struct nm_log *log);                    /* what the line-up made     */

/* notes.c */
int notes_open(struct nm_log *log, struct nm_err *err);
void notes_look(struct nm_log *log); /* before channels_take: which notes notes_take may take */
void notes_take(struct nm_log *log, bool last);

/* about.c: what every file begins with */
void about_attach(struct nm_log *log, struct tape *tape);

/* A message of ours; `time` is the player's. */
void log_own(struct nm_log *log, enum own_topic topic, int64_t time, const struct nm_type *type, const void *message);
/* The metadata of a channel; in memory that the next call uses again. */
struct nm_bytes channel_metadata(struct nm_log *log, const struct nm_type *type, const char *maker, bool latched,
                                 const char *of);
uint8_t *log_room(uint8_t **bytes, size_t *room, size_t n);

#endif
