/* The control edge: a socket on which a running line-up answers its own user. It listens, reads requests line by line,
 * looks up or changes what they ask for, writes the answers, and disconnects clients that do not read them. One thread
 * (or the caller of nm_control_poll) owns everything here except the two atomic flags. */
#include "edge/control/control.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "codec/text.h"
#include "codec/json.h"
#include "edge/control/place.h"
#include "edge/control/settings.h"
#include "nutmeg_msgs/Control.h"

enum {
    CLIENTS = 16,
    REPLY_MOST = 2 << 20,  /* bytes of one answer                                          */
    OUT_MOST = 4 << 20,    /* bytes that may wait for a client; beyond, it is disconnected */
    STREAM_MOST = 1 << 18, /* bytes that may wait before messages of a stream are left out */
};

struct client {
    int fd; /* -1: free */
    char *in;
    size_t n_in;
    char *out;
    size_t out_at, n_out, out_room;
    uint32_t echo;     /* the topic that it listens to; NM_NONE: none       */
    int64_t call;      /* listens only to the reply of this call; 0: to all */
    uint64_t left_out; /* messages of the stream since the last one written */
    int64_t waits;     /* ns; since when it has read nothing; 0: it reads   */
    int64_t heard;     /* ns; when it last sent something                   */
};

struct nm_control {
    struct nm_player *player;
    struct nm_edge *edge;
    struct nm_gate *gate;
    struct nm_edge *mouth; /* publishes the messages of clients      */
    uint32_t *say_ports;   /* its port for each topic; NM_NONE: none */
    int64_t calls;         /* of services so far                     */
    struct nm_arena arena;
    struct nm_settings settings;
    struct nm_control_options options;
    pthread_mutex_t lock; /* held while a request is answered: the live server passes requests on, too */
    struct sockaddr_un address;
    int listener, wake;
    bool bound; /* the socket's file is ours to remove */
    struct client clients[CLIENTS];
    struct client *asker; /* the client whose request is being answered   */
    bool watch;           /* a client wants modules to show what they can */
    bool watching;        /* what the player was told last                */

    /* what the answers are made from */
    struct nm_view view;
    const struct nm_module **modules;
    double *topic_rates, *cycle_rates;
    uint32_t n_rates;                      /* number of cycles, and of edges older than this one */
    uint64_t *topic_counts, *cycle_counts; /* at `sampled`                                       */
    int64_t sampled;                       /* ns                                                 */

    pthread_t thread;
    bool threaded;
    _Atomic bool ending, stopped;
};

/* ---- clients ---- */

static size_t client_waiting(const struct client *client) { return client->n_out - client->out_at; }

static void client_drop(struct client *client)
{
    if (client->fd >= 0) close(client->fd);
    free(client->in);
    free(client->out);
    *client = (struct client){.fd = -1, .echo = NM_NONE};
}

static bool client_room(struct client *client, size_t more)
{
    if (client->out) memmove(client->out, client->out + client->out_at, client_waiting(client));
    client->n_out -= client->out_at;
    client->out_at = 0;
    size_t room = client->out_room ? client->out_room : 4096;
    while (room < client->n_out + more) room *= 2;
    if (room == client->out_room) return true;
    char *out = realloc(client->out, room);
    if (!out) return false;
    client->out = out;
    client->out_room = room;
    return true;
}

/* Queues an answer for a client; disconnects a client that lets too much wait. */
static void client_send(struct client *client, const struct nm_json *reply)
{
    size_t n = reply->n + 2;
    if (client_waiting(client) + n > OUT_MOST || (client->n_out + n > client->out_room && !client_room(client, n))) {
        client_drop(client);
        return;
    }
    memcpy(client->out + client->n_out, reply->text, reply->n);
    memcpy(client->out + client->n_out + reply->n, "\n\n", 2);
    client->n_out += n;
}

/* ---- the messages that clients listen to, and the rates of topics and cycles ---- */

/* A queue holds what is published between two looks at it, up to this many messages and bytes. */
enum { QUEUE_DEPTH = 64, QUEUE_BYTES = 1 << 20, MESSAGE_MOST = 1 << 17 };
static const int64_t sample_every = 1000000000; /* ns */

