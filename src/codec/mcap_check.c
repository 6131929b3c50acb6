/* The strict check: the data section against itself, its CRCs and its message indexes. The summary against the data is
 * mcap_check_summary.c. */
#include "codec/mcap_check.h"

#include <stdlib.h>
#include <string.h>

static struct nm_mcap_spot at(const struct nm_mcap_checker *c, const struct nm_mcap_record *record)
{
    return (struct nm_mcap_spot){c->source->name, record->in_chunk, c->chunk_offset, record->offset};
}

static void *room_for(void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room) return array;
    *room = *room ? 2 * *room : 256;
    array = realloc(array, *room * size);
    if (!array) abort();
    return array;
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
