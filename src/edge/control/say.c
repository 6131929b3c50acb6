/* A client speaks to the line-up: a message on a topic that comes from outside, or a request to one of its services.
 * The replies to those go nowhere; whoever wants them is a node (edge/dds) or a viewer (edge/live). */
#include <stdlib.h>
#include <string.h>

#include "codec/text.h"
#include "edge/control/inside.h"

#define CALLER (UINT64_MAX - 4242) /* who asks; no instance has this number */

static bool may_be_said(const struct nm_topic *topic)
{
    bool request = topic->role == NM_ROLE_REQUEST && topic->n_consumers;
    return (request || (topic->remote && topic->role == NM_ROLE_TOPIC)) && !topic->type->blobs;
}

int control_mouth(struct nm_control *control, struct nm_err *err)
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

int control_say(struct nm_control *control, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    uint32_t index = nm_find_topic(control->view.lineup, request->topic, err);
    if (index == NM_NONE) return -1;
    const struct nm_topic *topic = &control->view.lineup->topics[index];
    if (control->say_ports[index] == NM_NONE)
        return nm_fail(err, "%s is not said from outside: it does not stand under remote:, and is no service's request",
                       topic->name);
    void *message = calloc(1, topic->type->size);
    if (!message) abort();
    nm_reset(topic->type, message);
    int bad = nm_parse_text(topic->type, message, "message", request->message, strlen(request->message), NULL, err);
    if (!bad) bad = nm_gate_admit(control->gate, index, false, message, err);
    if (!bad) publish(control, topic, control->say_ports[index], message);
    if (!bad) nm_json_text(reply, "topic", topic->name);
    free(message);
    return bad;
}
