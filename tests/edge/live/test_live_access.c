/* A page from elsewhere, a name that is not ours, a token that is nearly right: none of them may write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "edge/live/live_inside.h"

static struct nm_live live;

static void test_names_of_this_machine_are_ours(void **state)
{
    (void)state;
    static const char *const ours[] = {"localhost:8765", "LOCALHOST",      "127.0.0.1:1",
                                       "[::1]:8765",     "192.168.0.7:80", "robot.lan:8765"};
    static const char *const others[] = {"",   ":8765", "evil.example",          "localhost.evil.example:8765", "[::1",
                                         "[]", "[",     "127.0.0.1.evil.example"};
    strcpy(live.host, "robot.lan");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!host_is_ours(&live, ours[i])) fail_msg("%s", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (host_is_ours(&live, others[i])) fail_msg("%s", others[i]);
}

static void test_pages_of_ours_and_those_named_may_write(void **state)
{
    (void)state;
    static const char *const named[] = {"https://viewer.example"};
    static const char *const ours[] = {"", "http://10.0.0.3:8765", "http://localhost:5173", "https://[::1]",
                                       "https://viewer.example"};
    static const char *const others[] = {"null",
                                         "?",
                                         "https://evil.example",
                                         "http://10.0.0.3:9",
                                         "http://localhost.evil.example",
                                         "https://viewer.example.evil",
                                         "http://localhost/x",
                                         "://"};
    live.options.origins = named;
    live.options.n_origins = 1;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!origin_is_ours(&live, ours[i], "10.0.0.3:8765")) fail_msg("%s", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (origin_is_ours(&live, others[i], "10.0.0.3:8765")) fail_msg("%s", others[i]);
}

static void test_only_the_whole_token_is_the_token(void **state)
{
    (void)state;
    strcpy(live.token, "abcdefgh");
    assert_true(token_is_ours(&live, "abcdefgh"));
    static const char *const others[] = {"", "a", "abcdefg", "abcdefghi", "abcdefgH", "bbcdefgh"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(token_is_ours(&live, others[i]));
}

/* The seat for a newcomer when all are taken: the number of the viewer who leaves, -1: nobody does. */
static int leaves(const char *address, bool token, int64_t now)
{
    struct in6_addr peer;
    assert_int_equal(inet_pton(AF_INET6, address, &peer), 1);
    const struct client *client = seat_for(&live, &peer, rank_of(&peer, token), now);
    return client ? (int)(client - live.clients) : -1;
}

static void test_seats_go_to_the_owner_first(void **state)
{
    (void)state;
    static struct client clients[NM_LIVE_CLIENTS];
    static struct connection connections[NM_LIVE_CLIENTS];
    const int64_t second = 1000000000;
    live.clients = clients;
    /* one on this machine, one with the token, three from one address, all others each from its own */
    for (int i = 0; i < NM_LIVE_CLIENTS; i++) {
        char address[40];
        snprintf(address, sizeof address, "::ffff:10.0.0.%d", i < 5 ? 4 : i);
        inet_pton(AF_INET6, i == 0 ? "::ffff:127.0.0.1" : address, &connections[i].peer);
        connections[i].out.file = -1;
        clients[i].connection = &connections[i];
        clients[i].rank = rank_of(&connections[i].peer, i == 1);
    }
    assert_int_equal(clients[0].rank, RANK_LOCAL);
    assert_int_equal(leaves("::ffff:10.0.0.77", false, 0), 2); /* of the address that has three */
    assert_int_equal(leaves("::ffff:10.0.0.4", false, 0), -1); /* which gets no fourth         */
    assert_int_equal(leaves("::1", false, 0), 2);              /* this machine before others    */
    assert_int_equal(leaves("::ffff:10.0.0.77", true, 0), 2);  /* the token before all          */
    clients[9].n_control = 1;                                  /* waits, and is not taken */
    assert_int_equal(leaves("::ffff:10.0.0.77", false, 10 * second), 9);
    assert_int_equal(leaves("::ffff:10.0.0.4", false, 10 * second), 9);
    for (int i = 0; i < NM_LIVE_CLIENTS; i++) clients[i].rank = RANK_TOKEN;
    clients[9].n_control = 0;
    assert_int_equal(leaves("::1", true, 10 * second), -1); /* owners do not push out each other, */
    clients[9].n_control = 1;
    assert_int_equal(leaves("::1", true, 10 * second), 9); /* unless one is gone                 */
    assert_int_equal(leaves("::1", false, 10 * second), -1);
    clients[5].connection = NULL;
    assert_int_equal(leaves("::ffff:10.0.0.4", false, 0), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_this_machine_are_ours),
        cmocka_unit_test(test_pages_of_ours_and_those_named_may_write),
        cmocka_unit_test(test_only_the_whole_token_is_the_token),
        cmocka_unit_test(test_seats_go_to_the_owner_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
