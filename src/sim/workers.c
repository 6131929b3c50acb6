#include "sim/workers.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { HANDS = 64 };

struct hand {
    struct nm_workers *all;
    pthread_t thread;
    uint32_t number;
};

struct nm_workers {
    uint32_t n; /* hands, the caller's included */
    struct hand hands[HANDS];
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    uint64_t round;   /* counts the calls of nm_workers_run     */
    uint32_t working; /* hands that have not finished the round */
    bool stop;

    /* the round's work */
    uint32_t jobs;
    void (*job)(void *user, uint32_t i, uint32_t hand);
    void *user;
    _Atomic uint32_t next;
};

static void take_jobs(struct nm_workers *w, uint32_t hand)
{
    for (;;) {
        uint32_t i = atomic_fetch_add(&w->next, 1);
        if (i >= w->jobs) return;
        w->job(w->user, i, hand);
    }
}

static void *serve(void *user)
{
    struct hand *hand = user;
    struct nm_workers *w = hand->all;
    uint64_t seen = 0;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->stop && w->round == seen) pthread_cond_wait(&w->begun, &w->lock);
        if (w->stop) break;
        seen = w->round;
        pthread_mutex_unlock(&w->lock);
        take_jobs(w, hand->number);
        pthread_mutex_lock(&w->lock);
        if (--w->working == 0) pthread_cond_signal(&w->ended);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct nm_workers *nm_workers_new(uint32_t hands, struct nm_err *err)
{
    if (hands < 1 || hands > HANDS) {
        nm_fail(err, "%u workers: there must be 1 to %d", hands, HANDS);
        return NULL;
    }
    struct nm_workers *w = nm_calloc(1, sizeof *w);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->begun, NULL);
    pthread_cond_init(&w->ended, NULL);
    for (w->n = 1; w->n < hands; w->n++) {
        struct hand *hand = &w->hands[w->n];
        *hand = (struct hand){.all = w, .number = w->n};
        if (pthread_create(&hand->thread, NULL, serve, hand) != 0) {
            nm_fail(err, "the system gives no thread for worker %u", w->n);
            nm_workers_free(w);
            return NULL;
        }
    }
    return w;
}

void nm_workers_free(struct nm_workers *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->begun);
    pthread_mutex_unlock(&w->lock);
    for (uint32_t i = 1; i < w->n; i++) pthread_join(w->hands[i].thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->begun);
    pthread_cond_destroy(&w->ended);
    free(w);
}

void nm_workers_run(struct nm_workers *w, uint32_t n, void (*job)(void *, uint32_t, uint32_t), void *user)
{
    pthread_mutex_lock(&w->lock);
    w->jobs = n;
    w->job = job;
    w->user = user;
    atomic_store(&w->next, 0);
    w->working = w->n - 1;
    w->round++;
    pthread_cond_broadcast(&w->begun);
    pthread_mutex_unlock(&w->lock);
    take_jobs(w, 0);
    pthread_mutex_lock(&w->lock);
    while (w->working) pthread_cond_wait(&w->ended, &w->lock);
    pthread_mutex_unlock(&w->lock);
}
