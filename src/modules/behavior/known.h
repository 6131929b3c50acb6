/* Where the robot and the ball are, in map, from what position and world modules say. Shared by strategy and soccer. */
#pragma once

#include "base/geometry.h"
#include "base/pitch.h"
#include "base/rolling.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/TeamBall.h"

#define KNOWN_NEWS 3.0 /* s; no robot acts on what its own sensors said before that */

#define KNOWN_APART 1.0 /* m: so far from the ball of mates who outvote this robot the own one is another thing */
#define KNOWN_LATER 0.5 /* s: if mates saw the ball so much later ...                                        */
#define KNOWN_MOVED 0.3 /* m: ... and so far from there, it was moved                                        */

struct known_ball {
    bool known;
    bool own;      /* this robot sees it itself              */
    double x, y;   /* m                                      */
    double vx, vy; /* m/s                                    */
    double way;    /* m that it still rolls                  */
    double age;    /* s since somebody saw it                */
};

static inline struct pose2 known_pose(const PoseWithCovarianceStamped *pose)
{
    const Pose *p = &pose->pose.pose;
    const Quaternion *q = &p->orientation;
    return (struct pose2){p->position.x, p->position.y, quat_yaw((struct quat){q->w, q->x, q->y, q->z})};
}

static inline double way_of(const BallModel *b)
{
    return vec2_norm(b->destination.x - b->position.x, b->destination.y - b->position.y);
}

/* The own sighting, as long as it is new; otherwise what the team believes. The mates are right where they see the ball
 * elsewhere and outvote this robot (see team_ball), and where they have seen it since and it was moved. */
static inline struct known_ball known_ball(const struct nm *nm, struct pose2 me, const BallModel *own,
                                           const TeamBall *team)
{
    double age = nm_seconds(nm->now - nm_stamp_ns(own->last_seen));
    double c = cos(me.theta), s = sin(me.theta);
    if (own->valid && age < KNOWN_NEWS && nm_age(nm, own) < nm_ns(KNOWN_NEWS)) {
        struct pose2 at = pose2_mul(me, (struct pose2){own->position.x, own->position.y, 0});
        double apart = vec2_norm(at.x - team->ball.position.x, at.y - team->ball.position.y);
        double later = age - nm_seconds(nm->now - nm_stamp_ns(team->ball.last_seen));
        bool outvoted = team->source == TeamBall_SOURCE_MATE && later > -1 && apart > KNOWN_APART;
        bool moved = team->source <= TeamBall_SOURCE_MATE && later > KNOWN_LATER && apart > KNOWN_MOVED;
        if (!team->ball.valid || !(outvoted || moved))
            return (struct known_ball){true,
                                       true,
                                       at.x,
                                       at.y,
                                       c * own->velocity.x - s * own->velocity.y,
                                       s * own->velocity.x + c * own->velocity.y,
                                       way_of(own),
                                       age};
    }
    const BallModel *b = &team->ball;
    if (team->source == TeamBall_SOURCE_NONE || !b->valid || nm_age(nm, team) > nm_ns(KNOWN_NEWS))
        return (struct known_ball){0};
    return (struct known_ball){
        true,          false,         b->position.x, b->position.y,
        b->velocity.x, b->velocity.y, way_of(b),     nm_seconds(nm->now - nm_stamp_ns(b->last_seen))};
}

static inline struct nm_rolling known_rolling(const struct known_ball *ball)
{
    return (struct nm_rolling){ball->x, ball->y, ball->vx, ball->vy, ball->way};
}

/* In the own goal area, which is the keeper's. */
static inline bool known_in_goal_area(const struct nm_pitch_size *field, const struct known_ball *ball)
{
    return ball->x < field->goal_area_length - field->length / 2 && fabs(ball->y) < field->goal_area_width / 2;
}

/* The rival who is nearest to the ball, of those on their feet, and how far from it he is; NULL, infinite: none. */
static inline const Obstacle *known_rival(const ObstacleModel *robots, const struct known_ball *ball, double *far)
{
    const Obstacle *nearest = NULL;
    *far = INFINITY;
    for (uint32_t i = 0; ball->known && i < robots->obstacles.n; i++) {
        const Obstacle *o = &robots->obstacles.at[i];
        double d = vec2_norm(o->position.x - ball->x, o->position.y - ball->y);
        if ((o->kind != Obstacle_RIVAL && o->kind != Obstacle_ROBOT) || o->fallen || d >= *far) continue;
        *far = d;
        nearest = o;
    }
    return nearest;
}

/* s until a rival who is so far from the ball plays it, if he walks with this speed. */
static inline double known_rival_time(double far, double speed) { return fmax(far - 0.3, 0) / speed; }
