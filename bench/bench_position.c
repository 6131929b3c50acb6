/* nutmeg bench world, the rows of the robot's position. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench.h"
#include "cmd/pool.h"
#include "cmd/position_trial.h"
#include "cmd/stopping.h"
#include "modules/position/cloud.h"

enum { FIRST_SEED = 20001, MOST = 100 };

enum trial { PLAY, KIDNAP, SIDE, FALL, FALSE_ONES, TRIALS };
static const struct {
    const char *row, *name; /* row: its word for --only */
    enum position_incident incident;
    bool false_ones;
    uint32_t seeds, quick;
    double seconds, quick_seconds;
} trials[TRIALS] = {
    [PLAY] = {"playing", "playing", INCIDENT_NONE, false, 10, 1, 60, 20},
    [KIDNAP] = {"kidnapped", "kidnapped", INCIDENT_KIDNAP, false, 34, 1, 0, 0},
    [SIDE] = {"wrong_side", "wrong side at the start", INCIDENT_WRONG_SIDE, false, 33, 1, 0, 0},
    [FALL] = {"fall", "after a fall", INCIDENT_FALL, false, 33, 1, 0, 0},
    [FALSE_ONES] = {"false_percepts", "false percepts", INCIDENT_NONE, true, 10, 1, 60, 20},
};
static const char *const topics[] = {"pose"};

struct work {
    struct setup *setup;
    const struct nm_bench_options *options;
    char lineup[PATH_MAX + 64];
    enum nm_fidelity fidelity;
    uint32_t n;
    uint8_t trial[TRIALS * MOST];
    uint32_t index[TRIALS * MOST];
    struct position_result *results; /* of each piece */
};

static uint64_t seed_of(const struct work *w, uint32_t piece)
{
    return (w->options->first_seed ? w->options->first_seed : FIRST_SEED) + w->index[piece];
}

static void work(void *user, uint32_t piece, void *result)
{
    struct work *w = user;
    enum trial k = w->trial[piece];
    const struct position_trial trial = {.incident = trials[k].incident,
                                         .fidelity = w->fidelity,
                                         .seed = seed_of(w, piece),
                                         .seconds = w->options->quick ? trials[k].quick_seconds : trials[k].seconds,
                                         .false_ones = trials[k].false_ones,
                                         .smooth = k == PLAY,
                                         .lineup = w->lineup,
                                         .n_poses = 1,
                                         .poses = topics};
    position_trial(w->setup, &trial, result);
}

/* All errors of a kind of outing together. */
struct sum {
    uint32_t n, mirrored, played, late;
    float *place, *turn, *recovered, *smoothed;
    uint32_t n_smoothed;
    double nees, inside, step_us, false_share;
};

static void gather(const struct work *w, enum trial k, struct sum *s)
{
    *s = (struct sum){.place = malloc(sizeof(float) * MOST * POSITION_SAMPLES),
                      .turn = malloc(sizeof(float) * MOST * POSITION_SAMPLES),
                      .smoothed = malloc(sizeof(float) * MOST * POSITION_SAMPLES),
                      .recovered = malloc(sizeof(float) * MOST)};
    if (!s->place || !s->turn || !s->smoothed || !s->recovered) abort();
    for (uint32_t i = 0; i < w->n; i++) {
        const struct position_result *r = &w->results[i];
        const struct position_errors *e = &r->of[0];
        if (w->trial[i] != k || !r->done) continue;
        memcpy(s->place + s->n, e->place, e->n * sizeof(float));
        memcpy(s->turn + s->n, e->turn, e->n * sizeof(float));
        for (uint32_t j = 0; j < e->n; j++) {
            s->nees += fmin(e->nees[j], 1000);
            s->inside += e->nees[j] < NEES_95;
        }
        s->n += e->n;
        s->mirrored += e->mirrored;
        s->late += e->mirrored_late;
        s->recovered[s->played++] = (float)(isnan(e->recovered) ? 99 : e->recovered);
        memcpy(s->smoothed + s->n_smoothed, r->smoothed.place, r->smoothed.n * sizeof(float));
        s->n_smoothed += r->smoothed.n;
        s->step_us += r->step_us[0];
        s->false_share += r->false_share;
    }
    s->nees /= fmax(s->n, 1);
    s->inside /= fmax(s->n, 1);
    s->step_us /= fmax(s->played, 1);
    s->false_share /= fmax(s->played, 1);
}

