/* Two messages are the same exactly when comparing the structs says so; differences are named, counted and measured;
 * types that differ meet by name. */
#include <math.h>

#include "made.h"

#include "codec/cdr.h"
#include "codec/cdr_compare.h"
#include "codec/text.h"
#include "messages.h"

static size_t cdr_of(const struct made *m, const char *yaml, uint8_t *to, size_t size)
{
    uint8_t *message = calloc(1, m->type->size);
    if (nm_parse_text(m->type, message, "yaml", yaml, strlen(yaml), NULL, &err)) fail_msg("%s", err.text);
    int64_t n = nm_cdr_encode(m->type, message, to, size);
    assert_true(n > 0);
    free(message);
    return (size_t)n;
}

static const struct nm_diff_place *place_of(const struct nm_diff *diff, const char *path)
{
    for (const struct nm_diff_place *place = diff->places; place; place = place->next)
        if (!strcmp(place->path, path)) return place;
    fail_msg("no place %s", path);
    return NULL;
}

static int64_t pair(struct nm_diff *diff, const char *type_a, const char *a, const char *type_b, const char *b)
{
    uint8_t bytes[2][1000];
    struct made x = made(type_a), y = made(type_b);
    size_t n = cdr_of(&x, a, bytes[0], 1000), m = cdr_of(&y, b, bytes[1], 1000);
    diff->arena = &arena;
    return nm_diff_pair(diff, x.def, bytes[0], n, y.def, bytes[1], m, &err);
}

static const char robot[] = "float64 x\nint64 big\nstring name\nfloat32[] joints\nP[2] points\nbuiltin_interfaces/Time "
                            "stamp\nbool up\n"
                            "================================================================================\n"
                            "MSG: t_msgs/P\nfloat32 u\nfloat32 v\n"
                            "================================================================================\n"
                            "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n";

static void test_differences_are_named_and_measured(void **state)
{
    (void)state;
    struct nm_diff diff = {0};
    const char *a = "{x: 1.5, big: 9007199254740993, name: red, joints: [1, 2, 3], points: [{u: 1}, {u: 2}], stamp: "
                    "{sec: 1, nanosec: 999999999}}";
    assert_int_equal(pair(&diff, robot, a, robot, a), 0);
    assert_int_equal(diff.differing, 0);
    const char *b = "{x: 1.25, big: 9007199254740992, name: blue, joints: [1, 2.5, 3, 4], points: [{u: 1}, {u: 2, v: "
                    "2}], stamp: {sec: 2, nanosec: 1}, up: true}";
    assert_int_equal(pair(&diff, robot, a, robot, b), 8);
    assert_string_equal(diff.path, "x");
    assert_string_equal(diff.a, "1.5");
    assert_string_equal(diff.b, "1.25");
    assert_float_equal(place_of(&diff, "x")->largest, 0.25, 0);
    assert_float_equal(place_of(&diff, "big")->largest, 1, 0); /* though both are the same double */
    assert_int_equal(place_of(&diff, "name")->unlike, 1);
    assert_int_equal(place_of(&diff, "joints[]")->differ, 2); /* the length, and an element */
    assert_float_equal(place_of(&diff, "joints[]")->largest, 0.5, 0);
    assert_float_equal(place_of(&diff, "points[].v")->largest, 2, 0);
    assert_float_equal(place_of(&diff, "stamp")->largest, 2e-9, 1e-18);
    assert_int_equal(place_of(&diff, "up")->differ, 1);
    assert_int_equal(diff.messages, 2);
    assert_int_equal(diff.differing, 1);
}

static void test_the_first_difference_keeps_its_index(void **state)
{
    (void)state;
    struct nm_diff diff = {0};
    assert_int_equal(pair(&diff, robot, "{points: [{u: 1}, {u: 2}]}", robot, "{points: [{u: 1}, {u: 3}]}"), 1);
    assert_string_equal(diff.path, "points[1].u");
    diff = (struct nm_diff){0};
    assert_int_equal(pair(&diff, robot, "{joints: [1]}", robot, "{joints: []}"), 1);
    assert_string_equal(diff.path, "joints");
    assert_string_equal(diff.a, "1 elements");
    assert_string_equal(diff.b, "0 elements");
}

static void test_tolerance_and_what_is_left_out(void **state)
{
    (void)state;
    struct nm_diff diff = {.tolerance = 0.1};
    assert_int_equal(pair(&diff, robot, "{x: 1.0, big: 4}", robot, "{x: 1.05, big: 5}"), 1);
    assert_string_equal(diff.path, "big");
    diff = (struct nm_diff){.leave = (const char *const[]){"points", "x"}, .n_leave = 2};
    assert_int_equal(pair(&diff, robot, "{x: 1.0, points: [{u: 1}, {u: 2}]}", robot, "{x: 2.0}"), 0);
}

static void test_what_is_no_number_equals_itself_only(void **state)
{
    (void)state;
    struct nm_diff diff = {.tolerance = 1e9};
    assert_int_equal(pair(&diff, robot, "{x: .nan}", robot, "{x: .nan}"), 0);
    assert_int_equal(pair(&diff, robot, "{x: .inf}", robot, "{x: .inf}"), 0);
    assert_int_equal(pair(&diff, robot, "{x: .nan}", robot, "{x: 1}"), 1);
    assert_int_equal(pair(&diff, robot, "{x: -.inf}", robot, "{x: .inf}"), 1);
    assert_int_equal(place_of(&diff, "x")->unlike, 2);
    assert_int_equal(pair(&diff, robot, "{x: -0.0}", robot, "{x: 0.0}"), 0);
}

