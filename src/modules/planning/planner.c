/* Walks where a navigation goal says. It finds a way around robots, goals and the ball (detour.h), follows it in arcs
 * at walking speed (steer.h), and kicks the ball without stopping before it. The seven modes are those of the HULKs
 * (team research report 2017, section 4.7.3), whose displacement vectors are replaced by tangents: these get past a row
 * of robots, where a sum of vectors stands still.
 *
 * It runs at the rate of the walk. Everything is kept in the frame of the odometry, so that goal, ball and obstacles
 * move with the robot's steps until the next word about them comes. */
#include <string.h>

#include "base/clamp.h"
#include "base/pitch.h"
#include "base/rolling.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "geometry_msgs/PointStamped.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "modules/planning/detour.h"
#include "modules/planning/steer.h"
#include "nav_msgs/Odometry.h"
#include "nav_msgs/Path.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/NavigationState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"

enum { PAST = 128, NET = 3, WAY_POINTS = 32 };

static const double FARTHEST = 100;              /* m, of a goal                                                  */
static const double NEWS = 3;                    /* s, ball and pose older than this are not acted on             */
static const double UNHURRIED = 0.45;            /* of the speeds, for the last steps to a place                  */
static const double LOOK_AHEAD = 0.05;           /* m along the way: where it walks to                            */
static const double PLAN_EVERY = 0.1;            /* s, without news                                               */
static const double WAY_EVERY = 0.2;             /* s, a path is published                                        */
static const double HABIT = 0.25;                /* m that another side of an obstacle must save                  */
static const double TURNS_FIRST = 0.7;           /* of the time of a turn into the way: it walks meanwhile         */
static const double FORESIGHT = 1;               /* s that a robot that moves is expected to move on              */
static const double CLEAR = 0.12, CLOSE = 0.06;  /* m between two robots: it backs off; while it plays the ball    */
static const double ASIDE = 0.08;                /* m more between two mates, if it does not play the ball        */
static const double YIELD = 1.2, BACK_OFF = 0.3; /* 1/s, m/s: speed towards a robot for each metre; away from it */
static const double MOST_DOUBT = 0.25;           /* m, by which a robot that nobody sees is nearer than believed  */
static const double AT_BALL = 0.9;               /* m: who is so near the ball takes robots to be where he saw them  */
static const double POST_ROOM = 2. / 3;          /* of the room that other robots get: posts stay where they are    */
static const double NARROW_ROOM = 0.6;           /* of it where there is no other way                              */
static const double SQUEEZES = 3;                /* s that it then keeps to such ways                              */
static const double COMES = 0.5;                 /* of the speed at which the other one comes nearer              */
/* m from the ball: from here a rival comes to it, and there he is; s, m/s: since when he was not seen, and how fast */
static const double HUNTS = 1.2, HAS_IT = 0.25, UNSEEN = 0.1, HUNT_SPEED = 0.35;
static const double NARROW = 0.06; /* m, half width of the lane behind the ball at its end           */
static const double LOOSE = 1.6;   /* the lane is so much wider once it is in it                    */
static const double COMPANY = 1;   /* m, with another robot so near the lane is a narrow one         */
/* 1, m, rad: how the lane widens, how far before its end it begins to, direction in it. Who comes from beside the ball
 * steps sideways into a wide lane and does not go back first; but in the lane it goes around nobody. */
static const struct lane {
    double funnel, early, lined_up;
} WIDE_LANE = {1, 0.14, 1.25}, NARROW_LANE = {0.7, 0, 0.9};
static const double USUAL_STEP = 0.5, LONGEST_STEP = 1.5,
                    PACE = 0.3;       /* s, s, 1: a double step; of the last one in the mean */
static const double FASTEST = 1.3;    /* of the speed at the ball, to make the steps fit            */
static const double SOON = 0.1;       /* s, too soon for the speed to change                        */
static const double LATE = 0.4;       /* phase of the step before a kick from which on it is asked for  */
static const double SHOWN = 0.03;     /* s, that a kick is shown to a walk that does not answer        */
static const double IN_SIGHT = 1.8;   /* rad, the head can turn to the ball   */
static const double SEEN_NOW = 0.5;   /* s, since the ball was seen: it is kicked */
static const double KICK_TAKES = 1.2; /* s, until the foot is down again                               */
static const double AGAIN = 1.2;      /* s, after a kick: until it is seen what became of the ball     */
static const double AWAITED = 0.75;   /* s, then a kick whose step did not begin is none               */

struct planner {
    struct nm *nm;
    /* in */
    const NavigationGoal *goal;
    const PoseWithCovarianceStamped *pose;
    const Odometry *odometry;
    const BallModel *ball;
    const TeamBall *team_ball;
    const ObstacleModel *obstacles;
    const MatchState *match;
    const HcmState *hcm;
    const WalkState *walk;
    const PointStamped *place; /* of the ball before the left foot, told while the robot stands */
    /* out */
    WalkCommand *command;
    NavigationState *state;
    Path *path;
    /* params */
    double forward, backward, side, turn, turn_fast;
    double change, change_side, change_turn, delay;
    double arrive, arrive_turn, leave, leave_turn;               /* m, rad */
    double near;                                                 /* m      */
    double body, room;                                           /* m      */
    double ball_room, stand_off, ahead, aside, outside, farther; /* m      */
    double kick_speed, dribble_speed;                            /* m/s    */
    double kick_reach, kick_width, kick_turn;                    /* m, m, rad */
    double patience;                                             /* s      */
    struct nm_pitch_size field;
    /* state */
    struct {
        int64_t at;
        struct pose2 robot;
    } past[PAST]; /* where the robot was, in odom */
    uint32_t n_past;
    struct pose2 here;  /* the robot, in odom                         */
    struct pose2 robot; /* where it will be when the walk does what it is told now */
    struct pose2 map_to_odom;
    int64_t located;     /* ns, stamp of the last pose; 0: none       */
    uint8_t mode;        /* of the goal before                        */
    struct pose2 target; /* of the goal, in map or in odom            */
    struct pose2 kick_target;
    bool in_map; /* the goal's frame is map; otherwise odom   */
    char unknown_frame[32];
    struct pose2 ball_at;          /* in odom                                   */
    struct nm_rolling rolling;     /* the same ball, as it rolls, in odom       */
    double ball_aside, ball_ahead; /* m, where the ball lies best before a foot */
    struct robot {
        double x, y, radius; /* in odom, m; without our own               */
        double vx, vy;       /* m/s, in odom                              */
        double doubt;        /* m, one standard deviation of its place    */
        bool moves;          /* false: a post                             */
        bool mate;
        bool first; /* a mate with a lower number: this robot gives way to it */
    } others[32];
    uint32_t n_others;
    struct detour way;
    struct pose2 to;        /* the end of the way, in odom, and the orientation there */
    double beyond;          /* m that it walks on after the end of the way */
    int64_t planned, shown; /* ns                                        */
    int64_t narrow;         /* ns, when there was no way with room enough */
    double first_side;
    bool holds, arrived, in_lane, swung;
    double turning;  /* 1: to the left, -1: to the right          */
    double foot;     /* 1: the left one kicks, -1: the right one  */
    int64_t asked;   /* ns, for a kick; 0: not                    */
    int64_t kicked;  /* ns, when the last one was over; 0: none   */
    double step;     /* s, a double one, on average               */
    uint32_t steps;  /* of the walk when it was looked at last    */
    int64_t stepped; /* ns, when the foot changed last            */
};

