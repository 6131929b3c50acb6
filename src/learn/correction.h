/* What is added to a policy's last layer at full speed ahead. A gate, which depends on the command alone, lets all of
 * it pass at full speed and none of it where much less speed, or another direction, is asked for: there the policy
 * answers bit for bit as without it. In a file it is a small branch beside the last layer, so that the network itself
 * stays what was learned. */
#pragma once

#include "body/gait.h"
#include "nn/net.h"

enum { NM_CORRECTION_NEURONS = 128 }; /* of the last hidden layer */

/* Floats only: checkpoints look at each of them. */
struct nm_correction {
    float share[3];      /* of the speeds ahead, to a side and of turning, for 1 of the observed command */
    float slope, offset; /* gate: slope (ahead - side - turn) + offset, within 0 and 1                   */
    float last[NM_CORRECTION_NEURONS + 1][NM_GAIT_ACTS]; /* the bias is its last row                     */
};

/* Adds nothing; its gate is that of what was trained at most: forwards, back, to a side, a turn. */
void nm_correction_init(struct nm_correction *c, const double most[4]);
bool nm_correction_sane(const struct nm_correction *c);
/* How much of it passes, 0 to 1. A mirrored robot has the same. */
double nm_correction_gate(const struct nm_correction *c, const float obs[NM_GAIT_OBS]);

/* Adds the branch to a network: the value `name` becomes that of `action`, corrected. `hidden` are the last hidden
 * layers of the network and of its mirror image. -1 with a sentence. */
int32_t nm_correction_write(const struct nm_correction *c, const struct nm_gait *gait, struct nm_net *net,
                            uint32_t observation, const int32_t hidden[2], int32_t action, const char *name,
                            struct nm_err *err);
/* 1 where a policy has none; -1 with a sentence where it has one that this program does not understand. */
int nm_correction_read(struct nm_correction *c, const struct nm_net *net, struct nm_err *err);
