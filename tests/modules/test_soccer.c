/* soccer: obeys the referee, plays its role, brings the ball into the goal of a toy world, and keeps its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "core/harness.h"
#include "core/stamp.h"
#include "geometry_msgs/PointStamped.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/HeadMode.h"
#include "humanoid_league_msgs/Kick.h"
#include "humanoid_league_msgs/PlayAnimation.h"
#include "humanoid_league_msgs/Strategy.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/BehaviorState.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/NavigationState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/StrategyPlan.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/TeamMessage.h"
#include "nutmeg_msgs/WalkCommand.h"

extern const struct nm_module soccer_module;

static const double STEP = 1.0 / 30, SPEED = 0.3, TURN = 1, GOAL_X = 4.475, BRAKE = 0.4;

/* A robot that goes where its navigation goal says, and a ball that rolls where it is kicked. */
struct toy {
    struct nm_harness *h;
    MatchState match;
    StrategyPlan plan;
    HcmState hcm;
    struct pose2 me;
    double unsure; /* m */
    bool sees;
    double x, y, vx, vy; /* the ball */
    double unseen;       /* s since it was seen */
    bool arrived;
    int kicks;
    int64_t now;
    Obstacle rival;
};

static struct toy toy(double x, double y, const char *settings)
{
    struct toy t = {.h = nm_harness_new(&soccer_module, settings), .me = {x, y, 0}, .unsure = 0.05, .sees = true};
    t.match = (MatchState){.state = MatchState_PLAYING, .may_move = true, .may_play = true, .player_number = 2};
    t.plan = (StrategyPlan){.own_role = TeamMessage_ROLE_STRIKER, .may_claim_ball = true, .striker = 2};
    return t;
}

static void give_inputs(struct toy *t)
{
    struct pose2 ball = pose2_mul(pose2_inv(t->me), (struct pose2){t->x, t->y, 0});
    struct pose2 v = pose2_mul((struct pose2){0, 0, -t->me.theta}, (struct pose2){t->vx, t->vy, 0});
    *(MatchState *)nm_harness_set(t->h, "match_state") = t->match;
    *(StrategyPlan *)nm_harness_set(t->h, "strategy_plan") = t->plan;
    *(HcmState *)nm_harness_set(t->h, "hcm_state") = t->hcm;
    PoseWithCovarianceStamped *pose = nm_harness_set(t->h, "pose");
    pose->pose.pose = (Pose){{t->me.x, t->me.y, 0}, {0, 0, sin(t->me.theta / 2), cos(t->me.theta / 2)}};
    pose->pose.covariance[0] = pose->pose.covariance[7] = t->unsure * t->unsure;
    if (t->sees) {
        BallModel *seen = nm_harness_set(t->h, "ball");
        seen->valid = true;
        seen->position = (Point){ball.x, ball.y, 0};
        seen->velocity = (Vector3){v.x, v.y, 0};
        seen->destination = (Point){ball.x + 2.5 * v.x, ball.y + 2.5 * v.y, 0};
        seen->last_seen = nm_stamp(t->now - nm_ns(t->unseen));
    }
    ((NavigationState *)nm_harness_set(t->h, "navigation_state"))->arrived = t->arrived;
    ObstacleModel *others = nm_harness_set(t->h, "team_obstacles");
    if (t->rival.kind) {
        others->obstacles.n = 1;
        others->obstacles.at[0] = t->rival;
    }
}

static void roll(struct toy *t)
{
    t->x += t->vx * STEP;
    t->y += t->vy * STEP;
    double speed = hypot(t->vx, t->vy), keeps = speed > BRAKE * STEP ? 1 - BRAKE * STEP / speed : 0;
    t->vx *= keeps;
    t->vy *= keeps;
}

static void walk_towards(struct toy *t, struct pose2 to)
{
    double dx = to.x - t->me.x, dy = to.y - t->me.y, far = hypot(dx, dy), step = fmin(SPEED * STEP, far);
    double turn = angle_normal(to.theta - t->me.theta);
    if (far > 1e-6) {
        t->me.x += step * dx / far;
        t->me.y += step * dy / far;
    }
    t->me.theta = angle_normal(t->me.theta + fmin(fmax(turn, -TURN * STEP), TURN * STEP));
    t->arrived = far < 0.05 && fabs(turn) < 0.1;
}

