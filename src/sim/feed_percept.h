/* The messages of a vision, made of simulated percepts: everything one robot saw in one image. */
#pragma once

#include "humanoid_league_msgs/BallRelative.h"
#include "humanoid_league_msgs/GoalRelative.h"
#include "humanoid_league_msgs/LineInformationRelative.h"
#include "humanoid_league_msgs/ObstaclesRelative.h"
#include "nutmeg_msgs/Percepts.h"
#include "sim/percept.h"

#define NM_ROBOT_RADIUS 0.16 /* m, of a robot that stands, as others see it */

struct nm_glimpse {
    Header header; /* of all messages: when the image was taken, base_footprint */
    const char *camera;
    const struct nm_pitch *pitch;
    uint32_t own_team;
    uint32_t team[NM_PLAYERS];
    double radius[NM_PLAYERS]; /* m, of each robot: larger while it lies */
    uint32_t n;
    struct nm_percept percepts[NM_PERCEPTS];
    uint32_t n_segments;
    struct nm_segment segments[NM_PITCH_LINES];
};

void nm_feed_percepts(const struct nm_glimpse *glimpse, Percepts *to);
void nm_feed_ball(const struct nm_glimpse *glimpse, BallRelative *to);
void nm_feed_goal(const struct nm_glimpse *glimpse, GoalRelative *to);
void nm_feed_obstacles(const struct nm_glimpse *glimpse, ObstaclesRelative *to);
/* Pieces of lines, crossings, and the centre circle. */
void nm_feed_lines(const struct nm_glimpse *glimpse, LineInformationRelative *to);
