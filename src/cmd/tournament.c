#include "cmd/tournament.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"

enum { DRAWN = 200, ROUNDS = 200 };

void tournament_free(struct tournament *t)
{
    free(t->games);
    t->games = NULL;
    t->n_games = t->room = 0;
}

void tournament_add(struct tournament *t, const struct tournament_game *game)
{
    t->games = nm_more(t->games, t->n_games, &t->room, sizeof *t->games);
    t->games[t->n_games++] = *game;
}

bool tournament_played(const struct tournament *t, uint32_t first, uint32_t second, uint64_t seed)
{
    for (uint32_t i = 0; i < t->n_games; i++)
        if (t->games[i].first == first && t->games[i].second == second && t->games[i].seed == seed) return true;
    return false;
}

/* ---- the file ---- */

static const char head[] = "# nutmeg tournament: ";

void tournament_write_head(const struct tournament *t, FILE *to) { fprintf(to, "%s%s\n", head, t->settings); }

void tournament_write_game(const struct tournament *t, const struct tournament_game *g, FILE *to)
{
    fprintf(to, "%s %s %llu %u %u\n", t->teams[g->first], t->teams[g->second], (unsigned long long)g->seed, g->goals[0],
            g->goals[1]);
}

static int team_of(const struct tournament *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_teams; i++)
        if (!strcmp(t->teams[i], name)) return (int)i;
    return -1;
}

/* Games of teams that do not take part now stay in the file and are not counted. */
static int read_line(struct tournament *t, const char *line, const char *path, uint32_t number, struct nm_err *err)
{
    char names[2][TOURNAMENT_NAME + 1];
    unsigned long long seed;
    unsigned goals[2];
    int end = 0;
    if (sscanf(line, "%64s %64s %19llu %4u %4u%n", names[0], names[1], &seed, &goals[0], &goals[1], &end) != 5 ||
        line[end] != '\n')
        return nm_fail(err, "%s:%u: a line is 'team team seed goals goals'", path, number);
    int a = team_of(t, names[0]), b = team_of(t, names[1]);
    if (a < 0 || b < 0 || a == b) return 0;
    bool turned = a > b;
    struct tournament_game g = {.first = (uint32_t)(turned ? b : a),
                                .second = (uint32_t)(turned ? a : b),
                                .seed = seed,
                                .goals = {goals[turned], goals[!turned]}};
    if (t->n_games >= TOURNAMENT_GAMES) return nm_fail(err, "%s has more than %d games", path, TOURNAMENT_GAMES);
    if (!tournament_played(t, g.first, g.second, g.seed)) tournament_add(t, &g);
    return 0;
}

int tournament_read(struct tournament *t, const char *path, struct nm_err *err)
{
    char line[320];
    FILE *file = fopen(path, "r");
    int bad = 0;
    if (!file) return errno == ENOENT ? 0 : nm_fail(err, "cannot read %s: %s", path, strerror(errno));
    for (uint32_t number = 1; !bad && fgets(line, sizeof line, file); number++) {
        if (!strchr(line, '\n')) { /* too long, or cut off */
            if (!feof(file)) bad = nm_fail(err, "%s:%u: this line is too long", path, number);
            break;
        }
        size_t n = strlen(head);
        if (number == 1) {
            bool same = !strncmp(line, head, n) && !strncmp(line + n, t->settings, strlen(t->settings)) &&
                        line[n + strlen(t->settings)] == '\n';
            if (!same)
                bad = nm_fail(err, "%s belongs to a tournament with other settings: choose another folder", path);
        } else
            bad = read_line(t, line, path, number, err);
    }
    fclose(file);
    return bad;
}

/* ---- ratings ---- */

/* Strengths by the iteration of Zermelo: points divided by the sum of 1 / (own strength + the opponent's). */
static void fit(const struct tournament *t, const uint32_t *drawn, uint32_t n, double strength[TOURNAMENT_TEAMS])
{
    double points[TOURNAMENT_TEAMS], met[TOURNAMENT_TEAMS][TOURNAMENT_TEAMS] = {{0}};
    for (uint32_t i = 0; i < t->n_teams; i++) {
        points[i] = 0.5; /* of the one game against the mean */
        strength[i] = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct tournament_game *g = &t->games[drawn ? drawn[i] : i];
        double first = g->goals[0] > g->goals[1] ? 1 : g->goals[0] < g->goals[1] ? 0 : 0.5;
        points[g->first] += first;
        points[g->second] += 1 - first;
        met[g->first][g->second]++;
        met[g->second][g->first]++;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double mean = 0;
        for (uint32_t i = 0; i < t->n_teams; i++) {
            double sum = 1 / (strength[i] + 1);
            for (uint32_t k = 0; k < t->n_teams; k++) sum += met[i][k] / (strength[i] + strength[k]);
            strength[i] = points[i] / sum;
            mean += log(strength[i]) / t->n_teams;
        }
        for (uint32_t i = 0; i < t->n_teams; i++) strength[i] /= exp(mean);
    }
}

