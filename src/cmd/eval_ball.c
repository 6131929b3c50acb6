/* nutmeg eval ball: what line-ups believe of the ball on the same percepts, held against the truth of the simulator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/canvas.h"
#include "cmd/console.h"
#include "cmd/eval.h"
#include "cmd/options.h"
#include "cmd/plot.h"
#include "cmd/pool.h"
#include "cmd/recorded.h"
#include "cmd/setup.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"

enum measure { AT_REST, VELOCITY, AHEAD, KNOWN, WRONG, CPU, MEASURES };

struct order {
    const char *lineups[EVAL_LINEUPS];
    uint32_t n_lineups, seeds;
    uint64_t first;
    double seconds;
    enum nm_fidelity fidelity;
    struct texts logs; /* instead of robots that walk about: one a seed */
};

struct evaluation {
    struct setup setup;
    const struct order *order;
    const char *files[EVAL_LINEUPS];
    struct ball_result *results; /* [seed][line-up] */
};

static void work(void *user, uint32_t piece, void *result)
{
    struct evaluation *e = user;
    uint32_t lineup = piece % e->order->n_lineups, seed = piece / e->order->n_lineups;
    if (e->order->logs.n) {
        recorded_ball(&e->setup, &(struct recorded){e->order->logs.at[seed], e->files[lineup]}, result);
        return;
    }
    const struct ball_trial trial = {e->order->fidelity, e->order->first + seed, e->order->seconds, e->files[lineup]};
    ball_trial(&e->setup, &trial, result);
}

static double mean_of(const struct ball_result *r, enum ball_error kind)
{
    double sum = 0;
    for (uint32_t i = 0; i < r->n[kind]; i++) sum += r->errors[kind][i];
    return r->n[kind] ? sum / r->n[kind] : NAN;
}

static void measure(const struct ball_result *r, double to[MEASURES])
{
    for (int k = 0; k < MEASURES; k++) to[k] = NAN;
    if (!r->done) return;
    to[AT_REST] = 100 * mean_of(r, BALL_PLACE);
    to[VELOCITY] = mean_of(r, BALL_VELOCITY);
    to[AHEAD] = 100 * mean_of(r, BALL_INTERCEPT);
    to[KNOWN] = r->upright ? 100.0 * r->known / r->upright : NAN;
    to[WRONG] = r->known ? 100.0 * r->wrong / r->known : NAN;
    to[CPU] = 1e6 * r->cpu;
}

/* Of each seed all line-ups must have seen the same; else they were not compared. */
static int check(const struct evaluation *e, struct nm_err *err)
{
    const struct order *o = e->order;
    for (uint32_t s = 0; s < o->seeds; s++)
        for (uint32_t i = 0; i < o->n_lineups; i++) {
            const struct ball_result *first = &e->results[s * o->n_lineups], *r = first + i;
            if (!r->done && o->logs.n) return nm_fail(err, "%s: %s", o->lineups[i], r->why);
            if (!r->done)
                return nm_fail(err, "%s, seed %llu: %s", o->lineups[i], (unsigned long long)(o->first + s), r->why);
            if (r->hash != first->hash && o->fidelity == NM_FIDELITY_FLAT)
                return nm_fail(err, "%s, seed %llu: saw something else than %s", o->lineups[i],
                               (unsigned long long)(o->first + s), o->lineups[0]);
        }
    return 0;
}

/* The error of a resting ball by its share: how many percent of the samples were better. */
static int draw(const struct evaluation *e, const char *path, struct nm_err *err)
{
    const struct order *o = e->order;
    struct plot_series series[EVAL_LINEUPS] = {0};
    for (uint32_t i = 0; i < o->n_lineups; i++) {
        uint32_t counts[101] = {0}, sum = 0; /* of errors in cm */
        for (uint32_t s = 0; s < o->seeds; s++) {
            const struct ball_result *r = &e->results[s * o->n_lineups + i];
            for (uint32_t k = 0; k < r->n[BALL_PLACE]; k++) {
                double cm = 100 * (double)r->errors[BALL_PLACE][k];
                counts[cm < 100 ? (uint32_t)cm : 100]++;
                sum++;
            }
        }
        series[i].name = o->lineups[i];
        for (uint32_t cm = 0, below = 0; cm < 40; cm++) {
            plot_add(&series[i], cm, sum ? 100.0 * below / sum : NAN);
            below += counts[cm];
        }
    }
    int bad = plot_write(series, o->n_lineups, "samples with a smaller error, %", "cm", path, err);
    for (uint32_t i = 0; i < o->n_lineups; i++) plot_free(&series[i]);
    return bad;
}

