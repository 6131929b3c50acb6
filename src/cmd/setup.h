/* What most commands begin with: the modules linked into the program, the folder with robots/ and lineups/,
 * and a line-up loaded from there as the flags say. */
#pragma once

#include <limits.h>

#include "base/arena.h"
#include "body/robot.h"
#include "cmd/options.h"
#include "core/lineup.h"
#include "core/registry.h"

struct setup {
    struct nm_arena arena;
    struct nm_registry registry;
    char root[PATH_MAX];    /* folder with config/, robots/, lineups/; "." if none was found       */
    char program[PATH_MAX]; /* folder of this program: the build folder                            */
};

void setup_begin(struct setup *setup);
void setup_end(struct setup *setup);

/* The flags of every command that loads a line-up. */
struct lineup_flags {
    const char *robot, *head, *body, *place, *event;
    struct texts set;
};
#define LINEUP_FLAGS(f)                                                                                                \
    TEXTS("set", &(f)->set, "INSTANCE.PARAM=VALUE", "sets a parameter over all files; may be repeated"),               \
        TEXT("robot", &(f)->robot, "NAME", "a folder in robots/, instead of the line-up's robot"),                     \
        TEXT("head", &(f)->head, "NAME", "uses the parameters of this head"),                                          \
        TEXT("body", &(f)->body, "NAME", "uses the parameters of this body"),                                          \
        TEXT("place", &(f)->place, "NAME", "uses the parameters of this place"),                                       \
        TEXT("event", &(f)->event, "NAME", "uses the parameters of this event")

/* The modules of plug-ins that the command line names. */
int setup_plugins(struct setup *setup, const struct texts *plugins, struct nm_err *err);

/* Names of the YAML files in a folder of the root and in the folders there, such as motion/forward in scenarios;
 * without what `param save` wrote. */
const char *const *setup_names(struct setup *setup, const char *folder, uint32_t *n);
/* A file as it is; else the file of that name in a folder of the root, such as motion/forward in scenarios. NULL with a
 * sentence that calls it `what`. */
const char *setup_file(struct setup *setup, const char *folder, const char *what, const char *name, struct nm_err *err);
/* A folder or URDF file as it is; else the folder of that name in robots/. NULL with a sentence. */
const char *setup_robot(struct setup *setup, const char *name, struct nm_err *err);

/* The options in the form the loader takes; they point into setup and flags. */
struct nm_lineup_options setup_options(const struct setup *setup, const struct lineup_flags *flags);
/* `name` is a file, or the name of one in lineups/. NULL with sentences. */
struct nm_lineup *setup_lineup(struct setup *setup, const char *name, const struct lineup_flags *flags,
                               struct nm_err *err);
/* The body of the line-up's robot, which must name one; NULL with sentences. It lives as long as the setup. */
const struct nm_body *setup_body(struct setup *setup, const struct nm_lineup *lineup, struct nm_err *err);
