/* Goals of actions of other nodes: three services and a topic under the name of the action, used in turn. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "action_msgs/CancelGoal.h"
#include "base/memory.h"
#include "codec/cdr.h"
#include "edge/dds/dds_look.h"

enum { UUID_BYTES = 16 };

struct nm_look_goal {
    struct nm_look *look;
    struct nm_look_action types;
    char name[NM_ROS_NAME];
    uint8_t id[UUID_BYTES];
    enum nm_look_goal_state state;
    struct nm_look_client *send, *ask, *cancel;
    void *request, *reply, *question, *result, *feedback;
    CancelGoal_Request ending;
    bool asked, cancelling, listening;
    int status;
};

int nm_look_action_find(const char *type, struct nm_look_action *action, struct nm_err *err)
{
    struct nm_look_action *a = action;
    const struct {
        const char *part;
        const struct nm_type **to;
    } parts[] = {
        {"Goal", &a->goal},
        {"Feedback", &a->feedback},
        {"Result", &a->result},
        {"SendGoal_Request", &a->send_request},
        {"SendGoal_Response", &a->send_reply},
        {"GetResult_Request", &a->result_request},
        {"GetResult_Response", &a->result_reply},
        {"FeedbackMessage", &a->feedback_message},
    };
    const char *slash = strchr(type, '/'), *stem = slash ? slash + 1 : type;
    if (!strncmp(stem, "action/", 7)) stem += 7;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char name[2 * NM_ROS_NAME];
        snprintf(name, sizeof name, "%.*s/action/%.100s_%s", slash ? (int)(slash - type) : 0, type, stem,
                 parts[i].part);
        *parts[i].to = nm_type_find(&nm_all_types, name);
        if (!*parts[i].to) return nm_fail(err, "there is no action type '%.100s'; nutmeg msg list shows all", type);
    }
    return 0;
}

static void *member(const struct nm_type *type, void *message, const char *name)
{
    const struct nm_field *field = nm_field_find(type, name, strlen(name));
    if (!field) abort(); /* every action has this member */
    return (uint8_t *)message + field->offset;
}

static struct nm_look_client *client_new(struct nm_look_goal *goal, const char *part, const struct nm_type *request,
                                         const struct nm_type *reply, struct nm_err *err)
{
    char name[NM_ROS_NAME + 32];
    snprintf(name, sizeof name, "%s/_action/%s", goal->name, part);
    return nm_look_client_new(goal->look, name, request, reply, err);
}

struct nm_look_goal *nm_look_goal_new(struct nm_look *look, const char *name, const struct nm_look_action *action,
                                      const void *message, struct nm_err *err)
{
    struct nm_look_goal *goal = nm_calloc(1, sizeof *goal);
    goal->look = look;
    goal->types = *action;
    snprintf(goal->name, sizeof goal->name, "/%.200s", name + (*name == '/'));
    if (getrandom(goal->id, sizeof goal->id, 0) != sizeof goal->id) abort();
    goal->id[6] = (uint8_t)((goal->id[6] & 0x0f) | 0x40); /* marks a random UUID (RFC 4122) */
    goal->id[8] = (uint8_t)((goal->id[8] & 0x3f) | 0x80);
    goal->request = nm_message_new(action->send_request);
    goal->reply = nm_message_new(action->send_reply);
    goal->question = nm_message_new(action->result_request);
    goal->result = nm_message_new(action->result_reply);
    goal->feedback = nm_message_new(action->feedback_message);
    memcpy(member(action->send_request, goal->request, "goal_id"), goal->id, UUID_BYTES);
    memcpy(member(action->result_request, goal->question, "goal_id"), goal->id, UUID_BYTES);
    memcpy(&goal->ending.goal_info.goal_id, goal->id, UUID_BYTES);
    nm_copy(action->goal, member(action->send_request, goal->request, "goal"), message);
    goal->send = client_new(goal, "send_goal", action->send_request, action->send_reply, err);
    goal->ask = client_new(goal, "get_result", action->result_request, action->result_reply, err);
    goal->cancel = client_new(goal, "cancel_goal", &CancelGoal_Request_type, &CancelGoal_Response_type, err);
    if (goal->send && goal->ask && goal->cancel) return goal;
    nm_look_goal_free(goal);
    return NULL;
}

