/* nutmeg tournament: many games between line-ups, over all cores, and who is how strong. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/match.h"
#include "cmd/options.h"
#include "cmd/pool.h"
#include "cmd/progress.h"
#include "cmd/stopping.h"
#include "cmd/tournament.h"
#include "core/files.h"

struct season {
    struct setup setup;
    struct match_options match;
    struct tournament book;
    FILE *file;
    uint32_t n, ended, failed;
    struct tournament_game *games; /* that are to be played */
    struct progress progress;
    char died[160];
};

/* Every second game a pair changes colours, and with them the side and the first kick-off. */
static bool turned(const struct tournament_game *g) { return g->seed & 1; }

static void work(void *user, uint32_t index, void *result)
{
    struct season *s = user;
    const struct tournament_game *g = &s->games[index];
    struct match_options o = s->match;
    o.seed = g->seed;
    o.teams[turned(g)] = s->book.teams[g->first];
    o.teams[!turned(g)] = s->book.teams[g->second];
    match_play(&s->setup, &o, 1, result);
}

static void done(void *user, uint32_t index, const void *result, const char *died)
{
    struct season *s = user;
    struct tournament_game *g = &s->games[index];
    const struct match_result *r = result;
    s->ended++;
    if (!r || died || !r->done) {
        s->failed++;
        if (!stopping()) snprintf(s->died, sizeof s->died, "%s", died ? died : r ? r->died : "no result");
        return;
    }
    g->goals[0] = r->score[turned(g)];
    g->goals[1] = r->score[!turned(g)];
    tournament_add(&s->book, g);
    tournament_write_game(&s->book, g, s->file);
    fflush(s->file);
    progress_tell(&s->progress, "%u of %u games", s->ended, s->n);
}

static void plan(struct season *s, uint64_t first, uint32_t games)
{
    uint32_t pairs = s->book.n_teams * (s->book.n_teams - 1) / 2;
    s->games = calloc((size_t)pairs * games + 1, sizeof *s->games);
    if (!s->games) abort();
    for (uint32_t g = 0; g < games; g++)
        for (uint32_t a = 0; a < s->book.n_teams; a++)
            for (uint32_t b = a + 1; b < s->book.n_teams; b++)
                if (!tournament_played(&s->book, a, b, first + g))
                    s->games[s->n++] = (struct tournament_game){.first = a, .second = b, .seed = first + g};
}

static void print_ranks(const struct tournament *t)
{
    struct tournament_rank ranks[TOURNAMENT_TEAMS];
    struct table table;
    tournament_rank(t, ranks);
    table_begin(&table, (const char *const[]){"line-up", ">games", ">points", ">Elo", "95 %", ">goal difference",
                                              "95 %", NULL});
    for (uint32_t i = 0; i < t->n_teams; i++) {
        const struct tournament_rank *r = &ranks[i];
        table_row(&table, "%s\t%u\t%g\t%+.0f\t%+.0f to %+.0f\t%+.2f\t%+.2f to %+.2f", t->teams[r->team], r->games,
                  r->points, r->elo, r->low, r->high, r->goals, r->goals - r->goals_by, r->goals + r->goals_by);
    }
    table_print(&table, stdout);
}

static int play(struct season *s, const char *path, uint64_t first, uint32_t games, uint32_t jobs, struct nm_err *err)
{
    struct match trial;
    for (uint32_t i = 0; i < s->book.n_teams; i++) { /* line-ups that do not exist are told before anything is played */
        struct match_options o = s->match;
        o.teams[0] = o.teams[1] = s->book.teams[i];
        if (match_begin(&trial, &s->setup, &o, err)) return -1;
        match_end(&trial);
    }
    if (nm_make_folders(path, err) || tournament_read(&s->book, path, err)) return -1;
    uint32_t known = s->book.n_games;
    plan(s, first, games);
    bool fresh = access(path, F_OK) != 0;
    s->file = fopen(path, "a");
    if (!s->file) return nm_fail(err, "cannot write %s", path);
    if (fresh) tournament_write_head(&s->book, s->file);
    if (known) printf("%u games are in %s already\n", known, path);
    const struct pool pool = {.n = s->n,
                              .jobs = jobs,
                              .size = sizeof(struct match_result),
                              .work = work,
                              .done = done,
                              .quit = stopping,
                              .user = s};
    progress_begin(&s->progress, "");
    int bad = pool_run(&pool, err);
    progress_end(&s->progress);
    fclose(s->file);
    if (!bad && *s->died) bad = nm_fail(err, "%u games were not played to their end: %s", s->failed, s->died);
    return bad;
}

