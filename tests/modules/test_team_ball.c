/* The team ball: clusters, ties and sources as HULKs 2017 has them, fusion against its closed form, the rules' ball,
 * and mates that lie. */
#include "world_rig.h"

#include "body/robot.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/TeamBall.h"

extern const struct nm_module team_ball_module;

static struct nm_arena arena;
static const struct nm_body *body;

static int setup(void **state)
{
    struct nm_err err = {0};
    (void)state;
    body = nm_body_load(&arena, NM_ROOT "/robots/kid70", &err);
    return body ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

/* This robot is number 1, stands at the origin and looks along x. */
static void stand(struct nm_harness *h)
{
    MatchState *match = nm_harness_set(h, "match_state");
    match->player_number = 1;
    match->state = MatchState_PLAYING;
    give_odometry(h, (struct pose2){0});
    give_pose(h, (struct pose2){0}, 0.05);
}

static void see_earlier(struct nm_harness *h, double x, double y, double age)
{
    BallModel *ball = nm_harness_set(h, "ball");
    ball->valid = true;
    ball->position = (Point){x, y, 0};
    for (int i = 0; i < 4; i++) ball->covariance[5 * i] = 0.01;
    ball->confidence = 0.9f;
    ball->last_seen = soon(h, age);
}

static void see(struct nm_harness *h, double x, double y) { see_earlier(h, x, y, 0.02); }

static const TeamBall *go(struct nm_harness *h)
{
    nm_harness_step(h, STEP);
    return nm_harness_get(h, "team_ball");
}

static bool is_at(const TeamBall *b, double x, double y)
{
    return b->ball.valid && hypot(b->ball.position.x - x, b->ball.position.y - y) < 0.2;
}

static void without_witnesses_there_is_no_ball(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, NULL);
    stand(h);
    const TeamBall *b = go(h);
    assert_int_equal(b->source, TeamBall_SOURCE_NONE);
    assert_false(b->ball.valid);
    nm_harness_free(h);
}

static void who_sees_the_ball_believes_itself_and_who_does_not_believes_a_mate(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, NULL);
    stand(h);
    tell_ball(add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){-2, -2, 0}), -3, 1, 0.9);
    const TeamBall *b = go(h);
    assert_int_equal(b->source, TeamBall_SOURCE_MATE);
    assert_true(is_at(b, -3, 1));
    assert_int_equal(b->players.n, 1);
    assert_int_equal(b->players.at[0], 2);
    stand(h);
    see(h, 1, 0.5);
    b = go(h);
    assert_int_equal(b->source, TeamBall_SOURCE_SELF); /* one against one: its own */
    assert_true(is_at(b, 1, 0.5));
    nm_harness_free(h);
}

static void two_mates_that_agree_outvote_a_ball_remembered(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, NULL);
    stand(h);
    TeamState *team = nm_harness_set(h, "team_state");
    tell_ball(add_mate(h, team, 2, (struct pose2){2, 2, 0}), 3, 2, 0.9);
    tell_ball(add_mate(h, team, 3, (struct pose2){4, 2, 0}), 3.1, 2.1, 0.9);
    see_earlier(h, 1, 0.5, 2);
    const TeamBall *b = go(h);
    assert_int_equal(b->source, TeamBall_SOURCE_MATE);
    assert_int_equal(b->players.n, 2);
    assert_true(is_at(b, 3.05, 2.05));
    nm_harness_free(h);
}

static void a_mate_who_sees_the_ball_outvotes_a_ball_remembered(void **state)
{
    (void)state;
    static const struct {
        double own, mate; /* s since each of them saw its ball */
        uint8_t source;
    } rows[] = {{2, 0.1, TeamBall_SOURCE_MATE}, {0.7, 0.1, TeamBall_SOURCE_SELF}, {2, 2, TeamBall_SOURCE_SELF}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nm_harness *h = nm_harness_new(&team_ball_module, NULL);
        stand(h);
        TeamMessage *m = add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){2, 2, 0});
        tell_ball(m, 3, 2, 0.9);
        m->ball_age = (float)rows[i].mate;
        see_earlier(h, 1, 0.5, rows[i].own);
        assert_int_equal(go(h)->source, rows[i].source);
        nm_harness_free(h);
    }
}

static void who_has_not_seen_a_ball_since_its_mates_did_knows_it_from_them(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        struct nm_harness *h = nm_harness_new(&team_ball_module, NULL);
        stand(h);
        TeamMessage *m = add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){2, 2, 0});
        tell_ball(m, 1.1, 0.5, 0.9);
        m->ball_age = later ? 0.1F : 2;
        see_earlier(h, 1, 0.5, 2);
        const TeamBall *b = go(h);
        assert_int_equal(b->source, later ? TeamBall_SOURCE_MATE : TeamBall_SOURCE_SELF);
        assert_int_equal(b->players.n, later ? 1 : 2);
        nm_harness_free(h);
    }
}

