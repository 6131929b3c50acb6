/* A started line-up: instances with their memory, edges, statistics. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "core/internal.h"
#include "core/stamp.h"
#include "rcl_interfaces/Log.h"

static void seed_instance(struct nm_instance *instance, uint64_t seed)
{
    for (const char *c = instance->plan->name; *c; c++) seed = (seed ^ (uint8_t)*c) * 0x100000001b3u;
    instance->nm.dice = nm_dice_new(seed, 0, 0);
}

static void list_ports(struct nm_arena *arena, struct nm_instance *instance)
{
    instance->outs = nm_take_n(arena, struct port *, instance->n_ports + 1);
    instance->queues = nm_take_n(arena, struct port *, instance->n_ports + 1);
    instance->lasts = nm_take_n(arena, struct port *, instance->n_ports + 1);
    for (uint32_t k = 0; k < instance->n_ports; k++) {
        struct port *port = &instance->ports[k];
        enum nm_port_kind kind = port->row->kind;
        if (kind == NM_PORT_OUT) instance->outs[instance->n_outs++] = port;
        if (kind == NM_PORT_LAST) instance->lasts[instance->n_lasts++] = port;
        if (port->member && (kind == NM_PORT_QUEUE || kind == NM_PORT_LAST_QUEUE))
            instance->queues[instance->n_queues++] = port;
    }
}

/* The rows NM_READS_TF have no member: their cycle keeps a history instead. */
static void note_transforms(struct nm_player *player, struct nm_cycle *cycle, const struct port *port)
{
    int k = strcmp(port->row->topic, "tf_static") == 0;
    if (!cycle->tf) cycle->tf = tf_new(&player->arena);
    cycle->tf_ports[k] = (struct port){.row = port->row, .topic = port->topic};
}

int instance_start(struct nm_instance *instance, const struct nm_module *module, void *self, struct nm_err *err)
{
    instance->nm.err = err;
    int result = module->init ? module->init(self) : 0;
    if (!result && module->changed) module->changed(self);
    instance->nm.err = NULL;
    return result;
}

/* Who asks is known by its name, so that a replay of some instances knows the answers to each. FNV-1a. */
static uint64_t client_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return hash;
}

static int instance_init(struct nm_player *player, uint32_t index, struct nm_err *err)
{
    struct nm_instance *instance = &player->instances[index];
    const struct nm_lineup_instance *plan = &player->lineup->instances[index];
    const struct nm_module *module = plan->module;
    struct nm_cycle *cycle = player->cycles[plan->cycle];

    *instance = (struct nm_instance){.plan = plan, .module = module, .cycle = cycle, .n_ports = plan->n_ports};
    instance->self = nm_take(&player->arena, module->size);
    instance->nm = (struct nm){.name = plan->name, .cycle = cycle, .instance = instance, .dt = cycle->plan->period};
    instance->nm.body = player->options.body;
    *(struct nm **)instance->self = &instance->nm;
    seed_instance(instance, player->options.seed);

    instance->ports = nm_take_n(&player->arena, struct port, plan->n_ports + 1);
    for (uint32_t k = 0; k < plan->n_ports; k++) {
        struct port *port = &instance->ports[k];
        *port = (struct port){.row = &module->ports[k], .topic = plan->topics[k]};
        if (port->row->offset != UINT32_MAX) port->member = (unsigned char *)instance->self + port->row->offset;
        bool asks = (port->row->role == NM_ROLE_REQUEST && port->row->kind == NM_PORT_OUT_QUEUE) ||
                    (port->row->role == NM_ROLE_REPLY && port->row->kind == NM_PORT_LAST_QUEUE);
        if (asks) port->client = client_of(plan->name);
        if (!port->member) note_transforms(player, cycle, port);
    }
    list_ports(&player->arena, instance);

    player->values[index] = nm_take_n(&player->arena, struct nm_value, plan->n_params + 1);
    for (uint32_t k = 0; k < plan->n_params; k++) {
        player->values[index][k] = plan->values[k];
        nm_value_store(&module->params[k], &plan->values[k], instance->self);
    }
    cycle->instances[cycle->n_instances++] = instance;
    if (instance_start(instance, module, instance->self, err) < 0)
        return nm_fail(err, "%s:%d: instance %s: module %s refused to start", plan->file, plan->line, plan->name,
                       module->name);
    return 0;
}

