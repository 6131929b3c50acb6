/* The writer: messages into chunks, chunks into the file, and at its end the summary. */
#include "codec/mcap_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/crc32.h"
#include "codec/mcap_pack.h"

struct kept_schema {
    struct nm_bytes record; /* with its frame, as it is written */
    bool written;           /* in this file                     */
};

struct kept_channel {
    struct nm_bytes record;
    uint16_t schema;
    bool written;
    uint64_t count;    /* messages in this file                               */
    uint32_t in_chunk; /* messages in the open chunk                          */
    uint8_t *entries;  /* while the chunk is closed: where its next one goes  */
};

struct entry { /* of a message in the open chunk */
    uint16_t channel;
    uint64_t time, offset;
};

/* Index records of one kind, encoded, until the summary takes them. */
struct index {
    uint8_t *bytes;
    size_t used, size;
    bool grows;
};

struct nm_mcap_writer {
    struct nm_arena arena;
    struct nm_mcap_write_options options;
    struct kept_schema *schemas; /* an id is an index + 1 */
    struct kept_channel *channels;
    uint32_t n_schemas, schemas_room, n_channels, channels_room;

    /* the open chunk */
    uint8_t *records;
    size_t used, records_size;
    struct entry *entries;
    uint16_t *touched; /* channels with messages in it */
    uint32_t n_entries, n_touched, entries_most;
    uint64_t chunk_first, chunk_last;

    /* on the way out */
    struct nm_mcap_packer *packer;
    uint8_t *out;
    size_t packed_most, out_size;
    nm_mcap_sink *sink; /* NULL: no file, or its output failed */
    void *user;
    bool in_summary;
    uint32_t data_crc, summary_crc;

    struct index chunks, attachments, metadata;
    struct nm_mcap_totals totals;
};

enum {
    CHUNK_SIZE = 768 << 10,
    FEW = 64 << 10,                                         /* bytes for indexes of attachments, and of metadata */
    CHUNK_HEAD = NM_MCAP_FRAME + 8 + 8 + 8 + 4 + 4 + 4 + 8, /* "zstd" is the longest name                        */
    CHUNK_INDEX = NM_MCAP_FRAME + 4 * 8 + 4 + 8 + 4 + 4 + 2 * 8,
    INDEX_HEAD = NM_MCAP_FRAME + 2 + 4,
    INDEX_ENTRY = 16,
    OFFSET_ENTRY = 10,
    NEWCOMERS = 64, /* channels that may be added while a chunk is open */
};

static struct index index_new(struct nm_arena *arena, size_t size)
{
    return (struct index){.bytes = size ? nm_take(arena, size) : NULL, .size = size, .grows = !size};
}

/* The buffers for a chunk before and after packing. */
static int buffers_grow(struct nm_mcap_writer *w, size_t records_size)
{
    size_t packed_most = nm_mcap_packed_most(w->options.packing, records_size);
    size_t indexes = (size_t)w->entries_most * (INDEX_ENTRY + INDEX_HEAD + OFFSET_ENTRY);
    uint8_t *records = realloc(w->records, records_size);
    if (records) w->records = records;
    uint8_t *out = records ? realloc(w->out, CHUNK_HEAD + packed_most + indexes) : NULL;
    if (!out) return -1;
    w->out = out;
    w->records_size = records_size;
    w->packed_most = packed_most;
    w->out_size = CHUNK_HEAD + packed_most + indexes;
    return 0;
}

struct nm_mcap_writer *nm_mcap_writer_new(const struct nm_mcap_write_options *options)
{
    struct nm_arena arena = {0};
    struct nm_mcap_writer *w = nm_take_n(&arena, struct nm_mcap_writer, 1);
    w->options = *options;
    w->options.profile = nm_take_text(&arena, options->profile ? options->profile : "ros2");
    w->options.library = nm_take_text(&arena, options->library ? options->library : "nutmeg");
    if (!w->options.chunk_size) w->options.chunk_size = CHUNK_SIZE;
    w->entries_most = w->options.chunk_size / NM_MCAP_MESSAGE_HEAD + 1;
    w->entries = nm_take_n(&arena, struct entry, w->entries_most);
    w->touched = nm_take_n(&arena, uint16_t, w->entries_most);
    w->packer = nm_mcap_packer_new(&arena, options->packing, options->level);
    /* a chunk holds up to chunk_size bytes, or one message of any size behind its schema and channel */
    if (buffers_grow(w, (size_t)w->options.chunk_size + w->options.message_most + NM_MCAP_MESSAGE_HEAD)) abort();

