/* A match in the simulator: two teams of line-ups, the judge, the air between them, and the book of statistics. `nutmeg
 * play` shows one (play_match.c), `nutmeg bench match` plays many. */
#pragma once

#include "cmd/setup.h"
#include "edge/air/controller.h"
#include "edge/air/memory.h"
#include "edge/air/radio_edge.h"
#include "sim/judge.h"
#include "sim/scenario.h"
#include "sim/scorebook.h"

struct match_options {
    const char *league;   /* hl, spl, hsl                                                          */
    const char *fidelity; /* camera, percept, flat                                                 */
    const char *eyes;     /* camera: line-up that sees for those without a vision; NULL: MATCH_EYES  */
    const char *field;    /* NULL: kid, or spl                                                     */
    const char *teams[2]; /* red and blue: a robot, a line-up, or both with a comma between; NULL;
                             with + between, one for each player                                   */
    const char *words[2]; /* what a complaint calls them; NULL: --red and --blue                   */
    int64_t players;      /* of a team; 0: the league's                                            */
    double half;          /* s; 0: the league's                                                    */
    uint64_t seed;
    bool knock_out;
    struct nm_air_options air[2]; /* of each team: with the game controller and among its robots */
    /* For match_play: looks at every step before the judge does, or takes part by hand; true ends it. May be NULL. */
    bool (*step)(void *user, const struct nm_judge *judge, struct nm_stage *stage);
    void *user;
};
#define MATCH_EYES "vision_both"
/* What a robot's radio has in a hall with a good network. */
#define MATCH_AIR                                                                                                      \
    ((struct nm_air_options){                                                                                          \
        .loss = 0.02, .duplicate = 0.005, .reorder = 0.005, .delay = 5000000, .jitter = 15000000, .hold = 100000000})

/* For commands that let line-ups play many matches. */
#define MATCH_MANY                                                                                                     \
    ((struct match_options){.league = "hsl", .fidelity = "flat", .half = 300, .air = {MATCH_AIR, MATCH_AIR}})
#define MATCH_FLAGS(o)                                                                                                 \
    TIME("half", &(o)->half, 6, 3600, "length of a half: 10m, 90s, 2 (minutes) (default: 5m)"),                        \
        TEXT("league", &(o)->league, "NAME", "rules: hl, spl or hsl (default: hsl)"),                                  \
        TEXT("fidelity", &(o)->fidelity, "HOW", "flat (default): discs on a plane; percept: bodies with physics"),     \
        WHOLE("players", &(o)->players, 1, 7, "N", "robots of a team (default: the league's)")

struct match {
    struct match_options options;
    enum nm_game_league league;
    struct nm_scenario *scenario;
    struct nm_air *air[2];
    struct nm_controller controllers[2]; /* one a team: they tell the same */
    struct nm_radio_edge *radios[NM_PLAYERS];
    bool cut[NM_PLAYERS];              /* its network is gone      */
    bool silent;                       /* the controllers are gone */
    struct nm_edge *edges[NM_PLAYERS]; /* whistle in, pose out              */
    struct nm_player *players[NM_PLAYERS];
    double whistled[NM_PLAYERS]; /* confidence of a whistle to be told, 0: none */
    char doing[NM_PLAYERS][64]; /* the innermost option of its behaviour, with its state; of who lies, before it fell */
    char met[NM_PLAYERS][2][64]; /* of it and of the other one when they met last: doing */
    struct nm_judge *judge;      /* from the first step on            */
    struct nm_scorebook book;
    void (*note)(void *user, const struct nm_note *note); /* of the judge; may be NULL */
    void *user;
};

/* The words of options are checked and the scenario is made; -1 with sentences. */
int match_begin(struct match *match, struct setup *setup, const struct match_options *options, struct nm_err *err);
void match_end(struct match *match); /* after the run */

/* For nm_run_options and sim_options, with the match as user. match_look is called after every step; 1: it is over. */
int match_ready(void *match, uint32_t robot, struct nm_player *player, struct nm_err *err);
int match_look(void *match, struct nm_stage *stage, struct nm_err *err);
/* Before the stage is freed. */
void match_close(struct match *match);

/* What a match came to; flat, so that it can travel through a pipe. */
struct match_result {
    uint32_t score[2];
    struct nm_book_row teams[2];
    struct nm_book_team play[2];
    double playing, in_play; /* s                                          */
    uint32_t duels;
    uint64_t messages[2];
    bool over_budget[2];
    double simulated, cpu;   /* s */
    double busy[2];          /* s inside the cycles of each team */
    double brain, brain_p99; /* s, of a run of the cycle `brain`: mean of all robots, the largest of theirs */
    bool done;
    char died[160]; /* why not */
};
void match_sum_up(const struct match *match, struct match_result *result); /* before match_close */
/* Plays a whole match as fast as it goes, without a word. */
void match_play(struct setup *setup, const struct match_options *options, uint32_t workers,
                struct match_result *result);
