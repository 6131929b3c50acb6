/* What clients bring in: calls of the line-up's services, and messages for topics that come from outside. Both go
 * through an edge of their own, so that reading and writing a topic do not meet in one place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/cdr.h"
#include "codec/text.h"
#include "edge/dds/stamps.h"
#include "edge/live/inside.h"

static const int64_t patience = 10LL * 1000000000; /* ns; a service that has not answered by then does not */
#define CALLER (UINT64_MAX - 8765)                 /* who asks; no instance has this number */

bool write_allowed(struct nm_live *live, const struct client *client, struct nm_err *err)
{
    const char *game = nm_gate_locked(live->gate);
    if (!client->may_write)
        nm_fail(err, "read only: connect with ?token=… (the server told it at its start), from a page that it trusts");
    else if (live->options.locked)
        nm_fail(err, "writing is locked: the server was started with --live-locked");
    else if (game)
        nm_fail(err, "writing is locked: %s", game);
    else
        return true;
    return false;
}

/* ---- services ---- */

/* "std_srvs/srv/Trigger_Request" without its end */
static const char *service_type(struct nm_live *live, const struct nm_type *type)
{
    const char *end = strrchr(type->name, '_');
    return nm_take_format(&live->arena, "%.*s", end ? (int)(end - type->name) : (int)strlen(type->name), type->name);
}

void services_new(struct nm_live *live)
{
    const struct nm_lineup *lineup = live->lineup;
    live->services = nm_take_n(&live->arena, struct service, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        const char *end = strrchr(topic->name, '/');
        if (topic->role != NM_ROLE_REQUEST || live->write_ports[t] == NM_NONE || !end) continue;
        const char *name = nm_take_format(&live->arena, "/%.*s", (int)(end - topic->name), topic->name);
        uint32_t reply = nm_lineup_topic(lineup, nm_take_format(&live->arena, "%s/reply", name));
        if (reply == NM_NONE) continue;
        live->services[live->n_services++] = (struct service){.name = name,
                                                              .type = service_type(live, topic->type),
                                                              .request = t,
                                                              .reply = reply,
                                                              .request_port = live->write_ports[t],
                                                              .reply_port = reply};
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

/* A message as a client wrote it, with the player's times; large payloads go into blocks of the topic's pool. */
static int decode(const struct nm_live *live, const struct nm_type *type, void *message, bool json,
                  const uint8_t *bytes, size_t size, struct nm_blob_pool *pool, struct nm_err *err)
{
    if (type->blobs && !pool) return nm_fail(err, "%s holds large payloads, for which there is no room", type->name);
    if (json ? nm_parse_text(type, message, "message", (const char *)bytes, size, pool, err)
             : nm_cdr_decode(type, message, bytes, size, pool, err))
        return -1;
    nm_shift_times(type, message, -live_log_time(live, 0)); /* its times are those of the day */
    return 0;
}

static int read_encoding(const char *encoding, bool *json, struct nm_err *err)
{
    *json = !strcmp(encoding, "json");
    return *json || !strcmp(encoding, "cdr") ? 0 : nm_fail(err, "the encoding is cdr or json, not '%.16s'", encoding);
}

static struct call *free_call(struct nm_live *live, struct nm_err *err)
{
    for (uint32_t i = 0; i < CALLS; i++)
        if (!live->calls[i].open) return &live->calls[i];
    nm_fail(err, "%d calls wait for their answers already", CALLS);
    return NULL;
}

static int call(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame, struct nm_err *err)
{
    bool json;
    if (!write_allowed(live, client, err)) return -1;
    if (!frame->id || frame->id > live->n_services) return nm_fail(err, "there is no service %u", frame->id);
    const struct service *service = &live->services[frame->id - 1];
    const struct nm_type *type = live->lineup->topics[service->request].type;
    struct call *slot = free_call(live, err);
    if (!slot || read_encoding(frame->encoding, &json, err)) return -1;
    void *scratch = calloc(1, type->size);
    if (!scratch) abort();
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
    nm_reset(type, scratch); /* its blobs live on in what was published */
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

void services_answer(struct nm_live *live, uint32_t service, const void *reply)
{
    const struct nm_slot *slot = nm_slot(reply);
    if (slot->caller != CALLER) return;
    for (uint32_t i = 0; i < CALLS; i++) {
        struct call *call = &live->calls[i];
        if (!call->open || call->service != service || call->number != slot->call) continue;
        struct client *client = caller_of(live, call);
        call->open = false;
        if (client)
            client_bytes(client, answer_frame(call, live->lineup->topics[live->services[service].reply].type, reply));
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
        if (client) tell_failure(client, call->service + 1, call->id, "no answer for 10 seconds");
    }
}

/* ---- topics from outside ---- */

/* Whether a client may write this topic of the line-up, as it says that it will. */
static int check_topic(struct nm_live *live, struct client *client, uint32_t topic, const struct nm_fox_item *item,
                       struct nm_err *err)
{
    const struct nm_topic *row = &live->lineup->topics[topic];
    if (!write_allowed(live, client, err)) return -1;
    if (!row->remote || live->write_ports[topic] == NM_NONE || row->role != NM_ROLE_TOPIC)
        return nm_fail(err, "%.100s does not come from outside: list it under remote: in %s", item->topic,
                       live->lineup->file);
    const char *maker = nm_player_hardware(live->player, topic);
    if (maker) return nm_fail(err, "%.100s is refused: the edge '%s' of this process makes it", item->topic, maker);
    if (nm_type_find(&nm_all_types, item->schema_name) != row->type)
        return nm_fail(err, "%.100s carries %s, not %.100s", item->topic, row->type->name, item->schema_name);
    return 0;
}

/* Viewers advertise topics of their own as soon as they connect (a clicked point, a goal), whether or not anybody reads
 * them: that is no fault. A message on one of them is. */
static int advertise(struct nm_live *live, struct client *client, const struct nm_fox_item *item, struct nm_err *err)
{
    bool json = false;
    uint32_t topic = nm_lineup_topic(live->lineup, item->topic);
    if (topic != NM_NONE && (check_topic(live, client, topic, item, err) || read_encoding(item->encoding, &json, err)))
        return -1;
    for (uint32_t i = 0; i < client->n_publications; i++)
        if (client->publications[i].id == item->id) return nm_fail(err, "channel %u is in use already", item->id);
    if (client->n_publications == PUBLICATIONS) return nm_fail(err, "more than %d channels", PUBLICATIONS);
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
    if (!write_allowed(live, client, err)) return -1;
    if (publication->topic == NM_NONE)
        return nm_fail(err, "nobody reads the topic of channel %u: list it under remote: in %s", frame->id,
                       live->lineup->file);
    const struct nm_topic *topic = &live->lineup->topics[publication->topic];
    uint32_t port = live->write_ports[publication->topic];
    void *scratch = calloc(1, topic->type->size);
    if (!scratch) abort();
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
