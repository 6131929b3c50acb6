/* Plays a scenario: one seed in this process, or many seeds in processes of their own (cmd/pool.h). */
#include "cmd/sim_play.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cmd/console.h"
#include "cmd/crash.h"
#include "cmd/pool.h"
#include "cmd/progress.h"
#include "cmd/stopping.h"
#include "core/files.h"

/* ---- control sockets: each player answers nutmeg topic, param, why and tasks by its robot's name ---- */

static const double EVERY = 0.02; /* s, real time, between two looks at the sockets */

struct nm_control *sim_control_add(struct sim_control *c, struct setup *setup, const char *robot,
                                   const struct nm_desk *desk, struct nm_player *player)
{
    struct nm_err err = {0};
    c->loaded = (struct nm_lineup_options){.root = setup->root, .robot = robot};
    struct nm_control_options options = {
        .spare = true, .registry = &setup->registry, .lineup = &c->loaded, .desk = desk};
    if (c->n == NM_PLAYERS) return NULL;
    struct nm_control *control = nm_control_new(player, &options, &err);
    if (control)
        c->at[c->n++] = control;
    else if (!c->refused)
        fprintf(stderr, "nutmeg topic, param, why and tasks cannot reach this robot: %s", err.text);
    c->refused |= err.n > 0;
    return control;
}

void sim_control_poll(struct sim_control *c, double now)
{
    if (now - c->polled < EVERY) return;
    c->polled = now;
    for (uint32_t i = 0; i < c->n; i++) {
        nm_control_poll(c->at[i], 0);
        if (nm_control_stopped(c->at[i]) && !stopping()) raise(SIGTERM); /* nutmeg stop ends it as Ctrl-C does */
    }
}

void sim_control_free(struct sim_control *c)
{
    for (uint32_t i = 0; i < c->n; i++) nm_control_free(c->at[i]);
    c->n = 0;
}

static const double KEYBOARD = 0.05;      /* s between two looks at it         */
static const double PAUSED = 0.01;        /* s between two looks at anything, while the clock stands */
static const double LATE = 0.1, LOST = 1; /* s behind the clock: with robots on the wire; else */

struct playing {
    const struct sim_options *options;
    struct setup *setup;
    const struct nm_scenario *scenario;
    uint64_t seed;
    struct nm_run *run;
    struct sim_photos *photos;
    struct sim_wire *wire; /* NULL: brains play here */
    struct sim_live *live;
    struct sim_prompt prompt;
    struct sim_control control;
    struct nm_desk desk;
    uint32_t n_logs;
    struct nm_log *logs[NM_PLAYERS + 1]; /* the last one is the referee's */
    double began, paced;                 /* s, real time: of the run, and since when it keeps pace   */
    int64_t paced_from;                  /* ns, simulated                                          */
    double looked;                       /* s */
    struct progress progress;
};

static void sleep_for(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    if (seconds > 0) nanosleep(&t, NULL);
}

/* ---- terminal ---- */

static void show_progress(struct playing *p, double now)
{
    double simulated = nm_seconds(nm_stage_now(nm_run_stage(p->run)));
    if (p->options->quiet) return;
    if (p->options->progress) {
        char words[200] = "";
        p->options->progress(p->options->user, nm_run_stage(p->run), words, sizeof words);
        progress_tell(&p->progress, "%s  %.1f x real time", words, simulated / (now - p->began));
        return;
    }
    progress_tell(&p->progress, "%s seed %llu  %.1f of %.1f s  %.1f x real time", p->scenario->name,
                  (unsigned long long)p->seed, simulated, nm_run_length(p->run), simulated / (now - p->began));
}

static void said(void *user, uint32_t robot, const Log *line)
{
    struct playing *p = user;
    if (p->options->json || p->options->quiet || (line->level < NM_WARN && !p->options->verbose)) return;
    enum ink colour = line->level >= NM_ERROR ? INK_RED : line->level >= NM_WARN ? INK_YELLOW : INK_FAINT;
    progress_end(&p->progress);
    fprintf(stderr, "%s%8.3f %s %s: %s%s\n", ink(stderr, colour), nm_seconds(nm_slot(line)->time),
            p->scenario->robots[robot].name, line->name, line->msg, ink(stderr, INK_PLAIN));
}

