/* A scenario: who stands where, what happens when, how long, and what is measured. It is read from a YAML file
 * (scenarios/, docs/simulator.md has the whole language), checked completely, and then played with one seed after
 * another:
 *
 *     struct nm_scenario *scenario = nm_scenario_read("scenarios/push.yaml", &options, err);
 *     struct nm_run *run = nm_run_new(scenario, &run_options, err);
 *     while (nm_run_step(run) > 0) {}
 *     nm_run_result(run, &result);
 *
 * What it measures can be weighed into one score, which `nutmeg tune` improves. Wherever a time line has a number it
 * may have two, [low, high]: then every seed draws its own. */
#pragma once

#include "codec/yaml.h"
#include "sim/stage.h"

enum {
    NM_SCENARIO_EVENTS = 256,
    NM_SCENARIO_MEASURES = 16,
    NM_SCENARIO_CONDITIONS = 32,
    NM_SCENARIO_REPEATS = 10000, /* of one event */
};

struct nm_range {
    double low, high;
};

/* ---- what is measured ---- */

enum nm_measure_kind {
    /* of a robot */
    NM_MEASURE_FALLEN,
    NM_MEASURE_UPRIGHT,
    NM_MEASURE_FALLS,
    NM_MEASURE_TILT,
    NM_MEASURE_TILT_MAX,
    NM_MEASURE_HEIGHT,
    NM_MEASURE_DISTANCE,
    NM_MEASURE_FORWARD,
    NM_MEASURE_PATH,
    NM_MEASURE_SPEED,
    NM_MEASURE_TURNED,
    NM_MEASURE_BALL_NEAR,
    NM_MEASURE_GOALS,
    NM_MEASURE_KICKING,
    NM_MEASURE_SURVIVED,
    NM_MEASURE_UP_AFTER,
    NM_MEASURE_RISEN,
    NM_MEASURE_STRUCK,
    NM_MEASURE_CHARGE,
    NM_MEASURE_VOLTAGE,
    NM_MEASURE_HOTTEST,
    NM_MEASURE_TARGET_ERROR,
    NM_MEASURE_TARGET_TURN,
    /* of a robot, over a window of time */
    NM_MEASURE_SPEED_X,
    NM_MEASURE_SPEED_Y,
    NM_MEASURE_SPEED_TURN,
    NM_MEASURE_STEPS,
    NM_MEASURE_STEPS_TO_SPEED,
    NM_MEASURE_IMPACT,
    NM_MEASURE_TORQUE_MAX,
    NM_MEASURE_LOOSE,
    NM_MEASURE_STRAYED,
    NM_MEASURE_LEAP,
    NM_MEASURE_TILT_ERROR,
    NM_MEASURE_TRUNK_RATE,
    NM_MEASURE_CAMERA_LOST,
    NM_MEASURE_ODOMETRY_DRIFT,
    NM_MEASURE_ODOMETRY_TURN,
    NM_MEASURE_MOVED,
    NM_MEASURE_LAST_STEP,
    NM_MEASURE_FOOTFALL,
    NM_MEASURE_JOULES,
    NM_MEASURE_TIME_TO, /* s, until a condition held first */
    /* of the world */
    NM_MEASURE_TIME,
    NM_MEASURE_BALL_SPEED,
    NM_MEASURE_BALL_SPEED_MAX,
    NM_MEASURE_BALL_DISTANCE,
    NM_MEASURE_BALL_DIRECTION,
    NM_MEASURE_KICK_ERROR,
    NM_MEASURE_BALL_X,
    NM_MEASURE_BALL_Y,
    NM_MEASURE_SCORED,
    NM_MEASURE_INCIDENTS,
    NM_MEASURES,
    NM_MEASURES_OF_ROBOTS = NM_MEASURE_TIME_TO + 1,
    NM_MEASURE_WINDOWS = NM_MEASURE_SPEED_X, /* the first that has one; the last stands before time_to */
};
struct nm_measure_row {
    const char *name, *unit, *about;
    bool yes_no;
};
extern const struct nm_measure_row nm_measure_rows[NM_MEASURES];

