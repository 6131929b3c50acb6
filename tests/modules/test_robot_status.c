/* Status packets: no more of them than the rules allow, what they say, and that the monitor takes them and nothing
 * else. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "core/harness.h"
#include "modules/team/status_packet.h"
#include "nutmeg_msgs/BehaviorState.h"
#include "nutmeg_msgs/Datagram.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/ServoStates.h"
#include "nutmeg_msgs/TeamMessage.h"
#include "nutmeg_msgs/TeamMonitor.h"

extern const struct nm_module robot_status_module, team_monitor_module;

static Datagram last;

static uint32_t packets(uint8_t league, double seconds)
{
    struct nm_harness *h = nm_harness_new(&robot_status_module, NULL);
    uint32_t n = 0;
    for (double t = 0; t < seconds; t += 0.05) {
        const void *const *at;
        *(MatchState *)nm_harness_set(h, "match_state") =
            (MatchState){.own_team = 6, .player_number = 3, .league = league, .state = MatchState_PLAYING};
        HcmState *hcm = nm_harness_set(h, "hcm_state");
        hcm->state = HcmState_WALKING;
        nm_text(((BehaviorState *)nm_harness_set(h, "behavior_state"))->skill, "dribble");
        nm_text(((TeamMessage *)nm_harness_set(h, "team_message"))->errors, "camera");
        ServoStates *servos = nm_harness_set(h, "servo_states");
        servos->name.n = servos->temperature.n = servos->error.n = 3;
        for (uint32_t i = 0; i < 3; i++) {
            snprintf(servos->name.at[i], sizeof servos->name.at[i], "joint%u", i);
            servos->temperature.at[i] = (float[]){30, 55, NAN}[i];
            servos->error.at[i] = i == 2 ? ServoStates_ERROR_SILENT : 0;
        }
        nm_harness_step(h, 0.05);
        uint32_t more = nm_harness_queue(h, "status/sent", &at);
        if (more) nm_copy(&Datagram_type, &last, at[more - 1]);
        n += more;
    }
    nm_harness_free(h);
    return n;
}

static void there_are_no_more_than_the_rules_allow(void **state)
{
    (void)state;
    uint32_t hsl = packets(MatchState_LEAGUE_HSL, 60), spl = packets(MatchState_LEAGUE_SPL, 60);
    assert_true(hsl <= 61 && hsl >= 55);
    assert_true(spl <= 31 && spl >= 27);
}

static const TeamMonitor *hear(struct nm_harness *h, const void *bytes, size_t n)
{
    Datagram *d = nm_harness_set(h, "status/received");
    memcpy(d->data.at, bytes, n);
    d->data.n = (uint32_t)n;
    nm_harness_step(h, 0.1);
    return nm_harness_get(h, "team_monitor");
}

static void the_monitor_knows_what_the_robot_told(void **state)
{
    (void)state;
    packets(MatchState_LEAGUE_HSL, 2);
    assert_int_equal(last.port, 12006);
    assert_true(last.data.n < 400);
    struct nm_harness *h = nm_harness_new(&team_monitor_module, "team=6");
    const TeamMonitor *m = hear(h, last.data.at, last.data.n);
    assert_int_equal(m->robots.n, 1);
    const RobotStatus *s = &m->robots.at[0];
    assert_int_equal(s->player_number, 3);
    assert_int_equal(s->state, HcmState_WALKING);
    assert_string_equal(s->skill, "dribble");
    assert_string_equal(s->software, "camera");
    assert_string_equal(s->hottest, "joint1");
    assert_true(s->temperature == 55);
    assert_string_equal(s->hardware, "joint2: silent");
    for (int i = 0; i < 20; i++) nm_harness_step(h, 0.1);
    m = nm_harness_get(h, "team_monitor");
    assert_true(m->age.at[0] > 1.9f && m->age.at[0] < 2.2f && m->received.at[0] == 1);
    nm_harness_free(h);
    h = nm_harness_new(&team_monitor_module, "team=7"); /* of another team */
    m = hear(h, last.data.at, last.data.n);
    assert_true(m->robots.n == 0 && m->refused == 1);
    nm_harness_free(h);
}

static void bytes_that_are_no_packet_change_nothing(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    packets(MatchState_LEAGUE_HSL, 2);
    struct nm_harness *h = nm_harness_new(&team_monitor_module, "team=6");
    for (uint32_t n = 0; n < last.data.n; n++) assert_int_equal(hear(h, last.data.at, n)->robots.n, 0); /* cut short */
    for (int i = 0; i < 2000; i++) {
        uint8_t bytes[1472];
        uint32_t n = (uint32_t)(nm_dice_bits(&dice) % sizeof bytes);
        for (uint32_t k = 0; k < n; k++) bytes[k] = (uint8_t)nm_dice_bits(&dice);
        assert_int_equal(hear(h, bytes, n)->robots.n, 0);
    }
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_no_more_than_the_rules_allow),
        cmocka_unit_test(the_monitor_knows_what_the_robot_told),
        cmocka_unit_test(bytes_that_are_no_packet_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
