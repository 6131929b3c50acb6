/* A radio that is a socket: the same verbs, on this machine's loopback. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "edge/air/udp.h"

static const uint32_t loopback = 0x7f000001, group = 0xefff2a2a;

static struct nm_radio *open_at(uint16_t port, bool shared)
{
    struct nm_err err = {0};
    struct nm_udp_options options = {.address = 0, .port = port, .shared = shared, .interface = loopback};
    struct nm_radio *radio = nm_udp_open(&options, &err);
    if (!radio) fail_msg("%s", err.text);
    return radio;
}

static int64_t hear(struct nm_radio *radio, struct nm_air_place *from, void *to, size_t room)
{
    struct pollfd fd = {.fd = nm_udp_fd(radio), .events = POLLIN};
    int64_t n = -1;
    while (n < 0) { /* one that was passed over may have woken us */
        assert_int_equal(poll(&fd, 1, 60000), 1);
        n = nm_radio_receive(radio, from, to, room);
    }
    return n;
}

static void test_a_datagram_goes_there_and_back(void **state)
{
    (void)state;
    struct nm_radio *a = open_at(0, false), *b = open_at(0, false);
    struct nm_air_place from, to = {loopback, nm_udp_port(b)};
    char text[64] = "";
    assert_int_equal(nm_radio_receive(b, &from, text, sizeof text), -1); /* nothing is there, and nobody waits */
    assert_int_equal(nm_radio_send(a, to, "pass", 4, NULL), 0);
    assert_int_equal(hear(b, &from, text, sizeof text), 4);
    assert_memory_equal(text, "pass", 4);
    assert_int_equal(from.host, loopback);
    assert_int_equal(from.port, nm_udp_port(a));
    assert_int_equal(nm_radio_send(b, from, "", 0, NULL), 0); /* an empty one is one */
    assert_int_equal(hear(a, &from, text, sizeof text), 0);
    nm_radio_close(a);
    nm_radio_close(b);
}

static void test_a_group_is_heard_by_those_who_joined(void **state)
{
    (void)state;
    struct nm_radio *a = open_at(0, true), *b = open_at(nm_udp_port(a), true);
    struct nm_err err = {0};
    struct nm_air_place from;
    char text[64];
    for (int again = 0; again < 2; again++)
        if (nm_radio_join(b, group, &err)) fail_msg("%s", err.text);
    if (nm_radio_send(a, (struct nm_air_place){group, nm_udp_port(b)}, "all", 3, &err)) fail_msg("%s", err.text);
    assert_int_equal(hear(b, &from, text, sizeof text), 3);
    nm_radio_close(a);
    nm_radio_close(b);
}

static void test_faults_are_said(void **state)
{
    (void)state;
    static uint8_t large[NM_AIR_DATAGRAM + 1];
    struct nm_err err = {0};
    struct nm_radio *a = open_at(0, false);
    struct nm_air_place from, self = {loopback, nm_udp_port(a)};
    char text[8];
    assert_int_equal(nm_radio_send(a, self, large, sizeof large, &err), -1);
    assert_non_null(strstr(err.text, "at most 1472 bytes"));
    assert_int_equal(nm_radio_join(a, loopback, &err), -1);
    assert_non_null(strstr(err.text, "127.0.0.1 is not a multicast group"));
    assert_null(nm_udp_open(&(struct nm_udp_options){.port = nm_udp_port(a)}, &err));
    assert_non_null(strstr(err.text, "cannot listen"));
    /* one that is too long for the reader's room is passed over */
    assert_int_equal(nm_radio_send(a, self, large, 100, &err), 0);
    assert_int_equal(nm_radio_send(a, self, "ok", 2, &err), 0);
    assert_int_equal(hear(a, &from, text, sizeof text), 2);
    nm_radio_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_datagram_goes_there_and_back),
        cmocka_unit_test(test_a_group_is_heard_by_those_who_joined),
        cmocka_unit_test(test_faults_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