/* The edge reads every topic of the line-up: each message of a queue, the newest of a value. */
static int control_edge(struct nm_control *control, struct nm_err *err)
{
    const struct nm_lineup *lineup = control->view.lineup;
    struct nm_edge_port *ports = nm_take_n(&control->arena, struct nm_edge_port, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        uint32_t depth = topic->depth > QUEUE_DEPTH ? topic->depth : QUEUE_DEPTH;
        while (depth > topic->depth && depth > 1 && (size_t)depth * topic->type->size > QUEUE_BYTES) depth /= 2;
        ports[t] = (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_IN};
        if (topic->queue) ports[t] = (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_QUEUE, .depth = depth};
    }
    control->edge = nm_edge_new(control->player, "control", ports, lineup->n_topics, err);
    return control->edge ? 0 : -1;
}

static void write_message(const struct nm_type *type, const void *message, uint64_t left_out, struct nm_json *json)
{
    const struct nm_slot *slot = nm_slot(message);
    struct nm_text_out text = {.grows = true};
    nm_print(&text, type, message, NM_TEXT_YAML);
    nm_json_open(json, NULL, '{');
    nm_json_whole(json, "seq", (int64_t)slot->seq);
    nm_json_whole(json, "time", slot->time);
    nm_json_whole(json, "left_out", (int64_t)left_out);
    nm_json_text(json, "text", text.used <= MESSAGE_MOST ? text.text : "# this message is too long to show\n");
    nm_json_close(json, '}');
    free(text.text);
}

#define CALLER (UINT64_MAX - 4242) /* marks our calls; no instance has this number */

static void send_message(struct nm_control *control, uint32_t topic, const void *message)
{
    const struct nm_type *type = control->view.lineup->topics[topic].type;
    const struct nm_slot *slot = nm_slot(message);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &control->clients[i];
        if (client->fd < 0 || client->echo != topic) continue;
        if (client->call && (slot->caller != CALLER || slot->call != client->call)) continue;
        if (client_waiting(client) > STREAM_MOST) {
            client->left_out++;
            continue;
        }
        struct nm_json json;
        nm_json_begin(&json, REPLY_MOST);
        write_message(type, message, client->left_out, &json);
        if (!json.over) client_send(client, &json);
        client->left_out = 0;
        if (client->call) client->echo = NM_NONE;
        client->call = 0;
        nm_json_end(&json);
    }
}

static bool anybody_listens(const struct nm_control *control, uint32_t topic)
{
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (control->clients[i].fd >= 0 && control->clients[i].echo == topic) return true;
    return false;
}

/* Modules publish on `show` while a client asked for it, or while one listens to that topic. */
static void watch_as_needed(struct nm_control *control)
{
    uint32_t show = nm_lineup_topic(control->view.lineup, "show");
    bool wanted = control->watch || (show != NM_NONE && anybody_listens(control, show));
    if (wanted != control->watching) nm_player_watch(control->player, wanted);
    control->watching = wanted;
}

static void control_pump(struct nm_control *control)
{
    const struct nm_lineup *lineup = control->view.lineup;
    watch_as_needed(control);
    nm_edge_begin(control->edge, nm_player_now(control->player));
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        if (!anybody_listens(control, t)) continue;
        if (lineup->topics[t].queue) {
            const void *const *at;
            uint32_t n = nm_edge_queue(control->edge, t, &at, NULL);
            for (uint32_t i = 0; i < n; i++) send_message(control, t, at[i]);
        } else if (nm_edge_fresh(control->edge, t)) {
            send_message(control, t, nm_edge_in(control->edge, t));
        }
    }
    nm_edge_end(control->edge);
}

static void control_sample(struct nm_control *control)
{
    const struct nm_lineup *lineup = control->view.lineup;
    int64_t now = nm_player_now(control->player), dt = now - control->sampled;
    if (control->sampled && dt < sample_every) return;
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        struct nm_topic_stats stats;
        nm_player_topic_stats(control->player, t, &stats);
        control->topic_rates[t] =
            control->sampled ? (double)(stats.seq - control->topic_counts[t]) / nm_seconds(dt) : NAN;
        control->topic_counts[t] = stats.seq;
    }
    for (uint32_t c = 0; c < control->n_rates; c++) {
        struct nm_cycle_stats stats;
        nm_player_cycle_stats(control->player, c, &stats);
        control->cycle_rates[c] =
            control->sampled ? (double)(stats.runs - control->cycle_counts[c]) / nm_seconds(dt) : NAN;
        control->cycle_counts[c] = stats.runs;
    }
    control->sampled = now;
}

