/* A message printed and read back is the same message; a text with a mistake is answered with the place and the remedy.
 */
#include <float.h>
#include <math.h>

#include "made.h"

#include "codec/text.h"
#include "messages.h"

static struct nm_blob_pool *pool;
static const struct nm_type *everything, *album;

static int begin(void **state)
{
    (void)state;
    everything = odd_type(&arena, "Everything");
    album = odd_type(&arena, "Album");
    pool = nm_pool_new(&arena, 64, 8192);
    return everything && album ? 0 : -1;
}

static const struct nm_type *ros(const char *name)
{
    const struct nm_type *type = nm_type_find(&nm_all_types, name);
    if (!type) fail_msg("there is no %s", name);
    return type;
}

static int parse(const struct nm_type *type, void *message, const char *text)
{
    err = (struct nm_err){0};
    return nm_parse_text(type, message, "goal.yaml", text, strlen(text), pool, &err);
}

static void assert_prints(const struct nm_type *type, const void *message, unsigned style, const char *expected)
{
    struct nm_text_out out = {.grows = true};
    nm_print(&out, type, message, style);
    assert_string_equal(out.text, expected);
    assert_int_equal(out.used, strlen(expected));
    free(out.text);
}

static void yaml_reads_like_a_person_would_write_it(void **state)
{
    (void)state;
    const struct nm_type *type = ros("nav_msgs/Path");
    void *path = nm_take(&arena, type->size);
    assert_int_equal(parse(type, path,
                           "header: {stamp: {sec: 3, nanosec: 500}, frame_id: map}\n"
                           "poses:\n  - pose: {position: {x: 1, y: -0.1}}\n  - {}\n"),
                     0);
    assert_prints(type, path, NM_TEXT_YAML,
                  "header:\n"
                  "  stamp: {sec: 3, nanosec: 500}\n"
                  "  frame_id: \"map\"\n"
                  "poses:\n"
                  "  - header:\n"
                  "      stamp: {sec: 0, nanosec: 0}\n"
                  "      frame_id: \"\"\n"
                  "    pose:\n"
                  "      position: {x: 1.0, y: -0.1, z: 0.0}\n"
                  "      orientation: {x: 0.0, y: 0.0, z: 0.0, w: 1.0}\n"
                  "  - header:\n"
                  "      stamp: {sec: 0, nanosec: 0}\n"
                  "      frame_id: \"\"\n"
                  "    pose:\n"
                  "      position: {x: 0.0, y: 0.0, z: 0.0}\n"
                  "      orientation: {x: 0.0, y: 0.0, z: 0.0, w: 1.0}\n");

    const struct nm_type *joints = ros("sensor_msgs/JointState");
    void *state_message = nm_take(&arena, joints->size);
    assert_int_equal(parse(joints, state_message, "name: [neck, 'left knee']\nposition: [0.5, .nan]"), 0);
    assert_prints(joints, state_message, NM_TEXT_YAML,
                  "header:\n  stamp: {sec: 0, nanosec: 0}\n  frame_id: \"\"\n"
                  "name: [\"neck\", \"left knee\"]\nposition: [0.5, .nan]\nvelocity: []\neffort: []\n");
    assert_prints(joints, state_message, NM_TEXT_JSON,
                  "{\"header\":{\"stamp\":{\"sec\":0,\"nanosec\":0},\"frame_id\":\"\"},"
                  "\"name\":[\"neck\",\"left knee\"],\"position\":[0.5,\"NaN\"],\"velocity\":[],\"effort\":[]}");
}

static void an_empty_type_has_no_members_to_show(void **state)
{
    (void)state;
    const struct nm_type *type = ros("std_msgs/Empty");
    void *message = nm_take(&arena, type->size);
    assert_int_equal(parse(type, message, "{}"), 0);
    assert_prints(type, message, NM_TEXT_YAML, "{}");
    assert_prints(type, message, NM_TEXT_JSON, "{}");
}

