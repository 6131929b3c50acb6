/* nutmeg bench faults: something breaks in the middle of a match, and the match goes on. One row for each fault: a flat
 * match of two minutes in which it happens to the second robot of the red team (or to the game controller), what came
 * of it, and how old the news were that robots acted on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "bench.h"
#include "cmd/match.h"
#include "cmd/pool.h"
#include "cmd/stopping.h"
#include "codec/team_compact.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/Datagram.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/TeamState.h"

enum { VICTIM = 1, FIRST_SEED = 20001 }; /* red2 */
enum kind { NOTHING, KILLED, NETWORK, RESTARTED, SILENT, HOSTILE, BLIND, CLOCK, LIAR, KINDS };
static const double BEGINS = 25;  /* s, in play                               */
static const double OWN_MOST = 3; /* s: older news of the own sensors do not count */
static const double LEAP = 3600;  /* s, by which a clock jumps                */

static const struct {
    const char *name;
    double seconds; /* that it lasts */
} faults[KINDS] = {[NOTHING] = {"nothing happens", 0},
                   [KILLED] = {"a robot's program is killed", INFINITY},
                   [NETWORK] = {"a robot has no network for 20 s", 20},
                   [RESTARTED] = {"the game controller is started again", 5},
                   [SILENT] = {"the game controller is silent for 30 s", 30},
                   [HOSTILE] = {"a second game controller ends the match", INFINITY},
                   [BLIND] = {"a robot is blind for 30 s", 30},
                   [CLOCK] = {"a robot's clock jumps by an hour, and back after 30 s", 30},
                   [LIAR] = {"a mate lies about the ball for 30 s", 30}};

enum { PORT_BALL, PORT_TEAM_BALL, PORT_TEAM, PORT_MATCH, PORT_LIE, PORT_SPOKEN, PORT_SENT, PORTS };

struct result {
    struct match_result match;
    double own_age, mate_age; /* s, the oldest news that counted; of a mate beyond what is allowed to it: as a share */
    double deaf;              /* s in PLAYING in which a robot with a network did not act as in PLAYING */
    double victim_path;       /* m that it walked while the fault lasted */
};

struct trial {
    struct match match;
    enum kind kind;
    struct nm_edge *edges[NM_PLAYERS];
    struct nm_radio *forger[2];
    struct result *r;
    struct pose2 victim_at;
    bool began, over;
};

/* This bench hands on what the robots of the victim's team say. */
static bool relays(const struct trial *t, uint32_t robot)
{
    return t->kind == CLOCK && t->match.scenario->robots[robot].team == 0;
}

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct trial *t = user;
    const struct nm_edge_port ports[PORTS] = {
        [PORT_BALL] = {"ball", NM_PORT_IN, &BallModel_type, 0, 0},
        [PORT_TEAM_BALL] = {"team_ball", NM_PORT_IN, &TeamBall_type, 0, 0},
        [PORT_TEAM] = {"team_state", NM_PORT_IN, &TeamState_type, 0, 0},
        [PORT_MATCH] = {"match_state", NM_PORT_IN, &MatchState_type, 0, 0},
        [PORT_LIE] = {"ball_told", NM_PORT_OUT | NM_EDGE_OPTIONAL, &BallModel_type, 0, 0},
        [PORT_SPOKEN] = {"team/spoken", NM_PORT_QUEUE | NM_EDGE_OPTIONAL, &Datagram_type, 8, 0},
        [PORT_SENT] = {"team/sent", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &Datagram_type, 8, 0},
    };
    if (match_ready(&t->match, robot, player, err)) return -1;
    t->edges[robot] = nm_edge_new(player, "bench", ports, relays(t, robot) ? PORTS : PORT_SPOKEN, err);
    return t->edges[robot] ? 0 : -1;
}

/* ---- the faults ---- */

