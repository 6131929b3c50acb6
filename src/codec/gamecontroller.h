/* Packets of the game controllers: Humanoid League version 12, SPL versions 15 to 18, Humanoid Soccer League (HSL)
 * versions 19 and 20. One struct holds what all of them say; its numbers are those of HSL version 20 where the dialects
 * differ. The version decides how a packet is written, and length and version decide how it is read. Pure functions
 * without I/O.
 *
 *     game controller -> robots, broadcast, port 3838: control packet, twice a second
 *     robot -> game controller, port 3939:             return packet, once or twice a second
 *     monitor -> game controller, port 3636:           request; answered by control packets that are not delayed
 *
 * Sources: RoboCupGameControlData.h of the three leagues' game controllers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/export.h"

enum {
    NM_GAME_PORT = 3838,         /* control packets                         */
    NM_GAME_RETURN_PORT = 3939,  /* return packets                          */
    NM_GAME_MONITOR_PORT = 3636, /* requests of monitors                    */
    NM_GAME_FORWARD_PORT = 3940, /* return packets, forwarded to monitors   */
    NM_GAME_TEAM_PORT = 10000,   /* team messages: this and the team number */
    NM_GAME_STATUS_PORT = 12000, /* status packets of our robots, likewise  */
};

enum { NM_GAME_PLAYERS = 20, NM_GAME_LONGEST = 688, NM_GAME_NOBODY = 255 };

enum nm_game_league { NM_GAME_HL, NM_GAME_SPL, NM_GAME_HSL, NM_GAME_LEAGUES };

enum nm_game_state {
    NM_GAME_INITIAL,
    NM_GAME_READY,
    NM_GAME_SET,
    NM_GAME_PLAYING,
    NM_GAME_FINISHED,
    NM_GAME_STANDBY, /* SPL from version 17 on */
};

enum nm_game_phase { NM_GAME_NORMAL, NM_GAME_SHOOTOUT, NM_GAME_EXTRA_TIME, NM_GAME_TIMEOUT };

enum nm_game_set_play {
    NM_GAME_NO_SET_PLAY,
    NM_GAME_DIRECT_FREE_KICK, /* pushing free kick in the SPL */
    NM_GAME_INDIRECT_FREE_KICK,
    NM_GAME_PENALTY_KICK,
    NM_GAME_THROW_IN, /* kick-in in the SPL */
    NM_GAME_GOAL_KICK,
    NM_GAME_CORNER_KICK,
    NM_GAME_SET_PLAYS
};

enum nm_game_taking { /* progress of a set play, Humanoid League */
                      NM_GAME_NOT_TAKING,
                      NM_GAME_PLACING,   /* the referee places the ball   */
                      NM_GAME_PREPARING, /* opponents leave the circle    */
                      NM_GAME_FROZEN,    /* waiting for the call          */
};

enum nm_game_penalty {
    NM_GAME_NO_PENALTY,
    NM_GAME_ILLEGAL_POSITION,
    NM_GAME_MOTION_IN_SET,
    NM_GAME_MOTION_IN_STOP,
    NM_GAME_LOCAL_STUCK,
    NM_GAME_INCAPABLE, /* fallen or inactive in the SPL */
    NM_GAME_PICK_UP,
    NM_GAME_BALL_HOLDING, /* ball manipulation in the Humanoid League */
    NM_GAME_LEAVING_FIELD,
    NM_GAME_HANDS,
    NM_GAME_PUSHING,
    NM_GAME_CAUTIONED,
    NM_GAME_SENT_OFF,
    NM_GAME_SUBSTITUTE,
    NM_GAME_ILLEGAL_POSITION_IN_SET, /* SPL */
    NM_GAME_STANCE,                  /* SPL */
    NM_GAME_MOTION_IN_STANDBY,       /* SPL */
    NM_GAME_MANUAL,                  /* Humanoid League, SPL */
    NM_GAME_ILLEGAL_ATTACK,          /* Humanoid League until 2018 */
    NM_GAME_ILLEGAL_DEFENCE,         /* the same */
    NM_GAME_SERVICE,                 /* Humanoid League */
    NM_GAME_UNKNOWN_PENALTY,         /* a number that the dialect does not have */
    NM_GAME_PENALTIES
};

struct nm_game_player {
    uint8_t penalty;    /* enum nm_game_penalty                                          */
    uint8_t seconds;    /* until it may come back; 0 with a penalty: its clock waits     */
    uint8_t warnings;   /* Humanoid League, HSL version 19                               */
    uint8_t cautions;   /* yellow cards; Humanoid League, HSL                            */
    uint8_t red_cards;  /* Humanoid League                                               */
    uint8_t goalkeeper; /* Humanoid League: 1. When written, the team's number counts   */
};

