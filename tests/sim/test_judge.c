/* The judge: what is done to robots that nobody plays and to the ball must be seen and punished as the leagues want it.
 */
#include "judged_game.h"

/* ---- the course ---- */

static void test_kick_off(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct game g;
        begin(&g, (enum nm_game_league)league);
        step(&g);
        for (uint32_t i = 0; i < ROBOTS; i++) { /* outside, beside the own half */
            assert_true(where(&g, i).x * (i < PLAYERS ? -1 : 1) > 0);
            assert_true(fabs(where(&g, i).y) > 3);
        }
        run(&g, 3.5);
        assert_int_equal(match(&g)->state, NM_GAME_READY);
        run(&g, 4.5); /* cut short: all stand, and legally so */
        assert_int_equal(match(&g)->state, NM_GAME_SET);
        assert_int_equal(g.whistles, 0);
        run(&g, 5.5);
        assert_int_equal(match(&g)->state, NM_GAME_PLAYING);
        assert_in_range(g.whistles, 4, ROBOTS); /* some may miss it */
        assert_int_equal(g.n[NM_NOTE_PENALTY], 0);
        end(&g);
    }
}

static void test_ready_waits_for_those_who_walk(void **state)
{
    (void)state;
    struct game g;
    begin(&g, NM_GAME_HSL);
    run(&g, 3.5);
    place(&g, 1, 1, 1); /* in the wrong half: not legal */
    run(&g, 30);
    assert_int_equal(match(&g)->state, NM_GAME_READY);
    run(&g, 20);
    assert_int_equal(match(&g)->state, NM_GAME_PLAYING);
    assert_int_equal(g.n[NM_NOTE_PENALTY], 1);
    assert_int_equal(g.last[NM_NOTE_PENALTY].robot, 1);
    assert_int_equal(g.last[NM_NOTE_PENALTY].offence, NM_OFFENCE_POSITION_IN_SET);
    assert_true(fabs(where(&g, 1).y) > 3.2 && where(&g, 1).x < 0);
    end(&g);
}

/* HL: who stood badly is moved out and may come in when play starts. */
static void test_moved_out_in_hl(void **state)
{
    (void)state;
    struct game g;
    begin(&g, NM_GAME_HL);
    run(&g, 3.5);
    place(&g, 5, -1, 1);
    while (match(&g)->state != NM_GAME_SET) step(&g);
    assert_true(player(&g, 5)->penalised);
    assert_true(fabs(where(&g, 5).y) > 3.2 && where(&g, 5).x > 0);
    while (match(&g)->state != NM_GAME_PLAYING) step(&g);
    step(&g);
    assert_false(player(&g, 5)->penalised);
    end(&g);
}

static void test_halves(void **state)
{
    (void)state;
    struct game g;
    struct nm_judge_options o = NM_JUDGE_OPTIONS;
    o.match.league = NM_GAME_HSL;
    o.match.half = 5;
    begin_with(&g, o);
    for (int i = 0; i < 20000 && match(&g)->first_half; i++) step(&g);
    step(&g);
    assert_int_equal(nm_match_side(match(&g), 0), 1);
    for (uint32_t i = 0; i < ROBOTS; i++) assert_true(where(&g, i).x * (i < PLAYERS ? 1 : -1) > 0); /* changed sides */
    for (int i = 0; i < 20000 && !match(&g)->over; i++) step(&g);
    assert_true(match(&g)->over);
    end(&g);
}

