#include "edge/air/controller.h"

#include <string.h>

static const int64_t USUAL = 500000000, HURRIED = 200000000; /* ns between two packets */
static const int64_t GOOD = 2000000000, BAD = 4000000000;    /* ns without a word      */
enum { HURRIED_PACKETS = 5, AT_ONCE = 256 /* datagrams of one radio in one round */ };

void nm_controller_init(struct nm_controller *c, const struct nm_controller_options *options)
{
    memset(c, 0, sizeof *c);
    c->options = *options;
    c->sent = -1;
    for (int t = 0; t < 2; t++)
        for (int p = 0; p < NM_GAME_PLAYERS; p++) c->robots[t][p].heard = -1;
}

/* ---- hearing ---- */

static void forget_monitor(struct nm_controller *c, uint32_t host)
{
    for (uint32_t i = 0; i < c->n_monitors; i++)
        if (c->monitors[i].host == host) c->monitors[i--] = c->monitors[--c->n_monitors];
}

static bool is_robot(const struct nm_controller *c, uint32_t host)
{
    for (uint32_t i = 0; i < c->n_hosts; i++)
        if (c->hosts[i] == host) return true;
    return false;
}

static void hear_return(struct nm_controller *c, const struct nm_match *match, struct nm_air_place from,
                        const uint8_t *bytes, size_t size, int64_t now)
{
    struct nm_game_return said;
    uint8_t forwarded[4 + NM_GAME_RETURN_LONGEST];
    if (!is_robot(c, from.host) && c->n_hosts < NM_CONTROLLER_HOSTS) c->hosts[c->n_hosts++] = from.host;
    forget_monitor(c, from.host);
    if (size > 0 && size <= NM_GAME_RETURN_LONGEST) {
        for (int i = 0; i < 4; i++) forwarded[i] = (uint8_t)(from.host >> (24 - 8 * i));
        memcpy(forwarded + 4, bytes, size);
        for (uint32_t i = 0; i < c->n_monitors; i++)
            nm_radio_send(c->options.control, (struct nm_air_place){c->monitors[i].host, NM_GAME_FORWARD_PORT},
                          forwarded, 4 + size, NULL);
    }
    bool fits = nm_game_return_decode(bytes, size, &said) &&
                said.version == nm_game_return_version(match->options.version) && said.player >= 1 &&
                said.player <= match->options.roster;
    for (uint32_t t = 0; t < 2 && fits; t++) {
        if (match->options.team_numbers[t] != said.team) continue;
        c->robots[t][said.player - 1].heard = now;
        c->robots[t][said.player - 1].last = said;
        if (c->options.told) c->options.told(c->options.user, t, &said);
        return;
    }
    c->invalid++;
}

static void hear_monitor(struct nm_controller *c, struct nm_air_place from, const uint8_t *bytes, size_t size)
{
    if (!nm_game_request_decode(bytes, size) || is_robot(c, from.host)) return;
    forget_monitor(c, from.host); /* who asks again starts again */
    if (c->n_monitors == NM_CONTROLLER_MONITORS) return;
    c->monitors[c->n_monitors].host = from.host;
    c->monitors[c->n_monitors++].number = 0;
}

static void hear(struct nm_controller *c, const struct nm_match *match, int64_t now)
{
    uint8_t bytes[NM_AIR_DATAGRAM];
    struct nm_air_place from;
    int64_t size;
    for (int i = 0; i < AT_ONCE && (size = nm_radio_receive(c->options.returns, &from, bytes, sizeof bytes)) >= 0; i++)
        hear_return(c, match, from, bytes, (size_t)size, now);
    for (int i = 0; i < AT_ONCE && c->options.monitors &&
                    (size = nm_radio_receive(c->options.monitors, &from, bytes, sizeof bytes)) >= 0;
         i++)
        hear_monitor(c, from, bytes, (size_t)size);
    for (uint32_t t = 0; t < 2; t++)
        for (int i = 0; i < AT_ONCE && (size = nm_radio_receive(c->options.teams[t], &from, bytes, sizeof bytes)) >= 0;
             i++)
            if (c->options.message) c->options.message(c->options.user, t, (uint32_t)size);
}

/* ---- telling ---- */

static int tell(struct nm_controller *c, const struct nm_match *match, bool truth, uint8_t number, uint32_t host,
                struct nm_err *err)
{
    struct nm_game_packet packet;
    uint8_t bytes[NM_GAME_LONGEST];
    nm_match_packet(match, truth, number, &packet);
    size_t size = nm_game_encode(&packet, bytes, sizeof bytes);
    return nm_radio_send(c->options.control, (struct nm_air_place){host, NM_GAME_PORT}, bytes, size, err);
}

int nm_controller_poll(struct nm_controller *c, const struct nm_match *match, int64_t now, struct nm_err *err)
{
    hear(c, match, now);
    bool stops = match->stopped && !c->stopped;
    c->stopped = match->stopped;
    if (stops) c->hurry = HURRIED_PACKETS;
    if (!stops && c->sent >= 0 && now - c->sent < (c->hurry ? HURRIED : USUAL)) return 0;
    if (c->hurry && !stops) c->hurry--;
    c->sent = now;
    for (uint32_t i = 0; i < c->n_monitors; i++)
        tell(c, match, true, c->monitors[i].number++, c->monitors[i].host, NULL);
    return tell(c, match, false, c->number++, c->options.all, err);
}

enum nm_robot_link nm_controller_link(const struct nm_controller *c, uint32_t team, uint32_t player, int64_t now)
{
    int64_t heard = c->robots[team][player - 1].heard;
    if (heard < 0) return NM_LINK_NEVER;
    return now - heard <= GOOD ? NM_LINK_GOOD : now - heard <= BAD ? NM_LINK_BAD : NM_LINK_OFFLINE;
}
