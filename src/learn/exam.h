/* How a policy walks in worlds that no training saw: asked for the limit of each direction, for nothing at all, and
 * pushed from four sides while it steps on the spot. */
#pragma once

#include "learn/walking.h"
#include "nn/net.h"
#include "sim/workers.h"

enum { NM_LEARN_STAND = NM_WALK_WAYS, NM_LEARN_PUSHED, NM_LEARN_SCORES };

struct nm_learn_score {
    double asked, speed; /* m/s or rad/s; mean over the runs that stayed up. Of pushes: N s, 0 */
    double watts;
    uint32_t falls, runs;
};

struct nm_exam {
    const struct nm_gait *gait;
    const struct nm_pitch *pitch;
    const struct nm_walk_limits *limits;
    const struct nm_net *policy;
    uint64_t first_seed;
    uint32_t runs; /* of each kind; of pushes four times as many */
    double seconds;
};

int nm_examine(const struct nm_exam *exam, struct nm_workers *workers, struct nm_learn_score scores[NM_LEARN_SCORES],
               struct nm_err *err);