    w->chunks = index_new(&arena, options->summary_bytes);
    w->attachments = index_new(&arena, options->summary_bytes ? FEW : 0);
    w->metadata = index_new(&arena, options->summary_bytes ? FEW : 0);
    w->arena = arena;
    return w;
}

void nm_mcap_writer_free(struct nm_mcap_writer *w)
{
    if (!w) return;
    struct index *all[] = {&w->chunks, &w->attachments, &w->metadata};
    for (int i = 0; i < 3; i++)
        if (all[i]->grows) free(all[i]->bytes);
    free(w->records);
    free(w->out);
    struct nm_arena arena = w->arena;
    nm_arena_free(&arena);
}

/* ---- schemas and channels ---- */

/* The whole record, which is written as it is when it is needed first, and again in the summary. */
static struct nm_bytes keep(struct nm_mcap_writer *w, const struct nm_mcap_record *record)
{
    size_t size = nm_mcap_size(record);
    uint8_t *bytes = nm_take(&w->arena, size);
    nm_mcap_encode(record, bytes, size);
    return (struct nm_bytes){bytes, size};
}

int nm_mcap_add_schema(struct nm_mcap_writer *w, const struct nm_mcap_schema *schema, struct nm_err *err)
{
    enum { ID = NM_MCAP_FRAME + 2 }; /* all behind it is the schema itself */
    struct nm_mcap_record record = {.op = NM_MCAP_SCHEMA, .schema = *schema};
    if (w->n_schemas + 1 >= NM_MCAP_IDS) return nm_fail(err, "more than %d schemas in one log", NM_MCAP_IDS - 1);
    record.schema.id = (uint16_t)(w->n_schemas + 1);
    struct nm_bytes kept = keep(w, &record);
    for (uint32_t i = 0; i < w->n_schemas; i++) {
        struct nm_bytes old = w->schemas[i].record;
        if (old.n == kept.n && !memcmp(old.at + ID, kept.at + ID, kept.n - ID)) return (int)i + 1;
    }
    w->schemas = nm_take_more(&w->arena, w->schemas, w->n_schemas, &w->schemas_room, sizeof *w->schemas);
    w->schemas[w->n_schemas] = (struct kept_schema){.record = kept};
    return (int)++w->n_schemas;
}

int nm_mcap_add_channel(struct nm_mcap_writer *w, const struct nm_mcap_channel *channel, struct nm_err *err)
{
    struct nm_mcap_record record = {.op = NM_MCAP_CHANNEL, .channel = *channel};
    char topic[80];
    if (w->n_channels + 1 >= NM_MCAP_IDS) return nm_fail(err, "more than %d channels in one log", NM_MCAP_IDS - 1);
    if (channel->schema_id > w->n_schemas)
        return nm_fail(err, "channel %s names schema %u, which was not added",
                       nm_mcap_clean(topic, sizeof topic, channel->topic), channel->schema_id);
    record.channel.id = (uint16_t)(w->n_channels + 1);
    w->channels = nm_take_more(&w->arena, w->channels, w->n_channels, &w->channels_room, sizeof *w->channels);
    w->channels[w->n_channels] = (struct kept_channel){.record = keep(w, &record), .schema = channel->schema_id};
    return (int)++w->n_channels;
}

/* ---- bytes out ---- */

static int nm_mcap_out(struct nm_mcap_writer *w, const void *bytes, size_t n, struct nm_err *err)
{
    if (!w->sink) return nm_fail(err, "no log is open for writing");
    if (!n) return 0;
    if (w->sink(w->user, bytes, n)) {
        w->sink = NULL;
        return nm_fail(err, "the log could not be written at byte %llu", (unsigned long long)w->totals.bytes);
    }
    uint32_t *crc = w->in_summary ? &w->summary_crc : &w->data_crc;
    *crc = nm_crc32(*crc, bytes, n);
    w->totals.bytes += n;
    return 0;
}

