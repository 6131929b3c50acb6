/* The course of a match: what may happen when, what clocks do, and what the packets show. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "core/nm.h"
#include "referee/match.h"

static struct nm_match match_of(enum nm_game_league league, bool knock_out)
{
    struct nm_match m;
    struct nm_match_options o = {.league = league, .team_numbers = {7, 9}, .knock_out = knock_out, .half = 120};
    struct nm_err err = {0};
    assert_int_equal(nm_match_begin(&m, &o, &err), 0);
    return m;
}

static int happen(struct nm_match *m, struct nm_match_event e)
{
    struct nm_err err = {0};
    struct nm_match before = *m;
    int rc = nm_match_happen(m, &e, &err);
    assert_int_equal(rc != 0, err.n != 0); /* who refuses says why */
    if (rc) assert_memory_equal(&before, m, sizeof before);
    return rc;
}
#define DO(m, ...)      assert_int_equal(happen((m), (struct nm_match_event){.kind = __VA_ARGS__}), 0)
#define REFUSED(m, ...) assert_int_equal(happen((m), (struct nm_match_event){.kind = __VA_ARGS__}), -1)

static void wait(struct nm_match *m, double seconds) { nm_match_advance(m, m->now + nm_ns(seconds)); }

static void kick_off(struct nm_match *m)
{
    if (m->state == NM_GAME_INITIAL) DO(m, NM_MATCH_READY);
    DO(m, NM_MATCH_SET);
    DO(m, NM_MATCH_PLAY);
}

static struct nm_game_packet packet(const struct nm_match *m, bool truth)
{
    struct nm_game_packet p;
    nm_match_packet(m, truth, 1, &p);
    return p;
}

/* ---- two halves ---- */

static void test_two_halves(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct nm_match m = match_of(league, false);
        assert_int_equal(m.state, NM_GAME_INITIAL);
        REFUSED(&m, NM_MATCH_PLAY);
        REFUSED(&m, NM_MATCH_GOAL);
        DO(&m, NM_MATCH_READY);
        wait(&m, 44);
        assert_int_equal(m.state, NM_GAME_READY);
        assert_int_equal(m.half_left, nm_ns(120)); /* before the first whistle no clock runs */
        wait(&m, 2);
        assert_int_equal(m.state, NM_GAME_SET);
        DO(&m, NM_MATCH_PLAY);
        assert_int_equal(m.kicking, 0);
        wait(&m, 9.9);
        assert_int_equal(m.kicking, 0);
        wait(&m, 0.2);
        assert_int_equal(m.kicking, -1);
        DO(&m, NM_MATCH_GOAL, .team = 1);
        assert_int_equal(m.state, NM_GAME_READY);
        assert_int_equal(m.kicking, 0); /* who conceded */
        assert_int_equal(m.teams[1].score, 1);
        wait(&m, 10);
        assert_true(fabs(nm_seconds(m.half_left) - 99.9) < 1e-6);
        DO(&m, NM_MATCH_FINISH);
        assert_false(m.over);
        REFUSED(&m, NM_MATCH_EXTRA_TIME);
        DO(&m, NM_MATCH_SECOND_HALF);
        assert_int_equal(m.left, 1);
        assert_int_equal(m.kicking, 1);
        assert_false(m.first_half);
        assert_int_equal(m.half_left, nm_ns(120));
        kick_off(&m);
        DO(&m, NM_MATCH_FINISH);
        assert_true(m.over);
        assert_int_equal(nm_match_winner(&m), 1);
        REFUSED(&m, NM_MATCH_SECOND_HALF);
    }
}

/* In play-offs of the SPL the clock waits for the whistle after a goal as well. */
static void test_clock_of_finals(void **state)
{
    (void)state;
    struct nm_match m = match_of(NM_GAME_SPL, true);
    kick_off(&m);
    DO(&m, NM_MATCH_GOAL, .team = 0);
    wait(&m, 10);
    assert_int_equal(m.half_left, nm_ns(120));
}

static void test_mercy(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct nm_match m = match_of(league, false);
        for (int i = 0; i < 10; i++) {
            kick_off(&m);
            DO(&m, NM_MATCH_GOAL, .team = 0);
        }
        assert_int_equal(m.over, league != NM_GAME_HL);
    }
}

