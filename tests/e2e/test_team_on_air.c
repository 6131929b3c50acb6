/* Two teams and a game controller on a bad network, with real bytes: 30 % loss, 300 ms delay, duplicates, reordering,
 * and somebody who sends garbage and forged packets all the time. A robot whose network is gone comes back, the
 * controller is started again, and the match goes on; nobody believes the forger, and no team is over its budget. */
#include "core/started.h"

#include "base/random.h"
#include "codec/gamecontroller.h"
#include "codec/team_compact.h"
#include "core/stamp.h"
#include "edge/air/radio_edge.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/TeamState.h"

enum {
    PLAYERS = 5,
    ROBOTS = 2 * PLAYERS,
    TEAM_A = 6,
    TEAM_B = 9,
    CONTROLLER = 1,
    FORGER = 2,
    FIRST = 10 /* addresses */
};

struct robot {
    struct started s;
    struct nm_radio_edge *radio;
    struct nm_edge *eyes;
    MatchState match;
    TeamState team;
    bool cut; /* its network is gone */
};

static struct {
    struct nm_air *air;
    struct nm_radio *sends, *returns, *counts[2], *forger;
    struct robot robots[ROBOTS];
    struct nm_player *players[ROBOTS];
    struct nm_game_packet packet;
    bool silent;
    int64_t budget[2];
    uint32_t answers[ROBOTS];
    struct nm_dice dice;
    int64_t now; /* ns */
} g;

static void begin(void)
{
    static const struct nm_edge_port ports[] = {{"match_state", NM_PORT_IN, &MatchState_type, 0, 0},
                                                {"team_state", NM_PORT_IN, &TeamState_type, 0, 0}};
    const struct nm_air_options air = {.seed = 3,
                                       .loss = 0.3,
                                       .duplicate = 0.1,
                                       .reorder = 0.2,
                                       .delay = 300000000,
                                       .jitter = 50000000,
                                       .hold = 400000000};
    struct nm_err err = {0};
    g.dice = nm_dice_new(4, 0, 0);
    g.air = nm_air_new(&air, &err);
    g.returns = g.sends = nm_air_radio(g.air, (struct nm_air_place){CONTROLLER, NM_GAME_RETURN_PORT}, &err);
    g.forger = nm_air_radio(g.air, (struct nm_air_place){FORGER, 1}, &err);
    for (int i = 0; i < 2; i++)
        g.counts[i] =
            nm_air_radio(g.air, (struct nm_air_place){CONTROLLER, (uint16_t)(10000 + (i ? TEAM_B : TEAM_A))}, &err);
    g.packet = (struct nm_game_packet){.version = 20,
                                       .state = NM_GAME_PLAYING,
                                       .first_half = 1,
                                       .players_per_team = PLAYERS,
                                       .kicking_team = 255,
                                       .seconds = 600};
    g.packet.teams[0] = (struct nm_game_team){.number = TEAM_A};
    g.packet.teams[1] = (struct nm_game_team){.number = TEAM_B};
    g.budget[0] = g.budget[1] = 12000;
    for (uint32_t i = 0; i < ROBOTS; i++) {
        struct robot *r = &g.robots[i];
        char text[256];
        uint32_t team = i < PLAYERS ? TEAM_A : TEAM_B, number = i % PLAYERS + 1;
        snprintf(text, sizeof text,
                 "cycles: {team: {period: 20 ms, modules: [{module: game_state, params: {team: %u, player: %u}}, "
                 "team_report, team_radio]}}\nremote: [game/received, team/received]\n",
                 team, number);
        start(&r->s, text);
        g.players[i] = r->s.player;
        r->radio = nm_radio_edge_air(r->s.player, g.air, FIRST + i, &err);
        if (!r->radio) fail_msg("%s", err.text);
        r->eyes = nm_edge_new(r->s.player, "eyes", ports, 2, &err);
        if (!r->eyes) fail_msg("%s", err.text);
    }
}

static void end(void)
{
    for (uint32_t i = 0; i < ROBOTS; i++) {
        nm_radio_edge_free(g.robots[i].radio);
        stop(&g.robots[i].s);
    }
    nm_air_free(g.air);
}

/* The game controller: packets twice a second, counts messages, hears answers. */
static void control(void)
{
    uint8_t bytes[1472];
    struct nm_air_place from;
    for (int i = 0; i < 2; i++)
        while (nm_radio_receive(g.counts[i], &from, bytes, sizeof bytes) >= 0) g.budget[i] -= from.host != FORGER;
    for (int64_t n; (n = nm_radio_receive(g.returns, &from, bytes, sizeof bytes)) >= 0;) {
        struct nm_game_return said;
        if (from.host >= FIRST && nm_game_return_decode(bytes, (size_t)n, &said)) g.answers[from.host - FIRST]++;
    }
    if (g.silent || g.now % 500000000) return;
    for (int i = 0; i < 2; i++) g.packet.teams[i].message_budget = (uint16_t)(g.budget[i] > 0 ? g.budget[i] : 0);
    g.packet.number++;
    g.packet.seconds = (int16_t)(600 - g.now / 1000000000);
    size_t n = nm_game_encode(&g.packet, bytes, sizeof bytes);
    nm_radio_send(g.sends, (struct nm_air_place){NM_AIR_ALL, NM_GAME_PORT}, bytes, n, NULL);
}

