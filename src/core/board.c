/* How messages travel. Inside one cycle a value has two buffers, a queue has a ring, and every reader has a pointer.
 * Between two cycles a mailbox carries them without a lock. core/internal.h describes the data, link.c builds it. */

#include "builtin_interfaces/Time.h"
#include "core/internal.h"
#include "core/stamp.h"

uint32_t message_stride(const struct nm_type *type)
{
    return (uint32_t)((sizeof(struct nm_slot) + type->size + 63) / 64 * 64);
}

void *message_new(struct nm_arena *arena, const struct nm_type *type, uint32_t topic)
{
    /* never below the size from which the arena aligns to cache lines */
    size_t bytes = message_stride(type) < 256 ? 256 : message_stride(type);
    struct nm_slot *slot = nm_take(arena, bytes);
    slot->topic = topic;
    nm_reset(type, slot + 1);
    return slot + 1;
}

/* The runtime stamps a message with the cycle's time unless its maker did. The stamp, ns. */
static int64_t stamp(const struct nm_type *type, void *message, int64_t now)
{
    if (type->stamp == UINT32_MAX) return now;
    Time *time = (Time *)(void *)((unsigned char *)message + type->stamp);
    if (time->sec || time->nanosec) return nm_stamp_ns(*time);
    *time = nm_stamp(now);
    return now;
}

/* Counts one more message of a topic, whoever made it: its place among all of them. */
static uint64_t count(struct nm_cycle *cycle, uint32_t topic)
{
    struct topic_state *state = &cycle->player->topics[topic];
    atomic_store_explicit(&state->time, cycle->now, memory_order_relaxed);
    atomic_store_explicit(&state->stamp, cycle->now, memory_order_relaxed);
    atomic_store_explicit(&state->maker, cycle->index, memory_order_relaxed);
    return atomic_fetch_add_explicit(&state->seq, 1, memory_order_relaxed) + 1;
}

/* The hidden buffer becomes the published one; readers of this cycle follow. */
void value_publish(struct nm_cycle *cycle, struct value *value)
{
    struct nm_slot *slot = nm_slot(value->back);
    slot->put = false;
    slot->seq = ++value->seq;
    slot->run = cycle->run;
    slot->time = cycle->now;
    slot->maker = cycle->index;
    slot->order = count(cycle, value->topic);
    int64_t told = stamp(value->type, value->back, cycle->now);
    atomic_store_explicit(&cycle->player->topics[value->topic].stamp, told, memory_order_relaxed);

    void *front = value->back;
    value->back = value->front;
    value->front = front;
    if (value->source)
        for (uint32_t i = 0; i < value->source->n_in; i++) *(const void **)value->source->in[i]->member = front;
}

/* A full ring hands out its scratch slot and counts a loss. */
void *ring_push(struct nm_ring *ring, uint64_t caller, int64_t call)
{
    struct nm_cycle *cycle = ring->cycle;
    struct nm_slot *slot;
    if (ring->in_run < ring->cap) {
        ring->in_run++;
        slot = ring_slot(ring, ++ring->total);
        slot->seq = ring->total;
        slot->run = cycle->run;
        slot->time = cycle->now;
        slot->maker = cycle->index;
        slot->caller = caller;
        slot->call = call;
        slot->order = count(cycle, ring->topic);
    } else {
        ring->lost++;
        atomic_fetch_add_explicit(&cycle->player->topics[ring->topic].lost, 1, memory_order_relaxed);
        slot = (struct nm_slot *)(void *)(ring->slots + (size_t)ring->stride * 2 * ring->cap);
    }
    slot->topic = ring->topic;
    nm_reset(ring->type, slot + 1);
    return slot + 1;
}

static uint32_t take(struct port *port, uint32_t n, struct nm_slot *slot)
{
    if (port->client && port->row->role == NM_ROLE_REPLY && slot->caller != port->client) return n;
    if (n == port->cap) return n;
    port->at[n] = slot + 1;
    return n + 1;
}

/* Lists everything that reached a queue port since its instance's last step: what came in, then what this cycle made.
 */
uint32_t port_gather(struct port *port, uint32_t *lost)
{
    struct source *source = port->source;
    uint32_t n = 0;
    uint64_t all_lost = 0;
    for (uint32_t i = 0; i < source->n_lanes; i++) {
        struct lane *lane = source->lanes[i];
        uint64_t from = atomic_load_explicit(&lane->freed, memory_order_relaxed);
        for (uint64_t k = from + 1; k <= lane->read; k++) n = take(port, n, lane_slot(lane, k));
        all_lost += atomic_load_explicit(&lane->lost, memory_order_relaxed);
    }
    if (source->ring) {
        const struct nm_ring *ring = source->ring;
        for (uint64_t k = port->taken + 1; k <= ring->total; k++) n = take(port, n, ring_slot(ring, k));
        port->taken = ring->total;
        all_lost += ring->lost;
    }
    if (source->value && source->value->seq > port->taken) {
        n = take(port, n, nm_slot(source->value->front));
        port->taken = source->value->seq;
    }
    *lost = (uint32_t)(all_lost - port->lost);
    port->lost = all_lost;
    return n;
}

