/* nutmeg eval: line-ups that do the same work on the same input, held against the truth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/canvas.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/eval.h"
#include "cmd/pool.h"
#include "cmd/recorded.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "sim/scenario.h"

enum { LINEUPS = 6, ROWS = 12, BOOTSTRAPS = 200 };

/* ---- what is compared ---- */

struct row {
    char name[96]; /* line-up and instance     */
    uint32_t lineup, pose;
    uint32_t n, mirrored;     /* samples */
    double median[3], p95[3]; /* cm: the figure, and the ends of its 95 % confidence interval */
    double turn_median, turn_p95, nees, inside, cpu;
    double recovered, recovered_p95;
    uint32_t late;
    float *place; /* sorted */
};

struct eval {
    struct setup setup;
    enum nm_fidelity fidelity;
    enum position_incident incident;
    uint64_t first, last;
    struct texts logs; /* instead of outings: one a seed */
    double seconds;
    int64_t jobs;
    uint32_t n_lineups, n_rows, seeds;
    struct {
        char file[PATH_MAX + 64];
        uint32_t n_poses;
        const char *poses[NM_OUTING_POSES];
    } lineups[LINEUPS];
    struct row rows[ROWS];
    struct position_result *results; /* by line-up and seed */
};

/* Robots tell their mates the first pose: the one that the rest of a line-up would read, if there is one. */
static void tell_pose_first(struct eval *e, uint32_t which)
{
    uint32_t n = e->lineups[which].n_poses, from = 0;
    struct row *rows = &e->rows[e->n_rows - n];
    while (from < n && strcmp(e->lineups[which].poses[from], "pose")) from++;
    if (from == n || !from) return;
    const struct row row = rows[from];
    const char *pose = e->lineups[which].poses[from];
    memmove(rows + 1, rows, from * sizeof *rows);
    memmove(e->lineups[which].poses + 1, e->lineups[which].poses, from * sizeof pose);
    rows[0] = row;
    e->lineups[which].poses[0] = pose;
    for (uint32_t i = 0; i < n; i++) rows[i].pose = i;
}

/* The topics of a line-up that carry poses, each with the instance that makes it. */
static int find_poses(struct eval *e, const char *name, struct nm_err *err)
{
    struct lineup_flags flags = {0};
    struct nm_lineup_options options = setup_options(&e->setup, &flags);
    /* the simulator brings these */
    static const char *const remote[] = {"percepts", "line_relative", "odometry"};
    options.remote = remote;
    static const uint32_t brought[NM_FIDELITIES] = {0, 2, 3};
    options.n_remote = brought[e->fidelity];
    const char *file = setup_file(&e->setup, "lineups", "line-up", name, err);
    struct nm_lineup *lineup = file ? nm_lineup_load(file, &e->setup.registry, &options, err) : NULL;
    uint32_t which = e->n_lineups;
    if (!lineup) return -1;
    snprintf(e->lineups[which].file, sizeof e->lineups[which].file, "%s", file);
    for (uint32_t i = 0; i < lineup->n_topics && e->lineups[which].n_poses < NM_OUTING_POSES; i++) {
        const struct nm_topic *t = &lineup->topics[i];
        if (t->type != &PoseWithCovarianceStamped_type || !t->n_producers || e->n_rows >= ROWS) continue;
        struct row *row = &e->rows[e->n_rows++];
        snprintf(row->name, sizeof row->name, "%.40s: %.40s", lineup->name,
                 lineup->instances[t->producers[0].instance].name);
        row->lineup = which;
        row->pose = e->lineups[which].n_poses;
        e->lineups[which].poses[e->lineups[which].n_poses++] = nm_take_text(&e->setup.arena, t->name);
    }
    tell_pose_first(e, which);
    nm_lineup_free(lineup);
    if (!e->lineups[which].n_poses) return nm_fail(err, "line-up %s has no module that makes a pose", name);
    e->n_lineups++;
    return 0;
}

/* ---- the outings ---- */

static void work(void *user, uint32_t piece, void *result)
{
    struct eval *e = user;
    uint32_t which = piece / e->seeds;
    if (e->logs.n) {
        const struct recorded recorded = {e->logs.at[piece % e->seeds], e->lineups[which].file};
        recorded_poses(&e->setup, &recorded, e->lineups[which].n_poses, e->lineups[which].poses, result);
        return;
    }
    const struct position_trial trial = {.incident = e->incident,
                                         .fidelity = e->fidelity,
                                         .seed = e->first + piece % e->seeds,
                                         .seconds = e->seconds,
                                         .lineup = e->lineups[which].file,
                                         .n_poses = e->lineups[which].n_poses,
                                         .poses = e->lineups[which].poses};
    position_trial(&e->setup, &trial, result);
}

