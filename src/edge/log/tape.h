/* The files of a log. Messages go into a bounded ring; a thread takes them from there and writes MCAP files with chunks
 * that are synced to the disk, a metadata.yaml beside them, rotation, and a limit of free space. The caller never
 * waits: if there is no room, a message is dropped and counted. A disk that is full, read-only or gone is reported
 * once; the tape tries again and continues in a new file when the disk works again.
 *
 * PATH.mcap is one file (PATH_1.mcap, … after a rotation or a fault); any other path is a folder with such files. */
#pragma once

#include "base/error.h"
#include "codec/mcap_write.h"

struct tape;

struct tape_options {
    const char *path;
    enum nm_mcap_packing packing;
    uint64_t rotate;      /* bytes after which a new file begins; 0: never                       */
    int64_t rotate_after; /* ns after which a new file begins; 0: never                          */
    uint32_t keep;        /* files; older ones are removed; 0: all are kept                      */
    uint64_t floor;       /* bytes that are left free on the disk                                */
    int64_t flush;        /* ns; an open chunk is closed after this time                         */
    int64_t retry;        /* ns between two tries after a fault; 0: 2 s                          */
    bool sync;            /* chunks are forced to the disk, so that they survive a loss of power */
    int64_t sync_every;   /* ns, the shortest time between two syncs; 0: after every chunk       */
    size_t room;          /* bytes of the ring                                                   */
    bool direct;          /* no thread and no ring: tape_put writes, and nothing is dropped      */
    /* Gets one sentence when the disk fails and one when it works again; called by the tape's thread. */
    void (*said)(void *user, const char *sentence);
    void *user;
};

/* Opens the first file. NULL with a sentence if that can never work, such as for a path that is not valid. A disk that
 * is full or read-only may work later, so that is only reported. */
struct tape *tape_new(const struct tape_options *options, struct nm_err *err);
void tape_end(struct tape *tape);  /* writes what is left and closes */
void tape_free(struct tape *tape); /* ends first                     */

/* Call these before the first message, or at any time for a direct tape. A NULL schema means that it is not known.
 * Every file begins with the attachments, the metadata, the standing messages and the last messages of latched
 * channels. A repeated message has the log time at which its file began, and its own publish time. */
int tape_channel(struct tape *tape, const char *topic, const char *type, const char *schema, struct nm_bytes metadata,
                 struct nm_err *err);
void tape_attach(struct tape *tape, const char *name, const char *media, const void *bytes, size_t n);
void tape_describe(struct tape *tape, const char *name, struct nm_bytes metadata);
void tape_stand(struct tape *tape, const struct nm_mcap_message *message);
/* Every later file begins with the last `depth` messages of this channel. */
void tape_latch(struct tape *tape, int channel, uint32_t depth);
/* Starts the thread; from now on messages can be put. */
int tape_start(struct tape *tape, struct nm_err *err);

/* Only one thread may call it. False: the message was dropped, and counted for its channel. */
bool tape_put(struct tape *tape, const struct nm_mcap_message *message);
/* The number of messages of a channel that did not reach a file: no room in the ring, or a fault of the disk. */
uint64_t tape_dropped(const struct tape *tape, int channel);
uint32_t tape_begun(const struct tape *tape); /* files, so far                 */
uint64_t tape_bytes(const struct tape *tape); /* of all files                  */
int64_t tape_cpu(const struct tape *tape);    /* ns that its thread has worked */
/* The path of the first file. */
const char *tape_path(const struct tape *tape);
/* Names the calling thread and gives it a low priority. */
void tape_step_back(const char *name);
