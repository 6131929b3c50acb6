/* A line at the terminal: what is typed stands there, keys move and remove, and lines come back. Against a plain model
 * of a line with a cursor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "cmd/line_editor.h"

static enum line_event type(struct line_editor *e, const char *keys)
{
    enum line_event event = LINE_EDITED;
    for (; *keys; keys++) event = line_feed(e, *keys);
    return event;
}

static void keys_edit_the_line(void **state)
{
    static const struct {
        const char *keys, *line;
        size_t at;
    } rows[] = {
        {"abc", "abc", 3},
        {"abc\x1b[D\x1b[Dx", "axbc", 2},
        {"abc\x7f", "ab", 2},
        {"abc\x1bOH\x1b[3~", "bc", 0},
        {"abc\x01x\x05y", "xabcy", 5},
        {"one two\x17", "one ", 4},
        {"one two  \x17", "one ", 4},
        {"abc\x1b[D\x0b", "ab", 2},
        {"abc\x1b[D\x15", "c", 0},
        {"\x7f\x1b[D\x1b[C\x1b[3~", "", 0},
        {"f\xc3\xbc\x7f", "f", 1},
        {"\xc3\xbc\x1b[Dx", "x\xc3\xbc", 1},
        {"a\x1b[99;5Zb", "ab", 2},
        {"a\x1bxb", "ab", 2},
    };
    (void)state;
    struct line_editor e = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        line_begin(&e);
        assert_int_equal(type(&e, rows[i].keys), LINE_EDITED);
        assert_string_equal(e.line, rows[i].line);
        assert_int_equal(e.at, rows[i].at);
        assert_int_equal(e.n, strlen(e.line));
    }
    line_begin(&e);
    assert_int_equal(type(&e, "\x04"), LINE_END);
    assert_int_equal(type(&e, "a\x03"), LINE_BREAK);
    assert_int_equal(type(&e, "\t"), LINE_TAB);
    assert_int_equal(type(&e, "\r"), LINE_ENTER);
}

static void earlier_lines_come_back(void **state)
{
    (void)state;
    struct line_editor e = {0};
    char text[16];
    for (int i = 0; i < LINE_HISTORY + 10; i++) {
        snprintf(text, sizeof text, "line %d", i);
        line_remember(&e, text);
        line_remember(&e, text);
        line_remember(&e, "");
    }
    assert_int_equal(e.n_history, LINE_HISTORY);
    line_begin(&e);
    type(&e, "new\x1b[A");
    assert_string_equal(e.line, text);
    type(&e, "\x1b[A!\x1b[B\x1b[B");
    assert_string_equal(e.line, "");
    for (int i = 0; i < 2 * LINE_HISTORY; i++) type(&e, "\x1b[A");
    assert_string_equal(e.line, "line 10");
    line_free(&e);
}

/* Whatever is typed, the line is whole. */
static void any_keys_leave_a_line(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    struct line_editor e = {0};
    line_remember(&e, "once");
    line_begin(&e);
    for (int i = 0; i < 200000; i++) {
        line_feed(&e, (char)nm_dice_bits(&dice));
        assert_true(e.at <= e.n && e.n < LINE_MOST);
        assert_int_equal(e.line[e.n], '\0');
    }
    line_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_edit_the_line),
        cmocka_unit_test(earlier_lines_come_back),
        cmocka_unit_test(any_keys_leave_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