static struct nm_cycle *cycle_new(struct nm_player *player, const char *name, const struct nm_lineup_cycle *plan)
{
    struct nm_cycle *cycle = nm_take(&player->arena, sizeof *cycle);
    cycle->player = player;
    cycle->index = player->n_all;
    cycle->name = name;
    cycle->plan = plan;
    cycle->due = INT64_MAX;
    cycle->feeds = NM_NONE;
    if (plan) {
        cycle->instances = nm_take_n(&player->arena, struct nm_instance *, plan->n_order + 1);
        cycle->marks = nm_take_n(&player->arena, int64_t, plan->n_order + 1);
    }
    player->cycles[player->n_all++] = cycle;
    return cycle;
}

enum { EDGES = 32 };

struct nm_player *nm_player_new(const struct nm_lineup *lineup, const struct nm_player_options *options,
                                struct nm_err *err)
{
    struct nm_player *player = nm_calloc(1, sizeof *player);
    player->lineup = lineup;
    if (options) player->options = *options;
    player->name = player->options.name ? player->options.name : lineup->name;
    atomic_init(&player->watchers, player->options.watched);
    pthread_mutex_init(&player->change_lock, NULL);

    struct nm_arena *arena = &player->arena;
    player->cycles = nm_take_n(arena, struct nm_cycle *, lineup->n_cycles + EDGES);
    player->instances = nm_take_n(arena, struct nm_instance, lineup->n_instances + 1);
    player->topics = nm_take_n(arena, struct topic_state, lineup->n_topics + 1);
    for (uint32_t i = 0; i < lineup->n_instances; i++)
        player->most_changes += nm_param_count(lineup->instances[i].module);
    if (player->most_changes < CHANGES_LEAST) player->most_changes = CHANGES_LEAST;
    if (player->most_changes > CHANGES_MOST) player->most_changes = CHANGES_MOST;
    player->sets = nm_take_n(arena, struct change_set, CHANGE_SETS);
    for (uint32_t i = 0; i < CHANGE_SETS; i++)
        player->sets[i].changes = nm_take_n(arena, struct nm_change, player->most_changes);
    player->values = nm_take_n(arena, struct nm_value *, lineup->n_instances + 1);
    for (uint32_t c = 0; c < lineup->n_cycles; c++) cycle_new(player, lineup->cycles[c].name, &lineup->cycles[c]);
    player->n_cycles = player->n_all;

    int refused = 0;
    for (uint32_t c = 0; c < lineup->n_cycles; c++)
        for (uint32_t i = 0; i < lineup->cycles[c].n_order; i++)
            refused |= instance_init(player, lineup->cycles[c].order[i], err);
    if (refused) {
        nm_player_free(player);
        return NULL;
    }
    return player;
}

void nm_player_free(struct nm_player *player)
{
    if (!player) return;
    nm_player_stop(player);
    for (uint32_t i = 0; i < player->lineup->n_instances; i++) {
        struct nm_instance *instance = &player->instances[i];
        if (instance->self && instance->module->close) instance->module->close(instance->self);
    }
    pthread_mutex_destroy(&player->change_lock);
    nm_arena_free(&player->arena);
    free(player);
}

const struct nm_lineup *nm_player_lineup(const struct nm_player *player) { return player->lineup; }
void *nm_player_self(const struct nm_player *player, uint32_t instance) { return player->instances[instance].self; }
uint64_t nm_player_seed(const struct nm_player *player) { return player->options.seed; }
const char *nm_player_name(const struct nm_player *player) { return player->name; }

int64_t nm_player_now(const struct nm_player *player)
{
    return atomic_load(&player->real) ? nm_clock() : atomic_load(&player->virtual_now);
}

void **nm_player_gate(struct nm_player *player) { return &player->gate; }

