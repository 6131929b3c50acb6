/* A judged match on the flat field for tests: robots that nobody plays stand where they are put. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/nm.h"
#include "core/registry.h"
#include "sim/judge.h"

enum { PLAYERS = 4, ROBOTS = 2 * PLAYERS };

struct game {
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_stage *stage;
    struct nm_judge *judge;
    struct nm_note last[8]; /* of each kind */
    uint32_t n[8];          /* notes of each kind */
    uint32_t whistles;      /* that were heard by robots */
};

static inline void note(void *user, const struct nm_note *note)
{
    struct game *g = user;
    g->last[note->kind] = *note;
    g->n[note->kind]++;
}

static inline void heard(void *user, uint32_t robot, double confidence)
{
    struct game *g = user;
    assert_true(robot < ROBOTS && confidence > 0.4);
    g->whistles++;
}

static inline void begin_with(struct game *g, struct nm_judge_options options)
{
    static char names[ROBOTS][8];
    struct nm_err err = {0};
    struct nm_stage_robot rows[ROBOTS] = {0};
    memset(g, 0, sizeof *g);
    assert_int_equal(nm_pitch_read(&g->pitch, NM_ROOT "/fields/kid.yaml", &err), 0);
    struct nm_stage_options o = NM_STAGE_OPTIONS;
    o.root = NM_ROOT;
    o.registry = &g->registry;
    o.pitch = &g->pitch;
    o.fidelity = NM_FIDELITY_FLAT;
    o.world.seed = 3;
    for (uint32_t i = 0; i < ROBOTS; i++) {
        snprintf(names[i], sizeof names[i], "%s%u", i < PLAYERS ? "red" : "blue", i % PLAYERS + 1);
        rows[i] = (struct nm_stage_robot){.name = names[i],
                                          .folder = NM_ROOT "/robots/kid70",
                                          .team = i >= PLAYERS,
                                          .shirt = {.number = i % PLAYERS + 1},
                                          .start = {i, 0, 0}};
    }
    g->stage = nm_stage_new(rows, ROBOTS, &o, &err);
    if (!g->stage) fail_msg("%s", err.text);
    options.match.team_numbers[0] = 1;
    options.match.team_numbers[1] = 2;
    options.match.players = PLAYERS;
    options.note = note;
    options.whistle = heard;
    options.user = g;
    g->judge = nm_judge_new(g->stage, &options, &err);
    if (!g->judge) fail_msg("%s", err.text);
}

static inline void begin(struct game *g, enum nm_game_league league)
{
    struct nm_judge_options o = NM_JUDGE_OPTIONS;
    o.match.league = league;
    o.match.half = 600;
    begin_with(g, o);
}

static inline void end(struct game *g)
{
    nm_judge_free(g->judge);
    nm_stage_free(g->stage);
}

static inline const struct nm_match *match(const struct game *g) { return nm_judge_match(g->judge); }

static inline void step(struct game *g)
{
    assert_int_equal(nm_stage_step(g->stage), 0);
    nm_judge_step(g->judge);
}

static inline void run(struct game *g, double seconds)
{
    int64_t until = nm_stage_now(g->stage) + nm_ns(seconds);
    while (nm_stage_now(g->stage) < until) step(g);
}

static inline struct pose2 where(const struct game *g, uint32_t robot)
{
    struct nm_whereabouts w;
    nm_stage_whereabouts(g->stage, robot, &w);
    return (struct pose2){w.base_to_field.pos.x, w.base_to_field.pos.y, quat_yaw(w.base_to_field.rot)};
}

static inline void place(struct game *g, uint32_t robot, double x, double y)
{
    nm_stage_place(g->stage, robot, (struct pose2){x, y, 0}, NM_UPRIGHT);
}

static inline void ball(struct game *g, double x, double y, double vx, double vy)
{
    nm_stage_put_ball(g->stage, (struct vec3){x, y, 0.07}, (struct vec3){vx, vy, 0});
}

/* Runs on with robots that are busy: each turns a little now and then. */
static inline void run_lively(struct game *g, double seconds)
{
    for (double t = 0; t < seconds; t += 1) {
        for (uint32_t i = 0; i < ROBOTS; i++) {
            struct pose2 p = where(g, i);
            p.theta += (int)t % 2 ? 0.3 : -0.3;
            nm_stage_place(g->stage, i, p, NM_UPRIGHT);
        }
        run(g, fmin(1, seconds - t));
    }
}

/* The ball lies at the robot's foot for a moment. */
static inline void touch(struct game *g, uint32_t robot, double x, double y)
{
    place(g, robot, x - 0.185, y);
    ball(g, x, y, 0, 0);
    step(g);
    step(g);
    assert_int_equal(nm_judge_last_touch(g->judge), robot);
}

/* From the start to a ball that is in play. */
static inline void to_open_play(struct game *g)
{
    for (int i = 0; i < 10000 && match(g)->state != NM_GAME_PLAYING; i++) step(g);
    assert_int_equal(match(g)->state, NM_GAME_PLAYING);
    run_lively(g, 10.5);
    assert_int_equal(match(g)->kicking, -1);
}

static inline const struct nm_match_player *player(const struct game *g, uint32_t robot)
{
    return &match(g)->teams[robot / PLAYERS].players[robot % PLAYERS];
}
