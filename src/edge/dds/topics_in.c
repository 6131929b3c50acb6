/* What enters: remote topics, requests to our services, replies of remote ones. Under the lock, mostly in a receiving
 * thread of Cyclone. A sample is decoded with every check before anything of it is let in. */
#include <stdio.h>

#include "edge/dds/domain.h"
#include "edge/dds/inside.h"
#include "edge/dds/stamps.h"
#include "rcl_interfaces/Log.h"

enum { BLOB_BYTES = 4 << 20 };

/* ---- complaints ---- */

#define say(dds, ...) nm_edge_log((dds)->in, (dds)->log_port, NM_WARN, "dds", __VA_ARGS__)

static void tell(struct in *in, enum fault kind, const char *why, uint64_t n)
{
    static const char *const words[FAULTS] = {
        [FAULT_MALFORMED] = "a malformed sample is dropped",
        [FAULT_LONG] = "a sample that is too long for us is dropped",
        [FAULT_POOL] = "a sample is dropped",
        [FAULT_HASH] = "a writer is refused",
        [FAULT_CALLER] = "a request is refused",
        [FAULT_LOCKED] = "what another machine sends is refused",
        [FAULT_FLOOD] = "samples are dropped",
    };
    if (n == 1) say(in->dds, "%s: %s: %.*s", in->topic->name, words[kind], (int)strcspn(why, "\n"), why);
    if (n > 1)
        say(in->dds, "%s: %s: %.*s; %llu times since the last report", in->topic->name, words[kind],
            (int)strcspn(why, "\n"), why, (unsigned long long)n);
}

/* What Cyclone itself drops, before it becomes a sample. */
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

/* How many of a kind are to be reported now; 0: none. */
static uint64_t count(struct in *in, enum fault kind)
{
    return nm_fault_count_add(&in->told[kind], 1, nm_player_now(in->dds->player));
}

static void fault(struct in *in, enum fault kind, const char *why)
{
    atomic_fetch_add_explicit(&in->dds->faults[kind], 1, memory_order_relaxed);
    tell(in, kind, why, count(in, kind));
}

/* Costs as little as possible. */
static void drop_flood(struct in *in, int64_t now)
{
    atomic_fetch_add_explicit(&in->dds->faults[FAULT_FLOOD], 1, memory_order_relaxed);
    uint64_t n = count(in, FAULT_FLOOD);
    if (!n) return;
    nm_edge_begin(in->dds->in, now);
    tell(in, FAULT_FLOOD, "they come faster than 5000 a second", n);
    nm_edge_end(in->dds->in);
}

/* ---- writers ---- */

/* A writer says its type's hash in USER_DATA (ROS 2 from Iron on); none is no reason to refuse it. What the loose
 * reader gets from a reliable writer has come in through the other one. */
