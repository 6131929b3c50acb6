/* Practice for planner and gaze: once the ball was seen, it asks for one kick in a direction that is drawn at random,
 * and stands after it. The direction is one of odom, so that the practice needs no localisation. */
#include "core/nm.h"
#include "core/stamp.h"
#include "humanoid_league_msgs/HeadMode.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"

static const double FAR = 50;     /* m, of the target: its direction does not change with the place of the ball */
static const double KICKED = 0.4; /* m/s, a ball that rolls faster was kicked */
static const double RESTS = 0.1;  /* m/s, a slower one was not */
static const double NOW = 0.2;    /* s, since a ball was seen */
static const double NEAR = 1;     /* m, who loses a ball so near to it ... */
static const double LINGER = 1;   /* s, ... looks for it there before it turns away */

struct approach_ball {
    struct nm *nm;
    /* in */
    const BallModel *ball;
    const WalkCommand *command;
    const WalkState *walk;
    /* out */
    NavigationGoal *goal;
    HeadMode *head;
    /* params */
    double start, strength, search; /* s, 1, rad/s */
    /* state */
    bool drawn, asked, done;
    int64_t had;      /* ns, when it last knew a ball near it; 0: never */
    double direction; /* rad, in odom */
};

static void step(struct approach_ball *f)
{
    if (!f->drawn) f->direction = 2 * M_PI * nm_random(f->nm), f->drawn = true;
    f->head->head_mode = HeadMode_BALL_MODE;
    nm_put(f->nm, f->head);
    f->asked |= f->command->kick != WalkCommand_KICK_NONE || f->walk->state == WalkState_KICKING;
    double speed = hypot(f->ball->velocity.x, f->ball->velocity.y);
    bool seen = f->ball->valid && nm_seconds(f->nm->now - nm_stamp_ns(f->ball->last_seen)) < NOW;
    if (f->ball->valid && hypot(f->ball->position.x, f->ball->position.y) < NEAR) f->had = f->nm->now;
    f->done |= f->asked && f->ball->valid && speed > KICKED;
    f->done &= !(seen && speed < RESTS && f->had == f->nm->now); /* it was only thought to roll: the foot missed it */
    if (nm_seconds(f->nm->now) < f->start) return;
    nm_text(f->goal->header.frame_id, "odom");
    f->goal->mode = f->done          ? NavigationGoal_STAND
                    : f->ball->valid ? NavigationGoal_WALK_BEHIND_BALL
                                     : NavigationGoal_VELOCITY;
    bool lingers = f->had && nm_seconds(f->nm->now - f->had) < LINGER;
    if (f->goal->mode == NavigationGoal_VELOCITY && !lingers) f->goal->velocity.angular.z = f->search;
    f->goal->kick_target = (Point){FAR * cos(f->direction), FAR * sin(f->direction), 0};
    f->goal->kick = WalkCommand_KICK_FORWARD;
    f->goal->kick_strength = (float)f->strength;
    nm_put(f->nm, f->goal);
}

#define SELF struct approach_ball
static const struct nm_port ports[] = {
    NM_IN(ball, BallModel, "ball"),
    NM_LAST(command, WalkCommand, "walk_command"),
    NM_LAST(walk, WalkState, "walk_state", .optional = true),
    NM_OUT(goal, NavigationGoal, "navigation_goal"),
    NM_OUT(head, HeadMode, "head_mode"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(start, 2, 0, 1000, "s", "when it begins to walk"),
    NM_PARAM(search, 2.5, 0, 5, "rad/s", "turning rate while it looks for the ball"),
    NM_PARAM(strength, 1, 0.1, 1, "1", "of the kick"),
    {0},
};
NM_MODULE(approach_ball, "Walks to the ball and kicks it in a direction drawn at random; for practice.",
          NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(step))
