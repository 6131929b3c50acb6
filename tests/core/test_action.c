/* An action server on queues: accept, feedback, cancel, results asked for before and after the end. Runs through the
 * harness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/action.h"
#include "core/harness.h"
#include "humanoid_league_msgs/PlayAnimation.h"

/* Plays for five steps; refuses animations without a name. */
struct player {
    struct nm *nm;
    nm_action(PlayAnimation) play;
    int left;
};
#define SELF struct player
static void step(struct player *f)
{
    const PlayAnimation_Goal *goal = nm_action_step(f->nm, PlayAnimation, &f->play);
    if (goal && goal->animation[0]) {
        nm_action_accept(f->nm, PlayAnimation, &f->play);
        f->left = 5;
    } else if (goal) {
        nm_action_reject(f->nm, PlayAnimation, &f->play);
    }
    if (!nm_action_active(&f->play)) return;
    if (f->play.state.cancel) {
        nm_action_finish(f->nm, PlayAnimation, &f->play, GoalStatus_STATUS_CANCELED);
        return;
    }
    f->left--;
    nm_action_feedback(f->nm, PlayAnimation, &f->play)->percent_done = (uint8_t)(100 - 20 * f->left);
    if (f->left == 0) nm_action_finish(f->nm, PlayAnimation, &f->play, GoalStatus_STATUS_SUCCEEDED)->successful = true;
}
static const struct nm_port ports[] = {NM_ACTION(play, PlayAnimation, "animation"), {0}};
NM_MODULE(animation_player, "Plays for five steps.", NM_PORTS(ports), .step = NM_CALL(step))

static const void *const *at;

static void send_goal(struct nm_harness *h, uint8_t id, const char *animation)
{
    PlayAnimation_SendGoal_Request *goal = nm_harness_request(h, "animation/_action/send_goal", id);
    goal->goal_id.uuid[0] = id;
    nm_text(goal->goal.animation, "%s", animation);
}

static void ask_result(struct nm_harness *h, uint8_t id, int64_t call)
{
    PlayAnimation_GetResult_Request *ask = nm_harness_request(h, "animation/_action/get_result", call);
    ask->goal_id.uuid[0] = id;
}

static bool accepted(struct nm_harness *h)
{
    assert_int_equal(nm_harness_queue(h, "animation/_action/send_goal/reply", &at), 1);
    return ((const PlayAnimation_SendGoal_Response *)at[0])->accepted;
}

static int8_t result_status(struct nm_harness *h, int64_t call)
{
    uint32_t n = nm_harness_queue(h, "animation/_action/get_result/reply", &at);
    for (uint32_t i = 0; i < n; i++)
        if (nm_slot(at[i])->call == call) return ((const PlayAnimation_GetResult_Response *)at[i])->status;
    return -1;
}

static void a_goal_runs_to_its_result(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&animation_player_module, NULL);
    send_goal(h, 1, "wave");
    nm_harness_step(h, 0.01);
    assert_true(accepted(h));
    ask_result(h, 1, 11);
    for (int i = 2; i <= 5; i++) {
        nm_harness_step(h, 0.01);
        assert_int_equal(result_status(h, 11), -1); /* the answer waits for the end */
        assert_int_equal(nm_harness_queue(h, "animation/_action/feedback", &at), 1);
        assert_int_equal(((const PlayAnimation_FeedbackMessage *)at[0])->feedback.percent_done, 20 * i);
        assert_int_equal(((const PlayAnimation_FeedbackMessage *)at[0])->goal_id.uuid[0], 1);
    }
    nm_harness_step(h, 0.01);
    assert_int_equal(result_status(h, 11), GoalStatus_STATUS_SUCCEEDED);
    assert_true(((const PlayAnimation_GetResult_Response *)at[0])->result.successful);
    ask_result(h, 1, 12); /* and again, later */
    nm_harness_step(h, 0.01);
    assert_int_equal(result_status(h, 12), GoalStatus_STATUS_SUCCEEDED);
    nm_harness_free(h);
}

static void a_goal_can_be_refused_and_an_unknown_result_is_told(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&animation_player_module, NULL);
    send_goal(h, 1, "");
    ask_result(h, 9, 5);
    nm_harness_step(h, 0.01);
    assert_false(accepted(h));
    assert_int_equal(result_status(h, 5), GoalStatus_STATUS_UNKNOWN);
    nm_harness_free(h);
}

static void a_goal_can_be_cancelled(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&animation_player_module, NULL);
    send_goal(h, 1, "wave");
    ask_result(h, 1, 7);
    nm_harness_step(h, 0.01);
    assert_int_equal(result_status(h, 7), GoalStatus_STATUS_UNKNOWN); /* asked before it was accepted */
    ask_result(h, 1, 8);
    CancelGoal_Request *cancel = nm_harness_request(h, "animation/_action/cancel_goal", 3);
    cancel->goal_info.goal_id.uuid[0] = 1;
    nm_harness_step(h, 0.01);
    assert_int_equal(nm_harness_queue(h, "animation/_action/cancel_goal/reply", &at), 1);
    assert_int_equal(((const CancelGoal_Response *)at[0])->goals_canceling.n, 1);
    nm_harness_step(h, 0.01);
    assert_int_equal(result_status(h, 8), GoalStatus_STATUS_CANCELED);
    nm_harness_free(h);
}

static void a_newer_goal_aborts_the_older(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&animation_player_module, NULL);
    send_goal(h, 1, "wave");
    nm_harness_step(h, 0.01);
    ask_result(h, 1, 1);
    send_goal(h, 2, "bow");
    nm_harness_step(h, 0.01);
    assert_true(accepted(h));
    nm_harness_step(h, 0.01);
    assert_int_equal(result_status(h, 1), GoalStatus_STATUS_ABORTED);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_goal_runs_to_its_result),
        cmocka_unit_test(a_goal_can_be_refused_and_an_unknown_result_is_told),
        cmocka_unit_test(a_goal_can_be_cancelled),
        cmocka_unit_test(a_newer_goal_aborts_the_older),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