static void walk(struct toy *t, const NavigationGoal *g)
{
    t->arrived = false;
    if (g->mode == NavigationGoal_STAND) t->arrived = true;
    if (g->mode == NavigationGoal_VELOCITY) {
        struct pose2 moved = {g->velocity.linear.x * STEP, g->velocity.linear.y * STEP, g->velocity.angular.z * STEP};
        t->me = pose2_mul(t->me, moved);
    }
    if (g->mode >= NavigationGoal_PATH && g->mode <= NavigationGoal_DIRECT_WITH_ORIENTATION)
        walk_towards(t, (struct pose2){g->target.x, g->target.y, g->target.theta});
    if (g->mode != NavigationGoal_WALK_BEHIND_BALL) return;
    double aim = atan2(g->kick_target.y - t->y, g->kick_target.x - t->x);
    walk_towards(t, (struct pose2){t->x - 0.2 * cos(aim), t->y - 0.2 * sin(aim), aim});
    if (!t->arrived || !g->kick) return;
    double speed = 1.1 * g->kick_strength;
    t->vx = speed * cos(aim);
    t->vy = speed * sin(aim);
    t->kicks++;
}

static const NavigationGoal *live(struct toy *t)
{
    give_inputs(t);
    nm_harness_step(t->h, STEP);
    t->now += nm_ns(STEP);
    roll(t);
    const NavigationGoal *goal = nm_harness_get(t->h, "navigation_goal");
    walk(t, goal);
    return goal;
}

static const BehaviorState *live_for(struct toy *t, double seconds)
{
    for (double s = 0; s < seconds; s += STEP) live(t);
    return nm_harness_get(t->h, "behavior_state");
}

static bool plays(const BehaviorState *b, const char *option, const char *state)
{
    for (uint32_t i = 0; i < b->options.n; i++)
        if (!strcmp(b->options.at[i], option)) return !strcmp(b->states.at[i], state);
    return false;
}

/* ---- the referee ---- */

static void it_stands_unless_the_referee_lets_it_play(void **state)
{
    (void)state;
    static const struct {
        uint8_t state;
        bool penalised, stopped;
        const char *name;
    } rows[] = {
        {MatchState_INITIAL, false, false, "waiting"},  {MatchState_SET, false, false, "set"},
        {MatchState_FINISHED, false, false, "waiting"}, {MatchState_PLAYING, true, false, "penalised"},
        {MatchState_PLAYING, false, true, "freezing"},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct toy t = toy(-1, 0, NULL);
        live_for(&t, 1);
        t.match.state = rows[i].state;
        t.match.penalized = rows[i].penalised;
        t.match.stopped = rows[i].stopped;
        assert_int_equal(live(&t)->mode, NavigationGoal_STAND);
        assert_true(plays(nm_harness_get(t.h, "behavior_state"), "match", rows[i].name));
        nm_harness_free(t.h);
    }
}

static void in_ready_it_takes_its_place(void **state)
{
    (void)state;
    struct toy t = toy(-3, 2.9, NULL);
    t.match.state = MatchState_READY;
    t.plan.own_position = (Pose2D){-1, 1, 0.5};
    live_for(&t, 15);
    assert_true(hypot(t.me.x + 1, t.me.y - 1) < 0.2);
    nm_harness_free(t.h);
}

static void after_a_penalty_it_plays_again(void **state)
{
    (void)state;
    struct toy t = toy(-1, 0, NULL);
    t.match.penalized = true;
    live_for(&t, 1);
    t.match.penalized = false;
    live_for(&t, 0.2);
    assert_int_equal(live(&t)->mode, NavigationGoal_WALK_BEHIND_BALL);
    nm_harness_free(t.h);
}

/* ---- the striker ---- */

static void the_striker_scores_from_everywhere(void **state)
{
    (void)state;
    static const double starts[][4] = {{-3, 0, 0, 0},    {3, 2, -2, -1}, {0, 0, 3, 2.5},
                                       {4, -2, -4, 2.5}, {-4, 0, 4, -2}, {1, 0, -0.5, 0}};
    for (uint32_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct toy t = toy(starts[i][0], starts[i][1], "stand_reach=0");
        t.x = starts[i][2];
        t.y = starts[i][3];
        double s = 0;
        for (; s < 180 && t.x < GOAL_X && fabs(t.x) < 4.6 && fabs(t.y) < 3.1; s += STEP) live(&t);
        assert_true(t.x >= GOAL_X && fabs(t.y) < 1.3);
        nm_harness_free(t.h);
    }
}

