/* Executes a kick: it follows the plan (kick_plan.h) tick by tick and keeps the robot on its support foot. Before the
 * foot is lifted, the trunk is moved until the measured centre of pressure is where the plan wants it; the time of the
 * plan waits for that. Then gyroscope and tilt are compared with the plan, and the difference acts on ankle and hip of
 * the support leg. Goals run ahead of the servos, because servos lag behind and yield under the torque of inverse
 * dynamics. */
#pragma once

#include "modules/motion/kick_plan.h"

#define KICK_ENGINE_PARAMS(X)                                                                                          \
    X(follow, 0.155, 0, 20, "1/s", -0.5,                                                                               \
      "before the foot is lifted: how fast the trunk corrects an error of the capture point")                          \
    X(wait, 0.6, 0, 3, "s", 0, "longest wait until the weight is over the support foot")                               \
    X(lifted_load, 0.151, 0, 1, "1", 0,                                                                                \
      "the kicking foot may be lifted when it carries less than this share of the weight")                             \
    X(lifted_off, 0.0183, 0, 0.1, "m", 1,                                                                              \
      "the kicking foot may be lifted when the sideways error of the capture point is less than this")                 \
    X(hurry, 36.2, 0, 100, "1/m", -1,                                                                                  \
      "how much faster the foot lands, for each metre of the capture point towards the kicking foot")                  \
    X(landed_load, 0.111, 0, 1, "1", 0, "the kicking foot has landed when it carries this share of the weight")        \
    X(look_back, 0.0324, 0, 0.1, "s", 0,                                                                               \
      "measurements are compared with the plan of this long ago: their age, and the lag of the servos")                \
    X(gyro_ankle_pitch, 0.0372, -0.1, 0.4, "s", 0.5,                                                                   \
      "ankle pitch for each rad/s by which the trunk turns faster than planned")                                       \
    X(gyro_ankle_roll, 0.0265, -0.1, 0.4, "s", 0.5,                                                                    \
      "ankle roll for each rad/s by which the trunk turns faster than planned")                                        \
    X(tilt_ankle_pitch, -0.0349, -0.5, 2, "1", 0, "ankle pitch for each rad of tilt more than planned")                \
    X(tilt_ankle_roll, 0.159, -0.5, 2, "1", 0, "ankle roll for each rad of tilt more than planned")                    \
    X(gyro_hip_pitch, -0.0169, -0.2, 0.5, "s", 0.5,                                                                    \
      "hip pitch for each rad/s by which the trunk turns faster than planned")                                         \
    X(gyro_hip_roll, 0.0299, -0.2, 0.5, "s", 0.5,                                                                      \
      "hip roll for each rad/s by which the trunk turns faster than planned")                                          \
    X(tilt_hip_pitch, 0, -0.5, 2, "1", 0, "hip pitch for each rad of tilt more than planned")                          \
    X(tilt_hip_roll, 0, -0.5, 2, "1", 0, "hip roll for each rad of tilt more than planned")                            \
    X(capture_ankle_pitch, 0.324, -2, 6, "rad/m", -1,                                                                  \
      "ankle pitch for each metre that the capture point is ahead of the plan")                                        \
    X(capture_ankle_roll, 1.02, -2, 6, "rad/m", -1,                                                                    \
      "ankle roll for each metre that the capture point is beside the plan")                                           \
    X(observe_place, 0.33, 0.01, 1, "1", 0,                                                                            \
      "share of the difference to the measured centre of mass that is taken over in each tick")                        \
    X(observe_speed, 7, 0.1, 30, "1/s", -0.5,                                                                          \
      "rate at which the same difference corrects the speed of the centre of mass")                                    \
    X(level, 0.578, 0, 1.5, "1", 0, "share of the tilt by which a landing foot is turned back, so that it lands flat") \
    X(speed_ahead, 0.529, 0, 3, "1", 0, "share of a servo's lag behind a moving goal for which the goal runs ahead")   \
    X(strike_ahead, 1.52, 0, 3, "1", 0, "the same for the kicking leg while it swings")                                \
    X(torque_ahead, 0.627, 0, 2, "1", 0,                                                                               \
      "share of a servo's yielding under load for which the goal is corrected in advance")

struct kick_params {
    struct kick_plan_params plan;
#define X(name, value, least, most, unit, power, about) double name;
    KICK_ENGINE_PARAMS(X)
#undef X
};

/* For a body with such legs (m, hip to ankle, straight). */
void kick_params_scale(struct kick_params *p, double leg);

struct kick_sense {
    const double *q;            /* of all joints, rad                */
    struct quat torso_to_world; /* yaw does not matter               */
    struct vec3 gyro;           /* rad/s in the torso                */
    double cells[2][NM_CELLS];  /* N                                 */
    bool feet;                  /* the cells are to be believed      */
};

enum kick_end { KICK_GOES_ON, KICK_DONE, KICK_NO_WEIGHT, KICK_FALLS };

enum { KICK_PAST = 16 }; /* ticks of the plan that are remembered */

struct kick_engine {
    const struct nm_body *body;
    struct nm_leg leg[2];
    double weight;            /* N                                     */
    double lag[NM_JOINTS];    /* s, of each servo behind a moving goal */
    double yields[NM_JOINTS]; /* rad for each Nm                       */
    struct nm_leg_joint hip_roll[2], hip_pitch[2], ankle_roll[2], ankle_pitch[2]; /* of the body; feedback acts there */
    struct kick_plan plan;
    double t, waited;           /* s                                          */
    double landed;              /* m over the plan's ground, where the foot met it */
    double moved[2];            /* of the trunk, by the measured pressure, m  */
    double residual[NM_JOINTS]; /* told at the begin, less the plan           */
    struct kick_pose pose[3];   /* of the plan: one tick ago, now, in one tick */
    struct kick_past {          /* of the plan: what the robot should have been when it was measured */
        double roll, pitch, roll_rate, pitch_rate;
        double capture[2], zmp[2]; /* m over the support sole */
    } past[KICK_PAST];
    uint32_t newest;
    /* what is measured */
    struct vec3 gyro;
    double off[2], off_rate[2];  /* roll and pitch too much, rad and rad/s     */
    double pressure[2], load[2]; /* m over the support sole, N on each foot    */
    double com[2], com_speed[2]; /* m and m/s over the support sole, observed  */
    double ahead[2];             /* of the capture point before the plan's, m  */
    bool observing;
};

int kick_engine_init(struct kick_engine *e, const struct nm_body *body, struct nm_err *err);
/* After the plan is made: from these goals of all joints. */
void kick_engine_begin(struct kick_engine *e, const double told[]);
/* One tick: goals for all joints of legs and arms; the others keep what `goals` holds. */
enum kick_end kick_engine_step(struct kick_engine *e, const struct kick_params *p, const struct kick_sense *sense,
                               double dt, double goals[NM_JOINTS]);