/* All line-ups must have seen the same. */
static int check(const struct eval *e, struct nm_err *err)
{
    for (uint32_t s = 0; s < e->seeds; s++)
        for (uint32_t l = 0; l < e->n_lineups; l++) {
            const struct position_result *r = &e->results[l * e->seeds + s];
            if (!r->done && e->logs.n) return nm_fail(err, "%s", r->why);
            if (!r->done) return nm_fail(err, "seed %llu: %s", (unsigned long long)(e->first + s), r->why);
            if (r->hash != e->results[s].hash)
                return nm_fail(err, "seed %llu: two line-ups did not get the same percepts",
                               (unsigned long long)(e->first + s));
        }
    return 0;
}

/* ---- figures ---- */

/* Quantiles of the places' errors over all seeds, and over seeds drawn again with replacement: how much the figure
 * depends on which seeds were played. */
static void intervals(const struct eval *e, const struct row *row, double share, double to[3])
{
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    float *all = nm_malloc(sizeof(float) * POSITION_SAMPLES * e->seeds), again[BOOTSTRAPS];
    for (int b = -1; b < BOOTSTRAPS; b++) {
        uint32_t n = 0;
        for (uint32_t s = 0; s < e->seeds; s++) {
            uint32_t pick = b < 0 ? s : (uint32_t)(nm_dice_roll(&dice) * e->seeds);
            const struct position_errors *r = &e->results[row->lineup * e->seeds + pick].of[row->pose];
            memcpy(all + n, r->place, r->n * sizeof *all);
            n += r->n;
        }
        double value = 100 * position_quantile(all, n, share);
        if (b < 0)
            to[0] = value;
        else
            again[b] = (float)value;
    }
    to[1] = position_quantile(again, BOOTSTRAPS, 0.025);
    to[2] = position_quantile(again, BOOTSTRAPS, 0.975);
    free(all);
}

static void sum_up(struct eval *e, struct row *row)
{
    uint32_t room = POSITION_SAMPLES * e->seeds;
    float *turn = nm_malloc(sizeof(float) * room), *cpu = nm_malloc(sizeof(float) * e->seeds),
          *recovered = nm_malloc(sizeof(float) * e->seeds);
    row->place = nm_malloc(sizeof(float) * room);
    for (uint32_t s = 0; s < e->seeds; s++) {
        const struct position_result *result = &e->results[row->lineup * e->seeds + s];
        const struct position_errors *r = &result->of[row->pose];
        memcpy(row->place + row->n, r->place, r->n * sizeof(float));
        memcpy(turn + row->n, r->turn, r->n * sizeof(float));
        for (uint32_t i = 0; i < r->n; i++) {
            row->nees += fmin(r->nees[i], 1000);
            row->inside += r->nees[i] < NEES_95;
        }
        row->n += r->n;
        row->mirrored += r->mirrored;
        row->late += r->mirrored_late;
        cpu[s] = (float)result->step_us[row->pose];
        recovered[s] = (float)(isnan(r->recovered) ? INFINITY : r->recovered);
    }
    row->nees /= row->n ? row->n : 1;
    row->inside /= row->n ? row->n : 1;
    row->turn_median = 180 / M_PI * position_quantile(turn, row->n, 0.5);
    row->turn_p95 = 180 / M_PI * position_quantile(turn, row->n, 0.95);
    row->cpu = position_quantile(cpu, e->seeds, 0.5);
    row->recovered = position_quantile(recovered, e->seeds, 0.5);
    row->recovered_p95 = position_quantile(recovered, e->seeds, 0.95);
    position_quantile(row->place, row->n, 0.5);
    intervals(e, row, 0.5, row->median);
    intervals(e, row, 0.95, row->p95);
    free(turn);
    free(cpu);
    free(recovered);
}

/* One seed, or seeds without a spread, do not tell how far chance goes. */
static const char *interval_text(const struct eval *e, const double figure[3], char to[48])
{
    if (e->seeds == 1 || figure[1] == figure[2])
        snprintf(to, 48, "(%s: no interval)", e->seeds == 1 ? "one seed" : "no spread");
    else
        snprintf(to, 48, "(%.1f to %.1f)", figure[1], figure[2]);
    return to;
}

