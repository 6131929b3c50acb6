/* What leaves: topics, the replies of our services, the requests to remote ones. All of it in the edge's thread. */
#include <stdio.h>

#include "edge/dds/inside.h"
#include "edge/dds/stamps.h"
#include "rcl_interfaces/Log.h"

/* How long a reply waits for its caller's reader to be found; rmw_cyclonedds waits as long. */
static const int64_t reader_patience = 100000000; /* ns */

/* A queue keeps what comes between two looks, but no more than so many bytes of it. */
enum { QUEUE_DEPTH = 64, QUEUE_BYTES = 1 << 20 };

void service_name(const struct nm_topic *topic, char *to, size_t size)
{
    static const char *const ends[] = {
        [NM_ROLE_TOPIC] = "", [NM_ROLE_REQUEST] = "/request", [NM_ROLE_REPLY] = "/reply"};
    const char *end = ends[topic->role];
    snprintf(to, size, "%.*s", (int)(strlen(topic->name) - strlen(end)), topic->name);
}

/* "imu" is rt/imu; the requests of "kick" are rq/kickRequest, their replies rr/kickReply. */
void wire_name(const struct nm_dds *dds, const struct nm_topic *topic, char *to, size_t size)
{
    static const char *const prefix[] = {[NM_ROLE_TOPIC] = "rt", [NM_ROLE_REQUEST] = "rq", [NM_ROLE_REPLY] = "rr"};
    static const char *const suffix[] = {
        [NM_ROLE_TOPIC] = "", [NM_ROLE_REQUEST] = "Request", [NM_ROLE_REPLY] = "Reply"};
    char plain[NM_ROS_NAME], ros[NM_ROS_NAME - 10];
    service_name(topic, plain, sizeof plain);
    nm_ros_topic(dds->space, plain, ros, sizeof ros);
    snprintf(to, size, "%s%s%s", prefix[topic->role], ros, suffix[topic->role]);
}

/* ---- opening ---- */

/* Named by the user, as itself or as a part of an action; without his word everything but what modules show. */
static bool allowed(const struct nm_dds *dds, const struct nm_topic *topic)
{
    const struct nm_dds_options *o = &dds->options;
    char name[NM_ROS_NAME];
    service_name(topic, name, sizeof name);
    if (!o->n_topics) return strcmp(name, "show") != 0;
    for (uint32_t i = 0; i < o->n_topics; i++) {
        const char *want = o->topics[i] + (o->topics[i][0] == '/');
        size_t n = strlen(want);
        if (!strncmp(name, want, n) && (!name[n] || !strncmp(name + n, "/_action/", 9))) return true;
    }
    return false;
}

/* A service is local where its replies are made here. */
bool is_local(const struct nm_dds *dds, const struct nm_topic *topic)
{
    char name[NM_ROS_NAME], reply[NM_ROS_NAME + 8];
    service_name(topic, name, sizeof name);
    snprintf(reply, sizeof reply, "%s%s", name, topic->role == NM_ROLE_TOPIC ? "" : "/reply");
    uint32_t made = nm_lineup_topic(dds->lineup, reply);
    if (topic->remote && made != NM_NONE && nm_player_hardware(dds->player, made)) return true;
    for (uint32_t i = 0; i < dds->options.n_local; i++)
        if (!strcmp(name, dds->options.local[i])) return true;
    return false;
}

static bool leaves(const struct nm_dds *dds, const struct nm_topic *topic)
{
    bool local = is_local(dds, topic), made = local || (topic->n_producers && !topic->remote);
    switch (topic->role) {
    case NM_ROLE_TOPIC: return (made || (topic->builtin && !topic->remote)) && allowed(dds, topic);
    case NM_ROLE_REPLY: return made && allowed(dds, topic);
    case NM_ROLE_REQUEST: return topic->remote && !local && topic->n_producers;
    }
    return false;
}

static void readers_changed(dds_entity_t writer, const dds_publication_matched_status_t status, void *user)
{
    struct out *out = user;
    (void)writer;
    atomic_store(&out->readers, status.current_count);
}

static int open_writer(struct nm_dds *dds, struct out *out, struct nm_err *err)
{
    const struct nm_topic *topic = out->topic;
    char name[NM_ROS_NAME], data[NM_ROS_NAME];
    struct nm_ros_qos qos = {.reliable = true, .depth = 10};
    if (topic->role == NM_ROLE_TOPIC) qos = nm_ros_qos(topic->name, topic->type);
    wire_name(dds, topic, name, sizeof name);
    if (topic->role != NM_ROLE_TOPIC)
        service_id(dds, topic->role == NM_ROLE_REPLY ? "serviceid" : "clientid", out->ids, sizeof out->ids);
    snprintf(data, sizeof data, "%stypehash=%s;", out->ids, topic->type->hash);
    dds_listener_t *listener = dds_create_listener(out);
    dds_lset_publication_matched(listener, readers_changed);
    out->writer = endpoint_writer(dds, name, topic->type->dds_name, &qos, data, listener, err);
    dds_delete_listener(listener);
    if (out->writer < 0) return -1;
    dds_get_instance_handle(out->writer, &out->id);
    out->latched = qos.latched;
    out->times = nm_has_times(topic->type);
    out->console = topic->type == &Log_type && !strcmp(topic->name, "rosout");
    if (out->times || out->console) out->copy = nm_take(&dds->arena, topic->type->size);
    return 0;
}