/* ---- edges ---- */

static bool is_made(const struct port *port)
{
    return port->row->kind == NM_PORT_OUT || port->row->kind == NM_PORT_OUT_QUEUE;
}

/* Many may write some topics, and ask a service. */
const struct nm_cycle *topic_hardware(const struct nm_player *player, uint32_t topic)
{
    const struct nm_topic *plan = &player->lineup->topics[topic];
    if (plan->many || plan->role == NM_ROLE_REQUEST) return NULL;
    for (uint32_t c = player->n_cycles; c < player->n_all; c++) {
        const struct nm_cycle *edge = player->cycles[c];
        for (uint32_t i = 0; i < edge->n_edge_ports; i++) {
            const struct port *port = &edge->edge_ports[i];
            if (port->topic == topic && is_made(port) && !port->outside) return edge;
        }
    }
    return NULL;
}

const char *nm_player_hardware(const struct nm_player *player, uint32_t topic)
{
    const struct nm_cycle *edge = topic_hardware(player, topic);
    return edge ? edge->name : NULL;
}

static int edge_port_init(struct nm_player *player, const char *name, struct port *port, struct nm_port *row,
                          const struct nm_edge_port *want, struct nm_err *err)
{
    bool optional = want->kind & NM_EDGE_OPTIONAL;
    *row = (struct nm_port){.name = want->topic, .topic = want->topic, .depth = want->depth};
    row->kind = want->kind & ~(enum nm_port_kind)(NM_EDGE_OPTIONAL | NM_EDGE_OUTSIDE);
    port->outside = want->kind & NM_EDGE_OUTSIDE;
    port->row = row;
    port->topic = nm_lineup_topic(player->lineup, want->topic);
    if (port->topic == NM_NONE)
        return optional ? 0
                        : nm_fail(err, "%s: no module of %s makes or reads the topic %s", name, player->lineup->file,
                                  want->topic);
    const struct nm_topic *topic = &player->lineup->topics[port->topic];
    row->type = topic->type;
    row->role = topic->role;
    if (want->type && (strcmp(want->type->name, topic->type->name) != 0 || want->type->layout != topic->type->layout))
        return nm_fail(err, "%s: the topic %s carries %s, not %s", name, want->topic, topic->type->name,
                       want->type->name);
    if (is_made(port) && topic->n_producers && !topic->many && !player->replayed)
        return nm_fail(err, "%s: the topic %s is made inside the line-up already", name, want->topic);
    const struct nm_cycle *other = row->kind == NM_PORT_OUT ? topic_hardware(player, port->topic) : NULL;
    if (other && !port->outside && !player->replayed)
        return nm_fail(err, "%s: the topic %s is made by the edge '%s' already", name, want->topic, other->name);
    if (want->blob > player->topics[port->topic].blob) player->topics[port->topic].blob = want->blob;
    port->member = nm_take(&player->arena, sizeof(nm_queue(void)));
    return 0;
}

struct nm_edge *nm_edge_new(struct nm_player *player, const char *name, const struct nm_edge_port *ports, uint32_t n,
                            struct nm_err *err)
{
    if (player->linked) {
        nm_fail(err, "%s: an edge must be there before the line-up starts", name);
        return NULL;
    }
    if (player->n_all == player->n_cycles + EDGES) {
        nm_fail(err, "%s: more than %d edges", name, EDGES);
        return NULL;
    }
    struct nm_cycle *cycle = cycle_new(player, nm_take_text(&player->arena, name), NULL);
    cycle->edge_ports = nm_take_n(&player->arena, struct port, n + 1);
    cycle->edge_rows = nm_take_n(&player->arena, struct nm_port, n + 1);
    int bad = 0;
    for (uint32_t i = 0; i < n; i++)
        bad |= edge_port_init(player, name, &cycle->edge_ports[i], &cycle->edge_rows[i], &ports[i], err);
    if (bad) {
        player->n_all--;
        return NULL;
    }
    cycle->n_edge_ports = n;
    return (struct nm_edge *)cycle;
}

