/* strategy: one striker, agreed by all; a mutex that ends with silence; partners who do not follow or do not speak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/random.h"
#include "core/harness.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/StrategyPlan.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/TeamState.h"

extern const struct nm_module strategy_module;

enum { TEAM = 4 };
static const double STEP = 1.0 / 30;

struct robot {
    struct nm_harness *h;
    uint8_t number;
    struct pose2 pose;
    TeamMate mates[TEAM]; /* as last heard, by number - 1; received 0: never */
    int64_t now;
    uint8_t state, kicking, set_play, phase;
    bool may_play, penalised[TEAM];
    double ball_x, ball_y;
    double ball_vx, ball_way; /* m/s, m that it rolls along x */
    bool sees;                /* the ball itself, not only by its mates ... */
    double sees_aside;        /* m, ... or something so far ahead of it that it takes for the ball ... */
    double sees_ago;          /* s, ... or did so long ago */
    uint32_t seen;            /* mates that do not speak, or rivals ... */
    uint8_t seen_kind;
    struct pose2 seen_at[2];
};

static struct robot robot(uint8_t number, double x, double y)
{
    return (struct robot){.h = nm_harness_new(&strategy_module, NULL),
                          .number = number,
                          .pose = {x, y, 0},
                          .state = MatchState_PLAYING,
                          .seen_kind = Obstacle_MATE,
                          .may_play = true};
}

/* What he says reaches this robot now. */
static TeamMessage *hear(struct robot *r, uint8_t number, double x, double y)
{
    TeamMate *m = &r->mates[number - 1];
    m->player_number = number;
    m->alive = true;
    m->received++;
    m->heard = nm_stamp(r->now);
    m->message = (TeamMessage){.player_number = number, .state = TeamMessage_STATE_ACTIVE, .ball_known = true};
    m->message.pose.pose = (Pose2D){x, y, 0};
    m->message.pose.weight = 1;
    return &m->message;
}

static const StrategyPlan *think(struct robot *r)
{
    MatchState *match = nm_harness_set(r->h, "match_state");
    match->state = r->state;
    match->kicking = r->kicking;
    match->phase = r->phase;
    match->set_play = r->set_play;
    match->player_number = r->number;
    match->goalkeeper = 1;
    match->players_per_team = TEAM;
    match->may_move = true;
    match->may_play = r->may_play;
    for (int i = 0; i < TEAM; i++) match->penalties[i] = r->penalised[i];
    PoseWithCovarianceStamped *pose = nm_harness_set(r->h, "pose");
    pose->pose.pose = (Pose){{r->pose.x, r->pose.y, 0}, {0, 0, sin(r->pose.theta / 2), cos(r->pose.theta / 2)}};
    TeamBall *ball = nm_harness_set(r->h, "team_ball");
    ball->source = TeamBall_SOURCE_MATE;
    ball->ball.valid = true;
    ball->ball.position = (Point){r->ball_x, r->ball_y, 0};
    ball->ball.last_seen = nm_stamp(r->now);
    ball->ball.velocity.x = r->ball_vx;
    ball->ball.destination = (Point){r->ball_x + copysign(r->ball_way, r->ball_vx), r->ball_y, 0};
    if (r->sees) {
        BallModel *own = nm_harness_set(r->h, "ball");
        own->valid = true;
        own->position = own->destination = (Point){r->ball_x + r->sees_aside - r->pose.x, r->ball_y - r->pose.y, 0};
        own->last_seen = nm_stamp(r->now - nm_ns(r->sees_ago));
    }
    TeamState *team = nm_harness_set(r->h, "team_state");
    for (int i = 0; i < TEAM; i++)
        if (r->mates[i].received) team->mates.at[team->mates.n++] = r->mates[i];
    ObstacleModel *others = nm_harness_set(r->h, "team_obstacles");
    for (uint32_t i = 0; i < r->seen; i++)
        others->obstacles.at[others->obstacles.n++] = (Obstacle){
            .kind = r->seen_kind, .position = {r->seen_at[i].x, r->seen_at[i].y, 0}, .last_seen = nm_stamp(r->now)};
    nm_harness_step(r->h, STEP);
    r->now += nm_ns(STEP);
    return nm_harness_get(r->h, "strategy_plan");
}

