/* A limb as a product of exponentials: the axes of its joints and a point on each, all in the base's frame at zero
 * pose, and the pose of its end there. On it works the numeric inverse kinematics: Levenberg's and Marquardt's damped
 * least squares with joint limits, which end at the nearest pose that can be reached. Nothing here allocates. */
#pragma once

#include "base/export.h"
#include "body/kinematics.h"

/* A radian of wrong orientation counts as much as this many metres of wrong place when poses are compared. */
#define NM_IK_ARM 0.1

enum nm_reach { NM_REACHED, NM_NEAREST };

/* how far the answer is from what was asked; both 0 if it was reached */
struct nm_ik_error {
    double distance, angle; /* m, rad */
};

struct nm_chain {
    uint32_t n;
    uint32_t joints[NM_GROUP];
    struct vec3 axis[NM_GROUP], point[NM_GROUP];
    struct pose3 home; /* end to base at zero */
    double lower[NM_GROUP], upper[NM_GROUP];
    int32_t follows[NM_GROUP]; /* joint of this chain it is coupled to, or -1: q = multiplier * q[follows] + offset */
    double multiplier[NM_GROUP], offset[NM_GROUP];
    uint32_t released; /* a bit for each axis of the end about which its orientation does not matter: x, y, z */
};

/* 0, or -1 with a sentence: no such limb, or one with a sliding joint. */
NM_EXPORT int nm_chain_init(struct nm_chain *chain, const struct nm_body *body, const struct nm_group *group,
                            struct nm_err *err);

NM_EXPORT struct pose3 nm_chain_forward(const struct nm_chain *chain, const double q[]);

/* From the start in q to the pose of the end nearest to the target (in the base's frame). `held` has a bit for every
 * joint that keeps its value. */
NM_EXPORT enum nm_reach nm_chain_ik(const struct nm_chain *chain, struct pose3 target, uint32_t held, double q[],
                                    struct nm_ik_error *error);

/* Turns v about a unit axis by the angle with this cosine and sine. */
static inline struct vec3 nm_turn(struct vec3 axis, double c, double s, struct vec3 v)
{
    double along = vec3_dot(axis, v) * (1 - c);
    struct vec3 x = vec3_cross(axis, v);
    return (struct vec3){v.x * c + x.x * s + axis.x * along, v.y * c + x.y * s + axis.y * along,
                         v.z * c + x.z * s + axis.z * along};
}

/* Solves the damped normal equations of least squares for the step: (J'J + damping) step = J'e over the joints that are
 * free. J has `rows` rows of NM_GROUP. Returns J'e in `gradient`. */
NM_EXPORT void nm_damped_step(uint32_t rows, const double j[][NM_GROUP], const double e[], uint32_t n, uint32_t held,
                              double damping, double gradient[], double step[]);

/* Joints at a limit towards which the gradient pushes; they take no part in the step. */
NM_EXPORT uint32_t nm_at_limits(const struct nm_chain *chain, const double q[], const double gradient[]);
