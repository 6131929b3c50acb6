/* For tests of logs: a file in memory, and the conformance files of the MCAP project. These are rebuilt here, record by
 * record, from their names; tests/data/mcap_conformance.csv has the SHA-256 of each original. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "base/arena.h"
#include "codec/mcap_read.h"

struct buffer {
    uint8_t *bytes;
    size_t n, size;
    size_t most; /* 0, or a disk that is full then */
};

static inline int buffer_write(void *user, const void *bytes, size_t n)
{
    struct buffer *b = user;
    if (b->most && b->n + n > b->most) return -1;
    if (b->n + n > b->size) {
        b->size = 2 * (b->n + n);
        b->bytes = realloc(b->bytes, b->size);
        if (!b->bytes) abort();
    }
    if (n) memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    return 0;
}

static inline void buffer_record(struct buffer *b, const struct nm_mcap_record *record, bool padded)
{
    static const uint8_t padding[] = {1, 0xff, 0xff};
    uint8_t bytes[8192];
    size_t n = nm_mcap_encode(record, bytes, sizeof bytes);
    assert_true(n > 0);
    uint64_t length = n - NM_MCAP_FRAME + (padded ? sizeof padding : 0);
    memcpy(bytes + 1, &length, 8);
    buffer_write(b, bytes, n);
    if (padded) buffer_write(b, padding, sizeof padding);
}

/* ---- the conformance files ---- */

/* A file's name is its input and the features that it was written with, in the order of the alphabet:
 *     ch  one chunk around schemas, channels and messages     mx  its message index     chx  its index in the summary
 *     rsh, rch  schemas and channels again in the summary     st  statistics            sum  summary offsets
 *     ax, mdx   index of attachments, of metadata             pad three bytes more in every record that may grow */
struct vector {
    char name[64], sha256[65];
    struct nm_mcap_record records[40]; /* as a reader meets them, without the chunk and its message index */
    uint32_t n;
    struct buffer file;
};

static inline bool has_feature(const struct vector *v, const char *feature)
{
    size_t n = strlen(feature);
    for (const char *at = strchr(v->name, '-'); at; at = strchr(at + 1, '-'))
        if (!strncmp(at + 1, feature, n) && (at[1 + n] == '-' || !at[1 + n])) return true;
    return false;
}

static inline bool has_input(const struct vector *v, const char *input)
{
    size_t n = strlen(input);
    return !strncmp(v->name, input, n) && (v->name[n] == '-' || !v->name[n]);
}

/* Schema, channel, messages, attachment and metadata of the six inputs. */
static inline void add_inputs(struct vector *v)
{
    static const uint8_t map[] = "\3\0\0\0foo\3\0\0\0bar", data[] = {1, 2, 3}, schema[] = {4, 5, 6};
    static const uint64_t times[] = {0, 2, 1, 3, 3, 5, 4, 7, 8, 9};
    const struct nm_bytes foo_bar = {map, sizeof map - 1}, three = {data, sizeof data};
    bool one = has_input(v, "OneMessage"), ten = has_input(v, "TenMessages"),
         bare = has_input(v, "OneSchemalessMessage");
    if (one || ten)
        v->records[v->n++] = (struct nm_mcap_record){
            .op = NM_MCAP_SCHEMA, .schema = {1, nm_bytes_of("Example"), nm_bytes_of("c"), {schema, sizeof schema}}};
    if (one || ten)
        v->records[v->n++] = (struct nm_mcap_record){
            .op = NM_MCAP_CHANNEL, .channel = {1, 1, nm_bytes_of("example"), nm_bytes_of("a"), foo_bar}};
    if (bare)
        v->records[v->n++] = (struct nm_mcap_record){
            .op = NM_MCAP_CHANNEL, .channel = {1, 0, nm_bytes_of("example"), nm_bytes_of("text"), {0}}};
    if (one || bare)
        v->records[v->n++] = (struct nm_mcap_record){.op = NM_MCAP_MESSAGE, .message = {1, 10, 2, 1, three}};
    for (uint32_t i = 0; ten && i < 10; i++)
        v->records[v->n++] =
            (struct nm_mcap_record){.op = NM_MCAP_MESSAGE, .message = {1, i, times[i], times[i], three}};
    if (has_input(v, "OneMetadata"))
        v->records[v->n++] =
            (struct nm_mcap_record){.op = NM_MCAP_METADATA, .metadata = {nm_bytes_of("myMetadata"), foo_bar}};
    if (has_input(v, "OneAttachment")) {
        struct nm_mcap_record *r = &v->records[v->n++];
        *r = (struct nm_mcap_record){
            .op = NM_MCAP_ATTACHMENT,
            .attachment = {2, 1, nm_bytes_of("myFile"), nm_bytes_of("application/octet-stream"), three, 0}};
        uint8_t bytes[200];
        size_t n = nm_mcap_encode(r, bytes, sizeof bytes);
        r->attachment.crc = nm_crc32(0, bytes + NM_MCAP_FRAME, n - NM_MCAP_FRAME - 4);
    }
}

