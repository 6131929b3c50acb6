/* Chooses the foot that kicks, and the part of it that meets the ball: the toe for kicks ahead, the inner side for
 * passes to the other side. Each choice has its reach, which depends on the place of the ball and on the direction. The
 * easiest choice that reaches is taken. If none reaches, the kick is refused with a sentence that says what is wrong
 * and what would be possible. */
#pragma once

#include "body/leg_ik.h"
#include "modules/motion/kick_path.h"

#define KICK_REACH_PARAMS(X)                                                                                           \
    X(near, 0.13, -0.5, 1, "m", 1, "a ball nearer than this, ahead of the ankle of the support foot, is refused")      \
    X(far, 0.26, 0, 1, "m", 1, "a ball farther than this, ahead of that ankle, is refused")                            \
    X(inner, 0.06, -0.5, 1, "m", 1,                                                                                    \
      "least sideways distance from the support foot at which the foot may meet the ball")                             \
    X(outer, 0.25, 0, 1, "m", 1,                                                                                       \
      "largest sideways distance from the support foot at which the foot may meet the ball")                           \
    X(reach, 0.2, 0, 1, "m", 1, "how far sideways from its hip the foot may meet the ball")                            \
    X(inwards, 0.95, 0, 1.6, "rad", 0, "largest angle of a kick across the support foot")                              \
    X(outwards, 0.75, 0, 1.6, "rad", 0, "largest angle of a kick away from the support foot")                          \
    X(bend, 0.1, 0, 1, "m", 1, "how far the back swing may go sideways around the other leg")                          \
    X(pass_near, 0.13, -0.5, 1, "m", 1, "the same as `near`, for a pass")                                              \
    X(pass_far, 0.26, 0, 1, "m", 1, "the same as `far`, for a pass")                                                   \
    X(pass_inner, 0.02, -0.5, 1, "m", 1, "the same as `inner`, for a pass")                                            \
    X(pass_outer, 0.25, 0, 1, "m", 1, "the same as `outer`, for a pass")                                               \
    X(pass_reach, 0.2, 0, 1, "m", 1, "the same as `reach`, for a pass")                                                \
    X(pass_least, 0.6, 0, 1.6, "rad", 0, "least angle of a pass inwards")                                              \
    X(pass_most, 1.66, 0, 2, "rad", 0, "largest angle of a pass inwards")                                              \
    X(pass_effort, 0.03, -1, 1, "m", 1, "the toe may go this far out of its way before a pass is preferred")

struct kick_reach_params {
#define X(name, value, least, most, unit, power, about) double name;
    KICK_REACH_PARAMS(X)
#undef X
};

/* the robot as it stands, both feet on the ground */
struct kick_stand {
    struct pose3 torso_to_sole[2]; /* over each foot                       */
    struct pose2 other[2];         /* the other sole, seen from each       */
    struct pose2 robot[2];         /* base_footprint, seen from each       */
    struct vec3 toe[2];            /* of each foot, in its sole's frame    */
    double inner[2];               /* m, to the inner edge of each foot    */
    double straight[2];            /* m, trunk's origin over each sole with straight legs */
    double leg[2];                 /* m, hip to ankle, straight                           */
    double q[NM_JOINTS];           /* joints as they are told              */
};

struct kick_want {
    double ball_x, ball_y, direction; /* m, m, rad in base_footprint */
};

struct kick_choice {
    enum nm_side support;
    enum kick_surface surface;
};

struct kick_stand kick_stand_of(const struct nm_body *body, const double q[]);

/* The wanted kick in the frame of a support foot. */
struct kick_start kick_start_of(const struct kick_stand *stand, struct kick_choice choice,
                                const struct kick_want *want);

/* Where the ball lies best for a foot, in base_footprint. */
void kick_best_place(const struct kick_path_params *p, const struct kick_stand *stand, enum nm_side foot, double xy[2]);

/* If no foot reaches, -1 and a sentence that says what is wrong and what would be possible. */
int kick_choose(const struct kick_path_params *path, const struct kick_reach_params *p, const struct kick_stand *stand,
                const struct kick_want *want, struct kick_choice *choice, char *why, size_t size);
