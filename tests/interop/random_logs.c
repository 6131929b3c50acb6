/* Half of the check against other people's log libraries (mcap.mjs is the other half).
 *   random_logs write FILE SEED PACKING   a log with random messages of every type; PACKING 0 stored, 1 lz4, 2 zstd
 *   random_logs compare OURS THEIRS       both are sound and hold the same topics, messages, attachments, metadata */
#include <stdio.h>

#include "codec/cdr.h"
#include "codec/mcap_read.h"
#include "codec/mcap_write.h"
#include "messages.h"

enum { ROOM = 4 << 20, ROUNDS = 3 };

static int to_file(void *user, const void *bytes, size_t n) { return fwrite(bytes, 1, n, user) == n ? 0 : -1; }

static int write_extras(struct nm_mcap_writer *w, uint64_t *seed, struct nm_err *err)
{
    uint8_t map[200], data[3000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)random_bits(seed);
    struct nm_mcap_attachment attachment = {
        random_bits(seed) >> 20, 7, nm_bytes_of("robot.urdf"), nm_bytes_of("text/xml"), {data, sizeof data}, 0};
    size_t used = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("robot"), nm_bytes_of("minibot"));
    used = nm_mcap_add_text(map, used, sizeof map, nm_bytes_of("team"), nm_bytes_of("7"));
    struct nm_mcap_metadata metadata = {nm_bytes_of("run"), {map, used}};
    return nm_mcap_attach(w, &attachment, err) || nm_mcap_describe(w, &metadata, err) ? -1 : 0;
}

static int write_log(const char *path, uint64_t seed, int packing)
{
    struct nm_arena arena = {0};
    struct nm_blob_pool *pool = nm_pool_new(&arena, 4096, 512);
    struct nm_err err = {0};
    uint8_t *cdr = nm_take(&arena, ROOM), map[100];
    FILE *file = fopen(path, "wb");
    struct nm_mcap_writer *w = nm_mcap_writer_new(
        &(struct nm_mcap_write_options){.packing = (enum nm_mcap_packing)packing, .chunk_size = 100000});
    if (!file || nm_mcap_start(w, to_file, file, &err)) return perror(path), 1;
    size_t used = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("offered_qos_profiles"), nm_bytes_of("[]"));
    uint64_t time = 1700000000000000000u;
    for (uint32_t i = 0; i < ROUNDS * nm_all_types.n; i++) {
        const struct nm_type *type = nm_all_types.at[i % nm_all_types.n];
        char topic[200];
        snprintf(topic, sizeof topic, "/%s", type->name);
        struct nm_mcap_schema schema = {0, nm_bytes_of(type->name), nm_bytes_of("ros2msg"), nm_bytes_of(type->schema)};
        struct nm_mcap_channel channel = {0, 0, nm_bytes_of(topic), nm_bytes_of("cdr"), {map, used}};
        if (i < nm_all_types.n) { /* added while the log grows; ids are those of the list from then on */
            channel.schema_id = (uint16_t)nm_mcap_add_schema(w, &schema, &err);
            nm_mcap_add_channel(w, &channel, &err);
        }
        uint8_t *message = calloc(1, type->size);
        nm_reset(type, message);
        random_message(&seed, type, message, pool);
        int64_t n = nm_cdr_encode(type, message, cdr, ROOM);
        nm_reset(type, message);
        free(message);
        time += random_below(&seed, 1000000);
        struct nm_mcap_message out = {(uint16_t)(i % nm_all_types.n + 1),
                                      i,
                                      time - random_below(&seed, 2000000),
                                      time / 2,
                                      {cdr, n < 0 ? 0 : (size_t)n}};
        if (nm_mcap_write(w, &out, &err) || (i % 50 == 20 && write_extras(w, &seed, &err)))
            return fputs(err.text, stderr), 1;
    }
    if (nm_mcap_finish(w, &err) || fclose(file)) return fputs(err.text, stderr), 1;
    nm_mcap_writer_free(w);
    nm_arena_free(&arena);
    return 0;
}

/* ---- compare ---- */

struct log {
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    struct nm_mcap_query *query;
    struct nm_mcap_window window;
    struct nm_mcap_message message;
    uint32_t channel;
};

