/* Every legal .msg, .srv and .action is understood; every illegal one gets a sentence with file and line. */
#include "msgdef_set.h"

#include <math.h>

static void fields_have_kind_shape_and_room(void **state)
{
    struct nm_def *def = read_message(*state, "bool a\n"
                                              "byte b\n"
                                              "char c\n"
                                              "float64[9] matrix\n"
                                              "int16[] some # cap=5\n"
                                              "uint8[<=3] few\n"
                                              "string text # cap=31\n"
                                              "string<=12 short_text\n"
                                              "string[] names # cap=7 len=15\n"
                                              "string<=9[<=2] pairs\n"
                                              "string plain\n"
                                              "string[] plains\n"
                                              "uint8[] data # blob\n");
    static const struct {
        const char *name;
        enum nm_kind kind;
        enum nm_shape shape;
        uint32_t cap, len, bound, text_bound;
    } expected[] = {
        {"a", NM_BOOL, NM_ONE, 1, 0, 0, 0},        {"b", NM_BYTE, NM_ONE, 1, 0, 0, 0},
        {"c", NM_UINT8, NM_ONE, 1, 0, 0, 0},       {"matrix", NM_FLOAT64, NM_ARRAY, 9, 0, 0, 0},
        {"some", NM_INT16, NM_SEQ, 5, 0, 0, 0},    {"few", NM_UINT8, NM_SEQ, 3, 0, 3, 0},
        {"text", NM_STRING, NM_ONE, 1, 31, 0, 0},  {"short_text", NM_STRING, NM_ONE, 1, 12, 0, 12},
        {"names", NM_STRING, NM_SEQ, 7, 15, 0, 0}, {"pairs", NM_STRING, NM_SEQ, 2, 9, 2, 9},
        {"plain", NM_STRING, NM_ONE, 1, 63, 0, 0}, {"plains", NM_STRING, NM_SEQ, 16, 31, 0, 0},
        {"data", NM_UINT8, NM_BLOB, 0, 0, 0, 0},
    };
    assert_non_null(def);
    assert_int_equal(def->n_fields, sizeof expected / sizeof *expected);
    for (uint32_t i = 0; i < def->n_fields; i++) {
        const struct nm_def_field *f = &def->fields[i];
        assert_string_equal(f->name, expected[i].name);
        assert_int_equal(f->kind, expected[i].kind);
        assert_int_equal(f->shape, expected[i].shape);
        assert_int_equal(f->cap, expected[i].cap);
        assert_int_equal(f->len, expected[i].len);
        assert_int_equal(f->bound, expected[i].bound);
        assert_int_equal(f->text_bound, expected[i].text_bound);
        assert_int_equal(f->line, i + 1);
    }
}

static void types_are_found_by_every_spelling(void **state)
{
    struct set *s = *state;
    add(s, NM_MSG, "std_msgs", "Header", "string frame_id\n");
    add(s, NM_MSG, "t_msgs", "Inner", "int8 x\n");
    struct nm_def *def = read_message(s, "Header header\nInner a\nt_msgs/Inner b\nt_msgs/msg/Inner[2] c\n");
    assert_non_null(def);
    assert_string_equal(def->fields[0].type, "std_msgs/msg/Header");
    for (int i = 1; i < 4; i++) {
        assert_string_equal(def->fields[i].type, "t_msgs/msg/Inner");
        assert_ptr_equal(def->fields[i].def, nm_defs_find(&s->defs, "t_msgs/msg/Inner"));
    }
}

static void defaults_are_values(void **state)
{
    struct nm_def *def = read_message(*state, "int8 low -128\n"
                                              "uint64 high 0xffffffffffffffff\n"
                                              "int32 padded 007\n"
                                              "bool yes True\n"
                                              "float32 half 5e-1 # a half\n"
                                              "float64 never nan\n"
                                              "string bare hello world   # a comment\n"
                                              "string quoted \"a # and a \\\"quote\\\"\" # a comment\n"
                                              "string single 'it is'\n"
                                              "int16[3] three [1,  -2, 3]\n"
                                              "string[] list [\"a, b\", 'c', bare]\n"
                                              "uint8[] none []\n");
    assert_non_null(def);
    const struct nm_def_field *f = def->fields;
    assert_int_equal(f[0].values->i, -128);
    assert_int_equal((uint64_t)f[1].values->i, UINT64_MAX);
    assert_int_equal(f[2].values->i, 7);
    assert_int_equal(f[3].values->i, 1);
    assert_float_equal(f[4].values->f, 0.5, 0);
    assert_true(isnan(f[5].values->f));
    assert_string_equal(f[6].values->text, "hello world");
    assert_string_equal(f[7].values->text, "a # and a \"quote\"");
    assert_string_equal(f[8].values->text, "it is");
    assert_int_equal(f[9].n_values, 3);
    assert_int_equal(f[9].values[1].i, -2);
    assert_int_equal(f[10].n_values, 3);
    assert_string_equal(f[10].values[0].text, "a, b");
    assert_string_equal(f[10].values[2].text, "bare");
    assert_int_equal(f[11].n_values, 0);
    assert_non_null(f[11].written);
}