static const StrategyPlan *think_for(struct robot *r, double seconds)
{
    const StrategyPlan *plan = NULL;
    for (double t = 0; t < seconds; t += STEP) plan = think(r);
    return plan;
}

static void who_is_alone_plays_the_ball(void **state)
{
    (void)state;
    struct robot r = robot(3, -1, 0);
    const StrategyPlan *plan = think(&r);
    assert_int_equal(plan->own_role, TeamMessage_ROLE_STRIKER);
    assert_int_equal(plan->striker, 3);
    assert_true(plan->may_claim_ball);
    nm_harness_free(r.h);
}

static void who_is_nearer_plays_the_ball_and_the_others_keep_off(void **state)
{
    (void)state;
    struct robot r = robot(3, -2, 0);
    hear(&r, 2, -0.5, 0);
    const StrategyPlan *plan = think(&r);
    assert_int_equal(plan->striker, 2);
    assert_int_not_equal(plan->own_role, TeamMessage_ROLE_STRIKER);
    assert_false(plan->may_claim_ball);
    assert_true(hypot(plan->own_position.x, plan->own_position.y) > 0.8);
    nm_harness_free(r.h);
}

static void the_lowest_number_decides(void **state)
{
    (void)state;
    struct robot r = robot(3, -0.5, 0); /* nearest, but number 2 sees it otherwise */
    TeamMessage *m = hear(&r, 2, -2, 0);
    m->proposed_roles.n = 4;
    m->proposed_roles.at[1] = TeamMessage_ROLE_STRIKER;
    m->proposed_roles.at[2] = TeamMessage_ROLE_DEFENDER;
    const StrategyPlan *plan = think(&r);
    assert_int_equal(plan->proposer, 2);
    assert_int_equal(plan->own_role, TeamMessage_ROLE_DEFENDER);
    m = hear(&r, 2, -2, 0); /* for a role that this robot would not give it finds another place than the ball */
    m->proposed_roles.n = 4;
    m->proposed_roles.at[1] = TeamMessage_ROLE_STRIKER;
    m->proposed_roles.at[2] = TeamMessage_ROLE_BISHOP;
    plan = think(&r);
    assert_int_equal(plan->own_role, TeamMessage_ROLE_BISHOP);
    assert_true(hypot(plan->own_position.x, plan->own_position.y) > 0.8);
    m->state = TeamMessage_STATE_FALLEN; /* who lies decides nothing, because it sees little */
    plan = think(&r);
    assert_int_equal(plan->proposer, 3);
    m->state = TeamMessage_STATE_ACTIVE;
    assert_int_equal(think(&r)->proposer, 2);
    r.penalised[1] = true; /* nor does who is penalised */
    plan = think(&r);
    assert_int_equal(plan->proposer, 3);
    assert_int_equal(plan->own_role, TeamMessage_ROLE_STRIKER);
    nm_harness_free(r.h);
}

/* Seconds until the ball of a mate who claimed it, spoke every `every` seconds and then fell silent, is free. */
static double freed_after(double every)
{
    struct robot r = robot(3, -1, 0);
    double t = 0, silent = 0;
    for (; t < 40 * every; t += STEP) {
        if (fmod(t, every) < STEP) {
            TeamMessage *m = hear(&r, 2, -0.4, 0);
            m->role = TeamMessage_ROLE_STRIKER;
            m->ball_claimed = true;
        }
        const StrategyPlan *plan = think(&r);
        if (t > 10 * every) assert_false(plan->may_claim_ball);
    }
    for (silent = 0; silent < 60 && !think(&r)->may_claim_ball; silent += STEP) {}
    nm_harness_free(r.h);
    return silent;
}

static void the_mutex_is_freed_by_silence_which_follows_the_rate_of_messages(void **state)
{
    (void)state;
    double often = freed_after(0.33), seldom = freed_after(4);
    assert_true(often < 2.5);
    assert_true(seldom > 3 && seldom < 8.5);
}