/* What is done in one run. */
struct plan {
    uint8_t mode;
    bool turn_early, around, behind_ball;
    struct steer_limits limits;
};

/* ---- where things are ---- */

static struct pose2 flat(const Pose *p)
{
    const Quaternion *q = &p->orientation;
    return (struct pose2){p->position.x, p->position.y, quat_yaw((struct quat){q->w, q->x, q->y, q->z})};
}

static bool is_finite(struct pose2 p) { return isfinite(p.x + p.y + p.theta); }

static bool walk_answers(const struct planner *f) { return nm_seconds(nm_age(f->nm, f->walk)) < 0.5; }

/* How far the robot comes in some seconds if it walks on as it does now. */
static struct pose2 walked(const struct planner *f, double seconds)
{
    const Twist *v = walk_answers(f) ? &f->walk->velocity : &f->odometry->twist.twist;
    struct pose2 way = {v->linear.x * seconds, v->linear.y * seconds, v->angular.z * seconds};
    double c = cos(way.theta / 2), s = sin(way.theta / 2); /* along the middle direction of the arc */
    struct pose2 moved = {c * way.x - s * way.y, s * way.x + c * way.y, way.theta};
    return is_finite(moved) ? moved : (struct pose2){0};
}

static void remember(struct planner *f)
{
    struct pose2 robot = flat(&f->odometry->pose.pose);
    if (!nm_fresh(f->nm, f->odometry) || !is_finite(robot)) return;
    f->here = robot;
    f->past[f->n_past % PAST].at = f->nm->now;
    f->past[f->n_past++ % PAST].robot = robot;
}

/* Where the robot was at a time, in odom; the oldest place known if that is too long ago. */
static struct pose2 robot_then(const struct planner *f, int64_t at)
{
    uint32_t known = f->n_past < PAST ? f->n_past : PAST;
    for (uint32_t back = 1; back <= known; back++) {
        uint32_t i = (f->n_past - back) % PAST;
        if (f->past[i].at <= at || back == known) return f->past[i].robot;
    }
    return f->here;
}

static struct pose2 seen(const struct planner *f, struct pose2 in_odom)
{
    return pose2_mul(pose2_inv(f->robot), in_odom);
}

static void take_pose(struct planner *f)
{
    struct pose2 robot_in_map = flat(&f->pose->pose.pose);
    if (!nm_fresh(f->nm, f->pose) || !is_finite(robot_in_map)) return;
    f->located = nm_stamp_ns(f->pose->header.stamp);
    f->map_to_odom = pose2_mul(robot_then(f, f->located), pose2_inv(robot_in_map));
}

static void take_ball(struct planner *f)
{
    const Point *p = &f->ball->position;
    if (!nm_fresh(f->nm, f->ball) || !f->ball->valid || !isfinite(p->x + p->y)) return;
    struct pose2 then = robot_then(f, nm_stamp_ns(f->ball->header.stamp));
    f->ball_at = pose2_mul(then, (struct pose2){p->x, p->y, 0});
    const Vector3 *v = &f->ball->velocity;
    const Point *rest = &f->ball->destination;
    double c = cos(then.theta), s = sin(then.theta), way = vec2_norm(rest->x - p->x, rest->y - p->y);
    bool rolls = isfinite(v->x + v->y + way);
    f->rolling = (struct nm_rolling){f->ball_at.x, f->ball_at.y, rolls ? c * v->x - s * v->y : 0,
                                     rolls ? s * v->x + c * v->y : 0, rolls ? way : 0};
}

/* Whoever plays the ball looks at it and does not see who comes to it from a side: a rival near the ball is taken to
 * come nearer to it while nobody sees him. */
static void hunt_ball(const struct planner *f, const Obstacle *o, struct pose2 *at)
{
    double dx = f->ball_at.x - at->x, dy = f->ball_at.y - at->y, far = vec2_norm(dx, dy);
    double unseen = nm_seconds(f->nm->now - nm_stamp_ns(o->last_seen)) - UNSEEN;
    bool known = f->ball->valid && nm_seconds(f->nm->now - nm_stamp_ns(f->ball->last_seen)) < NEWS;
    if (o->kind != Obstacle_RIVAL || o->fallen || !nm_stamp_ns(o->last_seen)) return;
    if (!known || far > HUNTS || far < HAS_IT || unseen < 0) return;
    double gone = fmin(HUNT_SPEED * unseen, far - HAS_IT);
    at->x += gone * dx / far;
    at->y += gone * dy / far;
}

/* m, how wrong its place may be; the longer nobody has seen it, the more. */
static double doubt_of(const Obstacle *o)
{
    double variance = 0.5 * (o->covariance[0] + o->covariance[3]);
    return variance > 0 ? fmin(sqrt(variance), MOST_DOUBT) : 0; /* not a number: 0 */
}