static void room_grows_with_a_default(void **state)
{
    struct nm_def *def = read_message(
        *state, "int8[] many [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]\n"
                "string long_text \"0123456789012345678901234567890123456789012345678901234567890123456789\"\n");
    assert_non_null(def);
    assert_int_equal(def->fields[0].cap, 18);
    assert_int_equal(def->fields[1].len, 70);
}

static void constants_are_values(void **state)
{
    struct nm_def *def = read_message(*state, "uint8 RED=1 # cap=no annotation here\n"
                                              "int32 BLUE = -2\n"
                                              "float64 PI=3.5\n"
                                              "string NAME=\"with # inside\" # and a comment\n"
                                              "string BARE= some text # cut here\n"
                                              "string EMPTY=\n"
                                              "uint8 X\t=\t0b101\n"
                                              "int8 field\n");
    assert_non_null(def);
    assert_int_equal(def->n_constants, 7);
    const struct nm_def_constant *c = def->constants;
    assert_int_equal(c[0].value.i, 1);
    assert_string_equal(c[0].comment, "cap=no annotation here");
    assert_int_equal(c[1].value.i, -2);
    assert_float_equal(c[2].value.f, 3.5, 0);
    assert_string_equal(c[3].value.text, "with # inside");
    assert_string_equal(c[4].value.text, "some text");
    assert_string_equal(c[5].value.text, "");
    assert_int_equal(c[6].value.i, 5);
}

static void comments_go_where_they_belong(void **state)
{
    struct nm_def *def = read_message(*state, "# What it is for,\n"
                                              "# in two lines.\n"
                                              "\n"
                                              "# forgotten, a blank line follows\n"
                                              "\n"
                                              "#above the field\n"
                                              "int32[] x  # px, cap=3, along the row\r\n"
                                              "   # indented above y\n"
                                              "\tint32\ty # a blob only where the word comes first\n"
                                              "uint8[] z# blob pixels\n");
    assert_non_null(def);
    assert_string_equal(def->comment, "What it is for,\nin two lines.");
    assert_string_equal(def->fields[0].above, "above the field");
    assert_string_equal(def->fields[0].comment, "px, along the row");
    assert_int_equal(def->fields[0].cap, 3);
    assert_string_equal(def->fields[1].above, "indented above y");
    assert_int_equal(def->fields[1].shape, NM_ONE);
    assert_string_equal(def->fields[2].comment, "pixels");
    assert_int_equal(def->fields[2].shape, NM_BLOB);
}

static void an_empty_message_gets_the_member_of_ros(void **state)
{
    struct nm_def *def = read_message(*state, "# constants only\nuint8 A=1\n");
    assert_non_null(def);
    assert_true(def->empty);
    assert_int_equal(def->n_fields, 1);
    assert_string_equal(def->fields[0].name, "structure_needs_at_least_one_member");
    assert_int_equal(def->fields[0].kind, NM_UINT8);
}