/* ---- say and call: a message for a topic that comes from outside, or a request to a service ---- */

static bool may_be_said(const struct nm_topic *topic)
{
    bool request = topic->role == NM_ROLE_REQUEST && topic->n_consumers;
    return (request || (topic->remote && topic->role == NM_ROLE_TOPIC)) && !topic->type->blobs;
}

static int control_mouth(struct nm_control *control, struct nm_err *err)
{
    const struct nm_lineup *lineup = control->view.lineup;
    struct nm_edge_port *ports = nm_take_n(&control->arena, struct nm_edge_port, lineup->n_topics + 1);
    uint32_t n = 0;
    control->say_ports = nm_take_n(&control->arena, uint32_t, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        bool queue = topic->queue || topic->role == NM_ROLE_REQUEST;
        control->say_ports[t] = NM_NONE;
        if (!may_be_said(topic)) continue;
        control->say_ports[t] = n;
        ports[n++] = (struct nm_edge_port){.topic = topic->name,
                                           .kind = (queue ? NM_PORT_OUT_QUEUE : NM_PORT_OUT) |
                                                   (enum nm_port_kind)NM_EDGE_OUTSIDE,
                                           .depth = topic->depth};
    }
    control->mouth = nm_edge_new(control->player, "control mouth", ports, n, err);
    return control->mouth ? 0 : -1;
}

static void publish(struct nm_control *control, const struct nm_topic *topic, uint32_t port, const void *message)
{
    bool queue = topic->queue || topic->role == NM_ROLE_REQUEST;
    nm_edge_begin(control->mouth, nm_player_now(control->player));
    void *to = queue ? nm_edge_push(control->mouth, port) : nm_edge_out(control->mouth, port);
    if (to) nm_copy(topic->type, to, message);
    if (to && topic->role == NM_ROLE_REQUEST) {
        nm_slot(to)->caller = CALLER;
        nm_slot(to)->call = ++control->calls;
    }
    if (to && !queue) nm_edge_put(control->mouth, port);
    nm_edge_end(control->mouth);
}

static int control_say(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                       struct nm_err *err)
{
    uint32_t index = nm_find_topic(control->view.lineup, request->topic, err);
    if (index == NM_NONE) return -1;
    const struct nm_topic *topic = &control->view.lineup->topics[index];
    if (control->say_ports[index] == NM_NONE)
        return nm_fail(
            err, "%s cannot be published from outside: it is neither listed under remote: nor the request of a service",
            topic->name);
    void *message = nm_calloc(1, topic->type->size);
    nm_reset(topic->type, message);
    int bad = nm_parse_text(topic->type, message, "message", request->message, strlen(request->message), NULL, err);
    if (!bad) bad = nm_gate_admit(control->gate, index, false, message, err);
    if (!bad) publish(control, topic, control->say_ports[index], message);
    if (!bad) nm_json_text(reply, "topic", topic->name);
    free(message);
    return bad;
}

static int call_desk(struct nm_control *control, const struct nm_desk_service *row, const char *message,
                     struct nm_json *reply, struct nm_err *err)
{
    struct nm_text_out text = {.grows = true};
    const char *game = row->right == NM_DESK_ROBOT ? nm_gate_locked(control->gate) : NULL;
    if (game) return nm_fail(err, "%s is refused: %s", row->name, game);
    void *request = nm_calloc(1, row->request->size), *answer = nm_calloc(1, row->reply->size);
    nm_reset(row->request, request);
    nm_reset(row->reply, answer);
    int bad = nm_parse_text(row->request, request, "message", message, strlen(message), NULL, err);
    if (!bad) {
        row->answer(row->user, request, answer);
        nm_print(&text, row->reply, answer, NM_TEXT_YAML);
        nm_json_text(reply, "text", text.text);
    }
    free(text.text);
    free(request);
    free(answer);
    return bad;
}

