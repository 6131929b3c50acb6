/* Where the program finds its configuration, and a line-up by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/setup.h"

struct idle {
    struct nm *nm;
};
static void rest(struct idle *m) { (void)m; }
#define SELF struct idle
static const struct nm_port ports[] = {{0}};
NM_MODULE(idle, "Does nothing.", NM_PORTS(ports), .step = NM_CALL(rest))

static char tree[64], before[4096];
static struct setup setup;

static void make(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", tree, path);
    if (!text) {
        assert_int_equal(mkdir(full, 0777), 0);
        return;
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int begin(void **state)
{
    (void)state;
    static const char *const folders[] = {"config", "robots", "lineups", "src", "src/deep"};
    strcpy(tree, "/tmp/test_setup_XXXXXX");
    if (!mkdtemp(tree) || !getcwd(before, sizeof before)) return -1;
    for (uint32_t i = 0; i < sizeof folders / sizeof *folders; i++) make(folders[i], NULL);
    unsetenv("NUTMEG_ROOT");
    return 0;
}

static int end(void **state)
{
    (void)state;
    char command[128];
    setup_end(&setup);
    snprintf(command, sizeof command, "rm -r %s", tree);
    return chdir(before) || system(command);
}

static void test_the_root_is_above_the_folder_one_stands_in(void **state)
{
    (void)state;
    char deep[128];
    snprintf(deep, sizeof deep, "%s/src/deep", tree);
    assert_int_equal(chdir(deep), 0);
    setup_begin(&setup);
    assert_string_equal(setup.root, tree);
}

static void test_the_environment_may_name_another(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    setenv("NUTMEG_ROOT", tree, 1);
    setup_begin(&setup);
    assert_string_equal(setup.root, tree);
}

static void test_elsewhere_it_is_the_tree_of_the_program(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    setup_begin(&setup);
    assert_int_equal(setup.program[0], '/');
    assert_string_not_equal(setup.root, tree);
}

static void test_a_line_up_is_found_by_its_file_or_its_name(void **state)
{
    (void)state;
    struct lineup_flags flags = {0};
    struct nm_err err = {0};
    make("lineups/match.yaml", "cycles:\n  mind:\n    period: 10 ms\n    modules: [idle]\n");
    setenv("NUTMEG_ROOT", tree, 1);
    setup_begin(&setup);
    struct nm_lineup *by_name = setup_lineup(&setup, "match", &flags, &err);
    if (!by_name) fail_msg("%s", err.text);
    struct nm_lineup *by_file = setup_lineup(&setup, by_name->file, &flags, &err);
    assert_non_null(by_file);
    assert_string_equal(by_file->name, "match");
    nm_lineup_free(by_name);
    nm_lineup_free(by_file);
    assert_null(setup_lineup(&setup, "macht", &flags, &err));
    assert_non_null(strstr(err.text, "did you mean 'match'?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_root_is_above_the_folder_one_stands_in, begin, end),
        cmocka_unit_test_setup_teardown(test_the_environment_may_name_another, begin, end),
        cmocka_unit_test_setup_teardown(test_elsewhere_it_is_the_tree_of_the_program, begin, end),
        cmocka_unit_test_setup_teardown(test_a_line_up_is_found_by_its_file_or_its_name, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