/* ---- set plays ---- */

static void test_set_play_hl(void **state)
{
    (void)state;
    struct nm_match m = match_of(NM_GAME_HL, false);
    kick_off(&m);
    wait(&m, 20);
    int64_t left = m.half_left;
    DO(&m, NM_MATCH_KICK, .team = 1, .set_play = NM_GAME_CORNER_KICK);
    wait(&m, 5);
    DO(&m, NM_MATCH_PLACED);
    assert_int_equal(packet(&m, false).taking, NM_GAME_PREPARING);
    wait(&m, 15);
    DO(&m, NM_MATCH_FREEZE);
    REFUSED(&m, NM_MATCH_FREEZE);
    DO(&m, NM_MATCH_RETAKE);
    DO(&m, NM_MATCH_PLACED);
    assert_int_equal(m.half_left, left); /* the clock stands */
    DO(&m, NM_MATCH_EXECUTE);
    assert_int_equal(m.set_play, NM_GAME_NO_SET_PLAY);
    assert_int_equal(m.kicking, 1);
    wait(&m, 10.1);
    assert_int_equal(m.kicking, -1);
    assert_true(m.half_left < left);
}

static void test_set_play_spl(void **state)
{
    (void)state;
    struct nm_match m = match_of(NM_GAME_SPL, false);
    kick_off(&m);
    wait(&m, 20);
    REFUSED(&m, NM_MATCH_KICK, .team = 0, .set_play = NM_GAME_INDIRECT_FREE_KICK);
    DO(&m, NM_MATCH_KICK, .team = 1, .set_play = NM_GAME_THROW_IN);
    REFUSED(&m, NM_MATCH_PLACED);
    wait(&m, 29.9);
    assert_int_equal(m.set_play, NM_GAME_THROW_IN);
    wait(&m, 0.2);
    assert_int_equal(m.set_play, NM_GAME_NO_SET_PLAY);
    assert_int_equal(m.kicking, -1);
}

static void test_set_play_hsl(void **state)
{
    (void)state;
    struct nm_match m = match_of(NM_GAME_HSL, false);
    kick_off(&m);
    wait(&m, 20);
    DO(&m, NM_MATCH_KICK, .team = 1, .set_play = NM_GAME_GOAL_KICK);
    assert_true(m.stopped);
    assert_int_equal(packet(&m, false).stopped, 1);
    int64_t left = m.half_left;
    wait(&m, 60);
    assert_true(m.half_left == left - nm_ns(60)); /* the clock runs, the count-down waits */
    DO(&m, NM_MATCH_CONTINUE);
    assert_false(m.stopped);
    assert_int_equal(packet(&m, false).secondary_seconds, 45);
    wait(&m, 10);
    DO(&m, NM_MATCH_FREE);
    assert_int_equal(m.set_play, NM_GAME_NO_SET_PLAY);
    REFUSED(&m, NM_MATCH_FREE);
}

static void test_penalty_kick(void **state)
{
    static const double ready[] = {0, 30, 45}, taking[] = {10, 30, 60};
    (void)state;
    for (int league = NM_GAME_SPL; league < NM_GAME_LEAGUES; league++) {
        struct nm_match m = match_of(league, false);
        kick_off(&m);
        wait(&m, 20);
        DO(&m, NM_MATCH_KICK, .team = 0, .set_play = NM_GAME_PENALTY_KICK);
        assert_int_equal(m.state, NM_GAME_READY);
        wait(&m, ready[league] + 0.1);
        assert_int_equal(m.state, NM_GAME_SET);
        DO(&m, NM_MATCH_PLAY);
        assert_int_equal(m.set_play, NM_GAME_PENALTY_KICK);
        wait(&m, taking[league] - 0.1);
        assert_int_equal(m.set_play, NM_GAME_PENALTY_KICK);
        wait(&m, 0.2);
        assert_int_equal(m.set_play, NM_GAME_NO_SET_PLAY);
    }
    struct nm_match m = match_of(NM_GAME_HL, false);
    kick_off(&m);
    DO(&m, NM_MATCH_KICK, .team = 0, .set_play = NM_GAME_PENALTY_KICK);
    assert_int_equal(m.state, NM_GAME_PLAYING);
}