static int nm_mcap_out_record(struct nm_mcap_writer *w, const struct nm_mcap_record *record, struct nm_err *err)
{
    size_t n = nm_mcap_size(record);
    uint8_t *bytes = n <= w->out_size ? w->out : malloc(n);
    if (!bytes) return nm_fail(err, "no memory for a record of %zu bytes", n);
    nm_mcap_encode(record, bytes, n);
    int result = nm_mcap_out(w, bytes, n, err);
    if (bytes != w->out) free(bytes);
    return result;
}

/* Room for one more record in an index; NULL where there is none. */
static uint8_t *index_room(struct index *index, size_t n)
{
    if (index->grows && index->size - index->used < n) {
        size_t size = index->size + n + (index->size > FEW ? index->size : FEW);
        uint8_t *bytes = realloc(index->bytes, size);
        if (!bytes) return NULL;
        index->bytes = bytes;
        index->size = size;
    }
    return index->size - index->used < n ? NULL : index->bytes + index->used;
}

static int index_add(struct index *index, const struct nm_mcap_record *record, struct nm_err *err)
{
    size_t n = nm_mcap_size(record);
    uint8_t *to = index_room(index, n);
    if (!to) return nm_fail(err, "the log's room for indexes is used up (%zu bytes)", index->size);
    index->used += nm_mcap_encode(record, to, n);
    return 0;
}

int nm_mcap_start(struct nm_mcap_writer *w, nm_mcap_sink *sink, void *user, struct nm_err *err)
{
    w->sink = sink;
    w->user = user;
    w->totals = (struct nm_mcap_totals){.first = UINT64_MAX};
    w->used = w->n_entries = w->n_touched = 0;
    w->chunk_first = UINT64_MAX;
    w->chunk_last = 0;
    w->chunks.used = w->attachments.used = w->metadata.used = 0;
    w->data_crc = w->summary_crc = 0;
    w->in_summary = false;
    for (uint32_t i = 0; i < w->n_schemas; i++) w->schemas[i].written = false;
    for (uint32_t i = 0; i < w->n_channels; i++) {
        w->channels[i].written = false;
        w->channels[i].count = w->channels[i].in_chunk = 0;
    }
    struct nm_mcap_record header = {
        .op = NM_MCAP_HEADER,
        .header = {nm_bytes_of(w->options.profile), nm_bytes_of(w->options.library)},
    };
    if (nm_mcap_out(w, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE, err)) return -1;
    return nm_mcap_out_record(w, &header, err);
}

/* ---- the open chunk ---- */

static void append(struct nm_mcap_writer *w, struct nm_bytes record)
{
    memcpy(w->records + w->used, record.at, record.n);
    w->used += record.n;
}

/* Bytes of the schema and the channel that the file does not have yet. */
static size_t unwritten(const struct nm_mcap_writer *w, const struct kept_channel *channel)
{
    size_t n = channel->written ? 0 : channel->record.n;
    if (channel->schema && !w->schemas[channel->schema - 1].written) n += w->schemas[channel->schema - 1].record.n;
    return n;
}

static int introduce(struct nm_mcap_writer *w, struct kept_channel *channel, bool in_chunk, struct nm_err *err)
{
    struct kept_schema *schema = channel->schema ? &w->schemas[channel->schema - 1] : NULL;
    if (schema && !schema->written) {
        if (in_chunk) append(w, schema->record);
        if (!in_chunk && nm_mcap_out(w, schema->record.at, schema->record.n, err)) return -1;
        schema->written = true;
    }
    if (!channel->written) {
        if (in_chunk) append(w, channel->record);
        if (!in_chunk && nm_mcap_out(w, channel->record.at, channel->record.n, err)) return -1;
        channel->written = true;
    }
    return 0;
}

