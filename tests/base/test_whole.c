/* A file is read whole, up to one byte more than it may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/whole.h"

static void test_a_file_is_read_whole(void **state)
{
    (void)state;
    enum { MOST = 100000 };
    static const size_t sizes[] = {0, 1, 16383, 16384, 16385, MOST - 1, MOST, MOST + 1, MOST + 2, 3 * MOST};
    static char bytes[3 * MOST];
    char path[] = "/tmp/test_whole_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n, expected = sizes[i] < MOST + 1 ? sizes[i] : MOST + 1;
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, bytes, sizes[i], 0), sizes[i]);
        char *text = nm_read_whole(path, MOST, &n, NULL);
        assert_non_null(text);
        assert_int_equal(n, expected);
        assert_memory_equal(text, bytes, n);
        free(text);
    }
    close(fd);
    unlink(path);
}

static void test_what_cannot_be_read_is_told(void **state)
{
    (void)state;
    static const char *const paths[] = {"/nonexistent/file", "/tmp"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct nm_err err = {0};
        size_t n;
        assert_null(nm_read_whole(paths[i], 100, &n, &err));
        assert_non_null(strstr(err.text, paths[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_read_whole),
        cmocka_unit_test(test_what_cannot_be_read_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
