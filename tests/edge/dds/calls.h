/* A service called by a bare peer as ROS 2 does it. */
#pragma once

#include "edge/dds/wire.h"

/* The test's own: lets everybody go on for a moment while an answer is awaited. */
static void turn(void);

struct call {
    dds_entity_t writer, reader;
    uint64_t id;
    int64_t seq;
    struct pack request;
};

static inline void call_open(struct call *call, struct peer *from, const char *name, const char *type)
{
    char topic[128], dds_type[128];
    *call = (struct call){.id = 0x1122334455667788 + (uint64_t)from->participant};
    snprintf(topic, sizeof topic, "rr%sReply", name);
    snprintf(dds_type, sizeof dds_type, "%s_Response_", type);
    call->reader = peer_reader(from, topic, dds_type, false);
    snprintf(topic, sizeof topic, "rq%sRequest", name);
    snprintf(dds_type, sizeof dds_type, "%s_Request_", type);
    call->writer = peer_writer(from, topic, dds_type, true, "clientid=1.2;");
    wait_until(readers_of(call->writer), turn());
}

static inline struct pack *call_begin(struct call *call)
{
    pack_begin(&call->request);
    pack_u64(&call->request, call->id);
    pack_i64(&call->request, ++call->seq);
    return &call->request;
}

static inline bool reply_is_there(struct call *call, struct peer *from, struct unpack *u)
{
    if (!peer_take(from, call->reader)) return false;
    unpack_begin(u, from->samples[0].bytes, from->samples[0].size);
    return unpack_u64(u) == call->id;
}

static inline struct unpack call_end(struct call *call, struct peer *from)
{
    assert_int_equal(nm_raw_write(call->writer, call->request.bytes, call->request.n), 0);
    struct unpack u;
    wait_until(reply_is_there(call, from, &u), turn());
    assert_int_equal(unpack_u64(&u), call->seq);
    return u;
}
