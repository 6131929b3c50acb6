/* What the tests of the world's modules share: a robot that stands somewhere, looks somewhere and sees things. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "core/harness.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/Percepts.h"
#include "nutmeg_msgs/TeamState.h"

#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

enum { STEP_MS = 33 };
static const double STEP = STEP_MS * 1e-3; /* s */

/* The time of the next step, for what is measured then, or a little earlier. */
static inline Time soon(struct nm_harness *h, double earlier)
{
    const struct nm *nm = *(struct nm **)nm_harness_self(h);
    return nm_stamp(nm->now + nm_ns(STEP - earlier));
}

static inline Quaternion turned(double theta) { return (Quaternion){0, 0, sin(theta / 2), cos(theta / 2)}; }

static inline void give_odometry(struct nm_harness *h, struct pose2 robot)
{
    Odometry *o = nm_harness_set(h, "odometry");
    o->header.stamp = soon(h, 0);
    o->pose.pose.position = (Point){robot.x, robot.y, 0};
    o->pose.pose.orientation = turned(robot.theta);
}

static inline void give_pose(struct nm_harness *h, struct pose2 robot, double deviation)
{
    PoseWithCovarianceStamped *p = nm_harness_set(h, "pose");
    p->header.stamp = soon(h, 0);
    p->pose.pose.position = (Point){robot.x, robot.y, 0};
    p->pose.pose.orientation = turned(robot.theta);
    p->pose.covariance[0] = p->pose.covariance[7] = deviation * deviation;
    p->pose.covariance[35] = deviation * deviation / 10;
}

/* The camera half a metre high, turned and tilted down. */
static inline void give_camera(struct nm_harness *h, double pan, double tilt)
{
    CameraPose *c = nm_harness_set(h, "camera/pose");
    struct quat rot = quat_mul(quat_rpy(0, tilt, pan), quat_rpy(-M_PI / 2, 0, -M_PI / 2));
    c->header.stamp = soon(h, 0.02);
    c->pose = (Pose){{0, 0, 0.5}, {rot.x, rot.y, rot.z, rot.w}};
    c->valid = true;
}

/* The percepts of an image taken `late` seconds before the next step. */
static inline Percepts *give_image(struct nm_harness *h, double late)
{
    Percepts *p = nm_harness_set(h, "percepts");
    p->header.stamp = soon(h, late);
    return p;
}

static inline Percept *add_percept(Percepts *image, uint8_t kind, double x, double y, double deviation)
{
    Percept *p = nm_append(&image->percepts, &Percept_type);
    p->kind = kind;
    p->located = true;
    p->position = (Point){x, y, 0};
    p->covariance[0] = p->covariance[3] = deviation * deviation;
    p->confidence = 0.9f;
    return p;
}

/* A mate as just heard: the message to be filled further. */
static inline TeamMessage *add_mate(struct nm_harness *h, TeamState *team, uint8_t number, struct pose2 at)
{
    TeamMate *mate = nm_append(&team->mates, &TeamMate_type);
    mate->player_number = mate->message.player_number = number;
    mate->alive = true;
    mate->message.header.stamp = soon(h, 0.1);
    mate->message.state = TeamMessage_STATE_ACTIVE;
    mate->message.pose.pose = (Pose2D){at.x, at.y, at.theta};
    mate->message.pose.weight = 1;
    mate->message.pose.covariance[0] = mate->message.pose.covariance[4] = 0.01;
    mate->message.pose.covariance[8] = 0.001;
    return &mate->message;
}

static inline void tell_ball(TeamMessage *m, double x, double y, double confidence)
{
    m->ball_known = true;
    m->ball = (Point){x, y, 0};
    m->ball_covariance[0] = m->ball_covariance[3] = 0.01;
    m->ball_confidence = (float)confidence;
    m->ball_age = 0.1f;
}
