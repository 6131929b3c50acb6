/* Real time: one thread for each cycle. It sleeps on one futex until its period is over, its trigger has come, or it
 * has to stop; this is the only system call of a cycle. A run that is too late leaves out whole periods, so runs never
 * pile up. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/internal.h"

/* Sleeps while `word` is still `seen`, until the time `until`. False when the time was up. */
static bool sleep_on(_Atomic uint32_t *word, uint32_t seen, int64_t until)
{
    struct timespec t = nm_timespec(until);
    long r = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &t, NULL, FUTEX_BITSET_MATCH_ANY);
    return !(r < 0 && errno == ETIMEDOUT);
}

/* The `sleeping` flag spares the producer its system call while we are awake: it is raised before the word is compared,
 * and the producer moves the word before it looks at the flag, so that one of the two always notices. */
static void sleep_until(struct nm_cycle *cycle, const _Atomic bool *stop, int64_t until, uint32_t seen,
                        bool for_trigger)
{
    atomic_store_explicit(&cycle->sleeping, 1, memory_order_seq_cst);
    for (;;) {
        if (atomic_load_explicit(stop, memory_order_relaxed)) break;
        uint32_t now = atomic_load_explicit(&cycle->wake, memory_order_seq_cst);
        if (for_trigger && now != seen) break;
        if (!sleep_on(&cycle->wake, now, until)) break;
        if (nm_clock() >= until) break;
    }
    atomic_store_explicit(&cycle->sleeping, 0, memory_order_relaxed);
}

static void settle(const char *cycle, const struct nm_lineup_cycle *plan)
{
    char name[16];
    snprintf(name, sizeof name, "nm-%s", cycle);
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_TIMERSLACK, 1);
    if (plan->core >= 0) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        CPU_SET((size_t)plan->core, &cores);
        pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
    }
    if (plan->priority > 0) {
        struct sched_param how = {.sched_priority = plan->priority};
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &how); /* not allowed everywhere; `nutmeg doctor` tells */
    }
}

static void one_run(struct nm_cycle *cycle, int64_t wanted)
{
    int64_t start = nm_clock();
    cycle_enter(cycle);
    cycle_begin(cycle, start);
    cycle_steps(cycle);
    cycle_end(cycle);
    cycle_account(cycle);
    tally_add(&cycle->late, start - wanted);
    cycle_leave(cycle);
    if (nm_clock() - wanted > cycle->plan->deadline) atomic_fetch_add_explicit(&cycle->misses, 1, memory_order_relaxed);
}

static void periodic(struct nm_cycle *cycle, int64_t period, const _Atomic bool *stop,
                     void (*run)(struct nm_cycle *cycle, int64_t wanted))
{
    int64_t next = cycle->next;
    while (!atomic_load_explicit(stop, memory_order_relaxed)) {
        sleep_until(cycle, stop, next, 0, false);
        if (atomic_load_explicit(stop, memory_order_relaxed)) return;
        run(cycle, next);
        next += period;
        int64_t behind = nm_clock() - next;
        if (behind > 0) {
            int64_t skips = (behind + period - 1) / period;
            next += skips * period;
            atomic_fetch_add_explicit(&cycle->skips, (uint64_t)skips, memory_order_relaxed);
        }
    }
}

static void triggered(struct nm_cycle *cycle)
{
    uint32_t seen = 0;
    while (!atomic_load_explicit(&cycle->player->stop, memory_order_relaxed)) {
        int64_t until = nm_clock() + cycle->plan->timeout;
        sleep_until(cycle, &cycle->player->stop, until, seen, true);
        if (atomic_load_explicit(&cycle->player->stop, memory_order_relaxed)) return;
        uint32_t wake = atomic_load_explicit(&cycle->wake, memory_order_acquire);
        int64_t called = atomic_load_explicit(&cycle->called, memory_order_relaxed);
        if (wake == seen) atomic_fetch_add_explicit(&cycle->timeouts, 1, memory_order_relaxed);
        one_run(cycle, wake != seen && called < until ? called : until);
        seen = wake;
    }
}

static void *thread_main(void *user)
{
    struct nm_cycle *cycle = user;
    settle(cycle->name, cycle->plan);
    if (cycle->plan->trigger == NM_NONE)
        periodic(cycle, cycle->plan->period, &cycle->player->stop, one_run);
    else
        triggered(cycle);
    return NULL;
}

