/* Heads of requests: read whole, in pieces, and refused where they are malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "codec/http.h"

static char bytes[NM_HTTP_HEAD + 64];

static int64_t read_text(const char *text, struct nm_http_request *request)
{
    size_t n = strlen(text);
    memcpy(bytes, text, n);
    return nm_http_read(bytes, n, request);
}

static void test_a_request_is_read(void **state)
{
    (void)state;
    static const char text[] = "GET /a%20b/c?token=x%21&y HTTP/1.1\r\nHOST: \t robot:8765 \r\nX-Other: 1\r\n"
                               "Connection: keep-alive, Upgrade\r\nupgrade:websocket\r\n\r\nmore";
    struct nm_http_request r;
    assert_int_equal(read_text(text, &r), sizeof text - 1 - 4);
    assert_string_equal(r.method, "GET");
    assert_string_equal(r.path, "/a b/c");
    assert_string_equal(r.query, "token=x%21&y");
    assert_string_equal(r.field[NM_HTTP_HOST], "robot:8765");
    assert_null(r.field[NM_HTTP_ORIGIN]);
    assert_true(nm_http_lists(r.field[NM_HTTP_CONNECTION], "upgrade"));
    assert_false(nm_http_lists(r.field[NM_HTTP_CONNECTION], "alive"));
    assert_false(nm_http_lists(NULL, "upgrade"));
    for (size_t n = 0; n < sizeof text - 1 - 4; n++) {
        memcpy(bytes, text, n);
        assert_int_equal(nm_http_read(bytes, n, &r), 0);
    }
}

static void test_a_malformed_head_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        {"\r\n\r\n", 400},
        {"GET\r\n\r\n", 400},
        {"GET /\r\n\r\n", 400},
        {"GET / HTTP/1.1 \r\n\r\n", 505},
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"GET / FTP/1.1\r\n\r\n", 400},
        {"G\x01T / HTTP/1.1\r\n\r\n", 400},
        {"GET x HTTP/1.1\r\n\r\n", 400},
        {"GET http://evil/ HTTP/1.1\r\n\r\n", 400},
        {"GET /%0 HTTP/1.1\r\n\r\n", 400},
        {"GET /%00 HTTP/1.1\r\n\r\n", 400},
        {"GET /%0d%0aX:1 HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\nOrigin: b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400},
    };
    struct nm_http_request r;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (read_text(rows[i].text, &r) != -rows[i].status) fail_msg("%s", rows[i].text);
    static const char nul[] = "GET /\0 HTTP/1.1\r\n\r\n";
    memcpy(bytes, nul, sizeof nul - 1);
    assert_int_equal(nm_http_read(bytes, sizeof nul - 1, &r), -400);
    memset(bytes, 'x', NM_HTTP_HEAD);
    assert_int_equal(nm_http_read(bytes, NM_HTTP_HEAD - 1, &r), 0);
    assert_int_equal(nm_http_read(bytes, NM_HTTP_HEAD, &r), -431);
}

static void test_a_value_of_the_query_is_found(void **state)
{
    (void)state;
    char value[8];
    assert_true(nm_http_query("a=1&token=abc&b=", "token", value, sizeof value));
    assert_string_equal(value, "abc");
    assert_true(nm_http_query("a=1&b=", "b", value, sizeof value));
    assert_string_equal(value, "");
    assert_false(nm_http_query("xtoken=abc", "token", value, sizeof value));
    assert_false(nm_http_query("token", "token", value, sizeof value));
    assert_false(nm_http_query("token=abcdefgh", "token", value, sizeof value));
    assert_false(nm_http_query("", "token", value, sizeof value));
}

/* Against a look at every byte. */
static void test_a_range_is_read(void **state)
{
    (void)state;
    static const char *const wrong[] = {"bytes=",    "bytes=-",       "bytes=-0",
                                        "bytes=a-",  "bytes=1-2,4-5", "bytes= 1-2",
                                        "items=1-2", "1-2",           "bytes=99999999999999999999-5",
                                        "bytes=3-2 "};
    size_t first, n;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (nm_http_range(wrong[i], 10, &first, &n)) fail_msg("%s", wrong[i]);
    for (int size = 0; size < 6; size++)
        for (int a = -1; a < 8; a++)
            for (int b = -1; b < 8; b++) {
                char text[64], from[16] = "", to[16] = "";
                int lowest = -1, count = 0;
                if (a >= 0) snprintf(from, sizeof from, "%d", a);
                if (b >= 0) snprintf(to, sizeof to, "%d", b);
                snprintf(text, sizeof text, "bytes=%s-%s", from, to);
                for (int i = 0; i < size; i++) {
                    bool wanted = a >= 0 ? i >= a && (b < 0 || i <= b) : b > 0 && i >= size - b;
                    if (wanted && lowest < 0) lowest = i;
                    count += wanted;
                }
                bool found = nm_http_range(text, (size_t)size, &first, &n);
                assert_int_equal(found, count > 0);
                if (!found) continue;
                assert_int_equal(first, lowest);
                assert_int_equal(n, count);
            }
    assert_true(nm_http_range("bytes=2-99999999999999999999", 10, &first, &n));
    assert_int_equal(n, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_is_read),
        cmocka_unit_test(test_a_malformed_head_is_refused),
        cmocka_unit_test(test_a_value_of_the_query_is_found),
        cmocka_unit_test(test_a_range_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
