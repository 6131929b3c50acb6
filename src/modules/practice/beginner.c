/* A team's first season: every robot knows where it is, walks to the ball and kicks it at the goal; nobody talks to
 * anybody. The keeper stays at home unless the ball comes near. Good teams are compared with this one. */
#include "base/clamp.h"
#include "base/geometry.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/WalkCommand.h"

static const double BEHIND = 0.3;              /* m, the place behind the ball from which it walks into it      */
static const double BESIDE = 0.3;              /* m, it passes a ball that is in its way with so much room      */
static const double ALIGNED = 0.35, ON = 0.25; /* rad, rad: towards the goal, towards the ball                  */
static const double LOST = 2;                  /* s, a ball that was not seen for so long is looked for         */
static const double GAIN = 1.5, SLOW = 0.3;    /* 1/s, of distances and angles; m, from here on it slows down   */
static const double PAN = 1.2, SWING = 3;      /* rad, s: the head looks from side to side                      */

struct beginner {
    struct nm *nm;
    /* in */
    const MatchState *match;
    const PoseWithCovarianceStamped *pose;
    const BallModel *ball;
    /* out */
    WalkCommand *walk;
    HeadCommand *head;
    /* params */
    double field_length, speed, side, turn, reach, strength, home_radius;
    double home_x[7], home_y[7];
    /* state */
    int64_t kicked; /* ns, when it asked for the last kick */
};

static struct pose2 robot_to_map(const struct beginner *f)
{
    const Pose *p = &f->pose->pose.pose;
    struct quat q = {p->orientation.w, p->orientation.x, p->orientation.y, p->orientation.z};
    return (struct pose2){p->position.x, p->position.y, quat_yaw(q)};
}

/* Towards a place of the robot's frame; far away it turns there first. */
static void walk_to(struct beginner *f, double x, double y, double heading)
{
    double far = hypot(x, y), bearing = atan2(y, x), turn = far > SLOW ? bearing : heading;
    double ahead = far > SLOW ? f->speed * fmax(cos(bearing), 0) : nm_within(GAIN * x, f->speed);
    f->walk->mode = WalkCommand_VELOCITY;
    f->walk->velocity.linear.x = ahead;
    f->walk->velocity.linear.y = nm_within(GAIN * y, f->side);
    f->walk->velocity.angular.z = nm_within(GAIN * turn, f->turn);
}

static void walk_home(struct beginner *f, struct pose2 robot, bool stays)
{
    uint32_t i = (uint32_t)nm_clamp(f->match->player_number - 1, 0, 6);
    struct pose2 at = pose2_mul(pose2_inv(robot), (struct pose2){f->home_x[i], f->home_y[i], 0});
    if (stays && hypot(at.x, at.y) < 0.15 && fabs(at.theta) < 0.3) return; /* it stands */
    walk_to(f, at.x, at.y, at.theta);
}

/* Behind the ball as seen from the goal, then into it, with a kick when it is before the foot. */
static void attack(struct beginner *f, struct pose2 robot)
{
    double x = f->ball->position.x, y = f->ball->position.y, far = hypot(x, y);
    struct pose2 goal = pose2_mul(pose2_inv(robot), (struct pose2){f->field_length / 2, 0, 0});
    double aim = atan2(goal.y - y, goal.x - x), along = x * cos(aim) + y * sin(aim),
           across = -x * sin(aim) + y * cos(aim);
    bool behind = along > 0 && fabs(across) < 0.15 && fabs(aim) < 2 * ALIGNED;
    if (behind) {
        walk_to(f, x, y, aim);
        f->walk->velocity.angular.z = nm_within(GAIN * aim, f->turn);
        f->walk->velocity.linear.x = f->speed * fmax(cos(atan2(y, x)), 0.2);
        bool near = x > 0 && x < f->reach && fabs(atan2(y, x)) < 2 * ON && fabs(aim) < ALIGNED;
        if (near && nm_seconds(f->nm->now - f->kicked) > 1.5) {
            f->walk->kick = WalkCommand_KICK_FORWARD;
            f->walk->kick_left = y > 0;
            f->walk->kick_strength = (float)f->strength;
            f->walk->kick_direction = (float)nm_within(aim, 0.5);
            f->kicked = f->nm->now;
        }
        return;
    }
    /* around it: beside the ball first, if the robot stands before it */
    double to_x = x - BEHIND * cos(aim), to_y = y - BEHIND * sin(aim);
    if (along < 0 && far < 1) {
        double hand = across > 0 ? -1 : 1; /* on the side where it is already */
        to_x += hand * BESIDE * -sin(aim);
        to_y += hand * BESIDE * cos(aim);
    }
    walk_to(f, to_x, to_y, far < 0.8 ? aim : atan2(y, x));
}

