/* One row an operation: what a client asks for. Whatever comes in, nothing breaks: what is not understood is answered
 * with a status, and what only newer clients know is ignored. */
#include <stdio.h>
#include <string.h>

#include "edge/live/inside.h"

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
        client_status(client, 2, NULL, "subscribe: the id %u is in use already", item->id);
        return;
    }
    for (uint32_t i = 0; i < client->n_subscriptions; i++)
        if (client->subscriptions[i].channel == item->channel) {
            client_status(client, 1, NULL, "subscribe: %s is subscribed already",
                          live->channels[item->channel - 1].name);
            return;
        }
    if (client->n_subscriptions == SUBSCRIPTIONS) {
        client_status(client, 2, NULL, "subscribe: more than %d subscriptions", SUBSCRIPTIONS);
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
    if (!client->graph) words_graph(live, client);
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
