/* What a log holds. A whole log says so itself, in its summary; of any other one every record is read. */
#include "base/memory.h"
#include "codec/mcap_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"

static void *grown(struct nm_arena *arena, const void *array, uint64_t n, uint64_t room, size_t size)
{
    void *larger = nm_take(arena, (size_t)room * size);
    if (n) memcpy(larger, array, (size_t)n * size);
    return larger;
}

/* Room for one more element at the end of a list. */
#define MORE(b, list, n, room)                                                                                         \
    do {                                                                                                               \
        if ((n) < (room)) break;                                                                                       \
        (room) = (room) ? 2 * (room) : 16;                                                                             \
        (list) = grown(&(b)->c->arena, (list), (n), (room), sizeof *(list));                                           \
    } while (0)

static struct nm_bytes kept(struct nm_mcap_builder *b, struct nm_bytes bytes)
{
    uint8_t *copy = nm_take(&b->c->arena, bytes.n ? bytes.n : 1);
    if (bytes.n) memcpy(copy, bytes.at, bytes.n);
    return (struct nm_bytes){copy, bytes.n};
}

void nm_mcap_build_begin(struct nm_mcap_builder *b, struct nm_mcap_contents *contents, struct nm_err *err)
{
    struct nm_err why = contents->why;
    nm_mcap_contents_free(contents);
    *contents = (struct nm_mcap_contents){.why = why, .first = UINT64_MAX};
    contents->schema_at = nm_calloc(NM_MCAP_IDS, sizeof *contents->schema_at);
    contents->channel_at = nm_calloc(NM_MCAP_IDS, sizeof *contents->channel_at);
    *b = (struct nm_mcap_builder){.c = contents, .err = err ? err : &contents->why};
}

const struct nm_mcap_schema *nm_mcap_schema_of(const struct nm_mcap_contents *c, uint16_t id)
{
    return c->schema_at[id] ? &c->schemas[c->schema_at[id] - 1] : NULL;
}

int nm_mcap_channel_of(const struct nm_mcap_contents *c, uint16_t id) { return (int)c->channel_at[id] - 1; }

static int add_schema(struct nm_mcap_builder *b, const struct nm_mcap_schema *schema, const struct nm_mcap_spot *spot)
{
    struct nm_mcap_contents *c = b->c;
    const struct nm_mcap_schema *old = nm_mcap_schema_of(c, schema->id);
    if (old) {
        if (nm_bytes_equal(old->name, schema->name) && nm_bytes_equal(old->encoding, schema->encoding) &&
            nm_bytes_equal(old->data, schema->data))
            return 0;
        return nm_mcap_fail(spot, b->err, "schema %u is not the one that had this id before", schema->id);
    }
    if (!schema->id) return nm_mcap_fail(spot, b->err, "a schema has the id 0, which means none");
    MORE(b, c->schemas, c->n_schemas, b->schemas);
    c->schemas[c->n_schemas] =
        (struct nm_mcap_schema){schema->id, kept(b, schema->name), kept(b, schema->encoding), kept(b, schema->data)};
    c->schema_at[schema->id] = ++c->n_schemas;
    return 0;
}

static int add_channel(struct nm_mcap_builder *b, const struct nm_mcap_channel *channel,
                       const struct nm_mcap_spot *spot)
{
    struct nm_mcap_contents *c = b->c;
    int at = nm_mcap_channel_of(c, channel->id);
    if (at >= 0) {
        const struct nm_mcap_channel *old = &c->channels[at];
        if (old->schema_id == channel->schema_id && nm_bytes_equal(old->topic, channel->topic) &&
            nm_bytes_equal(old->message_encoding, channel->message_encoding) &&
            nm_bytes_equal(old->metadata, channel->metadata))
            return 0;
        return nm_mcap_fail(spot, b->err, "channel %u is not the one that had this id before", channel->id);
    }
    if (channel->schema_id && !nm_mcap_schema_of(c, channel->schema_id))
        return nm_mcap_fail(spot, b->err, "channel %u has schema %u, which does not stand before it", channel->id,
                            channel->schema_id);
    MORE(b, c->channels, c->n_channels, b->channels);
    MORE(b, c->counts, c->n_channels, b->counts);
    c->channels[c->n_channels] =
        (struct nm_mcap_channel){channel->id, channel->schema_id, kept(b, channel->topic),
                                 kept(b, channel->message_encoding), kept(b, channel->metadata)};
    c->counts[c->n_channels] = 0;
    c->channel_at[channel->id] = ++c->n_channels;
    return 0;
}

