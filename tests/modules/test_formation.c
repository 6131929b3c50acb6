/* Places of a team: legal before a kick-off and at set plays, apart from one another, and taken with the least walking.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/random.h"
#include "modules/behavior/formation.h"
#include "nutmeg_msgs/TeamMessage.h"

static const struct nm_pitch_size kid = {
    .length = 8.95,
    .width = 5.95,
    .line_width = 0.05,
    .goal_area_length = 0.95,
    .goal_area_width = 2.95,
    .penalty_area_length = 1.95,
    .penalty_area_width = 4.95,
    .penalty_mark = 1.475,
    .circle_radius = 0.725,
    .goal_width = 2.6,
    .post = 0.1,
};

static double between(struct nm_dice *dice, double low, double high) { return low + (high - low) * nm_dice_roll(dice); }

static double walk_of(uint32_t n, double cost[FORMATION_PLAYERS][FORMATION_PLAYERS], const uint32_t to[])
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += cost[i][to[i]];
    return sum;
}

/* The least sum over all permutations. */
static double brute_force(uint32_t n, double cost[FORMATION_PLAYERS][FORMATION_PLAYERS], uint32_t to[], uint32_t from)
{
    double best = INFINITY;
    if (from == n) return walk_of(n, cost, to);
    for (uint32_t i = from; i < n; i++) {
        uint32_t a = to[from];
        to[from] = to[i];
        to[i] = a;
        best = fmin(best, brute_force(n, cost, to, from + 1));
        a = to[from];
        to[from] = to[i];
        to[i] = a;
    }
    return best;
}

static void the_assignment_walks_least(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    for (int game = 0; game < 300; game++) {
        uint32_t n = 1 + (uint32_t)(nm_dice_roll(&dice) * 6), to[FORMATION_PLAYERS], all[FORMATION_PLAYERS];
        double cost[FORMATION_PLAYERS][FORMATION_PLAYERS];
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++) cost[i][j] = between(&dice, -1, 10);
        formation_assign(n, cost, to);
        uint32_t taken = 0;
        for (uint32_t i = 0; i < n; i++) {
            all[i] = i;
            taken |= 1u << to[i];
        }
        assert_int_equal(taken, (1u << n) - 1);
        assert_true(fabs(walk_of(n, cost, to) - brute_force(n, cost, all, 0)) < 1e-9);
    }
}

static void before_a_kick_off_all_stand_where_the_rules_want_them(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= FORMATION_PLAYERS - 1; n++) {
        struct place p[FORMATION_PLAYERS];
        formation_places(&kid, &(struct formation){.kind = FORMATION_RIVAL_KICK_OFF, .spread = 0.8}, n, p);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(p[i].pose.x < -0.15);
            assert_true(hypot(p[i].pose.x, p[i].pose.y) > kid.circle_radius + 0.15);
            assert_true(fabs(p[i].pose.x) < kid.length / 2 && fabs(p[i].pose.y) < kid.width / 2);
        }
        formation_places(&kid, &(struct formation){.kind = FORMATION_OWN_KICK_OFF, .spread = 0.8}, n, p);
        assert_int_equal(p[0].role, TeamMessage_ROLE_STRIKER);
        assert_true(hypot(p[0].pose.x, p[0].pose.y) < kid.circle_radius);
        for (uint32_t i = 0; i < n; i++) assert_true(p[i].pose.x < -0.15);
        for (uint32_t i = 1; i < n; i++) assert_true(hypot(p[i].pose.x, p[i].pose.y) > kid.circle_radius);
    }
}

/* Nobody stands in the keeper's way while the ball is elsewhere. */
static void the_goal_area_is_the_keepers(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(3, 0, 0);
    for (int i = 0; i < 500; i++) {
        struct formation f = {.kind = FORMATION_PLAY,
                              .ball_x = between(&dice, -2.3, 4.4),
                              .ball_y = between(&dice, -2.9, 2.9),
                              .keep_off = 0.75,
                              .spread = 0.9};
        struct place p[4];
        formation_places(&kid, &f, 4, p);
        for (int a = 1; a < 4; a++)
            assert_true(p[a].pose.x > -kid.length / 2 + kid.goal_area_length ||
                        fabs(p[a].pose.y) > kid.goal_area_width / 2);
    }
}

