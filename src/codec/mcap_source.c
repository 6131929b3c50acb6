/* The bytes of a log: from memory or from a file, a window at a time, and the records and chunks in them. */
#include "codec/mcap_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32.h"

enum { AHEAD = 256 << 10 }; /* bytes read at least, where there are so many */

struct nm_mcap_source nm_mcap_memory(const char *name, const void *bytes, size_t size)
{
    static const uint8_t nothing[1];
    return (struct nm_mcap_source){
        .name = name, .size = size, .chunk_most = NM_MCAP_CHUNK_MOST, .bytes = bytes ? bytes : nothing, .file = -1};
}

int nm_mcap_open(struct nm_mcap_source *source, const char *path, struct nm_err *err)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return nm_fail(err, "%s: %s", path, strerror(errno));
    if (fstat(file, &status) || !S_ISREG(status.st_mode)) {
        close(file);
        return nm_fail(err, "%s: this is no file", path);
    }
    *source = (struct nm_mcap_source){
        .name = path, .size = (uint64_t)status.st_size, .chunk_most = NM_MCAP_CHUNK_MOST, .file = file};
    return 0;
}

void nm_mcap_close(struct nm_mcap_source *source)
{
    if (!source->bytes && source->file >= 0) close(source->file);
    source->file = -1;
}

void nm_mcap_window_free(struct nm_mcap_window *window)
{
    free(window->bytes);
    *window = (struct nm_mcap_window){0};
}

/* Reads `n` bytes and some more of those that come next. */
static int fill(const struct nm_mcap_source *source, struct nm_mcap_window *window, uint64_t offset, size_t n,
                struct nm_err *err)
{
    uint64_t left = source->size - offset;
    size_t more = n > AHEAD ? n : left < AHEAD ? (size_t)left : AHEAD;
    if (more > window->size) {
        free(window->bytes);
        *window = (struct nm_mcap_window){.bytes = malloc(more)};
        if (!window->bytes) return nm_fail(err, "%s: no memory for %zu bytes", source->name, more);
        window->size = more;
    }
    window->n = 0;
    window->from = offset;
    while (window->n < n) {
        ssize_t got = pread(source->file, window->bytes + window->n, more - window->n, (off_t)(offset + window->n));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return nm_fail(err, "%s: byte %llu: %s", source->name, (unsigned long long)(offset + window->n),
                           got ? strerror(errno) : "the file became shorter while it was read");
        window->n += (size_t)got;
    }
    return 0;
}

const uint8_t *nm_mcap_look(const struct nm_mcap_source *source, struct nm_mcap_window *window, uint64_t offset,
                            size_t n, struct nm_err *err)
{
    if (offset > source->size || n > source->size - offset) {
        nm_fail(err, "%s: byte %llu: %zu bytes are wanted, but the file has only %llu", source->name,
                (unsigned long long)offset, n, (unsigned long long)source->size);
        return NULL;
    }
    if (source->bytes) return source->bytes + offset;
    if (offset < window->from || offset - window->from > window->n || n > window->n - (offset - window->from)) {
        if (fill(source, window, offset, n, err)) return NULL;
    }
    return window->bytes + (offset - window->from);
}

int nm_mcap_record_at(const struct nm_mcap_source *source, struct nm_mcap_window *window, uint64_t offset,
                      struct nm_mcap_record *record, struct nm_err *err)
{
    struct nm_mcap_spot spot = {.file = source->name, .offset = offset};
    uint64_t length;
    const uint8_t *frame = nm_mcap_look(source, window, offset, NM_MCAP_FRAME, err);
    if (!frame) return -1;
    memcpy(&length, frame + 1, 8);
    *record = (struct nm_mcap_record){.op = frame[0], .offset = offset};
    if (!record->op || record->op >= NM_MCAP_OPS) return nm_mcap_fail(&spot, err, "no record is here");
    if (length > source->size - offset - NM_MCAP_FRAME)
        return nm_mcap_fail(&spot, err, "this %s is said to have %llu bytes, the file has %llu more",
                            nm_mcap_layouts[record->op].name, (unsigned long long)length,
                            (unsigned long long)(source->size - offset - NM_MCAP_FRAME));
    record->length = NM_MCAP_FRAME + length;
    const uint8_t *content = nm_mcap_look(source, window, offset + NM_MCAP_FRAME, (size_t)length, err);
    return content ? nm_mcap_decode(record, (struct nm_bytes){content, (size_t)length}, &spot, err) : -1;
}

