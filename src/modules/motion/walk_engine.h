/* The walk: steps that the robot's own rocking times, placed where they catch the body.
 *
 * Frame of everything here: the point on the ground under the ankle of the support foot, x along that foot, z up. With
 * the height h of the centre of mass, w = sqrt(g / h), the divergent part of its motion is xi = c + v / w (the capture
 * point): it runs away from the centre of pressure p as (xi - p) e^(w t), and a foot put at the right distance stops
 * it.
 *
 * Forwards the centre of mass follows the pendulum's own motion; sideways it is only kept half way between the feet,
 * and lifting a foot makes the robot rock (after rUNSWift's Walk2014). A step ends when the other foot takes the
 * weight: without waiting for that the walk falls within seconds. The foot lands where the nominal step wants it plus a
 * share of how far the capture point will be off at the end of the step. Gyroscope and tilt act on ankles and hips of
 * the foot that stands. */
#ifndef NM_MODULES_MOTION_WALK_ENGINE_H
#define NM_MODULES_MOTION_WALK_ENGINE_H

#include "body/leg_ik.h"

/* Every number that is tuned. X(name, default, least, most, unit, what it does) */
#define WALK_PARAMS(X)                                                                                                 \
    X(period, 0.212, 0.12, 0.6, "s", "planned time of a step; the real one is longer, since it waits for the weight")  \
    X(period_speed, 0.15, -0.5, 0.5, "10/m", "share by which it grows for each 0.1 m of step")                         \
    X(width, 0.101, 0.05, 0.3, "m", "distance of the ankles when stepping on the spot")                                \
    X(width_speed, 0.05, 0, 0.5, "1", "grows with the length of the step")                                             \
    X(height, 0.312, 0.1, 1, "m", "of the hips over the ground")                                                       \
    X(lift, 0.024, 0, 0.1, "m", "how high a foot is lifted")                                                           \
    X(land, 0.003, 0, 0.02, "m", "a landing foot reaches this deep below the ground")                                  \
    X(lean, 0.004, -0.3, 0.4, "rad", "of the trunk, forwards")                                                         \
    X(lean_speed, 0.13, -1, 1, "rad/m", "more for each metre of step")                                                 \
    X(pivot_x, 0.007, -0.05, 0.05, "m", "planned centre of pressure, before the ankle")                                \
    X(pivot_in, -0.006, -0.03, 0.03, "m", "planned centre of pressure, inwards of the ankle")                          \
    X(place_x, 0.41, 0, 1.5, "1", "share of the error of the capture point that the next step takes, forwards")        \
    X(place_y, 0.62, 0, 1.5, "1", "the same sideways")                                                                 \
    X(place_side, 0.4, 0, 1.5, "1", "the same sideways while stepping sideways")                                       \
    X(timing, 0.1, 0, 1, "1", "share of the capture point's own time that the step's rate takes")                      \
    X(ankle_x, 0.33, -2, 6, "rad/m", "ankle pitch for each metre of error of the capture point")                       \
    X(ankle_y, 1.02, -2, 6, "rad/m", "ankle roll for each metre of error of the capture point")                        \
    X(gyro_ankle_pitch, 0.046, -0.1, 0.4, "s", "ankle pitch for each rad/s of the trunk")                              \
    X(gyro_ankle_roll, 0.023, -0.1, 0.4, "s", "ankle roll for each rad/s of the trunk")                                \
    X(tilt_ankle_pitch, 0.39, -0.5, 2, "1", "ankle pitch for each rad of tilt")                                        \
    X(tilt_ankle_roll, 0.01, -0.5, 2, "1", "ankle roll for each rad of tilt")                                          \
    X(gyro_hip_pitch, 0.126, -0.2, 0.5, "s", "hip pitch for each rad/s of the trunk")                                  \
    X(gyro_hip_roll, 0.019, -0.2, 0.5, "s", "hip roll for each rad/s of the trunk")                                    \
    X(level, 0.53, 0, 1.5, "1", "share of the tilt that the swinging foot is turned back, to land flat")               \
    X(speed_ahead, 0.42, 0, 2, "1", "of a servo's lag behind a moving goal that is made up in advance")                \
    X(pull, 0.5, 0, 10, "1/s", "how fast the planned centre of mass gives way to the measured one")                    \
    X(rate, 0.94, 0.7, 1.3, "1", "scale of w, for what the body is more than a point")                                 \
    X(observe_place, 0.33, 0.01, 1, "1", "of the difference to the measured centre of mass, a tick")                   \
    X(observe_speed, 7, 0.1, 30, "1/s", "the same, into its speed")                                                    \
    X(look_ahead, 0.017, 0, 0.06, "s", "age of what is measured, made up by prediction")                               \
    X(swing_begin, 0.0, 0, 0.4, "1", "phase at which the swinging foot begins to move on")                             \
    X(swing_end, 0.98, 0.6, 1, "1", "phase at which it is where it lands")                                             \
    X(early, 0.56, 0.3, 1, "1", "phase from which the other foot may take over")                                       \
    X(longest, 1.6, 1, 4, "1", "a step ends after so many planned times, weight or not")                               \
    X(turn_share, 0.75, 0.5, 1, "1", "of a turn done by the foot that opens")

