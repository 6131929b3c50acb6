/* labels: threads
 * The edge between a player and its radios, in the air of a simulated field and on the sockets of this machine. */
#include "core/started.h"

#include "codec/gamecontroller.h"
#include "edge/air/radio_edge.h"
#include "edge/air/udp.h"
#include "nutmeg_msgs/Datagram.h"
#include "patience.h"

/* A module that answers each packet with a byte more, to its sender and to the team. Its name is the one by which the
 * edge finds the number of the team. */
struct parrot {
    struct nm *nm;
    nm_queue(Datagram) game, team;
    nm_out_queue(Datagram) to_game, to_team;
    int32_t team_number;
    _Atomic uint32_t heard[2];
};

static void answer(struct parrot *f, Datagram *to, const Datagram *from, uint32_t host, uint16_t port)
{
    to->host = host;
    to->port = port;
    to->data.n = from->data.n + 1;
    memcpy(to->data.at, from->data.at, from->data.n);
    to->data.at[from->data.n] = '!';
    (void)f;
}

static void step(struct parrot *f)
{
    f->heard[0] += f->game.n;
    f->heard[1] += f->team.n;
    for (uint32_t i = 0; i < f->game.n; i++)
        answer(f, nm_push(f->nm, &f->to_game), f->game.at[i], f->game.at[i]->host, f->game.at[i]->port);
    for (uint32_t i = 0; i < f->game.n; i++)
        answer(f, nm_push(f->nm, &f->to_team), f->game.at[i], UINT32_MAX, (uint16_t)(10000 + f->team_number));
}

#define SELF struct parrot
static const struct nm_port ports[] = {NM_QUEUE(game, Datagram, "game/received", 16),
                                       NM_QUEUE(team, Datagram, "team/received", 16),
                                       NM_OUT_QUEUE(to_game, Datagram, "game/sent", 16),
                                       NM_OUT_QUEUE(to_team, Datagram, "team/sent", 16),
                                       {0}};
static const struct nm_param params[] = {{.name = "team",
                                          .kind = NM_PARAM_INT32,
                                          .offset = offsetof(SELF, team_number),
                                          .size = 4,
                                          .value = 77,
                                          .min = 1,
                                          .max = 254,
                                          .unit = "1",
                                          .about = "number of the team"},
                                         {0}};
NM_MODULE(game_state, "A parrot.", NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(step))

static const char lineup_text[] = "cycles: {c: {period: 10 ms, modules: [game_state]}}\n"
                                  "remote: [game/received, team/received]\n";

struct robot {
    struct started s;
    struct nm_radio_edge *edge;
};

static void robot_free(struct robot *r)
{
    nm_player_stop(r->s.player);
    nm_radio_edge_free(r->edge);
    stop(&r->s);
}

static uint32_t heard(const struct robot *r, int channel)
{
    return ((struct parrot *)nm_player_self(r->s.player, 0))->heard[channel];
}

static void test_in_the_air_of_a_field(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_air *air = nm_air_new(&(struct nm_air_options){.seed = 1, .delay = 5000000}, &err);
    struct robot robots[3];
    struct nm_player *players[3];
    struct nm_radio *referee = nm_air_radio(air, (struct nm_air_place){100, 3939}, &err);
    struct nm_radio *count = nm_air_radio(air, (struct nm_air_place){100, 10077}, &err);
    for (uint32_t i = 0; i < 3; i++) {
        start(&robots[i].s, lineup_text);
        players[i] = robots[i].s.player;
        robots[i].edge = nm_radio_edge_air(players[i], air, 1 + i, &err);
        if (!robots[i].edge) fail_msg("%s", err.text);
    }
    assert_null(nm_radio_edge_air(players[0], air, 1, &err)); /* the place is taken */
    uint32_t answers = 0, messages = 0;
    for (int i = 0; i < 100; i++) {
        struct nm_air_place from;
        char text[16];
        nm_air_advance(air, i * 10000000LL);
        if (i == 10) nm_radio_send(referee, (struct nm_air_place){NM_AIR_ALL, 3838}, "ready", 5, &err);
        for (int k = 0; k < 3; k++) nm_radio_edge_poll(robots[k].edge, i * 10000000LL);
        nm_players_run(players, 3, (i + 1) * 10000000LL, 1);
        int64_t n = nm_radio_receive(referee, &from, text, sizeof text);
        if (n >= 0) {
            assert_int_equal(n, 6);
            assert_memory_equal(text, "ready!", 6);
            answers++;
        }
        while (nm_radio_receive(count, &from, text, sizeof text) >= 0) messages++;
    }
    for (int k = 0; k < 3; k++) {
        assert_int_equal(heard(&robots[k], 0), 1);
        assert_int_equal(heard(&robots[k], 1), 2); /* of both mates, not of itself */
        robot_free(&robots[k]);
    }
    assert_int_equal(answers, 3);
    assert_int_equal(messages, 3);
    nm_air_free(air);
}

