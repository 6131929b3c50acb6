/* Generations of a search: every candidate plays every scenario with the same few seeds, which are others in the next
 * generation, so that nothing is learnt by heart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc_guard.h"
#include "cmd/pool.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "cmd/tune.h"
#include "base/random.h"

/* One round of runs: point x scenario x seed. */
struct round {
    struct tune *tune;
    const double *points;
    const uint64_t *seeds;
    uint32_t n_seeds;
    double *scores;     /* of every run */
    uint64_t simulated; /* ns           */
};

struct outcome {
    bool done;
    double score;
    int64_t time; /* ns, simulated */
    char why[120];
};

static void play(void *user, uint32_t index, void *result)
{
    const struct round *r = user;
    const struct tune *t = r->tune;
    struct outcome *o = result;
    uint32_t seed = index % r->n_seeds, scenario = index / r->n_seeds % t->n_scenarios,
             point = index / r->n_seeds / t->n_scenarios;
    static char text[TUNE_PARAMS][TUNE_TEXT];
    const char *set[TUNE_PARAMS];
    struct nm_err err = {0};
    struct nm_arena arena = {0};
    const double *x = r->points + (size_t)point * t->params.n;
    const char *folder = t->animation ? tune_make_folder(&t->params, x, &arena, t->robot, &err) : t->robot;
    uint32_t n = tune_settings(&t->params, x, text);
    for (uint32_t i = 0; i < n; i++) set[i] = text[i];
    struct nm_run_options options = {.seed = r->seeds[seed],
                                     .robot = folder,
                                     .n_set = n,
                                     .set = set,
                                     .registry = &t->setup->registry,
                                     .enter = nm_guard_enter,
                                     .leave = nm_guard_leave,
                                     .bus = &sim_bus};
    struct nm_run *run = err.n ? NULL : nm_run_new(t->scenarios[scenario], &options, &err);
    if (t->animation && folder) tune_drop_folder(&arena, folder); /* it has been read */
    if (!run) {
        snprintf(o->why, sizeof o->why, "%.*s", (int)strcspn(err.text, "\n"), err.text);
        return;
    }
    while (!stopping() && nm_run_step(run) > 0) {}
    struct nm_result played;
    nm_run_result(run, &played);
    o->done = !stopping();
    o->score = played.score;
    o->time = played.time;
}

static void take(void *user, uint32_t index, const void *result, const char *died)
{
    struct round *r = user;
    const struct outcome *o = result;
    bool good = o && o->done && isfinite(o->score);
    r->scores[index] = good ? o->score : NAN;
    if (o) r->simulated += (uint64_t)o->time;
    if (good || stopping()) return;
    r->tune->n_died++;
    snprintf(r->tune->died, sizeof r->tune->died, "%s", died ? died : o->why);
}

int tune_evaluate(struct tune *t, const double *points, uint32_t n, const uint64_t *seeds, uint32_t n_seeds,
                  double *scores, double *each, struct nm_err *err)
{
    uint32_t runs = n * t->n_scenarios * n_seeds;
    struct round r = {.tune = t, .points = points, .seeds = seeds, .n_seeds = n_seeds};
    r.scores = malloc(sizeof(double) * (runs + 1));
    if (!r.scores) abort();
    for (uint32_t i = 0; i < runs; i++) r.scores[i] = NAN;
    struct pool pool = {.n = runs,
                        .jobs = t->jobs,
                        .size = sizeof(struct outcome),
                        .seconds = t->seconds,
                        .work = play,
                        .done = take,
                        .quit = stopping,
                        .user = &r};
    int bad = pool_run(&pool, err);
    for (uint32_t p = 0; p < n; p++) {
        scores[p] = 0;
        for (uint32_t s = 0; s < t->n_scenarios; s++) {
            double sum = 0;
            for (uint32_t k = 0; k < n_seeds; k++) sum += r.scores[(p * t->n_scenarios + s) * n_seeds + k];
            if (each) each[p * t->n_scenarios + s] = sum / n_seeds;
            scores[p] += sum / n_seeds;
        }
    }
    t->simulated += (double)r.simulated * 1e-9;
    free(r.scores);
    return bad;
}

/* Outside of its ranges a candidate is played at their edge and pays for the way. */
static double penalty(const double *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        double over = x[i] < 0 ? -x[i] : x[i] > 1 ? x[i] - 1 : 0;
        sum += over * over;
    }
    return sum;
}

static void note(struct tune *t, const double *scores)
{
    struct tune_generation g = {.best = -INFINITY, .sigma = t->cma->sigma};
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->cma->population; k++) {
        if (isnan(scores[k])) continue;
        g.best = fmax(g.best, scores[k]);
        g.mean += scores[k];
        n++;
    }
    g.mean = n ? g.mean / n : NAN;
    if (!n) g.best = NAN;
    if (t->n_history == t->room) {
        t->room = t->room ? 2 * t->room : 64;
        t->history = realloc(t->history, t->room * sizeof *t->history);
        if (!t->history) abort();
    }
    t->history[t->n_history++] = g;
}

int tune_generation(struct tune *t, struct nm_err *err)
{
    struct nm_cma *cma = t->cma;
    uint64_t *seeds = malloc(sizeof *seeds * t->trials), count = t->last - t->first + 1;
    double *scores = malloc(sizeof *scores * cma->population), spread = 0;
    if (!seeds || !scores) abort();
    for (uint32_t k = 0; k < t->trials; k++)
        seeds[k] = t->first + nm_spread(cma->generation * t->trials + k + nm_spread(t->first)) % count;
    int bad = tune_evaluate(t, cma->candidates, cma->population, seeds, t->trials, scores, NULL, err);
    if (!bad && !stopping()) {
        note(t, scores);
        for (uint32_t k = 0; k < cma->population; k++)
            if (!isnan(scores[k])) spread = fmax(spread, fabs(scores[k] - t->history[t->n_history - 1].mean));
        for (uint32_t k = 0; k < cma->population; k++)
            scores[k] = -scores[k] + 10 * (spread + 1e-9) * penalty(nm_cma_candidate(cma, k), cma->n);
        nm_cma_tell(cma, scores);
    }
    free(seeds);
    free(scores);
    return bad ? -1 : stopping();
}
