/* What was learned as a network for a file: an observation in, an action out (body/gait.h).
 *
 * It is the mean of a network's answer and of the mirror image of its answer to the mirrored robot. It may have a
 * second network of the same kind for slow walking and steps on the spot. Then it has a second input, `slow`: 1 where
 * that one alone is to answer, 0 where the first one is (nm_gait_slow). The last layer of the first network
 * may have a correction at full speed ahead (learn/correction.h). */
#pragma once

#include "learn/correction.h"
#include "learn/walking.h"
#include "nn/mlp.h"
#include "nn/net.h"

#define NM_POLICY_SLOW "slow_" /* before the names of the second network's weights */

/* `actor` has the shape of both; `slow` is NULL where there is no second network, `correction` where there is none. The
 * file's notes say what its numbers mean. */
struct nm_net *nm_policy_net(const struct nm_gait *gait, const struct nm_walk_limits *limits,
                             const struct nm_mlp *actor, const float *weights, const float *slow,
                             const struct nm_correction *correction, struct nm_err *err);