static void test_dropped_ball(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct nm_match m = match_of(league, false);
        kick_off(&m);
        DO(&m, NM_MATCH_DROP);
        assert_int_equal(m.state, NM_GAME_READY);
        assert_int_equal(packet(&m, true).kicking_team, NM_GAME_NOBODY);
        kick_off(&m);
        assert_int_equal(m.kicking, -1);
    }
}

/* ---- penalties ---- */

static const struct nm_match_player *player(const struct nm_match *m, int team, int number)
{
    return &m->teams[team].players[number - 1];
}

static void test_penalty_clock(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        bool waits = league != NM_GAME_SPL, by_itself = league == NM_GAME_HL;
        double seconds = league == NM_GAME_HL ? 10 : 45;
        struct nm_match m = match_of(league, false);
        kick_off(&m);
        wait(&m, 20);
        DO(&m, NM_MATCH_PENALTY, .team = 0, .player = 2, .offence = NM_OFFENCE_PUSHING);
        REFUSED(&m, NM_MATCH_PENALTY, .team = 0, .player = 2, .offence = NM_OFFENCE_PUSHING);
        REFUSED(&m, NM_MATCH_PENALTY, .team = 0, .player = 9, .offence = NM_OFFENCE_PUSHING);
        REFUSED(&m, NM_MATCH_RELEASE, .team = 0, .player = 3);
        assert_int_equal(player(&m, 0, 2)->waits, waits);
        struct nm_game_packet p = packet(&m, false);
        assert_int_equal(p.teams[0].players[1].penalty, NM_GAME_PUSHING);
        assert_int_equal(p.teams[0].players[1].seconds, league == NM_GAME_HSL ? 0 : (int)seconds);
        if (waits) wait(&m, 30);
        assert_int_equal(player(&m, 0, 2)->left, nm_ns(seconds));
        if (waits) DO(&m, NM_MATCH_SEATED, .team = 0, .player = 2);
        REFUSED(&m, NM_MATCH_SEATED, .team = 0, .player = 2);
        wait(&m, seconds - 1);
        assert_true(player(&m, 0, 2)->penalised);
        assert_int_equal(packet(&m, false).teams[0].players[1].seconds, 1);
        wait(&m, 1.1);
        assert_int_equal(player(&m, 0, 2)->penalised, !by_itself);
        if (!by_itself) DO(&m, NM_MATCH_RELEASE, .team = 0, .player = 2);
        assert_false(player(&m, 0, 2)->penalised);
        /* the second counted one is longer where the league says so */
        DO(&m, NM_MATCH_PENALTY, .team = 0, .player = 3, .offence = NM_OFFENCE_PUSHING);
        assert_int_equal(player(&m, 0, 3)->left, nm_ns(league == NM_GAME_HL ? 10 : 55));
    }
}

/* Clocks stand in SET and while play is stopped; half-time and time-outs end penalties, but not for who is sent off. */
static void test_penalty_clock_stands(void **state)
{
    (void)state;
    struct nm_match m = match_of(NM_GAME_HSL, false);
    kick_off(&m);
    wait(&m, 20);
    DO(&m, NM_MATCH_PENALTY, .team = 0, .player = 2, .offence = NM_OFFENCE_FALLEN);
    DO(&m, NM_MATCH_SEATED, .team = 0, .player = 2);
    DO(&m, NM_MATCH_STOP);
    wait(&m, 5);
    assert_int_equal(player(&m, 0, 2)->left, nm_ns(45));
    DO(&m, NM_MATCH_CONTINUE);
    DO(&m, NM_MATCH_GOAL, .team = 0);
    wait(&m, 5); /* READY counts */
    assert_int_equal(player(&m, 0, 2)->left, nm_ns(40));
    DO(&m, NM_MATCH_SET);
    wait(&m, 5);
    assert_int_equal(player(&m, 0, 2)->left, nm_ns(40));
    DO(&m, NM_MATCH_PENALTY, .team = 1, .player = 1, .offence = NM_OFFENCE_YELLOW_CARD);
    assert_true(player(&m, 1, 1)->penalised);
    DO(&m, NM_MATCH_PENALTY, .team = 1, .player = 1, .offence = NM_OFFENCE_YELLOW_CARD);
    assert_int_equal(packet(&m, false).teams[1].players[0].penalty, NM_GAME_SENT_OFF);
    REFUSED(&m, NM_MATCH_RELEASE, .team = 1, .player = 1);
    DO(&m, NM_MATCH_PLAY);
    DO(&m, NM_MATCH_FINISH);
    assert_false(player(&m, 0, 2)->penalised);
    assert_true(player(&m, 1, 1)->penalised);
}