/* Garbage, a false game controller, and news of mates that did not send them. */
static void forge(void)
{
    uint8_t bytes[512];
    struct nm_game_packet packet = g.packet;
    struct nm_team_news news = {.team = TEAM_A,
                                .player = (uint8_t)(1 + nm_dice_bits(&g.dice) % PLAYERS),
                                .number = 60000,
                                .state = NM_NEWS_ACTIVE,
                                .knows_pose = true,
                                .x = 4,
                                .belief = 1};
    if (g.now % 50000000) return;
    for (uint32_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)nm_dice_bits(&g.dice);
    nm_radio_send(g.forger, (struct nm_air_place){NM_AIR_ALL, NM_GAME_PORT}, bytes, 158, NULL);
    nm_radio_send(g.forger, (struct nm_air_place){NM_AIR_ALL, 10000 + TEAM_A}, bytes, 100, NULL);
    packet.state = NM_GAME_FINISHED;
    packet.number += 20;
    size_t n = nm_game_encode(&packet, bytes, sizeof bytes);
    nm_radio_send(g.forger, (struct nm_air_place){NM_AIR_ALL, NM_GAME_PORT}, bytes, n, NULL);
    n = nm_compact_encode(&news, bytes, sizeof bytes);
    nm_radio_send(g.forger, (struct nm_air_place){NM_AIR_ALL, 10000 + TEAM_A}, bytes, n, NULL);
}

static void run(double seconds, bool forged)
{
    const int64_t tick = 10000000;
    for (int64_t until = g.now + nm_ns(seconds); g.now < until; g.now += tick) {
        nm_air_advance(g.air, g.now);
        control();
        if (forged) forge();
        for (uint32_t i = 0; i < ROBOTS; i++)
            if (!g.robots[i].cut) nm_radio_edge_poll(g.robots[i].radio, g.now);
        nm_players_run(g.players, ROBOTS, g.now + tick, 1);
    }
    for (uint32_t i = 0; i < ROBOTS; i++) {
        struct robot *r = &g.robots[i];
        nm_edge_begin(r->eyes, g.now);
        r->match = *(const MatchState *)nm_edge_in(r->eyes, 0);
        nm_copy(&TeamState_type, &r->team, nm_edge_in(r->eyes, 1));
        nm_edge_end(r->eyes);
    }
    assert_true(g.budget[0] >= 0 && g.budget[1] >= 0);
}

/* How many of its mates a robot believes to be alive. */
static uint32_t alive(uint32_t robot)
{
    const TeamState *team = &g.robots[robot].team;
    uint32_t n = 0;
    for (uint32_t i = 0; i < team->mates.n; i++) n += team->mates.at[i].alive;
    return n;
}

static void test_a_match_on_a_bad_network(void **state)
{
    (void)state;
    begin();
    run(15, false);
    run(15, true);
    for (uint32_t i = 0; i < ROBOTS; i++) {
        const struct robot *r = &g.robots[i];
        assert_true(r->match.connected);
        assert_int_equal(r->match.state, MatchState_PLAYING); /* not the forger's FINISHED */
        assert_int_equal(r->match.own_team, i < PLAYERS ? TEAM_A : TEAM_B);
        assert_int_equal(alive(i), PLAYERS - 1);
        assert_int_equal(r->team.mates.n, PLAYERS - 1); /* nobody of the other team, nobody invented */
        assert_true(g.answers[i] > 15);
        for (uint32_t k = 0; k < r->team.mates.n; k++) {
            const TeamMate *mate = &r->team.mates.at[k];
            assert_true(mate->message.pose.weight == 0); /* the forger said (4, 0) */
            assert_true(mate->lost > 0 && mate->received > mate->lost);
        }
    }
    /* a robot's network is gone for 20 s */
    g.robots[0].cut = true;
    run(20, true);
    assert_false(g.robots[0].match.connected);
    assert_int_equal(g.robots[0].match.state, MatchState_PLAYING); /* plays on */
    assert_int_equal(alive(0), 0);
    assert_int_equal(alive(1), PLAYERS - 2);
    g.robots[0].cut = false;
    run(6, true);
    assert_true(g.robots[0].match.connected);
    assert_int_equal(alive(0), PLAYERS - 1);
    assert_int_equal(alive(1), PLAYERS - 1);
    /* the controller is started again: silent for a while, then it counts from 0 and says READY */
    g.silent = true;
    run(8, false);
    for (uint32_t i = 0; i < ROBOTS; i++) assert_false(g.robots[i].match.connected);
    run(8, true); /* meanwhile the forger is the only one who speaks */
    g.silent = false;
    g.packet.number = 0;
    g.packet.state = NM_GAME_READY;
    run(6, true);
    for (uint32_t i = 0; i < ROBOTS; i++) {
        assert_true(g.robots[i].match.connected);
        assert_int_equal(g.robots[i].match.state, MatchState_READY);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_match_on_a_bad_network)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
