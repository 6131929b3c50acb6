/* nutmeg bench match, the rows of whole games: what teams do in them, against each other, against the beginners, and
 * with a bad network. Each game is a process; the same seeds are the same games. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cmd/match.h"
#include "cmd/pool.h"
#include "cmd/stopping.h"

enum { FIRST_SEED = 20001 };

struct series {
    const char *name, *league, *fidelity, *red, *blue; /* league NULL: hsl */
    uint32_t games, quick;                             /* of the whole bench, and of --quick */
    double half;                                       /* s                                  */
    bool bad_air;                                      /* of the red team                    */
    struct setup *setup;
    uint64_t first;
    uint32_t n, played;
    struct match_result *results;
    double wall; /* s */
    const char *died;
};

static void work(void *user, uint32_t index, void *result)
{
    struct series *s = user;
    struct match_options o = {.league = s->league ? s->league : "hsl",
                              .fidelity = s->fidelity,
                              .teams = {s->red, s->blue},
                              .half = s->half,
                              .seed = s->first + index,
                              .air = {MATCH_AIR, MATCH_AIR}};
    if (s->bad_air) {
        o.air[0].loss = 0.3;
        o.air[0].delay = 300000000;
    }
    match_play(s->setup, &o, 1, result);
}

static void done(void *user, uint32_t index, const void *result, const char *died)
{
    struct series *s = user;
    struct match_result *r = &s->results[index];
    if (result) *r = *(const struct match_result *)result;
    if (died) snprintf(r->died, sizeof r->died, "%s", died);
    s->played += r->done;
    if (!r->done && !s->died) s->died = r->died;
}

static void play(struct nm_bench *bench, struct series *s)
{
    const struct nm_bench_options *o = nm_bench_options(bench);
    struct nm_err err = {0};
    s->first = o->first_seed ? o->first_seed : FIRST_SEED;
    s->n = o->quick ? s->quick : s->games;
    if (o->first_seed && o->last_seed - o->first_seed + 1 < s->n) s->n = (uint32_t)(o->last_seed - o->first_seed + 1);
    if (o->quick) s->half = fmin(s->half, 30);
    if (!s->n) return;
    s->results = calloc(s->n, sizeof *s->results);
    if (!s->results) abort();
    const struct pool pool = {.n = s->n,
                              .jobs = o->jobs ? o->jobs : 2,
                              .size = sizeof *s->results,
                              .work = work,
                              .done = done,
                              .quit = stopping,
                              .user = s};
    if (pool_run(&pool, &err)) s->died = "no process could be made";
    if (s->died)
        nm_bench_say(bench, "%s: %u of %u games were not played to their end: %s", s->name, s->n - s->played, s->n,
                     s->died);
}

/* ---- rows ---- */

/* The lower end of the 95 % interval of a share, by Wilson (1927); draws are halves. */
static double wilson_low(double points, double n)
{
    const double z = 1.96;
    double p = points / n, middle = p + z * z / (2 * n), width = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return n > 0 ? (middle - width) / (1 + z * z / n) : NAN;
}

static void report(struct nm_bench *bench, const char *name, double value, const char *unit, bool least, double goal,
                   bool whole)
{
    char text[48];
    snprintf(text, sizeof text, "%s %g %s", least ? ">=" : "<=", goal, unit);
    bool ok = least ? value >= goal : value <= goal;
    nm_bench_report(bench, name, value, unit, NAN, whole ? text : "", !whole || ok);
}

/* The goals are those of 20 matches of 2 x 5 minutes in physics: of other numbers a share of them. */
static void tell_games(struct nm_bench *bench, const struct series *s, bool goals)
{
    double scored = 0, on_goal = 0, own = 0, duels = 0, pushing = 0, falls = 0, upright = 0, playing = 0, in_play = 0,
           cpu = 0, simulated = 0, play = 0, nobody = 0, crowd = 0, alone = 0, minutes = 2 * s->half / 60 * s->played;
    uint32_t over = 0;
    char name[120];
    for (uint32_t i = 0; i < s->n; i++) {
        const struct match_result *r = &s->results[i];
        if (!r->done) continue;
        for (int t = 0; t < 2; t++) {
            scored += r->score[t];
            on_goal += r->teams[t].on_goal;
            own += r->teams[t].own_goals;
            pushing += r->teams[t].pushing;
            falls += r->teams[t].falls;
            alone += r->teams[t].alone;
            upright += r->teams[t].upright;
            play += r->play[t].play;
            nobody += r->play[t].nobody;
            crowd += r->play[t].crowd;
            over += r->over_budget[t];
        }
        duels += r->duels;
        playing += r->playing;
        in_play += r->in_play;
        cpu += r->cpu;
        simulated += r->simulated;
    }
    bool whole = goals && s->played == s->n && s->n && !nm_bench_quick(bench);
    double matches = minutes / 10, share = matches / 20;
    snprintf(name, sizeof name, "%s, %u matches of 2 x %g min: goals", s->name, s->played, s->half / 60);
    report(bench, name, scored, "", true, 60 * share, whole);
    report(bench, "  shots on goal", on_goal, "", true, 180 * share, whole);
    report(bench, "  ball in play", playing > 0 ? 100 * in_play / playing : NAN, "%", true, 60, whole);
    report(bench, "  own goals", own, "", false, ceil(3 * share), whole);
    report(bench, "  two opponents at a resting ball for 5 s, a match", matches > 0 ? duels / matches : NAN, "", false,
           3, whole);
    report(bench, "  pushing penalties, a match", matches > 0 ? pushing / matches : NAN, "", false, 2, whole);
    report(bench, "  falls of a robot in 10 min, without dives", upright > 0 ? falls * 600 / upright : NAN, "", false,
           2, whole);
    report(bench, "  of these, nobody had touched it", upright > 0 ? alone * 600 / upright : NAN, "", false, 0.2,
           whole);
    report(bench, "  nobody of a team on the way to the ball", 100 * nobody / play, "%", false, 3, whole);
    report(bench, "  two of a team at the ball", 100 * crowd / play, "%", false, 3, whole);
    report(bench, "  teams over the message budget", over, "", false, 0, goals);
    report(bench, "  simulated seconds in a second of CPU", cpu > 0 ? simulated / cpu : NAN, "x", true,
           strcmp(s->fidelity, "flat") ? 2 : 25, whole || !strcmp(s->fidelity, "flat"));
}

