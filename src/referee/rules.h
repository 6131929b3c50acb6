/* The rule books of three leagues as tables: how long things last, what is penalised and how, how play is restarted,
 * and who may stand where. Humanoid League (HL), laws of 2025; Standard Platform League (SPL), rules of 2025; Humanoid
 * Soccer League (HSL), rules of 2026. Pure functions. Places are in metres with the origin in the centre of the field;
 * `side` is -1 for a team whose own goal is at -x, and 1 for one whose own goal is at +x. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"
#include "base/pitch.h"
#include "codec/gamecontroller.h"

/* ---- durations and numbers ---- */

struct nm_rules {
    const char *name; /* hl, spl, hsl                                                                    */
    uint8_t version;  /* of the control packets                                                         */
    uint32_t players; /* of a team                                                                      */
    /* seconds */
    double half, half_break, extra_half; /* extra_half 0: there is no extra time                            */
    double ready;                        /* at most, before a kick-off                                      */
    double ready_penalty_kick;           /* at most, before a penalty kick; 0: it has no READY              */
    double set;                          /* from SET to the whistle, where nobody waits for anything        */
    double kick_off_free;                /* until both sides may touch the ball after a kick-off            */
    double placing;                      /* of a set play: while the ball is placed                         */
    double preparing;                    /* HL: then opponents leave the circle                             */
    double taking, taking_penalty_kick;  /* the kicking side has so long                                    */
    double shot;                         /* of a shoot-out                                                  */
    double timeout, referee_timeout;     /* of a team, of the referee                                       */
    double signal_delay;                 /* the packets say PLAYING so long after the whistle               */
    double goal_delay;                   /* and so long after a goal that it was one                        */
    double removal, longer;              /* of a penalty; added for each counted one of the team before     */
    /* numbers */
    uint32_t shots, sudden_death;           /* of a shoot-out, each team; afterwards at most so many more      */
    uint32_t timeouts;                      /* of a team ...                                                   */
    bool timeouts_each_half;                /* ... in each half, or in the whole game                          */
    uint32_t mercy;                         /* goals ahead that end the game; 0: none                          */
    uint32_t messages, messages_extra_time; /* budget of a team; 0: not limited                                */
    uint32_t message_bytes;
    /* habits */
    bool halts_clock;     /* during set plays                                                               */
    bool stops_play;      /* everybody freezes while the ball is placed                                     */
    bool auto_release;    /* a penalty ends by itself                                                       */
    bool clock_waits;     /* a penalty's clock starts when the robot stands at its place                    */
    bool own_touch_twice; /* a goal needs touches of two mates after any restart                            */
    /* stuck play: seconds without ... */
    double stuck_global;  /* ... anybody near the ball, or motion of it: dropped ball                        */
    double stuck_near;    /* m, somebody is near; 0: only motion of the ball counts                          */
    double distance;      /* m, of opponents from a set play; 0: the radius of the centre circle             */
    double clearance;     /* m, HL: nothing stands so close to the ball when it is placed                    */
    double slot_distance; /* m, between two places of penalised robots                                       */
    double slot_outside;  /* m, of these places from the touchline                                           */
};

extern const struct nm_rules nm_rules[NM_GAME_LEAGUES];

/* ---- restarts ---- */

enum nm_exit { /* how the ball left, or why play was stopped */
               NM_EXIT_TOUCHLINE,
               NM_EXIT_GOAL_LINE_BY_ATTACKER,
               NM_EXIT_GOAL_LINE_BY_DEFENDER,
               NM_EXIT_FOUL,
               NM_EXIT_FOUL_IN_OWN_PENALTY_AREA,
               NM_EXITS
};

enum nm_restart_place {
    NM_AT_EXIT,             /* on the touchline where the ball left                         */
    NM_AT_HALFWAY,          /* on the touchline at the halfway line, on the side of the exit */
    NM_AT_GOAL_AREA_CORNER, /* inside the field, on the side of the exit                    */
    NM_AT_CORNER,
    NM_AT_FOUL, /* where it happened */
    NM_AT_PENALTY_MARK,
};

struct nm_restart_row {
    enum nm_game_set_play set_play;
    enum nm_restart_place place;
    bool direct; /* a goal may be scored directly */
};
extern const struct nm_restart_row nm_restart_rows[NM_GAME_LEAGUES][NM_EXITS];

