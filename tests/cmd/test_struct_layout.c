/* The layout of a module's struct: the same while only code, comments and blanks change, another as soon as anything
 * that the struct is made of does. A wrong "same" would hand a new build memory that it reads wrongly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/struct_layout.h"

/* A module in pieces, each of which a case can replace. */
struct pieces {
    const char *before, *members, *code;
};

static uint64_t layout(struct pieces p)
{
    char text[4096];
    snprintf(text, sizeof text,
             "#include <math.h>\n"
             "%s\n"
             "struct ball_filter {\n    struct nm *nm;\n %s };\n"
             "static void step(struct ball_filter *f)\n{\n %s }\n"
             "#define SELF struct ball_filter\n"
             "static const struct nm_param params[] = {NM_PARAM(gain, 1, 0, 2, \"1\", \"gain\"), {0}};\n",
             p.before ? p.before : "", p.members ? p.members : "float gain;", p.code ? p.code : "f->gain = 1;");
    return layout_of_text(text);
}

#define SAME(a, b)  assert_int_equal(layout((struct pieces)a), layout((struct pieces)b))
#define OTHER(a, b) assert_int_not_equal(layout((struct pieces)a), layout((struct pieces)b))
#define P(...)                                                                                                         \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define M(made, of)                                                                                                    \
    {                                                                                                                  \
        .before = (made), .members = (of)                                                                              \
    }

static void test_code_comments_and_blanks_do_not_count(void **state)
{
    (void)state;
    struct pieces plain = {.members = "float gain; double x[4];"};
    assert_int_not_equal(layout(plain), 0);
    SAME(P(.members = "float gain; double x[4];"), P(.members = "float gain; double x[4];", .code = "f->gain = 2;"));
    SAME(P(.members = "float gain; double x[4];"),
         P(.members = "float gain; /* 1; gain */\n\tdouble x [ 4 ]; // state\n"));
    SAME(P(.members = "float gain;"), P(.members = "float gain;", .before = "static int other(int a) { return a; }"));
    SAME(P(.members = "float gain;"), P(.members = "float gain;", .before = "struct unused { int a; };"));
    SAME(P(.members = "float gain;"), P(.members = "float gain;", .before = "enum { UNUSED = 3 };\n#define ALSO 4"));
}

static void test_every_change_of_a_member_counts(void **state)
{
    (void)state;
    OTHER(P(.members = "float gain;"), P(.members = "double gain;"));
    OTHER(P(.members = "float gain;"), P(.members = "float gain2;"));
    OTHER(P(.members = "float gain; int a;"), P(.members = "int a; float gain;"));
    OTHER(P(.members = "float gain;"), P(.members = "float gain; int a;"));
    OTHER(P(.members = "double x[4];"), P(.members = "double x[5];"));
    OTHER(P(.members = "float gain;"), P(.members = "float *gain;"));
}

static void test_what_it_is_made_of_counts(void **state)
{
    (void)state;
    const char *use = "struct kf4 kf;";
    OTHER(M("struct kf4 { double x[4]; };", use), M("struct kf4 { double x[5]; };", use));
    OTHER(M("struct kf4 { struct row r; };\nstruct row { int a; };", use),
          M("struct kf4 { struct row r; };\nstruct row { char a; };", use));
    SAME(M("struct kf4 { int a; };", use), M("struct kf4 { /* state */ int  a; };", use));
    OTHER(M("enum { N = 4 };", "double x[N];"), M("enum { N = 5 };", "double x[N];"));
    OTHER(M("enum size { A, N = (2 + 2), B };", "double x[N];"), M("enum size { A, N = (2 + 3), B };", "double x[N];"));
    OTHER(M("#define N 4", "double x[N];"), M("#define N 5", "double x[N];"));
    OTHER(M("#define N (M +\\\n 1)\n#define M 3", "double x[N];"),
          M("#define N (M +\\\n 1)\n#define M 4", "double x[N];"));
    OTHER(M("typedef float real;", "real x;"), M("typedef double real;", "real x;"));
    OTHER(M("typedef double mat[9];", "mat x;"), M("typedef double mat[16];", "mat x;"));
    OTHER(M("typedef struct { int a; } thing;", "thing x;"), M("typedef struct { char a; } thing;", "thing x;"));
    OTHER(M("struct __attribute__((aligned(8))) s { int a; };", "struct s x;"),
          M("struct __attribute__((aligned(64))) s { int a; };", "struct s x;"));
    OTHER(M("#define nm_queue(T) struct { T *at; int n; }", "nm_queue(int) q;"),
          M("#define nm_queue(T) struct { T *at; int n, lost; }", "nm_queue(int) q;"));
}