/* On loopback: to all and to 127.0.0.1, and robots hear each other. Nothing is sent beyond this machine. */
static void test_on_the_sockets_of_this_machine(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct robot robots[2];
    struct nm_radio *referee = nm_udp_open(&(struct nm_udp_options){.address = 0x7f000001}, &err);
    if (!referee) fail_msg("%s", err.text);
    for (int i = 0; i < 2; i++) {
        start(&robots[i].s, lineup_text);
        robots[i].edge = nm_radio_edge_udp(robots[i].s.player, false, false, &err);
        if (!robots[i].edge || nm_player_start(robots[i].s.player, &err) || nm_radio_edge_start(robots[i].edge, &err))
            fail_msg("%s", err.text);
    }
    nm_radio_send(referee, (struct nm_air_place){0x7fffffff, 3838}, "set", 3, &err);
    wait_until(heard(&robots[0], 1) >= 2 && heard(&robots[1], 1) >= 2, );
    for (int i = 0; i < 2; i++) assert_true(heard(&robots[i], 0) >= 1);
    for (int i = 0; i < 2; i++) assert_true(heard(&robots[i], 1) >= 2); /* its own broadcast comes back to it */
    uint32_t before = heard(&robots[0], 0) + heard(&robots[1], 0);
    nm_radio_send(referee, (struct nm_air_place){0x7f000001, 3838}, "set", 3, &err); /* as official programs do on lo */
    wait_until(heard(&robots[0], 0) + heard(&robots[1], 0) > before, );
    for (int i = 0; i < 2; i++) robot_free(&robots[i]);
    nm_radio_close(referee);
}

/* What a monitor uses: it hears the game, and its modules' words go nowhere. */
static void test_a_mute_one_sends_nothing(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct robot robots[2];
    struct nm_radio *referee = nm_udp_open(&(struct nm_udp_options){.address = 0x7f000001}, &err);
    if (!referee) fail_msg("%s", err.text);
    for (int i = 0; i < 2; i++) {
        start(&robots[i].s, lineup_text);
        robots[i].edge = nm_radio_edge_udp(robots[i].s.player, false, true, &err);
        if (!robots[i].edge || nm_player_start(robots[i].s.player, &err) || nm_radio_edge_start(robots[i].edge, &err))
            fail_msg("%s", err.text);
    }
    for (uint32_t n = 1; n <= 5; n++) {
        nm_radio_send(referee, (struct nm_air_place){0x7fffffff, 3838}, "set", 3, &err);
        wait_until(heard(&robots[0], 0) >= n && heard(&robots[1], 0) >= n, );
    }
    for (int i = 0; i < 2; i++) assert_int_equal(heard(&robots[i], 1), 0);
    for (int i = 0; i < 2; i++) robot_free(&robots[i]);
    nm_radio_close(referee);
}

/* Who sends without end fills no log, and the referee is heard beside him. */
static void test_a_flood_is_rationed(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_air *air = nm_air_new(&(struct nm_air_options){.seed = 1}, &err);
    struct robot robot;
    struct nm_radio *referee = nm_air_radio(air, (struct nm_air_place){100, 3939}, &err);
    struct nm_radio *vandal = nm_air_radio(air, (struct nm_air_place){66, 3939}, &err);
    struct nm_air_place to = {NM_AIR_ALL, 3838}, from;
    char text[16];
    uint32_t answers = 0;
    start(&robot.s, lineup_text);
    robot.edge = nm_radio_edge_air(robot.s.player, air, 1, &err);
    if (!robot.edge) fail_msg("%s", err.text);
    for (int i = 0; i < 300; i++) {
        int64_t now = i * 10000000LL;
        for (int k = 0; k < 10; k++) nm_radio_send(vandal, to, "flood", 5, &err);
        if (i % 20 == 15) nm_radio_send(referee, to, "ready", 5, &err);
        nm_air_advance(air, now);
        nm_radio_edge_poll(robot.edge, now);
        nm_players_run(&robot.s.player, 1, now + 10000000, 1);
        while (nm_radio_receive(referee, &from, text, sizeof text) >= 0) answers++;
        while (nm_radio_receive(vandal, &from, text, sizeof text) >= 0) continue;
    }
    assert_in_range(answers, 14, 15); /* the last answer may be on its way */
    assert_in_range(heard(&robot, 0), 100, 4 * 50 + 15);
    robot_free(&robot);
    nm_air_free(air);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_the_air_of_a_field),
        cmocka_unit_test(test_on_the_sockets_of_this_machine),
        cmocka_unit_test(test_a_mute_one_sends_nothing),
        cmocka_unit_test(test_a_flood_is_rationed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
