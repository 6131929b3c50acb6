/* Frames of RFC 6455: its examples, pieces of any size, and everything on which a connection has to fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "codec/websocket.h"

/* Reads bytes in pieces of at most `step`; what happened is written down as a text. */
static const char *told(const void *bytes, size_t n, size_t step)
{
    static char text[512];
    uint8_t copy[256];
    struct nm_ws ws = {0};
    size_t at = 0, used = 0;
    *text = '\0';
    memcpy(copy, bytes, n);
    while (at < n) {
        struct nm_ws_event e;
        at += nm_ws_read(&ws, copy + at, n - at < step ? n - at : step, &e);
        if (e.kind == NM_WS_BROKEN) {
            snprintf(text + used, sizeof text - used, "%d", e.code);
            return text;
        }
        if (e.kind == NM_WS_PIECE && e.first) text[used++] = e.opcode == NM_WS_TEXT ? '"' : '<';
        if (e.kind == NM_WS_WORD) text[used++] = (char)('a' + e.opcode);
        if (e.kind == NM_WS_PIECE || e.kind == NM_WS_WORD) memcpy(text + used, e.bytes, e.n), used += e.n;
        if (e.kind == NM_WS_PIECE && e.last) text[used++] = e.opcode == NM_WS_TEXT ? '"' : '>';
        text[used] = '\0';
    }
    return text;
}

#define check(bytes, expected)                                                                                         \
    for (size_t step_ = 1; step_ < 40; step_++) assert_string_equal(told(bytes, sizeof bytes - 1, step_), expected)

static void test_the_handshake_is_that_of_the_standard(void **state)
{
    (void)state;
    char accept[NM_WS_ACCEPT];
    assert_true(nm_ws_accept("dGhlIHNhbXBsZSBub25jZQ==", accept));
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    static const char *const wrong[] = {"", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ===",
                                        "dGhlIHNhbXBsZSBub25j!Q==", "dGhlIHNhbXBsZSBub25jZQab"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_false(nm_ws_accept(wrong[i], accept));
}

static void test_messages_are_read_in_any_pieces(void **state)
{
    (void)state;
    check("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "\"Hello\"");             /* 5.7 of the standard       */
    check("\x01\x83\0\0\0\0Hel\x89\x81\0\0\0\0!\x80\x82\0\0\0\0lo", "\"Helj!lo\""); /* a ping between the parts  */
    check("\x82\x80\0\0\0\0\x82\xfe\0\x01\0\0\0\0x", "<><x>");
    check("\x82\xff\0\0\0\0\0\0\0\x02\0\0\0\0xy", "<xy>");
    check("\x88\x82\0\0\0\0\x03\xe8", "i\x03\xe8");
}

static void test_what_the_standard_forbids_ends_the_connection(void **state)
{
    (void)state;
    check("\x81\x05Hello", "1002");    /* no mask                                   */
    check("\x89\x00", "1002");         /* nor on a ping                             */
    check("\xc1\x80\0\0\0\0", "1002"); /* a reserved bit                            */
    check("\x83\x80\0\0\0\0", "1002"); /* unknown opcodes                           */
    check("\x8b\x80\0\0\0\0", "1002");
    check("\x09\x80\0\0\0\0", "1002");                     /* a control frame in parts                  */
    check("\x89\xfe\0\x7e\0\0\0\0", "1002");               /* a long one                                */
    check("\x80\x80\0\0\0\0", "1002");                     /* goes on where nothing has begun           */
    check("\x01\x81\0\0\0\0x\x81\x80\0\0\0\0", "\"x1002"); /* begins where one has not ended            */
    check("\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0", "1002");   /* 2^63 bytes                                */
}

static void test_heads_are_written_as_they_are_read(void **state)
{
    (void)state;
    static const struct {
        uint64_t n;
        size_t size;
        uint8_t bytes[10];
    } rows[] = {{0, 2, {0x82, 0}},
                {125, 2, {0x82, 125}},
                {126, 4, {0x82, 126, 0, 126}},
                {65535, 4, {0x82, 126, 255, 255}},
                {65536, 10, {0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t head[NM_WS_HEAD];
        assert_int_equal(nm_ws_head(head, NM_WS_BINARY, rows[i].n), rows[i].size);
        assert_memory_equal(head, rows[i].bytes, rows[i].size);
    }
}

static void test_text_is_utf8(void **state)
{
    (void)state;
    static const char *const good[] = {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x8f\x86", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",         "\xc3",      "\xc0\x80",         "\xe0\x80\x80",
                                      "\xed\xa0\x80", "\xe2\x82",  "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
                                      "\xff",         "a\xc3\x28", "\xf0\x80\x80\x80"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(nm_ws_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(nm_ws_is_utf8(bad[i], strlen(bad[i])));
    assert_int_equal(nm_ws_close_code((const uint8_t *)"", 0), NM_WS_CLOSE_NORMAL);
    assert_int_equal(nm_ws_close_code((const uint8_t *)"\x03\xe9", 2), 1001);
    assert_int_equal(nm_ws_close_code((const uint8_t *)"\x03\xed", 2), NM_WS_CLOSE_PROTOCOL); /* 1005: never sent */
    assert_int_equal(nm_ws_close_code((const uint8_t *)"\x03", 1), NM_WS_CLOSE_PROTOCOL);
    assert_int_equal(nm_ws_close_code((const uint8_t *)"\x03\xe8\xff", 3), NM_WS_CLOSE_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_handshake_is_that_of_the_standard),
        cmocka_unit_test(test_messages_are_read_in_any_pieces),
        cmocka_unit_test(test_what_the_standard_forbids_ends_the_connection),
        cmocka_unit_test(test_heads_are_written_as_they_are_read),
        cmocka_unit_test(test_text_is_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