static void the_mutex_is_freed_by_a_fall_and_by_a_lost_ball(void **state)
{
    (void)state;
    for (int fallen = 0; fallen < 2; fallen++) {
        struct robot r = robot(3, -1, 0);
        TeamMessage *m = hear(&r, 2, -0.9, 0.2);
        m->ball_claimed = true;
        assert_false(think(&r)->may_claim_ball);
        m = hear(&r, 2, -0.9, 0.2);
        m->ball_claimed = true;
        m->ball_known = fallen;
        if (fallen) m->state = TeamMessage_STATE_FALLEN;
        if (!fallen) m->pose.pose.x = -3; /* and he is far now */
        assert_true(think(&r)->may_claim_ball);
        nm_harness_free(r.h);
    }
}

static void who_dives_leaves_the_rebound_to_mates(void **state)
{
    (void)state;
    for (int dives = 0; dives < 2; dives++) {
        struct robot r = robot(1, -4.2, 0);
        r.ball_x = -3.8;
        hear(&r, 2, -3.3, 0.3);
        HcmState *hcm = nm_harness_set(r.h, "hcm_state");
        hcm->state = dives ? HcmState_ANIMATION_RUNNING : HcmState_WALKING;
        hcm->left_leg_owner = hcm->right_leg_owner = dives ? HcmState_OWNER_ANIMATION : HcmState_OWNER_WALK;
        assert_int_equal(think(&r)->striker, dives ? 2 : 1);
        nm_harness_free(r.h);
    }
}

static void a_partner_without_proposals_who_plays_the_ball_is_left_alone(void **state)
{
    (void)state;
    struct robot r = robot(2, -0.8, 0);
    TeamMessage *m = hear(&r, 4, -0.9, 0.4); /* mitecom: role and action, nothing else */
    m->role = TeamMessage_ROLE_STRIKER;
    m->action = TeamMessage_ACTION_GOING_TO_BALL;
    const StrategyPlan *plan = think(&r);
    assert_int_equal(plan->striker, 4);
    assert_false(plan->may_claim_ball);
    nm_harness_free(r.h);
}

static void a_mate_who_is_only_seen_at_the_ball_has_some_time_to_play_it(void **state)
{
    (void)state;
    struct robot r = robot(2, -1.5, 0);
    r.seen = 1;
    r.seen_at[0] = (struct pose2){-0.3, 0, 0};
    assert_false(think(&r)->may_claim_ball);
    assert_false(think_for(&r, 4)->may_claim_ball);
    r.ball_x = 0.3; /* he plays it */
    r.seen_at[0].x = 0;
    assert_false(think_for(&r, 4)->may_claim_ball);
    assert_true(think_for(&r, 4)->may_claim_ball); /* he does nothing */
    nm_harness_free(r.h);
}

/* The ball may have rested before he came to it, or before it could be played. */
static void the_time_of_a_mate_at_the_ball_begins_when_he_can_play_it(void **state)
{
    (void)state;
    struct robot r = robot(2, -1.5, 0);
    r.seen = 1;
    r.seen_at[0] = (struct pose2){-0.3, 0, 0};
    r.state = MatchState_SET;
    think_for(&r, 10);
    r.state = MatchState_PLAYING;
    assert_false(think_for(&r, 4)->may_claim_ball);
    r.seen_at[0].x = -1.2;
    think_for(&r, 10);
    r.seen_at[0].x = -0.3;
    assert_false(think_for(&r, 4)->may_claim_ball);
    assert_true(think_for(&r, 4)->may_claim_ball);
    nm_harness_free(r.h);
}

static void of_two_silent_mates_the_second_counts_as_well(void **state)
{
    (void)state;
    struct robot r = robot(2, -0.8, 0);
    r.seen = 2;
    r.seen_at[0] = (struct pose2){-4, 0.3, 0};
    r.seen_at[1] = (struct pose2){-0.3, 0.1, 0};
    assert_false(think(&r)->may_claim_ball);
    nm_harness_free(r.h);
}

/* He stands beside this robot, and still is not this robot. Both see who is nearer, so that one of the two plays. */
static void of_two_beside_each_other_the_nearer_one_plays_the_ball(void **state)
{
    (void)state;
    struct robot r = robot(2, -0.7, 0);
    r.seen = 1;
    r.seen_at[0] = (struct pose2){-0.4, 0.1, 0};
    assert_false(think(&r)->may_claim_ball);
    nm_harness_free(r.h);
    r = robot(2, -0.5, 0);
    r.seen = 1;
    r.seen_at[0] = (struct pose2){-0.55, 0.21, 0};
    assert_true(think(&r)->may_claim_ball);
    nm_harness_free(r.h);
}

