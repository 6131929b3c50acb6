/* What a viewer sees of the line-up, in the Foxglove protocol: the greeting, a channel for every topic, the graph, and
 * the requests that a client may send.
 *
 * Small values and queues are read as queues, so that no message is missed; topics with large payloads are read as
 * values, of which only the newest matters. A message is encoded once, and only while somebody listens. A client that
 * subscribes later gets the newest value at once, and what was last published on tf_static and rosout. Images come also
 * as JPEG, ten a second, for viewers behind a network that is slower than a camera. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "body/robot.h"
#include "codec/cdr.h"
#include "codec/jpeg.h"
#include "edge/dds/stamps.h"
#include "edge/live/live_inside.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"
#include "std_msgs/String.h"

/* channels in one text; clients read each text as a whole */
enum { A_BATCH = 50, QUALITY = 60 /* of JPEG */ };
static const int64_t jpeg_every = 100000000; /* ns */

static void begin_text(struct nm_json *json, const char *op)
{
    nm_json_begin(json, JSON_MOST);
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "op", op);
}

static void end_text(struct client *client, struct nm_json *json)
{
    nm_json_close(json, '}');
    client_json(client, json);
}

static void tell_server(struct nm_live *live, struct client *client)
{
    static const char *const capabilities[] = {"clientPublish", "parameters",      "parametersSubscribe",
                                               "services",      "connectionGraph", "assets"};
    struct nm_json json;
    begin_text(&json, "serverInfo");
    nm_json_text(&json, "name", nm_player_name(live->player));
    nm_json_open(&json, "capabilities", '[');
    for (uint32_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
        nm_json_text(&json, NULL, capabilities[i]);
    if (live->options.virtual_time) nm_json_text(&json, NULL, "time");
    nm_json_close(&json, ']');
    nm_json_open(&json, "supportedEncodings", '[');
    nm_json_text(&json, NULL, "cdr");
    nm_json_text(&json, NULL, "json");
    nm_json_close(&json, ']');
    nm_json_open(&json, "metadata", '{');
    nm_json_text(&json, "ROS_DISTRO", "jazzy");
    nm_json_text(&json, "lineup", live->lineup->name);
    nm_json_text(&json, "robot", live->lineup->robot ? live->lineup->robot : "");
    nm_json_text(&json, "write", client->may_write ? "yes" : "no");
    if (live->peers) nm_json_text(&json, "peers", live->peers);
    nm_json_close(&json, '}');
    nm_json_text(&json, "sessionId", live->session);
    end_text(client, &json);
}

static void tell_channels(struct nm_live *live, struct client *client)
{
    struct nm_json json;
    for (uint32_t i = 0; i < live->n_channels; i++) {
        const struct channel *channel = &live->channels[i];
        if (i % A_BATCH == 0) {
            begin_text(&json, "advertise");
            nm_json_open(&json, "channels", '[');
        }
        nm_json_open(&json, NULL, '{');
        nm_json_whole(&json, "id", i + 1);
        nm_json_text(&json, "topic", channel->name);
        nm_json_text(&json, "encoding", "cdr");
        nm_json_text(&json, "schemaName", channel->type->name);
        nm_json_text(&json, "schemaEncoding", "ros2msg");
        nm_json_text(&json, "schema", channel->type->schema);
        nm_json_close(&json, '}');
        if (i % A_BATCH == A_BATCH - 1 || i + 1 == live->n_channels) {
            nm_json_close(&json, ']');
            end_text(client, &json);
        }
    }
}

static void service_end(struct nm_json *json, const char *key, const struct nm_type *type)
{
    nm_json_open(json, key, '{');
    nm_json_text(json, "encoding", "cdr");
    nm_json_text(json, "schemaName", type->name);
    nm_json_text(json, "schemaEncoding", "ros2msg");
    nm_json_text(json, "schema", type->schema);
    nm_json_close(json, '}');
}

static void tell_services(struct nm_live *live, struct client *client)
{
    struct nm_json json;
    if (!live->n_services) return;
    begin_text(&json, "advertiseServices");
    nm_json_open(&json, "services", '[');
    for (uint32_t i = 0; i < live->n_services; i++) {
        const struct service *service = &live->services[i];
        nm_json_open(&json, NULL, '{');
        nm_json_whole(&json, "id", i + 1);
        nm_json_text(&json, "name", service->name);
        nm_json_text(&json, "type", service->type);
        service_end(&json, "request", service->request_type);
        service_end(&json, "response", service->reply_type);
        nm_json_close(&json, '}');
    }
    nm_json_close(&json, ']');
    end_text(client, &json);
}

void topics_greet(struct nm_live *live, struct client *client)
{
    tell_server(live, client);
    tell_channels(live, client);
    tell_services(live, client);
}

/* ---- the graph ---- */

static void tell_ends(struct nm_live *live, struct nm_json *json, const char *list, const char *ids, bool makers)
{
    nm_json_open(json, list, '[');
    for (uint32_t t = 0; t < live->lineup->n_topics; t++) {
        const struct nm_topic *topic = &live->lineup->topics[t];
        uint32_t n = makers ? topic->n_producers : topic->n_consumers;
        const struct nm_end *ends = makers ? topic->producers : topic->consumers;
        char name[256];
        if (topic->role != NM_ROLE_TOPIC || !n) continue;
        snprintf(name, sizeof name, "/%s", topic->name);
        nm_json_open(json, NULL, '{');
        nm_json_text(json, "name", name);
        nm_json_open(json, ids, '[');
        for (uint32_t i = 0; i < n; i++) nm_json_text(json, NULL, live->lineup->instances[ends[i].instance].name);
        nm_json_close(json, ']');
        nm_json_close(json, '}');
    }
    nm_json_close(json, ']');
}

static void tell_providers(struct nm_live *live, struct nm_json *json)
{
    nm_json_open(json, "advertisedServices", '[');
    for (uint32_t i = 0; i < live->n_services; i++) {
        const struct service *service = &live->services[i];
        const struct nm_topic *request = service->at_desk ? NULL : &live->lineup->topics[service->request];
        nm_json_open(json, NULL, '{');
        nm_json_text(json, "name", service->name);
        nm_json_open(json, "providerIds", '[');
        if (!request) nm_json_text(json, NULL, nm_player_name(live->player));
        for (uint32_t k = 0; request && k < request->n_consumers; k++)
            nm_json_text(json, NULL, live->lineup->instances[request->consumers[k].instance].name);
        nm_json_close(json, ']');
        nm_json_close(json, '}');
    }
    nm_json_close(json, ']');
}

static void tell_graph(struct nm_live *live, struct client *client)
{
    struct nm_json json;
    begin_text(&json, "connectionGraphUpdate");
    tell_ends(live, &json, "publishedTopics", "publisherIds", true);
    tell_ends(live, &json, "subscribedTopics", "subscriberIds", false);
    tell_providers(live, &json);
    nm_json_open(&json, "removedTopics", '[');
    nm_json_close(&json, ']');
    nm_json_open(&json, "removedServices", '[');
    nm_json_close(&json, ']');
    end_text(client, &json);
}

/* ---- channels ---- */

/* A queue holds what is published between two looks at it, up to this many messages and bytes. */
enum { QUEUE_DEPTH = 64, QUEUE_BYTES = 1 << 20 };

static uint32_t depth_of(const struct nm_topic *topic)
{
    uint32_t least = topic->queue ? topic->depth : 4, depth = least > QUEUE_DEPTH ? least : QUEUE_DEPTH;
    while (depth > least && (size_t)depth * topic->type->size > QUEUE_BYTES) depth /= 2;
    return depth < least ? least : depth;
}

/* The robot's URDF, on the topic where ROS tools expect it. */
static void add_description(struct nm_live *live)
{
    size_t n;
    struct channel *channel = &live->channels[live->n_channels];
    if (!live->lineup->robot_folder || nm_lineup_topic(live->lineup, "robot_description") != NM_NONE) return;
    const uint8_t *bytes = nm_robot_description(&live->arena, live->lineup->robot_folder, &n);
    if (!bytes) return;
    *channel = (struct channel){.name = "/robot_description", .type = &String_type, .port = NM_NONE};
    channel->kept[channel->n_kept].payload = payload_of(bytes, n);
    channel->kept[channel->n_kept++].time = -1;
    live->n_channels++;
}

static void add_topic(struct nm_live *live, uint32_t t, struct nm_edge_port *port)
{
    const struct nm_topic *topic = &live->lineup->topics[t];
    struct channel *channel = &live->channels[live->n_channels++];
    *channel = (struct channel){.name = nm_take_format(&live->arena, "/%s", topic->name), .type = topic->type};
    channel->times = !live->options.virtual_time && nm_has_times(topic->type);
    channel->port = t;
    channel->queue = topic->queue || !topic->type->blobs;
    channel->latest = !channel->queue;
    *port = (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_IN};
    if (!channel->queue) return;
    *port = (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_QUEUE, .depth = depth_of(topic)};
    if (topic->queue) return;
    channel->last = nm_take(&live->arena, topic->type->size);
    channel->last_time = -1;
    nm_reset(topic->type, channel->last);
}

static void add_jpeg(struct nm_live *live, struct channel *image)
{
    struct channel *channel = image->jpeg = &live->channels[live->n_channels++];
    *channel = (struct channel){.name = nm_take_format(&live->arena, "%s/compressed", image->name),
                                .type = &CompressedImage_type,
                                .port = NM_NONE,
                                .latest = true,
                                .last_time = -1};
}

/* Clients may publish this topic. */
static bool from_outside(const struct nm_topic *topic) { return topic->remote && topic->role == NM_ROLE_TOPIC; }

static int open_writing(struct nm_live *live, struct nm_err *err)
{
    const struct nm_lineup *lineup = live->lineup;
    struct nm_edge_port *ports = nm_take_n(&live->arena, struct nm_edge_port, lineup->n_topics + 1);
    uint32_t n = 0;
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        bool request = topic->role == NM_ROLE_REQUEST && topic->n_consumers;
        live->write_ports[t] = NM_NONE;
        if (!request && !from_outside(topic)) continue;
        live->write_ports[t] = n;
        ports[n++] = (struct nm_edge_port){.topic = topic->name,
                                           .kind = (topic->queue || request ? NM_PORT_OUT_QUEUE : NM_PORT_OUT) |
                                                   (enum nm_port_kind)NM_EDGE_OUTSIDE,
                                           .depth = topic->depth,
                                           .blob = topic->type->blobs ? NM_FOX_FRAME : 0};
    }
    live->writing = nm_edge_new(live->player, "live clients", ports, n, err);
    return live->writing ? 0 : -1;
}

