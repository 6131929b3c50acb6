/* Lines of text as events of a match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "referee/orders.h"

static struct nm_match match_of(void)
{
    struct nm_match m;
    assert_int_equal(
        nm_match_begin(&m, &(struct nm_match_options){.league = NM_GAME_HSL, .team_numbers = {12, 34}}, NULL), 0);
    return m;
}

static void test_orders(void **state)
{
    static const struct {
        const char *line;
        struct nm_match_event event;
    } rows[] = {
        {"ready", {.kind = NM_MATCH_READY}},
        {"  play ", {.kind = NM_MATCH_PLAY}},
        {"goal blue", {.kind = NM_MATCH_GOAL, .team = 1}},
        {"goal 34", {.kind = NM_MATCH_GOAL, .team = 1}},
        {"kick red corner", {.kind = NM_MATCH_KICK, .set_play = NM_GAME_CORNER_KICK}},
        {"kick 34 free", {.kind = NM_MATCH_KICK, .team = 1, .set_play = NM_GAME_DIRECT_FREE_KICK}},
        {"penalty blue 3 push", {.kind = NM_MATCH_PENALTY, .team = 1, .player = 3, .offence = NM_OFFENCE_PUSHING}},
        {"penalty red 20 red", {.kind = NM_MATCH_PENALTY, .player = 20, .offence = NM_OFFENCE_RED_CARD}},
        {"substitute red 5 2", {.kind = NM_MATCH_SUBSTITUTE, .player = 5, .other = 2}},
        {"second", {.kind = NM_MATCH_SECOND_HALF}},
    };
    struct nm_match m = match_of();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nm_match_event e;
        struct nm_err err = {0};
        if (nm_order_read(&m, rows[i].line, &e, &err)) fail_msg("%s: %s", rows[i].line, err.text);
        assert_memory_equal(&e, &rows[i].event, sizeof e);
    }
}

static void test_faults(void **state)
{
    static const char *const rows[][2] = {
        {"", "nothing in this line"},
        {"gaol red", "did you mean goal"},
        {"goal", "goal wants 1 more word, not 0"},
        {"goal green", "no team 'green'"},
        {"goal 13", "they are 12 and 34"},
        {"kick red cornre", "did you mean corner"},
        {"penalty red two pushing", "'two' is not a number"},
        {"penalty red -2 pushing", "'-2' is not a number"},
        {"penalty red 2 st", "more than one offence"},
        {"ready now", "ready wants 0 more words, not 1"},
    };
    struct nm_match m = match_of();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nm_match_event e;
        struct nm_err err = {0};
        assert_int_equal(nm_order_read(&m, rows[i][0], &e, &err), -1);
        if (!strstr(err.text, rows[i][1])) fail_msg("'%s' says %s", rows[i][0], err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders), cmocka_unit_test(test_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
