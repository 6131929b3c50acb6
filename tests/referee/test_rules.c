/* Every cell of the leagues' tables of restarts and penalties, and who may stand where. The expectations are written
 * here once more from the rule books, as text, not taken from the tables. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "referee/rules.h"

static const struct nm_pitch_size kid = {.length = 8.95,
                                         .width = 5.95,
                                         .line_width = 0.05,
                                         .goal_area_length = 0.95,
                                         .goal_area_width = 2.95,
                                         .penalty_area_length = 1.95,
                                         .penalty_area_width = 4.95,
                                         .penalty_mark = 1.475,
                                         .circle_radius = 0.725,
                                         .goal_width = 2.6,
                                         .goal_depth = 0.6,
                                         .post = 0.1,
                                         .border = 1};
static const double RADIUS = 0.07;

#define near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* ---- restarts ---- */

/* The ball leaves at `exit`, touched last by the team whose own goal is at `side`. */
static const struct {
    enum nm_game_league league;
    struct vec3 exit;
    int side;
    enum nm_game_set_play set_play;
    double x, y;
    bool direct;
} exits[] = {
    /* over the touchline */
    {NM_GAME_HL, {1.2, 3.2, 0}, -1, NM_GAME_THROW_IN, 1.2, 2.975, false},
    {NM_GAME_SPL, {1.2, -3.2, 0}, -1, NM_GAME_THROW_IN, 1.2, -2.975, true},
    {NM_GAME_HSL, {-4.2, 3.2, 0}, 1, NM_GAME_THROW_IN, -4.2, 2.975, false},
    /* attacker over the goal line */
    {NM_GAME_HL, {4.7, 2, 0}, -1, NM_GAME_GOAL_KICK, 0, 2.975, true},
    {NM_GAME_HL, {-4.7, -2, 0}, 1, NM_GAME_GOAL_KICK, 0, -2.975, true},
    {NM_GAME_SPL, {4.7, -2, 0}, -1, NM_GAME_GOAL_KICK, 4.475 - 0.95, -1.475, true},
    {NM_GAME_HSL, {-4.7, 2, 0}, 1, NM_GAME_GOAL_KICK, -4.475 + 0.95, 1.475, true},
    /* defender over the goal line */
    {NM_GAME_HL, {4.7, 2, 0}, 1, NM_GAME_CORNER_KICK, 4.475, 2.975, true},
    {NM_GAME_SPL, {-4.7, 2, 0}, -1, NM_GAME_CORNER_KICK, -4.475, 2.975, true},
    {NM_GAME_HSL, {4.7, -2, 0}, 1, NM_GAME_CORNER_KICK, 4.475, -2.975, true},
};

static void test_exits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
        enum nm_exit how = NM_EXITS;
        assert_true(nm_ball_out(&kid, RADIUS, exits[i].exit, exits[i].side, &how));
        const struct nm_restart_row *row = &nm_restart_rows[exits[i].league][how];
        struct vec3 at = nm_restart_at(&kid, row->place, exits[i].exit, exits[i].side);
        if (row->set_play != exits[i].set_play || row->direct != exits[i].direct) fail_msg("row %zu", i);
        near(at.x, exits[i].x);
        near(at.y, exits[i].y);
    }
}

static void test_fouls(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        const struct nm_restart_row *foul = &nm_restart_rows[league][NM_EXIT_FOUL],
                                    *area = &nm_restart_rows[league][NM_EXIT_FOUL_IN_OWN_PENALTY_AREA];
        struct vec3 at = nm_restart_at(&kid, foul->place, (struct vec3){1, -3.5, 0}, 1);
        assert_int_equal(foul->set_play, NM_GAME_DIRECT_FREE_KICK);
        assert_int_equal(area->set_play, NM_GAME_PENALTY_KICK);
        assert_true(foul->direct && area->direct);
        near(at.x, 1);
        near(at.y, -2.975); /* inside the field */
        for (int side = -1; side <= 1; side += 2) {
            at = nm_restart_at(&kid, area->place, (struct vec3){1, 1, 0}, side);
            near(at.x, side * 3.0);
            near(at.y, 0);
        }
    }
}

/* The whole ball must be over the outer edge of the line. */
static void test_lines_belong_to_the_field(void **state)
{
    enum nm_exit how;
    (void)state;
    double edge_x = 4.5 + RADIUS, edge_y = 3 + RADIUS;
    assert_false(nm_ball_out(&kid, RADIUS, (struct vec3){edge_x - 0.001, 2, 0}, -1, &how));
    assert_false(nm_ball_out(&kid, RADIUS, (struct vec3){0, -edge_y + 0.001, 0}, -1, &how));
    assert_true(nm_ball_out(&kid, RADIUS, (struct vec3){edge_x + 0.001, 2, 0}, -1, &how));
    assert_true(nm_ball_out(&kid, RADIUS, (struct vec3){0, -edge_y - 0.001, 0}, -1, &how));
    assert_int_equal(how, NM_EXIT_TOUCHLINE);
}

