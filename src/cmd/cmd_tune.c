/* nutmeg tune: searches parameters of a line-up that make scenarios score better. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "cmd/tune.h"
#include "core/files.h"

struct order { /* what the command line asks for */
    struct texts params;
    const char *params_file, *animation, *seeds, *test_seeds, *robot, *output, *state;
    int64_t budget, population, trials, jobs;
    double sigma, minutes;
    bool resume;
};

/* ---- preparing ---- */

static int read_scenarios(struct tune *t, char **names, int n, struct nm_err *err)
{
    for (int i = 0; i < n; i++) {
        const char *file = setup_file(t->setup, "scenarios", "scenario", names[i], err);
        struct nm_scenario *s = file ? nm_scenario_read(file, t->setup->root, err) : NULL;
        if (!s) return -1;
        t->scenarios[t->n_scenarios++] = s;
        if (!s->n_score) return nm_fail(err, "%s has no `score:`, so there is nothing to improve", s->file);
    }
    return 0;
}

/* Parameters are looked up in a robot that is ready to play. */
static int read_params(struct tune *t, const struct order *o, struct nm_err *err)
{
    struct nm_run_options options = {
        .seed = t->first, .robot = t->robot, .registry = &t->setup->registry, .bus = &sim_bus};
    struct nm_run *run = nm_run_new(t->scenarios[0], &options, err);
    const struct nm_player *player = run ? nm_stage_player(nm_run_stage(run), 0) : NULL;
    int bad = run ? 0 : -1;
    if (run && !player) bad = nm_fail(err, "%s: the first robot has no line-up", t->scenarios[0]->file);
    for (uint32_t i = 0; player && i < o->params.n; i++) bad |= tune_add(&t->params, player, o->params.at[i], err);
    if (player && o->params_file) bad |= tune_add_file(&t->params, player, o->params_file, err);
    if (player && o->animation) bad |= tune_add_animation(&t->params, &t->setup->arena, t->robot, o->animation, err);
    if (!bad && !t->params.n)
        bad = nm_fail(err, "name what to search: --param INSTANCE.NAME, --params-file FILE or --animation NAME");
    for (uint32_t i = 0; i < t->params.n; i++) /* the line-up is about to go */
        t->params.at[i].instance = nm_take_text(&t->setup->arena, t->params.at[i].instance);
    nm_run_free(run);
    return bad;
}

static void start_search(struct tune *t, const struct order *o)
{
    double start[TUNE_PARAMS];
    for (uint32_t i = 0; i < t->params.n; i++) {
        const struct tune_param *p = &t->params.at[i];
        start[i] = fmin(fmax((p->value - p->low) / (p->high - p->low), 0), 1);
    }
    t->cma = nm_cma_new(&t->setup->arena, t->params.n, start, NULL, o->sigma, (uint32_t)o->population, t->first + 1);
}

/* ---- telling ---- */

static void progress(const struct tune *t, uint64_t generations, double seconds)
{
    bool terminal = isatty(STDERR_FILENO);
    const struct tune_generation *g = &t->history[t->n_history - 1];
    if (terminal) clear_line(stderr);
    fprintf(stderr, "generation %u of %llu  best %.4f  mean %.4f  sigma %.3f  %.0f s  %.0f x real time%s", t->n_history,
            (unsigned long long)generations, g->best, g->mean, t->cma->sigma, seconds, t->simulated / seconds,
            terminal ? "" : "\n");
    fflush(stderr);
}

/* A file that is written whole or not at all, and named when it is there. */
struct written {
    FILE *to;
    char *text;
    size_t size;
};

static FILE *write_begin(struct written *w)
{
    *w = (struct written){0};
    w->to = nm_memstream(&w->text, &w->size);
    return w->to;
}

static int write_end(struct written *w, const char *path, int bad, struct nm_err *err)
{
    fclose(w->to);
    if (!bad) bad = nm_file_replace(path, w->text, w->size, err);
    if (!bad) printf("written: %s\n", path);
    free(w->text);
    return bad;
}

static int write_plot(const struct tune *t, const char *output, struct nm_err *err)
{
    char path[PATH_MAX], title[200] = "";
    snprintf(path, sizeof path, "%.*s.svg", (int)(strlen(output) - (strlen(output) > 5 ? 5 : 0)), output);
    for (uint32_t i = 0; i < t->n_scenarios; i++) {
        size_t used = strlen(title);
        snprintf(title + used, sizeof title - used, "%s%s", i ? ", " : "", t->scenarios[i]->name);
    }
    struct written w;
    tune_plot(t->history, t->n_history, title, write_begin(&w));
    return write_end(&w, path, 0, err);
}