/* Two sightings with different covariances: the mean by their inverses, which a person can compute. */
static void agreeing_balls_are_weighed_by_their_certainty(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, NULL);
    stand(h);
    TeamState *team = nm_harness_set(h, "team_state");
    const double own[2] = {0.01, 0.04};
    double information = 0, mean = 0, late = 0.1;
    for (int i = 0; i < 2; i++) {
        TeamMessage *m = add_mate(h, team, (uint8_t)(2 + i), (struct pose2){2, 2, 0});
        tell_ball(m, 3 + 0.2 * i, 2, 0.9);
        m->ball_covariance[0] = m->ball_covariance[3] = own[i];
        double turn = 0.001 * ((1 + 0.2 * i) * (1 + 0.2 * i)) / 2, aged = 0.05 * late;
        double v = own[i] + 0.01 + turn + aged * aged;
        information += 1 / v;
        mean += (3 + 0.2 * i) / v;
    }
    const TeamBall *b = go(h);
    assert_near(b->ball.position.x, mean / information, 1e-3);
    assert_near(b->ball.covariance[0], 1 / information, 1e-4);
    nm_harness_free(h);
}

static void old_unsure_and_lost_mates_are_no_witnesses(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, "max_age=3");
    for (int i = 0; i < 30; i++) go(h); /* so that there is a past */
    stand(h);
    TeamState *team = nm_harness_set(h, "team_state");
    TeamMessage *m = add_mate(h, team, 2, (struct pose2){2, 2, 0});
    tell_ball(m, 3, 2, 0.9);
    m->ball_age = 4;
    m = add_mate(h, team, 3, (struct pose2){2, 2, 0});
    tell_ball(m, 3, 2, 0.1);
    m = add_mate(h, team, 4, (struct pose2){2, 2, 0});
    tell_ball(m, 3, 2, 0.9);
    m->pose.covariance[0] = 9; /* it does not know where it is */
    m = add_mate(h, team, 5, (struct pose2){2, 2, 0});
    tell_ball(m, NAN, 2, 0.9);
    assert_int_equal(go(h)->source, TeamBall_SOURCE_NONE);
    nm_harness_free(h);
}

static void a_mates_rolling_ball_rolls_on_while_the_message_travels(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, "brake=1");
    for (int i = 0; i < 60; i++) go(h);
    stand(h);
    TeamMessage *m = add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){-2, -2, 0});
    tell_ball(m, -3, -1, 0.9);
    m->header.stamp = soon(h, 1);
    m->ball_velocity = (Vector3){1.5, 0, 0};
    const TeamBall *b = go(h);
    assert_near(b->ball.position.x, -3 + 1.5 - 0.5, 0.01); /* v t - b t^2 / 2 */
    assert_near(b->ball.velocity.x, 0.5, 0.01);
    assert_near(b->ball.destination.x, -3 + 1.5 * 1.5 / 2, 0.01);
    nm_harness_free(h);
}

static void the_rules_know_where_the_ball_is(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, "rule_time=2");
    MatchState *match = nm_harness_set(h, "match_state");
    match->state = MatchState_SET;
    match->player_number = 1;
    const TeamBall *b = go(h);
    assert_int_equal(b->source, TeamBall_SOURCE_RULE);
    assert_true(is_at(b, 0, 0));
    assert_int_equal(b->players.n, 0);
    /* play goes on: for two seconds more */
    stand(h);
    assert_int_equal(go(h)->source, TeamBall_SOURCE_RULE);
    for (int i = 0; i < 70; i++) b = go(h);
    assert_int_equal(b->source, TeamBall_SOURCE_NONE);
    /* a penalty kick of the others is before our goal */
    match = nm_harness_set(h, "match_state");
    match->state = MatchState_SET;
    match->set_play = MatchState_SET_PLAY_PENALTY_KICK;
    match->kicking = MatchState_KICK_RIVAL;
    b = go(h);
    assert_int_equal(b->source, TeamBall_SOURCE_RULE);
    assert_true(is_at(b, -(8.95 / 2 - 1.475), 0));
    /* in a shoot-out ours is before theirs */
    match = nm_harness_set(h, "match_state");
    match->state = MatchState_SET;
    match->phase = MatchState_PHASE_PENALTY_SHOOTOUT;
    match->kicking = MatchState_KICK_OWN;
    assert_true(is_at(go(h), 8.95 / 2 - 1.475, 0));
    nm_harness_free(h);
}

