/* Shared by mcap_writer.c and mcap_summary.c only. */
#ifndef NM_CODEC_MCAP_WRITER_PARTS_H
#define NM_CODEC_MCAP_WRITER_PARTS_H

#include "base/arena.h"
#include "codec/mcap_pack.h"
#include "codec/mcap_write.h"

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

int nm_mcap_out(struct nm_mcap_writer *writer, const void *bytes, size_t n, struct nm_err *err);
int nm_mcap_out_record(struct nm_mcap_writer *writer, const struct nm_mcap_record *record, struct nm_err *err);

#endif
