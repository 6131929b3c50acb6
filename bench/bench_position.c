/* nutmeg bench world, the rows of the robot's position. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cmd/pool.h"
#include "cmd/position_trial.h"
#include "cmd/progress.h"
#include "cmd/stopping.h"

enum { FIRST_SEED = 20001, MOST = 100 };

enum trial { PLAY, KIDNAP, SIDE, FALL, FALSE_ONES, TRIALS };
static const struct {
    const char *name;
    enum position_incident incident;
    bool false_ones;
    uint32_t seeds, quick;
    double seconds, quick_seconds;
} trials[TRIALS] = {
    [PLAY] = {"playing", INCIDENT_NONE, false, 10, 2, 60, 30},
    [KIDNAP] = {"kidnapped", INCIDENT_KIDNAP, false, 34, 3, 0, 0},
    [SIDE] = {"wrong side at the start", INCIDENT_WRONG_SIDE, false, 33, 3, 0, 0},
    [FALL] = {"after a fall", INCIDENT_FALL, false, 33, 3, 0, 0},
    [FALSE_ONES] = {"false percepts", INCIDENT_NONE, true, 10, 2, 60, 30},
};
static const char *const topics[] = {"pose"};

struct work {
    struct setup *setup;
    const struct nm_bench_options *options;
    char lineup[PATH_MAX + 64];
    enum nm_fidelity fidelity;
    uint32_t n, ended;
    uint8_t trial[TRIALS * MOST];
    uint32_t index[TRIALS * MOST];
    struct position_result *results; /* of each piece */
    struct progress progress;
};

static void work(void *user, uint32_t piece, void *result)
{
    struct work *w = user;
    enum trial k = w->trial[piece];
    const struct position_trial trial = {.incident = trials[k].incident,
                                         .fidelity = w->fidelity,
                                         .seed = (w->options->first_seed ? w->options->first_seed : FIRST_SEED) +
                                                 w->index[piece],
                                         .seconds = w->options->quick ? trials[k].quick_seconds : trials[k].seconds,
                                         .false_ones = trials[k].false_ones,
                                         .lineup = w->lineup,
                                         .n_poses = 1,
                                         .poses = topics};
    position_trial(w->setup, &trial, result);
}

static void done(void *user, uint32_t piece, const void *result, const char *died)
{
    struct work *w = user;
    (void)died;
    if (result) w->results[piece] = *(const struct position_result *)result;
    progress_tell(&w->progress, "%u of %u outings", ++w->ended, w->n);
}

/* All errors of a kind of outing together. */
struct sum {
    uint32_t n, mirrored, played, late, never;
    float *place, *turn, *recovered;
    double nees, inside, cpu, false_share;
};

static void gather(const struct work *w, enum trial k, struct sum *s)
{
    *s = (struct sum){.place = malloc(sizeof(float) * MOST * POSITION_SAMPLES),
                      .turn = malloc(sizeof(float) * MOST * POSITION_SAMPLES),
                      .recovered = malloc(sizeof(float) * MOST)};
    for (uint32_t i = 0; i < w->n; i++) {
        const struct position_result *r = &w->results[i];
        const struct position_errors *e = &r->of[0];
        if (w->trial[i] != k || !r->done) continue;
        memcpy(s->place + s->n, e->place, e->n * sizeof(float));
        memcpy(s->turn + s->n, e->turn, e->n * sizeof(float));
        for (uint32_t j = 0; j < e->n; j++) {
            s->nees += fmin(e->nees[j], 1000);
            s->inside += e->nees[j] < 7.815f; /* 95 % of a chi squared distribution with three degrees of freedom */
        }
        s->n += e->n;
        s->mirrored += e->mirrored;
        s->late += e->mirrored_late;
        s->never += isnan(e->recovered) ? 1 : 0;
        s->recovered[s->played++] = (float)(isnan(e->recovered) ? 99 : e->recovered);
        s->cpu += r->cpu;
        s->false_share += r->false_share;
    }
    s->nees /= fmax(s->n, 1);
    s->inside /= fmax(s->n, 1);
    s->cpu /= fmax(s->played, 1);
    s->false_share /= fmax(s->played, 1);
}

static void free_sum(struct sum *s)
{
    free(s->place);
    free(s->turn);
    free(s->recovered);
}