static void it_waits_where_it_may_not_play(void **state)
{
    (void)state;
    struct toy t = toy(-1, 0, NULL);
    t.match.may_play = false;
    t.match.kicking = MatchState_KICK_RIVAL;
    t.plan.own_position = (Pose2D){-1.2, 0, 0};
    for (int i = 0; i < 200; i++) {
        const NavigationGoal *g = live(&t);
        bool stays = g->mode == NavigationGoal_VELOCITY && g->velocity.linear.x == 0 && g->velocity.linear.y == 0;
        assert_int_not_equal(g->mode, NavigationGoal_WALK_BEHIND_BALL);
        assert_true(stays || g->ball_distance > 0.75);
    }
    nm_harness_free(t.h);
}

/* Who steps already is sooner on its way when the rivals have kicked. */
static void who_waits_for_a_kick_of_the_rivals_steps_on_the_spot(void **state)
{
    (void)state;
    struct toy t = toy(-1.5, 0.5, NULL);
    t.plan.own_position = (Pose2D){-1, 0, 0};
    t.match.may_play = false;
    t.match.kicking = MatchState_KICK_RIVAL;
    live_for(&t, 6);
    const NavigationGoal *g = live(&t);
    assert_true(hypot(t.me.x + 1, t.me.y) < 0.1);
    assert_int_equal(g->mode, NavigationGoal_VELOCITY);
    assert_true(g->velocity.linear.x == 0 && g->velocity.linear.y == 0 && g->velocity.angular.z == 0);
    t.plan.own_position = (Pose2D){-1, 0.5, 0};
    g = live(&t);
    assert_int_equal(g->mode, NavigationGoal_PATH_WITH_ORIENTATION);
    live_for(&t, 6);
    t.match.kicking = MatchState_KICK_OWN;
    g = live(&t);
    assert_int_equal(g->mode, NavigationGoal_PATH_WITH_ORIENTATION);
    nm_harness_free(t.h);
}

static void to_its_place_before_a_kick_off_it_walks_calmly(void **state)
{
    (void)state;
    struct toy t = toy(-3, 2, "calm=0.4");
    t.plan.own_position = (Pose2D){-1, 0, 0};
    t.match.state = MatchState_READY;
    const NavigationGoal *g = live(&t);
    assert_int_equal(g->mode, NavigationGoal_PATH);
    assert_true(g->velocity.linear.x == 0.4);
    t.match.state = MatchState_PLAYING;
    g = live(&t);
    assert_true(g->velocity.linear.x == 0);
    nm_harness_free(t.h);
}

static void who_does_not_play_the_ball_does_not_run(void **state)
{
    (void)state;
    struct toy t = toy(-3, 2, "jog=0.6");
    t.plan.own_position = (Pose2D){-1, 0, 0};
    t.plan.own_role = TeamMessage_ROLE_DEFENDER;
    const NavigationGoal *g = live(&t);
    assert_int_equal(g->mode, NavigationGoal_PATH);
    assert_true(g->velocity.linear.x == 0.6);
    t.plan.own_role = TeamMessage_ROLE_STRIKER;
    g = live(&t);
    assert_true(g->velocity.linear.x == 0);
    nm_harness_free(t.h);
}

/* A quarter of a metre beside the way of a shot a defender is of no use. */
static void a_defender_stands_exactly_at_its_place(void **state)
{
    (void)state;
    const uint8_t roles[] = {TeamMessage_ROLE_DEFENDER, TeamMessage_ROLE_SUPPORTER};
    for (int i = 0; i < 2; i++) {
        struct toy t = toy(-3, 0.2, NULL);
        t.plan.own_position = (Pose2D){-3, 0, 0};
        t.plan.own_role = roles[i];
        t.plan.may_claim_ball = false;
        live(&t);
        assert_true(plays(nm_harness_get(t.h, "behavior_state"), "hold_place", i ? "waiting" : "walking"));
        nm_harness_free(t.h);
    }
}