static void take_obstacles(struct planner *f)
{
    if (!nm_fresh(f->nm, f->obstacles)) return;
    struct pose2 then = robot_then(f, nm_stamp_ns(f->obstacles->header.stamp));
    double c = cos(then.theta), s = sin(then.theta);
    f->n_others = 0;
    for (uint32_t i = 0; i < f->obstacles->obstacles.n; i++) {
        const Obstacle *o = &f->obstacles->obstacles.at[i];
        bool sound = isfinite(o->position.x + o->position.y + o->velocity.x + o->velocity.y) && o->radius >= 0;
        if (!sound || o->kind == Obstacle_BALL) continue;
        struct pose2 at = pose2_mul(then, (struct pose2){o->position.x, o->position.y, 0});
        hunt_ball(f, o, &at);
        f->others[f->n_others++] = (struct robot){.x = at.x,
                                                  .y = at.y,
                                                  .radius = fmin(o->radius, 1),
                                                  .doubt = doubt_of(o),
                                                  .vx = c * o->velocity.x - s * o->velocity.y,
                                                  .vy = s * o->velocity.x + c * o->velocity.y,
                                                  .moves = o->kind != Obstacle_GOAL_POST,
                                                  .mate = o->kind == Obstacle_MATE,
                                                  .first = o->kind == Obstacle_MATE && o->player_number &&
                                                           o->player_number < f->match->player_number};
    }
}

static void take_goal(struct planner *f)
{
    const NavigationGoal *g = f->goal;
    if (!nm_fresh(f->nm, f->goal)) return;
    const char *frame = g->header.frame_id;
    bool relative = !frame[0] || !strcmp(frame, "base_footprint");
    struct pose2 target = {g->target.x, g->target.y, g->target.theta}, kick = {g->kick_target.x, g->kick_target.y, 0};
    struct pose2 then = relative ? robot_then(f, nm_stamp_ns(g->header.stamp)) : (struct pose2){0};
    f->in_map = !strcmp(frame, "map");
    nm_text(f->unknown_frame, "%s", relative || f->in_map || !strcmp(frame, "odom") ? "" : frame);
    f->target = pose2_mul(then, target);
    f->kick_target = pose2_mul(then, kick);
}

static void take_place(struct planner *f)
{
    if (!nm_fresh(f->nm, f->place) || !(f->place->point.x > 0)) return;
    f->ball_ahead = f->place->point.x;
    f->ball_aside = fabs(f->place->point.y);
}

static void time_steps(struct planner *f)
{
    if (f->walk->steps == f->steps) return;
    double took = 2 * nm_seconds(f->nm->now - f->stepped);
    if (f->stepped && took < LONGEST_STEP) f->step += PACE * (took - f->step);
    f->steps = f->walk->steps;
    f->stepped = f->nm->now;
}

static struct pose2 goal_to_odom(const struct planner *f, struct pose2 p)
{
    return f->in_map ? pose2_mul(f->map_to_odom, p) : p;
}

/* ---- what is refused ---- */

static bool needs_ball(uint8_t mode)
{
    return mode == NavigationGoal_WALK_BEHIND_BALL || mode == NavigationGoal_DRIBBLE;
}

static bool old(const struct planner *f, int64_t at) { return !at || nm_seconds(f->nm->now - at) > NEWS; }

/* Why the goal is not walked to; NULL if it is. */
static const char *refusal(const struct planner *f)
{
    const NavigationGoal *g = f->goal;
    bool placed = g->mode != NavigationGoal_STAND && g->mode != NavigationGoal_VELOCITY;
    if (nm_seconds(nm_age(f->nm, f->goal)) > f->patience) return "no goal has come for a while";
    if (g->mode > NavigationGoal_VELOCITY) return "there is no such mode";
    if (g->mode == NavigationGoal_STAND) return NULL;
    if (!isfinite(g->velocity.linear.x + g->velocity.linear.y + g->velocity.angular.z + (double)g->ball_distance))
        return "the velocity or the distance from the ball is not finite";
    if (placed && f->unknown_frame[0]) return "its frame is neither map nor odom nor base_footprint";
    const struct pose2 *to = needs_ball(g->mode) ? &f->kick_target : &f->target;
    if (placed && !(fabs(to->x) < FARTHEST && fabs(to->y) < FARTHEST && isfinite(to->theta)))
        return "the target is not finite, or farther than 100 m";
    if (placed && f->in_map && old(f, f->located)) return "it is in map, and the robot does not know where it is";
    if (needs_ball(g->mode) && (!f->ball->valid || old(f, nm_stamp_ns(f->ball->last_seen))))
        return "it is at the ball, and no ball is known";
    if (nm_slot(f->match)->seq && !f->match->may_move) return "the rules do not allow to move now";
    bool managed = nm_slot(f->hcm)->seq != 0;
    if (managed && f->hcm->state != HcmState_CONTROLABLE && f->hcm->state != HcmState_WALKING)
        return "the robot is not controlable now";
    return NULL;
}

/* ---- the way ---- */

static bool ball_known(const struct planner *f) { return f->ball->valid && !old(f, nm_stamp_ns(f->ball->last_seen)); }

/* The ball that it keeps off: its own, or the one of its mates if they have seen it later or the rules have put it
 * there. */
static bool ball_to_keep_off(const struct planner *f, struct pose2 *at)
{
    const BallModel *b = &f->team_ball->ball;
    bool told =
        f->team_ball->source != TeamBall_SOURCE_NONE && b->valid && nm_seconds(nm_age(f->nm, f->team_ball)) < NEWS;
    bool later = !ball_known(f) || nm_stamp_ns(b->last_seen) > nm_stamp_ns(f->ball->last_seen) + nm_ns(SEEN_NOW);
    *at = f->ball_at;
    if (!told || !later || !f->located || old(f, f->located)) return ball_known(f);
    *at = pose2_mul(f->map_to_odom, (struct pose2){b->position.x, b->position.y, 0});
    return is_finite(*at);
}

static void add_disc(struct detour_disc *discs, uint32_t *n, double x, double y, double radius)
{
    if (*n < DETOUR_DISCS) discs[(*n)++] = (struct detour_disc){x, y, radius};
}

/* m, from the middle of a net: nearer the robot touches it. */
static double net_room(const struct planner *f, double room) { return f->field.post / 2 + f->body + POST_ROOM * room; }