static int open_log(struct log *log, const char *path)
{
    struct nm_err faults = {0}, notes = {0};
    *log = (struct log){0};
    if (nm_mcap_open(&log->source, path, &faults) || nm_mcap_check(&log->source, &faults, &notes) ||
        nm_mcap_contents_read(&log->contents, &log->source, &faults))
        return fputs(faults.text, stderr), -1;
    if (!log->contents.summary) return fprintf(stderr, "%s: no summary: %s", path, log->contents.why.text), -1;
    log->query = nm_mcap_query_new(&log->source, &log->contents, &(struct nm_mcap_query_options){0});
    return 0;
}

static void close_log(struct log *log)
{
    nm_mcap_query_free(log->query);
    nm_mcap_contents_free(&log->contents);
    nm_mcap_window_free(&log->window);
    nm_mcap_close(&log->source);
}

static bool next(struct log *log) { return nm_mcap_query_next(log->query, &log->message, &log->channel, NULL) > 0; }

static bool same_message(const struct log *a, const struct log *b)
{
    const struct nm_mcap_channel *x = &a->contents.channels[a->channel], *y = &b->contents.channels[b->channel];
    const struct nm_mcap_schema *s = nm_mcap_schema_of(&a->contents, x->schema_id),
                                *t = nm_mcap_schema_of(&b->contents, y->schema_id);
    return a->message.log_time == b->message.log_time && a->message.publish_time == b->message.publish_time &&
           a->message.sequence == b->message.sequence && nm_bytes_equal(a->message.data, b->message.data) &&
           nm_bytes_equal(x->topic, y->topic) && nm_bytes_equal(x->metadata, y->metadata) && s && t &&
           nm_bytes_equal(s->name, t->name) && nm_bytes_equal(s->data, t->data);
}

static bool same_extras(struct log *a, struct log *b)
{
    struct nm_mcap_record x, y;
    const struct nm_mcap_contents *c = &a->contents, *d = &b->contents;
    if (c->n_attachments != d->n_attachments || c->n_metadata != d->n_metadata) return false;
    for (uint32_t i = 0; i < c->n_attachments; i++)
        if (nm_mcap_record_at(&a->source, &a->window, c->attachments[i].offset, &x, NULL) ||
            nm_mcap_record_at(&b->source, &b->window, d->attachments[i].offset, &y, NULL) ||
            x.attachment.log_time != y.attachment.log_time || !nm_bytes_equal(x.attachment.name, y.attachment.name) ||
            !nm_bytes_equal(x.attachment.media_type, y.attachment.media_type) ||
            !nm_bytes_equal(x.attachment.data, y.attachment.data))
            return false;
    for (uint32_t i = 0; i < c->n_metadata; i++)
        if (nm_mcap_record_at(&a->source, &a->window, c->metadata[i].offset, &x, NULL) ||
            nm_mcap_record_at(&b->source, &b->window, d->metadata[i].offset, &y, NULL) ||
            !nm_bytes_equal(x.metadata.name, y.metadata.name) ||
            !nm_bytes_equal(x.metadata.metadata, y.metadata.metadata))
            return false;
    return true;
}

static int compare(const char *ours, const char *theirs)
{
    struct log a, b;
    uint32_t n = 0;
    if (open_log(&a, ours) || open_log(&b, theirs)) return 1;
    for (bool more; (more = next(&a)) == next(&b) && more; n++)
        if (!same_message(&a, &b)) return fprintf(stderr, "message %u differs\n", n), 1;
    if (n != a.contents.messages || n != b.contents.messages) return fprintf(stderr, "not as many messages\n"), 1;
    if (!same_extras(&a, &b)) return fprintf(stderr, "attachments or metadata differ\n"), 1;
    printf("%u messages of %u topics are the same in both\n", n, a.contents.n_channels);
    close_log(&a);
    close_log(&b);
    return n ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "write")) return write_log(argv[2], strtoull(argv[3], NULL, 10), atoi(argv[4]));
    if (argc == 4 && !strcmp(argv[1], "compare")) return compare(argv[2], argv[3]);
    fprintf(stderr, "random_logs write FILE SEED PACKING | compare OURS THEIRS\n");
    return 2;
}
