/* nutmeg action: goals for the actions of a ROS 2 world, with nothing of ROS installed. */
#include <stdlib.h>
#include <string.h>

#include "action_msgs/GoalStatus.h"
#include "base/memory.h"
#include "cmd/asking.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/ros_topics.h"
#include "codec/text.h"
#include "edge/dds/dds_look.h"

static const double look_every = 0.005;  /* s */
static const double server_patience = 5; /* s, until somebody serves it   */
static const double cancel_patience = 2; /* s, for the end after a cancel */

struct sending {
    struct nm_look_action action;
    const char *name;
    bool feedback;
    double timeout;
};

static void print_yaml(const struct nm_type *type, const void *message)
{
    struct nm_text_out text = {.grows = true};
    nm_print(&text, type, message, NM_TEXT_YAML);
    printf("%s---\n", text.text);
    fflush(stdout);
    free(text.text);
}

static void print_feedback(void *user, const void *feedback)
{
    const struct sending *s = user;
    if (s->feedback) print_yaml(s->action.feedback, feedback);
}

static const char *status_word(int status)
{
    static const char *const words[] = {[GoalStatus_STATUS_SUCCEEDED] = "succeeded",
                                        [GoalStatus_STATUS_CANCELED] = "cancelled",
                                        [GoalStatus_STATUS_ABORTED] = "aborted"};
    bool known = status >= 0 && (size_t)status < sizeof words / sizeof words[0] && words[status];
    return known ? words[status] : "with an unknown status: the server does not know the goal's id";
}

static int tell_end(const struct sending *s, const struct nm_look_goal *goal)
{
    int status = nm_look_goal_status(goal);
    print_yaml(s->action.result, nm_look_goal_result(goal));
    printf("the goal ended %s\n", status_word(status));
    return status == GoalStatus_STATUS_SUCCEEDED ? 0 : -1;
}

/* From the search for a server to the result. A goal that nobody waits for any more is cancelled. */
static int follow(struct sending *s, struct nm_look_goal *goal, struct nm_err *err)
{
    double waited = 0, left = s->timeout;
    bool told = false, cancelled = false;
    for (;; waited += look_every) {
        int state = nm_look_goal_turn(goal, print_feedback, s, err);
        if (state < 0) return -1;
        if (state == NM_GOAL_REJECTED)
            return nm_fail(err, "%s: the server refused this goal; its messages on /rosout say why", s->name);
        if (state == NM_GOAL_ENDED) return tell_end(s, goal);
        if (state == NM_GOAL_ACCEPTED && !told) puts("the goal was accepted"), told = true;
        if (state == NM_GOAL_SEARCHING && waited > server_patience)
            return nm_fail(err, "%s: no server offers this action (waited %g s)", s->name, server_patience);
        bool on = pause_for(look_every);
        left -= state == NM_GOAL_SEARCHING ? 0 : look_every;
        if (on && left > 0) continue;
        if (cancelled || state != NM_GOAL_ACCEPTED)
            return nm_fail(err, on ? "%s: no answer within %g s" : "%s: interrupted", s->name, s->timeout);
        fprintf(stderr, on ? "no result within %g s; the goal is cancelled\n" : "the goal is cancelled\n", s->timeout);
        nm_look_goal_cancel(goal);
        cancelled = true;
        left = cancel_patience;
    }
}

static int action_send(int argc, char **argv)
{
    struct ros_flags ros = {.domain = -1};
    struct sending s = {.timeout = 60};
    const struct flag flags[] = {
        SWITCH("feedback", &s.feedback, "prints the server's feedback", .letter = 'f'),
        NUMBER("timeout", &s.timeout, 0.1, 1e6, "S", "seconds to wait for the result before the goal is cancelled"),
        ROS_FLAGS(&ros),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg action send", "NAME TYPE YAML", flags,
              "Sends a goal to a ROS 2 action and prints its result. Ctrl-C cancels the goal. The exit code\n"
              "is 0 if the goal succeeded.\n"
              "    nutmeg action send /play_animation humanoid_league_msgs/PlayAnimation '{animation: wave}'");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    if (nm_look_action_find(argv[2], &s.action, &err))
        return usage_wrong(&usage, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    s.name = argv[1];
    void *message = nm_calloc(1, s.action.goal->size);
    struct nm_look *look = NULL;
    struct nm_look_goal *goal = NULL;
    code = EXIT_FAILED;
    if (nm_parse_text(s.action.goal, message, "goal", argv[3], strlen(argv[3]), NULL, &err))
        code = EXIT_USAGE;
    else if ((look = nm_look_new((int)ros.domain, ros.network, &err)) &&
             (goal = nm_look_goal_new(look, argv[1], &s.action, message, &err)) && !follow(&s, goal, &err))
        code = EXIT_OK;
    if (err.n) complain(&err);
    nm_look_goal_free(goal);
    nm_look_free(look);
    free(message);
    return code;
}

static int action_list(int argc, char **argv)
{
    struct ros_flags ros = {.domain = -1};
    const struct flag flags[] = {ROS_FLAGS(&ros), {0}};
    const struct usage usage =
        USAGE("nutmeg action list", "[PATTERN]", flags, "Lists the ROS 2 actions whose name contains PATTERN.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    return ros_list_kind(&ros, ROS_ACTIONS, n ? argv[1] : NULL);
}

int cmd_action(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"list", "lists the actions", action_list}, {"send", "sends a goal and prints its result", action_send}, {0}};
    return verbs_run("nutmeg action", "ROS 2 actions.", verbs, argc, argv);
}