static void add_chunk(struct nm_mcap_builder *b, const struct nm_mcap_chunk_index *index)
{
    struct nm_mcap_contents *c = b->c;
    MORE(b, c->chunks, c->n_chunks, b->chunks);
    c->chunks[c->n_chunks] = *index;
    c->chunks[c->n_chunks].message_index_offsets = kept(b, index->message_index_offsets);
    c->chunks[c->n_chunks++].compression = kept(b, index->compression);
}

static void add_attachment(struct nm_mcap_builder *b, const struct nm_mcap_attachment_index *index)
{
    struct nm_mcap_contents *c = b->c;
    MORE(b, c->attachments, c->n_attachments, b->attachments);
    c->attachments[c->n_attachments] = *index;
    c->attachments[c->n_attachments].name = kept(b, index->name);
    c->attachments[c->n_attachments++].media_type = kept(b, index->media_type);
}

static void add_metadata(struct nm_mcap_builder *b, const struct nm_mcap_metadata_index *index)
{
    struct nm_mcap_contents *c = b->c;
    MORE(b, c->metadata, c->n_metadata, b->metadata);
    c->metadata[c->n_metadata] = *index;
    c->metadata[c->n_metadata++].name = kept(b, index->name);
}

/* ---- by the summary ---- */

/* The counts must agree with the channels, and there must be an index for every chunk: else it is of no use. */
static int take_statistics(struct nm_mcap_builder *b, const struct nm_mcap_statistics *s,
                           const struct nm_mcap_spot *spot)
{
    struct nm_mcap_contents *c = b->c;
    struct nm_bytes counts = s->channel_message_counts;
    uint64_t n, sum = 0;
    uint16_t id;
    while (nm_mcap_next_count(&counts, &id, &n)) {
        int at = nm_mcap_channel_of(c, id);
        if (at < 0) return nm_mcap_fail(spot, b->err, "the statistics count channel %u, which is not listed", id);
        c->counts[at] = n;
        sum += n;
    }
    if (sum != s->message_count)
        return nm_mcap_fail(spot, b->err, "the statistics count %llu messages, and %llu in all channels",
                            (unsigned long long)s->message_count, (unsigned long long)sum);
    if (s->chunk_count != c->n_chunks || (s->message_count && !s->chunk_count))
        return nm_mcap_fail(spot, b->err, "%u chunks, of which %u are in the index", s->chunk_count, c->n_chunks);
    c->messages = s->message_count;
    c->first = s->message_start_time;
    c->last = s->message_end_time;
    return 0;
}

int nm_mcap_build_summary(struct nm_mcap_builder *b, const struct nm_mcap_record *record, const char *file)
{
    struct nm_mcap_spot spot = {.file = file, .offset = record->offset};
    switch (record->op) {
    case NM_MCAP_SCHEMA: return add_schema(b, &record->schema, &spot);
    case NM_MCAP_CHANNEL: return add_channel(b, &record->channel, &spot);
    case NM_MCAP_CHUNK_INDEX: add_chunk(b, &record->chunk_index); return 0;
    case NM_MCAP_ATTACHMENT_INDEX: add_attachment(b, &record->attachment_index); return 0;
    case NM_MCAP_METADATA_INDEX: add_metadata(b, &record->metadata_index); return 0;
    default: return 0;
    }
}