static void from_a_kick_off_it_does_not_shoot(void **state)
{
    (void)state;
    struct toy t = toy(-0.5, 0, "walk_reach=6, stand_reach=0");
    t.match.kicking = MatchState_KICK_OWN;
    for (int i = 0; i < 300 && !t.kicks; i++) {
        const NavigationGoal *g = live(&t);
        if (!g->kick) continue;
        double at_line = g->kick_target.y / g->kick_target.x * GOAL_X;
        assert_true(g->kick_target.x <= 0 || fabs(at_line) > 1.3 || hypot(g->kick_target.x, g->kick_target.y) < 4);
    }
    assert_int_equal(t.kicks, 1);
    nm_harness_free(t.h);
}

static bool aims_at_goal(const NavigationGoal *g, double x, double y)
{
    double dx = g->kick_target.x - x, dy = g->kick_target.y - y;
    return g->kick && dx > 0 && fabs(y + dy / dx * (GOAL_X - x)) < 1.2 && x + dx > GOAL_X - 0.3;
}

/* After our kick-off a goal counts only if a second robot has played the ball. */
static void who_took_the_kick_off_does_not_shoot_until_a_mate_has_played(void **state)
{
    (void)state;
    for (int mate = 0; mate < 2; mate++) {
        struct toy t = toy(-0.5, 0, "walk_reach=4, stand_reach=0");
        int shots = 0;
        t.match.kicking = MatchState_KICK_OWN;
        live(&t);
        t.x = 3; /* the ball rolled far */
        t.me.x = 2.5;
        if (mate) {
            t.plan.striker = 3;
            live(&t);
            t.plan.striker = 2;
        }
        for (int i = 0; i < 60; i++) { /* a ball that rolls is aimed from where it will be met */
            bool rests = hypot(t.vx, t.vy) < 0.15;
            shots += aims_at_goal(live(&t), t.x, t.y) && rests;
        }
        assert_true(mate ? shots > 15 : shots == 0);
        nm_harness_free(t.h);
    }
}

static void a_strong_kick_is_not_interrupted_by_another_role_but_by_a_penalty(void **state)
{
    (void)state;
    struct toy t = toy(2.4, 0, "walk_reach=0, dribble_reach=0");
    t.x = 2.8;
    const BehaviorState *b = live_for(&t, 6);
    assert_true(plays(b, "play_ball", "kicking"));
    assert_false(b->interruptible);
    t.plan.own_role = TeamMessage_ROLE_SUPPORTER;
    b = live_for(&t, 0.5);
    assert_true(plays(b, "in_play", "striking"));
    t.match.penalized = true;
    b = live_for(&t, 0.1);
    assert_true(plays(b, "match", "penalised"));
    nm_harness_free(t.h);
}

static void it_asks_for_a_strong_kick_once_and_goes_on_when_it_is_made(void **state)
{
    (void)state;
    struct toy t = toy(2.4, 0, "walk_reach=0, dribble_reach=0");
    const void *const *at;
    int asked = 0;
    t.x = 2.8;
    for (int i = 0; i < 240; i++) {
        live(&t);
        asked += (int)nm_harness_queue(t.h, "kick/_action/send_goal/request", &at);
    }
    assert_int_equal(asked, 1);
    t.x = 4.2;
    assert_true(plays(live_for(&t, 0.5), "play_ball", "going"));
    nm_harness_free(t.h);
}

static void it_leaves_a_jam(void **state)
{
    (void)state;
    struct toy t = toy(-0.25, 0, "jam=3, walk_reach=0, stand_reach=0, dribble_reach=0.5");
    t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {0.55, 0, 0}, .radius = 0.2f};
    bool left = false;
    for (int i = 0; i < 200; i++) {
        t.vx = t.vy = t.x = t.y = 0; /* nothing moves it */
        live(&t);
        left |= plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "leaving_jam");
    }
    assert_true(left);
    nm_harness_free(t.h);
}

