/* nutmeg eval match: two line-ups in paired games. Each seed is played twice, the second time with sides and kick-off
 * changed, so that what a seed or a side gives is given to both. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cmd/canvas.h"
#include "cmd/console.h"
#include "cmd/eval.h"
#include "cmd/match.h"
#include "cmd/options.h"
#include "cmd/plot.h"
#include "cmd/pool.h"
#include "cmd/stopping.h"

enum measure { POINTS, DIFFERENCE, ON_GOAL, BALL, FALLS, PLACE, CPU, MEASURES };

struct evaluation {
    struct setup setup;
    struct match_options match;
    const char *lineups[2];
    uint32_t seeds;
    uint64_t first;
    struct match_result *results; /* [seed][turned] */
};

static void work(void *user, uint32_t piece, void *result)
{
    struct evaluation *e = user;
    struct match_options o = e->match;
    bool turned = piece & 1;
    o.seed = e->first + piece / 2;
    o.teams[turned] = e->lineups[0];
    o.teams[!turned] = e->lineups[1];
    match_play(&e->setup, &o, 1, result);
}

static void measure(const struct match_result *r, uint32_t team, double to[MEASURES])
{
    const struct nm_book_row *row = &r->teams[team];
    double more = (double)r->score[team] - r->score[1 - team];
    to[POINTS] = more > 0 ? 1 : more == 0 ? 0.5 : 0;
    to[DIFFERENCE] = more;
    to[ON_GOAL] = row->on_goal;
    to[BALL] = r->in_play > 0 ? 100 * row->possession / r->in_play : NAN;
    to[FALLS] = row->upright > 0 ? 600 * row->falls / row->upright : NAN;
    to[PLACE] = row->poses ? 100 * row->error / (double)row->poses : NAN;
    to[CPU] = row->upright > 0 ? 1e3 * r->busy[team] / row->upright : NAN;
}

/* The mean difference of goals after each seed, and the ends of its 95 % interval. */
static int draw(const struct eval_measure *difference, uint32_t seeds, const char *path, struct nm_err *err)
{
    struct plot_series series[3] = {
        {.name = "goal difference of the first, and its 95 % interval"}, {.joins = true}, {.joins = true}};
    for (uint32_t n = 2; n <= seeds; n++) {
        struct eval_mean m = eval_mean(difference->values[0], n);
        const double values[] = {m.mean, m.mean - m.half, m.mean + m.half};
        for (int i = 0; i < 3; i++) plot_add(&series[i], n, values[i]);
    }
    int bad = plot_write(series, 3, NULL, "seeds", path, err);
    for (int i = 0; i < 3; i++) plot_free(&series[i]);
    return bad;
}

static int evaluate(struct evaluation *e, uint32_t jobs, const char *picture, struct nm_err *err)
{
    static struct eval_measure measures[MEASURES] = {[POINTS] = {.name = "points", .unit = "share"},
                                                     [DIFFERENCE] = {.name = "goal difference", .unit = "a game"},
                                                     [ON_GOAL] = {.name = "shots on goal", .unit = "a game"},
                                                     [BALL] = {.name = "ball", .unit = "% of play"},
                                                     [FALLS] = {.name = "falls", .unit = "robot, 10 min"},
                                                     [PLACE] = {.name = "position error", .unit = "cm"},
                                                     [CPU] = {.name = "CPU", .unit = "ms/s a robot"}};
    struct pool pool = {.n = 2 * e->seeds,
                        .jobs = jobs,
                        POOL_RESULTS(e->results, match_result, died),
                        .work = work,
                        .what = "games",
                        .quit = stopping,
                        .user = e};
    stop_by_signals();
    int bad = pool_run(&pool, err);
    if (stopping()) return tell_interrupted("nothing is compared");
    for (uint32_t i = 0; i < 2 * e->seeds && !bad; i++)
        if (!e->results[i].done)
            return nm_fail(err, "seed %llu: %s", (unsigned long long)(e->first + i / 2), e->results[i].died);
    for (uint32_t s = 0; s < e->seeds && !bad; s++)
        for (uint32_t team = 0; team < 2; team++) {
            double values[2][MEASURES];
            for (uint32_t turned = 0; turned < 2; turned++)
                measure(&e->results[2 * s + turned], team ^ turned, values[turned]);
            for (int k = 0; k < MEASURES; k++) measures[k].values[team][s] = (values[0][k] + values[1][k]) / 2;
        }
    if (bad) return -1;
    eval_print(e->lineups, 2, measures, MEASURES, e->seeds, stdout);
    if (picture && draw(&measures[DIFFERENCE], e->seeds, picture, err)) return -1;
    if (picture) printf("%s: goal difference of %s by the number of seeds\n", picture, e->lineups[0]);
    return EXIT_OK;
}

int eval_match(int argc, char **argv)
{
    struct evaluation e = {.match = MATCH_MANY};
    const char *picture = NULL;
    int64_t jobs = 2, seeds = 10, first = 1;
    const struct flag flags[] = {
        WHOLE("seeds", &seeds, 1, EVAL_SEEDS, "N", "number of seeds, two games each (default: 10)"),
        WHOLE("first", &first, 1, 1e12, "N", "the first of them (default: 1)"),
        MATCH_FLAGS(&e.match),
        WHOLE("jobs", &jobs, 1, 64, "N", "processes at the same time (default: 2)", .letter = 'j'),
        TEXT("output", &picture, "FILE", "draws how the goal difference settles, as .png or .svg", .letter = 'o'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg eval match", "LINEUP LINEUP", flags,
              "Two line-ups play each other, every seed twice with sides changed. The table has means over the\n"
              "seeds with 95 % intervals; the difference is taken seed by seed. For more than two: nutmeg tournament.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    struct nm_err err = {0};
    struct match trial;
    if (n < 0) return code;
    e.seeds = (uint32_t)seeds;
    e.first = (uint64_t)first;
    e.results = nm_calloc(2 * e.seeds, sizeof *e.results);
    setup_begin(&e.setup);
    for (int i = 0; i < 2; i++) e.match.teams[i] = e.lineups[i] = argv[1 + i];
    e.match.words[0] = "the first LINEUP";
    e.match.words[1] = "the second LINEUP";
    int bad = canvas_check(picture, &err) || match_begin(&trial, &e.setup, &e.match, &err) ? -1 : 0;
    if (!bad) {
        match_end(&trial);
        bad = evaluate(&e, (uint32_t)jobs, picture, &err);
    }
    complain(&err);
    setup_end(&e.setup);
    free(e.results);
    return bad >= 0 ? bad : EXIT_USAGE;
}