int nm_mcap_announce(struct nm_mcap_writer *w, int channel, struct nm_err *err)
{
    if (channel < 1 || (uint32_t)channel > w->n_channels) return nm_fail(err, "there is no channel %d", channel);
    struct kept_channel *kept = &w->channels[channel - 1];
    if (!unwritten(w, kept)) return 0;
    if (nm_mcap_flush(w, err)) return -1; /* its schema may be in the open chunk, and stands before it */
    return introduce(w, kept, false, err);
}

/* Before the first byte of a chunk: later nothing may fail for want of room. */
static int check_index_room(struct nm_mcap_writer *w, struct nm_err *err)
{
    size_t most = CHUNK_INDEX + ((size_t)w->n_channels + NEWCOMERS) * OFFSET_ENTRY;
    if (index_room(&w->chunks, most)) return 0;
    return nm_fail(err, "the log's room for indexes is used up (%zu bytes): finish it and start another one",
                   w->chunks.size);
}

int nm_mcap_write(struct nm_mcap_writer *w, const struct nm_mcap_message *message, struct nm_err *err)
{
    if (!w->sink) return nm_fail(err, "no log is open for writing");
    if (!message->channel_id || message->channel_id > w->n_channels)
        return nm_fail(err, "there is no channel %u", message->channel_id);
    if (w->options.message_most && message->data.n > w->options.message_most)
        return nm_fail(err, "a message has %zu bytes, the log takes %u", message->data.n, w->options.message_most);
    struct kept_channel *channel = &w->channels[message->channel_id - 1];
    size_t before = unwritten(w, channel), whole = NM_MCAP_MESSAGE_HEAD + message->data.n;
    if (w->options.chunk_size + whole > w->records_size && buffers_grow(w, w->options.chunk_size + whole))
        return nm_fail(err, "no memory for a message of %zu bytes", message->data.n);
    if (w->used && w->used + before + whole > w->options.chunk_size && nm_mcap_flush(w, err)) return -1;
    if (!w->used && check_index_room(w, err)) return -1;
    if (before && introduce(w, channel, before <= w->options.chunk_size, err)) return -1;

    uint8_t *to = w->records + w->used;
    uint64_t content = whole - NM_MCAP_FRAME;
    to[0] = NM_MCAP_MESSAGE;
    memcpy(to + 1, &content, 8);
    memcpy(to + 9, &message->channel_id, 2);
    memcpy(to + 11, &message->sequence, 4);
    memcpy(to + 15, &message->log_time, 8);
    memcpy(to + 23, &message->publish_time, 8);
    if (message->data.n) memcpy(to + NM_MCAP_MESSAGE_HEAD, message->data.at, message->data.n);

    w->entries[w->n_entries++] = (struct entry){message->channel_id, message->log_time, w->used};
    w->used += whole;
    if (!channel->in_chunk++) w->touched[w->n_touched++] = message->channel_id;
    channel->count++;
    w->totals.messages++;
    if (message->log_time < w->chunk_first) w->chunk_first = message->log_time;
    if (message->log_time > w->chunk_last) w->chunk_last = message->log_time;
    return 0;
}

/* ---- closing a chunk ---- */

/* The record up to its packed bytes, which follow at w->out + CHUNK_HEAD; returns where it begins. */
static uint8_t *put_chunk_head(struct nm_mcap_writer *w, const char *packing, size_t packed)
{
    struct nm_mcap_record chunk = {
        .op = NM_MCAP_CHUNK,
        .chunk = {.message_start_time = w->chunk_first,
                  .message_end_time = w->chunk_last,
                  .uncompressed_size = w->used,
                  .uncompressed_crc = nm_crc32(0, w->records, w->used),
                  .compression = nm_bytes_of(packing)},
    };
    size_t head = nm_mcap_size(&chunk);
    uint8_t *to = w->out + CHUNK_HEAD - head;
    uint64_t content = head - NM_MCAP_FRAME + packed, length = packed;
    nm_mcap_encode(&chunk, to, head);
    memcpy(to + 1, &content, 8);
    memcpy(to + head - 8, &length, 8);
    return to;
}

/* One MessageIndex a channel, in the order in which the channels spoke first. `offset`: of `to` in the file; `map` gets
 * the offset of each. Returns the bytes of all. */