static void test_types_that_changed_meet_by_name(void **state)
{
    (void)state;
    struct nm_diff diff = {0};
    struct nm_err notes = {0};
    const char *old = "int16 speed\nstring gone\nfloat64 x\nint32 odd\nint32[] list",
               *new = "float64 x\nfloat32 speed\nbool[] odd\nint32[] list\nuint8 new";
    const char *a = "{speed: 3, gone: away, x: 1.5, odd: 7, list: [1, 2]}";
    assert_int_equal(pair(&diff, old, a, new, "{speed: 3, x: 1.5, odd: [true], list: [1, 2], new: 9}"), 0);
    assert_int_equal(pair(&diff, old, a, new, "{speed: 3.5, x: 1.5, list: [1, 3]}"), 2);
    assert_string_equal(diff.path, "speed");
    assert_string_equal(diff.b, "3.5");
    assert_float_equal(place_of(&diff, "speed")->largest, 0.5, 0);
    assert_int_equal(nm_diff_types(made(old).def, made(new).def, &notes), 3);
    assert_non_null(strstr(notes.text, "t_msgs/msg/T.gone stands in A only"));
    assert_non_null(strstr(notes.text, "t_msgs/msg/T.odd is of another nature"));
    assert_non_null(strstr(notes.text, "t_msgs/msg/T.new stands in B only"));
}

static void test_broken_bytes_are_told(void **state)
{
    (void)state;
    uint8_t bytes[1000], cut[1000];
    struct made m = made(robot);
    size_t n = cdr_of(&m, "{x: 1, joints: [1, 2]}", bytes, sizeof bytes);
    for (size_t k = 0; k + 1 < n; k++) {
        struct nm_diff diff = {.arena = &arena};
        struct nm_err why = {0};
        memcpy(cut, bytes, k);
        assert_int_equal(nm_diff_pair(&diff, m.def, bytes, n, m.def, cut, k, &why), -1);
        assert_true(why.n > 0);
        assert_int_equal(diff.messages, 0);
    }
}

/* Random messages of every shape; the oracle compares the structs. */
static void test_agrees_with_the_comparison_of_structs(void **state)
{
    (void)state;
    const struct nm_type *type = odd_type(&arena, "Everything");
    struct nm_defs set = {.arena = &arena};
    for (size_t i = 0; i < sizeof odd_types / sizeof odd_types[0]; i++) {
        struct nm_def_source source = {"odd.msg", "odd_msgs",      odd_types[i][0],
                                       NM_MSG,    odd_types[i][1], strlen(odd_types[i][1])};
        assert_int_equal(nm_defs_add(&set, &source, &err), 0);
    }
    assert_int_equal(nm_defs_link(&set, &err), 0);
    const struct nm_def *def = nm_defs_find(&set, "odd_msgs/msg/Everything");
    uint8_t *messages[2] = {calloc(1, type->size), calloc(1, type->size)},
            *bytes[2] = {malloc(1 << 16), malloc(1 << 16)};
    uint64_t seed = 11;
    int same = 0;
    for (int i = 0; i < 2000; i++) {
        struct nm_diff diff = {.arena = &arena};
        int64_t n[2];
        uint64_t before = seed;
        for (int k = 0; k < 2; k++) {
            uint64_t own = i % 4 ? before : seed; /* mostly the same message, with a byte changed */
            nm_reset(type, messages[k]);
            random_message(&own, type, messages[k], NULL);
            seed = own + (uint64_t)k;
            n[k] = nm_cdr_encode(type, messages[k], bytes[k], 1 << 16);
        }
        if (i % 4 > 1) {
            bytes[1][4 + random_below(&seed, (uint32_t)n[1] - 4)] ^= (uint8_t)(1 + random_below(&seed, 255));
            if (nm_cdr_decode(type, messages[1], bytes[1], (size_t)n[1], NULL, NULL)) continue;
        }
        int64_t found = nm_diff_pair(&diff, def, bytes[0], (size_t)n[0], def, bytes[1], (size_t)n[1], &err);
        uint32_t wanted = nm_compare(type, messages[0], messages[1], 0, NULL, NULL);
        if (!found != !wanted) fail_msg("round %d: %lld differences, structs have %u", i, (long long)found, wanted);
        same += !found;
    }
    assert_in_range(same, 200, 1500);
    for (int k = 0; k < 2; k++) free(messages[k]), free(bytes[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences_are_named_and_measured),
        cmocka_unit_test(test_the_first_difference_keeps_its_index),
        cmocka_unit_test(test_tolerance_and_what_is_left_out),
        cmocka_unit_test(test_what_is_no_number_equals_itself_only),
        cmocka_unit_test(test_types_that_changed_meet_by_name),
        cmocka_unit_test(test_broken_bytes_are_told),
        cmocka_unit_test(test_agrees_with_the_comparison_of_structs),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