static void every_message_reads_back_exactly(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < nm_all_types.n + 2; t++) {
        const struct nm_type *type = t < nm_all_types.n ? nm_all_types.at[t] : t == nm_all_types.n ? everything : album;
        void *a = calloc(1, type->size), *b = calloc(1, type->size);
        for (uint64_t seed = t, i = 0; i < 6; i++) {
            nm_reset(type, a);
            random_message(&seed, type, a, pool);
            struct nm_text_out out = {.grows = true};
            nm_print(&out, type, a, (i % 2 ? NM_TEXT_JSON : NM_TEXT_YAML) | NM_TEXT_WHOLE);
            assert_false(out.cut);
            if (out.used <= NM_YAML_SIZE) {
                if (parse(type, b, out.text)) fail_msg("%s: %s\n%s", type->name, err.text, out.text);
                if (nm_compare(type, a, b, 0, NULL, NULL)) fail_msg("%s differs:\n%s", type->name, out.text);
            }
            free(out.text);
        }
        nm_reset(type, a);
        nm_reset(type, b);
        free(a);
        free(b);
    }
    assert_int_equal(pool->used, 0);
}

static void numbers_keep_their_bits(void **state)
{
    (void)state;
    const struct nm_type *type = type_of("float64 d\nfloat32 f\nint64 i\nuint64 u\n");
    struct {
        double d;
        float f;
        int64_t i;
        uint64_t u;
    } m, back;
    assert_int_equal(type->size, sizeof m);
    static const struct {
        double d;
        float f;
        int64_t i;
        uint64_t u;
    } special[] = {{0.1, 0.1f, INT64_MIN, UINT64_MAX},
                   {-0.0, -0.0f, INT64_MAX, 1ull << 63},
                   {DBL_MAX, FLT_MAX, -1, 9007199254740993},
                   {5e-324, 1e-45f, 0, 0},
                   {INFINITY, INFINITY, 1, 1},
                   {-INFINITY, -INFINITY, 1, 1},
                   {1.0 / 3, 1.0f / 3, 1, 1},
                   {DBL_MIN, FLT_MIN, 1, 1},
                   {123456789012345678.0, 16777217.0f, 1, 1},
                   {1e15, 1e6f, 1, 1},
                   {1e22, 1e7f, 1, 1}};
    uint64_t seed = 3;
    for (uint32_t i = 0; i < 2000; i++) {
        if (i < sizeof special / sizeof special[0])
            memcpy(&m, &special[i], sizeof m);
        else {
            memset(&m, 0, sizeof m);
            random_message(&seed, type, (uint8_t *)&m, NULL);
        }
        struct nm_text_out out = {.grows = true};
        nm_print(&out, type, &m, i % 2 ? NM_TEXT_JSON : NM_TEXT_YAML);
        if (parse(type, &back, out.text)) fail_msg("%s in %s", err.text, out.text);
        if (memcmp(&m.d, &back.d, 8) || memcmp(&m.f, &back.f, 4) || m.i != back.i || m.u != back.u)
            fail_msg("%s", out.text);
        free(out.text);
    }
}

static void text_of_any_bytes_stays_valid(void **state)
{
    (void)state;
    const struct nm_type *type = type_of("string s # cap=100\n");
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"plain", "\"plain\""},
        {"a\"b\\c\nd\te\x01\x7f", "\"a\\\"b\\\\c\\nd\\te\\u0001\\u007f\""},
        {"ä€🤖", "\"ä€🤖\""},
        {"\xc2\x85|\xe2\x80\xa8|\xef\xbb\xbf|\xc2\xa0", "\"\\u0085|\\u2028|\\ufeff|\\u00a0\""},
        {"\xff|\xc3|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82",
         "\"\ufffd|\ufffd|\ufffd\ufffd|\ufffd\ufffd\ufffd|\ufffd\ufffd\ufffd\ufffd|\ufffd\ufffd\""},
    };
    char message[128], back[128];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[256];
        strcpy(message, cases[i].text);
        sprintf(expected, "{\"s\":%s}", cases[i].json);
        assert_prints(type, message, NM_TEXT_JSON, expected);
        assert_int_equal(parse(type, back, expected), 0);
        if (i < 4) assert_string_equal(back, message);
    }
}

