/* Sentences: one a line, never more than there is room for, and the nearest name for a slip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"

static void each_fault_is_a_line(void **state)
{
    (void)state;
    struct nm_err err = {0};
    assert_int_equal(nm_fail(&err, "one %d", 1), -1);
    nm_fail(&err, "two");
    assert_string_equal(err.text, "one 1\ntwo\n");
    assert_int_equal(err.n, 2);
    assert_int_equal(nm_fail(NULL, "nobody listens"), -1);
    nm_fail(&err, "two");
    nm_fail(&err, "wo");
    nm_fail(&err, "one 1");
    nm_fail(&err, "one 1");
    assert_string_equal(err.text, "one 1\ntwo\nwo\none 1\n"); /* the same sentence twice in a row is one line */
    assert_int_equal(err.n, 6);
}

static void what_finds_no_room_is_counted_in_the_last_line(void **state)
{
    (void)state;
    static struct nm_err err;
    err = (struct nm_err){0};
    for (int i = 0; i < 5000; i++) nm_fail(&err, "fault %d", i);
    assert_int_equal(err.n, 5000);
    assert_true(strlen(err.text) < sizeof err.text);
    char last[64];
    uint32_t lines = 0;
    for (const char *c = err.text; *c; c++) lines += *c == '\n';
    snprintf(last, sizeof last, "… and %u more\n", 5000 - (lines - 1));
    assert_string_equal(err.text + strlen(err.text) - strlen(last), last);
}

static void the_nearest_name_is_found(void **state)
{
    (void)state;
    const char *const names[] = {"friction", "gate", "near_noise", "forget"};
    assert_string_equal(nm_nearest("fricton", names, 4), "friction");
    assert_string_equal(nm_nearest("gat", names, 4), "gate");
    assert_null(nm_nearest("velocity", names, 4));
    assert_null(nm_nearest("x", names, 0));
}

static void test_a_pattern_is_a_part_or_has_stars(void **state)
{
    (void)state;
    assert_true(nm_matches("sensor_msgs/msg/Imu", NULL));
    assert_true(nm_matches("sensor_msgs/msg/Imu", "Imu"));
    assert_true(nm_matches("sensor_msgs/msg/Imu", "*imu"));
    assert_true(nm_matches("sensor_msgs/msg/Imu", "sensor*"));
    assert_false(nm_matches("sensor_msgs/msg/Imu", "Image"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_is_a_line),
        cmocka_unit_test(what_finds_no_room_is_counted_in_the_last_line),
        cmocka_unit_test(the_nearest_name_is_found),
        cmocka_unit_test(test_a_pattern_is_a_part_or_has_stars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
