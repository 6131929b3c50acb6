/* The strict check of a log: the data section against itself, its CRCs and its message indexes; then every copy and
 * index in the summary against what the data section really holds. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/mcap_builder.h"

struct nm_mcap_seen { /* a message in the chunk before this place */
    uint16_t channel;
    uint64_t time, offset;
};

/* Records of one kind in the summary. */
struct nm_mcap_group {
    uint64_t start, end;
    uint32_t count;
    bool scattered, offset_seen;
};

struct nm_mcap_checker {
    const struct nm_mcap_source *source;
    struct nm_err *faults, *notes;

    /* what the data section holds, to compare the summary with */
    struct nm_mcap_contents truth;
    struct nm_mcap_builder builder;

    /* the last chunk, until its message indexes are over */
    bool in_chunk;
    struct nm_mcap_chunk chunk; /* what it says about itself; its pieces are gone */
    uint64_t chunk_offset;
    struct nm_mcap_seen *seen;
    size_t n_seen, seen_room;
    bool damaged; /* a chunk could not be read: what the summary says about it cannot be checked */
    uint8_t has_index[NM_MCAP_IDS / 8]; /* channels with an index for this chunk, a bit each */
    size_t indexed;                     /* messages of it that an index names      */
    uint8_t *index_map;                 /* channel and offset of each of its indexes */
    size_t map_used, map_room;
    uint64_t index_length;
    uint64_t unindexed; /* chunks without any index  */

    uint64_t data_end;  /* offset of DataEnd, 0 before  */
    uint64_t last_time; /* to see whether time goes back */
    bool back;

    /* the summary */
    struct nm_mcap_contents summary;
    struct nm_mcap_builder summary_builder;
    struct nm_mcap_group groups[NM_MCAP_OPS];
    uint64_t summary_start, offsets_start;  /* 0: none so far */
    uint32_t extra_schemas, extra_channels; /* that are not in the data */
};

static void fail(struct nm_mcap_checker *c, uint64_t offset, const char *what)
{
    struct nm_mcap_spot spot = {.file = c->source->name, .offset = offset};
    nm_mcap_fail(&spot, c->faults, "%s", what);
}

/* One number of the summary against the truth. */
static void same(struct nm_mcap_checker *c, uint64_t offset, const char *what, uint64_t said, uint64_t is)
{
    struct nm_mcap_spot spot = {.file = c->source->name, .offset = offset};
    if (said != is)
        nm_mcap_fail(&spot, c->faults, "%s is %llu here, but %llu in the data", what, (unsigned long long)said,
                     (unsigned long long)is);
}

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, 10); }

/* Both maps hold the same entries, in any order. */
static bool same_counts(struct nm_bytes a, struct nm_bytes b)
{
    if (a.n != b.n || nm_bytes_equal(a, b)) return a.n == b.n;
    uint8_t *both = nm_malloc(2 * a.n);
    memcpy(both, a.at, a.n);
    memcpy(both + a.n, b.at, a.n);
    qsort(both, a.n / 10, 10, by_bytes);
    qsort(both + a.n, a.n / 10, 10, by_bytes);
    bool same = !memcmp(both, both + a.n, a.n);
    free(both);
    return same;
}

/* The element of a list in the order of the file whose member at `member` is `offset`; NULL if there is none. */
static const void *found(const void *list, size_t n, size_t size, size_t member, uint64_t offset)
{
    const uint8_t *low = list;
    while (n) {
        const uint8_t *middle = low + n / 2 * size;
        uint64_t at;
        memcpy(&at, middle + member, 8);
        if (at == offset) return middle;
        if (at < offset) low = middle + size;
        n = at < offset ? n - n / 2 - 1 : n / 2;
    }
    return NULL;
}

static void check_schema(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    const struct nm_mcap_schema *said = &record->schema, *is = nm_mcap_schema_of(&c->truth, said->id);
    if (!is)
        c->extra_schemas++; /* the reference writer lists what was registered and never used */
    else if (!nm_bytes_equal(said->name, is->name) || !nm_bytes_equal(said->encoding, is->encoding) ||
             !nm_bytes_equal(said->data, is->data))
        fail(c, record->offset, "this schema is another one in the data");
}