static void blobs_show_their_beginning(void **state)
{
    (void)state;
    const struct nm_type *type = type_of("uint32 width\nuint8[] data # blob\n");
    void *message = nm_take(&arena, type->size);
    struct nm_place place;
    nm_find(type, message, "data", &place, &err);
    struct nm_blob *blob = place.at;
    assert_prints(type, message, NM_TEXT_YAML, "width: 0\ndata: {n: 0, first: []}\n");
    assert_true(nm_pool_take(pool, blob));
    blob->n = 20;
    for (uint32_t i = 0; i < 20; i++) blob->data[i] = (uint8_t)i;
    assert_prints(type, message, NM_TEXT_YAML,
                  "width: 0\ndata: {n: 20, first: [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}\n");
    assert_prints(type, message, NM_TEXT_JSON,
                  "{\"width\":0,\"data\":{\"n\":20,\"first\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}}");
    assert_prints(type, message, NM_TEXT_YAML | NM_TEXT_WHOLE,
                  "width: 0\ndata: [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]\n");
    nm_reset(type, message);

    assert_int_equal(nm_parse_text(type, message, "x", "data: [1]", 9, NULL, &err), -1); /* no pool */
    assert_int_equal(parse(type, message, "data: {n: 20, first: [0]}"), -1);
    assert_string_equal(err.text, "goal.yaml:1: data: a map, where a list is needed\n");
    assert_int_equal(pool->used, 0);
}

static void places_print_alone(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        unsigned style;
        const char *text;
    } cases[] = {
        {"header.frame_id", NM_TEXT_YAML, "\"map\""},
        {"poses[0].position.x", NM_TEXT_YAML, "1.0"},
        {"poses[0].position", NM_TEXT_YAML, "{x: 1.0, y: 0.0, z: 0.0}"},
        {"poses[0].position", NM_TEXT_JSON, "{\"x\":1.0,\"y\":0.0,\"z\":0.0}"},
        {"header", NM_TEXT_YAML, "stamp: {sec: 0, nanosec: 0}\nframe_id: \"map\"\n"},
        {"poses", NM_TEXT_YAML,
         "- position: {x: 1.0, y: 0.0, z: 0.0}\n  orientation: {x: 0.0, y: 0.0, z: 0.0, w: 1.0}\n"},
        {"poses", NM_TEXT_JSON,
         "[{\"position\":{\"x\":1.0,\"y\":0.0,\"z\":0.0},\"orientation\":{\"x\":0.0,\"y\":0.0,\"z\":0.0,\"w\":1.0}}]"},
    };
    const struct nm_type *type = ros("geometry_msgs/PoseArray");
    void *message = nm_take(&arena, type->size);
    struct nm_place place;
    assert_int_equal(parse(type, message, "header: {frame_id: map}"), 0);
    struct nm_text_out none = {.grows = true};
    nm_find(type, message, "poses", &place, &err);
    nm_print_place(&none, &place, NM_TEXT_YAML);
    assert_string_equal(none.text, "[]");
    free(none.text);
    assert_int_equal(parse(type, message, "header: {frame_id: map}\nposes: [position: {x: 1}]"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nm_text_out out = {.grows = true};
        assert_int_equal(nm_find(type, message, cases[i].path, &place, &err), 0);
        nm_print_place(&out, &place, cases[i].style);
        assert_string_equal(out.text, cases[i].text);
        free(out.text);
    }
}

static void fixed_room_is_never_overrun(void **state)
{
    (void)state;
    void *message = calloc(1, everything->size);
    nm_reset(everything, message);
    struct nm_text_out whole = {.grows = true};
    nm_print(&whole, everything, message, NM_TEXT_YAML);
    for (size_t size = 1; size <= whole.used + 1; size++) {
        struct nm_text_out out = {.text = malloc(size), .size = size};
        nm_print(&out, everything, message, NM_TEXT_YAML);
        assert_int_equal(out.cut, size <= whole.used);
        assert_int_equal(strncmp(out.text, whole.text, out.used), 0);
        assert_int_equal(strlen(out.text), out.used);
        free(out.text);
    }
    free(whole.text);
    free(message);
}

static void members_that_are_not_named_keep_their_defaults(void **state)
{
    (void)state;
    uint8_t *message = nm_take(&arena, everything->size);
    memset(message, 0xa5, everything->size);
    assert_int_equal(parse(everything, message, "u8: 200\ninners: [{id: 3}]\nnumbers: [4, 3, 2, 1]\nbits: []\n"), 0);
    struct nm_place place;
    nm_find(everything, message, "name", &place, &err);
    assert_string_equal(place.at, "home");
    nm_find(everything, message, "inners[0].weight", &place, &err);
    assert_true(*(float *)place.at == 0.5f);
    nm_find(everything, message, "numbers[0]", &place, &err);
    assert_true(*(double *)place.at == 4);

    const struct nm_type *type = type_of("int32[] few [1, 2] # cap=4\n");
    struct {
        uint32_t n;
        int32_t at[4];
    } list;
    assert_int_equal(parse(type, &list, "{}"), 0);
    assert_int_equal(list.n, 2);
    assert_int_equal(parse(type, &list, "few: []"), 0);
    assert_int_equal(list.n, 0);
}