static void test_cards_hl(void **state)
{
    (void)state;
    struct nm_match m = match_of(NM_GAME_HL, false);
    kick_off(&m);
    for (int i = 0; i < 3; i++) {
        DO(&m, NM_MATCH_WARN, .team = 0, .player = 1);
        assert_false(player(&m, 0, 1)->penalised);
    }
    assert_int_equal(player(&m, 0, 1)->yellow_cards, 1);
    DO(&m, NM_MATCH_WARN, .team = 0, .player = 1);
    assert_true(player(&m, 0, 1)->penalised);
    assert_int_equal(player(&m, 0, 1)->red_cards, 1);
    struct nm_match hsl = match_of(NM_GAME_HSL, false);
    REFUSED(&hsl, NM_MATCH_WARN, .team = 0, .player = 1);
}

static void test_moved_out_and_held(void **state)
{
    (void)state;
    struct nm_match m = match_of(NM_GAME_HL, false);
    DO(&m, NM_MATCH_READY);
    DO(&m, NM_MATCH_SET);
    DO(&m, NM_MATCH_PENALTY, .team = 0, .player = 2, .offence = NM_OFFENCE_POSITION_IN_SET);
    assert_true(player(&m, 0, 2)->penalised);
    DO(&m, NM_MATCH_PLAY);
    assert_false(player(&m, 0, 2)->penalised); /* it may come in at the start */
    REFUSED(&m, NM_MATCH_PENALTY, .team = 0, .player = 2, .offence = NM_OFFENCE_MOTION_IN_SET);
    m = match_of(NM_GAME_HSL, false);
    DO(&m, NM_MATCH_READY);
    DO(&m, NM_MATCH_SET);
    DO(&m, NM_MATCH_PENALTY, .team = 0, .player = 2, .offence = NM_OFFENCE_MOTION_IN_SET);
    assert_false(player(&m, 0, 2)->waits);
    DO(&m, NM_MATCH_PLAY);
    wait(&m, 14.9);
    assert_true(player(&m, 0, 2)->penalised);
    wait(&m, 0.2);
    assert_false(player(&m, 0, 2)->penalised); /* lifted by itself */
    m = match_of(NM_GAME_SPL, false);
    DO(&m, NM_MATCH_STANDBY);
    DO(&m, NM_MATCH_PENALTY, .team = 1, .player = 3, .offence = NM_OFFENCE_MOTION_IN_STOP);
    for (int n = 1; n <= 5; n++) assert_true(player(&m, 1, n)->penalised);
    DO(&m, NM_MATCH_READY);
    for (int n = 1; n <= 5; n++) assert_false(player(&m, 1, n)->penalised);
}

static void test_substitutes(void **state)
{
    struct nm_match m;
    struct nm_match_options o = {.league = NM_GAME_HL, .team_numbers = {1, 2}, .players = 4, .roster = 6};
    (void)state;
    assert_int_equal(nm_match_begin(&m, &o, NULL), 0);
    assert_int_equal(packet(&m, false).teams[0].players[5].penalty, NM_GAME_SUBSTITUTE);
    kick_off(&m);
    DO(&m, NM_MATCH_PENALTY, .team = 0, .player = 2, .offence = NM_OFFENCE_FALLEN);
    REFUSED(&m, NM_MATCH_SUBSTITUTE, .team = 0, .player = 3, .other = 2);
    DO(&m, NM_MATCH_SUBSTITUTE, .team = 0, .player = 6, .other = 2);
    assert_int_equal(packet(&m, false).teams[0].players[1].penalty, NM_GAME_SUBSTITUTE);
    assert_int_equal(player(&m, 0, 6)->offence, NM_OFFENCE_FALLEN); /* it takes over the penalty */
    REFUSED(&m, NM_MATCH_RELEASE, .team = 0, .player = 2);
}

