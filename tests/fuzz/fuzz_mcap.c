/* Any bytes as a log: it is read in every way, its messages are printed by its own schemas, and what can be recovered
 * of it is a log without a fault. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/cdr_walk.h"
#include "codec/mcap_read.h"
#include "codec/mcap_schema.h"

enum { CHUNK_MOST = 1 << 20, PRINTED = 50 };

struct file {
    uint8_t *bytes;
    size_t n, size;
};

static int keep(void *user, const void *bytes, size_t n)
{
    struct file *file = user;
    if (file->n + n > file->size) {
        file->size = 2 * (file->n + n);
        file->bytes = realloc(file->bytes, file->size);
        if (!file->bytes) abort();
    }
    memcpy(file->bytes + file->n, bytes, n);
    file->n += n;
    return 0;
}

static void print(const struct nm_mcap_schema *schema, struct nm_bytes data)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    char text[4000];
    const struct nm_def *def = nm_mcap_def(&arena, schema, &err);
    for (unsigned style = 0; def && style < 4; style++) {
        struct nm_text_out out = {.text = text, .size = sizeof text};
        if (nm_walk_print(&out, def, data.at, data.n, style, &err) && !err.n) __builtin_trap(); /* without a sentence */
    }
    for (uint32_t i = 0; def && i < def->n_fields; i++) {
        struct nm_walk_path path;
        double number;
        const uint8_t *bytes;
        size_t n;
        if (nm_walk_path(def, def->fields[i].name, &path, &err)) __builtin_trap();
        nm_walk_number(&path, data.at, data.n, &number, &err);
        nm_walk_bytes(&path, data.at, data.n, &bytes, &n, &err);
    }
    if (!def && !err.n) __builtin_trap();
    nm_arena_free(&arena);
}

/* Messages in the order of time. */
static void read_messages(const struct nm_mcap_source *source)
{
    struct nm_mcap_contents contents;
    struct nm_mcap_message message;
    struct nm_err err = {0};
    uint32_t channel, printed = 0;
    uint64_t last = 0;
    int got;
    if (!nm_mcap_contents_read(&contents, source, &err)) {
        struct nm_mcap_query_options options = {.overlap_bytes = 8 * CHUNK_MOST};
        struct nm_mcap_query *query = nm_mcap_query_new(source, &contents, &options);
        while ((got = nm_mcap_query_next(query, &message, &channel, &err))) {
            if (got < 0) continue; /* a chunk is left out */
            if (message.log_time < last || channel >= contents.n_channels) __builtin_trap();
            last = message.log_time;
            const struct nm_mcap_schema *schema = nm_mcap_schema_of(&contents, contents.channels[channel].schema_id);
            if (schema && printed++ < PRINTED) print(schema, message.data);
        }
        nm_mcap_query_free(query);
    } else if (!err.n) {
        __builtin_trap();
    }
    nm_mcap_contents_free(&contents);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_mcap_source source = nm_mcap_memory("fuzz.mcap", data, size);
    struct nm_err faults = {0}, notes = {0}, found = {0}, err = {0};
    struct nm_mcap_repair repair;
    struct file file = {0};
    source.chunk_most = CHUNK_MOST;
    nm_mcap_check(&source, &faults, &notes);
    read_messages(&source);
    struct nm_mcap_write_options options = {.packing = size % 2 ? NM_MCAP_LZ4 : NM_MCAP_STORED, .chunk_size = 4096};
    if (!nm_mcap_recover(&source, &options, keep, &file, &repair, &found, &err)) {
        struct nm_mcap_source again = nm_mcap_memory("recovered.mcap", file.bytes, file.n);
        struct nm_mcap_contents contents;
        if (nm_mcap_check(&again, &err, &notes)) __builtin_trap();
        if (nm_mcap_contents_summary(&contents, &again) || contents.messages != repair.messages) __builtin_trap();
        nm_mcap_contents_free(&contents);
    } else if (!err.n) {
        __builtin_trap();
    }
    free(file.bytes);
    return 0;
}
