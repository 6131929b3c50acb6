/* The judge on the flat field: robots that nobody plays stand where they are put, and what is done to them and to the
 * ball must be seen and punished as the leagues want it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/nm.h"
#include "core/registry.h"
#include "sim/judge.h"
#include "sim/scorebook.h"

enum { PLAYERS = 4, ROBOTS = 2 * PLAYERS };

struct game {
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_stage *stage;
    struct nm_judge *judge;
    struct nm_note last[8]; /* of each kind */
    uint32_t n[8];          /* notes of each kind */
    uint32_t whistles;      /* that were heard by robots */
    double lively;          /* s, when all were moved a little last */
};

static void note(void *user, const struct nm_note *note)
{
    struct game *g = user;
    g->last[note->kind] = *note;
    g->n[note->kind]++;
}

static void heard(void *user, uint32_t robot, double confidence)
{
    struct game *g = user;
    assert_true(robot < ROBOTS && confidence > 0.4);
    g->whistles++;
}

static void begin_with(struct game *g, struct nm_judge_options options)
{
    static char names[ROBOTS][8];
    struct nm_err err = {0};
    struct nm_stage_robot rows[ROBOTS] = {0};
    memset(g, 0, sizeof *g);
    assert_int_equal(nm_pitch_read(&g->pitch, NM_ROOT "/fields/kid.yaml", &err), 0);
    struct nm_stage_options o = NM_STAGE_OPTIONS;
    o.root = NM_ROOT;
    o.registry = &g->registry;
    o.pitch = &g->pitch;
    o.fidelity = NM_FIDELITY_FLAT;
    o.world.seed = 3;
    for (uint32_t i = 0; i < ROBOTS; i++) {
        snprintf(names[i], sizeof names[i], "%s%u", i < PLAYERS ? "red" : "blue", i % PLAYERS + 1);
        rows[i] = (struct nm_stage_robot){.name = names[i],
                                          .folder = NM_ROOT "/robots/kid70",
                                          .team = i >= PLAYERS,
                                          .shirt = {.number = i % PLAYERS + 1},
                                          .start = {i, 0, 0}};
    }
    g->stage = nm_stage_new(rows, ROBOTS, &o, &err);
    if (!g->stage) fail_msg("%s", err.text);
    options.match.team_numbers[0] = 1;
    options.match.team_numbers[1] = 2;
    options.match.players = PLAYERS;
    options.note = note;
    options.whistle = heard;
    options.user = g;
    g->judge = nm_judge_new(g->stage, &options, &err);
    if (!g->judge) fail_msg("%s", err.text);
}

static void begin(struct game *g, enum nm_game_league league)
{
    struct nm_judge_options o = NM_JUDGE_OPTIONS;
    o.match.league = league;
    o.match.half = 600;
    begin_with(g, o);
}

static void end(struct game *g)
{
    nm_judge_free(g->judge);
    nm_stage_free(g->stage);
}

static const struct nm_match *match(const struct game *g) { return nm_judge_match(g->judge); }

static void step(struct game *g)
{
    assert_int_equal(nm_stage_step(g->stage), 0);
    nm_judge_step(g->judge);
}

static void run(struct game *g, double seconds)
{
    int64_t until = nm_stage_now(g->stage) + nm_ns(seconds);
    while (nm_stage_now(g->stage) < until) step(g);
}

static struct pose2 where(const struct game *g, uint32_t robot)
{
    struct nm_whereabouts w;
    nm_stage_whereabouts(g->stage, robot, &w);
    return (struct pose2){w.base_to_field.pos.x, w.base_to_field.pos.y, quat_yaw(w.base_to_field.rot)};
}

static void place(struct game *g, uint32_t robot, double x, double y)
{
    nm_stage_place(g->stage, robot, (struct pose2){x, y, 0}, NM_UPRIGHT);
}

static void ball(struct game *g, double x, double y, double vx, double vy)
{
    nm_stage_put_ball(g->stage, (struct vec3){x, y, 0.07}, (struct vec3){vx, vy, 0});
}

