/* The live server shows a running line-up to browsers and to Foxglove's programs, over HTTP and the Foxglove WebSocket
 * protocol (codec/foxglove.h). It has its own thread. Every topic is a channel; the parameters, services, topics from
 * outside, the graph and the robot's files are available too. The server never delays a cycle: when a client does not
 * keep up, its oldest messages are dropped, and of images all but the newest. Other clients lose nothing.
 *
 * The server listens on this machine only, unless an address is given. Everybody who reaches it may look, except pages
 * of other sites without the token. To change anything, a client must have the token, its page must come from this
 * server (or from a named origin), and writing must not be locked. Writing is locked by an option, and while the robot
 * plays (edge/rules/gate.h), which the server learns from the topic match_state. When all seats are taken, viewers
 * without the token make room for viewers that have it. */
#pragma once

#include "core/player.h"
#include "edge/rules/desk.h"

struct nm_live;

enum { NM_LIVE_PORT = 8765, NM_LIVE_CLIENTS = 16 };

struct nm_live_options {
    const char *address;        /* to listen on, as a number; NULL: 127.0.0.1; 0.0.0.0: every interface */
    int port;                   /* 0: any free port                                                     */
    const char *token;          /* 8 to 64 letters, digits, '-', '_'; NULL: a random one                */
    bool locked;                /* nobody may write                                                     */
    bool virtual_time;          /* clients show the player's time                                       */
    const struct nm_desk *desk; /* services of this process besides those of the line-up; or NULL       */
    const char *logs;           /* folder whose logs viewers with the token may read; NULL: none        */
    uint32_t n_origins;         /* pages of other sites that may look and write, as browsers name them: */
    const char *const *origins; /* "https://viewer.example"                                             */
};

/* Call it between nm_player_new and nm_player_start: it adds edges to the player and opens the port. The player must
 * outlive the server. */
struct nm_live *nm_live_new(struct nm_player *player, const struct nm_live_options *options, struct nm_err *err);
void nm_live_free(struct nm_live *live); /* ends its thread */

/* Real time, after nm_player_start: starts the thread that serves. */
int nm_live_start(struct nm_live *live, struct nm_err *err);
/* Virtual time: serves what has arrived, without waiting. Call it between two calls of nm_players_run. */
void nm_live_poll(struct nm_live *live);

/* Servers of the same world, such as those of the other robots of a simulation, which the page opens too: a JSON array
 * of {"name", "port", "team"}. The text must outlive the server. */
void nm_live_peers(struct nm_live *live, const char *peers);

/* The page's address, with the token: http://127.0.0.1:8765/?token=… */
const char *nm_live_url(const struct nm_live *live);
int nm_live_port(const struct nm_live *live);
const char *nm_live_token(const struct nm_live *live);

struct nm_live_stats {
    uint32_t clients;
    int64_t cpu; /* ns that the server's thread has worked */
    struct {
        uint64_t sent;         /* messages                                               */
        uint64_t dropped;      /* messages dropped because too many waited               */
        uint64_t passed;       /* images that a newer one replaced before they were sent */
    } client[NM_LIVE_CLIENTS]; /* by seat, of the last client that sat there             */
};
void nm_live_stats(const struct nm_live *live, struct nm_live_stats *stats);
