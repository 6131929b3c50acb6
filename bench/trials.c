#include "trials.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cmd/pool.h"
#include "cmd/progress.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"

/* Rows that are told while the trials are played. */
struct telling {
    struct nm_bench *bench;
    const struct row *rows;
    const double *goals;
    uint32_t n, next;
};

struct play {
    struct trial *trials;
    struct telling *telling; /* NULL: nothing is told */
    const struct trial_options *options;
    uint32_t n, ended;
    struct progress progress;
    uint32_t trial[4096]; /* of each piece */
    uint32_t index[4096];
};

struct message {
    struct trial_outcome outcome;
    char why[160];
};

static struct sim_control control; /* of the one run that a process plays */

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    const struct trial_options *o = ((const struct play *)user)->options;
    (void)robot;
    (void)err;
    sim_control_add(&control, o->setup, o->robot, NULL, player);
    return 0;
}

/* Its share of the time that all modules took, which includes what other processes took from the core. */
static double module_share(const struct nm_player *player, const char *module)
{
    const struct nm_lineup *lineup = nm_player_lineup(player);
    double all = 0, own = NAN;
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        struct nm_step_stats stats;
        nm_player_step_stats(player, i, &stats);
        double busy = stats.busy.mean * (double)stats.steps;
        all += busy;
        if (!strcmp(lineup->instances[i].name, module)) own = busy;
    }
    return own / all;
}

static void work(void *user, uint32_t piece, void *result)
{
    const struct play *p = user;
    const struct trial *t = &p->trials[p->trial[piece]];
    const struct trial_options *o = p->options;
    struct message *m = result;
    struct nm_err err = {0};
    struct nm_result played;
    struct nm_run_options options = {.seed = o->first_seed + p->index[piece],
                                     .seconds = o->quick ? t->seconds : 0,
                                     .robot = o->robot,
                                     .lineup = o->lineup,
                                     .n_set = t->set ? 1 : 0,
                                     .set = &t->set,
                                     .registry = &o->setup->registry,
                                     .cpu = true,
                                     .ready = ready,
                                     .user = user,
                                     .bus = &sim_bus};
    struct nm_run *run = nm_run_new(t->read, &options, &err);
    if (!run) {
        snprintf(m->why, sizeof m->why, "%.*s", (int)strcspn(err.text, "\n"), err.text);
        return;
    }
    while (!stopping() && nm_run_step(run) > 0) sim_control_poll(&control, nm_clock_seconds());
    sim_control_free(&control);
    nm_run_result(run, &played);
    m->outcome.done = !played.n_faults && !stopping();
    if (stopping()) snprintf(m->why, sizeof m->why, "interrupted");
    if (played.n_faults) snprintf(m->why, sizeof m->why, "%.150s", played.fault);
    m->outcome.cpu = nm_stage_cpu(nm_run_stage(run)); /* of the brains, without the world's */
    m->outcome.span = nm_seconds(played.time);
    if (o->module)
        m->outcome.module_cpu = m->outcome.cpu * module_share(nm_stage_player(nm_run_stage(run), 0), o->module);
    for (uint32_t i = 0; i < t->read->n_measures; i++)
        for (uint32_t k = 0; k < TRIAL_ROBOTS; k++)
            m->outcome.values[i][k] = k < t->read->n_robots ? played.values[i][k] : NAN;
}

static bool known(const struct trial *t) { return t->ended == t->n; }

static void tell_rows(struct play *p)
{
    struct telling *t = p->telling;
    for (; t && t->next < t->n; t->next++) {
        const struct row *r = &t->rows[t->next];
        if (!known(&p->trials[r->trial]) || !known(&p->trials[r->beside])) return;
        progress_end(&p->progress);
        row_tell(t->bench, p->trials, r, t->goals[t->next]);
    }
}

static void done(void *user, uint32_t piece, const void *result, const char *died)
{
    struct play *p = user;
    struct trial *t = &p->trials[p->trial[piece]];
    const struct message *m = result;
    if (m) t->outcomes[p->index[piece]] = m->outcome;
    if ((died || !m->outcome.done) && !*t->why) snprintf(t->why, sizeof t->why, "%.159s", died ? died : m->why);
    t->ended++;
    tell_rows(p);
    progress_tell(&p->progress, "%u of %u runs", ++p->ended, p->n);
}

static void scale_range(struct nm_range *range, double positive, double negative)
{
    range->low *= range->low > 0 ? positive : negative;
    range->high *= range->high > 0 ? positive : negative;
}

