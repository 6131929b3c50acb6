/* nutmeg bench motion: its rows are made of trials, each a scenario played with some seeds, perhaps a little changed,
 * each seed in its own process. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"
#include "cmd/calibrate.h"
#include "cmd/pool.h"
#include "cmd/progress.h"
#include "cmd/setup.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "sim/scenario.h"

enum { MOTION_SEEDS = 64 };

struct motion_trial {
    const char *scenario;  /* in scenarios/motion; NULL: not played as one */
    uint32_t seeds, quick; /* how many; the same for --quick, 0: not played then    */
    double seconds;        /* of each with --quick; 0: as long as it is             */
    double size;           /* of its push or pendulum, 0: the scenario's            */
    double degrees;        /* of its kick, to the left; 0: the scenario's           */
    bool other_turf;       /* than the scenario's                                   */
    double turf;           /* m of blades                                           */
    const char *set;       /* a parameter, NULL: none                               */
    const char *does;      /* label of the measure that shows that a seed did what the row is about; NULL: none */
    double least;          /* and how much of it, either sign; of `path` in m/s     */
    /* out */
    uint32_t n; /* that were played */
    struct motion_outcome {
        bool done;
        double cpu, span; /* s of CPU inside the cycles of brains; s simulated */
        double values[NM_SCENARIO_MEASURES];
    } outcomes[MOTION_SEEDS];
    char why[160]; /* the first reason why a seed was not played     */
    struct nm_scenario *read;
};

struct motion_options {
    struct setup *setup;
    const char *robot;
    uint64_t first_seed;
    uint32_t most_seeds;
    double randomise;
    uint32_t jobs;
    bool quick;
};

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

/* Plays all trials, the seeds of all of them side by side. */
static void motion_play(struct motion_trial *trials, uint32_t n, const struct motion_options *o)
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

/* The odometry of a few bodies, each calibrated by drives of its own and judged by others (nutmeg calibrate odometry):
 * mean distances from the ends of drives, m, as the first value of each outcome. */
static void motion_calibrate(struct motion_trial *raw, struct motion_trial *calibrated, const struct motion_options *o)
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

/* The measure of that label in one outcome; NaN if there is none. */
static double motion_value(const struct motion_trial *t, uint32_t index, const char *label)
{
    if (!t->read || index >= t->n || !t->outcomes[index].done) return NAN;
    for (uint32_t m = 0; m < t->read->n_measures; m++)
        if (!strcmp(t->read->measures[m].label, label)) return t->outcomes[index].values[m];
    return NAN;
}

/* What the motion can do: every row is a scenario of scenarios/motion/ in the hard conditions (docs/motion.md), with
 * seeds that no search has seen and one set of parameters for all rows. Beside it stand the goal and what the systems
 * that Nutmeg learns from have published. */

enum { FIRST_SEED = 50001 };

enum trial {
    FORWARD,
    BACKWARD,
    SIDEWAYS,
    TURN,
    FORWARD_10,
    FORWARD_8,
    FORWARD_0,
    BACKWARD_10,
    BACKWARD_8,
    BACKWARD_0,
    SIDEWAYS_10,
    SIDEWAYS_8,
    SIDEWAYS_0,
    TURN_10,
    TURN_8,
    TURN_0,
    LATE,
    SPREAD,
    RANDOM,
    START_STOP,
    PULL_5,
    PULL_6,
    PULL_7,
    PULL_8,
    PULL_9,
    OFF_5,
    OFF_6,
    OFF_7,
    OFF_8,
    OFF_9,
    FRONT,
    BACK,
    SIDE,
    WALKING,
    UP_FRONT,
    UP_BACK,
    UP_SIDE,
    KICK,
    OUT_15,
    OUT_30,
    OUT_45,
    OUT_60,
    OUT_90,
    IN_15,
    IN_30,
    IN_45,
    WALK_KICK,
    SOFT,
    STIFF,
    RAW,
    CALIBRATED,
    ORIENTATION,
    STANDS,
    PLAYS,
    WALKS,
    TRIALS
};

#define OFF "walk.stabilise=false"
/* what: scenario, seeds, seeds and seconds with --quick; who does less than `least` of the measure `does` did nothing
 */
#define TRIAL(name, n, n_quick, long_quick, measure, amount, ...)                                                      \
    {                                                                                                                  \
        .scenario = (name), .seeds = (n), .quick = (n_quick), .seconds = (long_quick), .does = (measure),              \
        .least = (amount), __VA_ARGS__                                                                                 \
    }