/* Valid packets for both teams from a stranger's address, ten times a second: the match is over, all are sent off. */
static int forge(struct trial *t, int64_t now, struct nm_err *err)
{
    struct nm_game_packet packet;
    uint8_t bytes[1472];
    if (now % 96000000) return 0;
    nm_match_packet(nm_judge_match(t->match.judge), false, (uint8_t)(now / 96000000), &packet);
    packet.state = NM_GAME_FINISHED;
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < NM_GAME_PLAYERS; p++) packet.teams[i].players[p].penalty = NM_GAME_SENT_OFF;
    size_t n = nm_game_encode(&packet, bytes, sizeof bytes);
    for (int i = 0; i < 2; i++) {
        if (!t->forger[i]) t->forger[i] = nm_air_radio(t->match.air[i], (struct nm_air_place){0x0a000042, 3838}, err);
        if (!t->forger[i]) return -1;
        nm_radio_send(t->forger[i], (struct nm_air_place){NM_AIR_ALL, NM_GAME_PORT}, bytes, n, NULL);
    }
    return 0;
}

static void begin_fault(struct trial *t, struct nm_stage *stage)
{
    int64_t lasts = isfinite(faults[t->kind].seconds) ? nm_ns(faults[t->kind].seconds) : INT64_MAX / 2;
    if (t->kind == KILLED) nm_stage_fault(stage, VICTIM, NM_FAULT_STALL, 0, lasts);
    if (t->kind == BLIND) nm_stage_fault(stage, VICTIM, NM_FAULT_EYES_BLIND, 0, lasts);
    t->match.cut[VICTIM] = t->kind == KILLED || t->kind == NETWORK;
    t->match.silent = t->kind == SILENT || t->kind == RESTARTED;
    for (int i = 0; t->kind == RESTARTED && i < 2; i++) { /* it knows the match, and nothing else */
        struct nm_controller_options options = t->match.controllers[i].options;
        nm_controller_init(&t->match.controllers[i], &options);
    }
    t->began = true;
}

/* What the robot says, with the time of a clock that is wrong by so much. */
static void say_with_clock(struct trial *t, uint32_t robot, double leap)
{
    const void *const *at;
    uint32_t n = nm_edge_queue(t->edges[robot], PORT_SPOKEN, &at, NULL);
    for (uint32_t i = 0; i < n; i++) {
        const Datagram *spoken = at[i];
        struct nm_team_news news;
        Datagram *out = nm_edge_push(t->edges[robot], PORT_SENT);
        if (!out) return;
        nm_copy(&Datagram_type, out, spoken);
        if (!(leap > 0) || !nm_compact_decode(spoken->data.at, spoken->data.n, &news)) continue;
        news.stamp += nm_ns(leap);
        out->data.n = (uint32_t)nm_compact_encode(&news, out->data.at, spoken->data.n);
    }
}

/* ---- what robots act on ---- */

/* The ball that behaviour acts on (modules/behavior/known.h): its own sight, else what the team says. */
static void look_at_ball(struct trial *t, const BallModel *own, const TeamBall *team, double mate_most)
{
    double age = nm_seconds(nm_stamp_ns(own->header.stamp) - nm_stamp_ns(own->last_seen));
    const BallModel *ball = &team->ball;
    if (own->valid && age < OWN_MOST) {
        t->r->own_age = fmax(t->r->own_age, age);
        return;
    }
    if (!ball->valid || team->source == TeamBall_SOURCE_NONE || team->source == TeamBall_SOURCE_RULE) return;
    age = nm_seconds(nm_stamp_ns(team->header.stamp) - nm_stamp_ns(ball->last_seen));
    if (team->source == TeamBall_SOURCE_SELF)
        t->r->own_age = fmax(t->r->own_age, age);
    else
        t->r->mate_age = fmax(t->r->mate_age, age / mate_most);
}

