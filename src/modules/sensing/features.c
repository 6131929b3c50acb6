/* Remembers ball and goal posts where they were seen last (Rhoban, champion paper 2016, section 4.1). They are put into
 * the frame of the odometry, with the place that the robot had when the picture was taken, and published in every step
 * as seen from the place that it has now. So the walk always has a recent relative ball, however slow and late vision
 * is. Only the robot moves here; ball_filter tracks rolling balls. */
#include "core/nm.h"
#include "humanoid_league_msgs/BallRelative.h"
#include "humanoid_league_msgs/GoalRelative.h"
#include "modules/sensing/readings.h"
#include "nav_msgs/Odometry.h"

enum { TRAIL = 512 };                                  /* places the robot was at        */
static const int64_t apart = 2000000000 / (TRAIL - 2); /* ns; so they span 2 s */

struct place {
    int64_t time;
    struct pose2 robot_to_odom;
};

struct features {
    struct nm *nm;
    /* in */
    const BallRelative *ball_seen;
    const GoalRelative *goal_seen;
    const Odometry *odometry;
    /* out */
    BallRelative *ball;
    GoalRelative *goal;
    /* params */
    float forget; /* s */
    /* state */
    struct place trail[TRAIL];
    uint32_t newest, n;
    struct {
        Point at; /* in odom; z as seen */
        float confidence;
        int64_t seen; /* ns, of the picture */
    } known_ball;
    struct {
        Point left, right, center; /* in odom, NaN where not seen */
        float confidence;
        int64_t seen;
    } known_goal;
};

/* ---- where the robot was ---- */

static const struct place *ago(const struct features *f, uint32_t back)
{
    return &f->trail[(f->newest + TRAIL - back) % TRAIL];
}

/* One too near to the place before it takes the newest one's room. */
static void remember_place(struct features *f, struct place place)
{
    if (f->n && place.time <= ago(f, 0)->time) {
        if (ago(f, 0)->time - place.time < 2000000000) return;
        f->n = 0; /* another clock */
    }
    bool near = f->n >= 2 && ago(f, 0)->time - ago(f, 1)->time < apart;
    if (!near) {
        f->newest = f->n ? (f->newest + 1) % TRAIL : 0;
        if (f->n < TRAIL) f->n++;
    }
    f->trail[f->newest] = place;
}

/* Between two places on the straight line, before the oldest and after the newest at these. */
static struct pose2 place_at(const struct features *f, int64_t time)
{
    uint32_t late = 0, early = f->n - 1;
    if (time >= ago(f, 0)->time) return ago(f, 0)->robot_to_odom;
    if (time <= ago(f, early)->time) return ago(f, early)->robot_to_odom;
    while (early - late > 1) {
        uint32_t middle = (late + early) / 2;
        if (ago(f, middle)->time <= time)
            early = middle;
        else
            late = middle;
    }
    const struct place *a = ago(f, early), *b = ago(f, late);
    double t = (double)(time - a->time) / (double)(b->time - a->time);
    struct pose2 p = a->robot_to_odom, q = b->robot_to_odom;
    return (struct pose2){p.x + t * (q.x - p.x), p.y + t * (q.y - p.y), p.theta + t * angle_normal(q.theta - p.theta)};
}

static Point moved(struct pose2 frame, Point p)
{
    struct pose2 at = pose2_mul(frame, (struct pose2){p.x, p.y, 0});
    return (Point){at.x, at.y, p.z};
}

/* ---- ball and goal ---- */

static bool finite_on_ground(Point p) { return isfinite(p.x) && isfinite(p.y); }

static void see_ball(struct features *f)
{
    const BallRelative *b = f->ball_seen;
    int64_t time = nm_stamp_ns(b->header.stamp);
    if (!(b->confidence > 0) || !finite_on_ground(b->ball_relative)) return;
    f->known_ball.at = moved(place_at(f, time), b->ball_relative);
    f->known_ball.confidence = b->confidence;
    f->known_ball.seen = time;
}

static void see_goal(struct features *f)
{
    const GoalRelative *g = f->goal_seen;
    int64_t time = nm_stamp_ns(g->header.stamp);
    if (!(g->confidence > 0) || !finite_on_ground(g->left_post)) return;
    struct pose2 then = place_at(f, time);
    f->known_goal.left = moved(then, g->left_post);
    f->known_goal.right = moved(then, g->right_post);
    f->known_goal.center = moved(then, g->center_direction);
    f->known_goal.confidence = g->confidence;
    f->known_goal.seen = time;
}

static bool young(const struct features *f, float confidence, int64_t seen)
{
    return confidence > 0 && f->nm->now - seen <= nm_ns(f->forget);
}

static void tell(struct features *f)
{
    struct pose2 odom_to_robot = pose2_inv(ago(f, 0)->robot_to_odom);
    nm_text(f->ball->header.frame_id, "base_footprint");
    nm_text(f->goal->header.frame_id, "base_footprint");
    if (young(f, f->known_ball.confidence, f->known_ball.seen)) {
        f->ball->ball_relative = moved(odom_to_robot, f->known_ball.at);
        f->ball->confidence = f->known_ball.confidence;
    }
    if (young(f, f->known_goal.confidence, f->known_goal.seen)) {
        f->goal->left_post = moved(odom_to_robot, f->known_goal.left);
        f->goal->right_post = moved(odom_to_robot, f->known_goal.right);
        f->goal->center_direction = moved(odom_to_robot, f->known_goal.center);
        f->goal->confidence = f->known_goal.confidence;
    }
    nm_put(f->nm, f->ball);
    nm_put(f->nm, f->goal);
}

static void step(struct features *f)
{
    const Pose *pose = &f->odometry->pose.pose;
    struct quat q = nm_quat(&pose->orientation);
    bool good = isfinite(pose->position.x + pose->position.y + q.w + q.x + q.y + q.z);
    if (nm_fresh(f->nm, f->odometry) && good)
        remember_place(f, (struct place){nm_stamp_ns(f->odometry->header.stamp),
                                         {pose->position.x, pose->position.y, quat_yaw(q)}});
    if (!f->n) return; /* without odometry nothing is known about yesterday's ball */
    if (nm_fresh(f->nm, f->ball_seen)) see_ball(f);
    if (nm_fresh(f->nm, f->goal_seen)) see_goal(f);
    tell(f);
}

#define SELF struct features
static const struct nm_port ports[] = {
    NM_IN(ball_seen, BallRelative, "ball_relative"), NM_IN(goal_seen, GoalRelative, "goal_relative"),
    NM_IN(odometry, Odometry, "odometry"),           NM_OUT(ball, BallRelative, "ball_fresh"),
    NM_OUT(goal, GoalRelative, "goal_fresh"),        {0},
};
static const struct nm_param params[] = {
    NM_PARAM(forget, 5, 0.1, 60, "s",
             "what was not seen for this time is no longer published, because the odometry drifts"),
    {0},
};
NM_MODULE(features, "Ball and goal posts as last seen, relative to where the robot is now.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
