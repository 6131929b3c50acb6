/* Two teams in the flat world with the real strategy, soccer and planner, and without eyes, radio and localisation: all
 * see the truth with a little noise, and mates hear one another three times a second. A small referee stops and starts
 * the game. For tests of behaviour that need opponents. */
#pragma once

#include <math.h>
#include <string.h>

#include "core/harness.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/BehaviorState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/NavigationState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/StrategyPlan.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/TeamState.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "sim/flat.h"

extern const struct nm_module strategy_module, soccer_module, planner_module;

enum { GAME_TEAM = 4, GAME_ROBOTS = 2 * GAME_TEAM };
static const double GAME_STEP = 0.03; /* s */

struct game {
    struct nm_pitch pitch;
    struct nm_flat flat;
    struct nm_dice dice;
    struct {
        struct nm_harness *strategy, *soccer, *planner;
        TeamMate mates[GAME_TEAM];
    } robots[GAME_ROBOTS];
    bool beginners;   /* the second team: all go to the ball and kick it at the goal, with all their strength */
    MatchState match; /* what both teams share */
    int kicking;      /* team, -1: nobody */
    double started;   /* s, when the set play or kick-off began */
    struct vec3 placed;
    int64_t step;
    double now; /* s */
    /* counted */
    int goals[2], own_goals, outs, restarts;
    double played, none[2], two[2]; /* s */
    int jams;                       /* two opponents at a ball that did not move for 5 s */
    double still;                   /* s, how long it has not moved */
};

static inline void game_begin(struct game *g, uint64_t seed, const char *soccer_params, const char *rival_params)
{
    struct nm_err err = {0};
    struct nm_flat_options options = NM_FLAT_OPTIONS;
    memset(g, 0, sizeof *g);
    options.seed = seed;
    if (nm_pitch_read(&g->pitch, NM_ROOT "/fields/kid.yaml", &err)) fail_msg("%s", err.text);
    nm_flat_new(&g->flat, &g->pitch, &options);
    g->dice = nm_dice_new(seed, 1, 2);
    for (int i = 0; i < GAME_ROBOTS; i++) {
        int k = i % GAME_TEAM;
        double x = k ? -0.5 - 0.8 * (GAME_TEAM - k) : -4.3, y = k ? 1.2 * (k - 2) : 0;
        nm_flat_add(&g->flat, i < GAME_TEAM ? (struct pose2){x, y, 0} : (struct pose2){-x, -y, M_PI}, 0.7, 0.6);
        g->robots[i].strategy = nm_harness_new(&strategy_module, NULL);
        g->robots[i].soccer = nm_harness_new(&soccer_module, i < GAME_TEAM ? soccer_params : rival_params);
        g->robots[i].planner = nm_harness_new(
            &planner_module, "forward=0.35, backward=0.35, side=0.18, turn=1.2, turn_fast=0, near=0, outside=0, "
                             "change=0.5, change_side=0.4, change_turn=3, delay=0.02, kick_width=0.08, kick_turn=0.5");
    }
    nm_flat_put_ball(&g->flat, (struct vec3){0}, (struct vec3){0});
    g->match = (MatchState){.state = MatchState_PLAYING, .goalkeeper = 1, .players_per_team = GAME_TEAM};
    g->placed = (struct vec3){0};
}

static inline void game_end(struct game *g)
{
    for (int i = 0; i < GAME_ROBOTS; i++) {
        nm_harness_free(g->robots[i].strategy);
        nm_harness_free(g->robots[i].soccer);
        nm_harness_free(g->robots[i].planner);
    }
}

/* ---- what a robot knows ---- */

static inline struct pose2 game_turned(int team, struct pose2 p)
{
    return team ? (struct pose2){-p.x, -p.y, angle_normal(p.theta + M_PI)} : p;
}