/* A wrong text, and the whole sentence about it. */
static const struct {
    enum nm_interface kind;
    const char *text, *sentence;
} wrong[] = {
    {NM_MSG, "int8 a\nint8\n", "T.msg:2: 'int8' is no field; a line is `type name`"},
    {NM_MSG, "int8 a\n\nint8 a\n", "T.msg:3: field a again; it stands in line 1"},
    {NM_MSG, "int8 Bad\n", "T.msg:1: field name 'Bad': names are lower_case words joined by single underscores"},
    {NM_MSG, "int8 a__b\n", "T.msg:1: field name 'a__b': names are lower_case words joined by single underscores"},
    {NM_MSG, "int8 a_\n", "T.msg:1: field name 'a_': names are lower_case words joined by single underscores"},
    {NM_MSG, "int8 1a\n", "T.msg:1: field name '1a': names are lower_case words joined by single underscores"},
    {NM_MSG, "int8 a-b\n", "T.msg:1: '-b' directly behind the name a"},
    {NM_MSG, "flaot32 x\n",
     "T.msg:1: 'flaot32' is no type; did you mean float32?; types of messages begin with a capital letter"},
    {NM_MSG, "wstring x\n", "T.msg:1: wstring is not supported; use string, which is UTF-8"},
    {NM_MSG, "wstring<=4 x\n", "T.msg:1: wstring is not supported; use string, which is UTF-8"},
    {NM_MSG, "a/b/c/D x\n", "T.msg:1: 'a/b/c/D' is no type; write package/Type"},
    {NM_MSG, "a/idl/D x\n", "T.msg:1: 'a/idl/D' is no type; write package/Type"},
    {NM_MSG, "@optional int8 x\n", "T.msg:1: '@optional' is no type; write package/Type"},
    {NM_MSG, "int8<=3 x\n", "T.msg:1: 'int8<=3': only string has a bound here: string<=N"},
    {NM_MSG, "string<3 x\n", "T.msg:1: 'string<3': only string has a bound here: string<=N"},
    {NM_MSG, "string<=0 x\n", "T.msg:1: '0' is no size; sizes are 1 to 16777216"},
    {NM_MSG, "int8[0] x\n", "T.msg:1: '0' is no size; sizes are 1 to 16777216"},
    {NM_MSG, "int8[-1] x\n", "T.msg:1: '-1' is no size; sizes are 1 to 16777216"},
    {NM_MSG, "int8[<=] x\n", "T.msg:1: '<=' is no size; sizes are 1 to 16777216"},
    {NM_MSG, "int8[99999999] x\n", "T.msg:1: '99999999' is no size; sizes are 1 to 16777216"},
    {NM_MSG, "int8[2 x\n", "T.msg:1: '[2' behind a type; arrays are [N], [] or [<=N]"},
    {NM_MSG, "int8[2][2] x\n", "T.msg:1: '2][2' is no size; sizes are 1 to 16777216"},
    {NM_MSG, "int8 x 128\n", "T.msg:1: 128 does not fit int8"},
    {NM_MSG, "uint8 x -1\n", "T.msg:1: -1 does not fit uint8"},
    {NM_MSG, "uint64 x 18446744073709551616\n", "T.msg:1: 18446744073709551616 does not fit uint64"},
    {NM_MSG, "int32 x 1.5\n", "T.msg:1: 1.5 is no integer"},
    {NM_MSG, "int32 x -\n", "T.msg:1: - is no integer"},
    {NM_MSG, "float32 x 1e40\n", "T.msg:1: 1e40 does not fit float32"},
    {NM_MSG, "float32 x one\n", "T.msg:1: one is no number"},
    {NM_MSG, "bool x maybe\n", "T.msg:1: maybe is no bool; write true or false"},
    {NM_MSG, "string x \"open\n", "T.msg:1: the text \"open has no closing quote"},
    {NM_MSG, "string x \"a\" b\n", "T.msg:1: nothing may follow \"a\" but a comment"},
    {NM_MSG, "int8[2] x [1]\n", "T.msg:1: x has 2 elements but 1 defaults"},
    {NM_MSG, "int8[<=2] x [1, 2, 3]\n", "T.msg:1: x has 3 defaults but room for 2"},
    {NM_MSG, "int8[] x 5\n", "T.msg:1: the default of an array is a list: [1, 2, 3]"},
    {NM_MSG, "int8[] x [1, 2\n", "T.msg:1: the list has no closing bracket"},
    {NM_MSG, "int8[] x [1, 2,]\n", "T.msg:1: the list ends in a comma"},
    {NM_MSG, "string[] x [\"a\" b]\n", "T.msg:1: expected a comma behind \"a\""},
    {NM_MSG, "string<=2 x abc\n", "T.msg:1: x: the default is longer than the 2 bytes that fit"},
    {NM_MSG, "T2 x 5\n", "T.msg:1: '5' behind x: a message as member takes no default"},
    {NM_MSG, "uint8 a=1\n", "T.msg:1: constant name 'a': names are UPPER_CASE words joined by single underscores"},
    {NM_MSG, "uint8 A=1\nuint8 A=2\n", "T.msg:2: constant A again; it stands in line 1"},
    {NM_MSG, "uint8 A=\n", "T.msg:1: constant A has no value"},
    {NM_MSG, "uint8[] A=1\n", "T.msg:1: constant A: constants are primitives or string"},
    {NM_MSG, "uint8 A=300\n", "T.msg:1: 300 does not fit uint8"},
    {NM_MSG, "int8 x # cap=4\n", "T.msg:1: x: cap= is for strings and unfixed arrays"},
    {NM_MSG, "int8[3] x # cap=4\n", "T.msg:1: x: cap= is for strings and unfixed arrays"},
    {NM_MSG, "int8[] x # cap=many\n", "T.msg:1: 'many' is no size; sizes are 1 to 16777216"},
    {NM_MSG, "int8[] x # cap=\n", "T.msg:1: '' is no size; sizes are 1 to 16777216"},
    {NM_MSG, "int8[<=3] x # cap=4\n", "T.msg:1: x: cap=4 exceeds its bound 3"},
    {NM_MSG, "string x # len=4\n", "T.msg:1: x: len= is for arrays of strings; a string has cap="},
    {NM_MSG, "int8[] x # len=4\n", "T.msg:1: x: len= is for arrays of strings"},
    {NM_MSG, "string<=3[] x # len=4\n", "T.msg:1: x: len=4 exceeds its bound 3"},
    {NM_MSG, "string[] x # blob\n", "T.msg:1: x: only an unfixed array of primitives can be a blob"},
    {NM_MSG, "int8[4] x # blob\n", "T.msg:1: x: only an unfixed array of primitives can be a blob"},
    {NM_MSG, "int8[] x # blob cap=3\n", "T.msg:1: x: a blob has no cap, its pool has"},
    {NM_MSG, "int8[] x [1] # blob\n", "T.msg:1: x: a blob has no default"},
    {NM_MSG, "int8 x\n---\nint8 y\n", "T.msg:2: a message has no line '---'"},
    {NM_SRV, "int8 x\n", "T.srv:1: a service is a request, a line '---' and a response"},
    {NM_SRV, "", "T.srv:1: a service is a request, a line '---' and a response"},
    {NM_SRV, "---\nint8 x\n---\n", "T.srv:3: a service is a request, a line '---' and a response"},
    {NM_ACTION, "---\n", "T.action:1: an action is a goal, a result and a feedback with a line '---' between"},
};

