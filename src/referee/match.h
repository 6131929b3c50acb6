/* The state machine of a match: halves, kick-offs, set plays, goals, penalties, time-outs, extra time and shoot-out of
 * the three leagues in rules.h. Events go in (a referee's, a judge's, a script's) and are refused with a sentence where
 * the rules do not have them; time goes in; packets of the game controller come out. It is one plain struct without
 * pointers to memory of its own: a copy plays on by itself. It knows no field: who stands where, and what an event
 * means for the ball, is the judge's (sim/judge.h) or the referee's business. */
#pragma once

#include "base/error.h"
#include "referee/rules.h"

struct nm_match_options {
    enum nm_game_league league;
    uint8_t version;         /* of the packets; 0: the league's                                  */
    uint8_t team_numbers[2]; /* 1 to 254, different                                              */
    uint8_t team_colours[2]; /* as in packets                                                    */
    uint32_t players;        /* of a team on the field; 0: the league's                          */
    uint32_t roster;         /* numbers of a team, those beyond `players` are substitutes; 0: players */
    uint32_t kick_off;       /* team 0 or 1                                                      */
    double half;             /* s; 0: the league's                                               */
    bool knock_out;          /* extra time and shoot-out follow a draw                           */
    bool no_delay;           /* packets tell whistle and goals at once                           */
};

enum nm_match_event_kind {
    NM_MATCH_STANDBY,    /* SPL: robots stand up                                            */
    NM_MATCH_READY,      /* robots walk to their positions                                  */
    NM_MATCH_SET,        /* ... and stand                                                   */
    NM_MATCH_PLAY,       /* the whistle                                                     */
    NM_MATCH_GOAL,       /* of `team`                                                       */
    NM_MATCH_KICK,       /* `team` gets the set play `set_play`                             */
    NM_MATCH_PLACED,     /* the ball of a set play lies where it should                     */
    NM_MATCH_FREEZE,     /* HL: positions are taken                                         */
    NM_MATCH_EXECUTE,    /* HL: the kicking side may kick                                   */
    NM_MATCH_RETAKE,     /* HL: the set play is prepared once more                          */
    NM_MATCH_FREE,       /* the ball was kicked: it is in play for everybody                */
    NM_MATCH_DROP,       /* dropped ball                                                    */
    NM_MATCH_STOP,       /* HSL: everybody freezes                                          */
    NM_MATCH_CONTINUE,   /* ... and moves again                                             */
    NM_MATCH_PENALTY,    /* `player` of `team` did `offence`                                */
    NM_MATCH_SEATED,     /* `player` stands where it waits: its clock starts                */
    NM_MATCH_RELEASE,    /* `player` may come back                                          */
    NM_MATCH_WARN,       /* HL: two warnings are a yellow card                              */
    NM_MATCH_SUBSTITUTE, /* `player` comes in for `other`                                   */
    NM_MATCH_KEEPER,     /* `player` is the goalkeeper from now on                          */
    NM_MATCH_TIMEOUT,    /* of `team`                                                       */
    NM_MATCH_REFEREE_TIMEOUT,
    NM_MATCH_RESUME,      /* the time-out is over                                           */
    NM_MATCH_FINISH,      /* the half, or the shot of a shoot-out                           */
    NM_MATCH_SECOND_HALF, /* sides change                                                   */
    NM_MATCH_EXTRA_TIME,
    NM_MATCH_SHOOTOUT,
    NM_MATCH_SHOT,    /* the next shot of the shoot-out                                     */
    NM_MATCH_MESSAGE, /* `team` sent `bytes` in a team message                              */
    NM_MATCH_EVENTS
};
extern const char *const nm_match_event_names[NM_MATCH_EVENTS];

struct nm_match_event {
    enum nm_match_event_kind kind;
    uint32_t team;          /* 0 or 1               */
    uint32_t player, other; /* numbers, from 1      */
    enum nm_game_set_play set_play;
    enum nm_offence offence;
    uint32_t bytes;
};

struct nm_match_player {
    bool penalised;
    enum nm_offence offence;
    bool waits;   /* its clock has not started                       */
    int64_t left; /* ns of the penalty                               */
    uint8_t warnings, yellow_cards, red_cards;
    uint32_t penalties; /* so far */
};

struct nm_match_team {
    uint32_t score;
    uint32_t counted;     /* penalties that make later ones longer       */
    uint32_t timeouts;    /* left                                        */
    int64_t messages;     /* left; negative: over the budget             */
    uint64_t sent;        /* messages so far                             */
    bool talked_too_much; /* over the budget, or too long: its goals do not count */
    uint32_t shots;
    uint16_t shots_in;
    uint32_t keeper; /* number */
    struct nm_match_player players[NM_GAME_PLAYERS];
};

/* What packets show, and may be held back. */
struct nm_match_face {
    enum nm_game_state state;
    enum nm_game_set_play set_play;
    int kicking;       /* team 0 or 1, -1: nobody or both                     */
    int64_t secondary; /* ns                                                  */
    int64_t half_left; /* ns, if the clock stood then; INT64_MAX: it ran on   */
    uint32_t scores[2];
};

struct nm_match {
    struct nm_match_options options;
    const struct nm_rules *rules;
    int64_t now; /* ns */
    enum nm_game_state state;
    enum nm_game_phase phase;
    bool first_half;
    bool stopped;
    enum nm_game_set_play set_play;
    enum nm_game_taking taking;
    int kicking;                     /* team 0 or 1 of kick-off or set play, -1: nobody or both  */
    int kick_off;                    /* team of the last kick-off, -1: dropped ball              */
    uint32_t first_kick_off;         /* of this half                                            */
    uint32_t left;                   /* team that defends the left side (-x)                     */
    int64_t half_left;               /* ns on the clock, may become negative                     */
    int64_t secondary;               /* ns, of what is counted down besides                      */
    bool played;                     /* this half has begun                                      */
    int64_t since;                   /* ns, when state or set play changed last                  */
    enum nm_game_phase timeout_from; /* the phase that it interrupts                    */
    bool over;                       /* the game, not only a half                                */
    int64_t held_until;              /* ns: packets show `held` until then                       */
    struct nm_match_face held;
    struct nm_match_team teams[2];
};

/* -1 with a sentence about the options. */
int nm_match_begin(struct nm_match *match, const struct nm_match_options *options, struct nm_err *err);
/* 0, or -1 with a sentence why this cannot happen now; then nothing changed. */
int nm_match_happen(struct nm_match *match, const struct nm_match_event *event, struct nm_err *err);
/* Time runs to `now`: clocks, and what follows from them. */
void nm_match_advance(struct nm_match *match, int64_t now);

/* The packet for robots, or undelayed for monitors. */
void nm_match_packet(const struct nm_match *match, bool truth, uint8_t number, struct nm_game_packet *packet);

/* Of the score, or of the shoot-out if there is one: 0, 1, or -1: nobody (yet). */
int nm_match_winner(const struct nm_match *match);
/* -1: the team's own goal is at -x, 1: at +x. */
static inline int nm_match_side(const struct nm_match *match, uint32_t team) { return team == match->left ? -1 : 1; }
/* "READY 0:45", for people who watch. */
void nm_match_words(const struct nm_match *match, char *to, size_t size);
extern const char *const nm_match_set_play_names[NM_GAME_SET_PLAYS];