static void test_what_is_only_pointed_at_does_not_count(void **state)
{
    (void)state;
    SAME(M("struct map { int a; };", "struct map *map;"), M("struct map { char a; };", "struct map *map;"));
    SAME(M("typedef struct { int a; } Ball;", "const Ball *seen;"),
         M("typedef struct { char a; } Ball;", "const Ball *seen;"));
    OTHER(M("struct map { int a; };", "struct map *map, copy;"),
          M("struct map { char a; };", "struct map *map, copy;"));
    OTHER(M("struct map { int a; };", "struct map *map; struct map copy;"),
          M("struct map { char a; };", "struct map *map; struct map copy;"));
}

static void test_text_in_quotes_is_no_code(void **state)
{
    (void)state;
    SAME(P(.code = "say(\"struct ball_filter { int a; };\");"), P(.code = "say(\"/* not a comment\");"));
    SAME(P(.code = "f->c = '\"';"), P(.code = "f->c = '{';"));
}

static void test_a_source_without_a_module_has_no_layout(void **state)
{
    (void)state;
    assert_int_equal(layout_of_text("struct a { int b; };"), 0);
    assert_int_equal(layout_of_text(""), 0);
    assert_int_equal(layout_of_file("/nonexistent/x.c", NULL, 0), 0);
}

static void test_half_written_code_is_no_danger(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "#define SELF struct m\nstruct m { int a;",
        "#define SELF struct m\nstruct m { int a[ }; ) } ]",
        "#define SELF struct m\nenum { A, B",
        "#define SELF struct m\ntypedef struct",
        "#define SELF struct m\n/* no end",
        "#define SELF struct m\n\"no end",
        "#define SELF struct\n#define\n#include\n#include \"\n#",
        "#define SELF struct m\nstruct __attribute__((",
        "}}}}{{{{))))((((;;;;",
    };
    for (uint32_t i = 0; i < sizeof broken / sizeof *broken; i++) layout_of_text(broken[i]);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_headers_in_quotes_are_followed(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_layout_XXXXXX", source[64];
    assert_non_null(mkdtemp(folder));
    const char *folders[] = {folder};
    snprintf(source, sizeof source, "%s/m.c", folder);
    write_file(
        folder, "m.c",
        "#include \"kf.h\"\n#include \"m.h\"\n#define SELF struct m\nstruct m { struct nm *nm; struct kf kf; };\n");
    write_file(folder, "m.h", "#include \"m.h\"\nint no_loop;\n");
    write_file(folder, "kf.h", "#include \"size.h\"\nstruct kf { double x[KF_SIZE]; };\n");
    write_file(folder, "size.h", "enum { KF_SIZE = 4 };\n");
    uint64_t before = layout_of_file(source, folders, 1);
    assert_int_not_equal(before, 0);
    write_file(folder, "size.h", "/* larger? */ enum { KF_SIZE = 4 };\nint unrelated;\n");
    assert_int_equal(layout_of_file(source, folders, 1), before);
    write_file(folder, "size.h", "enum { KF_SIZE = 6 };\n");
    assert_int_not_equal(layout_of_file(source, folders, 1), before);
    static const char *const names[] = {"m.c", "m.h", "kf.h", "size.h"};
    for (uint32_t i = 0; i < 4; i++) {
        snprintf(source, sizeof source, "%s/%s", folder, names[i]);
        unlink(source);
    }
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_comments_and_blanks_do_not_count),
        cmocka_unit_test(test_every_change_of_a_member_counts),
        cmocka_unit_test(test_what_it_is_made_of_counts),
        cmocka_unit_test(test_what_is_only_pointed_at_does_not_count),
        cmocka_unit_test(test_text_in_quotes_is_no_code),
        cmocka_unit_test(test_a_source_without_a_module_has_no_layout),
        cmocka_unit_test(test_half_written_code_is_no_danger),
        cmocka_unit_test(test_headers_in_quotes_are_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