/* A rival is at the ball first: the robot waits off the ball, before its own goal. When he leaves, it plays. */
static void who_is_second_at_the_ball_makes_way(void **state)
{
    (void)state;
    struct toy t = toy(-0.9, 0.3, NULL);
    t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {0.2, 0, 0}, .radius = 0.2f};
    for (int i = 0; i < 40; i++) live(&t);
    assert_true(plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "making_way"));
    const NavigationGoal *goal = nm_harness_get(t.h, "navigation_goal");
    assert_true(goal->target.x < -0.4 && fabs(goal->target.y) < 0.1 && goal->ball_distance > 0.25f);
    t.rival.position.x = 1;
    assert_true(plays(live_for(&t, 0.5), "play_ball", "aiming"));
    nm_harness_free(t.h);
    t = toy(-0.9, 0.3, NULL); /* not before who may not play it */
    t.match.kicking = MatchState_KICK_OWN;
    t.match.set_play = MatchState_SET_PLAY_THROW_IN;
    t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {0.2, 0, 0}, .radius = 0.2f};
    for (int i = 0; i < 40; i++) assert_false(plays(live_for(&t, STEP), "play_ball", "making_way"));
    nm_harness_free(t.h);
}

/* It goes to the way of the ball to its own goal from everywhere, where it stops a shot. */
static void who_makes_way_shields_its_goal(void **state)
{
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        struct toy t = toy(0.1, 0.8 * side, NULL);
        t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {0.2, 0, 0}, .radius = 0.2f};
        const NavigationGoal *goal = live(&t);
        assert_true(plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "making_way"));
        assert_true(goal->target.x < -0.4 && fabs(goal->target.y) < 0.1);
        nm_harness_free(t.h);
    }
}

/* Who steps already is sooner at a ball that comes free than who stands. */
static void who_has_made_way_steps_on_the_spot(void **state)
{
    (void)state;
    struct toy t = toy(-0.44, 0, NULL);
    t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {0.2, 0, 0}, .radius = 0.2f};
    for (int i = 0; i < 10; i++) live(&t);
    const NavigationGoal *goal = live(&t);
    assert_true(plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "making_way"));
    assert_int_equal(goal->mode, NavigationGoal_VELOCITY);
    assert_true(goal->velocity.linear.x == 0 && goal->velocity.linear.y == 0 && goal->velocity.angular.z == 0);
    nm_harness_free(t.h);
}

/* He is at the ball, but on the wrong side of it: until he is around it this robot has kicked it. */
static void a_rival_who_must_go_around_the_ball_is_not_first(void **state)
{
    (void)state;
    struct toy t = toy(-0.2, 0.75, NULL);
    t.me.theta = -M_PI / 2;
    t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {-0.25, 0, 0}, .radius = 0.2f};
    live(&t);
    assert_false(plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "making_way"));
    nm_harness_free(t.h);
}

static void a_rival_who_only_stands_at_the_ball_is_not_waited_for(void **state)
{
    (void)state;
    struct toy t = toy(-0.9, 0.3, NULL);
    t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {0.2, 0, 0}, .radius = 0.2f};
    live_for(&t, 12);
    assert_true(t.kicks > 0);
    nm_harness_free(t.h);
    t = toy(-0.9, 0.3, NULL); /* and one that lies is none */
    t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {0.2, 0, 0}, .radius = 0.2f, .fallen = true};
    for (int i = 0; i < 100; i++) {
        live(&t);
        assert_false(plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "making_way"));
    }
    nm_harness_free(t.h);
}

/* Each believed the other one to be first: he stands off the ball, too, and nobody plays it. */
static void nobody_waits_long_for_a_rival_who_waits(void **state)
{
    (void)state;
    struct toy t = toy(-0.9, 0.3, NULL);
    t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {0.42, 0, 0}, .radius = 0.2f};
    live(&t);
    for (int i = 0; i < 40 && !plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "making_way"); i++) live(&t);
    assert_true(plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "making_way"));
    live_for(&t, 1.6);
    assert_false(plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "making_way"));
    nm_harness_free(t.h);
}