static void look_at(struct trial *t, uint32_t i, int64_t now, bool lasts)
{
    nm_edge_begin(t->edges[i], now);
    const BallModel *ball = nm_edge_in(t->edges[i], PORT_BALL);
    const TeamState *team = nm_edge_in(t->edges[i], PORT_TEAM);
    const MatchState *match = nm_edge_in(t->edges[i], PORT_MATCH);
    bool dead = t->kind == KILLED && i == VICTIM && t->began; /* its last messages stay where they were */
    double most = isfinite(team->interval) ? fmax(OWN_MOST, 2 * (double)team->interval) : OWN_MOST;
    if (!dead) look_at_ball(t, ball, nm_edge_in(t->edges[i], PORT_TEAM_BALL), most);
    for (uint32_t k = 0; !dead && k < team->mates.n; k++) {
        const TeamMate *mate = &team->mates.at[k];
        double age = nm_seconds(nm_stamp_ns(team->header.stamp) - nm_stamp_ns(mate->heard));
        if (mate->alive) t->r->mate_age = fmax(t->r->mate_age, age / most);
    }
    bool should = nm_judge_match(t->match.judge)->state == NM_GAME_PLAYING && !dead;
    if (should && match->state != MatchState_PLAYING) t->r->deaf += 0.1 / t->match.book.n;
    BallModel *told = nm_edge_out(t->edges[i], PORT_LIE);
    if (told) {
        nm_copy(&BallModel_type, told, ball);
        if (lasts && i == VICTIM) { /* far behind it, and always just seen */
            told->valid = true;
            told->confidence = 1;
            told->position = (Point){-2, 1.5, 0};
            told->velocity = (Vector3){0};
            told->last_seen = nm_stamp(now);
        }
        nm_edge_put(t->edges[i], PORT_LIE);
    }
    if (relays(t, i)) say_with_clock(t, i, lasts && i == VICTIM ? LEAP : 0);
    nm_edge_end(t->edges[i]);
}

static int look(struct trial *t, struct nm_stage *stage, struct nm_err *err)
{
    int64_t now = nm_stage_now(stage);
    bool due = t->kind && now >= nm_ns(BEGINS), lasts = due && nm_seconds(now) < BEGINS + faults[t->kind].seconds;
    if (due && !t->began) begin_fault(t, stage);
    if (t->began && !lasts && !t->over) {
        t->match.cut[VICTIM] = t->match.silent = false;
        t->over = true;
    }
    if (t->kind == HOSTILE && lasts && t->match.judge && forge(t, now, err)) return -1;
    int over = match_look(&t->match, stage, err);
    if (over < 0 || now % 100000000) return over;
    for (uint32_t i = 0; i < t->match.book.n; i++) look_at(t, i, now, lasts);
    struct nm_whereabouts at;
    nm_stage_whereabouts(stage, VICTIM, &at);
    struct pose2 pose = {at.base_to_field.pos.x, at.base_to_field.pos.y, 0};
    double moved = hypot(pose.x - t->victim_at.x, pose.y - t->victim_at.y);
    if (lasts && moved < 0.5) t->r->victim_path += moved; /* farther: it was carried */
    t->victim_at = pose;
    return over;
}

/* ---- one match ---- */

struct series {
    struct setup setup;
    struct nm_bench *bench;
    uint64_t seed;
    double half;
    char lineups[KINDS][64]; /* of the team of the robot to which it happens; empty: the usual one */
    struct result results[KINDS];
    char died[KINDS][120];
};

static void work(void *user, uint32_t kind, void *result)
{
    struct series *s = user;
    static struct trial t;
    struct nm_err err = {0};
    struct match_options o = {.league = "hsl",
                              .fidelity = "flat",
                              .teams = {*s->lineups[kind] ? s->lineups[kind] : NULL, NULL},
                              .half = s->half,
                              .seed = s->seed,
                              .air = {MATCH_AIR, MATCH_AIR}};
    t = (struct trial){.kind = (enum kind)kind, .r = result};
    if (!match_begin(&t.match, &s->setup, &o, &err)) {
        struct nm_run_options run_options = {
            .seed = s->seed, .workers = 1, .registry = &s->setup.registry, .ready = ready, .user = &t};
        struct nm_run *run = nm_run_new(t.match.scenario, &run_options, &err);
        int over = run ? 0 : -1;
        while (!over && nm_run_step(run) > 0) over = look(&t, nm_run_stage(run), &err);
        if (t.match.judge) match_sum_up(&t.match, &t.r->match);
        match_close(&t.match);
        nm_run_free(run);
        match_end(&t.match);
    }
    if (err.n) t.r->match.done = false, snprintf(t.r->match.died, sizeof t.r->match.died, "%.150s", err.text);
}

