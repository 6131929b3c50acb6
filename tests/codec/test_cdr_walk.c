/* Reading by a definition gives what reading into a struct gives, for every type there is; and broken bytes are
 * sentences. */
#include <math.h>

#include "made.h"

#include "codec/cdr.h"
#include "codec/cdr_walk.h"
#include "codec/mcap_schema.h"
#include "messages.h"

enum { ROOM = 1 << 20 };

static const struct nm_def *def_of(const char *name, const char *text)
{
    struct nm_mcap_schema schema = {1, nm_bytes_of(name), nm_bytes_of("ros2msg"), nm_bytes_of(text)};
    err = (struct nm_err){0};
    const struct nm_def *def = nm_mcap_def(&arena, &schema, &err);
    if (!def) fail_msg("%s", err.text);
    return def;
}

static void every_type_prints_as_its_struct_does(void **state)
{
    (void)state;
    struct nm_blob_pool *pool = nm_pool_new(&arena, 64, 512);
    uint8_t *cdr = malloc(ROOM);
    uint64_t seed = 12;
    for (uint32_t t = 0; t < nm_all_types.n; t++) {
        const struct nm_type *type = nm_all_types.at[t];
        const struct nm_def *def = def_of(type->name, type->schema);
        uint8_t *message = calloc(1, type->size);
        for (int i = 0; i < 4; i++) {
            nm_reset(type, message);
            random_message(&seed, type, message, pool);
            int64_t size = nm_cdr_encode(type, message, cdr, ROOM);
            if (size < 0) continue; /* larger than this */
            for (unsigned style = NM_TEXT_WHOLE; style < NM_TEXT_WHOLE + 2; style++) {
                struct nm_text_out wanted = {.grows = true}, got = {.grows = true};
                nm_print(&wanted, type, message, style);
                if (nm_walk_print(&got, def, cdr, (size_t)size, style, &err)) fail_msg("%s", err.text);
                if (strcmp(wanted.text, got.text)) fail_msg("%s\n%s\nis not\n%s", type->name, got.text, wanted.text);
                free(wanted.text);
                free(got.text);
            }
        }
        nm_reset(type, message);
        free(message);
    }
    free(cdr);
}

static const char odd[] = "uint8 first\nfloat64 wide\nInner[] list\nstring[2] names\nint16[] shorts\nbool yes\n"
                          "uint8[] data\nbuiltin_interfaces/Time stamp\n"
                          "================\nMSG: odd/Inner\nint32 id\nstring text\nfloat32[3] three\n";

/* Written by hand so that paths can be checked against known bytes; in both byte orders. */
struct writer {
    uint8_t bytes[512];
    size_t n;
    bool big;
};

static void put(struct writer *w, uint64_t bits, size_t width)
{
    while ((w->n - 4) % width) w->bytes[w->n++] = 0;
    for (size_t i = 0; i < width; i++) w->bytes[w->n++] = (uint8_t)(bits >> 8 * (w->big ? width - 1 - i : i));
}

static void put_text(struct writer *w, const char *text)
{
    put(w, strlen(text) + 1, 4);
    memcpy(w->bytes + w->n, text, strlen(text) + 1);
    w->n += strlen(text) + 1;
}

static void put_float(struct writer *w, double value, size_t width)
{
    uint64_t bits = 0;
    float single = (float)value;
    if (width == 8)
        memcpy(&bits, &value, 8);
    else
        memcpy(&bits, &single, 4);
    put(w, bits, width);
}

static void put_odd(struct writer *w, bool big)
{
    *w = (struct writer){.n = 4, .big = big};
    w->bytes[1] = !big;
    put(w, 200, 1);
    put_float(w, -2.5, 8);
    put(w, 2, 4);
    for (uint32_t i = 0; i < 2; i++) {
        put(w, (uint64_t)-7 + i, 4);
        put_text(w, i ? "second" : "");
        for (int k = 0; k < 3; k++) put_float(w, k + i * 0.5, 4);
    }
    put_text(w, "left");
    put_text(w, "right");
    put(w, 3, 4);
    for (uint32_t i = 0; i < 3; i++) put(w, (uint64_t)-1 - i, 2);
    put(w, 1, 1);
    put(w, 4, 4);
    for (uint32_t i = 0; i < 4; i++) put(w, 250 + i, 1);
    put(w, 1700000000, 4);
    put(w, 5, 4);
}

