/* The texts of the protocol that describe the line-up: who we are, which channels and services there are, and the graph
 * of who makes and who reads what. */
#include <string.h>

#include "edge/live/inside.h"

/* texts stay small enough for clients that read them whole */
enum { A_BATCH = 50 };

static void begin(struct nm_json *json, const char *op)
{
    nm_json_begin(json, JSON_MOST);
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "op", op);
}

static void end(struct client *client, struct nm_json *json)
{
    nm_json_close(json, '}');
    client_json(client, json);
}

static void tell_server(struct nm_live *live, struct client *client)
{
    static const char *const capabilities[] = {"clientPublish", "parameters",      "parametersSubscribe",
                                               "services",      "connectionGraph", "assets"};
    struct nm_json json;
    begin(&json, "serverInfo");
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
    nm_json_close(&json, '}');
    nm_json_text(&json, "sessionId", live->session);
    end(client, &json);
}

static void tell_channels(struct nm_live *live, struct client *client)
{
    struct nm_json json;
    for (uint32_t i = 0; i < live->n_channels; i++) {
        const struct channel *channel = &live->channels[i];
        if (i % A_BATCH == 0) {
            begin(&json, "advertise");
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
            end(client, &json);
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
    begin(&json, "advertiseServices");
    nm_json_open(&json, "services", '[');
    for (uint32_t i = 0; i < live->n_services; i++) {
        const struct service *service = &live->services[i];
        nm_json_open(&json, NULL, '{');
        nm_json_whole(&json, "id", i + 1);
        nm_json_text(&json, "name", service->name);
        nm_json_text(&json, "type", service->type);
        service_end(&json, "request", live->lineup->topics[service->request].type);
        service_end(&json, "response", live->lineup->topics[service->reply].type);
        nm_json_close(&json, '}');
    }
    nm_json_close(&json, ']');
    end(client, &json);
}

void words_greet(struct nm_live *live, struct client *client)
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
        const struct nm_topic *request = &live->lineup->topics[live->services[i].request];
        nm_json_open(json, NULL, '{');
        nm_json_text(json, "name", live->services[i].name);
        nm_json_open(json, "providerIds", '[');
        for (uint32_t k = 0; k < request->n_consumers; k++)
            nm_json_text(json, NULL, live->lineup->instances[request->consumers[k].instance].name);
        nm_json_close(json, ']');
        nm_json_close(json, '}');
    }
    nm_json_close(json, ']');
}

void words_graph(struct nm_live *live, struct client *client)
{
    struct nm_json json;
    begin(&json, "connectionGraphUpdate");
    tell_ends(live, &json, "publishedTopics", "publisherIds", true);
    tell_ends(live, &json, "subscribedTopics", "subscriberIds", false);
    tell_providers(live, &json);
    nm_json_open(&json, "removedTopics", '[');
    nm_json_close(&json, ']');
    nm_json_open(&json, "removedServices", '[');
    nm_json_close(&json, ']');
    end(client, &json);
}
