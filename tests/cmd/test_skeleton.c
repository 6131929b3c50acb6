/* A new module: good names only, every placeholder filled, and nothing that exists is ever touched. That the files
 * compile and pass is tests/e2e/test_program.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/skeleton.h"
#include "core/files.h"

static struct nm_arena arena;
static char folder[64];

static int begin(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_skeleton_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    nm_arena_free(&arena);
    return system(command);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const good[] = {"ball_filter", "x", "kick2"};
    static const char *const bad[] = {"",
                                      "2kick",
                                      "Ball",
                                      "ball-filter",
                                      "ball filter",
                                      "../x",
                                      "a.c",
                                      "int",
                                      "_x",
                                      "a__b",
                                      "struct",
                                      "main",
                                      "a_very_long_name_that_nobody_would_ever_want_to_type_even_once_in_a_life"};
    for (uint32_t i = 0; i < sizeof good / sizeof *good; i++) assert_null(skeleton_name_fault(good[i]));
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_non_null(skeleton_name_fault(bad[i]));
}

static void test_every_placeholder_is_filled(void **state)
{
    (void)state;
    const struct skeleton outside = {"kick", "/nutmeg", "/nutmeg/build", NULL};
    uint32_t n = 0;
    for (const struct skeleton_file *f = skeleton_files(&arena, &outside); f->path; f++, n++) {
        /* $@ is make's own */
        for (const char *at = f->text; (at = strchr(at, '@')); at++) assert_int_equal(at[-1], '$');
        assert_non_null(strstr(f->text, "kick"));
    }
    assert_int_equal(n, 4);
}

static void test_in_the_tree_it_goes_where_modules_and_tests_are(void **state)
{
    (void)state;
    const struct skeleton inside = {"kick", "/nutmeg", "/nutmeg/build", "motion"};
    const struct skeleton_file *files = skeleton_files(&arena, &inside);
    assert_string_equal(files[0].path, "src/modules/motion/kick.c");
    assert_string_equal(files[1].path, "tests/modules/test_kick.c");
    assert_null(files[2].path);
    assert_int_equal(skeleton_write(&arena, folder, files, NULL), 0);
    assert_true(nm_file_exists(nm_path(&arena, folder, files[0].path)));
}

static void test_where_one_file_exists_nothing_is_written(void **state)
{
    (void)state;
    struct nm_err err = {0};
    const struct skeleton outside = {"kick", "/nutmeg", "/nutmeg/build", NULL};
    const struct skeleton_file *files = skeleton_files(&arena, &outside);
    FILE *file = fopen(nm_path(&arena, folder, "Makefile"), "w");
    fputs("mine", file);
    fclose(file);
    assert_int_equal(skeleton_write(&arena, folder, files, &err), -1);
    assert_non_null(strstr(err.text, "Makefile: exists already"));
    assert_false(nm_file_exists(nm_path(&arena, folder, "kick.c")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, begin, end),
        cmocka_unit_test_setup_teardown(test_every_placeholder_is_filled, begin, end),
        cmocka_unit_test_setup_teardown(test_in_the_tree_it_goes_where_modules_and_tests_are, begin, end),
        cmocka_unit_test_setup_teardown(test_where_one_file_exists_nothing_is_written, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