static void where_all_speak_nobody_is_silent(void **state)
{
    (void)state;
    struct robot r = robot(2, -1.5, 0);
    r.seen = 1; /* a mistake of the eyes */
    r.seen_at[0] = (struct pose2){-0.3, 0, 0};
    hear(&r, 1, -4.2, 0);
    hear(&r, 3, -3, 2);
    hear(&r, 4, -3, -2);
    assert_true(think(&r)->may_claim_ball);
    nm_harness_free(r.h);
}

static void the_keeper_comes_out_only_if_he_is_first(void **state)
{
    (void)state;
    struct robot r = robot(1, -4.2, 0);
    r.ball_x = -3.4;
    hear(&r, 2, 0, 0);
    const StrategyPlan *plan = think(&r);
    assert_int_equal(plan->own_role, TeamMessage_ROLE_KEEPER);
    assert_int_equal(plan->striker, 1);
    assert_true(plan->may_claim_ball);
    hear(&r, 2, -3.6, 0); /* a mate is there, too */
    plan = think(&r);
    assert_int_equal(plan->own_role, TeamMessage_ROLE_KEEPER);
    assert_int_equal(plan->striker, 2);
    r.ball_x = 0; /* far from the goal it is never his */
    hear(&r, 2, -4, 2);
    plan = think(&r);
    assert_int_equal(plan->striker, 2);
    nm_harness_free(r.h);
}

static void the_keeper_leaves_the_ball_to_a_rival_who_is_first(void **state)
{
    (void)state;
    struct robot r = robot(1, -4.2, 0);
    r.ball_x = -3.2;
    r.seen = 1;
    r.seen_kind = Obstacle_RIVAL;
    r.seen_at[0].x = -2.9;
    hear(&r, 2, 0, 0);
    assert_int_equal(think(&r)->striker, 2);
    assert_false(think(&r)->may_claim_ball);
    r.seen_at[0].x = 0;
    hear(&r, 2, 0, 0);
    assert_true(think(&r)->may_claim_ball);
    nm_harness_free(r.h);
}

/* Who only steps back before a rival is pushed over the line with the ball. */
static void the_keeper_clears_a_ball_in_his_goal_area_from_a_rival(void **state)
{
    (void)state;
    struct robot r = robot(1, -4.2, 0);
    r.ball_x = -3.8;
    r.seen = 1;
    r.seen_kind = Obstacle_RIVAL;
    r.seen_at[0].x = -3.6;
    hear(&r, 2, -2, 0);
    assert_true(think(&r)->may_claim_ball);
    nm_harness_free(r.h);
}

static void in_a_shoot_out_the_keeper_is_on_his_line_until_the_kick_and_then_plays(void **state)
{
    (void)state;
    struct robot r = robot(1, -4.4, 0);
    r.phase = MatchState_PHASE_PENALTY_SHOOTOUT;
    r.kicking = MatchState_KICK_RIVAL;
    r.seen = 1;
    r.seen_kind = Obstacle_RIVAL;
    r.seen_at[0].x = -2.5;
    r.ball_x = -3;
    const StrategyPlan *plan = think(&r);
    assert_true(plan->own_position.x < -4.4 && !plan->may_claim_ball);
    r.kicking = MatchState_KICK_NOBODY;
    r.ball_x = -2.8; /* kicked, but he who shoots is nearer */
    plan = think(&r);
    assert_true(plan->own_position.x > -4.2 && !plan->may_claim_ball);
    r.ball_x = -4;
    r.ball_y = 0.3;
    assert_true(think(&r)->may_claim_ball);
    assert_int_equal(think(&r)->own_role, TeamMessage_ROLE_KEEPER);
    nm_harness_free(r.h);
}

