/* nutmeg tournament: many games between line-ups, over all cores, and who is how strong.
 *
 * Any number of processes may play the same tournament, on one machine or on several with a common folder (mpirun
 * starts them). Who plays a game holds a lock on its byte of games.lock, which the system takes away when the process
 * dies, and writes the result before it lets go: so no game is played twice at a time, and those of a killed process
 * are played again by the others. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
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
    const char *path, *locks;
    uint64_t first; /* seed */
    uint32_t n, ended, failed;
    bool silent;                   /* another process speaks */
    struct tournament_game *games; /* that are to be played */
    struct progress progress;
    char died[160];
};

/* Every second game a pair changes colours, and with them the side and the first kick-off. */
static bool turned(const struct tournament_game *g) { return g->seed & 1; }

/* ---- one game, in a process of its own ---- */

struct outcome {
    struct match_result match;
    bool elsewhere; /* another process plays it, or has played it */
};

/* Each game of the plan has its byte. */
static bool claim(const struct season *s, const struct tournament_game *g)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_start =
                             (off_t)((g->seed - s->first) * TOURNAMENT_TEAMS + g->first) * TOURNAMENT_TEAMS + g->second,
                         .l_len = 1};
    struct tournament now = s->book;
    int file = open(s->locks, O_RDWR | O_CREAT | O_CLOEXEC, 0666); /* stays open until this process ends */
    if (file < 0 || fcntl(file, F_SETLK, &lock)) return false;
    now.games = NULL;
    now.n_games = now.room = 0;
    bool mine = !tournament_read(&now, s->path, NULL) && !tournament_played(&now, g->first, g->second, g->seed);
    tournament_free(&now);
    return mine;
}

static void work(void *user, uint32_t index, void *result)
{
    struct season *s = user;
    struct tournament_game *g = &s->games[index];
    struct outcome *to = result;
    struct match_options o = s->match;
    to->elsewhere = !claim(s, g);
    if (to->elsewhere) return;
    o.seed = g->seed;
    o.teams[turned(g)] = s->book.teams[g->first];
    o.teams[!turned(g)] = s->book.teams[g->second];
    match_play(&s->setup, &o, 1, &to->match);
    if (!to->match.done) return;
    g->goals[0] = to->match.score[turned(g)];
    g->goals[1] = to->match.score[!turned(g)];
    FILE *file = fopen(s->path, "a");
    if (file) tournament_write_game(&s->book, g, file); /* one write: lines of others are not mixed with it */
    if (!file || fclose(file))
        to->match.done = false, snprintf(to->match.died, sizeof to->match.died, "cannot write %.100s", s->path);
}

static void done(void *user, uint32_t index, const void *result, const char *died)
{
    struct season *s = user;
    const struct outcome *r = result;
    (void)index;
    if (r && !died && r->elsewhere) return;
    s->ended++;
    if (!r || died || !r->match.done) {
        s->failed++;
        if (!stopping()) snprintf(s->died, sizeof s->died, "%s", died ? died : r ? r->match.died : "no result");
    } else if (!s->silent)
        progress_tell(&s->progress, "%u of %u games", s->book.n_games + s->ended, s->book.n_games + s->n);
}

/* ---- all of them ---- */

/* What the file does not have yet. */
static int plan(struct season *s, uint32_t games, struct nm_err *err)
{
    uint32_t pairs = s->book.n_teams * (s->book.n_teams - 1) / 2;
    s->book.n_games = s->n = s->ended = 0;
    free(s->games);
    s->games = nm_calloc((size_t)pairs * games + 1, sizeof *s->games);
    if (tournament_read(&s->book, s->path, err)) return -1;
    for (uint32_t g = 0; g < games; g++)
        for (uint32_t a = 0; a < s->book.n_teams; a++)
            for (uint32_t b = a + 1; b < s->book.n_teams; b++)
                if (!tournament_played(&s->book, a, b, s->first + g))
                    s->games[s->n++] = (struct tournament_game){.first = a, .second = b, .seed = s->first + g};
    return 0;
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
        char elo[48] = "-", goals[48] = "-";
        if (r->games == 1) /* says nothing about how far chance goes */
            snprintf(elo, sizeof elo, "one game: no interval"), snprintf(goals, sizeof goals, "%s", elo);
        if (r->games > 1) snprintf(elo, sizeof elo, "%+.0f to %+.0f", r->low, r->high);
        if (r->games > 1 && r->goals_by > 1e-9)
            snprintf(goals, sizeof goals, "%+.2f to %+.2f", r->goals - r->goals_by, r->goals + r->goals_by);
        else if (r->games > 1)
            snprintf(goals, sizeof goals, "no spread: no interval");
        table_row(&table, "%s\t%u\t%g\t%+.0f\t%s\t%+.2f\t%s", t->teams[r->team], r->games, r->points, r->elo, elo,
                  r->goals, goals);
    }
    table_print(&table, stdout);
}

