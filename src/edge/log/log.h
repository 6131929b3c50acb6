/* The log edge records everything that a line-up publishes, and what every run consumed, as MCAP files that Foxglove
 * and rosbag2 can read and that `nutmeg replay` runs again bit for bit. One thread collects and another one writes the
 * files (tape.h), so a slow disk costs messages of the log but never delays a cycle. What was dropped is counted for
 * each topic and is part of the log.
 *
 * In addition to the log of a run there may be a black box: the last half minute, always, in small files that survive
 * the process. */
#pragma once

#include "codec/mcap_write.h"
#include "core/player.h"

struct nm_log;

enum nm_log_images {
    NM_LOG_JPEG,
    NM_LOG_RAW,
    NM_LOG_THUMBNAILS,
    NM_LOG_NO_IMAGES,
    NM_LOG_IMAGES,
};
extern const char *const nm_log_images_names[NM_LOG_IMAGES];

struct nm_log_options {
    const char *path; /* FILE.mcap, or a folder; NULL: only the black box */
    const char *box;  /* folder of the black box; NULL: none              */
    enum nm_mcap_packing packing;
    enum nm_log_images images;
    int quality;          /* of JPEG, 1 to 100; 0: the usual                           */
    uint64_t rotate;      /* bytes of a file; 0: one file                              */
    uint64_t floor;       /* bytes left free on the disk                               */
    int64_t snapshots;    /* ns between two snapshots of all modules; 0: 5 s           */
    bool virtual_time;    /* messages carry the player's time; nm_log_poll writes them */
    const char *revision; /* of the program                                            */
    const char *build;    /* its build id, made by the linker                          */
    const char *cpu;      /* of this machine                                           */
    /* Gets sentences about the disk; called by a thread of the log. */
    void (*said)(void *user, const char *sentence);
    void *user;
};

/* Call it between nm_player_new and nm_player_start, after all edges that publish something: it adds an edge to the
 * player, which must outlive the log, and opens the files. */
struct nm_log *nm_log_new(struct nm_player *player, const struct nm_log_options *options, struct nm_err *err);
/* After the player has stopped: writes what is left and closes the files. */
void nm_log_end(struct nm_log *log);
void nm_log_free(struct nm_log *log); /* ends first; NULL is allowed */

/* Real time, after nm_player_start: starts the thread that collects. */
int nm_log_start(struct nm_log *log, struct nm_err *err);
/* Virtual time: call it between two calls of nm_players_run. */
void nm_log_poll(struct nm_log *log);

struct nm_log_stats {
    uint64_t messages, bytes, dropped;
    int64_t cpu; /* ns that its threads have worked */
};
void nm_log_stats(const struct nm_log *log, struct nm_log_stats *stats);
const char *nm_log_path(const struct nm_log *log); /* NULL: only a black box */
