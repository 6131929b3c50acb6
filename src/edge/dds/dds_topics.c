/* The topics and services of the node. What leaves (topics, the replies of our services, the requests to remote ones)
 * is the work of the edge's thread. What enters (remote topics, requests to our services, replies of remote ones) is
 * handled under the lock, mostly in a receiving thread of Cyclone; a sample is decoded and fully checked before it is
 * let in. */
#include <stdio.h>

#include "base/memory.h"
#include "edge/dds/dds_inside.h"
#include "edge/dds/domain.h"
#include "edge/dds/stamps.h"
#include "rcl_interfaces/Log.h"

/* How long a reply waits until the reader of its caller is found; rmw_cyclonedds waits as long. */
static const int64_t reader_patience = 100000000; /* ns */

/* A queue holds what is published between two looks at it, up to this many messages and bytes. */
enum { QUEUE_DEPTH = 64, QUEUE_BYTES = 1 << 20 };

/* "kick/_action/send_goal/request" is the service "kick/_action/send_goal"; a topic has its own name. */
static void service_name(const struct nm_topic *topic, char *to, size_t size)
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

/* ---- what leaves: opening ---- */

/* True if the user named the topic, or the action that it belongs to; without names everything except `show` leaves. */
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

/* A service is local if its replies are made in this process. */
static bool is_local(const struct nm_dds *dds, const struct nm_topic *topic)
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

/* ---- what leaves: sending ---- */

void out_write(struct nm_dds *dds, dds_entity_t writer, const void *bytes, size_t n)
{
    bool ok = nm_raw_write(writer, bytes, n) == DDS_RETCODE_OK;
    atomic_fetch_add_explicit(ok ? &dds->written : &dds->not_written, 1, memory_order_relaxed);
}

/* Encodes the message into the edge's buffer, after `space` bytes; 0 if that is not possible. */
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

/* Sends replies only to callers that asked through this edge, not to callers of our line-up or of another edge. */
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