/* A draw in a play-off without extra time: shooter and keeper alone on the field, shot after shot. */
static void test_shootout(void **state)
{
    (void)state;
    struct game g;
    struct nm_judge_options o = NM_JUDGE_OPTIONS;
    uint32_t shots = 0;
    o.match.league = NM_GAME_SPL;
    o.match.half = 5;
    o.match.knock_out = true;
    begin_with(&g, o);
    while (!match(&g)->over) {
        enum nm_game_state was = match(&g)->state;
        step(&g);
        if (match(&g)->phase != NM_GAME_SHOOTOUT || match(&g)->state != NM_GAME_PLAYING || was == NM_GAME_PLAYING)
            continue;
        uint32_t inside = 0;
        for (uint32_t i = 0; i < ROBOTS; i++) inside += fabs(where(&g, i).y) < 3;
        assert_int_equal(inside, 2);
        /* the first team hits, the other one does not */
        if (match(&g)->kicking == 0) ball(&g, 4, 0.9, 2, 0);
        shots++;
    }
    assert_int_equal(nm_match_winner(match(&g)), 0);
    assert_int_equal(match(&g)->teams[0].score, 2);
    assert_int_equal(shots, 4); /* 2:0 with one each to come is decided */
    end(&g);
}

/* ---- goals ---- */

static void test_goal_in_open_play(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct game g;
        begin(&g, (enum nm_game_league)league);
        to_open_play(&g);
        touch(&g, 1, 1, 1);
        touch(&g, 2, 2, 1);
        ball(&g, 4, 0.5, 1.5, 0);
        nm_stage_step(g.stage);
        run(&g, 1.5);
        /* who touched it last does not matter for the score: the ball was put by hand, so nobody did */
        assert_int_equal(match(&g)->teams[0].score, 1);
        assert_int_equal(match(&g)->state, NM_GAME_READY);
        assert_int_equal(match(&g)->kicking, 1);
        struct vec3 at = nm_stage_ball(g.stage, NULL);
        assert_true(hypot(at.x, at.y) < 0.01); /* on the centre mark */
        end(&g);
    }
}

/* Straight from the kick-off a goal does not count; in the SPL two mates must have touched the ball. */
static void test_direct_from_kick_off(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++)
        for (int mates = 1; mates <= 2; mates++) {
            struct game g;
            begin(&g, (enum nm_game_league)league);
            while (match(&g)->state != NM_GAME_PLAYING) step(&g);
            touch(&g, 1, 0.1, 0);
            if (mates == 2) touch(&g, 2, 1, 0);
            for (uint32_t i = 0; i < ROBOTS; i++) place(&g, i, -1 - 0.4 * i, 2.5);
            ball(&g, 4, 0.5, 1.5, 0);
            run(&g, 1.5);
            assert_int_equal(match(&g)->teams[0].score, mates == 2);
            if (mates == 2) {
                end(&g);
                continue;
            }
            assert_int_equal(g.n[NM_NOTE_NO_GOAL], 1);
            assert_int_equal(match(&g)->set_play, NM_GAME_GOAL_KICK);
            assert_int_equal(match(&g)->kicking, 1);
            end(&g);
        }
}

