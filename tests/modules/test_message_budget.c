/* labels: slow
 * Twenty games of twice ten minutes in each league that counts messages, played by the radios of a team alone: random
 * events, penalties, goals, a bad network, robots that are started again or do not hear the game controller. The game
 * controller's count never runs out, and what it allows is used until the end. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "core/harness.h"
#include "core/stamp.h"
#include "nutmeg_msgs/Datagram.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/TeamMessage.h"
#include "nutmeg_msgs/TeamState.h"

extern const struct nm_module team_radio_module;

enum { MOST = 7, GAMES = 20 };
static const double tick = 0.2; /* s */

struct robot {
    struct nm_harness *h;
    MatchState match; /* as it heard it last */
    TeamMessage own;
    double deaf_until;           /* s, does not hear the game controller */
    double out_until;            /* s, penalised                         */
    uint32_t sent_last, n_heard; /* of mates, in the last step           */
    Datagram heard[16];
};

static struct game {
    struct nm_dice dice;
    uint8_t league;
    uint32_t players;
    bool rough;   /* faults of the network and of robots                                */
    bool hurried; /* robots believe that the game ends in a few seconds, and spend it all */
    double time;
    MatchState truth;
    double seconds, in_state; /* s, of the half; in this state */
    bool begun;               /* the clock runs in this half   */
    int64_t budget;           /* may become negative: then the rules are broken */
    uint32_t counted;
    double last_message; /* s */
    struct robot robots[MOST];
} g;

static double roll(void) { return nm_dice_roll(&g.dice); }

static const char *settings(void) { return g.rough && g.players == 5 ? "second=mitecom" : NULL; }

static void enter(uint8_t state)
{
    g.truth.state = g.truth.packet_state = state;
    g.in_state = 0;
}

/* The states of a half: INITIAL, then READY, SET, PLAYING around, until the time is over and the ball is out. */
static void referee(void)
{
    static const double lengths[] = {[MatchState_INITIAL] = 20, [MatchState_READY] = 45, [MatchState_SET] = 8};
    bool counts = g.begun && g.truth.state >= MatchState_READY && g.truth.state <= MatchState_PLAYING;
    g.in_state += tick;
    g.time += tick;
    if (counts) g.seconds -= tick;
    if (g.truth.state < MatchState_PLAYING && g.in_state > lengths[g.truth.state]) enter((uint8_t)(g.truth.state + 1));
    if (g.truth.state == MatchState_PLAYING) {
        g.begun = true;
        if (g.seconds <= 0 && roll() < 0.02)
            enter(MatchState_FINISHED);
        else if (roll() < tick / 120)
            enter(MatchState_READY); /* a goal */
    }
    if (g.truth.state == MatchState_FINISHED && g.truth.first_half && g.in_state > 20) {
        g.truth.first_half = false;
        g.seconds = 600;
        g.begun = false;
        enter(MatchState_INITIAL);
    }
    g.truth.seconds_remaining = (int16_t)ceil(g.seconds);
    g.truth.message_budget = (uint16_t)(g.budget > 0 ? g.budget : 0);
}

static bool counts_now(void)
{
    uint8_t s = g.truth.state;
    return s == MatchState_READY || s == MatchState_SET || s == MatchState_PLAYING;
}

/* Packets come twice a second; some are lost. A robot that hears none for a while knows it. */
static void report(struct robot *r, uint8_t number)
{
    bool lost = g.time < r->deaf_until || (g.rough && roll() < 0.1);
    if (fmod(g.time + 1e-9, 0.5) < tick && !lost) r->match = g.truth;
    if (g.hurried) {
        r->match.seconds_remaining = 0;
        r->match.first_half = false;
    }
    r->match.connected = g.time >= r->deaf_until - 1;
    r->match.player_number = number;
    r->match.penalized = g.time < r->out_until;
    if (g.rough && roll() < tick / 300) r->deaf_until = g.time + 60 * roll();
    if (roll() < tick / 200) r->out_until = g.time + 45;
}

/* A mind that changes: roles, balls and claims. */
static void think(struct robot *r)
{
    TeamMessage *m = nm_harness_set(r->h, "team_message");
    if (roll() < tick / 15) r->own.role = (uint8_t)(nm_dice_bits(&g.dice) % 6);
    if (roll() < tick / 8) r->own.ball_known = !r->own.ball_known;
    if (roll() < tick / 20) r->own.ball_claimed = !r->own.ball_claimed;
    r->own.ball.x += 0.2 * nm_dice_both(&g.dice);
    nm_copy(&TeamMessage_type, m, &r->own);
}

static void start(struct robot *r)
{
    if (r->h) nm_harness_free(r->h);
    r->h = nm_harness_new(&team_radio_module, settings());
    r->n_heard = 0;
}