static void check_channel(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    const struct nm_mcap_channel *said = &record->channel;
    int at = nm_mcap_channel_of(&c->truth, said->id);
    const struct nm_mcap_channel *is = at < 0 ? NULL : &c->truth.channels[at];
    if (!is)
        c->extra_channels++;
    else if (said->schema_id != is->schema_id || !nm_bytes_equal(said->topic, is->topic) ||
             !nm_bytes_equal(said->message_encoding, is->message_encoding) ||
             !nm_bytes_equal(said->metadata, is->metadata))
        fail(c, record->offset, "this channel is another one in the data");
}

/* An index of what is not there: in a damaged file that may have been there. */
static void fail_index(struct nm_mcap_checker *c, const struct nm_mcap_record *record, const char *what)
{
    if (!c->damaged) fail(c, record->offset, what);
}

static void check_chunk_index(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    const struct nm_mcap_chunk_index *said = &record->chunk_index;
    const struct nm_mcap_chunk_index *is =
        found(c->truth.chunks, c->truth.n_chunks, sizeof *is, offsetof(struct nm_mcap_chunk_index, chunk_start_offset),
              said->chunk_start_offset);
    nm_mcap_build_summary(&c->summary_builder, record, c->source->name);
    if (!is) return fail_index(c, record, "this index names a chunk where none is");
    same(c, record->offset, "chunk_length", said->chunk_length, is->chunk_length);
    same(c, record->offset, "message_start_time", said->message_start_time, is->message_start_time);
    same(c, record->offset, "message_end_time", said->message_end_time, is->message_end_time);
    same(c, record->offset, "message_index_length", said->message_index_length, is->message_index_length);
    same(c, record->offset, "compressed_size", said->compressed_size, is->compressed_size);
    same(c, record->offset, "uncompressed_size", said->uncompressed_size, is->uncompressed_size);
    if (!nm_bytes_equal(said->compression, is->compression))
        fail(c, record->offset, "this index names another compression than the chunk");
    if (!same_counts(said->message_index_offsets, is->message_index_offsets))
        fail(c, record->offset, "message_index_offsets are not where the message indexes of the chunk are");
}

static void check_attachment_index(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    const struct nm_mcap_attachment_index *said = &record->attachment_index;
    const struct nm_mcap_attachment_index *is =
        found(c->truth.attachments, c->truth.n_attachments, sizeof *is, 0, said->offset);
    if (!is) return fail_index(c, record, "this index names an attachment where none is");
    same(c, record->offset, "length", said->length, is->length);
    same(c, record->offset, "log_time", said->log_time, is->log_time);
    same(c, record->offset, "create_time", said->create_time, is->create_time);
    same(c, record->offset, "data_size", said->data_size, is->data_size);
    if (!nm_bytes_equal(said->name, is->name) || !nm_bytes_equal(said->media_type, is->media_type))
        fail(c, record->offset, "this index names an attachment of another name or type");
}

static void check_metadata_index(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    const struct nm_mcap_metadata_index *said = &record->metadata_index;
    const struct nm_mcap_metadata_index *is =
        found(c->truth.metadata, c->truth.n_metadata, sizeof *is, 0, said->offset);
    if (!is) return fail_index(c, record, "this index names metadata where none is");
    same(c, record->offset, "length", said->length, is->length);
    if (!nm_bytes_equal(said->name, is->name)) fail(c, record->offset, "this index names metadata of another name");
}

static void check_statistics(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    const struct nm_mcap_statistics *said = &record->statistics;
    const struct nm_mcap_contents *is = &c->truth;
    struct nm_bytes counts = said->channel_message_counts;
    uint64_t n, listed = 0, spoke = 0, at = record->offset;
    uint16_t id;
    if (c->groups[NM_MCAP_STATISTICS].count > 1) fail(c, at, "these are the second statistics");
    if (c->damaged) return;
    same(c, at, "message_count", said->message_count, is->messages + is->orphans);
    if (said->schema_count != is->n_schemas + c->extra_schemas)
        same(c, at, "schema_count", said->schema_count, is->n_schemas);
    if (said->channel_count != is->n_channels + c->extra_channels)
        same(c, at, "channel_count", said->channel_count, is->n_channels);
    same(c, at, "attachment_count", said->attachment_count, is->n_attachments);
    same(c, at, "metadata_count", said->metadata_count, is->n_metadata);
    same(c, at, "chunk_count", said->chunk_count, is->n_chunks);
    same(c, at, "message_start_time", said->message_start_time, is->messages ? is->first : 0);
    same(c, at, "message_end_time", said->message_end_time, is->last);
    while (nm_mcap_next_count(&counts, &id, &n)) {
        int channel = nm_mcap_channel_of(is, id);
        if (channel < 0 && n) fail(c, at, "the statistics count messages of a channel that is not in the data");
        if (channel >= 0) same(c, at, "channel_message_counts", n, is->counts[channel]);
        listed += n > 0;
    }
    for (uint32_t i = 0; i < is->n_channels; i++) spoke += is->counts[i] > 0;
    if (said->channel_message_counts.n) same(c, at, "the number of channels with messages", listed, spoke);
}