/* Indirect: from a throw-in only after somebody else touched the ball; the corner is direct, but not in the SPL. */
static void test_direct_from_set_plays(void **state)
{
    static const struct {
        enum nm_game_league league;
        double x, y;
        uint32_t guilty;
        enum nm_game_set_play set_play;
        bool counts;
    } rows[] = {
        {NM_GAME_HL, 1, 3.2, 5, NM_GAME_THROW_IN, false},     {NM_GAME_SPL, 1, 3.2, 5, NM_GAME_THROW_IN, false},
        {NM_GAME_HSL, 1, 3.2, 5, NM_GAME_THROW_IN, false},    {NM_GAME_HL, 4.8, 2, 5, NM_GAME_CORNER_KICK, true},
        {NM_GAME_SPL, 4.8, 2, 5, NM_GAME_CORNER_KICK, false}, {NM_GAME_HSL, 4.8, 2, 5, NM_GAME_CORNER_KICK, true},
        {NM_GAME_HL, -4.8, 2, 5, NM_GAME_GOAL_KICK, true},    {NM_GAME_HSL, -4.8, 2, 5, NM_GAME_GOAL_KICK, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct game g;
        begin(&g, rows[i].league);
        to_open_play(&g);
        touch(&g, rows[i].guilty, 1, 1);
        place(&g, rows[i].guilty, 2, -2);
        ball(&g, rows[i].x, rows[i].y, 0, 0);
        step(&g);
        assert_int_equal(match(&g)->set_play, rows[i].set_play);
        assert_int_equal(match(&g)->kicking, 0);
        assert_int_equal(g.n[NM_NOTE_OUT], 1);
        run_lively(&g, 23); /* HL: placed, prepared, called */
        struct vec3 at = nm_stage_ball(g.stage, NULL);
        touch(&g, 1, at.x - copysign(0.2, at.x), at.y - copysign(0.2, at.y));
        place(&g, 1, 0, -2.5);
        ball(&g, 4, 0.5, 1.5, 0);
        run(&g, 1.5);
        if (match(&g)->teams[0].score != rows[i].counts) fail_msg("row %zu", i);
        end(&g);
    }
}

/* The foot of a kick is off the ball before the ball has left its place: that touch counts, too. */
static void test_short_touch_of_a_restart(void **state)
{
    (void)state;
    for (int mates = 1; mates <= 2; mates++) {
        struct game g;
        begin(&g, NM_GAME_HSL);
        to_open_play(&g);
        touch(&g, 5, 1, 1);
        place(&g, 5, 2, -2);
        ball(&g, 1, 3.2, 0, 0);
        step(&g);
        assert_int_equal(match(&g)->set_play, NM_GAME_THROW_IN);
        run_lively(&g, 5.2);
        struct vec3 at = nm_stage_ball(g.stage, NULL);
        place(&g, 1, at.x - 0.185, at.y); /* at the ball, which does not move more than a little */
        step(&g);
        assert_int_equal(nm_judge_last_touch(g.judge), 1);
        place(&g, 1, 0, -2.5);
        ball(&g, 1.5, 2, 0, 0);
        step(&g);
        if (mates == 2) touch(&g, 2, 2, 1);
        for (uint32_t i = 0; i < ROBOTS; i++) place(&g, i, -1 - 0.4 * i, 2.5);
        ball(&g, 4, 0.5, 1.5, 0);
        run(&g, 1.5);
        assert_int_equal(match(&g)->teams[0].score, mates == 2);
        assert_int_equal(g.n[NM_NOTE_NO_GOAL], mates == 1);
        end(&g);
    }
}

static void test_own_goal(void **state)
{
    (void)state;
    struct game g;
    begin(&g, NM_GAME_HSL);
    to_open_play(&g);
    touch(&g, 5, 1, 1);
    nm_stage_place(g.stage, 5, (struct pose2){3.8, 0.5, 0}, NM_UPRIGHT);
    ball(&g, 3.8 + 0.185, 0.5, 1.5, 0); /* off its own player */
    run(&g, 1.5);
    assert_int_equal(match(&g)->teams[0].score, 1);
    assert_int_equal(g.last[NM_NOTE_GOAL].robot, 5);
    assert_int_equal(g.last[NM_NOTE_GOAL].team, 0);
    assert_non_null(
        strstr(g.last[NM_NOTE_GOAL].text, "goal, touched last by blue2")); /* the scorebook knows who shot */
    end(&g);
}

/* ---- out ---- */

static void test_set_play_is_taken(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct game g;
        begin(&g, (enum nm_game_league)league);
        to_open_play(&g);
        touch(&g, 5, 1, 1);
        place(&g, 5, 1, 2.6); /* stays too near */
        place(&g, 6, 3, -2);
        ball(&g, 1, 3.2, 0, 0);
        step(&g);
        assert_int_equal(match(&g)->set_play, NM_GAME_THROW_IN);
        assert_int_equal(match(&g)->stopped, league == NM_GAME_HSL);
        run_lively(&g, league == NM_GAME_SPL ? 4 : 5.2); /* SPL: the ball is placed at once */
        struct vec3 at = nm_stage_ball(g.stage, NULL);
        assert_true(fabs(at.x - 1) < 0.01 && fabs(at.y - 2.975) < 0.01);
        /* HL: nothing is nearer than half a metre when the ball is placed */
        assert_int_equal(hypot(where(&g, 5).x - at.x, where(&g, 5).y - at.y) > 0.5, league == NM_GAME_HL);
        assert_int_equal(g.n[NM_NOTE_PENALTY], 0);
        run_lively(&g, 17);
        assert_int_equal(g.n[NM_NOTE_PENALTY], 1);
        assert_int_equal(g.last[NM_NOTE_PENALTY].robot, 5);
        assert_int_equal(g.last[NM_NOTE_PENALTY].offence, NM_OFFENCE_ENCROACHING);
        assert_true(fabs(where(&g, 5).y) > 3.2);
        assert_int_equal(match(&g)->kicking, 0);
        /* an opponent may not be first, the kicking side may */
        place(&g, 6, 1 - 0.185, 2.8);
        ball(&g, 1, 2.8, 0, 0);
        run(&g, 0.05);
        assert_true(player(&g, 6)->penalised);
        at = nm_stage_ball(g.stage, NULL);
        assert_true(fabs(at.y - 2.975) < 0.01);
        touch(&g, 1, 1, 2.8);
        step(&g);
        assert_int_equal(match(&g)->kicking, -1);
        assert_true(nm_judge_in_play(g.judge));
        end(&g);
    }
}

