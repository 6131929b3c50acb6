/* A module with a service, a parameter and an eye on the game, and a peer that calls it as ROS 2 does. */
#pragma once

#include "edge/dds/calls.h"

#include "nutmeg_msgs/MatchState.h"

struct gate {
    struct nm *nm;
    const MatchState *match;
    const Float64 *wish;
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
    NM_IN(wish, Float64, "wish"),
    NM_OUT(opened, Float64, "opened"),
    NM_SERVER(open, SetBool, "open", 4),
    {0},
};
static const struct nm_param gate_params[] = {NM_PARAM(width, 1, 0, 10, "m", "of the gate"), {0}};
static const struct nm_param taller_params[] = {
    NM_PARAM(height, 2, 0, 10, "m", "of the taller gate"), NM_PARAM(width, 1, 0, 5, "m", "of the gate"), {0}};
NM_MODULE(gate, "Opens.", NM_PORTS(gate_ports), NM_PARAMS(gate_params), .step = NM_CALL(guard))
#undef SELF

static const char gated[] = "cycles: {yard: {period: 10 ms, modules: [gate]}}\nremote: [match_state, wish]\n";

static struct started s;
static struct nm_dds *dds;
static struct nm_edge *referee;
static struct peer peer;
static int64_t now_ms;

static void turn(void)
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

/* `network`: the edge believes that anybody may reach it. `judged`: the state of the game is told in this process. */
static inline int begin_as(bool network, bool judged)
{
    static const struct nm_edge_port port = {"match_state", NM_PORT_OUT, NULL, 0, 0};
    struct nm_err err = {0};
    now_ms = 0;
    peer_join(&peer, private_domain()); /* first, so that the domain stays on this machine all the same */
    start_with(&s, gated, (struct nm_player_options){.name = "yard"});
    referee = judged ? edge(&s, &port, 1) : NULL;
    dds = nm_dds_new(
        s.player, &(struct nm_dds_options){.domain = private_domain(), .virtual_time = true, .network = network}, &err);
    if (!dds) fail_msg("%s", err.text);
    run_until(&s, 1);
    return 0;
}

static inline int begin(void **state)
{
    (void)state;
    return begin_as(false, true);
}

static inline int end(void **state)
{
    (void)state;
    peer_leave(&peer, private_domain());
    nm_dds_free(dds);
    stop(&s);
    return 0;
}