/* Both goals, each side of the net as a row of discs. */
static void add_goals(const struct planner *f, double room, struct detour_disc *discs, uint32_t *n)
{
    const double nearby = 3; /* m */
    for (int k = 0; k < 4; k++) {
        double x = (k & 1 ? 1 : -1) * f->field.length / 2,
               y = (k & 2 ? 1 : -1) * (f->field.goal_width + f->field.post) / 2;
        struct pose2 post = pose2_mul(f->map_to_odom, (struct pose2){x, y, 0});
        if (vec2_norm(post.x - f->robot.x, post.y - f->robot.y) > nearby) continue;
        for (int i = 0; i < NET; i++) {
            double deep = f->field.goal_depth * i / (NET - 1);
            struct pose2 at = pose2_mul(f->map_to_odom, (struct pose2){x + (k & 1 ? deep : -deep), y, 0});
            add_disc(discs, n, at.x, at.y, i ? net_room(f, room) : f->field.post / 2 + f->body);
        }
    }
}

static uint32_t obstacle_discs(const struct planner *f, double room, struct detour_disc discs[DETOUR_DISCS])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_others; i++) {
        const struct robot *o = &f->others[i];
        double far = vec2_norm(o->x - f->robot.x, o->y - f->robot.y), until = fmin(far / f->forward, FORESIGHT);
        double radius = o->radius + f->body + (o->moves ? 1 : POST_ROOM) * room;
        add_disc(discs, &n, o->x + until * o->vx, o->y + until * o->vy, radius);
        if (o->first && !needs_ball(f->goal->mode))
            add_disc(discs, &n, o->x, o->y, radius); /* its way, not only its end */
    }
    if (f->located && !old(f, f->located)) add_goals(f, room, discs, &n);
    return n;
}

/* A target in a disc is moved to its edge: as near as it may come. */
static struct pose2 out_of(const struct planner *f, struct pose2 target, double x, double y, double radius)
{
    double dx = target.x - x, dy = target.y - y, far = vec2_norm(dx, dy);
    if (far >= radius) return target;
    if (far < 0.01) dx = f->robot.x - x, dy = f->robot.y - y, far = vec2_norm(dx, dy);
    if (!(far > 0)) return target;
    return (struct pose2){x + dx / far * radius, y + dy / far * radius, target.theta};
}

/* Who is behind a goal or beside it, and wants into the field, walks around the net first: out from behind it, then
 * along it to the goal line. */
static void leave_net(struct planner *f, double room)
{
    struct pose2 odom_to_map = pose2_inv(f->map_to_odom), me = pose2_mul(odom_to_map, f->robot);
    struct pose2 to = pose2_mul(odom_to_map, f->to);
    double end = me.x > 0 ? 1 : -1, side = me.y > 0 ? 1 : -1, line = f->field.length / 2;
    double back = line + f->field.goal_depth, off = net_room(f, room), out = end * me.x - line, in = line - end * to.x;
    double edge = (f->field.goal_width + f->field.post) / 2 + off, crosses = me.y + (to.y - me.y) * out / (out + in);
    bool behind = end * me.x > back && fabs(me.y) < edge, beside = fabs(me.y) >= edge && side * crosses < edge;
    if (!f->located || old(f, f->located) || out < 0 || in < 0 || !(behind || beside)) return;
    struct pose2 next = {end * (behind ? back + off : line), side * (edge + f->arrive), to.theta};
    f->beyond += vec2_norm(to.x - next.x, to.y - next.y);
    f->to = pose2_mul(f->map_to_odom, next);
}

/* Who has begun to turn into one way does not turn back for one that is hardly shorter. */
static void find_way(struct planner *f, const struct detour_disc *discs, uint32_t n)
{
    const struct detour_habit habit = {f->first_side, HABIT, TURNS_FIRST * f->forward / f->turn};
    detour_find(&f->way, f->robot, f->to, discs, n, &habit);
}

static void plan_place(struct planner *f, const struct plan *p, double room)
{
    struct detour_disc discs[DETOUR_DISCS];
    uint32_t n = p->around ? obstacle_discs(f, room, discs) : 0;
    f->to = goal_to_odom(f, f->target);
    f->beyond = 0;
    for (uint32_t i = 0; i < n; i++) f->to = out_of(f, f->to, discs[i].x, discs[i].y, discs[i].radius);
    double keep = f->goal->ball_distance;
    struct pose2 ball;
    if (keep > 0 && ball_to_keep_off(f, &ball)) {
        f->to = out_of(f, f->to, ball.x, ball.y, keep);
        bool too_near = vec2_norm(f->robot.x - ball.x, f->robot.y - ball.y) < 0.95 * keep;
        if (too_near) /* first away from the ball, whatever the target is */
            f->to = out_of(f, (struct pose2){f->robot.x, f->robot.y, f->to.theta}, ball.x, ball.y, keep + 2 * f->leave);
        else
            add_disc(discs, &n, ball.x, ball.y, keep);
    }
    if (p->around) leave_net(f, room);
    find_way(f, discs, n);
}

/* ---- behind the ball ---- */

/* A place of the ball with the direction in which the robot is to look when it kicks from there. */
static struct pose2 aimed(const struct planner *f, struct pose2 ball)
{
    struct pose2 target = goal_to_odom(f, f->kick_target);
    double aim = atan2(target.y - ball.y, target.x - ball.x);
    return (struct pose2){ball.x, ball.y, angle_normal(aim - f->goal->kick_direction)};
}

/* s, until it is there; the way around the ball is longer the more it comes from before it. */
static double time_to_ball(const void *user, struct pose2 ball)
{
    const struct planner *f = user;
    double dx = ball.x - f->robot.x, dy = ball.y - f->robot.y, bearing = atan2(dy, dx);
    double around = fabs(angle_normal(aimed(f, ball).theta - bearing));
    double facing = fabs(angle_normal(bearing - f->robot.theta));
    return (vec2_norm(dx, dy) + f->ball_room * around) / f->forward + TURNS_FIRST * facing / f->turn;
}

/* Where it meets the ball, and the aim from there. */
static struct pose2 ball_and_aim(const struct planner *f)
{
    struct pose2 at;
    nm_rolling_met(&f->rolling, time_to_ball, f, &at);
    return aimed(f, at);
}

/* m, so far to the left of the robot the ball is to lie. */
static double aside_of(const struct planner *f)
{
    if (f->goal->mode == NavigationGoal_DRIBBLE) return 0;
    return f->foot * (f->ball_aside + (f->goal->kick == WalkCommand_KICK_NONE ? 0 : f->outside));
}

