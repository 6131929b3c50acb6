/* A log outlives the definitions it was made with: members are found by name, numbers keep their value or the message
 * is refused. */
#include "made.h"

#include "codec/cdr.h"
#include "codec/cdr_map.h"
#include "messages.h"

enum { ROOM = 1 << 20 };

/* YAML of the old type to YAML of the new one through CDR bytes. */
static void assert_maps(const char *old_text, const char *old, const char *new_text, const char *wanted)
{
    struct made from = made(old_text), to = made(new_text);
    uint8_t *a = calloc(1, from.type->size), *b = calloc(1, to.type->size), cdr[2000];
    struct nm_text_out out = {.grows = true};
    if (nm_parse_text(from.type, a, "old", old, strlen(old), NULL, &err)) fail_msg("%s", err.text);
    int64_t size = nm_cdr_encode(from.type, a, cdr, sizeof cdr);
    int result = nm_map_decode(from.def, to.type, b, cdr, (size_t)size, NULL, &err);
    if (!wanted != (result < 0)) fail_msg("%s -> %s: %s", old, new_text, result ? err.text : "no fault");
    nm_print(&out, to.type, b, NM_TEXT_JSON);
    if (wanted && strcmp(out.text, wanted)) fail_msg("%s -> %s, not %s", old, out.text, wanted);
    if (!wanted) { /* reset after a fault */
        struct nm_text_out reset = {.grows = true};
        nm_reset(to.type, b);
        nm_print(&reset, to.type, b, NM_TEXT_JSON);
        assert_string_equal(out.text, reset.text);
        free(reset.text);
    }
    free(out.text);
    free(a);
    free(b);
}

static void members_are_found_by_name(void **state)
{
    (void)state;
    assert_maps("int32 a\nstring b\nfloat64 c\n", "{a: 3, b: ball, c: 0.5}", "float64 c\nint32 a\nint32 d 7\n",
                "{\"c\":0.5,\"a\":3,\"d\":7}");
    assert_maps("int32 a\nIn[] list\n===\nMSG: t_msgs/In\nint32 gone\nstring x\n",
                "{a: 1, list: [{gone: 1, x: u}, {x: v}]}", "In[] list\n===\nMSG: t_msgs/In\nbool new true\nstring x\n",
                "{\"list\":[{\"new\":true,\"x\":\"u\"},{\"new\":true,\"x\":\"v\"}]}");
    assert_maps("float32[3] p\nint8[] q\n", "{p: [1, 2, 3], q: [4]}", "float64[] p\nint64[2] q\n",
                "{\"p\":[1.0,2.0,3.0],\"q\":[4,0]}");
    assert_maps("string a\nint32 b\n", "{a: x, b: 1}", "int32 a 5\nint32[] b\n", "{\"a\":5,\"b\":[]}");
}

static void numbers_keep_their_value_or_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"int32", "-5", "int8", "-5"},
        {"int32", "-129", "int8", NULL},
        {"int32", "127", "int8", "127"},
        {"int32", "128", "int8", NULL},
        {"int8", "-128", "int64", "-128"},
        {"int64", "-9223372036854775808", "int64", "-9223372036854775808"},
        {"int64", "-9223372036854775808", "uint64", NULL},
        {"uint64", "18446744073709551615", "int64", NULL},
        {"uint64", "9223372036854775807", "int64", "9223372036854775807"},
        {"uint8", "255", "uint16", "255"},
        {"int16", "-1", "uint16", NULL},
        {"bool", "true", "int32", "1"},
        {"int32", "1", "bool", "true"},
        {"int32", "2", "bool", NULL},
        {"float64", "3.0", "int32", "3"},
        {"float64", "-3.0", "uint8", NULL},
        {"float64", "3.5", "int32", NULL},
        {"float64", ".nan", "int32", NULL},
        {"float64", "1e300", "int64", NULL},
        {"float64", "0.1", "float32", "0.1"},
        {"float32", "0.5", "float64", "0.5"},
        {"int64", "-3", "float32", "-3.0"},
        {"float64", ".inf", "float32", "\"Infinity\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char old_text[40], new_text[40], old[60], wanted[60];
        snprintf(old_text, sizeof old_text, "%s x\n", cases[i][0]);
        snprintf(new_text, sizeof new_text, "%s x\n", cases[i][2]);
        snprintf(old, sizeof old, "{x: %s}", cases[i][1]);
        if (cases[i][3]) snprintf(wanted, sizeof wanted, "{\"x\":%s}", cases[i][3]);
        assert_maps(old_text, old, new_text, cases[i][3] ? wanted : NULL);
    }
}

