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
    const struct nm_type *request_type, *reply_type; /* of the messages; calls with bytes need no struct */
    dds_entity_t reader, writer;
    dds_instance_handle_t id;
    int64_t seq; /* of the question under way, 0: none */
};

static dds_entity_t open_half(struct nm_look *look, bool reply, const char *name, const struct nm_type *type)
{
    char wire[NM_ROS_NAME + 16], data[160];
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 10);
    dds_qset_writer_data_lifecycle(qos, false);
    snprintf(data, sizeof data, "clientid=6e.75.74.6d.65.67;typehash=%s;", type->hash);
    dds_qset_userdata(qos, data, strlen(data));
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

/* The body as bytes with their header. */
static int ask(struct nm_look_client *client, const void *body, size_t n, struct nm_err *err)
{
    if (!served(client)) return 0;
    int64_t seq = ++client->look->calls;
    uint8_t *bytes = malloc(n + IDS);
    if (!bytes) abort();
    memcpy(bytes, body, PACK_HEAD);
    memcpy(bytes + PACK_HEAD, &client->id, 8);
    memcpy(bytes + PACK_HEAD + 8, &seq, 8);
    memcpy(bytes + PACK_HEAD + IDS, (const uint8_t *)body + PACK_HEAD, n - PACK_HEAD);
    int code = nm_raw_write(client->writer, bytes, n + IDS);
    free(bytes);
    if (code < 0) return nm_fail(err, "%s: the request cannot be sent: %s", client->name, dds_strretcode(code));
    client->seq = seq;
    return 1;
}

int nm_look_ask(struct nm_look_client *client, const void *request, struct nm_err *err)
{
    size_t size = nm_cdr_size(client->request_type, request);
    uint8_t *bytes = malloc(size);
    if (!bytes) abort();
    int64_t n = nm_cdr_encode(client->request_type, request, bytes, size);
    int sent =
        n > 0 ? ask(client, bytes, (size_t)n, err) : nm_fail(err, "%s: the request cannot be sent", client->name);
    free(bytes);
    return sent;
}

/* The body of a reply to our question, with a header of its own, to be freed; NULL if it is somebody else's. */
static uint8_t *own_reply(const struct nm_look_client *client, const struct nm_raw *sample, size_t *n)
{
    struct unpack u;
    unpack_begin(&u, sample->bytes, sample->size);
    if (unpack_u64(&u) != client->id || (int64_t)unpack_u64(&u) != client->seq || u.bad) return NULL;
    *n = sample->size - IDS;
    uint8_t *bytes = malloc(*n);
    if (!bytes) abort();
    memcpy(bytes, sample->bytes, PACK_HEAD);
    memcpy(bytes + PACK_HEAD, sample->bytes + u.at, *n - PACK_HEAD);
    return bytes;
}

/* 1 with bytes to be freed, 0 while there are none, -1 with a sentence. */
static int answer(struct nm_look_client *client, uint8_t **bytes, size_t *size, struct nm_err *err)
{
    struct nm_raw samples[NM_RAW_MOST];
    int n;
    *bytes = NULL;
    if (!client->seq) return 0;
    bool there = served(client); /* before the last look: what its server sent has come */
    while (!*bytes && (n = nm_raw_take(client->reader, samples, NM_RAW_MOST)) > 0) {
        for (int i = 0; i < n && !*bytes; i++)
            if (samples[i].sample) *bytes = own_reply(client, &samples[i], size);
        nm_raw_free(samples, n);
    }
    if (!*bytes && !there) return nm_fail(err, "%s: its server went away before it answered", client->name);
    if (*bytes) client->seq = 0;
    return *bytes != NULL;
}

int nm_look_answer(struct nm_look_client *client, void *reply, struct nm_err *err)
{
    uint8_t *bytes;
    size_t n;
    int got = answer(client, &bytes, &n, err);
    if (got <= 0) return got;
    int bad = client->reply_type->blobs ? nm_fail(err, "%s: a reply with a blob cannot be read", client->name)
                                        : nm_cdr_decode(client->reply_type, reply, bytes, n, NULL, err);
    free(bytes);
    return bad ? -1 : 1;
}

uint8_t *nm_look_call(struct nm_look *look, const char *name, const struct nm_type *request_type, const void *request,
                      size_t n, const struct nm_type *reply_type, size_t *size, double timeout, struct nm_err *err)
{
    struct nm_look_client *client = nm_look_client_new(look, name, request_type, reply_type, err);
    int64_t until = dds_time() + (int64_t)(timeout * 1e9);
    int sent = 0, got = 0;
    uint8_t *reply = NULL;
    if (!client) return NULL;
    while (!got && sent >= 0 && dds_time() < until) {
        if (!sent) sent = ask(client, request, n, err);
        if (sent > 0) got = answer(client, &reply, size, err);
        if (!got) dds_sleepfor(DDS_MSECS(5));
    }
    if (!got && sent >= 0)
        nm_fail(err, sent ? "%s: no reply within %g s" : "%s: nobody serves it (waited %g s)", name, timeout);
    nm_look_client_free(client);
    return reply;
}
