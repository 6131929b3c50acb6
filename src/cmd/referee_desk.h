/* The desk at which a running match takes orders from outside and tells its state: a player with one module, which
 * serves `referee/order` (nutmeg_msgs/srv/RefereeOrder) and makes `referee/state` (nutmeg_msgs/MatchState, where the
 * own team is red and nothing is delayed), and in the simulator `truth/world`. Viewers reach it through a live server,
 * as they reach a robot, and with `nutmeg play --log` it has a log of its own. */
#pragma once

#include "cmd/setup.h"
#include "core/player.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "referee/match.h"

struct referee_desk;
struct referee_desk_options {
    const struct nm_match *(*match)(void *user); /* NULL: it has not begun */
    /* 0, or -1 with a sentence why this cannot happen now */
    int (*happen)(void *user, const struct nm_match_event *event, struct nm_err *err);
    void (*truth)(void *user, WorldTruth *to); /* where everything is; NULL: nobody knows */
    void *user;
};

struct referee_desk *referee_desk_new(const struct referee_desk_options *options, struct nm_err *err);
void referee_desk_free(struct referee_desk *desk);
struct nm_player *referee_desk_player(struct referee_desk *desk);
/* Obeys what was ordered up to `now` (ns). The first call begins the player's time. */
void referee_desk_poll(struct referee_desk *desk, int64_t now);