int channels_new(struct nm_live *live, struct nm_err *err)
{
    const struct nm_lineup *lineup = live->lineup;
    struct nm_edge_port *ports = nm_take_n(&live->arena, struct nm_edge_port, lineup->n_topics + 1);
    live->channels = nm_take_n(&live->arena, struct channel, 2 * lineup->n_topics + 4);
    live->write_ports = nm_take_n(&live->arena, uint32_t, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        if (topic->role == NM_ROLE_TOPIC)
            add_topic(live, t, &ports[t]);
        else
            ports[t] = (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_QUEUE, .depth = depth_of(topic)};
    }
    for (uint32_t i = 0, n = live->n_channels; i < n; i++)
        if (live->channels[i].type == &Image_type) add_jpeg(live, &live->channels[i]);
    add_description(live);
    reports_new(live);
    uint32_t largest = 1;
    for (uint32_t i = 0; i < live->n_channels; i++)
        if (live->channels[i].times && live->channels[i].type->size > largest) largest = live->channels[i].type->size;
    live->stamped = nm_take(&live->arena, largest);
    live->show = nm_lineup_topic(lineup, "show");
    live->reading = nm_edge_new(live->player, "live", ports, lineup->n_topics, err);
    return live->reading && !open_writing(live, err) ? 0 : -1;
}

