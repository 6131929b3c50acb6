/* An action server as a member of a module. An action is a goal that takes time; it has feedback, can be cancelled, and
 * has a result that clients may ask for later. As in ROS 2 it consists of three services and two topics. The server
 * works on one goal at a time.
 *
 *     struct kicker {
 *         struct nm *nm;
 *         nm_action(Kick) kick;          // its row among the ports: NM_ACTION(kick, Kick, "kick")
 *     };
 *
 *     static void step(struct kicker *f)
 *     {
 *         const Kick_Goal *goal = nm_action_step(f->nm, Kick, &f->kick);    // first in every step
 *         if (goal) nm_action_accept(f->nm, Kick, &f->kick);                // or nm_action_reject
 *         if (!nm_action_active(&f->kick)) return;
 *
 *         Kick_Feedback *now = nm_action_feedback(f->nm, Kick, &f->kick);
 *         now->percent_done = ...;
 *         int8_t status = f->kick.state.cancel ? GoalStatus_STATUS_CANCELED : GoalStatus_STATUS_SUCCEEDED;
 *         if (f->kick.state.cancel || done) {
 *             Kick_Result *result = nm_action_finish(f->nm, Kick, &f->kick, status);
 *             result->result = ...;
 *         }
 *     }
 *
 * A new goal must be answered in the step that gets it. The module decides whether a new goal is more important than
 * the active one: to accept it aborts the active one. Fill the result of nm_action_finish before the step ends; clients
 * get it with the next nm_action_step. */
#pragma once

#include "action_msgs/CancelGoal.h"
#include "action_msgs/GoalStatus.h"
#include "action_msgs/GoalStatusArray.h"
#include "base/export.h"
#include "core/nm.h"

enum { NM_ACTION_GOALS = 4, NM_ACTION_WAITING = 8, NM_ACTION_DEPTH = 4 };

struct nm_action_goal {
    uint8_t id[16];
    int64_t accepted; /* ns */
    int8_t status;    /* GoalStatus_…; 0: free */
};

struct nm_action_state {
    struct nm_action_goal goals[NM_ACTION_GOALS]; /* the active one and those that ended last */
    int32_t active;                               /* index + 1, 0: none                     */
    uint32_t next;
    bool cancel;     /* a client asked to end the active goal */
    bool told;       /* the status has been published         */
    const void *ask; /* request answered in this step          */
    struct {
        uint8_t id[16];
        uint64_t caller;
        int64_t call;
        bool used;
    } waiting[NM_ACTION_WAITING]; /* clients that wait for a result */
};

#define nm_action(T)                                                                                                   \
    struct {                                                                                                           \
        nm_server(T##_SendGoal) send_goal;                                                                             \
        nm_server(CancelGoal) cancel_goal;                                                                             \
        nm_server(T##_GetResult) get_result;                                                                           \
        nm_out_queue(T##_FeedbackMessage) feedback;                                                                    \
        nm_out_queue(GoalStatusArray) status;                                                                          \
        struct nm_action_state state;                                                                                  \
        T##_Result results[NM_ACTION_GOALS];                                                                           \
    }

#define NM_ACTION(member, T, name)                                                                                     \
    NM_SERVER(member.send_goal, T##_SendGoal, name "/_action/send_goal", NM_ACTION_DEPTH),                             \
        NM_SERVER(member.cancel_goal, CancelGoal, name "/_action/cancel_goal", NM_ACTION_DEPTH),                       \
        NM_SERVER(member.get_result, T##_GetResult, name "/_action/get_result", NM_ACTION_DEPTH),                      \
        NM_OUT_QUEUE(member.feedback, T##_FeedbackMessage, name "/_action/feedback", NM_ACTION_DEPTH),                 \
        NM_OUT_QUEUE(member.status, GoalStatusArray, name "/_action/status", NM_ACTION_DEPTH)

/* The same member without its types. */
struct nm_action_parts {
    struct nm_action_state *state;
    nm_queue(void) * goals, *cancels, *asks;
    struct nm_ring *goal_replies, *cancel_replies, *results, *feedback, *status;
    const struct nm_type *result_type;
    unsigned char *result; /* of goal 0 */
    size_t result_size, result_at, goal_at, feedback_at, accepted_at, stamp_at, status_at;
};

#define NM_ACTION_PARTS(T, a)                                                                                          \
    &(struct nm_action_parts)                                                                                          \
    {                                                                                                                  \
        .state = &(a)->state, .goals = (void *)&(a)->send_goal.requests,                                               \
        .cancels = (void *)&(a)->cancel_goal.requests, .asks = (void *)&(a)->get_result.requests,                      \
        .goal_replies = (a)->send_goal.replies.ring, .cancel_replies = (a)->cancel_goal.replies.ring,                  \
        .results = (a)->get_result.replies.ring, .feedback = (a)->feedback.ring, .status = (a)->status.ring,           \
        .result_type = &T##_Result_type, .result = (unsigned char *)(a)->results,                                      \
        .result_size = sizeof((a)->results[0]), .result_at = offsetof(T##_GetResult_Response, result),                 \
        .goal_at = offsetof(T##_SendGoal_Request, goal), .feedback_at = offsetof(T##_FeedbackMessage, feedback),       \
        .accepted_at = offsetof(T##_SendGoal_Response, accepted), .stamp_at = offsetof(T##_SendGoal_Response, stamp),  \
        .status_at = offsetof(T##_GetResult_Response, status)                                                          \
    }

/* Answers requests to cancel and for results. Returns a new goal, or NULL. Call it first in every step. */
#define nm_action_step(nm, T, a)           ((const T##_Goal *)nm_action_step_((nm), NM_ACTION_PARTS(T, a)))
#define nm_action_accept(nm, T, a)         nm_action_answer_((nm), NM_ACTION_PARTS(T, a), true)
#define nm_action_reject(nm, T, a)         nm_action_answer_((nm), NM_ACTION_PARTS(T, a), false)
#define nm_action_active(a)                ((a)->state.active != 0)
#define nm_action_feedback(nm, T, a)       ((T##_Feedback *)nm_action_feedback_((nm), NM_ACTION_PARTS(T, a)))
#define nm_action_finish(nm, T, a, status) ((T##_Result *)nm_action_finish_((nm), NM_ACTION_PARTS(T, a), (status)))

NM_EXPORT const void *nm_action_step_(struct nm *nm, const struct nm_action_parts *parts);
NM_EXPORT void nm_action_answer_(struct nm *nm, const struct nm_action_parts *parts, bool accept);
NM_EXPORT void *nm_action_feedback_(struct nm *nm, const struct nm_action_parts *parts);
NM_EXPORT void *nm_action_finish_(struct nm *nm, const struct nm_action_parts *parts, int8_t status);
