/* Paths and files: join paths, list a folder, replace a file as a whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* "folder/name"; just the name if the folder is NULL, "" or ".", or the name begins with '/'. */
const char *nm_path(struct nm_arena *arena, const char *folder, const char *name);
/* The folder of a path: "." where it has none. */
const char *nm_folder_of(struct nm_arena *arena, const char *path);
bool nm_ends_with(const char *text, const char *end);
/* The name of a file without its folder and its ending. */
const char *nm_stem_of(struct nm_arena *arena, const char *path);

/* Makes the missing folders above a path. If the path ends with '/', it is itself a folder and is made, too. */
int nm_make_folders(const char *path, struct nm_err *err);

bool nm_file_exists(const char *path);
bool nm_folder_exists(const char *path);
/* The names of the files of a folder that end with the suffix, sorted, without the suffix and without hidden files.
 * None if the folder does not exist. */
const char *const *nm_files_in(struct nm_arena *arena, const char *folder, const char *suffix, uint32_t *n);
/* The same for the folders in a folder. */
const char *const *nm_folders_in(struct nm_arena *arena, const char *folder, uint32_t *n);

/* Writes all bytes to an open file or pipe; -1 with errno. */
int nm_write_all(int file, const void *bytes, size_t size);
/* Replaces a file as a whole: a reader sees the old bytes or the new ones, also after a loss of power. Missing
 * folders are made. Size 0 removes the file. On failure the old file stays, and the result is -1 with a sentence. */
int nm_file_replace(const char *path, const char *bytes, size_t size, struct nm_err *err);
