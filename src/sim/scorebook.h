/* The statistics of a match, written down by somebody in the stands: from the truth and from the judge's notes, never
 * from what robots believe. Only the error of their poses needs what they say. */
#pragma once

#include "sim/judge.h"

enum { NM_BOOK_SHOTS = 256, NM_BOOK_FALLS = 256 };

struct nm_book_row {   /* of a robot, or the sum of a team */
    double possession; /* s: it touched the ball last while it was in play                          */
    uint32_t goals, own_goals;
    uint32_t shots, on_goal; /* kicks that would cross the goal line near the goal, between the posts */
    uint32_t kicks, passes;  /* that made the ball fast; that a mate got                              */
    uint32_t kicks_out, penalties, pushing;
    uint32_t falls, dives, alone; /* dives are no falls; alone: no other robot had touched it              */
    uint32_t contacts;            /* times that it and another robot touched                                */
    double path;                  /* m walked                                                                    */
    double upright;               /* s on the field, in play or not                                              */
    double error, error_max;      /* m, of its pose: sum, and the largest                                  */
    uint64_t poses;
};

struct nm_book_team {
    double play;          /* s in play, their own restarts included, those of the others not */
    double nobody, crowd; /* of these: nobody is on the way to the ball; two are strikers    */
    uint32_t places,
        illegal; /* robots on the field at the beginning of SET; those of them at a place that is not legal */
};

struct nm_book_shot {
    float x, y, to_x, to_y; /* m, from where to where it would cross the line */
    uint8_t team;
    bool goal;
};

/* The last contact of a robot with another one. */
struct nm_book_bump {
    int other;            /* -1: none                                                              */
    int64_t began, ended; /* ns                                                                    */
    float mine, theirs;   /* m/s, speed of each towards the other in the half second before it     */
    float far;            /* m between the middles of the two when it began */
    bool lay;             /* the other one had fallen before                                       */
};

struct nm_book_fall {
    int64_t time; /* ns */
    uint32_t robot;
    struct nm_book_bump bump; /* that came before it; other -1: nobody had touched it */
};

struct nm_scorebook {
    struct nm_stage *stage;
    const struct nm_judge *judge;
    uint32_t n;
    struct nm_book_row robots[NM_PLAYERS];
    double playing, in_play; /* s that the clock of the match ran; of these the ball was in play */
    uint32_t duels;          /* two opponents at a ball that does not move for 5 s               */
    struct nm_book_team teams[2];
    uint32_t n_shots;
    struct nm_book_shot shots[NM_BOOK_SHOTS];
    uint32_t n_falls;
    struct nm_book_fall falls[NM_BOOK_FALLS];
    /* what is looked at now */
    struct pose2 last[NM_PLAYERS];
    bool fallen[NM_PLAYERS];
    struct vec3 velocity[NM_PLAYERS]; /* m/s, smoothed                                    */
    struct nm_book_bump bumps[NM_PLAYERS];
    double comes[NM_PLAYERS], turns[NM_PLAYERS]; /* m/s, rad/s: towards the ball, smoothed           */
    bool in_set;                                 /* in the step before                          */
    int holder;                                  /* touched the ball last, -1: nobody           */
    struct vec3 held_at;                         /* where                                       */
    double speed;                                /* of the ball one step ago, m/s               */
    int kicker;                                  /* of a kick that is still looked at, -1: none */
    int64_t kicked;                              /* ns                                          */
    int shooter;                                 /* of the shot on goal that is on its way, otherwise -1 */
    int64_t neared;                              /* ns, when it came nearer to the goal last    */
    int64_t played[2];                           /* ns, when a team touched the ball last; 0: never */
    int64_t fast;                                /* ns, when the ball was fast last             */
    struct vec3 fast_at;                         /* where                                       */
    struct vec3 kicked_from;
    struct vec3 duel_at;
    int64_t duel_since; /* ns, -1: none */
    bool duel_told;
};

/* Stage and judge must outlive it. */
void nm_scorebook_new(struct nm_scorebook *book, struct nm_stage *stage, const struct nm_judge *judge);
void nm_scorebook_step(struct nm_scorebook *book); /* after nm_judge_step */
void nm_scorebook_note(struct nm_scorebook *book, const struct nm_note *note);
/* A robot believes to be there, in its team's coordinates. */
void nm_scorebook_pose(struct nm_scorebook *book, uint32_t robot, struct pose2 pose);
struct nm_book_row nm_scorebook_team(const struct nm_scorebook *book, uint32_t team);