/* ---- penalties ---- */

enum { NO = -1 };

/* seconds: NO: no offence; 0: not timed. `third`: of the third one when all before were counted. */
static const struct {
    enum nm_offence offence;
    struct {
        double first, third;
        bool counted;
        enum nm_game_penalty penalty;
        double limit, keeper;
    } of[NM_GAME_LEAGUES];
} penalties[] = {
    {NM_OFFENCE_PUSHING,
     {{10, 10, false, NM_GAME_PUSHING, 4, 4},
      {45, 65, true, NM_GAME_PUSHING, INFINITY, INFINITY},
      {45, 65, true, NM_GAME_PUSHING, 5, 5}}},
    {NM_OFFENCE_HOLDING,
     {{10, 10, false, NM_GAME_BALL_HOLDING, 5, 6},
      {45, 65, true, NM_GAME_BALL_HOLDING, 3, 10},
      {45, 65, true, NM_GAME_BALL_HOLDING, 5, 10}}},
    {NM_OFFENCE_HANDS,
     {{10, 10, false, NM_GAME_BALL_HOLDING, 0, 0},
      {45, 65, true, NM_GAME_BALL_HOLDING, 0, 0},
      {45, 65, true, NM_GAME_HANDS, 0, 0}}},
    {NM_OFFENCE_FALLEN,
     {{10, 10, false, NM_GAME_PICK_UP, 20, 20},
      {45, 65, false, NM_GAME_INCAPABLE, 5, 5},
      {45, 65, false, NM_GAME_INCAPABLE, 20, 20}}},
    {NM_OFFENCE_INACTIVE,
     {{10, 10, false, NM_GAME_PICK_UP, INFINITY, 20},
      {45, 65, false, NM_GAME_INCAPABLE, 10, 10},
      {45, 65, false, NM_GAME_INCAPABLE, 10, 10}}},
    {NM_OFFENCE_LEAVING,
     {{10, 10, false, NM_GAME_PICK_UP, 20, 20},
      {45, 65, true, NM_GAME_LEAVING_FIELD, 0, 0},
      {45, 65, true, NM_GAME_LEAVING_FIELD, 0, 0}}},
    {NM_OFFENCE_POSITION_IN_SET,
     {{0, 0, false, NM_GAME_PICK_UP, 0, 0},
      {15, 15, false, NM_GAME_ILLEGAL_POSITION_IN_SET, 0, 0},
      {45, 65, false, NM_GAME_ILLEGAL_POSITION, 0, 0}}},
    {NM_OFFENCE_OWN_GOAL_AREA,
     {{NO, NO, false, 0, 0, 0},
      {45, 65, true, NM_GAME_ILLEGAL_POSITION, 0, 0},
      {45, 65, false, NM_GAME_ILLEGAL_POSITION, 0, 0}}},
    {NM_OFFENCE_ENCROACHING,
     {{10, 10, false, NM_GAME_PICK_UP, 0, 0},
      {45, 65, true, NM_GAME_ILLEGAL_POSITION, 0, 0},
      {45, 65, false, NM_GAME_ILLEGAL_POSITION, 0, 0}}},
    {NM_OFFENCE_MOTION_IN_SET,
     {{NO, NO, false, 0, 0, 0},
      {15, 15, false, NM_GAME_MOTION_IN_SET, 0, 0},
      {15, 15, false, NM_GAME_MOTION_IN_SET, 0, 0}}},
    {NM_OFFENCE_MOTION_IN_STOP,
     {{NO, NO, false, 0, 0, 0},
      {0, 0, false, NM_GAME_MOTION_IN_STANDBY, 0, 0},
      {45, 65, true, NM_GAME_MOTION_IN_STOP, 0, 0}}},
    {NM_OFFENCE_STUCK,
     {{NO, NO, false, 0, 0, 0},
      {45, 65, false, NM_GAME_LOCAL_STUCK, 30, 30},
      {45, 65, false, NM_GAME_LOCAL_STUCK, 10, 10}}},
    {NM_OFFENCE_PICK_UP,
     {{10, 10, false, NM_GAME_PICK_UP, 0, 0},
      {45, 65, false, NM_GAME_PICK_UP, 0, 0},
      {45, 65, false, NM_GAME_PICK_UP, 0, 0}}},
    {NM_OFFENCE_STANCE,
     {{NO, NO, false, 0, 0, 0},
      {45, 65, true, NM_GAME_STANCE, 10, 10},
      {45, 65, false, NM_GAME_ILLEGAL_POSITION, 10, 10}}},
    {NM_OFFENCE_YELLOW_CARD,
     {{0, 0, false, 0, 0, 0}, {NO, NO, false, 0, 0, 0}, {45, 65, true, NM_GAME_CAUTIONED, 0, 0}}},
    {NM_OFFENCE_RED_CARD,
     {{0, 0, false, NM_GAME_SENT_OFF, 0, 0}, {NO, NO, false, 0, 0, 0}, {0, 0, false, NM_GAME_SENT_OFF, 0, 0}}},
    {NM_OFFENCE_SUBSTITUTED,
     {{0, 0, false, NM_GAME_SUBSTITUTE, 0, 0},
      {0, 0, false, NM_GAME_SUBSTITUTE, 0, 0},
      {0, 0, false, NM_GAME_SUBSTITUTE, 0, 0}}},
};

