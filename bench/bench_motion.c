/* What the motion can do: every row is a scenario of scenarios/motion/ in the hard conditions (docs/motion.md), with
 * seeds that no search has seen and one set of parameters for all rows. Beside it stand the goal and what the systems
 * that Nutmeg learns from have published. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "bench_motion.h"
#include "cmd/sim_play.h"

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
