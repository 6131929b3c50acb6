/* The book of statistics: who goes to the ball, falls, shots and goals. */
#include "judged_game.h"
#include "sim/scorebook.h"

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
        cmocka_unit_test(test_who_goes_to_the_ball),
        cmocka_unit_test(test_falls_in_the_book),
        cmocka_unit_test(test_goals_in_the_book),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
