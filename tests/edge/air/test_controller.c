/* The game controller on the air: rates, robots that are alive, monitors, counted messages, and what is not for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "edge/air/controller.h"
#include "edge/air/memory.h"

enum { MS = 1000000, OFFICE = 1, ROBOT = 10, MONITOR = 20 };

struct hall {
    struct nm_air *air;
    struct nm_match match;
    struct nm_controller controller;
    struct nm_radio *robot, *monitor, *forwarded;
    int64_t now;
    uint32_t messages[2], bytes, told;
};

static void message(void *user, uint32_t team, uint32_t bytes)
{
    struct hall *h = user;
    h->messages[team]++;
    h->bytes += bytes;
}

static void told(void *user, uint32_t team, const struct nm_game_return *what)
{
    struct hall *h = user;
    assert_int_equal(team, 1);
    assert_int_equal(what->player, 3);
    h->told++;
}

static struct nm_radio *radio_at(struct hall *h, uint32_t host, uint16_t port)
{
    struct nm_radio *radio = nm_air_radio(h->air, (struct nm_air_place){host, port}, NULL);
    assert_non_null(radio);
    return radio;
}

static void open(struct hall *h, enum nm_game_league league)
{
    memset(h, 0, sizeof *h);
    h->air = nm_air_new(&(struct nm_air_options){.seed = 1}, NULL);
    assert_int_equal(
        nm_match_begin(&h->match, &(struct nm_match_options){.league = league, .team_numbers = {7, 9}}, NULL), 0);
    nm_controller_init(&h->controller, &(struct nm_controller_options){
                                           .all = NM_AIR_ALL,
                                           .control = radio_at(h, OFFICE, 5000),
                                           .returns = radio_at(h, OFFICE, NM_GAME_RETURN_PORT),
                                           .monitors = radio_at(h, OFFICE, NM_GAME_MONITOR_PORT),
                                           .teams = {radio_at(h, OFFICE, 10007), radio_at(h, OFFICE, 10009)},
                                           .message = message,
                                           .told = told,
                                           .user = h});
    h->robot = radio_at(h, ROBOT, NM_GAME_PORT);
    h->monitor = radio_at(h, MONITOR, NM_GAME_PORT);
    h->forwarded = radio_at(h, MONITOR, NM_GAME_FORWARD_PORT);
}

static void run(struct hall *h, int ms)
{
    for (int i = 0; i < ms; i += 10) {
        h->now += 10 * MS;
        nm_air_advance(h->air, h->now);
        nm_match_advance(&h->match, h->now);
        assert_int_equal(nm_controller_poll(&h->controller, &h->match, h->now, NULL), 0);
    }
    nm_air_advance(h->air, h->now);
}

/* Packets that wait for a radio; the last one is left in `packet`. */
static uint32_t hear(struct nm_radio *radio, struct nm_game_packet *packet)
{
    uint8_t bytes[NM_AIR_DATAGRAM];
    struct nm_air_place from;
    uint32_t n = 0;
    for (int64_t size; (size = nm_radio_receive(radio, &from, bytes, sizeof bytes)) >= 0; n++) {
        assert_int_equal(from.host, OFFICE);
        assert_int_equal(nm_game_decode(bytes, (size_t)size, packet), NM_GAME_FINE);
    }
    return n;
}

static void test_two_packets_a_second(void **state)
{
    static const size_t lengths[] = {688, 118, 158};
    (void)state;
    for (int league = 0; league < NM_GAME_LEAGUES; league++) {
        struct hall h;
        struct nm_game_packet p;
        uint8_t bytes[NM_AIR_DATAGRAM];
        struct nm_air_place from;
        open(&h, (enum nm_game_league)league);
        run(&h, 20);
        assert_int_equal(nm_radio_receive(h.robot, &from, bytes, sizeof bytes), lengths[league]);
        run(&h, 10000);
        assert_in_range(hear(h.robot, &p), 19, 20);
        assert_int_equal(p.version, nm_rules[league].version);
        nm_air_free(h.air);
    }
}

