/* What clients change: calls of the line-up's services, messages for topics that come from outside, and parameters.
 *
 * Calls and messages go through a separate edge, so that reading and writing a topic do not share one port. Parameters
 * have the names instance.parameter. The values of one request are all checked, and then all applied or none, as on the
 * control socket. A refusal is reported as a status with its reason, and the answer carries the present values, so that
 * the field in the viewer shows the old value again. Every change of a parameter, by whoever, is sent to the clients
 * that watch it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/cdr.h"
#include "codec/text.h"
#include "edge/dds/stamps.h"
#include "edge/live/live_inside.h"

static const int64_t patience = 10LL * 1000000000; /* ns; how long a call waits for its answer     */
#define CALLER (UINT64_MAX - 8765)                 /* marks our calls; no instance has this number */

static bool write_allowed(struct nm_live *live, const struct client *client, enum nm_desk_right right,
                          struct nm_err *err)
{
    const char *game = right == NM_DESK_ROBOT ? nm_gate_locked(live->gate) : NULL;
    if (right == NM_DESK_LOOK) return true;
    if (!client->may_write)
        nm_fail(err, "read only: connect with ?token=… (the server prints the token when it starts), from a page of "
                     "this server");
    else if (live->options.locked)
        nm_fail(err, "writing is locked: the server was started with --live-locked");
    else if (game)
        nm_fail(err, "writing is locked: %s", game);
    else
        return true;
    return false;
}

/* ---- services ---- */

static void add_service(struct nm_live *live, struct service service)
{
    const char *of = service.request_type->name; /* "std_srvs/srv/Trigger_Request" */
    service.type = nm_take_format(&live->arena, "%.*s", (int)(strlen(of) - strlen("_Request")), of);
    live->services[live->n_services++] = service;
}

void services_new(struct nm_live *live)
{
    const struct nm_lineup *lineup = live->lineup;
    live->services = nm_take_n(&live->arena, struct service, lineup->n_topics + NM_DESK_SERVICES);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        const char *end = strrchr(topic->name, '/');
        if (topic->role != NM_ROLE_REQUEST || live->write_ports[t] == NM_NONE || !end) continue;
        const char *name = nm_take_format(&live->arena, "/%.*s", (int)(end - topic->name), topic->name);
        uint32_t reply = nm_lineup_topic(lineup, nm_take_format(&live->arena, "%s/reply", name));
        if (reply == NM_NONE) continue;
        add_service(live, (struct service){.name = name,
                                           .request_type = topic->type,
                                           .reply_type = lineup->topics[reply].type,
                                           .request = t,
                                           .request_port = live->write_ports[t],
                                           .reply_port = reply});
    }
    for (uint32_t i = 0; i < live->desk.n; i++) {
        const struct nm_desk_service *row = &live->desk.at[i];
        add_service(live, (struct service){.name = nm_take_format(&live->arena, "/%s", row->name),
                                           .request_type = row->request,
                                           .reply_type = row->reply,
                                           .at_desk = row,
                                           .request = NM_NONE,
                                           .request_port = NM_NONE,
                                           .reply_port = NM_NONE});
    }
}

static void tell_failure(struct client *client, uint32_t service, uint32_t call, const char *text)
{
    struct nm_json json;
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    nm_json_begin(&json, JSON_MOST);
    nm_json_open(&json, NULL, '{');
    nm_json_text(&json, "op", "serviceCallFailure");
    nm_json_whole(&json, "serviceId", service);
    nm_json_whole(&json, "callId", call);
    nm_json_text(&json, "message", line);
    nm_json_close(&json, '}');
    client_json(client, &json);
}

/* Decodes a message of a client and turns its times into times of the player. Large payloads go into blocks of the
 * topic's pool. */
static int decode(const struct nm_live *live, const struct nm_type *type, void *message, bool json,
                  const uint8_t *bytes, size_t size, struct nm_blob_pool *pool, struct nm_err *err)
{
    if (type->blobs && !pool)
        return nm_fail(err, "%s holds large payloads, and no memory was set aside for them", type->name);
    if (json ? nm_parse_text(type, message, "message", (const char *)bytes, size, pool, err)
             : nm_cdr_decode(type, message, bytes, size, pool, err))
        return -1;
    nm_shift_times(type, message, -live_log_time(live, 0)); /* from time of day */
    return 0;
}