static void tell_points(struct nm_bench *bench, const struct series *s, bool bound, double goal, const char *unit)
{
    double points = 0, made = 0, got = 0;
    char name[120];
    for (uint32_t i = 0; i < s->n; i++) {
        const struct match_result *r = &s->results[i];
        if (!r->done) continue;
        points += r->score[0] > r->score[1] ? 1 : r->score[0] == r->score[1] ? 0.5 : 0;
        made += r->score[0];
        got += r->score[1];
    }
    bool whole = s->played == s->n && !nm_bench_quick(bench);
    double value = bound ? wilson_low(points, s->played) : *unit ? points / s->played : points;
    snprintf(name, sizeof name, "%s, %u games of 2 x %g min, %g:%g goals, %s", s->name, s->played, s->half / 60, made,
             got,
             bound   ? "share of points, 95 % lower bound"
             : *unit ? "share of points"
                     : "points");
    report(bench, name, value, "", true, goal, whole);
}

/* By the referee's own count; in the Humanoid League messages are free. */
static void tell_messages(struct nm_bench *bench, const struct series *s)
{
    uint32_t over = 0;
    uint64_t most = 0;
    char name[120];
    for (uint32_t i = 0; i < s->n; i++)
        for (int t = 0; t < 2; t++) {
            over += s->results[i].over_budget[t];
            if (s->results[i].messages[t] > most) most = s->results[i].messages[t];
        }
    snprintf(name, sizeof name, "%s, %u games of 2 x %g min: most messages of a team", s->name, s->played,
             s->half / 60);
    nm_bench_report(bench, name, (double)most, "", NAN, "", true);
    report(bench, "  teams over the message budget", over, "", false, 0, s->played == s->n);
}

void bench_match(struct nm_bench *bench)
{
    struct setup setup;
    struct series flat = {.name = "flat", .fidelity = "flat", .games = 20, .quick = 2, .half = 300};
    struct series physics = {.name = "physics", .fidelity = "percept", .games = 20, .quick = 1, .half = 300};
    struct series beginners = {.name = "flat, against the beginners",
                               .fidelity = "flat",
                               .blue = "beginner",
                               .games = 100,
                               .quick = 4,
                               .half = 300};
    struct series beginners_physics = {
        .name = "physics, against the beginners", .fidelity = "percept", .blue = "beginner", .games = 20, .half = 300};
    struct series lossy = {.name = "flat, 30 % loss and 300 ms delay",
                           .fidelity = "flat",
                           .games = 200,
                           .quick = 2,
                           .half = 300,
                           .bad_air = true};
    struct series talk[] = {{.name = "flat, HL", .league = "hl", .fidelity = "flat", .games = 20, .half = 600},
                            {.name = "flat, SPL", .league = "spl", .fidelity = "flat", .games = 20, .half = 600},
                            {.name = "flat, HSL", .league = "hsl", .fidelity = "flat", .games = 20, .half = 600}};
    struct series *all[] = {&flat, &physics, &beginners, &beginners_physics, &lossy, &talk[0], &talk[1], &talk[2]};
    setup_begin(&setup);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        all[i]->setup = &setup;
        play(bench, all[i]);
        if (stopping()) break;
        if (all[i]->league) {
            if (all[i]->n) tell_messages(bench, all[i]);
        } else if (all[i] == &flat || all[i] == &physics)
            tell_games(bench, all[i], all[i] == &physics);
        else if (all[i]->n)
            tell_points(bench, all[i], all[i] == &beginners,
                        all[i] == &beginners ? 0.90
                        : all[i] == &lossy   ? 0.42
                                             : 17,
                        all[i] == &lossy ? "share" : "");
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->results);
    setup_end(&setup);
}