void nm_look_goal_free(struct nm_look_goal *goal)
{
    if (!goal) return;
    nm_look_client_free(goal->send);
    nm_look_client_free(goal->ask);
    nm_look_client_free(goal->cancel);
    free(goal->request);
    free(goal->reply);
    free(goal->question);
    free(goal->result);
    free(goal->feedback);
    free(goal);
}

/* Passes on the feedback of our own goal; feedback of other goals is ignored. */
static void take_feedback(struct nm_look_goal *goal, nm_look_feedback *feedback, void *user)
{
    const struct nm_type *type = goal->types.feedback_message;
    struct nm_raw samples[NM_RAW_MOST];
    int n;
    if (!goal->listening) {
        struct nm_look_topic topic;
        char name[NM_ROS_NAME + 32];
        snprintf(name, sizeof name, "%s/_action/feedback", goal->name);
        goal->listening = !nm_look_listen(goal->look, name, &topic, NULL);
    }
    while (goal->listening && (n = nm_look_take(goal->look, samples, NM_RAW_MOST)) > 0) {
        for (int i = 0; i < n; i++) {
            if (!samples[i].sample || type->blobs ||
                nm_cdr_decode(type, goal->feedback, samples[i].bytes, samples[i].size, NULL, NULL))
                continue;
            bool ours = !memcmp(member(type, goal->feedback, "goal_id"), goal->id, UUID_BYTES);
            if (ours && feedback) feedback(user, member(type, goal->feedback, "feedback"));
        }
        nm_raw_free(samples, n);
    }
}

static int turn_sent(struct nm_look_goal *goal, struct nm_err *err)
{
    int got = nm_look_answer(goal->send, goal->reply, err);
    if (got > 0)
        goal->state =
            *(bool *)member(goal->types.send_reply, goal->reply, "accepted") ? NM_GOAL_ACCEPTED : NM_GOAL_REJECTED;
    return got;
}

static int turn_accepted(struct nm_look_goal *goal, struct nm_err *err)
{
    int got = goal->asked ? nm_look_answer(goal->ask, goal->result, err) : nm_look_ask(goal->ask, goal->question, err);
    if (!goal->asked) {
        goal->asked = got > 0;
    } else if (got > 0) {
        goal->status = *(int8_t *)member(goal->types.result_reply, goal->result, "status");
        goal->state = NM_GOAL_ENDED;
    }
    if (goal->cancelling && nm_look_ask(goal->cancel, &goal->ending, NULL)) goal->cancelling = false;
    return got;
}

int nm_look_goal_turn(struct nm_look_goal *goal, nm_look_feedback *feedback, void *user, struct nm_err *err)
{
    int got = 0;
    take_feedback(goal, feedback, user);
    if (goal->state == NM_GOAL_SEARCHING && (got = nm_look_ask(goal->send, goal->request, err)) > 0)
        goal->state = NM_GOAL_SENT;
    if (goal->state == NM_GOAL_SENT) got = turn_sent(goal, err);
    if (got >= 0 && goal->state == NM_GOAL_ACCEPTED) got = turn_accepted(goal, err);
    return got < 0 ? -1 : (int)goal->state;
}

void nm_look_goal_cancel(struct nm_look_goal *goal) { goal->cancelling = true; }

int nm_look_goal_status(const struct nm_look_goal *goal) { return goal->status; }

const void *nm_look_goal_result(const struct nm_look_goal *goal)
{
    return member(goal->types.result_reply, goal->result, "result");
}
