/* The plan of a kick: a motion of the trunk that keeps the zero-moment point inside the support foot.
 *
 * The motion of the feet is given (kick_path.h). Inverse dynamics of the whole body gives the place of the trunk over
 * them (after Wenk and Roefer, Online generated kick motions for the NAO balanced using inverse dynamics, RoboCup
 * 2013): the motion is sampled, its zero-moment point computed, and what leaves the room given to it inside the foot is
 * taken back by shifting the trunk by d with d - d'' / w^2 = error, the pendulum's equation as one tridiagonal system
 * over the whole motion. A few passes do. The work is split: kick_plan_work takes as many samples as a tick has time
 * for. Nothing here allocates. */
#pragma once

#include "body/dynamics.h"
#include "body/leg_ik.h"
#include "modules/motion/kick_choose.h"

#define KICK_PLAN_PARAMS(X)                                                                                            \
    X(zmp_x, 0.00642, -0.1, 0.1, "m", 1,                                                                               \
      "where the weight is while the robot stands on one foot: this far ahead of its ankle")                           \
    X(zmp_in, 0.00157, -0.05, 0.05, "m", 1, "the same sideways: this far from the ankle towards the other foot")       \
    X(room_x, 0.01, 0, 0.1, "m", 1,                                                                                    \
      "how far the planned zero-moment point may be from that place, forwards and backwards")                          \
    X(room_y, 0.0145, 0, 0.1, "m", 1, "the same sideways")

struct kick_plan_params {
    struct kick_path_params path;
    struct kick_reach_params reach;
#define X(name, value, least, most, unit, power, about) double name;
    KICK_PLAN_PARAMS(X)
#undef X
};

enum { KICK_SAMPLES = 640, KICK_PASSES = 10 };

enum kick_progress { KICK_PLANNING, KICK_PLANNED, KICK_IMPOSSIBLE };

struct kick_pose {
    struct pose3 torso; /* in the support sole's frame */
    double q[NM_JOINTS];
};

struct kick_plan {
    const struct nm_body *body;
    const struct nm_leg *legs; /* two */
    struct kick_path path;
    enum nm_side support;
    double rest[NM_JOINTS];        /* joints that the kick does not move           */
    double weight_from[2];         /* centre of mass at the begin and the end, xy  */
    double weight_on[2];           /* where the weight is while on one foot        */
    double room[2];                /* m                                            */
    double w;                      /* 1/s, of the pendulum                         */
    double dt;                     /* s between two samples                        */
    uint32_t n, pass, next;        /* samples; pass and sample at work             */
    double trunk[KICK_SAMPLES][2]; /* x and y of the trunk's origin              */
    double error[KICK_SAMPLES][2]; /* of the zero-moment point, beyond its room  */
    struct kick_pose window[3];    /* the last three samples of the pass           */
    double farthest;               /* m that a foot misses its way by joints at their limits */
    double short_by;               /* m that the leg is too short for the ball               */
    double excess;                 /* m by which the point leaves its room         */
};

/* m, hip to ankle, straight */
double kick_leg_length(const struct nm_leg *leg);

void kick_plan_begin(struct kick_plan *plan, const struct nm_body *body, const struct nm_leg legs[2],
                     const struct kick_plan_params *p, const struct kick_stand *stand, struct kick_choice choice,
                     const struct kick_want *want);
/* Computes this many samples. KICK_IMPOSSIBLE with a sentence if the legs are too short or the robot would tip over. */
enum kick_progress kick_plan_work(struct kick_plan *plan, uint32_t samples, char *why, size_t size);

/* The body at a time of the plan, with its trunk moved and the kicking foot lifted by so much. */
void kick_plan_pose(const struct kick_plan *plan, double t, const double moved[2], double lifted,
                    struct kick_pose *pose);
/* Where the weight is to be. */
void kick_plan_weight(const struct kick_plan *plan, double t, double xy[2]);
/* The motion in the middle of three poses, dt apart. */
void kick_motion(const struct kick_pose pose[3], uint32_t n_joints, double dt, double qd[], double qdd[],
                 struct nm_motion *motion);
