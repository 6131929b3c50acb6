/* Calls of services, as rmw_cyclonedds frames them: a client id and a sequence number before the message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/cdr.h"
#include "edge/dds/look_inside.h"
#include "edge/dds/pack.h"

enum { IDS = 16 };

struct nm_look_client {
    struct nm_look *look;
    char name[NM_ROS_NAME];
    const struct nm_type *request_type, *reply_type;
    dds_entity_t reader, writer;
    dds_instance_handle_t id;
    int64_t seq; /* of the question under way, 0: none */
};

static dds_entity_t open_half(struct nm_look *look, bool reply, const char *name, const struct nm_type *type)
{
    static const char data[] = "clientid=6e.75.74.6d.65.67;";
    char wire[NM_ROS_NAME + 16];
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 10);
    dds_qset_writer_data_lifecycle(qos, false);
    dds_qset_userdata(qos, data, sizeof data - 1);
    snprintf(wire, sizeof wire, "%s/%s%s", reply ? "rr" : "rq", name + (*name == '/'), reply ? "Reply" : "Request");
    dds_entity_t topic = nm_raw_topic(look->participant, wire, type->dds_name);
    dds_entity_t half = reply ? dds_create_reader(look->participant, topic, qos, NULL)
                              : dds_create_writer(look->participant, topic, qos, NULL);
    dds_delete_qos(qos);
    return half;
}

struct nm_look_client *nm_look_client_new(struct nm_look *look, const char *name, const struct nm_type *request_type,
                                          const struct nm_type *reply_type, struct nm_err *err)
{
    struct nm_look_client *client = calloc(1, sizeof *client);
    if (!client) abort();
    *client = (struct nm_look_client){.look = look, .request_type = request_type, .reply_type = reply_type};
    snprintf(client->name, sizeof client->name, "/%s", name + (*name == '/'));
    client->reader = open_half(look, true, name, reply_type);
    client->writer = open_half(look, false, name, request_type);
    if (client->reader >= 0 && client->writer >= 0) {
        dds_get_instance_handle(client->writer, &client->id);
        return client;
    }
    nm_fail(err, "%s: cannot be called: %s", client->name,
            dds_strretcode(client->reader < 0 ? client->reader : client->writer));
    nm_look_client_free(client);
    return NULL;
}

void nm_look_client_free(struct nm_look_client *client)
{
    if (!client) return;
    if (client->writer > 0) dds_delete(client->writer);
    if (client->reader > 0) dds_delete(client->reader);
    free(client);
}

static bool served(const struct nm_look_client *client)
{
    dds_publication_matched_status_t out = {0};
    dds_subscription_matched_status_t in = {0};
    dds_get_publication_matched_status(client->writer, &out);
    dds_get_subscription_matched_status(client->reader, &in);
    return out.current_count && in.current_count;
}

int nm_look_ask(struct nm_look_client *client, const void *request, struct nm_err *err)
{
    if (!served(client)) return 0;
    int64_t seq = ++client->look->calls;
    size_t size = nm_cdr_size(client->request_type, request) + IDS;
    uint8_t *bytes = malloc(size);
    if (!bytes) abort();
    int64_t n = nm_cdr_encode(client->request_type, request, bytes + IDS, size - IDS);
    memcpy(bytes, "\0\1\0\0", PACK_HEAD);
    memcpy(bytes + PACK_HEAD, &client->id, 8);
    memcpy(bytes + PACK_HEAD + 8, &seq, 8);
    int code = n > 0 ? nm_raw_write(client->writer, bytes, (size_t)n + IDS) : DDS_RETCODE_BAD_PARAMETER;
    free(bytes);
    if (code < 0) return nm_fail(err, "%s: the request cannot be sent: %s", client->name, dds_strretcode(code));
    client->seq = seq;
    return 1;
}

/* 1: it was ours and is read; -1: ours, but not to be read; 0: somebody else's. */
static int read_reply(const struct nm_look_client *client, const struct nm_raw *sample, void *reply, struct nm_err *err)
{
    struct unpack u;
    unpack_begin(&u, sample->bytes, sample->size);
    if (unpack_u64(&u) != client->id || (int64_t)unpack_u64(&u) != client->seq || u.bad) return 0;
    size_t n = sample->size - IDS;
    uint8_t *bytes = malloc(n);
    if (!bytes) abort();
    memcpy(bytes, sample->bytes, PACK_HEAD);
    memcpy(bytes + PACK_HEAD, sample->bytes + u.at, n - PACK_HEAD);
    int bad = client->reply_type->blobs ? nm_fail(err, "%s: a reply with a blob cannot be shown", client->name)
                                        : nm_cdr_decode(client->reply_type, reply, bytes, n, NULL, err);
    free(bytes);
    return bad ? -1 : 1;
}

int nm_look_answer(struct nm_look_client *client, void *reply, struct nm_err *err)
{
    struct nm_raw samples[NM_RAW_MOST];
    int got = 0, n;
    if (!client->seq) return 0;
    bool there = served(client); /* before the last look: what its server sent has come */
    while (!got && (n = nm_raw_take(client->reader, samples, NM_RAW_MOST)) > 0) {
        for (int i = 0; i < n && !got; i++)
            if (samples[i].sample) got = read_reply(client, &samples[i], reply, err);
        nm_raw_free(samples, n);
    }
    if (!got && !there) return nm_fail(err, "%s: its server went away before it answered", client->name);
    if (got) client->seq = 0;
    return got;
}

int nm_look_call(struct nm_look *look, const char *name, const struct nm_type *request_type, const void *request,
                 const struct nm_type *reply_type, void *reply, double timeout, struct nm_err *err)
{
    struct nm_look_client *client = nm_look_client_new(look, name, request_type, reply_type, err);
    int64_t until = dds_time() + (int64_t)(timeout * 1e9);
    int sent = 0, got = 0;
    if (!client) return -1;
    while (!got && sent >= 0 && dds_time() < until) {
        if (!sent) sent = nm_look_ask(client, request, err);
        if (sent > 0) got = nm_look_answer(client, reply, err);
        if (!got) dds_sleepfor(DDS_MSECS(5));
    }
    if (!got && sent >= 0)
        nm_fail(err, sent ? "%s: no reply within %g s" : "%s: nobody serves it (waited %g s)", name, timeout);
    nm_look_client_free(client);
    return got == 1 ? 0 : -1;
}
