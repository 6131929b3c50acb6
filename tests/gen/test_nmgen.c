/* nmgen as the build runs it: what it writes compiles without a warning, what did not change is not written again, and
 * a wrong file stops the build with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = NM_BUILD "/nmgen_test_XXXXXX";

static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void put(const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char *get(const char *name)
{
    static char text[65536];
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[n] = '\0';
    return text;
}

static int nmgen(void) { return run("%s/nmgen --out %s/out %s/msg 2>%s/stderr", NM_BUILD, folder, folder, folder); }

static int begin(void **state)
{
    (void)state;
    strcpy(folder, NM_BUILD "/nmgen_test_XXXXXX");
    return mkdtemp(folder) && !run("mkdir -p %s/msg/a_msgs %s/msg/b_msgs", folder, folder) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return run("rm -r %s", folder);
}

static const char everything[] = "# Has all there is, and words that C or a comment would stumble over: */ /* \\\n"
                                 "bool ON=true\n"
                                 "int32 LOW=-2147483648\n"
                                 "uint32 HIGH=4294967295 # too large for an enum\n"
                                 "int64 LOWEST=-9223372036854775808\n"
                                 "uint64 HIGHEST=18446744073709551615\n"
                                 "float32 HALF=0.5\n"
                                 "float64 FAR=inf\n"
                                 "string TEXT=\"a \\\"quoted\\\" \\\\ text ?\?/\"\n"
                                 "int8 register 5 # ends here */ not\n"
                                 "float64 default\n"
                                 "bool linux\n"
                                 "string text \"ü\\t\"\n"
                                 "string[2] texts ['a', 'b'] # len=7\n"
                                 "string[] list # cap=3 len=9\n"
                                 "float32[] numbers [0.25, -1e9]\n"
                                 "uint16[] pixels # blob a picture\n"
                                 "Inner inner\n"
                                 "Inner[] inners\n"
                                 "b_msgs/Inner[3] three\n"
                                 "b_msgs/Inner[<=2] two\n";

static void whatever_it_writes_compiles_without_a_warning(void **state)
{
    (void)state;
    put("msg/a_msgs/Everything.msg", everything);
    put("msg/a_msgs/Inner.msg", "uint8 a 1\nuint64 b\n");
    put("msg/b_msgs/Inner.msg", "# Nothing.\n");
    put("msg/b_msgs/README", "not an interface file\n");
    assert_int_equal(nmgen(), 0);
    put("main.c",
        "#include \"a_msgs/Everything.h\"\n"
        "#include <string.h>\n"
        "static const uint64_t highest = Everything_HIGHEST;\n"
        "static const double far = Everything_FAR;\n"
        "int main(void)\n"
        "{\n"
        "    Everything e = {0};\n"
        "    e.register_ = 1; e.default_ = 2; e.linux_ = true;\n"
        "    a_msgs_Inner *inner = &e.inner; b_msgs_Inner *other = e.three;\n"
        "    e.numbers.n = 1; e.numbers.at[0] = Everything_HALF;\n"
        "    int64_t low = Everything_LOWEST; int32_t less = Everything_LOW; uint32_t high = Everything_HIGH;\n"
        "    return Everything_ON != 1 || strcmp(Everything_TEXT, \"a \\\"quoted\\\" \\\\ text ?\\?/\") ||\n"
        "           low != INT64_MIN || less != INT32_MIN || high != UINT32_MAX || highest != UINT64_MAX ||\n"
        "           far < 1e308 || !inner || !other || Everything_type.n_constants != 8 ||\n"
        "           nm_all_types.n != 3 || strcmp(nm_all_types.at[0]->name, \"a_msgs/msg/Everything\");\n"
        "}\n");
    static const char *const compilers[] = {"gcc", "clang"};
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        if (run("command -v %s >/dev/null", compilers[i])) continue;
        assert_int_equal(
            run("cd %s && %s -std=gnu17 -Wall -Wextra -Wconversion -Wtrigraphs -Werror -I%s/src -Iout main.c "
                "out/a_msgs.c out/b_msgs.c out/all_types.c -o main && ./main",
                folder, compilers[i], NM_ROOT),
            0);
    }
}