/* ---- robots ---- */

static void test_leaving(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct game g;
        begin(&g, (enum nm_game_league)league);
        to_open_play(&g);
        place(&g, 2, 0, 4.2);
        run_lively(&g, 1);
        assert_int_equal(player(&g, 2)->penalised, league != NM_GAME_HL);
        run_lively(&g, 20.5);
        assert_int_equal(g.n[NM_NOTE_PENALTY], 1);
        assert_int_equal(g.last[NM_NOTE_PENALTY].offence, NM_OFFENCE_LEAVING);
        end(&g);
    }
}

static void test_inactive(void **state)
{
    (void)state;
    struct game g;
    begin(&g, NM_GAME_HSL);
    to_open_play(&g);
    for (uint32_t i = 0; i < ROBOTS; i++) { /* who looks at the ball is not idle: all look away */
        struct pose2 p = where(&g, i);
        nm_stage_place(g.stage, i, (struct pose2){p.x, p.y, atan2(p.y, p.x)}, NM_UPRIGHT);
    }
    run(&g, 8);
    assert_int_equal(g.n[NM_NOTE_PENALTY], 0);
    run(&g, 4);
    assert_int_equal(g.n[NM_NOTE_PENALTY], ROBOTS); /* nobody plays them: all stand about */
    assert_int_equal(g.last[NM_NOTE_PENALTY].offence, NM_OFFENCE_INACTIVE);
    for (uint32_t i = 0; i < ROBOTS; i++)
        for (uint32_t k = 0; k < i; k++) /* each has a place of its own */
            assert_true(hypot(where(&g, i).x - where(&g, k).x, where(&g, i).y - where(&g, k).y) > 0.5);
    run(&g, 44);
    assert_int_equal(g.n[NM_NOTE_RETURN], 0);
    run(&g, 8); /* a dropped ball came between: clocks stand in SET */
    assert_int_equal(g.n[NM_NOTE_RETURN], ROBOTS);
    end(&g);
}

/* Who falls where it waits is set up by its handlers, sooner than it gets up itself. */
static void test_fallen_while_penalised(void **state)
{
    (void)state;
    struct game g;
    begin(&g, NM_GAME_HSL);
    to_open_play(&g);
    for (uint32_t i = 0; i < PLAYERS; i++) place(&g, i, -3, -1.5 + i); /* not where it will stand */
    place(&g, 2, 0, 4.2);
    run_lively(&g, 1);
    assert_true(player(&g, 2)->penalised);
    struct pose2 seat = where(&g, 2);
    struct nm_whereabouts w;
    nm_stage_push(g.stage, 2, (struct vec3){0, 2 * nm_stage_body(g.stage, 2)->mass, 0}, (struct vec3){0, 0, 0}, 0);
    run(&g, 1);
    nm_stage_whereabouts(g.stage, 2, &w);
    assert_true(w.fallen);
    run(&g, 1.5);
    nm_stage_whereabouts(g.stage, 2, &w);
    assert_false(w.fallen);
    assert_true(hypot(where(&g, 2).x - seat.x, where(&g, 2).y - seat.y) < 0.01);
    end(&g);
}