static int read_encoding(const char *encoding, bool *json, struct nm_err *err)
{
    *json = !strcmp(encoding, "json");
    return *json || !strcmp(encoding, "cdr") ? 0
                                             : nm_fail(err, "the encoding must be cdr or json, not '%.16s'", encoding);
}

static struct call *free_call(struct nm_live *live, struct nm_err *err)
{
    for (uint32_t i = 0; i < CALLS; i++)
        if (!live->calls[i].open) return &live->calls[i];
    nm_fail(err, "%d calls are already waiting for their answers", CALLS);
    return NULL;
}

static struct payload *answer_frame(const struct call *call, const struct nm_type *type, const void *reply)
{
    struct nm_text_out text = {.grows = true};
    if (call->json) nm_print(&text, type, reply, NM_TEXT_JSON | NM_TEXT_WHOLE);
    size_t size = call->json ? text.used : nm_cdr_size(type, reply);
    struct payload *payload = payload_new(64 + size);
    size_t head = nm_fox_service_head(payload->bytes, 64, call->service + 1, call->id, call->json ? "json" : "cdr");
    if (call->json)
        memcpy(payload->bytes + head, text.text, size);
    else
        size = (size_t)nm_cdr_encode(type, reply, payload->bytes + head, size);
    payload->n = head + size;
    free(text.text);
    return payload;
}

/* A service of this process answers at once. */
static int call_desk(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame, bool json,
                     struct nm_err *err)
{
    const struct nm_desk_service *row = live->services[frame->id - 1].at_desk;
    const struct call call = {.service = frame->id - 1, .id = frame->call, .json = json};
    void *request = nm_calloc(1, row->request->size), *reply = nm_calloc(1, row->reply->size);
    nm_reset(row->request, request);
    nm_reset(row->reply, reply);
    int bad = decode(live, row->request, request, json, frame->data, frame->size, NULL, err);
    if (!bad) row->answer(row->user, request, reply);
    if (!bad) client_bytes(client, answer_frame(&call, row->reply, reply));
    free(request);
    free(reply);
    return bad;
}

static int call(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame, struct nm_err *err)
{
    bool json;
    if (!frame->id || frame->id > live->n_services) return nm_fail(err, "there is no service %u", frame->id);
    const struct service *service = &live->services[frame->id - 1];
    if (!write_allowed(live, client, service->at_desk ? service->at_desk->right : NM_DESK_ROBOT, err)) return -1;
    if (read_encoding(frame->encoding, &json, err)) return -1;
    if (service->at_desk) return call_desk(live, client, frame, json, err);
    const struct nm_type *type = service->request_type;
    struct call *slot = free_call(live, err);
    if (!slot) return -1;
    void *scratch = nm_calloc(1, type->size);
    nm_reset(type, scratch);
    int bad = decode(live, type, scratch, json, frame->data, frame->size,
                     nm_edge_pool(live->writing, service->request_port), err);
    if (!bad) {
        nm_edge_begin(live->writing, nm_player_now(live->player));
        void *request = nm_edge_push(live->writing, service->request_port);
        nm_copy(type, request, scratch);
        nm_slot(request)->caller = CALLER;
        nm_slot(request)->call = ++live->last_call;
        nm_edge_end(live->writing);
        *slot = (struct call){.open = true,
                              .client = client->seat,
                              .visit = client->visit,
                              .service = frame->id - 1,
                              .id = frame->call,
                              .json = json,
                              .number = live->last_call,
                              .asked = nm_player_now(live->player)};
    }
    nm_reset(type, scratch); /* the published message holds its own references to the blobs */
    free(scratch);
    return bad;
}

void services_call(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame)
{
    struct nm_err err = {0};
    if (call(live, client, frame, &err)) tell_failure(client, frame->id, frame->call, err.text);
}

static struct client *caller_of(struct nm_live *live, const struct call *call)
{
    struct client *client = &live->clients[call->client];
    return client->connection && client->visit == call->visit ? client : NULL;
}

void services_answer(struct nm_live *live, uint32_t service, const void *reply)
{
    const struct nm_slot *slot = nm_slot(reply);
    if (slot->caller != CALLER) return;
    for (uint32_t i = 0; i < CALLS; i++) {
        struct call *call = &live->calls[i];
        if (!call->open || call->service != service || call->number != slot->call) continue;
        struct client *client = caller_of(live, call);
        call->open = false;
        if (client) client_bytes(client, answer_frame(call, live->services[service].reply_type, reply));
    }
}