static void files_that_do_not_change_are_left_alone(void **state)
{
    (void)state;
    put("msg/a_msgs/A.msg", "int8 a\n");
    put("msg/b_msgs/B.msg", "int8 b\n");
    assert_int_equal(nmgen(), 0);
    assert_int_equal(run("touch -d 2001-01-01 %s/out/*.c %s/out/*/*.h", folder, folder), 0);
    put("msg/b_msgs/B.msg", "int8 b\nint8 c\n");
    assert_int_equal(nmgen(), 0);
    assert_int_equal(run("test $(find %s/out -type f -newermt 2002-01-01 | wc -l) = 2", folder), 0);
    assert_non_null(strstr(get("out/b_msgs/B.h"), "int8_t c;"));
}

static void headers_of_messages_that_are_gone_go_too(void **state)
{
    (void)state;
    put("msg/a_msgs/A.msg", "int8 a\n");
    put("msg/a_msgs/Gone.msg", "int8 a\n");
    assert_int_equal(nmgen(), 0);
    assert_int_equal(run("rm %s/msg/a_msgs/Gone.msg", folder), 0);
    assert_int_equal(nmgen(), 0);
    assert_string_equal(get("out/a_msgs/Gone.h"), "");
    assert_non_null(strstr(get("out/a_msgs/A.h"), "int8_t a;"));
}

static void faults_are_told_all_at_once_and_nothing_is_written(void **state)
{
    (void)state;
    put("msg/a_msgs/A.msg", "int8 a\nint9 b\n");
    put("msg/a_msgs/Ask.srv", "int8 a\n");
    put("msg/b_msgs/B.msg", "\na_msgs/Missing m\n");
    assert_int_equal(nmgen(), 1);
    const char *told = get("stderr");
    assert_non_null(strstr(told, "/msg/a_msgs/A.msg:2: 'int9' is no type; did you mean int8?"));
    assert_non_null(strstr(told, "/msg/a_msgs/Ask.srv:1: a service is a request, a line '---' and a response"));
    assert_non_null(strstr(told, "/msg/b_msgs/B.msg:2: type a_msgs/msg/Missing of field m is unknown"));
    assert_non_null(strstr(told, "nmgen: 3 faults"));
    assert_int_equal(run("test -e %s/out", folder), 1);
}

static void two_files_cannot_share_a_header(void **state)
{
    (void)state;
    put("msg/b_msgs/ServiceEventInfo.msg", "int8 a\n");
    put("msg/a_msgs/Same.msg", "int8 a\n");
    put("msg/a_msgs/Same.srv", "---\n");
    assert_int_equal(run("mv %s/msg/b_msgs %s/msg/service_msgs", folder, folder), 0);
    assert_int_equal(nmgen(), 1);
    assert_non_null(strstr(get("stderr"), "gives the header a_msgs/Same.h; call one of them otherwise"));
}

static void it_explains_itself(void **state)
{
    (void)state;
    assert_int_equal(run("%s/nmgen --help >%s/help", NM_BUILD, folder), 0);
    assert_non_null(strstr(get("help"), "usage: nmgen --out OUT MSGDIR"));
    assert_int_equal(run("%s/nmgen 2>%s/help", NM_BUILD, folder), 2);
    assert_non_null(strstr(get("help"), "usage: nmgen --out OUT MSGDIR"));
    assert_int_equal(run("%s/nmgen --out %s/out %s/nothing 2>%s/stderr", NM_BUILD, folder, folder, folder), 1);
    assert_non_null(strstr(get("stderr"), "/nothing: No such file or directory"));
    assert_int_equal(nmgen(), 1);
    assert_non_null(strstr(get("stderr"), "no <package>/<Type>.msg here"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whatever_it_writes_compiles_without_a_warning, begin, end),
        cmocka_unit_test_setup_teardown(files_that_do_not_change_are_left_alone, begin, end),
        cmocka_unit_test_setup_teardown(headers_of_messages_that_are_gone_go_too, begin, end),
        cmocka_unit_test_setup_teardown(faults_are_told_all_at_once_and_nothing_is_written, begin, end),
        cmocka_unit_test_setup_teardown(two_files_cannot_share_a_header, begin, end),
        cmocka_unit_test_setup_teardown(it_explains_itself, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
