/* What to do with the ball: shots where the goal is open, never towards the own goal, around who stands in the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "modules/behavior/kick_choice.h"

static const struct nm_pitch_size kid = {
    .length = 8.95, .width = 5.95, .goal_width = 2.6, .circle_radius = 0.725, .penalty_mark = 1.475};

static struct choice_world world(double x, double y)
{
    return (struct choice_world){
        .field = &kid,
        .ways = {[KICK_WAY_DRIBBLE] = {0.5, 0.3, 0.3},
                 [KICK_WAY_IN_WALK] = {2.2, 0.15, 0.8},
                 [KICK_WAY_STANDING] = {4.5, 0.07, 3.5}},
        .me = {x - 0.3, y, 0},
        .ball_x = x,
        .ball_y = y,
        .speed = 0.3,
        .last_time = INFINITY,
        .direct_goal = true,
    };
}

static void add(struct choice_world *w, double x, double y, bool rival)
{
    w->robots[w->n++] = (struct choice_robot){x, y, rival};
}

static struct kick_choice choose(const struct choice_world *w)
{
    return choose_kick(w, &(struct kick_choice){0}, 0.05);
}

static void near_the_open_goal_it_shoots(void **state)
{
    (void)state;
    struct choice_world w = world(3, 0.3);
    struct kick_choice c = choose(&w);
    assert_true(c.shot && c.x > 4.4 && fabs(c.y) < 1.3);
    assert_true(c.value > 0.6);
}

static void a_goal_that_would_not_count_is_not_tried(void **state)
{
    (void)state;
    struct choice_world w = world(3, 0.3);
    w.direct_goal = false;
    struct kick_choice c = choose(&w);
    assert_true(c.way != KICK_WAY_NONE && !c.shot);
}

static void a_far_shot_is_a_strong_one_where_there_is_time(void **state)
{
    (void)state;
    struct choice_world w = world(1.2, 0);
    assert_int_equal(choose(&w).way, KICK_WAY_STANDING);
    w.last_time = 0.5; /* a rival comes */
    add(&w, 1.8, 0.7, true);
    assert_int_not_equal(choose(&w).way, KICK_WAY_STANDING);
}

static void it_plays_past_who_stands_in_the_way(void **state)
{
    (void)state;
    struct choice_world w = world(2.6, 0);
    add(&w, 3.2, 0, true);
    struct kick_choice c = choose(&w);
    double angle = atan2(c.y - w.ball_y, c.x - w.ball_x);
    assert_true(fabs(0.6 * sin(angle)) > 0.1); /* not straight on */
}

/* A rival who waits half a metre before the ball stops every kick at him. Only where the goal is near it may try. */
static void it_never_kicks_at_a_rival_who_stands_before_the_ball(void **state)
{
    (void)state;
    for (double x = -3; x < 1.6; x += 0.5)
        for (double y = -2; y < 2.1; y += 0.5)
            for (double from = -1; from < 1.1; from += 0.5) {
                struct choice_world w = world(x, y);
                double far = 0.45, to = atan2(-y, kid.length / 2 - x) + from;
                w.me = (struct pose2){x - 0.3 * cos(to), y - 0.3 * sin(to), to};
                w.last_time = 0.25;
                w.ways[KICK_WAY_IN_WALK].spread = 0.25;
                add(&w, x + far * cos(to), y + far * sin(to), true);
                struct kick_choice c = choose(&w);
                double aside = fabs(angle_normal(atan2(c.y - y, c.x - x) - to));
                assert_int_not_equal(c.way, KICK_WAY_STANDING);
                assert_true(aside > M_PI / 2 || far * sin(aside) > 0.2);
            }
}

/* At the touchline every second kick along the line is out. */
static void a_throw_in_goes_into_the_field(void **state)
{
    (void)state;
    for (double x = -4; x < 3.6; x += 0.25)
        for (int side = -1; side <= 1; side += 2) {
            struct choice_world w = world(x, side * 2.96);
            w.direct_goal = false;
            w.ways[KICK_WAY_IN_WALK].spread = 0.25;
            add(&w, x + 0.8, side * 2.5, true);
            struct kick_choice c = choose(&w);
            double angle = atan2(side * (w.ball_y - c.y), c.x - x); /* 0: along the line, towards their goal */
            assert_true(sin(angle) > sin(1.2 * w.ways[c.way].spread));
        }
}