static void what_does_not_fit_refuses_the_message(void **state)
{
    (void)state;
    assert_maps("int32[] a\n", "{a: [1, 2, 3]}", "int32[<=2] a\n", NULL);
    assert_maps("int32[3] a\n", "{a: [1, 2, 3]}", "int32[2] a\n", NULL);
    assert_maps("string a\n", "{a: longer}", "string<=5 a\n", NULL);
}

/* Every type there is into itself: the same as decoding. */
static void the_same_type_comes_over_whole(void **state)
{
    (void)state;
    struct nm_blob_pool *pool = nm_pool_new(&arena, 64, 1024);
    uint8_t *cdr = malloc(ROOM), *again = malloc(ROOM);
    uint64_t seed = 5;
    for (uint32_t t = 0; t < nm_all_types.n; t++) {
        const struct nm_type *type = nm_all_types.at[t];
        struct nm_defs set = {.arena = &arena};
        if (nm_defs_add_merged(&set, "t", type->name, type->schema, strlen(type->schema), &err) ||
            nm_defs_link(&set, &err))
            fail_msg("%s", err.text);
        struct nm_def *def = nm_defs_find(&set, type->name);
        uint8_t *message = calloc(1, type->size), *copy = calloc(1, type->size);
        assert_true(nm_map_same(def, type));
        assert_int_equal(nm_map_explain(def, type, &err), 0);
        random_message(&seed, type, message, pool);
        int64_t size = nm_cdr_encode(type, message, cdr, ROOM);
        if (size > 0) {
            if (nm_map_decode(def, type, copy, cdr, (size_t)size, pool, &err)) fail_msg("%s", err.text);
            assert_int_equal(nm_cdr_encode(type, copy, again, ROOM), size);
            assert_memory_equal(cdr, again, (size_t)size);
        }
        nm_reset(type, message);
        nm_reset(type, copy);
        free(message);
        free(copy);
    }
    assert_int_equal(pool->used, 0);
    free(cdr);
    free(again);
}

static void changes_are_told(void **state)
{
    (void)state;
    struct made old = made("int32 a\nstring b\nfloat64 c\nIn i\n===\nMSG: t_msgs/In\nint32 x\n"),
                new = made("int32 a\nint32 b\nint32 d\nIn i\n===\nMSG: t_msgs/In\nint32 y\n");
    struct nm_err found = {0};
    assert_false(nm_map_same(old.def, new.type));
    assert_true(nm_map_same(old.def, old.type));
    assert_int_equal(nm_map_explain(old.def, new.type, &found), 5);
    assert_string_equal(found.text, "t_msgs/msg/T.b of the log is of another nature now: it keeps its default\n"
                                    "t_msgs/msg/T.c of the log does not exist any more: it is left out\n"
                                    "t_msgs/msg/In.x of the log does not exist any more: it is left out\n"
                                    "t_msgs/msg/In.y is new: it keeps its default\n"
                                    "t_msgs/msg/T.d is new: it keeps its default\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_by_name),
        cmocka_unit_test(numbers_keep_their_value_or_are_refused),
        cmocka_unit_test(what_does_not_fit_refuses_the_message),
        cmocka_unit_test(the_same_type_comes_over_whole),
        cmocka_unit_test(changes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