static void free_sum(struct sum *s)
{
    free(s->place);
    free(s->turn);
    free(s->recovered);
    free(s->smoothed);
}

static void most(struct nm_bench *b, const char *name, double value, const char *unit, double goal)
{
    char text[32];
    snprintf(text, sizeof text, "<= %g %s", goal, unit);
    nm_bench_report(b, name, value, unit, NAN, text, value <= goal);
}

static bool is_wanted(const struct nm_bench *b, enum trial k) { return nm_bench_wants(b, trials[k].row); }

static void report_playing(struct nm_bench *b, const struct sum *s)
{
    double median = position_quantile(s->place, s->n, 0.5);
    most(b, "position while playing, median", 100 * median, "cm", 8);
    most(b, "  p95", 100 * position_quantile(s->place, s->n, 0.95), "cm", 25);
    most(b, "  direction, median", 180 / M_PI * position_quantile(s->turn, s->n, 0.5), "deg", 3);
    most(b, "  direction, p95", 180 / M_PI * position_quantile(s->turn, s->n, 0.95), "deg", 8);
    nm_bench_say(b,
                 "NEES %.2f (3 if calibrated), inside the 95 %% ellipsoid %.1f %%, mirrored %u of %u, %.0f us a step",
                 s->nees, 100 * s->inside, s->mirrored, s->n, s->step_us);
    double smoothed = position_quantile(s->smoothed, s->n_smoothed, 0.5);
    most(b, "  against a smoother that knows all landmarks", median / smoothed, "x", 2);
}

static void report(struct nm_bench *b, const struct work *w)
{
    struct sum play, wrong, s;
    uint32_t late = 0, incidents = 0;
    bool any = false;
    gather(w, PLAY, &play);
    if (is_wanted(b, PLAY)) report_playing(b, &play);
    for (enum trial k = KIDNAP; k <= FALL; k++) {
        static const double goals[TRIALS][2] = {[KIDNAP] = {5, 10}, [SIDE] = {8, 15}, [FALL] = {3, 6}};
        char name[80];
        if (!is_wanted(b, k)) continue;
        gather(w, k, &s);
        snprintf(name, sizeof name, "%s, %u times: until 20 cm, median", trials[k].name, s.played);
        most(b, name, position_quantile(s.recovered, s.played, 0.5), "s", goals[k][0]);
        most(b, "  p95", position_quantile(s.recovered, s.played, 0.95), "s", goals[k][1]);
        late += s.late;
        incidents += s.played;
        any = true;
        free_sum(&s);
    }
    char mirrored[80];
    snprintf(mirrored, sizeof mirrored, "mirrored 30 s after any of these, of %u", incidents);
    if (any) nm_bench_report(b, mirrored, late, "", NAN, "0", late == 0 && incidents > 0);
    gather(w, FALSE_ONES, &wrong);
    double usual = position_quantile(play.place, play.n, 0.5), then = position_quantile(wrong.place, wrong.n, 0.5);
    if (is_wanted(b, FALSE_ONES)) {
        most(b, "20 % false percepts: error against the usual", then / usual, "x", 1.5);
        nm_bench_say(b, "%.1f %% of the percepts were false, usually %.1f %%; mirrored %u of %u",
                     100 * wrong.false_share, 100 * play.false_share, wrong.mirrored, wrong.n);
    }
    free_sum(&play);
    free_sum(&wrong);
}