int cmd_tournament(int argc, char **argv)
{
    struct season s = {.match = {.league = "hsl", .fidelity = "flat", .air = {MATCH_AIR, MATCH_AIR}}};
    const char *folder = "out/tournament";
    int64_t games = 20, first = 1, jobs = sysconf(_SC_NPROCESSORS_ONLN);
    double half = 5;
    const struct flag flags[] = {
        WHOLE("games", &games, 1, 10000, "N", "games of every pair (default: 20)"),
        WHOLE("first-seed", &first, 1, 9e15, "N", "seed of the first game; each game has its own (default: 1)"),
        NUMBER("half", &half, 0.1, 60, "MIN", "minutes of a half (default: 5)"),
        TEXT("league", &s.match.league, "NAME", "rules: hl, spl or hsl (default: hsl)"),
        TEXT("fidelity", &s.match.fidelity, "HOW", "flat (default): discs on a plane; percept: bodies with physics"),
        WHOLE("players", &s.match.players, 1, 7, "N", "robots of a team (default: the league's)"),
        WHOLE("jobs", &jobs, 1, 256, "N", "games at the same time (default: one for each core)", .letter = 'j'),
        TEXT("output", &folder, "FOLDER", "folder of games.txt (default: out/tournament)", .letter = 'o'),
        {0},
    };
    const struct usage usage = {
        "nutmeg tournament",
        "TEAM TEAM...",
        "Lets line-ups play against each other, every pair the same number of games, and prints Elo ratings\n"
        "and goal differences with their 95 % intervals. A TEAM is a line-up, a robot, or both, such as\n"
        "match, beginner or darwin,match. Each game is one line of FOLDER/games.txt: after an interruption\n"
        "the same command plays only what is missing. The same seeds are the same games.",
        flags,
        2,
        TOURNAMENT_TEAMS};
    int code, n = usage_begin(&usage, argc, argv, &code);
    struct nm_err err = {0};
    if (n < 0) return code;
    for (int i = 0; i < n; i++) {
        if (strlen(argv[i + 1]) > TOURNAMENT_NAME || strpbrk(argv[i + 1], " \t\n"))
            return usage_wrong(&usage, "'%s' is too long for a team, or has spaces", argv[i + 1]);
        for (int k = 0; k < i; k++)
            if (!strcmp(argv[i + 1], argv[k + 1])) return usage_wrong(&usage, "%s is there twice", argv[i + 1]);
        s.book.teams[s.book.n_teams++] = argv[i + 1];
    }
    s.match.half = 60 * half;
    snprintf(s.book.settings, sizeof s.book.settings, "league %.8s, fidelity %.8s, half %g min, players %lld",
             s.match.league, s.match.fidelity, half, (long long)s.match.players);
    setup_begin(&s.setup);
    stop_by_signals();
    const char *path = nm_take_format(&s.setup.arena, "%s/games.txt", folder);
    code = play(&s, path, (uint64_t)first, (uint32_t)games, (uint32_t)jobs, &err) ? EXIT_FAILED : EXIT_OK;
    if (s.book.n_games) print_ranks(&s.book);
    if (err.n) complain(&err);
    if (interrupted())
        code = tell_interrupted("%u games are missing; the same command plays them", s.n - s.ended + s.failed);
    free(s.games);
    tournament_free(&s.book);
    setup_end(&s.setup);
    return code;
}
