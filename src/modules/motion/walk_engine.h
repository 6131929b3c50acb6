/* The walk: steps that the robot's own rocking times, placed where they catch the body.
 *
 * Frame of everything here: the point on the ground under the ankle of the support foot, x along that foot, z up. With
 * the height h of the centre of mass, w = sqrt(g / h), the divergent part of its motion is xi = c + v / w (the capture
 * point): it runs away from the centre of pressure p as (xi - p) e^(w t), and a foot put at the right distance stops
 * it.
 *
 * Forwards the centre of mass follows the pendulum's own motion; sideways it is kept half way between the feet, or part
 * of the way to the pendulum's motion (`sway`), and lifting a foot makes the robot rock (after rUNSWift's Walk2014). A
 * step ends when the other foot takes the weight: without waiting for that the walk falls within seconds. The foot
 * lands where the nominal step wants it plus a share of how far the capture point will be off at the end of the step.
 * Gyroscope and tilt act on ankles and hips of the foot that stands.
 *
 * walk_plan.c has the nominal step, walk_kick.c the kicks, walk_sense.c what is measured, walk_joints.c the way from
 * feet and trunk to joints, walk_engine.c one step after the other. */
#pragma once

#include "body/leg_ik.h"
#include "modules/motion/walk_params.h"

struct walk_sense {
    const double *q;            /* of all joints of the body, rad                        */
    struct quat torso_to_world; /* yaw matters only in its changes                       */
    struct vec3 gyro;           /* rad/s in the torso                                    */
    double cells[2][NM_CELLS];  /* N                                                     */
    bool tilt;                  /* torso_to_world and gyro are to be believed            */
    bool feet;                  /* the cells are; without them the soles' heights tell the load */
};

struct walk_command {
    double step[3]; /* m, m, rad wanted in one step: forwards, left, turn left */
    bool walk;      /* false: stop as soon as that is safe, then stand */
};

enum walk_mode { WALK_STAND, WALK_STEP };

/* A kick rides on a step of its foot and is over when that foot lands: nothing of it is left at either end. */
struct walk_kick {
    bool wanted;       /* at the next step of that foot            */
    bool active;       /* rides on this step                       */
    enum nm_side foot; /* that kicks                               */
    double swing[2];   /* of the leg's swing: forwards, to the left */
    double turn;       /* rad of the kicking foot, outwards and back */
};

struct walk_engine {
    const struct nm_body *body;
    struct nm_leg leg[2];
    /* what follows from the body */
    double weight;            /* N                                                                  */
    double size;              /* legs, as share of WALK_LEG                                         */
    double legs, ankle, hip;  /* m: hip to ankle, ankle over the sole, hip in the torso (z)         */
    double nearest;           /* m, ankles may not come closer: the feet would touch                */
    double outwards;          /* m that a foot reaches outwards from its ankle                      */
    double narrow;            /* how much of what the ankles leave to the steps its narrow feet add         */
    double push;              /* Nm about y: hips that push harder only tip a short foot              */
    double upright;           /* m between the ankles, for feet that cannot roll; 0: any            */
    double most_hip;          /* s, of the gyroscope's feedback to the hips                         */
    double lag[2][NM_GROUP];  /* s, of each servo behind a moving goal                              */
    double give[2][NM_GROUP]; /* rad for each Nm                                                    */
    struct nm_leg_joint hip_roll[2], hip_pitch[2], ankle_roll[2], ankle_pitch[2]; /* feedback acts there */
    double w, height, width; /* 1/s, of the pendulum, unscaled; m, hips over the ground; m        */
    /* the step */
    enum walk_mode mode;
    enum nm_side support;
    bool stays;     /* stands with its feet where they are */
    uint32_t still; /* steps without a command */
    uint32_t steps; /* since the start of walking                                          */
    double phase, time, duration;
    double pace;                /* s, of the last steps                                                */
    double share;               /* of the lift, grows over the first steps                             */
    double step[3];             /* the command as it is now                                            */
    double trim[3];             /* learnt: added to the command so that it is what comes out           */
    double from_pivot[2];       /* capture point at the begin of the nominal step, from the pivot      */
    double land[2], land_yaw;   /* nominal place of the swinging foot                                  */
    double aim[2];              /* where it is to land now, to catch the body                          */
    double swing[3], swing_yaw; /* the swinging foot as it is planned now                              */
    double begin_lift, hips;
    double com[2], sway; /* planned; sway: as a pendulum would go sideways                      */
    struct walk_kick kick;
    /* what is known of the body */
    double com_seen[2], com_speed[2], error[2];
    struct vec3 com_in_torso, gyro;
    bool observing;
    double q_last[2][NM_GROUP];
    bool moved;
    bool changed;             /* the support foot changed in the last tick                           */
    bool caught;              /* this step is put far from its nominal place                         */
    uint32_t capture_steps;   /* that were                                                           */
    struct pose2 apart;       /* the other foot as measured, seen from the support foot              */
    double facing;            /* rad, the trunk's heading, seen from the support foot                */
    struct pose2 stepped;     /* from the old support foot to the new one, as measured               */
    struct pose2 step_before; /* the same one step earlier                                           */
    double asked[2][3];       /* the command of this step and the one before                         */
    double heading[3];        /* rad, yaw at the last changes                                        */
};

/* Where the other foot is: -1 is to the right. */
static inline double walk_engine_side(enum nm_side support) { return support == NM_LEFT ? -1 : 1; }

int walk_engine_init(struct walk_engine *e, const struct nm_body *body, struct nm_err *err);
/* Takes over parameters, already scaled (walk_params_scale with e->legs), and goes back to standing on both feet. */
void walk_engine_reset(struct walk_engine *e, const struct walk_params *p);
/* One tick: goals for the legs' joints, in the order of body->leg[side].joints. */
void walk_engine_step(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense,
                      const struct walk_command *command, double dt, double goals[2][NM_GROUP]);

/* One tick while something else moves the legs: follows the body and the foot that stands, as far as the load tells. */
void walk_engine_watch(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense, double dt);
/* After walk_engine_watch has seen a change of feet: walks on from the body as it is, at that velocity (m/s, m/s,
 * rad/s). A kick that is wanted rides on this step if it is its foot's. */
void walk_engine_take_over(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense,
                           const double velocity[3]);
/* Whether the body comes to rest where it is: the feet are about side by side, the capture point is over them. */
bool walk_engine_rests(const struct walk_engine *e);
/* m, the capture point ahead of the middle between the feet. */
double walk_engine_ahead(const struct walk_engine *e);
/* Whether a body that stands is about to tip over its feet: the capture point comes to their edge. `rest` is how far
 * ahead it is where the body stands freely. */
bool walk_engine_tips(const struct walk_engine *e, double rest);

struct WalkCommand;
/* Takes over the kick of a command for the next fitting step; otherwise says why not. */
const char *walk_kick_ask(const struct WalkCommand *command, struct walk_kick *kick);