int nm_player_start(struct nm_player *player, struct nm_err *err)
{
    if (atomic_load(&player->running)) return nm_fail(err, "%s runs already", player->name);
    if (!player->linked && player_link(player, err)) return -1;
    atomic_store(&player->stop, false);
    atomic_store(&player->running, true);
    atomic_store(&player->real, true);
    int64_t start = nm_clock() + 1000000;
    for (uint32_t c = 0; c < player->n_cycles; c++) player->cycles[c]->next = start;
    for (uint32_t c = 0; c < player->n_cycles; c++) {
        int r = pthread_create(&player->cycles[c]->thread, NULL, thread_main, player->cycles[c]);
        if (r) {
            atomic_store(&player->stop, true);
            for (uint32_t k = 0; k < c; k++) {
                cycle_wake(player->cycles[k]);
                pthread_join(player->cycles[k]->thread, NULL);
            }
            atomic_store(&player->running, false);
            return nm_fail(err, "cycle %s: no thread: %s", player->cycles[c]->name, strerror(r));
        }
    }
    return 0;
}

void nm_player_stop(struct nm_player *player)
{
    if (!atomic_load(&player->running)) return;
    atomic_store(&player->stop, true);
    for (uint32_t c = 0; c < player->n_all; c++) cycle_wake(player->cycles[c]);
    for (uint32_t c = 0; c < player->n_cycles; c++) pthread_join(player->cycles[c]->thread, NULL);
    atomic_store(&player->running, false);
}

/* ---- edges ---- */

static void one_round(struct nm_cycle *edge, int64_t wanted)
{
    int64_t start = nm_clock();
    edge->round(edge->user, start);
    int64_t end = nm_clock();
    tally_add(&edge->busy, end - start);
    tally_add(&edge->late, start - wanted);
    if (end - wanted > edge->beat->deadline) atomic_fetch_add_explicit(&edge->misses, 1, memory_order_relaxed);
    if (!atomic_load_explicit(&edge->runs, memory_order_relaxed))
        atomic_store_explicit(&edge->first_start, start, memory_order_relaxed);
    atomic_store_explicit(&edge->last_start, start, memory_order_relaxed);
    atomic_fetch_add_explicit(&edge->runs, 1, memory_order_relaxed);
}

static void *edge_main(void *user)
{
    struct nm_cycle *edge = user;
    settle(edge->name, edge->beat);
    periodic(edge, edge->beat->period, &edge->halt, one_round);
    return NULL;
}

int nm_edge_start(struct nm_edge *edge, const struct nm_edge_beat *beat, struct nm_err *err)
{
    struct nm_cycle *cycle = (struct nm_cycle *)(void *)edge;
    if (cycle->beat) return nm_fail(err, "%s has a thread already", cycle->name);
    struct nm_lineup_cycle *plan = nm_take_n(&cycle->player->arena, struct nm_lineup_cycle, 1);
    *plan = (struct nm_lineup_cycle){.name = cycle->name,
                                     .period = beat->period,
                                     .deadline = beat->deadline,
                                     .priority = beat->priority,
                                     .trigger = NM_NONE,
                                     .core = -1};
    cycle->round = beat->round;
    cycle->user = beat->user;
    cycle->next = nm_clock();
    atomic_store(&cycle->halt, false);
    atomic_store_explicit(&cycle->beat, plan, memory_order_release);
    int r = pthread_create(&cycle->thread, NULL, edge_main, cycle);
    if (!r) return 0;
    atomic_store(&cycle->beat, NULL);
    return nm_fail(err, "%s: no thread: %s", cycle->name, strerror(r));
}

void nm_edge_stop(struct nm_edge *edge)
{
    struct nm_cycle *cycle = (struct nm_cycle *)(void *)edge;
    if (!atomic_load(&cycle->beat) || atomic_exchange(&cycle->halt, true)) return;
    atomic_fetch_add_explicit(&cycle->wake, 1, memory_order_seq_cst);
    syscall(SYS_futex, &cycle->wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(cycle->thread, NULL);
}

void nm_edge_wake(struct nm_edge *edge) { cycle_wake((struct nm_cycle *)(void *)edge); }

bool nm_edge_wait(struct nm_edge *edge, int64_t timeout)
{
    struct nm_cycle *cycle = (struct nm_cycle *)(void *)edge;
    int64_t until = nm_clock() + timeout;
    uint32_t seen = cycle->woken;
    sleep_until(cycle, &cycle->player->stop, until, seen, true);
    cycle->woken = atomic_load_explicit(&cycle->wake, memory_order_acquire);
    return cycle->woken != seen;
}