/* The first process to come writes the head. */
static int open_book(struct season *s, struct nm_err *err)
{
    int file = open(s->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return access(s->path, W_OK) ? nm_fail(err, "cannot write %s", s->path) : 0;
    FILE *to = fdopen(file, "w");
    if (!to) abort();
    tournament_write_head(&s->book, to);
    return fclose(to) ? nm_fail(err, "cannot write %s", s->path) : 0;
}

/* Line-ups that do not exist are reported before anything is played. */
static int check_teams(struct season *s, struct nm_err *err)
{
    struct match trial;
    for (uint32_t i = 0; i < s->book.n_teams; i++) {
        struct match_options o = s->match;
        o.teams[0] = o.teams[1] = s->book.teams[i];
        o.words[0] = o.words[1] = "TEAM";
        if (match_begin(&trial, &s->setup, &o, err)) return -1;
        match_end(&trial);
    }
    return 0;
}

static int play(struct season *s, uint32_t games, uint32_t jobs, struct nm_err *err)
{
    if (nm_make_folders(s->path, err) || open_book(s, err) || plan(s, games, err)) return -1;
    if (s->book.n_games && !s->silent) printf("in %s already: %u of the games\n", s->path, s->book.n_games);
    progress_begin(&s->progress, "");
    int bad = 0;
    while (!bad && s->n && !s->failed && !stopping()) {
        const struct pool pool = {.n = s->n,
                                  .jobs = jobs,
                                  .size = sizeof(struct outcome),
                                  .work = work,
                                  .done = done,
                                  .quit = stopping,
                                  .user = s};
        bad = pool_run(&pool, err);
        if (!s->ended) usleep(200000); /* others play the rest */
        if (!bad) bad = plan(s, games, err);
    }
    progress_end(&s->progress);
    if (!bad && *s->died) bad = nm_fail(err, "%u games were not played to their end: %s", s->failed, s->died);
    return bad;
}

int cmd_tournament(int argc, char **argv)
{
    struct season s = {.match = MATCH_MANY};
    const char *folder = "out/tournament", *rank = getenv("OMPI_COMM_WORLD_RANK");
    int64_t games = 20, first = 1, jobs = 0;
    cpu_set_t cores; /* that this process may use: mpirun gives each of several its share */
    const struct flag flags[] = {
        WHOLE("games", &games, 1, 10000, "N", "games of every pair (default: 20)"),
        WHOLE("first-seed", &first, 1, 9e15, "N", "seed of the first game; each game has its own (default: 1)"),
        MATCH_FLAGS(&s.match),
        WHOLE("jobs", &jobs, 1, 256, "N", "games at the same time (default: one for each core)", .letter = 'j'),
        TEXT("output", &folder, "FOLDER", "folder of games.txt (default: out/tournament)", .letter = 'o'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg tournament", "TEAM TEAM…", flags,
              "Lets line-ups play against each other, every pair the same number of games, and prints Elo ratings\n"
              "and goal differences with their 95 % intervals. A TEAM is a line-up, a robot, or both, such as\n"
              "match, beginner or darwin,match. Each game is one line of FOLDER/games.txt: after an interruption\n"
              "the same command plays only what is missing. The same seeds are the same games. Several processes,\n"
              "as mpirun starts them, play one tournament if they have the same FOLDER; the first prints the table.",
              .most = TOURNAMENT_TEAMS);
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
    snprintf(s.book.settings, sizeof s.book.settings, "league %.8s, fidelity %.8s, half %g min, players %lld",
             s.match.league, s.match.fidelity, s.match.half / 60, (long long)s.match.players);
    setup_begin(&s.setup);
    stop_by_signals();
    s.path = nm_take_format(&s.setup.arena, "%s/games.txt", folder);
    s.locks = nm_take_format(&s.setup.arena, "%s/games.lock", folder);
    s.first = (uint64_t)first;
    s.silent = rank && strcmp(rank, "0");
    if (!jobs) jobs = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);
    code = check_teams(&s, &err) ? EXIT_USAGE : play(&s, (uint32_t)games, (uint32_t)jobs, &err) ? EXIT_FAILED : EXIT_OK;
    if (s.book.n_games && !s.silent) print_ranks(&s.book);
    if (err.n) complain(&err);
    if (interrupted()) code = tell_interrupted("%u games are missing; the same command plays them", s.n);
    free(s.games);
    tournament_free(&s.book);
    setup_end(&s.setup);
    return code;
}