/* Where the ball is put. `guilty_side`: of the team that touched the ball last or made the foul. */
struct vec3 nm_restart_at(const struct nm_pitch_size *field, enum nm_restart_place place, struct vec3 exit,
                          int guilty_side);

/* The whole ball is over a line. False: it is inside. `last_side`: of the team that touched it last. */
bool nm_ball_out(const struct nm_pitch_size *field, double ball_radius, struct vec3 ball, int last_side,
                 enum nm_exit *how);

/* ---- penalties ---- */

enum nm_offence {
    NM_OFFENCE_PUSHING,
    NM_OFFENCE_HOLDING,
    NM_OFFENCE_HANDS,
    NM_OFFENCE_FALLEN,
    NM_OFFENCE_INACTIVE,
    NM_OFFENCE_LEAVING,
    NM_OFFENCE_POSITION_IN_SET,
    NM_OFFENCE_OWN_GOAL_AREA,
    NM_OFFENCE_ENCROACHING,
    NM_OFFENCE_MOTION_IN_SET,
    NM_OFFENCE_MOTION_IN_STOP, /* SPL: in standby */
    NM_OFFENCE_STUCK,
    NM_OFFENCE_PICK_UP,
    NM_OFFENCE_STANCE,
    NM_OFFENCE_YELLOW_CARD,
    NM_OFFENCE_RED_CARD,
    NM_OFFENCE_SUBSTITUTED,
    NM_OFFENCES
};

enum nm_consequence {
    NM_NO_OFFENCE,   /* the league does not know it                               */
    NM_REMOVED,      /* stands beside the field for a while                       */
    NM_HELD,         /* stands still where it is for a while                      */
    NM_MOVED_OUT,    /* stands beside the field until play begins                 */
    NM_TEAM_HELD,    /* the whole team waits for the packets to say READY         */
    NM_CAUTIONED,    /* a card, nothing else                                      */
    NM_OUT_FOR_GOOD, /* does not come back                                        */
};

struct nm_offence_row {
    enum nm_consequence consequence;
    enum nm_game_penalty penalty; /* as packets say it                                                         */
    bool counted;                 /* later penalties of the team take longer                                   */
    double seconds;               /* of its own; 0: rules.removal                                              */
    double limit, keeper_limit;   /* s, it is an offence after so long; of a keeper in its own penalty area     */
    double free_kick_within;      /* m from the ball: the other side gets a free kick; negative: the circle's radius */
    bool free_kick_instead;       /* ... and the robot stays                                                    */
};
extern const struct nm_offence_row nm_offence_rows[NM_GAME_LEAGUES][NM_OFFENCES];
struct nm_offence_name {
    const char *name; /* for people  */
    const char *word; /* in an order */
};
extern const struct nm_offence_name nm_offence_names[NM_OFFENCES];

/* s, of a penalty when the team has had `counted` counted ones before. */
double nm_penalty_seconds(enum nm_game_league league, enum nm_offence offence, uint32_t counted);

/* ---- places ---- */

/* m, the distance that opponents keep from a set play. */
double nm_rules_distance(const struct nm_rules *rules, const struct nm_pitch_size *field);
/* Whether a robot may stand there when a kick-off (or, `kicks` false on both sides, a dropped ball) is taken. `ahead`:
 * SPL and HSL let one robot of the kicking side be in the circle beyond the halfway line. */
bool nm_legal_at_kick_off(const struct nm_pitch_size *field, int side, bool kicks, bool ahead, struct vec3 at);
/* The same for a penalty kick at the goal of `goal_side`. */
bool nm_legal_at_penalty_kick(enum nm_game_league league, const struct nm_pitch_size *field, int goal_side, int side,
                              bool keeper, bool kicker, struct vec3 at);
/* Where the n-th penalised robot of a team waits: beside its own half, looking at the field. */
struct pose2 nm_penalty_place(enum nm_game_league league, const struct nm_pitch_size *field, int side, struct vec3 ball,
                              uint32_t n);
/* Where player `number` stands before a half: outside the touchlines of its own half, looking inwards. */
struct pose2 nm_start_place(const struct nm_pitch_size *field, int side, uint32_t number);

bool nm_in_own_penalty_area(const struct nm_pitch_size *field, int side, struct vec3 at);
bool nm_in_own_goal_area(const struct nm_pitch_size *field, int side, struct vec3 at);
