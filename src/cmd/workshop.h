/* The workshop behind `nutmeg dev`: knows the files of a line-up's modules, notices when one changes, builds the whole
 * module as a plug-in and has the running player swap it in. A module that includes a header of the program which is
 * newer than the program is not built: the two would not fit together. */
#pragma once

#include "cmd/rebuild.h"
#include "core/player.h"

enum { WORKSHOP_SOURCES = 256, WORKSHOP_FOLDERS = 64 };

struct workshop_source {
    const char *module;
    const char *path;           /* NULL: it is not here                   */
    struct rebuild_files files; /* where it is here                       */
    int64_t changed;            /* ns, when we noticed; 0: nothing to do  */
};

struct workshop {
    struct nm_arena arena;
    struct rebuild rebuild;
    char folder[64]; /* of what is built here, removed at the end       */
    int notify;      /* inotify */
    uint32_t n_folders;
    int watches[WORKSHOP_FOLDERS];
    const char *folders[WORKSHOP_FOLDERS];
    uint32_t n_sources;
    struct workshop_source sources[WORKSHOP_SOURCES];
    uint32_t builds; /* counts, for names */
    struct rebuild_job job;
    uint32_t working; /* source that the job builds */
};

/* `root`: the tree; `build`: where its flags are. -1 with a sentence. */
int workshop_begin(struct workshop *shop, const char *root, const char *build, struct nm_err *err);
void workshop_end(struct workshop *shop);

/* Before the player is made: learns the sources of its modules and their layouts. A module whose source is newer than
 * the program is built now, and the line-up plays this build. Prints what it finds. */
int workshop_learn(struct workshop *shop, struct nm_lineup *lineup, struct nm_err *err);

/* Looks for changes and goes on with the work; never waits for the compiler. Prints what happens. */
void workshop_tick(struct workshop *shop, const struct nm_player *player);
