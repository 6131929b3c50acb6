/* The way of messages from one cycle to another, without a lock: a set of values in three letters and queues in lanes.
 *
 * The producer fills its own letter and exchanges it for the one in the middle; the consumer exchanges its own for the
 * middle one if that is newer. Neither ever waits, the consumer always has a whole set, and a slow consumer skips sets
 * but no queue message. A letter may be two sets old when the producer gets it back, so it copies what differs by
 * sequence number. Where several makers bring one topic, the message that was published last counts. */
#include "core/internal.h"

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
