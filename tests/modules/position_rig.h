/* A robot on a kid field whose percepts are made here, without the simulator: for the tests of the position modules. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/pitch.h"
#include "core/harness.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/LineInformationRelative.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/FieldBorder.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/Percepts.h"
#include "nutmeg_msgs/PoseHypotheses.h"
#include "nutmeg_msgs/TeamState.h"

/* The kid field in middles of lines, as fields/kid.yaml has it (test_position_ukf compares). */
static const struct nm_pitch_size kid = {.length = 8.95,
                                         .width = 5.95,
                                         .line_width = 0.05,
                                         .goal_area_length = 0.95,
                                         .goal_area_width = 2.95,
                                         .penalty_area_length = 1.95,
                                         .penalty_area_width = 4.95,
                                         .penalty_mark = 1.475,
                                         .circle_radius = 0.725,
                                         .goal_width = 2.6,
                                         .goal_depth = 0.6,
                                         .post = 0.1,
                                         .border = 1};

struct rig {
    struct nm_harness *h;
    double time;
    struct pose2 truth;
    struct pose2 robot_to_odom;
    double look; /* rad, where the head points */
};

static inline void rig_open(struct rig *r, const struct nm_module *module, const char *settings, struct pose2 at)
{
    *r = (struct rig){.h = nm_harness_new(module, settings), .truth = at};
}

/* Percepts of all landmarks and lines within 3.5 m and 50 degrees of where it looks, without errors. */
static inline void rig_see(struct rig *r)
{
    struct nm_landmark marks[NM_PITCH_LANDMARKS];
    struct nm_line lines[NM_PITCH_LINES];
    uint32_t n = nm_pitch_landmarks(&kid, marks), n_lines = nm_pitch_lines(&kid, lines);
    struct pose2 field_to_robot = pose2_inv(r->truth);
    Percepts *percepts = nm_harness_set(r->h, "percepts");
    LineInformationRelative *seen = nm_harness_set(r->h, "line_relative");
    for (uint32_t i = 0; i < n; i++) {
        struct pose2 p = pose2_mul(field_to_robot, (struct pose2){marks[i].x, marks[i].y, marks[i].theta});
        if (hypot(p.x, p.y) > 3.5 || fabs(angle_normal(atan2(p.y, p.x) - r->look)) > 0.87) continue;
        Percept *to = nm_append(&percepts->percepts, &Percept_type);
        to->kind = (uint8_t)marks[i].kind;
        to->confidence = 0.9f;
        to->located = true;
        to->position = (Point){p.x, p.y, 0};
        to->orientation = (float)p.theta;
    }
    for (uint32_t i = 0; i < n_lines; i++) {
        const struct nm_line *l = &lines[i];
        struct pose2 first = {0}, last = {0};
        int found = 0;
        for (int k = 0; k <= 100; k++) { /* the first piece in view */
            struct pose2 at = {l->x0 + (l->x1 - l->x0) * k / 100, l->y0 + (l->y1 - l->y0) * k / 100, 0};
            struct pose2 p = pose2_mul(field_to_robot, at);
            bool in = hypot(p.x, p.y) < 3.5 && fabs(angle_normal(atan2(p.y, p.x) - r->look)) < 0.87;
            if (!in && found) break;
            if (in && !found++) first = p;
            if (in) last = p;
        }
        if (!found || hypot(first.x - last.x, first.y - last.y) < 0.3) continue;
        LineSegmentRelative *to = nm_append(&seen->segments, &LineSegmentRelative_type);
        to->start = (Point){first.x, first.y, 0};
        to->end = (Point){last.x, last.y, 0};
        to->confidence = 0.9f;
    }
}

static inline void rig_odometry(struct rig *r)
{
    Odometry *o = nm_harness_set(r->h, "odometry");
    o->pose.pose.position = (Point){r->robot_to_odom.x, r->robot_to_odom.y, 0};
    o->pose.pose.orientation = (Quaternion){0, 0, sin(r->robot_to_odom.theta / 2), cos(r->robot_to_odom.theta / 2)};
}

/* Walks with this velocity, looks left and right, sees; as often as an image comes. */
static inline void rig_run(struct rig *r, double seconds, struct pose2 velocity, bool sees)
{
    const double dt = 1.0 / 30;
    for (double t = 0; t < seconds; t += dt) {
        struct pose2 step = {velocity.x * dt, velocity.y * dt, velocity.theta * dt};
        r->truth = pose2_mul(r->truth, step);
        r->robot_to_odom = pose2_mul(r->robot_to_odom, step);
        r->time += dt;
        r->look = 1.0 * sin(2 * M_PI * r->time / 4);
        rig_odometry(r);
        if (sees) rig_see(r);
        nm_harness_step(r->h, dt);
    }
}

static inline struct pose2 rig_pose(struct rig *r)
{
    const PoseWithCovarianceStamped *p = nm_harness_get(r->h, "pose");
    assert_non_null(p);
    const Quaternion *q = &p->pose.pose.orientation;
    return (struct pose2){p->pose.pose.position.x, p->pose.pose.position.y,
                          quat_yaw((struct quat){q->w, q->x, q->y, q->z})};
}

static inline double rig_error(struct rig *r)
{
    struct pose2 p = rig_pose(r);
    return hypot(p.x - r->truth.x, p.y - r->truth.y) + fabs(angle_normal(p.theta - r->truth.theta));
}

static inline void rig_match(struct rig *r, uint8_t game, bool penalized)
{
    MatchState *m = nm_harness_set(r->h, "match_state");
    m->connected = true;
    m->state = game;
    m->penalized = penalized;
    m->player_number = 2;
}

/* Mates that all say where the ball is and where they are. */
static inline void rig_mates(struct rig *r, uint32_t n, struct pose2 ball, double age)
{
    TeamState *team = nm_harness_set(r->h, "team_state");
    for (uint32_t i = 0; i < n; i++) {
        TeamMate *mate = nm_append(&team->mates, &TeamMate_type);
        mate->player_number = (uint8_t)(3 + i);
        mate->alive = true;
        mate->heard = mate->message.header.stamp = nm_stamp(nm_ns(r->time));
        mate->message.pose.weight = 0.9f;
        mate->message.pose.pose = (Pose2D){-3.5, 2.5 - i, 0};
        mate->message.ball_known = true;
        mate->message.ball = (Point){ball.x, ball.y, 0};
        mate->message.ball_covariance[0] = mate->message.ball_covariance[3] = 0.02;
        mate->message.ball_age = (float)age;
    }
}
