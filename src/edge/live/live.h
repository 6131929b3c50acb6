/* The live server: a running line-up shown to browsers and to Foxglove's programs, over HTTP and the Foxglove WebSocket
 * protocol (codec/foxglove.h), by a thread of its own. Every topic is a channel; parameters, services, topics from
 * outside, the graph and the robot's files are there too. It never delays a cycle: of a client that does not keep up
 * the oldest messages are dropped, of images all but the newest, and nobody else loses anything.
 *
 * It listens on this machine only unless told otherwise. Everybody may look except pages of other sites without the
 * token. To change anything a client must bring the token, its page must come from here (or from an origin that was
 * named), and writing must not be locked: by the option, or while the robot plays (edge/rules/remote.h), which it
 * learns from the topic match_state. When its seats are taken, viewers without the token make room for those who have
 * it. */
#ifndef NM_EDGE_LIVE_LIVE_H
#define NM_EDGE_LIVE_LIVE_H

#include "core/player.h"

struct nm_live;

enum { NM_LIVE_PORT = 8765, NM_LIVE_CLIENTS = 16 };

struct nm_live_options {
    const char *address;        /* to listen on, a number; NULL: 127.0.0.1; 0.0.0.0: all of this machine */
    int port;                   /* 0: any that is free                                                  */
    const char *token;          /* 8 to 64 letters, digits, '-', '_'; NULL: made at random              */
    bool locked;                /* nobody may write                                                     */
    bool virtual_time;          /* clients are told the time, which is the player's                     */
    const char *web;            /* folder of the page; where there is none, a small page says so        */
    uint32_t n_origins;         /* pages from elsewhere that may look and write, as browsers name them: */
    const char *const *origins; /* "https://viewer.example"                                      */
};

/* Between nm_player_new and the start: adds edges to the player, which must outlive the server, and listens. */
struct nm_live *nm_live_new(struct nm_player *player, const struct nm_live_options *options, struct nm_err *err);
void nm_live_free(struct nm_live *live); /* ends its thread */

/* Real time, after nm_player_start: a thread serves from now on. */
int nm_live_start(struct nm_live *live, struct nm_err *err);
/* Virtual time: serves what has come in, without waiting; between two calls of nm_players_run. */
void nm_live_poll(struct nm_live *live);

/* The page's address, with the token: http://127.0.0.1:8765/?token=… */
const char *nm_live_url(const struct nm_live *live);
int nm_live_port(const struct nm_live *live);

struct nm_live_stats {
    uint32_t clients;
    int64_t cpu; /* ns that the server's thread has worked */
    struct {
        uint64_t sent;         /* messages                                              */
        uint64_t dropped;      /* messages that found no room                           */
        uint64_t passed;       /* images that a newer one replaced before they were sent */
    } client[NM_LIVE_CLIENTS]; /* by seat, of the last client that sat there */
};
void nm_live_stats(const struct nm_live *live, struct nm_live_stats *stats);

#endif
