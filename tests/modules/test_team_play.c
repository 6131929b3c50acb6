/* labels: slow
 * Whole teams in the flat world: they score, have one striker each, free the ball, and beat those who only run after
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clamp.h"
#include "modules/flat_game.h"

/* flat robots kick while walking only, and strongly */
static const char *const flat = "stand_reach=0, dives=false, walk_reach=3.7, walk_spread=0.1";

static void two_teams_play(void **state)
{
    (void)state;
    static struct game g;
    int goals = 0, jams = 0, own = 0;
    double played = 0, none = 0, two = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        game_begin(&g, seed, flat, flat);
        game_kick_off(&g, 0);
        game_play(&g, 240);
        goals += g.goals[0] + g.goals[1];
        own += g.own_goals;
        jams += g.jams;
        played += 2 * g.played;
        none += g.none[0] + g.none[1];
        two += g.two[0] + g.two[1];
        game_end(&g);
    }
    print_message("%d goals, %d own goals, %d jams, nobody at the ball %.1f %%, two %.1f %%\n", goals, own, jams,
                  100 * none / played, 100 * two / played);
    assert_true(goals >= 2);
    assert_true(own <= goals / 2);
    assert_true(jams <= 3);
    assert_true(none < 0.03 * played);
    assert_true(two < 0.03 * played);
}

static void a_team_beats_those_who_run_after_the_ball(void **state)
{
    (void)state;
    static struct game g;
    int us = 0, them = 0;
    for (uint64_t seed = 101; seed <= 106; seed++) {
        game_begin(&g, seed, flat, flat);
        g.beginners = true;
        game_kick_off(&g, 1);
        game_play(&g, 240);
        us += g.goals[0];
        them += g.goals[1];
        game_end(&g);
    }
    print_message("%d:%d\n", us, them);
    assert_true(us > them);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_teams_play),
        cmocka_unit_test(a_team_beats_those_who_run_after_the_ball),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