int outs_open(struct nm_dds *dds, struct nm_err *err)
{
    const struct nm_lineup *lineup = dds->lineup;
    struct nm_edge_port *ports = nm_take_n(&dds->arena, struct nm_edge_port, lineup->n_topics + 1);
    dds->outs = nm_take_n(&dds->arena, struct out, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        if (!leaves(dds, topic)) continue;
        uint32_t depth = topic->depth > QUEUE_DEPTH ? topic->depth : QUEUE_DEPTH;
        while (depth > topic->depth && depth > 1 && (size_t)depth * topic->type->size > QUEUE_BYTES) depth /= 2;
        ports[dds->n_outs] = (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_IN};
        if (topic->queue || topic->role != NM_ROLE_TOPIC)
            ports[dds->n_outs] = (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_QUEUE, .depth = depth};
        struct out *out = &dds->outs[dds->n_outs];
        *out = (struct out){.dds = dds, .port = dds->n_outs++, .topic = topic};
        if (open_writer(dds, out, err)) return -1;
    }
    dds->out = nm_edge_new(dds->player, "dds out", ports, dds->n_outs, err);
    return dds->out ? 0 : -1;
}

/* ---- sending ---- */

void out_write(struct nm_dds *dds, dds_entity_t writer, const void *bytes, size_t n)
{
    bool ok = nm_raw_write(writer, bytes, n) == DDS_RETCODE_OK;
    atomic_fetch_add_explicit(ok ? &dds->written : &dds->not_written, 1, memory_order_relaxed);
}

/* The message as bytes in the edge's buffer, behind `space` bytes; 0 if it cannot be encoded. */
static size_t encode(struct nm_dds *dds, struct out *out, const void *message, size_t space)
{
    const struct nm_type *type = out->topic->type;
    struct pack *p = &dds->buffer;
    int64_t wall = atomic_load_explicit(&dds->wall, memory_order_relaxed);
    if ((out->times && wall) || out->console) {
        nm_copy(type, out->copy, message);
        if (out->times && wall) nm_shift_times(type, out->copy, wall);
        message = out->copy;
    }
    if (out->console) {
        Log *line = out->copy;
        char instance[sizeof line->name];
        memcpy(instance, line->name, sizeof instance);
        nm_text(line->name, "%s.%s", dds->logger, instance);
    }
    size_t size = space + nm_cdr_size(type, message);
    pack_room(p, size);
    int64_t n = nm_cdr_encode(type, message, p->bytes + space, p->room - space);
    if (out->copy && type->blobs) nm_reset(type, out->copy);
    return n > 0 ? space + (size_t)n : 0;
}

static void frame(uint8_t *bytes, uint64_t id, int64_t seq)
{
    memcpy(bytes, "\0\1\0\0", PACK_HEAD);
    memcpy(bytes + PACK_HEAD, &id, 8);
    memcpy(bytes + PACK_HEAD + 8, &seq, 8);
}

static void send_topic(struct nm_dds *dds, struct out *out, const void *message)
{
    if (!out->latched && !atomic_load_explicit(&out->readers, memory_order_relaxed)) return;
    size_t n = encode(dds, out, message, 0);
    if (n) out_write(dds, out->writer, dds->buffer.bytes, n);
}

/* Only to those who asked through us: the others are callers of our own line-up or of another edge. */
static void send_reply(struct nm_dds *dds, struct out *out, const void *message)
{
    const struct nm_slot *slot = nm_slot(message);
    const struct in *in = out->other;
    dds_guid_t participant;
    bool ours = false, found = false;
    if (!in || !slot->caller) return;
    pthread_mutex_lock(&dds->lock);
    for (uint32_t i = 0; i < CALLERS && !ours; i++) {
        ours = in->callers[i].id == slot->caller;
        found = ours && in->callers[i].found;
        participant = in->callers[i].participant;
    }
    pthread_mutex_unlock(&dds->lock);
    size_t n = ours ? encode(dds, out, message, IDS) : 0;
    if (!n) return;
    frame(dds->buffer.bytes, slot->caller, slot->call);
    reply_write(dds, out->writer, found ? &participant : NULL, dds->buffer.bytes, n);
}

