/* Messages in the order of time. Chunks may overlap in time and hold messages in any order, so each one is unpacked
 * when its time comes, its messages are sorted, and a heap gives the earliest of all chunks that are open. The message
 * indexes of the file are not needed for that: walking an unpacked chunk is cheap, and it cannot lie. */
#include "codec/mcap_read.h"

#include <stdlib.h>
#include <string.h>

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
    size_t n_heap, heap_room;
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
    struct nm_mcap_query *q = calloc(1, sizeof *q);
    if (!q) abort();
    size_t n = contents->n_chunks + 1;
    q->source = source;
    q->contents = contents;
    q->options = *options;
    if (!q->options.overlap_bytes) q->options.overlap_bytes = OVERLAP;
    q->pending = calloc(n, sizeof *q->pending);
    q->heap = calloc(n, sizeof(*q->heap));
    q->spare = calloc(n, sizeof(*q->spare));
    if (!q->pending || !q->heap || !q->spare) abort();
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