/* Two rivals who know of each other: each of them decides alone, but they never wait for each other. */
static void of_two_at_the_ball_one_makes_way(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(5, 0, 0);
    for (int i = 0; i < 60; i++) {
        struct pose2 at[2], ball = {3 * nm_dice_both(&dice), 2 * nm_dice_both(&dice), 0};
        bool waits[2];
        for (int k = 0; k < 2;
             k++) { /* each in its own frame, which is turned by half a turn against the other one's */
            double angle = M_PI * nm_dice_both(&dice), far = 0.2 + 0.29 * nm_dice_roll(&dice);
            at[k] = (struct pose2){far * cos(angle), far * sin(angle), angle + M_PI};
        }
        for (int k = 0; k < 2; k++) {
            double sign = k ? -1 : 1, x = sign * ball.x, y = sign * ball.y;
            struct toy t = toy(x + at[k].x, y + at[k].y, NULL);
            t.me.theta = at[k].theta;
            t.x = x;
            t.y = y;
            t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {x - at[!k].x, y - at[!k].y, 0}, .radius = 0.2f};
            live(&t);
            waits[k] = plays(nm_harness_get(t.h, "behavior_state"), "play_ball", "making_way");
            nm_harness_free(t.h);
        }
        assert_true(waits[0] != waits[1]);
    }
}

/* ---- without a ball ---- */

static void a_lost_ball_is_searched_where_the_team_says(void **state)
{
    (void)state;
    struct toy t = toy(-2, 0, NULL);
    t.sees = false;
    for (int i = 0; i < 30 * 25; i++) {
        PointStamped *p = nm_harness_set(t.h, "search_target");
        p->point = (Point){1.5, 1.5, 0};
        live(&t);
    }
    assert_true(hypot(t.me.x - 1.5, t.me.y - 1.5) < 0.8);
    nm_harness_free(t.h);
}

static void who_does_not_know_where_it_is_looks_around(void **state)
{
    (void)state;
    struct toy t = toy(0, 0, NULL);
    t.unsure = 3;
    assert_true(plays(live_for(&t, 1), "in_play", "localising"));
    nm_harness_free(t.h);
}

/* ---- the keeper ---- */

static struct toy keeper(const char *settings)
{
    struct toy t = toy(-4.3, 0, settings);
    t.plan.own_role = TeamMessage_ROLE_KEEPER;
    t.plan.own_position = (Pose2D){-4.3, 0, 0};
    t.plan.may_claim_ball = false;
    t.plan.striker = 3;
    return t;
}

static const char *dive_for(double y, double vx, double vy, double unseen)
{
    struct toy t = keeper(NULL);
    const void *const *at;
    static char name[64];
    strcpy(name, "");
    t.x = 0;
    live_for(&t, 1);
    t.x = -2.5;
    t.y = y;
    t.vx = vx;
    t.vy = vy;
    t.unseen = unseen;
    for (int i = 0; i < 90 && t.x > -4.4; i++) {
        live(&t);
        if (nm_harness_queue(t.h, "play_animation/_action/send_goal/request", &at))
            nm_text(name, "%s", ((const PlayAnimation_SendGoal_Request *)at[0])->goal.animation);
    }
    nm_harness_free(t.h);
    return name;
}

static void the_keeper_dives_only_for_balls_that_would_go_in(void **state)
{
    (void)state;
    assert_string_equal(dive_for(0.6, -2.5, 0, 0), "keeper_jump_left");
    assert_string_equal(dive_for(-0.6, -2.5, 0, 0), "keeper_jump_right");
    assert_string_equal(dive_for(0, -2.5, 0, 0), "");     /* into his arms  */
    assert_string_equal(dive_for(0.8, -2.4, -1, 0), "");  /* the same, from the side */
    assert_string_equal(dive_for(0.6, -2.5, 1.5, 0), ""); /* it misses       */
    assert_string_equal(dive_for(0.6, -0.5, 0, 0), "");   /* it stops before */
    assert_string_equal(dive_for(0.6, -2.5, 0, 0.7), ""); /* nobody has seen it for a while */
}

/* Even if it is his: who runs to meet a shot lets it pass. */
static void the_keeper_waits_for_a_ball_that_comes(void **state)
{
    (void)state;
    struct toy t = keeper(NULL);
    t.plan.may_claim_ball = true;
    t.x = -2;
    t.y = 0.5;
    t.vx = -2;
    assert_true(plays(live_for(&t, 0.2), "keep_goal", "guarding"));
    t.vx = 0;
    assert_true(plays(live_for(&t, 6), "keep_goal", "coming_out"));
    nm_harness_free(t.h);
}