/* What a robot said: counted by the game controller and heard by the mates, unless the network loses it. Sometimes it
 * doubles it. */
static void deliver(uint32_t from)
{
    const void *const *at;
    uint32_t n = nm_harness_queue(g.robots[from].h, "team/sent", &at);
    g.robots[from].sent_last += n;
    for (uint32_t i = 0; i < n; i++) {
        int copies = !g.rough ? 1 : roll() < 0.1 ? 0 : roll() < 0.05 ? 2 : 1;
        const Datagram *d = at[i];
        assert_in_range(d->data.n, 1, g.league == MatchState_LEAGUE_SPL ? 128 : 512);
        assert_true(!(g.robots[from].match.penalized));
        if (copies && counts_now()) {
            g.budget -= copies;
            g.counted += (uint32_t)copies;
            g.last_message = g.time;
        }
        for (uint32_t k = 0; k < g.players; k++) {
            struct robot *to = &g.robots[k];
            if (k == from || to->n_heard == 16 || (g.rough && roll() < 0.1)) continue;
            nm_copy(&Datagram_type, &to->heard[to->n_heard], d);
            to->heard[to->n_heard++].host = from + 1;
        }
    }
}

static void step(uint32_t i)
{
    struct robot *r = &g.robots[i];
    if (g.rough && roll() < tick / 400) start(r); /* killed and started again */
    report(r, (uint8_t)(i + 1));
    *(MatchState *)nm_harness_set(r->h, "match_state") = r->match;
    think(r);
    for (uint32_t k = 0; k < r->n_heard; k++)
        nm_copy(&Datagram_type, nm_harness_set(r->h, "team/received"), &r->heard[k]);
    r->n_heard = 0;
    nm_harness_step(r->h, tick);
}

static void play(uint8_t league, uint32_t players, bool rough, bool hurried, uint64_t seed)
{
    memset(&g, 0, sizeof g);
    g.dice = nm_dice_new(seed, league, players);
    g.league = league;
    g.players = players;
    g.rough = rough;
    g.hurried = hurried;
    g.seconds = 600;
    g.budget = league == MatchState_LEAGUE_SPL ? 1200 : 12000;
    g.truth = (MatchState){.own_team = 6,
                           .league = league,
                           .first_half = true,
                           .players_per_team = (uint8_t)players,
                           .seconds_remaining = 600,
                           .message_budget = (uint16_t)g.budget};
    for (uint32_t i = 0; i < players; i++) {
        nm_reset(&TeamMessage_type, &g.robots[i].own);
        g.robots[i].own.state = TeamMessage_STATE_ACTIVE;
        g.robots[i].match = g.truth;
        start(&g.robots[i]);
    }
    while (g.truth.first_half || g.truth.state != MatchState_FINISHED) {
        referee();
        for (uint32_t i = 0; i < players; i++) step(i);
        for (uint32_t i = 0; i < players; i++) deliver(i);
        if (g.budget < 0)
            fail_msg("%u players, seed %llu: over the budget at %.0f s", players, (unsigned long long)seed, g.time);
    }
    for (uint32_t i = 0; i < players; i++) nm_harness_free(g.robots[i].h);
}

static void test_no_team_runs_over_its_budget(void **state)
{
    (void)state;
    for (uint8_t league = MatchState_LEAGUE_SPL; league <= MatchState_LEAGUE_HSL; league++)
        for (uint64_t seed = 1; seed <= GAMES; seed++) {
            uint32_t players = 4 + (uint32_t)(seed % 4);
            play(league, players, seed % 2, false, seed);
            double budget = league == MatchState_LEAGUE_SPL ? 1200 : 12000;
            double most = fmin(budget, 3.0 * 1250 * players); /* three a second */
            printf("%s, %u players, %s: %u of %.0f messages, the last %.0f s before the end\n",
                   league == MatchState_LEAGUE_SPL ? "SPL" : "HSL", players, seed % 2 ? "rough" : "smooth", g.counted,
                   budget, g.time - g.last_message);
            assert_true(g.counted > (seed % 2 ? 0.4 : 0.6) * most); /* and uses what it may */
            assert_true(g.time - g.last_message < 60);              /* until the end        */
        }
}

/* The limit holds also where the plan is wrong: with a few messages left and everybody eager to speak. */
static void test_a_wrong_plan_does_not_break_the_rules(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        play(MatchState_LEAGUE_SPL, 4 + (uint32_t)(seed % 4), seed % 2, true, seed);
        assert_true(g.counted > 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_team_runs_over_its_budget),
        cmocka_unit_test(test_a_wrong_plan_does_not_break_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