static void paths_lead_to_values(void **state)
{
    (void)state;
    static const char *const wanted[][2] = {
        {"first", "200"},
        {"wide", "-2.5"},
        {"list[1].id", "-6"},
        {"list[0].text", "\"\""},
        {"list[1].text", "\"second\""},
        {"list[1].three[2]", "2.5"},
        {"list[1].three", "[0.5,1.5,2.5]"},
        {"names[1]", "\"right\""},
        {"names", "[\"left\",\"right\"]"},
        {"shorts[2]", "-3"},
        {"shorts", "[-1,-2,-3]"},
        {"yes", "true"},
        {"data", "[250,251,252,253]"},
        {"stamp.sec", "1700000000"},
        {"stamp", "{\"sec\":1700000000,\"nanosec\":5}"},
        {"list[0]", "{\"id\":-7,\"text\":\"\",\"three\":[0.0,1.0,2.0]}"},
    };
    const struct nm_def *def = def_of("odd/msg/Odd", odd);
    for (int big = 0; big < 2; big++) {
        struct writer w;
        put_odd(&w, big);
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            struct nm_walk_path path;
            struct nm_text_out out = {.grows = true};
            if (nm_walk_path(def, wanted[i][0], &path, &err)) fail_msg("%s", err.text);
            assert_int_equal(nm_walk_print_at(&out, &path, w.bytes, w.n, NM_TEXT_JSON, &err), 1);
            if (strcmp(out.text, wanted[i][1])) fail_msg("%s is %s, not %s", wanted[i][0], out.text, wanted[i][1]);
            free(out.text);
        }
        struct nm_walk_path path;
        double number;
        const uint8_t *bytes;
        size_t n;
        assert_int_equal(nm_walk_path(def, "list[1].three[1]", &path, &err), 0);
        assert_int_equal(nm_walk_number(&path, w.bytes, w.n, &number, &err), 1);
        assert_true(number == 1.5);
        assert_int_equal(nm_walk_path(def, "list[2].id", &path, &err), 0);
        assert_int_equal(nm_walk_number(&path, w.bytes, w.n, &number, &err), 0); /* there are two */
        assert_int_equal(nm_walk_path(def, "data", &path, &err), 0);
        assert_int_equal(nm_walk_number(&path, w.bytes, w.n, &number, &err), 0);
        assert_int_equal(nm_walk_bytes(&path, w.bytes, w.n, &bytes, &n, &err), 1);
        assert_int_equal(n, 4);
        assert_int_equal(bytes[3], 253);
        assert_int_equal(nm_walk_path(def, "names[0]", &path, &err), 0);
        assert_int_equal(nm_walk_bytes(&path, w.bytes, w.n, &bytes, &n, &err), 1);
        assert_memory_equal(bytes, "left", n);
    }
}

static void a_wrong_path_is_answered_with_the_nearest(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"wid", "odd/msg/Odd has no member 'wid'; did you mean wide?"},
        {"", "has no member ''"},
        {"list.id", "list is a list; say which one: list[0]"},
        {"list[x]", "an index is written as name[3]"},
        {"list[99999999999]", "an index is written as name[3]"},
        {"list[0", "an index is written as name[3]"},
        {"first[0]", "first has no elements"},
        {"names[2]", "names has only 2 elements"},
        {"first.x", "nothing can follow first"},
        {"list[0].", "has no member ''"},
    };
    const struct nm_def *def = def_of("odd/msg/Odd", odd);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct nm_walk_path path;
        err = (struct nm_err){0};
        assert_int_equal(nm_walk_path(def, wrong[i][0], &path, &err), -1);
        if (!strstr(err.text, wrong[i][1])) fail_msg("'%s' is not in: %s", wrong[i][1], err.text);
    }
}

static void bytes_that_end_anywhere_are_a_sentence(void **state)
{
    (void)state;
    const struct nm_def *def = def_of("odd/msg/Odd", odd);
    struct writer w;
    put_odd(&w, false);
    for (size_t size = 0; size < w.n; size++) {
        uint8_t *exact = malloc(size ? size : 1);
        struct nm_text_out out = {.grows = true};
        memcpy(exact, w.bytes, size);
        err = (struct nm_err){0};
        assert_int_equal(nm_walk_print(&out, def, exact, size, NM_TEXT_JSON, &err), -1);
        assert_true(err.n == 1);
        free(out.text);
        free(exact);
    }
    struct nm_text_out out = {.grows = true};
    w.bytes[20] = 255; /* four thousand million elements of the list */
    w.bytes[23] = 255;
    assert_int_equal(nm_walk_print(&out, def, w.bytes, w.n, NM_TEXT_JSON, &err), -1);
    assert_non_null(strstr(err.text, "end inside of list"));
    free(out.text);
}

static void long_sequences_are_shown_by_their_first(void **state)
{
    (void)state;
    const struct nm_def *def = def_of("t/msg/Picture", "uint8[] data\nuint8 end\n");
    uint8_t cdr[4 + 4 + 1000 + 1] = {0, 1, 0, 0, 1000 & 255, 1000 >> 8};
    cdr[sizeof cdr - 1] = 9;
    struct nm_text_out out = {.grows = true};
    assert_int_equal(nm_walk_print(&out, def, cdr, sizeof cdr, NM_TEXT_JSON, &err), 0);
    assert_string_equal(out.text, "{\"data\":{\"n\":1000,\"first\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]},\"end\":9}");
    free(out.text);
}

static void schemas_that_we_cannot_read_are_sentences(void **state)
{
    (void)state;
    struct nm_mcap_schema schema = {1, nm_bytes_of("a/msg/B"), nm_bytes_of("protobuf"), nm_bytes_of("")};
    err = (struct nm_err){0};
    assert_null(nm_mcap_def(&arena, &schema, &err));
    assert_non_null(strstr(err.text, "written as 'protobuf'; we read ros2msg"));
    schema.encoding = nm_bytes_of("ros2msg");
    schema.data = nm_bytes_of("c/Unknown x\n");
    assert_null(nm_mcap_def(&arena, &schema, &err));
    schema.data = nm_bytes_of("int32 a\n---\nint32 b\n");
    assert_null(nm_mcap_def(&arena, &schema, &err));
    schema.name = nm_bytes_of("nonsense");
    schema.data = nm_bytes_of("int32 a\n");
    assert_null(nm_mcap_def(&arena, &schema, &err));
    /* with the known types, written out or not */
    assert_non_null(def_of("a/msg/B", "builtin_interfaces/Duration d\n"));
    assert_non_null(def_of("a/msg/B", "builtin_interfaces/Time t\n===\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 "
                                      "nanosec\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_prints_as_its_struct_does),
        cmocka_unit_test(paths_lead_to_values),
        cmocka_unit_test(a_wrong_path_is_answered_with_the_nearest),
        cmocka_unit_test(bytes_that_end_anywhere_are_a_sentence),
        cmocka_unit_test(long_sequences_are_shown_by_their_first),
        cmocka_unit_test(schemas_that_we_cannot_read_are_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