/* Drives as the row wants them, in the measure of the robot; those that stand remain. */
static void change_drives(struct trial *t, const struct trial_options *o)
{
    bool other = t->velocity[0] != 0 || t->velocity[1] != 0 || t->velocity[2] != 0;
    for (uint32_t i = 0; i < t->read->n_events; i++) {
        struct nm_somewhere *v = &t->read->events[i].velocity;
        bool stands = v->x.low == 0 && v->x.high == 0 && v->y.low == 0 && v->y.high == 0 && v->theta.low == 0 &&
                      v->theta.high == 0;
        if (t->read->events[i].kind != NM_EVENT_DRIVE || stands) continue;
        if (other)
            *v = (struct nm_somewhere){.x = {t->velocity[0], t->velocity[0]},
                                       .y = {t->velocity[1], t->velocity[1]},
                                       .theta = {t->velocity[2], t->velocity[2]}};
        scale_range(&v->x, o->scale[0], o->scale[1]);
        scale_range(&v->y, o->scale[2], o->scale[2]);
        scale_range(&v->theta, o->scale[3], o->scale[3]);
    }
}

/* Where a row asks for other blows, kicks, drives or ground than the file has. */
static void change(struct trial *t, const struct trial_options *o)
{
    double aim = t->degrees * M_PI / 180;
    for (uint32_t i = 0; i < t->read->n_events && t->degrees != 0; i++)
        if (t->read->events[i].kind == NM_EVENT_KICK) t->read->events[i].direction = (struct nm_range){aim, aim};
    for (uint32_t i = 0; i < t->read->n_events && t->size > 0; i++)
        if (t->read->events[i].kind == NM_EVENT_PUSH || t->read->events[i].kind == NM_EVENT_PENDULUM)
            t->read->events[i].size = (struct nm_range){t->size, t->size};
    if (t->other_turf) t->read->world.turf = t->turf;
    if (o->randomise >= 0) t->read->world.random = o->randomise;
    if (t->spread > 0) t->read->world.random *= t->spread;
    change_drives(t, o);
}

static void play_all(struct trial *trials, uint32_t n, const struct trial_options *o, struct telling *telling)
{
    static struct play p;
    p = (struct play){.trials = trials, .options = o, .telling = telling};
    for (uint32_t i = 0; i < n; i++) {
        struct trial *t = &trials[i];
        struct nm_err err = {0};
        uint32_t wanted = !t->scenario ? 0 : o->quick ? t->quick : t->seeds;
        if (!wanted) continue;
        const char *file = setup_file(o->setup, "scenarios", "scenario", t->scenario, &err);
        t->read = file ? nm_scenario_read(file, o->setup->root, &err) : NULL;
        if (!t->read) snprintf(t->why, sizeof t->why, "%.*s", (int)strcspn(err.text, "\n"), err.text);
        if (!t->read) continue;
        change(t, o);
        t->n = wanted < o->most_seeds ? wanted : o->most_seeds;
        for (uint32_t k = 0; k < t->n && p.n < 4096; k++) p.trial[p.n] = i, p.index[p.n++] = k;
    }
    struct pool pool = {.n = p.n,
                        .jobs = o->jobs,
                        .size = sizeof(struct message),
                        .seconds = 900,
                        .work = work,
                        .done = done,
                        .quit = stopping,
                        .user = &p};
    struct nm_err err = {0};
    stop_by_signals();
    progress_begin(&p.progress, "");
    pool_run(&pool, &err);
    progress_end(&p.progress);
}

void trials_play(struct trial *trials, uint32_t n, const struct trial_options *o) { play_all(trials, n, o, NULL); }

void trials_tell(struct nm_bench *bench, struct trial *trials, uint32_t n, const struct row *rows, const double *goals,
                 uint32_t n_rows, const struct trial_options *o)
{
    struct telling telling = {bench, rows, goals, n_rows, 0};
    play_all(trials, n, o, &telling);
    /* those whose trials could not be played to the end */
    for (; telling.next < n_rows; telling.next++) row_tell(bench, trials, &rows[telling.next], goals[telling.next]);
}

double trial_value(const struct trial *t, uint32_t index, const char *label)
{
    if (!t->read || index >= t->n || !t->outcomes[index].done) return NAN;
    for (uint32_t m = 0; m < t->read->n_measures; m++)
        if (!strcmp(t->read->measures[m].label, label)) return t->outcomes[index].values[m][0];
    return NAN;
}

bool trial_played(const struct trial *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (!t->outcomes[i].done) return false;
    return t->n > 0;
}

double trial_sum(const struct trial *t, const char *label)
{
    double total = 0;
    for (uint32_t i = 0; i < t->n; i++) total += trial_value(t, i, label);
    return total;
}

