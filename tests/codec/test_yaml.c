/* Configuration is read strictly: what a person meant is understood, what could mean two things is refused with the
 * place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/yaml.h"

static struct nm_arena arena;
static struct nm_err err;

static int begin(void **state)
{
    (void)state;
    arena = (struct nm_arena){0};
    err = (struct nm_err){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

static const struct nm_yaml *parse(const char *text)
{
    return nm_yaml_parse(&arena, "some.yaml", text, strlen(text), &err);
}

static void assert_refused(const char *text, const char *sentence)
{
    err = (struct nm_err){0};
    assert_null(parse(text));
    if (!strstr(err.text, sentence)) fail_msg("'%s' said '%s', not '%s'", text, err.text, sentence);
}

static void a_line_up_becomes_a_tree(void **state)
{
    (void)state;
    const struct nm_yaml *root = parse("# the team\n"
                                       "cycles:\n"
                                       "  motion:\n"
                                       "    period: 8 ms\n"
                                       "    modules: [walk, 'head']\n"
                                       "  vision: {trigger: image}\n");
    assert_non_null(root);
    assert_int_equal(root->kind, NM_YAML_MAP);
    const struct nm_yaml *cycles = nm_yaml_get(root, "cycles");
    assert_int_equal(cycles->n, 2);
    const struct nm_yaml *motion = nm_yaml_get(cycles, "motion");
    assert_string_equal(motion->key, "motion");
    assert_int_equal(motion->line, 3);
    assert_int_equal(motion->column, 3);
    assert_string_equal(motion->file, "some.yaml");
    const struct nm_yaml *modules = nm_yaml_get(motion, "modules");
    assert_int_equal(modules->kind, NM_YAML_LIST);
    const char *names[] = {"walk", "head"};
    int i = 0;
    nm_yaml_each(module, modules)
    {
        assert_string_equal(module->text, names[i]);
        assert_int_equal(module->quoted, i == 1);
        assert_null(module->key);
        i++;
    }
    assert_int_equal(i, 2);
    assert_string_equal(nm_yaml_get(nm_yaml_get(cycles, "vision"), "trigger")->text, "image");
    assert_null(nm_yaml_get(cycles, "sound"));
    assert_null(nm_yaml_get(NULL, "sound"));
    assert_null(nm_yaml_get(modules, "walk"));
    nm_yaml_each(none, NULL) fail_msg("%s", none->text);
}

static void json_is_yaml(void **state)
{
    (void)state;
    const struct nm_yaml *root = parse("{\"a\":1,\"b\":[true,null,-0.5e3],\n\t\"c\":{\"d\":\"x\\ty\\u20ac\\\"\"}}");
    assert_non_null(root);
    double number;
    assert_int_equal(nm_yaml_number(nm_yaml_get(root, "b")->first->next->next, &number, &err), 0);
    assert_true(number == -500);
    assert_string_equal(nm_yaml_get(nm_yaml_get(root, "c"), "d")->text, "x\ty\u20ac\"");
}

static void nothing_reads_as_an_empty_map(void **state)
{
    (void)state;
    const char *nothing[] = {"", "# only a remark\n"};
    for (int i = 0; i < 2; i++) {
        const struct nm_yaml *root = parse(nothing[i]);
        assert_non_null(root);
        assert_int_equal(root->kind, NM_YAML_MAP);
        assert_null(root->first);
    }
    assert_string_equal(nm_yaml_get(parse("modules:\n"), "modules")->text, "");
}

static void what_a_configuration_does_not_need_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_refused("a: 1\nb: &x 2\n", "some.yaml:2: anchors");
    assert_refused("a: &x [1]\n", "some.yaml:1: anchors");
    assert_refused("a: 1\nb: *x\n", "some.yaml:2: aliases");
    assert_refused("a: !!int 3\n", "some.yaml:1: tags");
    assert_refused("a: !mine {b: 1}\n", "some.yaml:1: tags");
    assert_refused("a: 1\n---\nb: 2\n", "some.yaml:2: a second document");
    assert_refused("speed: 1\nkick: 2\nspeed: 3\n", "some.yaml:3: key 'speed' stands twice, first in line 1");
    assert_refused("? [a, b]\n: 1\n", "some.yaml:1: a key must be plain text");
    assert_refused("a: \"x\\0y\"\n", "some.yaml:1: a NUL");
    assert_refused("a: 1\n b: 2\n", "some.yaml:2:");
    assert_refused("a: [1, 2\n", "some.yaml:2:");
    assert_refused("a: 1\nb: \xff\n", "some.yaml:2:");
    assert_refused("\tb: 1\n", "some.yaml:1:");
}

static void doubled_keys_are_found_in_large_maps(void **state)
{
    (void)state;
    char *text = calloc(1, 100000);
    size_t used = 0;
    for (int i = 0; i < 5000; i++) used += (size_t)sprintf(text + used, "k%d: %d\n", i, i);
    assert_non_null(parse(text));
    sprintf(text + used, "k77: 0\n");
    assert_refused(text, "some.yaml:5001: key 'k77' stands twice, first in line 78");
    free(text);
}

static void limits_hold(void **state)
{
    (void)state;
    char deep[2 * NM_YAML_DEPTH + 8] = "";
    for (int i = 0; i < NM_YAML_DEPTH; i++) deep[i] = '[', deep[2 * NM_YAML_DEPTH - 1 - i] = ']';
    assert_non_null(parse(deep));
    memset(deep, '[', NM_YAML_DEPTH + 1);
    memset(deep + NM_YAML_DEPTH + 1, ']', NM_YAML_DEPTH + 1);
    assert_refused(deep, "some.yaml:1: nested too deep");

    size_t size = NM_YAML_SIZE + 1;
    char *text = malloc(size + 1);
    memset(text, ' ', size);
    text[size] = '\0';
    assert_refused(text, "too many (4 MiB are allowed)");
    text[0] = '[';
    for (size_t i = 1; i < 2 * NM_YAML_NODES + 1; i += 2) memcpy(text + i, "1,", 2);
    strcpy(text + 2 * NM_YAML_NODES + 1, "]");
    assert_refused(text, "too many values");
    free(text);
}

static void files_are_read_whole_or_refused(void **state)
{
    (void)state;
    assert_null(nm_yaml_read(&arena, "/nowhere/at/all.yaml", &err));
    assert_non_null(strstr(err.text, "/nowhere/at/all.yaml: No such file"));
    err = (struct nm_err){0};
    assert_null(nm_yaml_read(&arena, "/", &err));
    assert_non_null(strstr(err.text, "/: "));

    char path[] = NM_BUILD "/yaml_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 7\n", 5), 5);
    close(fd);
    int64_t value = 0;
    assert_int_equal(nm_yaml_int(nm_yaml_get(nm_yaml_read(&arena, path, &err), "a"), &value, &err), 0);
    assert_int_equal(value, 7);
    unlink(path);
}

static void unknown_keys_name_the_nearest(void **state)
{
    (void)state;
    const char *names[] = {"friction", "jump"};
    const struct nm_yaml *root = parse("frictoin: 1\njump: 2\nqqqqqqqq: 3\n");
    assert_int_equal(nm_yaml_keys(root, names, 2, &err), -1);
    assert_string_equal(err.text, "some.yaml:1: unknown key 'frictoin', did you mean 'friction'?\n"
                                  "some.yaml:3: unknown key 'qqqqqqqq'\n");
    assert_int_equal(nm_yaml_keys(parse("jump: 2\n"), names, 2, &err), 0);
    err = (struct nm_err){0};
    assert_int_equal(nm_yaml_keys(nm_yaml_get(parse("a: [1]\n"), "a"), names, 2, &err), -1);
    assert_string_equal(err.text, "some.yaml:1: a: a map of keys is needed here\n");
}

static void bools_are_true_and_false_only(void **state)
{
    (void)state;
    bool value = false;
    assert_int_equal(nm_yaml_bool(parse("true"), &value, &err), 0);
    assert_true(value);
    assert_int_equal(nm_yaml_bool(parse("false"), &value, &err), 0);
    assert_false(value);
    const char * not [] = {"yes", "on", "True", "1", "\"true\"", "", "truex", "[true]", "{}"};
    for (size_t i = 0; i < sizeof not / sizeof not [0]; i++) {
        value = true;
        if (nm_yaml_bool(parse(not [i]), &value, NULL) != -1) fail_msg("'%s' passed for a bool", not [i]);
        assert_true(value);
    }
    assert_int_equal(nm_yaml_bool(nm_yaml_get(parse("a: 1\nplay: yes\n"), "play"), &value, &err), -1);
    assert_string_equal(err.text, "some.yaml:2: play: 'yes' is not true or false\n");
}

static void whole_numbers_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"+7", 7},
                {"007", 7},
                {"0x1f", 31},
                {"-0x10", -16},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t value = 99;
        assert_int_equal(nm_yaml_int(parse(good[i].text), &value, &err), 0);
        assert_true(value == good[i].value);
    }
    const char * not [] = {"",
                           "-",
                           "+-1",
                           "1.0",
                           "1e3",
                           "0x",
                           "1_000",
                           "9223372036854775808",
                           "-9223372036854775809",
                           "1 2",
                           "'1'",
                           "[1]",
                           "--1",
                           "0b1",
                           "99999999999999999999999"};
    for (size_t i = 0; i < sizeof not / sizeof not [0]; i++) {
        int64_t value = 99;
        if (nm_yaml_int(parse(not [i]), &value, NULL) != -1) fail_msg("'%s' passed for a whole number", not [i]);
        assert_int_equal(value, 99);
    }
    uint64_t large = 0;
    assert_int_equal(nm_yaml_uint(parse("18446744073709551615"), &large, &err), 0);
    assert_true(large == UINT64_MAX);
    assert_int_equal(nm_yaml_uint(parse("18446744073709551616"), &large, NULL), -1);
    assert_int_equal(nm_yaml_uint(parse("-1"), &large, NULL), -1);
}

static void numbers_are_decimal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1", 1},       {"-0.5", -0.5}, {".5", 0.5},        {"5.", 5},
                {"1e-3", 1e-3}, {"+2E+2", 200}, {".inf", INFINITY}, {"-.inf", -INFINITY}};
    double value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(nm_yaml_number(parse(good[i].text), &value, &err), 0);
        assert_true(value == good[i].value);
    }
    assert_int_equal(nm_yaml_number(parse(".nan"), &value, &err), 0);
    assert_true(isnan(value));
    const char *
        not [] = {"", ".", "-", "1e", "1e999", "nan", "inf", "0x1p3", "1,5", "1 m", "'1'", "[1]", "1.2.3", "e3"};
    for (size_t i = 0; i < sizeof not / sizeof not [0]; i++)
        if (nm_yaml_number(parse(not [i]), &value, NULL) != -1) fail_msg("'%s' passed for a number", not [i]);
}

static void durations_have_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"8 ms", 8000000},    {"2 s", 2000000000},
                {"500 us", 500000},   {"1000 ns", 1000},
                {"0 s", 0},           {"8ms", 8000000},
                {"2.5 ms", 2500000},  {"1e-3 s", 1000000},
                {"0.1 s", 100000000}, {"9007199254740993 ns", 9007199254740993}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ns = -1;
        assert_int_equal(nm_yaml_duration(parse(good[i].text), &ns, &err), 0);
        assert_true(ns == good[i].ns);
    }
    const char *
        not [] = {"", "8", "ms", "-8 ms", "8 m", "8 ms ago", "8 MS", "1e30 s", "'8 ms'", "[8 ms]", ".nan s", "8 m s"};
    for (size_t i = 0; i < sizeof not / sizeof not [0]; i++) {
        int64_t ns = -1;
        if (nm_yaml_duration(parse(not [i]), &ns, NULL) != -1) fail_msg("'%s' passed for a duration", not [i]);
        assert_true(ns == -1);
    }
    int64_t ns;
    nm_yaml_duration(nm_yaml_get(parse("period: 8 parsecs\n"), "period"), &ns, &err);
    assert_string_equal(err.text,
                        "some.yaml:1: period: '8 parsecs' is not a duration such as 8 ms, 2 s, 500 us or 1000 ns\n");
}

static void text_is_any_scalar(void **state)
{
    (void)state;
    const char *text = NULL;
    assert_int_equal(nm_yaml_text(parse("12"), &text, &err), 0);
    assert_string_equal(text, "12");
    assert_int_equal(nm_yaml_text(parse("a: [b]")->first, &text, &err), -1);
    assert_string_equal(err.text, "some.yaml:1: a: a list, where a text is needed\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_up_becomes_a_tree, begin, end),
        cmocka_unit_test_setup_teardown(json_is_yaml, begin, end),
        cmocka_unit_test_setup_teardown(nothing_reads_as_an_empty_map, begin, end),
        cmocka_unit_test_setup_teardown(what_a_configuration_does_not_need_is_refused_with_its_line, begin, end),
        cmocka_unit_test_setup_teardown(doubled_keys_are_found_in_large_maps, begin, end),
        cmocka_unit_test_setup_teardown(limits_hold, begin, end),
        cmocka_unit_test_setup_teardown(files_are_read_whole_or_refused, begin, end),
        cmocka_unit_test_setup_teardown(unknown_keys_name_the_nearest, begin, end),
        cmocka_unit_test_setup_teardown(bools_are_true_and_false_only, begin, end),
        cmocka_unit_test_setup_teardown(whole_numbers_are_exact, begin, end),
        cmocka_unit_test_setup_teardown(numbers_are_decimal, begin, end),
        cmocka_unit_test_setup_teardown(durations_have_a_unit, begin, end),
        cmocka_unit_test_setup_teardown(text_is_any_scalar, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