#define ON(blades)                   .other_turf = true, .turf = (blades)
#define STEPPING(name, n_quick, ...) TRIAL(name, 20, n_quick, 0, "steps", 3, __VA_ARGS__)
/* the ball before the left foot, so that outwards is to the left */
#define AIMED(angle) TRIAL("kick", 20, 1, 0, "kick_error", 0, .degrees = (angle))
static const struct motion_trial trials[TRIALS] = {
    [FORWARD] = TRIAL("forward", 20, 2, 13, "speed_x", 0.1),
    [BACKWARD] = TRIAL("backward", 20, 1, 13, "speed_x", 0.1),
    [SIDEWAYS] = TRIAL("sideways", 20, 1, 13, "speed_y", 0.1),
    [TURN] = TRIAL("turn", 20, 1, 13, "speed_turn", 0.5),
    [FORWARD_10] = TRIAL("forward", 20, 1, 13, "speed_x", 0.1, ON(0.01)),
    [FORWARD_8] = TRIAL("forward", 20, 1, 13, "speed_x", 0.1, ON(0.008)),
    [FORWARD_0] = TRIAL("forward", 20, 1, 13, "speed_x", 0.1, ON(0)),
    [BACKWARD_10] = TRIAL("backward", 20, 1, 13, "speed_x", 0.1, ON(0.01)),
    [BACKWARD_8] = TRIAL("backward", 20, 1, 13, "speed_x", 0.1, ON(0.008)),
    [BACKWARD_0] = TRIAL("backward", 20, 1, 13, "speed_x", 0.1, ON(0)),
    [SIDEWAYS_10] = TRIAL("sideways", 20, 1, 13, "speed_y", 0.1, ON(0.01)),
    [SIDEWAYS_8] = TRIAL("sideways", 20, 1, 13, "speed_y", 0.1, ON(0.008)),
    [SIDEWAYS_0] = TRIAL("sideways", 20, 1, 13, "speed_y", 0.1, ON(0)),
    [TURN_10] = TRIAL("turn", 20, 1, 13, "speed_turn", 0.5, ON(0.01)),
    [TURN_8] = TRIAL("turn", 20, 1, 13, "speed_turn", 0.5, ON(0.008)),
    [TURN_0] = TRIAL("turn", 20, 1, 13, "speed_turn", 0.5, ON(0)),
    [LATE] = TRIAL("late", 20, 1, 13, "speed_x", 0.1),
    [SPREAD] = TRIAL("spread", 20, 2, 13, "speed_x", 0.1),
    [RANDOM] = TRIAL("random", 10, 2, 25, "path", 0.1),
    [START_STOP] = TRIAL("start_stop", 20, 2, 0, "full_speed", 0.1),
    [PULL_5] = STEPPING("pendulum", 2, .size = 0.5),
    [PULL_6] = STEPPING("pendulum", 2, .size = 0.6),
    [PULL_7] = STEPPING("pendulum", 2, .size = 0.7),
    [PULL_8] = STEPPING("pendulum", 2, .size = 0.8),
    [PULL_9] = STEPPING("pendulum", 2, .size = 0.9),
    [OFF_5] = STEPPING("pendulum", 1, .size = 0.5, .set = OFF),
    [OFF_6] = STEPPING("pendulum", 1, .size = 0.6, .set = OFF),
    [OFF_7] = STEPPING("pendulum", 1, .size = 0.7, .set = OFF),
    [OFF_8] = STEPPING("pendulum", 1, .size = 0.8, .set = OFF),
    [OFF_9] = STEPPING("pendulum", 1, .size = 0.9, .set = OFF),
    [FRONT] = STEPPING("impulse_front", 2),
    [BACK] = STEPPING("impulse_back", 2),
    [SIDE] = STEPPING("impulse_side", 2),
    [WALKING] = STEPPING("impulse_walking", 2),
    [UP_FRONT] = TRIAL("get_up_front", 20, 2, 0, "up_after", 0),
    [UP_BACK] = TRIAL("get_up_back", 20, 2, 0, "up_after", 0),
    [UP_SIDE] = TRIAL("get_up_side", 20, 2, 0, "up_after", 0),
    [KICK] = TRIAL("kick", 20, 3, 0, "kick_error", 0),
    [OUT_15] = AIMED(15),
    [OUT_30] = AIMED(30),
    [OUT_45] = AIMED(45),
    [OUT_60] = AIMED(60),
    [OUT_90] = AIMED(90),
    [IN_15] = AIMED(-15),
    [IN_30] = AIMED(-30),
    [IN_45] = AIMED(-45),
    [WALK_KICK] = TRIAL("walk_kick", 20, 3, 0, "kicked_at", 0),
    [SOFT] = TRIAL("fall", 20, 2, 0, "falls", 1),
    [STIFF] = TRIAL("fall", 20, 2, 0, "falls", 1, .set = "hcm.protect=false"),
    [RAW] = {.seeds = 5, .quick = 1}, /* bodies: motion_calibrate */
    [CALIBRATED] = {.seeds = 5, .quick = 1},
    [ORIENTATION] = TRIAL("orientation", 5, 1, 15, "path", 0.05),
    [STANDS] = TRIAL("cost_standing", 1, 1, 6, NULL, 0),
    [PLAYS] = TRIAL("cost_animation", 1, 1, 6, NULL, 0),
    [WALKS] = TRIAL("cost_walking", 1, 1, 6, "path", 0.1),
};