static void check_summary_offset(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    uint8_t op = record->summary_offset.group_opcode;
    struct nm_mcap_group *group = op < NM_MCAP_OPS ? &c->groups[op] : NULL;
    if (!group || !group->start) {
        fail(c, record->offset, "this summary offset names a group of records that the summary does not have");
        return;
    }
    if (group->offset_seen) fail(c, record->offset, "this group has a second summary offset");
    group->offset_seen = true;
    same(c, record->offset, "group_start", record->summary_offset.group_start, group->start);
    same(c, record->offset, "group_length", record->summary_offset.group_length, group->end - group->start);
}

static void check_footer(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    uint32_t crc;
    uint64_t from = c->summary_start ? c->summary_start : record->offset;
    same(c, record->offset, "summary_start", record->footer.summary_start, c->summary_start);
    same(c, record->offset, "summary_offset_start", record->footer.summary_offset_start, c->offsets_start);
    if (!record->footer.summary_crc) return;
    if (nm_mcap_crc_of(c->source, from, record->offset + record->length - 4, &crc, c->faults)) return;
    if (crc != record->footer.summary_crc) fail(c, record->offset, "the CRC of the summary is wrong");
}

static void nm_mcap_check_summary(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    static void (*const checks[NM_MCAP_OPS])(struct nm_mcap_checker *, const struct nm_mcap_record *) = {
        [NM_MCAP_SCHEMA] = check_schema,
        [NM_MCAP_CHANNEL] = check_channel,
        [NM_MCAP_CHUNK_INDEX] = check_chunk_index,
        [NM_MCAP_ATTACHMENT_INDEX] = check_attachment_index,
        [NM_MCAP_METADATA_INDEX] = check_metadata_index,
        [NM_MCAP_STATISTICS] = check_statistics,
        [NM_MCAP_SUMMARY_OFFSET] = check_summary_offset,
        [NM_MCAP_FOOTER] = check_footer,
    };
    struct nm_mcap_group *group = &c->groups[record->op];
    if (record->op == NM_MCAP_SUMMARY_OFFSET) {
        if (!c->offsets_start) c->offsets_start = record->offset;
    } else if (record->op != NM_MCAP_FOOTER) {
        if (!c->summary_start) c->summary_start = record->offset;
        if (c->offsets_start) fail(c, record->offset, "a record of the summary stands behind its offsets");
        if (group->start && group->end != record->offset && !group->scattered) {
            group->scattered = true;
            fail(c, record->offset, "records of one kind do not stand together in the summary");
        }
        if (!group->start) group->start = record->offset;
        group->end = record->offset + record->length;
        group->count++;
    }
    if (checks[record->op]) checks[record->op](c, record);
}

/* ---- what is missing ---- */

