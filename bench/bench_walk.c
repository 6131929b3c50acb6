/* nutmeg bench walk: what a walk can do, model-based or learned. Every row is a scenario in the hard conditions with
 * true play of the gears, with seeds that no training and no search has seen; the line-up is the engine's. Beside it
 * stand the goal and what the first experiment with a learned walk reached (docs/motion.md). */
#include <math.h>
#include <string.h>

#include "body/gait.h"
#include "cmd/sim_play.h"
#include "core/files.h"
#include "trials.h"

enum { FIRST_SEED = 70001 };

/* Who walks: a line-up, and the module in it whose time is measured. */
static const struct engine {
    const char *name, *lineup, *module;
    const char *file; /* that it needs in the robot's folder; NULL: none */
} engines[] = {
    {"policy", "motion_policy", "walk_policy", "walk.onnx"},
    {"model", "motion", "walk", NULL},
};

enum {
    FORWARD,
    BACKWARD,
    LEFT,
    RIGHT,
    TURN,
    FORWARD_HALF,
    FORWARD_FULL,
    BACKWARD_HALF,
    BACKWARD_FULL,
    LEFT_HALF,
    LEFT_FULL,
    RIGHT_HALF,
    RIGHT_FULL,
    TURN_HALF,
    TURN_FULL,
    RANDOM,
    SPREAD,
    TURF_1,
    TURF_8,
    TURF_10,
    PUSH,
    HARD_PUSH,
    PENDULUM,
    HARD_PENDULUM,
    LATE,
    STAND,
    TARGET,
    START_STOP,
    FLOOR_HALF,
    FLOOR_FULL,
    ODOMETRY,
    LOOK,
    COLLIDE,
    TRIALS
};

/* what: scenario, seeds, seeds and seconds with --quick; who does less than `least` of the measure `does` has failed */
#define TRIAL(name, n, n_quick, long_quick, measure, amount, ...)                                                      \
    {                                                                                                                  \
        .scenario = name, .seeds = (n), .quick = (n_quick), .seconds = (long_quick), .does = (measure),                \
        .least = (amount), __VA_ARGS__                                                                                 \
    }
#define ASKED(measure, ...) TRIAL("walk/command", 20, 2, 13, measure, 0.05, .velocity = {__VA_ARGS__})
#define ON(blades)          .other_turf = true, .turf = (blades)
static const struct trial trials[TRIALS] = {
    [FORWARD] = TRIAL("walk/forward", 20, 2, 13, "speed_x", 0.1),
    [BACKWARD] = TRIAL("walk/backward", 80, 2, 13, "speed_x", 0.1), /* its goal is one fall in 80 minutes */
    [LEFT] = TRIAL("walk/left", 20, 2, 13, "speed_y", 0.1),
    [RIGHT] = TRIAL("walk/right", 20, 2, 13, "speed_y", 0.1),
    [TURN] = TRIAL("walk/turn", 20, 2, 13, "speed_turn", 0.5),
    [FORWARD_HALF] = ASKED("speed_x", 0.65, 0, 0),
    [FORWARD_FULL] = ASKED("speed_x", 1.3, 0, 0),
    [BACKWARD_HALF] = ASKED("speed_x", -0.425, 0, 0),
    [BACKWARD_FULL] = ASKED("speed_x", -0.85, 0, 0),
    [LEFT_HALF] = ASKED("speed_y", 0, 0.35, 0),
    [LEFT_FULL] = ASKED("speed_y", 0, 0.7, 0),
    [RIGHT_HALF] = ASKED("speed_y", 0, -0.35, 0),
    [RIGHT_FULL] = ASKED("speed_y", 0, -0.7, 0),
    [TURN_HALF] = ASKED("speed_turn", 0, 0, 2.2),
    [TURN_FULL] = ASKED("speed_turn", 0, 0, 4.4),
    [RANDOM] = TRIAL("walk/random", 20, 2, 25, "path", 0.1),
    [SPREAD] = TRIAL("walk/forward", 20, 2, 13, "speed_x", 0.1, .spread = 2),
    [TURF_1] = TRIAL("walk/forward", 20, 1, 13, "speed_x", 0.1, ON(0.001)),
    [TURF_8] = TRIAL("walk/forward", 20, 1, 13, "speed_x", 0.1, ON(0.008)),
    [TURF_10] = TRIAL("walk/forward", 20, 1, 13, "speed_x", 0.1, ON(0.01)),
    [PUSH] = TRIAL("walk/push", 20, 4, 0, "steps", 3, .size = 2.5),
    [HARD_PUSH] = TRIAL("walk/push", 20, 4, 0, "steps", 3, .size = 3),
    [PENDULUM] = TRIAL("motion/pendulum", 20, 2, 0, "steps", 3, .size = 0.9),
    [HARD_PENDULUM] = TRIAL("motion/pendulum", 20, 2, 0, "steps", 3, .size = 1.2),
    [LATE] = TRIAL("walk/late", 20, 2, 13, "speed_x", 0.1),
    [STAND] = TRIAL("walk/stand", 20, 1, 0, "walked", 0.1),
    [TARGET] = TRIAL("walk/target", 20, 4, 0, "distance", 0.5),
    [START_STOP] = TRIAL("walk/start_stop", 20, 2, 0, "full_speed", 0.1),
    [FLOOR_HALF] = TRIAL("walk/command", 20, 1, 13, "speed_x", 0.1, .velocity = {0.65}, ON(0)),
    [FLOOR_FULL] = TRIAL("walk/command", 20, 1, 13, "speed_x", 0.1, .velocity = {1.3}, ON(0)),
    [ODOMETRY] = TRIAL("walk/odometry", 20, 4, 0, "distance", 2.4),
    [LOOK] = TRIAL("walk/command", 20, 2, 13, "speed_x", 0.1, .velocity = {1}),
    [COLLIDE] = TRIAL("walk/collide", 20, 4, 0, "path", 0.05),
};

