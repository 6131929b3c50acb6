#include "edge/log/about.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "core/files.h"

/* Adds the files of the folder and of its subfolders, in the order of their names. */
static void add_folder(struct nm_sha256 *sum, struct nm_arena *arena, const char *folder, int depth)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *path = nm_path(arena, folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && nm_folder_exists(path) && depth) {
            add_folder(sum, arena, path, depth - 1);
        } else if (entries[i]->d_name[0] != '.' && nm_file_exists(path)) {
            unsigned char bytes[4096];
            FILE *file = fopen(path, "rb");
            nm_sha256_add(sum, entries[i]->d_name, strlen(entries[i]->d_name));
            for (size_t got; file && (got = fread(bytes, 1, sizeof bytes, file));) nm_sha256_add(sum, bytes, got);
            if (file) fclose(file);
        }
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

void nm_folder_digest(const char *folder, char digest[65])
{
    struct nm_arena arena = {0};
    struct nm_sha256 sum;
    uint8_t bytes[32];
    nm_sha256_start(&sum);
    add_folder(&sum, &arena, folder, 3);
    nm_sha256_end(&sum, bytes);
    nm_sha256_hex(bytes, digest);
    nm_arena_free(&arena);
}