static void places_keep_off_the_ball_and_apart(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(2, 0, 0);
    for (int i = 0; i < 500; i++) {
        struct formation f = {.kind = i % 2 ? FORMATION_PLAY : FORMATION_WALL,
                              .ball_x = between(&dice, -4.4, 4.4),
                              .ball_y = between(&dice, -2.9, 2.9),
                              .keep_off = 0.75,
                              .spread = 0.9};
        struct place p[4];
        formation_places(&kid, &f, 4, p);
        for (int a = 0; a < 4; a++) {
            double far = hypot(p[a].pose.x - f.ball_x, p[a].pose.y - f.ball_y);
            bool corner = fabs(f.ball_x) > 3.7 || fabs(f.ball_y) > 2.2; /* there lines push places back */
            if (f.kind == FORMATION_WALL) assert_true(far > f.keep_off + 0.1);
            if (a && !corner) assert_true(far > 0.6);
            assert_true(fabs(p[a].pose.x) < kid.length / 2 && fabs(p[a].pose.y) < kid.width / 2);
            for (int b = 0; b < a && !corner; b++)
                assert_true(hypot(p[a].pose.x - p[b].pose.x, p[a].pose.y - p[b].pose.y) > 0.3);
        }
    }
}

static void a_mate_offers_itself_for_a_pass(void **state)
{
    (void)state;
    for (double x = -4; x < 4.1; x += 0.5)
        for (double y = -2.9; y < 3; y += 0.29) {
            struct formation f = {.kind = FORMATION_PLAY, .ball_x = x, .ball_y = y, .spread = 0.9};
            struct place p[3];
            formation_places(&kid, &f, 3, p);
            assert_int_equal(p[2].role, TeamMessage_ROLE_BISHOP);
            double far = hypot(p[2].pose.x - x, p[2].pose.y - y);
            assert_true(far > 0.9 && far < 2.6);
            assert_true(p[2].pose.x > fmin(x, 2.9) + 0.4); /* in front, but not in their goal */
            assert_true(fabs(p[2].pose.y) < 1.9);          /* where the goal is wide          */
        }
}

static void at_a_penalty_kick_all_but_the_kicker_are_outside_of_the_area(void **state)
{
    (void)state;
    double mark = kid.length / 2 - kid.penalty_mark;
    for (int ours = 0; ours < 2; ours++) {
        struct formation f = {.kind = ours ? FORMATION_OWN_PENALTY : FORMATION_RIVAL_PENALTY,
                              .ball_x = ours ? mark : -mark,
                              .keep_off = kid.circle_radius};
        struct place p[4];
        formation_places(&kid, &f, 4, p);
        for (int i = ours; i < 4; i++) {
            assert_true(fabs(p[i].pose.x) < kid.length / 2 - kid.penalty_area_length - 0.15);
            assert_true(hypot(p[i].pose.x - f.ball_x, p[i].pose.y) > kid.circle_radius + 0.15);
        }
    }
}

static void at_their_goal_kick_all_are_outside_of_the_area(void **state)
{
    (void)state;
    struct formation f = {.kind = FORMATION_THEIR_GOAL_KICK,
                          .ball_x = kid.length / 2 - kid.goal_area_length,
                          .ball_y = kid.goal_area_width / 2,
                          .keep_off = kid.circle_radius,
                          .spread = 0.9};
    struct place p[4];
    formation_places(&kid, &f, 4, p);
    for (int i = 0; i < 4; i++) assert_true(p[i].pose.x < kid.length / 2 - kid.penalty_area_length - 0.2);
}

static void the_keeper_stands_between_the_ball_and_the_goal(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(3, 0, 0);
    for (int i = 0; i < 500; i++) {
        double x = between(&dice, -4.4, 4.4), y = between(&dice, -2.9, 2.9);
        struct pose2 at = formation_keeper(&kid, x, y);
        assert_true(at.x > -kid.length / 2 && at.x < -kid.length / 2 + kid.goal_area_length);
        assert_true(fabs(at.y) < kid.goal_width / 2);
        assert_true(fabs(y) < 0.05 || at.y * y > -1e-9); /* on the side of the ball */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_assignment_walks_least),
        cmocka_unit_test(before_a_kick_off_all_stand_where_the_rules_want_them),
        cmocka_unit_test(the_goal_area_is_the_keepers),
        cmocka_unit_test(places_keep_off_the_ball_and_apart),
        cmocka_unit_test(a_mate_offers_itself_for_a_pass),
        cmocka_unit_test(at_a_penalty_kick_all_but_the_kicker_are_outside_of_the_area),
        cmocka_unit_test(at_their_goal_kick_all_are_outside_of_the_area),
        cmocka_unit_test(the_keeper_stands_between_the_ball_and_the_goal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