static size_t put_message_indexes(struct nm_mcap_writer *w, uint8_t *to, uint64_t offset, uint8_t *map)
{
    uint8_t *at = to;
    for (uint32_t i = 0; i < w->n_touched; i++) {
        struct kept_channel *channel = &w->channels[w->touched[i] - 1];
        uint32_t bytes = channel->in_chunk * INDEX_ENTRY;
        uint64_t content = INDEX_HEAD - NM_MCAP_FRAME + bytes;
        nm_mcap_add_count(map, (size_t)i * OFFSET_ENTRY, (size_t)(i + 1) * OFFSET_ENTRY, w->touched[i],
                          offset + (uint64_t)(at - to));
        at[0] = NM_MCAP_MESSAGE_INDEX;
        memcpy(at + 1, &content, 8);
        memcpy(at + 9, &w->touched[i], 2);
        memcpy(at + 11, &bytes, 4);
        channel->entries = at + INDEX_HEAD;
        channel->in_chunk = 0;
        at += INDEX_HEAD + bytes;
    }
    for (uint32_t i = 0; i < w->n_entries; i++) {
        uint8_t **entry = &w->channels[w->entries[i].channel - 1].entries;
        memcpy(*entry, &w->entries[i].time, 8);
        memcpy(*entry + 8, &w->entries[i].offset, 8);
        *entry += INDEX_ENTRY;
    }
    return (size_t)(at - to);
}

static void chunk_closed(struct nm_mcap_writer *w, size_t packed)
{
    w->totals.chunks++;
    w->totals.unpacked += w->used;
    w->totals.packed += packed;
    if (w->chunk_first < w->totals.first) w->totals.first = w->chunk_first;
    if (w->chunk_last > w->totals.last) w->totals.last = w->chunk_last;
    w->used = w->n_entries = w->n_touched = 0;
    w->chunk_first = UINT64_MAX;
    w->chunk_last = 0;
}

int nm_mcap_flush(struct nm_mcap_writer *w, struct nm_err *err)
{
    if (!w->sink) return nm_fail(err, "no log is open for writing");
    if (!w->used) return 0;
    uint8_t *body = w->out + CHUNK_HEAD;
    enum nm_mcap_packing packing = w->options.packing;
    size_t packed = nm_mcap_pack(w->packer, w->records, w->used, body, w->packed_most);
    if (!packed) {
        packing = NM_MCAP_STORED;
        packed = w->used;
        memcpy(body, w->records, w->used);
    }
    uint8_t *chunk = put_chunk_head(w, nm_mcap_packing_name(packing), packed), *indexes = body + packed;
    size_t chunk_length = (size_t)(indexes - chunk);
    uint8_t *map = w->out + w->out_size - (size_t)w->n_touched * OFFSET_ENTRY;
    size_t indexes_length = put_message_indexes(w, indexes, w->totals.bytes + chunk_length, map);

    struct nm_mcap_record index = {
        .op = NM_MCAP_CHUNK_INDEX,
        .chunk_index = {.message_start_time = w->chunk_first,
                        .message_end_time = w->chunk_last,
                        .chunk_start_offset = w->totals.bytes,
                        .chunk_length = chunk_length,
                        .message_index_offsets = {map, (size_t)w->n_touched * OFFSET_ENTRY},
                        .message_index_length = indexes_length,
                        .compression = nm_bytes_of(nm_mcap_packing_name(packing)),
                        .compressed_size = packed,
                        .uncompressed_size = w->used},
    };
    size_t index_before = w->chunks.used;
    if (index_add(&w->chunks, &index, err)) return -1;
    if (nm_mcap_out(w, chunk, chunk_length + indexes_length, err)) {
        w->chunks.used = index_before;
        return -1;
    }
    chunk_closed(w, packed);
    return 0;
}

/* ---- what stands outside of chunks ---- */