/* ---- figures ---- */

/* Of those that were measured: who fell before is missing in the row of falls. */
static double mean(const struct trial *all, const struct row *r)
{
    const struct trial *t = &all[r->trial];
    double sum = 0, n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (!isnan(trial_value(t, i, r->label))) sum += trial_value(t, i, r->label), n++;
    return n > 0 ? sum / n : NAN;
}

static double percent(const struct trial *all, const struct row *r) { return 100 * mean(all, r); }
static double centimetres(const struct trial *all, const struct row *r) { return 100 * mean(all, r); }
static double millimetres(const struct trial *all, const struct row *r) { return 1000 * mean(all, r); }
static double most_millimetres(const struct trial *all, const struct row *r) { return 1000 * row_largest(all, r); }
static double degrees(const struct trial *all, const struct row *r) { return 180 / M_PI * mean(all, r); }

/* The velocity that a trial's drive asks for along the row's measure, as it was played. */
static double asked(const struct trial *t, const char *label)
{
    for (uint32_t i = 0; i < t->read->n_events; i++) {
        const struct nm_somewhere *v = &t->read->events[i].velocity;
        if (t->read->events[i].kind != NM_EVENT_DRIVE) continue;
        return !strcmp(label, "speed_x") ? v->x.low : !strcmp(label, "speed_y") ? v->y.low : v->theta.low;
    }
    return NAN;
}

/* Along the direction that is asked for. */
static double speed(const struct trial *all, const struct row *r)
{
    return mean(all, r) * copysign(1, asked(&all[r->trial], r->label));
}

/* Percent by which the mean speed of all bodies differs from the command. */
static double error_of_mean(const struct trial *all, const struct row *r)
{
    return 100 * fabs(mean(all, r) / asked(&all[r->trial], r->label) - 1);
}

/* The same of the body that differs most. */
static double error_of_each(const struct trial *all, const struct row *r)
{
    const struct trial *t = &all[r->trial];
    double most = NAN;
    for (uint32_t i = 0; i < t->n; i++)
        most = fmax(most, 100 * fabs(trial_value(t, i, r->label) / asked(t, r->label) - 1));
    return most;
}

/* s, until both feet stay on the ground, beyond a straight walk over the same metre at the speed of `beside`. */
static double time_beyond(const struct trial *all, const struct row *r)
{
    const struct row forward = {.trial = r->beside, .label = "speed_x"};
    return mean(all, r) - 1 / mean(all, &forward);
}

static double percent_of_core(const struct trial *all, const struct row *r)
{
    const struct trial *t = &all[r->trial];
    double cpu = 0, span = 0;
    for (uint32_t i = 0; i < t->n; i++) cpu += t->outcomes[i].module_cpu, span += t->outcomes[i].span;
    return 100 * cpu / span;
}

#define FULL_SPEED(name, trial, label, goal, darwin, most, unit, known)                                                \
    {name, trial, speed, label, goal, AT_LEAST, darwin, unit, known, 0, false},                                        \
    {                                                                                                                  \
        "  falls", trial, row_falls, "falls", most, AT_MOST, 0, "", "0", 0, false                                      \
    }
#define COMMAND(name, trial, label)                                                                                    \
    {"command against speed, " name, trial, error_of_mean, label, 5, AT_MOST, NAN, "%", "", 0, false},                 \
    {                                                                                                                  \
        "  each body", trial, error_of_each, label, 10, AT_MOST, NAN, "%", "", 0, false                                \
    }
#define UPRIGHT(name, trial, figure, goal, known)                                                                      \
    {                                                                                                                  \
        name ", upright", trial, figure, "falls", goal, AT_LEAST, NAN, "", known, 0, false                             \
    }