/* ---- pauses, extra time, shoot-out ---- */

static void assert_words(const struct nm_match *m, const char *part)
{
    char words[100];
    nm_match_words(m, words, sizeof words);
    if (!strstr(words, part)) fail_msg("'%s' does not have '%s'", words, part);
}

static void test_timeouts(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct nm_match m = match_of(league, false);
        kick_off(&m);
        REFUSED(&m, NM_MATCH_TIMEOUT, .team = 0);
        DO(&m, NM_MATCH_GOAL, .team = 0);
        DO(&m, NM_MATCH_TIMEOUT, .team = 0);
        struct nm_game_packet p = packet(&m, true);
        assert_int_equal(p.state, NM_GAME_INITIAL);
        assert_int_equal(p.phase, NM_GAME_TIMEOUT);
        assert_int_equal(p.secondary_seconds, league == NM_GAME_HL ? 120 : 300);
        int64_t left = m.half_left;
        wait(&m, 60);
        assert_int_equal(m.half_left, left);
        assert_words(&m, league == NM_GAME_HL ? "time-out 1:00" : "time-out 4:00"); /* its own clock */
        REFUSED(&m, NM_MATCH_READY);
        DO(&m, NM_MATCH_RESUME);
        REFUSED(&m, NM_MATCH_RESUME);
        REFUSED(&m, NM_MATCH_TIMEOUT, .team = 0); /* one a half, or a game */
        DO(&m, NM_MATCH_READY);
        assert_int_equal(m.kicking, 1); /* the kick-off did not change */
        DO(&m, NM_MATCH_FINISH);
        DO(&m, NM_MATCH_SECOND_HALF);
        assert_int_equal(happen(&m, (struct nm_match_event){.kind = NM_MATCH_TIMEOUT, .team = 0}),
                         league == NM_GAME_HL ? 0 : -1);
    }
}

/* Numbers that no robot has are substitutes in the packets, as those of official controllers show them. */
static void test_numbers_that_nobody_has(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct nm_match m = match_of(league, false);
        kick_off(&m);
        struct nm_game_packet p = packet(&m, false);
        for (uint32_t i = 0; i < NM_GAME_PLAYERS; i++)
            assert_int_equal(p.teams[0].players[i].penalty,
                             i < m.options.players ? NM_GAME_NO_PENALTY : NM_GAME_SUBSTITUTE);
    }
}

static void test_extra_time(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct nm_match m = match_of(league, true);
        kick_off(&m);
        DO(&m, NM_MATCH_FINISH);
        REFUSED(&m, NM_MATCH_SHOOTOUT);
        DO(&m, NM_MATCH_SECOND_HALF);
        kick_off(&m);
        DO(&m, NM_MATCH_FINISH);
        assert_false(m.over);
        if (league == NM_GAME_SPL) {
            REFUSED(&m, NM_MATCH_EXTRA_TIME);
            DO(&m, NM_MATCH_SHOOTOUT);
            continue;
        }
        DO(&m, NM_MATCH_EXTRA_TIME);
        assert_int_equal(packet(&m, false).seconds, (int)(m.options.half / 2)); /* 5 minutes of a match with 10 */
        assert_int_equal(packet(&m, false).first_half, 1);
        if (league == NM_GAME_HSL) assert_int_equal(packet(&m, false).teams[0].message_budget, 18000);
        kick_off(&m);
        DO(&m, NM_MATCH_FINISH);
        DO(&m, NM_MATCH_SECOND_HALF);
        kick_off(&m);
        DO(&m, NM_MATCH_FINISH);
        assert_false(m.over);
        DO(&m, NM_MATCH_SHOOTOUT);
    }
}

static struct nm_match shootout_of(enum nm_game_league league)
{
    struct nm_match m = match_of(league, true);
    for (int i = 0; i < 4 && m.phase != NM_GAME_SHOOTOUT; i++) {
        kick_off(&m);
        DO(&m, NM_MATCH_FINISH);
        if (m.first_half)
            DO(&m, NM_MATCH_SECOND_HALF);
        else
            DO(&m, NM_MATCH_SHOOTOUT);
    }
    return m;
}