static void where_the_keeper_plays_nobody_else_is_striker(void **state)
{
    (void)state;
    struct robot keeper = robot(1, -4.2, 0), r = robot(2, -2.4, 0);
    keeper.ball_x = r.ball_x = -3.4;
    keeper.ball_y = r.ball_y = 1;
    hear(&keeper, 2, -0.5, 0);
    const StrategyPlan *plan = think(&keeper);
    assert_int_equal(plan->striker, 1);
    TeamMessage *m = hear(&r, 1, -4.2, 0); /* this robot is nearer now, but the keeper has not heard of that */
    m->proposed_roles.n = 2;
    for (uint32_t i = 0; i < plan->players.n; i++) {
        assert_int_not_equal(plan->roles.at[i], TeamMessage_ROLE_STRIKER);
        m->proposed_roles.at[plan->players.at[i] - 1] = plan->roles.at[i];
    }
    plan = think(&r);
    assert_int_equal(plan->striker, 1);
    assert_false(plan->may_claim_ball);
    assert_true(hypot(plan->own_position.x - r.ball_x, plan->own_position.y - r.ball_y) > 0.8);
    nm_harness_free(keeper.h);
    nm_harness_free(r.h);
}

static void a_rolling_ball_is_for_who_meets_it(void **state)
{
    (void)state;
    struct robot r = robot(3, -0.6, 0.6); /* nearest to where the ball is now */
    hear(&r, 2, -2.9, 0);
    assert_int_equal(think(&r)->striker, 3);
    r.ball_vx = -2;
    r.ball_way = 2.6;
    hear(&r, 2, -2.9, 0);
    assert_int_equal(think(&r)->striker, 2);
    nm_harness_free(r.h);
}

static void mates_who_agree_on_a_ball_outvote_one_who_sees_another(void **state)
{
    (void)state;
    struct robot r = robot(3, 0.4, 0);
    r.sees = true;
    hear(&r, 2, -0.5, 0);
    r.sees_aside = 0.9; /* sightings may differ so much */
    assert_int_equal(think(&r)->striker, 3);
    r.sees_aside = 2.5;
    hear(&r, 2, -0.5, 0);
    assert_int_equal(think(&r)->striker, 2);
    nm_harness_free(r.h);
}

static void mates_who_saw_the_ball_since_know_where_it_was_moved(void **state)
{
    (void)state;
    struct robot r = robot(3, 0.4, 0);
    r.now = nm_ns(5);
    nm_harness_step(r.h, 5);
    r.sees = true;
    r.sees_aside = 0.9;
    r.sees_ago = 1.2;
    hear(&r, 2, -0.5, 0);
    assert_int_equal(think(&r)->striker, 2); /* it lies behind this robot now, not before it */
    nm_harness_free(r.h);
}

/* The proposer takes something else for the ball, and wants its keeper to play it. */
static void who_sees_the_ball_plays_it_if_the_proposal_names_nobody(void **state)
{
    (void)state;
    for (int sees = 0; sees < 2; sees++) {
        struct robot r = robot(3, -0.4, 0);
        r.sees = sees;
        TeamMessage *m = hear(&r, 2, -2, 1);
        m->proposed_roles.n = 3;
        m->proposed_roles.at[1] = TeamMessage_ROLE_DEFENDER;
        m->proposed_roles.at[2] = TeamMessage_ROLE_SUPPORTER;
        const StrategyPlan *plan = think(&r);
        assert_int_equal(plan->proposer, 2);
        assert_int_equal(plan->striker, sees ? 3 : 0);
        assert_int_equal(plan->may_claim_ball, sees);
        nm_harness_free(r.h);
    }
}

static void who_saw_a_kick_does_not_obey_a_mate_who_did_not(void **state)
{
    (void)state;
    for (int kicked = 0; kicked < 2; kicked++) {
        struct robot r = robot(3, 1, 0);
        r.sees = true;
        r.ball_x = kicked ? 1.5 : 0.2;
        TeamMessage *m = hear(&r, 2, -0.4, 0); /* believes that the ball lies in the centre */
        m->proposed_roles.n = 4;
        m->proposed_roles.at[1] = TeamMessage_ROLE_STRIKER;
        m->proposed_roles.at[2] = TeamMessage_ROLE_SUPPORTER;
        const StrategyPlan *plan = think(&r);
        assert_int_equal(plan->proposer, kicked ? 3 : 2);
        assert_int_equal(plan->striker, kicked ? 3 : 2);
        nm_harness_free(r.h);
    }
}

