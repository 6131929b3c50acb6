/* Builds the boards and mailboxes of a player from the graph of its line-up: what each cycle makes and reads, and a
 * mailbox for every pair of cycles that share a topic. All memory of a player is taken here and in player.c. */

#include "core/internal.h"

typedef void with_port(struct nm_cycle *cycle, struct port *port, void *user);

/* Every port of a cycle: its instances', an edge's, and the transforms'. */
static void each_port(struct nm_cycle *cycle, with_port *call, void *user)
{
    for (uint32_t i = 0; i < cycle->n_instances; i++)
        for (uint32_t k = 0; k < cycle->instances[i]->n_ports; k++) call(cycle, &cycle->instances[i]->ports[k], user);
    for (uint32_t k = 0; k < cycle->n_edge_ports; k++)
        if (cycle->edge_ports[k].topic != NM_NONE) call(cycle, &cycle->edge_ports[k], user);
    for (int k = 0; k < 2; k++)
        if (cycle->tf_ports[k].row) call(cycle, &cycle->tf_ports[k], user);
}

static bool is_input(const struct port *port) { return port->row->kind <= NM_PORT_LAST_QUEUE; }
static bool is_queue(const struct port *port)
{
    return port->row->kind == NM_PORT_QUEUE || port->row->kind == NM_PORT_LAST_QUEUE;
}

static struct value *value_of(const struct nm_cycle *cycle, uint32_t topic)
{
    for (uint32_t i = 0; i < cycle->n_values; i++)
        if (cycle->values[i].topic == topic) return &cycle->values[i];
    return NULL;
}

static struct nm_ring *ring_of(const struct nm_cycle *cycle, uint32_t topic)
{
    for (uint32_t i = 0; i < cycle->n_rings; i++)
        if (cycle->rings[i].topic == topic) return &cycle->rings[i];
    return NULL;
}

static struct source *source_of(const struct nm_cycle *cycle, uint32_t topic)
{
    for (uint32_t i = 0; i < cycle->n_sources; i++)
        if (cycle->sources[i].topic == topic) return &cycle->sources[i];
    return NULL;
}

/* ---- what a cycle makes ---- */

static void count_port(struct nm_cycle *cycle, struct port *port, void *user)
{
    (void)user;
    if (port->row->kind == NM_PORT_OUT) cycle->n_values++;
    if (port->row->kind == NM_PORT_OUT_QUEUE) cycle->n_rings++;
    if (is_input(port)) cycle->n_sources++;
}

static void ring_init(struct nm_player *player, struct nm_cycle *cycle, struct nm_ring *ring, uint32_t topic,
                      uint32_t depth)
{
    const struct nm_topic *plan = &player->lineup->topics[topic];
    *ring = (struct nm_ring){.topic = topic, .type = plan->type, .cycle = cycle, .stride = message_stride(plan->type)};
    ring->cap = plan->depth > depth ? plan->depth : depth;
    if (!ring->cap) ring->cap = 1;
    ring->slots = nm_take(&player->arena, (size_t)ring->stride * (2 * ring->cap + 1) + 256);
}

static void make_output(struct nm_cycle *cycle, struct port *port, void *user)
{
    struct nm_player *player = user;
    const struct nm_type *type = player->lineup->topics[port->topic].type;
    if (port->row->kind == NM_PORT_OUT) {
        struct value *value = &cycle->values[cycle->n_values++];
        *value = (struct value){.topic = port->topic, .type = type};
        value->front = message_new(&player->arena, type, port->topic);
        value->back = message_new(&player->arena, type, port->topic);
        port->value = value;
    } else if (port->row->kind == NM_PORT_OUT_QUEUE) {
        port->ring = ring_of(cycle, port->topic);
        if (!port->ring) {
            port->ring = &cycle->rings[cycle->n_rings++];
            ring_init(player, cycle, port->ring, port->topic, port->row->depth);
        }
    }
}

static void make_builtin(struct nm_player *player, struct nm_cycle *cycle, const char *name, struct nm_ring **ring)
{
    uint32_t topic = nm_lineup_topic(player->lineup, name);
    *ring = ring_of(cycle, topic);
    if (*ring) return;
    *ring = &cycle->rings[cycle->n_rings++];
    ring_init(player, cycle, *ring, topic, 16);
}

