/* Paths and files of configuration: joining, listing, and replacing one as a whole. */
#ifndef NM_CORE_FILES_H
#define NM_CORE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* "folder/name"; just the name if the folder is NULL, "" or ".", or the name begins with '/'. */
const char *nm_path(struct nm_arena *arena, const char *folder, const char *name);
/* The folder of a path: "." where it has none. */
const char *nm_folder_of(struct nm_arena *arena, const char *path);

/* Makes the folders above a path, those that are not there; a path that ends with '/' is made whole. */
int nm_make_folders(const char *path, struct nm_err *err);

bool nm_file_exists(const char *path);
bool nm_folder_exists(const char *path);
/* Names (without the suffix) of what lies in a folder and ends so, sorted; hidden ones left out. No folder: none. */
const char *const *nm_files_in(struct nm_arena *arena, const char *folder, const char *suffix, uint32_t *n);
/* The same for the folders in a folder. */
const char *const *nm_folders_in(struct nm_arena *arena, const char *folder, uint32_t *n);

/* Replaces a file as a whole: a reader sees the old bytes or the new ones, also after a loss of power. Folders are
 * made where they are missing. size 0 removes
 * it. On failure the old file stays, with a sentence and -1. */
int nm_file_replace(const char *path, const char *bytes, size_t size, struct nm_err *err);

#endif
