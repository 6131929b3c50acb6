/* Messages inside one cycle: two buffers for a value, a ring for a queue, pointers for everybody who reads. */
#include <string.h>

#include "core/internal.h"
#include "builtin_interfaces/Time.h"
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