/* Ten things seen from the middle of a half, by particles anywhere on the field. */
static void time_cloud(struct nm_bench *b)
{
    static struct cloud cloud;
    static struct sight_map map;
    const struct nm_pitch_size kid = {8.95, 5.95, 0.05, 0.95, 2.95, 1.95, 4.95, 1.475, 0.725, 2.6, 0.6, 0.1, 1};
    static const uint32_t kinds[10] = {NM_LANDMARK_POST, NM_LANDMARK_POST,  NM_LANDMARK_L, NM_LANDMARK_L,
                                       NM_LANDMARK_L,    NM_LANDMARK_T,     NM_LANDMARK_T, NM_LANDMARK_X,
                                       NM_LANDMARK_MARK, NM_LANDMARK_CIRCLE};
    const struct cloud_score score = {0.55f, 0.035f, 0.1f};
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    double best = INFINITY, sum = 0;
    sight_map(&map, &kid);
    cloud.n = 10000;
    for (int round = 0; round < (nm_bench_quick(b) ? 20 : 200); round++) {
        for (uint32_t i = 0; i < cloud.n; i++) {
            cloud.x[i] = (float)(4.5 * nm_dice_both(&dice)), cloud.y[i] = (float)(3 * nm_dice_both(&dice));
            cloud.theta[i] = (float)(M_PI * nm_dice_both(&dice));
            cloud.weight[i] = 1;
        }
        cloud_turned(&cloud);
        int64_t start = nm_clock_of(CLOCK_THREAD_CPUTIME_ID);
        for (uint32_t k = 0; k < 10; k++)
            cloud_weigh(&cloud, &map, &(struct sighting){.kind = kinds[k], .x = 1 + 0.2 * k, .y = 0.3 * k - 1.5},
                        &score);
        best = fmin(best, 1e-6 * (double)(nm_clock_of(CLOCK_THREAD_CPUTIME_ID) - start));
        sum += cloud.weight[round];
    }
    if (!(sum > 0)) abort();
    nm_bench_report(b, "10,000 particles x 10 observations", best, "ms", NAN, "<= 5 ms", best <= 5);
}

void bench_position(struct nm_bench *b)
{
    const struct nm_bench_options *o = nm_bench_options(b);
    static struct setup setup;
    static struct work w;
    struct nm_err err = {0};
    setup_begin(&setup);
    w = (struct work){.setup = &setup, .options = o, .fidelity = NM_FIDELITY_PERCEPT};
    snprintf(w.lineup, sizeof w.lineup, "%s/lineups/position_walk.yaml", setup.root);
    for (enum trial k = 0; k < TRIALS; k++) {
        bool compared = k == PLAY && is_wanted(b, FALSE_ONES);
        uint32_t n = !is_wanted(b, k) && !compared ? 0 : o->quick ? trials[k].quick : trials[k].seeds;
        if (o->first_seed && o->last_seed - o->first_seed + 1 < n) n = (uint32_t)(o->last_seed - o->first_seed + 1);
        for (uint32_t i = 0; i < n; i++) w.trial[w.n] = (uint8_t)k, w.index[w.n++] = i;
    }
    w.results = nm_calloc(w.n + 1, sizeof *w.results);
    struct pool pool = {.n = w.n,
                        .jobs = o->jobs ? o->jobs : 2,
                        POOL_RESULTS(w.results, position_result, why),
                        .seconds = 900,
                        .work = work,
                        .what = "outings",

                        .quit = stopping,
                        .user = &w};
    stop_by_signals();
    if (pool_run(&pool, &err) < 0) nm_bench_say(b, "%s", err.text);
    for (uint32_t i = 0; i < w.n; i++)
        if (!w.results[i].done && *w.results[i].why)
            nm_bench_say(b, "%s, seed %" PRIu64 ": %s", trials[w.trial[i]].name, seed_of(&w, i), w.results[i].why);
    report(b, &w);
    if (nm_bench_wants(b, "particles")) time_cloud(b);
    free(w.results);
    setup_end(&setup);
}
