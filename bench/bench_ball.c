/* nutmeg bench world, the rows of the ball: a walking robot in physics, hard conditions, percepts with noise, misses
 * and ghosts. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "bench.h"
#include "cmd/ball_trial.h"
#include "cmd/pool.h"
#include "cmd/position_trial.h"
#include "cmd/stopping.h"

enum { FIRST_SEED = 20001, SEEDS = 20, QUICK = 2 };
static const double SECONDS = 65, QUICK_SECONDS = 33;

struct work {
    struct setup *setup;
    const struct nm_bench_options *options;
    char lineup[PATH_MAX + 64];
    uint32_t n;
    struct ball_result *results;
};

static uint64_t seed_of(const struct work *w, uint32_t piece)
{
    return (w->options->first_seed ? w->options->first_seed : FIRST_SEED) + piece;
}

static void work(void *user, uint32_t piece, void *result)
{
    struct work *w = user;
    const struct ball_trial trial = {
        .fidelity = NM_FIDELITY_PERCEPT,
        .seed = seed_of(w, piece),
        .seconds = w->options->quick ? QUICK_SECONDS : SECONDS,
        .lineup = w->lineup,
    };
    ball_trial(w->setup, &trial, result);
}

static void row(struct nm_bench *b, const struct work *w, enum ball_error kind, const char *name, const char *unit,
                double scale, double goal)
{
    float *all = malloc(sizeof(float) * SEEDS * BALL_SAMPLES);
    uint32_t n = 0;
    double sum = 0;
    char text[32];
    for (uint32_t i = 0; i < w->n; i++)
        for (uint32_t k = 0; k < w->results[i].n[kind]; k++) sum += all[n++] = w->results[i].errors[kind][k];
    snprintf(text, sizeof text, "<= %g %s", goal, unit);
    double mean = n ? scale * sum / n : NAN;
    nm_bench_report(b, name, mean, unit, NAN, text, mean <= goal);
    nm_bench_say(b, "  of %u samples: median %.3g, p95 %.3g %s", n, scale * position_quantile(all, n, 0.5),
                 scale * position_quantile(all, n, 0.95), unit);
    free(all);
}

static void report(struct nm_bench *b, const struct work *w)
{
    double nees = 0, cpu = 0;
    uint32_t upright = 0, known = 0, wrong = 0, played = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct ball_result *r = &w->results[i];
        if (!r->done) {
            if (*r->why) nm_bench_say(b, "seed %" PRIu64 ": %s", seed_of(w, i), r->why);
            continue;
        }
        nees += isfinite(r->nees) ? r->nees : 0;
        cpu += r->cpu;
        upright += r->upright;
        known += r->known;
        wrong += r->wrong;
        played++;
    }
    row(b, w, BALL_PLACE, "ball at 2 m, mean error", "cm", 100, 8);
    row(b, w, BALL_VELOCITY, "velocity of a ball at 1 m/s, mean error", "m/s", 1, 0.15);
    row(b, w, BALL_INTERCEPT, "interception point 1 s ahead, mean error", "cm", 100, 15);
    nm_bench_say(b,
                 "NEES at 2 m %.2f (2 if calibrated), ball known %.1f %% of the time, of this wrong by 50 cm %.1f %%, "
                 "the whole line-up %.0f us a simulated second and robot",
                 nees / fmax(played, 1), 100.0 * known / fmax(upright, 1), 100.0 * wrong / fmax(known, 1),
                 1e6 * cpu / fmax(played, 1));
}

void bench_ball(struct nm_bench *b)
{
    const struct nm_bench_options *o = nm_bench_options(b);
    static struct setup setup;
    static struct work w;
    struct nm_err err = {0};
    setup_begin(&setup);
    w = (struct work){.setup = &setup, .options = o, .n = o->quick ? QUICK : SEEDS};
    if (o->first_seed && o->last_seed - o->first_seed + 1 < w.n) w.n = (uint32_t)(o->last_seed - o->first_seed + 1);
    snprintf(w.lineup, sizeof w.lineup, "%s/lineups/ball_walk.yaml", setup.root);
    w.results = nm_calloc(w.n, sizeof *w.results);
    struct pool pool = {.n = w.n,
                        .jobs = o->jobs ? o->jobs : 2,
                        POOL_RESULTS(w.results, ball_result, why),
                        .seconds = 900,
                        .work = work,
                        .what = "robots with a ball",

                        .quit = stopping,
                        .user = &w};
    stop_by_signals();
    if (pool_run(&pool, &err) < 0) nm_bench_say(b, "%s", err.text);
    report(b, &w);
    free(w.results);
    setup_end(&setup);
}