struct nm_game_team {
    uint8_t number;
    uint8_t color;        /* 0 blue, 1 red, 2 yellow, 3 black, 4 white, 5 green, 6 orange, 7 purple, 8 brown, 9 gray */
    uint8_t keeper_color; /* SPL, HSL               */
    uint8_t goalkeeper;   /* player number, 0: none */
    uint8_t score;
    uint8_t shots;           /* of a shoot-out                                               */
    uint16_t shots_in;       /* bit n-1: shot n was a goal                                   */
    uint16_t message_budget; /* messages the team may still send; not in the Humanoid League */
    uint8_t coach_sequence;  /* Humanoid League                                              */
    char coach_message[253]; /* Humanoid League; zeros behind the text                       */
    /* player 1 is the first; the Humanoid League has 11 */
    struct nm_game_player players[NM_GAME_PLAYERS];
};

struct nm_game_packet {
    uint8_t version; /* 12, 15 to 18, 19, 20      */
    bool truth;      /* for monitors: not delayed */
    uint8_t number;  /* of the packet             */
    uint8_t players_per_team;
    uint8_t competition;       /* HL: game type; SPL: competition type; HSL: division                */
    uint8_t competition_phase; /* SPL: 0 round robin, 1 play-off                                     */
    uint8_t state;             /* enum nm_game_state                                                 */
    uint8_t phase;             /* enum nm_game_phase; normal during set plays of the Humanoid League */
    uint8_t set_play;          /* enum nm_game_set_play                                              */
    uint8_t taking;            /* enum nm_game_taking; Humanoid League                               */
    uint8_t stopped;           /* 1: play is stopped, everybody freezes; HSL                         */
    uint8_t first_half;        /* 1: first half, also of extra time                                  */
    uint8_t kicking_team;      /* number; of the set play or, without one, of the kick-off           */
    uint8_t kick_off_team;     /* of the last kick-off; in SPL and HSL the same as kicking_team      */
    uint16_t drop_in_seconds;  /* HL: since the last drop-in, 65535: none                            */
    int16_t seconds;           /* left in the half, may be negative                                  */
    int16_t secondary_seconds; /* of READY, kick-off, set play, break                                */
    /* the first team defends the left side as the operator sees it */
    struct nm_game_team teams[2];
};

enum nm_game_fault {
    NM_GAME_FINE,
    NM_GAME_NO_PACKET, /* it does not begin like a control packet          */
    NM_GAME_FOREIGN,   /* of a version that we do not know                 */
    NM_GAME_LENGTH,    /* not as long as packets of its version            */
    NM_GAME_VALUE,     /* a state, set play or the like that does not exist */
};

/* Reads a control packet. If it is foreign, only the member `version` is set. */
NM_EXPORT enum nm_game_fault nm_game_decode(const void *bytes, size_t n, struct nm_game_packet *packet);
/* Writes a control packet and returns its length; 0 if there is no such version or not enough room. What a dialect
 * cannot express is left out; a penalty that it does not have is written as 255, a set play as none. */
size_t nm_game_encode(const struct nm_game_packet *packet, void *bytes, size_t room);

NM_EXPORT enum nm_game_league nm_game_league(uint8_t version);

/* ---- return packets ---- */

enum nm_game_word { /* what a robot of the Humanoid League says */
                    NM_GAME_SAYS_PENALIZED,
                    NM_GAME_SAYS_UNPENALIZED,
                    NM_GAME_SAYS_ALIVE,
                    NM_GAME_SAYS_GOALKEEPER,
                    NM_GAME_SAYS_READY_TO_KICK,
                    NM_GAME_WORDS
};

struct nm_game_return {
    uint8_t version; /* 2: Humanoid League, 4: the others                          */
    uint8_t team, player;
    uint8_t word;         /* 2: enum nm_game_word                                     */
    bool fallen;          /* 4, as all below                                          */
    float x, y, theta;    /* m, rad; origin in the centre, x to the goal that it attacks */
    float ball_age;       /* s since the ball was seen, -1: never                     */
    float ball_x, ball_y; /* m, from the robot                                     */
};

enum { NM_GAME_RETURN_LONGEST = 32 };

NM_EXPORT uint8_t nm_game_return_version(uint8_t control_version);
/* Returns the length; 0 if the version is unknown or a number is not finite. */
NM_EXPORT size_t nm_game_return_encode(const struct nm_game_return *say, void *bytes, size_t room);
/* False: it is no return packet that a game controller accepts. */
bool nm_game_return_decode(const void *bytes, size_t n, struct nm_game_return *said);

/* ---- monitors ---- */

enum { NM_GAME_REQUEST = 5 };
void nm_game_request_encode(uint8_t bytes[NM_GAME_REQUEST]);
bool nm_game_request_decode(const void *bytes, size_t n);
