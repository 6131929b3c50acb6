/* What the doctor asks of the machine: answers that any machine must give. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/machine.h"

/* Takes a port, which is in use then, and gives it back; whether it is free then. */
static bool free_after_use(bool udp)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    if (!udp) assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    assert_false(machine_port_free(udp, ntohs(address.sin_port)));
    close(fd);
    return machine_port_free(udp, ntohs(address.sin_port));
}

static void test_a_port_in_use_is_not_free(void **state)
{
    (void)state;
    for (int udp = 0; udp < 2; udp++) {
        bool found = false; /* somebody else may have taken one at once, but not one after the other */
        for (int i = 0; i < 5 && !found; i++) found = free_after_use(udp);
        assert_true(found);
    }
}

static void test_programs_are_looked_for_on_the_path(void **state)
{
    (void)state;
    assert_true(machine_program("sh"));
    assert_false(machine_program("no-such-program"));
    setenv("PATH", "::/nonexistent:", 1);
    assert_false(machine_program("sh"));
}

static void test_a_line_of_a_file_comes_without_its_end(void **state)
{
    (void)state;
    char line[64];
    assert_true(strlen(machine_line("/proc/sys/kernel/ostype", line, sizeof line)) > 0);
    assert_null(strchr(line, '\n'));
    assert_string_equal(machine_line("/nonexistent", line, sizeof line), "");
}

static void test_the_cpu_has_a_name_and_no_invented_features(void **state)
{
    (void)state;
    char name[128];
    assert_true(strlen(machine_cpu(name, sizeof name)) > 0);
    assert_false(machine_cpu_has("no_such_feature"));
    assert_false(machine_cpu_has("av"));
}

static void test_no_package_of_an_impossible_name_is_installed(void **state)
{
    (void)state;
    assert_true(machine_package("no such package") <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_port_in_use_is_not_free),
        cmocka_unit_test(test_a_line_of_a_file_comes_without_its_end),
        cmocka_unit_test(test_the_cpu_has_a_name_and_no_invented_features),
        cmocka_unit_test(test_no_package_of_an_impossible_name_is_installed),
        cmocka_unit_test(test_programs_are_looked_for_on_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
