/* Builds one module as a plug-in, from all of its files: with the flags of the program's own build
 * (compile_commands.json beside the program) where its source is known there, with those of another module otherwise,
 * with plain ones where there is no such file. A static variable in it is a fault, as in every build.
 *
 * The files of a module are its source, the headers that it includes and that lie among the modules (of a plug-in:
 * beside its source), and every other source of the same folder that includes one of these headers and holds no module
 * of its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "codec/yaml.h"

enum { REBUILD_WORDS = 256, REBUILD_FILES = 64 };

struct rebuild {
    struct nm_arena *arena;
    const char *root, *build;       /* the tree and the build folder                   */
    const struct nm_yaml *commands; /* compile_commands.json, NULL where there is none */
};

/* The files of a module, as full paths. */
struct rebuild_files {
    uint32_t n_sources, n_headers;
    const char *sources[REBUILD_FILES]; /* the first one holds NM_MODULE */
    const char *headers[REBUILD_FILES]; /* of its own                    */
    const char *newer;                  /* a header of the program that was changed after the program was built; NULL */
};

/* A compiler at work. */
struct rebuild_job {
    pid_t pid;          /* 0: none                              */
    const char *log;    /* what it says goes into this file     */
    const char *plugin; /* what it makes                       */
};

void rebuild_begin(struct rebuild *rebuild, struct nm_arena *arena, const char *root, const char *build);

/* Finds the files of the module in `source`, a full path. -1 with a sentence when there are too many. */
int rebuild_find(struct rebuild *rebuild, const char *source, struct rebuild_files *files, struct nm_err *err);

/* The words of the compiler's command, ended by NULL; -1 with a sentence. */
int rebuild_command(struct rebuild *rebuild, const struct rebuild_files *files, const char *plugin, uint64_t layout,
                    const char *words[REBUILD_WORDS], struct nm_err *err);
/* The layout of the struct of a source; folders of headers are those of its command. */
uint64_t rebuild_layout(struct rebuild *rebuild, const char *source);

/* Starts the compiler. `plugin` must be a new name, `log` is replaced. */
int rebuild_start(struct rebuild *rebuild, const struct rebuild_files *files, const char *plugin, const char *log,
                  struct rebuild_job *job, struct nm_err *err);
/* True when it has ended; `ok`: with a plug-in. */
bool rebuild_done(struct rebuild_job *job, bool wait, bool *ok);

/* Cuts a shell command into words: blanks, quotes, backslashes; no more. The number of words, -1 if they are too many.
 */
int rebuild_split(struct nm_arena *arena, const char *command, const char **words, int most);