static void shoot(struct nm_match *m, bool in)
{
    DO(m, NM_MATCH_SHOT);
    assert_int_equal(m->state, NM_GAME_SET);
    DO(m, NM_MATCH_PLAY);
    if (in)
        DO(m, NM_MATCH_GOAL, .team = (uint32_t)m->kicking);
    else
        DO(m, NM_MATCH_FINISH);
}

static void test_shootout(void **state)
{
    (void)state;
    struct nm_match m = shootout_of(NM_GAME_HSL);
    DO(&m, NM_MATCH_SHOT);
    assert_int_equal(m.kicking, 0);
    assert_int_equal(packet(&m, true).seconds, 60);
    DO(&m, NM_MATCH_PLAY);
    REFUSED(&m, NM_MATCH_GOAL, .team = 1);
    DO(&m, NM_MATCH_GOAL, .team = 0);
    assert_int_equal(packet(&m, true).teams[0].shots_in, 1);
    shoot(&m, false);
    shoot(&m, true);
    shoot(&m, false);
    assert_true(m.over); /* 2:0 with one shot each to come */
    assert_int_equal(nm_match_winner(&m), 0);
    REFUSED(&m, NM_MATCH_SHOT);
    /* sudden death is decided by a pair of shots */
    m = shootout_of(NM_GAME_SPL);
    for (int i = 0; i < 6; i++) shoot(&m, false);
    assert_false(m.over);
    shoot(&m, true);
    assert_false(m.over);
    shoot(&m, false);
    assert_true(m.over);
    /* and ends after three more each */
    m = shootout_of(NM_GAME_HSL);
    for (int i = 0; i < 12; i++) shoot(&m, false);
    assert_true(m.over);
    assert_int_equal(nm_match_winner(&m), -1);
    assert_words(&m, "undecided: draw lots");
    /* five in the HL */
    m = shootout_of(NM_GAME_HL);
    for (int i = 0; i < 6; i++) shoot(&m, i % 2 == 0);
    assert_true(m.over);
    assert_int_equal(m.teams[0].score, 3);
}

/* Brute force: a shoot-out is over exactly when no continuation of the regular shots changes the winner. */
static void test_shootout_ends_when_decided(void **state)
{
    (void)state;
    for (uint32_t results = 0; results < 64; results++) {
        struct nm_match m = shootout_of(NM_GAME_HSL);
        uint32_t n = 0;
        int in[2] = {0, 0};
        while (!m.over && n < 6) {
            bool hit = results >> n & 1;
            in[n % 2] += hit;
            shoot(&m, hit);
            n++;
            int left[2] = {3 - (int)(n + 1) / 2, 3 - (int)n / 2}; /* shots that each team has left */
            bool decided = in[0] > in[1] + left[1] || in[1] > in[0] + left[0];
            assert_int_equal(m.over, decided);
        }
    }
}

/* ---- packets ---- */

static void test_delayed_whistle(void **state)
{
    static const double delay[] = {0, 15, 10};
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct nm_match m = match_of(league, false);
        kick_off(&m);
        bool late = delay[league] > 0;
        assert_int_equal(packet(&m, true).state, NM_GAME_PLAYING);
        assert_int_equal(packet(&m, false).state, late ? NM_GAME_SET : NM_GAME_PLAYING);
        if (!late) continue;
        wait(&m, delay[league] - 0.1);
        assert_int_equal(packet(&m, false).state, NM_GAME_SET);
        assert_int_equal(packet(&m, false).seconds, 120); /* the clock has not started for them */
        assert_int_not_equal(packet(&m, true).seconds, 120);
        wait(&m, 0.2);
        assert_int_equal(packet(&m, false).state, NM_GAME_PLAYING);
        assert_int_equal(packet(&m, false).kicking_team, NM_GAME_NOBODY); /* ten seconds are over */
        /* what cannot happen in SET ends the delay */
        m = match_of(league, false);
        kick_off(&m);
        DO(&m, NM_MATCH_PENALTY, .team = 0, .player = 1, .offence = NM_OFFENCE_PICK_UP);
        assert_int_equal(packet(&m, false).state, NM_GAME_SET);
        DO(&m, NM_MATCH_PENALTY, .team = 0, .player = 2, .offence = NM_OFFENCE_PUSHING);
        assert_int_equal(packet(&m, false).state, NM_GAME_PLAYING);
    }
}

