#include "core/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *nm_path(struct nm_arena *arena, const char *folder, const char *name)
{
    if (!folder || !*folder || !strcmp(folder, ".") || name[0] == '/') return nm_take_text(arena, name);
    return nm_take_format(arena, "%s/%s", folder, name);
}

const char *nm_folder_of(struct nm_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    return slash == path ? "/" : nm_take_format(arena, "%.*s", (int)(slash - path), path);
}

bool nm_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

const char *nm_stem_of(struct nm_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    return nm_take_format(arena, "%.*s", (int)(dot && dot != base ? dot - base : (ptrdiff_t)strlen(base)), base);
}

int nm_make_folders(const char *path, struct nm_err *err)
{
    char folder[4096];
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
        return nm_fail(err, "%.60s…: the path is too long", path);
    for (char *c = folder + (*folder == '/'); *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        if (mkdir(folder, 0777) && errno != EEXIST)
            return nm_fail(err, "%s: the folder cannot be made: %s", folder, strerror(errno));
        *c = '/';
    }
    return 0;
}

bool nm_file_exists(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode);
}

bool nm_folder_exists(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

const char *const *nm_files_in(struct nm_arena *arena, const char *folder, const char *suffix, uint32_t *n)
{
    const char **names = NULL;
    uint32_t cap = 0;
    size_t tail = strlen(suffix);
    *n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        size_t length = strlen(e->d_name);
        if (e->d_name[0] == '.' || length <= tail || strcmp(e->d_name + length - tail, suffix)) continue;
        if (*n == cap) {
            const char **more = nm_take_n(arena, const char *, cap = 2 * cap + 16);
            if (names) memcpy(more, names, *n * sizeof *names);
            names = more;
        }
        names[(*n)++] = nm_take_format(arena, "%.*s", (int)(length - tail), e->d_name);
    }
    if (dir) closedir(dir);
    if (names) qsort(names, *n, sizeof *names, by_text);
    return names;
}

const char *const *nm_folders_in(struct nm_arena *arena, const char *folder, uint32_t *n)
{
    uint32_t all;
    const char *const *names = nm_files_in(arena, folder, "", &all);
    const char **folders = nm_take_n(arena, const char *, all + 1);
    *n = 0;
    for (uint32_t i = 0; i < all; i++)
        if (nm_folder_exists(nm_path(arena, folder, names[i]))) folders[(*n)++] = names[i];
    return folders;
}

int nm_write_all(int file, const void *bytes, size_t size)
{
    for (const char *at = bytes; size;) {
        ssize_t n = write(file, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

/* A new name counts only when its folder is on the disk. */
static int sync_folder(const char *folder)
{
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return -1;
    int rc = fsync(dir);
    close(dir);
    return rc;
}

int nm_file_replace(const char *path, const char *bytes, size_t size, struct nm_err *err)
{
    if (size && nm_make_folders(path, err)) return -1;
    struct nm_arena scratch = {0};
    const char *folder = nm_folder_of(&scratch, path);
    char *fresh = nm_take_format(&scratch, "%s.XXXXXX", path);
    struct stat old;
    mode_t mode = stat(path, &old) ? 0644 : old.st_mode & 0777;
    int rc = 0;

    if (!size) {
        rc = unlink(path) && errno != ENOENT ? -1 : 0;
    } else {
        int file = mkostemp(fresh, O_CLOEXEC);
        rc = file < 0 ? -1 : 0;
        if (!rc) rc = nm_write_all(file, bytes, size) || fsync(file) || fchmod(file, mode) ? -1 : 0;
        int why = errno;
        if (file >= 0) close(file);
        errno = why;
        if (!rc) rc = rename(fresh, path);
        if (rc && file >= 0) {
            why = errno;
            unlink(fresh);
            errno = why;
        }
    }
    if (!rc) rc = sync_folder(folder);
    if (rc) nm_fail(err, "%s: cannot be written: %s", path, strerror(errno));
    nm_arena_free(&scratch);
    return rc ? -1 : 0;
}