void services_expire(struct nm_live *live)
{
    int64_t now = nm_player_now(live->player);
    for (uint32_t i = 0; i < CALLS; i++) {
        struct call *call = &live->calls[i];
        if (!call->open || now - call->asked < patience) continue;
        struct client *client = caller_of(live, call);
        call->open = false;
        if (client) tell_failure(client, call->service + 1, call->id, "the service did not answer within 10 seconds");
    }
}

/* ---- topics from outside ---- */

/* Whether a client may publish this topic of the line-up with this type. */
static int check_topic(struct nm_live *live, struct client *client, uint32_t topic, const struct nm_fox_item *item,
                       struct nm_err *err)
{
    const struct nm_topic *row = &live->lineup->topics[topic];
    if (!write_allowed(live, client, NM_DESK_ROBOT, err)) return -1;
    if (!row->remote || live->write_ports[topic] == NM_NONE || row->role != NM_ROLE_TOPIC)
        return nm_fail(err, "%.100s cannot be published from outside: list it under remote: in %s", item->topic,
                       live->lineup->file);
    const char *maker = nm_player_hardware(live->player, topic);
    if (maker) return nm_fail(err, "%.100s is refused: the edge '%s' of this process publishes it", item->topic, maker);
    if (nm_type_find(&nm_all_types, item->schema_name) != row->type)
        return nm_fail(err, "%.100s carries %s, not %.100s", item->topic, row->type->name, item->schema_name);
    return 0;
}

/* Viewers advertise their own topics as soon as they connect (a clicked point, a goal), whether or not anybody reads
 * them. That is accepted; only a message on such a topic is refused. */
static int advertise(struct nm_live *live, struct client *client, const struct nm_fox_item *item, struct nm_err *err)
{
    bool json = false;
    uint32_t topic = nm_lineup_topic(live->lineup, item->topic);
    if (topic != NM_NONE && (check_topic(live, client, topic, item, err) || read_encoding(item->encoding, &json, err)))
        return -1;
    for (uint32_t i = 0; i < client->n_publications; i++)
        if (client->publications[i].id == item->id) return nm_fail(err, "channel %u is already in use", item->id);
    if (client->n_publications == PUBLICATIONS)
        return nm_fail(err, "a client may publish at most %d channels", PUBLICATIONS);
    client->publications[client->n_publications++] = (struct publication){item->id, topic, json};
    return 0;
}

void publish_advertise(struct nm_live *live, struct client *client, const struct nm_fox_item *item)
{
    struct nm_err err = {0};
    if (advertise(live, client, item, &err)) client_status(client, 2, NULL, "advertise: %s", err.text);
}

void publish_unadvertise(struct client *client, uint32_t id)
{
    for (uint32_t i = 0; i < client->n_publications; i++) {
        if (client->publications[i].id != id) continue;
        client->publications[i] = client->publications[--client->n_publications];
        return;
    }
    client_status(client, 1, NULL, "unadvertise: there is no channel %u", id);
}

static int publish(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame, struct nm_err *err)
{
    const struct publication *publication = NULL;
    for (uint32_t i = 0; i < client->n_publications; i++)
        if (client->publications[i].id == frame->id) publication = &client->publications[i];
    if (!publication) return nm_fail(err, "there is no channel %u", frame->id);
    if (!write_allowed(live, client, NM_DESK_ROBOT, err)) return -1;
    if (publication->topic == NM_NONE)
        return nm_fail(err, "the line-up does not have the topic of channel %u: list it under remote: in %s", frame->id,
                       live->lineup->file);
    const struct nm_topic *topic = &live->lineup->topics[publication->topic];
    uint32_t port = live->write_ports[publication->topic];
    void *scratch = nm_calloc(1, topic->type->size);
    nm_reset(topic->type, scratch);
    int bad = decode(live, topic->type, scratch, publication->json, frame->data, frame->size,
                     nm_edge_pool(live->writing, port), err);
    if (!bad) bad = nm_gate_admit(live->gate, publication->topic, false, scratch, err);
    if (!bad) {
        nm_edge_begin(live->writing, nm_player_now(live->player));
        nm_copy(topic->type, topic->queue ? nm_edge_push(live->writing, port) : nm_edge_out(live->writing, port),
                scratch);
        if (!topic->queue) nm_edge_put(live->writing, port);
        nm_edge_end(live->writing);
    }
    nm_reset(topic->type, scratch);
    free(scratch);
    return bad;
}

