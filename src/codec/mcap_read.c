/* Reading of logs in three layers: bytes from memory or from a file, a window at a time, with the records and chunks in
 * them; every record in the order of the file; messages in the order of time. */
#include "codec/mcap_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/memory.h"

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

/* Every record in the order of the file. A log that was cut off has no end, and its last chunk may be half there: what
 * can be unpacked of that is given, too. */

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

/* Messages in the order of time. Chunks may overlap in time and hold messages in any order, so each one is unpacked
 * when its time comes, its messages are sorted, and a heap gives the earliest of all chunks that are open. The message
 * indexes of the file are not needed for that: walking an unpacked chunk is cheap, and it cannot lie. */

enum { OVERLAP = 1 << 30 };

struct item {
    uint64_t time, offset; /* in the chunk; of a loose message in the file */
    uint32_t channel;
};

/* A chunk that is open, or all loose messages of the file. */
struct part {
    uint64_t position; /* of the chunk in the file */
    bool loose;
    struct nm_mcap_unpacked chunk;
    struct item *items;
    size_t n, at, room;
};

struct nm_mcap_query {
    const struct nm_mcap_source *source;
    const struct nm_mcap_contents *contents;
    struct nm_mcap_query_options options;
    const struct nm_mcap_chunk_index **pending; /* chunks to be opened, by time */
    size_t n_pending, next;
    struct part **heap; /* with items left; the earliest first */
    size_t n_heap;
    struct part **spare; /* parts whose memory can be used again */
    size_t n_spare;
    uint64_t bytes; /* of chunks that are open */
    bool moved;     /* the first item of the heap was given away: go on behind it */
    struct nm_mcap_window window;
    struct nm_mcap_unpacker unpacker;
};

static int by_start(const void *a, const void *b)
{
    const struct nm_mcap_chunk_index *x = *(const struct nm_mcap_chunk_index *const *)a,
                                     *y = *(const struct nm_mcap_chunk_index *const *)b;
    if (x->message_start_time != y->message_start_time) return x->message_start_time < y->message_start_time ? -1 : 1;
    return (x->chunk_start_offset > y->chunk_start_offset) - (x->chunk_start_offset < y->chunk_start_offset);
}