/* Called by a receiving thread, under the lock: leaves a reply for the edge's thread to send. */
static void refusal_leave(struct nm_dds *dds, struct out *out, const dds_guid_t *participant, uint64_t id, int64_t seq,
                          const void *message)
{
    size_t size = IDS + nm_cdr_size(out->topic->type, message);
    struct refusal *refusal = nm_malloc(sizeof *refusal + size), **last = &dds->refusals;
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
    uint32_t at = (uint32_t)(seq % CALLS); /* the oldest call makes room: it was never answered */
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

/* ---- what leaves: replies ---- */

/* True once a reader of that participant has been found. A reply that is sent earlier would be lost. */
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
    *held = (struct held){.writer = writer, .participant = *participant, .n = n, .bytes = nm_malloc(n)};
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

enum { BLOB_BYTES = 4 << 20 };

/* ---- what enters: faults ---- */

#define say(dds, ...) nm_edge_log((dds)->in, (dds)->log_port, NM_WARN, "dds", __VA_ARGS__)

static void tell(struct in *in, enum fault kind, const char *why, uint64_t n)
{
    static const char *const words[FAULTS] = {
        [FAULT_MALFORMED] = "a malformed sample is dropped",
        [FAULT_LONG] = "a sample that is too long is dropped",
        [FAULT_POOL] = "a sample is dropped",
        [FAULT_HASH] = "a writer is refused",
        [FAULT_CALLER] = "a request is refused",
        [FAULT_LOCKED] = "a sample of another machine is refused",
        [FAULT_FLOOD] = "samples are dropped",
    };
    if (n == 1) say(in->dds, "%s: %s: %.*s", in->topic->name, words[kind], (int)strcspn(why, "\n"), why);
    if (n > 1)
        say(in->dds, "%s: %s: %.*s; %llu times since the last report", in->topic->name, words[kind],
            (int)strcspn(why, "\n"), why, (unsigned long long)n);
}

/* Reports packets that Cyclone itself drops, before they become samples. */
void ins_complain(struct nm_dds *dds)
{
    char text[256];
    uint64_t all = nm_domain_complaints(text, sizeof text), more = all - dds->complaints;
    int64_t now = nm_player_now(dds->player);
    dds->complaints = all;
    uint64_t n = nm_fault_count_add(&dds->complained, more, now);
    if (!n) return;
    pthread_mutex_lock(&dds->lock);
    nm_edge_begin(dds->in, now);
    if (n == 1) say(dds, "Cyclone DDS: %s", text);
    if (n > 1) say(dds, "Cyclone DDS: %s; %llu complaints since the last report", text, (unsigned long long)n);
    nm_edge_end(dds->in);
    pthread_mutex_unlock(&dds->lock);
}

/* The number of faults of a kind that is reported now; 0: none. */
static uint64_t count(struct in *in, enum fault kind)
{
    return nm_fault_count_add(&in->told[kind], 1, nm_player_now(in->dds->player));
}

static void fault(struct in *in, enum fault kind, const char *why)
{
    atomic_fetch_add_explicit(&in->dds->faults[kind], 1, memory_order_relaxed);
    tell(in, kind, why, count(in, kind));
}

/* Reports a flood; this costs as little as possible. */
static void drop_flood(struct in *in, int64_t now)
{
    atomic_fetch_add_explicit(&in->dds->faults[FAULT_FLOOD], 1, memory_order_relaxed);
    uint64_t n = count(in, FAULT_FLOOD);
    if (!n) return;
    nm_edge_begin(in->dds->in, now);
    tell(in, FAULT_FLOOD, "they arrive faster than 5000 per second", n);
    nm_edge_end(in->dds->in);
}

/* ---- what enters: writers ---- */

/* A writer gives the hash of its type in USER_DATA (ROS 2 since Iron); a writer without a hash is accepted. What the
 * loose reader gets from a reliable writer has already arrived at the other reader. */
static enum verdict judge(struct in *in, dds_entity_t reader, dds_instance_handle_t writer)
{
    dds_builtintopic_endpoint_t *data = dds_get_matched_publication_data(reader, writer);
    enum verdict verdict = WRITER_GOOD;
    dds_reliability_kind_t kind;
    char hash[96], why[320];
    if (!data) return WRITER_GOOD; /* the writer is gone; its sample is checked like any other */
    if (in->topic->role == NM_ROLE_TOPIC && endpoint_hash(data, hash, sizeof hash) &&
        strcmp(hash, in->topic->type->hash)) {
        snprintf(why, sizeof why, "its %s has the hash %s, ours %s", in->topic->type->name, hash,
                 in->topic->type->hash);
        tell(in, FAULT_HASH, why, count(in, FAULT_HASH));
        verdict = WRITER_OTHER_HASH;
    }
    if (reader == in->loose && dds_qget_reliability(data->qos, &kind, NULL) && kind == DDS_RELIABILITY_RELIABLE)
        verdict = WRITER_HEARD_TWICE;
    dds_builtintopic_free_endpoint(data);
    return verdict;
}

static enum verdict verdict_of(struct in *in, dds_entity_t reader, dds_instance_handle_t writer)
{
    for (uint32_t i = 0; i < WRITERS; i++)
        if (in->writers[i].writer == writer && in->writers[i].reader == reader) return in->writers[i].verdict;
    uint32_t at = in->next_writer++ % WRITERS;
    in->writers[at].verdict = judge(in, reader, writer);
    in->writers[at].writer = writer;
    in->writers[at].reader = reader;
    return in->writers[at].verdict;
}

bool writer_participant(dds_entity_t reader, dds_instance_handle_t writer, dds_guid_t *participant)
{
    dds_builtintopic_endpoint_t *data = dds_get_matched_publication_data(reader, writer);
    if (!data) return false;
    *participant = data->participant_key;
    dds_builtintopic_free_endpoint(data);
    return true;
}

/* Whether samples come from processes of this machine. Without --network the kernel lets nothing else reach the sockets
 * of the domain (domain.c). With it anybody may have sent a sample. All that Cyclone knows about a peer, such as the
 * name and the addresses of its host, is declared by the peer itself, so every peer counts as another machine. */
static bool is_here(const struct nm_dds *dds) { return !dds->options.network; }

/* ---- what enters: samples ---- */

static bool decode(struct in *in, void *message, const uint8_t *bytes, size_t n, struct nm_err *err)
{
    int bad = nm_cdr_decode(in->topic->type, message, bytes, n, nm_edge_pool(in->dds->in, in->port), err);
    if (bad) {
        fault(in, bad == NM_CDR_LONG ? FAULT_LONG : bad == NM_CDR_POOL ? FAULT_POOL : FAULT_MALFORMED, err->text);
        return false;
    }
    int64_t wall = atomic_load_explicit(&in->dds->wall, memory_order_relaxed);
    if (in->times && wall) nm_shift_times(in->topic->type, message, -wall);
    return true;
}

/* Applies the rules of the gate. If the world is simulated elsewhere, topics from there are accepted. */
static bool admitted(struct in *in, const void *message)
{
    struct nm_err err = {0};
    uint32_t topic = (uint32_t)(in->topic - in->dds->lineup->topics);
    bool here = is_here(in->dds) || in->dds->options.world;
    if (!nm_gate_admit(in->dds->gate, topic, here, message, &err)) return true;
    fault(in, FAULT_LOCKED, err.text);
    return false;
}

/* Decodes outside the queue, because a message that was pushed cannot be taken back. */
static void *push(struct in *in, const uint8_t *bytes, size_t n, struct nm_err *err)
{
    if (!decode(in, in->message, bytes, n, err)) return NULL;
    bool open = in->topic->role != NM_ROLE_TOPIC || admitted(in, in->message);
    void *message = open ? nm_edge_push(in->dds->in, in->port) : NULL;
    if (message) nm_copy(in->topic->type, message, in->message);
    if (in->topic->type->blobs) nm_reset(in->topic->type, in->message);
    return message;
}

static void topic_taken(struct in *in, dds_entity_t reader, const struct nm_raw *sample)
{
    struct nm_err err = {0};
    (void)reader;
    if (in->topic->queue) {
        push(in, sample->bytes, sample->size, &err);
        return;
    }
    void *message = nm_edge_out(in->dds->in, in->port);
    if (message && decode(in, message, sample->bytes, sample->size, &err) && admitted(in, message))
        nm_edge_put(in->dds->in, in->port);
}

/* Splits the sample of a service into its ids and a message with its own header. */
static bool unframe(struct in *in, const struct nm_raw *sample, uint64_t *id, int64_t *seq)
{
    struct nm_dds *dds = in->dds;
    struct unpack u;
    unpack_begin(&u, sample->bytes, sample->size);
    *id = unpack_u64(&u);
    *seq = (int64_t)unpack_u64(&u);
    if (u.bad) {
        fault(in, FAULT_MALFORMED, "it has no client id and sequence number; services need peers with rmw_cyclonedds");
        return false;
    }
    size_t n = sample->size - IDS;
    if (n > dds->framed_room) {
        dds->framed = nm_realloc(dds->framed, n);
        dds->framed_room = n;
    }
    memcpy(dds->framed, sample->bytes, PACK_HEAD);
    memcpy(dds->framed + PACK_HEAD, sample->bytes + PACK_HEAD + IDS, n - PACK_HEAD);
    return true;
}

/* Callers inside the line-up have numbers, too: instances have small ones, other edges have the largest ones. */
static bool possible_caller(uint64_t id) { return id > UINT32_MAX && id < UINT64_MAX - UINT16_MAX; }

/* Notes the participant of a caller, so that the reply can wait for its reader; returns the place in the list. */
static uint32_t note_caller(struct in *in, uint64_t id, dds_entity_t reader, dds_instance_handle_t writer)
{
    for (uint32_t i = 0; i < CALLERS; i++)
        if (in->callers[i].id == id) return i;
    uint32_t at = in->next_caller++ % CALLERS;
    in->callers[at].found = writer_participant(reader, writer, &in->callers[at].participant);
    in->callers[at].id = id;
    return at;
}

/* Refuses at once if the reply has members for that, so that the caller does not wait for its time-out. */
static void refuse(struct in *in, uint32_t caller, int64_t seq, const char *why)
{
    struct out *out = in->other;
    const struct nm_type *type = out ? out->topic->type : NULL;
    if (!type || type->blobs) return;
    const struct nm_field *no = nm_field_find(type, "success", 7), *text = nm_field_find(type, "message", 7);
    if (!no || !text || text->kind != NM_STRING) {
        no = nm_field_find(type, "accepted", 8);
        text = NULL;
    }
    if (!no || no->kind != NM_BOOL) return;
    uint8_t *reply = nm_calloc(1, type->size);
    nm_reset(type, reply);
    if (text) nm_text_((char *)reply + text->offset, text->elem, "%.*s", (int)strcspn(why, "\n"), why);
    reply[no->offset] = false;
    refusal_leave(in->dds, out, in->callers[caller].found ? &in->callers[caller].participant : NULL,
                  in->callers[caller].id, seq, reply);
    free(reply);
}

static void request_taken(struct in *in, dds_entity_t reader, const struct nm_raw *sample)
{
    uint64_t id;
    int64_t seq;
    if (!unframe(in, sample, &id, &seq)) return;
    if (!possible_caller(id)) { /* an answer would reach the wrong caller */
        atomic_fetch_add_explicit(&in->dds->strays, 1, memory_order_relaxed);
        fault(in, FAULT_CALLER, "its client id is not valid in ROS 2");
        return;
    }
    uint32_t at = note_caller(in, id, reader, sample->from);
    const char *game = is_here(in->dds) ? NULL : nm_gate_locked(in->dds->gate);
    if (game) {
        fault(in, FAULT_LOCKED, game);
        refuse(in, at, seq, game);
        return;
    }
    struct nm_err err = {0};
    void *message = push(in, in->dds->framed, sample->size - IDS, &err);
    if (!message) {
        refuse(in, at, seq, err.n ? err.text : "there are too many requests");
        return;
    }
    nm_slot(message)->caller = id;
    nm_slot(message)->call = seq;
}

static void reply_taken(struct in *in, dds_entity_t reader, const struct nm_raw *sample)
{
    uint64_t id;
    int64_t seq;
    (void)reader;
    if (!unframe(in, sample, &id, &seq) || !in->other || id != in->other->id) return; /* it belongs to another client */
    uint32_t at = (uint32_t)((uint64_t)seq % CALLS);
    if (seq <= 0 || in->calls[at].seq != seq) {
        atomic_fetch_add_explicit(&in->dds->strays, 1, memory_order_relaxed);
        return;
    }
    struct nm_err err = {0};
    void *message = push(in, in->dds->framed, sample->size - IDS, &err);
    if (!message) return;
    nm_slot(message)->caller = in->calls[at].caller;
    nm_slot(message)->call = in->calls[at].call;
    in->calls[at].seq = 0;
}

typedef void taken(struct in *in, dds_entity_t reader, const struct nm_raw *sample);
static taken *const takers[] = {
    [NM_ROLE_TOPIC] = topic_taken, [NM_ROLE_REQUEST] = request_taken, [NM_ROLE_REPLY] = reply_taken};

/* Whether there are too many samples: no cycle can use so many, and cycles that they trigger would do nothing else. In
 * virtual time there is no rate. */
static bool floods(struct in *in, int64_t now)
{
    static const int64_t tenth = 100000000; /* ns */
    if (in->dds->options.virtual_time) return false;
    if (now - in->window >= tenth) {
        in->window = now;
        in->in_window = 0;
    }
    return ++in->in_window > FLOOD;
}

static void sample_taken(struct in *in, dds_entity_t reader, const struct nm_raw *sample)
{
    enum verdict verdict = verdict_of(in, reader, sample->from);
    if (verdict == WRITER_GOOD) {
        atomic_fetch_add_explicit(&in->dds->taken, 1, memory_order_relaxed);
        takers[in->topic->role](in, reader, sample);
    } else if (verdict == WRITER_OTHER_HASH) {
        atomic_fetch_add_explicit(&in->dds->faults[FAULT_HASH], 1, memory_order_relaxed);
    }
}

/* Each sample is a run of the edge, so that readers with a queue get a value twice if it comes twice. */
static void take(struct in *in, dds_entity_t reader)
{
    enum { ROUNDS = 64 /* of one look in virtual time, so that time goes on */ };
    struct nm_dds *dds = in->dds;
    struct nm_raw samples[NM_RAW_MOST];
    int n, rounds = 0;
    do {
        n = nm_raw_take(reader, samples, NM_RAW_MOST);
        for (int i = 0; i < n; i++) {
            int64_t now = nm_player_now(dds->player);
            if (!samples[i].sample) continue;
            if (floods(in, now)) {
                drop_flood(in, now);
                continue;
            }
            nm_edge_begin(dds->in, now);
            sample_taken(in, reader, &samples[i]);
            nm_edge_end(dds->in);
        }
        if (n > 0) nm_raw_free(samples, n);
    } while (n == NM_RAW_MOST && (!dds->options.virtual_time || ++rounds < ROUNDS));
}

static void data_there(dds_entity_t reader, void *user)
{
    struct in *in = user;
    pthread_mutex_lock(&in->dds->lock);
    if (!atomic_load_explicit(&in->dds->ending, memory_order_relaxed)) take(in, reader);
    pthread_mutex_unlock(&in->dds->lock);
}

static void qos_differs(dds_entity_t reader, const dds_requested_incompatible_qos_status_t status, void *user)
{
    struct in *in = user;
    (void)reader;
    if (status.last_policy_id == DDS_RELIABILITY_QOS_POLICY_ID) {
        atomic_store(&in->wants_loose, true);
        edge_wake(in->dds);
    }
}

void ins_take(struct nm_dds *dds)
{
    pthread_mutex_lock(&dds->lock);
    for (uint32_t i = 0; i < dds->n_ins; i++) {
        take(&dds->ins[i], dds->ins[i].reader);
        if (dds->ins[i].loose > 0) take(&dds->ins[i], dds->ins[i].loose);
    }
    pthread_mutex_unlock(&dds->lock);
}

/* ---- what enters: opening ---- */

static bool enters(const struct nm_dds *dds, const struct nm_topic *topic)
{
    bool local = is_local(dds, topic);
    if (topic->role != NM_ROLE_REQUEST) return topic->remote && !local && topic->n_consumers;
    if (!local && (topic->remote || !topic->n_consumers)) return false;
    char service[NM_ROS_NAME], other[NM_ROS_NAME];
    service_name(topic, service, sizeof service);
    for (uint32_t i = 0; i < dds->n_outs; i++) { /* a service of ours: its replies leave */
        service_name(dds->outs[i].topic, other, sizeof other);
        if (dds->outs[i].topic->role == NM_ROLE_REPLY && !strcmp(service, other)) return true;
    }
    return false;
}

static struct out *other_half(struct nm_dds *dds, const struct nm_topic *topic)
{
    char service[NM_ROS_NAME], other[NM_ROS_NAME];
    if (topic->role == NM_ROLE_TOPIC) return NULL;
    service_name(topic, service, sizeof service);
    for (uint32_t i = 0; i < dds->n_outs; i++) {
        const struct nm_topic *has = dds->outs[i].topic;
        service_name(has, other, sizeof other);
        if (has->role != NM_ROLE_TOPIC && has->role != topic->role && !strcmp(service, other)) return &dds->outs[i];
    }
    return NULL;
}

/* The largest size of a message of this type, and a little more, so that a longer one is noticed. With several payloads
 * only the limit of the domain applies. */
static size_t most_of(const struct in *in)
{
    const struct nm_type *type = in->topic->type;
    if (type->n_blob_ops > 1 || (type->n_blob_ops && type->blob_ops[0].code != NM_OP_BLOB)) return 0;
    return nm_cdr_most(type) + IDS + 64 + in->blob;
}

static dds_entity_t open_reader(struct in *in, const struct nm_ros_qos *qos, struct nm_err *err)
{
    struct nm_dds *dds = in->dds;
    char name[NM_ROS_NAME], data[NM_ROS_NAME];
    wire_name(dds, in->topic, name, sizeof name);
    snprintf(data, sizeof data, "%stypehash=%s;", in->other ? in->other->ids : "", in->topic->type->hash);
    dds_listener_t *listener = dds_create_listener(in);
    dds_lset_requested_incompatible_qos(listener, qos_differs);
    size_t most = most_of(in);
    dds_entity_t reader = endpoint_reader(dds, name, in->topic->type->dds_name, most, qos, data, listener, err);
    dds_delete_listener(listener);
    return reader;
}

static int in_open(struct nm_dds *dds, struct in *in, struct nm_err *err)
{
    const struct nm_type *type = in->topic->type;
    in->other = other_half(dds, in->topic);
    if (in->other) in->other->other = in;
    in->qos = (struct nm_ros_qos){.reliable = true, .depth = 10};
    if (in->topic->role == NM_ROLE_TOPIC) in->qos = nm_ros_qos(in->topic->name, type);
    in->times = nm_has_times(type);
    in->message = nm_take(&dds->arena, type->size);
    nm_reset(type, in->message);
    in->reader = open_reader(in, &in->qos, err);
    return in->reader < 0 ? -1 : 0;
}

int ins_open(struct nm_dds *dds, struct nm_err *err)
{
    const struct nm_lineup *lineup = dds->lineup;
    struct nm_edge_port *ports = nm_take_n(&dds->arena, struct nm_edge_port, lineup->n_topics + 1);
    dds->ins = nm_take_n(&dds->arena, struct in, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        if (!enters(dds, topic)) continue;
        bool queue = topic->queue || topic->role != NM_ROLE_TOPIC;
        ports[dds->n_ins] = (struct nm_edge_port){.topic = topic->name,
                                                  .kind = (queue ? NM_PORT_OUT_QUEUE : NM_PORT_OUT) |
                                                          (enum nm_port_kind)NM_EDGE_OUTSIDE};
        struct in *in = &dds->ins[dds->n_ins];
        *in = (struct in){.dds = dds, .port = dds->n_ins++, .topic = topic};
        /* in the player's memory, because a cycle may still use an image after this edge is gone */
        if (topic->type->blobs) in->blob = dds->options.blob ? dds->options.blob : BLOB_BYTES;
        ports[in->port].blob = in->blob;
        if (in_open(dds, in, err)) return -1;
    }
    dds->log_port = dds->n_ins;
    ports[dds->log_port] = (struct nm_edge_port){
        .topic = "rosout", .kind = NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, .type = &Log_type, .depth = 16};
    dds->in = nm_edge_new(dds->player, "dds in", ports, dds->n_ins + 1, err);
    return dds->in ? 0 : -1;
}

static void listen_to(struct in *in, dds_entity_t reader)
{
    dds_listener_t *listener = dds_create_listener(in);
    dds_lset_requested_incompatible_qos(listener, qos_differs);
    dds_lset_data_available(listener, data_there);
    dds_set_listener(reader, listener);
    dds_delete_listener(listener);
}

void ins_listen(struct nm_dds *dds)
{
    for (uint32_t i = 0; i < dds->n_ins; i++) listen_to(&dds->ins[i], dds->ins[i].reader);
    ins_take(dds); /* samples that arrived earlier */
}

/* DDS does not connect a best-effort writer to a reliable reader, so it gets a best-effort reader. */
void ins_loosen(struct nm_dds *dds)
{
    for (uint32_t i = 0; i < dds->n_ins; i++) {
        struct in *in = &dds->ins[i];
        if (in->loose || !atomic_load_explicit(&in->wants_loose, memory_order_relaxed)) continue;
        if (in->topic->role != NM_ROLE_TOPIC || !in->qos.reliable) continue;
        struct nm_ros_qos qos = in->qos;
        qos.reliable = false;
        dds_entity_t reader = open_reader(in, &qos, NULL);
        pthread_mutex_lock(&dds->lock);
        in->loose = reader;
        pthread_mutex_unlock(&dds->lock);
        if (reader > 0 && dds->threaded) listen_to(in, reader);
        node_tell(dds, true);
    }
}