static int write_animation(const struct tune *t, const double *x, const char *output, struct nm_err *err)
{
    struct nm_arena *arena = &t->setup->arena;
    const char *path = nm_take_format(arena, "%s/%s.yaml", nm_folder_of(arena, output), t->animation);
    struct written w;
    int bad = tune_write_animation(&t->params, x, t->robot, t->animation, write_begin(&w), err);
    return write_end(&w, path, bad, err);
}

static int write_params(const struct tune *t, const double *x, double before, double after, const char *path,
                        struct nm_err *err)
{
    struct written w;
    FILE *to = write_begin(&w);
    fprintf(to,
            "# nutmeg tune, %u generations; score on seeds %llu-%llu, which the search never saw: %.4f, before %.4f\n",
            t->n_history, (unsigned long long)t->test_first, (unsigned long long)t->test_last, after, before);
    tune_print(&t->params, x, to);
    if (write_end(&w, path, 0, err)) return -1;
    return t->animation ? write_animation(t, x, path, err) : 0;
}

/* ---- the end ---- */

/* Start, mean and best candidate play some more seeds of the search: a single lucky candidate is found out. */
static int choose(struct tune *t, const double *points, uint32_t *chosen, struct nm_err *err)
{
    enum { MOST = 8 };
    uint32_t more = 4 * t->trials < MOST ? 4 * t->trials : MOST;
    uint64_t seeds[MOST];
    double scores[3];
    for (uint64_t k = 0; k < more; k++) seeds[k] = t->first + k % (t->last - t->first + 1);
    if (tune_evaluate(t, points, 3, seeds, more, scores, NULL, err)) return -1;
    *chosen = 0;
    for (uint32_t i = 1; i < 3; i++)
        if (scores[i] > scores[*chosen] || isnan(scores[*chosen])) *chosen = i;
    return 0;
}

/* Prints and writes what came out, judged by seeds that no generation saw. */
static int conclude(struct tune *t, const char *output, struct nm_err *err)
{
    static const char *const names[] = {"the initial parameters", "the mean of the search", "the best candidate"};
    uint32_t n = t->params.n, chosen, n_seeds = (uint32_t)(t->test_last - t->test_first + 1);
    double points[3 * TUNE_PARAMS], scores[2], each[2 * TUNE_SCENARIOS];
    for (uint32_t i = 0; i < n; i++) {
        const struct tune_param *p = &t->params.at[i];
        points[i] = (p->value - p->low) / (p->high - p->low);
        points[n + i] = t->cma->mean[i];
        points[2 * n + i] = t->cma->best[i];
    }
    if (choose(t, points, &chosen, err) || stopping()) return -1;
    memmove(points + n, points + chosen * n, n * sizeof *points);
    uint64_t *seeds = nm_malloc(sizeof *seeds * n_seeds);
    for (uint32_t k = 0; k < n_seeds; k++) seeds[k] = t->test_first + k;
    int bad = tune_evaluate(t, points, 2, seeds, n_seeds, scores, each, err);
    free(seeds);
    if (bad || stopping()) return -1;
    const char *heads[] = {"scenario", ">before", ">after", NULL};
    struct table table;
    table_begin(&table, heads);
    for (uint32_t s = 0; s < t->n_scenarios; s++)
        table_row(&table, "%s\t%.4f\t%.4f", t->scenarios[s]->name, each[s], each[t->n_scenarios + s]);
    table_row(&table, "all\t%.4f\t%.4f", scores[0], scores[1]);
    printf("chosen: %s; scores on seeds %llu-%llu, which the search never saw:\n", names[chosen],
           (unsigned long long)t->test_first, (unsigned long long)t->test_last);
    table_print(&table, stdout);
    return write_params(t, points + n, scores[0], scores[1], output, err);
}

static int search(struct tune *t, const struct order *o, const char *state, struct nm_err *err)
{
    uint64_t generations = ((uint64_t)o->budget + t->cma->population - 1) / t->cma->population;
    double began = nm_clock_seconds();
    int stopped = 0;
    while (!stopped && t->cma->generation < generations && !nm_cma_done(t->cma)) {
        if (o->minutes > 0 && nm_clock_seconds() - began > 60 * o->minutes) break;
        stopped = tune_generation(t, err);
        if (stopped) break;
        progress(t, generations, nm_clock_seconds() - began);
        stopped = tune_save(t, state, err);
    }
    if (isatty(STDERR_FILENO)) fputc('\n', stderr);
    if (t->n_died) fprintf(stderr, "%llu runs crashed, the last: %s\n", (unsigned long long)t->n_died, t->died);
    return stopped;
}

