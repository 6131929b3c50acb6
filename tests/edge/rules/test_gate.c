/* One rule for everything that comes from outside: what an edge of ours makes is not taken, nothing is taken while the
 * robot plays, and nobody outside can end the game. */
#include "core/started.h"

#include <stdlib.h>

#include "edge/rules/gate.h"
#include "std_msgs/Int32.h"

struct field_player {
    struct nm *nm;
    const MatchState *match;
    const Int32 *servo, *wish;
};
#define SELF struct field_player
static void step(struct field_player *f) { (void)f; }
static const struct nm_port ports[] = {
    NM_IN(match, MatchState, "match_state"), NM_IN(servo, Int32, "servo"), NM_IN(wish, Int32, "wish"), {0}};
NM_MODULE(field_player, "Plays.", NM_PORTS(ports), .step = NM_CALL(step))

static const char text[] =
    "cycles: {c: {period: 10 ms, modules: [field_player]}}\nremote: [match_state, servo, wish]\n";

static struct started s;
static struct nm_gate *gate;
static struct nm_edge *bus;

enum { SERVO, MATCH };

/* `judged`: the state of the game is told in this process. */
static void begin(bool judged)
{
    struct nm_err err = {0};
    start(&s, text);
    gate = nm_gate_of(s.player, &err);
    if (!gate) fail_msg("%s", err.text);
    assert_ptr_equal(nm_gate_of(s.player, &err), gate); /* all edges share it */
    nm_gate_free(gate);
    const struct nm_edge_port made[] = {{"servo", NM_PORT_OUT, NULL, 0, 0}, {"match_state", NM_PORT_OUT, NULL, 0, 0}};
    bus = nm_edge_new(s.player, "bus", made, judged ? 2 : 1, &err);
    if (!bus) fail_msg("%s", err.text);
    run_until(&s, 1);
}

static void end(void)
{
    nm_gate_free(gate);
    stop(&s);
}

static void judge(MatchState match)
{
    nm_edge_begin(bus, 1);
    nm_copy(&MatchState_type, nm_edge_out(bus, MATCH), &match);
    nm_edge_put(bus, MATCH);
    nm_edge_end(bus);
}

static bool admits(const char *topic, bool here, const void *message, const char *reason)
{
    struct nm_err err = {0};
    int bad = nm_gate_admit(gate, nm_lineup_topic(s.lineup, topic), here, message, &err);
    if (bad && !strstr(err.text, reason)) fail_msg("%s", err.text);
    return !bad;
}

static uint64_t refused(const char *topic)
{
    struct nm_topic_stats stats;
    nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, topic), &stats);
    return stats.refused;
}

static void what_hardware_makes_is_refused_with_a_reason(void **state)
{
    (void)state;
    Int32 number = {.data = 1};
    begin(false);
    for (int here = 0; here < 2; here++)
        assert_false(admits("servo", here, &number, "servo is refused: the edge 'bus' of this process publishes it"));
    assert_int_equal(refused("servo"), 2);
    assert_true(admits("wish", false, &number, ""));
    assert_int_equal(refused("wish"), 0);
    end();
}

static void the_game_told_in_this_process_opens_and_closes(void **state)
{
    (void)state;
    Int32 number = {.data = 1};
    begin(true);
    assert_null(nm_gate_locked(gate));
    for (int i = 0; i < 3; i++) {
        judge((MatchState){.state = MatchState_PLAYING});
        assert_non_null(nm_gate_locked(gate));
        assert_false(admits("wish", false, &number, "wish is refused: the robot plays (PLAYING)"));
        assert_true(admits("wish", true, &number, ""));
        /* nobody else tells it */
        assert_false(admits("match_state", true, &(MatchState){.state = MatchState_INITIAL}, "the edge 'bus'"));
        assert_non_null(nm_gate_locked(gate));
        judge((MatchState){.state = MatchState_PLAYING, .penalized = true});
        assert_null(nm_gate_locked(gate));
        assert_true(admits("wish", false, &number, ""));
    }
    assert_int_equal(refused("wish"), 3);
    end();
}

/* Whatever is said in whatever order: only this machine ends what has begun. */
static void nobody_outside_ends_a_game(void **state)
{
    (void)state;
    Int32 number = {.data = 1};
    uint32_t refusals = 0;
    bool locked = false;
    begin(false);
    srand48(3);
    for (int i = 0; i < 20000; i++) {
        bool here = drand48() < 0.2;
        MatchState match = {.state = (uint8_t)(drand48() * 6), .penalized = drand48() < 0.2};
        if (drand48() < 0.1) match.phase = MatchState_PHASE_TIMEOUT;
        if (drand48() < 0.5) {
            bool open = here || !locked;
            assert_int_equal(admits("match_state", here, &match, "match_state is refused: the robot plays"), open);
            refusals += !open;
            if (open) locked = nm_remote_locked(&match);
        } else {
            assert_int_equal(admits("wish", here, &number, "wish is refused: the robot plays"), here || !locked);
        }
        assert_int_equal(nm_gate_locked(gate) != NULL, locked);
    }
    assert_int_equal(refused("match_state"), refusals);
    assert_true(refusals > 1000);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_hardware_makes_is_refused_with_a_reason),
        cmocka_unit_test(the_game_told_in_this_process_opens_and_closes),
        cmocka_unit_test(nobody_outside_ends_a_game),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