/* ---- life ---- */

const char *sim_log_path(struct nm_arena *arena, const struct sim_options *options, const char *robot, uint64_t seed)
{
    if (options->first == options->last) return nm_take_format(arena, "%s/%s.mcap", options->log.path, robot);
    return nm_take_format(arena, "%s/seed%llu/%s.mcap", options->log.path, (unsigned long long)seed, robot);
}

static int open_log(struct playing *p, const char *name, struct nm_player *player, struct nm_err *err)
{
    const struct sim_options *o = p->options;
    struct logging_flags flags = o->log;
    flags.path = sim_log_path(&p->setup->arena, o, name, p->seed);
    struct logging_how how = {.virtual_time = true};
    return logging_open(&p->logs[p->n_logs++], player, &flags, &how, err);
}

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct playing *p = user;
    crash_watch(player);
    if (p->wire) return sim_wire_add(p->wire, robot, player, err);
    if (p->options->ready && p->options->ready(p->options->user, robot, player, err)) return -1;
    struct nm_desk desk = p->desk;
    struct nm_control *control = sim_control_add(&p->control, p->setup, p->options->robot, &p->desk, player);
    if (control) nm_control_desk(control, &desk);
    if (p->options->live &&
        sim_live_add(p->live, player, p->scenario->robots[robot].team, p->options->live, &desk, err))
        return -1;
    if (p->options->log.path && open_log(p, p->scenario->robots[robot].name, player, err)) return -1;
    return 0;
}

static void close_run(struct playing *p)
{
    sim_live_close(p->live);
    for (uint32_t i = 0; i < p->n_logs; i++) logging_close(p->logs[i], stderr);
    p->n_logs = 0;
    if (p->options->closing) p->options->closing(p->options->user);
    sim_photos_free(p->photos);
    sim_wire_free(p->wire);
    sim_control_free(&p->control);
    p->wire = NULL;
    crash_forget(NULL);
    nm_run_free(p->run);
    p->photos = NULL;
    p->run = NULL;
}

static void steer(void *user, const void *request, void *reply)
{
    struct playing *p = user;
    if (p->run) sim_prompt_command(&p->prompt, nm_run_stage(p->run), request, reply);
}

/* Of the referee, if there is one, and of the world. */
static int open_viewers(struct playing *p, struct nm_err *err)
{
    const struct sim_options *o = p->options;
    struct nm_player *referee = o->referee ? o->referee(o->user, err) : NULL;
    if (o->referee && (!referee || sim_live_add(p->live, referee, NM_NONE, "0", &p->desk, err))) return -1;
    if (referee && o->log.path && open_log(p, "referee", referee, err)) return -1;
    return sim_live_open(p->live, p->setup, &p->desk, err);
}

static int open_run(struct playing *p, struct nm_err *err)
{
    p->desk = (struct nm_desk){0};
    nm_desk_add(&p->desk, (struct nm_desk_service){.name = "sim/command",
                                                   .request = &SimCommand_Request_type,
                                                   .reply = &SimCommand_Response_type,
                                                   .right = NM_DESK_WORLD,
                                                   .answer = steer,
                                                   .user = p});
    const struct sim_options *o = p->options;
    struct nm_run_options options = {.seed = p->seed,
                                     .workers = (uint32_t)o->workers,
                                     .seconds = o->seconds,
                                     .lineup = o->lineup,
                                     .robot = o->robot,
                                     .registry = &p->setup->registry,
                                     .ready = ready,
                                     .said = said,
                                     .user = p,
                                     .bus = &sim_bus,
                                     .elsewhere = o->wire};
    if (o->wire && !(p->wire = sim_wire_new(o, p->scenario, p->seed, err))) return -1;
    p->run = nm_run_new(p->scenario, &options, err);
    if (p->run && p->wire && sim_wire_open(p->wire, nm_run_stage(p->run), err)) close_run(p);
    if (p->run && o->photo_every > 0) {
        p->photos = sim_photos_new(o, nm_run_stage(p->run), p->scenario->name, p->seed, err);
        if (!p->photos || sim_photos_take(p->photos, err)) close_run(p);
    }
    if (p->run && o->live && open_viewers(p, err)) close_run(p);
    if (!p->run) close_run(p);
    p->began = p->paced = nm_clock_seconds();
    progress_begin(&p->progress, "");
    p->paced_from = 0;
    return p->run ? 0 : -1;
}