int nm_mcap_crc_of(const struct nm_mcap_source *source, uint64_t from, uint64_t to, uint32_t *crc, struct nm_err *err)
{
    struct nm_mcap_window window = {0};
    *crc = 0;
    while (from < to) {
        size_t n = to - from < AHEAD ? (size_t)(to - from) : AHEAD;
        const uint8_t *bytes = nm_mcap_look(source, &window, from, n, err);
        if (!bytes) break;
        *crc = nm_crc32(*crc, bytes, n);
        from += n;
    }
    nm_mcap_window_free(&window);
    return from < to ? -1 : 0;
}

/* ---- chunks ---- */

void nm_mcap_unpacked_free(struct nm_mcap_unpacked *unpacked)
{
    free(unpacked->bytes);
    *unpacked = (struct nm_mcap_unpacked){0};
}

static int make_room(struct nm_mcap_unpacked *to, size_t n, const struct nm_mcap_spot *spot, struct nm_err *err)
{
    if (n <= to->size && to->bytes) return 0;
    free(to->bytes);
    *to = (struct nm_mcap_unpacked){.bytes = malloc(n ? n : 1)};
    if (!to->bytes) return nm_mcap_fail(spot, err, "no memory for a chunk of %zu bytes", n);
    to->size = n;
    return 0;
}

/* Unpacks and checks what was read of a chunk. */
static int unpack(const struct nm_mcap_source *source, struct nm_mcap_unpacker *unpacker,
                  const struct nm_mcap_record *record, bool cut, struct nm_mcap_unpacked *to, struct nm_err *err)
{
    const struct nm_mcap_chunk *chunk = &record->chunk;
    struct nm_mcap_spot spot = {.file = source->name, .offset = record->offset};
    unsigned long long size = chunk->uncompressed_size;
    int packing = nm_mcap_packing_named(chunk->compression);
    char name[40];
    if (packing < 0)
        return nm_mcap_fail(&spot, err, "this chunk is compressed by '%s'; we know zstd and lz4",
                            nm_mcap_clean(name, sizeof name, chunk->compression));
    if (size > source->chunk_most)
        return nm_mcap_fail(&spot, err, "this chunk unpacks to %llu bytes; at most %llu are read", size,
                            (unsigned long long)source->chunk_most);
    if (make_room(to, (size_t)size, &spot, err)) return -1;
    bool whole;
    size_t n = nm_mcap_unpack(unpacker, (enum nm_mcap_packing)packing, chunk->records, to->bytes, (size_t)size, &whole);
    if ((!whole || n != size) && !cut)
        return nm_mcap_fail(&spot, err, "this chunk does not unpack to the %llu bytes that it is said to have: damaged",
                            size);
    uint32_t crc = chunk->uncompressed_crc && n == size ? nm_crc32(0, to->bytes, n) : chunk->uncompressed_crc;
    if (crc != chunk->uncompressed_crc)
        return nm_mcap_fail(&spot, err, "the CRC of this chunk is %08x, its bytes give %08x: damaged",
                            chunk->uncompressed_crc, crc);
    to->n = n;
    to->whole = !cut;
    return 0;
}