/* ---- what it reads ---- */

static void find_source(struct nm_cycle *cycle, struct port *port, void *user)
{
    struct nm_player *player = user;
    if (!is_input(port)) return;
    struct source *source = source_of(cycle, port->topic);
    if (!source) {
        source = &cycle->sources[cycle->n_sources++];
        *source = (struct source){.topic = port->topic, .type = player->lineup->topics[port->topic].type};
        source->value = value_of(cycle, port->topic);
        source->ring = ring_of(cycle, port->topic);
        if (source->value) source->value->source = source;
    }
    port->source = source;
    source->n_in += port->row->kind == NM_PORT_IN;
    source->n_last += port->row->kind == NM_PORT_LAST;
    source->n_queue += is_queue(port);
    if (is_queue(port) && port->row->depth > source->depth) source->depth = port->row->depth;
}

static void list_reader(struct nm_cycle *cycle, struct port *port, void *user)
{
    (void)cycle;
    (void)user;
    if (port->row->kind == NM_PORT_IN) port->source->in[port->source->n_in++] = port;
    if (port->row->kind == NM_PORT_LAST) port->source->last[port->source->n_last++] = port;
}

static void build_board(struct nm_player *player, struct nm_cycle *cycle)
{
    struct nm_arena *arena = &player->arena;
    each_port(cycle, count_port, NULL);
    cycle->values = nm_take_n(arena, struct value, cycle->n_values + 1);
    cycle->rings = nm_take_n(arena, struct nm_ring, cycle->n_rings + 2);
    cycle->sources = nm_take_n(arena, struct source, cycle->n_sources + 1);
    cycle->n_values = cycle->n_rings = cycle->n_sources = 0;
    each_port(cycle, make_output, player);
    if (cycle->plan) {
        make_builtin(player, cycle, "rosout", &cycle->log);
        make_builtin(player, cycle, "show", &cycle->show);
    }
    each_port(cycle, find_source, player);
    for (uint32_t i = 0; i < cycle->n_sources; i++) {
        struct source *source = &cycle->sources[i];
        source->in = nm_take_n(arena, struct port *, source->n_in + 1);
        source->last = nm_take_n(arena, struct port *, source->n_last + 1);
        source->n_in = source->n_last = 0;
        source->message = source->value ? source->value->front : message_new(arena, source->type, source->topic);
    }
    each_port(cycle, list_reader, NULL);
}

/* ---- mailboxes ---- */

static bool wants_value(const struct nm_cycle *from, const struct source *source)
{
    return source->n_in + source->n_last && value_of(from, source->topic);
}

static bool wants_lane(const struct nm_cycle *from, const struct source *source)
{
    return source->n_queue && (value_of(from, source->topic) || ring_of(from, source->topic));
}

static void lane_init(struct nm_player *player, struct lane *lane, const struct nm_cycle *from, struct source *source)
{
    *lane = (struct lane){.topic = source->topic, .type = source->type, .stride = message_stride(source->type)};
    lane->ring = ring_of(from, source->topic);
    lane->value = value_of(from, source->topic);
    uint32_t depth = player->lineup->topics[source->topic].depth;
    if (lane->ring && lane->ring->cap > depth) depth = lane->ring->cap;
    lane->cap = 2 * (depth ? depth : 1);
    if (source->depth > lane->cap) lane->cap = source->depth;
    lane->slots = nm_take(&player->arena, (size_t)lane->stride * lane->cap + 256);
    source->lanes[source->n_lanes++] = lane;
}

static struct mailbox *mailbox_new(struct nm_player *player, struct nm_cycle *from, struct nm_cycle *to)
{
    struct nm_arena *arena = &player->arena;
    uint32_t n_values = 0, n_lanes = 0;
    for (uint32_t i = 0; i < to->n_sources; i++) {
        n_values += wants_value(from, &to->sources[i]);
        n_lanes += wants_lane(from, &to->sources[i]);
    }
    if (!n_values && !n_lanes) return NULL;