/* ---- how the seeds of a trial become one figure; NaN: not measured ---- */

struct row;
typedef double figure(const struct motion_trial *all, const struct row *row);

struct row {
    const char *name;
    enum trial trial;
    figure *figure;
    const char *label; /* of the measure                         */
    double goal;       /* kid70's                                */
    bool least;        /* at least so much; otherwise at most    */
    double other;      /* the goal of other robots; NaN: none    */
    const char *unit, *known;
    enum trial beside; /* what it is compared with               */
};

static bool played(const struct motion_trial *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (!t->outcomes[i].done) return false;
    return t->n > 0;
}

static double sum(const struct motion_trial *t, const char *label)
{
    double total = 0;
    for (uint32_t i = 0; i < t->n; i++) total += motion_value(t, i, label);
    return total;
}

/* A seed that did what its row is about: a robot that only stands or kneels, or refuses, has shown nothing. */
static bool did(const struct motion_trial *t, uint32_t i)
{
    double value = t->does ? motion_value(t, i, t->does) : INFINITY;
    if (t->does && !strcmp(t->does, "path")) value /= t->outcomes[i].span; /* `least` in m/s */
    return fabs(value) >= t->least;
}

static double mean(const struct motion_trial *all, const struct row *r)
{
    const struct motion_trial *t = &all[r->trial];
    return fabs(sum(t, r->label)) / t->n;
}

/* Falls; who did nothing counts as fallen. */
static double falls(const struct motion_trial *all, const struct row *r)
{
    const struct motion_trial *t = &all[r->trial];
    double n = 0;
    for (uint32_t i = 0; i < t->n; i++) n += fmax(motion_value(t, i, "falls"), !did(t, i));
    return n;
}

static double per_hundred_metres(const struct motion_trial *all, const struct row *r)
{
    return 100 * falls(all, r) / sum(&all[r->trial], "path");
}

/* Seeds that did what they were to do, and in which nothing of the measure happened. */
static double without(const struct motion_trial *all, const struct row *r)
{
    const struct motion_trial *t = &all[r->trial];
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) n += did(t, i) && motion_value(t, i, r->label) == 0;
    return n;
}

/* Seeds that were still upright when they were hit. */
static uint32_t struck(const struct motion_trial *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) n += did(t, i) && motion_value(t, i, "struck") == 1;
    return n;
}

/* Those of them that did not fall. */
static double withstood(const struct motion_trial *all, const struct row *r)
{
    const struct motion_trial *t = &all[r->trial];
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        n += did(t, i) && motion_value(t, i, "struck") == 1 && motion_value(t, i, r->label) == 0;
    return n;
}

static double largest(const struct motion_trial *all, const struct row *r)
{
    double most = -INFINITY;
    for (uint32_t i = 0; i < all[r->trial].n; i++) {
        double value = motion_value(&all[r->trial], i, r->label);
        if (isnan(value) || !did(&all[r->trial], i)) return NAN;
        most = fmax(most, value);
    }
    return most;
}

/* Of those that got up: one that did not is missing in the row above. */
static double largest_known(const struct motion_trial *all, const struct row *r)
{
    double most = NAN;
    for (uint32_t i = 0; i < all[r->trial].n; i++) most = fmax(most, motion_value(&all[r->trial], i, r->label));
    return most;
}