/* m, the same ahead. */
static double ahead_of(const struct planner *f)
{
    bool in_passing = f->goal->mode == NavigationGoal_WALK_BEHIND_BALL && f->goal->kick != WalkCommand_KICK_NONE;
    return f->ball_ahead + (in_passing ? f->farther : 0);
}

/* Where it stands with the ball before its foot, and so much farther back. */
static struct pose2 stand_behind(const struct planner *f, struct pose2 ball, double back)
{
    return pose2_mul(ball, (struct pose2){-ahead_of(f) - back, -aside_of(f), 0});
}

/* The foot for which it has to walk less; a kick to the side is done with the foot of that side. */
static void choose_foot(struct planner *f, struct pose2 me)
{
    if (f->goal->kick == WalkCommand_KICK_SIDE) {
        f->foot = f->goal->kick_left ? 1 : -1;
        return;
    }
    const double sure = 0.03;      /* m */
    if (me.y > sure) f->foot = -1; /* who stands left of the ball has it before the right foot */
    if (me.y < -sure) f->foot = 1;
}

static bool in_company(const struct planner *f)
{
    for (uint32_t i = 0; i < f->n_others; i++) {
        const struct robot *o = &f->others[i];
        if (o->moves && vec2_norm(o->x - f->robot.x, o->y - f->robot.y) < COMPANY) return true;
    }
    return false;
}

/* Whether it stands in the lane behind the ball from where it can walk straight on. */
static bool in_lane(const struct planner *f, struct pose2 me)
{
    const struct lane *lane = in_company(f) ? &NARROW_LANE : &WIDE_LANE;
    double loose = f->in_lane ? LOOSE : 1;
    double ahead = ahead_of(f), back = -me.x - ahead, wide = NARROW + lane->funnel * fmax(back + lane->early, 0);
    return me.x < -0.6 * ahead && back < loose * 2 * f->stand_off && fabs(me.y + aside_of(f)) < loose * wide &&
           fabs(me.theta) < loose * lane->lined_up;
}

static void plan_behind(struct planner *f, double room)
{
    struct detour_disc discs[DETOUR_DISCS];
    struct pose2 ball = ball_and_aim(f), me = pose2_mul(pose2_inv(ball), f->robot);
    uint32_t n = 0;
    if (!f->in_lane) choose_foot(f, me);
    f->in_lane = in_lane(f, me);
    f->beyond = f->in_lane ? 0 : f->stand_off;
    f->to = stand_behind(f, ball, f->beyond);
    if (!f->in_lane) {
        n = obstacle_discs(f, room, discs);
        add_disc(discs, &n, ball.x, ball.y, f->ball_room);
        leave_net(f, room);
    }
    find_way(f, discs, n);
}

/* ---- legs ---- */

static double limit(double own, double asked) { return asked > 0 ? fmin(own, asked) : own; }

static struct steer_limits limits_of(const struct planner *f)
{
    const Twist *v = &f->goal->velocity;
    double x = fabs(v->linear.x), y = fabs(v->linear.y), turn = fabs(v->angular.z);
    return (struct steer_limits){.forward = limit(f->forward, x),
                                 .backward = limit(f->backward, x),
                                 .side = limit(f->side, y),
                                 .turn = limit(f->turn, turn),
                                 .turn_fast = f->turn_fast,
                                 .change = f->change,
                                 .change_side = f->change_side,
                                 .change_turn = f->change_turn};
}

/* It plays the ball, or makes way for who does: whoever keeps more distance there leaves the ball to the rivals. */
static bool at_ball(const struct planner *f)
{
    double far = vec2_norm(f->ball_at.x - f->robot.x, f->ball_at.y - f->robot.y);
    return needs_ball(f->goal->mode) || (ball_known(f) && far < AT_BALL);
}

/* At most so fast in a direction. */
static void slow_down(struct steer_velocity *v, double nx, double ny, double most)
{
    double towards = v->x * nx + v->y * ny;
    if (towards <= most) return;
    v->x -= (towards - most) * nx;
    v->y -= (towards - most) * ny;
}

/* Slower towards a robot that is near, slower still if it comes, and back from one that is too near: who pushes is
 * penalised, and who touches falls. One that was not seen for a moment may stand anywhere in a disc around its place:
 * what counts is the nearest point of that disc, and the one that is most in the way. Who is at the ball takes the
 * risk, because he looks at nothing else. */
static void yield_to_others(const struct planner *f, struct steer_velocity *v, double room)
{
    double c = cos(f->robot.theta), s = sin(f->robot.theta);
    bool plays = at_ball(f);
    for (uint32_t i = 0; i < f->n_others; i++) {
        const struct robot *o = &f->others[i];
        struct pose2 at = seen(f, (struct pose2){o->x, o->y, 0});
        double far = vec2_norm(at.x, at.y), gap = far - o->radius - f->body;
        if (!o->moves || gap > 1 || !(far > 0)) continue;
        double nx = at.x / far, ny = at.y / far;
        double comes = fmax(-(c * o->vx + s * o->vy) * nx - (c * o->vy - s * o->vx) * ny, 0);
        double keep = room + (o->mate && !needs_ball(f->goal->mode) ? ASIDE : 0); /* for who plays the ball */
        slow_down(v, nx, ny, gap < keep ? -BACK_OFF : fmax(YIELD * (gap - keep) - COMES * comes, -BACK_OFF));
        if (plays || o->doubt <= 0) continue;
        double bearing = atan2(ny, nx), aside = angle_normal(atan2(v->y, v->x) - bearing);
        bearing += nm_within(aside, atan2(o->doubt, far));
        slow_down(v, cos(bearing), sin(bearing), YIELD * fmax(gap - keep - o->doubt, 0));
    }
}

static void put_velocity(struct planner *f, struct steer_velocity v)
{
    f->command->mode = WalkCommand_VELOCITY;
    f->command->velocity = (Twist){{v.x, v.y, 0}, {0, 0, v.turn}};
}