/* Runs on with robots that are busy: each turns a little now and then. */
static void run_lively(struct game *g, double seconds)
{
    for (double t = 0; t < seconds; t += 1) {
        for (uint32_t i = 0; i < ROBOTS; i++) {
            struct pose2 p = where(g, i);
            p.theta += (int)t % 2 ? 0.3 : -0.3;
            nm_stage_place(g->stage, i, p, NM_UPRIGHT);
        }
        run(g, fmin(1, seconds - t));
    }
}

/* The ball lies at the robot's foot for a moment. */
static void touch(struct game *g, uint32_t robot, double x, double y)
{
    place(g, robot, x - 0.185, y);
    ball(g, x, y, 0, 0);
    step(g);
    step(g);
    assert_int_equal(nm_judge_last_touch(g->judge), robot);
}

/* From the start to a ball that is in play. */
static void to_open_play(struct game *g)
{
    for (int i = 0; i < 10000 && match(g)->state != NM_GAME_PLAYING; i++) step(g);
    assert_int_equal(match(g)->state, NM_GAME_PLAYING);
    run_lively(g, 10.5);
    assert_int_equal(match(g)->kicking, -1);
}

static const struct nm_match_player *player(const struct game *g, uint32_t robot)
{
    return &match(g)->teams[robot / PLAYERS].players[robot % PLAYERS];
}

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

/* ---- the book ---- */

/* So many red robots stand at the ball, and one walks to it from 1.5 m away, or past it at a distance of 1.2 m; all
 * others stand far from it. */
enum walk { STANDS, WALKS_TO, WALKS_PAST };
static struct nm_book_team play_of(enum walk walk, uint32_t at_ball)
{
    struct game g;
    struct nm_scorebook book;
    begin(&g, NM_GAME_HSL);
    to_open_play(&g);
    nm_scorebook_new(&book, g.stage, g.judge);
    for (uint32_t i = 0; i < ROBOTS; i++) place(&g, i, -1 - 0.4 * i, 2.5);
    for (int n = 0; n < 400; n++) {
        double t = 0.01 * n;
        if (walk) place(&g, 3, 0.5 + 0.3 * t, walk == WALKS_PAST ? 1.2 : 0);
        for (uint32_t i = 0; i < at_ball; i++) place(&g, 1 + i, 2, i ? 0.4 : -0.4);
        ball(&g, 2, 0, 0, 0);
        int64_t until = nm_stage_now(g.stage) + nm_ns(0.01);
        while (nm_stage_now(g.stage) < until) {
            step(&g);
            nm_scorebook_step(&book);
        }
    }
    end(&g);
    return book.teams[0];
}

static void test_who_goes_to_the_ball(void **state)
{
    (void)state;
    struct nm_book_team idle = play_of(STANDS, 0), walk = play_of(WALKS_TO, 0), past = play_of(WALKS_PAST, 0),
                        one = play_of(STANDS, 1), two = play_of(STANDS, 2), second = play_of(WALKS_TO, 1);
    assert_true(idle.play > 3.9 && idle.nobody > 0.95 * idle.play && idle.crowd == 0);
    assert_true(walk.nobody < 0.3 * walk.play && walk.crowd == 0);
    assert_true(one.nobody < 0.1 * one.play && one.crowd == 0);
    assert_true(past.nobody > 0.5 * past.play && past.crowd == 0); /* only at the beginning it seemed to come */
    assert_true(two.crowd > 0.95 * two.play);
    assert_true(second.crowd > 0.3 * second.play && second.crowd < 0.8 * second.play); /* from 1 m on */
}

static void fell(struct game *g, uint32_t robot)
{
    nm_stage_push(g->stage, robot, (struct vec3){0, 100, 0}, (struct vec3){0, 0, 0}, 0);
}