static void nowhere_it_kicks_towards_the_own_goal(void **state)
{
    (void)state;
    for (double x = -4.3; x < 4.4; x += 0.4)
        for (double y = -2.8; y < 2.9; y += 0.4) {
            struct choice_world w = world(x, y);
            w.me = (struct pose2){x + 0.3, y, M_PI}; /* even if it stands on the wrong side */
            add(&w, x + 0.6, y, true);
            struct kick_choice c = choose(&w);
            assert_int_not_equal(c.way, KICK_WAY_NONE);
            double angle = atan2(c.y - y, c.x - x), reach = w.ways[c.way].reach * c.strength;
            double ex = x + reach * cos(angle), ey = y + reach * sin(angle);
            assert_false(ex < -4.47 && fabs(ey) < 1.3);
            assert_true(c.value > -0.9);
        }
}

/* The ball would come back from a mate who stands right before it, into the own goal. */
static void before_the_own_goal_it_kicks_past_a_mate(void **state)
{
    (void)state;
    for (double y = -0.9; y < 1; y += 0.3)
        for (double to = -0.6; to < 0.7; to += 0.2) {
            struct choice_world w = world(-3.8, y);
            w.me = (struct pose2){-4.1, y, 0};
            w.speed = 0.6;
            w.last_time = 0.5;
            add(&w, -3.8 + 0.35 * cos(to), y + 0.35 * sin(to), false);
            add(&w, -3.2, y - 0.9, true);
            add(&w, -3, y + 0.6, true);
            struct kick_choice c = choose(&w);
            double aside = fabs(angle_normal(atan2(c.y - y, c.x + 3.8) - to));
            assert_true(aside > M_PI / 2 || 0.35 * sin(aside) > 0.15);
        }
}

static void a_choice_is_kept_unless_another_is_clearly_better(void **state)
{
    (void)state;
    struct choice_world w = world(2.8, 0);
    struct kick_choice last = choose(&w);
    int changes = 0;
    for (int i = 0; i < 200; i++) { /* the ball is seen here and there */
        w.ball_x = 2.8 + 0.03 * sin(1.7 * i);
        w.ball_y = 0.03 * cos(2.9 * i);
        struct kick_choice c = choose_kick(&w, &last, 0.05);
        changes += c.way != last.way ||
                   fabs(atan2(c.y - w.ball_y, c.x - w.ball_x) - atan2(last.y - w.ball_y, last.x - w.ball_x)) > 0.2;
        last = c;
    }
    assert_true(changes < 10);
}

static void a_free_mate_before_the_goal_gets_a_pass(void **state)
{
    (void)state;
    struct choice_world w = world(-2, -2);
    add(&w, -1.2, -1.5, true);
    add(&w, -1.2, -2.2, true);
    add(&w, 3, -0.2, true);
    add(&w, 0, 1.0, false);
    struct kick_choice c = choose(&w);
    assert_true(c.pass);
    assert_true(hypot(c.x - 0.3, c.y - 1) < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_open_goal_it_shoots),
        cmocka_unit_test(a_goal_that_would_not_count_is_not_tried),
        cmocka_unit_test(a_far_shot_is_a_strong_one_where_there_is_time),
        cmocka_unit_test(it_plays_past_who_stands_in_the_way),
        cmocka_unit_test(it_never_kicks_at_a_rival_who_stands_before_the_ball),
        cmocka_unit_test(a_throw_in_goes_into_the_field),
        cmocka_unit_test(nowhere_it_kicks_towards_the_own_goal),
        cmocka_unit_test(before_the_own_goal_it_kicks_past_a_mate),
        cmocka_unit_test(a_choice_is_kept_unless_another_is_clearly_better),
        cmocka_unit_test(a_free_mate_before_the_goal_gets_a_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
