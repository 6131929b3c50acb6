/* The end of a file: the summary section, with all that a reader needs to find its way without reading the data. */
#include "codec/mcap_writer_parts.h"

#include <stdlib.h>
#include <string.h>

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