static int control_call(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                        struct nm_err *err)
{
    const struct nm_lineup *lineup = control->view.lineup;
    const struct nm_desk *desk = control->options.desk;
    const char *name = request->topic + (*request->topic == '/'), *message = request->message ? request->message : "{}";
    char topic[256];
    for (uint32_t i = 0; desk && i < desk->n; i++)
        if (!strcmp(desk->at[i].name, name)) return call_desk(control, &desk->at[i], message, reply, err);
    snprintf(topic, sizeof topic, "%.200s/reply", name);
    uint32_t answers = nm_lineup_topic(lineup, topic);
    snprintf(topic, sizeof topic, "%.200s/request", name);
    if (answers == NM_NONE || lineup->topics[answers].role != NM_ROLE_REPLY)
        return nm_fail(err, "there is no service '%.100s'; {op: info} lists them", name);
    const struct nm_request say = {.op = NM_CONTROL_SAY, .topic = topic, .message = message};
    if (control_say(control, &say, reply, err)) return -1;
    control->asker->echo = answers;
    control->asker->call = control->calls;
    return 0;
}

/* ---- operations ---- */

typedef int operation(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                      struct nm_err *err);

/* The name without `end`, and the type without "_Request". */
static void service_json(struct nm_json *json, const char *name, const struct nm_type *type, const char *end)
{
    char text[256];
    nm_json_open(json, NULL, '{');
    snprintf(text, sizeof text, "%.*s", (int)(strlen(name) - strlen(end)), name);
    nm_json_text(json, "name", text);
    snprintf(text, sizeof text, "%.*s", (int)(strlen(type->name) - strlen("_Request")), type->name);
    nm_json_text(json, "type", text);
    nm_json_close(json, '}');
}

static int info(struct nm_control *control, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    const struct nm_lineup *lineup = control->view.lineup;
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
    nm_json_open(reply, "services", '[');
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        if (topic->role == NM_ROLE_REQUEST && topic->n_consumers)
            service_json(reply, topic->name, topic->type, "/request");
    }
    const struct nm_desk *desk = control->options.desk;
    for (uint32_t i = 0; desk && i < desk->n; i++) service_json(reply, desk->at[i].name, desk->at[i].request, "");
    nm_json_close(reply, ']');
    free(file);
    return 0;
}

static int tasks(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                 struct nm_err *err)
{
    (void)request;
    (void)err;
    nm_tasks_json(&control->view, reply);
    return 0;
}

static int topics(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                  struct nm_err *err)
{
    (void)request;
    (void)err;
    nm_topics_json(&control->view, reply);
    return 0;
}

static void sentence(void *user, const char *text) { nm_json_text(user, NULL, text); }

static int why(struct nm_control *control, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    uint32_t topic = nm_find_topic(control->view.lineup, request->topic, err);
    if (topic == NM_NONE) return -1;
    nm_json_open(reply, "sentences", '[');
    nm_why(&control->view, topic, sentence, reply);
    nm_json_close(reply, ']');
    return 0;
}

static int params(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                  struct nm_err *err)
{
    return nm_params_json(&control->view, request->instance, request->param, reply, err);
}

static int set(struct nm_control *control, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    return nm_settings_set(&control->settings, request, reply, err);
}

static int reset(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                 struct nm_err *err)
{
    return nm_settings_reset(&control->settings, request, reply, err);
}

static int save(struct nm_control *control, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    return nm_settings_save(&control->settings, request, reply, err);
}

static int swap(struct nm_control *control, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    int64_t start = nm_clock();
    const char *game = nm_gate_locked(control->gate);
    if (game) return nm_fail(err, "modules are locked: %s", game);
    uint32_t instance = nm_find_instance(control->view.lineup, request->instance, err);
    if (instance == NM_NONE) return -1;
    const struct nm_module *module = nm_plugin_open(request->plugin, err);
    if (!module) return -1;
    const char *has = control->modules[instance]->name;
    if (strcmp(module->name, has))
        return nm_fail(err, "%s: this is the module %s, but the instance %s is a %s", request->plugin, module->name,
                       request->instance, has);
    int kept = nm_player_swap(control->player, instance, module, err);
    if (kept < 0) return -1;
    control->modules[instance] = module;
    nm_json_bool(reply, "kept", kept);
    nm_json_whole(reply, "took", nm_clock() - start);
    return 0;
}

static int watch(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                 struct nm_err *err)
{
    (void)err;
    control->watch = request->on;
    nm_json_bool(reply, "on", request->on);
    return 0;
}

static int echo(struct nm_control *control, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    uint32_t topic = nm_find_topic(control->view.lineup, request->topic, err);
    if (topic == NM_NONE) return -1;
    control->asker->echo = topic;
    nm_json_text(reply, "topic", control->view.lineup->topics[topic].name);
    nm_json_text(reply, "type", control->view.lineup->topics[topic].type->name);
    return 0;
}

