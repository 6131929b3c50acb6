/* Remote control is open exactly where the rules leave a robot to its team: before and after the game, in time-outs,
 * while it is penalised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "edge/rules/gate.h"

static void test_every_state(void **state)
{
    (void)state;
    for (int s = 0; s < 256; s++) {
        MatchState match = {.state = (uint8_t)s};
        bool open = s == MatchState_INITIAL || s == MatchState_FINISHED;
        assert_int_equal(nm_remote_locked(&match) == NULL, open);
        if (!open) assert_non_null(strstr(nm_remote_locked(&match), "the rules forbid remote control"));
        match.penalized = true;
        assert_null(nm_remote_locked(&match));
        match.penalized = false;
        match.phase = MatchState_PHASE_TIMEOUT;
        assert_null(nm_remote_locked(&match));
    }
}

static void test_a_silent_game_controller_opens_nothing(void **state)
{
    (void)state;
    MatchState match = {.state = MatchState_PLAYING, .connected = false};
    assert_non_null(nm_remote_locked(&match));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_state),
        cmocka_unit_test(test_a_silent_game_controller_opens_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