static inline void game_see(struct game *g, int i)
{
    int team = i / GAME_TEAM;
    struct nm_harness *hs[3] = {g->robots[i].strategy, g->robots[i].soccer, g->robots[i].planner};
    const struct nm_flat_robot *r = &g->flat.robots[i];
    struct pose2 me = game_turned(team, r->pose), to_me = pose2_inv(me);
    struct pose2 ball = game_turned(team, (struct pose2){g->flat.ball.x, g->flat.ball.y, 0});
    struct pose2 at = pose2_mul(to_me, (struct pose2){ball.x, ball.y, 0});
    double vx = team ? -g->flat.ball_velocity.x : g->flat.ball_velocity.x,
           vy = team ? -g->flat.ball_velocity.y : g->flat.ball_velocity.y, c = cos(me.theta), s = sin(me.theta);
    double far = hypot(at.x, at.y), noise = 0.005 + 0.01 * far;
    Time now = nm_stamp((int64_t)(g->now * 1e9));
    at.x += noise * nm_dice_gauss(&g->dice);
    at.y += noise * nm_dice_gauss(&g->dice);
    for (int k = 0; k < 3; k++) {
        MatchState *m = nm_harness_set(hs[k], "match_state");
        *m = g->match;
        m->player_number = (uint8_t)(i % GAME_TEAM + 1);
        m->kicking = (uint8_t)(g->kicking < 0       ? MatchState_KICK_NOBODY
                               : g->kicking == team ? MatchState_KICK_OWN
                                                    : MatchState_KICK_RIVAL);
        m->may_move = true;
        m->may_play = m->kicking != MatchState_KICK_RIVAL;
        PoseWithCovarianceStamped *pose = nm_harness_set(hs[k], "pose");
        pose->header.stamp = now;
        pose->pose.pose = (Pose){{me.x, me.y, 0}, {0, 0, sin(me.theta / 2), cos(me.theta / 2)}};
        BallModel *b = nm_harness_set(hs[k], "ball");
        b->header.stamp = now;
        b->valid = far < 5 && fabs(atan2(at.y, at.x)) < 2.2;
        b->position = (Point){at.x, at.y, 0};
        b->velocity = (Vector3){c * vx + s * vy, -s * vx + c * vy, 0};
        b->last_seen = now;
        if (k == 2) continue;
        TeamBall *t = nm_harness_set(hs[k], "team_ball");
        t->source = TeamBall_SOURCE_MATE;
        t->ball.valid = true;
        t->ball.position = (Point){ball.x, ball.y, 0};
        t->ball.velocity = (Vector3){vx, vy, 0};
        t->ball.last_seen = now;
        TeamState *mates = nm_harness_set(hs[k], "team_state");
        for (int j = 0; j < GAME_TEAM; j++)
            if (g->robots[i].mates[j].received) mates->mates.at[mates->mates.n++] = g->robots[i].mates[j];
    }
    ObstacleModel *in_map[2] = {nm_harness_set(hs[0], "team_obstacles"), nm_harness_set(hs[1], "team_obstacles")};
    ObstacleModel *around = nm_harness_set(hs[2], "obstacles");
    around->header.stamp = now;
    for (int j = 0; j < GAME_ROBOTS; j++) {
        if (j == i) continue;
        struct pose2 other = game_turned(team, g->flat.robots[j].pose), rel = pose2_mul(to_me, other);
        Obstacle o = {.kind = j / GAME_TEAM == team ? Obstacle_MATE : Obstacle_RIVAL,
                      .position = {other.x, other.y, 0},
                      .radius = 0.16f,
                      .last_seen = now};
        for (int k = 0; k < 2; k++) in_map[k]->obstacles.at[in_map[k]->obstacles.n++] = o;
        o.position = (Point){rel.x, rel.y, 0};
        if (hypot(rel.x, rel.y) < 3) around->obstacles.at[around->obstacles.n++] = o;
    }
    Odometry *o = nm_harness_set(hs[2], "odometry");
    o->header.stamp = now;
    o->pose.pose =
        (Pose){{r->odometry.x, r->odometry.y, 0}, {0, 0, sin(r->odometry.theta / 2), cos(r->odometry.theta / 2)}};
    const NavigationState *state = nm_harness_get(hs[2], "navigation_state");
    if (state) *(NavigationState *)nm_harness_set(hs[1], "navigation_state") = *state;
}

