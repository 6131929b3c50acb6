/* What waits for a client. Control frames are never dropped: a client that lets too many wait is. Messages have a
 * budget in number and bytes: beyond it the oldest go, and the client is told. Topics with large payloads do not queue:
 * each subscription has one place for its newest message, so images cannot crowd out state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge/live/inside.h"

/* after so many messages one image is let through */
enum { IMAGE_EVERY = 16 };

struct payload *payload_new(size_t n)
{
    struct payload *payload = malloc(sizeof *payload + n);
    if (!payload) abort();
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

void client_leave(struct client *client)
{
    client->leaving = true;
    lws_set_timeout(client->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

static void control(struct client *client, struct payload *payload, bool binary)
{
    if (client->leaving || client->n_control == CONTROL_FRAMES || client->control_bytes + payload->n > CONTROL_BYTES) {
        payload_release(payload);
        if (!client->leaving) client_leave(client);
        return;
    }
    uint32_t at = (client->control_first + client->n_control++) % CONTROL_FRAMES;
    client->control[at].payload = payload;
    client->control[at].binary = binary;
    client->control_bytes += payload->n;
    lws_callback_on_writable(client->wsi);
}

void client_json(struct client *client, struct nm_json *json)
{
    if (json->over)
        client_leave(client);
    else if (json->n)
        control(client, payload_of(json->text, json->n), false);
    nm_json_end(json);
}

void client_bytes(struct client *client, struct payload *payload) { control(client, payload, true); }

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

/* Viewers show a tip for exactly the first text. */
static void tell_late(struct nm_live *live, struct client *client, const struct subscription *subscription)
{
    if (client->late) return;
    client->late = true;
    client_status(client, 1, "late", "Send buffer limit reached");
    client_status(client, 1, "late-topic", "messages are dropped, first of %s",
                  live->channels[subscription->channel - 1].name);
}

static void tell_recovered(struct client *client)
{
    static const char text[] = "{\"op\": \"removeStatus\", \"statusIds\": [\"late\", \"late-topic\"]}";
    client->late = false;
    control(client, payload_of(text, sizeof text - 1), false);
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
    lws_callback_on_writable(client->wsi);
}

/* ---- writing ---- */

static uint8_t *room_for(struct nm_live *live, size_t n)
{
    if (live->scratch_room < LWS_PRE + n) {
        size_t room = live->scratch_room ? live->scratch_room : 1 << 16;
        while (room < LWS_PRE + n) room *= 2;
        free(live->scratch);
        live->scratch = malloc(room);
        if (!live->scratch) abort();
        live->scratch_room = room;
    }
    return live->scratch + LWS_PRE;
}

static int write_frame(struct client *client, uint8_t *at, size_t n, bool binary)
{
    return lws_write(client->wsi, at, n, binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT) < (int)n ? -1 : 0;
}

static int write_control(struct nm_live *live, struct client *client)
{
    struct payload *payload = client->control[client->control_first].payload;
    bool binary = client->control[client->control_first].binary;
    client->control_first = (client->control_first + 1) % CONTROL_FRAMES;
    client->n_control--;
    client->control_bytes -= payload->n;
    uint8_t *at = room_for(live, payload->n);
    memcpy(at, payload->bytes, payload->n);
    int bad = write_frame(client, at, payload->n, binary);
    payload_release(payload);
    return bad;
}

static int write_message(struct nm_live *live, struct client *client, struct payload *payload, uint32_t subscription,
                         int64_t time)
{
    uint8_t *at = room_for(live, NM_FOX_MESSAGE_HEAD + payload->n);
    size_t head = nm_fox_message_head(at, NM_FOX_MESSAGE_HEAD, subscription, (uint64_t)time);
    memcpy(at + head, payload->bytes, payload->n);
    atomic_fetch_add_explicit(&live->seats[client->seat].sent, 1, memory_order_relaxed);
    int bad = write_frame(client, at, head + payload->n, true);
    payload_release(payload);
    return bad;
}

/* The next subscription, in turn, whose image waits. */
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

static int write_next(struct nm_live *live, struct client *client)
{
    if (client->n_control) return write_control(live, client);
    struct subscription *image = !client->n_data || client->since_image >= IMAGE_EVERY ? next_image(client) : NULL;
    if (image) {
        struct payload *payload = image->newest;
        image->newest = NULL;
        client->since_image = 0;
        return write_message(live, client, payload, image->id, image->time);
    }
    if (!client->n_data) return 0;
    uint32_t at = client->data_first;
    struct payload *payload = client->data[at].payload;
    client->data_first = (at + 1) % DATA_FRAMES;
    client->n_data--;
    client->data_bytes -= payload->n;
    client->since_image++;
    int bad = write_message(live, client, payload, client->data[at].subscription, client->data[at].time);
    if (!bad && client->late && !client->n_data) tell_recovered(client);
    return bad;
}

/* Several small frames go out in one turn, as long as the socket takes them. */
int client_write(struct nm_live *live, struct client *client)
{
    enum { A_TURN = 16 };
    for (int i = 0; i < A_TURN && !client->leaving; i++) {
        bool waits = client->n_control || client->n_data || next_image(client);
        if (!waits) return 0;
        if (write_next(live, client)) return -1;
        if (lws_send_pipe_choked(client->wsi)) break;
    }
    lws_callback_on_writable(client->wsi);
    return 0;
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
    for (; client->n_data; client->n_data--, client->data_first = (client->data_first + 1) % DATA_FRAMES)
        payload_release(client->data[client->data_first].payload);
    for (; client->n_control; client->n_control--, client->control_first = (client->control_first + 1) % CONTROL_FRAMES)
        payload_release(client->control[client->control_first].payload);
    free(client->in);
    free(client->watched);
    *client = (struct client){.seat = client->seat};
    atomic_fetch_sub(&live->n_clients, 1);
}