static int by_offset(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every chunk has exactly one index, if any has. */
static void check_all_indexed(struct nm_mcap_checker *c)
{
    uint64_t *offsets = nm_malloc(sizeof *offsets * (c->summary.n_chunks + 1)), twice = 0;
    for (uint32_t i = 0; i < c->summary.n_chunks; i++) offsets[i] = c->summary.chunks[i].chunk_start_offset;
    qsort(offsets, c->summary.n_chunks, sizeof *offsets, by_offset);
    for (uint32_t i = 1; i < c->summary.n_chunks; i++) twice += offsets[i] == offsets[i - 1];
    free(offsets);
    if (twice) nm_fail(c->faults, "%s: %llu chunks are in the index twice", c->source->name, (unsigned long long)twice);
    if (c->summary.n_chunks - twice != c->truth.n_chunks)
        nm_fail(c->faults, "%s: %u chunks, of which %llu are in the index", c->source->name, c->truth.n_chunks,
                (unsigned long long)(c->summary.n_chunks - twice));
}

/* Of the records of one kind in the data, how many the summary repeats or lists. */
static void check_listed(struct nm_mcap_checker *c, uint8_t op, const char *what, uint32_t is)
{
    if (c->groups[op].count != is && !c->damaged)
        nm_fail(c->notes, "%s: the summary lists %u of %u %s", c->source->name, c->groups[op].count, is, what);
}

/* Behind the last record that could be read. */
static void nm_mcap_check_totals(struct nm_mcap_checker *c, bool whole)
{
    const char *file = c->source->name;
    const struct nm_mcap_contents *is = &c->truth;
    if (c->back) nm_fail(c->notes, "%s: log times go back in places; readers sort them", file);
    if (c->unindexed)
        nm_fail(c->notes, "%s: %llu chunks have no message index", file, (unsigned long long)c->unindexed);
    if (!whole) return;
    if (!c->data_end) nm_fail(c->faults, "%s: there is no DataEnd", file);
    if (c->summary.n_chunks && !c->damaged) check_all_indexed(c);
    if (is->n_chunks && is->n_loose)
        nm_fail(c->notes, "%s: %llu messages stand outside of chunks, where indexed readers do not see them", file,
                (unsigned long long)is->n_loose);
    if (!c->groups[NM_MCAP_STATISTICS].count) nm_fail(c->notes, "%s: there are no statistics", file);
    if (c->extra_schemas || c->extra_channels)
        nm_fail(c->notes, "%s: %u schemas and %u channels stand only in the summary", file, c->extra_schemas,
                c->extra_channels);
    check_listed(c, NM_MCAP_SCHEMA, "schemas", is->n_schemas + c->extra_schemas);
    check_listed(c, NM_MCAP_CHANNEL, "channels", is->n_channels + c->extra_channels);
    check_listed(c, NM_MCAP_ATTACHMENT_INDEX, "attachments", is->n_attachments);
    check_listed(c, NM_MCAP_METADATA_INDEX, "metadata records", is->n_metadata);
    if (!c->summary.n_chunks) check_listed(c, NM_MCAP_CHUNK_INDEX, "chunks", is->n_chunks);
}

/* the data section */

static struct nm_mcap_spot at(const struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    return (struct nm_mcap_spot){c->source->name, record->in_chunk, c->chunk_offset, record->offset};
}

static void *room_for(void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room) return array;
    *room = *room ? 2 * *room : 256;
    return nm_realloc(array, *room * size);
}

/* ---- a chunk and its indexes ---- */

