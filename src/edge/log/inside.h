/* The inside of a tape, shared by tape.c (ring and thread) and files.c. */
#ifndef NM_EDGE_LOG_INSIDE_H
#define NM_EDGE_LOG_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "edge/log/tape.h"

enum { CHANNELS = 1024, FILES = 4096, EXTRAS = 16, STANDING = 256, LATCHED = 16 };

struct tape_topic {
    const char *topic, *type, *qos;
    uint64_t in_files; /* messages in files that are complete */
    uint64_t pending;  /* in the open chunk                   */
    _Atomic uint64_t dropped;
    uint32_t latch, n_latched;       /* messages that are repeated in every new file, at most and now */
    struct nm_mcap_message *latched; /* the oldest first; their bytes are our own                     */
};

struct tape_file {
    const char *path; /* NULL: removed */
    uint64_t first, last, messages;
};

struct tape {
    struct nm_arena arena;
    struct tape_options options;
    struct nm_mcap_writer *writer;
    bool folder;
    const char *stem; /* path without .mcap, or of the files in the folder */

    uint32_t n_channels, n_attachments, n_metadata, n_standing;
    struct tape_topic topics[CHANNELS + 1]; /* by channel's id */
    struct nm_mcap_attachment attachments[EXTRAS];
    struct nm_mcap_metadata metadata[EXTRAS];
    struct nm_mcap_message standing[STANDING];

    /* the file, used by one thread */
    int fd; /* -1: none */
    int fault;
    uint32_t n_files, next;
    struct tape_file files[FILES];
    uint64_t chunks, synced;        /* of this file: closed, and on the disk */
    int64_t opened, flushed, retry; /* ns */
    int64_t synced_at;              /* ns    */
    int64_t newest;                 /* ns, latest log time */
    bool broken, told;
    uint64_t unwritten; /* since it broke */
    _Atomic uint64_t bytes, closed_bytes;
    _Atomic uint32_t begun; /* files */

    /* the ring */
    uint8_t *ring;
    _Alignas(64) _Atomic uint64_t head; /* bytes put   */
    _Alignas(64) _Atomic uint64_t tail; /* bytes taken */
    uint8_t *scratch;
    size_t scratch_room;
    pthread_t thread;
    bool threaded, started;
    _Atomic bool ending;
    _Atomic int64_t cpu;
};

/* files.c */
int files_open(struct tape *tape, struct nm_err *err);
void files_write(struct tape *tape,
                 const struct nm_mcap_message *message); /* never fails: faults are the tape's state */
void files_tend(struct tape *tape);                      /* now and then: flush, rotate, try again   */
void files_close(struct tape *tape);
void tape_step_back(const char *name); /* names the calling thread, and lets others go first */

#endif
