/* JSON that we write is JSON whatever the texts in it are, and reads back to what was written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "codec/yaml.h"
#include "codec/json.h"

static struct nm_json json;

static int begin(void **state)
{
    (void)state;
    nm_json_begin(&json, 4096);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_json_end(&json);
    return 0;
}

static void test_commas_stand_between_values_only(void **state)
{
    (void)state;
    nm_json_open(&json, NULL, '{');
    nm_json_whole(&json, "a", -3);
    nm_json_open(&json, "b", '[');
    nm_json_bool(&json, NULL, true);
    nm_json_open(&json, NULL, '{');
    nm_json_close(&json, '}');
    nm_json_text(&json, NULL, NULL);
    nm_json_close(&json, ']');
    nm_json_number(&json, "c", 0.5);
    nm_json_close(&json, '}');
    assert_string_equal(json.text, "{\"a\": -3, \"b\": [true, {}, null], \"c\": 0.5}");
}

static void test_exact_numbers_come_back(void **state)
{
    (void)state;
    static const double values[] = {0.1, 0.5, 1.0 / 3, -2, 1e300, 0.30000000000000004, (double)0.1f};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct nm_json one;
        nm_json_begin(&one, 100);
        nm_json_exact(&one, NULL, values[i]);
        assert_true(strtod(one.text, NULL) == values[i] || (float)strtod(one.text, NULL) == (float)values[i]);
        if ((double)(float)values[i] != values[i]) assert_true(strtod(one.text, NULL) == values[i]);
        assert_true(strlen(one.text) <= 24);
        nm_json_end(&one);
    }
}

static void test_numbers_that_json_has_not_are_null(void **state)
{
    (void)state;
    nm_json_open(&json, NULL, '[');
    nm_json_number(&json, NULL, NAN);
    nm_json_number(&json, NULL, -INFINITY);
    nm_json_number(&json, NULL, 1e300);
    nm_json_whole(&json, NULL, INT64_MIN);
    nm_json_close(&json, ']');
    assert_string_equal(json.text, "[null, null, 1e+300, -9223372036854775808]");
}

static void test_texts_read_back_as_they_were(void **state)
{
    (void)state;
    static const char *const texts[] = {"",       "a \"b\" \\ c", "line\nline\n", "\t\x01\x1f\x7f", "0 … 1 µm 🤖",
                                        "'{[,: #"};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        nm_json_end(&json);
        nm_json_begin(&json, 4096);
        nm_json_open(&json, NULL, '{');
        nm_json_text(&json, "x", texts[i]);
        nm_json_close(&json, '}');
        const struct nm_yaml *map = nm_yaml_parse(&arena, "json", json.text, json.n, &err);
        if (!map) fail_msg("%s: %s", json.text, err.text);
        assert_string_equal(nm_yaml_get(map, "x")->text, texts[i]);
        nm_arena_free(&arena);
    }
}

static void test_bytes_that_are_no_utf8_become_question_marks(void **state)
{
    (void)state;
    nm_json_text(&json, NULL, "a\xff\xc0\xaf\xe2\x82z\xed\xa0\x80\xf5 \xc3");
    assert_string_equal(json.text, "\"a?????z???? ?\"");
}

static void test_what_is_too_much_is_noticed(void **state)
{
    (void)state;
    nm_json_end(&json);
    nm_json_begin(&json, 10);
    nm_json_text(&json, NULL, "12345678");
    assert_false(json.over);
    nm_json_text(&json, NULL, "9");
    assert_true(json.over);
    assert_true(json.n <= 10);
}

static void test_it_grows_to_any_size_below_the_limit(void **state)
{
    (void)state;
    nm_json_end(&json);
    nm_json_begin(&json, 1 << 20);
    nm_json_open(&json, NULL, '[');
    for (int i = 0; i < 20000; i++) nm_json_whole(&json, NULL, i);
    nm_json_close(&json, ']');
    assert_false(json.over);
    assert_int_equal(strlen(json.text), json.n);
    assert_int_equal(json.text[json.n - 1], ']');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commas_stand_between_values_only, begin, end),
        cmocka_unit_test(test_exact_numbers_come_back),
        cmocka_unit_test_setup_teardown(test_numbers_that_json_has_not_are_null, begin, end),
        cmocka_unit_test_setup_teardown(test_texts_read_back_as_they_were, begin, end),
        cmocka_unit_test_setup_teardown(test_bytes_that_are_no_utf8_become_question_marks, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_too_much_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(test_it_grows_to_any_size_below_the_limit, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
