/* Inverse kinematics of a leg: hip (three axes), knee, ankle (two axes), in any order and direction of the hip's axes.
 * Where the hip's axes meet in one point and the ankle's in another the answer is closed (Pieper, 1968; solved with the
 * subproblems of Paden and Kahan, so that no axis needs to be parallel to anything). Where only the hip's first axis
 * passes by, the rest is closed for each of its angles, and the right angle is searched for. Any other leg is solved
 * numerically. A leg that lacks a joint places its foot and turns it as far as the others can. A target out of reach
 * gives the nearest pose and says so. Nothing here allocates.
 *
 * Knees bend the way their limits say. Where both ways are open they bend the human way, forwards. */
#pragma once

#include "base/export.h"
#include "body/chain.h"

enum nm_leg_method { NM_LEG_CLOSED, NM_LEG_SCANNED, NM_LEG_NUMERIC };

struct nm_leg {
    struct nm_chain chain; /* its end is the sole                                           */
    enum nm_leg_method method;
    double miss;               /* m, how far an axis passes by the point where the others meet  */
    int32_t coupled;           /* joint of the chain that moves with the other leg's, or -1      */
    uint32_t pitch[3];         /* joints of the chain: hip pitch, knee, ankle pitch                  */
    double bend;               /* 1 or -1: the sign of the knee's angle where it is bent             */
    bool backwards;            /* the knee bends as a bird's does                                    */
    bool by_limits;            /* its limits say so; otherwise both ways were open                   */
    double multiplier, offset; /* right's = multiplier * left's + offset, for the coupled joint  */

    /* precomputed for the closed answer */
    struct pose3 home_inv;
    struct vec3 hip, ankle, knee_to_hip, knee_to_ankle; /* meeting points at zero, in the base   */
    struct vec3 across, beside;                         /* of length 1, square to the third axis */
    bool planar;                                        /* axes 3, 4 and 5 are parallel          */
    double same[2];                                     /* 1, or -1 where 4 and 5 turn against 3 */
    double square_sum;                                  /* of the two legs of the triangle   */
    double knee[3], roll[3];                            /* a0 + a1 cos q + a2 sin q          */
    double mid_cos[6], mid_sin[6];                      /* middle of each joint's limits     */
};

/* The joint of a hip or an ankle whose axis at zero lies along y (pitch) or x (roll), and which way it counts; sign 0:
 * there is none. */
struct nm_leg_joint {
    uint32_t at; /* in the chain */
    double sign;
};
NM_EXPORT struct nm_leg_joint nm_leg_joint(const struct nm_leg *leg, bool ankle, bool pitch);

NM_EXPORT int nm_leg_init(struct nm_leg *leg, const struct nm_body *body, enum nm_side side, struct nm_err *err);

/* q: the joints in the chain's order. A leg without a closed answer begins at what q holds before the call, so that the
 * answers along a motion are neighbours: give it the last ones. `error` may be NULL. */
NM_EXPORT enum nm_reach nm_leg_ik(const struct nm_leg *leg, struct pose3 sole_to_base, double q[],
                                  struct nm_ik_error *error);

/* A start for the search: the knee a little bent, all else in the middle of its limits or at zero. */
NM_EXPORT void nm_leg_crouch(const struct nm_leg *leg, double q[]);

/* Both legs at once, for bodies whose legs share a joint (NAO's hips): the leading leg gets its pose, the other one the
 * nearest it can have with the shared joint where the leading one put it. */
NM_EXPORT enum nm_reach nm_legs_ik(const struct nm_leg leg[2], const struct pose3 sole_to_base[2], enum nm_side leading,
                                   double q[2][NM_GROUP], struct nm_ik_error error[2]);
