/* The texts of a new module: its source, its test, and, outside the tree, what builds it and a line-up that plays it.
 * In every text @NAME@ stands for the module's name, @NUTMEG@ for the folder of the tree, @BUILD@ for the build folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

struct skeleton_file {
    const char *path; /* relative to the folder */
    const char *text;
};

struct skeleton {
    const char *name, *nutmeg, *build;
    const char *group; /* folder in src/modules, of a module in the tree */
};

/* NULL if a module may have this name, otherwise what is wrong with it. */
const char *skeleton_name_fault(const char *name);
/* Its files, filled in, ended by {0}. */
const struct skeleton_file *skeleton_files(struct nm_arena *arena, const struct skeleton *skeleton);
/* Writes them below a folder, and the folders they need; refused with a sentence, before anything is written, where one
 * exists. */
int skeleton_write(struct nm_arena *arena, const char *folder, const struct skeleton_file *files, struct nm_err *err);
