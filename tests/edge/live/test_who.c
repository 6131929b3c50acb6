/* A page from elsewhere, a name that is not ours, a token that is nearly right: none of them may write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "edge/live/inside.h"

static struct nm_live live;

static void test_names_of_this_machine_are_ours(void **state)
{
    (void)state;
    static const char *const ours[] = {"localhost:8765", "LOCALHOST",      "127.0.0.1:1",
                                       "[::1]:8765",     "192.168.0.7:80", "robot.lan:8765"};
    static const char *const others[] = {"",   ":8765", "evil.example",          "localhost.evil.example:8765", "[::1",
                                         "[]", "[",     "127.0.0.1.evil.example"};
    strcpy(live.host, "robot.lan");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!host_is_ours(&live, ours[i])) fail_msg("%s", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (host_is_ours(&live, others[i])) fail_msg("%s", others[i]);
}

static void test_pages_of_ours_and_those_named_may_write(void **state)
{
    (void)state;
    static const char *const named[] = {"https://viewer.example"};
    static const char *const ours[] = {"", "http://10.0.0.3:8765", "http://localhost:5173", "https://[::1]",
                                       "https://viewer.example"};
    static const char *const others[] = {"null",
                                         "?",
                                         "https://evil.example",
                                         "http://10.0.0.3:9",
                                         "http://localhost.evil.example",
                                         "https://viewer.example.evil",
                                         "http://localhost/x",
                                         "://"};
    live.options.origins = named;
    live.options.n_origins = 1;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!origin_is_ours(&live, ours[i], "10.0.0.3:8765")) fail_msg("%s", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (origin_is_ours(&live, others[i], "10.0.0.3:8765")) fail_msg("%s", others[i]);
}

static void test_only_the_whole_token_is_the_token(void **state)
{
    (void)state;
    strcpy(live.token, "abcdefgh");
    assert_true(token_is_ours(&live, "abcdefgh"));
    static const char *const others[] = {"", "a", "abcdefg", "abcdefghi", "abcdefgH", "bbcdefgh"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(token_is_ours(&live, others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_this_machine_are_ours),
        cmocka_unit_test(test_pages_of_ours_and_those_named_may_write),
        cmocka_unit_test(test_only_the_whole_token_is_the_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