static int stop(struct nm_control *control, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    (void)request;
    (void)err;
    atomic_store(&control->stopped, true);
    nm_json_bool(reply, "stops", true);
    return 0;
}

static operation *const operations[NM_CONTROL_OPS] = {
    [NM_CONTROL_INFO] = info,       [NM_CONTROL_TASKS] = tasks,       [NM_CONTROL_TOPICS] = topics,
    [NM_CONTROL_WHY] = why,         [NM_CONTROL_PARAMS] = params,     [NM_CONTROL_SET] = set,
    [NM_CONTROL_RESET] = reset,     [NM_CONTROL_SAVE] = save,         [NM_CONTROL_SWAP] = swap,
    [NM_CONTROL_WATCH] = watch,     [NM_CONTROL_ECHO] = echo,         [NM_CONTROL_STOP] = stop,
    [NM_CONTROL_SAY] = control_say, [NM_CONTROL_CALL] = control_call,
};

/* Replaces a reply, which may be half written, by the reason of the refusal. */
static void refuse(struct nm_json *reply, const char *text)
{
    size_t most = reply->most;
    nm_json_end(reply);
    nm_json_begin(reply, most);
    nm_json_open(reply, NULL, '{');
    nm_json_text(reply, "error", text);
    nm_json_close(reply, '}');
}

/* Answers a request line. Whatever the line holds, one object is written; -1 if it is a refusal. */
static int control_answer(struct nm_control *control, struct client *client, const char *line, size_t size,
                          uint32_t allowed, struct nm_json *reply, struct nm_err *err)
{
    struct nm_arena arena = {0};
    struct nm_request request;
    nm_json_open(reply, NULL, '{');
    int bad = nm_request_parse(&arena, line, size, &request, err);
    if (!bad && !(allowed & 1u << request.op))
        bad = nm_fail(err, "the operation '%s' does not belong to this service", nm_control_op_name(request.op));
    if (!bad) {
        nm_json_text(reply, "op", nm_control_op_name(request.op));
        pthread_mutex_lock(&control->lock);
        control->asker = client;
        bad = operations[request.op](control, &request, reply, err);
        pthread_mutex_unlock(&control->lock);
    }
    nm_json_close(reply, '}');
    if (!bad && reply->over) bad = nm_fail(err, "the answer is too long; ask for less, such as one instance");
    if (bad) refuse(reply, err->text);
    nm_arena_free(&arena);
    return bad;
}

/* ---- the same for viewers, as services ---- */