static double rms_degrees(const struct motion_trial *all, const struct row *r)
{
    double squares = 0;
    for (uint32_t i = 0; i < all[r->trial].n; i++) squares += pow(motion_value(&all[r->trial], i, r->label), 2);
    return sqrt(squares / all[r->trial].n) * 180 / M_PI;
}

/* Of the kicks that were not refused: those are missing in the row above. */
static double kicks_mean(const struct motion_trial *all, const struct row *r)
{
    const struct motion_trial *t = &all[r->trial];
    double sum = 0, n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (!isnan(motion_value(t, i, "kick_error"))) sum += motion_value(t, i, r->label), n++;
    return n > 0 ? sum / n : NAN;
}

static double kicks_rms_degrees(const struct motion_trial *all, const struct row *r)
{
    const struct motion_trial *t = &all[r->trial];
    double squares = 0, n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (!isnan(motion_value(t, i, r->label))) squares += pow(motion_value(t, i, r->label), 2), n++;
    return n > 0 ? sqrt(squares / n) * 180 / M_PI : NAN;
}

static double percent_less(const struct motion_trial *all, const struct row *r)
{
    if (!played(&all[r->beside])) return NAN;
    return 100 * (1 - sum(&all[r->trial], r->label) / sum(&all[r->beside], r->label));
}

static double centimetres(const struct motion_trial *all, const struct row *r)
{
    double metres = 0;
    for (uint32_t i = 0; i < all[r->trial].n; i++) metres += all[r->trial].outcomes[i].values[0];
    return 100 * metres / all[r->trial].n;
}

static double percent_of_core(const struct motion_trial *all, const struct row *r)
{
    const struct motion_outcome *o = &all[r->trial].outcomes[0];
    return 100 * o->cpu / o->span;
}

#define AT_LEAST true
#define AT_MOST  false
#define AIMED_ROWS(where, trial)                                                                                       \
    {"strong kick " where ", kicked, upright", (trial), without, "falls", NAN, AT_LEAST, NAN, "", "", 0},              \
        {"  ball", (trial), kicks_mean, "ball_speed_max", NAN, AT_LEAST, NAN, "m/s", "", 0},                           \
    {                                                                                                                  \
        "  direction error, 1 sigma", (trial), kicks_rms_degrees, "kick_error", NAN, AT_MOST, NAN, "deg", "", 0        \
    }