struct walk_params {
#define X(name, value, least, most, unit, about) double name;
    WALK_PARAMS(X)
#undef X
};

struct walk_sense {
    const double *q;            /* of all joints of the body, rad                    */
    struct quat torso_to_world; /* yaw does not matter                               */
    struct vec3 gyro;           /* rad/s in the torso                                */
    double cells[2][NM_CELLS];  /* N                                                 */
    bool feet;                  /* the cells are to be believed                      */
};

struct walk_command {
    double step[3]; /* m, m, rad wanted in one step: forwards, left, turn left */
    bool walk;      /* false: stop as soon as that is safe, then stand */
};

enum walk_mode { WALK_STAND, WALK_STEP };

struct walk_engine {
    const struct nm_body *body;
    struct nm_leg leg[2];
    double w;                /* 1/s, of the pendulum, unscaled                                      */
    double weight;           /* N                                                                   */
    double nearest;          /* m, ankles may not come closer                                       */
    double lag[2][NM_GROUP]; /* s, of each servo behind a moving goal                               */
    struct walk_joint {      /* where feedback acts                                                 */
        uint32_t at;         /* in the leg's chain                                                  */
        double sign;         /* of its axis against the torso's                                     */
    } hip_roll[2], hip_pitch[2], ankle_roll[2], ankle_pitch[2];
    /* the step */
    enum walk_mode mode;
    enum nm_side support;
    uint32_t steps; /* since the start of walking                                          */
    double phase, time, duration;
    double share;               /* of the lift, grows over the first steps                             */
    double step[3];             /* the command as it is now                                            */
    double from_pivot[2];       /* capture point at the begin of the nominal step, from the pivot      */
    double land[2], land_yaw;   /* nominal place of the swinging foot                                */
    double swing[3], swing_yaw; /* the swinging foot as it is planned now                          */
    double begin_lift, hips;
    double com[2]; /* planned                                                             */
    /* what is known of the body */
    double com_seen[2], com_speed[2], error[2];
    struct vec3 com_in_torso, gyro;
    bool observing;
    double q_last[2][NM_GROUP];
    bool moved;
    bool changed;         /* the support foot changed in the last tick                           */
    struct pose2 stepped; /* from the old support foot to the new one, as measured               */
};

int walk_engine_init(struct walk_engine *e, const struct nm_body *body, const struct walk_params *p,
                     struct nm_err *err);
/* Back to standing on both feet. */
void walk_engine_reset(struct walk_engine *e, const struct walk_params *p);
/* One tick: goals for the legs' joints, in the order of body->leg[side].joints. */
void walk_engine_step(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense,
                      const struct walk_command *command, double dt, double goals[2][NM_GROUP]);

#endif