static int evaluate(struct evaluation *e, int64_t jobs, const char *picture, struct nm_err *err)
{
    static struct eval_measure measures[MEASURES] = {
        [AT_REST] = {.name = "ball at 2 m", .unit = "cm"}, [VELOCITY] = {.name = "velocity at 1 m/s", .unit = "m/s"},
        [AHEAD] = {.name = "met in 1 s", .unit = "cm"},    [KNOWN] = {.name = "known", .unit = "% of the time"},
        [WRONG] = {.name = "wrong by 50 cm", .unit = "%"}, [CPU] = {.name = "CPU", .unit = "us/s"}};
    const struct order *o = e->order;
    if (canvas_check(picture, err)) return -1;
    for (uint32_t i = 0; i < o->n_lineups; i++)
        if (!(e->files[i] = setup_file(&e->setup, "lineups", "line-up", o->lineups[i], err))) return -1;
    uint32_t n = o->seeds * o->n_lineups;
    e->results = nm_calloc(n, sizeof *e->results);
    struct pool pool = {.n = n,
                        .jobs = (uint32_t)jobs,
                        POOL_RESULTS(e->results, ball_result, why),
                        .seconds = 900,
                        .work = work,
                        .what = "robots with a ball",
                        .quit = stopping,
                        .user = e};
    stop_by_signals();
    int bad = pool_run(&pool, err);
    if (stopping()) return tell_interrupted("nothing is compared");
    if (bad || check(e, err)) return -1;
    for (uint32_t i = 0; i < n; i++) {
        double values[MEASURES];
        measure(&e->results[i], values);
        for (int k = 0; k < MEASURES; k++) measures[k].values[i % o->n_lineups][i / o->n_lineups] = values[k];
    }
    eval_print(o->lineups, o->n_lineups, measures, MEASURES, o->seeds, stdout);
    if (picture && draw(e, picture, err)) return -1;
    if (picture)
        printf("%s: share of the samples of a ball at 2 m (%%) with a smaller error than that (cm)\n", picture);
    return EXIT_OK;
}

int eval_ball(int argc, char **argv)
{
    const char *fidelity = "percept", *picture = NULL;
    int64_t jobs = 2, seeds = 8, first = 1;
    double seconds = 65;
    struct order order = {0};
    const struct flag flags[] = {
        TEXT("fidelity", &fidelity, "NAME", "percept (physics, hard conditions; the default) or flat"),
        TEXTS("log", &order.logs, "LOG",
              "plays the percepts of this log of nutmeg play --log instead; may be repeated"),
        WHOLE("seeds", &seeds, 1, EVAL_SEEDS, "N", "number of seeds (default: 8)"),
        WHOLE("first", &first, 1, 1e12, "N", "the first of them (default: 1)"),
        NUMBER("seconds", &seconds, 5, 600, "N", "simulated seconds of each (default: 65)"),
        WHOLE("jobs", &jobs, 1, 64, "N", "processes at the same time (default: 2)", .letter = 'j'),
        TEXT("output", &picture, "FILE", "writes the distribution of errors as .png or .svg", .letter = 'o'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg eval ball", "LINEUP…", flags,
              "A robot walks about while balls lie before it and roll past it. Every line-up gets the same\n"
              "percepts and makes the topic `ball`; errors are means over the seeds with 95 % intervals.",
              .most = EVAL_LINEUPS);
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    bool flat = !strcmp(fidelity, "flat");
    if (!flat && strcmp(fidelity, "percept"))
        return usage_wrong(&usage, "--fidelity is percept or flat, not '%s'", fidelity);
    if (order.logs.n > EVAL_SEEDS) return usage_wrong(&usage, "--log: at most %d logs", EVAL_SEEDS);
    order.n_lineups = (uint32_t)n;
    order.seeds = order.logs.n ? order.logs.n : (uint32_t)seeds;
    order.first = (uint64_t)first;
    order.seconds = seconds;
    order.fidelity = flat ? NM_FIDELITY_FLAT : NM_FIDELITY_PERCEPT;
    for (int i = 0; i < n; i++) order.lineups[i] = argv[1 + i];
    struct evaluation *e = nm_calloc(1, sizeof *e);
    e->order = &order;
    setup_begin(&e->setup);
    int bad = evaluate(e, jobs, picture, &err);
    complain(&err);
    setup_end(&e->setup);
    free(e->results);
    free(e);
    return bad >= 0 ? bad : EXIT_USAGE;
}
