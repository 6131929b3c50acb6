#include "core/report.h"

#include "core/internal.h"

struct nm_cycle_mark {
    struct tally busy, late;
    struct tally modules[]; /* in the order they run */
};

size_t nm_cycle_mark_size(const struct nm_player *player, uint32_t cycle)
{
    return sizeof(struct nm_cycle_mark) + player->cycles[cycle]->n_instances * sizeof(struct tally);
}

/* What was added to a tally since the mark. Its largest is known to a bucket. */
static void since(const struct tally *now, struct tally *mark, struct nm_times *times)
{
    struct tally more = {0};
    int64_t largest = 0, most = atomic_load_explicit(&now->max, memory_order_relaxed);
    for (uint32_t b = 0; b < BUCKETS; b++) {
        uint32_t count = atomic_load_explicit(&now->bucket[b], memory_order_relaxed);
        uint32_t fresh = count - atomic_load_explicit(&mark->bucket[b], memory_order_relaxed);
        atomic_store_explicit(&more.bucket[b], fresh, memory_order_relaxed);
        atomic_store_explicit(&mark->bucket[b], count, memory_order_relaxed);
        more.n += fresh;
        if (fresh) largest = tally_end(b);
    }
    uint64_t sum = atomic_load_explicit(&now->sum, memory_order_relaxed);
    more.sum = sum - mark->sum;
    mark->sum = sum;
    more.max = largest < most ? largest : most;
    tally_read(&more, times);
}

/* Of topics that it makes alone. */
static uint64_t puts_of(const struct nm_player *player, const struct nm_instance *instance)
{
    uint64_t puts = 0;
    for (uint32_t i = 0; i < instance->n_ports; i++) {
        const struct port *port = &instance->ports[i];
        if ((port->row->kind == NM_PORT_OUT || port->row->kind == NM_PORT_OUT_QUEUE) && !port->row->many)
            puts += atomic_load_explicit(&player->topics[port->topic].seq, memory_order_relaxed);
    }
    return puts;
}

void nm_cycle_report(const struct nm_player *player, uint32_t index, struct nm_cycle_mark *mark, CycleStatistics *to)
{
    const struct nm_cycle *cycle = player->cycles[index];
    struct nm_times times;
    nm_reset(&CycleStatistics_type, to);
    nm_text(to->cycle, "%s", cycle->name);
    const struct nm_lineup_cycle *plan = nm_player_plan(player, index);
    to->period = plan ? (float)nm_seconds(plan->period) : 0;
    to->runs = atomic_load_explicit(&cycle->runs, memory_order_relaxed);
    to->misses = atomic_load_explicit(&cycle->misses, memory_order_relaxed);
    to->timeouts = atomic_load_explicit(&cycle->timeouts, memory_order_relaxed);
    to->skipped = atomic_load_explicit(&cycle->skips, memory_order_relaxed);
    since(&cycle->busy, &mark->busy, &times);
    to->mean = (float)(times.mean * 1e-9);
    to->max = (float)nm_seconds(times.max);
    to->p99 = (float)nm_seconds(times.p99);
    since(&cycle->late, &mark->late, &times);
    to->late_mean = (float)(times.mean * 1e-9);
    to->late_max = (float)nm_seconds(times.max);
    to->late_p99 = (float)nm_seconds(times.p99);
    for (uint32_t i = 0; i < cycle->n_instances; i++) {
        ModuleStatistics *module = nm_append(&to->modules, &ModuleStatistics_type);
        if (!module) break;
        since(&cycle->instances[i]->busy, &mark->modules[i], &times);
        nm_text(module->instance, "%s", cycle->instances[i]->plan->name);
        module->runs = atomic_load_explicit(&cycle->instances[i]->busy.n, memory_order_relaxed);
        module->puts = puts_of(player, cycle->instances[i]);
        module->mean = (float)(times.mean * 1e-9);
        module->max = (float)nm_seconds(times.max);
        module->p99 = (float)nm_seconds(times.p99);
    }
}