/* ---- between two cycles ----
 * A mailbox holds a set of values in three letters, and queues in lanes.
 *
 * The producer fills its own letter and exchanges it for the one in the middle; the consumer exchanges its own for the
 * middle one if that is newer. Neither ever waits, the consumer always has a whole set, and a slow consumer skips sets
 * but no queue message. A letter may be two sets old when the producer gets it back, so it copies the values
 * whose sequence number differs. Where several makers bring one topic, the message that was published last counts. */

enum { FRESH = 4, INDEX = 3 };

static struct nm_slot *letter_slot(const struct mailbox *box, uint32_t letter, uint32_t value)
{
    return (struct nm_slot *)(void *)(box->letters[letter].data + box->offsets[value]);
}

static void copy_message(const struct nm_type *type, struct nm_slot *to, const struct nm_slot *from)
{
    *to = *from;
    nm_copy(type, to + 1, from + 1);
}

static bool lane_write(struct lane *lane, const struct nm_slot *slot, struct topic_state *topic)
{
    if (lane->written - atomic_load_explicit(&lane->freed, memory_order_acquire) >= lane->cap) {
        atomic_fetch_add_explicit(&lane->lost, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&topic->lost, 1, memory_order_relaxed);
        return false;
    }
    copy_message(lane->type, lane_slot(lane, ++lane->written), slot);
    return true;
}

/* Puts what the producer made since the last set into the lane. True if anything went in. */
static bool lane_send(struct lane *lane, struct topic_state *topic)
{
    bool any = false;
    if (lane->ring) {
        for (; lane->sent < lane->ring->total; lane->sent++)
            any |= lane_write(lane, ring_slot(lane->ring, lane->sent + 1), topic);
    } else if (lane->value->seq != lane->sent) {
        any = lane_write(lane, nm_slot(lane->value->front), topic);
        lane->sent = lane->value->seq;
    }
    return any;
}

bool mailbox_send(struct mailbox *box)
{
    bool news = false, trigger = false;
    struct letter *letter = &box->letters[box->write];
    struct topic_state *topics = box->from->player->topics;

    for (uint32_t i = 0; i < box->n_values; i++) {
        struct value *value = box->values[i];
        struct nm_slot *slot = letter_slot(box, box->write, i), *front = nm_slot(value->front);
        if (slot->seq != value->seq) copy_message(value->type, slot, front);
        if (front->seq && front->run == box->from->run) {
            news = true;
            trigger |= value->topic == box->trigger;
        }
    }
    for (uint32_t i = 0; i < box->n_lanes; i++) {
        struct lane *lane = &box->lanes[i];
        if (lane_send(lane, &topics[lane->topic])) {
            news = true;
            trigger |= lane->topic == box->trigger;
        }
        letter->heads[i] = lane->written;
    }
    if (!news) return false;
    box->write = atomic_exchange_explicit(&box->middle, box->write | FRESH, memory_order_acq_rel) & INDEX;
    return trigger || box->wakes_always;
}

/* Makes room for the next batch; shared payloads of the last one are let go. */
static void lane_free(struct lane *lane)
{
    uint64_t freed = atomic_load_explicit(&lane->freed, memory_order_relaxed);
    if (freed == lane->read) return;
    if (lane->type->blobs)
        for (uint64_t k = freed + 1; k <= lane->read; k++) nm_reset(lane->type, lane_slot(lane, k) + 1);
    atomic_store_explicit(&lane->freed, lane->read, memory_order_release);
}

/* A letter holds every topic of its maker, also those that it never wrote and those that another maker has written
 * since. So a topic's pointers move only when this mailbox has brought the message that counts. */
static void value_receive(struct mailbox *box, uint32_t i)
{
    struct nm_slot *slot = letter_slot(box, box->read, i);
    struct source *source = box->sources[i];
    if (slot->seq != box->seen[i]) {
        box->seen[i] = slot->seq;
        box->seen_run[i] = box->to->run;
        if (slot->order > source->order) {
            source->order = slot->order;
            source->box = box;
        }
    }
    slot->run = box->seen_run[i];
    if (source->box != box) return;
    source->message = slot + 1;
    for (uint32_t k = 0; k < source->n_in; k++) *(const void **)source->in[k]->member = slot + 1;
    for (uint32_t k = 0; k < source->n_last; k++) *(const void **)source->last[k]->member = slot + 1;
}

void mailbox_receive(struct mailbox *box)
{
    for (uint32_t i = 0; i < box->n_lanes; i++) lane_free(&box->lanes[i]);
    if (!(atomic_load_explicit(&box->middle, memory_order_relaxed) & FRESH)) return;
    box->read = atomic_exchange_explicit(&box->middle, box->read, memory_order_acq_rel) & INDEX;

    for (uint32_t i = 0; i < box->n_values; i++) value_receive(box, i);
    for (uint32_t i = 0; i < box->n_lanes; i++) box->lanes[i].read = box->letters[box->read].heads[i];
}
