/* The player: what it knows in each step, and the options that decide. One file holds one role or skill; the options
 * are written as core/option.h says. All places are in the frame map: x to the opponents' goal. */
#pragma once

#include "base/clamp.h"
#include "base/pitch.h"
#include "core/option.h"
#include "geometry_msgs/PointStamped.h"
#include "humanoid_league_msgs/HeadMode.h"
#include "humanoid_league_msgs/Kick.h"
#include "humanoid_league_msgs/PlayAnimation.h"
#include "humanoid_league_msgs/Strategy.h"
#include "modules/behavior/kick_choice.h"
#include "modules/behavior/known.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/NavigationState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/StrategyPlan.h"
#include "nutmeg_msgs/TeamMessage.h"
#include "nutmeg_msgs/TeamState.h"
#include "nutmeg_msgs/WalkCommand.h"

/* A goal of an action that was sent, and what became of it. */
enum asked { ASKED_NOTHING, ASKED_WAITING, ASKED_RUNS, ASKED_SUCCEEDED, ASKED_FAILED };

struct soccer {
    struct nm *nm;
    /* in */
    const MatchState *match;
    const PoseWithCovarianceStamped *pose;
    const BallModel *ball_seen;
    const TeamBall *team_ball;
    const ObstacleModel *obstacles;
    const TeamState *team;
    const PointStamped *search_target;
    const StrategyPlan *plan;
    const NavigationState *navigation;
    const HcmState *hcm;
    nm_client(Kick_SendGoal) kick_send;
    nm_client(Kick_GetResult) kick_result;
    nm_client(PlayAnimation_SendGoal) animation_send;
    nm_client(PlayAnimation_GetResult) animation_result;
    /* out */
    NavigationGoal *goal;
    HeadMode *head;
    BehaviorState *behavior;
    Strategy *strategy;
    /* params */
    struct nm_pitch_size field;
    double speed, calm, jog;
    double dribble_reach, walk_reach, walk_spread, stand_reach, stand_spread, stand_time, habit;
    double lost, near, jam, back_off;
    double dive_time, reach, body;
    double save_speed;
    bool dives;
    /* what is known in this step */
    struct pose2 me;
    double unsure; /* m, 1 sigma of the own position */
    struct known_ball ball;
    double ball_far;    /* m from the robot                        */
    struct vec3 rival;  /* m, the rival who is nearest to the ball ... */
    double rival_far;   /* m from it; infinite: none is known      */
    double rival_first; /* s until the first rival is at the ball  */
    bool kick_off;      /* ours: the ball still lies on its place  */
    bool goal_counts;   /* if this robot scores now                */
    /* state */
    struct nm_options options;
    struct kick_choice choice;
    int64_t chosen;     /* ns, when it was chosen                    */
    int64_t lost_since; /* ns, when the ball was not known first; 0: it is known */
    struct vec3 last_ball;
    struct vec3 rested;    /* m, where the ball lies since ...        */
    int64_t rested_since;  /* ns                                      */
    double corner;         /* y of the corner that a penalty goes to  */
    double side;           /* 1: the ball was last to the left        */
    double stirs;          /* rad/s                                   */
    double patience;       /* s that it lets a rival play the ball    */
    int64_t insists;       /* ns, until then it does not make way again */
    struct vec3 rival_was; /* m, where the rival is that it makes way for ... */
    int64_t rival_came;    /* ns, ... since when                     */
    int64_t asks;          /* goals sent to actions so far            */
    uint8_t taker;         /* who took our last indirect restart, until a mate plays the ball; 0: nobody */
    int64_t taken;         /* ns, when he did                         */
    enum asked asked;
    struct vec3 kicked_from; /* m, where the ball lay when the kick was asked for */
};
#define SELF struct soccer

/* ---- what a state may ask ---- */

static inline double rests_for(const struct soccer *f) { return nm_seconds(f->nm->now - f->rested_since); }
static inline struct pose2 own_place(const struct soccer *f)
{
    return (struct pose2){f->plan->own_position.x, f->plan->own_position.y, f->plan->own_position.theta};
}
/* May this robot go to the ball and play it? */
static inline bool ball_is_mine(const struct soccer *f)
{
    return f->plan->may_claim_ball && f->match->may_play && f->ball.known;
}
static inline double to_ball_angle(const struct soccer *f) { return atan2(f->ball.y - f->me.y, f->ball.x - f->me.x); }

/* ---- what a state may order: the last order of a step counts ---- */

static inline void look(struct soccer *f, uint8_t mode) { f->head->head_mode = mode; } /* MODE of HeadMode */
/* ACTION_* of Strategy, for the team */
static inline void acts(struct soccer *f, uint8_t action) { f->strategy->action = action; }
void stand_still(struct soccer *f);
void walk_to(struct soccer *f, struct pose2 to, double keep_from_ball);
void step_to(struct soccer *f, struct pose2 to); /* facing its direction from the beginning */
void walk_with(struct soccer *f, double x, double y, double turn);
void walk_behind_ball(struct soccer *f, double target_x, double target_y);

/* ---- actions of the body ---- */

void ask_kick(struct soccer *f, double target_x, double target_y);
void ask_animation(struct soccer *f, const char *name);

/* ---- shots at the own goal ---- */

double farthest_roll(const struct known_ball *ball); /* m; it may roll farther than is believed          */
bool rolls_into_goal(const struct soccer *f);        /* our own, as it seems; it does not stop before it */

/* Where this robot can best be in the way of a ball that rolls into its own goal. */
struct meeting {
    double x, y; /* m, in its own frame                          */
    double late; /* s that it comes there later than the ball    */
    bool comes;  /* the ball rolls towards the goal, as it seems */
};
struct meeting meeting_of(const struct soccer *f);
void walk_to_meeting(struct soccer *f, const struct meeting *m);
bool blocks_shot(const struct soccer *f, const struct meeting *m); /* a field player stops it there */

/* ---- roles ---- */

void strike(struct soccer *f);
void keep_goal(struct soccer *f);
void hold_place(struct soccer *f);

/* ---- skills ---- */

void wait_facing(struct soccer *f, double direction);
void play_ball(struct soccer *f);
void search_ball(struct soccer *f);
void shoot_penalty(struct soccer *f);
