#include "core/action.h"
#include "core/stamp.h"

#include <string.h>

/* Every request of an action begins with the goal's 16 bytes. */
static struct nm_action_goal *goal_of(struct nm_action_state *state, const uint8_t id[16])
{
    for (int i = 0; i < NM_ACTION_GOALS; i++)
        if (state->goals[i].status && memcmp(state->goals[i].id, id, 16) == 0) return &state->goals[i];
    return NULL;
}

static void tell_status(struct nm *nm, const struct nm_action_parts *parts)
{
    GoalStatusArray *all = nm_push_(nm, parts->status);
    for (int i = 0; i < NM_ACTION_GOALS; i++) {
        const struct nm_action_goal *goal = &parts->state->goals[i];
        GoalStatus *status = goal->status ? nm_append(&all->status_list, &GoalStatus_type) : NULL;
        if (!status) continue;
        memcpy(status->goal_info.goal_id.uuid, goal->id, 16);
        status->goal_info.stamp = nm_stamp(goal->accepted);
        status->status = goal->status;
    }
}

static bool ended(const struct nm_action_goal *goal) { return goal->status >= GoalStatus_STATUS_SUCCEEDED; }

static void send_result(struct nm *nm, const struct nm_action_parts *parts, const struct nm_action_goal *goal,
                        uint64_t caller, int64_t call)
{
    unsigned char *reply = nm_reply_(nm, parts->results, caller, call);
    *(int8_t *)(reply + parts->status_at) = goal ? goal->status : GoalStatus_STATUS_UNKNOWN;
    if (goal)
        nm_copy(parts->result_type, reply + parts->result_at,
                parts->result + parts->result_size * (size_t)(goal - parts->state->goals));
}

/* A result is given at once if the goal has ended (or is unknown); otherwise the client waits. */
static void take_result_requests(struct nm *nm, const struct nm_action_parts *parts)
{
    struct nm_action_state *state = parts->state;
    for (uint32_t i = 0; i < parts->asks->n; i++) {
        const void *ask = parts->asks->at[i];
        struct nm_action_goal *goal = goal_of(state, ask);
        int free = -1;
        for (int w = 0; w < NM_ACTION_WAITING && free < 0; w++)
            if (!state->waiting[w].used) free = w;
        if (!goal || ended(goal) || free < 0) {
            send_result(nm, parts, goal && ended(goal) ? goal : NULL, nm_slot(ask)->caller, nm_slot(ask)->call);
            continue;
        }
        memcpy(state->waiting[free].id, ask, 16);
        state->waiting[free].caller = nm_slot(ask)->caller;
        state->waiting[free].call = nm_slot(ask)->call;
        state->waiting[free].used = true;
    }
    for (int w = 0; w < NM_ACTION_WAITING; w++) {
        struct nm_action_goal *goal = state->waiting[w].used ? goal_of(state, state->waiting[w].id) : NULL;
        if (!state->waiting[w].used || (goal && !ended(goal))) continue;
        send_result(nm, parts, goal, state->waiting[w].caller, state->waiting[w].call);
        state->waiting[w].used = false;
    }
}

/* All zero: every goal; a time without an id: every goal accepted up to then (action_msgs/srv/CancelGoal). */
static void take_cancel_requests(struct nm *nm, const struct nm_action_parts *parts)
{
    static const uint8_t nobody[16];
    struct nm_action_state *state = parts->state;
    for (uint32_t i = 0; i < parts->cancels->n; i++) {
        const CancelGoal_Request *request = parts->cancels->at[i];
        CancelGoal_Response *reply =
            nm_reply_(nm, parts->cancel_replies, nm_slot(request)->caller, nm_slot(request)->call);
        struct nm_action_goal *active = state->active ? &state->goals[state->active - 1] : NULL;
        const uint8_t *id = request->goal_info.goal_id.uuid;
        int64_t before = nm_stamp_ns(request->goal_info.stamp);
        bool any = memcmp(id, nobody, 16) == 0 && (before == 0 || (active && active->accepted <= before));
        reply->return_code = CancelGoal_Response_ERROR_NONE;
        if (active && (any || memcmp(id, active->id, 16) == 0)) {
            state->cancel = true;
            active->status = GoalStatus_STATUS_CANCELING;
            tell_status(nm, parts);
            GoalInfo *info = nm_append(&reply->goals_canceling, &GoalInfo_type);
            memcpy(info->goal_id.uuid, active->id, 16);
            info->stamp = nm_stamp(active->accepted);
        } else if (memcmp(id, nobody, 16) != 0) {
            const struct nm_action_goal *known = goal_of(state, id);
            reply->return_code =
                known ? CancelGoal_Response_ERROR_GOAL_TERMINATED : CancelGoal_Response_ERROR_UNKNOWN_GOAL_ID;
        }
    }
}

const void *nm_action_step_(struct nm *nm, const struct nm_action_parts *parts)
{
    struct nm_action_state *state = parts->state;
    if (!state->told) tell_status(nm, parts);
    state->told = true;
    take_result_requests(nm, parts);
    take_cancel_requests(nm, parts);

    /* of several goals in one step the last is offered, the others are rejected; so is an id that was used */
    state->ask = NULL;
    for (uint32_t i = 0; i < parts->goals->n; i++) {
        const void *ask = parts->goals->at[i];
        if (state->ask) nm_action_answer_(nm, parts, false);
        state->ask = ask;
        if (goal_of(state, ask)) nm_action_answer_(nm, parts, false);
    }
    return state->ask ? (const unsigned char *)state->ask + parts->goal_at : NULL;
}

void nm_action_answer_(struct nm *nm, const struct nm_action_parts *parts, bool accept)
{
    struct nm_action_state *state = parts->state;
    const void *ask = state->ask;
    if (!ask) return;
    state->ask = NULL;
    unsigned char *reply = nm_reply_(nm, parts->goal_replies, nm_slot(ask)->caller, nm_slot(ask)->call);
    *(bool *)(reply + parts->accepted_at) = accept;
    *(Time *)(void *)(reply + parts->stamp_at) = nm_stamp(nm->now);
    if (!accept) return;

    if (state->active) nm_action_finish_(nm, parts, GoalStatus_STATUS_ABORTED);
    uint32_t at = state->next++ % NM_ACTION_GOALS;
    struct nm_action_goal *goal = &state->goals[at];
    *goal = (struct nm_action_goal){.accepted = nm->now, .status = GoalStatus_STATUS_EXECUTING};
    memcpy(goal->id, ask, 16);
    nm_reset(parts->result_type, parts->result + parts->result_size * at);
    state->active = (int32_t)at + 1;
    state->cancel = false;
    tell_status(nm, parts);
}

void *nm_action_feedback_(struct nm *nm, const struct nm_action_parts *parts)
{
    unsigned char *message = nm_push_(nm, parts->feedback);
    if (parts->state->active) memcpy(message, parts->state->goals[parts->state->active - 1].id, 16);
    return message + parts->feedback_at;
}

void *nm_action_finish_(struct nm *nm, const struct nm_action_parts *parts, int8_t status)
{
    struct nm_action_state *state = parts->state;
    uint32_t at = state->active ? (uint32_t)state->active - 1 : 0;
    if (state->active) {
        state->goals[at].status = status;
        state->active = 0;
        state->cancel = false;
        tell_status(nm, parts);
    }
    return parts->result + parts->result_size * at;
}
