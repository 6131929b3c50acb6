/* A folder of a test's own below the build folder, with a few files in it. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void place_new(char *root, size_t size)
{
    snprintf(root, size, "%s/place-XXXXXX", NM_BUILD);
    if (!mkdtemp(root)) abort();
}

static inline int place_remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static inline void place_free(const char *root) { nftw(root, place_remove_one, 16, FTW_DEPTH | FTW_PHYS); }

/* Writes a file with the folders above it. */
static inline void place_write(const char *root, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) abort();
}

/* The text of a file; "(none)" if there is none. */
static inline const char *place_read(const char *root, const char *name, char *text, size_t size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "r");
    if (!file) return "(none)";
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return text;
}
