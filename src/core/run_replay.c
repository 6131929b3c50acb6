#include "core/run_replay.h"

#include <string.h>

#include "core/snapshot.h"

/* Each cycle has an edge of its own that brings what it takes; a queue has room for several makers' batches. */
enum { ROOM = 4, BATCH = 32, BLOB_MOST = 16 << 20 };

struct feed {
    struct nm_cycle *edge;
    uint32_t *port;  /* of each topic, NM_NONE */
    uint32_t *queue; /* of a value that some instances read as a queue: what those get; NM_NONE */
    struct nm_slot slot;
    struct value *value; /* the value being filled, not yet handed over */
    bool open;
    uint32_t n_sets; /* changes of parameters that wait */
};

struct nm_replay {
    struct nm_player *player;
    struct feed *feeds;
};

/* ---- what a cycle takes from outside ---- */

static bool makes(const struct nm_lineup *lineup, uint32_t cycle, uint32_t topic)
{
    const struct nm_topic *plan = &lineup->topics[topic];
    for (uint32_t i = 0; i < plan->n_producers; i++)
        if (lineup->instances[plan->producers[i].instance].cycle == cycle) return true;
    return false;
}

static bool is_queue(enum nm_port_kind kind) { return kind == NM_PORT_QUEUE || kind == NM_PORT_LAST_QUEUE; }

static bool reads_as(const struct nm_lineup *lineup, uint32_t cycle, uint32_t topic, bool queue)
{
    const struct nm_topic *plan = &lineup->topics[topic];
    for (uint32_t i = 0; i < plan->n_consumers; i++) {
        const struct nm_lineup_instance *instance = &lineup->instances[plan->consumers[i].instance];
        if (instance->cycle != cycle) continue;
        if (is_queue(instance->module->ports[plan->consumers[i].port].kind) == queue) return true;
    }
    return false;
}

/* What others make: also of a queue that it makes itself, if it is one of several. */
static bool takes(const struct nm_lineup *lineup, uint32_t cycle, uint32_t topic)
{
    bool reads = reads_as(lineup, cycle, topic, false) || reads_as(lineup, cycle, topic, true);
    return reads && (!makes(lineup, cycle, topic) || lineup->topics[topic].queue);
}

static struct nm_edge_port queue_port(const struct nm_topic *topic)
{
    return (struct nm_edge_port){
        .topic = topic->name, .kind = NM_PORT_OUT_QUEUE, .depth = ROOM * (topic->depth > BATCH ? topic->depth : BATCH)};
}

static int open_feed(struct nm_replay *replay, uint32_t cycle, struct nm_err *err)
{
    struct nm_player *player = replay->player;
    const struct nm_lineup *lineup = player->lineup;
    struct feed *feed = &replay->feeds[cycle];
    struct nm_edge_port *ports = nm_take_n(&player->arena, struct nm_edge_port, 2 * lineup->n_topics + 1);
    uint32_t n = 0;
    feed->port = nm_take_n(&player->arena, uint32_t, lineup->n_topics + 1);
    feed->queue = nm_take_n(&player->arena, uint32_t, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        feed->port[t] = feed->queue[t] = NM_NONE;
        if (!takes(lineup, cycle, t)) continue;
        feed->port[t] = n;
        ports[n] = queue_port(topic);
        if (!topic->queue) ports[n] = (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_OUT};
        if (topic->type->blobs && !topic->blob) ports[n].blob = BLOB_MOST;
        n++;
        if (topic->queue || !reads_as(lineup, cycle, t, true) || !reads_as(lineup, cycle, t, false)) continue;
        feed->queue[t] = n;
        ports[n++] = queue_port(topic);
    }
    struct nm_edge *edge = nm_edge_new(player, "feed", ports, n, err);
    if (!edge) return -1;
    feed->edge = (struct nm_cycle *)(void *)edge;
    feed->edge->feeds = cycle;
    return 0;
}

struct nm_replay *nm_replay_new(struct nm_player *player, struct nm_err *err)
{
    if (player->linked || player->n_all > player->n_cycles) {
        nm_fail(err, "%s has edges or runs already: it cannot be replayed", player->name);
        return NULL;
    }
    struct nm_replay *replay = nm_take(&player->arena, sizeof *replay);
    replay->player = player;
    replay->feeds = nm_take_n(&player->arena, struct feed, player->n_cycles + 1);
    player->replayed = true;
    int bad = 0;
    for (uint32_t c = 0; c < player->n_cycles; c++) bad |= open_feed(replay, c, err);
    return bad || player_link(player, err) ? NULL : replay;
}

bool nm_replay_takes(const struct nm_replay *replay, uint32_t cycle, uint32_t topic)
{
    return replay->feeds[cycle].port[topic] != NM_NONE;
}