#define GROUND_ROWS(where, turf)                                                                                       \
    {"forward on " where, FORWARD_##turf, mean, "speed_x", 0.5, AT_LEAST, NAN, "m/s", "", 0},                          \
        {"  falls", FORWARD_##turf, falls, "falls", 0, AT_MOST, NAN, "", "", 0},                                       \
        {"  backward", BACKWARD_##turf, mean, "speed_x", 0.38, AT_LEAST, NAN, "m/s", "", 0},                           \
        {"  backward: falls", BACKWARD_##turf, falls, "falls", 0, AT_MOST, NAN, "", "", 0},                            \
        {"  sideways", SIDEWAYS_##turf, mean, "speed_y", 0.35, AT_LEAST, NAN, "m/s", "", 0},                           \
        {"  sideways: falls", SIDEWAYS_##turf, falls, "falls", 0, AT_MOST, NAN, "", "", 0},                            \
        {"  turning", TURN_##turf, mean, "speed_turn", 2.2, AT_LEAST, NAN, "rad/s", "", 0},                            \
    {                                                                                                                  \
        "  turning: falls", TURN_##turf, falls, "falls", 0, AT_MOST, NAN, "", "", 0                                    \
    }
static const struct row rows[] = {
    {"forward, 60 s", FORWARD, mean, "speed_x", 0.5, AT_LEAST, 0.3, "m/s", "0.575", 0},
    {"  falls", FORWARD, falls, "falls", 0, AT_MOST, 0, "", "0", 0},
    {"backward", BACKWARD, mean, "speed_x", 0.38, AT_LEAST, NAN, "m/s", "0.51", 0},
    {"  falls", BACKWARD, falls, "falls", 0, AT_MOST, NAN, "", "0", 0},
    {"sideways", SIDEWAYS, mean, "speed_y", 0.35, AT_LEAST, NAN, "m/s", "0.37", 0},
    {"  falls", SIDEWAYS, falls, "falls", 0, AT_MOST, NAN, "", "0", 0},
    {"turning", TURN, mean, "speed_turn", 2.2, AT_LEAST, NAN, "rad/s", "2.45", 0},
    {"  falls", TURN, falls, "falls", 0, AT_MOST, NAN, "", "0", 0},
    GROUND_ROWS("turf of 10 mm (hsl-small)", 10),
    GROUND_ROWS("turf of 8 mm (spl)", 8),
    GROUND_ROWS("a hard floor", 0),
    {"forward with 16 + 16 ms delay", LATE, mean, "speed_x", 0.5, AT_LEAST, NAN, "m/s", "", 0},
    {"  falls", LATE, falls, "falls", 0, AT_MOST, NAN, "", "", 0},
    {"0.4 m/s, bodies +-20 %: falls in 100 m", SPREAD, per_hundred_metres, "falls", 0, AT_MOST, NAN, "", "", 0},
    {"random commands, 5 min each: falls in all", RANDOM, falls, "falls", 0, AT_MOST, NAN, "", "1", 0},
    {"start to full speed, longest", START_STOP, largest, "start", 5, AT_MOST, NAN, "steps", "", 0},
    {"stop from full speed, longest", START_STOP, largest, "stop", 3, AT_MOST, NAN, "steps", "", 0},
    {"pendulum 0.5 m, upright", PULL_5, withstood, "falls", 20, AT_LEAST, NAN, "", "19", 0},
    {"  stabilisation off", OFF_5, withstood, "falls", NAN, AT_LEAST, NAN, "", "5", 0},
    {"pendulum 0.6 m, upright", PULL_6, withstood, "falls", 20, AT_LEAST, NAN, "", "11", 0},
    {"  stabilisation off", OFF_6, withstood, "falls", NAN, AT_LEAST, NAN, "", "6", 0},
    {"pendulum 0.7 m, upright", PULL_7, withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0},
    {"  stabilisation off", OFF_7, withstood, "falls", NAN, AT_LEAST, NAN, "", "", 0},
    {"pendulum 0.8 m, upright", PULL_8, withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0},
    {"  stabilisation off", OFF_8, withstood, "falls", NAN, AT_LEAST, NAN, "", "", 0},
    {"pendulum 0.9 m, upright", PULL_9, withstood, "falls", 18, AT_LEAST, NAN, "", "19", 0},
    {"  stabilisation off", OFF_9, withstood, "falls", NAN, AT_LEAST, NAN, "", "", 0},
    {"2 N s from the front while stepping, upright", FRONT, withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0},
    {"2 N s from the back while stepping, upright", BACK, withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0},
    {"1.5 N s from the sides while stepping, upright", SIDE, withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0},
    {"1.2 N s from the front at 0.4 m/s, upright", WALKING, withstood, "falls", 18, AT_LEAST, NAN, "", "14", 0},
    {"get up from the front", UP_FRONT, without, "fallen", 20, AT_LEAST, 20, "", "18/18", 0},
    {"  longest", UP_FRONT, largest_known, "up_after", 4, AT_MOST, NAN, "s", "", 0},
    {"get up from the back", UP_BACK, without, "fallen", 20, AT_LEAST, 20, "", "12/12", 0},
    {"  longest", UP_BACK, largest_known, "up_after", 4, AT_MOST, NAN, "s", "", 0},
    {"get up from the side", UP_SIDE, without, "fallen", 20, AT_LEAST, 20, "", "", 0},
    {"  longest", UP_SIDE, largest_known, "up_after", 4, AT_MOST, NAN, "s", "", 0},
    {"strong kick, ball within 4 cm, upright", KICK, without, "falls", 20, AT_LEAST, NAN, "", "", 0},
    {"  ball", KICK, kicks_mean, "ball_speed_max", 2.7, AT_LEAST, NAN, "m/s", "2.5-2.8", 0},
    {"  direction error, 1 sigma", KICK, kicks_rms_degrees, "kick_error", 5, AT_MOST, NAN, "deg", "", 0},
    AIMED_ROWS("15 degrees outwards", OUT_15),
    AIMED_ROWS("30 degrees outwards", OUT_30),
    AIMED_ROWS("45 degrees outwards", OUT_45),
    AIMED_ROWS("60 degrees outwards", OUT_60),
    AIMED_ROWS("90 degrees outwards", OUT_90),
    AIMED_ROWS("15 degrees inwards", IN_15),
    AIMED_ROWS("30 degrees inwards", IN_30),
    AIMED_ROWS("45 degrees inwards", IN_45),
    {"kick while walking, upright", WALK_KICK, without, "falls", 20, AT_LEAST, NAN, "", "", 0},
    {"  ball", WALK_KICK, mean, "ball_speed_max", 1.4, AT_LEAST, NAN, "m/s", "1.3-1.4", 0},
    {"  walks on", WALK_KICK, mean, "speed_x", 0.15, AT_LEAST, NAN, "m/s", "", 0},
    {"fall: trunk impact less with protection", SOFT, percent_less, "impact", 30, AT_LEAST, NAN, "%", "", STIFF},
    {"  peak joint torque less", SOFT, percent_less, "torque_max", 30, AT_LEAST, NAN, "%", "", STIFF},
    {"odometry drift over 2.5 m, uncalibrated", RAW, centimetres, "", 12, AT_MOST, NAN, "cm", "", 0},
    {"  calibrated", CALIBRATED, centimetres, "", 4, AT_MOST, NAN, "cm", "20", 0},
    {"orientation error while walking", ORIENTATION, rms_degrees, "tilt_error", 1.5, AT_MOST, NAN, "deg", "", 0},
    {"CPU of the motion cycle, standing", STANDS, percent_of_core, "", 1, AT_MOST, 1, "%", "91 (45)", 0},
    {"  animation", PLAYS, percent_of_core, "", 1, AT_MOST, 1, "%", "140 (50)", 0},
    {"  walking", WALKS, percent_of_core, "", 1, AT_MOST, 1, "%", "129 (60)", 0},
};

/* ---- telling ---- */

/* Counts are goals of twenty: with fewer seeds they shrink. */
static void tell(struct nm_bench *bench, const struct motion_trial *all, const struct row *r, bool kid)
{
    const struct motion_trial *t = &all[r->trial];
    double goal = kid ? r->goal : r->other, value = played(t) ? r->figure(all, r) : NAN;
    bool counts = r->figure == without || r->figure == withstood, off = t->set && !strcmp(t->set, OFF);
    char text[40] = "", name[96];
    uint32_t idle = 0;
    for (uint32_t i = 0; i < t->n; i++) idle += t->outcomes[i].done && !did(t, i);
    if (counts) goal = ceil(goal * t->n / 20);
    if (isfinite(goal)) snprintf(text, sizeof text, "%s %.4g", r->least ? ">=" : "<=", goal);
    if (off && t->n)
        snprintf(name, sizeof name, "%s of %u; %u fell before the hit", r->name, struck(t), t->n - struck(t));
    else if (counts && t->n)
        snprintf(name, sizeof name, "%s of %u", r->name, t->n);
    else
        snprintf(name, sizeof name, "%s", r->name);
    bool ok = !isfinite(goal) || (r->least ? value >= goal : value <= goal);
    nm_bench_beside(bench, name, value, r->unit, r->known, text, ok);
    if (idle && !off) nm_bench_say(bench, "    %s: %u of %u failed", t->scenario, idle, t->n);
    if (*t->why) nm_bench_say(bench, "    %s: %s", t->scenario ? t->scenario : "odometry", t->why);
}

void bench_motion(struct nm_bench *bench);
void bench_motion(struct nm_bench *bench)
{
    static struct motion_trial all[TRIALS];
    const struct nm_bench_options *o = nm_bench_options(bench);
    struct setup setup;
    struct nm_err err = {0};
    memcpy(all, trials, sizeof all);
    setup_begin(&setup);
    struct motion_options options = {.setup = &setup,
                                     .first_seed = o->first_seed ? o->first_seed : FIRST_SEED,
                                     .most_seeds = MOTION_SEEDS,
                                     .randomise = o->randomise,
                                     .jobs = o->jobs ? o->jobs : 2,
                                     .quick = o->quick};
    if (o->first_seed && o->last_seed - o->first_seed < MOTION_SEEDS)
        options.most_seeds = (uint32_t)(o->last_seed - o->first_seed + 1);
    if (o->robot) options.robot = setup_robot(&setup, o->robot, &err);
    if (o->robot && !options.robot) {
        nm_bench_say(bench, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    } else {
        motion_play(all, TRIALS, &options);
        motion_calibrate(&all[RAW], &all[CALIBRATED], &options);
        for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
            tell(bench, all, &rows[i], !o->robot || strstr(o->robot, "kid70"));
    }
    for (uint32_t i = 0; i < TRIALS; i++) nm_scenario_free(all[i].read);
    setup_end(&setup);
}
