#include "sim/stance.h"

#include <string.h>

#include "body/leg_ik.h"

void nm_stance(const struct nm_body *body, double bend, double q[])
{
    memset(q, 0, body->n_joints * sizeof *q);
    for (int side = 0; side < 2; side++) {
        struct nm_leg leg;
        double joints[NM_GROUP] = {0};
        if (!body->leg[side].n || nm_leg_init(&leg, body, (enum nm_side)side, NULL) < 0) continue;
        struct pose3 sole = leg.chain.home;
        sole.pos.z *= 1 - bend;
        if (bend > 0 && leg.chain.n > 3) joints[3] = 0.5; /* the knee's side of the search */
        if (nm_leg_ik(&leg, sole, joints, NULL) != NM_REACHED) continue;
        for (uint32_t i = 0; i < leg.chain.n; i++) q[leg.chain.joints[i]] = joints[i];
    }
    nm_apply_mimics(body, q);
}
