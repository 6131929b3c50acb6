/* What waits to be sent to a client. Control frames are never dropped: a client that lets too many wait is
 * disconnected. Messages have a limit in number and bytes: beyond it the oldest are dropped, and the client is told so.
 * Topics with large payloads have no queue: each subscription holds only its newest message, so images cannot crowd out
 * state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "edge/live/live_inside.h"

/* one image is sent after this many other messages */
enum { IMAGE_EVERY = 16 };

struct payload *payload_new(size_t n)
{
    struct payload *payload = nm_malloc(sizeof *payload + n);
    payload->holders = 1;
    payload->n = n;
    return payload;
}

struct payload *payload_of(const void *bytes, size_t n)
{
    struct payload *payload = payload_new(n);
    memcpy(payload->bytes, bytes, n);
    return payload;
}

struct payload *payload_hold(struct payload *payload)
{
    payload->holders++;
    return payload;
}

void payload_release(struct payload *payload)
{
    if (payload && !--payload->holders) free(payload);
}

/* ---- control ---- */

static void control(struct client *client, struct payload *payload, int opcode)
{
    if (client->leaving || client->n_control == CONTROL_FRAMES || client->control_bytes + payload->n > CONTROL_BYTES) {
        payload_release(payload);
        client->leaving = true;
        return;
    }
    uint32_t at = (client->control_first + client->n_control++) % CONTROL_FRAMES;
    client->control[at].payload = payload;
    client->control[at].opcode = opcode;
    client->control_bytes += payload->n;
}

void client_json(struct client *client, struct nm_json *json)
{
    if (json->over)
        client->leaving = true;
    else if (json->n)
        control(client, payload_of(json->text, json->n), NM_WS_TEXT);
    nm_json_end(json);
}

void client_bytes(struct client *client, struct payload *payload) { control(client, payload, NM_WS_BINARY); }
void client_ping(struct client *client) { control(client, payload_new(0), NM_WS_PING); }
void client_pong(struct client *client, const void *bytes, size_t n)
{
    control(client, payload_of(bytes, n), NM_WS_PONG);
}

void client_status(struct client *client, int level, const char *id, const char *format, ...)
{
    char text[1024];
    struct nm_json json;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t n = strlen(text);
    if (n && text[n - 1] == '\n') text[n - 1] = '\0';
    nm_json_begin(&json, JSON_MOST);
    nm_json_open(&json, NULL, '{');
    nm_json_text(&json, "op", "status");
    nm_json_whole(&json, "level", level);
    nm_json_text(&json, "message", text);
    if (id) nm_json_text(&json, "id", id);
    nm_json_close(&json, '}');
    client_json(client, &json);
}

/* ---- messages ---- */

static void drop_oldest(struct nm_live *live, struct client *client)
{
    struct payload *payload = client->data[client->data_first].payload;
    client->data_bytes -= payload->n;
    payload_release(payload);
    client->data_first = (client->data_first + 1) % DATA_FRAMES;
    client->n_data--;
    atomic_fetch_add_explicit(&live->seats[client->seat].dropped, 1, memory_order_relaxed);
}

/* Viewers recognise exactly the first text and show a tip. */
static void tell_late(struct nm_live *live, struct client *client, const struct subscription *subscription)
{
    if (client->late) return;
    client->late = true;
    client_status(client, 1, "late", "Send buffer limit reached");
    client_status(client, 1, "late-topic", "messages are dropped; the first one was of %s",
                  live->channels[subscription->channel - 1].name);
}

static void tell_recovered(struct client *client)
{
    static const char text[] = "{\"op\": \"removeStatus\", \"statusIds\": [\"late\", \"late-topic\"]}";
    client->late = false;
    control(client, payload_of(text, sizeof text - 1), NM_WS_TEXT);
}

