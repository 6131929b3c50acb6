/* Learning to walk on one core: physical steps a second, with everything that learning does, beside MuJoCo alone that
 * steps the same models from the same stance. Times are those of the thread. */
#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench.h"
#include "cmd/setup.h"
#include "core/files.h"
#include "learn/trainer.h"

enum { WORLDS = 256, BARE = 16, PERIOD = 4 /* steps */ };

/* Steps a second of mj_step, which begins again in the stance after every period. */
static double bare(struct nm_walking *walking, uint32_t periods)
{
    mjModel *m = nm_world_model(walking->world);
    mjData *d = nm_world_data(walking->world);
    size_t nq = (size_t)m->nq * sizeof(double), nv = (size_t)m->nv * sizeof(double);
    double *qpos = nm_malloc(nq), *qvel = nm_malloc(nv);
    memcpy(qpos, d->qpos, nq);
    memcpy(qvel, d->qvel, nv);
    int64_t from = nm_thread_time();
    for (uint32_t i = 0; i < periods; i++) {
        for (int k = 0; k < PERIOD; k++) mj_step(m, d);
        memcpy(d->qpos, qpos, nq);
        memcpy(d->qvel, qvel, nv);
    }
    double seconds = 1e-9 * (double)(nm_thread_time() - from);
    free(qpos);
    free(qvel);
    return seconds;
}

static int measure(struct nm_bench *bench, struct setup *setup, struct nm_err *err)
{
    struct nm_arena *arena = &setup->arena;
    const struct nm_bench_options *o = nm_bench_options(bench);
    struct nm_pitch pitch;
    const char *folder = setup_robot(setup, o->robot ? o->robot : "kid70", err);
    if (!folder || nm_pitch_read(&pitch, nm_path(arena, nm_path(arena, setup->root, "fields"), "kid.yaml"), err))
        return -1;
    const struct nm_body *body = nm_body_load(arena, folder, err);
    struct nm_gait gait;
    if (!body || nm_gait_init(&gait, body, err)) return -1;
    uint32_t periods = nm_bench_quick(bench) ? 100 : 1000, batches = nm_bench_quick(bench) ? 1 : 6;
    double alone = 0;
    for (uint64_t seed = 1; seed <= BARE; seed++) {
        struct nm_walking w;
        if (nm_walking_new(&w, &gait, &pitch, seed, err)) return -1;
        nm_walking_reset(&w);
        alone += bare(&w, periods) / (BARE * PERIOD * periods);
        nm_walking_free(&w);
    }
    struct nm_learn_options options = {.seed = 1, .worlds = WORLDS, .threads = 1};
    struct nm_trainer *t = nm_trainer_new(body, &pitch, &options, err);
    int bad = !t || nm_trainer_batch(t, err) ? -1 : 0;
    uint64_t before = t ? nm_trainer_ticks(t) : 0;
    int64_t from = nm_thread_time();
    for (uint32_t i = 0; !bad && i < batches; i++) bad = nm_trainer_batch(t, err);
    double seconds = 1e-9 * (double)(nm_thread_time() - from);
    if (!bad) {
        double rate = (double)(nm_trainer_ticks(t) - before) / seconds, share = rate * alone;
        nm_bench_report(bench, "learning to walk: physical steps a core", rate, "1/s", share, ">= 0.5 x", share >= 0.5);
    }
    nm_trainer_free(t);
    return bad;
}

void bench_learn(struct nm_bench *bench);

void bench_learn(struct nm_bench *bench)
{
    struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    if (measure(bench, &setup, &err)) nm_bench_say(bench, "%s", err.text);
    setup_end(&setup);
}
