/* A module with a service, a parameter and an eye on the game, and a peer that calls it as ROS 2 does. */
#ifndef TESTS_EDGE_DDS_GATE_H
#define TESTS_EDGE_DDS_GATE_H

#include "edge/dds/wire.h"

#include "nutmeg_msgs/MatchState.h"

struct gate {
    struct nm *nm;
    const MatchState *match;
    Float64 *opened;
    nm_server(SetBool) open;
    float width, height;
};
static void guard(struct gate *g)
{
    for (uint32_t i = 0; i < g->open.requests.n; i++) {
        nm_reply(g->nm, &g->open, g->open.requests.at[i])->success = true;
        g->opened->data++;
        nm_put(g->nm, g->opened);
    }
}
#define SELF struct gate
static const struct nm_port gate_ports[] = {
    NM_IN(match, MatchState, "match_state"),
    NM_OUT(opened, Float64, "opened"),
    NM_SERVER(open, SetBool, "open", 4),
    {0},
};
static const struct nm_param gate_params[] = {NM_PARAM(width, 1, 0, 10, "m", "of the gate"), {0}};
static const struct nm_param taller_params[] = {
    NM_PARAM(height, 2, 0, 10, "m", "of the taller gate"), NM_PARAM(width, 1, 0, 5, "m", "of the gate"), {0}};
NM_MODULE(gate, "Opens.", .ports = gate_ports, .params = gate_params, .step = NM_CALL(guard))
#undef SELF

static const char gated[] = "cycles: {yard: {period: 10 ms, modules: [gate]}}\nremote: [match_state]\n";

static struct started s;
static struct nm_dds *dds;
static struct nm_edge *referee;
static struct peer peer;
static int64_t now_ms;

static inline void turn(void)
{
    now_ms += 10;
    run_until(&s, now_ms);
    nm_dds_poll(dds);
}

static inline void call_state(uint8_t state)
{
    nm_edge_begin(referee, now_ms * 1000000);
    ((MatchState *)nm_edge_out(referee, 0))->state = state;
    nm_edge_put(referee, 0);
    nm_edge_end(referee);
    turn();
    turn();
}

static inline int begin(void **state)
{
    static const struct nm_edge_port port = {"match_state", NM_PORT_OUT, NULL, 0, 0};
    static const char *const local[] = {"match_state"};
    struct nm_err err = {0};
    (void)state;
    now_ms = 0;
    start_with(&s, gated, (struct nm_player_options){.name = "yard"});
    referee = edge(&s, &port, 1);
    dds = nm_dds_new(
        s.player,
        &(struct nm_dds_options){.domain = private_domain(), .virtual_time = true, .n_local = 1, .local = local}, &err);
    if (!dds) fail_msg("%s", err.text);
    run_until(&s, 1);
    peer_join(&peer, private_domain());
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    peer_leave(&peer, private_domain());
    nm_dds_free(dds);
    stop(&s);
    return 0;
}

/* ---- calls ---- */

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

#endif
