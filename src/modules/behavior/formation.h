/* Where a team stands: places for roles, from the rules and the ball, and who takes which place with the least walking
 * (HULKs 2017, sections 4.1.1 and 4.1.2). All in the frame map: x to the opponents' goal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"
#include "base/pitch.h"

enum { FORMATION_PLAYERS = 11 };

enum formation_kind {
    FORMATION_PLAY,            /* the ball is free, or the set play is ours    */
    FORMATION_OWN_KICK_OFF,    /* until the whistle                            */
    FORMATION_RIVAL_KICK_OFF,  /* the same                                     */
    FORMATION_WALL,            /* the opponents have a free kick or a throw-in */
    FORMATION_THEIR_GOAL_KICK, /* everybody is outside of their penalty area   */
    FORMATION_OWN_PENALTY,     /* a penalty kick for us                        */
    FORMATION_RIVAL_PENALTY,   /* a penalty kick against us                    */
};

struct place {
    uint8_t role; /* ROLE_* of TeamMessage */
    struct pose2 pose;
};

struct formation {
    enum formation_kind kind;
    double ball_x, ball_y;
    double keep_off; /* m, what the rules demand from who may not play the ball */
    double spread;   /* m, how far those who do not play the ball stay away from it */
};

/* The places of n field players, the most important first: the first one is the striker's. */
void formation_places(const struct nm_pitch_size *field, const struct formation *f, uint32_t n, struct place places[]);
/* The keeper's place. */
struct pose2 formation_keeper(const struct nm_pitch_size *field, double ball_x, double ball_y);

/* Gives each of n walkers another place so that the sum of costs is least: to[i] is the place of walker i. Costs must
 * be finite. (Hungarian method) */
void formation_assign(uint32_t n, double cost[FORMATION_PLAYERS][FORMATION_PLAYERS], uint32_t to[]);
