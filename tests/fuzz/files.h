/* Files for fuzz targets whose readers take a path: a folder in memory that is removed at the end. */
#pragma once

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FUZZ_FILES = 16 };
static struct {
    char root[64];
    char paths[FUZZ_FILES][128]; /* made, in the order of time: folders before what lies in them */
    int n;
} fuzz;

static inline void fuzz_clean(void)
{
    while (fuzz.n) remove(fuzz.paths[--fuzz.n]);
    rmdir(fuzz.root);
}

static inline const char *fuzz_root(void)
{
    if (*fuzz.root) return fuzz.root;
    strcpy(fuzz.root, access("/dev/shm", W_OK) ? "/tmp/nutmeg-fuzz-XXXXXX" : "/dev/shm/nutmeg-fuzz-XXXXXX");
    if (!mkdtemp(fuzz.root)) abort();
    atexit(fuzz_clean);
    return fuzz.root;
}

/* The path of something in the folder; it will be removed. */
static inline const char *fuzz_path(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", fuzz_root(), name);
    for (int i = 0; i < fuzz.n; i++)
        if (!strcmp(fuzz.paths[i], path)) return fuzz.paths[i];
    if (fuzz.n == FUZZ_FILES) abort();
    return strcpy(fuzz.paths[fuzz.n++], path);
}

static inline void fuzz_folder(const char *name) { mkdir(fuzz_path(name), 0700); }

static inline const char *fuzz_put(const char *name, const void *bytes, size_t n)
{
    const char *path = fuzz_path(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) abort();
    close(fd);
    return path;
}

/* Cuts the next part off an input: up to a NUL, which no text of ours holds. */
static inline size_t fuzz_part(const uint8_t **data, size_t *size, const uint8_t **part)
{
    const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
    size_t n = end ? (size_t)(end - *data) : *size;
    *part = *data;
    *data += n + (end != NULL);
    *size -= n + (end != NULL);
    return n;
}
