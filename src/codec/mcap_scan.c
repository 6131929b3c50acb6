/* Every record in the order of the file. A log that was cut off has no end, and its last chunk may be half there: what
 * can be unpacked of that is given, too. */
#include "codec/mcap_read.h"

#include <string.h>

#include "base/crc32.h"

void nm_mcap_scan_begin(struct nm_mcap_scan *scan, const struct nm_mcap_source *source)
{
    *scan = (struct nm_mcap_scan){.source = source};
}

void nm_mcap_scan_end(struct nm_mcap_scan *scan)
{
    nm_mcap_unpacked_free(&scan->chunk);
    nm_mcap_unpacker_free(&scan->unpacker);
    nm_mcap_window_free(&scan->window);
}

void nm_mcap_scan_tell(const struct nm_mcap_scan *scan)
{
    const struct nm_mcap_progress *progress = scan->source->progress;
    if (progress && !scan->in_chunk) progress->tell(progress->user, scan->at, scan->source->size);
}

static enum nm_mcap_got cut_here(struct nm_mcap_scan *scan, struct nm_err *err, const char *what)
{
    struct nm_mcap_spot spot = {.file = scan->source->name, .offset = scan->at};
    nm_mcap_fail(&spot, err, "%s", what);
    return NM_MCAP_CUT;
}

static enum nm_mcap_got check_magic(struct nm_mcap_scan *scan, struct nm_err *err)
{
    uint64_t left = scan->source->size - scan->at;
    size_t n = left < NM_MCAP_MAGIC_SIZE ? (size_t)left : NM_MCAP_MAGIC_SIZE;
    const uint8_t *bytes = nm_mcap_look(scan->source, &scan->window, scan->at, n, err);
    if (!bytes) return NM_MCAP_CUT;
    if (memcmp(bytes, NM_MCAP_MAGIC, n)) return cut_here(scan, err, "this is no MCAP: its magic is missing");
    if (n < NM_MCAP_MAGIC_SIZE) return cut_here(scan, err, "the file ends inside of the magic");
    scan->good = scan->at += NM_MCAP_MAGIC_SIZE;
    return NM_MCAP_GOT;
}

/* The next record out of the chunk; NM_MCAP_END behind its last one. */
static enum nm_mcap_got next_in_chunk(struct nm_mcap_scan *scan, struct nm_mcap_record *record, struct nm_err *err)
{
    struct nm_mcap_spot spot = {.file = scan->source->name, .offset = scan->chunk_offset};
    bool cut = !scan->chunk.whole;
    int got = nm_mcap_chunk_next(&scan->chunk, &spot, &scan->chunk_at, record, cut ? NULL : err);
    if (got > 0) return NM_MCAP_GOT;
    scan->in_chunk = false;
    if (cut) {
        scan->at = scan->chunk_offset;
        return cut_here(scan, err, "the file ends inside of this chunk");
    }
    return got ? NM_MCAP_DAMAGED : NM_MCAP_END;
}

/* Whole or cut off: its records come next. */
static enum nm_mcap_got enter_chunk(struct nm_mcap_scan *scan, struct nm_mcap_record *record, struct nm_err *err)
{
    if (nm_mcap_chunk_at(scan->source, &scan->window, &scan->unpacker, scan->at, record, &scan->chunk, err))
        return NM_MCAP_CUT;
    scan->in_chunk = true;
    scan->chunk_offset = scan->at;
    scan->chunk_at = 0;
    return NM_MCAP_GOT;
}

/* The frame of the next record; known ones only, the others are passed over. */
static enum nm_mcap_got next_frame(struct nm_mcap_scan *scan, struct nm_mcap_record *record, struct nm_err *err)
{
    for (;;) {
        uint64_t left = scan->source->size - scan->at, length;
        if (!left) return cut_here(scan, err, "the file ends without a footer");
        if (left < NM_MCAP_FRAME) return cut_here(scan, err, "the file ends inside of this record");
        const uint8_t *frame = nm_mcap_look(scan->source, &scan->window, scan->at, NM_MCAP_FRAME, err);
        if (!frame) return NM_MCAP_CUT;
        memcpy(&length, frame + 1, 8);
        *record = (struct nm_mcap_record){.op = frame[0], .offset = scan->at};
        if (!record->op) return cut_here(scan, err, "a record with opcode 0: from here on the file makes no sense");
        if (length > left - NM_MCAP_FRAME) {
            if (record->op == NM_MCAP_CHUNK && scan->into) return enter_chunk(scan, record, err);
            return cut_here(scan, err, "the file ends inside of this record");
        }
        record->length = NM_MCAP_FRAME + length;
        if (record->op < NM_MCAP_OPS) return NM_MCAP_GOT;
        scan->good = scan->at += record->length;
    }
}

static int read_content(struct nm_mcap_scan *scan, struct nm_mcap_record *record, struct nm_err *err)
{
    struct nm_mcap_spot spot = {.file = scan->source->name, .offset = scan->at};
    size_t n = (size_t)(record->length - NM_MCAP_FRAME);
    if (n > 2 * scan->source->chunk_most)
        return nm_mcap_fail(&spot, err, "this record has %zu bytes, more than is read at once", n);
    const uint8_t *bytes = nm_mcap_look(scan->source, &scan->window, scan->at + NM_MCAP_FRAME, n, err);
    if (!bytes || nm_mcap_decode(record, (struct nm_bytes){bytes, n}, &spot, err)) return -1;
    if (record->op != NM_MCAP_ATTACHMENT || !record->attachment.crc) return 0;
    size_t covered = (size_t)(record->attachment.data.at + record->attachment.data.n - bytes);
    if (nm_crc32(0, bytes, covered) == record->attachment.crc) return 0;
    return nm_mcap_fail(&spot, err, "the CRC of this attachment is wrong: damaged");
}

static enum nm_mcap_got next_in_file(struct nm_mcap_scan *scan, struct nm_mcap_record *record, struct nm_err *err)
{
    enum nm_mcap_got got = next_frame(scan, record, err);
    if (got != NM_MCAP_GOT || scan->in_chunk) return got;
    if ((record->op == NM_MCAP_HEADER) != (scan->at == NM_MCAP_MAGIC_SIZE))
        return cut_here(scan, err, "the header is the first record, and only the first");
    uint64_t length = record->length;
    int fault;
    if (record->op == NM_MCAP_CHUNK && scan->into) {
        fault = enter_chunk(scan, record, err) == NM_MCAP_GOT ? 0 : -1;
    } else {
        fault = read_content(scan, record, err);
    }
    bool frame = record->op == NM_MCAP_HEADER || record->op == NM_MCAP_FOOTER || record->op == NM_MCAP_DATA_END;
    if (fault && frame) return NM_MCAP_CUT;
    scan->good = scan->at += length;
    if (fault) return NM_MCAP_DAMAGED;
    if (record->op == NM_MCAP_DATA_END) scan->data_ended = true;
    if (record->op == NM_MCAP_FOOTER) scan->ended = true;
    return NM_MCAP_GOT;
}

enum nm_mcap_got nm_mcap_scan_next(struct nm_mcap_scan *scan, struct nm_mcap_record *record, struct nm_err *err)
{
    enum nm_mcap_got got;
    if (!scan->at && (got = check_magic(scan, err)) != NM_MCAP_GOT) return got;
    if (scan->in_chunk && (got = next_in_chunk(scan, record, err)) != NM_MCAP_END) return got;
    if (scan->ended) return check_magic(scan, err) == NM_MCAP_GOT ? NM_MCAP_END : NM_MCAP_CUT;
    return next_in_file(scan, record, err);
}
