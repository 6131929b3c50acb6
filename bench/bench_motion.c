/* nutmeg bench motion: what the motion can do. Every row is a scenario of scenarios/motion/ in the hard conditions
 * (docs/motion.md), with seeds that no search has seen and one set of parameters for all rows. Beside it stand the goal
 * and what the systems that Nutmeg learns from have published. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/calibrate.h"
#include "cmd/stopping.h"
#include "trials.h"

/* The odometry of a few bodies, each calibrated by drives of its own and judged by others (nutmeg calibrate odometry):
 * mean distances from the ends of drives, m, as the first value of each outcome. */
static void motion_calibrate(struct trial *raw, struct trial *calibrated, const struct trial_options *o)
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
        raw->outcomes[i].values[0][0] = calibrate_drift(NULL, drives + fitted, n - fitted);
        calibrated->outcomes[i].values[0][0] = calibrate_drift(&model, drives + fitted, n - fitted);
    }
}

enum { FIRST_SEED = 50001 };

enum {
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
        .scenario = "motion/" name, .seeds = (n), .quick = (n_quick), .seconds = (long_quick), .does = (measure),      \
        .least = (amount), __VA_ARGS__                                                                                 \
    }
#define ON(blades)                   .other_turf = true, .turf = (blades)
#define STEPPING(name, n_quick, ...) TRIAL(name, 20, n_quick, 0, "steps", 3, __VA_ARGS__)
/* the ball before the left foot, so that outwards is to the left */
#define AIMED(angle) TRIAL("kick", 20, 1, 0, "kick_error", 0, .degrees = (angle))
static const struct trial trials[TRIALS] = {
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

/* ---- figures that only these rows have ---- */

static double per_hundred_metres(const struct trial *all, const struct row *r)
{
    return 100 * row_falls(all, r) / trial_sum(&all[r->trial], "path");
}

/* Of those that got up: one that did not is missing in the row above. */
static double largest_known(const struct trial *all, const struct row *r)
{
    double most = NAN;
    for (uint32_t i = 0; i < all[r->trial].n; i++) most = fmax(most, trial_value(&all[r->trial], i, r->label));
    return most;
}

static double rms_degrees(const struct trial *all, const struct row *r)
{
    double squares = 0;
    for (uint32_t i = 0; i < all[r->trial].n; i++) squares += pow(trial_value(&all[r->trial], i, r->label), 2);
    return sqrt(squares / all[r->trial].n) * 180 / M_PI;
}

/* Of the kicks that were not refused: those are missing in the row above. */
static double kicks_mean(const struct trial *all, const struct row *r)
{
    const struct trial *t = &all[r->trial];
    double sum = 0, n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (!isnan(trial_value(t, i, "kick_error"))) sum += trial_value(t, i, r->label), n++;
    return n > 0 ? sum / n : NAN;
}

static double kicks_rms_degrees(const struct trial *all, const struct row *r)
{
    const struct trial *t = &all[r->trial];
    double squares = 0, n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (!isnan(trial_value(t, i, r->label))) squares += pow(trial_value(t, i, r->label), 2), n++;
    return n > 0 ? sqrt(squares / n) * 180 / M_PI : NAN;
}

static double percent_less(const struct trial *all, const struct row *r)
{
    if (!trial_played(&all[r->beside])) return NAN;
    return 100 * (1 - trial_sum(&all[r->trial], r->label) / trial_sum(&all[r->beside], r->label));
}

static double centimetres(const struct trial *all, const struct row *r)
{
    double metres = 0;
    for (uint32_t i = 0; i < all[r->trial].n; i++) metres += all[r->trial].outcomes[i].values[0][0];
    return 100 * metres / all[r->trial].n;
}

static double percent_of_core(const struct trial *all, const struct row *r)
{
    const struct trial_outcome *o = &all[r->trial].outcomes[0];
    return 100 * o->cpu / o->span;
}

#define AIMED_ROWS(where, trial)                                                                                       \
    {"strong kick " where ", kicked, upright", (trial), row_without, "falls", NAN, AT_LEAST, NAN, "", "", 0, false},   \
        {"  ball", (trial), kicks_mean, "ball_speed_max", NAN, AT_LEAST, NAN, "m/s", "", 0, false},                    \
    {                                                                                                                  \
        "  direction error, 1 sigma", (trial), kicks_rms_degrees, "kick_error", NAN, AT_MOST, NAN, "deg", "", 0, false \
    }
#define GROUND_ROWS(where, turf)                                                                                       \
    {"forward on " where, FORWARD_##turf, row_mean, "speed_x", 0.5, AT_LEAST, NAN, "m/s", "", 0, false},               \
        {"  falls", FORWARD_##turf, row_falls, "falls", 0, AT_MOST, NAN, "", "", 0, false},                            \
        {"  backward", BACKWARD_##turf, row_mean, "speed_x", 0.38, AT_LEAST, NAN, "m/s", "", 0, false},                \
        {"  backward: falls", BACKWARD_##turf, row_falls, "falls", 0, AT_MOST, NAN, "", "", 0, false},                 \
        {"  sideways", SIDEWAYS_##turf, row_mean, "speed_y", 0.35, AT_LEAST, NAN, "m/s", "", 0, false},                \
        {"  sideways: falls", SIDEWAYS_##turf, row_falls, "falls", 0, AT_MOST, NAN, "", "", 0, false},                 \
        {"  turning", TURN_##turf, row_mean, "speed_turn", 2.2, AT_LEAST, NAN, "rad/s", "", 0, false},                 \
    {                                                                                                                  \
        "  turning: falls", TURN_##turf, row_falls, "falls", 0, AT_MOST, NAN, "", "", 0, false                         \
    }
static const struct row rows[] = {
    {"forward, 60 s", FORWARD, row_mean, "speed_x", 0.5, AT_LEAST, 0.3, "m/s", "0.575", 0, false},
    {"  falls", FORWARD, row_falls, "falls", 0, AT_MOST, 0, "", "0", 0, false},
    {"backward", BACKWARD, row_mean, "speed_x", 0.38, AT_LEAST, NAN, "m/s", "0.51", 0, false},
    {"  falls", BACKWARD, row_falls, "falls", 0, AT_MOST, NAN, "", "0", 0, false},
    {"sideways", SIDEWAYS, row_mean, "speed_y", 0.35, AT_LEAST, NAN, "m/s", "0.37", 0, false},
    {"  falls", SIDEWAYS, row_falls, "falls", 0, AT_MOST, NAN, "", "0", 0, false},
    {"turning", TURN, row_mean, "speed_turn", 2.2, AT_LEAST, NAN, "rad/s", "2.45", 0, false},
    {"  falls", TURN, row_falls, "falls", 0, AT_MOST, NAN, "", "0", 0, false},
    GROUND_ROWS("turf of 10 mm (hsl-small)", 10),
    GROUND_ROWS("turf of 8 mm (spl)", 8),
    GROUND_ROWS("a hard floor", 0),
    {"forward with 16 + 16 ms delay", LATE, row_mean, "speed_x", 0.5, AT_LEAST, NAN, "m/s", "", 0, false},
    {"  falls", LATE, row_falls, "falls", 0, AT_MOST, NAN, "", "", 0, false},
    {"0.4 m/s, bodies +-20 %: falls in 100 m", SPREAD, per_hundred_metres, "falls", 0, AT_MOST, NAN, "", "", 0, false},
    {"random commands, 5 min each: falls in all", RANDOM, row_falls, "falls", 0, AT_MOST, NAN, "", "1", 0, false},
    {"start to full speed, longest", START_STOP, row_largest, "start", 5, AT_MOST, NAN, "steps", "", 0, false},
    {"stop from full speed, longest", START_STOP, row_largest, "stop", 3, AT_MOST, NAN, "steps", "", 0, false},
    {"pendulum 0.5 m, upright", PULL_5, row_withstood, "falls", 20, AT_LEAST, NAN, "", "19", 0, false},
    {"  stabilisation off", OFF_5, row_withstood, "falls", NAN, AT_LEAST, NAN, "", "5", 0, true},
    {"pendulum 0.6 m, upright", PULL_6, row_withstood, "falls", 20, AT_LEAST, NAN, "", "11", 0, false},
    {"  stabilisation off", OFF_6, row_withstood, "falls", NAN, AT_LEAST, NAN, "", "6", 0, true},
    {"pendulum 0.7 m, upright", PULL_7, row_withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0, false},
    {"  stabilisation off", OFF_7, row_withstood, "falls", NAN, AT_LEAST, NAN, "", "", 0, true},
    {"pendulum 0.8 m, upright", PULL_8, row_withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0, false},
    {"  stabilisation off", OFF_8, row_withstood, "falls", NAN, AT_LEAST, NAN, "", "", 0, true},
    {"pendulum 0.9 m, upright", PULL_9, row_withstood, "falls", 18, AT_LEAST, NAN, "", "19", 0, false},
    {"  stabilisation off", OFF_9, row_withstood, "falls", NAN, AT_LEAST, NAN, "", "", 0, true},
    {"2 N s from the front while stepping, upright", FRONT, row_withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0,
     false},
    {"2 N s from the back while stepping, upright", BACK, row_withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0,
     false},
    {"1.5 N s from the sides while stepping, upright", SIDE, row_withstood, "falls", 20, AT_LEAST, NAN, "", "20", 0,
     false},
    {"1.2 N s from the front at 0.4 m/s, upright", WALKING, row_withstood, "falls", 18, AT_LEAST, NAN, "", "14", 0,
     false},
    {"get up from the front", UP_FRONT, row_without, "fallen", 20, AT_LEAST, 20, "", "18/18", 0, false},
    {"  longest", UP_FRONT, largest_known, "up_after", 4, AT_MOST, NAN, "s", "", 0, false},
    {"get up from the back", UP_BACK, row_without, "fallen", 20, AT_LEAST, 20, "", "12/12", 0, false},
    {"  longest", UP_BACK, largest_known, "up_after", 4, AT_MOST, NAN, "s", "", 0, false},
    {"get up from the side", UP_SIDE, row_without, "fallen", 20, AT_LEAST, 20, "", "", 0, false},
    {"  longest", UP_SIDE, largest_known, "up_after", 4, AT_MOST, NAN, "s", "", 0, false},
    {"strong kick, ball within 4 cm, upright", KICK, row_without, "falls", 20, AT_LEAST, NAN, "", "", 0, false},
    {"  ball", KICK, kicks_mean, "ball_speed_max", 2.7, AT_LEAST, NAN, "m/s", "2.5-2.8", 0, false},
    {"  direction error, 1 sigma", KICK, kicks_rms_degrees, "kick_error", 5, AT_MOST, NAN, "deg", "", 0, false},
    AIMED_ROWS("15 degrees outwards", OUT_15),
    AIMED_ROWS("30 degrees outwards", OUT_30),
    AIMED_ROWS("45 degrees outwards", OUT_45),
    AIMED_ROWS("60 degrees outwards", OUT_60),
    AIMED_ROWS("90 degrees outwards", OUT_90),
    AIMED_ROWS("15 degrees inwards", IN_15),
    AIMED_ROWS("30 degrees inwards", IN_30),
    AIMED_ROWS("45 degrees inwards", IN_45),
    {"kick while walking, upright", WALK_KICK, row_without, "falls", 20, AT_LEAST, NAN, "", "", 0, false},
    {"  ball", WALK_KICK, row_mean, "ball_speed_max", 1.4, AT_LEAST, NAN, "m/s", "1.3-1.4", 0, false},
    {"  walks on", WALK_KICK, row_mean, "speed_x", 0.15, AT_LEAST, NAN, "m/s", "", 0, false},
    {"fall: trunk impact less with protection", SOFT, percent_less, "impact", 30, AT_LEAST, NAN, "%", "", STIFF, false},
    {"  peak joint torque less", SOFT, percent_less, "torque_max", 30, AT_LEAST, NAN, "%", "", STIFF, false},
    {"odometry drift over 2.5 m, uncalibrated", RAW, centimetres, "", 12, AT_MOST, NAN, "cm", "", 0, false},
    {"  calibrated", CALIBRATED, centimetres, "", 4, AT_MOST, NAN, "cm", "20", 0, false},
    {"orientation error while walking", ORIENTATION, rms_degrees, "tilt_error", 1.5, AT_MOST, NAN, "deg", "", 0, false},
    {"CPU of the motion cycle, standing", STANDS, percent_of_core, "", 1, AT_MOST, 1, "%", "91 (45)", 0, false},
    {"  animation", PLAYS, percent_of_core, "", 1, AT_MOST, 1, "%", "140 (50)", 0, false},
    {"  walking", WALKS, percent_of_core, "", 1, AT_MOST, 1, "%", "129 (60)", 0, false},
};

void bench_motion(struct nm_bench *bench);
void bench_motion(struct nm_bench *bench)
{
    static struct trial all[TRIALS];
    const struct nm_bench_options *o = nm_bench_options(bench);
    bool kid = !o->robot || strstr(o->robot, "kid70");
    struct setup setup;
    struct nm_err err = {0};
    struct trial_options options;
    memcpy(all, trials, sizeof all);
    setup_begin(&setup);
    if (trial_options(&options, bench, &setup, FIRST_SEED, &err)) {
        nm_bench_say(bench, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    } else {
        trials_play(all, TRIALS, &options);
        motion_calibrate(&all[RAW], &all[CALIBRATED], &options);
        for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
            row_tell(bench, all, &rows[i], kid ? rows[i].goal : rows[i].other);
    }
    trials_free(all, TRIALS);
    setup_end(&setup);
}
