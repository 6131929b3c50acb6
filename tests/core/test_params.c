/* A parameter takes what its table allows and refuses everything else with a sentence that says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/params.h"
#include "core/team.h"

static const struct nm_param *param(const char *name)
{
    struct nm_err err = {0};
    int i = nm_param_find(&ball_filter_module, name, &err);
    if (i < 0) fail_msg("%s", err.text);
    return &ball_filter_params[i];
}

/* from the command line, and from a file */
static int parse(const char *name, const char *text, struct nm_value *value, struct nm_err *err)
{
    *err = (struct nm_err){0};
    return nm_value_parse(param(name), text, value, err);
}

static int node(const char *name, const char *yaml, struct nm_value *value, struct nm_err *err)
{
    struct nm_arena arena = {0};
    char file[200];
    *err = (struct nm_err){0};
    snprintf(file, sizeof file, "%s: %s", name, yaml);
    const struct nm_yaml *root = nm_yaml_parse(&arena, "f.yaml", file, strlen(file), err);
    assert_non_null(root);
    int rc = nm_value_node(param(name), nm_yaml_get(root, name), value, err);
    value->file = NULL; /* lies in the arena */
    nm_arena_free(&arena);
    return rc;
}

static void the_default_is_the_tables(void **state)
{
    (void)state;
    struct nm_value v;
    nm_value_default(param("friction"), &v);
    assert_int_equal(v.layer, NM_LAYER_MODULE);
    assert_true(v.number[0] == 0.4);
    nm_value_default(param("samples"), &v);
    assert_int_equal(v.whole, 20);
    nm_value_default(param("rolling"), &v);
    assert_int_equal(v.whole, 1);
    nm_value_default(param("mode"), &v);
    assert_string_equal(v.text, "safe");
    nm_value_default(param("gains"), &v);
    assert_true(v.number[0] == 1 && v.number[1] == 0.5 && v.number[2] == 0.1);
    nm_value_default(param("limits"), &v);
    assert_true(v.number[0] == -3 && v.number[1] == 3);
}

static void what_fits_is_taken(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *printed;
    } good[] = {
        {"friction", "0.35", "0.35"},
        {"friction", "5", "5"},
        {"friction", "0", "0"},
        {"friction", "1e-3", "0.001"},
        {"jump", "0.1", "0.1"},
        {"rolling", "false", "false"},
        {"samples", "1000", "1000"},
        {"samples", "0x10", "16"},
        {"serial", "-1234567890123", "-1234567890123"},
        {"mode", "fast", "fast"},
        {"gains", "[1, 2, 0]", "[1, 2, 0]"},
        {"limits", "[-1.5, .5]", "[-1.5, 0.5]"},
        {"label", "number 9", "number 9"},
        {"label", "Käfer", "Käfer"},
        {"label", "12", "12"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct nm_value a = {0}, b = {0};
        struct nm_err err;
        char text[NM_VALUE_PRINT];
        if (parse(good[i].name, good[i].text, &a, &err)) fail_msg("%s", err.text);
        nm_value_print(param(good[i].name), &a, text, sizeof text);
        assert_string_equal(text, good[i].printed);
        if (node(good[i].name, good[i].text, &b, &err)) fail_msg("%s", err.text);
        assert_true(nm_value_equal(param(good[i].name), &a, &b));
    }
    struct nm_value v = {0};
    struct nm_err err;
    assert_int_equal(parse("gains", "1 2 0", &v, &err), 0); /* without brackets on a command line */
    assert_int_equal(parse("gains", "1,2,0", &v, &err), 0);
    assert_int_equal(parse("label", "", &v, &err), 0);
    assert_int_equal(node("label", "\"\"", &v, &err), 0);
}