/* Number 2 decides, but what it says is as old as its way: the ball may be nearer to this robot by now. */
static void who_sees_the_ball_and_is_first_does_not_wait_for_the_proposal(void **state)
{
    (void)state;
    static const struct {
        float delay; /* s, of messages */
        bool sees;
        double named; /* m: number 4, whom number 2 wants as striker, is there */
        uint8_t striker;
    } rows[] = {{0.3f, true, -1.5, 3}, {0.3f, true, -0.6, 4}, {0.3f, false, -1.5, 4}, {0.02f, true, -1.5, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct robot r = robot(3, -0.5, 0);
        r.sees = rows[i].sees;
        hear(&r, 4, rows[i].named, 0);
        TeamMessage *m = hear(&r, 2, -2, 1);
        r.mates[1].delay = rows[i].delay;
        m->proposed_roles.n = 4;
        m->proposed_roles.at[1] = TeamMessage_ROLE_DEFENDER;
        m->proposed_roles.at[2] = TeamMessage_ROLE_SUPPORTER;
        m->proposed_roles.at[3] = TeamMessage_ROLE_STRIKER;
        const StrategyPlan *plan = think(&r);
        assert_int_equal(plan->striker, rows[i].striker);
        assert_int_equal(plan->proposer, rows[i].striker == 3 ? 3 : 2);
        assert_int_equal(plan->may_claim_ball, rows[i].striker == 3);
        nm_harness_free(r.h);
    }
}

static void who_is_named_leaves_the_ball_to_a_mate_who_claims_it_and_is_first(void **state)
{
    (void)state;
    for (int claims = 0; claims < 2; claims++) {
        struct robot r = robot(3, -1.5, 0.5);
        TeamMessage *m = hear(&r, 4, -0.4, 0);
        m->ball_claimed = claims;
        m->role = claims ? TeamMessage_ROLE_STRIKER : TeamMessage_ROLE_SUPPORTER;
        m = hear(&r, 2, -2, 1);
        r.mates[1].delay = 0.3f;
        m->proposed_roles.n = 4;
        m->proposed_roles.at[1] = TeamMessage_ROLE_DEFENDER;
        m->proposed_roles.at[2] = TeamMessage_ROLE_STRIKER;
        m->proposed_roles.at[3] = TeamMessage_ROLE_SUPPORTER;
        const StrategyPlan *plan = think(&r);
        assert_int_equal(plan->striker, claims ? 4 : 3); /* who does not claim it may wait for this robot */
        assert_int_equal(plan->may_claim_ball, !claims);
        nm_harness_free(r.h);
    }
}

/* He spoke a second ago on his way to the ball, and is nearer to it by now. */
static void mates_walk_on_while_their_messages_are_on_the_way(void **state)
{
    (void)state;
    for (int walks = 0; walks < 2; walks++) {
        struct robot r = robot(3, -1.2, 0);
        r.now = nm_ns(5);
        nm_harness_step(r.h, 5);
        TeamMessage *m = hear(&r, 2, -1.4, 0);
        m->header.stamp = nm_stamp(r.now - nm_ns(1));
        m->walk_target = (Pose2D){walks ? 0 : -1.4, 0, 0};
        m->max_walk_speed = 0.4f;
        m->action = TeamMessage_ACTION_GOING_TO_BALL;
        assert_int_equal(think(&r)->striker, walks ? 2 : 3);
        nm_harness_free(r.h);
    }
}

static void for_their_free_kick_nobody_stands_near_the_ball(void **state)
{
    (void)state;
    struct robot r = robot(2, -0.3, 0);
    r.set_play = MatchState_SET_PLAY_DIRECT_FREE_KICK;
    r.kicking = MatchState_KICK_RIVAL;
    r.may_play = false;
    const StrategyPlan *plan = think(&r);
    assert_true(hypot(plan->own_position.x, plan->own_position.y) > 0.85);
    nm_harness_free(r.h);
}

/* ---- the whole team ---- */

enum { WAITING = 64 };

struct air {
    struct nm_dice dice;
    double loss;
    int64_t period, delay; /* ns between two messages of a robot; of every message */
    uint32_t n;
    struct {
        int64_t due;
        uint8_t from, to; /* indices */
        TeamMessage message;
    } waiting[WAITING]; /* in the order in which they were said */
};

/* What is due is heard, with the stamp of when it was said. */
static void deliver(struct robot team[TEAM], struct air *air)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < air->n; i++) {
        if (air->waiting[i].due > team[0].now) {
            air->waiting[kept++] = air->waiting[i];
            continue;
        }
        const TeamMessage *said = &air->waiting[i].message;
        struct robot *ear = &team[air->waiting[i].to];
        *hear(ear, said->player_number, 0, 0) = *said;
        ear->mates[said->player_number - 1].delay = (float)nm_seconds(air->delay);
    }
    air->n = kept;
}