static void wrong_texts_get_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        void *fresh;
        begin(&fresh);
        struct set *s = fresh;
        assert_int_equal(add(s, wrong[i].kind, "t_msgs", "T", wrong[i].text), -1);
        char expected[512];
        snprintf(expected, sizeof expected, "%s\n", wrong[i].sentence);
        assert_string_equal(s->err.text, expected);
        assert_int_equal(nm_defs_link(&s->defs, &s->err), -1);
        end(&fresh);
    }
}

static void all_faults_are_told_at_once(void **state)
{
    struct set *s = *state;
    assert_int_equal(add(s, NM_MSG, "t_msgs", "T", "in8 a\nint8 b 1000\nint8 c\nint8 c\n"), -1);
    assert_int_equal(s->err.n, 3);
    assert_non_null(strstr(s->err.text, "T.msg:1:"));
    assert_non_null(strstr(s->err.text, "T.msg:2:"));
    assert_non_null(strstr(s->err.text, "T.msg:4:"));
}

static void names_of_files_are_checked(void **state)
{
    struct set *s = *state;
    assert_int_equal(add(s, NM_MSG, "t_msgs", "lower", "int8 a\n"), -1);
    assert_int_equal(add(s, NM_MSG, "t_msgs", "With_Underscore", "int8 a\n"), -1);
    assert_int_equal(add(s, NM_MSG, "Upper", "T", "int8 a\n"), -1);
    assert_int_equal(s->err.n, 3);
}

