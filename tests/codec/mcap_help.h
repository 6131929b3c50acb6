/* For tests of logs: a file in memory, and the conformance files of the MCAP project, rebuilt from their description.
 * The description is not part of this project; it is read from ../shared where that is there. */
#ifndef TESTS_CODEC_MCAP_HELP_H
#define TESTS_CODEC_MCAP_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "codec/mcap_read.h"
#include "codec/yaml.h"

#define VECTORS NM_ROOT "/../shared/specs/mcap-vectors"

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

/* ---- records as the description tells them ---- */

static inline uint8_t op_named(const char *name)
{
    for (uint8_t op = 1; op < NM_MCAP_OPS; op++)
        if (!strcmp(nm_mcap_layouts[op].name, name)) return op;
    fail_msg("no record is called %s", name);
    return 0;
}

static inline struct nm_bytes described_bytes(struct nm_arena *arena, const struct nm_yaml *node,
                                              enum nm_mcap_kind kind)
{
    if (node->kind == NM_YAML_SCALAR) return nm_bytes_of(node->text);
    size_t room = 16 * (size_t)node->n + 1000, n = 0;
    uint8_t *bytes = nm_take(arena, room);
    nm_yaml_each(child, node)
    {
        if (kind == NM_MCAP_TEXTS)
            n = nm_mcap_add_text(bytes, n, room, nm_bytes_of(child->key), nm_bytes_of(child->text));
        else if (kind == NM_MCAP_COUNTS)
            n = nm_mcap_add_count(bytes, n, room, (uint16_t)atoi(child->key), strtoull(child->text, NULL, 10));
        else
            bytes[n++] = (uint8_t)atoi(child->text);
    }
    return (struct nm_bytes){bytes, n};
}

static inline struct nm_mcap_record described_record(struct nm_arena *arena, const struct nm_yaml *node)
{
    struct nm_mcap_record record = {.op = op_named(node->first->text)};
    const struct nm_mcap_layout *layout = &nm_mcap_layouts[record.op];
    for (uint32_t i = 0; i < layout->n_fields; i++) {
        const struct nm_mcap_field *field = &layout->fields[i];
        const struct nm_yaml *value = nm_yaml_get(node->first->next, field->name);
        uint8_t *to = (uint8_t *)&record + field->offset;
        static const size_t widths[] = {1, 2, 4, 8};
        if (!value) {
            assert_string_equal(field->name, "crc"); /* of attachments: not told */
        } else if (field->kind <= NM_MCAP_U64) {
            uint64_t number = strtoull(value->text, NULL, 10);
            memcpy(to, &number, widths[field->kind]);
        } else {
            struct nm_bytes bytes = described_bytes(arena, value, field->kind);
            memcpy(to, &bytes, sizeof bytes);
        }
    }
    if (record.op == NM_MCAP_ATTACHMENT) {
        uint8_t bytes[1000];
        size_t n = nm_mcap_encode(&record, bytes, sizeof bytes);
        record.attachment.crc = nm_crc32(0, bytes + NM_MCAP_FRAME, n - NM_MCAP_FRAME - 4);
    }
    return record;
}

/* ---- whole files ---- */

struct vector {
    const char *name, *sha256;
    const struct nm_yaml *records;
    struct buffer file;
};

static inline bool has_feature(const char *name, const char *feature)
{
    size_t n = strlen(feature);
    for (const char *at = strchr(name, '-'); at; at = strchr(at + 1, '-'))
        if (!strncmp(at + 1, feature, n) && (at[1 + n] == '-' || !at[1 + n])) return true;
    return false;
}

static inline bool in_chunks(uint8_t op) { return op >= NM_MCAP_SCHEMA && op <= NM_MCAP_MESSAGE; }

/* The one chunk of a file, and its message indexes. */
static inline void put_chunk(struct vector *v, const struct buffer *records, const struct nm_mcap_message *messages,
                             const uint64_t *offsets, uint32_t n)
{
    struct nm_mcap_record chunk = {.op = NM_MCAP_CHUNK,
                                   .chunk = {.message_start_time = n ? UINT64_MAX : 0,
                                             .uncompressed_size = records->n,
                                             .uncompressed_crc = nm_crc32(0, records->bytes, records->n),
                                             .records = {records->bytes, records->n}}};
    uint8_t entries[16 * 64];
    for (uint32_t i = 0; i < n; i++) {
        uint64_t time = messages[i].log_time;
        if (time < chunk.chunk.message_start_time) chunk.chunk.message_start_time = time;
        if (time > chunk.chunk.message_end_time) chunk.chunk.message_end_time = time;
        memcpy(entries + 16 * i, &time, 8);
        memcpy(entries + 16 * i + 8, &offsets[i], 8);
    }
    buffer_record(&v->file, &chunk, false);
    struct nm_mcap_record index = {.op = NM_MCAP_MESSAGE_INDEX,
                                   .message_index = {messages[0].channel_id, {entries, 16 * (size_t)n}}};
    if (n && has_feature(v->name, "mx")) buffer_record(&v->file, &index, has_feature(v->name, "pad"));
}

static inline void build_vector(struct nm_arena *arena, struct vector *v)
{
    bool chunked = has_feature(v->name, "ch"), padded = has_feature(v->name, "pad"), data = true;
    struct buffer records = {0};
    struct nm_mcap_message messages[64];
    uint64_t offsets[64];
    uint32_t n = 0;
    buffer_write(&v->file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    nm_yaml_each(node, v->records)
    {
        struct nm_mcap_record record = described_record(arena, node);
        bool fixed = nm_mcap_layouts[record.op].fixed;
        if (data && chunked && in_chunks(record.op)) {
            if (record.op == NM_MCAP_MESSAGE) offsets[n] = records.n, messages[n++] = record.message;
            buffer_record(&records, &record, false);
            continue;
        }
        if (records.n) put_chunk(v, &records, messages, offsets, n);
        records.n = 0;
        if (record.op == NM_MCAP_DATA_END) data = false;
        buffer_record(&v->file, &record, padded && !fixed);
    }
    buffer_write(&v->file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    free(records.bytes);
}

/* All of them; NULL, and the test is skipped, where the description is not there. */
static inline struct vector *vectors_new(struct nm_arena *arena, uint32_t *n)
{
    FILE *file = fopen(VECTORS "/conformance.jsonl", "r");
    if (!file) {
        print_message("skipped: the conformance vectors are not there (../shared/specs/mcap-vectors)\n");
        return NULL;
    }
    struct vector *vectors = nm_take_n(arena, struct vector, 1000);
    char *line = NULL;
    size_t size = 0;
    *n = 0;
    for (ssize_t length; (length = getline(&line, &size, file)) > 1 && *n < 1000;) {
        struct nm_err err = {0};
        const struct nm_yaml *node = nm_yaml_parse(arena, "conformance.jsonl", line, (size_t)length, &err);
        if (!node) fail_msg("%s", err.text);
        struct vector *v = &vectors[(*n)++];
        *v = (struct vector){.name = nm_yaml_get(node, "name")->text,
                             .sha256 = nm_yaml_get(node, "sha256")->text,
                             .records = nm_yaml_get(node, "records")};
        build_vector(arena, v);
    }
    free(line);
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

#endif
