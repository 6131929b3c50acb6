/* Every topic of the line-up as a channel. Small values and queues are read as queues, so that each message counts;
 * topics with large payloads as values, of which the newest counts. A message is encoded once, and only while somebody
 * listens. Who comes later is given the newest value at once, and all that was said on tf_static. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "body/robot.h"
#include "codec/cdr.h"
#include "edge/dds/stamps.h"
#include "edge/live/inside.h"
#include "std_msgs/String.h"

/* A queue keeps what comes between two looks at it, but no more than so many bytes of it. */
enum { QUEUE_DEPTH = 64, QUEUE_BYTES = 1 << 20 };

static uint32_t depth_of(const struct nm_topic *topic)
{
    uint32_t least = topic->queue ? topic->depth : 4, depth = least > QUEUE_DEPTH ? least : QUEUE_DEPTH;
    while (depth > least && (size_t)depth * topic->type->size > QUEUE_BYTES) depth /= 2;
    return depth < least ? least : depth;
}

/* The robot's own description, as ROS tools expect it. */
static void add_description(struct nm_live *live)
{
    size_t n;
    struct channel *channel = &live->channels[live->n_channels];
    if (!live->lineup->robot_folder || nm_lineup_topic(live->lineup, "robot_description") != NM_NONE) return;
    const uint8_t *bytes = nm_robot_description(&live->arena, live->lineup->robot_folder, &n);
    if (!bytes) return;
    *channel = (struct channel){.name = "/robot_description", .type = &String_type, .port = NM_NONE};
    channel->kept[channel->n_kept++] = payload_of(bytes, n);
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

/* A topic that clients may fill. */
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
    live->channels = nm_take_n(&live->arena, struct channel, lineup->n_topics + 2);
    live->write_ports = nm_take_n(&live->arena, uint32_t, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        if (topic->role == NM_ROLE_TOPIC)
            add_topic(live, t, &ports[t]);
        else
            ports[t] = (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_QUEUE, .depth = depth_of(topic)};
    }
    add_description(live);
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
        for (uint32_t k = 0; k < live->channels[i].n_kept; k++) payload_release(live->channels[i].kept[k]);
}

/* Messages carry the player's clock; viewers want the time of day, except where time is virtual. */
int64_t live_log_time(const struct nm_live *live, int64_t time)
{
    if (live->options.virtual_time) return time;
    return time + nm_wall() - nm_clock();
}

/* The times inside a message, too: a viewer puts what it draws where they say. */
static struct payload *encode(struct nm_live *live, const struct channel *channel, const void *message)
{
    const struct nm_type *type = channel->type;
    struct payload *payload = NULL;
    if (channel->times) {
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
    if (channel->times) nm_reset(type, live->stamped); /* gives its blobs back */
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

/* What is said once stays for those who come later; of more than we keep, the newest. */
static void keep(struct channel *channel, struct payload *payload)
{
    if (channel->n_kept == KEPT) {
        payload_release(channel->kept[0]);
        memmove(channel->kept, channel->kept + 1, sizeof *channel->kept * (KEPT - 1));
        channel->n_kept--;
    }
    channel->kept[channel->n_kept++] = payload_hold(payload);
}

static void forward(struct nm_live *live, struct channel *channel, const void *message)
{
    bool once = !strcmp(channel->name, "/tf_static");
    if (!channel->listeners && !once) return;
    struct payload *payload = encode(live, channel, message);
    if (!payload) return;
    if (once) keep(channel, payload);
    send_all(live, (uint32_t)(channel - live->channels) + 1, payload, live_log_time(live, nm_slot(message)->time));
    payload_release(payload);
}

static void pump(struct nm_live *live, struct channel *channel)
{
    if (channel->port == NM_NONE) return;
    if (!channel->queue) {
        if (nm_edge_fresh(live->reading, channel->port))
            forward(live, channel, nm_edge_in(live->reading, channel->port));
        return;
    }
    const void *const *at;
    uint32_t n = nm_edge_queue(live->reading, channel->port, &at, NULL);
    for (uint32_t i = 0; i < n; i++) forward(live, channel, at[i]);
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
        uint32_t n = nm_edge_queue(live->reading, live->services[i].reply_port, &at, NULL);
        for (uint32_t k = 0; k < n; k++) services_answer(live, i, at[k]);
    }
    nm_edge_end(live->reading);
}

/* Who subscribes is given what there is. */
void channels_welcome(struct nm_live *live, struct client *client, struct subscription *subscription)
{
    struct channel *channel = &live->channels[subscription->channel - 1];
    int64_t now = live_log_time(live, nm_player_now(live->player));
    for (uint32_t i = 0; i < channel->n_kept; i++) client_message(live, client, subscription, channel->kept[i], now);
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
