/* Nodes, from the graph that every ROS 2 participant tells, and calls of their services. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/cdr.h"
#include "edge/dds/look_inside.h"
#include "edge/dds/pack.h"

static dds_qos_t *qos_new(bool latched, const char *user_data)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    dds_qset_durability(qos, latched ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 10);
    dds_qset_writer_data_lifecycle(qos, false);
    if (user_data) dds_qset_userdata(qos, user_data, strlen(user_data));
    return qos;
}

/* ---- nodes ---- */

int nm_look_graph(struct nm_look *look, struct nm_err *err)
{
    dds_qos_t *qos = qos_new(true, NULL);
    dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, DDS_LENGTH_UNLIMITED);
    dds_entity_t topic =
        nm_raw_topic(look->participant, "ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_");
    look->graph = dds_create_reader(look->participant, topic, qos, NULL);
    dds_delete_qos(qos);
    return look->graph < 0 ? nm_fail(err, "the graph cannot be read: %s", dds_strretcode(look->graph)) : 0;
}

struct lookup { /* an endpoint by its id */
    const uint8_t *gid;
    bool writer;
    nm_look_end *ends;
    void *user;
};

/* "rq/red/shoutRequest" is /red/shout. */
static void tell_end(void *user, const dds_builtintopic_endpoint_t *endpoint)
{
    static const struct {
        const char *prefix, *suffix, *read, *written;
    } rows[] = {{"rt", "", "reads", "publishes"}, {"rq", "Request", "serves", "calls"}, {"rr", "Reply", NULL, NULL}};
    const struct lookup *want = user;
    char name[NM_ROS_NAME];
    if (memcmp(endpoint->key.v, want->gid, sizeof endpoint->key.v)) return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t all = strlen(endpoint->topic_name), end = strlen(rows[i].suffix);
        const char *kind = want->writer ? rows[i].written : rows[i].read;
        if (!kind || strncmp(endpoint->topic_name, rows[i].prefix, 2) || all < 2 + end) continue;
        snprintf(name, sizeof name, "%.*s", (int)(all - 2 - end), endpoint->topic_name + 2);
        want->ends(want->user, kind, name, endpoint->type_name);
    }
}

struct telling {
    struct nm_look *look;
    nm_look_node *node;
    const char *name;
    nm_look_end *ends;
    void *user;
};

/* One participant's nodes; with `t` NULL only whether the bytes make sense with ids of this size. */
static bool read_graph(const struct nm_raw *sample, size_t gid_size, const struct telling *t)
{
    struct unpack u;
    unpack_begin(&u, sample->bytes, sample->size);
    unpack_raw(&u, gid_size);
    uint32_t nodes = unpack_count(&u, 16);
    for (uint32_t i = 0; i < nodes && !u.bad; i++) {
        char full[2 * NM_ROS_NAME];
        const char *space = unpack_text(&u), *node = unpack_text(&u);
        if (u.bad || *space != '/') return false;
        snprintf(full, sizeof full, "%.255s/%.255s", space[1] ? space : "", node);
        if (t && t->node) t->node(t->user, full);
        bool wanted = t && t->ends && t->name && !strcmp(full, t->name);
        for (int writer = 0; writer < 2; writer++) {
            uint32_t n = unpack_count(&u, gid_size);
            for (uint32_t k = 0; k < n && !u.bad; k++) {
                struct lookup want = {.gid = unpack_raw(&u, gid_size), .writer = writer};
                if (!wanted || !want.gid) continue;
                want.ends = t->ends;
                want.user = t->user;
                each_endpoint(t->look, writer ? t->look->publications : t->look->subscriptions, tell_end, &want);
            }
        }
    }
    return !u.bad && u.n - u.at < 4; /* all of it, but for padding */
}

void nm_look_nodes(struct nm_look *look, nm_look_node *node, const char *name, nm_look_end *ends, void *user)
{
    const struct telling telling = {look, node, name, ends, user};
    struct nm_raw samples[NM_RAW_MOST];
    int n;
    while ((n = nm_raw_take(look->graph, samples, NM_RAW_MOST)) > 0) {
        for (int i = 0; i < n; i++) {
            if (!samples[i].sample) continue;
            size_t size = read_graph(&samples[i], 16, NULL) ? 16 : 24; /* up to Humble */
            if (read_graph(&samples[i], size, NULL)) read_graph(&samples[i], size, &telling);
        }
        nm_raw_free(samples, n);
    }
}

