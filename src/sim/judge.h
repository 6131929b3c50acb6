/* The judge of a simulated match. After every step it looks at the truth of the stage, tells the state machine
 * (referee/match.h) what happened, and does what a referee and his helpers do: they place the ball, take robots out and
 * put them back, and whistle. What it cannot see in the truth it does not judge: hands on the ball, the width of a
 * stance, and what is worth a card. The packets of the game controller are made from its match (edge/air/controller.h).
 *
 *     struct nm_judge *judge = nm_judge_new(stage, &options, err);
 *     while (!nm_judge_match(judge)->over) {
 *         nm_stage_step(stage);
 *         nm_judge_step(judge);
 *     }
 *
 * Robots are taken by the team and the shirt number of the stage; the first team plays towards +x in the first half.
 * The same seed gives the same decisions. */
#pragma once

#include "referee/match.h"
#include "sim/stage.h"

enum nm_note_kind {
    NM_NOTE_STATE,    /* the state of the game changed             */
    NM_NOTE_GOAL,     /* by `robot` for `team`                     */
    NM_NOTE_NO_GOAL,  /* the same, but it does not count           */
    NM_NOTE_OUT,      /* `robot` touched the ball last             */
    NM_NOTE_SET_PLAY, /* for `team`                                */
    NM_NOTE_PENALTY,  /* of `robot`                                */
    NM_NOTE_RETURN,   /* `robot` may come back                     */
};

struct nm_note {
    enum nm_note_kind kind;
    int64_t time;    /* ns                      */
    int team, robot; /* -1: none; robot of the stage */
    enum nm_offence offence;
    char text[120]; /* for people */
};

struct nm_judge_options {
    struct nm_match_options match;
    uint64_t seed;
    double initial;        /* s before READY at the start of a half                         */
    double break_time;     /* s between two halves                                          */
    double whistle_range;  /* m, from the referee at the touchline                          */
    double whistle_missed; /* 0 to 1, share of the whistles that a robot in range does not hear */
    /* A whistle that `robot` heard; something happened. Each may be NULL. */
    void (*whistle)(void *user, uint32_t robot, double confidence);
    void (*note)(void *user, const struct nm_note *note);
    void *user;
};
#define NM_JUDGE_OPTIONS                                                                                               \
    ((struct nm_judge_options){.initial = 3, .break_time = 3, .whistle_range = 12, .whistle_missed = 0.05})

struct nm_judge;
/* The stage must outlive it. NULL with a sentence. */
struct nm_judge *nm_judge_new(struct nm_stage *stage, const struct nm_judge_options *options, struct nm_err *err);
void nm_judge_free(struct nm_judge *judge);
void nm_judge_step(struct nm_judge *judge);

const struct nm_match *nm_judge_match(const struct nm_judge *judge);
/* An order of somebody who watches: it counts as if the judge had seen it. -1 with a sentence why it cannot be now. */
int nm_judge_order(struct nm_judge *judge, const struct nm_match_event *order, struct nm_err *err);
/* A team message on the air: it counts against the budget. */
void nm_judge_message(struct nm_judge *judge, uint32_t team, uint32_t bytes);
/* Play runs and everybody may play the ball. */
bool nm_judge_in_play(const struct nm_judge *judge);
/* Robot that touched the ball last, -1: nobody since it was placed. */
int nm_judge_last_touch(const struct nm_judge *judge);
/* Places of a robot's team coordinates (its goal at -x) in the field, this half. */
struct pose2 nm_judge_team_to_field(const struct nm_judge *judge, uint32_t team);