static void most(struct nm_bench *b, const char *name, double value, const char *unit, double goal)
{
    char text[32];
    snprintf(text, sizeof text, "<= %g %s", goal, unit);
    nm_bench_report(b, name, value, unit, NAN, text, value <= goal);
}

static void report(struct nm_bench *b, const struct work *w)
{
    struct sum play, wrong, s;
    uint32_t late = 0, incidents = 0;
    gather(w, PLAY, &play);
    double median = position_quantile(play.place, play.n, 0.5);
    most(b, "position while playing, median", 100 * median, "cm", 8);
    most(b, "  p95", 100 * position_quantile(play.place, play.n, 0.95), "cm", 25);
    most(b, "  direction, median", 180 / M_PI * position_quantile(play.turn, play.n, 0.5), "deg", 3);
    most(b, "  direction, p95", 180 / M_PI * position_quantile(play.turn, play.n, 0.95), "deg", 8);
    nm_bench_say(
        b, "NEES %.2f (3 if calibrated), inside the 95 %% ellipsoid %.1f %%, mirrored %u of %u, %.1f us each step",
        play.nees, 100 * play.inside, play.mirrored, play.n, 1e6 * play.cpu * 0.033);
    for (enum trial k = KIDNAP; k <= FALL; k++) {
        static const double goals[TRIALS][2] = {[KIDNAP] = {5, 10}, [SIDE] = {8, 15}, [FALL] = {3, 6}};
        char name[80];
        gather(w, k, &s);
        snprintf(name, sizeof name, "%s: until 20 cm, median", trials[k].name);
        most(b, name, position_quantile(s.recovered, s.played, 0.5), "s", goals[k][0]);
        most(b, "  p95", position_quantile(s.recovered, s.played, 0.95), "s", goals[k][1]);
        late += s.late;
        incidents += s.played;
        free_sum(&s);
    }
    char mirrored[80];
    snprintf(mirrored, sizeof mirrored, "mirrored 30 s after any of these, of %u", incidents);
    nm_bench_report(b, mirrored, late, "", NAN, "0", late == 0 && incidents > 0);
    gather(w, FALSE_ONES, &wrong);
    most(b, "20 % false percepts: error against the usual", position_quantile(wrong.place, wrong.n, 0.5) / median, "x",
         1.5);
    nm_bench_say(b, "%.1f %% of the percepts were false, usually %.1f %%; mirrored %u of %u", 100 * wrong.false_share,
                 100 * play.false_share, wrong.mirrored, wrong.n);
    free_sum(&play);
    free_sum(&wrong);
}

void bench_position(struct nm_bench *b)
{
    const struct nm_bench_options *o = nm_bench_options(b);
    static struct setup setup;
    static struct work w;
    struct nm_err err = {0};
    setup_begin(&setup);
    w = (struct work){.setup = &setup, .options = o, .fidelity = NM_FIDELITY_FLAT};
    snprintf(w.lineup, sizeof w.lineup, "%s/lineups/position.yaml", setup.root);
    for (enum trial k = 0; k < TRIALS; k++) {
        uint32_t n = o->quick ? trials[k].quick : trials[k].seeds;
        if (o->first_seed && o->last_seed - o->first_seed + 1 < n) n = (uint32_t)(o->last_seed - o->first_seed + 1);
        for (uint32_t i = 0; i < n; i++) w.trial[w.n] = (uint8_t)k, w.index[w.n++] = i;
    }
    w.results = calloc(w.n, sizeof *w.results);
    if (!w.results) abort();
    struct pool pool = {.n = w.n,
                        .jobs = o->jobs ? o->jobs : 2,
                        .size = sizeof(struct position_result),
                        .seconds = 900,
                        .work = work,
                        .done = done,
                        .quit = stopping,
                        .user = &w};
    stop_by_signals();
    progress_begin(&w.progress, "");
    if (pool_run(&pool, &err) < 0) nm_bench_say(b, "%s", err.text);
    progress_end(&w.progress);
    for (uint32_t i = 0; i < w.n; i++)
        if (!w.results[i].done)
            nm_bench_say(b, "%s, seed %u: %s", trials[w.trial[i]].name, w.index[i], w.results[i].why);
    report(b, &w);
    free(w.results);
    setup_end(&setup);
}
