#include "edge/air/radio_edge.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "codec/gamecontroller.h"
#include "core/nm.h"
#include "core/params.h"
#include "core/stamp.h"
#include "edge/air/udp.h"
#include "nutmeg_msgs/Datagram.h"
#include "rcl_interfaces/Log.h"

enum channel { GAME, TEAM, STATUS, CHANNELS };
enum port { RECEIVED, SENT = RECEIVED + CHANNELS, CONSOLE = SENT + CHANNELS, PORTS }; /* one of a kind a channel */
enum {
    EARS = 2,        /* radios of a channel                                              */
    ROUND = 64,      /* datagrams of a radio in one round, so that a flood stops nothing */
    HOSTS = 32,      /* senders of a channel that are told apart                         */
    OF_HOST = 50,    /* datagrams of a sender in a second: games need fewer than ten     */
    OF_CHANNEL = 150 /* datagrams of all senders in a second, so that no log overflows   */
};

static const int64_t period = 10000000; /* ns */
static const int64_t calm = 2000000000; /* ns without a failure after which the network is back */

/* What came in this second. A flood of one sender keeps no other from being heard. */
struct ration {
    int64_t since; /* ns */
    uint32_t all, n;
    struct {
        uint32_t host, n;
    } hosts[HOSTS];
};

struct nm_radio_edge {
    struct nm_player *player;
    struct nm_edge *edge;
    struct nm_radio *radios[CHANNELS][EARS]; /* the first one also sends; NULL: none */
    uint16_t ports[CHANNELS];
    uint32_t all;         /* where that goes which is sent to all */
    bool mute;            /* only listens */
    struct nm_fault deaf; /* sending fails */
    struct ration rations[CHANNELS];
    struct nm_fault flood;
};

/* -1: no module knows it */
static int team_of(const struct nm_lineup *lineup)
{
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        const struct nm_lineup_instance *instance = &lineup->instances[i];
        int team = strcmp(instance->module->name, "game_state") ? -1 : nm_param_find(instance->module, "team", NULL);
        if (team >= 0) return (int)instance->values[team].whole;
    }
    return -1;
}

static struct nm_radio_edge *begin(struct nm_player *player, struct nm_err *err)
{
    static const struct nm_edge_port ports[PORTS] = {
        [RECEIVED + GAME] = {"game/received", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &Datagram_type, 0, 0},
        [RECEIVED + TEAM] = {"team/received", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &Datagram_type, 0, 0},
        [RECEIVED + STATUS] = {"status/received", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &Datagram_type, 0, 0},
        [SENT + GAME] = {"game/sent", NM_PORT_QUEUE | NM_EDGE_OPTIONAL, &Datagram_type, 0, 0},
        [SENT + TEAM] = {"team/sent", NM_PORT_QUEUE | NM_EDGE_OPTIONAL, &Datagram_type, 0, 0},
        [SENT + STATUS] = {"status/sent", NM_PORT_QUEUE | NM_EDGE_OPTIONAL, &Datagram_type, 0, 0},
        [CONSOLE] = {"rosout", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &Log_type, 8, 0},
    };
    int team = team_of(nm_player_lineup(player));
    if (team < 0) {
        nm_fail(err, "the radio: the line-up has no module game_state, which knows the number of the team");
        return NULL;
    }
    struct nm_radio_edge *e = nm_calloc(1, sizeof *e);
    e->player = player;
    e->all = NM_AIR_ALL;
    e->ports[GAME] = NM_GAME_PORT;
    e->ports[TEAM] = (uint16_t)(NM_GAME_TEAM_PORT + team);
    e->ports[STATUS] = (uint16_t)(NM_GAME_STATUS_PORT + team);
    e->edge = nm_edge_new(player, "radio", ports, PORTS, err);
    if (e->edge) return e;
    free(e);
    return NULL;
}

void nm_radio_edge_free(struct nm_radio_edge *e)
{
    if (!e) return;
    nm_edge_stop(e->edge);
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < EARS; i++) nm_radio_close(e->radios[c][i]);
    free(e);
}

static struct nm_radio *listen_at(uint32_t address, uint16_t port, struct nm_err *err)
{
    return nm_udp_open(&(struct nm_udp_options){.address = address, .port = port, .shared = true}, err);
}

struct nm_radio_edge *nm_radio_edge_udp(struct nm_player *player, bool network, bool mute, struct nm_err *err)
{
    struct nm_radio_edge *e = begin(player, err);
    if (!e) return NULL;
    e->mute = mute;
    if (!network) e->all = NM_AIR_ALL_HERE;
    for (int c = 0; c < CHANNELS; c++) {
        e->radios[c][0] = listen_at(network ? 0 : NM_AIR_ALL_HERE, e->ports[c], err);
        if (!network) e->radios[c][1] = listen_at(NM_AIR_THIS_HOST, e->ports[c], err);
        if (e->radios[c][0] && (network || e->radios[c][1])) continue;
        nm_radio_edge_free(e);
        return NULL;
    }
    return e;
}

