/* What a learned walk sees and says, for any robot with two legs of up to six joints: the same numbers in the trainer
 * and on the robot, made from the robot's model.
 *
 * Every NM_GAIT_PERIOD a policy sees the last four frames (turning rate, direction of up, leg joints, its own last
 * action), the velocity that is asked for and a clock. It answers with an offset from a stance for each leg joint and
 * shoulder, and with the rate of the clock, whose one turn is two steps. In the swing the clock lifts the foot by
 * itself, so that a policy that says nothing steps on the spot. Where the command is zero the clock stops at
 * the next change of the support foot and shows neither side, so that a policy can stand still.
 *
 * A mirror image of a robot is a robot: the maps below say where each number of an observation, or of an action, comes
 * from in the mirror image, and with which sign. */
#pragma once

#include "base/clamp.h"
#include "base/export.h"
#include "body/robot.h"

enum {
    NM_GAIT_LEGS = 12,
    NM_GAIT_ACTS = NM_GAIT_LEGS + 2 + 1, /* with two shoulders and the clock */
    NM_GAIT_FRAME = 6 + NM_GAIT_LEGS + NM_GAIT_ACTS,
    NM_GAIT_FRAMES = 4,
    NM_GAIT_OBS = NM_GAIT_FRAMES * NM_GAIT_FRAME + 3 + 2,
};
#define NM_GAIT_PERIOD 0.016 /* s */
#define NM_GAIT_SPEED  2.0   /* of an observation for 1 m/s that is asked for */
#define NM_GAIT_TURN   0.5   /* and for 1 rad/s                               */

struct nm_mirror {
    uint32_t from;
    float sign;
};

struct nm_gait {
    const struct nm_body *body;
    uint32_t joints[NM_GAIT_ACTS - 1]; /* of the actions: left leg, right leg, shoulders                       */
    uint32_t n_joints;                 /* 12 without shoulders that could swing, else 14                       */
    double scale[NM_GAIT_ACTS - 1];    /* rad of an action of 1                                                */
    double stance[NM_JOINTS];          /* rad, of all joints of the body                                       */
    double stiffness[NM_JOINTS];       /* share of the motors' gain with which joints follow                   */
    double lift[NM_GAIT_LEGS];         /* rad, from the stance to where the foot is highest in the swing       */
    bool still[NM_JOINTS];             /* joints that no action moves                                          */
    double leg;                        /* m, from the hip to the sole of a straight leg                        */
    double stride;                     /* m, from the axis of the hip's pitch to that sole                     */
    double apart;                      /* m between the soles in the stance                                    */
    double pace;                       /* m/s, of a fall through the leg: the unit of speed of this body       */
    double rate;                       /* turns of the clock a second where the action is 0                    */
    struct nm_mirror obs[NM_GAIT_OBS], act[NM_GAIT_ACTS];
};

/* -1 with a sentence for a body without such legs. */
NM_EXPORT int nm_gait_init(struct nm_gait *gait, const struct nm_body *body, struct nm_err *err);

struct nm_gait_state {
    float frames[NM_GAIT_FRAMES][NM_GAIT_FRAME]; /* newest first                     */
    float act[NM_GAIT_ACTS];                     /* the last                         */
    double phase;                                /* of the clock, 0 to 1             */
    double rate;                                 /* turns a second                   */
    bool stands;                                 /* the clock has stopped            */
    double calm;                                 /* s in which little speed is asked for */
};

/* At rest in the stance, the clock at `phase`. */
NM_EXPORT void nm_gait_start(const struct nm_gait *gait, struct nm_gait_state *state, double phase);
/* gyro: rad/s in the torso; up: of the world, in the torso; q: all joints; command: m/s, m/s, rad/s. */
NM_EXPORT void nm_gait_observe(const struct nm_gait *gait, struct nm_gait_state *state, struct vec3 gyro,
                               struct vec3 up, const double *q, const double command[3], float obs[NM_GAIT_OBS]);
/* Takes an action, moves the clock on by one period, and gives goals for all joints, inside of their ranges. */
NM_EXPORT void nm_gait_act(const struct nm_gait *gait, struct nm_gait_state *state, const float act[NM_GAIT_ACTS],
                           const double command[3], double *goals);

/* All that a policy depends on, as text for its file: what the numbers mean, the clock, and each joint's stance, scale
 * and lift. What snprintf returns. */
NM_EXPORT int nm_gait_describe(const struct nm_gait *gait, char *text, size_t room);
/* -1 with a sentence where such a text differs from this gait. What it leaves out is not compared. */
NM_EXPORT int nm_gait_check(const struct nm_gait *gait, const char *text, struct nm_err *err);

/* A commanded speed grows by at most `most`, and becomes smaller twice as fast. In training and on the robot commands
 * do not jump: from full speed forwards to full speed back at once no robot stays up. */
static inline double nm_gait_follow(double from, double to, double most)
{
    bool brakes = from * to < 0 || fabs(to) < fabs(from);
    return from + nm_within(to - from, brakes ? 2 * most : most);
}

/* How fast to walk what is left of a way, m/s, m/s, rad/s: all three parts end together, none of them faster than
 * `most` (forwards, back, to a side, a turn) or braked harder than the body can. A policy follows with a delay: what it
 * is about to walk anyhow, at the speed that it has, is not asked for again. */
NM_EXPORT void nm_gait_drive(const struct nm_gait *gait, struct pose2 left, const double speed[3], const double most[4],
                             double v[3]);

/* How much of the next answer is that of a policy's network for slow walking, 0 to 1: all of it once little of `most`
 * (forwards, back, to a side, a turn) was asked for a while, none as soon as much is. Whoever stops or begins to step
 * is not walking slowly yet. */
NM_EXPORT double nm_gait_slow(struct nm_gait_state *state, const double command[3], const double most[4]);

/* left: 1 where the clock wants the left foot in the air, right: -1, 0 where both are to stand. */
static inline double nm_gait_swing(const struct nm_gait_state *s) { return s->stands ? 0 : sin(2 * M_PI * s->phase); }