static void test_delayed_goal(void **state)
{
    (void)state;
    struct nm_match m = match_of(NM_GAME_SPL, false);
    kick_off(&m);
    wait(&m, 20);
    DO(&m, NM_MATCH_GOAL, .team = 0);
    assert_int_equal(packet(&m, false).state, NM_GAME_PLAYING);
    assert_int_equal(packet(&m, false).teams[0].score, 0);
    assert_int_equal(packet(&m, true).teams[0].score, 1);
    wait(&m, 15.1);
    assert_int_equal(packet(&m, false).state, NM_GAME_READY);
    assert_int_equal(packet(&m, false).teams[0].score, 1);
    m = match_of(NM_GAME_HSL, false);
    kick_off(&m);
    wait(&m, 20);
    DO(&m, NM_MATCH_GOAL, .team = 0);
    assert_int_equal(packet(&m, false).teams[0].score, 1);
}

static void test_sides_in_packets(void **state)
{
    (void)state;
    struct nm_match m = match_of(NM_GAME_HSL, false);
    assert_int_equal(packet(&m, false).teams[0].number, 7);
    kick_off(&m);
    DO(&m, NM_MATCH_FINISH);
    DO(&m, NM_MATCH_SECOND_HALF);
    assert_int_equal(packet(&m, false).teams[0].number, 9);
    assert_int_equal(nm_match_side(&m, 0), 1);
}

static void test_message_budget(void **state)
{
    static const uint32_t budget[] = {0, 1200, 12000}, bytes[] = {0, 128, 512};
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct nm_match m = match_of(league, false);
        kick_off(&m);
        DO(&m, NM_MATCH_GOAL, .team = 1);
        for (uint32_t i = 0; i < (budget[league] ? budget[league] : 20000); i++)
            DO(&m, NM_MATCH_MESSAGE, .team = 1, .bytes = bytes[league]);
        assert_int_equal(m.teams[1].score, 1);
        if (league == NM_GAME_HL) continue;
        assert_int_equal(packet(&m, true).teams[1].message_budget, 0);
        DO(&m, NM_MATCH_MESSAGE, .team = 1, .bytes = 1);
        assert_int_equal(m.teams[1].score, 0);
        DO(&m, NM_MATCH_SET);
        DO(&m, NM_MATCH_PLAY);
        DO(&m, NM_MATCH_GOAL, .team = 1);
        assert_int_equal(m.teams[1].score, 0);
        m = match_of(league, false);
        kick_off(&m);
        DO(&m, NM_MATCH_GOAL, .team = 0);
        DO(&m, NM_MATCH_MESSAGE, .team = 0, .bytes = bytes[league] + 1);
        assert_int_equal(m.teams[0].score, 0);
    }
}

static void test_options(void **state)
{
    struct nm_match m;
    struct nm_match_options o = {.league = NM_GAME_HL, .team_numbers = {3, 3}};
    struct nm_err err = {0};
    (void)state;
    assert_int_equal(nm_match_begin(&m, &o, &err), -1);
    o.team_numbers[1] = 4;
    o.players = 12;
    assert_int_equal(nm_match_begin(&m, &o, &err), -1);
    o.players = 11;
    o.version = 20;
    assert_int_equal(nm_match_begin(&m, &o, &err), -1);
    o.version = 0;
    assert_int_equal(nm_match_begin(&m, &o, &err), 0);
    o.league = NM_GAME_SPL;
    o.version = 15;
    assert_int_equal(nm_match_begin(&m, &o, &err), 0);
    REFUSED(&m, NM_MATCH_STANDBY); /* only from version 17 on */
    o = (struct nm_match_options){.league = NM_GAME_HSL, .team_numbers = {3, 4}, .players = 4, .roster = 1};
    err = (struct nm_err){0};
    assert_int_equal(nm_match_begin(&m, &o, &err), -1);
    assert_string_equal(err.text, "a team with a roster of 1 cannot have 4 players on the field\n");
}

