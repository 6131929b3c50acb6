/* The inside of the walk, shared by walk_engine.c, walk_plan.c, walk_kick.c, walk_sense.c and walk_joints.c. */
#pragma once

#include "modules/motion/walk_engine.h"

#define WALK_GRAVITY 9.81

static inline double walk_clip(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
/* What a first-order filter with that time constant (s) takes over in one tick. */
static inline double walk_share(double dt, double constant) { return 1 - exp(-dt / constant); }
static inline enum nm_side walk_other(enum nm_side side) { return side == NM_LEFT ? NM_RIGHT : NM_LEFT; }

/* ---- walk_sense.c: what is measured ---- */

struct walk_seen {
    struct pose2 sole[2];   /* in the torso's level frame                             */
    struct vec3 com;        /* same frame                                             */
    double com_here[2];     /* over the support sole, along it                        */
    double pressure[2];     /* centre of pressure of both feet, over the support sole */
    double load[2], loaded; /* N                                                      */
    double roll, pitch, yaw;
};

void walk_look(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense, double dt,
               struct walk_seen *seen);
/* Moves the observer of the centre of mass on. */
void walk_observe(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen, double dt);
/* The capture point as it will be when what is decided now reaches the motors. */
void walk_capture_point(const struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen,
                        double xi[2]);
/* Coordinates of a point over a sole. */
void walk_into(struct pose2 frame, double x, double y, double out[2]);

/* ---- walk_plan.c: the nominal step ---- */

void walk_plan_step(struct walk_engine *e, const struct walk_params *p);
/* Planned centre of pressure of this step, from the ankle; axis 0 is x. */
double walk_pivot(const struct walk_engine *e, const struct walk_params *p, int axis);
/* The command moves towards what is asked by what one step may change. */
void walk_follow(struct walk_engine *e, const struct walk_params *p, const struct walk_command *command);
/* After a step: what it lacked of the command is learnt. */
void walk_learn(struct walk_engine *e, const struct walk_params *p, double heading);

/* ---- walk_kick.c: kicks that ride on a step ---- */

/* Where the kick puts the swinging foot at a phase: the leg swings about its hip. All in the torso. */
struct pose3 walk_kick_pose(const struct walk_engine *e, const struct walk_params *p, double phase, struct vec3 hip,
                            struct pose3 sole);

/* ---- walk_joints.c: from feet and trunk to joints ---- */

int walk_joints_init(struct walk_engine *e, struct nm_err *err);
/* How far the legs are stretched: as the parameter says, or as much more as limits of ankles and knees demand. */
double walk_stretch(const struct walk_engine *e, const struct walk_params *p);
void walk_pose_legs(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen,
                    double goals[2][NM_GROUP]);
/* Makes up in advance for what servos stay behind: lag behind moving goals, yielding to the weight. */
void walk_run_ahead(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense,
                    double goals[2][NM_GROUP], double dt);
void walk_balance(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen,
                  double goals[2][NM_GROUP]);
