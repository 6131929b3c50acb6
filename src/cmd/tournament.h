/* The book of a tournament: who played whom with which seed, and what ratings follow. A game is one line of a text
 * file, written when it ends, so that a tournament that was interrupted goes on where it stopped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum { TOURNAMENT_TEAMS = 16, TOURNAMENT_GAMES = 100000, TOURNAMENT_NAME = 64 };

struct tournament_game {
    uint32_t first, second; /* teams; the one with the smaller index first */
    uint64_t seed;
    uint32_t goals[2];
};

struct tournament {
    char settings[160]; /* of every game: a file with others is refused */
    uint32_t n_teams;
    const char *teams[TOURNAMENT_TEAMS];
    uint32_t n_games, room;
    struct tournament_game *games;
};

void tournament_free(struct tournament *tournament);
void tournament_add(struct tournament *tournament, const struct tournament_game *game);
bool tournament_played(const struct tournament *tournament, uint32_t first, uint32_t second, uint64_t seed);
/* Reads the games of these teams; a last line without its end was cut off and is left out. A file that is not there has
 * none. -1 with a sentence. */
int tournament_read(struct tournament *tournament, const char *path, struct nm_err *err);
void tournament_write_head(const struct tournament *tournament, FILE *to);
void tournament_write_game(const struct tournament *tournament, const struct tournament_game *game, FILE *to);

struct tournament_rank {
    uint32_t team, games;
    double points;          /* a draw is a half                                       */
    double elo, low, high;  /* the mean of all teams is 0; 95 % interval              */
    double goals, goals_by; /* mean difference a game, and half of its 95 % interval  */
};
/* Ratings of all teams, best first. The model of Bradley and Terry (1952), with a draw as half a win for both, and half
 * a win and half a loss against the mean of all for each team, so that nobody's rating is infinite. The interval is
 * that of 200 tournaments drawn from the games (bootstrap); the same games give the same numbers. A team whose results
 * are all the same has the interval of Wilson (1927) for its share of points, with a half more of each, as Elo. */
void tournament_rank(const struct tournament *tournament, struct tournament_rank ranks[TOURNAMENT_TEAMS]);
