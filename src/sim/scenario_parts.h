/* The reader of scenarios, shared by scenario*.c: values of a map by a table of rows. */
#ifndef NM_SIM_SCENARIO_PARTS_H
#define NM_SIM_SCENARIO_PARTS_H

#include "sim/scenario.h"

struct reading {
    struct nm_scenario *scenario;
    struct nm_err *err;
    int rc;
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
void read_measures(struct reading *r, const struct nm_yaml *list); /* scenario_measure.c */
void read_conditions(struct reading *r, const struct nm_yaml *list, struct nm_condition **to, uint32_t *n);

/* ---- playing ---- */

struct trail { /* of one robot */
    struct pose2 start, last;
    double path, turned; /* m, rad */
    double tilt, tilt_max;
    uint32_t falls;
    bool fallen;
    struct nm_whereabouts where;
};

struct nm_run {
    const struct nm_scenario *scenario;
    struct nm_run_options options;
    struct nm_pitch pitch;
    struct nm_stage *stage;
    struct nm_arena arena;
    int64_t end;          /* ns */
    struct nm_dice *dice; /* of each event        */
    int64_t *due;         /* ns, of each event    */
    uint32_t *done;       /* how often it has happened */
    uint32_t *parts;      /* what a fault's part is on each robot: NM_PLAYERS an event */

    struct trail trails[NM_PLAYERS];
    struct vec3 ball, ball_velocity, ball_start;
    double ball_speed_max;
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
void trail_moved(struct nm_run *run, uint32_t robot); /* by hand: the way there does not count */
double measure_value(const struct nm_run *run, const struct nm_measure *measure, uint32_t index, uint32_t robot);
bool condition_holds(const struct nm_run *run, const struct nm_condition *condition);
/* scenario_events.c */
int events_prepare(struct nm_run *run, struct nm_err *err);
void events_happen(struct nm_run *run);

#endif