static inline void game_speak(struct game *g, int i, const StrategyPlan *plan)
{
    int team = i / GAME_TEAM;
    struct pose2 me = game_turned(team, g->flat.robots[i].pose);
    double sign = team ? -1 : 1;
    if ((g->step + i) % 11) return;
    for (int j = team * GAME_TEAM; j < (team + 1) * GAME_TEAM; j++) {
        if (j == i) continue;
        TeamMate *m = &g->robots[j].mates[i % GAME_TEAM];
        m->player_number = (uint8_t)(i % GAME_TEAM + 1);
        m->alive = true;
        m->received++;
        m->heard = nm_stamp((int64_t)(g->now * 1e9));
        m->message = (TeamMessage){.player_number = m->player_number,
                                   .ball_known = true,
                                   .role = plan->own_role,
                                   .ball_claimed = plan->may_claim_ball};
        m->message.state = g->flat.robots[i].fallen ? TeamMessage_STATE_FALLEN : TeamMessage_STATE_ACTIVE;
        m->message.pose.pose = (Pose2D){me.x, me.y, me.theta};
        m->message.pose.weight = 1;
        m->message.header.stamp = m->heard;
        m->message.ball = (Point){sign * g->flat.ball.x, sign * g->flat.ball.y, 0};
        m->message.ball_velocity = (Vector3){sign * g->flat.ball_velocity.x, sign * g->flat.ball_velocity.y, 0};
        for (uint32_t k = 0; k < plan->players.n; k++) {
            uint8_t number = plan->players.at[k];
            if (m->message.proposed_roles.n < number) m->message.proposed_roles.n = number;
            m->message.proposed_roles.at[number - 1] = plan->roles.at[k];
        }
    }
}

static inline void game_chase(const struct game *g, int i, NavigationGoal *goal)
{
    bool ready = g->match.state == MatchState_READY, waits = g->kicking == 0;
    const StrategyPlan *plan = nm_harness_get(g->robots[i].strategy, "strategy_plan");
    nm_text(goal->header.frame_id, "map");
    struct pose2 ball = pose2_mul(pose2_inv(g->flat.robots[i].pose), (struct pose2){g->flat.ball.x, g->flat.ball.y, 0});
    goal->mode = ready || waits ? NavigationGoal_PATH : NavigationGoal_WALK_BEHIND_BALL;
    if (fabs(atan2(ball.y, ball.x)) > 2.1 && !ready && !waits) { /* it does not see it */
        goal->mode = NavigationGoal_VELOCITY;
        goal->velocity.angular.z = 1;
    }
    goal->target = plan->own_position;
    goal->ball_distance = waits ? 1 : 0;
    goal->kick_target = (Point){g->pitch.length / 2, 0, 0};
    goal->kick = WalkCommand_KICK_FORWARD;
    goal->kick_strength = 1;
}

static inline void game_act(struct game *g, int i)
{
    struct nm_harness *strategy = g->robots[i].strategy, *soccer = g->robots[i].soccer, *planner = g->robots[i].planner;
    nm_harness_step(strategy, GAME_STEP);
    const StrategyPlan *plan = nm_harness_get(strategy, "strategy_plan");
    *(StrategyPlan *)nm_harness_set(soccer, "strategy_plan") = *plan;
    nm_harness_step(soccer, GAME_STEP);
    NavigationGoal *goal = nm_harness_set(planner, "navigation_goal");
    if (g->beginners && i >= GAME_TEAM)
        game_chase(g, i, goal);
    else
        *goal = *(const NavigationGoal *)nm_harness_get(soccer, "navigation_goal");
    nm_harness_step(planner, GAME_STEP);
    const WalkCommand *w = nm_harness_get(planner, "walk_command");
    struct nm_walk_velocity v = {w->velocity.linear.x, w->velocity.linear.y, w->velocity.angular.z};
    if (w->mode == WalkCommand_TARGET) v = (struct nm_walk_velocity){w->target.x, w->target.y, w->target.theta};
    nm_flat_walk(&g->flat, (uint32_t)i, w->mode == WalkCommand_STAND ? (struct nm_walk_velocity){0} : v);
    if (w->kick != WalkCommand_KICK_NONE) nm_flat_kick(&g->flat, (uint32_t)i, w->kick_direction, w->kick_strength);
    game_speak(g, i, plan);
}

/* ---- the referee ---- */

static inline void game_place(struct game *g, double x, double y, uint8_t set_play, int kicking)
{
    nm_flat_put_ball(&g->flat, (struct vec3){x, y, 0}, (struct vec3){0});
    g->placed = (struct vec3){x, y, 0};
    g->match.set_play = set_play;
    g->kicking = kicking;
    g->started = g->now;
    g->restarts++;
}