/* Who goes around the ball and has come too near steps away from it. */
static void keep_off_ball(const struct planner *f, struct steer_velocity *v)
{
    struct pose2 at = seen(f, f->ball_at);
    double far = vec2_norm(at.x, at.y), deep = f->ball_room - far;
    if (!needs_ball(f->goal->mode) || f->in_lane || deep < 0 || !(far > 0)) return;
    double out = fmin(3 * deep, f->side);
    v->x -= out * at.x / far;
    v->y -= out * at.y / far;
}

/* Whether the ball would be in sight if the robot faced its final orientation here: who goes behind the ball must not
 * lose it. */
static bool sees_ball_turned(const struct planner *f)
{
    if (!needs_ball(f->goal->mode)) return true;
    double bearing = atan2(f->ball_at.y - f->robot.y, f->ball_at.x - f->robot.x);
    return fabs(angle_normal(bearing - f->to.theta)) < IN_SIGHT;
}

/* Follows the way; returns the seconds that are left. */
static double follow(struct planner *f, const struct plan *p, double end_speed)
{
    double gone = vec2_norm(f->robot.x - f->way.from.x, f->robot.y - f->way.from.y), seconds;
    struct pose2 ahead = seen(f, detour_at(&f->way, gone + LOOK_AHEAD)),
                 end = seen(f, detour_at(&f->way, f->way.length));
    struct steer_wish wish = {.ahead = {ahead.x, ahead.y, end.theta},
                              .final = seen(f, f->to).theta,
                              .remaining = fmax(f->way.length - gone, vec2_norm(end.x, end.y)) + f->beyond,
                              .end_speed = end_speed,
                              .may_hold = sees_ball_turned(f),
                              .turn_early = p->turn_early,
                              .holds = f->holds,
                              .turning = f->turning};
    struct steer_velocity v = steer(&p->limits, &wish, &seconds);
    f->holds = wish.holds;
    f->turning = wish.turning;
    keep_off_ball(f, &v);
    yield_to_others(f, &v, CLEAR);
    put_velocity(f, v);
    f->state->remaining_distance = (float)wish.remaining;
    return seconds;
}

/* The last steps to a pose are planned by the walk itself. They are few, so there is no need to hurry. */
static void step_to(struct planner *f, const struct plan *p, struct pose2 to)
{
    f->command->mode = WalkCommand_TARGET;
    f->command->target = (Pose2D){to.x, to.y, to.theta};
    f->command->velocity =
        (Twist){{UNHURRIED * p->limits.forward, UNHURRIED * p->limits.side, 0}, {0, 0, UNHURRIED * p->limits.turn}};
}

/* It is there when it will be there, and does not run through. */
static bool has_arrived(const struct planner *f, struct pose2 to)
{
    double far = vec2_norm(to.x, to.y), wrong = fabs(to.theta);
    if (f->arrived) return far < f->leave && wrong < f->leave_turn;
    struct pose2 more = walked(f, f->delay);
    bool calm = vec2_norm(more.x, more.y) < f->arrive && fabs(more.theta) < f->arrive_turn;
    return calm && far < f->arrive && wrong < f->arrive_turn;
}

/* To the end of the way, and stand there. */
static void go_and_stand(struct planner *f, const struct plan *p)
{
    struct pose2 to = seen(f, f->to);
    bool held_up = f->beyond > 0;
    f->arrived = !held_up && has_arrived(f, to);
    if (f->arrived) {
        f->command->mode = WalkCommand_STAND;
        return;
    }
    struct steer_velocity free = {to.x, to.y, 0}, yielding = free;
    double seconds = follow(f, p, 0);
    yield_to_others(f, &yielding, CLEAR);
    bool alone = yielding.x == free.x && yielding.y == free.y;
    struct pose2 from_here = pose2_mul(pose2_inv(f->here), f->to);
    if (f->holds && !held_up && alone && f->way.n == 0 && vec2_norm(to.x, to.y) < f->near) step_to(f, p, from_here);
    f->state->remaining_time = (float)seconds;
}

/* ---- kicks ---- */

static void ask_for_kick(struct planner *f, double direction)
{
    const NavigationGoal *g = f->goal;
    f->command->kick = g->kick;
    f->command->kick_left = f->foot > 0;
    f->command->kick_direction = (float)nm_within(direction, 1);
    f->command->kick_strength = g->kick_strength > 0 ? g->kick_strength : 1;
}

/* Whether a ball there, seen from the robot, lies on the line of the foot that kicks. */
static bool before_foot(const struct planner *f, struct pose2 ball)
{
    return fabs(ball.y - aside_of(f)) < f->kick_width && fabs(ball.theta) < f->kick_turn;
}

/* Whether the foot that kicks is the next one to lift, and will find the ball where it swings. What counts is where the
 * ball lies when that step begins. */
static bool in_reach(const struct planner *f)
{
    bool now = nm_seconds(f->nm->now - nm_stamp_ns(f->ball->last_seen)) < SEEN_NOW;
    double left = nm_clamp(0.5 * f->step - nm_seconds(f->nm->now - f->stepped), 0, 1);
    double soon = walk_answers(f) ? left : f->delay;
    struct pose2 begin = pose2_mul(f->here, walked(f, soon));
    struct pose2 at = pose2_mul(pose2_inv(begin), aimed(f, nm_rolling_at(&f->rolling, soon)));
    bool reached = at.x < ahead_of(f) + f->kick_reach && before_foot(f, at);
    bool next = f->walk->left_support == (f->foot > 0) && f->walk->phase > LATE;
    bool again = f->kicked && nm_seconds(f->nm->now - f->kicked) < AGAIN;
    return now && reached && !again && (!walk_answers(f) || next);
}

/* m/s, with which the foot that kicks lifts when the robot is there, x metres ahead. */
static double fitting_speed(const struct planner *f, double x)
{
    if (!walk_answers(f)) return f->kick_speed;
    double lifts = nm_clamp(0.5 * f->step - nm_seconds(f->nm->now - f->stepped), 0, 1); /* s, until it lifts next */
    if (f->walk->left_support != (f->foot > 0)) lifts += 0.5 * f->step;
    double more = fmax(rint((x / f->kick_speed - lifts) / f->step), lifts > SOON ? 0 : 1);
    return nm_clamp(x / (lifts + more * f->step), 0, FASTEST * f->kick_speed);
}

/* In the lane: straight on, sideways to the line of the foot, as fast as makes the way a whole number of double steps;
 * slower while there is much to correct. */
