/* What the judge sees, shared by judge.c (the course of the game) and offences.c (who breaks which rule). */
#pragma once

#include "base/random.h"
#include "sim/judge.h"

struct watched { /* a robot */
    uint32_t team, number;
    struct pose2 pose;
    struct vec3 velocity, before; /* m/s, now and one step ago                             */
    bool fallen;
    struct pose2 anchor; /* it has not moved from here ...                        */
    double pan, tilt;    /* ... nor its head ...                                  */
    int64_t still;       /* ... since then, ns                                    */
    int64_t active;      /* ns, when body or head moved last                      */
    int64_t down;        /* ns, lies since; -1: stands                            */
    int64_t outside;     /* ns, beyond the carpet since; -1: on it                */
    int64_t holding;     /* ns, stands over the ball since; -1: does not          */
    double pushing;      /* s that it has walked into an opponent                 */
    int64_t pushed;      /* ns, when it did so last                               */
    int bumped_by;       /* opponent that ran into it last                        */
    int64_t bumped;      /* ns, when                                              */
    int64_t immune;      /* ns, until then nothing more is said about pushing     */
    int slot;            /* of the penalised, -1: none                            */
    struct pose2 seat;   /* of that slot                                          */
};

struct nm_judge {
    struct nm_judge_options options;
    struct nm_stage *stage;
    struct nm_match match;
    struct nm_pitch_size field;
    double ball_radius;
    struct nm_dice dice;
    int64_t now;
    uint32_t n;
    struct watched robots[NM_PLAYERS];
    struct vec3 ball, ball_velocity;
    uint32_t touching; /* robots at the ball, bits */
    /* the course of the game */
    enum nm_game_state state; /* as seen in the step before */
    enum nm_game_phase phase;
    bool first_half;
    int last_touch;         /* robot, -1: nobody since the ball was placed            */
    struct vec3 ball_place; /* where it was placed                                    */
    bool placed;            /* and has not been kicked yet                            */
    struct vec3 ball_anchor;
    int64_t ball_still; /* ns, it has not moved from there since                  */
    int64_t alone;      /* ns, nobody is near it since                            */
    int64_t out_since;  /* ns, of a clock that has run out; -1                     */
    struct {            /* since the last restart */
        bool open;      /* a goal counts by now                                    */
        bool kick_off, direct;
        int team;         /* that kicked, -1: both                                   */
        int kicker;       /* robot that touched first; -1: nobody yet                */
        uint32_t touched; /* robots, bits                                            */
        bool left_circle;
    } restart;
};

/* On the field and free to play. */
bool judge_plays(struct nm_judge *j, uint32_t robot);
/* Removes, holds or cautions, and gives the free kick that follows. */
void judge_penalise(struct nm_judge *j, uint32_t robot, enum nm_offence offence);

/* offences.c, one look each step */
void judge_look_in_ready(struct nm_judge *j, bool *all_stand);
void judge_look_in_set(struct nm_judge *j, bool begins);
void judge_look_in_play(struct nm_judge *j);
void judge_look_at_set_play(struct nm_judge *j, bool must_be_clear);

static inline double judge_for(const struct nm_judge *j, int64_t since) { return (double)(j->now - since) * 1e-9; }
static inline double judge_gap(struct pose2 p, struct vec3 at) { return vec2_norm(p.x - at.x, p.y - at.y); }
static inline struct vec3 judge_at(const struct watched *w) { return (struct vec3){w->pose.x, w->pose.y, 0}; }
