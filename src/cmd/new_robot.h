/* A robot's folder made from a URDF: what the URDF tells is written down as it was found; what no URDF tells (servos,
 * lens, motions) is taken from a robot that is there, so that the new one moves at once and its owner corrects numbers
 * instead of writing files. */
#pragma once

#include "body/robot.h"
#include "cmd/skeleton.h"
#include "core/registry.h"

struct new_robot {
    const char *name, *urdf; /* its text */
    const struct nm_body *body, *like;
    const struct nm_registry *registry; /* of modules */
};

/* Reads a URDF and its text into `robot`; -1 with a sentence. */
int new_robot_read(struct nm_arena *arena, struct new_robot *robot, const char *path, struct nm_err *err);
/* Its files, ended by {0}. `said`: what was assumed; `left`: motions of the other robot that could not be taken over; a
 * sentence each. */
const struct skeleton_file *new_robot_files(struct nm_arena *arena, const struct new_robot *robot, struct nm_err *said,
                                            struct nm_err *left);