void publish_message(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame)
{
    struct nm_err err = {0};
    if (publish(live, client, frame, &err)) client_status(client, 2, "publish", "publish: %s", err.text);
}

/* ---- parameters ---- */

/* Fills the table of parameters; again after another build of a module was swapped in. */
static void list_all(struct nm_live *live)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < live->lineup->n_instances; i++) n += nm_param_count(live->modules[i]);
    live->parameters = nm_calloc(n + 1, sizeof *live->parameters);
    live->n_parameters = 0;
    for (uint32_t i = 0; i < live->lineup->n_instances; i++)
        for (uint32_t p = 0; p < nm_param_count(live->modules[i]); p++) {
            struct parameter *parameter = &live->parameters[live->n_parameters++];
            const struct nm_param *row = &live->modules[i]->params[p];
            const char *instance = live->lineup->instances[i].name;
            *parameter = (struct parameter){.instance = i, .param = p, .row = row};
            if (asprintf(&parameter->name, "%s.%s", instance, row->name) < 0) abort();
            nm_player_value(live->player, i, p, &parameter->told);
        }
}

void parameters_free(struct nm_live *live)
{
    for (uint32_t i = 0; i < live->n_parameters; i++) free(live->parameters[i].name);
    free(live->parameters);
    live->parameters = NULL;
    live->n_parameters = 0;
}

void parameters_new(struct nm_live *live)
{
    live->modules = nm_take_n(&live->arena, const struct nm_module *, live->lineup->n_instances + 1);
    for (uint32_t i = 0; i < live->lineup->n_instances; i++) live->modules[i] = nm_player_module(live->player, i);
    list_all(live);
}

static void refresh(struct nm_live *live)
{
    bool same = true;
    for (uint32_t i = 0; i < live->lineup->n_instances; i++) {
        const struct nm_module *module = nm_player_module(live->player, i);
        same &= module == live->modules[i];
        live->modules[i] = module;
    }
    if (same) return;
    parameters_free(live);
    list_all(live);
    for (uint32_t c = 0; c < NM_LIVE_CLIENTS; c++) { /* a client that watched some now watches all */
        struct client *client = &live->clients[c];
        if (!client->watched) continue;
        free(client->watched);
        client->watched = nm_malloc(live->n_parameters + 1);
        memset(client->watched, 1, live->n_parameters + 1);
    }
}

static uint32_t find_parameter(const struct nm_live *live, const char *name)
{
    for (uint32_t i = 0; i < live->n_parameters; i++)
        if (!strcmp(live->parameters[i].name, name + (*name == '/'))) return i;
    return NM_NONE;
}

static struct nm_hint hint(const struct nm_live *live, const char *name)
{
    const char **names = nm_calloc(live->n_parameters + 1, sizeof *names);
    for (uint32_t i = 0; i < live->n_parameters; i++) names[i] = live->parameters[i].name;
    struct nm_hint near = nm_hint(name, names, live->n_parameters);
    free(names);
    return near;
}

static void write_value(struct nm_json *json, const struct nm_param *row, const struct nm_value *value)
{
    switch (row->kind) {
    case NM_PARAM_BOOL: nm_json_bool(json, "value", value->whole); return;
    case NM_PARAM_INT32:
    case NM_PARAM_INT64: nm_json_whole(json, "value", value->whole); return;
    case NM_PARAM_TEXT: nm_json_text(json, "value", value->text); return;
    case NM_PARAM_FLOAT:
    case NM_PARAM_DOUBLE:
        nm_json_exact(json, "value", value->number[0]);
        nm_json_text(json, "type", "float64");
        return;
    case NM_PARAM_FLOATS:
    case NM_PARAM_DOUBLES: break;
    }
    nm_json_open(json, "value", '[');
    for (uint32_t i = 0; i < nm_param_elements(row); i++) nm_json_exact(json, NULL, value->number[i]);
    nm_json_close(json, ']');
    nm_json_text(json, "type", "float64_array");
}

static void write_parameter(struct nm_live *live, struct nm_json *json, uint32_t index)
{
    const struct parameter *parameter = &live->parameters[index];
    struct nm_value value;
    nm_player_value(live->player, parameter->instance, parameter->param, &value);
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "name", parameter->name);
    write_value(json, parameter->row, &value);
    nm_json_close(json, '}');
}

static void open_values(struct nm_json *json)
{
    nm_json_begin(json, JSON_MOST);
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "op", "parameterValues");
    nm_json_open(json, "parameters", '[');
}