static void answer_viewer(struct nm_control *control, const Control_Request *request, uint32_t allowed,
                          Control_Response *response)
{
    struct nm_json reply;
    struct nm_err err = {0};
    nm_json_begin(&reply, sizeof response->answer - 1);
    response->success =
        !control_answer(control, NULL, request->request, strlen(request->request), allowed, &reply, &err);
    nm_text(response->message, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    nm_text(response->answer, "%s", reply.text);
    nm_json_end(&reply);
}

#define OP(op) (1u << NM_CONTROL_##op)

static void answer_ask(void *user, const void *request, void *reply)
{
    answer_viewer(user, request, OP(INFO) | OP(TASKS) | OP(TOPICS) | OP(WHY) | OP(PARAMS), reply);
}

static void answer_change(void *user, const void *request, void *reply)
{
    answer_viewer(user, request, OP(SET) | OP(RESET) | OP(SAVE), reply);
}

void nm_control_desk(struct nm_control *control, struct nm_desk *to)
{
    struct nm_desk_service row = {.name = "nutmeg/ask",
                                  .request = &Control_Request_type,
                                  .reply = &Control_Response_type,
                                  .right = NM_DESK_LOOK,
                                  .answer = answer_ask,
                                  .user = control};
    nm_desk_add(to, row);
    row.name = "nutmeg/change";
    row.right = NM_DESK_ROBOT;
    row.answer = answer_change;
    nm_desk_add(to, row);
}

/* ---- the socket ---- */

enum { LOOK_EVERY = 20 };                         /* ms; how often the edge looks at new messages          */
static const int64_t patience = 5LL * 1000000000; /* ns; a client that reads nothing for so long is closed */

static void client_write(struct client *client, int64_t now)
{
    if (!client_waiting(client)) return;
    ssize_t n = send(client->fd, client->out + client->out_at, client_waiting(client), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
        client->out_at += (size_t)n;
        client->waits = 0;
        if (client_waiting(client)) return;
        client->out_at = client->n_out = 0;
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        client_drop(client);
    } else if (!client->waits) {
        client->waits = now;
    } else if (now - client->waits > patience) {
        client_drop(client);
    }
}

/* Answers every whole line; false if the client was dropped on the way. */
static bool client_lines(struct nm_control *control, struct client *client)
{
    char *end;
    while ((end = memchr(client->in, '\n', client->n_in))) {
        size_t n = (size_t)(end - client->in);
        struct nm_json reply;
        nm_json_begin(&reply, REPLY_MOST);
        control_answer(control, client, client->in, n, UINT32_MAX, &reply, &(struct nm_err){0});
        if (reply.text) client_send(client, &reply);
        nm_json_end(&reply);
        if (client->fd < 0) return false;
        client->n_in -= n + 1;
        memmove(client->in, end + 1, client->n_in);
    }
    return true;
}

static void client_read(struct nm_control *control, struct client *client)
{
    ssize_t n = recv(client->fd, client->in + client->n_in, NM_REQUEST_LINE - client->n_in, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        client_drop(client);
        return;
    }
    client->n_in += (size_t)n;
    client->heard = nm_clock();
    /* no valid request is this long */
    if (client_lines(control, client) && client->n_in == NM_REQUEST_LINE) client_drop(client);
}

/* A free place. If there is none, the client that has been silent for the longest time loses its place, unless it
 * listens to a topic; so programs that hang with an open connection cannot keep others out. NULL: all clients listen.
 */
static struct client *free_place(struct nm_control *control)
{
    struct client *silent = NULL;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &control->clients[i];
        if (client->fd < 0) return client;
        if (client->echo == NM_NONE && (!silent || client->heard < silent->heard)) silent = client;
    }
    if (silent) client_drop(silent);
    return silent;
}