static void mistakes_are_named_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"flag: 1", "goal.yaml:1: flag: '1' is not true or false\n"},
        {"u8: 256", "goal.yaml:1: u8: '256' is not a uint8, 0 to 255\n"},
        {"u8: -1", "is not a uint8"},
        {"i8: -129", "goal.yaml:1: i8: '-129' is not an int8, -128 to 127\n"},
        {"i16: 32768", "is not an int16"},
        {"u16: 65536", "is not a uint16"},
        {"i32: 2147483648", "is not an int32"},
        {"u32: 4294967296", "is not a uint32"},
        {"i64: 9223372036854775808", "is not an int64"},
        {"u64: -1", "is not a uint64"},
        {"u64: 18446744073709551616", "is not a uint64"},
        {"i32: 1.5", "goal.yaml:1: i32: '1.5' is not an int32"},
        {"i32: '1'", "is not an int32"},
        {"f64: fast", "goal.yaml:1: f64: 'fast' is not a number\n"},
        {"f64: 'nan'", "is not a number"},
        {"f32: 1e39", "goal.yaml:1: f32: '1e39' is not a float32, at most 3.4e38\n"},
        {"name: [a]", "goal.yaml:1: name: a list, where a text is needed\n"},
        {"name: abcdefghijklm", "goal.yaml:1: name: a text of 13 bytes, 12 fit\n"},
        {"inners:\n  - words: [abcdef]", "goal.yaml:2: inners[0].words[0]: a text of 6 bytes, 5 fit\n"},
        {"point: 3", "goal.yaml:1: point: '3' is not a map of members\n"},
        {"point: {x: 1,\n  k: 2}", "goal.yaml:2: point: odd_msgs/msg/Point has no member 'k'"},
        {"numbrs: [1]", "goal.yaml:1: odd_msgs/msg/Everything has no member 'numbrs', did you mean 'numbers'?\n"},
        {"numbers: [1, 2]", "goal.yaml:1: numbers: 2 elements, 4 are needed\n"},
        {"octets: [1,2,3,4,5,6,7,8,9,10]", "goal.yaml:1: octets: 10 elements, 9 fit\n"},
        {"few: [1,2,3,4]", "goal.yaml:1: few: 4 elements, 3 fit\n"},
        {"path: {x: 1}", "goal.yaml:1: path: a map, where a list is needed\n"},
        {"mixes:\n  - a: 1\n  - a: 2\n    b: x", "goal.yaml:4: mixes[1].b: 'x' is not a number\n"},
        {"u8: 1\nu8: 2", "goal.yaml:2: key 'u8' stands twice"},
        {"[1]", "goal.yaml:1: a list, where a map of members is needed\n"},
    };
    uint8_t *message = nm_take(&arena, everything->size), *fresh = nm_take(&arena, everything->size);
    nm_reset(everything, fresh);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!parse(everything, message, cases[i].text)) fail_msg("'%s' was taken", cases[i].text);
        if (!strstr(err.text, cases[i].sentence)) fail_msg("'%s' said: %s", cases[i].text, err.text);
        assert_int_equal(nm_compare(everything, message, fresh, 0, NULL, NULL), 0);
    }
    assert_int_equal(parse(everything, message, "u8: 256\ni8: 7\nnme: x\n"), -1);
    assert_int_equal(err.n, 2); /* all mistakes at once */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_reads_like_a_person_would_write_it),
        cmocka_unit_test(an_empty_type_has_no_members_to_show),
        cmocka_unit_test(every_message_reads_back_exactly),
        cmocka_unit_test(numbers_keep_their_bits),
        cmocka_unit_test(text_of_any_bytes_stays_valid),
        cmocka_unit_test(blobs_show_their_beginning),
        cmocka_unit_test(places_print_alone),
        cmocka_unit_test(fixed_room_is_never_overrun),
        cmocka_unit_test(members_that_are_not_named_keep_their_defaults),
        cmocka_unit_test(mistakes_are_named_with_their_place),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