    struct mailbox *box = nm_take(arena, sizeof *box < 256 ? 256 : sizeof *box);
    *box = (struct mailbox){.from = from, .to = to, .trigger = to->plan ? to->plan->trigger : NM_NONE};
    box->wakes_always = !to->plan;
    box->values = nm_take_n(arena, struct value *, n_values + 1);
    box->offsets = nm_take_n(arena, uint32_t, n_values + 1);
    box->sources = nm_take_n(arena, struct source *, n_values + 1);
    box->seen = nm_take_n(arena, uint64_t, n_values + 1);
    box->seen_run = nm_take_n(arena, uint64_t, n_values + 1);
    box->lanes = nm_take_n(arena, struct lane, n_lanes + 1);

    uint32_t bytes = 0;
    for (uint32_t i = 0; i < to->n_sources; i++) {
        struct source *source = &to->sources[i];
        if (wants_value(from, source)) {
            box->values[box->n_values] = value_of(from, source->topic);
            box->sources[box->n_values] = source;
            box->offsets[box->n_values++] = bytes;
            bytes += message_stride(source->type);
        }
        if (wants_lane(from, source)) lane_init(player, &box->lanes[box->n_lanes++], from, source);
    }
    for (uint32_t k = 0; k < 3; k++) {
        box->letters[k].data = nm_take(arena, bytes < 256 ? 256 : bytes);
        box->letters[k].heads = nm_take_n(arena, uint64_t, n_lanes + 1);
        for (uint32_t i = 0; i < box->n_values; i++) {
            struct nm_slot *slot = (struct nm_slot *)(void *)(box->letters[k].data + box->offsets[i]);
            slot->topic = box->values[i]->topic;
            nm_reset(box->values[i]->type, slot + 1);
        }
    }
    box->write = 0;
    box->read = 1;
    atomic_init(&box->middle, 2);
    return box;
}

static void build_mailboxes(struct nm_player *player)
{
    struct nm_arena *arena = &player->arena;
    for (uint32_t c = 0; c < player->n_all; c++) {
        struct nm_cycle *cycle = player->cycles[c];
        cycle->in = nm_take_n(arena, struct mailbox *, player->n_all);
        cycle->out = nm_take_n(arena, struct mailbox *, player->n_all);
        for (uint32_t i = 0; i < cycle->n_sources; i++)
            cycle->sources[i].lanes = nm_take_n(arena, struct lane *, player->n_all);
    }
    for (uint32_t f = 0; f < player->n_all; f++)
        for (uint32_t t = 0; t < player->n_all; t++) {
            struct nm_cycle *from = player->cycles[f], *to = player->cycles[t];
            bool heard = player->replayed ? from->feeds == t : f != t;
            struct mailbox *box = heard ? mailbox_new(player, from, to) : NULL;
            if (!box) continue;
            from->out[from->n_out++] = box;
            to->in[to->n_in++] = box;
        }
}

/* ---- pointers into the modules ---- */

static void bind_port(struct nm_cycle *cycle, struct port *port, void *user)
{
    struct nm_player *player = user;
    (void)cycle;
    if (is_queue(port) && !port->at) {
        uint32_t cap = 1 + (port->source->ring ? 2 * port->source->ring->cap : 0);
        for (uint32_t i = 0; i < port->source->n_lanes; i++) cap += port->source->lanes[i]->cap;
        port->cap = cap;
        port->at = nm_take_n(&player->arena, const void *, cap);
    }
    port_bind(port);
}

void port_bind(struct port *port)
{
    if (!port->member) return;
    switch (port->row->kind) {
    case NM_PORT_IN:
    case NM_PORT_LAST:
        *(const void **)port->member = port->source->value ? port->source->value->front : port->source->message;
        break;
    case NM_PORT_QUEUE:
    case NM_PORT_LAST_QUEUE: {
        nm_queue(void) *queue = port->member;
        queue->at = (const void *const *)port->at;
        queue->n = queue->lost = 0;
        break;
    }
    case NM_PORT_OUT: *(void **)port->member = port->value->back; break;
    case NM_PORT_OUT_QUEUE: *(struct nm_ring **)port->member = port->ring; break;
    }
}