void channels_free(struct nm_live *live)
{
    for (uint32_t i = 0; i < live->n_channels; i++)
        for (uint32_t k = 0; k < live->channels[i].n_kept; k++) payload_release(live->channels[i].kept[k].payload);
}

/* Messages carry the time of the player's clock; viewers want the time of day, except when time is virtual. */
int64_t live_log_time(const struct nm_live *live, int64_t time)
{
    if (live->options.virtual_time) return time;
    return time + nm_wall() - nm_clock();
}

/* Encodes a message. The times inside it become times of day as well, because viewers draw by them. */
static struct payload *encode(struct nm_live *live, const struct channel *channel, const void *message)
{
    const struct nm_type *type = channel->type;
    struct payload *payload = NULL;
    if (channel->times) {
        if (type->blobs) memset(live->stamped, 0, type->size); /* what other types left there are no blobs */
        nm_copy(type, live->stamped, message);
        nm_shift_times(type, live->stamped, live_log_time(live, 0));
        message = live->stamped;
    }
    size_t size = nm_cdr_size(type, message);
    if (size <= MESSAGE_MOST) {
        payload = payload_new(size);
        int64_t n = nm_cdr_encode(type, message, payload->bytes, size);
        payload->n = n < 0 ? 0 : (size_t)n;
        if (n < 0) {
            payload_release(payload);
            payload = NULL;
        }
    }
    if (channel->times) nm_reset(type, live->stamped); /* releases its blobs */
    return payload;
}

