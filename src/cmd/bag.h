/* What the bag commands share: a log as one or several files, its messages in the order of time, the choice of topics
 * and time, progress, and a new log that appears under its name only when it is whole. */
#ifndef NM_CMD_BAG_H
#define NM_CMD_BAG_H

#include "cmd/options.h"
#include "codec/cdr_walk.h"
#include "codec/mcap_read.h"
#include "codec/mcap_write.h"

struct bag_part {
    const char *path;
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    bool *chosen; /* channels, by place in the list of contents */
};

/* Who says to have written a replay: such a log holds what was made again, not what it was made from. */
#define BAG_REPLAY "nutmeg replay"

struct bag {
    struct nm_arena arena;
    uint32_t n;
    struct bag_part *parts;
    uint64_t messages, first, last;
};

/* A .mcap file, or a folder with the files that its metadata.yaml names. Complains and returns -1 if there is nothing
 * to read. */
int bag_open(struct bag *bag, const char *path);
void bag_close(struct bag *bag);

/* --topics and --from, --to, as every command that takes a part of a log has them. */
struct bag_choice {
    struct texts topics;
    const char *from, *to;
};
#define BAG_CHOICE_FLAGS(choice)                                                                                       \
    TEXTS("topics", &(choice)->topics, "A,B", "only these topics: names, parts of names or patterns with * and ?"),    \
        TEXT("from", &(choice)->from, "T", "from T on: seconds from the start, -S from the end, or @UNIXTIME"),        \
        TEXT("to", &(choice)->to, "T", "up to T, without it")

/* Marks the channels that were asked for, and the time as a query wants it. Complains and returns -1. */
int bag_choose(struct bag *bag, const struct bag_choice *choice, struct nm_mcap_query_options *time);

/* Messages of all parts in the order of time. A chunk that cannot be read is told once and left out. */
struct bag_reader;
struct bag_reader *bag_reader_new(struct bag *bag, const struct nm_mcap_query_options *time);
/* 1, or 0 at the end. The message lives until the next call. */
int bag_next(struct bag_reader *reader, struct nm_mcap_message *message, uint32_t *part, uint32_t *channel);
/* Chunks that were left out. */
uint32_t bag_reader_free(struct bag_reader *reader);

/* A line on a terminal that shows how far a long work is; nothing elsewhere, or where it is done soon. */
struct bag_progress {
    struct nm_mcap_progress as; /* for a source */
    const char *what;
    double begun, shown; /* s */
    bool visible;
};
void bag_progress_begin(struct bag_progress *progress, const char *what);
void bag_progress_tell(void *progress, uint64_t done, uint64_t all);
void bag_progress_end(struct bag_progress *progress);

/* A new log: OUT.mcap, or a folder OUT with OUT_0.mcap and metadata.yaml in it. */
struct bag_out {
    const char *path; /* of the .mcap                       */
    char *part;       /* its name until it is whole         */
    char *folder;     /* NULL without one                   */
    int file;
    int fault; /* errno of a write that failed       */
};
int bag_out_begin(struct bag_out *out, struct nm_arena *arena, const char *path, bool force);
int bag_out_write(void *out, const void *bytes, size_t n);
/* Gives it its name, or removes it if it is not whole. Complains and returns -1. */
int bag_out_end(struct bag_out *out, bool whole);

#define BAG_PACKING_FLAG(target) TEXT("compress", target, "HOW", "of the new log: zstd (small), lz4 (fast) or none")
/* -1 and a complaint for another word. */
int bag_packing(const struct usage *usage, const char *word, enum nm_mcap_packing *packing);

/* "12.3 MB" */
const char *bytes_text(char to[32], double bytes);
/* A foreign text that is safe on a terminal. */
#define BAG_CLEAN(bytes) nm_mcap_clean((char[256]){0}, 256, (bytes))

/* Camera frames as pictures: a CompressedImage as it is, an Image as JPEG. */
struct bag_frames {
    bool raw; /* Image */
    struct nm_walk_path data, format, width, height, step;
    uint8_t *jpeg; /* grows; freed by its owner */
    size_t room;
};
/* 1 if messages of this definition are frames, 0 if not, -1 with a sentence. */
int bag_frames_begin(struct bag_frames *frames, const struct nm_def *def, struct nm_err *err);
/* Writes one as FOLDER/<log time>.jpg or .png. */
int bag_frame(struct bag_frames *frames, const char *folder, const struct nm_mcap_message *message, struct nm_err *err);

int bag_cut(int argc, char **argv);
int bag_record(int argc, char **argv);
int bag_recover(int argc, char **argv);
int bag_export(int argc, char **argv);

#endif