int nm_mcap_attach(struct nm_mcap_writer *w, const struct nm_mcap_attachment *attachment, struct nm_err *err)
{
    struct nm_mcap_record record = {.op = NM_MCAP_ATTACHMENT, .attachment = *attachment};
    size_t size = nm_mcap_size(&record);
    struct nm_mcap_record index = {
        .op = NM_MCAP_ATTACHMENT_INDEX,
        .attachment_index = {.offset = w->totals.bytes,
                             .length = size,
                             .log_time = attachment->log_time,
                             .create_time = attachment->create_time,
                             .data_size = attachment->data.n,
                             .name = attachment->name,
                             .media_type = attachment->media_type},
    };
    /* frame and names, the data from where they are, the crc over both */
    record.attachment.data.n = 0;
    size_t head = nm_mcap_size(&record) - 4;
    uint64_t content = size - NM_MCAP_FRAME, length = attachment->data.n;
    if (!nm_mcap_encode(&record, w->out, w->out_size))
        return nm_fail(err, "the names of an attachment have %zu bytes", head);
    memcpy(w->out + 1, &content, 8);
    memcpy(w->out + head - 8, &length, 8);
    uint32_t crc = nm_crc32(0, w->out + NM_MCAP_FRAME, head - NM_MCAP_FRAME);
    crc = nm_crc32(crc, attachment->data.at, attachment->data.n);
    if (index_add(&w->attachments, &index, err)) return -1;
    if (nm_mcap_out(w, w->out, head, err) || nm_mcap_out(w, attachment->data.at, attachment->data.n, err) ||
        nm_mcap_out(w, &crc, 4, err))
        return -1;
    w->totals.attachments++;
    return 0;
}

int nm_mcap_describe(struct nm_mcap_writer *w, const struct nm_mcap_metadata *metadata, struct nm_err *err)
{
    struct nm_mcap_record record = {.op = NM_MCAP_METADATA, .metadata = *metadata};
    struct nm_mcap_record index = {
        .op = NM_MCAP_METADATA_INDEX,
        .metadata_index = {w->totals.bytes, nm_mcap_size(&record), metadata->name},
    };
    if (index_add(&w->metadata, &index, err) || nm_mcap_out_record(w, &record, err)) return -1;
    w->totals.metadata++;
    return 0;
}

/* The end of a file: the summary section, with all that a reader needs to find its way without reading the data. */

enum { GROUPS = 6, OFFSETS_ROOM = GROUPS * (NM_MCAP_FRAME + 17) };

/* Groups of records of one kind, and where they are: a SummaryOffset each. */
struct groups {
    uint8_t bytes[OFFSETS_ROOM];
    size_t used;
};

static void group_end(struct nm_mcap_writer *w, struct groups *groups, uint8_t op, uint64_t start)
{
    struct nm_mcap_record offset = {.op = NM_MCAP_SUMMARY_OFFSET,
                                    .summary_offset = {op, start, w->totals.bytes - start}};
    if (w->totals.bytes == start) return;
    groups->used += nm_mcap_encode(&offset, groups->bytes + groups->used, sizeof groups->bytes - groups->used);
}

static int write_schemas(struct nm_mcap_writer *w, struct groups *groups, struct nm_err *err)
{
    uint64_t start = w->totals.bytes;
    for (uint32_t i = 0; i < w->n_schemas; i++)
        if (w->schemas[i].written && nm_mcap_out(w, w->schemas[i].record.at, w->schemas[i].record.n, err)) return -1;
    group_end(w, groups, NM_MCAP_SCHEMA, start);
    return 0;
}

static int write_channels(struct nm_mcap_writer *w, struct groups *groups, struct nm_err *err)
{
    uint64_t start = w->totals.bytes;
    for (uint32_t i = 0; i < w->n_channels; i++)
        if (w->channels[i].written && nm_mcap_out(w, w->channels[i].record.at, w->channels[i].record.n, err)) return -1;
    group_end(w, groups, NM_MCAP_CHANNEL, start);
    return 0;
}

