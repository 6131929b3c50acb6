/* Means with their intervals against numbers worked out by hand, and the table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "cmd/eval.h"

static void a_mean_has_students_interval(void **state)
{
    (void)state;
    const double values[] = {1, NAN, 2, 3};
    struct eval_mean m = eval_mean(values, 4);
    assert_int_equal(m.n, 3);
    assert_true(fabs(m.mean - 2) < 1e-12);
    assert_true(fabs(m.half - 4.30 / sqrt(3)) < 1e-9); /* t of two degrees of freedom, deviation 1 */
    m = eval_mean(values, 1);
    assert_true(m.n == 1 && m.mean == 1 && isinf(m.half));
    m = eval_mean(values + 1, 1);
    assert_true(m.n == 0 && isnan(m.mean));
}

/* Of 2,000 samples of ten normal numbers about 95 % hold their true mean in their interval. */
static void the_interval_holds_the_truth_as_often_as_it_says(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    int inside = 0;
    for (int i = 0; i < 2000; i++) {
        double values[10];
        for (int k = 0; k < 10; k++) values[k] = 5 + 2 * nm_dice_gauss(&dice);
        struct eval_mean m = eval_mean(values, 10);
        inside += fabs(m.mean - 5) < m.half;
    }
    assert_in_range(inside, 1860, 1935);
}

static void differences_are_taken_seed_by_seed(void **state)
{
    (void)state;
    const double hard[] = {10, 200, 30, NAN, 7}, easy[] = {9, 199, 29, 4, NAN};
    struct eval_mean m = eval_difference(hard, easy, 5);
    assert_int_equal(m.n, 3);
    assert_true(fabs(m.mean - 1) < 1e-12);
    assert_true(m.half < 1e-9); /* what is hard for both does not blur it */
}

static void the_table_has_a_line_for_each_line_up_and_difference(void **state)
{
    (void)state;
    static struct eval_measure measures[] = {{.name = "error", .unit = "cm", .values = {{1, 2, 3}, {2, 3, 4}}}};
    const char *const lineups[] = {"one", "two"};
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    eval_print(lineups, 2, measures, 1, 3, to);
    fclose(to);
    assert_non_null(strstr(text, "\none "));
    assert_non_null(strstr(text, "2 ± 2.5"));
    assert_non_null(strstr(text, "two - first"));
    assert_non_null(strstr(text, " +1\n")); /* no spread, no interval, and that is said */
    assert_non_null(strstr(text, "the same for all seeds"));
    free(text);
    to = open_memstream(&text, &size);
    eval_print(lineups, 2, measures, 1, 1, to);
    fclose(to);
    assert_null(strstr(text, "±"));
    assert_non_null(strstr(text, "one seed: no intervals"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_has_students_interval),
        cmocka_unit_test(the_interval_holds_the_truth_as_often_as_it_says),
        cmocka_unit_test(differences_are_taken_seed_by_seed),
        cmocka_unit_test(the_table_has_a_line_for_each_line_up_and_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