static void send_all(struct nm_live *live, uint32_t id, struct payload *payload, int64_t time)
{
    for (uint32_t c = 0; c < NM_LIVE_CLIENTS; c++) {
        struct client *client = &live->clients[c];
        for (uint32_t s = 0; client->connection && s < client->n_subscriptions; s++)
            if (client->subscriptions[s].channel == id)
                client_message(live, client, &client->subscriptions[s], payload, time);
    }
}

/* Keeps a message for clients that subscribe later; the newest KEPT of them. */
static void keep(struct channel *channel, struct payload *payload, int64_t time)
{
    if (channel->n_kept == KEPT) {
        payload_release(channel->kept[0].payload);
        memmove(channel->kept, channel->kept + 1, sizeof *channel->kept * (KEPT - 1));
        channel->n_kept--;
    }
    channel->kept[channel->n_kept].payload = payload_hold(payload);
    channel->kept[channel->n_kept++].time = time;
}

static void send_now(struct nm_live *live, struct channel *channel, const void *message, int64_t time)
{
    bool jpeg = channel->port == NM_NONE && channel->latest;
    bool kept = jpeg || !strcmp(channel->name, "/tf_static") || !strcmp(channel->name, "/rosout");
    if (!channel->listeners && !kept) return;
    struct payload *payload = encode(live, channel, message);
    if (!payload) return;
    if (kept) keep(channel, payload, time);
    send_all(live, (uint32_t)(channel - live->channels) + 1, payload, live_log_time(live, time));
    payload_release(payload);
}

static void forward(struct nm_live *live, struct channel *channel, const void *message)
{
    send_now(live, channel, message, nm_slot(message)->time);
}

void channel_send(struct nm_live *live, struct channel *channel, const void *message)
{
    send_now(live, channel, message, nm_player_now(live->player));
}

/* An image is made a JPEG once; who subscribes later gets the one that was kept. */
static void send_jpeg(struct nm_live *live, struct channel *channel, const Image *image)
{
    CompressedImage jpeg = {.header = image->header, .format = "jpeg"};
    int64_t time = nm_slot(image)->time;
    size_t room = nm_jpeg_room(image->width, image->height), n;
    if (!channel->listeners || !image->data.n || (channel->last_time >= 0 && time - channel->last_time < jpeg_every))
        return;
    channel->last_time = time;
    while (channel->n_kept) payload_release(channel->kept[--channel->n_kept].payload);
    uint8_t *bytes = room <= MESSAGE_MOST ? malloc(room) : NULL;
    if (bytes && !nm_jpeg_encode_image(image, QUALITY, bytes, room, &n, NULL)) {
        jpeg.data = (struct nm_blob){.data = bytes, .n = (uint32_t)n, .cap = (uint32_t)n};
        if (!live->options.virtual_time) nm_shift_times(&CompressedImage_type, &jpeg, live_log_time(live, 0));
        send_now(live, channel, &jpeg, time);
    }
    free(bytes);
}

