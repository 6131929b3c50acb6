/* What clients listen to, and how often things happen. The edge reads every topic of the line-up: of a queue each
 * message, of a value the newest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/text.h"
#include "edge/control/inside.h"

/* A queue keeps what comes between two looks at it, but no more than so many bytes of it. */
enum { QUEUE_DEPTH = 64, QUEUE_BYTES = 1 << 20, MESSAGE_MOST = 1 << 17 };
static const int64_t sample_every = 1000000000; /* ns */

int control_edge(struct nm_control *control, struct nm_err *err)
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
    nm_json_text(json, "text", text.used <= MESSAGE_MOST ? text.text : "# too long to be shown\n");
    nm_json_close(json, '}');
    free(text.text);
}

static void send_message(struct nm_control *control, uint32_t topic, const void *message)
{
    const struct nm_type *type = control->view.lineup->topics[topic].type;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &control->clients[i];
        if (client->fd < 0 || client->echo != topic) continue;
        if (client_waiting(client) > STREAM_MOST) {
            client->left_out++;
            continue;
        }
        struct nm_json json;
        nm_json_begin(&json, REPLY_MOST);
        write_message(type, message, client->left_out, &json);
        if (!json.over) client_send(client, &json);
        client->left_out = 0;
        nm_json_end(&json);
    }
}

static bool anybody_listens(const struct nm_control *control, uint32_t topic)
{
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (control->clients[i].fd >= 0 && control->clients[i].echo == topic) return true;
    return false;
}

/* Modules show things while a client asked for it, or while one listens to what they show. */
static void watch_as_needed(struct nm_control *control)
{
    uint32_t show = nm_lineup_topic(control->view.lineup, "show");
    bool wanted = control->watch || (show != NM_NONE && anybody_listens(control, show));
    if (wanted != control->watching) nm_player_watch(control->player, wanted);
    control->watching = wanted;
}

void control_pump(struct nm_control *control)
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

void control_sample(struct nm_control *control)
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