bool trial_did(const struct trial *t, uint32_t i)
{
    double value = t->does ? trial_value(t, i, t->does) : INFINITY;
    if (t->does && !strcmp(t->does, "path")) value /= t->outcomes[i].span; /* `least` in m/s */
    return fabs(value) >= t->least;
}

/* ---- how the seeds of a trial become one figure ---- */

double row_mean(const struct trial *all, const struct row *r)
{
    const struct trial *t = &all[r->trial];
    return fabs(trial_sum(t, r->label)) / t->n;
}

static double falls_of(const struct trial *t, uint32_t index)
{
    double n = 0;
    for (uint32_t m = 0; t->read && m < t->read->n_measures; m++)
        for (uint32_t k = 0; k < t->read->n_robots && k < TRIAL_ROBOTS; k++)
            if (t->read->measures[m].kind == NM_MEASURE_FALLS) n += t->outcomes[index].values[m][k];
    return n;
}

double row_falls(const struct trial *all, const struct row *r)
{
    const struct trial *t = &all[r->trial];
    double n = 0;
    for (uint32_t i = 0; i < t->n; i++) n += fmax(falls_of(t, i), !trial_did(t, i));
    return n;
}

double row_without(const struct trial *all, const struct row *r)
{
    const struct trial *t = &all[r->trial];
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) n += trial_did(t, i) && trial_value(t, i, r->label) == 0;
    return n;
}

/* Seeds that were still upright when they were hit. */
static uint32_t struck(const struct trial *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) n += trial_did(t, i) && trial_value(t, i, "struck") == 1;
    return n;
}

double row_withstood(const struct trial *all, const struct row *r)
{
    const struct trial *t = &all[r->trial];
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        n += trial_did(t, i) && trial_value(t, i, "struck") == 1 && trial_value(t, i, r->label) == 0;
    return n;
}

double row_largest(const struct trial *all, const struct row *r)
{
    double most = -INFINITY;
    for (uint32_t i = 0; i < all[r->trial].n; i++) {
        double value = trial_value(&all[r->trial], i, r->label);
        if (isnan(value) || !trial_did(&all[r->trial], i)) return NAN;
        most = fmax(most, value);
    }
    return most;
}

/* ---- telling ---- */

void row_tell(struct nm_bench *bench, const struct trial *all, const struct row *r, double goal)
{
    const struct trial *t = &all[r->trial];
    double value = trial_played(t) ? r->figure(all, r) : NAN;
    bool counts = r->figure == row_without || r->figure == row_withstood;
    char text[40] = "", name[96];
    uint32_t idle = 0;
    for (uint32_t i = 0; i < t->n; i++) idle += t->outcomes[i].done && !trial_did(t, i);
    if (counts) goal = ceil(goal * t->n / 20);
    if (r->figure == row_falls) goal = floor(goal * t->n / t->seeds);
    if (isfinite(goal)) snprintf(text, sizeof text, "%s %.4g", r->least ? ">=" : "<=", goal);
    if (r->early && t->n)
        snprintf(name, sizeof name, "%s of %u; %u fell before the hit", r->name, struck(t), t->n - struck(t));
    else if (counts && t->n)
        snprintf(name, sizeof name, "%s of %u", r->name, t->n);
    else
        snprintf(name, sizeof name, "%s", r->name);
    bool ok = !isfinite(goal) || (r->least ? value >= goal : value <= goal);
    nm_bench_beside(bench, name, value, r->unit, r->known, text, ok);
    if (idle && !r->early) nm_bench_say(bench, "    %s: %u of %u failed", t->scenario, idle, t->n);
    if (*t->why) nm_bench_say(bench, "    %s: %s", t->scenario ? t->scenario : "odometry", t->why);
}

/* ---- beginning and end ---- */

int trial_options(struct trial_options *to, const struct nm_bench *bench, struct setup *setup, uint64_t first_seed,
                  struct nm_err *err)
{
    const struct nm_bench_options *o = nm_bench_options(bench);
    *to = (struct trial_options){.setup = setup,
                                 .scale = {1, 1, 1, 1},
                                 .first_seed = o->first_seed ? o->first_seed : first_seed,
                                 .most_seeds = TRIAL_SEEDS,
                                 .randomise = o->randomise,
                                 .jobs = o->jobs ? o->jobs : 2,
                                 .quick = o->quick};
    if (o->first_seed && o->last_seed - o->first_seed < TRIAL_SEEDS)
        to->most_seeds = (uint32_t)(o->last_seed - o->first_seed + 1);
    if (o->robot) to->robot = setup_robot(setup, o->robot, err);
    return o->robot && !to->robot ? -1 : 0;
}

void trials_free(struct trial *trials, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) nm_scenario_free(trials[i].read);
}