static inline bool in_chunks(uint8_t op) { return op >= NM_MCAP_SCHEMA && op <= NM_MCAP_MESSAGE; }

/* One entry of a map of counts, as the inputs have one channel. */
static inline struct nm_bytes count_map(struct nm_arena *arena, uint16_t key, uint64_t value)
{
    uint8_t *bytes = nm_take(arena, 10);
    return (struct nm_bytes){bytes, nm_mcap_add_count(bytes, 0, 10, key, value)};
}

/* Writes the data section, fills in the statistics, and the index of what stands there: chunk, attachment, metadata. */
static inline void put_data(struct nm_arena *arena, struct vector *v, struct nm_mcap_statistics *all,
                            struct nm_mcap_record *index)
{
    bool chunked = has_feature(v, "ch"), padded = has_feature(v, "pad");
    struct buffer inside = {0};
    uint8_t entries[16 * 10];
    uint32_t messages = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct nm_mcap_record *r = &v->records[i];
        uint64_t begin = v->file.n;
        if (r->op == NM_MCAP_MESSAGE) {
            uint64_t time = r->message.log_time, offset = inside.n;
            memcpy(entries + 16 * messages, &time, 8);
            memcpy(entries + 16 * messages + 8, &offset, 8);
            if (!messages || time < all->message_start_time) all->message_start_time = time;
            if (time > all->message_end_time) all->message_end_time = time;
            messages++;
        }
        bool within = chunked && in_chunks(r->op);
        buffer_record(within ? &inside : &v->file, r, padded && !within && !nm_mcap_layouts[r->op].fixed);
        uint64_t length = v->file.n - begin;
        all->schema_count = (uint16_t)(all->schema_count + (r->op == NM_MCAP_SCHEMA));
        all->channel_count += r->op == NM_MCAP_CHANNEL;
        if (r->op == NM_MCAP_ATTACHMENT) {
            all->attachment_count++;
            *index = (struct nm_mcap_record){
                .op = NM_MCAP_ATTACHMENT_INDEX,
                .attachment_index = {begin, length, 2, 1, 3, r->attachment.name, r->attachment.media_type}};
        }
        if (r->op == NM_MCAP_METADATA) {
            all->metadata_count++;
            *index = (struct nm_mcap_record){.op = NM_MCAP_METADATA_INDEX,
                                             .metadata_index = {begin, length, r->metadata.name}};
        }
    }
    all->message_count = messages;
    if (messages) all->channel_message_counts = count_map(arena, 1, messages);
    if (!inside.n) return;

    uint64_t start = all->message_start_time, end = all->message_end_time, begin = v->file.n;
    struct nm_mcap_record chunk = {
        .op = NM_MCAP_CHUNK,
        .chunk = {start, end, inside.n, nm_crc32(0, inside.bytes, inside.n), {0}, {inside.bytes, inside.n}}};
    struct nm_mcap_record entry = {.op = NM_MCAP_MESSAGE_INDEX, .message_index = {1, {entries, 16 * (size_t)messages}}};
    buffer_record(&v->file, &chunk, false);
    uint64_t length = v->file.n - begin, behind = v->file.n;
    if (has_feature(v, "mx")) buffer_record(&v->file, &entry, padded);
    all->chunk_count = 1;
    *index = (struct nm_mcap_record){
        .op = NM_MCAP_CHUNK_INDEX,
        .chunk_index = {start, end, begin, length, {0}, v->file.n - behind, {0}, inside.n, inside.n}};
    if (v->file.n > behind) index->chunk_index.message_index_offsets = count_map(arena, 1, behind);
    free(inside.bytes);
}