static void close_values(struct client *client, struct nm_json *json, const char *id)
{
    nm_json_close(json, ']');
    if (id) nm_json_text(json, "id", id);
    nm_json_close(json, '}');
    client_json(client, json);
}

/* Answers with the parameters that the request names, or with all if it names none. */
static void answer_values(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    struct nm_json json;
    open_values(&json);
    for (uint32_t i = 0; !request->n && i < live->n_parameters; i++) write_parameter(live, &json, i);
    for (uint32_t i = 0; i < request->n; i++) {
        uint32_t index = find_parameter(live, request->items[i].name);
        if (index != NM_NONE) write_parameter(live, &json, index);
    }
    close_values(client, &json, request->id);
}

void parameters_get(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    refresh(live);
    answer_values(live, client, request);
}

static int read_change(struct nm_live *live, const struct nm_fox_item *item, struct nm_change *change,
                       struct nm_err *err)
{
    uint32_t index = find_parameter(live, item->name);
    if (index == NM_NONE) {
        return nm_fail(err, "there is no parameter '%.100s'%s", item->name, hint(live, item->name).text);
    }
    const struct parameter *parameter = &live->parameters[index];
    struct nm_err why = {0};
    if (!item->value) return nm_fail(err, "%s: a parameter cannot be deleted", parameter->name);
    *change = (struct nm_change){.instance = parameter->instance, .param = parameter->param};
    if (nm_value_node(parameter->row, item->value, &change->value, &why))
        return nm_fail(err, "%s.%.*s", live->lineup->instances[parameter->instance].name, (int)strcspn(why.text, "\n"),
                       why.text);
    change->value.layer = NM_LAYER_LIVE;
    change->value.file = NULL; /* the text of the request is freed soon */
    change->value.line = 0;
    return 0;
}

void parameters_set(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    struct nm_err err = {0};
    struct nm_change *changes = nm_calloc(request->n + 1, sizeof *changes);
    refresh(live);
    int bad = write_allowed(live, client, NM_DESK_ROBOT, &err) ? 0 : -1;
    for (uint32_t i = 0; !bad && i < request->n; i++) bad = read_change(live, &request->items[i], &changes[i], &err);
    if (!bad && request->n) bad = nm_player_set(live->player, changes, request->n, &err) < 0;
    free(changes);
    if (bad) client_status(client, 2, NULL, "setParameters: %s", err.text);
    if (request->id && request->n) answer_values(live, client, request);
    if (!bad) parameters_tell(live);
}

void parameters_watch(struct nm_live *live, struct client *client, const struct nm_fox_request *request, bool on)
{
    refresh(live);
    if (!client->watched) client->watched = nm_calloc(live->n_parameters + 1, 1);
    if (!request->n) memset(client->watched, on, live->n_parameters);
    for (uint32_t i = 0; i < request->n; i++) {
        uint32_t index = find_parameter(live, request->items[i].name);
        if (index != NM_NONE) client->watched[index] = on;
    }
}

static void tell_changes(struct nm_live *live, struct client *client, const bool *changed)
{
    struct nm_json json;
    uint32_t n = 0;
    open_values(&json);
    for (uint32_t i = 0; i < live->n_parameters; i++) {
        if (!changed[i] || !client->watched[i]) continue;
        write_parameter(live, &json, i);
        n++;
    }
    if (n)
        close_values(client, &json, NULL);
    else
        nm_json_end(&json);
}

void parameters_tell(struct nm_live *live)
{
    bool any = false, watched = false;
    for (uint32_t c = 0; c < NM_LIVE_CLIENTS; c++) watched |= live->clients[c].connection && live->clients[c].watched;
    if (!watched) return;
    refresh(live);
    bool *changed = nm_calloc(live->n_parameters + 1, 1);
    for (uint32_t i = 0; i < live->n_parameters; i++) {
        struct parameter *parameter = &live->parameters[i];
        struct nm_value value;
        nm_player_value(live->player, parameter->instance, parameter->param, &value);
        changed[i] = !nm_value_equal(parameter->row, &value, &parameter->told);
        any |= changed[i];
        parameter->told = value;
    }
    for (uint32_t c = 0; any && c < NM_LIVE_CLIENTS; c++)
        if (live->clients[c].connection && live->clients[c].watched) tell_changes(live, &live->clients[c], changed);
    free(changed);
}
