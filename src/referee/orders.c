#include "referee/orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 6, WORD = 24 };

const char nm_orders_help[] =
    "standby, ready, set, play            the state of the game\n"
    "goal TEAM                            TEAM is red, blue or a number\n"
    "kick TEAM WHAT                       WHAT: free, indirect, penalty, throw-in, goal, corner\n"
    "placed, freeze, execute, retake      steps of a set play; free: the ball is in play\n"
    "drop                                 dropped ball\n"
    "stop, continue                       HSL: everybody freezes\n"
    "penalty TEAM PLAYER OFFENCE          OFFENCE: pushing, holding, hands, fallen, inactive, leaving,\n"
    "                                     position, area, encroaching, motion, stop, stuck, pick-up,\n"
    "                                     stance, yellow, red\n"
    "seated TEAM PLAYER                   the robot stands at its place: the clock of its penalty starts\n"
    "release TEAM PLAYER, warn TEAM PLAYER, keeper TEAM PLAYER\n"
    "substitute TEAM IN OUT               player IN comes in for player OUT\n"
    "timeout TEAM, referee-timeout, resume\n"
    "finish, second-half, extra-time, shootout, shot\n";

static const char *const set_play_words[NM_GAME_SET_PLAYS] = {"none",     "free", "indirect", "penalty",
                                                              "throw-in", "goal", "corner"};

/* What follows the first word of each order. */
static const char *const arguments[NM_MATCH_EVENTS] = {
    [NM_MATCH_GOAL] = "t",     [NM_MATCH_KICK] = "ts",    [NM_MATCH_PENALTY] = "tpo", [NM_MATCH_SEATED] = "tp",
    [NM_MATCH_RELEASE] = "tp", [NM_MATCH_WARN] = "tp",    [NM_MATCH_KEEPER] = "tp",   [NM_MATCH_SUBSTITUTE] = "tpq",
    [NM_MATCH_TIMEOUT] = "t",  [NM_MATCH_MESSAGE] = "tb",
};

/* The word itself, or the only one that begins with it; -1 with a sentence. */
static int choose(const char *word, const char *const *words, int n, const char *what, struct nm_err *err)
{
    int found = -1;
    bool several = false;
    for (int i = 0; i < n; i++) {
        if (!strcmp(word, words[i])) return i;
        if (strncmp(word, words[i], strlen(word))) continue;
        several |= found >= 0;
        found = i;
    }
    if (found >= 0 && !several) return found;
    if (several) return nm_fail(err, "'%s' is the beginning of more than one %s", word, what);
    const char *hint = nm_nearest(word, words, (uint32_t)n);
    return nm_fail(err, "there is no %s '%s'%s%s%s", what, word, hint ? ": did you mean " : "", hint ? hint : "",
                   hint ? "?" : "");
}

static int number(const char *word, uint32_t *value, struct nm_err *err)
{
    char *end;
    unsigned long n = strtoul(word, &end, 10);
    if (*end || *word < '0' || *word > '9' || n > 1000000) return nm_fail(err, "'%s' is not a number", word);
    *value = (uint32_t)n;
    return 0;
}

static int read_team(const struct nm_match *m, const char *word, uint32_t *team, struct nm_err *err)
{
    static const char *const names[2] = {"red", "blue"};
    uint32_t n;
    if (*word >= '0' && *word <= '9') {
        if (number(word, &n, err)) return -1;
        for (*team = 0; *team < 2; (*team)++)
            if (m->options.team_numbers[*team] == n) return 0;
        return nm_fail(err, "no team has number %u: they are %u and %u", n, m->options.team_numbers[0],
                       m->options.team_numbers[1]);
    }
    int found = choose(word, names, 2, "team", err);
    *team = (uint32_t)found;
    return found < 0 ? -1 : 0;
}

static int read_argument(const struct nm_match *m, char kind, const char *word, struct nm_match_event *e,
                         struct nm_err *err)
{
    const char *offences[NM_OFFENCES];
    int found;
    switch (kind) {
    case 't': return read_team(m, word, &e->team, err);
    case 'p': return number(word, &e->player, err);
    case 'q': return number(word, &e->other, err);
    case 'b': return number(word, &e->bytes, err);
    case 's':
        found = choose(word, set_play_words, NM_GAME_SET_PLAYS, "set play", err);
        if (found >= 0) e->set_play = (enum nm_game_set_play)found;
        return found < 0 ? -1 : 0;
    default:
        for (int i = 0; i < NM_OFFENCES; i++) offences[i] = nm_offence_names[i].word;
        found = choose(word, offences, NM_OFFENCES, "offence", err);
        if (found >= 0) e->offence = (enum nm_offence)found;
        return found < 0 ? -1 : 0;
    }
}

int nm_order_read(const struct nm_match *m, const char *line, struct nm_match_event *e, struct nm_err *err)
{
    char words[WORDS][WORD + 1];
    int n = sscanf(line, "%24s %24s %24s %24s %24s %24s", words[0], words[1], words[2], words[3], words[4], words[5]);
    memset(e, 0, sizeof *e);
    if (n < 1) return nm_fail(err, "there is nothing in this line");
    int kind = choose(words[0], nm_match_event_names, NM_MATCH_EVENTS, "order", err);
    if (kind < 0) return -1;
    e->kind = (enum nm_match_event_kind)kind;
    const char *wants = arguments[kind] ? arguments[kind] : "";
    if (n - 1 != (int)strlen(wants))
        return nm_fail(err, "%s wants %zu more word%s, not %d", nm_match_event_names[kind], strlen(wants),
                       strlen(wants) == 1 ? "" : "s", n - 1);
    for (int i = 0; wants[i]; i++)
        if (read_argument(m, wants[i], words[i + 1], e, err)) return -1;
    return 0;
}
