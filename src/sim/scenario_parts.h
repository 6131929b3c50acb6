/* The reader of scenarios, shared by scenario*.c: values of a map by a table of rows. */
#pragma once

#include "sim/scenario.h"

struct reading {
    struct nm_scenario *scenario;
    struct nm_err *err;
    int rc;
    bool at_end; /* conditions may name what is known only then */
};

/* One key of a map: how its value is read, and where it goes. */
struct row {
    const char *key;
    void (*read)(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to);
    size_t offset;   /* of the target in the struct that is filled */
    double min, max; /* of numbers                                 */
    bool needed;
};

/* Refuses keys without a row, reads the others, tells what is missing. */
void read_rows(struct reading *r, const struct nm_yaml *map, const struct row *rows, uint32_t n, void *target);
#define READ_ROWS(r, map, rows, target) read_rows((r), (map), (rows), sizeof(rows) / sizeof *(rows), (target))

/* Readers; the comment is the target's type. */
typedef void read_value(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to);
read_value read_number;   /* double                                                      */
read_value read_switch;   /* bool                                                        */
read_value read_seconds;  /* double: 20 ms, 3 s                                          */
read_value read_nanos;    /* int64_t: the same                                           */
read_value read_text;     /* const char *, at most 200 bytes                             */
read_value read_range;    /* struct nm_range: 3, or [2, 4]                               */
read_value read_times;    /* struct nm_range of seconds: 3 s, or [2 s, 4 s]              */
read_value read_angles;   /* struct nm_range of rad: 1.57, 90 deg, or two of them        */
read_value read_point;    /* struct nm_somewhere: [x, y] or [x, y, z]                    */
read_value read_pose;     /* struct nm_somewhere: [x, y] or [x, y, theta]                */
read_value read_robots;   /* uint32_t, bits: a name, a list of names, all                */
read_value read_posture;  /* enum nm_posture: front, back, left, right                   */
read_value read_fidelity; /* enum nm_fidelity                                            */

/* The word's place in a list; otherwise a sentence that begins with `what`, the nearest word, and UINT32_MAX. */
uint32_t read_word(struct reading *r, const struct nm_yaml *node, const char *what, const char *const *words,
                   uint32_t n);
/* Index of a robot, UINT32_MAX with a sentence. */
uint32_t read_robot(struct reading *r, const struct nm_yaml *node);

void read_events(struct reading *r, const struct nm_yaml *list);   /* scenario_events.c  */
void read_measures(struct reading *r, const struct nm_yaml *list); /* scenario_aims.c    */
void read_score(struct reading *r, const struct nm_yaml *map);
void read_condition(struct reading *r, const struct nm_yaml *node, struct nm_condition *c);
void read_conditions(struct reading *r, const struct nm_yaml *list, struct nm_condition **to, uint32_t *n);
read_value read_world;     /* struct nm_world_options: scenario_world.c */
read_value read_surrounds; /* the same, by a name                      */

/* ---- playing ---- */

struct trail { /* of one robot */
    struct pose2 start, last;
    double path, turned;        /* m, rad */
    double ahead, aside;        /* m, the way along its own forward direction and to its left */
    double stands;              /* m, height of the trunk when it does                         */
    double first_fall;          /* s; NaN: never                                               */
    double still_since;         /* s, lying                                                    */
    double lay_still, up_since; /* s; NaN: not yet, or not now                         */
    double risen;               /* greatest share of standing upright                          */
    double tilt, tilt_max;
    uint32_t falls, put_back;
    double struck; /* 1: a push or the pendulum met it upright, 0: it had fallen by then; NaN: nothing met it */
    bool fallen;
    struct nm_whereabouts where;
};

struct drive { /* what a robot is told on cmd_vel */
    bool on;
    double x, y, turn;   /* m/s, rad/s */
    int64_t next, until; /* ns         */
};

enum { GAIT = 48, GLANCES = 32 };

/* What one measure has gathered of one robot in its window. */
struct tally {
    double since, until;         /* s, looked at so far; NaN: not yet */
    double ahead, aside, turned; /* of the trail at its begin         */
    double ahead_now, aside_now, turned_now;
    double sum, most;
    uint32_t n, steps;
    double step_time[GAIT], step_ahead[GAIT]; /* of the first steps */
    struct pose2 odometry, truth;             /* at its begin: base_footprint, as thought and as it is */
    double drift, turn;                       /* m, rad: how far one is from the other now            */
};

