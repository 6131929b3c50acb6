/* nutmeg bench match, the rows of whole games: what teams do in them, against each other, against the beginners, with a
 * bad network and with partners of other teams. Each game is a process, and the games of all rows share the processes;
 * the same seeds are the same games. A row is told when its last game has ended. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "bench.h"
#include "cmd/match.h"
#include "cmd/pool.h"
#include "cmd/stopping.h"

enum { FIRST_SEED = 20001 };

struct series;
typedef void tell_row(struct nm_bench *bench, const struct series *s);
static tell_row tell_games, tell_bound, tell_share, tell_points, tell_messages, tell_partners;

struct series {
    const char *row, *name, *league, *fidelity, *red, *blue; /* row: its word for --only */
    uint32_t games, quick;                                   /* of the whole bench, and of --quick */
    double half;                                             /* s                                  */
    tell_row *tell;
    double goal;
    bool bad_air; /* of the red team */
    uint64_t first;
    uint32_t n, ended, played;
    struct match_result *results;
    char died[160];
};

/* One robot of ours (number 2) and one partner who speak mitecom with each other, and two who neither speak nor hear.
 */
#define PARTNERS "silent+mitecom+silent+mitecom"

/* Those that take longest first, so that no process waits for a long game at the end. */
#define PHYSICS    .league = "hsl", .fidelity = "percept", .half = 300
#define FLAT       .league = "hsl", .fidelity = "flat", .half = 300
#define TALK(word) .league = word, .fidelity = "flat", .half = 600, .games = 20, .tell = tell_messages
static const struct series all_series[] = {
    {"physics", "physics", PHYSICS, .games = 20, .quick = 1, .tell = tell_games},
    {"beginners_physics", "physics, against the beginners", PHYSICS, .blue = "beginner", .games = 20,
     .tell = tell_points, .goal = 17},
    {"drop_in_physics", "physics, drop-in", PHYSICS, .red = PARTNERS, .games = 8, .tell = tell_partners},
    {"messages_hl", "flat, HL", TALK("hl")},
    {"messages_spl", "flat, SPL", TALK("spl")},
    {"messages_hsl", "flat, HSL", TALK("hsl")},
    {"flat", "flat", FLAT, .games = 20, .quick = 2, .tell = tell_games},
    {"drop_in", "flat, drop-in", FLAT, .red = PARTNERS, .games = 20, .quick = 2, .tell = tell_partners},
    {"beginners", "flat, against the beginners", FLAT, .blue = "beginner", .games = 100, .quick = 4, .tell = tell_bound,
     .goal = 0.90},
    {"lossy", "flat, 30 % loss and 300 ms delay", FLAT, .games = 200, .quick = 2, .bad_air = true, .tell = tell_share,
     .goal = 0.42},
};
enum { SERIES = sizeof all_series / sizeof *all_series };

struct games {
    struct nm_bench *bench;
    struct setup setup;
    struct series series[SERIES];
};

/* The game of a piece of work. */
static struct series *series_of(struct games *g, uint32_t *index)
{
    struct series *s = g->series;
    for (; *index >= s->n; s++) *index -= s->n;
    return s;
}

static void work(void *user, uint32_t index, void *result)
{
    struct games *g = user;
    const struct series *s = series_of(g, &index);
    struct match_options o = {.league = s->league,
                              .fidelity = s->fidelity,
                              .teams = {s->red, s->blue},
                              .half = s->half,
                              .seed = s->first + index,
                              .air = {MATCH_AIR, MATCH_AIR}};
    if (s->bad_air) {
        o.air[0].loss = 0.3;
        o.air[0].delay = 300000000;
    }
    match_play(&g->setup, &o, 1, result);
}

static void tell(struct nm_bench *bench, const struct series *s)
{
    if (s->played < s->n)
        nm_bench_say(bench, "%s: %u of %u games were not played to their end: %s", s->name, s->n - s->played, s->n,
                     *s->died ? s->died : "interrupted");
    if (s->n) s->tell(bench, s);
}