/* ---- keyboard, viewers and clock ---- */

static void repace(struct playing *p)
{
    p->paced = nm_clock_seconds();
    p->paced_from = nm_stage_now(nm_run_stage(p->run));
    p->prompt.repace = false;
}

static void attend(struct playing *p)
{
    struct nm_stage *stage = nm_run_stage(p->run);
    sim_prompt_serve(&p->prompt, stage);
    sim_control_poll(&p->control, nm_clock_seconds());
    sim_live_poll(p->live, stage, p->prompt.paused ? 0 : (float)p->prompt.speed);
}

static bool ends(const struct playing *p) { return p->prompt.quit || p->prompt.reset || stopping(); }

static void serve(struct playing *p)
{
    double now = nm_clock_seconds();
    if (!p->prompt.paused && nm_stage_now(nm_run_stage(p->run)) >= p->prompt.until) {
        p->prompt.paused = true;
        p->prompt.until = INT64_MAX;
    }
    if (!p->prompt.paused && now - p->looked < KEYBOARD) return;
    p->looked = now;
    do {
        attend(p);
        if (p->prompt.paused) sleep_for(PAUSED);
    } while (p->prompt.paused && !ends(p));
    if (p->prompt.repace) repace(p);
}

/* Real time until the simulated one is due, in s. */
static double ahead(const struct playing *p)
{
    double simulated = nm_seconds(nm_stage_now(nm_run_stage(p->run)) - p->paced_from);
    return p->prompt.speed > 0 ? p->paced + simulated / p->prompt.speed - nm_clock_seconds() : 0;
}

/* Slow simulations hear their viewers between two steps, too. */
static void keep_pace(struct playing *p)
{
    while (ahead(p) > PAUSED && !p->prompt.paused && !ends(p)) {
        sleep_for(PAUSED);
        attend(p);
        if (p->prompt.repace) repace(p);
    }
    double left = ahead(p);
    if (left < (p->wire ? -LATE : -LOST)) repace(p); /* time that was lost is not caught up with in a hurry */
    if (left < PAUSED) sleep_for(left);
}

/* 1 when it is to begin again */
static int play_once(struct playing *p, struct nm_err *err)
{
    int more = 1;
    while (more > 0 && !ends(p)) {
        serve(p);
        if (p->prompt.quit || p->prompt.reset) break;
        double now = nm_clock_seconds();
        more = nm_run_step(p->run);
        sim_control_poll(&p->control, now);
        for (uint32_t i = 0; i < p->n_logs; i++) nm_log_poll(p->logs[i]);
        if (p->wire) sim_wire_turn(p->wire);
        sim_live_poll(p->live, nm_run_stage(p->run), (float)p->prompt.speed);
        if (p->photos && sim_photos_take(p->photos, err)) return -1;
        int looked = p->options->look ? p->options->look(p->options->user, nm_run_stage(p->run), err) : 0;
        if (looked < 0) return -1;
        if (looked) more = 0;
        show_progress(p, now);
        keep_pace(p);
    }
    progress_end(&p->progress);
    return p->prompt.reset && !stopping();
}