/* Messages of a topic that can be alive at once: two of its maker, three in every mailbox, and all that queues hold. */
static uint32_t alive_at_once(const struct nm_player *player, uint32_t topic)
{
    uint32_t count = 4;
    for (uint32_t c = 0; c < player->n_all; c++) {
        const struct nm_cycle *cycle = player->cycles[c];
        if (ring_of(cycle, topic)) count += 2 * ring_of(cycle, topic)->cap + 1;
        for (uint32_t i = 0; i < cycle->n_in; i++) {
            const struct mailbox *box = cycle->in[i];
            for (uint32_t k = 0; k < box->n_values; k++) count += box->values[k]->topic == topic ? 3 : 0;
            for (uint32_t k = 0; k < box->n_lanes; k++) count += box->lanes[k].topic == topic ? box->lanes[k].cap : 0;
        }
    }
    return count;
}

static bool is_read(const struct nm_player *player, uint32_t topic)
{
    for (uint32_t c = 0; c < player->n_all; c++)
        if (source_of(player->cycles[c], topic)) return true;
    return false;
}

/* Images shown from inside modules get a few blocks, and only where somebody can look: they are the first to be
 * dropped. */
enum { SHOW_BYTES = 640 * 480 * 3, SHOW_BLOCKS = 8 };

static void build_pools(struct nm_player *player)
{
    uint32_t show = nm_lineup_topic(player->lineup, "show");
    for (uint32_t t = 0; t < player->lineup->n_topics; t++) {
        uint32_t bytes = player->lineup->topics[t].blob;
        if (player->topics[t].blob > bytes) bytes = player->topics[t].blob;
        if (t == show && is_read(player, t))
            player->topics[t].pool = nm_pool_new(&player->arena, SHOW_BYTES, SHOW_BLOCKS);
        else if (bytes && player->lineup->topics[t].type->blobs)
            player->topics[t].pool = nm_pool_new(&player->arena, bytes, alive_at_once(player, t));
    }
}

static int check_kinds(const struct nm_player *player, struct nm_err *err)
{
    uint32_t before = err ? err->n : 0;
    for (uint32_t c = 0; c < player->n_all; c++)
        for (uint32_t i = 0; i < player->cycles[c]->n_sources; i++) {
            const struct source *source = &player->cycles[c]->sources[i];
            for (uint32_t p = 0; p < player->n_all; p++)
                if (source->n_in + source->n_last && ring_of(player->cycles[p], source->topic) &&
                    !value_of(player->cycles[p], source->topic))
                    nm_fail(err, "%s: cycle %s reads it as a value, but %s makes a queue of it; read it with NM_QUEUE",
                            player->lineup->topics[source->topic].name, player->cycles[c]->name,
                            player->cycles[p]->name);
        }
    return err && err->n > before ? -1 : 0;
}

/* What an edge of ours makes is not taken from outside. */
static void close_ports(struct nm_player *player)
{
    for (uint32_t c = player->n_cycles; c < player->n_all && !player->replayed; c++)
        for (uint32_t i = 0; i < player->cycles[c]->n_edge_ports; i++) {
            struct port *port = &player->cycles[c]->edge_ports[i];
            if (port->topic != NM_NONE && port->outside) port->closed = topic_hardware(player, port->topic);
        }
}

int player_link(struct nm_player *player, struct nm_err *err)
{
    struct nm_err own = {0};
    for (uint32_t c = 0; c < player->n_all; c++) build_board(player, player->cycles[c]);
    if (check_kinds(player, err ? err : &own)) return -1;
    build_mailboxes(player);
    close_ports(player);
    for (uint32_t c = 0; c < player->n_all; c++) each_port(player->cycles[c], bind_port, player);
    build_pools(player);
    if (player->record || player->replayed) snapshot_births(player);
    record_link(player);
    for (uint32_t c = 0; c < player->n_cycles; c++) {
        const struct nm_lineup_cycle *plan = player->cycles[c]->plan;
        player->cycles[c]->next = plan->trigger == NM_NONE ? 0 : plan->timeout;
    }
    player->linked = true;
    return 0;
}
