/* Logs as files: one or several .mcap files as one log, its messages in the order of time, the choice of topics and
 * time, and new logs made of old ones. Nothing here prints: what could not be read stands in sentences for the caller.
 */
#pragma once

#include <stdio.h>

#include "codec/cdr_walk.h"
#include "codec/mcap_read.h"
#include "codec/mcap_write.h"

struct bag_part {
    const char *path;
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    bool *chosen;      /* channels, by place in the list of contents                     */
    uint32_t *streams; /* of each channel: what the files of a recording have in common  */
};

/* Who says to have written a replay: such a log holds what was made again, not what it was made from. */
#define BAG_REPLAY "nutmeg replay"

struct bag {
    struct nm_arena arena;
    uint32_t n;
    struct bag_part *parts;
    uint64_t messages, first, last;
    const struct nm_mcap_progress *progress; /* is told how far long work has come; may be NULL */
    struct nm_err damage;                    /* files and chunks that could not be read, each named once */
    uint32_t n_streams;
};

/* A .mcap file, or a folder with the files that its metadata.yaml names. A file of a folder that is missing, empty or
 * broken, as a loss of power leaves it, is skipped and noted in `damage`. -1 with sentences if there is nothing to
 * read.
 */
int bag_open(struct bag *bag, const char *path, const struct nm_mcap_progress *progress, struct nm_err *err);
void bag_close(struct bag *bag);

/* A part of a log. */
struct bag_choice {
    uint32_t n_topics;         /* 0: all                                                                     */
    const char *const *topics; /* names, parts of names or patterns with * and ?; several with commas between */
    const char *from, *to;     /* seconds from the start, -S from the end, or @UNIXTIME; NULL: no limit       */
};

/* Marks the channels that were asked for, and the time as a query wants it. -1 with a sentence. */
int bag_choose(struct bag *bag, const struct bag_choice *choice, struct nm_mcap_query_options *time,
               struct nm_err *err);

/* Different names among the channels that were chosen. */
uint32_t bag_topics_chosen(const struct bag *bag);

/* Messages of all parts in the order of time. A chunk that cannot be read is noted in the bag and left out. What a file
 * repeats from the files before it (edge/log/tape.h) comes only once. */
struct bag_reader;
struct bag_reader *bag_reader_new(struct bag *bag, const struct nm_mcap_query_options *time);
/* 1, or 0 at the end. The message lives until the next call. */
int bag_next(struct bag_reader *reader, struct nm_mcap_message *message, uint32_t *part, uint32_t *channel);
/* Chunks that were left out. */
uint32_t bag_reader_free(struct bag_reader *reader);

/* Tells whoever follows the work how much of it is done. */
void bag_tell(const struct bag *bag, uint64_t done, uint64_t all);

/* A foreign text that is safe on a terminal. */
#define BAG_CLEAN(bytes) nm_mcap_clean((char[256]){0}, 256, (bytes))

/* ---- new logs ---- */

/* OUT.mcap, or a folder OUT with OUT_0.mcap and metadata.yaml in it. It has another name until it is whole. */
struct bag_out {
    const char *path; /* of the .mcap                       */
    char *part;       /* its name until it is whole         */
    char *folder;     /* NULL without one                   */
    int file;
    int fault; /* errno of a write that failed       */
};
int bag_out_begin(struct bag_out *out, struct nm_arena *arena, const char *path, bool force, struct nm_err *err);
int bag_out_write(void *out, const void *bytes, size_t n);
/* Gives it its name, or removes it if it is not whole. -1 with a sentence if there is no new log in the end. */
int bag_out_end(struct bag_out *out, bool whole, struct nm_err *err);

struct bag_new {
    const char *path;
    bool force; /* replaces a log that is there already */
    enum nm_mcap_packing packing;
};

/* The chosen part of a log as a new one. */
struct bag_rewritten {
    const char *path; /* of the .mcap; lives as long as the bag */
    struct nm_mcap_totals totals;
    uint32_t channels;
    uint32_t damaged; /* chunks that could not be read and are missing */
};
int bag_rewrite(struct bag *bag, const struct nm_mcap_query_options *time, const struct bag_new *new,
                struct bag_rewritten *made, struct nm_err *err);

/* All that can be read of one file that was cut off or damaged, as a whole one. `found` says what was wrong. */
int bag_recover_file(const char *path, const struct bag_new *new, const struct nm_mcap_progress *progress,
                     struct nm_arena *arena, const char **made, struct nm_mcap_repair *repair, struct nm_err *found,
                     struct nm_err *err);

/* ---- out of a log ---- */

struct bag_export {
    const char *folder; /* a file a topic in it; NULL: all to `to`        */
    FILE *to;
    uint32_t n_paths; /* only these members; 0: all                     */
    const char *const *paths;
    bool json, whole; /* JSON lines instead of CSV; sequences with all their elements */
};
struct bag_exported { /* a file, or a folder of frames */
    const char *path;
    bool frames;
    uint64_t written;
};
enum { BAG_NO_PATH = -2 }; /* no chosen topic has the members that were asked for */
/* Writes the chosen messages. What is left out, and why, is added to `err`; 0 only if that is nothing. */
int bag_export(struct bag *bag, const struct nm_mcap_query_options *time, const struct bag_export *how,
               const struct bag_exported **made, uint32_t *n, struct nm_err *err);
