/* The plan of a kick: which foot, and a way of the trunk that keeps the zero-moment point inside the support foot.
 *
 * The way of the feet is given (kick_path.h). Where the trunk must be over it follows from inverse dynamics of the
 * whole body (after Wenk and Roefer, Online generated kick motions for the NAO balanced using inverse dynamics, RoboCup
 * 2013): the motion is sampled, its zero-moment point computed, and what leaves the room given to it inside the foot is
 * taken back by shifting the trunk by d with d - d'' / w^2 = error, the pendulum's equation as one tridiagonal system
 * over the whole motion. A few passes do. The work is split: kick_plan_work takes as many samples as a tick has time
 * for. Nothing here allocates. */
#ifndef NM_MODULES_MOTION_KICK_PLAN_H
#define NM_MODULES_MOTION_KICK_PLAN_H

#include "body/dynamics.h"
#include "body/leg_ik.h"
#include "modules/motion/kick_path.h"

#define KICK_PLAN_PARAMS(X)                                                                                            \
    X(zmp_x, 0.00642, -0.1, 0.1, "m", 1, "where the weight is while on one foot, before its ankle")                    \
    X(zmp_in, 0.00406, -0.05, 0.05, "m", 1, "the same, from the ankle towards the other foot")                         \
    X(room_x, 0.01, 0, 0.1, "m", 1, "how far the planned zero-moment point may leave that place, forwards and back")   \
    X(room_y, 0.0145, 0, 0.1, "m", 1, "the same sideways")                                                             \
    X(near, 0.13, -0.5, 1, "m", 1, "a ball less far before the support foot's ankle is refused")                       \
    X(far, 0.26, 0, 1, "m", 1, "and one farther than this")                                                            \
    X(inner, 0.06, -0.5, 1, "m", 1, "the foot must meet the ball so far beside the support foot, at least")            \
    X(outer, 0.2, 0, 1, "m", 1, "and at most")                                                                         \
    X(inwards, 0.7, 0, 1.6, "rad", 0, "largest angle of a kick across the support foot")                               \
    X(outwards, 0.75, 0, 1.6, "rad", 0, "largest angle of a kick away from it")                                        \
    X(bend, 0.1, 0, 1, "m", 1, "how far the back swing may keep out of the other leg's way")

struct kick_plan_params {
    struct kick_path_params path;
#define X(name, value, least, most, unit, power, about) double name;
    KICK_PLAN_PARAMS(X)
#undef X
};

enum { KICK_SAMPLES = 640, KICK_PASSES = 8 };

enum kick_progress { KICK_PLANNING, KICK_PLANNED, KICK_IMPOSSIBLE };

/* the robot as it stands, both feet on the ground */
struct kick_stand {
    struct pose3 torso_to_sole[2]; /* over each foot                       */
    struct pose2 other[2];         /* the other sole, seen from each       */
    struct pose2 robot[2];         /* base_footprint, seen from each       */
    struct vec3 toe[2];            /* of each foot, in its sole's frame    */
    double straight[2];            /* m, trunk's origin over each sole with straight legs */
    double leg[2];                 /* m, hip to ankle, straight                           */
    double q[NM_JOINTS];           /* joints as they are told              */
};

struct kick_want {
    double ball_x, ball_y, direction; /* m, m, rad in base_footprint */
};

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

struct kick_stand kick_stand_of(const struct nm_body *body, const double q[]);

/* Picks the foot. Where none reaches, -1 and a sentence with what is wrong. */
int kick_choose(const struct kick_plan_params *p, const struct kick_stand *stand, const struct kick_want *want,
                enum nm_side *support, char *why, size_t size);

void kick_plan_begin(struct kick_plan *plan, const struct nm_body *body, const struct nm_leg legs[2],
                     const struct kick_plan_params *p, const struct kick_stand *stand, enum nm_side support,
                     const struct kick_want *want);
/* Looks at so many samples. KICK_IMPOSSIBLE with a sentence if the legs are too short or it would tip over. */
enum kick_progress kick_plan_work(struct kick_plan *plan, uint32_t samples, char *why, size_t size);
/* 0 to 1 */
double kick_plan_done(const struct kick_plan *plan);

/* The body at a time of the plan, with its trunk moved and the kicking foot lifted by so much. */
void kick_plan_pose(const struct kick_plan *plan, double t, const double moved[2], double lifted,
                    struct kick_pose *pose);
/* Where the weight is to be. */
void kick_plan_weight(const struct kick_plan *plan, double t, double xy[2]);
/* The motion in the middle of three poses, dt apart. */
void kick_motion(const struct kick_pose pose[3], uint32_t n_joints, double dt, double qd[], double qdd[],
                 struct nm_motion *motion);

#endif
