/* What the motion can do: every row is a scenario of scenarios/motion/ in the hard conditions (docs/motion.md), with
 * seeds that no search has seen and one set of parameters for all rows. Beside it stand the goal and what the systems
 * that Nutmeg learns from have published. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "bench_motion.h"
#include "cmd/sim_play.h"

enum { FIRST_SEED = 20001 };

enum trial {
    FORWARD,
    BACKWARD,
    SIDEWAYS,
    TURN,
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
#define TRIAL(name, n, n_quick, long_quick, blow, setting)                                                             \
    {                                                                                                                  \
        .scenario = (name), .seeds = (n), .quick = (n_quick), .seconds = (long_quick), .size = (blow),                 \
        .set = (setting)                                                                                               \
    }
/* the ball before the left foot, so that outwards is to the left */
#define AIMED(angle)                                                                                                   \
    {                                                                                                                  \
        .scenario = "kick", .seeds = 20, .quick = 1, .degrees = (angle)                                                \
    }
static const struct motion_trial trials[TRIALS] = {
    [FORWARD] = TRIAL("forward", 10, 2, 13, 0, NULL),
    [BACKWARD] = TRIAL("backward", 10, 1, 13, 0, NULL),
    [SIDEWAYS] = TRIAL("sideways", 10, 1, 13, 0, NULL),
    [TURN] = TRIAL("turn", 10, 1, 13, 0, NULL),
    [LATE] = TRIAL("late", 10, 1, 13, 0, NULL),
    [SPREAD] = TRIAL("spread", 10, 2, 13, 0, NULL),
    [RANDOM] = TRIAL("random", 10, 2, 25, 0, NULL),
    [START_STOP] = TRIAL("start_stop", 10, 2, 0, 0, NULL),
    [PULL_5] = TRIAL("pendulum", 20, 2, 0, 0.5, NULL),
    [PULL_6] = TRIAL("pendulum", 20, 2, 0, 0.6, NULL),
    [PULL_7] = TRIAL("pendulum", 20, 2, 0, 0.7, NULL),
    [PULL_8] = TRIAL("pendulum", 20, 2, 0, 0.8, NULL),
    [PULL_9] = TRIAL("pendulum", 20, 2, 0, 0.9, NULL),
    [OFF_5] = TRIAL("pendulum", 20, 1, 0, 0.5, OFF),
    [OFF_6] = TRIAL("pendulum", 20, 1, 0, 0.6, OFF),
    [OFF_7] = TRIAL("pendulum", 20, 1, 0, 0.7, OFF),
    [OFF_8] = TRIAL("pendulum", 20, 1, 0, 0.8, OFF),
    [OFF_9] = TRIAL("pendulum", 20, 1, 0, 0.9, OFF),
    [FRONT] = TRIAL("impulse_front", 20, 2, 0, 0, NULL),
    [BACK] = TRIAL("impulse_back", 20, 2, 0, 0, NULL),
    [WALKING] = TRIAL("impulse_walking", 20, 2, 0, 0, NULL),
    [UP_FRONT] = TRIAL("get_up_front", 20, 2, 0, 0, NULL),
    [UP_BACK] = TRIAL("get_up_back", 20, 2, 0, 0, NULL),
    [UP_SIDE] = TRIAL("get_up_side", 20, 2, 0, 0, NULL),
    [KICK] = TRIAL("kick", 20, 3, 0, 0, NULL),
    [OUT_15] = AIMED(15),
    [OUT_30] = AIMED(30),
    [OUT_45] = AIMED(45),
    [OUT_60] = AIMED(60),
    [OUT_90] = AIMED(90),
    [IN_15] = AIMED(-15),
    [IN_30] = AIMED(-30),
    [IN_45] = AIMED(-45),
    [WALK_KICK] = TRIAL("walk_kick", 20, 3, 0, 0, NULL),
    [SOFT] = TRIAL("fall", 20, 2, 0, 0, NULL),
    [STIFF] = TRIAL("fall", 20, 2, 0, 0, "hcm.protect=false"),
    [RAW] = TRIAL(NULL, 5, 1, 0, 0, NULL), /* bodies: motion_calibrate */
    [CALIBRATED] = TRIAL(NULL, 5, 1, 0, 0, NULL),
    [ORIENTATION] = TRIAL("orientation", 5, 1, 15, 0, NULL),
    [STANDS] = TRIAL("cost_standing", 1, 1, 6, 0, NULL),
    [PLAYS] = TRIAL("cost_animation", 1, 1, 6, 0, NULL),
    [WALKS] = TRIAL("cost_walking", 1, 1, 6, 0, NULL),
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

static double mean(const struct motion_trial *all, const struct row *r)
{
    const struct motion_trial *t = &all[r->trial];
    return fabs(sum(t, r->label)) / t->n;
}

static double total(const struct motion_trial *all, const struct row *r) { return sum(&all[r->trial], r->label); }

static double per_hundred_metres(const struct motion_trial *all, const struct row *r)
{
    return 100 * sum(&all[r->trial], r->label) / sum(&all[r->trial], "path");
}

/* Seeds in which nothing of the measure happened. */
static double without(const struct motion_trial *all, const struct row *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < all[r->trial].n; i++) n += motion_value(&all[r->trial], i, r->label) == 0;
    return n;
}

