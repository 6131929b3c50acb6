/* The part of the model text that is not a robot: options, ground, goals, ball, pendulum. Only for mjcf.c. */
#pragma once

#include <stdio.h>

#include "sim/mjcf.h"

/* Collision bits: what stands still, the ball, each robot, the pendulum, which meets trunks only. */
#define MJCF_STILL    1u
#define MJCF_BALL     2u
#define MJCF_ROBOT(i) (4u << (i))
#define MJCF_ROBOTS   (((1u << 14) - 1) << 2)
#define MJCF_PENDULUM (1u << 16)

void mjcf_head(FILE *out, uint32_t robots, const struct nm_mjcf_options *options);
void mjcf_field(FILE *out, const struct nm_pitch *pitch, const struct nm_mjcf_options *options);