static void test_own_goal_area(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct game g;
        begin(&g, (enum nm_game_league)league);
        to_open_play(&g);
        for (uint32_t i = 0; i < 3; i++) place(&g, i, -4.2, -0.8 + 0.5 * i);
        step(&g);
        assert_int_equal(g.n[NM_NOTE_PENALTY], 0);
        place(&g, 3, -3.7, 1.3);
        step(&g);
        assert_int_equal(player(&g, 3)->penalised, league != NM_GAME_HL);
        end(&g);
    }
}

static void test_stuck_play(void **state)
{
    (void)state;
    struct game g;
    begin(&g, NM_GAME_HSL);
    to_open_play(&g);
    place(&g, 2, 1.6, 0);
    place(&g, 6, 2.3, 0);
    ball(&g, 2, 0, 0, 0);
    run_lively(&g, 9.5);
    assert_int_equal(g.n[NM_NOTE_PENALTY], 0);
    run_lively(&g, 1.5);
    assert_int_equal(g.n[NM_NOTE_PENALTY], 1);
    assert_int_equal(g.last[NM_NOTE_PENALTY].robot, 6); /* the nearest */
    assert_int_equal(g.last[NM_NOTE_PENALTY].offence, NM_OFFENCE_STUCK);
    end(&g);
    /* nobody comes */
    begin(&g, NM_GAME_HSL);
    to_open_play(&g);
    for (uint32_t i = 0; i < ROBOTS; i++) place(&g, i, -4.0 + i, -2.5);
    ball(&g, 0, 2, 0, 0);
    run_lively(&g, 31);
    assert_int_equal(match(&g)->state, NM_GAME_READY);
    assert_int_equal(match(&g)->kicking, -1);
    end(&g);
}

/* A robot walks into an opponent for a while. */
static void test_pushing(void **state)
{
    static const double limit[] = {4, INFINITY, 5};
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++)
        for (int at_ball = 0; at_ball < 2; at_ball++) {
            struct game g;
            begin(&g, (enum nm_game_league)league);
            to_open_play(&g);
            place(&g, 2, 0, 0.4);
            place(&g, 6, 0.33, 0.4);
            ball(&g, at_ball ? 0.3 : 3, 0.9, 0, 0);
            double pushed = 0;
            while (pushed < 8 && !g.n[NM_NOTE_PENALTY]) {
                struct nm_whereabouts w;
                nm_stage_whereabouts(g.stage, 2, &w);
                double more = 0.2 - w.velocity.x;
                nm_stage_push(g.stage, 2, (struct vec3){more * nm_stage_body(g.stage, 2)->mass, 0, 0},
                              (struct vec3){0, 0, 0}, 0);
                step(&g);
                pushed += 0.01;
            }
            if (isinf(limit[league])) {
                assert_int_equal(g.n[NM_NOTE_PENALTY], 0);
                end(&g);
                continue;
            }
            assert_int_equal(g.n[NM_NOTE_PENALTY], 1);
            assert_int_equal(g.last[NM_NOTE_PENALTY].robot, 2);
            assert_int_equal(g.last[NM_NOTE_PENALTY].offence, NM_OFFENCE_PUSHING);
            if (fabs(pushed - limit[league]) > 0.5) fail_msg("%s: after %.2f s", nm_rules[league].name, pushed);
            assert_int_equal(match(&g)->set_play, at_ball ? NM_GAME_DIRECT_FREE_KICK : NM_GAME_NO_SET_PLAY);
            if (at_ball) assert_int_equal(match(&g)->kicking, 1);
            /* HL: a free kick instead of a removal */
            assert_int_equal(player(&g, 2)->penalised, !(league == NM_GAME_HL && at_ball));
            end(&g);
        }
}

static void test_same_seed_same_match(void **state)
{
    (void)state;
    uint32_t whistles[2];
    for (int i = 0; i < 2; i++) {
        struct game g;
        begin(&g, NM_GAME_HSL);
        run(&g, 60);
        whistles[i] = g.whistles;
        end(&g);
    }
    assert_int_equal(whistles[0], whistles[1]);
}