static void sizes_are_limited(void **state)
{
    struct set *s = *state;
    size_t size = NM_DEF_TEXT + 1;
    char *text = test_malloc(size + 1);
    memset(text, '\n', size);
    text[size] = '\0';
    assert_int_equal(add(s, NM_MSG, "t_msgs", "T", text), -1);
    assert_string_equal(s->err.text, "T.msg:1: 1048577 bytes; a definition has at most 1048576\n");
    memset(text, 'x', size);
    text[NM_DEF_LINE + 10] = '\0';
    s->err = (struct nm_err){0};
    assert_int_equal(add(s, NM_MSG, "t_msgs", "T", text), -1);
    assert_string_equal(s->err.text, "T.msg:1: line of more than 4096 bytes\n");
    char *to = text;
    for (int i = 0; i <= NM_DEF_FIELDS; i++) to += sprintf(to, "int8 f%d\n", i);
    s->err = (struct nm_err){0};
    assert_int_equal(add(s, NM_MSG, "t_msgs", "T", text), -1);
    assert_string_equal(s->err.text, "T.msg:513: more than 512 fields\n");
    test_free(text);
}

static void zero_bytes_are_refused(void **state)
{
    struct set *s = *state;
    struct nm_def_source source = {"T.msg", "t_msgs", "T", NM_MSG, "int8 a\0b\n", 9};
    assert_int_equal(nm_defs_add(&s->defs, &source, &s->err), -1);
    assert_string_equal(s->err.text, "T.msg:1: a zero byte: this is no text\n");
}

/* merged text */

#define BORDER "================================================================================\n"

static void merged_text_has_sections(void **state)
{
    struct set *s = *state;
    static const char text[] = "# an old one\n"
                               "std_msgs/Header header\n"
                               "Inner[] frameOfROS1 # cap=1000000 is only prose here\n" BORDER "MSG: std_msgs/Header\n"
                               "builtin_interfaces/Time stamp\nstring frame_id\n"
                               "===\nMSG: builtin_interfaces/msg/Time\nint32 sec\nuint32 nanosec\n"
                               "====\nMSG: t_msgs/Inner\n\nbool ok\n";
    assert_int_equal(nm_defs_add_merged(&s->defs, "log", "t_msgs/msg/T", text, sizeof text - 1, &s->err), 0);
    assert_int_equal(nm_defs_link(&s->defs, &s->err), 0);
    assert_int_equal(s->defs.n, 4);
    struct nm_def *def = nm_defs_find(&s->defs, "t_msgs/T");
    assert_non_null(def);
    assert_string_equal(def->fields[1].name, "frameOfROS1");
    assert_int_equal(def->fields[1].cap, 16);
    assert_string_equal(def->fields[1].def->fields[0].name, "ok");
}

static void broken_merged_text_gets_a_sentence(void **state)
{
    (void)state;
    static const char *const texts[][3] = {
        {"t_msgs/T", "int8 a\n===\nint8 b\n",
         "log:3: expected `MSG: package/Type` behind a line of '=', found 'int8 b'\n"},
        {"t_msgs/T", "int8 a\n===\n", "log:3: expected `MSG: package/Type` behind a line of '=', found ''\n"},
        {"t_msgs/T", "int8 a\n===\nMSG: Inner\n",
         "log:3: expected `MSG: package/Type` behind a line of '=', found 'MSG: Inner'\n"},
        {"t_msgs/T", "SomethingElse a\n", "log:1: type t_msgs/msg/SomethingElse of field a is unknown\n"},
        {"t_msgs/T", "int8 a\n===\nMSG: t_msgs/T\nint8 a\n", "log:4: t_msgs/msg/T is defined twice; also at log:1\n"},
        {"T", "int8 a\n", "log:1: 'T' is no type; write package/Type\n"},
        {"t_msgs/T", "int8 a\n===\nMSG: t_msgs/U\nint8 b c d\n", "log:4: c d is no integer\n"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        void *fresh;
        begin(&fresh);
        struct set *s = fresh;
        int result = nm_defs_add_merged(&s->defs, "log", texts[i][0], texts[i][1], strlen(texts[i][1]), &s->err);
        if (!result) result = nm_defs_link(&s->defs, &s->err);
        assert_int_equal(result, -1);
        assert_string_equal(s->err.text, texts[i][2]);
        end(&fresh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fields_have_kind_shape_and_room),
        TEST(types_are_found_by_every_spelling),
        TEST(defaults_are_values),
        TEST(room_grows_with_a_default),
        TEST(constants_are_values),
        TEST(comments_go_where_they_belong),
        TEST(an_empty_message_gets_the_member_of_ros),
        TEST(wrong_texts_get_a_sentence),
        TEST(all_faults_are_told_at_once),
        TEST(names_of_files_are_checked),
        TEST(sizes_are_limited),
        TEST(zero_bytes_are_refused),
        TEST(merged_text_has_sections),
        TEST(broken_merged_text_gets_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
