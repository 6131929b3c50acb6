/* What one robot has learned, carried over to another body, so that training does not start with a robot that cannot
 * stand.
 *
 * The joints of both bodies are matched by what they do: the side, the axis (roll, pitch, yaw) and their order from the
 * hip down. Joints that turn the other way get the other sign, and speeds are scaled by the bodies' own units of speed
 * and time. All of this is linear, so only the first and the last layer change. */
#pragma once

#include "body/gait.h"
#include "nn/mlp.h"
#include "nn/net.h"

/* Fills `actor` from a policy that nm_policy_net made for the body of `from`; `prefix` says from which of its networks
 * (learn/policy.h). -1 with a sentence for another net. */
int nm_inherit(const struct nm_gait *to, struct nm_mlp *actor, const struct nm_gait *from, const struct nm_net *net,
               const char *prefix, struct nm_err *err);
