/* Where the sockets are: in a folder that is ours alone, under names that lead nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "edge/control/place.h"

static char runtime[64], folder[256];
static struct nm_err err;

static int begin(void **state)
{
    (void)state;
    memset(&err, 0, sizeof err);
    strcpy(runtime, "/tmp/test_place_XXXXXX");
    return mkdtemp(runtime) ? setenv("XDG_RUNTIME_DIR", runtime, 1) : -1;
}

static int end(void **state)
{
    (void)state;
    rmdir(folder);
    unlink(folder);
    return rmdir(runtime);
}

static void test_the_folder_is_made_for_its_owner_alone(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(nm_control_folder(folder, sizeof folder, false, &err), -1);
    assert_int_equal(nm_control_folder(folder, sizeof folder, true, &err), 0);
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(nm_control_folder(folder, sizeof folder, true, &err), 0);
}

static void test_a_folder_that_others_can_enter_is_refused(void **state)
{
    (void)state;
    assert_int_equal(nm_control_folder(folder, sizeof folder, true, &err), 0);
    chmod(folder, 0755);
    assert_int_equal(nm_control_folder(folder, sizeof folder, true, &err), -1);
    assert_non_null(strstr(err.text, "that nobody else can enter"));
}

static void test_a_link_in_its_place_is_refused(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/nutmeg", runtime);
    assert_int_equal(symlink("/tmp", folder), 0);
    assert_int_equal(nm_control_folder(folder, sizeof folder, true, &err), -1);
}

static void test_names_lead_nowhere_else(void **state)
{
    (void)state;
    struct sockaddr_un address;
    static const char *const bad[] = {"", ".", "..", ".hidden", "a/b", "../x", "a b", "a\n"};
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(nm_control_address("/x", bad[i], &address, &err), -1);
    assert_int_equal(nm_control_address("/x", "robot-1.head_2", &address, &err), 0);
    assert_string_equal(address.sun_path, "/x/robot-1.head_2.sock");
}

static void test_a_path_too_long_for_a_socket_is_refused(void **state)
{
    (void)state;
    struct sockaddr_un address;
    char name[128];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(nm_control_address("/x", name, &address, &err), -1);
    assert_non_null(strstr(err.text, "may have at most 107 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_folder_is_made_for_its_owner_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_a_folder_that_others_can_enter_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_a_link_in_its_place_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_names_lead_nowhere_else, begin, end),
        cmocka_unit_test_setup_teardown(test_a_path_too_long_for_a_socket_is_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