struct nm_condition {
    enum nm_measure_kind measure;
    bool listed;     /* it is one of `measures`, known at the end           */
    uint32_t index;  /* which                                               */
    uint32_t robots; /* a bit each, of a robot's measure                */
    bool all;        /* it must hold for each of them; else for any one */
    double above, below;
    bool is;
    double value;  /* of `is`                                 */
    int64_t after; /* ns; it is not looked at before          */
    uint32_t line;
};

struct nm_measure {
    enum nm_measure_kind kind;
    const char *label;
    double from, to;           /* s, the window of those that have one */
    struct nm_condition until; /* of NM_MEASURE_TIME_TO                */
};

/* What a run is worth: a weighted sum of measures, each the mean over the robots. More is better. */
struct nm_score {
    uint32_t measure; /* index                                    */
    double weight;
    double least, most; /* the value counts as at least and at most */
    double missing;     /* counts where nothing was measured        */
};

/* ---- what happens ---- */

enum nm_event_kind {
    NM_EVENT_PUSH,
    NM_EVENT_PENDULUM,
    NM_EVENT_PLACE,
    NM_EVENT_BALL,
    NM_EVENT_SHOOT,
    NM_EVENT_FAULT,
    NM_EVENT_SET,
    NM_EVENT_SAY,
    NM_EVENT_POWER,
    NM_EVENT_PRESS,
    NM_EVENT_DRIVE,
    NM_EVENT_TARGET,
    NM_EVENT_KICK,
    NM_EVENTS
};

struct nm_somewhere {
    struct nm_range x, y, z, theta; /* m, rad */
};

struct nm_event {
    enum nm_event_kind kind;
    const struct nm_yaml *node; /* for sentences                                        */
    struct nm_range at;         /* s                                                    */
    struct nm_range every;      /* s, 0: once                                           */
    uint32_t times;
    uint32_t robots;           /* a bit each                                           */
    struct nm_range size;      /* impulse (N s), pull-back or distance (m), speed (m/s) */
    struct nm_range direction; /* rad, in the robot's frame                            */
    struct nm_somewhere place; /* where to                                             */
    struct nm_somewhere from;  /* of a shot                                            */
    bool has_from;
    struct nm_somewhere velocity; /* of the ball, m/s; of a drive, theta in rad/s         */
    bool either;                  /* from this side or from the other, as the seed says   */
    uint32_t of;                  /* robot in whose frame a ball is put; NM_PLAYERS: field */
    bool from_kick_place;         /* and from where that robot says it kicks best         */
    bool aimed;                   /* a kick: `direction` says where to, not `place`       */
    bool seen;                    /* a kick: the ball is where the robot sees it          */
    bool waits;                   /* for a condition, instead of a time                   */
    struct nm_condition when;
    double rest;               /* share of drives that stand still instead             */
    struct nm_somewhere point; /* of the trunk's frame                                 */
    bool has_point;            /* otherwise the trunk's centre of mass                 */
    uint32_t target;           /* robot that a shot is aimed at; NM_PLAYERS: a place   */
    double duration;           /* s; infinite: for good                                */
    enum nm_posture posture;
    enum nm_fault_kind fault;
    const char *part; /* joint or side of a fault, button, parameter, topic   */
    uint32_t index;   /* of that button or side                               */
    const struct nm_yaml *message;
    bool on;
};

/* ---- the whole ---- */

struct nm_scenario_robot {
    const char *name, *folder, *lineup;
    uint32_t team, number; /* team 0 or 1 */
    struct nm_somewhere at;
    enum nm_posture posture;
    double scatter; /* share of each joint's range in which it begins anyhow */
    uint32_t n_set, n_says;
    const char *const *set;
    const char **says; /* topics of its `say` events */
    const struct nm_yaml *node;
};

