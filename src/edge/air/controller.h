/* A game controller on a network: tells robots the state of a match twice a second, hears that they are alive, counts
 * the messages of the teams, and serves monitors. The match itself is referee/match.h. It works with any radios: UDP
 * sockets for `nutmeg referee`, the air in memory for a simulated match.
 *
 *     control packets to all on port 3838; in the HSL at once when play is stopped, and then five at 5 Hz
 *     return packets from robots on port 3939
 *     requests of monitors on port 3636: they get undelayed packets and the return packets of robots (port 3940)
 *     team messages on port 10000 + team */
#pragma once

#include "edge/air/air.h"
#include "referee/match.h"

enum { NM_CONTROLLER_MONITORS = 8, NM_CONTROLLER_HOSTS = 64 };

enum nm_robot_link { NM_LINK_NEVER, NM_LINK_GOOD, NM_LINK_BAD, NM_LINK_OFFLINE }; /* up to 2 s, up to 4 s, longer */

struct nm_controller_options {
    uint32_t all;              /* address that reaches all robots                          */
    struct nm_radio *control;  /* any port                                                 */
    struct nm_radio *returns;  /* port 3939                                                */
    struct nm_radio *monitors; /* port 3636; NULL: there are none                          */
    struct nm_radio *teams[2]; /* ports 10000 + team                                       */
    /* A team message, and what a robot told. Each may be NULL. */
    void (*message)(void *user, uint32_t team, uint32_t bytes);
    void (*told)(void *user, uint32_t team, const struct nm_game_return *what);
    void *user;
};

struct nm_controller {
    struct nm_controller_options options;
    int64_t sent; /* ns, -1: never */
    uint32_t hurry;
    bool stopped;
    uint8_t number;
    struct {
        int64_t heard; /* ns, -1: never */
        struct nm_game_return last;
    } robots[2][NM_GAME_PLAYERS];
    uint32_t n_monitors;
    struct {
        uint32_t host;
        uint8_t number;
    } monitors[NM_CONTROLLER_MONITORS];
    uint32_t n_hosts;
    uint32_t hosts[NM_CONTROLLER_HOSTS]; /* of robots: these are refused as monitors */
    uint64_t invalid;                    /* return packets that were none            */
};

/* The radios stay the caller's. */
void nm_controller_init(struct nm_controller *controller, const struct nm_controller_options *options);
/* Receives and sends what is due. -1 with a sentence if a packet cannot be sent. */
int nm_controller_poll(struct nm_controller *controller, const struct nm_match *match, int64_t now, struct nm_err *err);
enum nm_robot_link nm_controller_link(const struct nm_controller *controller, uint32_t team, uint32_t player,
                                      int64_t now);
