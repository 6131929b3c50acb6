/* One row an operation: what a running line-up answers to a request. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "edge/control/inside.h"

typedef int operation(struct nm_control *control, struct client *client, const struct nm_request *request,
                      struct nm_json *reply, struct nm_err *err);

static int info(struct nm_control *control, struct client *client, const struct nm_request *request,
                struct nm_json *reply, struct nm_err *err)
{
    const struct nm_lineup *lineup = control->view.lineup;
    (void)client;
    (void)request;
    (void)err;
    char *file = realpath(lineup->file, NULL);
    nm_json_text(reply, "name", nm_player_name(control->player));
    nm_json_text(reply, "lineup", file ? file : lineup->file);
    nm_json_text(reply, "robot", lineup->robot);
    nm_json_whole(reply, "pid", getpid());
    nm_json_whole(reply, "abi", NM_ABI);
    nm_json_whole(reply, "now", nm_player_now(control->player));
    nm_json_whole(reply, "cycles", lineup->n_cycles);
    nm_json_whole(reply, "instances", lineup->n_instances);
    nm_json_whole(reply, "topics", lineup->n_topics);
    free(file);
    return 0;
}

static int tasks(struct nm_control *control, struct client *client, const struct nm_request *request,
                 struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    (void)request;
    (void)err;
    nm_tasks_json(&control->view, reply);
    return 0;
}

static int topics(struct nm_control *control, struct client *client, const struct nm_request *request,
                  struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    (void)request;
    (void)err;
    nm_topics_json(&control->view, reply);
    return 0;
}

static void sentence(void *user, const char *text) { nm_json_text(user, NULL, text); }

static int why(struct nm_control *control, struct client *client, const struct nm_request *request,
               struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    uint32_t topic = nm_find_topic(control->view.lineup, request->topic, err);
    if (topic == NM_NONE) return -1;
    nm_json_open(reply, "sentences", '[');
    nm_why(&control->view, topic, sentence, reply);
    nm_json_close(reply, ']');
    return 0;
}

static int params(struct nm_control *control, struct client *client, const struct nm_request *request,
                  struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    return nm_params_json(&control->view, request->instance, request->param, reply, err);
}

static int set(struct nm_control *control, struct client *client, const struct nm_request *request,
               struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    return control_set(control, request, reply, err);
}

static int reset(struct nm_control *control, struct client *client, const struct nm_request *request,
                 struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    return control_reset(control, request, reply, err);
}

static int save(struct nm_control *control, struct client *client, const struct nm_request *request,
                struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    return control_save(control, request, reply, err);
}

static int swap(struct nm_control *control, struct client *client, const struct nm_request *request,
                struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    int64_t start = nm_clock();
    const char *game = nm_gate_locked(control->gate);
    if (game) return nm_fail(err, "modules are locked: %s", game);
    uint32_t instance = nm_find_instance(control->view.lineup, request->instance, err);
    if (instance == NM_NONE) return -1;
    const struct nm_module *module = nm_plugin_open(request->plugin, err);
    if (!module) return -1;
    const char *has = control->modules[instance]->name;
    if (strcmp(module->name, has))
        return nm_fail(err, "%s: holds the module %s, but %s is a %s", request->plugin, module->name, request->instance,
                       has);
    int kept = nm_player_swap(control->player, instance, module, err);
    if (kept < 0) return -1;
    control->modules[instance] = module;
    nm_json_bool(reply, "kept", kept);
    nm_json_whole(reply, "took", nm_clock() - start);
    return 0;
}

static int watch(struct nm_control *control, struct client *client, const struct nm_request *request,
                 struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    (void)err;
    control->watch = request->on;
    nm_json_bool(reply, "on", request->on);
    return 0;
}

static int echo(struct nm_control *control, struct client *client, const struct nm_request *request,
                struct nm_json *reply, struct nm_err *err)
{
    uint32_t topic = nm_find_topic(control->view.lineup, request->topic, err);
    if (topic == NM_NONE) return -1;
    if (client) client->echo = topic;
    nm_json_text(reply, "topic", control->view.lineup->topics[topic].name);
    nm_json_text(reply, "type", control->view.lineup->topics[topic].type->name);
    return 0;
}

static int say(struct nm_control *control, struct client *client, const struct nm_request *request,
               struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    return control_say(control, request, reply, err);
}

static int stop(struct nm_control *control, struct client *client, const struct nm_request *request,
                struct nm_json *reply, struct nm_err *err)
{
    (void)client;
    (void)request;
    (void)err;
    atomic_store(&control->stopped, true);
    nm_json_bool(reply, "stops", true);
    return 0;
}

static operation *const operations[NM_CONTROL_OPS] = {
    [NM_CONTROL_INFO] = info,     [NM_CONTROL_TASKS] = tasks, [NM_CONTROL_TOPICS] = topics, [NM_CONTROL_WHY] = why,
    [NM_CONTROL_PARAMS] = params, [NM_CONTROL_SET] = set,     [NM_CONTROL_RESET] = reset,   [NM_CONTROL_SAVE] = save,
    [NM_CONTROL_SWAP] = swap,     [NM_CONTROL_WATCH] = watch, [NM_CONTROL_ECHO] = echo,     [NM_CONTROL_STOP] = stop,
    [NM_CONTROL_SAY] = say,
};

/* A reply that cannot be given whole is none: begins anew and says why. */
static void refuse(struct nm_json *reply, const char *text)
{
    size_t most = reply->most;
    nm_json_end(reply);
    nm_json_begin(reply, most);
    nm_json_open(reply, NULL, '{');
    nm_json_text(reply, "error", text);
    nm_json_close(reply, '}');
}

void control_answer(struct nm_control *control, struct client *client, const char *line, size_t size,
                    struct nm_json *reply)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_request request;
    nm_json_open(reply, NULL, '{');
    int bad = nm_request_parse(&arena, line, size, &request, &err);
    if (!bad) {
        nm_json_text(reply, "op", nm_control_op_name(request.op));
        bad = operations[request.op](control, client, &request, reply, &err);
    }
    nm_json_close(reply, '}');
    if (bad)
        refuse(reply, err.text);
    else if (reply->over)
        refuse(reply, "the answer is too long; ask for less, such as one instance\n");
    nm_arena_free(&arena);
}