static struct nm_cycle *cycle_of(const struct nm_edge *edge) { return (struct nm_cycle *)(uintptr_t)edge; }
static struct port *port_of(const struct nm_edge *edge, uint32_t port) { return &cycle_of(edge)->edge_ports[port]; }

void nm_edge_begin(struct nm_edge *edge, int64_t now)
{
    struct nm_cycle *cycle = cycle_of(edge);
    if (!cycle->player->linked && player_link(cycle->player, NULL)) return; /* the start will say why */
    cycle_begin(cycle, now);
    for (uint32_t i = 0; i < cycle->n_edge_ports; i++) {
        struct port *port = &cycle->edge_ports[i];
        if (port->topic == NM_NONE) continue;
        if (port->value) {
            nm_slot(port->value->back)->put = false;
            nm_reset(port->value->type, port->value->back);
        } else if (port->at) {
            nm_queue(void) *queue = port->member;
            queue->n = port_gather(port, &queue->lost);
        }
    }
}

const void *nm_edge_in(struct nm_edge *edge, uint32_t port)
{
    const struct port *p = port_of(edge, port);
    return p->topic == NM_NONE ? NULL : *(const void **)p->member;
}

bool nm_edge_fresh(const struct nm_edge *edge, uint32_t port)
{
    const struct port *p = port_of(edge, port);
    return p->topic != NM_NONE && nm_slot(*(const void **)p->member)->run == cycle_of(edge)->run;
}

uint32_t nm_edge_queue(struct nm_edge *edge, uint32_t port, const void *const **at, uint32_t *lost)
{
    const struct port *p = port_of(edge, port);
    if (p->topic == NM_NONE) return 0;
    nm_queue(void) *queue = p->member;
    *at = queue->at;
    if (lost) *lost = queue->lost;
    return queue->n;
}

/* Whether a message may not come in, which is counted. */
static bool refused(const struct nm_edge *edge, const struct port *port)
{
    if (port->closed) nm_player_refuse(cycle_of(edge)->player, port->topic);
    return port->closed;
}

void nm_player_refuse(struct nm_player *player, uint32_t topic)
{
    atomic_fetch_add_explicit(&player->topics[topic].refused, 1, memory_order_relaxed);
}

void *nm_edge_out(struct nm_edge *edge, uint32_t port)
{
    const struct port *p = port_of(edge, port);
    return p->value && !refused(edge, p) ? p->value->back : NULL;
}

void nm_edge_put(struct nm_edge *edge, uint32_t port)
{
    const struct port *p = port_of(edge, port);
    if (!p->value || p->closed) return;
    value_publish(cycle_of(edge), p->value);
    nm_reset(p->value->type, p->value->back);
}

void *nm_edge_push(struct nm_edge *edge, uint32_t port)
{
    const struct port *p = port_of(edge, port);
    return p->ring && !refused(edge, p) ? ring_push(p->ring, 0, 0) : NULL;
}

void nm_edge_log_(struct nm_edge *edge, uint32_t port, int level, const char *name, const char *file,
                  const char *function, int line, const char *format, ...)
{
    Log *log = nm_edge_push(edge, port);
    if (!log) return;
    va_list args;
    va_start(args, format);
    vsnprintf(log->msg, sizeof log->msg, format, args);
    va_end(args);
    int64_t now = nm_player_now(cycle_of(edge)->player);
    log->stamp = nm_stamp(now);
    log->level = (uint8_t)level;
    log->line = (uint32_t)line;
    nm_text(log->name, "%s", name);
    nm_text(log->file, "%s", file);
    nm_text(log->function, "%s", function);
}

bool nm_edge_blob(struct nm_edge *edge, uint32_t port, struct nm_blob *blob, uint32_t bytes)
{
    struct nm nm = {.cycle = cycle_of(edge)};
    const struct port *p = port_of(edge, port);
    if (p->topic == NM_NONE) return false;
    struct nm_slot slot[2] = {{.topic = p->topic}};
    return nm_blob_take(&nm, slot + 1, blob, bytes);
}