/* Fields of a chunk that is only half there: its last one, the packed records, goes up to the end of the file. */
static int decode_cut_chunk(struct nm_mcap_record *record, struct nm_bytes content, const struct nm_mcap_spot *spot,
                            struct nm_err *err)
{
    enum { FIXED = 8 + 8 + 8 + 4, NAME = 64 };
    uint8_t head[FIXED + 4 + NAME + 8];
    uint32_t name = 0;
    if (content.n >= FIXED + 4) memcpy(&name, content.at + FIXED, 4);
    size_t n = FIXED + 4 + (size_t)name + 8;
    if (content.n < FIXED + 4 || name > NAME || content.n < n)
        return nm_mcap_fail(spot, err, "the file ends inside of this record");
    memcpy(head, content.at, n);
    memset(head + n - 8, 0, 8);
    if (nm_mcap_decode(record, (struct nm_bytes){head, n}, spot, err)) return -1;
    record->chunk.compression.at = content.at + FIXED + 4;
    record->chunk.records = (struct nm_bytes){content.at + n, content.n - n};
    return 0;
}

int nm_mcap_chunk_at(const struct nm_mcap_source *source, struct nm_mcap_window *window,
                     struct nm_mcap_unpacker *unpacker, uint64_t offset, struct nm_mcap_record *record,
                     struct nm_mcap_unpacked *to, struct nm_err *err)
{
    struct nm_mcap_spot spot = {.file = source->name, .offset = offset};
    uint64_t length;
    to->n = 0;
    const uint8_t *frame = nm_mcap_look(source, window, offset, NM_MCAP_FRAME, err);
    if (!frame) return -1;
    memcpy(&length, frame + 1, 8);
    if (frame[0] != NM_MCAP_CHUNK) return nm_mcap_fail(&spot, err, "no chunk is here");
    uint64_t left = source->size - offset - NM_MCAP_FRAME;
    bool cut = length > left;
    if (cut) length = left;
    if (length > 2 * source->chunk_most)
        return nm_mcap_fail(&spot, err, "this chunk has %llu bytes; at most %llu are read", (unsigned long long)length,
                            (unsigned long long)source->chunk_most);
    *record = (struct nm_mcap_record){.op = NM_MCAP_CHUNK, .offset = offset, .length = NM_MCAP_FRAME + length};
    const uint8_t *bytes = nm_mcap_look(source, window, offset + NM_MCAP_FRAME, (size_t)length, err);
    if (!bytes) return -1;
    struct nm_bytes content = {bytes, (size_t)length};
    if (cut ? decode_cut_chunk(record, content, &spot, err) : nm_mcap_decode(record, content, &spot, err)) return -1;
    return unpack(source, unpacker, record, cut, to, err);
}

int nm_mcap_chunk_next(const struct nm_mcap_unpacked *chunk, const struct nm_mcap_spot *where, size_t *at,
                       struct nm_mcap_record *record, struct nm_err *err)
{
    struct nm_mcap_spot spot = {where->file, true, where->offset, *at};
    while (*at < chunk->n) {
        uint64_t length = 0;
        size_t left = chunk->n - *at;
        const uint8_t *frame = chunk->bytes + *at;
        spot.offset = *at;
        *record = (struct nm_mcap_record){.op = frame[0], .in_chunk = true, .offset = *at};
        if (left >= NM_MCAP_FRAME) memcpy(&length, frame + 1, 8);
        if (left < NM_MCAP_FRAME || length > left - NM_MCAP_FRAME)
            return nm_mcap_fail(&spot, err, "a record is cut off: %zu bytes are left of it", left);
        *record =
            (struct nm_mcap_record){.op = frame[0], .in_chunk = true, .offset = *at, .length = NM_MCAP_FRAME + length};
        *at += (size_t)record->length;
        if (record->op >= NM_MCAP_OPS) continue;
        if (record->op < NM_MCAP_SCHEMA || record->op > NM_MCAP_MESSAGE)
            return nm_mcap_fail(&spot, err, "a chunk may not hold a record with opcode %u", record->op);
        struct nm_bytes content = {frame + NM_MCAP_FRAME, (size_t)length};
        return nm_mcap_decode(record, content, &spot, err) ? -1 : 1;
    }
    return 0;
}