static void run_up(struct planner *f, const struct plan *p, struct pose2 ball)
{
    struct pose2 at = seen(f, stand_behind(f, ball, 0));
    /* what is left, along the direction of the kick and across it */
    double wrong = at.theta, c = cos(wrong), s = sin(wrong), x = c * at.x + s * at.y, y = c * at.y - s * at.x;
    double fast = steer_stopping(fmax(x - 2 * f->kick_speed * f->step, 0), f->change);
    double speed = fmin(fitting_speed(f, x) + fast, p->limits.forward);
    double across = nm_within(steer_stopping(y, f->change_side), p->limits.side);
    double turn = nm_within(steer_stopping(wrong, f->change_turn), p->limits.turn);
    double need = fmax(steer_seconds(y, f->change_side), steer_seconds(wrong, f->change_turn)); /* s, to be right */
    if (!before_foot(f, seen(f, ball))) speed = fmin(speed, x / need);
    double along = fmax(speed, -0.1);
    struct steer_velocity v = {c * along - s * across, s * along + c * across, turn};
    yield_to_others(f, &v, CLOSE);
    put_velocity(f, v);
    f->state->remaining_distance = (float)fmax(x, 0);
    f->state->remaining_time = (float)(fmax(x, 0) / f->kick_speed);
    if (!in_reach(f)) return;
    f->asked = f->nm->now;
    ask_for_kick(f, f->goal->kick_direction + wrong);
}

/* Until the foot is down again it walks straight on. */
static bool kicks(struct planner *f)
{
    double since = f->asked ? nm_seconds(f->nm->now - f->asked) : INFINITY;
    bool swings = walk_answers(f) && f->walk->state == WalkState_KICKING, over = f->swung && !swings;
    if (over) f->kicked = f->nm->now;
    f->swung = f->asked && swings;
    if (since > (swings || !walk_answers(f) ? KICK_TAKES : AWAITED) || over) f->asked = 0;
    if (!f->asked) return false;
    struct steer_velocity v = {f->kick_speed, 0, 0};
    yield_to_others(f, &v, CLOSE);
    put_velocity(f, v);
    if (!walk_answers(f) && since < SHOWN) ask_for_kick(f, f->goal->kick_direction);
    return true;
}

static void dribble(struct planner *f, const struct plan *p, struct pose2 ball)
{
    struct pose2 at = seen(f, ball);
    double speed = fmin(f->dribble_speed, p->limits.forward);
    put_velocity(f, (struct steer_velocity){speed, nm_within(steer_stopping(at.y, f->change_side), p->limits.side),
                                            nm_within(steer_stopping(at.theta, f->change_turn), p->limits.turn)});
}

static void go_behind_ball(struct planner *f, const struct plan *p)
{
    struct pose2 ball = ball_and_aim(f);
    bool standing = f->goal->kick == WalkCommand_KICK_NONE && p->mode == NavigationGoal_WALK_BEHIND_BALL;
    if (kicks(f)) return;
    if (f->in_lane && p->mode == NavigationGoal_DRIBBLE)
        dribble(f, p, ball);
    else if (f->in_lane && !standing)
        run_up(f, p, ball);
    else if (standing)
        go_and_stand(f, p);
    else
        f->state->remaining_time = (float)follow(f, p, f->kick_speed);
}

/* ---- the cycle ---- */

static const struct {
    bool placed, turn_early, around;
} modes[] = {
    [NavigationGoal_STAND] = {0},
    [NavigationGoal_PATH] = {.placed = true, .around = true},
    [NavigationGoal_PATH_WITH_ORIENTATION] = {.placed = true, .around = true, .turn_early = true},
    [NavigationGoal_DIRECT] = {.placed = true},
    [NavigationGoal_DIRECT_WITH_ORIENTATION] = {.placed = true, .turn_early = true},
    [NavigationGoal_WALK_BEHIND_BALL] = {.around = true},
    [NavigationGoal_DRIBBLE] = {.around = true},
    [NavigationGoal_VELOCITY] = {0},
};

static void show_way(struct planner *f)
{
    nm_text(f->path->header.frame_id, "odom");
    for (int i = 0; i < WAY_POINTS; i++) {
        PoseStamped *out = nm_append(&f->path->poses, &PoseStamped_type);
        struct pose2 at = detour_at(&f->way, f->way.length * i / (WAY_POINTS - 1));
        struct quat q = quat_rpy(0, 0, i == WAY_POINTS - 1 ? f->to.theta : at.theta);
        if (!out) break;
        out->header = f->path->header;
        out->pose = (Pose){{at.x, at.y, 0}, {q.x, q.y, q.z, q.w}};
    }
    nm_put(f->nm, f->path);
    f->shown = f->nm->now;
}

static void make_plan(struct planner *f, const struct plan *p)
{
    bool news = nm_fresh(f->nm, f->goal) || nm_fresh(f->nm, f->pose) || nm_fresh(f->nm, f->ball) ||
                nm_fresh(f->nm, f->obstacles) || nm_seconds(f->nm->now - f->planned) > PLAN_EVERY;
    if (!news) return;
    f->planned = f->nm->now;
    bool squeezes = f->narrow && nm_seconds(f->nm->now - f->narrow) < SQUEEZES;
    for (int narrow = squeezes; narrow < 2; narrow++) { /* where no way has room enough it goes between the others */
        if (narrow && !squeezes) f->narrow = f->nm->now;
        double room = narrow ? NARROW_ROOM * f->room : f->room;
        if (needs_ball(p->mode))
            plan_behind(f, room);
        else
            plan_place(f, p, room);
        if (f->way.clear) break;
    }
    f->first_side = f->way.n ? f->way.bends[0].side : 0;
    if (nm_seconds(f->nm->now - f->shown) > WAY_EVERY) show_way(f);
}

static void walk_on(struct planner *f)
{
    uint8_t mode = f->goal->mode;
    struct plan p = {
        .mode = mode, .turn_early = modes[mode].turn_early, .around = modes[mode].around, .limits = limits_of(f)};
    if (mode == NavigationGoal_STAND) {
        f->arrived = true;
        return;
    }
    if (mode == NavigationGoal_VELOCITY) {
        const Twist *v = &f->goal->velocity;
        put_velocity(f, (struct steer_velocity){v->linear.x, v->linear.y, v->angular.z});
        return;
    }
    make_plan(f, &p);
    if (needs_ball(mode))
        go_behind_ball(f, &p);
    else
        go_and_stand(f, &p);
}