/* Everybody thinks and speaks; returns how many may play the ball. */
static int team_step(struct robot team[TEAM], struct air *air)
{
    int strikers = 0;
    const StrategyPlan *plans[TEAM];
    for (int i = 0; i < TEAM; i++) strikers += (plans[i] = think(&team[i]))->may_claim_ball;
    for (int i = 0; i < TEAM; i++) {
        if ((team[i].now / nm_ns(STEP) + 3 * i) % (air->period / nm_ns(STEP))) continue;
        TeamMessage m = {.player_number = team[i].number, .state = TeamMessage_STATE_ACTIVE, .ball_known = true};
        m.header.stamp = nm_stamp(team[i].now);
        m.pose.pose = (Pose2D){team[i].pose.x, team[i].pose.y, team[i].pose.theta};
        m.pose.weight = 1;
        m.ball = (Point){team[i].ball_x, team[i].ball_y, 0};
        m.role = plans[i]->own_role;
        m.ball_claimed = plans[i]->may_claim_ball;
        m.walk_target = plans[i]->own_position;
        if (m.ball_claimed) m.walk_target = (Pose2D){team[i].ball_x, team[i].ball_y, team[i].pose.theta};
        m.max_walk_speed = 0.3f;
        for (uint32_t k = 0; k < plans[i]->players.n; k++) {
            uint8_t number = plans[i]->players.at[k];
            if (m.proposed_roles.n < number) m.proposed_roles.n = number;
            m.proposed_roles.at[number - 1] = plans[i]->roles.at[k];
        }
        for (uint8_t j = 0; j < TEAM; j++) {
            if (i == j || nm_dice_roll(&air->dice) < air->loss) continue;
            assert_true(air->n < WAITING);
            air->waiting[air->n].due = team[i].now + air->delay;
            air->waiting[air->n].from = (uint8_t)i;
            air->waiting[air->n].to = j;
            air->waiting[air->n++].message = m;
        }
    }
    deliver(team, air);
    return strikers;
}

/* Robots walk to where their plan sends them, the ball jumps about. Shares of the time. */
static void play(double loss, double delay, double *none, double *two)
{
    struct robot team[TEAM];
    struct air air = {.dice = nm_dice_new(7, 0, 0), .loss = loss, .period = nm_ns(10 * STEP), .delay = nm_ns(delay)};
    int steps = 0, nobody = 0, many = 0;
    for (int i = 0; i < TEAM; i++) team[i] = robot((uint8_t)(i + 1), -4.2 + 0.9 * i, 0.8 * i - 1);
    for (int t = 0; t < 30 * 120; t++) {
        if (t % 150 == 0) {
            double x = 8 * nm_dice_roll(&air.dice) - 4, y = 5 * nm_dice_roll(&air.dice) - 2.5;
            for (int i = 0; i < TEAM; i++) {
                team[i].ball_x = x;
                team[i].ball_y = y;
            }
        }
        int strikers = team_step(team, &air);
        for (int i = 0; i < TEAM; i++) {
            const StrategyPlan *plan = nm_harness_get(team[i].h, "strategy_plan");
            double x = plan->may_claim_ball ? team[i].ball_x : plan->own_position.x;
            double y = plan->may_claim_ball ? team[i].ball_y : plan->own_position.y;
            double far = hypot(x - team[i].pose.x, y - team[i].pose.y), step = fmin(0.3 * STEP, far);
            if (far < 1e-6) continue;
            team[i].pose.theta = atan2(y - team[i].pose.y, x - team[i].pose.x);
            team[i].pose.x += step * cos(team[i].pose.theta);
            team[i].pose.y += step * sin(team[i].pose.theta);
        }
        steps++;
        nobody += strikers == 0;
        many += strikers > 1;
    }
    for (int i = 0; i < TEAM; i++) nm_harness_free(team[i].h);
    *none = (double)nobody / steps;
    *two = (double)many / steps;
    print_message("loss %.0f %%, delay %.1f s: nobody %.1f %%, two %.1f %%\n", 100 * loss, delay, 100 * *none,
                  100 * *two);
}