/* Seeds in which the ball was kicked, and the robot did not fall. */
static double kicked(const struct motion_trial *all, const struct row *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < all[r->trial].n; i++)
        n += motion_value(&all[r->trial], i, r->label) == 0 && !isnan(motion_value(&all[r->trial], i, "kick_error"));
    return n;
}

static double largest(const struct motion_trial *all, const struct row *r)
{
    double most = -INFINITY;
    for (uint32_t i = 0; i < all[r->trial].n; i++) {
        double value = motion_value(&all[r->trial], i, r->label);
        if (isnan(value)) return NAN;
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
    {"strong kick " where ", kicked, upright", (trial), kicked, "falls", NAN, AT_LEAST, NAN, "", "", 0},               \
        {"  ball", (trial), kicks_mean, "ball_speed_max", NAN, AT_LEAST, NAN, "m/s", "", 0},                           \
    {                                                                                                                  \
        "  direction error, 1 sigma", (trial), kicks_rms_degrees, "kick_error", NAN, AT_MOST, NAN, "deg", "", 0        \
    }
static const struct row rows[] = {
    {"forward, 60 s", FORWARD, mean, "speed_x", 0.58, AT_LEAST, 0.3, "m/s", "0.575", 0},
    {"  falls", FORWARD, total, "falls", 0, AT_MOST, 0, "", "0", 0},
    {"backward", BACKWARD, mean, "speed_x", 0.48, AT_LEAST, NAN, "m/s", "0.51", 0},
    {"  falls", BACKWARD, total, "falls", 0, AT_MOST, NAN, "", "0", 0},
    {"sideways", SIDEWAYS, mean, "speed_y", 0.38, AT_LEAST, NAN, "m/s", "0.37", 0},
    {"  falls", SIDEWAYS, total, "falls", 0, AT_MOST, NAN, "", "0", 0},
    {"turning", TURN, mean, "speed_turn", 2.4, AT_LEAST, NAN, "rad/s", "2.45", 0},
    {"  falls", TURN, total, "falls", 0, AT_MOST, NAN, "", "0", 0},
    {"forward with 16 + 16 ms delay", LATE, mean, "speed_x", 0.5, AT_LEAST, NAN, "m/s", "", 0},
    {"  falls", LATE, total, "falls", 0, AT_MOST, NAN, "", "", 0},
    {"0.4 m/s, bodies +-20 %: falls in 100 m", SPREAD, per_hundred_metres, "falls", 0.2, AT_MOST, NAN, "", "", 0},
    {"random commands, 5 min each: falls in all", RANDOM, total, "falls", 1, AT_MOST, NAN, "", "1", 0},
    {"start to full speed, the longest", START_STOP, largest, "start", 5, AT_MOST, NAN, "steps", "", 0},
    {"stop from full speed, the longest", START_STOP, largest, "stop", 3, AT_MOST, NAN, "steps", "", 0},
    {"pendulum 0.5 m, upright", PULL_5, without, "falls", 20, AT_LEAST, NAN, "", "19", 0},
    {"  stabilisation off", OFF_5, without, "falls", NAN, AT_LEAST, NAN, "", "5", 0},
    {"pendulum 0.6 m, upright", PULL_6, without, "falls", 20, AT_LEAST, NAN, "", "11", 0},
    {"  stabilisation off", OFF_6, without, "falls", NAN, AT_LEAST, NAN, "", "6", 0},
    {"pendulum 0.7 m, upright", PULL_7, without, "falls", 20, AT_LEAST, NAN, "", "20", 0},
    {"  stabilisation off", OFF_7, without, "falls", NAN, AT_LEAST, NAN, "", "", 0},
    {"pendulum 0.8 m, upright", PULL_8, without, "falls", 20, AT_LEAST, NAN, "", "20", 0},
    {"  stabilisation off", OFF_8, without, "falls", NAN, AT_LEAST, NAN, "", "", 0},
    {"pendulum 0.9 m, upright", PULL_9, without, "falls", 18, AT_LEAST, NAN, "", "19", 0},
    {"  stabilisation off", OFF_9, without, "falls", NAN, AT_LEAST, NAN, "", "", 0},
    {"2 N s from the front while stepping, upright", FRONT, without, "falls", 20, AT_LEAST, NAN, "", "20", 0},
    {"2 N s from the back while stepping, upright", BACK, without, "falls", 20, AT_LEAST, NAN, "", "20", 0},
    {"1.2 N s from the front at 0.4 m/s, upright", WALKING, without, "falls", 18, AT_LEAST, NAN, "", "14", 0},
    {"get up from the front", UP_FRONT, without, "fallen", 20, AT_LEAST, 20, "", "18/18", 0},
    {"  the longest", UP_FRONT, largest_known, "up_after", 4, AT_MOST, NAN, "s", "", 0},
    {"get up from the back", UP_BACK, without, "fallen", 20, AT_LEAST, 20, "", "12/12", 0},
    {"  the longest", UP_BACK, largest_known, "up_after", 4, AT_MOST, NAN, "s", "", 0},
    {"get up from the side", UP_SIDE, without, "fallen", 20, AT_LEAST, 20, "", "", 0},
    {"  the longest", UP_SIDE, largest_known, "up_after", 4, AT_MOST, NAN, "s", "", 0},
    {"strong kick, ball within 4 cm, upright", KICK, kicked, "falls", 20, AT_LEAST, NAN, "", "", 0},
    {"  ball", KICK, mean, "ball_speed_max", 2.7, AT_LEAST, NAN, "m/s", "2.5-2.8", 0},
    {"  direction error, 1 sigma", KICK, rms_degrees, "kick_error", 5, AT_MOST, NAN, "deg", "", 0},
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
    bool counts = r->figure == without || r->figure == kicked;
    char text[40] = "", name[80];
    if (counts) goal = ceil(goal * t->n / 20);
    if (isfinite(goal)) snprintf(text, sizeof text, "%s %.4g", r->least ? ">=" : "<=", goal);
    if (counts && t->n)
        snprintf(name, sizeof name, "%s of %u", r->name, t->n);
    else
        snprintf(name, sizeof name, "%s", r->name);
    bool ok = !isfinite(goal) || (r->least ? value >= goal : value <= goal);
    nm_bench_beside(bench, name, value, r->unit, r->known, text, ok);
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
