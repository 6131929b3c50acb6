/* metadata.yaml, the file beside the .mcap files of a bag folder, as rosbag2 writes and reads it. We write version 5,
 * which every ROS 2 from humble on reads, and read all versions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "codec/text.h"

struct nm_bag_topic {
    const char *name, *type;
    const char *format; /* of its messages: "cdr"                                                       */
    const char *qos;    /* YAML list as nm_bag_qos makes it; "" if unknown (or in words: version 9 on)  */
    uint64_t messages;
};

struct nm_bag_file {
    const char *path;         /* relative to the folder */
    uint64_t start, duration; /* ns                     */
    uint64_t messages;
};

struct nm_bag {
    uint32_t version;
    const char *storage; /* "mcap"       */
    uint64_t start, duration, messages;
    uint32_t n_topics, n_files;
    struct nm_bag_topic *topics;
    struct nm_bag_file *files;
};

void nm_bag_print(struct nm_text_out *out, const struct nm_bag *bag);

/* NULL with a sentence. Other keys are left to others; a path that leads out of the folder is refused. */
struct nm_bag *nm_bag_parse(struct nm_arena *arena, const char *file, const char *text, size_t size,
                            struct nm_err *err);
struct nm_bag *nm_bag_read(struct nm_arena *arena, const char *path, struct nm_err *err);

/* What a publisher offers: the value of `offered_qos_profiles`, in numbers, which every version reads. */
struct nm_bag_qos {
    uint32_t depth; /* of the last messages that are kept; 0: not known */
    bool best_effort, transient_local, manual;
    int64_t deadline, lifespan, lease; /* ns; 0 or INT64_MAX: for ever */
};
/* One more entry of the list. */
void nm_bag_qos(struct nm_text_out *out, struct nm_bag_qos qos);