/* ---- services ---- */

static dds_entity_t open_half(struct nm_look *look, bool reply, const char *name, const struct nm_type *type)
{
    char wire[NM_ROS_NAME + 16];
    dds_qos_t *qos = qos_new(false, "clientid=6e.75.74.6d.65.67;");
    snprintf(wire, sizeof wire, "%s/%s%s", reply ? "rr" : "rq", name + (*name == '/'), reply ? "Reply" : "Request");
    dds_entity_t topic = nm_raw_topic(look->participant, wire, type->dds_name);
    dds_entity_t half = reply ? dds_create_reader(look->participant, topic, qos, NULL)
                              : dds_create_writer(look->participant, topic, qos, NULL);
    dds_delete_qos(qos);
    return half;
}

static bool served(dds_entity_t writer, dds_entity_t reader)
{
    dds_publication_matched_status_t out = {0};
    dds_subscription_matched_status_t in = {0};
    dds_get_publication_matched_status(writer, &out);
    dds_get_subscription_matched_status(reader, &in);
    return out.current_count && in.current_count;
}

static int write_request(dds_entity_t writer, uint64_t id, int64_t seq, const struct nm_type *type, const void *request)
{
    size_t size = nm_cdr_size(type, request) + 16;
    uint8_t *bytes = malloc(size);
    if (!bytes) abort();
    int64_t n = nm_cdr_encode(type, request, bytes + 16, size - 16);
    memcpy(bytes, "\0\1\0\0", PACK_HEAD);
    memcpy(bytes + PACK_HEAD, &id, 8);
    memcpy(bytes + PACK_HEAD + 8, &seq, 8);
    int code = n > 0 ? nm_raw_write(writer, bytes, (size_t)n + 16) : DDS_RETCODE_BAD_PARAMETER;
    free(bytes);
    return code;
}

/* 1: it was ours and is read; -1: ours, but not to be read; 0: somebody else's. */
static int read_reply(const struct nm_raw *sample, uint64_t id, int64_t seq, const struct nm_type *type, void *reply,
                      struct nm_err *err)
{
    struct unpack u;
    unpack_begin(&u, sample->bytes, sample->size);
    if (unpack_u64(&u) != id || (int64_t)unpack_u64(&u) != seq || u.bad) return 0;
    size_t n = sample->size - 16;
    uint8_t *bytes = malloc(n);
    if (!bytes) abort();
    memcpy(bytes, sample->bytes, PACK_HEAD);
    memcpy(bytes + PACK_HEAD, sample->bytes + u.at, n - PACK_HEAD);
    int bad = type->blobs ? nm_fail(err, "a reply with a blob cannot be shown")
                          : nm_cdr_decode(type, reply, bytes, n, NULL, err);
    free(bytes);
    return bad ? -1 : 1;
}

int nm_look_call(struct nm_look *look, const char *name, const struct nm_type *request_type, const void *request,
                 const struct nm_type *reply_type, void *reply, double timeout, struct nm_err *err)
{
    dds_entity_t reader = open_half(look, true, name, reply_type), writer = open_half(look, false, name, request_type);
    dds_instance_handle_t id = 0;
    int64_t seq = ++look->calls, until = dds_time() + (int64_t)(timeout * 1e9);
    bool sent = false;
    int got = 0;
    if (reader < 0 || writer < 0) return nm_fail(err, "%s: cannot be called: %s", name, dds_strretcode(writer));
    dds_get_instance_handle(writer, &id);
    while (!got && dds_time() < until) {
        struct nm_raw samples[NM_RAW_MOST];
        if (!sent && served(writer, reader)) {
            int code = write_request(writer, id, seq, request_type, request);
            if (code < 0) return nm_fail(err, "%s: the request cannot be sent: %s", name, dds_strretcode(code));
            sent = true;
        }
        int n = nm_raw_take(reader, samples, NM_RAW_MOST);
        for (int i = 0; i < n && !got; i++)
            if (samples[i].sample) got = read_reply(&samples[i], id, seq, reply_type, reply, err);
        if (n > 0) nm_raw_free(samples, n);
        if (!got) dds_sleepfor(DDS_MSECS(5));
    }
    dds_delete(writer);
    dds_delete(reader);
    if (!got) nm_fail(err, sent ? "%s: no reply within %g s" : "%s: nobody serves it (waited %g s)", name, timeout);
    return got == 1 ? 0 : -1;
}
