/* Values over time become letters that show them, and pictures in files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/plot.h"

static char *printed(const struct plot_series *series, uint32_t n, uint32_t columns, uint32_t rows)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    plot_print(series, n, columns, rows, to);
    fclose(to);
    return text;
}

static void a_line_that_rises_goes_from_the_lower_left_to_the_upper_right(void **state)
{
    (void)state;
    struct plot_series ramp = {.name = "ramp.x"};
    for (int i = 0; i <= 7; i++) plot_add(&ramp, i, 2 * i);
    char *text = printed(&ramp, 1, 20, 3); /* ten letters, two rows: at least so wide it is */
    assert_string_equal(text, "ramp.x: 8 values, 0 to 14\n"
                              "       14 ⠀⠀⠀⠀⠀⣀⡠⠔⠒⠉\n"
                              "        0 ⣀⠤⠔⠊⠉⠀⠀⠀⠀⠀\n"
                              "          0.00 s7.00 s\n");
    free(text);
    plot_free(&ramp);
}

static void what_is_no_number_is_a_gap(void **state)
{
    (void)state;
    struct plot_series gap = {.name = "gap"};
    plot_add(&gap, 0, 1);
    plot_add(&gap, 1, NAN);
    plot_add(&gap, 2, 1);
    char *text = printed(&gap, 1, 20, 2);
    assert_non_null(strstr(text, "gap: 3 values, 1 to 1\n"));
    assert_non_null(strstr(text, " ⠄⠀⠀⠀⠀⠀⠀⠀⠀⠠\n")); /* the two ends, in the middle, and nothing between */
    free(text);
    plot_free(&gap);
}

static void series_share_the_time_and_have_their_own_scale(void **state)
{
    (void)state;
    struct plot_series series[] = {{.name = "early"}, {.name = "late"}, {.name = "never"}};
    plot_add(&series[0], 0, 5);
    plot_add(&series[0], 1, 6);
    plot_add(&series[1], 3, -100);
    plot_add(&series[1], 4, 100);
    char *text = printed(series, 3, 60, 4);
    assert_non_null(strstr(text, "early: 2 values, 5 to 6"));
    assert_non_null(strstr(text, "late: 2 values, -100 to 100"));
    assert_non_null(strstr(text, "never: no values"));
    assert_non_null(strstr(text, "0.00 s"));
    assert_non_null(strstr(text, "4.00 s"));
    free(text);
    plot_forget(&series[1], 3.5);
    assert_int_equal(series[1].n, 1);
    assert_true(series[1].at[0].time == 4);
    for (int i = 0; i < 3; i++) plot_free(&series[i]);
}

static void pictures_are_files(void **state)
{
    (void)state;
    static const struct {
        const char *path, *begins;
    } files[] = {{"plot_test.svg", "<svg"}, {"plot_test.png", "\x89PNG"}};
    struct plot_series wave = {.name = "wave.y"};
    struct nm_err err = {0};
    for (int i = 0; i < 500; i++) plot_add(&wave, 0.01 * i, sin(0.1 * i));
    for (int i = 0; i < 2; i++) {
        char head[8] = "";
        if (plot_write(&wave, 1, NULL, "s", files[i].path, &err)) fail_msg("%s", err.text);
        FILE *file = fopen(files[i].path, "r");
        assert_non_null(file);
        assert_true(fread(head, 1, 4, file) == 4);
        assert_memory_equal(head, files[i].begins, 4);
        fclose(file);
        unlink(files[i].path);
    }
    assert_int_equal(plot_write(&wave, 1, NULL, "s", "plot_test.bmp", &err), -1);
    plot_free(&wave);
}

static uint32_t count(const char *text, const char *part)
{
    uint32_t n = 0;
    while ((text = strstr(text, part))) n++, text++;
    return n;
}

/* Two lines in one panel have one scale and two colours. */
static void test_series_that_join_share_a_panel(void **state)
{
    (void)state;
    struct plot_series both[] = {{.name = "reached"}, {.joins = true}, {.name = "alone"}};
    struct nm_err err = {0};
    static char text[20000];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) plot_add(&both[i], k, 10 * i + k);
    if (plot_write(both, 3, "title", "seeds", "join_test.svg", &err)) fail_msg("%s", err.text);
    FILE *file = fopen("join_test.svg", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    unlink("join_test.svg");
    assert_int_equal(count(text, "values,"), 2);
    assert_non_null(strstr(text, "reached: 4 values, 0 to 11"));
    assert_non_null(strstr(text, "title"));
    assert_non_null(strstr(text, "1 seeds"));
    assert_int_equal(count(text, "1f77b4"), 4);
    assert_int_equal(count(text, "ff7f0e"), 2);
    for (int i = 0; i < 3; i++) plot_free(&both[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_that_rises_goes_from_the_lower_left_to_the_upper_right),
        cmocka_unit_test(what_is_no_number_is_a_gap),
        cmocka_unit_test(series_share_the_time_and_have_their_own_scale),
        cmocka_unit_test(pictures_are_files),
        cmocka_unit_test(test_series_that_join_share_a_panel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