static enum verdict judge(struct in *in, dds_entity_t reader, dds_instance_handle_t writer)
{
    dds_builtintopic_endpoint_t *data = dds_get_matched_publication_data(reader, writer);
    enum verdict verdict = WRITER_GOOD;
    dds_reliability_kind_t kind;
    char hash[96], why[320];
    if (!data) return WRITER_GOOD; /* gone already; its sample is checked like any other */
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

/* Whether what comes in was sent by a process of this machine. Without --network the kernel lets nothing else reach the
 * domain's sockets (domain.c). With it anybody may have sent a sample: all that Cyclone tells about a peer, its host's
 * name and its addresses, is what the peer declares, so every peer counts as another machine. */
static bool is_here(const struct nm_dds *dds) { return !dds->options.network; }

/* ---- samples ---- */

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

/* The rules of the gate. In a world that is simulated elsewhere, topics come from there. */
static bool admitted(struct in *in, const void *message)
{
    struct nm_err err = {0};
    uint32_t topic = (uint32_t)(in->topic - in->dds->lineup->topics);
    bool here = is_here(in->dds) || in->dds->options.world;
    if (!nm_gate_admit(in->dds->gate, topic, here, message, &err)) return true;
    fault(in, FAULT_LOCKED, err.text);
    return false;
}

/* Decodes beside the queue, since a message once pushed is there. */
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

/* Splits a service's sample into ids and a message with a header of its own. */
static bool unframe(struct in *in, const struct nm_raw *sample, uint64_t *id, int64_t *seq)
{
    struct nm_dds *dds = in->dds;
    struct unpack u;
    unpack_begin(&u, sample->bytes, sample->size);
    *id = unpack_u64(&u);
    *seq = (int64_t)unpack_u64(&u);
    if (u.bad) {
        fault(in, FAULT_MALFORMED, "no client id and sequence number; services need rmw_cyclonedds peers");
        return false;
    }
    size_t n = sample->size - IDS;
    if (n > dds->framed_room) {
        uint8_t *more = realloc(dds->framed, n);
        if (!more) abort();
        dds->framed = more;
        dds->framed_room = n;
    }
    memcpy(dds->framed, sample->bytes, PACK_HEAD);
    memcpy(dds->framed + PACK_HEAD, sample->bytes + PACK_HEAD + IDS, n - PACK_HEAD);
    return true;
}

/* Inside the line-up callers have numbers too: small ones of instances, the largest ones of other edges. */
static bool possible_caller(uint64_t id) { return id > UINT32_MAX && id < UINT64_MAX - UINT16_MAX; }

/* Where a caller is, so that its reply can wait for its reader; its place in the list. */
static uint32_t note_caller(struct in *in, uint64_t id, dds_entity_t reader, dds_instance_handle_t writer)
{
    for (uint32_t i = 0; i < CALLERS; i++)
        if (in->callers[i].id == id) return i;
    uint32_t at = in->next_caller++ % CALLERS;
    in->callers[at].found = writer_participant(reader, writer, &in->callers[at].participant);
    in->callers[at].id = id;
    return at;
}

/* Says no at once where the reply has words for it, so that nobody waits for the time-out. */
static void refuse(struct in *in, uint32_t caller, int64_t seq, const char *why)
{
    struct out *out = in->other;
    const struct nm_type *type = out ? out->topic->type : NULL;
    if (!type || type->blobs) return;
    const struct nm_field *no = nm_field_find(type, "success", 7), *text = nm_field_find(type, "message", 7);
    if (!no || !text || text->kind != NM_STRING) no = nm_field_find(type, "accepted", 8), text = NULL;
    if (!no || no->kind != NM_BOOL) return;
    uint8_t *reply = calloc(1, type->size);
    if (!reply) abort();
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
    if (!possible_caller(id)) { /* an answer would reach the wrong one */
        atomic_fetch_add_explicit(&in->dds->strays, 1, memory_order_relaxed);
        fault(in, FAULT_CALLER, "its client id is not one of ROS 2");
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
    if (!unframe(in, sample, &id, &seq) || !in->other || id != in->other->id) return; /* another client's */
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

/* Whether a sample is one too many: nobody's cycles can use so many, and those that they trigger would do nothing else.
 * Virtual time has no rate of its own. */
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

/* Each sample is a run of its own, so that a value that comes twice is seen twice by those who queue it. */
static void take(struct in *in, dds_entity_t reader)
{
    enum { ROUNDS = 64 /* of one look in virtual time, which has to go on */ };
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

/* ---- opening ---- */

static bool enters(const struct nm_dds *dds, const struct nm_topic *topic)
{
    bool local = is_local(dds, topic);
    if (topic->role != NM_ROLE_REQUEST) return topic->remote && !local && topic->n_consumers;
    if (!local && (topic->remote || !topic->n_consumers)) return false;
    char service[NM_ROS_NAME], other[NM_ROS_NAME];
    service_name(topic, service, sizeof service);
    for (uint32_t i = 0; i < dds->n_outs; i++) { /* a service whose replies leave */
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

/* All that a message of ours can be, and a little, so that a longer one is found to be too long. With several payloads
 * only the domain's own limit is left. */
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
        /* the player's memory: a cycle may still look at an image when we have left */
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
    ins_take(dds); /* what was there before */
}

/* A best-effort writer cannot serve a reliable reader, as rmw has it too; it gets a reader of its own kind. */
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