static void welcome(struct nm_control *control)
{
    int fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    struct client *client = free_place(control);
    if (client) {
        *client = (struct client){.fd = fd, .echo = NM_NONE, .in = malloc(NM_REQUEST_LINE), .heard = nm_clock()};
        if (!client->in) client_drop(client);
        return;
    }
    static const char full[] = "{\"error\": \"too many clients\"}\n\n";
    send(fd, full, sizeof full - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

void nm_control_poll(struct nm_control *control, int timeout)
{
    struct pollfd fds[CLIENTS + 2];
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct client *client = &control->clients[i];
        short events = (short)(POLLIN | (client_waiting(client) ? POLLOUT : 0));
        fds[i] = (struct pollfd){.fd = client->fd, .events = events};
    }
    fds[CLIENTS] = (struct pollfd){.fd = control->listener, .events = POLLIN};
    fds[CLIENTS + 1] = (struct pollfd){.fd = control->wake, .events = POLLIN};
    poll(fds, CLIENTS + 2, timeout);
    int64_t now = nm_clock();
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (fds[i].fd >= 0 && (fds[i].revents & (POLLIN | POLLHUP | POLLERR)))
            client_read(control, &control->clients[i]);
    if (fds[CLIENTS].revents & POLLIN) welcome(control);
    control_pump(control);
    pthread_mutex_lock(&control->lock);
    control_sample(control);
    pthread_mutex_unlock(&control->lock);
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (control->clients[i].fd >= 0) client_write(&control->clients[i], now);
}

/* ---- life ---- */

/* Removes the socket file of a player that crashed; refuses if a player answers there. */
static int remove_stale(const struct sockaddr_un *address, struct nm_err *err)
{
    int fd = nm_control_dial(address);
    if (fd >= 0) {
        close(fd);
        return nm_fail(err, "%s: a player of this name is already running; choose another name with --name",
                       address->sun_path);
    }
    if (errno == ENOENT) return 0;
    if (errno != ECONNREFUSED || unlink(address->sun_path))
        return nm_fail(err, "%s: this file is in the way: %s", address->sun_path, strerror(errno));
    return 0;
}

static int listen_at(struct nm_control *control, struct nm_err *err)
{
    char folder[256];
    const char *name = nm_player_name(control->player);
    const char *in = control->options.folder ? control->options.folder : folder;
    if (!control->options.folder && nm_control_folder(folder, sizeof folder, true, err)) return -1;
    struct nm_err taken = {0};
    if (nm_control_address(in, name, &control->address, err)) return -1;
    if (remove_stale(&control->address, control->options.spare ? &taken : err)) {
        char other[128];
        snprintf(other, sizeof other, "%.100s.%d", name, (int)getpid());
        if (!control->options.spare || nm_control_address(in, other, &control->address, err) ||
            remove_stale(&control->address, err))
            return -1;
    }
    control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    control->wake = eventfd(0, EFD_CLOEXEC);
    control->bound = control->listener >= 0 && control->wake >= 0 &&
                     !bind(control->listener, (struct sockaddr *)&control->address, sizeof control->address);
    bool ok = control->bound && !chmod(control->address.sun_path, 0600) && !listen(control->listener, CLIENTS);
    return ok ? 0 : nm_fail(err, "%s: cannot listen: %s", control->address.sun_path, strerror(errno));
}

struct nm_control *nm_control_new(struct nm_player *player, const struct nm_control_options *options,
                                  struct nm_err *err)
{
    const struct nm_lineup *lineup = nm_player_lineup(player);
    struct nm_control *control = nm_calloc(1, sizeof *control);
    struct nm_arena *arena = &control->arena;
    control->player = player;
    if (options) control->options = *options;
    pthread_mutex_init(&control->lock, NULL);
    control->listener = control->wake = -1;
    for (uint32_t i = 0; i < CLIENTS; i++) control->clients[i].fd = -1;
    control->modules = nm_take_n(arena, const struct nm_module *, lineup->n_instances + 1);
    for (uint32_t i = 0; i < lineup->n_instances; i++) control->modules[i] = lineup->instances[i].module;
    control->topic_rates = nm_take_n(arena, double, lineup->n_topics + 1);
    control->topic_counts = nm_take_n(arena, uint64_t, lineup->n_topics + 1);
    control->n_rates = nm_player_cycles(player);
    control->cycle_rates = nm_take_n(arena, double, control->n_rates + 1);
    control->cycle_counts = nm_take_n(arena, uint64_t, control->n_rates + 1);
    control->view = (struct nm_view){.lineup = lineup,
                                     .player = player,
                                     .modules = control->modules,
                                     .topic_rates = control->topic_rates,
                                     .cycle_rates = control->cycle_rates,
                                     .n_cycle_rates = control->n_rates,
                                     .outside = options ? options->outside : NULL,
                                     .outside_user = options ? options->outside_user : NULL};
    for (uint32_t t = 0; t < lineup->n_topics; t++) control->topic_rates[t] = NAN;
    for (uint32_t c = 0; c < control->n_rates; c++) control->cycle_rates[c] = NAN;
    control->gate = nm_gate_of(player, err);
    control->settings = (struct nm_settings){.player = player,
                                             .gate = control->gate,
                                             .view = &control->view,
                                             .registry = control->options.registry,
                                             .loaded = control->options.lineup,
                                             .arena = arena};
    if (!control->gate || listen_at(control, err) || control_edge(control, err) || control_mouth(control, err)) {
        nm_control_free(control);
        return NULL;
    }
    return control;
}

static void *serve(void *user)
{
    struct nm_control *control = user;
    prctl(PR_SET_NAME, "nm-control");
    while (!atomic_load(&control->ending)) nm_control_poll(control, LOOK_EVERY);
    return NULL;
}

int nm_control_start(struct nm_control *control, struct nm_err *err)
{
    int r = pthread_create(&control->thread, NULL, serve, control);
    if (r) return nm_fail(err, "the control socket cannot start its thread: %s", strerror(r));
    control->threaded = true;
    return 0;
}

void nm_control_free(struct nm_control *control)
{
    if (!control) return;
    atomic_store(&control->ending, true);
    if (control->threaded) {
        eventfd_write(control->wake, 1);
        pthread_join(control->thread, NULL);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) client_drop(&control->clients[i]);
    if (control->listener >= 0) close(control->listener);
    if (control->bound) unlink(control->address.sun_path);
    if (control->wake >= 0) close(control->wake);
    nm_gate_free(control->gate);
    pthread_mutex_destroy(&control->lock);
    nm_arena_free(&control->arena);
    free(control);
}

bool nm_control_stopped(const struct nm_control *control) { return atomic_load(&control->stopped); }
const char *nm_control_path(const struct nm_control *control) { return control->address.sun_path; }