void refusal_leave(struct nm_dds *dds, struct out *out, const dds_guid_t *participant, uint64_t id, int64_t seq,
                   const void *message)
{
    size_t size = IDS + nm_cdr_size(out->topic->type, message);
    struct refusal *refusal = malloc(sizeof *refusal + size), **last = &dds->refusals;
    if (!refusal) abort();
    *refusal = (struct refusal){.writer = out->writer, .found = participant != NULL};
    if (participant) refusal->participant = *participant;
    int64_t n = nm_cdr_encode(out->topic->type, message, refusal->bytes + IDS, size - IDS);
    frame(refusal->bytes, id, seq);
    refusal->n = n > 0 ? (size_t)n + IDS : 0;
    while (*last) last = &(*last)->next;
    *last = refusal;
    edge_wake(dds);
}

void refusals_send(struct nm_dds *dds)
{
    pthread_mutex_lock(&dds->lock);
    struct refusal *at = dds->refusals;
    dds->refusals = NULL;
    pthread_mutex_unlock(&dds->lock);
    while (at) {
        struct refusal *next = at->next;
        if (at->n) reply_write(dds, at->writer, at->found ? &at->participant : NULL, at->bytes, at->n);
        free(at);
        at = next;
    }
}

static void send_request(struct nm_dds *dds, struct out *out, const void *message)
{
    const struct nm_slot *slot = nm_slot(message);
    if (!out->other) return;
    size_t n = encode(dds, out, message, IDS);
    if (!n) return;
    pthread_mutex_lock(&dds->lock);
    int64_t seq = ++out->other->last_call;
    uint32_t at = (uint32_t)(seq % CALLS); /* the oldest makes room: it was never answered */
    out->other->calls[at].seq = seq;
    out->other->calls[at].caller = slot->caller;
    out->other->calls[at].call = slot->call;
    pthread_mutex_unlock(&dds->lock);
    frame(dds->buffer.bytes, out->id, seq);
    out_write(dds, out->writer, dds->buffer.bytes, n);
}

typedef void send(struct nm_dds *dds, struct out *out, const void *message);
static send *const senders[] = {
    [NM_ROLE_TOPIC] = send_topic, [NM_ROLE_REQUEST] = send_request, [NM_ROLE_REPLY] = send_reply};

void outs_send(struct nm_dds *dds)
{
    nm_edge_begin(dds->out, nm_player_now(dds->player));
    for (uint32_t i = 0; i < dds->n_outs; i++) {
        struct out *out = &dds->outs[i];
        send *call = senders[out->topic->role];
        if (out->topic->queue || out->topic->role != NM_ROLE_TOPIC) {
            const void *const *at;
            uint32_t n = nm_edge_queue(dds->out, out->port, &at, NULL);
            for (uint32_t k = 0; k < n; k++) call(dds, out, at[k]);
        } else if (nm_edge_fresh(dds->out, out->port)) {
            call(dds, out, nm_edge_in(dds->out, out->port));
        }
    }
    nm_edge_end(dds->out);
}

/* ---- replies ---- */

/* True once a reader of that participant has been found: before, a reply would be lost. */
static bool reader_found(dds_entity_t writer, const dds_guid_t *participant)
{
    dds_instance_handle_t readers[256];
    int n = dds_get_matched_subscriptions(writer, readers, 256);
    for (int i = 0; i < n && i < 256; i++) {
        dds_builtintopic_endpoint_t *reader = dds_get_matched_subscription_data(writer, readers[i]);
        bool found = reader && !memcmp(reader->participant_key.v, participant->v, sizeof participant->v);
        if (reader) dds_builtintopic_free_endpoint(reader);
        if (found) return true;
    }
    return false;
}

void reply_write(struct nm_dds *dds, dds_entity_t writer, const dds_guid_t *participant, const void *bytes, size_t n)
{
    if (!participant || reader_found(writer, participant)) {
        out_write(dds, writer, bytes, n);
        return;
    }
    if (dds->n_held == HELD) {
        atomic_fetch_add_explicit(&dds->late_replies, 1, memory_order_relaxed);
        return;
    }
    struct held *held = &dds->held[dds->n_held++];
    *held = (struct held){.writer = writer, .participant = *participant, .n = n, .bytes = malloc(n)};
    if (!held->bytes) abort();
    memcpy(held->bytes, bytes, n);
    held->until = dds_time() + reader_patience;
}

void replies_retry(struct nm_dds *dds)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < dds->n_held; i++) {
        struct held held = dds->held[i];
        bool found = reader_found(held.writer, &held.participant);
        if (!found && dds_time() < held.until) {
            dds->held[kept++] = held;
            continue;
        }
        if (found)
            out_write(dds, held.writer, held.bytes, held.n);
        else
            atomic_fetch_add_explicit(&dds->late_replies, 1, memory_order_relaxed);
        free(held.bytes);
    }
    dds->n_held = kept;
}