#define MOST(name, trial, figure, label, goal, unit, known)                                                            \
    {                                                                                                                  \
        name, trial, figure, label, goal, AT_MOST, NAN, unit, known, 0, false                                          \
    }
static const struct row rows[] = {
    FULL_SPEED("forward as fast as it can", FORWARD, "speed_x", 1.3, 0.7, 0, "m/s", "1.4"),
    FULL_SPEED("backward", BACKWARD, "speed_x", 0.85, 0.4, 1, "m/s", "0.91"),
    FULL_SPEED("to the left", LEFT, "speed_y", 0.7, 0.4, 0, "m/s", "0.75"),
    FULL_SPEED("to the right", RIGHT, "speed_y", 0.7, 0.4, 0, "m/s", "0.75"),
    FULL_SPEED("turning", TURN, "speed_turn", 4.4, 3.5, 0, "rad/s", "4.55"),
    COMMAND("0.65 m/s forward", FORWARD_HALF, "speed_x"),
    COMMAND("1.3 m/s forward", FORWARD_FULL, "speed_x"),
    COMMAND("0.425 m/s backward", BACKWARD_HALF, "speed_x"),
    COMMAND("0.85 m/s backward", BACKWARD_FULL, "speed_x"),
    COMMAND("0.35 m/s left", LEFT_HALF, "speed_y"),
    COMMAND("0.7 m/s left", LEFT_FULL, "speed_y"),
    COMMAND("0.35 m/s right", RIGHT_HALF, "speed_y"),
    COMMAND("0.7 m/s right", RIGHT_FULL, "speed_y"),
    COMMAND("turning 2.2 rad/s", TURN_HALF, "speed_turn"),
    COMMAND("turning 4.4 rad/s", TURN_FULL, "speed_turn"),
    MOST("random commands, 5 min each: falls in all", RANDOM, row_falls, "falls", 1, "", "0 of 10"),
    UPRIGHT("forward, bodies 2 x as different", SPREAD, row_without, 19, ""),
    UPRIGHT("forward on turf of 1 mm", TURF_1, row_without, 20, ""),
    UPRIGHT("forward on turf of 8 mm", TURF_8, row_without, 20, ""),
    UPRIGHT("forward on turf of 10 mm", TURF_10, row_without, 20, ""),
    UPRIGHT("forward on turf of 30 mm", FORWARD, row_without, 20, ""),
    UPRIGHT("2.5 N s from anywhere while stepping", PUSH, row_withstood, 20, "20"),
    UPRIGHT("3 N s from anywhere while stepping", HARD_PUSH, row_withstood, 18, "18"),
    UPRIGHT("pendulum 0.9 m while stepping", PENDULUM, row_withstood, 20, "20"),
    UPRIGHT("pendulum 1.2 m while stepping", HARD_PENDULUM, row_withstood, 18, "19"),
    {"forward with 16 + 16 ms delay", LATE, speed, "speed_x", 1.25, AT_LEAST, NAN, "m/s", "1.34", 0, false},
    MOST("  falls", LATE, row_falls, "falls", NAN, "", ""),
    MOST("standing after a walk: moved in a minute", STAND, millimetres, "moved", 5, "mm", "2100"),
    MOST("  farthest", STAND, most_millimetres, "moved", NAN, "mm", ""),
    MOST("TARGET 1 m away: error", TARGET, centimetres, "target_error", 2, "cm", ""),
    MOST("  direction", TARGET, degrees, "target_turn", 3, "deg", ""),
    {"  time beyond the straight walk", TARGET, time_beyond, "arrived", 2, AT_MOST, NAN, "s", "", FORWARD, false},
    MOST("  falls", TARGET, row_falls, "falls", NAN, "", ""),
    MOST("stop from 1.3 m/s, longest", START_STOP, row_largest, "stop", 4, "steps", ""),
    MOST("start to 1.3 m/s, longest", START_STOP, row_largest, "start", 6, "steps", ""),
    MOST("energy at 0.65 m/s", FORWARD_HALF, mean, "joules", 85, "J/m", "83"),
    MOST("  at 1.3 m/s", FORWARD_FULL, mean, "joules", 70, "J/m", "68"),
    MOST("hardest footfall at 0.65 m/s", FORWARD_HALF, row_largest, "footfall", 180, "N", "173"),
    MOST("  at 1.3 m/s", FORWARD_FULL, row_largest, "footfall", 180, "N", "284"),
    MOST("  at 0.65 m/s on a hard floor", FLOOR_HALF, row_largest, "footfall", NAN, "N", ""),
    MOST("  at 1.3 m/s on a hard floor", FLOOR_FULL, row_largest, "footfall", NAN, "N", "425"),
    MOST("odometry over 2.5 m at 1.2 m/s: error", ODOMETRY, centimetres, "odometry_drift", 8, "cm", ""),
    MOST("  direction", ODOMETRY, degrees, "odometry_turn", 4, "deg", ""),
    MOST("trunk turns too fast to see at 1 m/s: frames", LOOK, percent, "camera_lost", 20, "%", ""),
    MOST("  turning of the trunk, rms", LOOK, mean, "trunk_rate", NAN, "rad/s", ""),
    MOST("two robots walk into each other: falls", COLLIDE, row_falls, "falls", 8, "", ""),
    MOST("CPU of the module", FORWARD_FULL, percent_of_core, "", 0.5, "%", "0.4"),
};