static void the_keeper_steps_into_the_way_of_a_slow_ball(void **state)
{
    (void)state;
    struct toy t = keeper("dives=false");
    t.x = -2;
    t.y = 0.4;
    live_for(&t, 1);
    t.vx = -1.2;
    live_for(&t, 2);
    assert_true(t.me.y > 0.25);
    nm_harness_free(t.h);
}

static void the_keeper_plays_a_ball_that_is_his(void **state)
{
    (void)state;
    struct toy t = keeper("stand_reach=0");
    t.x = -3.5;
    t.plan.may_claim_ball = true;
    t.plan.striker = 2;
    assert_true(plays(live_for(&t, 0.5), "keep_goal", "coming_out"));
    live_for(&t, 15);
    assert_true(t.kicks >= 1 && t.x > -3);
    nm_harness_free(t.h);
}

/* In the middle of a jam before his goal the keeper must not wait until the ball is in. */
static void in_his_goal_area_the_keeper_makes_way_for_nobody(void **state)
{
    (void)state;
    for (int in = 0; in < 2; in++) {
        struct toy t = keeper("stand_reach=0");
        t.x = in ? -3.7 : -3.3;
        t.me.x = t.x - 0.6;
        t.plan.may_claim_ball = true;
        t.rival = (Obstacle){.kind = Obstacle_RIVAL, .position = {t.x + 0.25, 0, 0}, .radius = 0.2f};
        bool waits = plays(live_for(&t, 0.2), "play_ball", "making_way");
        assert_true(waits == !in);
        nm_harness_free(t.h);
    }
}

/* The ball is fast, and only one place on its way is left: at the goal line. */
static void the_keeper_steps_back_where_that_gives_him_time(void **state)
{
    (void)state;
    struct toy t = keeper("dives=false");
    t.me.x = -3.9;
    t.x = -2.4;
    t.y = 0.4;
    t.vx = -1.5;
    const NavigationGoal *g = live(&t);
    assert_int_equal(g->mode, NavigationGoal_VELOCITY);
    assert_true(g->velocity.linear.x < -0.1 && g->velocity.linear.y > 0.25);
    nm_harness_free(t.h);
    /* who can dive only steps aside: on his way back he would not dive */
    t = keeper("reach=0.3");
    t.me.x = -3.9;
    t.x = -2.4;
    t.y = 0.4;
    t.vx = -1.5;
    g = live(&t);
    assert_int_equal(g->mode, NavigationGoal_VELOCITY);
    assert_true(g->velocity.linear.x == 0 && g->velocity.linear.y > 0.1);
    nm_harness_free(t.h);
}

/* Mates tell it where the ball lies, but not exactly: who runs there without seeing the ball may run into it. */
static void it_stops_before_a_ball_that_only_mates_see(void **state)
{
    (void)state;
    struct toy t = toy(-2, 0, NULL);
    t.sees = false;
    for (double s = 0; s < 8; s += STEP) {
        TeamBall *b = nm_harness_set(t.h, "team_ball");
        b->source = TeamBall_SOURCE_MATE;
        b->ball.valid = true;
        b->ball.confidence = 0.9f;
        b->ball.position = (Point){0, 0, 0};
        b->ball.last_seen = nm_stamp(t.now - nm_ns(0.1));
        live(&t);
        assert_true(hypot(t.me.x, t.me.y) > 0.5);
    }
    assert_true(hypot(t.me.x, t.me.y) < 0.6);
    nm_harness_free(t.h);
}

/* He does not see it himself, but his mates do. */
static bool blocks_what_mates_see(double speed)
{
    struct toy t = keeper("dives=false");
    t.sees = false;
    for (int i = 0; i < 3; i++) {
        TeamBall *b = nm_harness_set(t.h, "team_ball");
        b->source = TeamBall_SOURCE_MATE;
        b->ball.valid = true;
        b->ball.position = (Point){-2, 0.5, 0};
        b->ball.velocity.x = speed;
        b->ball.destination = (Point){-5, 0.5, 0};
        b->ball.last_seen = nm_stamp(t.now - nm_ns(0.1));
        live(&t);
    }
    bool blocks = plays(nm_harness_get(t.h, "behavior_state"), "guard", "blocking");
    nm_harness_free(t.h);
    return blocks;
}