static void a_team_has_one_striker(void **state)
{
    (void)state;
    double none, two;
    play(0, 0, &none, &two);
    assert_true(none < 0.05 && two < 0.05);
    play(0.3, 0, &none, &two);
    assert_true(none < 0.1 && two < 0.1);
    play(0.3, 0.3, &none, &two);
    assert_true(none < 0.1 && two < 0.1);
}

static void before_a_kick_off_everybody_takes_another_place(void **state)
{
    (void)state;
    struct robot team[TEAM];
    struct air air = {.dice = nm_dice_new(8, 0, 0), .period = nm_ns(10 * STEP)};
    for (int i = 0; i < TEAM; i++) {
        team[i] = robot((uint8_t)(i + 1), -3 + 0.5 * i, i % 2 ? 2.8 : -2.8);
        team[i].state = MatchState_READY;
        team[i].kicking = MatchState_KICK_OWN;
    }
    for (int t = 0; t < 60; t++) team_step(team, &air);
    for (int i = 0; i < TEAM; i++)
        for (int j = 0; j < i; j++) {
            const StrategyPlan *a = nm_harness_get(team[i].h, "strategy_plan");
            const StrategyPlan *b = nm_harness_get(team[j].h, "strategy_plan");
            assert_true(hypot(a->own_position.x - b->own_position.x, a->own_position.y - b->own_position.y) > 0.4);
        }
    for (int i = 0; i < TEAM; i++) nm_harness_free(team[i].h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_alone_plays_the_ball),
        cmocka_unit_test(who_is_nearer_plays_the_ball_and_the_others_keep_off),
        cmocka_unit_test(the_lowest_number_decides),
        cmocka_unit_test(the_mutex_is_freed_by_silence_which_follows_the_rate_of_messages),
        cmocka_unit_test(the_mutex_is_freed_by_a_fall_and_by_a_lost_ball),
        cmocka_unit_test(who_dives_leaves_the_rebound_to_mates),
        cmocka_unit_test(a_partner_without_proposals_who_plays_the_ball_is_left_alone),
        cmocka_unit_test(a_mate_who_is_only_seen_at_the_ball_has_some_time_to_play_it),
        cmocka_unit_test(the_time_of_a_mate_at_the_ball_begins_when_he_can_play_it),
        cmocka_unit_test(of_two_silent_mates_the_second_counts_as_well),
        cmocka_unit_test(of_two_beside_each_other_the_nearer_one_plays_the_ball),
        cmocka_unit_test(where_all_speak_nobody_is_silent),
        cmocka_unit_test(the_keeper_comes_out_only_if_he_is_first),
        cmocka_unit_test(the_keeper_leaves_the_ball_to_a_rival_who_is_first),
        cmocka_unit_test(the_keeper_clears_a_ball_in_his_goal_area_from_a_rival),
        cmocka_unit_test(in_a_shoot_out_the_keeper_is_on_his_line_until_the_kick_and_then_plays),
        cmocka_unit_test(where_the_keeper_plays_nobody_else_is_striker),
        cmocka_unit_test(a_rolling_ball_is_for_who_meets_it),
        cmocka_unit_test(mates_who_agree_on_a_ball_outvote_one_who_sees_another),
        cmocka_unit_test(mates_who_saw_the_ball_since_know_where_it_was_moved),
        cmocka_unit_test(who_sees_the_ball_plays_it_if_the_proposal_names_nobody),
        cmocka_unit_test(who_saw_a_kick_does_not_obey_a_mate_who_did_not),
        cmocka_unit_test(who_sees_the_ball_and_is_first_does_not_wait_for_the_proposal),
        cmocka_unit_test(who_is_named_leaves_the_ball_to_a_mate_who_claims_it_and_is_first),
        cmocka_unit_test(mates_walk_on_while_their_messages_are_on_the_way),
        cmocka_unit_test(for_their_free_kick_nobody_stands_near_the_ball),
        cmocka_unit_test(a_team_has_one_striker),
        cmocka_unit_test(before_a_kick_off_everybody_takes_another_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