static void forget_way(struct planner *f)
{
    f->holds = f->arrived = f->in_lane = false;
    f->first_side = f->turning = 0;
    f->asked = 0;
    f->planned = INT64_MIN / 2;
}

static void reset(struct planner *f)
{
    forget_way(f);
    f->n_past = f->n_others = 0;
    f->located = f->shown = f->stepped = f->narrow = f->kicked = 0;
    f->here = f->robot = (struct pose2){0};
    f->foot = 1;
    f->step = USUAL_STEP;
    f->ball_ahead = f->ahead; /* until the kick has said where the ball lies best */
    f->ball_aside = f->aside;
    f->mode = NavigationGoal_STAND;
}

static void step(struct planner *f)
{
    remember(f);
    f->robot = pose2_mul(f->here, walked(f, f->delay));
    take_pose(f);
    take_ball(f);
    take_obstacles(f);
    take_goal(f);
    take_place(f);
    time_steps(f);
    if (!nm_slot(f->goal)->seq) return; /* nobody plans here: the walk is somebody else's */
    const char *why = refusal(f);
    if (why || f->goal->mode != f->mode) forget_way(f);
    f->mode = f->goal->mode;
    if (!why) walk_on(f);
    nm_put(f->nm, f->command);
    NavigationState *s = f->state;
    struct pose2 to = seen(f, f->to);
    nm_text(s->header.frame_id, "base_footprint");
    s->mode = f->goal->mode;
    s->accepted = !why;
    s->arrived = !why && f->arrived;
    nm_text(s->reason, "%s", why ? why : "");
    s->target = (Pose2D){to.x, to.y, to.theta};
    nm_put(f->nm, s);
}

static int init(struct planner *f)
{
    reset(f);
    return 0;
}

#define SELF struct planner
static const struct nm_port ports[] = {
    NM_IN(goal, NavigationGoal, "navigation_goal"),
    NM_IN(pose, PoseWithCovarianceStamped, "pose", .optional = true),
    NM_IN(odometry, Odometry, "odometry"),
    NM_IN(ball, BallModel, "ball", .optional = true),
    NM_IN(team_ball, TeamBall, "team_ball", .optional = true),
    NM_IN(obstacles, ObstacleModel, "obstacles", .optional = true),
    NM_IN(match, MatchState, "match_state", .optional = true),
    NM_IN(hcm, HcmState, "hcm_state", .optional = true),
    NM_LAST(walk, WalkState, "walk_state", .optional = true),
    NM_LAST(place, PointStamped, "kick_place", .optional = true),
    NM_OUT(command, WalkCommand, "walk_command"),
    NM_OUT(state, NavigationState, "navigation_state"),
    NM_OUT(path, Path, "path"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(forward, 0.53, 0.05, 3, "m/s", "fastest walk forwards; the walk of this robot decides"),
    NM_PARAM(backward, 0.46, 0.05, 3, "m/s", "the same backwards"),
    NM_PARAM(side, 0.39, 0.05, 3, "m/s", "the same sideways"),
    NM_PARAM(turn, 2.8, 0.1, 10, "rad/s", "fastest turn"),
    NM_PARAM(turn_fast, 0.8, 0, 1, "1", "share of the turn that is lost at full speed"),
    NM_PARAM(change, 1, 0.05, 20, "m/s2", "how fast the walk changes its speed, forwards and backwards"),
    NM_PARAM(change_side, 0.3, 0.05, 20, "m/s2", "the same sideways"),
    NM_PARAM(change_turn, 2.8, 0.1, 100, "rad/s2", "the same for turns"),
    NM_PARAM(delay, 0.15, 0, 2, "s", "until the walk does what it is told: about a step"),
    NM_PARAM(arrive, 0.04, 0.005, 1, "m", "so near to its target it stands"),
    NM_PARAM(arrive_turn, 0.1, 0.01, 3, "rad", "the same for its orientation"),
    NM_PARAM(leave, 0.1, 0.01, 2, "m", "a robot that stands walks again if its target is farther than this"),
    NM_PARAM(leave_turn, 0.25, 0.02, 3.2, "rad", "the same for its orientation"),
    NM_PARAM(near, 0.3, 0, 2, "m", "from here on the walk plans the steps itself; 0: never"),
    NM_PARAM(body, 0.17, 0, 1, "m", "radius of the robot"),
    NM_PARAM(room, 0.13, 0, 1, "m",
             "way around other robots: so much between the two bodies; around posts two thirds of it"),
    NM_PARAM(ball_room, 0.3, 0.05, 2, "m",
             "way around the ball on the way behind it: between ball and robot, middle to middle"),
    NM_PARAM(stand_off, 0.25, 0, 2, "m", "so far behind the place of the kick the straight run-up begins"),
    NM_PARAM(ahead, 0.2, 0.05, 1, "m", "from the robot to a ball before its foot, until the topic kick_place says it"),
    NM_PARAM(aside, 0.05, 0, 0.3, "m", "the same to the side"),
    NM_PARAM(outside, 0.05, -0.1, 0.1, "m",
             "a walking foot wants the ball so much farther outside than a standing one"),
    NM_PARAM(farther, 0.05, -0.1, 0.3, "m", "and so much farther ahead"),
    NM_PARAM(kick_speed, 0.36, 0.02, 2, "m/s", "of the last steps before a kick"),
    NM_PARAM(kick_reach, 0.035, -0.1, 0.5, "m",
             "a kick is asked for if the ball lies at most so much farther away than best"),
    NM_PARAM(kick_width, 0.04, 0.005, 0.2, "m", "and so near to the line of the foot"),
    NM_PARAM(kick_turn, 0.25, 0.02, 1, "rad", "and the direction is wrong by at most this"),
    NM_PARAM(dribble_speed, 0.35, 0.02, 2, "m/s", "with the ball at the feet"),
    NM_PARAM(patience, 1, 0.1, 1000, "s", "stands if no goal came for so long"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(planner, "Walks where a navigation goal says, around robots, goals and the ball, and kicks in passing.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))