static void print_errors(const struct eval *e)
{
    struct table table;
    static const char *const heads[] = {"line-up: module", ">median cm",   "(95 % interval)", ">p95 cm",
                                        "(95 % interval)", ">median deg",  ">p95 deg",        ">mirrored",
                                        ">NEES",           ">inside 95 %", ">us a step",      NULL};
    table_begin(&table, heads);
    for (uint32_t i = 0; i < e->n_rows; i++) {
        const struct row *r = &e->rows[i];
        char median[48], p95[48];
        table_row(&table, "%s\t%.1f\t%s\t%.1f\t%s\t%.2f\t%.1f\t%.2f %%\t%.1f\t%.1f %%\t%.0f", r->name, r->median[0],
                  interval_text(e, r->median, median), r->p95[0], interval_text(e, r->p95, p95), r->turn_median,
                  r->turn_p95, 100.0 * r->mirrored / r->n, r->nees, 100 * r->inside, r->cpu);
    }
    table_print(&table, stdout);
}

static void print_recoveries(const struct eval *e)
{
    struct table table;
    table_begin(&table, (const char *const[]){"line-up: module", ">median s", ">p95 s", ">mirrored 30 s later",
                                              ">us a step", NULL});
    for (uint32_t i = 0; i < e->n_rows; i++) {
        const struct row *r = &e->rows[i];
        table_row(&table, "%s\t%.1f\t%.1f\t%u of %u\t%.0f", r->name, r->recovered, r->recovered_p95, r->late, e->seeds,
                  r->cpu);
    }
    table_print(&table, stdout);
}

static void print_json(const struct eval *e)
{
    for (uint32_t i = 0; i < e->n_rows; i++) {
        const struct row *r = &e->rows[i];
        printf("{\"name\": \"%s\", \"us\": %.3g", r->name, r->cpu);
        if (e->incident && isfinite(r->recovered_p95))
            printf(", \"median_s\": %.4g, \"p95_s\": %.4g", r->recovered, r->recovered_p95);
        if (e->incident)
            printf(", \"mirrored\": %u, \"seeds\": %u}\n", r->late, e->seeds);
        else
            printf(", \"median_cm\": %.4g, \"p95_cm\": %.4g, \"median_deg\": %.4g, \"p95_deg\": %.4g, "
                   "\"mirrored\": %.4g, \"nees\": %.4g, \"inside\": %.4g}\n",
                   r->median[0], r->p95[0], r->turn_median, r->turn_p95, (double)r->mirrored / r->n, r->nees,
                   r->inside);
    }
}

/* The share of time in which a module's error was below x, on a logarithmic axis from 1 mm to 10 m. */
static int draw(const struct eval *e, const char *path, struct nm_err *err)
{
    enum { WIDTH = 900, HEIGHT = 500, LEFT = 70, TOP = 40, PLOT_X = 800, PLOT_Y = 400 };
    static const uint32_t colours[] = {0x1f77b4, 0xff7f0e, 0x2ca02c, 0xd62728, 0x9467bd, 0x8c564b};
    struct canvas canvas;
    if (canvas_begin(&canvas, path, WIDTH, HEIGHT, err) < 0) return -1;
    canvas_text(&canvas, LEFT, 24, false, 0x222222, "share of time with an error of the place below");
    for (int i = 0; i <= 4; i++) {
        static const char *const names[] = {"1 mm", "1 cm", "10 cm", "1 m", "10 m"};
        double x = LEFT + PLOT_X * i / 4.0;
        canvas_line(&canvas, x, TOP, x, TOP + PLOT_Y, 1, 0xcccccc);
        canvas_text(&canvas, x + 20, TOP + PLOT_Y + 20, true, 0x222222, names[i]);
    }
    for (int i = 0; i <= 4; i++) {
        char text[16];
        double y = TOP + PLOT_Y * (4 - i) / 4.0;
        snprintf(text, sizeof text, "%d %%", 25 * i);
        canvas_line(&canvas, LEFT, y, LEFT + PLOT_X, y, 1, 0xcccccc);
        canvas_text(&canvas, LEFT - 6, y + 5, true, 0x222222, text);
    }
    for (uint32_t k = 0; k < e->n_rows; k++) {
        const struct row *r = &e->rows[k];
        uint32_t colour = colours[k % 6];
        double last_x = LEFT, last_y = TOP + PLOT_Y;
        for (uint32_t i = 0; i < r->n; i += 1 + r->n / 400) {
            double x = LEFT + PLOT_X * fmin(fmax((log10(r->place[i]) + 3) / 4, 0), 1);
            double y = TOP + PLOT_Y * (1 - (i + 1.0) / r->n);
            canvas_line(&canvas, last_x, last_y, x, y, 2, colour);
            last_x = x, last_y = y;
        }
        canvas_text(&canvas, LEFT + 420, TOP + 250 + 20.0 * k, false, colour, r->name);
    }
    return canvas_end(&canvas, err);
}

/* ---- the command ---- */