static void test_penalties(void **state)
{
    (void)state;
    assert_int_equal(sizeof penalties / sizeof *penalties, NM_OFFENCES);
    for (int i = 0; i < NM_OFFENCES; i++)
        for (int league = 0; league < NM_GAME_LEAGUES; league++) {
            enum nm_offence offence = penalties[i].offence;
            const struct nm_offence_row *row = &nm_offence_rows[league][offence];
            double first = penalties[i].of[league].first, third = penalties[i].of[league].third;
            print_message("%s, %s\n", nm_offence_names[offence].name, nm_rules[league].name);
            if (first < 0) {
                assert_int_equal(row->consequence, NM_NO_OFFENCE);
                continue;
            }
            assert_int_not_equal(row->consequence, NM_NO_OFFENCE);
            near(nm_penalty_seconds(league, offence, 0), first);
            near(nm_penalty_seconds(league, offence, 2), third);
            assert_int_equal(row->counted, penalties[i].of[league].counted);
            assert_int_equal(row->penalty, penalties[i].of[league].penalty);
            assert_true(row->limit == penalties[i].of[league].limit);
            assert_true(row->keeper_limit == penalties[i].of[league].keeper);
        }
}

/* What happens besides: who stays where it is, who goes for good, whose foul gives a free kick. */
static void test_consequences(void **state)
{
    (void)state;
    const struct nm_offence_row(*rows)[NM_OFFENCES] = nm_offence_rows;
    assert_int_equal(rows[NM_GAME_HL][NM_OFFENCE_POSITION_IN_SET].consequence, NM_MOVED_OUT);
    assert_int_equal(rows[NM_GAME_HL][NM_OFFENCE_YELLOW_CARD].consequence, NM_CAUTIONED);
    assert_int_equal(rows[NM_GAME_SPL][NM_OFFENCE_MOTION_IN_STOP].consequence, NM_TEAM_HELD);
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        bool hl = league == NM_GAME_HL;
        assert_int_equal(rows[league][NM_OFFENCE_SUBSTITUTED].consequence, NM_OUT_FOR_GOOD);
        assert_int_equal(rows[league][NM_OFFENCE_MOTION_IN_SET].consequence, hl ? NM_NO_OFFENCE : NM_HELD);
        assert_int_equal(rows[league][NM_OFFENCE_HOLDING].free_kick_instead, hl);
        assert_int_equal(rows[league][NM_OFFENCE_PUSHING].free_kick_instead, hl);
    }
    near(rows[NM_GAME_HL][NM_OFFENCE_PUSHING].free_kick_within, 1);
    near(rows[NM_GAME_SPL][NM_OFFENCE_PUSHING].free_kick_within, 0.5);
    assert_true(rows[NM_GAME_HSL][NM_OFFENCE_PUSHING].free_kick_within < 0);
    assert_true(isinf(rows[NM_GAME_HL][NM_OFFENCE_HOLDING].free_kick_within));
}

static void test_durations(void **state)
{
    (void)state;
    /* half, break, extra half, READY, ball free, set play, penalty kick, shot, time-out, signal, goal; shots, messages
     */
    static const double want[NM_GAME_LEAGUES][13] = {
        {600, 300, 300, 45, 10, 10, 10, 60, 120, 0, 0, 5, 0},
        {600, 600, 0, 45, 10, 30, 30, 30, 300, 15, 15, 3, 1200},
        {600, 600, 300, 45, 10, 45, 60, 60, 300, 10, 0, 3, 12000},
    };
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        const struct nm_rules *r = &nm_rules[league];
        const double is[13] = {r->half,          r->half_break,   r->extra_half,          r->ready,
                               r->kick_off_free, r->taking,       r->taking_penalty_kick, r->shot,
                               r->timeout,       r->signal_delay, r->goal_delay,          r->shots,
                               r->messages};
        for (int i = 0; i < 13; i++) near(is[i], want[league][i]);
    }
    near(nm_rules_distance(&nm_rules[NM_GAME_HL], &kid), 0.75);
    near(nm_rules_distance(&nm_rules[NM_GAME_SPL], &kid), 0.75);
    near(nm_rules_distance(&nm_rules[NM_GAME_HSL], &kid), kid.circle_radius);
}