/* ---- orders of somebody who watches ---- */

static void test_orders(void **state)
{
    static const struct {
        enum nm_game_set_play set_play;
        double x, y; /* of the ball, when red gets it and the ball lay at (1, 2) */
    } kicks[] = {{NM_GAME_CORNER_KICK, 4.5, 3},
                 {NM_GAME_GOAL_KICK, -3.5, 1.5},
                 {NM_GAME_THROW_IN, 1, 3},
                 {NM_GAME_DIRECT_FREE_KICK, 1, 2}};
    struct nm_err err = {0};
    struct game g;
    (void)state;
    begin(&g, NM_GAME_HSL);
    struct nm_match_event play = {.kind = NM_MATCH_PLAY};
    step(&g);
    assert_int_equal(nm_judge_order(g.judge, &play, &err), -1); /* with a reason */
    assert_non_null(strstr(err.text, "play: not in INITIAL; now possible: ready"));
    to_open_play(&g);
    struct nm_pitch_size size = nm_pitch_size(&g.pitch);
    for (size_t i = 0; i < sizeof kicks / sizeof *kicks; i++) {
        ball(&g, 1, 2, 0, 0);
        step(&g);
        struct nm_match_event kick = {.kind = NM_MATCH_KICK, .team = 0, .set_play = kicks[i].set_play};
        assert_int_equal(nm_judge_order(g.judge, &kick, &err), 0);
        run(&g, 6);
        struct vec3 at = nm_stage_ball(g.stage, NULL);
        double y = kicks[i].set_play == NM_GAME_GOAL_KICK ? size.goal_area_width / 2 : kicks[i].y;
        double x = kicks[i].set_play == NM_GAME_GOAL_KICK ? size.goal_area_length - size.length / 2 : kicks[i].x;
        assert_true(hypot(at.x - x, at.y - y) < 0.05);
        assert_int_equal(match(&g)->kicking, 0);
    }
    struct nm_match_event penalty = {.kind = NM_MATCH_PENALTY, .team = 1, .player = 2, .offence = NM_OFFENCE_PICK_UP};
    assert_int_equal(nm_judge_order(g.judge, &penalty, &err), 0);
    step(&g);
    assert_true(fabs(where(&g, PLAYERS + 1).y) > 3); /* beside the field, and its time runs */
    assert_false(player(&g, PLAYERS + 1)->waits);
    struct nm_match_event release = {.kind = NM_MATCH_RELEASE, .team = 1, .player = 2};
    assert_int_equal(nm_judge_order(g.judge, &release, &err), 0);
    step(&g);
    assert_int_equal(g.n[NM_NOTE_RETURN], 1);
    struct nm_match_event goal = {.kind = NM_MATCH_GOAL, .team = 1};
    assert_int_equal(nm_judge_order(g.judge, &goal, &err), 0);
    step(&g);
    assert_int_equal(match(&g)->teams[1].score, 1);
    assert_int_equal(match(&g)->state, NM_GAME_READY);
    assert_int_equal(g.n[NM_NOTE_GOAL], 1);
    end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kick_off),
        cmocka_unit_test(test_ready_waits_for_those_who_walk),
        cmocka_unit_test(test_moved_out_in_hl),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_shootout),
        cmocka_unit_test(test_goal_in_open_play),
        cmocka_unit_test(test_direct_from_kick_off),
        cmocka_unit_test(test_direct_from_set_plays),
        cmocka_unit_test(test_short_touch_of_a_restart),
        cmocka_unit_test(test_own_goal),
        cmocka_unit_test(test_set_play_is_taken),
        cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_inactive),
        cmocka_unit_test(test_fallen_while_penalised),
        cmocka_unit_test(test_own_goal_area),
        cmocka_unit_test(test_stuck_play),
        cmocka_unit_test(test_pushing),
        cmocka_unit_test(test_same_seed_same_match),
        cmocka_unit_test(test_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