static void what_does_not_fit_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *sentence;
    } bad[] = {
        {"friction", "9", "friction: 9 is outside 0 … 5 1/s\n"},
        {"friction", "-0.001", "friction: -0.001 is outside 0 … 5 1/s\n"},
        {"friction", ".nan", "friction: .nan is outside 0 … 5 1/s\n"},
        {"friction", "fast", "friction: 'fast' is not a number\n"},
        {"friction", "true", "friction: 'true' is not a number\n"},
        {"samples", "2.5", "samples: '2.5' is not a whole number\n"},
        {"samples", "0", "samples: 0 is outside 1 … 1000\n"},
        {"samples", "99999999999", "samples: 99999999999 is outside 1 … 1000\n"},
        {"samples", "99999999999999999999", "samples: '99999999999999999999' is not a whole number\n"},
        {"rolling", "1", "rolling: '1' is not true or false\n"},
        {"rolling", "yes", "rolling: 'yes' is not true or false\n"},
        {"mode", "fst", "mode: 'fst' is not among its choices, did you mean 'fast'?\n"},
        {"mode", "reckless", "mode: 'reckless' is not among its choices; there are fast, safe\n"},
        {"gains", "[1, 2]", "gains: 2 numbers are given, 3 needed\n"},
        {"gains", "[1, 2, 0, 0]", "gains: 4 numbers are given, 3 needed\n"},
        {"gains", "[1, 3, 1]", "gains[1]: 3 is outside 0 … 2\n"},
        {"gains", "[1, x, 1]", "gains[1]: 'x' is not a number\n"},
        {"limits", "[-11, 0]", "limits[0]: -11 is outside -10 … 10 m/s\n"},
        {"label", "a label that is far too long for it",
         "label: 'a label that is far too long for it…' is longer than 31 bytes\n"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct nm_value value, before;
        struct nm_err err;
        nm_value_default(param(bad[i].name), &value);
        before = value;
        assert_int_equal(parse(bad[i].name, bad[i].text, &value, &err), -1);
        assert_string_equal(err.text, bad[i].sentence);
        assert_int_equal(node(bad[i].name, bad[i].text, &value, &err), -1);
        assert_string_equal(err.text, bad[i].sentence);
        assert_memory_equal(&value, &before, sizeof value);
    }
}

static void a_file_is_stricter_about_form(void **state)
{
    (void)state;
    static const struct {
        const char *name, *yaml, *sentence;
    } bad[] = {
        {"friction", "\"0.3\"", "friction: \"0.3\" is not a number\n"},
        {"friction", "[0.3]", "friction: a number is needed, not a list\n"},
        {"friction", "", "friction: a number is needed, nothing is given\n"},
        {"label", "", "label: a text is needed, nothing is given\n"},
        {"label", "{a: b}", "label: a text is needed, not a map\n"},
        {"label", "\"two\\nlines\"", "label: a text of one line in UTF-8 is needed\n"},
        {"gains", "1 2 3", "gains: '1 2 3' is not a list of 3 numbers in brackets\n"},
        {"gains", "[1, [2], 0]", "gains[1]: a number is needed, not a list\n"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct nm_value value = {0};
        struct nm_err err;
        assert_int_equal(node(bad[i].name, bad[i].yaml, &value, &err), -1);
        assert_string_equal(err.text, bad[i].sentence);
    }
    struct nm_value value = {0};
    struct nm_err err;
    assert_int_equal(parse("label", "\xff\xfe", &value, &err), -1);
    assert_int_equal(parse("label", "\xc3", &value, &err), -1); /* cut in the middle of a letter */
    assert_int_equal(parse("gains", "[1 2 0", &value, &err), -1);
    assert_string_equal(err.text, "gains: '[1 2 0' is not a list of 3 numbers in brackets\n");
}

/* Whatever bits a member holds, printed and parsed they come back. */
static void print_and_parse_are_inverse(void **state)
{
    (void)state;
    struct nm_param wide = *param("jump"), narrow = *param("friction"), whole = *param("serial");
    wide.min = narrow.min = -INFINITY;
    wide.max = narrow.max = INFINITY;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        struct ball_filter a = {0}, b = {0};
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = seed ^ (seed >> 29);
        memcpy(&a.jump, &bits, 8);
        memcpy(&a.friction, &bits, 4);
        a.serial = (int64_t)bits / 2;
        const struct nm_param *params[] = {&wide, &narrow, &whole};
        for (int k = 0; k < 3; k++) {
            if ((k == 0 && isnan(a.jump)) || (k == 1 && isnan(a.friction))) continue;
            struct nm_value out = {0}, in = {0};
            struct nm_err err = {0};
            char text[NM_VALUE_PRINT];
            out.number[0] = k == 0 ? a.jump : (double)a.friction;
            out.whole = a.serial;
            nm_value_print(params[k], &out, text, sizeof text);
            if (nm_value_parse(params[k], text, &in, &err)) fail_msg("%s", err.text);
            assert_true(nm_value_equal(params[k], &out, &in));
            nm_value_store(params[k], &in, &b);
            assert_memory_equal((char *)&b + params[k]->offset, (char *)&a + params[k]->offset, params[k]->size);
        }
    }
}

