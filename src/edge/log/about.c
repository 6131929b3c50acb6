/* What a replay needs beside the messages, in every file: the line-up, its parameters, seed, revision, CPU, and the
 * way from the robot's clock to the time of day. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "core/files.h"
#include "core/params.h"
#include "edge/log/about.h"
#include "edge/log/collect.h"

static void print_parameters(const struct nm_log *log, FILE *to)
{
    for (uint32_t i = 0; i < log->lineup->n_instances; i++) {
        const struct nm_lineup_instance *instance = &log->lineup->instances[i];
        for (uint32_t p = 0; p < instance->n_params; p++) {
            struct nm_value value;
            char text[NM_VALUE_PRINT];
            nm_player_value(log->player, i, p, &value);
            nm_value_print(&instance->module->params[p], &value, text, sizeof text);
            fprintf(to, "%s.%s=%s\n", instance->name, instance->module->params[p].name, text);
        }
    }
}

/* Files of the folder and of those below it, in the order of their names. */
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

static void attach_text(struct tape *tape, const char *name, const char *media, char *text, size_t n)
{
    tape_attach(tape, name, media, text, n);
    free(text);
}

static void describe(struct nm_log *log, struct tape *tape)
{
    enum { ROOM = 8192 };
    uint8_t *map = log_room(&log->bytes, &log->bytes_room, ROOM);
    const struct nm_log_options *o = &log->options;
    char seed[32], offset[32], digest[65] = "";
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)nm_player_seed(log->player));
    snprintf(offset, sizeof offset, "%lld", (long long)log->offset);
    if (log->lineup->robot_folder) nm_folder_digest(log->lineup->robot_folder, digest);
    const struct {
        const char *key, *value;
    } rows[] = {{"player", nm_player_name(log->player)},
                {"lineup", log->lineup->name},
                {"robot", log->lineup->robot},
                {"robot_digest", digest},
                {"seed", seed},
                {"clock_offset", offset},
                {"clock", o->virtual_time ? "virtual" : "monotonic"},
                {"revision", o->revision},
                {"build", o->build},
                {"cpu", o->cpu}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        n = nm_mcap_add_text(map, n, ROOM, nm_bytes_of(rows[i].key), nm_bytes_of(rows[i].value ? rows[i].value : ""));
    tape_describe(tape, "nutmeg", (struct nm_bytes){map, n});
}

void about_attach(struct nm_log *log, struct tape *tape)
{
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to) abort();
    nm_lineup_print(log->lineup, NULL, to);
    fclose(to);
    attach_text(tape, "lineup.yaml", "application/yaml", text, n);
    to = open_memstream(&text, &n);
    if (!to) abort();
    print_parameters(log, to);
    fclose(to);
    attach_text(tape, "parameters.txt", "text/plain", text, n);
    describe(log, tape);
}
