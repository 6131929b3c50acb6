/* The book of a tournament: ratings against closed forms, and a file that is read as it was written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/tournament.h"

static struct tournament book_of(uint32_t teams)
{
    static const char *const names[] = {"match", "beginner", "darwin,match"};
    struct tournament t = {.settings = "league hsl", .n_teams = teams};
    for (uint32_t i = 0; i < teams; i++) t.teams[i] = names[i];
    return t;
}

static void play(struct tournament *t, uint32_t a, uint32_t b, uint32_t n, uint32_t goals_a, uint32_t goals_b)
{
    for (uint32_t i = 0; i < n; i++)
        tournament_add(
            t, &(struct tournament_game){.first = a, .second = b, .seed = t->n_games, .goals = {goals_a, goals_b}});
}

/* 75 of 100 points are 400 log10(3) apart; the game against the mean changes that by little. */
static void test_two_teams(void **state)
{
    struct tournament t = book_of(2);
    struct tournament_rank ranks[TOURNAMENT_TEAMS];
    (void)state;
    play(&t, 0, 1, 100, 1, 2);
    play(&t, 0, 1, 200, 3, 1);
    play(&t, 0, 1, 100, 0, 0);
    tournament_rank(&t, ranks);
    double apart = ranks[0].elo - ranks[1].elo, points = 250.0 / 400;
    assert_int_equal(ranks[0].team, 0);
    assert_true(fabs(apart - 400 * log10(points / (1 - points))) < 3);
    assert_true(fabs(ranks[0].elo + ranks[1].elo) < 1e-6);
    assert_true(fabs(ranks[0].points - 250) < 1e-9);
    assert_true(fabs(ranks[0].goals - 0.75) < 1e-9 && fabs(ranks[1].goals + 0.75) < 1e-9);
    /* the interval holds the value, and is that of a share of 400 games */
    assert_true(ranks[0].low < ranks[0].elo && ranks[0].elo < ranks[0].high);
    assert_true(ranks[0].high - ranks[0].low > 15 && ranks[0].high - ranks[0].low < 60);
    tournament_free(&t);
}

/* Games that all end alike tell how strong the teams are, but not to a hair. */
static void test_no_spread(void **state)
{
    struct tournament t = book_of(2);
    struct tournament_rank ranks[TOURNAMENT_TEAMS];
    (void)state;
    play(&t, 0, 1, 2, 1, 1);
    tournament_rank(&t, ranks);
    assert_true(fabs(ranks[0].elo) < 1e-6);
    assert_true(ranks[0].low < -100 && ranks[0].low > -300 && ranks[0].high > 100 && ranks[0].high < 300);
    tournament_free(&t);
    t = book_of(2);
    play(&t, 0, 1, 20, 3, 0); /* one team takes all */
    tournament_rank(&t, ranks);
    assert_true(ranks[0].low > 0 && ranks[0].low < ranks[0].elo - 50);
    assert_true(isfinite(ranks[0].high) && ranks[0].high > ranks[0].elo);
    assert_true(fabs(ranks[0].low + ranks[1].high) < 1e-6);
    tournament_free(&t);
}

static void test_three_teams(void **state)
{
    struct tournament t = book_of(3);
    struct tournament_rank ranks[TOURNAMENT_TEAMS];
    (void)state;
    play(&t, 0, 1, 50, 0, 1);
    play(&t, 1, 2, 50, 0, 1);
    tournament_rank(&t, ranks); /* 0 and 2 never met: the order follows all the same */
    assert_int_equal(ranks[0].team, 2);
    assert_int_equal(ranks[1].team, 1);
    assert_int_equal(ranks[2].team, 0);
    assert_true(isfinite(ranks[0].elo) && isfinite(ranks[0].low));
    tournament_free(&t);
}

static void test_file(void **state)
{
    char path[] = "/tmp/tournament_XXXXXX";
    struct tournament t = book_of(3), again = book_of(3);
    struct nm_err err = {0};
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    play(&t, 0, 1, 3, 2, 1);
    play(&t, 1, 2, 2, 0, 4);
    tournament_write_head(&t, file);
    for (uint32_t i = 0; i < t.n_games; i++) tournament_write_game(&t, &t.games[i], file);
    fputs("beginner match 77 5 6\nstranger match 1 1 1\nmatch beginner 78 1", file); /* turned; unknown; cut off */
    fclose(file);
    assert_int_equal(tournament_read(&again, path, &err), 0);
    assert_int_equal(again.n_games, 6);
    assert_memory_equal(again.games, t.games, 5 * sizeof *t.games);
    assert_true(again.games[5].first == 0 && again.games[5].goals[0] == 6);
    assert_true(tournament_played(&again, 0, 1, 77));
    assert_false(tournament_played(&again, 0, 1, 78));
    tournament_free(&again);
    /* other settings, and lines that are none */
    again = book_of(3);
    snprintf(again.settings, sizeof again.settings, "league spl");
    assert_int_equal(tournament_read(&again, path, &err), -1);
    assert_non_null(strstr(err.text, "other settings"));
    file = fopen(path, "w");
    tournament_write_head(&t, file);
    fputs("match beginner -1 2\n", file);
    fclose(file);
    again = book_of(3);
    assert_int_equal(tournament_read(&again, path, &err), -1);
    assert_non_null(strstr(err.text, ":2: a line is"));
    unlink(path);
    assert_int_equal(tournament_read(&again, path, &err), 0); /* nothing was played yet */
    tournament_free(&again);
    tournament_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_teams), cmocka_unit_test(test_no_spread),
                                       cmocka_unit_test(test_three_teams), cmocka_unit_test(test_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
