/* The parts of a replay: what a log says about the recorded run (replay_notes.c), running it again and comparing the
 * results (replay_log.c), and playing logs without notes of runs by time (replay_timed.c). */
#pragma once

#include "core/run_replay.h"
#include "record/replay_log.h"

/* A message of a stream, as in the log. */
struct kept {
    struct kept *next;
    uint64_t seq;
    uint64_t run; /* of its maker, where that plays again */
    int64_t time; /* ns, the player's                     */
    uint64_t caller;
    int64_t call;
    size_t n;
    uint8_t bytes[];
};

/* How a cycle gets a stream. */
enum how {
    HOW_NOT,
    HOW_RECORDED, /* what the log says that each run consumed                           */
    HOW_BEFORE,   /* made by the same cycle in the recording: up to its last run        */
    HOW_WITH,     /* the same, by a module that stepped earlier: up to this run         */
    HOW_TIMED,    /* the recorded cycle did not read it: whatever was made before       */
};

/* The messages of a topic that one cycle or edge made. */
struct stream {
    const char *topic, *maker;
    const char *type; /* as the log names it                                        */
    uint32_t at;      /* the topic in the line-up; NM_NONE: nobody knows it there   */
    uint32_t cycle;   /* its maker in the line-up; NM_NONE: an edge, or not played  */
    enum { AS_IS, AS_JPEG, AS_NOTHING } stored;
    bool replayed;                  /* its maker plays again and makes it again                    */
    bool in_log;                    /* there is a channel                                          */
    bool partly;                    /* only some of its makers play again: its messages are counted again */
    enum how *how;                  /* of each cycle                                               */
    uint64_t *fed;                  /* of each cycle: seq (recorded), or run (others) up to which  */
    struct kept *first, **last;     /* from the log                                  */
    struct kept *anew, **last_anew; /* from the replay                             */
    uint64_t newest;                /* seq, read so far                            */
    struct made_run {               /* which run made which, for readers of what is replayed */
        uint64_t seq, run;
    } * runs;
    uint32_t n_runs, runs_room;
    struct asked { /* who asked, of requests and replies */
        uint64_t seq, caller;
        int64_t call;
    } * asked;
    uint32_t n_asked;
    const char *hash;                  /* of its type                                  */
    bool times;                        /* its type holds times                         */
    void *copy;                        /* a message of it, with the times of the log   */
    uint64_t checked;                  /* seq, up to which it was held against the log */
    uint64_t compared, differ, absent; /* messages; absent: not in the log             */
    int out;                           /* channel of the new log                       */
};

/* Whom a note of consumed messages is about. A cycle that reads a topic as a value and as a queue has a note for each.
 */
enum readers { READERS_ALL, READERS_OF_VALUE, READERS_OF_QUEUE };

struct seqs {
    uint32_t stream;
    enum readers readers;
    uint64_t first, last;
};

/* A run of a cycle, as noted. */
struct noted {
    struct noted *next;
    struct nm_run run;
    struct seqs *consumed, *made;
};

struct player_cycle { /* of the line-up that plays */
    struct noted *first, **last;
    uint64_t ran;        /* the last run that was played, or skipped    */
    uint64_t begins;     /* run of the snapshot that it began at        */
    uint64_t generation; /* of parameters that it has                   */
    bool known;          /* the log has runs of it                      */
    bool gap;            /* its notes were lost somewhere, and told     */
};

struct replay {
    const struct replay_options *options;
    struct replay_result *result;
    struct nm_arena arena;
    struct bag bag;
    bool opened;
    bool recorded;  /* by nutmeg: it says more than messages     */
    int64_t offset; /* ns, from the player's clock to the log's */
    uint64_t seed;
    const char *player_name, *digest, *revision, *build, *cpu;

    struct nm_lineup *was, *lineup; /* recorded, and played: may be the same, or the one of the options */
    bool by_time;                   /* the notes of runs, if any, are of no use */
    struct nm_player *player;
    struct nm_replay *replay;
    struct player_cycle *cycles;

    uint32_t n_streams, streams_room;
    struct stream *streams;
    uint32_t **stream_of;   /* part and channel                                     */
    uint32_t *made_streams; /* of each topic and cycle: what it makes; NM_NONE: nothing */
    struct {
        const char *cycle;
        uint32_t n;
        uint32_t *streams; /* index */
        enum readers *readers;
    } * tables; /* what the notes of each cycle and edge refer to */
    uint32_t n_tables;
    struct parameter_change *changes;
    uint32_t n_changes;

    uint64_t from, to; /* log time that is read; to 0: all */
    int64_t break_at;  /* log time; INT64_MAX: never      */
    struct nm_mcap_writer *writer;
    struct bag_out out;

    uint8_t *bytes;
    size_t bytes_room;
    void *scratch;
};

/* What a channel of the log is, in stream_of; from STREAM_FIRST on a stream. */
enum { STREAM_RUNS = 1, STREAM_TRAFFIC = 2, STREAM_FIRST = 3 };

/* ns; what is later makes no sense */
static const uint64_t REPLAY_TIME_MOST = (uint64_t)1 << 62;

struct parameter_change {
    uint64_t generation;
    uint32_t n;
    struct nm_change *changes;
};

/* ---- replay_notes.c: what the log says ---- */

int replay_open(struct replay *r, struct nm_err *err); /* what the log says about the run; streams, parameters */
const char *replay_attachment(struct replay *r, const char *name, struct nm_err *err);
void replay_read(struct replay *r, struct bag_reader *reader, bool *more, uint64_t *reached);
struct stream *replay_stream(struct replay *r, const char *topic, const char *maker);
void replay_close(struct replay *r);
/* Notes a reason why the replay may not be exact, each reason once. */
void replay_cause(struct replay *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports a sentence to the caller. */
void replay_say(struct replay *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Times are the player's, in ns. Where a log that begins in the middle can be played from; -1: it has its beginning. */
int64_t replay_beginning(struct replay *r);
/* Puts every cycle where its last snapshot before `at` was taken, and returns the earliest of those times. Returns -1
 * and does nothing if a cycle has no snapshot. Adds sentences to `err` if a snapshot cannot be restored. */
int64_t replay_snapshots(struct replay *r, int64_t at, struct nm_err *err);

/* ---- replay_log.c, what the others use ---- */

int replay_lineup(struct replay *r, struct nm_err *err); /* chooses what is played, and whether by time */
/* Reports that break_at has come. Times are the player's. */
void replay_break(struct replay *r, int64_t now, const char *before);
/* Waits until it is time, if a speed was asked for. */
void replay_pace(const struct replay *r, int64_t now, double began, int64_t first);
/* A CompressedImage, as CDR, into an Image. */
int replay_jpeg(const uint8_t *cdr, size_t n, struct nm_blob_pool *pool, void *image, struct nm_err *err);
int replay_out_begin(struct replay *r, struct nm_err *err);
int replay_out_end(struct replay *r, struct nm_err *err);
/* Writes a message to the new log, if there is one; its times become the log's. */
void replay_write(struct replay *r, struct stream *s, void *message);

/* ---- replay_timed.c ---- */

int replay_timed(struct replay *r, struct nm_err *err); /* plays the whole log by time; -1 with a sentence */
