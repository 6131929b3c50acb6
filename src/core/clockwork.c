/* Virtual time: the same cycles run in the order of their events. An event is the start of a run, or the moment at
 * which the outputs of a run appear (start plus cost). Events are sorted by time; at the same time outputs come before
 * starts, and then the order is that of the cycles. Players share nothing during a call, so worker threads do not
 * change the result. */
#include "core/internal.h"

static void deliver(struct nm_cycle *cycle)
{
    cycle->due = INT64_MAX;
    cycle_end(cycle);
}

/* The first event of a player; outputs win over starts at the same time, lower cycles over higher. */
static struct nm_cycle *first_event(const struct nm_player *player, int64_t *time, bool *is_output)
{
    struct nm_cycle *first = NULL;
    *time = INT64_MAX;
    for (uint32_t c = 0; c < player->n_cycles; c++) {
        struct nm_cycle *cycle = player->cycles[c];
        if (cycle->due < *time || (cycle->due == *time && first && !*is_output && cycle->due != INT64_MAX)) {
            *time = cycle->due;
            *is_output = true;
            first = cycle;
        }
        if (cycle->next < *time) {
            *time = cycle->next;
            *is_output = false;
            first = cycle;
        }
    }
    return first;
}

/* A cycle is busy until its outputs are out; starts in that time are left out, as on the robot. */
static void schedule(struct nm_cycle *cycle, int64_t now)
{
    const struct nm_lineup_cycle *plan = cycle->plan;
    cycle->next = now + (plan->trigger == NM_NONE ? plan->period : plan->timeout);
    if (plan->trigger != NM_NONE) return;
    while (cycle->next < now + plan->cost) {
        cycle->next += plan->period;
        atomic_fetch_add_explicit(&cycle->skips, 1, memory_order_relaxed);
    }
}

static void start(struct nm_cycle *cycle, int64_t now)
{
    schedule(cycle, now);
    cycle_enter(cycle);
    cycle_begin(cycle, now);
    cycle_steps(cycle);
    cycle_account(cycle);
    if (cycle->plan->cost > cycle->plan->deadline) atomic_fetch_add_explicit(&cycle->misses, 1, memory_order_relaxed);
    if (cycle->plan->cost == 0)
        cycle_end(cycle);
    else
        cycle->due = now + cycle->plan->cost;
    cycle_leave(cycle);
}

static void run_player(struct nm_player *player, int64_t until)
{
    int64_t time;
    bool is_output = false;
    for (struct nm_cycle *cycle; (cycle = first_event(player, &time, &is_output)) && time < until;) {
        atomic_store_explicit(&player->virtual_now, time, memory_order_relaxed);
        if (is_output)
            deliver(cycle);
        else
            start(cycle, time);
    }
    atomic_store_explicit(&player->virtual_now, until, memory_order_relaxed);
}

int nm_player_begin(struct nm_player *player, int64_t time)
{
    if (atomic_load(&player->running) || atomic_load(&player->virtual_now)) return -1;
    if (!player->linked && player_link(player, NULL)) return -1;
    for (uint32_t c = 0; c < player->n_cycles; c++) player->cycles[c]->next += time;
    atomic_store_explicit(&player->virtual_now, time, memory_order_relaxed);
    return 0;
}

struct work {
    struct nm_player *const *players;
    uint32_t n;
    int64_t until;
    _Atomic uint32_t next;
};

static void *work_main(void *user)
{
    struct work *work = user;
    for (uint32_t i; (i = atomic_fetch_add(&work->next, 1)) < work->n;) run_player(work->players[i], work->until);
    return NULL;
}

int nm_players_run(struct nm_player *const *players, uint32_t n, int64_t until, uint32_t workers)
{
    enum { WORKERS = 64 };
    pthread_t threads[WORKERS];
    struct work work = {.players = players, .n = n, .until = until};
    for (uint32_t i = 0; i < n; i++) {
        if (atomic_load(&players[i]->running)) return -1;
        atomic_store(&players[i]->real, false);
        if (!players[i]->linked && player_link(players[i], NULL)) return -1;
    }
    if (workers > n) workers = n;
    if (workers > WORKERS) workers = WORKERS;
    uint32_t started = 0;
    while (started + 1 < workers && pthread_create(&threads[started], NULL, work_main, &work) == 0) started++;
    work_main(&work);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    return 0;
}