int sim_play(struct setup *setup, const struct sim_options *options, const struct nm_scenario *scenario, uint64_t seed,
             struct sim_outcome *outcome, struct nm_err *err)
{
    struct playing p = {.options = options, .setup = setup, .scenario = scenario, .seed = seed};
    int again = 1;
    p.prompt = (struct sim_prompt){.open = options->interactive, .until = INT64_MAX, .speed = options->speed};
    memset(outcome, 0, sizeof *outcome);
    p.live = sim_live_new(logging_folder(&setup->arena, &options->log));
    for (bool first = true; again > 0; first = false) {
        if (open_run(&p, err)) {
            again = -1;
            break;
        }
        if (first && sim_live_url(p.live)) {
            fprintf(options->json ? stderr : stdout, "live at %s\n", sim_live_url(p.live));
            fflush(stdout);
        }
        again = play_once(&p, err);
        if (p.prompt.reset && p.prompt.seed) p.seed = p.prompt.seed;
        p.prompt.reset = false;
        if (!again) {
            nm_run_result(p.run, &outcome->result);
            outcome->wall = nm_clock_seconds() - p.began;
            outcome->done = !interrupted();
            if (!outcome->done) snprintf(outcome->died, sizeof outcome->died, "interrupted");
        }
        close_run(&p);
    }
    sim_live_free(p.live);
    if (p.prompt.quit) stop_now();
    return again;
}

/* ---- seeds in processes of their own, reported in the order of the seeds ---- */

struct crew {
    struct setup *setup;
    const struct sim_options *options;
    const struct nm_scenario *scenario;
    struct sim_outcome *outcomes; /* of every seed */
    bool *ended;
    uint64_t seeds, told, n_ended;
    struct progress progress;
    void (*tell)(void *user, const struct sim_outcome *outcome);
    void *user;
};

/* What cannot begin says why; nobody else writes. */
static void work(void *user, uint32_t index, void *result)
{
    const struct crew *c = user;
    struct sim_outcome *outcome = result;
    struct nm_err err = {0};
    struct sim_options options = *c->options;
    options.quiet = true;
    if (sim_play(c->setup, &options, c->scenario, options.first + index, outcome, &err)) {
        outcome->done = false;
        snprintf(outcome->died, sizeof outcome->died, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    }
}

static void done(void *user, uint32_t index, const void *result, const char *died)
{
    struct crew *c = user;
    struct sim_outcome *o = &c->outcomes[index];
    if (result) *o = *(const struct sim_outcome *)result;
    if (died) snprintf(o->died, sizeof o->died, "%s", died);
    o->result.seed = c->options->first + index;
    c->ended[index] = true;
    c->n_ended++;
    progress_tell(&c->progress, "%s  %llu of %llu seeds", c->scenario->name, (unsigned long long)c->n_ended,
                  (unsigned long long)c->seeds);
    while (c->told < c->seeds && c->ended[c->told]) c->tell(c->user, &c->outcomes[c->told++]);
}

int sim_play_jobs(struct setup *setup, const struct sim_options *options, const struct nm_scenario *scenario,
                  void (*told)(void *user, const struct sim_outcome *outcome), void *user, struct nm_err *err)
{
    struct crew c = {.setup = setup, .options = options, .scenario = scenario, .tell = told, .user = user};
    c.seeds = options->last - options->first + 1;
    c.outcomes = calloc(c.seeds, sizeof *c.outcomes);
    c.ended = calloc(c.seeds, sizeof *c.ended);
    bool room = c.outcomes && c.ended && c.seeds <= UINT32_MAX;
    const struct pool pool = {.n = (uint32_t)c.seeds,
                              .jobs = (uint32_t)options->jobs,
                              .size = sizeof *c.outcomes,
                              .work = work,
                              .done = done,
                              .quit = stopping,
                              .user = &c};
    progress_begin(&c.progress, "");
    int bad = room ? pool_run(&pool, err) : nm_fail(err, "no memory for %llu seeds", (unsigned long long)c.seeds);
    progress_end(&c.progress);
    free(c.outcomes);
    free(c.ended);
    return bad;
}