struct nm_blob_pool *nm_edge_pool(const struct nm_edge *edge, uint32_t port)
{
    const struct port *p = port_of(edge, port);
    return p->topic == NM_NONE ? NULL : cycle_of(edge)->player->topics[p->topic].pool;
}

void nm_edge_end(struct nm_edge *edge)
{
    cycle_end(cycle_of(edge));
    record_note(cycle_of(edge));
}

/* ---- looking in ---- */

uint32_t nm_player_cycles(const struct nm_player *player) { return player->n_all; }

const struct nm_lineup_cycle *nm_player_plan(const struct nm_player *player, uint32_t index)
{
    const struct nm_cycle *cycle = player->cycles[index];
    return cycle->plan ? cycle->plan : atomic_load_explicit(&cycle->beat, memory_order_acquire);
}

void nm_player_cycle_stats(const struct nm_player *player, uint32_t index, struct nm_cycle_stats *stats)
{
    struct nm_cycle *cycle = player->cycles[index];
    *stats = (struct nm_cycle_stats){.name = cycle->name,
                                     .runs = atomic_load_explicit(&cycle->runs, memory_order_relaxed),
                                     .misses = atomic_load_explicit(&cycle->misses, memory_order_relaxed),
                                     .skips = atomic_load_explicit(&cycle->skips, memory_order_relaxed)};
    int64_t span = atomic_load_explicit(&cycle->last_start, memory_order_relaxed) -
                   atomic_load_explicit(&cycle->first_start, memory_order_relaxed);
    if (span > 0 && stats->runs > 1) stats->rate = (double)(stats->runs - 1) / nm_seconds(span);
    tally_read(&cycle->busy, &stats->busy);
    tally_read(&cycle->late, &stats->late);
}

bool nm_player_stepping(const struct nm_player *player, uint32_t index, struct nm_stepping *who)
{
    const struct nm_cycle *cycle = player->cycles[index];
    const struct nm_instance *instance = atomic_load_explicit(&cycle->stepping, memory_order_relaxed);
    if (!instance) return false;
    *who = (struct nm_stepping){.robot = player->name,
                                .cycle = cycle->name,
                                .instance = instance->plan->name,
                                .module = instance->module->name,
                                .run = cycle->run,
                                .thread = cycle->runner};
    return true;
}

void nm_player_step_stats(const struct nm_player *player, uint32_t index, struct nm_step_stats *stats)
{
    const struct tally *busy = &player->instances[index].busy;
    stats->steps = atomic_load_explicit(&busy->n, memory_order_relaxed);
    tally_read(busy, &stats->busy);
}

int64_t nm_player_cpu(const struct nm_player *player)
{
    int64_t sum = 0;
    for (uint32_t c = 0; c < player->lineup->n_cycles; c++)
        sum += atomic_load_explicit(&player->cycles[c]->cpu, memory_order_relaxed);
    return sum;
}

void nm_player_topic_stats(const struct nm_player *player, uint32_t index, struct nm_topic_stats *stats)
{
    struct topic_state *topic = &player->topics[index];
    *stats = (struct nm_topic_stats){.seq = atomic_load_explicit(&topic->seq, memory_order_relaxed),
                                     .time = atomic_load_explicit(&topic->time, memory_order_relaxed),
                                     .stamp = atomic_load_explicit(&topic->stamp, memory_order_relaxed),
                                     .lost = atomic_load_explicit(&topic->lost, memory_order_relaxed),
                                     .no_blob = atomic_load_explicit(&topic->no_blob, memory_order_relaxed),
                                     .refused = atomic_load_explicit(&topic->refused, memory_order_relaxed)};
    uint32_t maker = atomic_load_explicit(&topic->maker, memory_order_relaxed);
    if (stats->seq) stats->maker = player->cycles[maker]->name;
}

void nm_player_watch(struct nm_player *player, bool on)
{
    if (on) {
        atomic_fetch_add(&player->watchers, 1);
        return;
    }
    uint32_t watchers = atomic_load(&player->watchers);
    while (watchers && !atomic_compare_exchange_weak(&player->watchers, &watchers, watchers - 1)) {}
}
