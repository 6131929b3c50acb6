/* What a robot tells its team. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/harness.h"
#include "core/stamp.h"
#include "diagnostic_msgs/DiagnosticArray.h"
#include "geometry_msgs/PoseArray.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/Strategy.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/StrategyPlan.h"
#include "nutmeg_msgs/TeamMessage.h"
#include "nutmeg_msgs/Whistle.h"

extern const struct nm_module team_report_module;

static struct nm_harness *h;
static double now;

#define near(a, b) assert_true(fabs((double)(a) - (double)(b)) < 1e-6)

static const TeamMessage *step(void)
{
    nm_harness_step(h, 0.05);
    now += 0.05;
    return nm_harness_get(h, "team_message");
}

/* A robot at (1, 2) that looks to the left touchline. */
static void stand(void)
{
    PoseWithCovarianceStamped *pose = nm_harness_set(h, "pose");
    pose->pose.pose.position = (Point){1, 2, 0};
    pose->pose.pose.orientation = (Quaternion){0, 0, sqrt(0.5), sqrt(0.5)};
    pose->pose.covariance[0] = 0.04;
    pose->pose.covariance[7] = 0.09;
    pose->pose.covariance[35] = 0.01;
}

static void see_ball(double x, double y)
{
    BallModel *ball = nm_harness_set(h, "ball");
    ball->valid = true;
    ball->confidence = 0.8f;
    ball->position = (Point){x, y, 0};
    ball->velocity = (Vector3){1, 0, 0};
    ball->covariance[0] = 0.25;
    ball->covariance[5] = 0.01;
    ball->last_seen = nm_stamp(nm_ns(now));
}

static int begin(void **state)
{
    (void)state;
    h = nm_harness_new(&team_report_module, "speed=0.5, turn=1");
    now = 0;
    MatchState *match = nm_harness_set(h, "match_state");
    match->own_team = 6;
    match->player_number = 3;
    match->state = MatchState_PLAYING;
    match->may_play = true;
    step();
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_harness_free(h);
    return 0;
}

static void test_what_it_sees_is_told_in_the_map(void **state)
{
    (void)state;
    stand();
    see_ball(2, 0);
    CameraPose *camera = nm_harness_set(h, "camera/pose");
    camera->pose.orientation = (Quaternion){-0.5, 0.5, -0.5, 0.5}; /* z of the optical frame forward */
    ObstacleModel *seen = nm_harness_set(h, "obstacles");
    for (int i = 0; i < 12; i++) {
        Obstacle *o = nm_append(&seen->obstacles, &Obstacle_type);
        o->kind = i == 3 ? Obstacle_GOAL_POST : Obstacle_RIVAL;
        o->position = (Point){12 - i, 0.5, 0};
        o->velocity = (Vector3){0.5, 0, 0};
        o->last_seen = nm_stamp(nm_ns(i == 10 ? now - 10 : now)); /* one is long gone */
    }
    const TeamMessage *m = step();
    m = step();
    assert_int_equal(m->team_number, 6);
    assert_int_equal(m->player_number, 3);
    assert_int_equal(m->state, TeamMessage_STATE_ACTIVE);
    near(m->pose.pose.x, 1);
    near(m->pose.pose.theta, M_PI / 2);
    near(m->pose.covariance[0], 0.04);
    near(m->pose.covariance[4], 0.09);
    near(m->pose.covariance[8], 0.01);
    near(m->pose.weight, 1);
    assert_true(m->ball_known);
    near(m->ball.x, 1);
    near(m->ball.y, 4);
    near(m->ball_velocity.y, 1);
    near(m->ball_covariance[0], 0.01); /* it is unsure along its sight, which is y of the map */
    near(m->ball_covariance[3], 0.25);
    assert_true(fabs((double)m->time_to_ball - 4) < 0.1);
    near(m->head_pan, 0);
    assert_int_equal(m->obstacles.n, 8); /* the nearest ones */
    near(m->obstacles.at[0].position.x, 0.5);
    near(m->obstacles.at[0].position.y, 3); /* 1 m away */
    near(m->obstacles.at[0].velocity.y, 0.5);
    for (uint32_t i = 0; i < m->obstacles.n; i++) assert_int_equal(m->obstacles.at[i].kind, Obstacle_RIVAL);
    for (uint32_t i = 0; i < m->obstacles.n; i++) assert_true(fabs(m->obstacles.at[i].position.y - 4) > 0.1);
}

static void test_old_news_are_not_told(void **state)
{
    (void)state;
    stand();
    see_ball(2, 0);
    const TeamMessage *m = step();
    m = step();
    assert_true(m->ball_known);
    for (int i = 0; i < 100; i++) m = step();
    assert_false(m->ball_known);
    assert_true(isinf(m->time_to_ball) != 0);
    near(m->pose.weight, 0);
}

static void test_without_a_place_there_is_no_ball(void **state)
{
    (void)state;
    see_ball(2, 0);
    step();
    assert_false(step()->ball_known);
}