static void look(struct beginner *f, bool seen)
{
    f->head->mode = seen ? HeadCommand_LOOK_AT : HeadCommand_ANGLES;
    f->head->target = f->ball->position;
    f->head->pan = (float)(PAN * sin(2 * M_PI * nm_seconds(f->nm->now) / SWING));
    f->head->tilt = 0.4f;
    nm_text(f->head->header.frame_id, "base_footprint");
    nm_put(f->nm, f->head);
}

static void step(struct beginner *f)
{
    struct pose2 robot = robot_to_map(f);
    bool seen = f->ball->valid && f->nm->now - nm_stamp_ns(f->ball->last_seen) < nm_ns(LOST);
    bool glance =
        nm_seconds(f->nm->now) / SWING - floor(nm_seconds(f->nm->now) / SWING) < 0.4; /* at lines, to stay localised */
    bool keeps = f->match->player_number == f->match->goalkeeper;
    struct pose2 ball = pose2_mul(robot, (struct pose2){f->ball->position.x, f->ball->position.y, 0});
    bool near_home = hypot(ball.x - f->home_x[0], ball.y - f->home_y[0]) < f->home_radius;
    bool playing = f->match->state == MatchState_PLAYING;
    look(f, seen && !(glance && hypot(f->ball->position.x, f->ball->position.y) > 1));
    f->walk->mode = WalkCommand_STAND;
    if (!f->match->may_move || f->match->penalized)
        ;
    else if (!playing || !f->match->may_play)
        walk_home(f, robot, true);
    else if (keeps && !(seen && near_home))
        walk_home(f, robot, true);
    else if (seen)
        attack(f, robot);
    else { /* it turns until it sees the ball */
        f->walk->mode = WalkCommand_VELOCITY;
        f->walk->velocity.angular.z = 0.5 * f->turn;
    }
    nm_put(f->nm, f->walk);
}

#define SELF struct beginner
static const struct nm_port ports[] = {
    NM_IN(match, MatchState, "match_state"),
    NM_IN(pose, PoseWithCovarianceStamped, "pose"),
    NM_IN(ball, BallModel, "ball"),
    NM_OUT(walk, WalkCommand, "walk_command"),
    NM_OUT(head, HeadCommand, "head_command"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(field_length, 8.95, 2, 120, "m", "between the middles of the goal lines"),
    NM_PARAM(speed, 0.3, 0.05, 1, "m/s", "of the walk straight on"),
    NM_PARAM(side, 0.12, 0, 0.5, "m/s", "fastest to the side"),
    NM_PARAM(turn, 0.9, 0, 3, "rad/s", "fastest turn"),
    NM_PARAM(reach, 0.26, 0.1, 0.6, "m", "a ball that is nearer is kicked"),
    NM_PARAM(strength, 1, 0.1, 1, "1", "of the kick"),
    NM_PARAM(home_radius, 1.5, 0, 10, "m", "the keeper goes to a ball that is this near to its home"),
    NM_PARAM_LIST(home_x, "-4.3 -1.0 -2.2 -1.2 -2.2 -1.2 -3", -60, 60, "m", "where player 1, 2, ... waits in READY"),
    NM_PARAM_LIST(home_y, "0 0 1.2 -1.3 -1.2 1.3 0", -60, 60, "m", "the same, to the left"),
    {0},
};
NM_MODULE(beginner, "Walks to the ball and kicks it at the goal, without a word to its mates.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
