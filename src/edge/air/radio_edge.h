/* The edge between a player and its radios: packets of the game controller (game/received, game/sent), of the team
 * (team/received, team/sent) and for a monitor (status/received, status/sent). It hands on bytes as they are; modules
 * read and write them, so that a log keeps what was said. In real time the radios are UDP sockets, in the simulator the
 * air in memory. */
#pragma once

#include "core/player.h"
#include "edge/air/memory.h"

struct nm_radio_edge;

/* Call it between nm_player_new and the start. NULL with a sentence: a port is taken, or the line-up has no module
 * game_state, whose parameter is the number of the team.
 *
 * UDP: listens on port 3838 and on ports 10000 and 12000 + team, which other programs of this machine may do, too.
 * Without `network` only this machine is reached: what is sent to all goes to 127.255.255.255, and packets to that
 * address and to 127.0.0.1 are heard. `mute`: it sends nothing. */
struct nm_radio_edge *nm_radio_edge_udp(struct nm_player *player, bool network, bool mute, struct nm_err *err);
/* The same in the air of a simulated field, at an address of its own. The air must outlive the edge. */
struct nm_radio_edge *nm_radio_edge_air(struct nm_player *player, struct nm_air *air, uint32_t host,
                                        struct nm_err *err);
void nm_radio_edge_free(struct nm_radio_edge *edge); /* NULL is allowed */

/* Virtual time: hears and sends what is due. Call it after every step of the players. */
void nm_radio_edge_poll(struct nm_radio_edge *edge, int64_t now);
/* Real time: starts the thread that does this a hundred times a second. */
int nm_radio_edge_start(struct nm_radio_edge *edge, struct nm_err *err);