struct nm_scenario {
    struct nm_arena arena; /* owns all of this */
    const char *file, *name, *about;
    const char *root;
    const char *field; /* path */
    enum nm_fidelity fidelity;
    uint64_t first_seed, last_seed;
    double duration; /* s */
    struct nm_world_options world;
    double bus_period, camera_delay, camera_period; /* s; 0: as on every stage */
    bool listens;                                   /* to what the brains say of themselves */
    bool bus;                                       /* goals and measurements go through the real driver */
    float colours[2][3];
    uint32_t n_robots, n_events, n_measures, n_until, n_expect, n_score;
    struct nm_scenario_robot robots[NM_PLAYERS];
    bool has_ball;
    struct nm_somewhere ball, ball_velocity;
    struct nm_event *events;
    struct nm_measure *measures;
    struct nm_condition *until, *expect;
    struct nm_score *score;
};

/* The world of `conditions: hard` or `nominal`; false if there is none of that name. */
bool nm_conditions(const char *name, struct nm_world_options *to);

/* NULL with every fault found, each `file:line: …` with the nearest valid name. `root`: the folder with robots/,
 * lineups/ and fields/. */
struct nm_scenario *nm_scenario_read(const char *path, const char *root, struct nm_err *err);
struct nm_scenario *nm_scenario_parse(const char *file, const char *text, size_t size, const char *root,
                                      struct nm_err *err);
void nm_scenario_free(struct nm_scenario *scenario);

/* "7" or "1-20"; -1 if it is neither. */
int nm_seeds_parse(const char *text, uint64_t *first, uint64_t *last);

/* ---- playing it ---- */

struct nm_run_options {
    uint64_t seed;
    uint64_t body; /* seed of the world, for the same body with other events; 0: the same */
    uint32_t workers;
    double seconds;     /* instead of the scenario's; 0: that */
    const char *lineup; /* file, for every robot that has one; NULL: its own */
    const char *robot;  /* folder, for every robot; NULL: its own                */
    uint32_t n_set;
    const char *const *set; /* parameters of every robot's line-up, over the scenario's own */
    struct nm_registry *registry;
    bool cpu; /* these as in nm_stage_options */
    int (*ready)(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err);
    void (*said)(void *user, uint32_t robot, const Log *line);
    void *user;
    const struct nm_stage_hardware *bus; /* for scenarios that want it; NULL: this program has none */
    struct nm_mount mount;               /* these two as in nm_stage_options */
    uint32_t n_things;
    const struct nm_solid *things;
    bool elsewhere; /* brains play in other processes, see nm_stage_options */
};

/* One seed's outcome; flat, so that it can travel through a pipe. */
struct nm_result {
    uint64_t seed;
    int64_t time;    /* ns, simulated */
    char ended[120]; /* why           */
    bool passed;     /* everything that was expected */
    char failed[160];
    uint64_t n_incidents; /* the first of them are kept */
    struct {
        int64_t time;
        char text[120];
    } incidents[8];
    uint32_t n_faults; /* of events that could not happen */
    char fault[160];   /* the first of them               */
    double values[NM_SCENARIO_MEASURES][NM_PLAYERS];
    double score; /* NaN: the scenario has none */
};

struct nm_run;
struct nm_run *nm_run_new(const struct nm_scenario *scenario, const struct nm_run_options *options, struct nm_err *err);
void nm_run_free(struct nm_run *run);
/* One step of the stage with all that belongs to it: 1, or 0 when it is over. */
int nm_run_step(struct nm_run *run);
struct nm_stage *nm_run_stage(const struct nm_run *run);
double nm_run_length(const struct nm_run *run); /* s, if nothing ends it earlier */
void nm_run_result(const struct nm_run *run, struct nm_result *result);

/* "red1 fallen is true": for sentences. */
void nm_condition_text(const struct nm_scenario *scenario, const struct nm_condition *condition, char *to, size_t size);