static void pump(struct nm_live *live, struct channel *channel)
{
    if (channel->port == NM_NONE) return;
    const void *const *at, *newest = channel->queue ? NULL : nm_edge_in(live->reading, channel->port);
    uint32_t n = 1;
    if (channel->queue)
        n = nm_edge_queue(live->reading, channel->port, &at, NULL);
    else if (nm_edge_fresh(live->reading, channel->port))
        at = &newest;
    else
        return;
    if (n && reports_sizes(live)) channel->size = nm_cdr_size(channel->type, at[n - 1]);
    for (uint32_t i = 0; i < n; i++) forward(live, channel, at[i]);
    if (n && channel->jpeg) send_jpeg(live, channel->jpeg, at[n - 1]);
    if (!n || !channel->last) return;
    nm_copy(channel->type, channel->last, at[n - 1]);
    channel->last_time = nm_slot(at[n - 1])->time;
}

void channels_pump(struct nm_live *live)
{
    nm_edge_begin(live->reading, nm_player_now(live->player));
    for (uint32_t i = 0; i < live->n_channels; i++) pump(live, &live->channels[i]);
    for (uint32_t i = 0; i < live->n_services; i++) {
        const void *const *at;
        if (live->services[i].at_desk) continue;
        uint32_t n = nm_edge_queue(live->reading, live->services[i].reply_port, &at, NULL);
        for (uint32_t k = 0; k < n; k++) services_answer(live, i, at[k]);
    }
    nm_edge_end(live->reading);
}

/* Sends a new subscriber what is known so far. */
static void channels_welcome(struct nm_live *live, struct client *client, struct subscription *subscription)
{
    struct channel *channel = &live->channels[subscription->channel - 1];
    for (uint32_t i = 0; i < live->n_channels; i++) {
        const void *image =
            live->channels[i].jpeg == channel ? nm_edge_in(live->reading, live->channels[i].port) : NULL;
        if (!image || nm_slot(image)->time == channel->last_time) continue;
        channel->last_time = -1; /* at once, and to this client too */
        send_jpeg(live, channel, image);
        return;
    }
    for (uint32_t i = 0; i < channel->n_kept; i++) {
        int64_t at = channel->kept[i].time < 0 ? nm_player_now(live->player) : channel->kept[i].time;
        client_message(live, client, subscription, channel->kept[i].payload, live_log_time(live, at));
    }
    const void *message = channel->last && channel->last_time >= 0 ? channel->last : NULL;
    int64_t time = channel->last_time;
    if (channel->port != NM_NONE && !channel->queue) {
        message = nm_edge_in(live->reading, channel->port);
        if (message && !nm_slot(message)->seq) message = NULL;
        if (message) time = nm_slot(message)->time;
    }
    struct payload *payload = message ? encode(live, channel, message) : NULL;
    if (!payload) return;
    client_message(live, client, subscription, payload, live_log_time(live, time));
    payload_release(payload);
}

/* ---- requests ---- */

/* Nothing that a client sends can break the server: a faulty request is answered with a status, and operations that
 * only newer clients know are ignored. */

static struct subscription *subscription_of(struct client *client, uint32_t id)
{
    for (uint32_t i = 0; i < client->n_subscriptions; i++)
        if (client->subscriptions[i].id == id) return &client->subscriptions[i];
    return NULL;
}