static int by_channel_and_place(const void *a, const void *b)
{
    const struct nm_mcap_seen *x = a, *y = b;
    if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void chunk_begin(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    c->in_chunk = true;
    c->chunk = record->chunk;
    c->chunk_offset = record->offset;
    c->n_seen = c->indexed = c->map_used = 0;
    c->index_length = 0;
    memset(c->has_index, 0, sizeof c->has_index);
}

static void check_message(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    struct nm_mcap_spot spot = at(c, record);
    if (nm_mcap_channel_of(&c->truth, record->message.channel_id) < 0)
        nm_mcap_fail(&spot, c->faults, "a message of channel %u, which does not stand before it",
                     record->message.channel_id);
    c->back |= record->message.log_time < c->last_time;
    c->last_time = record->message.log_time;
    if (!record->in_chunk) return;
    c->seen = room_for(c->seen, c->n_seen, &c->seen_room, sizeof *c->seen);
    c->seen[c->n_seen++] = (struct nm_mcap_seen){record->message.channel_id, record->message.log_time, record->offset};
}

/* How many of those seen come before a channel and a place. They are sorted so. */
static size_t seen_before(const struct nm_mcap_checker *c, uint32_t channel, uint64_t offset)
{
    size_t low = 0, high = c->n_seen;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct nm_mcap_seen *seen = &c->seen[middle];
        if (seen->channel < channel || (seen->channel == channel && seen->offset < offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_there(const struct nm_mcap_checker *c, uint16_t channel, uint64_t time, uint64_t offset)
{
    size_t i = seen_before(c, channel, offset);
    return i < c->n_seen && c->seen[i].channel == channel && c->seen[i].offset == offset && c->seen[i].time == time;
}

static void check_message_index(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    struct nm_mcap_spot spot = at(c, record);
    uint16_t channel = record->message_index.channel_id;
    struct nm_bytes entries = record->message_index.records;
    uint64_t time, offset, count = 0;
    if (!c->in_chunk) {
        if (!c->damaged) nm_mcap_fail(&spot, c->faults, "a message index without a chunk before it");
        return;
    }
    if (c->n_seen && !c->map_used) qsort(c->seen, c->n_seen, sizeof *c->seen, by_channel_and_place);
    if (c->has_index[channel / 8] >> channel % 8 & 1) {
        nm_mcap_fail(&spot, c->faults, "channel %u has a second index for this chunk", channel);
        return;
    }
    c->has_index[channel / 8] |= (uint8_t)(1u << channel % 8);
    size_t n = seen_before(c, channel + 1u, 0) - seen_before(c, channel, 0);
    for (; nm_mcap_next_entry(&entries, &time, &offset); count++)
        if (!is_there(c, channel, time, offset)) {
            nm_mcap_fail(&spot, c->faults,
                         "the index names a message of channel %u at %llu of its chunk; none is there", channel,
                         (unsigned long long)offset);
            return;
        }
    if (count != n)
        nm_mcap_fail(&spot, c->faults, "the index names %llu messages of channel %u; its chunk has %zu",
                     (unsigned long long)count, channel, n);
    c->indexed += n;
    c->index_map = room_for(c->index_map, c->map_used + 10, &c->map_room, 1);
    c->map_used = nm_mcap_add_count(c->index_map, c->map_used, c->map_room, channel, record->offset);
    c->index_length += record->length;
}

/* All that belongs to the last chunk was seen: keep it for the comparison with its ChunkIndex. */
static void chunk_end(struct nm_mcap_checker *c)
{
    if (!c->in_chunk) return;
    struct nm_mcap_chunk_index *truth = &c->truth.chunks[c->truth.n_chunks - 1];
    struct nm_mcap_spot spot = {.file = c->source->name, .offset = c->chunk_offset};
    c->in_chunk = false;
    if (!c->n_seen) truth->message_start_time = truth->message_end_time = 0;
    if (c->chunk.message_start_time != truth->message_start_time ||
        c->chunk.message_end_time != truth->message_end_time)
        nm_mcap_fail(&spot, c->faults, "the messages of this chunk are from %llu to %llu, it says %llu to %llu",
                     (unsigned long long)truth->message_start_time, (unsigned long long)truth->message_end_time,
                     (unsigned long long)c->chunk.message_start_time, (unsigned long long)c->chunk.message_end_time);
    if (c->n_seen && !c->map_used)
        c->unindexed++;
    else if (c->indexed != c->n_seen)
        nm_mcap_fail(&spot, c->faults, "%zu messages of this chunk are in no index", c->n_seen - c->indexed);
    uint8_t *map = nm_take(&c->truth.arena, c->map_used + 1);
    if (c->map_used) memcpy(map, c->index_map, c->map_used);
    truth->message_index_offsets = (struct nm_bytes){map, c->map_used};
    truth->message_index_length = c->index_length;
}

/* ---- the records in their order ---- */

static bool may_stand(const struct nm_mcap_checker *c, uint8_t op)
{
    static const uint32_t data = 1u << NM_MCAP_HEADER | 1u << NM_MCAP_SCHEMA | 1u << NM_MCAP_CHANNEL |
                                 1u << NM_MCAP_MESSAGE | 1u << NM_MCAP_CHUNK | 1u << NM_MCAP_MESSAGE_INDEX |
                                 1u << NM_MCAP_ATTACHMENT | 1u << NM_MCAP_METADATA | 1u << NM_MCAP_DATA_END;
    static const uint32_t summary = 1u << NM_MCAP_SCHEMA | 1u << NM_MCAP_CHANNEL | 1u << NM_MCAP_CHUNK_INDEX |
                                    1u << NM_MCAP_ATTACHMENT_INDEX | 1u << NM_MCAP_STATISTICS |
                                    1u << NM_MCAP_METADATA_INDEX | 1u << NM_MCAP_SUMMARY_OFFSET | 1u << NM_MCAP_FOOTER;
    return (c->data_end ? summary : data) >> op & 1;
}

static void check_map(struct nm_mcap_checker *c, const struct nm_mcap_record *record, struct nm_bytes map)
{
    enum { MANY = 1000 }; /* more than this are not compared */
    struct nm_mcap_spot spot = at(c, record);
    struct nm_bytes key, value, other;
    char name[80];
    for (int i = 0; i < MANY && nm_mcap_next_text(&map, &key, &value); i++) {
        struct nm_bytes rest = map;
        for (int k = i; k < MANY && nm_mcap_next_text(&rest, &other, &value); k++)
            if (nm_bytes_equal(key, other))
                nm_mcap_fail(&spot, c->faults, "the key '%s' is there twice", nm_mcap_clean(name, sizeof name, key));
    }
}

static void check_data_end(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    struct nm_mcap_spot spot = at(c, record);
    uint32_t crc;
    c->data_end = record->offset;
    if (!record->data_end.data_section_crc || nm_mcap_crc_of(c->source, 0, record->offset, &crc, c->faults)) return;
    if (crc != record->data_end.data_section_crc)
        nm_mcap_fail(&spot, c->faults, "the CRC of the data section is %08x, its bytes give %08x",
                     record->data_end.data_section_crc, crc);
}

static void check_data(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    if (!record->in_chunk && record->op != NM_MCAP_MESSAGE_INDEX) chunk_end(c);
    nm_mcap_build_data(&c->builder, record, c->source->name);
    switch (record->op) {
    case NM_MCAP_HEADER:
        if (!record->header.library.n)
            nm_fail(c->notes, "%s: the header does not say who wrote the log", c->source->name);
        break;
    case NM_MCAP_CHUNK: chunk_begin(c, record); break;
    case NM_MCAP_MESSAGE: check_message(c, record); break;
    case NM_MCAP_MESSAGE_INDEX: check_message_index(c, record); break;
    case NM_MCAP_CHANNEL: check_map(c, record, record->channel.metadata); break;
    case NM_MCAP_METADATA: check_map(c, record, record->metadata.metadata); break;
    case NM_MCAP_DATA_END: check_data_end(c, record); break;
    default: break;
    }
}

static void check_record(struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    struct nm_mcap_spot spot = at(c, record);
    if (!record->in_chunk && !may_stand(c, record->op))
        nm_mcap_fail(&spot, c->faults, "a %s does not belong %s", nm_mcap_layouts[record->op].name,
                     c->data_end ? "behind DataEnd" : "into the data section");
    else if (c->data_end)
        nm_mcap_check_summary(c, record);
    else
        check_data(c, record);
}

uint32_t nm_mcap_check(const struct nm_mcap_source *source, struct nm_err *faults, struct nm_err *notes)
{
    struct nm_mcap_checker c = {.source = source, .faults = faults, .notes = notes};
    uint32_t before = faults->n;
    struct nm_mcap_scan scan;
    struct nm_mcap_record record;
    enum nm_mcap_got got;
    nm_mcap_build_begin(&c.builder, &c.truth, faults);
    nm_mcap_build_begin(&c.summary_builder, &c.summary, faults);
    nm_mcap_scan_begin(&scan, source);
    scan.into = true;
    while ((got = nm_mcap_scan_next(&scan, &record, faults)) == NM_MCAP_GOT || got == NM_MCAP_DAMAGED) {
        if (got == NM_MCAP_GOT) {
            check_record(&c, &record);
        } else {
            if (!record.in_chunk) chunk_end(&c);
            c.damaged = true;
            c.in_chunk = false;
        }
        nm_mcap_scan_tell(&scan);
    }
    if (got == NM_MCAP_END) chunk_end(&c); /* cut off: its indexes may be missing */
    if (got == NM_MCAP_END && scan.at != source->size)
        nm_fail(faults, "%s: byte %llu: %llu bytes follow the end of the log", source->name,
                (unsigned long long)scan.at, (unsigned long long)(source->size - scan.at));
    nm_mcap_scan_end(&scan);
    nm_mcap_check_totals(&c, got == NM_MCAP_END);
    nm_mcap_contents_free(&c.truth);
    nm_mcap_contents_free(&c.summary);
    free(c.seen);
    free(c.index_map);
    return faults->n - before;
}
