/* labels: threads
 * A goal is sent from outside and followed: refused, fed back on, finished, cancelled; a server that goes away is told.
 * In real time, since the looking side waits. */
#include "edge/dds/wire.h"

#include "core/action.h"
#include "edge/dds/dds_look.h"
#include "humanoid_league_msgs/PlayAnimation.h"

/* Counts to twenty, or for ever with "endless"; does not dance. */
struct actor {
    struct nm *nm;
    nm_action(PlayAnimation) play;
    int left;
};
static void act(struct actor *a)
{
    const PlayAnimation_Goal *goal = nm_action_step(a->nm, PlayAnimation, &a->play);
    if (goal && !strcmp(goal->animation, "dance")) {
        nm_action_reject(a->nm, PlayAnimation, &a->play);
    } else if (goal) {
        nm_action_accept(a->nm, PlayAnimation, &a->play);
        a->left = strcmp(goal->animation, "endless") ? 20 : 1000000;
    }
    if (!nm_action_active(&a->play)) return;
    if (a->play.state.cancel) {
        nm_action_finish(a->nm, PlayAnimation, &a->play, GoalStatus_STATUS_CANCELED);
        return;
    }
    nm_action_feedback(a->nm, PlayAnimation, &a->play)->percent_done = 50;
    if (!--a->left) nm_action_finish(a->nm, PlayAnimation, &a->play, GoalStatus_STATUS_SUCCEEDED)->successful = true;
}
#define SELF struct actor
static const struct nm_port actor_ports[] = {NM_ACTION(play, PlayAnimation, "animation"), {0}};
NM_MODULE(actor, "Plays.", NM_PORTS(actor_ports), .step = NM_CALL(act))
#undef SELF

static struct started s;
static struct nm_dds *dds;
static struct nm_look *look;
static struct nm_look_action action;
static struct nm_err err;
static uint32_t fed;

static int begin(void **state)
{
    (void)state;
    err = (struct nm_err){0};
    fed = 0;
    start(&s, "cycles:\n  body:\n    period: 10 ms\n    modules: [actor]\n");
    dds = nm_dds_new(s.player, &(struct nm_dds_options){.domain = private_domain()}, &err);
    if (!dds || nm_player_start(s.player, &err) || nm_dds_start(dds, &err)) fail_msg("%s", err.text);
    look = nm_look_new(private_domain(), false, &err);
    if (!look) fail_msg("%s", err.text);
    assert_int_equal(nm_look_action_find("humanoid_league_msgs/PlayAnimation", &action, &err), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_look_free(look);
    nm_dds_free(dds);
    stop(&s);
    return 0;
}

static void listen_to(void *user, const void *feedback)
{
    const PlayAnimation_Feedback *said = feedback;
    (void)user;
    fed += said->percent_done == 50;
}

static struct nm_look_goal *send_goal(const char *name, const char *animation)
{
    static PlayAnimation_Goal message;
    nm_text(message.animation, "%s", animation);
    struct nm_look_goal *goal = nm_look_goal_new(look, name, &action, &message, &err);
    if (!goal) fail_msg("%s", err.text);
    return goal;
}

static int turn_of(struct nm_look_goal *goal) { return nm_look_goal_turn(goal, listen_to, NULL, &err); }

static void a_goal_is_followed_to_its_result(void **state)
{
    (void)state;
    struct nm_look_goal *goal = send_goal("/animation", "wave");
    wait_until(turn_of(goal) == NM_GOAL_ENDED, );
    assert_int_equal(nm_look_goal_status(goal), GoalStatus_STATUS_SUCCEEDED);
    assert_true(((const PlayAnimation_Result *)nm_look_goal_result(goal))->successful);
    assert_true(fed > 0);
    nm_look_goal_free(goal);
}

static void a_goal_can_be_refused(void **state)
{
    (void)state;
    struct nm_look_goal *goal = send_goal("animation", "dance");
    wait_until(turn_of(goal) == NM_GOAL_REJECTED, );
    nm_look_goal_free(goal);
}

static void a_goal_is_cancelled(void **state)
{
    (void)state;
    struct nm_look_goal *goal = send_goal("animation", "endless");
    wait_until(turn_of(goal) == NM_GOAL_ACCEPTED && fed > 2, );
    nm_look_goal_cancel(goal);
    wait_until(turn_of(goal) == NM_GOAL_ENDED, );
    assert_int_equal(nm_look_goal_status(goal), GoalStatus_STATUS_CANCELED);
    nm_look_goal_free(goal);
}

static void a_server_that_goes_away_is_told(void **state)
{
    (void)state;
    struct nm_look_goal *goal = send_goal("animation", "endless");
    wait_until(turn_of(goal) == NM_GOAL_ACCEPTED && fed > 2, );
    nm_dds_free(dds);
    dds = NULL;
    wait_until(turn_of(goal) < 0, );
    assert_non_null(strstr(err.text, "/animation/_action/get_result: the server is gone"));
    nm_look_goal_free(goal);
}

static void without_a_server_nothing_is_sent(void **state)
{
    (void)state;
    struct nm_look_goal *goal = send_goal("nobody", "wave");
    for (int i = 0; i < 20; i++) assert_int_equal(turn_of(goal), NM_GOAL_SEARCHING);
    nm_look_goal_free(goal);
}

static void a_type_that_is_no_action_is_refused(void **state)
{
    (void)state;
    struct nm_look_action found;
    assert_int_equal(nm_look_action_find("humanoid_league_msgs/action/Kick", &found, &err), 0);
    assert_string_equal(found.goal->name, "humanoid_league_msgs/action/Kick_Goal");
    static const char *const none[] = {"std_srvs/SetBool", "Kick", "", "/", "a/action/"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct nm_err why = {0};
        assert_int_equal(nm_look_action_find(none[i], &found, &why), -1);
        assert_non_null(strstr(why.text, "there is no action type"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_goal_is_followed_to_its_result, begin, end),
        cmocka_unit_test_setup_teardown(a_goal_can_be_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_goal_is_cancelled, begin, end),
        cmocka_unit_test_setup_teardown(a_server_that_goes_away_is_told, begin, end),
        cmocka_unit_test_setup_teardown(without_a_server_nothing_is_sent, begin, end),
        cmocka_unit_test_setup_teardown(a_type_that_is_no_action_is_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