static int read_footer(const struct nm_mcap_source *source, struct nm_mcap_window *window, uint64_t *summary,
                       struct nm_err *why)
{
    uint32_t crc;
    uint64_t tail = source->size - NM_MCAP_TAIL;
    struct nm_mcap_record footer;
    struct nm_mcap_spot spot = {.file = source->name, .offset = tail};
    if (source->size < NM_MCAP_MAGIC_SIZE + NM_MCAP_TAIL) return nm_fail(why, "%s: no footer", source->name);
    const uint8_t *bytes = nm_mcap_look(source, window, tail, NM_MCAP_TAIL, why);
    if (!bytes) return -1;
    if (memcmp(bytes + NM_MCAP_TAIL - NM_MCAP_MAGIC_SIZE, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE) ||
        bytes[0] != NM_MCAP_FOOTER)
        return nm_mcap_fail(&spot, why, "the file does not end with a footer: it was cut off");
    if (nm_mcap_record_at(source, window, tail, &footer, why)) return -1;
    *summary = footer.footer.summary_start;
    if (!*summary) return nm_mcap_fail(&spot, why, "the log has no summary");
    if (*summary < NM_MCAP_MAGIC_SIZE || *summary > tail)
        return nm_mcap_fail(&spot, why, "the footer names a summary at byte %llu", (unsigned long long)*summary);
    if (!footer.footer.summary_crc) return 0;
    if (nm_mcap_crc_of(source, *summary, source->size - NM_MCAP_MAGIC_SIZE - 4, &crc, why)) return -1;
    return crc == footer.footer.summary_crc ? 0 : nm_mcap_fail(&spot, why, "the CRC of the summary is wrong");
}

static int by_summary(struct nm_mcap_contents *contents, const struct nm_mcap_source *source,
                      struct nm_mcap_window *window)
{
    struct nm_mcap_builder b;
    uint64_t at = 0, statistics = 0;
    struct nm_mcap_record record;
    nm_mcap_build_begin(&b, contents, NULL);
    if (read_footer(source, window, &at, &contents->why)) return -1;
    while (at < source->size - NM_MCAP_TAIL) {
        const uint8_t *frame = nm_mcap_look(source, window, at, NM_MCAP_FRAME, &contents->why);
        uint64_t length;
        if (!frame) return -1;
        memcpy(&length, frame + 1, 8);
        bool known = frame[0] && frame[0] < NM_MCAP_OPS;
        if (known && nm_mcap_record_at(source, window, at, &record, &contents->why)) return -1;
        if (known && nm_mcap_build_summary(&b, &record, source->name)) return -1;
        if (known && record.op == NM_MCAP_STATISTICS) statistics = at;
        if (length > source->size - at - NM_MCAP_FRAME)
            return nm_fail(&contents->why, "%s: byte %llu: a record of the summary is cut off", source->name,
                           (unsigned long long)at);
        at += NM_MCAP_FRAME + length;
    }
    struct nm_mcap_spot spot = {.file = source->name, .offset = statistics};
    if (!statistics) return nm_fail(&contents->why, "%s: the summary has no statistics", source->name);
    if (nm_mcap_record_at(source, window, statistics, &record, &contents->why) ||
        take_statistics(&b, &record.statistics, &spot) ||
        nm_mcap_record_at(source, window, NM_MCAP_MAGIC_SIZE, &record, &contents->why))
        return -1;
    if (record.op != NM_MCAP_HEADER) return nm_fail(&contents->why, "%s: there is no header", source->name);
    contents->profile = kept(&b, record.header.profile);
    contents->library = kept(&b, record.header.library);
    contents->summary = contents->whole = true;
    contents->end = source->size;
    return 0;
}

/* ---- by reading everything ---- */

static void take_message(struct nm_mcap_builder *b, const struct nm_mcap_record *record)
{
    struct nm_mcap_contents *c = b->c;
    uint64_t time = record->message.log_time;
    int at = nm_mcap_channel_of(c, record->message.channel_id);
    if (record->in_chunk) { /* also of orphans: a query checks that the chunk says the truth about its times */
        struct nm_mcap_chunk_index *chunk = &c->chunks[c->n_chunks - 1];
        if (time < chunk->message_start_time) chunk->message_start_time = time;
        if (time > chunk->message_end_time) chunk->message_end_time = time;
    }
    if (at < 0) {
        c->orphans++;
        return;
    }
    c->counts[at]++;
    c->messages++;
    if (time < c->first) c->first = time;
    if (time > c->last) c->last = time;
    if (record->in_chunk) return;
    MORE(b, c->loose, c->n_loose, b->loose);
    c->loose[c->n_loose++] = (struct nm_mcap_loose){time, record->offset, (uint32_t)at};
}