/* Writes a record behind the data, and keeps it. */
static inline void put_record(struct vector *v, const struct nm_mcap_record *record)
{
    v->records[v->n++] = *record;
    buffer_record(&v->file, record, has_feature(v, "pad") && !nm_mcap_layouts[record->op].fixed);
}

static inline void build_vector(struct nm_arena *arena, struct vector *v)
{
    static const char *const index_features[NM_MCAP_OPS] = {
        [NM_MCAP_CHUNK_INDEX] = "chx", [NM_MCAP_ATTACHMENT_INDEX] = "ax", [NM_MCAP_METADATA_INDEX] = "mdx"};
    struct nm_mcap_record header = {.op = NM_MCAP_HEADER}, index = {0}, statistics = {.op = NM_MCAP_STATISTICS};
    buffer_write(&v->file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    buffer_record(&v->file, &header, has_feature(v, "pad"));
    add_inputs(v);
    uint32_t n_data = v->n;
    put_data(arena, v, &statistics.statistics, &index);
    put_record(v,
               &(struct nm_mcap_record){.op = NM_MCAP_DATA_END, .data_end = {nm_crc32(0, v->file.bytes, v->file.n)}});

    /* the summary: groups of one opcode, each with its offset at the end */
    uint64_t summary = v->file.n, offsets = 0, starts[8];
    uint32_t first = v->n;
    for (uint32_t i = 0; i < n_data; i++)
        if ((v->records[i].op == NM_MCAP_SCHEMA && has_feature(v, "rsh")) ||
            (v->records[i].op == NM_MCAP_CHANNEL && has_feature(v, "rch")))
            starts[v->n - first] = v->file.n, put_record(v, &v->records[i]);
    if (has_feature(v, "st")) starts[v->n - first] = v->file.n, put_record(v, &statistics);
    if (index.op && has_feature(v, index_features[index.op])) starts[v->n - first] = v->file.n, put_record(v, &index);
    uint32_t groups = v->n - first;
    starts[groups] = v->file.n;
    if (groups && has_feature(v, "sum")) offsets = v->file.n;
    for (uint32_t i = 0; offsets && i < groups; i++)
        put_record(v, &(struct nm_mcap_record){
                          .op = NM_MCAP_SUMMARY_OFFSET,
                          .summary_offset = {v->records[first + i].op, starts[i], starts[i + 1] - starts[i]}});

    struct nm_mcap_record footer = {.op = NM_MCAP_FOOTER, .footer = {groups ? summary : 0, offsets, 0}};
    uint8_t bytes[100];
    size_t n = nm_mcap_encode(&footer, bytes, sizeof bytes);
    footer.footer.summary_crc =
        nm_crc32(nm_crc32(0, v->file.bytes + summary, v->file.n - summary), bytes, n - sizeof(uint32_t));
    put_record(v, &footer);
    buffer_write(&v->file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
}

/* All of them. */
static inline struct vector *vectors_new(struct nm_arena *arena, uint32_t *n)
{
    enum { FILES = 416 };
    FILE *file = fopen(NM_ROOT "/tests/data/mcap_conformance.csv", "r");
    assert_non_null(file);
    struct vector *vectors = nm_take_n(arena, struct vector, FILES);
    for (*n = 0; *n < FILES; (*n)++) {
        struct vector *v = &vectors[*n];
        *v = (struct vector){0};
        if (fscanf(file, " %63[^,],%64[0-9a-f]", v->name, v->sha256) != 2) fail_msg("only %u files are listed", *n);
        build_vector(arena, v);
    }
    fclose(file);
    return vectors;
}

static inline void vectors_free(struct vector *vectors, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) free(vectors[i].file.bytes);
}

/* ---- logs of our own ---- */

static inline uint64_t next_random(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A message that was written, to be found again. */
struct wrote {
    int channel;
    uint32_t sequence;
    uint64_t log_time, publish_time;
    uint8_t first;
    uint32_t size; /* data: bytes counting up from `first` */
};

static inline void fill_data(uint8_t *data, const struct wrote *m)
{
    for (uint32_t i = 0; i < m->size; i++) data[i] = (uint8_t)(m->first + i);
}

static inline bool data_are(struct nm_bytes data, const struct wrote *m)
{
    if (data.n != m->size) return false;
    for (uint32_t i = 0; i < m->size; i++)
        if (data.at[i] != (uint8_t)(m->first + i)) return false;
    return true;
}

enum { CHANNELS = 5 };
static inline void add_channels(struct nm_mcap_writer *w)
{
    uint8_t map[200];
    size_t used = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("offered_qos_profiles"), nm_bytes_of("- depth: 1"));
    for (int i = 0; i < CHANNELS; i++) {
        char topic[20], name[30];
        snprintf(topic, sizeof topic, "/topic_%d", i);
        snprintf(name, sizeof name, "test_msgs/msg/Type%d", i / 2);
        struct nm_mcap_schema schema = {
            .name = nm_bytes_of(name), .encoding = nm_bytes_of("ros2msg"), .data = nm_bytes_of("uint8[] data\n")};
        int id = i == 4 ? 0 : nm_mcap_add_schema(w, &schema, NULL);
        struct nm_mcap_channel channel = {.schema_id = (uint16_t)id,
                                          .topic = nm_bytes_of(topic),
                                          .message_encoding = nm_bytes_of("cdr"),
                                          .metadata = {map, used}};
        assert_int_equal(nm_mcap_add_channel(w, &channel, NULL), i + 1);
    }
}

/* A log of n random messages; times jump back at times, chunks overlap. */
static inline void random_log(uint64_t seed, const struct nm_mcap_write_options *options, struct wrote *wrote,
                              uint32_t n, struct buffer *file)
{
    struct nm_mcap_writer *w = nm_mcap_writer_new(options);
    struct nm_err err = {0};
    uint8_t data[5000];
    uint64_t time = 1000000;
    add_channels(w);
    assert_int_equal(nm_mcap_start(w, buffer_write, file, &err), 0);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits = next_random(&seed);
        time += bits >> 20 & 0xffff;
        wrote[i] = (struct wrote){.channel = 1 + (int)(bits % CHANNELS),
                                  .sequence = i,
                                  .log_time = time - (bits >> 8 & 7 ? 0 : bits >> 40 & 0x7ffff),
                                  .publish_time = time / 2,
                                  .first = (uint8_t)bits,
                                  .size = (uint32_t)(bits >> 36 & (bits >> 12 & 15 ? 127 : 4095))};
        fill_data(data, &wrote[i]);
        struct nm_mcap_message message = {
            (uint16_t)wrote[i].channel, i, wrote[i].log_time, wrote[i].publish_time, {data, wrote[i].size}};
        if (nm_mcap_write(w, &message, &err)) fail_msg("%s", err.text);
        if (bits >> 50 == 7) assert_int_equal(nm_mcap_flush(w, &err), 0);
        if (i % 97 == 50) {
            struct nm_mcap_attachment attachment = {
                time, 5, nm_bytes_of("robot.urdf"), nm_bytes_of("text/xml"), {data, wrote[i].size}, 0};
            assert_int_equal(nm_mcap_attach(w, &attachment, &err), 0);
        }
        if (i % 83 == 40) {
            uint8_t map[100];
            size_t used = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("robot"), nm_bytes_of("minibot"));
            assert_int_equal(nm_mcap_describe(w, &(struct nm_mcap_metadata){nm_bytes_of("run"), {map, used}}, &err), 0);
        }
    }
    if (nm_mcap_finish(w, &err)) fail_msg("%s", err.text);
    nm_mcap_writer_free(w);
}

static inline void assert_strict(const struct buffer *file, bool without_notes)
{
    struct nm_mcap_source source = nm_mcap_memory("log", file->bytes, file->n);
    struct nm_err *faults = calloc(1, sizeof *faults), *notes = calloc(1, sizeof *notes);
    if (nm_mcap_check(&source, faults, notes)) fail_msg("%s", faults->text);
    if (without_notes && notes->n) fail_msg("%s", notes->text);
    free(faults);
    free(notes);
}