static void values_reach_the_members_of_the_struct(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"rolling", "false"}, {"samples", "7"},        {"serial", "8000000000"},
                                         {"friction", "0.25"}, {"jump", "2.5"},         {"mode", "fast"},
                                         {"label", "nine"},    {"gains", "1 0.5 0.25"}, {"limits", "-1 1"}};
    struct ball_filter self = {.rolling = true};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) {
        struct nm_value value = {0};
        struct nm_err err;
        assert_int_equal(parse(set[i][0], set[i][1], &value, &err), 0);
        nm_value_store(param(set[i][0]), &value, &self);
    }
    assert_false(self.rolling);
    assert_int_equal(self.samples, 7);
    assert_true(self.serial == 8000000000);
    assert_true(self.friction == 0.25f && self.jump == 2.5);
    assert_string_equal(self.mode, "fast");
    assert_string_equal(self.label, "nine");
    assert_true(self.gains[0] == 1 && self.gains[1] == 0.5f && self.gains[2] == 0.25f);
    assert_true(self.limits[0] == -1 && self.limits[1] == 1);
}

static void an_unknown_parameter_names_the_nearest(void **state)
{
    (void)state;
    struct nm_err err = {0};
    assert_int_equal(nm_param_count(&ball_filter_module), 9);
    assert_int_equal(nm_param_find(&ball_filter_module, "jump", &err), 4);
    assert_int_equal(nm_param_find(&ball_filter_module, "fricton", &err), -1);
    assert_int_equal(nm_param_find(&striker_module, "zeal", &err), -1);
    assert_int_equal(nm_param_find(&walk_module, "speed", &err), -1);
    assert_string_equal(err.text, "module 'ball_filter' has no parameter 'fricton', did you mean 'friction'?\n"
                                  "module 'striker' has no parameter 'zeal'; there is only speed\n"
                                  "module 'walk' has no parameter 'speed', it has none at all\n");
}

static void layers_have_names(void **state)
{
    (void)state;
    assert_string_equal(nm_layer_name(NM_LAYER_MODULE), "module");
    assert_string_equal(nm_layer_name(NM_LAYER_LINEUP), "lineup");
    assert_string_equal(nm_layer_name(NM_LAYER_LIVE), "live");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_the_tables),
        cmocka_unit_test(what_fits_is_taken),
        cmocka_unit_test(what_does_not_fit_is_refused_with_the_reason),
        cmocka_unit_test(a_file_is_stricter_about_form),
        cmocka_unit_test(print_and_parse_are_inverse),
        cmocka_unit_test(values_reach_the_members_of_the_struct),
        cmocka_unit_test(an_unknown_parameter_names_the_nearest),
        cmocka_unit_test(layers_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
