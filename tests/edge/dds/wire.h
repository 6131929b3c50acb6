/* Two players in one private domain, and a bare DDS peer that knows nothing of either, for the tests of the DDS edge.
 */
#pragma once

#include "core/started.h"

#include <stdlib.h>
#include <unistd.h>

#include "codec/cdr.h"
#include "edge/dds/dds.h"
#include "edge/dds/domain.h"
#include "edge/dds/pack.h"
#include "edge/dds/private_domain.h"
#include "edge/dds/rawtype.h"
#include "patience.h"
#include "rcl_interfaces/Log.h"
#include "sensor_msgs/Imu.h"
#include "std_msgs/Float64.h"
#include "std_msgs/String.h"
#include "std_srvs/SetBool.h"

#ifdef __SANITIZE_THREAD__
/* Cyclone itself is not built for TSan, so that what only its atomics order looks like a race. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void); /* looked up by the runtime */
const char *__tsan_default_suppressions(void) { return "race:libddsc\n"; }
#endif

struct talker {
    struct nm *nm;
    Float64 *number;
    Imu *imu;
    nm_out_queue(String) lines;
    nm_server(SetBool) shout;
    float by;
    bool mute;
    char mood[16];
    double sum;
};
static void talk(struct talker *t)
{
    for (uint32_t i = 0; i < t->shout.requests.n; i++) {
        const SetBool_Request *request = t->shout.requests.at[i];
        SetBool_Response *reply = nm_reply(t->nm, &t->shout, request);
        reply->success = request->data;
        nm_text(reply->message, "%s", request->data ? "HELLO" : "hello");
    }
    if (t->mute) return;
    t->sum += (double)t->by;
    t->number->data = t->sum;
    nm_put(t->nm, t->number);
    t->imu->linear_acceleration.z = 9.81;
    nm_text(t->imu->header.frame_id, "imu_link");
    nm_put(t->nm, t->imu);
    nm_text(nm_push(t->nm, &t->lines)->data, "line %g", t->sum);
}
#define SELF struct talker
static const struct nm_port talker_ports[] = {
    NM_OUT(number, Float64, "number"),
    NM_OUT(imu, Imu, "imu"),
    NM_OUT_QUEUE(lines, String, "lines", 8),
    NM_SERVER(shout, SetBool, "shout", 4),
    {0},
};
static const struct nm_param talker_params[] = {
    NM_PARAM(by, 1, 0, 10, "1", "what is added a step"),
    NM_PARAM_SWITCH(mute, false, "says nothing"),
    NM_PARAM_WORD(mood, "calm", "calm loud", "how it speaks"),
    {0},
};
NM_MODULE(talker, "Talks.", NM_PORTS(talker_ports), NM_PARAMS(talker_params), .step = NM_CALL(talk))
#undef SELF

struct hearer {
    struct nm *nm;
    const Float64 *number;
    const Imu *imu;
    nm_queue(String) lines;
    nm_client(SetBool) shout;
    Float64 *heard;
    nm_out_queue(String) echo;
    uint32_t numbers;
    bool answered;
};
static void hear(struct hearer *h)
{
    for (uint32_t i = 0; i < h->lines.n; i++) nm_text(nm_push(h->nm, &h->echo)->data, "%s", h->lines.at[i]->data);
    for (uint32_t i = 0; i < h->shout.replies.n; i++)
        nm_text(nm_push(h->nm, &h->echo)->data, "reply %s", h->shout.replies.at[i]->message);
    h->answered |= h->shout.replies.n > 0;
    if (!nm_fresh(h->nm, h->number)) return;
    /* a call from before the two have found each other is lost: it asks again */
    if (h->numbers++ % 50 == 0 && !h->answered) nm_call(h->nm, &h->shout)->data = true;
    h->heard->data = h->number->data;
    nm_put(h->nm, h->heard);
}
#define SELF struct hearer
static const struct nm_port hearer_ports[] = {
    NM_IN(number, Float64, "number"),
    NM_IN(imu, Imu, "imu"),
    NM_QUEUE(lines, String, "lines", 32),
    NM_CLIENT(shout, SetBool, "shout", 4),
    NM_OUT(heard, Float64, "heard"),
    NM_OUT_QUEUE(echo, String, "echo", 64),
    {0},
};
NM_MODULE(hearer, "Hears.", NM_PORTS(hearer_ports), .step = NM_CALL(hear))
#undef SELF

static const char talking[] = "cycles:\n  voice:\n    period: 10 ms\n    modules: [talker]\n";
static const char hearing[] = "cycles:\n  ear:\n    period: 10 ms\n    modules: [hearer]\n"
                              "remote: [number, imu, lines, shout]\n";

/* A bare peer, with the samples that it took last. */
struct peer {
    dds_entity_t participant;
    struct nm_raw samples[NM_RAW_MOST];
    int n;
};

static inline void peer_join(struct peer *peer, int domain)
{
    struct nm_err err = {0};
    *peer = (struct peer){.participant = nm_domain_join((uint32_t)domain, false, &err)};
    if (peer->participant < 0) fail_msg("%s", err.text);
}

static inline dds_qos_t *peer_qos(bool reliable, bool latched, const char *user_data)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_MSECS(100));
    dds_qset_durability(qos, latched ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 100);
    if (user_data) dds_qset_userdata(qos, user_data, strlen(user_data));
    return qos;
}

static inline dds_entity_t peer_reader(struct peer *peer, const char *name, const char *type, bool latched)
{
    dds_qos_t *qos = peer_qos(true, latched, NULL);
    dds_entity_t reader = dds_create_reader(peer->participant, nm_raw_topic(peer->participant, name, type), qos, NULL);
    dds_delete_qos(qos);
    assert_true(reader > 0);
    return reader;
}

static inline dds_entity_t peer_writer(struct peer *peer, const char *name, const char *type, bool reliable,
                                       const char *user_data)
{
    dds_qos_t *qos = peer_qos(reliable, false, user_data);
    dds_entity_t writer = dds_create_writer(peer->participant, nm_raw_topic(peer->participant, name, type), qos, NULL);
    dds_delete_qos(qos);
    assert_true(writer > 0);
    return writer;
}

/* The next sample of a reader, kept until the next call; false while there is none. */
static inline bool peer_take(struct peer *peer, dds_entity_t reader)
{
    if (peer->n > 0) nm_raw_free(peer->samples, peer->n);
    peer->n = nm_raw_take(reader, peer->samples, 1);
    return peer->n > 0 && peer->samples[0].sample;
}

static inline uint32_t readers_of(dds_entity_t writer)
{
    dds_publication_matched_status_t status;
    dds_get_publication_matched_status(writer, &status);
    return status.current_count;
}

static inline void peer_leave(struct peer *peer, int domain)
{
    if (peer->n > 0) nm_raw_free(peer->samples, peer->n);
    nm_domain_leave((uint32_t)domain, peer->participant);
}
