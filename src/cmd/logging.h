/* The log of a player as the command line asks for it: flags, files, and the line at the end. */
#pragma once

#include "base/arena.h"
#include "cmd/options.h"
#include "core/player.h"
#include "edge/log/log.h"

struct logging_flags {
    const char *path;     /* FILE.mcap or a folder; NULL: none                     */
    const char *images;   /* NULL: jpeg                                            */
    const char *compress; /* NULL: lz4                                             */
    const char *box;      /* folder of the black box, none; NULL: where there is a body to lose */
    double quality;       /* of JPEG; 0: the usual                                 */
    double rotate;        /* MB; 0: one file                                       */
    double floor;         /* MB left free on the disk                              */
};
#define LOGGING_NONE ((struct logging_flags){.floor = 200})
#define LOGGING_FLAGS(f)                                                                                               \
    TEXT("log", &(f)->path, "PATH",                                                                                    \
         "records everything in a FILE.mcap, or in a folder with files and a metadata.yaml"),                          \
        TEXT("log-images", &(f)->images, "HOW",                                                                        \
             "how images are recorded: jpeg, raw (replays exactly), thumbnails or none"),                              \
        NUMBER("log-quality", &(f)->quality, 1, 100, "N", "JPEG quality (default: 80)"),                               \
        TEXT("log-compress", &(f)->compress, "HOW", "compression: lz4 (fast, default), zstd (small) or none"),         \
        NUMBER("log-rotate", &(f)->rotate, 0, 1e6, "MB", "starts a new file after this many megabytes"),               \
        NUMBER("log-floor", &(f)->floor, 0, 1e7, "MB",                                                                 \
               "stops logging while fewer megabytes are free on the disk (default: 200)"),                             \
        TEXT("black-box", &(f)->box, "FOLDER", "keeps the last 30 s here; none: off (default: on with real servos)")

/* Checks the words, so that a usage fault is told before anything starts. */
int logging_check(const struct usage *usage, const struct logging_flags *flags);

struct logging_how {
    bool virtual_time;
    bool body; /* real servos: a black box unless told otherwise */
};
/* Between nm_player_new and the start, after the other edges. *log stays NULL where none was asked for. */
int logging_open(struct nm_log **log, struct nm_player *player, const struct logging_flags *flags,
                 const struct logging_how *how, struct nm_err *err);
/* The folder whose logs viewers may open: the one of `--log`, otherwise out. */
const char *logging_folder(struct nm_arena *arena, const struct logging_flags *flags);
/* Ends the log and tells what became of it. */
void logging_close(struct nm_log *log, FILE *to);

/* The linker's number of this very build, "" where it gave none. */
const char *program_build(char to[64]);
/* cmd_version.c: what this program was made from */
const char *program_revision(void);