static void done(void *user, uint32_t kind, const void *result, const char *died)
{
    struct series *s = user;
    if (result) s->results[kind] = *(const struct result *)result;
    snprintf(s->died[kind], sizeof s->died[kind], "%.119s",
             died                          ? died
             : s->results[kind].match.done ? ""
                                           : s->results[kind].match.died);
}

static void tell(struct nm_bench *bench, const struct series *s, enum kind kind)
{
    const struct result *r = &s->results[kind];
    char name[160];
    if (*s->died[kind]) nm_bench_say(bench, "%s: %s", faults[kind].name, s->died[kind]);
    snprintf(name, sizeof name, "%s: played to the end, %u:%u", faults[kind].name, r->match.score[0],
             r->match.score[1]);
    nm_bench_report(bench, name, r->match.done, "", NAN, ">= 1", r->match.done);
    nm_bench_report(bench, "  oldest own sight of a ball that counted", r->own_age, "s", NAN, "<= 3 s",
                    r->own_age <= OWN_MOST);
    nm_bench_report(bench, "  oldest word of a mate, of what is allowed", 100 * r->mate_age, "%", NAN, "<= 100 %",
                    r->mate_age <= 1);
    nm_bench_report(bench, "  not playing though the match was on, a robot", r->deaf, "s", NAN, "", true);
    if (kind) nm_bench_report(bench, "  the robot walked meanwhile", r->victim_path, "m", NAN, "", true);
    nm_bench_report(bench, "  teams over the message budget", r->match.over_budget[0] + r->match.over_budget[1], "",
                    NAN, "<= 0", !r->match.over_budget[0] && !r->match.over_budget[1]);
}

/* The flat line-up in which one module has another topic, where this bench stands between. */
static void write_lineup(struct series *s, enum kind kind, const char *module, const char *topic, struct nm_err *err)
{
    char *path = s->lineups[kind];
    snprintf(path, sizeof s->lineups[kind], "/tmp/nutmeg-fault-%d-%d.yaml", (int)kind, (int)getpid());
    FILE *file = fopen(path, "w");
    if (file)
        fprintf(file,
                "extends: %s/lineups/match_flat.yaml\ncycles:\n  brain:\n    modules:\n      - {%s}\nremote: [%s]\n",
                s->setup.root, module, topic);
    if (!file || fclose(file)) nm_fail(err, "cannot write %s", path);
}

void bench_faults(struct nm_bench *bench)
{
    struct series *s = nm_calloc(1, sizeof *s);
    struct nm_err err = {0};
    const struct nm_bench_options *o = nm_bench_options(bench);
    s->bench = bench;
    s->seed = o->first_seed ? o->first_seed : FIRST_SEED;
    s->half = o->quick ? 30 : 60;
    setup_begin(&s->setup);
    write_lineup(s, LIAR, "module: team_report, topics: {ball: ball_told}", "ball_told", &err);
    write_lineup(s, CLOCK, "module: team_radio, topics: {team/sent: team/spoken}", "team/sent", &err);
    const struct pool pool = {.n = KINDS,
                              .jobs = o->jobs ? o->jobs : 2,
                              .size = sizeof(struct result),
                              .work = work,
                              .done = done,
                              .quit = stopping,
                              .user = s};
    if (err.n || pool_run(&pool, &err))
        nm_bench_fail(bench, &err);
    else
        for (enum kind k = 0; k < KINDS && !stopping(); k++) tell(bench, s, k);
    for (enum kind k = 0; k < KINDS; k++)
        if (*s->lineups[k]) remove(s->lineups[k]);
    setup_end(&s->setup);
    free(s);
}
