/* An action of a line-up is called from outside as ROS 2 does it: goal, feedback, status, and a result that is asked
 * for before it is there; and a goal is cancelled. */
#include "edge/dds/wire.h"

#include "core/action.h"
#include "humanoid_league_msgs/PlayAnimation.h"

/* Plays until it has counted to fifty. */
struct actor {
    struct nm *nm;
    nm_action(PlayAnimation) play;
    int left;
};
static void act(struct actor *a)
{
    if (nm_action_step(a->nm, PlayAnimation, &a->play)) {
        nm_action_accept(a->nm, PlayAnimation, &a->play);
        a->left = 50;
    }
    if (!nm_action_active(&a->play)) return;
    if (a->play.state.cancel) {
        nm_action_finish(a->nm, PlayAnimation, &a->play, GoalStatus_STATUS_CANCELED);
        return;
    }
    nm_action_feedback(a->nm, PlayAnimation, &a->play)->percent_done = (uint8_t)(100 - 2 * --a->left);
    if (!a->left) nm_action_finish(a->nm, PlayAnimation, &a->play, GoalStatus_STATUS_SUCCEEDED)->successful = true;
}
#define SELF struct actor
static const struct nm_port actor_ports[] = {NM_ACTION(play, PlayAnimation, "animation"), {0}};
NM_MODULE(actor, "Plays.", NM_PORTS(actor_ports), .step = NM_CALL(act))
#undef SELF

enum { SEND, RESULT, CANCEL, CALLS };
static const char *const names[CALLS] = {"send_goal", "get_result", "cancel_goal"};
static const char *const stems[CALLS] = {"humanoid_league_msgs::action::dds_::PlayAnimation_SendGoal",
                                         "humanoid_league_msgs::action::dds_::PlayAnimation_GetResult",
                                         "action_msgs::srv::dds_::CancelGoal"};
static const uint64_t our_id = 0x0102030405060708;

static struct started s;
static struct nm_dds *dds;
static struct peer peer;
static int64_t now_ms;
static dds_entity_t requests[CALLS], replies[CALLS], feedback, status;

static void turn(void)
{
    now_ms += 10;
    run_until(&s, now_ms);
    nm_dds_poll(dds);
}

static bool all_there(void)
{
    bool there = true;
    for (int i = 0; i < CALLS; i++) there &= readers_of(requests[i]) == 1;
    return there && nm_dds_matched(dds, "animation/_action/feedback");
}

static int begin(void **state)
{
    struct nm_err err = {0};
    int domain = private_domain();
    (void)state;
    now_ms = 0;
    start(&s, "cycles:\n  body:\n    period: 10 ms\n    modules: [actor]\n");
    const char *const shared[] = {"animation"};
    dds = nm_dds_new(s.player,
                     &(struct nm_dds_options){.domain = domain, .virtual_time = true, .n_topics = 1, .topics = shared},
                     &err);
    if (!dds) fail_msg("%s", err.text);
    run_until(&s, 1);
    peer_join(&peer, domain);
    for (int i = 0; i < CALLS; i++) {
        char name[128], type[128];
        snprintf(name, sizeof name, "rr/animation/_action/%sReply", names[i]);
        snprintf(type, sizeof type, "%s_Response_", stems[i]);
        replies[i] = peer_reader(&peer, name, type, false);
        snprintf(name, sizeof name, "rq/animation/_action/%sRequest", names[i]);
        snprintf(type, sizeof type, "%s_Request_", stems[i]);
        requests[i] = peer_writer(&peer, name, type, true, NULL);
    }
    feedback = peer_reader(&peer, "rt/animation/_action/feedback",
                           "humanoid_league_msgs::action::dds_::PlayAnimation_FeedbackMessage_", false);
    status = peer_reader(&peer, "rt/animation/_action/status", "action_msgs::msg::dds_::GoalStatusArray_", true);
    wait_until(all_there(), turn());
    return 0;
}