static void done(void *user, uint32_t index, const void *result, const char *died)
{
    struct games *g = user;
    struct series *s = series_of(g, &index);
    struct match_result *r = &s->results[index];
    if (result) *r = *(const struct match_result *)result;
    if (died) snprintf(r->died, sizeof r->died, "%s", died);
    s->played += r->done;
    if (!r->done && !*s->died) snprintf(s->died, sizeof s->died, "%s", r->died);
    if (++s->ended == s->n) tell(g->bench, s);
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

/* All of its games were played, and none was cut short. */
static bool is_whole(const struct nm_bench *bench, const struct series *s)
{
    return s->played == s->n && !nm_bench_quick(bench);
}

/* The goals are those of 20 matches of 2 x 5 minutes in physics: of other numbers a share of them. */
static void tell_games(struct nm_bench *bench, const struct series *s)
{
    bool goals = strcmp(s->fidelity, "flat") != 0;
    double scored = 0, on_goal = 0, own = 0, duels = 0, pushing = 0, kicks = 0, shots = 0, falls = 0, upright = 0,
           playing = 0, in_play = 0, cpu = 0, simulated = 0, play = 0, nobody = 0, crowd = 0, alone = 0, contacts = 0,
           brain = 0, brain_p99 = 0, minutes = 2 * s->half / 60 * s->played;
    uint32_t over = 0;
    char name[120];
    for (uint32_t i = 0; i < s->n; i++) {
        const struct match_result *r = &s->results[i];
        if (!r->done) continue;
        for (int t = 0; t < 2; t++) {
            scored += r->score[t];
            kicks += r->teams[t].kicks;
            shots += r->teams[t].shots;
            on_goal += r->teams[t].on_goal;
            own += r->teams[t].own_goals;
            pushing += r->teams[t].pushing;
            falls += r->teams[t].falls;
            alone += r->teams[t].alone;
            contacts += r->teams[t].contacts;
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
        brain += r->brain / s->played;
        brain_p99 = fmax(brain_p99, r->brain_p99);
    }
    bool whole = goals && is_whole(bench, s);
    double matches = minutes / 10, share = matches / 20;
    snprintf(name, sizeof name, "%s, %u matches of 2 x %g min: goals", s->name, s->played, s->half / 60);
    report(bench, name, scored, "", true, 60 * share, whole);
    nm_bench_report(bench, "  kicks", kicks, "", NAN, "", true);
    nm_bench_report(bench, "  shots", shots, "", NAN, "", true);
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
    nm_bench_report(bench, "  contacts of a robot with others in 10 min", upright > 0 ? contacts * 600 / upright : NAN,
                    "", NAN, "", true);
    report(bench, "  nobody of a team on the way to the ball", 100 * nobody / play, "%", false, 3, whole);
    report(bench, "  two strikers of a team", 100 * crowd / play, "%", false, 3, whole);
    report(bench, "  teams over the message budget", over, "", false, 0, goals);
    report(bench, "  a run of the brain, 30 Hz, mean", 1e3 * brain, "ms", false, 0.1, whole);
    report(bench, "  99 % of a robot's runs take at most", 1e3 * brain_p99, "ms", false, 1, whole);
    report(bench, "  simulated seconds in a second of CPU", cpu > 0 ? simulated / cpu : NAN, "x", true,
           strcmp(s->fidelity, "flat") ? 2 : 25, whole || !strcmp(s->fidelity, "flat"));
}

/* The points of the red team, a draw is half of one; its goals and those it got stand in the row's name. */
static double points_of(const struct series *s, const char *what, char name[120])
{
    double points = 0, made = 0, got = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct match_result *r = &s->results[i];
        if (!r->done) continue;
        points += r->score[0] > r->score[1] ? 1 : r->score[0] == r->score[1] ? 0.5 : 0;
        made += r->score[0];
        got += r->score[1];
    }
    snprintf(name, 120, "%s, %u games of 2 x %g min, %g:%g goals, %s", s->name, s->played, s->half / 60, made, got,
             what);
    return points;
}

static void tell_points(struct nm_bench *bench, const struct series *s)
{
    char name[120];
    double points = points_of(s, "points", name);
    report(bench, name, points, "", true, s->goal * s->n / s->games, is_whole(bench, s));
}

static void tell_share(struct nm_bench *bench, const struct series *s)
{
    char name[120];
    double points = points_of(s, "share of points", name);
    report(bench, name, points / s->played, "", true, s->goal, is_whole(bench, s));
}

static void tell_bound(struct nm_bench *bench, const struct series *s)
{
    char name[120];
    double points = points_of(s, "share of points, 95 % lower bound", name);
    report(bench, name, wilson_low(points, s->played), "", true, s->goal, is_whole(bench, s));
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

/* Of the mixed team, by truth: its places when the whistle is awaited, and how often two of it are at the ball. */
static void tell_partners(struct nm_bench *bench, const struct series *s)
{
    double places = 0, illegal = 0, play = 0, crowd = 0;
    char name[120];
    for (uint32_t i = 0; i < s->n; i++) {
        const struct nm_book_team *team = &s->results[i].play[0];
        places += team->places;
        illegal += team->illegal;
        play += team->play;
        crowd += team->crowd;
    }
    snprintf(name, sizeof name, "%s, %u games of 2 x %g min: legal set positions", s->name, s->played, s->half / 60);
    report(bench, name, 100 * (1 - illegal / places), "%", true, 95, is_whole(bench, s));
    report(bench, "  no two strikers of the team", 100 * (1 - crowd / play), "%", true, 95, is_whole(bench, s));
}

/* ---- all of them ---- */

void bench_match(struct nm_bench *bench)
{
    const struct nm_bench_options *o = nm_bench_options(bench);
    struct games g = {.bench = bench};
    struct nm_err err = {0};
    uint32_t games = 0;
    memcpy(g.series, all_series, sizeof g.series);
    for (uint32_t i = 0; i < SERIES; i++) {
        struct series *s = &g.series[i];
        s->first = o->first_seed ? o->first_seed : FIRST_SEED;
        s->n = !nm_bench_wants(bench, s->row) ? 0 : o->quick ? s->quick : s->games;
        if (o->first_seed && o->last_seed - o->first_seed + 1 < s->n)
            s->n = (uint32_t)(o->last_seed - o->first_seed + 1);
        if (o->quick) s->half = fmin(s->half, 30);
        s->results = nm_calloc(s->n + 1, sizeof *s->results);
        games += s->n;
    }
    const struct pool pool = {.n = games,
                              .jobs = o->jobs ? o->jobs : 2,
                              .size = sizeof(struct match_result),
                              .work = work,
                              .done = done,
                              .quit = stopping,
                              .user = &g};
    setup_begin(&g.setup);
    if (pool_run(&pool, &err)) nm_bench_fail(bench, &err);
    for (uint32_t i = 0; i < SERIES; i++) {
        if (g.series[i].ended < g.series[i].n) tell(bench, &g.series[i]);
        free(g.series[i].results);
    }
    setup_end(&g.setup);
}
