/* The recorded percepts of one robot, played into a line-up, whose beliefs are held against the truth that the
 * referee's log of the same match has: `nutmeg eval position --log` and `nutmeg eval ball --log`. Play counts, without
 * the time in which the robot lay or was out. */
#pragma once

#include "cmd/ball_trial.h"
#include "cmd/position_trial.h"

struct recorded {
    const char *log;    /* of a robot, made by nutmeg play --log, with referee.mcap beside it */
    const char *lineup; /* file                                                              */
};

/* Poses on these topics, at most NM_OUTING_POSES. */
void recorded_poses(struct setup *setup, const struct recorded *recorded, uint32_t n, const char *const *topics,
                    struct position_result *result);
/* The topic `ball`. */
void recorded_ball(struct setup *setup, const struct recorded *recorded, struct ball_result *result);