/* All stand where their plan for the kick-off wants them. */
static inline void game_kick_off(struct game *g, int kicking)
{
    g->match.state = MatchState_READY;
    g->match.set_play = MatchState_SET_PLAY_NONE;
    g->kicking = kicking;
    for (int round = 0; round < 25; round++, g->step++) { /* until all have heard one another */
        g->now += GAME_STEP;
        for (int i = 0; i < GAME_ROBOTS; i++) {
            game_see(g, i);
            game_act(g, i);
        }
    }
    for (int i = 0; i < GAME_ROBOTS; i++) {
        const StrategyPlan *plan = nm_harness_get(g->robots[i].strategy, "strategy_plan");
        struct pose2 at = {plan->own_position.x, plan->own_position.y, plan->own_position.theta};
        nm_flat_place(&g->flat, (uint32_t)i, game_turned(i / GAME_TEAM, at));
    }
    game_place(g, 0, 0, MatchState_SET_PLAY_NONE, kicking);
    g->match.state = MatchState_PLAYING;
}

static inline void game_judge(struct game *g)
{
    double x = g->flat.ball.x, y = g->flat.ball.y, half_x = g->pitch.length / 2, half_y = g->pitch.width / 2;
    int touched = g->flat.last_touch < 0 ? -1 : g->flat.last_touch / GAME_TEAM;
    bool moved = hypot(x - g->placed.x, y - g->placed.y) > 0.05;
    if (g->kicking >= 0 && (moved || g->now - g->started > (g->match.set_play ? 30 : 10))) {
        g->kicking = -1;
        g->match.set_play = MatchState_SET_PLAY_NONE;
    }
    if (fabs(x) > half_x && fabs(y) < g->pitch.goal_width / 2) {
        int scorer = x > 0 ? 0 : 1;
        g->goals[scorer]++;
        g->own_goals += touched != scorer;
        game_kick_off(g, !scorer);
    } else if (fabs(y) > half_y) {
        g->outs++;
        game_place(g, nm_clamp(x, -half_x + 0.1, half_x - 0.1), copysign(half_y - 0.02, y),
                   MatchState_SET_PLAY_THROW_IN, touched == 0);
    } else if (fabs(x) > half_x) {
        int defends = x > 0;
        g->outs++;
        if (touched == defends)
            game_place(g, copysign(half_x - 0.05, x), copysign(half_y - 0.05, y), MatchState_SET_PLAY_CORNER_KICK,
                       !defends);
        else
            game_place(g, copysign(half_x - g->pitch.goal_area_depth, x), copysign(g->pitch.goal_area_width / 2, y),
                       MatchState_SET_PLAY_GOAL_KICK, defends);
    }
}

static inline bool game_on_its_way(const struct game *g, int i)
{
    const NavigationGoal *goal = nm_harness_get(g->robots[i].soccer, "navigation_goal");
    const StrategyPlan *plan = nm_harness_get(g->robots[i].strategy, "strategy_plan");
    return plan->may_claim_ball && goal->mode != NavigationGoal_STAND;
}

static inline void game_count(struct game *g, struct vec3 before)
{
    bool close[2] = {false, false};
    g->played += GAME_STEP;
    for (int team = 0; team < 2; team++) {
        int going = 0;
        if (g->kicking == !team) continue; /* a set play against us */
        for (int i = team * GAME_TEAM; i < (team + 1) * GAME_TEAM; i++) going += game_on_its_way(g, i);
        g->none[team] += going == 0 ? GAME_STEP : 0;
        g->two[team] += going > 1 ? GAME_STEP : 0;
    }
    for (int i = 0; i < GAME_ROBOTS; i++)
        if (hypot(g->flat.robots[i].pose.x - g->flat.ball.x, g->flat.robots[i].pose.y - g->flat.ball.y) < 0.45)
            close[i / GAME_TEAM] = true;
    bool stuck = close[0] && close[1] && hypot(g->flat.ball.x - before.x, g->flat.ball.y - before.y) < 0.002;
    g->still = stuck ? g->still + GAME_STEP : 0;
    if (g->still > 5) {
        g->jams++;
        g->still = 0;
    }
}

static inline void game_play(struct game *g, double seconds)
{
    for (double end = g->now + seconds; g->now < end; g->step++) {
        struct vec3 before = g->flat.ball;
        g->now += GAME_STEP;
        for (int i = 0; i < GAME_ROBOTS; i++) {
            game_see(g, i);
            game_act(g, i);
        }
        nm_flat_step(&g->flat, (uint32_t)lround(GAME_STEP * 1e9 / (double)g->flat.options.step));
        game_count(g, before);
        game_judge(g);
    }
}