static void what_was_seen_before_the_referee_placed_the_ball_does_not_count(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, NULL);
    stand(h);
    see(h, 2, 1);
    assert_int_equal(go(h)->source, TeamBall_SOURCE_SELF);
    for (int i = 0; i < 10; i++) {
        MatchState *match = nm_harness_set(h, "match_state");
        give_pose(h, (struct pose2){0}, 0.05);
        match->player_number = 1;
        match->state = MatchState_SET;
        const TeamBall *b = go(h);
        assert_int_equal(b->source, TeamBall_SOURCE_RULE);
        assert_true(is_at(b, 0, 0));
    }
    see(h, 0.05, 0); /* now it sees the ball on the mark */
    give_pose(h, (struct pose2){0}, 0.05);
    assert_int_equal(go(h)->source, TeamBall_SOURCE_SELF);
    nm_harness_free(h);
}

static void a_liar_does_not_carry_away_those_who_see(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, NULL);
    for (int i = 0; i < 600; i++) {
        stand(h);
        tell_ball(add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){-3, 0, 0}), -4, 2, 1);
        see(h, 1, 0.5);
        assert_true(is_at(go(h), 1, 0.5));
    }
    /* and when the robot loses the ball, nobody believes the liar any more */
    for (int i = 0; i < 30; i++) {
        ((BallModel *)nm_harness_set(h, "ball"))->valid = false;
        stand(h);
        tell_ball(add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){-3, 0, 0}), -4, 2, 1);
        assert_int_equal(go(h)->source, TeamBall_SOURCE_NONE);
    }
    /* until it agrees with others for a while */
    const TeamBall *b = NULL;
    for (int i = 0; i < 600; i++) {
        stand(h);
        see(h, 1, 0.5);
        tell_ball(add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){-3, 0, 0}), 1, 0.5, 1);
        b = go(h);
    }
    assert_int_equal(b->players.n, 2);
    nm_harness_free(h);
}

static void a_robot_that_looks_at_the_place_of_a_lie_sees_that_nothing_is_there(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&team_ball_module, NULL, body);
    int believed = 0;
    for (int i = 0; i < 300; i++) {
        stand(h);
        give_camera(h, 0, 0.4);
        tell_ball(add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){-3, 0, 0}), 1.5, 0.2, 1);
        believed += go(h)->source == TeamBall_SOURCE_MATE;
    }
    assert_true(believed > 10 && believed < 90);
    /* looking elsewhere proves nothing */
    struct nm_harness *other = nm_harness_new_with(&team_ball_module, NULL, body);
    for (int i = 0; i < 300; i++) {
        stand(other);
        give_camera(other, 1.5, 0.4);
        tell_ball(add_mate(other, nm_harness_set(other, "team_state"), 2, (struct pose2){-3, 0, 0}), 1.5, 0.2, 1);
        assert_int_equal(go(other)->source, TeamBall_SOURCE_MATE);
    }
    nm_harness_free(other);
    nm_harness_free(h);
}

static void of_three_mates_the_liar_is_alone(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&team_ball_module, NULL);
    for (int i = 0; i < 300; i++) {
        TeamState *team = nm_harness_set(h, "team_state");
        stand(h);
        tell_ball(add_mate(h, team, 2, (struct pose2){-3, 0, 0}), -4, -2, 1);
        tell_ball(add_mate(h, team, 3, (struct pose2){2, 0, 0}), 3, 1, 0.7);
        tell_ball(add_mate(h, team, 4, (struct pose2){4, 0, M_PI}), 3.1, 0.9, 0.7);
        const TeamBall *b = go(h);
        assert_int_equal(b->source, TeamBall_SOURCE_MATE);
        assert_true(is_at(b, 3.05, 0.95));
    }
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_witnesses_there_is_no_ball),
        cmocka_unit_test(who_sees_the_ball_believes_itself_and_who_does_not_believes_a_mate),
        cmocka_unit_test(two_mates_that_agree_outvote_a_ball_remembered),
        cmocka_unit_test(a_mate_who_sees_the_ball_outvotes_a_ball_remembered),
        cmocka_unit_test(who_has_not_seen_a_ball_since_its_mates_did_knows_it_from_them),
        cmocka_unit_test(agreeing_balls_are_weighed_by_their_certainty),
        cmocka_unit_test(old_unsure_and_lost_mates_are_no_witnesses),
        cmocka_unit_test(a_mates_rolling_ball_rolls_on_while_the_message_travels),
        cmocka_unit_test(the_rules_know_where_the_ball_is),
        cmocka_unit_test(what_was_seen_before_the_referee_placed_the_ball_does_not_count),
        cmocka_unit_test(a_liar_does_not_carry_away_those_who_see),
        cmocka_unit_test(a_robot_that_looks_at_the_place_of_a_lie_sees_that_nothing_is_there),
        cmocka_unit_test(of_three_mates_the_liar_is_alone),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
