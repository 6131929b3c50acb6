/* Least squares: problems whose answer is known in closed form or certified. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/levenberg.h"

#define assert_near(a, b, eps)                                                                                         \
    do {                                                                                                               \
        double a_ = (a), b_ = (b);                                                                                     \
        if (!(fabs(a_ - b_) <= (eps))) fail_msg("%s is %.12g, not %.12g", #a, a_, b_);                                 \
    } while (0)

/* NIST StRD, Misra1a: y = b1 (1 - exp(-b2 x)); b in units of 250 and 5e-4 */
static void misra(void *user, const double *b, double *r)
{
    static const double y[] = {10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                               44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78};
    static const double x[] = {77.6,  114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
                               378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0};
    (void)user;
    for (int i = 0; i < 14; i++) r[i] = y[i] - 250 * b[0] * (1 - exp(-5e-4 * b[1] * x[i]));
}

static void test_certified_problem(void **state)
{
    (void)state;
    static const double starts[][2] = {{2, 0.2}, {1, 1}};
    for (int i = 0; i < 2; i++) {
        double b[2] = {starts[i][0], starts[i][1]}, information[4];
        const struct nm_least_squares p = {2, 14, misra, NULL, 0};
        double sum = nm_levenberg(&p, b, information);
        assert_near(250 * b[0], 238.94212918, 1e-4);
        assert_near(5e-4 * b[1], 5.5015643181e-4, 1e-10);
        assert_near(sum, 0.12455138894, 1e-9);
        /* the certified standard deviations */
        assert_int_equal(nm_invert(information, 2), 0);
        assert_near(250 * sqrt(information[0] * sum / 12), 2.7070075241, 1e-4);
        assert_near(5e-4 * sqrt(information[3] * sum / 12), 7.2668688436e-6, 1e-10);
    }
}

static void valley(void *user, const double *x, double *r)
{
    (void)user;
    r[0] = 10 * (x[1] - x[0] * x[0]);
    r[1] = 1 - x[0];
}

static void test_bent_valley(void **state)
{
    (void)state;
    double x[2] = {-1.2, 1};
    const struct nm_least_squares p = {2, 2, valley, NULL, 0};
    assert_near(nm_levenberg(&p, x, NULL), 0, 1e-20);
    assert_near(x[0], 1, 1e-9);
    assert_near(x[1], 1, 1e-9);
}

/* Only the sum of two parameters is told: the sum is found, and their difference stays as it was. */
static void told_sum(void *user, const double *x, double *r)
{
    (void)user;
    r[0] = x[0] + x[1] - 3;
}

static void test_what_is_not_told_stays(void **state)
{
    (void)state;
    double x[2] = {5, 1}, information[4];
    const struct nm_least_squares p = {2, 1, told_sum, NULL, 0};
    nm_levenberg(&p, x, information);
    assert_near(x[0] + x[1], 3, 1e-9);
    assert_near(x[0] - x[1], 4, 1e-9);
    double singular[4] = {1, 2, 2, 4};
    assert_int_equal(nm_invert(singular, 2), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_certified_problem),
        cmocka_unit_test(test_bent_valley),
        cmocka_unit_test(test_what_is_not_told_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
