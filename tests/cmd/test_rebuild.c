/* From the flags of the program's build to the command that makes a plug-in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/rebuild.h"

static struct nm_arena arena;

static int end(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

static void test_a_command_is_cut_as_a_shell_would(void **state)
{
    (void)state;
    const char *words[8];
    int n = rebuild_split(&arena, " cc  -DA=\\\"x\\\" '-DB=a b' \"-DC=\\\"q\\\" \"d -I/a\\ b ''", words, 8);
    assert_int_equal(n, 6);
    assert_string_equal(words[0], "cc");
    assert_string_equal(words[1], "-DA=\"x\"");
    assert_string_equal(words[2], "-DB=a b");
    assert_string_equal(words[3], "-DC=\"q\" d");
    assert_string_equal(words[4], "-I/a b");
    assert_string_equal(words[5], "");
    assert_int_equal(rebuild_split(&arena, "a b c", words, 2), -1);
    assert_int_equal(rebuild_split(&arena, "  ", words, 2), 0);
    assert_int_equal(rebuild_split(&arena, "'no end", words, 2), 1);
}

static const char commands[] =
    "[{\"directory\": \"/b\", \"command\": \"cc -O2 -Werror -I/t/src -MD -MF x.d -o base.o -c /t/src/base/a.c\",\n"
    "  \"file\": \"/t/src/base/a.c\"},\n"
    " {\"directory\": \"/b\", \"command\": \"ccache gcc -O3 -Werror -I/t/src -DX=\\\\\\\"q\\\\\\\" -o keeper.o -c "
    "/t/src/modules/behavior/keeper.c\", \"file\": \"/t/src/modules/behavior/keeper.c\"}]";

static struct rebuild made(const char *text)
{
    static char folder[] = "/tmp/test_rebuild_XXXXXX";
    char path[64];
    struct rebuild rebuild;
    strcpy(folder, "/tmp/test_rebuild_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/compile_commands.json", folder);
    if (text) {
        FILE *file = fopen(path, "w");
        fputs(text, file);
        fclose(file);
    }
    rebuild_begin(&rebuild, &arena, "/t", folder);
    unlink(path);
    rmdir(folder);
    return rebuild;
}

static const char *joined(const char *const *words)
{
    const char *text = "";
    for (; *words; words++) text = nm_take_format(&arena, "%s%s%s", text, *text ? " " : "", *words);
    return text;
}

static const struct rebuild_files *alone(const char *source)
{
    static struct rebuild_files files;
    files = (struct rebuild_files){.n_sources = 1, .sources = {source}};
    return &files;
}

static void test_a_module_of_the_tree_is_built_with_its_own_flags(void **state)
{
    (void)state;
    const char *words[REBUILD_WORDS];
    struct rebuild rebuild = made(commands);
    assert_int_equal(
        rebuild_command(&rebuild, alone("/t/src/modules/behavior/keeper.c"), "/x/k.1.so", 0xab, words, NULL), 0);
    assert_string_equal(joined(words), "ccache gcc -O3 -I/t/src -DX=\"q\" -fPIC -shared -DNM_PLUGIN -DNM_LAYOUT=0xabu "
                                       "-o /x/k.1.so /t/src/modules/behavior/keeper.c");
}

static void test_a_module_from_outside_is_built_as_one_of_the_tree(void **state)
{
    (void)state;
    const char *words[REBUILD_WORDS];
    struct rebuild rebuild = made(commands);
    assert_int_equal(rebuild_command(&rebuild, alone("/home/me/mine.c"), "/x/m.so", 0, words, NULL), 0);
    assert_string_equal(joined(words), "ccache gcc -O3 -I/t/src -DX=\"q\" -fPIC -shared -DNM_PLUGIN -DNM_LAYOUT=0x0u "
                                       "-o /x/m.so /home/me/mine.c");
}

static void test_without_the_build_s_flags_plain_ones_do(void **state)
{
    (void)state;
    const char *words[REBUILD_WORDS];
    static const char *const files[] = {NULL, "not json: [", "{}", "[]"};
    for (uint32_t i = 0; i < 4; i++) {
        struct rebuild rebuild = made(files[i]);
        assert_int_equal(rebuild_command(&rebuild, alone("/home/me/mine.c"), "/x/m.so", 0, words, NULL), 0);
        assert_non_null(strstr(joined(words), " -I/t/src "));
        assert_non_null(strstr(joined(words), " -shared -DNM_PLUGIN "));
    }
}

/* "a.c b.c | a.h" */
static const char *named(const struct rebuild_files *files)
{
    const char *text = "";
    for (uint32_t i = 0; i < files->n_sources; i++)
        text = nm_take_format(&arena, "%s%s ", text, strrchr(files->sources[i], '/') + 1);
    text = nm_take_format(&arena, "%s|", text);
    for (uint32_t i = 0; i < files->n_headers; i++)
        text = nm_take_format(&arena, "%s %s", text, strrchr(files->headers[i], '/') + 1);
    return text;
}

static void put(const char *folder, const char *name, const char *text)
{
    FILE *file = fopen(nm_take_format(&arena, "%s/%s", folder, name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_all_files_of_a_module_are_found(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_rebuild_XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct rebuild rebuild = made(NULL);
    struct rebuild_files files;
    put(folder, "mine.c", "#include \"mine_parts.h\"\n#include \"core/nm.h\"\nNM_MODULE(mine, \"\")\n");
    put(folder, "mine_parts.h", "#  include \"units.h\"\n");
    put(folder, "units.h", "enum { METRES = 1 };\n");
    put(folder, "mine_step.c", "#include \"mine_parts.h\"\n#include \"deep.h\"\n");
    put(folder, "deep.h", "");
    put(folder, "deep.c", "#include \"deep.h\"\n");
    put(folder, "other.c", "#include \"mine_parts.h\"\nNM_MODULE(other, \"\")\n");
    put(folder, "stranger.c", "#include <math.h>\n");
    put(folder, "test_mine.c", "#include \"mine_parts.h\"\n");
    assert_int_equal(rebuild_find(&rebuild, nm_take_format(&arena, "%s/mine.c", folder), &files, NULL), 0);
    assert_string_equal(named(&files), "mine.c mine_step.c deep.c | mine_parts.h units.h deep.h");
    assert_null(files.newer);
    assert_int_equal(system(nm_take_format(&arena, "rm -r %s", folder)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_command_is_cut_as_a_shell_would, end),
        cmocka_unit_test_teardown(test_a_module_of_the_tree_is_built_with_its_own_flags, end),
        cmocka_unit_test_teardown(test_a_module_from_outside_is_built_as_one_of_the_tree, end),
        cmocka_unit_test_teardown(test_without_the_build_s_flags_plain_ones_do, end),
        cmocka_unit_test_teardown(test_all_files_of_a_module_are_found, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