void nm_mcap_build_data(struct nm_mcap_builder *b, const struct nm_mcap_record *record, const char *file)
{
    struct nm_mcap_spot spot = {.file = file, .offset = record->offset};
    const struct nm_mcap_attachment *a = &record->attachment;
    switch (record->op) {
    case NM_MCAP_HEADER:
        b->c->profile = kept(b, record->header.profile);
        b->c->library = kept(b, record->header.library);
        break;
    case NM_MCAP_SCHEMA: add_schema(b, &record->schema, &spot); break;
    case NM_MCAP_CHANNEL: add_channel(b, &record->channel, &spot); break;
    case NM_MCAP_MESSAGE: take_message(b, record); break;
    case NM_MCAP_CHUNK:
        add_chunk(b, &(struct nm_mcap_chunk_index){.message_start_time = UINT64_MAX,
                                                   .chunk_start_offset = record->offset,
                                                   .chunk_length = record->length,
                                                   .compression = record->chunk.compression,
                                                   .compressed_size = record->chunk.records.n,
                                                   .uncompressed_size = record->chunk.uncompressed_size});
        break;
    case NM_MCAP_ATTACHMENT:
        add_attachment(b, &(struct nm_mcap_attachment_index){record->offset, record->length, a->log_time,
                                                             a->create_time, a->data.n, a->name, a->media_type});
        break;
    case NM_MCAP_METADATA:
        add_metadata(b, &(struct nm_mcap_metadata_index){record->offset, record->length, record->metadata.name});
        break;
    default: break;
    }
}

static int by_scan(struct nm_mcap_contents *contents, const struct nm_mcap_source *source, struct nm_err *err)
{
    struct nm_mcap_builder b;
    struct nm_mcap_scan scan;
    struct nm_mcap_record record;
    enum nm_mcap_got got;
    nm_mcap_build_begin(&b, contents, NULL);
    nm_mcap_scan_begin(&scan, source);
    scan.into = true;
    while ((got = nm_mcap_scan_next(&scan, &record, &contents->why)) == NM_MCAP_GOT || got == NM_MCAP_DAMAGED) {
        contents->damaged += got == NM_MCAP_DAMAGED;
        if (got == NM_MCAP_GOT && !scan.data_ended) nm_mcap_build_data(&b, &record, source->name);
        nm_mcap_scan_tell(&scan);
    }
    contents->whole = got == NM_MCAP_END;
    contents->end = scan.good;
    bool any = scan.good >= NM_MCAP_MAGIC_SIZE;
    bool readable =
        any || source->size < NM_MCAP_MAGIC_SIZE || nm_mcap_look(source, &scan.window, 0, NM_MCAP_MAGIC_SIZE, err);
    nm_mcap_scan_end(&scan);
    if (!contents->messages) contents->first = 0;
    if (!any && readable) nm_fail(err, "%s: this is no MCAP file: it does not begin with its magic", source->name);
    return any ? 0 : -1;
}

int nm_mcap_contents_summary(struct nm_mcap_contents *contents, const struct nm_mcap_source *source)
{
    struct nm_mcap_window window = {0};
    *contents = (struct nm_mcap_contents){0};
    int result = by_summary(contents, source, &window);
    nm_mcap_window_free(&window);
    return result;
}

int nm_mcap_contents_read(struct nm_mcap_contents *contents, const struct nm_mcap_source *source, struct nm_err *err)
{
    return nm_mcap_contents_summary(contents, source) ? by_scan(contents, source, err) : 0;
}

void nm_mcap_contents_free(struct nm_mcap_contents *contents)
{
    free(contents->schema_at);
    free(contents->channel_at);
    nm_arena_free(&contents->arena);
    *contents = (struct nm_mcap_contents){0};
}
