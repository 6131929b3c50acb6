#include "cmd/sim_play.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/alloc_guard.h"
#include "cmd/console.h"

static const double PROGRESS = 0.25;    /* s between two progress lines      */
static const double KEYBOARD = 0.05;    /* s between two looks at it         */
static const double FILE_PROGRESS = 10; /* s, where it is no terminal        */

struct playing {
    const struct sim_options *options;
    struct setup *setup;
    const struct nm_scenario *scenario;
    uint64_t seed;
    struct nm_run *run;
    struct sim_photos *photos;
    struct sim_prompt prompt;
    struct nm_lineup_options loaded;
    uint32_t n_controls;
    struct nm_control *controls[NM_PLAYERS];
    double began, paced;  /* s, real time: of the run, and since when it keeps pace   */
    int64_t paced_from;   /* ns, simulated                                          */
    double looked, shown; /* s */
    bool line;            /* a progress line stands there */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

void sim_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool sim_quit(void) { return interrupted; }

double sim_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_for(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    if (seconds > 0) nanosleep(&t, NULL);
}

/* ---- terminal ---- */

static void wipe(struct playing *p)
{
    if (p->line) clear_line(stderr);
    p->line = false;
}

static void show_progress(struct playing *p, double now)
{
    bool terminal = isatty(STDERR_FILENO);
    if (p->options->json || now - p->shown < (terminal ? PROGRESS : FILE_PROGRESS)) return;
    double simulated = nm_seconds(nm_stage_now(nm_run_stage(p->run)));
    p->shown = now;
    wipe(p);
    fprintf(stderr, "%s seed %llu  %.1f of %.1f s  %.1f x real time%s", p->scenario->name, (unsigned long long)p->seed,
            simulated, nm_run_length(p->run), simulated / (now - p->began), terminal ? "" : "\n");
    fflush(stderr);
    p->line = terminal;
}

static void said(void *user, uint32_t robot, const Log *line)
{
    struct playing *p = user;
    if (p->options->json || (line->level < NM_WARN && !p->options->verbose)) return;
    enum ink colour = line->level >= NM_ERROR ? INK_RED : line->level >= NM_WARN ? INK_YELLOW : INK_FAINT;
    wipe(p);
    fprintf(stderr, "%s%8.3f %s %s: %s%s\n", ink(stderr, colour), nm_seconds(nm_slot(line)->time),
            p->scenario->robots[robot].name, line->name, line->msg, ink(stderr, INK_PLAIN));
}

/* ---- life ---- */

/* Whoever sits at the keyboard may also want to look in: nutmeg tasks, why, param, topic. */
static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct playing *p = user;
    (void)robot;
    if (!p->options->interactive) return 0;
    struct nm_control_options options = {.registry = &p->setup->registry, .lineup = &p->loaded};
    struct nm_control *control = nm_control_new(player, &options, err);
    if (!control) return -1;
    p->controls[p->n_controls++] = control;
    return 0;
}

static void close_run(struct playing *p)
{
    for (uint32_t i = 0; i < p->n_controls; i++) nm_control_free(p->controls[i]);
    p->n_controls = 0;
    sim_photos_free(p->photos);
    nm_run_free(p->run);
    p->photos = NULL;
    p->run = NULL;
}

static int open_run(struct playing *p, struct nm_err *err)
{
    const struct sim_options *o = p->options;
    struct nm_run_options options = {.seed = p->seed,
                                     .workers = (uint32_t)o->workers,
                                     .seconds = o->seconds,
                                     .lineup = o->lineup,
                                     .registry = &p->setup->registry,
                                     .enter = nm_guard_enter,
                                     .leave = nm_guard_leave,
                                     .ready = ready,
                                     .said = said,
                                     .user = p,
                                     .bus = &sim_bus};
    p->loaded = (struct nm_lineup_options){.root = p->setup->root};
    p->run = nm_run_new(p->scenario, &options, err);
    if (p->run && o->photo_every > 0) {
        p->photos = sim_photos_new(o, nm_run_stage(p->run), p->scenario->name, p->seed, err);
        if (!p->photos || sim_photos_take(p->photos, err)) close_run(p);
    }
    p->began = p->paced = p->shown = sim_clock();
    p->paced_from = 0;
    return p->run ? 0 : -1;
}

/* ---- keyboard and clock ---- */

static void serve(struct playing *p, double now)
{
    struct nm_stage *stage = nm_run_stage(p->run);
    if (!p->options->interactive) return;
    if (!p->prompt.paused && nm_stage_now(stage) >= p->prompt.until) {
        p->prompt.paused = true;
        p->prompt.until = INT64_MAX;
    }
    if (!p->prompt.paused && now - p->looked < KEYBOARD) return;
    p->looked = now;
    do {
        sim_prompt_serve(&p->prompt, stage, p->prompt.paused ? 50 : 0);
        for (uint32_t i = 0; i < p->n_controls; i++) {
            nm_control_poll(p->controls[i], 0);
            p->prompt.quit |= nm_control_stopped(p->controls[i]);
        }
    } while (p->prompt.paused && !p->prompt.quit && !p->prompt.reset && !interrupted);
    if (p->prompt.repace) {
        p->paced = sim_clock();
        p->paced_from = nm_stage_now(stage);
        p->prompt.repace = false;
    }
}

static void keep_pace(struct playing *p, double now)
{
    double simulated = nm_seconds(nm_stage_now(nm_run_stage(p->run)) - p->paced_from);
    if (p->prompt.speed > 0) sleep_for(p->paced + simulated / p->prompt.speed - now);
}

/* 1 when it is to begin again */
static int play_once(struct playing *p, struct nm_err *err)
{
    int more = 1;
    while (more > 0 && !interrupted && !p->prompt.quit && !p->prompt.reset) {
        double now = sim_clock();
        serve(p, now);
        if (p->prompt.quit || p->prompt.reset) break;
        more = nm_run_step(p->run);
        if (p->photos && sim_photos_take(p->photos, err)) return -1;
        show_progress(p, now);
        keep_pace(p, now);
    }
    wipe(p);
    return p->prompt.reset && !interrupted;
}

int sim_play(struct setup *setup, const struct sim_options *options, const struct nm_scenario *scenario, uint64_t seed,
             struct sim_outcome *outcome, struct nm_err *err)
{
    struct playing p = {.options = options, .setup = setup, .scenario = scenario, .seed = seed};
    int again = 1;
    p.prompt = (struct sim_prompt){.open = options->interactive, .until = INT64_MAX, .speed = options->speed};
    memset(outcome, 0, sizeof *outcome);
    while (again > 0) {
        if (open_run(&p, err)) return -1;
        again = play_once(&p, err);
        if (p.prompt.reset && p.prompt.seed) p.seed = p.prompt.seed;
        p.prompt.reset = false;
        if (!again) {
            nm_run_result(p.run, &outcome->result);
            outcome->wall = sim_clock() - p.began;
            outcome->done = true;
        }
        close_run(&p);
    }
    if (p.prompt.quit) interrupted = 1;
    return again;
}
