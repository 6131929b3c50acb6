/* Trials of `nutmeg bench motion`, each seed in a process of its own. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench_motion.h"
#include "cmd/calibrate.h"
#include "cmd/pool.h"
#include "cmd/progress.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"

struct play {
    struct motion_trial *trials;
    const struct motion_options *options;
    uint32_t n, ended;
    struct progress progress;
    uint32_t trial[4096]; /* of each piece */
    uint32_t index[4096];
};

struct message {
    struct motion_outcome outcome;
    char why[160];
};

/* The CPU time that the cycles of a brain take, without the world's. */
static double in_cycles, entered;

static double cpu_now(void) { return 1e-9 * (double)nm_clock_of(CLOCK_THREAD_CPUTIME_ID); }

static void enter(void *user)
{
    (void)user;
    entered = cpu_now();
}

static void leave(void *user)
{
    (void)user;
    in_cycles += cpu_now() - entered;
}

static struct sim_control control; /* of the one run that a process plays */

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    const struct motion_options *o = ((const struct play *)user)->options;
    (void)robot;
    (void)err;
    sim_control_add(&control, o->setup, o->robot, player);
    return 0;
}

static void work(void *user, uint32_t piece, void *result)
{
    const struct play *p = user;
    const struct motion_trial *t = &p->trials[p->trial[piece]];
    const struct motion_options *o = p->options;
    struct message *m = result;
    struct nm_err err = {0};
    struct nm_result played;
    struct nm_run_options options = {.seed = o->first_seed + p->index[piece],
                                     .seconds = o->quick ? t->seconds : 0,
                                     .robot = o->robot,
                                     .n_set = t->set ? 1 : 0,
                                     .set = &t->set,
                                     .registry = &o->setup->registry,
                                     .enter = enter,
                                     .leave = leave,
                                     .ready = ready,
                                     .user = user,
                                     .bus = &sim_bus};
    struct nm_run *run = nm_run_new(t->read, &options, &err);
    if (!run) {
        snprintf(m->why, sizeof m->why, "%.*s", (int)strcspn(err.text, "\n"), err.text);
        return;
    }
    in_cycles = 0;
    while (!stopping() && nm_run_step(run) > 0) sim_control_poll(&control, nm_clock_seconds());
    sim_control_free(&control);
    nm_run_result(run, &played);
    m->outcome.done = !played.n_faults && !stopping();
    if (stopping()) snprintf(m->why, sizeof m->why, "interrupted");
    if (played.n_faults) snprintf(m->why, sizeof m->why, "%.150s", played.fault);
    m->outcome.cpu = in_cycles;
    m->outcome.span = nm_seconds(played.time);
    for (uint32_t i = 0; i < t->read->n_measures; i++) m->outcome.values[i] = played.values[i][0];
}

static void done(void *user, uint32_t piece, const void *result, const char *died)
{
    struct play *p = user;
    struct motion_trial *t = &p->trials[p->trial[piece]];
    const struct message *m = result;
    if (m) t->outcomes[p->index[piece]] = m->outcome;
    progress_tell(&p->progress, "%u of %u runs", ++p->ended, p->n);
    if ((died || !m->outcome.done) && !*t->why) snprintf(t->why, sizeof t->why, "%.159s", died ? died : m->why);
}

/* Where a row asks for other blows or kicks than the file has. */
static void change(struct motion_trial *t, const struct motion_options *o)
{
    double aim = t->degrees * M_PI / 180;
    for (uint32_t i = 0; i < t->read->n_events && t->degrees != 0; i++)
        if (t->read->events[i].kind == NM_EVENT_KICK) t->read->events[i].direction = (struct nm_range){aim, aim};
    for (uint32_t i = 0; i < t->read->n_events && t->size > 0; i++)
        if (t->read->events[i].kind == NM_EVENT_PUSH || t->read->events[i].kind == NM_EVENT_PENDULUM)
            t->read->events[i].size = (struct nm_range){t->size, t->size};
    if (t->other_turf) t->read->world.turf = t->turf;
    if (o->randomise >= 0) t->read->world.random = o->randomise;
}

void motion_play(struct motion_trial *trials, uint32_t n, const struct motion_options *o)
{
    static struct play p;
    p = (struct play){.trials = trials, .options = o};
    for (uint32_t i = 0; i < n; i++) {
        struct motion_trial *t = &trials[i];
        struct nm_err err = {0};
        char name[80];
        uint32_t wanted = !t->scenario ? 0 : o->quick ? t->quick : t->seeds;
        if (!wanted) continue;
        snprintf(name, sizeof name, "motion/%s", t->scenario);
        const char *file = wanted ? sim_find(o->setup, "scenarios", "scenario", name, &err) : NULL;
        t->read = file ? nm_scenario_read(file, o->setup->root, &err) : NULL;
        if (wanted && !t->read) snprintf(t->why, sizeof t->why, "%.*s", (int)strcspn(err.text, "\n"), err.text);
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

void motion_calibrate(struct motion_trial *raw, struct motion_trial *calibrated, const struct motion_options *o)
{
    enum { DRIVES = 12 };
    static struct drive_steps drives[DRIVES];
    uint32_t fitted = o->quick ? 6 : 8, wanted = o->quick ? 8 : DRIVES;
    uint32_t bodies = o->quick ? raw->quick : raw->seeds;
    for (uint32_t i = 0; i < bodies && i < o->most_seeds && !stopping(); i++) {
        struct nm_err err = {0};
        struct nm_step_model model;
        uint64_t body = o->first_seed + i;
        uint32_t n = calibrate_sim(o->setup, o->robot, body, body * DRIVES, wanted, o->jobs, drives, &err);
        raw->n = calibrated->n = i + 1;
        if (n <= fitted) {
            snprintf(raw->why, sizeof raw->why, "%.140s", err.n ? err.text : "the robot fell too often");
            continue;
        }
        calibrate_fit(drives, fitted, CALIBRATE_LINEAR, &model);
        raw->outcomes[i].done = calibrated->outcomes[i].done = true;
        raw->outcomes[i].values[0] = calibrate_drift(NULL, drives + fitted, n - fitted);
        calibrated->outcomes[i].values[0] = calibrate_drift(&model, drives + fitted, n - fitted);
    }
}

double motion_value(const struct motion_trial *t, uint32_t index, const char *label)
{
    if (!t->read || index >= t->n || !t->outcomes[index].done) return NAN;
    for (uint32_t m = 0; m < t->read->n_measures; m++)
        if (!strcmp(t->read->measures[m].label, label)) return t->outcomes[index].values[m];
    return NAN;
}