struct nm_radio_edge *nm_radio_edge_air(struct nm_player *player, struct nm_air *air, uint32_t host, struct nm_err *err)
{
    struct nm_radio_edge *e = begin(player, err);
    if (!e) return NULL;
    for (int c = 0; c < CHANNELS; c++) {
        e->radios[c][0] = nm_air_radio(air, (struct nm_air_place){host, e->ports[c]}, err);
        if (e->radios[c][0]) continue;
        nm_radio_edge_free(e);
        return NULL;
    }
    return e;
}

/* ---- a round ---- */

static bool has_ration(struct ration *r, uint32_t host, int64_t now)
{
    const int64_t second = 1000000000;
    uint32_t i = 0;
    if (now - r->since >= second || now < r->since) *r = (struct ration){.since = now};
    while (i < r->n && r->hosts[i].host != host) i++;
    if (i == HOSTS || r->all == OF_CHANNEL || r->hosts[i].n == OF_HOST) return false;
    if (i == r->n) r->hosts[r->n++].host = host;
    r->hosts[i].n++;
    r->all++;
    return true;
}

static void hear(struct nm_radio_edge *e, enum channel c, struct nm_radio *radio, int64_t now)
{
    uint8_t bytes[NM_AIR_DATAGRAM];
    struct nm_air_place from;
    for (int i = 0; i < ROUND; i++) {
        int64_t n = nm_radio_receive(radio, &from, bytes, sizeof bytes);
        if (n < 0) return;
        bool fits = has_ration(&e->rations[c], from.host, now);
        if (!fits && nm_fault_seen(&e->flood, now, calm) == NM_FAULT_BEGINS)
            nm_edge_log(e->edge, CONSOLE, NM_WARN, "radio",
                        "too many packets at port %u, the last one from %u.%u.%u.%u", e->ports[c], from.host >> 24,
                        from.host >> 16 & 255, from.host >> 8 & 255, from.host & 255);
        Datagram *out = fits ? nm_edge_push(e->edge, RECEIVED + (uint32_t)c) : NULL;
        if (!out) continue;
        out->header.stamp = nm_stamp(now);
        out->host = from.host;
        out->port = from.port;
        out->data.n = (uint32_t)n;
        memcpy(out->data.at, bytes, (size_t)n);
    }
}

static void speak(struct nm_radio_edge *e, enum channel c, int64_t now)
{
    const void *const *at;
    uint32_t n = nm_edge_queue(e->edge, SENT + (uint32_t)c, &at, NULL);
    for (uint32_t i = 0; !e->mute && i < n; i++) {
        const Datagram *d = at[i];
        struct nm_err err = {0};
        struct nm_air_place to = {d->host == NM_AIR_ALL ? e->all : d->host, d->port};
        bool failed = nm_radio_send(e->radios[c][0], to, d->data.at, d->data.n, &err);
        switch (nm_fault_now(&e->deaf, failed, now, calm)) {
        case NM_FAULT_BEGINS:
            nm_edge_log(e->edge, CONSOLE, NM_WARN, "radio", "%.*s", (int)strcspn(err.text, "\n"), err.text);
            break;
        case NM_FAULT_OVER: nm_edge_log(e->edge, CONSOLE, NM_INFO, "radio", "sending works again"); break;
        case NM_FAULT_SAME: break;
        }
    }
}

void nm_radio_edge_poll(struct nm_radio_edge *e, int64_t now)
{
    nm_edge_begin(e->edge, now);
    for (enum channel c = 0; c < CHANNELS; c++) {
        speak(e, c, now);
        for (int i = 0; i < EARS; i++)
            if (e->radios[c][i]) hear(e, c, e->radios[c][i], now);
    }
    if (nm_fault_absent(&e->flood, now) == NM_FAULT_OVER)
        nm_edge_log(e->edge, CONSOLE, NM_INFO, "radio", "the flood of packets is over");
    nm_edge_end(e->edge);
}

static void make_round(void *user, int64_t now)
{
    struct nm_radio_edge *e = user;
    (void)now;
    nm_radio_edge_poll(e, nm_player_now(e->player));
}

int nm_radio_edge_start(struct nm_radio_edge *e, struct nm_err *err)
{
    return nm_edge_start(e->edge, &(struct nm_edge_beat){period, period, 0, make_round, e}, err);
}