bool nm_replay_makes(const struct nm_replay *replay, uint32_t cycle, uint32_t topic)
{
    const struct nm_cycle *c = replay->player->cycles[cycle];
    for (uint32_t i = 0; i < c->n_values; i++)
        if (c->values[i].topic == topic) return true;
    for (uint32_t i = 0; i < c->n_rings; i++)
        if (c->rings[i].topic == topic) return true;
    return false;
}

struct nm_blob_pool *nm_replay_pool(const struct nm_replay *replay, uint32_t topic)
{
    return replay->player->topics[topic].pool;
}

/* ---- handing over ---- */

/* Closes what was filled. Every message is a set of its own, so that readers of a value as a queue see each. */
static void hand_over(struct feed *feed)
{
    struct nm_cycle *edge = feed->edge;
    if (!feed->open) return;
    feed->open = false;
    if (feed->value) value_publish(edge, feed->value);
    for (uint32_t i = 0; i < edge->n_out; i++) mailbox_send(edge->out[i]);
}

static void *put(struct feed *feed, uint32_t at, const struct nm_slot *slot)
{
    struct nm_cycle *edge = feed->edge;
    hand_over(feed);
    if (at == NM_NONE) return NULL;
    struct port *port = &edge->edge_ports[at];
    edge->run++;
    edge->now = slot->time;
    feed->open = true;
    feed->value = port->value;
    if (port->value) {
        nm_reset(port->value->type, port->value->back);
        return port->value->back;
    }
    port->ring->in_run = 0;
    return ring_push(port->ring, slot->caller, slot->call);
}

void *nm_replay_put(struct nm_replay *replay, uint32_t cycle, uint32_t topic, const struct nm_slot *slot)
{
    struct feed *feed = &replay->feeds[cycle];
    return put(feed, feed->port[topic], slot);
}

bool nm_replay_reads(const struct nm_replay *replay, uint32_t cycle, uint32_t topic, bool queue)
{
    return reads_as(replay->player->lineup, cycle, topic, queue);
}

void *nm_replay_push(struct nm_replay *replay, uint32_t cycle, uint32_t topic, const struct nm_slot *slot)
{
    struct feed *feed = &replay->feeds[cycle];
    return put(feed, feed->queue[topic], slot);
}

void nm_replay_set(struct nm_replay *replay, uint32_t cycle, const struct nm_change *changes, uint32_t n)
{
    struct nm_player *player = replay->player;
    struct feed *feed = &replay->feeds[cycle];
    /* the ring of sets is the player's; each cycle counts its own way through it */
    uint64_t mine = atomic_load_explicit(&player->cycles[cycle]->generation, memory_order_relaxed);
    struct change_set *set = &player->sets[(mine + ++feed->n_sets) % CHANGE_SETS];
    set->n = n;
    set->swap = NM_NONE;
    memcpy(set->changes, changes, n * sizeof *changes);
    atomic_store_explicit(&player->generation, mine + feed->n_sets, memory_order_relaxed);
}

/* ---- running ---- */

static void tell_made(struct nm_cycle *cycle, nm_replay_made *made, void *user)
{
    for (uint32_t i = 0; i < cycle->n_values; i++) {
        struct value *value = &cycle->values[i];
        if (value->seq == value->noted) continue;
        value->noted = value->seq;
        made(user, cycle->index, value->topic, value->front);
    }
    for (uint32_t i = 0; i < cycle->n_rings; i++) {
        struct nm_ring *ring = &cycle->rings[i];
        while (ring->noted < ring->total) made(user, cycle->index, ring->topic, ring_slot(ring, ++ring->noted) + 1);
    }
}

void nm_replay_run(struct nm_replay *replay, const struct nm_run *run, nm_replay_made *made, void *user)
{
    struct nm_player *player = replay->player;
    struct nm_cycle *cycle = player->cycles[run->cycle];
    struct feed *feed = &replay->feeds[run->cycle];
    hand_over(feed);
    uint64_t mine = atomic_load_explicit(&cycle->generation, memory_order_relaxed);
    atomic_store_explicit(&player->generation, mine + feed->n_sets, memory_order_relaxed);
    feed->n_sets = 0;
    atomic_store_explicit(&player->watchers, run->watched, memory_order_relaxed);
    atomic_store_explicit(&player->virtual_now, run->now, memory_order_relaxed);
    if (cycle->run + 1 != run->run && run->run) cycle->run = run->run - 1; /* runs between them are lost */
    cycle_enter(cycle);
    cycle_begin(cycle, run->now);
    cycle_steps(cycle);
    cycle_leave(cycle);
    cycle_account(cycle);
    tell_made(cycle, made, user);
}

int nm_replay_restore(struct nm_replay *replay, uint32_t cycle, const void *bytes, size_t n, struct nm_err *notes,
                      struct nm_err *err)
{
    struct nm_cycle *c = replay->player->cycles[cycle];
    if (snapshot_read(c, bytes, n, notes, err)) return -1;
    for (uint32_t i = 0; i < c->n_values; i++) c->values[i].noted = c->values[i].seq;
    return 0;
}