/* A fall alone, a fall after a touch, and the dive of a keeper, who lands when the ball is back at the middle. */
static void test_falls_in_the_book(void **state)
{
    (void)state;
    struct game g;
    struct nm_scorebook book;
    begin(&g, NM_GAME_HSL);
    to_open_play(&g);
    nm_scorebook_new(&book, g.stage, g.judge);
    ball(&g, 0, 0, 0, 0);
    place(&g, 0, -4.4, 0);
    for (uint32_t i = 1; i < ROBOTS; i++) place(&g, i, -1.5 + 0.5 * i, 2.5);
    for (int n = 0; n < 300; n++) {
        if (n == 20) fell(&g, 1);
        if (n == 40) place(&g, 3, 2, -2), place(&g, 5, 2.2, -2);
        if (n == 60) fell(&g, 3);
        if (n == 80) ball(&g, -3, 0.5, -1, 0);
        if (n == 100) ball(&g, 0, 0, 0, 0), fell(&g, 0);
        step(&g);
        nm_scorebook_step(&book);
    }
    struct nm_book_row sum = nm_scorebook_team(&book, 0);
    assert_int_equal(book.robots[0].dives, 1);
    assert_int_equal(book.robots[1].alone, 1);
    assert_int_equal(book.robots[3].alone, 0);
    assert_int_equal(book.n_falls, 2);
    assert_int_equal(book.falls[0].bump.other, -1);
    assert_int_equal(book.falls[1].robot, 3);
    assert_int_equal(book.falls[1].bump.other, 5);
    assert_int_equal(book.robots[5].contacts, 1);
    assert_int_equal(sum.falls, 2);
    assert_int_equal(sum.dives, 1);
    end(&g);
}

/* A shot on goal that a defender grazes or parries into the goal is a goal of who shot; a ball that comes off him alone
 * is his own goal, and so is one that he kicks in after it lay still. */
static void test_goals_in_the_book(void **state)
{
    (void)state;
    enum { ALONE, GRAZED, PARRIED, SAVED_FIRST, CASES };
    for (int how = 0; how < CASES; how++) {
        struct game g;
        struct nm_scorebook book;
        bool shot = how != ALONE, parried = false;
        begin(&g, NM_GAME_HSL);
        to_open_play(&g);
        nm_scorebook_new(&book, g.stage, g.judge);
        for (uint32_t i = 0; i < ROBOTS; i++) place(&g, i, -1 - 0.4 * i, 2.5);
        touch(&g, 5, 1, 1);
        for (int n = 0; n < 4; n++) step(&g), nm_scorebook_step(&book);
        place(&g, 5, 3.8, shot ? 0.67 : 0.5); /* of a shot only its side is in the way */
        if (shot) place(&g, 2, 2.9, 0.5);
        ball(&g, shot ? 3.045 : 3.985, 0.5, shot ? 2.5 : 1.5, 0);
        for (int n = 0; n < 2000 && !g.n[NM_NOTE_GOAL]; n++) {
            step(&g);
            if (g.n[NM_NOTE_GOAL]) nm_scorebook_note(&book, &g.last[NM_NOTE_GOAL]);
            if (how >= PARRIED && !parried && nm_judge_last_touch(g.judge) == 5) {
                struct vec3 velocity, at = nm_stage_ball(g.stage, &velocity);
                parried = true;
                if (how == SAVED_FIRST) {
                    ball(&g, at.x, at.y, 0, 0);
                    for (int k = 0; k < 60; k++) step(&g), nm_scorebook_step(&book);
                }
                ball(&g, at.x, at.y, 3, 0);
            }
            nm_scorebook_step(&book);
        }
        assert_int_equal(g.n[NM_NOTE_GOAL], 1);
        assert_int_equal(g.last[NM_NOTE_GOAL].robot, 5); /* touched it last */
        assert_int_equal(book.robots[2].on_goal, shot);
        assert_int_equal(book.robots[5].on_goal, 0);
        assert_int_equal(book.robots[2].goals, how == GRAZED || how == PARRIED);
        assert_int_equal(book.robots[5].own_goals, how == ALONE || how == SAVED_FIRST);
        end(&g);
    }
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
        cmocka_unit_test(test_who_goes_to_the_ball),
        cmocka_unit_test(test_falls_in_the_book),
        cmocka_unit_test(test_goals_in_the_book),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
