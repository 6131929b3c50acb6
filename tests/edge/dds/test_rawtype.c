/* Bytes that are written come out of another participant's reader as they went in, of whatever length. */
#include "edge/dds/wire.h"

#include <signal.h>
#include <sys/wait.h>

static void any_length_arrives_whole(void **state)
{
    static const size_t sizes[] = {4, 5, 6, 7, 8, 324, 65535, 1 << 20};
    int domain = private_domain();
    struct peer a, b;
    (void)state;
    peer_join(&a, domain);
    peer_join(&b, domain);
    dds_entity_t writer = peer_writer(&a, "rt/bytes", "test::msg::dds_::Bytes_", true, NULL);
    dds_entity_t reader = peer_reader(&b, "rt/bytes", "test::msg::dds_::Bytes_", false);
    wait_until(readers_of(writer) == 1, );
    uint8_t *bytes = malloc(1 << 20);
    for (size_t i = 0; i < 1 << 20; i++) bytes[i] = (uint8_t)(i * 7 + i / 251);
    memcpy(bytes, "\0\1\0\0", 4);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(nm_raw_write(writer, bytes, sizes[i]), 0);
        wait_until(peer_take(&b, reader), );
        assert_true(b.samples[0].size >= sizes[i] && b.samples[0].size < sizes[i] + 4);
        assert_memory_equal(b.samples[0].bytes, bytes, sizes[i]);
    }
    free(bytes);
    peer_leave(&a, domain);
    peer_leave(&b, domain);
}

enum { SENT = 100000, KEPT = 1000 };

/* Until it is killed, or its parent is gone: what is written before the two have found each other is lost. */
static void write_for_ever(int domain, const uint8_t *bytes)
{
    struct peer peer;
    peer_join(&peer, domain);
    dds_entity_t writer = peer_writer(&peer, "rt/bytes", "test::msg::dds_::Bytes_", true, NULL);
    for (pid_t parent = getppid(); getppid() == parent; usleep(50000)) {
        nm_raw_write(writer, bytes, KEPT / 2);
        nm_raw_write(writer, bytes, SENT);
    }
    _exit(0);
}

/* Over the network, which is between processes. */
static void a_reader_keeps_no_more_than_it_can_use(void **state)
{
    static uint8_t bytes[SENT];
    int domain = private_domain();
    struct peer peer;
    (void)state;
    for (size_t i = 0; i < SENT; i++) bytes[i] = (uint8_t)(i * 7);
    pid_t child = fork();
    if (!child) write_for_ever(domain, bytes);
    peer_join(&peer, domain);
    dds_qos_t *qos = peer_qos(true, false, NULL);
    dds_entity_t topic = nm_raw_topic_most(peer.participant, "rt/bytes", "test::msg::dds_::Bytes_", KEPT);
    dds_entity_t reader = dds_create_reader(peer.participant, topic, qos, NULL);
    dds_delete_qos(qos);
    for (bool whole = false, cut = false; !whole || !cut;) {
        wait_until(peer_take(&peer, reader), );
        size_t n = peer.samples[0].size;
        assert_true(n == KEPT / 2 || n == KEPT);
        assert_memory_equal(peer.samples[0].bytes, bytes, n);
        whole |= n == KEPT / 2;
        cut |= n == KEPT;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    peer_leave(&peer, domain);
}

static void another_type_name_does_not_match(void **state)
{
    int domain = private_domain();
    struct peer a, b;
    (void)state;
    peer_join(&a, domain);
    peer_join(&b, domain);
    dds_entity_t writer = peer_writer(&a, "rt/x", "test::msg::dds_::One_", true, NULL);
    dds_entity_t good = peer_writer(&a, "rt/y", "test::msg::dds_::One_", true, NULL);
    peer_reader(&b, "rt/x", "test::msg::dds_::Two_", false);
    peer_reader(&b, "rt/y", "test::msg::dds_::One_", false);
    wait_until(readers_of(good) == 1, );
    assert_int_equal(readers_of(writer), 0);
    peer_leave(&a, domain);
    peer_leave(&b, domain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_keeps_no_more_than_it_can_use),
        cmocka_unit_test(any_length_arrives_whole),
        cmocka_unit_test(another_type_name_does_not_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