static int by_time(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* ---- the heap ---- */

static bool before(const struct part *a, const struct part *b)
{
    const struct item *x = &a->items[a->at], *y = &b->items[b->at];
    if (x->time != y->time) return x->time < y->time;
    return (a->loose ? x->offset : a->position) < (b->loose ? y->offset : b->position);
}

static void sink(struct nm_mcap_query *q, size_t i)
{
    for (;;) {
        size_t least = i, child = 2 * i + 1;
        for (size_t k = child; k < child + 2 && k < q->n_heap; k++)
            if (before(q->heap[k], q->heap[least])) least = k;
        if (least == i) return;
        struct part *part = q->heap[i];
        q->heap[i] = q->heap[least];
        q->heap[least] = part;
        i = least;
    }
}

static void push(struct nm_mcap_query *q, struct part *part)
{
    size_t i = q->n_heap++;
    q->heap[i] = part;
    while (i && before(q->heap[i], q->heap[(i - 1) / 2])) {
        q->heap[i] = q->heap[(i - 1) / 2];
        i = (i - 1) / 2;
        q->heap[i] = part;
    }
}

static uint64_t weight(const struct part *part) { return part->chunk.size + part->room * sizeof *part->items; }

static void retire(struct nm_mcap_query *q, struct part *part)
{
    q->bytes -= weight(part);
    q->spare[q->n_spare++] = part;
}

/* ---- opening ---- */

static bool wanted(const struct nm_mcap_query *q, uint64_t time, uint32_t channel)
{
    return time >= q->options.from && (!q->options.to || time < q->options.to) &&
           (!q->options.channels || q->options.channels[channel]);
}

/* Whether a chunk can hold anything that is asked for. Its list of channels is optional. */
static bool chunk_wanted(const struct nm_mcap_query *q, const struct nm_mcap_chunk_index *chunk)
{
    struct nm_bytes map = chunk->message_index_offsets;
    uint16_t id;
    uint64_t offset;
    if (chunk->message_end_time < q->options.from) return false;
    if (q->options.to && chunk->message_start_time >= q->options.to) return false;
    if (!map.n || !q->options.channels) return true;
    while (nm_mcap_next_count(&map, &id, &offset)) {
        int at = nm_mcap_channel_of(q->contents, id);
        if (at >= 0 && q->options.channels[at]) return true;
    }
    return false;
}

static int add_item(struct part *part, struct item item)
{
    if (part->n == part->room) {
        size_t room = part->room ? 2 * part->room : 256;
        struct item *items = realloc(part->items, room * sizeof *items);
        if (!items) return -1;
        part->items = items;
        part->room = room;
    }
    part->items[part->n++] = item;
    return 0;
}

static void sort_items(struct part *part)
{
    for (size_t i = 1; i < part->n; i++) {
        if (by_time(&part->items[i - 1], &part->items[i]) < 0) continue;
        qsort(part->items, part->n, sizeof *part->items, by_time);
        return;
    }
}

static int collect(struct nm_mcap_query *q, struct part *part, const struct nm_mcap_chunk_index *index,
                   struct nm_err *err)
{
    struct nm_mcap_spot spot = {.file = q->source->name, .offset = index->chunk_start_offset};
    struct nm_mcap_record record;
    size_t at = 0;
    int got;
    bool cut = !part->chunk.whole;
    while ((got = nm_mcap_chunk_next(&part->chunk, &spot, &at, &record, cut ? NULL : err)) > 0) {
        if (record.op != NM_MCAP_MESSAGE) continue;
        uint64_t time = record.message.log_time;
        int channel = nm_mcap_channel_of(q->contents, record.message.channel_id);
        if (time < index->message_start_time || time > index->message_end_time)
            return nm_mcap_fail(&spot, err, "a message in this chunk is of another time than its index says");
        if (channel < 0 || !wanted(q, time, (uint32_t)channel)) continue;
        if (add_item(part, (struct item){time, record.offset, (uint32_t)channel}))
            return nm_mcap_fail(&spot, err, "no memory for the messages of this chunk");
    }
    return cut ? 0 : got;
}

static struct part *part_new(struct nm_mcap_query *q)
{
    struct part *part = q->n_spare ? q->spare[--q->n_spare] : calloc(1, sizeof *part);
    if (part) part->n = part->at = 0, part->loose = false;
    return part;
}

static int open_chunk(struct nm_mcap_query *q, const struct nm_mcap_chunk_index *index, struct nm_err *err)
{
    struct nm_mcap_spot spot = {.file = q->source->name, .offset = index->chunk_start_offset};
    struct nm_mcap_record record;
    struct part *part = part_new(q);
    if (!part) return nm_mcap_fail(&spot, err, "no memory");
    part->position = index->chunk_start_offset;
    int result =
        nm_mcap_chunk_at(q->source, &q->window, &q->unpacker, index->chunk_start_offset, &record, &part->chunk, err);
    if (!result) result = collect(q, part, index, err);
    q->bytes += weight(part);
    if (!result && q->bytes > q->options.overlap_bytes)
        result = nm_mcap_fail(&spot, err, "more than %llu MiB of chunks overlap in time",
                              (unsigned long long)(q->options.overlap_bytes >> 20));
    if (result || !part->n) {
        retire(q, part);
        return result;
    }
    sort_items(part);
    push(q, part);
    return 0;
}

static void open_loose(struct nm_mcap_query *q)
{
    const struct nm_mcap_contents *c = q->contents;
    struct part *part = part_new(q);
    if (!part) return;
    part->loose = true;
    for (uint64_t i = 0; i < c->n_loose; i++)
        if (wanted(q, c->loose[i].time, c->loose[i].channel))
            add_item(part, (struct item){c->loose[i].time, c->loose[i].offset, c->loose[i].channel});
    q->bytes += weight(part);
    if (!part->n) {
        retire(q, part);
        return;
    }
    sort_items(part);
    push(q, part);
}

struct nm_mcap_query *nm_mcap_query_new(const struct nm_mcap_source *source, const struct nm_mcap_contents *contents,
                                        const struct nm_mcap_query_options *options)
{
    struct nm_mcap_query *q = nm_calloc(1, sizeof *q);
    size_t n = contents->n_chunks + 1;
    q->source = source;
    q->contents = contents;
    q->options = *options;
    if (!q->options.overlap_bytes) q->options.overlap_bytes = OVERLAP;
    q->pending = nm_calloc(n, sizeof *q->pending);
    q->heap = nm_calloc(n, sizeof(*q->heap));
    q->spare = nm_calloc(n, sizeof(*q->spare));
    for (uint32_t i = 0; i < contents->n_chunks; i++)
        if (chunk_wanted(q, &contents->chunks[i])) q->pending[q->n_pending++] = &contents->chunks[i];
    if (q->n_pending) qsort(q->pending, q->n_pending, sizeof *q->pending, by_start);
    if (contents->n_loose) open_loose(q);
    return q;
}

static void part_free(struct part *part)
{
    nm_mcap_unpacked_free(&part->chunk);
    free(part->items);
    free(part);
}

void nm_mcap_query_free(struct nm_mcap_query *q)
{
    if (!q) return;
    for (size_t i = 0; i < q->n_heap; i++) part_free(q->heap[i]);
    for (size_t i = 0; i < q->n_spare; i++) part_free(q->spare[i]);
    free(q->heap);
    free(q->spare);
    free(q->pending);
    nm_mcap_window_free(&q->window);
    nm_mcap_unpacker_free(&q->unpacker);
    free(q);
}

/* ---- reading ---- */

/* Behind the item that was given last. */
static void move_on(struct nm_mcap_query *q)
{
    struct part *part = q->heap[0];
    q->moved = false;
    if (++part->at < part->n) {
        sink(q, 0);
        return;
    }
    q->heap[0] = q->heap[--q->n_heap];
    if (q->n_heap) sink(q, 0);
    retire(q, part);
}

static int give(struct nm_mcap_query *q, const struct part *part, struct nm_mcap_message *message, struct nm_err *err)
{
    struct nm_mcap_record record;
    struct nm_mcap_spot spot = {.file = q->source->name, .offset = part->position};
    size_t at = (size_t)part->items[part->at].offset;
    if (part->loose) {
        if (nm_mcap_record_at(q->source, &q->window, at, &record, err)) return -1;
        spot.offset = at;
        if (record.op != NM_MCAP_MESSAGE) return nm_mcap_fail(&spot, err, "the file changed while it was read");
    } else if (nm_mcap_chunk_next(&part->chunk, &spot, &at, &record, err) <= 0) {
        return -1;
    }
    *message = record.message;
    return 1;
}

int nm_mcap_query_next(struct nm_mcap_query *q, struct nm_mcap_message *message, uint32_t *channel, struct nm_err *err)
{
    if (q->moved) move_on(q);
    while (q->next < q->n_pending &&
           (!q->n_heap || q->pending[q->next]->message_start_time <= q->heap[0]->items[q->heap[0]->at].time))
        if (open_chunk(q, q->pending[q->next++], err)) return -1;
    if (!q->n_heap) return 0;
    const struct part *part = q->heap[0];
    q->moved = true;
    *channel = part->items[part->at].channel;
    return give(q, part, message, err);
}