enum { ROWS = sizeof rows / sizeof *rows };

/* ---- the command ---- */

static const struct engine *find_engine(const char *name, struct nm_err *err)
{
    enum { N = sizeof engines / sizeof *engines };
    const char *names[N];
    for (uint32_t i = 0; i < N; i++) {
        names[i] = engines[i].name;
        if (!strcmp(engines[i].name, name)) return &engines[i];
    }
    nm_fail(err, "there is no engine '%s'%s", name, nm_hint(name, names, N).text);
    return NULL;
}

/* What kid70 is asked for, in the measure of another robot: darwin has goals of its own, the others are asked for the
 * same share of the speed that suits the length of their legs. */
static int scale_drives(struct trial_options *o, const struct nm_body *body, struct nm_err *err)
{
    static const double DARWIN[4] = {0.7 / 1.3, 0.4 / 0.85, 0.4 / 0.7, 3.5 / 4.4};
    const char *folder = setup_robot(o->setup, "kid70", err);
    const struct nm_body *kid = folder ? nm_body_load(&o->setup->arena, folder, err) : NULL;
    struct nm_gait own, other;
    if (!kid || nm_gait_init(&own, body, err) || nm_gait_init(&other, kid, err)) return -1;
    for (int i = 0; i < 3; i++) o->scale[i] = own.pace / other.pace;
    if (!strcmp(body->name, "darwin")) memcpy(o->scale, DARWIN, sizeof DARWIN);
    return 0;
}

/* The body that is measured, and with what; NULL with a sentence. */
static const struct nm_body *prepare(struct trial_options *o, const struct nm_bench *bench, struct setup *setup,
                                     struct nm_err *err)
{
    const char *wanted = nm_bench_options(bench)->engine;
    const struct engine *engine = find_engine(wanted ? wanted : engines[0].name, err);
    if (!engine || trial_options(o, bench, setup, FIRST_SEED, err)) return NULL;
    if (!o->robot) o->robot = setup_robot(setup, "kid70", err);
    const struct nm_body *body = o->robot ? nm_body_load(&setup->arena, o->robot, err) : NULL;
    const char *file = body && engine->file ? nm_path(&setup->arena, o->robot, engine->file) : NULL;
    if (!body || scale_drives(o, body, err)) return NULL;
    if (file && !nm_file_exists(file)) {
        nm_fail(err,
                "%s has no policy: there is no %s. Teach it to walk with `nutmeg learn walk --robot %s`, or measure "
                "its model-based walk with --engine model",
                body->name, file, body->name);
        return NULL;
    }
    o->lineup = setup_file(setup, "lineups", "line-up", engine->lineup, err);
    o->module = engine->module;
    return o->lineup ? body : NULL;
}

void bench_walk(struct nm_bench *bench);
void bench_walk(struct nm_bench *bench)
{
    static struct trial all[TRIALS];
    struct setup setup;
    struct nm_err err = {0};
    struct trial_options options;
    memcpy(all, trials, sizeof all);
    setup_begin(&setup);
    const struct nm_body *body = prepare(&options, bench, &setup, &err);
    if (!body) {
        nm_bench_fail(bench, &err);
    } else {
        bool kid = !strcmp(body->name, "kid70"), darwin = !strcmp(body->name, "darwin");
        if (!kid) all[BACKWARD].seeds = 20;
        if (options.quick)
            nm_bench_say(bench, "quick: a few short runs for each row; the goals are meant for 20 runs of 60 s");
        if (!kid)
            nm_bench_say(bench,
                         "the speeds in the names of rows are those of kid70; %s is asked for %.2f (forward), %.2f "
                         "(backward), %.2f (sideways) and %.2f (turning) of them",
                         body->name, options.scale[0], options.scale[1], options.scale[2], options.scale[3]);
        double goals[ROWS];
        for (uint32_t i = 0; i < ROWS; i++) goals[i] = kid ? rows[i].goal : darwin ? rows[i].other : NAN;
        trials_tell(bench, all, TRIALS, rows, goals, ROWS, &options);
    }
    trials_free(all, TRIALS);
    setup_end(&setup);
}
