/* What commands print with: columns line up for readers and scripts alike, and a file never gets escape sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/console.h"

static char text[4096];

static void print(struct table *table)
{
    memset(text, 0, sizeof text);
    FILE *to = fmemopen(text, sizeof text, "w");
    table_print(table, to);
    fclose(to);
}

static void test_columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    struct table table;
    table_begin(&table, (const char *const[]){"name", ">Hz", "about", NULL});
    table_row(&table, "motion\t%d\tlegs", 125);
    table_row(&table, "a\t5\t");
    print(&table);
    assert_string_equal(text, "name     Hz  about\n"
                              "motion  125  legs\n"
                              "a         5\n");
}

static void test_width_counts_characters_not_bytes(void **state)
{
    (void)state;
    struct table table;
    table_begin(&table, NULL);
    table_row(&table, "0 … 1\tx");
    table_row(&table, "12345\ty");
    print(&table);
    assert_string_equal(text, "0 … 1  x\n12345  y\n");
}

static void test_a_text_from_outside_does_not_steer_the_terminal(void **state)
{
    (void)state;
    struct table table;
    table_begin(&table, NULL);
    table_row(&table, "%s\tx", "\033[2J\033]0;title\a\r\177 \302\2332J \302\260 ü");
    print(&table);
    assert_string_equal(text, "?[2J?]0;title??? ??2J \302\260 ü  x\n");
}

static void test_a_column_without_a_letter_takes_no_room(void **state)
{
    (void)state;
    struct table table;
    table_begin(&table, (const char *const[]){"a", "", ">b", NULL});
    table_row(&table, "1\t\t2");
    print(&table);
    assert_string_equal(text, "a  b\n1  2\n");
}

static void test_a_table_may_have_many_rows_and_is_empty_after_printing(void **state)
{
    (void)state;
    struct table table;
    table_begin(&table, NULL);
    for (int i = 0; i < 1000; i++) table_row(&table, "%d", i);
    assert_int_equal(table.n_rows, 1000);
    print(&table);
    assert_int_equal(table.n_rows, 0);
}

static void test_a_file_gets_no_escape_sequences(void **state)
{
    (void)state;
    FILE *to = tmpfile();
    assert_string_equal(ink(to, INK_RED), "");
    assert_int_equal(terminal_width(to), 0);
    clear_screen(to);
    clear_line(to);
    assert_int_equal(ftell(to), 0);
    fclose(to);
}

static void test_durations_have_the_unit_that_suits_them(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } cases[] = {{0, "0"},        {0.4, "0"},       {15, "15 ns"},   {1500, "1.5 us"},
                 {20e6, "20 ms"}, {2.5e9, "2.5 s"}, {-3e6, "-3 ms"}, {3600e9, "3600 s"}};
    char to[32];
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(duration_text(to, cases[i].ns), cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(test_width_counts_characters_not_bytes),
        cmocka_unit_test(test_a_text_from_outside_does_not_steer_the_terminal),
        cmocka_unit_test(test_a_column_without_a_letter_takes_no_room),
        cmocka_unit_test(test_a_table_may_have_many_rows_and_is_empty_after_printing),
        cmocka_unit_test(test_a_file_gets_no_escape_sequences),
        cmocka_unit_test(test_durations_have_the_unit_that_suits_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
