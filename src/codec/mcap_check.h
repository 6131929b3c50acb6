/* Shared by mcap_check.c and mcap_check_summary.c only. */
#ifndef NM_CODEC_MCAP_CHECK_H
#define NM_CODEC_MCAP_CHECK_H

#include "codec/mcap_contents_parts.h"

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

void nm_mcap_check_summary(struct nm_mcap_checker *checker, const struct nm_mcap_record *record);
/* Behind the last record that could be read. */
void nm_mcap_check_totals(struct nm_mcap_checker *checker, bool whole);

#endif