/* ---- places ---- */

static void test_kick_off_positions(void **state)
{
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        struct vec3 circle = {side * 0.3, 0, 0}, over = {side * -0.3, 0, 0}, far = {side * -2.0, 0, 0},
                    back = {side * 2.0, 1, 0};
        assert_true(nm_legal_at_kick_off(&kid, side, true, false, circle));
        assert_false(nm_legal_at_kick_off(&kid, side, true, false, over));
        assert_true(nm_legal_at_kick_off(&kid, side, true, true, over));
        assert_false(nm_legal_at_kick_off(&kid, side, true, true, far));
        assert_false(nm_legal_at_kick_off(&kid, side, false, true, circle));
        assert_true(nm_legal_at_kick_off(&kid, side, false, false, back));
        assert_false(nm_legal_at_kick_off(&kid, side, false, false, far));
    }
}

static void test_penalty_kick_positions(void **state)
{
    (void)state;
    struct vec3 line = {4.475, 0.5, 0}, front = {4, 0, 0}, near_mark = {2.8, 0.3, 0}, behind = {1.5, 0, 0},
                beside = {3.2, 2.7, 0};
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        assert_true(nm_legal_at_penalty_kick(league, &kid, 1, 1, true, false, line));
        assert_false(nm_legal_at_penalty_kick(league, &kid, 1, 1, true, false, front));
        assert_true(nm_legal_at_penalty_kick(league, &kid, 1, -1, false, true, near_mark));
        assert_false(nm_legal_at_penalty_kick(league, &kid, 1, -1, false, false, near_mark));
        assert_true(nm_legal_at_penalty_kick(league, &kid, 1, 1, false, false, behind));
    }
    /* HL: behind the mark; the others: outside the area */
    assert_false(nm_legal_at_penalty_kick(NM_GAME_HL, &kid, 1, -1, false, false, beside));
    assert_true(nm_legal_at_penalty_kick(NM_GAME_HSL, &kid, 1, -1, false, false, beside));
}

/* Beside the own half, on the side away from the ball, looking at the field; no two at one place. */
static void test_penalty_places(void **state)
{
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++)
        for (int side = -1; side <= 1; side += 2)
            for (int up = -1; up <= 1; up += 2)
                for (uint32_t n = 0; n < 4; n++) {
                    struct pose2 p = nm_penalty_place(league, &kid, side, (struct vec3){0, up, 0}, n);
                    near(p.x, side * (4.475 - 1.475 - 0.6 * n));
                    assert_true(p.y * up < -(kid.width / 2 + 0.2));
                    near(sin(p.theta), up);
                }
    for (int side = -1; side <= 1; side += 2)
        for (uint32_t n = 1; n <= 7; n++) {
            struct pose2 p = nm_start_place(&kid, side, n);
            assert_true(p.x * side > 0 && fabs(p.y) > kid.width / 2);
            assert_true(p.y * sin(p.theta) < 0);
            for (uint32_t k = 1; k < n; k++) {
                struct pose2 q = nm_start_place(&kid, side, k);
                assert_true(hypot(p.x - q.x, p.y - q.y) > 0.7);
            }
        }
}

static void test_areas(void **state)
{
    (void)state;
    assert_true(nm_in_own_penalty_area(&kid, -1, (struct vec3){-3, 2, 0}));
    assert_false(nm_in_own_penalty_area(&kid, 1, (struct vec3){-3, 2, 0}));
    assert_false(nm_in_own_penalty_area(&kid, -1, (struct vec3){-2, 0, 0}));
    assert_true(nm_in_own_goal_area(&kid, 1, (struct vec3){4, 1, 0}));
    assert_false(nm_in_own_goal_area(&kid, 1, (struct vec3){3, 1, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exits),
        cmocka_unit_test(test_fouls),
        cmocka_unit_test(test_lines_belong_to_the_field),
        cmocka_unit_test(test_penalties),
        cmocka_unit_test(test_consequences),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_kick_off_positions),
        cmocka_unit_test(test_penalty_kick_positions),
        cmocka_unit_test(test_penalty_places),
        cmocka_unit_test(test_areas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