void client_message(struct nm_live *live, struct client *client, struct subscription *subscription,
                    struct payload *payload, int64_t time)
{
    if (client->leaving) return;
    if (live->channels[subscription->channel - 1].latest) {
        if (subscription->newest) atomic_fetch_add_explicit(&live->seats[client->seat].passed, 1, memory_order_relaxed);
        payload_release(subscription->newest);
        subscription->newest = payload_hold(payload);
        subscription->time = time;
    } else {
        bool full = client->n_data == DATA_FRAMES || client->data_bytes + payload->n > DATA_BYTES;
        if (full) tell_late(live, client, subscription);
        while (client->n_data && (client->n_data == DATA_FRAMES || client->data_bytes + payload->n > DATA_BYTES))
            drop_oldest(live, client);
        uint32_t at = (client->data_first + client->n_data++) % DATA_FRAMES;
        client->data[at].payload = payload_hold(payload);
        client->data[at].subscription = subscription->id;
        client->data[at].time = time;
        client->data_bytes += payload->n;
    }
}

/* ---- writing ---- */

static void write_control(struct client *client)
{
    struct payload *payload = client->control[client->control_first].payload;
    int opcode = client->control[client->control_first].opcode;
    client->control_first = (client->control_first + 1) % CONTROL_FRAMES;
    client->n_control--;
    client->control_bytes -= payload->n;
    connection_send(client->connection, opcode, NULL, 0, payload);
}

static void write_message(struct nm_live *live, struct client *client, struct payload *payload, uint32_t subscription,
                          int64_t time)
{
    uint8_t head[NM_FOX_MESSAGE_HEAD];
    size_t n = nm_fox_message_head(head, sizeof head, subscription, (uint64_t)time);
    atomic_fetch_add_explicit(&live->seats[client->seat].sent, 1, memory_order_relaxed);
    connection_send(client->connection, NM_WS_BINARY, head, n, payload);
}

/* The next subscription, in turn, that has an image to send. */
static struct subscription *next_image(struct client *client)
{
    for (uint32_t i = 0; i < client->n_subscriptions; i++) {
        uint32_t at = (client->next_image + i) % client->n_subscriptions;
        if (!client->subscriptions[at].newest) continue;
        client->next_image = at + 1;
        return &client->subscriptions[at];
    }
    return NULL;
}

static void write_next(struct nm_live *live, struct client *client)
{
    if (client->n_control) return write_control(client);
    struct subscription *image = !client->n_data || client->since_image >= IMAGE_EVERY ? next_image(client) : NULL;
    if (image) {
        struct payload *payload = image->newest;
        image->newest = NULL;
        client->since_image = 0;
        write_message(live, client, payload, image->id, image->time);
    } else {
        uint32_t at = client->data_first;
        struct payload *payload = client->data[at].payload;
        client->data_first = (at + 1) % DATA_FRAMES;
        client->n_data--;
        client->data_bytes -= payload->n;
        client->since_image++;
        write_message(live, client, payload, client->data[at].subscription, client->data[at].time);
        if (client->late && !client->n_data) tell_recovered(client);
    }
}

bool client_waits(const struct client *client)
{
    bool image = false;
    for (uint32_t i = 0; i < client->n_subscriptions && !image; i++) image = client->subscriptions[i].newest;
    return image || client->n_control || client->n_data;
}

void client_write(struct nm_live *live, struct client *client)
{
    while (!client->leaving && client_waits(client) && connection_has_room(client->connection))
        write_next(live, client);
}

/* ---- end ---- */

void client_forget(struct nm_live *live, struct client *client, uint32_t subscription)
{
    struct subscription *at = &client->subscriptions[subscription];
    payload_release(at->newest);
    live->channels[at->channel - 1].listeners--;
    *at = client->subscriptions[--client->n_subscriptions];
}

void client_close(struct nm_live *live, struct client *client)
{
    while (client->n_subscriptions) client_forget(live, client, client->n_subscriptions - 1);
    for (uint32_t i = 0; i < client->n_data; i++)
        payload_release(client->data[(client->data_first + i) % DATA_FRAMES].payload);
    for (uint32_t i = 0; i < client->n_control; i++)
        payload_release(client->control[(client->control_first + i) % CONTROL_FRAMES].payload);
    free(client->in);
    free(client->watched);
    *client = (struct client){.seat = client->seat};
    atomic_fetch_sub(&live->n_clients, 1);
}