static int write_statistics(struct nm_mcap_writer *w, struct groups *groups, struct nm_err *err)
{
    uint64_t start = w->totals.bytes;
    struct nm_mcap_record record = {
        .op = NM_MCAP_STATISTICS,
        .statistics = {.message_count = w->totals.messages,
                       .attachment_count = w->totals.attachments,
                       .metadata_count = w->totals.metadata,
                       .chunk_count = (uint32_t)w->totals.chunks,
                       .message_start_time = w->totals.messages ? w->totals.first : 0,
                       .message_end_time = w->totals.last},
    };
    for (uint32_t i = 0; i < w->n_schemas; i++)
        record.statistics.schema_count = (uint16_t)(record.statistics.schema_count + w->schemas[i].written);
    for (uint32_t i = 0; i < w->n_channels; i++) record.statistics.channel_count += w->channels[i].written;

    /* the counts are built where messages were: the last chunk is closed */
    size_t room = (size_t)w->n_channels * 10, used = 0;
    uint8_t *map = room <= w->records_size ? w->records : malloc(room);
    if (!map) return nm_fail(err, "no memory for the statistics of %u channels", w->n_channels);
    for (uint32_t i = 0; i < w->n_channels; i++)
        if (w->channels[i].written) used = nm_mcap_add_count(map, used, room, (uint16_t)(i + 1), w->channels[i].count);
    record.statistics.channel_message_counts = (struct nm_bytes){map, used};
    int result = nm_mcap_out_record(w, &record, err);
    if (map != w->records) free(map);
    group_end(w, groups, NM_MCAP_STATISTICS, start);
    return result;
}

static int write_index(struct nm_mcap_writer *w, struct groups *groups, uint8_t op, const struct index *index,
                       struct nm_err *err)
{
    uint64_t start = w->totals.bytes;
    if (index->used && nm_mcap_out(w, index->bytes, index->used, err)) return -1;
    group_end(w, groups, op, start);
    return 0;
}

/* The CRC covers the footer up to itself. */
static int write_footer(struct nm_mcap_writer *w, uint64_t summary, uint64_t offsets, struct nm_err *err)
{
    uint8_t bytes[NM_MCAP_TAIL];
    struct nm_mcap_record footer = {.op = NM_MCAP_FOOTER, .footer = {summary, offsets, 0}};
    size_t n = nm_mcap_encode(&footer, bytes, sizeof bytes);
    if (nm_mcap_out(w, bytes, n - 4, err)) return -1;
    uint32_t crc = w->summary_crc;
    memcpy(bytes, &crc, 4);
    memcpy(bytes + 4, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    return nm_mcap_out(w, bytes, 4 + NM_MCAP_MAGIC_SIZE, err);
}

int nm_mcap_finish(struct nm_mcap_writer *w, struct nm_err *err)
{
    struct groups groups = {.used = 0};
    if (nm_mcap_flush(w, err)) return -1;
    struct nm_mcap_record end = {.op = NM_MCAP_DATA_END, .data_end = {w->data_crc}};
    if (nm_mcap_out_record(w, &end, err)) return -1;
    w->in_summary = true;
    uint64_t summary = w->totals.bytes;
    if (write_schemas(w, &groups, err) || write_channels(w, &groups, err) || write_statistics(w, &groups, err) ||
        write_index(w, &groups, NM_MCAP_CHUNK_INDEX, &w->chunks, err) ||
        write_index(w, &groups, NM_MCAP_ATTACHMENT_INDEX, &w->attachments, err) ||
        write_index(w, &groups, NM_MCAP_METADATA_INDEX, &w->metadata, err))
        return -1;
    uint64_t offsets = w->totals.bytes;
    if (nm_mcap_out(w, groups.bytes, groups.used, err) || write_footer(w, summary, offsets, err)) return -1;
    w->sink = NULL;
    return 0;
}

struct nm_mcap_totals nm_mcap_totals(const struct nm_mcap_writer *w)
{
    struct nm_mcap_totals totals = w->totals;
    totals.open = w->used;
    if (w->chunk_first < totals.first) totals.first = w->chunk_first;
    if (w->chunk_last > totals.last) totals.last = w->chunk_last;
    if (!totals.messages) totals.first = totals.last = 0;
    return totals;
}

uint64_t nm_mcap_count(const struct nm_mcap_writer *w, int channel)
{
    return channel > 0 && (uint32_t)channel <= w->n_channels ? w->channels[channel - 1].count : 0;
}