static void test_states(void **state)
{
    (void)state;
    static const struct {
        uint8_t hcm, told, legs;
    } rows[] = {{HcmState_CONTROLABLE, TeamMessage_STATE_ACTIVE, HcmState_OWNER_WALK},
                {HcmState_WALKING, TeamMessage_STATE_ACTIVE, HcmState_OWNER_WALK},
                {HcmState_FALLEN, TeamMessage_STATE_FALLEN, HcmState_OWNER_WALK},
                {HcmState_GETTING_UP, TeamMessage_STATE_FALLEN, HcmState_OWNER_WALK},
                {HcmState_MOTOR_OFF, TeamMessage_STATE_INACTIVE, HcmState_OWNER_WALK},
                {HcmState_CARRIED, TeamMessage_STATE_INACTIVE, HcmState_OWNER_WALK},
                {HcmState_STOPPED, TeamMessage_STATE_ACTIVE, HcmState_OWNER_WALK},
                {HcmState_ANIMATION_RUNNING, TeamMessage_STATE_FALLEN, HcmState_OWNER_ANIMATION}, /* a dive */
                {HcmState_ANIMATION_RUNNING, TeamMessage_STATE_ACTIVE, HcmState_OWNER_KICK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        HcmState *hcm = nm_harness_set(h, "hcm_state");
        hcm->state = rows[i].hcm;
        hcm->left_leg_owner = hcm->right_leg_owner = rows[i].legs;
        step();
        assert_int_equal(step()->state, rows[i].told);
    }
    MatchState *match = nm_harness_set(h, "match_state");
    match->penalized = true;
    assert_int_equal(step()->state, TeamMessage_STATE_PENALIZED);
}

static void test_plans_and_proposals(void **state)
{
    (void)state;
    stand();
    see_ball(2, 0);
    StrategyPlan *plan = nm_harness_set(h, "strategy_plan");
    static const uint8_t players[] = {1, 5, 3},
                         roles[] = {TeamMessage_ROLE_KEEPER, TeamMessage_ROLE_BISHOP, TeamMessage_ROLE_STRIKER};
    plan->players.n = plan->roles.n = 3;
    memcpy(plan->players.at, players, 3);
    memcpy(plan->roles.at, roles, 3);
    plan->own_role = TeamMessage_ROLE_STRIKER;
    plan->may_claim_ball = true;
    Strategy *strategy = nm_harness_set(h, "strategy");
    strategy->action = Strategy_ACTION_GOING_TO_BALL;
    strategy->offensive_side = Strategy_SIDE_RIGHT;
    NavigationGoal *goal = nm_harness_set(h, "navigation_goal");
    goal->mode = NavigationGoal_WALK_BEHIND_BALL;
    nm_text(goal->header.frame_id, "base_footprint");
    goal->target = (Pose2D){1, 0, 0};
    goal->kick_target = (Point){3, 0, 0};
    PoseArray *search = nm_harness_set(h, "search_points");
    for (int i = 0; i < 3; i++) {
        Pose *p = nm_append(&search->poses, &Pose_type);
        p->position.x = i == 1 ? (double)NAN : (double)i;
    }
    step();
    const TeamMessage *m = step();
    assert_int_equal(m->role, TeamMessage_ROLE_STRIKER);
    assert_int_equal(m->action, TeamMessage_ACTION_GOING_TO_BALL);
    assert_int_equal(m->offensive_side, TeamMessage_SIDE_RIGHT);
    assert_true(m->ball_claimed);
    assert_int_equal(m->proposed_roles.n, 5);
    assert_int_equal(m->proposed_roles.at[0], TeamMessage_ROLE_KEEPER);
    assert_int_equal(m->proposed_roles.at[1], TeamMessage_ROLE_IDLE);
    assert_int_equal(m->proposed_roles.at[4], TeamMessage_ROLE_BISHOP);
    near(m->walk_target.y, 3);
    near(m->walk_target.theta, M_PI / 2);
    near(m->kick_target.y, 5);
    assert_int_equal(m->search_points.n, 3);
    assert_true(isnan(m->search_points.at[1].x));
    HcmState *hcm = nm_harness_set(h, "hcm_state");
    hcm->state = HcmState_FALLEN;
    step();
    assert_false(step()->ball_claimed); /* who lies gives the ball free */
}

static void test_a_whistle_and_a_fault_are_told_for_a_while(void **state)
{
    (void)state;
    Whistle *w = nm_harness_set(h, "whistle");
    w->confidence = 0.9f;
    DiagnosticArray *health = nm_harness_set(h, "diagnostics");
    DiagnosticStatus *status = nm_append(&health->status, &DiagnosticStatus_type);
    status->level = DiagnosticStatus_ERROR;
    nm_text(status->name, "left_knee");
    const TeamMessage *m = step();
    assert_true(m->whistle);
    assert_string_equal(m->errors, "left_knee");
    for (int i = 0; i < 150; i++) m = step();
    assert_false(m->whistle);
    assert_string_equal(m->errors, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_it_sees_is_told_in_the_map, begin, end),
        cmocka_unit_test_setup_teardown(test_old_news_are_not_told, begin, end),
        cmocka_unit_test_setup_teardown(test_without_a_place_there_is_no_ball, begin, end),
        cmocka_unit_test_setup_teardown(test_states, begin, end),
        cmocka_unit_test_setup_teardown(test_plans_and_proposals, begin, end),
        cmocka_unit_test_setup_teardown(test_a_whistle_and_a_fault_are_told_for_a_while, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