static double elo_of(double strength) { return 400 * log10(strength); }

static int by_elo(const void *a, const void *b)
{
    double x = ((const struct tournament_rank *)a)->elo, y = ((const struct tournament_rank *)b)->elo;
    return (x < y) - (x > y);
}

static void draw_intervals(const struct tournament *t, struct tournament_rank *ranks)
{
    static const uint32_t LOW = DRAWN * 25 / 1000, HIGH = DRAWN - 1 - DRAWN * 25 / 1000;
    double(*elos)[DRAWN] = nm_calloc(TOURNAMENT_TEAMS, sizeof *elos);
    uint32_t *drawn = nm_calloc(t->n_games + 1, sizeof *drawn);
    struct nm_dice dice = nm_dice_new(1, 0x656c6f, 0);
    for (uint32_t k = 0; k < DRAWN; k++) {
        double strength[TOURNAMENT_TEAMS];
        for (uint32_t i = 0; i < t->n_games; i++) drawn[i] = (uint32_t)(nm_dice_roll(&dice) * t->n_games);
        fit(t, drawn, t->n_games, strength);
        for (uint32_t i = 0; i < t->n_teams; i++) elos[i][k] = elo_of(strength[i]);
    }
    for (uint32_t i = 0; i < t->n_teams; i++) {
        qsort(elos[i], DRAWN, sizeof **elos, nm_by_size);
        ranks[i].low = elos[i][LOW];
        ranks[i].high = elos[i][HIGH];
    }
    free(elos);
    free(drawn);
}

/* Results without a spread tell the bootstrap nothing. One more game, against the mean, is in the ratings, too. What a
 * team wins, the mean of all shares. */
static void wilson(const struct tournament *t, struct tournament_rank *r)
{
    const double z = 1.96;
    double n = r->games + 1, p = (r->points + 0.5) / n, middle = p + z * z / (2 * n),
           width = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)), whole = 1 + z * z / n,
           low = (middle - width) / whole, high = (middle + width) / whole, share = 1 - 1.0 / t->n_teams;
    r->low = r->elo + share * (elo_of(low / (1 - low)) - elo_of(p / (1 - p)));
    r->high = r->elo + share * (elo_of(high / (1 - high)) - elo_of(p / (1 - p)));
}

void tournament_rank(const struct tournament *t, struct tournament_rank ranks[TOURNAMENT_TEAMS])
{
    double strength[TOURNAMENT_TEAMS], squares[TOURNAMENT_TEAMS] = {0}, same[TOURNAMENT_TEAMS] = {0};
    memset(ranks, 0, TOURNAMENT_TEAMS * sizeof *ranks);
    fit(t, NULL, t->n_games, strength);
    for (uint32_t i = 0; i < t->n_games; i++) {
        const struct tournament_game *g = &t->games[i];
        for (int side = 0; side < 2; side++) {
            uint32_t team = side ? g->second : g->first;
            double more = (double)g->goals[side] - g->goals[!side];
            ranks[team].games++;
            double point = more > 0 ? 1 : more == 0 ? 0.5 : 0;
            ranks[team].points += point;
            same[team] += point * point;
            ranks[team].goals += more;
            squares[team] += more * more;
        }
    }
    for (uint32_t i = 0; i < t->n_teams; i++) {
        struct tournament_rank *r = &ranks[i];
        double n = r->games;
        r->team = i;
        r->elo = elo_of(strength[i]);
        if (n > 0) r->goals /= n;
        r->goals_by = n > 1 ? 1.96 * sqrt(fmax(squares[i] / n - r->goals * r->goals, 0) / (n - 1)) : INFINITY;
    }
    draw_intervals(t, ranks);
    for (uint32_t i = 0; i < t->n_teams; i++) /* no spread: the mean of the squares is the square of the mean */
        if (ranks[i].games && same[i] * ranks[i].games == ranks[i].points * ranks[i].points) wilson(t, &ranks[i]);
    qsort(ranks, t->n_teams, sizeof *ranks, by_elo);
}