/* What a robot's own brain says, and what is needed to judge it. */
struct listener {
    struct nm_edge *edge; /* NULL: nobody asks        */
    bool odometry_known, kicking, place_known, ball_known;
    bool swings; /* it has had the joints for the kick that was asked for last */
    struct pose2 odometry;
    struct vec3 kick_place;         /* of the ball, base_footprint */
    struct vec3 ball;               /* as the robot has seen it, the same */
    struct quat torso;              /* by the brain             */
    int64_t torso_time, torso_seen; /* ns       */
    struct {
        int64_t time;
        struct quat rot;
    } glances[GLANCES]; /* the truth of the last moments */
    uint32_t n_glances;
    double max_turn;  /* rad/s: while the trunk turns faster, its body_model believes no camera pose; NaN: none */
    uint32_t support; /* foot that carries it; 2: none did yet */
    uint32_t steps;
    struct vec3 velocity; /* of the trunk, a step ago */
};

/* One joint, as it was a step ago. */
struct hold {
    bool on;
    double goal;     /* rad                                               */
    double strength; /* when its goal was young last                      */
    double loose;    /* s, so long it has been in nobody's hand           */
};

struct nm_run {
    const struct nm_scenario *scenario;
    struct nm_run_options options;
    struct nm_pitch pitch;
    struct nm_stage *stage;
    struct nm_arena arena;
    int64_t end;                   /* ns */
    struct nm_dice *dice, *clocks; /* of each event: what it does, and when again */
    int64_t *due;                  /* ns, of each event    */
    uint32_t *done;                /* how often it has happened */
    uint32_t *parts;               /* what a fault's part is on each robot: NM_PLAYERS an event */

    struct drive drives[NM_PLAYERS];
    struct pose2 targets[NM_PLAYERS]; /* in the field, where each was told to walk to; NaN: nowhere */
    struct trail trails[NM_PLAYERS];
    bool windows;                        /* something is measured over one */
    struct tally (*tallies)[NM_PLAYERS]; /* of each measure */
    struct listener listeners[NM_PLAYERS];
    struct hold (*holds)[NM_JOINTS]; /* of each robot; NULL: nobody asks */
    struct vec3 ball, ball_velocity, ball_start;
    double ball_speed_max;
    double kick_direction; /* in the field, of the last kick that was asked for; NaN: none was */
    uint32_t kicker;       /* whom the last kick was asked of                       */
    int scored;
    double reached[NM_SCENARIO_MEASURES][NM_PLAYERS]; /* s, of `time_to`; NaN: not yet */
    bool over;
    char ended[120];
    uint32_t n_faults;
    char fault[160];
};

double draw(struct nm_dice *dice, struct nm_range range);
/* scenario_measure.c */
void trail_start(struct nm_run *run);
void trail_follow(struct nm_run *run);
void trail_moved(struct nm_run *run, uint32_t robot);  /* by hand: the way there does not count */
void trail_struck(struct nm_run *run, uint32_t robot); /* something hits it now */
double measure_value(const struct nm_run *run, const struct nm_measure *measure, uint32_t index, uint32_t robot);
bool condition_holds(const struct nm_run *run, const struct nm_condition *condition);
double score_of(const struct nm_run *run);
/* scenario_tally.c */
int tally_listen(struct nm_run *run, uint32_t robot, struct nm_player *player, struct nm_err *err);
void tally_start(struct nm_run *run);
void tally_follow(struct nm_run *run);
double tally_value(const struct nm_run *run, uint32_t measure, uint32_t robot);
/* scenario_grip.c */
void grip_begin(struct nm_run *run);
void grip_follow(struct nm_run *run, uint32_t robot, double values[NM_MEASURES]);
/* scenario_happen.c */
struct pose2 ground_pose(const struct nm_run *run, uint32_t robot); /* base_footprint in the field, as it is true */
/* scenario_events.c */
int events_prepare(struct nm_run *run, struct nm_err *err);
void events_happen(struct nm_run *run);