static int evaluate(struct eval *e, struct nm_err *err)
{
    e->seeds = e->logs.n ? e->logs.n : (uint32_t)(e->last - e->first + 1);
    e->results = nm_calloc((size_t)e->n_lineups * e->seeds, sizeof *e->results);
    const struct pool pool = {.n = e->n_lineups * e->seeds,
                              .jobs = (uint32_t)e->jobs,
                              POOL_RESULTS(e->results, position_result, why),
                              .work = work,
                              .what = "outings",
                              .quit = stopping,
                              .user = e};
    stop_by_signals();
    int bad = pool_run(&pool, err);
    if (bad < 0 || interrupted() || check(e, err) < 0) return -1;
    for (uint32_t i = 0; i < e->n_rows; i++) sum_up(e, &e->rows[i]);
    return 0;
}

static int eval_position(int argc, char **argv)
{
    static const char *const incidents[] = {"none", "kidnap", "side", "fall"};
    static struct eval e;
    bool json = false;
    const char *seeds = "1-10", *fidelity = "flat", *incident = "none", *plot = NULL;
    e = (struct eval){.seconds = 60, .jobs = 2};
    const struct flag flags[] = {
        TEXT("seeds", &seeds, "A-B", "a number or a range (default: 1-10)"),
        NUMBER("seconds", &e.seconds, 11, 250, "N", "length of an outing (default: 60); errors count from 10 s on"),
        TEXT("fidelity", &fidelity, "NAME",
             "flat (default); percept: bodies that walk, in hard conditions; camera: they see images"),
        TEXT("incident", &incident, "NAME",
             "measures the time until 20 cm after one: kidnap, side (starts on the wrong side), fall"),
        TEXTS("log", &e.logs, "LOG",
              "plays the percepts of this log of nutmeg play --log instead of outings; may be repeated"),
        TEXT("plot", &plot, "FILE", "draws how often errors are small, as .svg or .png"),
        SWITCH("json", &json, "prints one JSON object a line"),
        WHOLE("jobs", &e.jobs, 1, 64, "N", "processes at the same time (default: 2)", .letter = 'j'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg eval position", "[LINEUP…]", flags,
              "Compares modules that say where a robot is. A team of four walks about as a script says, so every\n"
              "line-up gets the same percepts; this is checked. Each module that makes a pose is a row. Without a\n"
              "line-up it compares the modules of lineups/position.yaml (percept: position_walk, camera:\n"
              "position_walk:vision).",
              .most = LINEUPS);
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    int32_t how = nm_word_of(fidelity, nm_fidelity_names, NM_FIDELITIES), what = nm_word_of(incident, incidents, 4);
    if (how < 0) return usage_wrong(&usage, "--fidelity is flat, percept or camera, not '%s'", fidelity);
    if (what < 0) return usage_wrong(&usage, "there is no incident '%s'", incident);
    e.fidelity = (enum nm_fidelity)how;
    e.incident = (enum position_incident)what;
    if (nm_seeds_parse(seeds, &e.first, &e.last) < 0 || e.last - e.first >= 1000)
        return usage_wrong(&usage, "--seeds wants a number, or a range of at most 1000 such as 1-20, not '%s'", seeds);
    if (e.logs.n && e.incident) return usage_wrong(&usage, "use either --log or --incident, not both");
    struct nm_err err = {0};
    setup_begin(&e.setup);
    static const char *const usual_ones[NM_FIDELITIES] = {"position_walk:vision", "position_walk", "position"};
    const char *usual = usual_ones[e.fidelity];
    code = EXIT_USAGE;
    bool found = !canvas_check(plot, &err);
    for (int i = 0; i < (n ? n : 1); i++) found &= find_poses(&e, n ? argv[i + 1] : usual, &err) == 0;
    if (found && evaluate(&e, &err) == 0) {
        code = EXIT_OK;
        if (json)
            print_json(&e);
        else if (e.incident)
            print_recoveries(&e);
        else
            print_errors(&e);
        if (plot && !e.incident && draw(&e, plot, &err) < 0) code = EXIT_FAILED;
    } else if (found) {
        code = EXIT_FAILED;
    }
    complain(&err);
    for (uint32_t i = 0; i < e.n_rows; i++) free(e.rows[i].place);
    free(e.results);
    setup_end(&e.setup);
    return interrupted() ? tell_interrupted("not all outings were played") : code;
}

int cmd_eval(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"position", "compares modules that say where a robot is", eval_position},
        {"ball", "compares what line-ups believe of the ball", eval_ball},
        {"vision", "compares what line-ups see in the same images", eval_vision},
        {"match", "lets two line-ups play paired games", eval_match},
        {0},
    };
    return verbs_run("nutmeg eval",
                     "Compares line-ups: on the same input against the truth, or in games with the same seeds.", verbs,
                     argc, argv);
}