/* Who is refused learns what is possible. */
static void test_refusals(void **state)
{
    struct nm_match m = match_of(NM_GAME_HSL, false);
    const struct nm_match_event goal = {.kind = NM_MATCH_GOAL};
    struct nm_err err = {0};
    (void)state;
    assert_int_equal(nm_match_happen(&m, &goal, &err), -1);
    assert_string_equal(err.text, "goal: not in INITIAL; now possible: ready, timeout\n");
    kick_off(&m);
    DO(&m, NM_MATCH_FINISH);
    err = (struct nm_err){0};
    assert_int_equal(nm_match_happen(&m, &goal, &err), -1);
    assert_string_equal(err.text, "goal: not in FINISHED; now possible: second-half\n");
    DO(&m, NM_MATCH_SECOND_HALF);
    kick_off(&m);
    DO(&m, NM_MATCH_FINISH);
    err = (struct nm_err){0};
    assert_int_equal(nm_match_happen(&m, &goal, &err), -1);
    assert_string_equal(err.text, "goal: not in FINISHED; the game is over\n");
}

/* Whatever anybody calls at any time: nothing breaks, and every packet can be written and read again. */
static void test_any_events(void **state)
{
    struct nm_dice dice = nm_dice_new(5, 0, 0);
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct nm_match m = match_of((enum nm_game_league)(round % 3), round % 2);
        uint32_t scores = 0;
        for (int i = 0; i < 200; i++) {
            struct nm_match_event e = {.kind = (enum nm_match_event_kind)(nm_dice_bits(&dice) % NM_MATCH_EVENTS),
                                       .team = (uint32_t)(nm_dice_bits(&dice) % 2),
                                       .player = (uint32_t)(nm_dice_bits(&dice) % 7),
                                       .other = (uint32_t)(nm_dice_bits(&dice) % 7),
                                       .set_play = (enum nm_game_set_play)(nm_dice_bits(&dice) % 8),
                                       .offence = (enum nm_offence)(nm_dice_bits(&dice) % NM_OFFENCES)};
            bool goal = !happen(&m, e) && e.kind == NM_MATCH_GOAL;
            scores += goal;
            wait(&m, 20 * nm_dice_roll(&dice));
            assert_true(m.teams[0].score + m.teams[1].score <= scores);
            assert_true(m.secondary >= 0);
            assert_true(m.kicking >= -1 && m.kicking <= 1);
            assert_true(m.state == NM_GAME_PLAYING || m.state == NM_GAME_READY || m.state == NM_GAME_SET ||
                        !m.set_play);
            for (int truth = 0; truth < 2; truth++) {
                struct nm_game_packet p = packet(&m, truth), q;
                uint8_t bytes[NM_GAME_LONGEST];
                size_t n = nm_game_encode(&p, bytes, sizeof bytes);
                assert_true(n > 0);
                assert_int_equal(nm_game_decode(bytes, n, &q), NM_GAME_FINE);
                assert_int_equal(q.state, p.state);
                assert_int_equal(q.teams[0].score, p.teams[0].score);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_halves),
        cmocka_unit_test(test_clock_of_finals),
        cmocka_unit_test(test_mercy),
        cmocka_unit_test(test_set_play_hl),
        cmocka_unit_test(test_set_play_spl),
        cmocka_unit_test(test_set_play_hsl),
        cmocka_unit_test(test_penalty_kick),
        cmocka_unit_test(test_dropped_ball),
        cmocka_unit_test(test_penalty_clock),
        cmocka_unit_test(test_penalty_clock_stands),
        cmocka_unit_test(test_cards_hl),
        cmocka_unit_test(test_moved_out_and_held),
        cmocka_unit_test(test_substitutes),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_numbers_that_nobody_has),
        cmocka_unit_test(test_extra_time),
        cmocka_unit_test(test_shootout),
        cmocka_unit_test(test_shootout_ends_when_decided),
        cmocka_unit_test(test_delayed_whistle),
        cmocka_unit_test(test_delayed_goal),
        cmocka_unit_test(test_sides_in_packets),
        cmocka_unit_test(test_message_budget),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_any_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
