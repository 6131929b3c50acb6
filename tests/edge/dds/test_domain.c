/* Domains: processes of one machine find each other on the loopback, also where no name can be looked up; what is no
 * domain is refused. */
#include "edge/dds/wire.h"

#include <netdb.h>
#include <signal.h>
#include <sys/wait.h>

/* A machine without an entry for localhost, and without a name server: it stands in for the C library's. Addresses are
 * no names. */
static int names_looked_up;
int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found)
{
    (void)node;
    (void)service;
    (void)hints;
    (void)found;
    names_looked_up++;
    return EAI_NONAME;
}

/* Until it is killed, or its parent is gone. */
static void write_for_ever(int domain)
{
    struct peer peer;
    peer_join(&peer, domain);
    dds_entity_t writer = peer_writer(&peer, "rt/bytes", "test::msg::dds_::Bytes_", true, NULL);
    for (pid_t parent = getppid(); getppid() == parent; usleep(WAIT_US)) nm_raw_write(writer, "\0\1\0\0hello", 9);
    _exit(0);
}

static void two_processes_meet_where_localhost_has_no_entry(void **state)
{
    int domain = private_domain();
    struct addrinfo *found;
    struct peer peer;
    (void)state;
    assert_int_equal(getaddrinfo("localhost", NULL, NULL, &found), EAI_NONAME);
    names_looked_up = 0;
    pid_t child = fork();
    if (!child) write_for_ever(domain);
    peer_join(&peer, domain);
    dds_entity_t reader = peer_reader(&peer, "rt/bytes", "test::msg::dds_::Bytes_", false);
    wait_until(peer_take(&peer, reader), );
    assert_memory_equal(peer.samples[0].bytes, "\0\1\0\0hello", 9);
    assert_int_equal(names_looked_up, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    peer_leave(&peer, domain);
}

static void a_domain_that_does_not_exist_is_refused(void **state)
{
    struct nm_err err = {0};
    (void)state;
    assert_true(nm_domain_join(233, false, &err) < 0);
    assert_non_null(strstr(err.text, "232"));
    setenv("ROS_DOMAIN_ID", "seven", 1);
    assert_int_equal(nm_domain_usual(&err), -1);
    setenv("ROS_DOMAIN_ID", "7", 1);
    assert_int_equal(nm_domain_usual(&err), 7);
    unsetenv("ROS_DOMAIN_ID");
    assert_int_equal(nm_domain_usual(&err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_meet_where_localhost_has_no_entry),
        cmocka_unit_test(a_domain_that_does_not_exist_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