/* HSL: at once, then about five at 5 Hz. */
static void test_hurry_when_play_stops(void **state)
{
    struct hall h;
    struct nm_game_packet p;
    (void)state;
    open(&h, NM_GAME_HSL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(nm_match_happen(&h.match, &(struct nm_match_event){.kind = NM_MATCH_READY + i}, NULL), 0);
    run(&h, 1100);
    hear(h.robot, &p);
    assert_int_equal(nm_match_happen(&h.match, &(struct nm_match_event){.kind = NM_MATCH_STOP}, NULL), 0);
    run(&h, 20);
    assert_int_equal(hear(h.robot, &p), 1);
    assert_int_equal(p.stopped, 1);
    run(&h, 1000);
    assert_int_equal(hear(h.robot, &p), 5);
    run(&h, 2000);
    assert_in_range(hear(h.robot, &p), 3, 4);
    nm_air_free(h.air);
}

static void say(struct hall *h, struct nm_radio *from, uint16_t port, const void *bytes, size_t size)
{
    (void)h;
    assert_int_equal(nm_radio_send(from, (struct nm_air_place){OFFICE, port}, bytes, size, NULL), 0);
}

static void test_robots_are_alive(void **state)
{
    struct hall h;
    uint8_t bytes[NM_GAME_RETURN_LONGEST];
    (void)state;
    open(&h, NM_GAME_HSL);
    struct nm_game_return alive = {.version = 4, .team = 9, .player = 3, .ball_age = -1};
    size_t n = nm_game_return_encode(&alive, bytes, sizeof bytes);
    run(&h, 100);
    assert_int_equal(nm_controller_link(&h.controller, 1, 3, h.now), NM_LINK_NEVER);
    say(&h, h.robot, NM_GAME_RETURN_PORT, bytes, n);
    run(&h, 100);
    assert_int_equal(nm_controller_link(&h.controller, 1, 3, h.now), NM_LINK_GOOD);
    assert_int_equal(h.told, 1);
    run(&h, 3000);
    assert_int_equal(nm_controller_link(&h.controller, 1, 3, h.now), NM_LINK_BAD);
    run(&h, 2000);
    assert_int_equal(nm_controller_link(&h.controller, 1, 3, h.now), NM_LINK_OFFLINE);
    /* another team, a number that does not play, another version, anything */
    alive.team = 8;
    say(&h, h.robot, NM_GAME_RETURN_PORT, bytes, nm_game_return_encode(&alive, bytes, sizeof bytes));
    alive.team = 9;
    alive.player = 5;
    say(&h, h.robot, NM_GAME_RETURN_PORT, bytes, nm_game_return_encode(&alive, bytes, sizeof bytes));
    alive.player = 3;
    alive.version = 2;
    say(&h, h.robot, NM_GAME_RETURN_PORT, bytes, nm_game_return_encode(&alive, bytes, sizeof bytes));
    say(&h, h.robot, NM_GAME_RETURN_PORT, "RGrt", 4);
    run(&h, 100);
    assert_int_equal(h.told, 1);
    assert_int_equal(h.controller.invalid, 4);
    nm_air_free(h.air);
}

static void test_monitors_see_the_truth(void **state)
{
    struct hall h;
    struct nm_game_packet p;
    uint8_t bytes[NM_AIR_DATAGRAM], request[NM_GAME_REQUEST];
    struct nm_air_place from;
    (void)state;
    open(&h, NM_GAME_HSL);
    nm_game_request_encode(request);
    say(&h, h.monitor, NM_GAME_MONITOR_PORT, request, sizeof request);
    say(&h, h.robot, NM_GAME_MONITOR_PORT, "what", 4);
    run(&h, 20);
    for (int i = 0; i < 3; i++) nm_match_happen(&h.match, &(struct nm_match_event){.kind = NM_MATCH_READY + i}, NULL);
    hear(h.monitor, &p);
    hear(h.robot, &p);
    run(&h, 1000);
    assert_int_equal(hear(h.robot, &p), 2);
    assert_int_equal(p.state, NM_GAME_SET); /* robots do not know of the whistle */
    uint32_t n = 0, truths = 0;
    for (int64_t size; (size = nm_radio_receive(h.monitor, &from, bytes, sizeof bytes)) >= 0; n++) {
        nm_game_decode(bytes, (size_t)size, &p);
        truths += p.truth;
        if (p.truth) assert_int_equal(p.state, NM_GAME_PLAYING);
    }
    assert_int_equal(truths, 2);
    assert_int_equal(n, 4); /* it listens to what is sent to all, too */
    /* what robots say is forwarded with their address */
    struct nm_game_return alive = {.version = 4, .team = 9, .player = 3, .ball_age = -1};
    size_t size = nm_game_return_encode(&alive, bytes, sizeof bytes);
    say(&h, h.robot, NM_GAME_RETURN_PORT, bytes, size);
    run(&h, 20);
    uint8_t got[64];
    assert_int_equal(nm_radio_receive(h.forwarded, &from, got, sizeof got), 36);
    assert_memory_equal(got, ((uint8_t[]){0, 0, 0, ROBOT}), 4);
    assert_memory_equal(got + 4, bytes, 32);
    /* a robot is no monitor */
    say(&h, h.robot, NM_GAME_MONITOR_PORT, request, sizeof request);
    run(&h, 20);
    assert_int_equal(h.controller.n_monitors, 1);
    say(&h, h.monitor, NM_GAME_RETURN_PORT, bytes, size);
    run(&h, 20);
    assert_int_equal(h.controller.n_monitors, 0);
    nm_air_free(h.air);
}

static void test_team_messages_count(void **state)
{
    struct hall h;
    struct nm_radio *mate;
    (void)state;
    open(&h, NM_GAME_SPL);
    mate = radio_at(&h, ROBOT, 10009);
    for (int i = 0; i < 3; i++)
        assert_int_equal(nm_radio_send(mate, (struct nm_air_place){NM_AIR_ALL, 10009}, "hello", 5, NULL), 0);
    run(&h, 20);
    assert_int_equal(h.messages[0], 0);
    assert_int_equal(h.messages[1], 3);
    assert_int_equal(h.bytes, 15);
    nm_air_free(h.air);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_packets_a_second), cmocka_unit_test(test_hurry_when_play_stops),
        cmocka_unit_test(test_robots_are_alive),     cmocka_unit_test(test_monitors_see_the_truth),
        cmocka_unit_test(test_team_messages_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