static int end(void **state)
{
    (void)state;
    peer_leave(&peer, private_domain());
    nm_dds_free(dds);
    stop(&s);
    return 0;
}

static void ask(int call, const struct nm_type *type, const void *message)
{
    static uint8_t bytes[4096];
    int64_t seq = 1, n = nm_cdr_encode(type, message, bytes + 16, sizeof bytes - 16);
    assert_true(n > 0);
    memcpy(bytes, "\0\1\0\0", 4);
    memcpy(bytes + 4, &our_id, 8);
    memcpy(bytes + 12, &seq, 8);
    assert_int_equal(nm_raw_write(requests[call], bytes, (size_t)n + 16), 0);
}

static void get(int call, const struct nm_type *type, void *message)
{
    static uint8_t bytes[4096];
    wait_until(peer_take(&peer, replies[call]), turn());
    size_t n = peer.samples[0].size;
    assert_true(n > 20 && n < sizeof bytes);
    assert_memory_equal(peer.samples[0].bytes + 4, &our_id, 8);
    memcpy(bytes, peer.samples[0].bytes, 4);
    memcpy(bytes + 4, peer.samples[0].bytes + 20, n - 20);
    assert_int_equal(nm_cdr_decode(type, message, bytes, n - 16, NULL, NULL), 0);
}

static void send_goal(void)
{
    static PlayAnimation_SendGoal_Request goal;
    static PlayAnimation_SendGoal_Response answer;
    for (uint8_t i = 0; i < 16; i++) goal.goal_id.uuid[i] = (uint8_t)(i + 1);
    nm_text(goal.goal.animation, "wave");
    ask(SEND, &PlayAnimation_SendGoal_Request_type, &goal);
    get(SEND, &PlayAnimation_SendGoal_Response_type, &answer);
    assert_true(answer.accepted);
}

static void ask_result(void)
{
    static PlayAnimation_GetResult_Request request;
    for (uint8_t i = 0; i < 16; i++) request.goal_id.uuid[i] = (uint8_t)(i + 1);
    ask(RESULT, &PlayAnimation_GetResult_Request_type, &request);
}

static void a_goal_is_followed_to_its_result(void **state)
{
    static PlayAnimation_GetResult_Response result;
    static PlayAnimation_FeedbackMessage progress;
    static GoalStatusArray list;
    (void)state;
    send_goal();
    ask_result();
    wait_until(peer_take(&peer, feedback), turn());
    assert_int_equal(nm_cdr_decode(&PlayAnimation_FeedbackMessage_type, &progress, peer.samples[0].bytes,
                                   peer.samples[0].size, NULL, NULL),
                     0);
    assert_int_equal(progress.goal_id.uuid[15], 16);
    get(RESULT, &PlayAnimation_GetResult_Response_type, &result);
    assert_int_equal(result.status, GoalStatus_STATUS_SUCCEEDED);
    assert_true(result.result.successful);
    while (peer_take(&peer, status)) {
        assert_int_equal(
            nm_cdr_decode(&GoalStatusArray_type, &list, peer.samples[0].bytes, peer.samples[0].size, NULL, NULL), 0);
    }
    assert_true(list.status_list.n >= 1);
}

static void a_goal_is_cancelled(void **state)
{
    static PlayAnimation_GetResult_Response result;
    static CancelGoal_Request cancel; /* all zero: every goal */
    static CancelGoal_Response answer;
    (void)state;
    send_goal();
    ask_result();
    ask(CANCEL, &CancelGoal_Request_type, &cancel);
    get(CANCEL, &CancelGoal_Response_type, &answer);
    assert_int_equal(answer.return_code, CancelGoal_Response_ERROR_NONE);
    assert_int_equal(answer.goals_canceling.n, 1);
    get(RESULT, &PlayAnimation_GetResult_Response_type, &result);
    assert_int_equal(result.status, GoalStatus_STATUS_CANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_goal_is_followed_to_its_result, begin, end),
        cmocka_unit_test_setup_teardown(a_goal_is_cancelled, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