/* The exit code, or -1. */
static int tune(struct tune *t, const struct order *o, char **names, int n, struct nm_err *err)
{
    const char *state = o->state ? o->state : nm_take_format(&t->setup->arena, "%s.state", o->output);
    if (o->robot && !(t->robot = setup_robot(t->setup, o->robot, err))) return -1;
    if (read_scenarios(t, names, n, err)) return -1;
    t->animation = o->animation;
    if (t->animation && !t->robot && t->scenarios[0]->n_robots) t->robot = t->scenarios[0]->robots[0].folder;
    if (read_params(t, o, err)) return -1;
    start_search(t, o);
    if (o->resume && tune_load(t, state, err)) return -1;
    if (nm_make_folders(o->output, err)) return -1;
    stop_by_signals();
    int bad = search(t, o, state, err) < 0;
    if (!bad && t->n_history && write_plot(t, o->output, err)) bad = -1;
    if (!bad && !interrupted()) bad = conclude(t, o->output, err);
    if (!interrupted()) return bad ? -1 : EXIT_OK;
    if (!t->n_history) return tell_interrupted("no generation was finished; nothing is written");
    return tell_interrupted("%u generations were played; %s is not written. --resume continues from %s", t->n_history,
                            o->output, state);
}

int cmd_tune(int argc, char **argv)
{
    struct order o = {.budget = 400, .trials = 2, .jobs = 2, .sigma = 0.2, .output = "out/tune/params.yaml"};
    const struct flag flags[] = {
        TEXTS("param", &o.params, "INSTANCE.NAME[=LOW..HIGH]", "a parameter to search; may be repeated", .letter = 'p'),
        TEXT("params-file", &o.params_file, "FILE",
             "parameters to search, in the form of params.yaml: [low, high] or empty"),
        TEXT("animation", &o.animation, "NAME",
             "searches durations and angles of all its key frames; writes it beside OUTPUT"),
        TEXT("seeds", &o.seeds, "A-B", "seeds of the search (default: 1-1000)"),
        TEXT("test-seeds", &o.test_seeds, "A-B", "seeds that only the final result plays (default: 5001-5010)"),
        WHOLE("budget", &o.budget, 1, 10000000, "N", "number of candidates (default: 400)", .letter = 'n'),
        NUMBER("minutes", &o.minutes, 0.01, 1e5, "N", "ends after this time with what was found"),
        WHOLE("population", &o.population, 4, 1000, "N", "candidates per generation (default: 4 + 3 ln(parameters))"),
        WHOLE("trials", &o.trials, 1, 1000, "N", "seeds that a candidate plays in each scenario (default: 2)"),
        NUMBER("sigma", &o.sigma, 0.001, 1, "X", "first step, as a share of the ranges (default: 0.2)"),
        WHOLE("jobs", &o.jobs, 1, 64, "N", "processes at the same time (default: 2)", .letter = 'j'),
        TEXT("robot", &o.robot, "NAME", "a folder in robots/, instead of the scenarios' robot"),
        SWITCH("resume", &o.resume, "continues an interrupted search, or one with a larger budget"),
        TEXT("state", &o.state, "FILE", "file that keeps the search (default: OUTPUT.state)"),
        TEXT("output", &o.output, "FILE",
             "file for the parameters, with a plot beside it (default: out/tune/params.yaml)", .letter = 'o'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg tune", "SCENARIO…", flags,
              "Searches parameters with CMA-ES that increase the sum of the scenarios' scores. Every generation\n"
              "plays other seeds. The result is judged on seeds that the search never played.",
              .most = TUNE_SCENARIOS);
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct nm_err err = {0};
    struct tune *t = nm_calloc(1, sizeof *t);
    *t = (struct tune){.setup = &setup, .first = 1, .last = 1000, .test_first = 5001, .test_last = 5010};
    t->trials = (uint32_t)o.trials;
    t->jobs = (uint32_t)o.jobs;
    t->seconds = 600;
    if (o.seeds && nm_seeds_parse(o.seeds, &t->first, &t->last))
        return usage_wrong(&usage, "--seeds wants a number, or a range such as 1-1000, not '%s'", o.seeds);
    if (o.test_seeds && nm_seeds_parse(o.test_seeds, &t->test_first, &t->test_last))
        return usage_wrong(&usage, "--test-seeds wants a number, or a range, not '%s'", o.test_seeds);
    if (t->test_first <= t->last && t->first <= t->test_last)
        return usage_wrong(&usage, "--seeds and --test-seeds must not overlap");
    setup_begin(&setup);
    code = tune(t, &o, argv + 1, n, &err);
    if (code < 0) code = err.n ? EXIT_USAGE : EXIT_FAILED;
    if (err.n) complain(&err);
    for (uint32_t i = 0; i < t->n_scenarios; i++) nm_scenario_free(t->scenarios[i]);
    free(t->history);
    free(t);
    setup_end(&setup);
    return code;
}