static void subscribe_one(struct nm_live *live, struct client *client, const struct nm_fox_item *item)
{
    if (!item->channel || item->channel > live->n_channels) {
        client_status(client, 2, NULL, "subscribe: there is no channel %u", item->channel);
        return;
    }
    if (subscription_of(client, item->id)) {
        client_status(client, 2, NULL, "subscribe: the id %u is already in use", item->id);
        return;
    }
    for (uint32_t i = 0; i < client->n_subscriptions; i++)
        if (client->subscriptions[i].channel == item->channel) {
            client_status(client, 1, NULL, "subscribe: this client has already subscribed to %s",
                          live->channels[item->channel - 1].name);
            return;
        }
    if (client->n_subscriptions == SUBSCRIPTIONS) {
        client_status(client, 2, NULL, "subscribe: a client may have at most %d subscriptions", SUBSCRIPTIONS);
        return;
    }
    struct subscription *subscription = &client->subscriptions[client->n_subscriptions++];
    *subscription = (struct subscription){.id = item->id, .channel = item->channel};
    live->channels[item->channel - 1].listeners++;
    channels_welcome(live, client, subscription);
}

static void subscribe(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    for (uint32_t i = 0; i < request->n; i++) subscribe_one(live, client, &request->items[i]);
}

static void unsubscribe(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    for (uint32_t i = 0; i < request->n; i++) {
        struct subscription *subscription = subscription_of(client, request->items[i].id);
        if (subscription)
            client_forget(live, client, (uint32_t)(subscription - client->subscriptions));
        else
            client_status(client, 1, NULL, "unsubscribe: there is no subscription %u", request->items[i].id);
    }
}

static void advertise(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    for (uint32_t i = 0; i < request->n; i++) publish_advertise(live, client, &request->items[i]);
}

static void unadvertise(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    (void)live;
    for (uint32_t i = 0; i < request->n; i++) publish_unadvertise(client, request->items[i].id);
}

static void watch(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    parameters_watch(live, client, request, true);
}

static void unwatch(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    parameters_watch(live, client, request, false);
}

static void watch_graph(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    (void)request;
    if (!client->graph) tell_graph(live, client);
    client->graph = true;
}

static void unwatch_graph(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    (void)live;
    (void)request;
    client->graph = false;
}

static void fetch_asset(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    client_bytes(client, asset_frame(live, request->request_id, request->uri));
}

static void (*const operations[NM_FOX_OPS])(struct nm_live *, struct client *, const struct nm_fox_request *) = {
    [NM_FOX_SUBSCRIBE] = subscribe,           [NM_FOX_UNSUBSCRIBE] = unsubscribe,
    [NM_FOX_ADVERTISE] = advertise,           [NM_FOX_UNADVERTISE] = unadvertise,
    [NM_FOX_GET_PARAMETERS] = parameters_get, [NM_FOX_SET_PARAMETERS] = parameters_set,
    [NM_FOX_WATCH_PARAMETERS] = watch,        [NM_FOX_UNWATCH_PARAMETERS] = unwatch,
    [NM_FOX_WATCH_GRAPH] = watch_graph,       [NM_FOX_UNWATCH_GRAPH] = unwatch_graph,
    [NM_FOX_FETCH_ASSET] = fetch_asset,
};

void request_text(struct nm_live *live, struct client *client, const char *text, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_fox_request request;
    int bad = nm_fox_request_read(&arena, text, size, &request, &err);
    if (!bad)
        operations[request.op](live, client, &request);
    else if (bad != NM_FOX_UNKNOWN)
        client_status(client, 2, NULL, "%s", err.text);
    nm_arena_free(&arena);
}

void request_frame(struct nm_live *live, struct client *client, const void *bytes, size_t size)
{
    struct nm_err err = {0};
    struct nm_fox_frame frame;
    int bad = nm_fox_frame_read(bytes, size, &frame, &err);
    if (bad == NM_FOX_UNKNOWN) return;
    if (bad)
        client_status(client, 2, NULL, "%s", err.text);
    else if (frame.op == NM_FOX_SERVICE_CALL)
        services_call(live, client, &frame);
    else
        publish_message(live, client, &frame);
}
