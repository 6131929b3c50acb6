/* The files of a log: messages go into a bounded ring and from there, by a thread of its own, into MCAP files with
 * chunks that are synced to the disk, a metadata.yaml beside them, rotation, and a floor of free space. Whoever puts
 * messages never waits: without room a message is dropped and counted. A disk that is full, read-only or gone is
 * reported once; the tape tries again and continues in a new file when it can.
 *
 * PATH.mcap is one file (PATH_1.mcap, … after a rotation or a fault), any other path a folder with such files. */
#ifndef NM_EDGE_LOG_TAPE_H
#define NM_EDGE_LOG_TAPE_H

#include "base/error.h"
#include "codec/mcap_write.h"

struct tape;

struct tape_options {
    const char *path;
    enum nm_mcap_packing packing;
    uint64_t rotate;      /* bytes after which a new file begins; 0: never                                */
    int64_t rotate_after; /* ns, the same; 0: never                                                       */
    uint32_t keep;        /* files; older ones are removed; 0: all are kept                               */
    uint64_t floor;       /* bytes that are left free on the disk                                         */
    int64_t flush;        /* ns; an open chunk is no older                                                */
    int64_t retry;        /* ns between two tries after a fault; 0: 2 s                                   */
    bool sync;            /* chunks are forced to the disk, so that they survive a loss of power          */
    int64_t sync_every;   /* ns between two times that this happens, at least; 0: after every chunk       */
    size_t room;          /* bytes of the ring                                                            */
    bool direct;          /* no thread and no ring: whoever puts writes, and nothing is dropped           */
    /* One sentence when the disk fails and one when it works again; by the tape's thread. */
    void (*said)(void *user, const char *sentence);
    void *user;
};

/* Opens the first file; NULL where that can never be, as under a path that is none. A disk that is full or read-only
 * now may be better later: that is only told. */
struct tape *tape_new(const struct tape_options *options, struct nm_err *err);
void tape_end(struct tape *tape);  /* writes what is left, closes */
void tape_free(struct tape *tape); /* ends first */

/* Before the first message, or of a direct tape at any time; a schema of NULL is one that nobody knows. Every file
 * begins with the attachments, the metadata, the standing messages and the last messages of latched channels. Such a
 * repetition has the log time at which its file began, and its own publish time. */
int tape_channel(struct tape *tape, const char *topic, const char *type, const char *schema, struct nm_bytes metadata,
                 struct nm_err *err);
void tape_attach(struct tape *tape, const char *name, const char *media, const void *bytes, size_t n);
void tape_describe(struct tape *tape, const char *name, struct nm_bytes metadata);
void tape_stand(struct tape *tape, const struct nm_mcap_message *message);
/* The last `depth` messages of this channel stand at the beginning of every file that begins after them. */
void tape_latch(struct tape *tape, int channel, uint32_t depth);
/* From now on it may be written: starts the thread. */
int tape_start(struct tape *tape, struct nm_err *err);

/* One caller. False: dropped, and counted for its channel. */
bool tape_put(struct tape *tape, const struct nm_mcap_message *message);
/* Messages of a channel that did not reach a file: no room in the ring, or no disk. */
uint64_t tape_dropped(const struct tape *tape, int channel);
uint32_t tape_begun(const struct tape *tape); /* files, so far */
uint64_t tape_bytes(const struct tape *tape); /* of all files */
int64_t tape_cpu(const struct tape *tape);    /* ns that its thread has worked */
/* Where it writes first, or will. */
const char *tape_path(const struct tape *tape);

#endif