static void the_keeper_blocks_a_shot_that_mates_see(void **state)
{
    (void)state;
    assert_true(blocks_what_mates_see(-1.8));
    assert_false(blocks_what_mates_see(NAN)); /* they do not know how it rolls */
}

static void a_field_player_steps_into_the_way_of_a_shot(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct toy t = toy(-2, 0, NULL);
        t.plan.own_role = TeamMessage_ROLE_DEFENDER;
        t.plan.may_claim_ball = false;
        t.plan.own_position = (Pose2D){-2, 0, 0};
        t.x = -0.5;
        t.y = wide ? 1.2 : 0.3;
        t.vx = -2;
        bool blocks = plays(live_for(&t, 0.1), "in_play", "blocking");
        assert_true(blocks == !wide); /* what it cannot reach it leaves to the keeper */
        nm_harness_free(t.h);
    }
}

/* ---- the shoot-out ---- */

static void in_a_shoot_out_it_shoots_into_a_corner(void **state)
{
    (void)state;
    struct toy t = toy(2, 0, "stand_reach=0");
    t.match.phase = MatchState_PHASE_PENALTY_SHOOTOUT;
    t.match.kicking = MatchState_KICK_OWN;
    t.x = GOAL_X - 1.475;
    live_for(&t, 15);
    assert_int_equal(t.kicks >= 1, 1);
    const NavigationGoal *g = nm_harness_get(t.h, "navigation_goal");
    assert_true(g->kick_target.x > 4.4 && fabs(g->kick_target.y) > 0.5 && fabs(g->kick_target.y) < 1.2);
    nm_harness_free(t.h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stands_unless_the_referee_lets_it_play),
        cmocka_unit_test(in_ready_it_takes_its_place),
        cmocka_unit_test(after_a_penalty_it_plays_again),
        cmocka_unit_test(the_striker_scores_from_everywhere),
        cmocka_unit_test(it_waits_where_it_may_not_play),
        cmocka_unit_test(who_waits_for_a_kick_of_the_rivals_steps_on_the_spot),
        cmocka_unit_test(to_its_place_before_a_kick_off_it_walks_calmly),
        cmocka_unit_test(who_does_not_play_the_ball_does_not_run),
        cmocka_unit_test(a_defender_stands_exactly_at_its_place),
        cmocka_unit_test(from_a_kick_off_it_does_not_shoot),
        cmocka_unit_test(who_took_the_kick_off_does_not_shoot_until_a_mate_has_played),
        cmocka_unit_test(a_strong_kick_is_not_interrupted_by_another_role_but_by_a_penalty),
        cmocka_unit_test(it_asks_for_a_strong_kick_once_and_goes_on_when_it_is_made),
        cmocka_unit_test(it_leaves_a_jam),
        cmocka_unit_test(who_is_second_at_the_ball_makes_way),
        cmocka_unit_test(who_makes_way_shields_its_goal),
        cmocka_unit_test(who_has_made_way_steps_on_the_spot),
        cmocka_unit_test(a_rival_who_must_go_around_the_ball_is_not_first),
        cmocka_unit_test(a_rival_who_only_stands_at_the_ball_is_not_waited_for),
        cmocka_unit_test(nobody_waits_long_for_a_rival_who_waits),
        cmocka_unit_test(of_two_at_the_ball_one_makes_way),
        cmocka_unit_test(a_lost_ball_is_searched_where_the_team_says),
        cmocka_unit_test(who_does_not_know_where_it_is_looks_around),
        cmocka_unit_test(the_keeper_dives_only_for_balls_that_would_go_in),
        cmocka_unit_test(the_keeper_waits_for_a_ball_that_comes),
        cmocka_unit_test(the_keeper_steps_into_the_way_of_a_slow_ball),
        cmocka_unit_test(the_keeper_plays_a_ball_that_is_his),
        cmocka_unit_test(in_his_goal_area_the_keeper_makes_way_for_nobody),
        cmocka_unit_test(the_keeper_steps_back_where_that_gives_him_time),
        cmocka_unit_test(it_stops_before_a_ball_that_only_mates_see),
        cmocka_unit_test(the_keeper_blocks_a_shot_that_mates_see),
        cmocka_unit_test(a_field_player_steps_into_the_way_of_a_shot),
        cmocka_unit_test(in_a_shoot_out_it_shoots_into_a_corner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
