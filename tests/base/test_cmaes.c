/* CMA-ES on the standard functions: it finds the minimum from anywhere, also where the valley is bent, narrow or
 * turned. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cmaes.h"

typedef double function(const double *x, uint32_t n);

static double sphere(const double *x, uint32_t n)
{
    double s = 0;
    for (uint32_t i = 0; i < n; i++) s += x[i] * x[i];
    return s;
}
static double rosenbrock(const double *x, uint32_t n)
{
    double s = 0;
    for (uint32_t i = 0; i + 1 < n; i++) s += 100 * pow(x[i + 1] - x[i] * x[i], 2) + pow(1 - x[i], 2);
    return s;
}
/* axes whose lengths differ by a thousand, turned by 45 degrees in every plane of neighbours */
static double turned_ellipse(const double *x, uint32_t n)
{
    double s = 0, y[32];
    memcpy(y, x, n * sizeof *y);
    for (uint32_t i = 0; i + 1 < n; i++) {
        double a = y[i], b = y[i + 1];
        y[i] = (a - b) * M_SQRT1_2;
        y[i + 1] = (a + b) * M_SQRT1_2;
    }
    for (uint32_t i = 0; i < n; i++) s += pow(1e6, (double)i / (n - 1)) * y[i] * y[i];
    return s;
}
static double rastrigin(const double *x, uint32_t n)
{
    double s = 0;
    for (uint32_t i = 0; i < n; i++) s += 10 + x[i] * x[i] - 10 * cos(2 * M_PI * x[i]);
    return s;
}

/* Best score after so many evaluations. */
static double minimise(function *f, uint32_t n, double from, double sigma, uint32_t population, int evaluations,
                       uint64_t seed)
{
    struct nm_arena arena = {0};
    double start[32], scores[256];
    for (uint32_t i = 0; i < n; i++) start[i] = from;
    struct nm_cma *c = nm_cma_new(&arena, n, start, NULL, sigma, population, seed);
    for (int e = 0; e < evaluations && !nm_cma_done(c); e += (int)c->population) {
        for (uint32_t k = 0; k < c->population; k++) scores[k] = f(nm_cma_candidate(c, k), n);
        nm_cma_tell(c, scores);
    }
    double best = c->best_score;
    assert_true(f(c->best, n) == best);
    nm_arena_free(&arena);
    return best;
}

static void it_finds_the_minimum_of_the_standard_functions(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        assert_true(minimise(sphere, 10, 3, 1, 0, 4000, seed) < 1e-10);
        assert_true(minimise(rosenbrock, 8, -1, 0.5, 0, 20000, seed) < 1e-8);
        assert_true(minimise(turned_ellipse, 10, 3, 1, 0, 15000, seed) < 1e-8);
        assert_true(minimise(sphere, 2, 100, 1, 0, 3000, seed) < 1e-10);
    }
}

static void a_large_population_leaves_false_valleys(void **state)
{
    (void)state;
    int found = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) found += minimise(rastrigin, 5, 3, 4, 250, 100000, seed) < 1e-6;
    assert_true(found >= 4);
}

static double hole(const double *x, uint32_t n) { return x[0] < 0 ? NAN : sphere(x, n); }

static void what_is_no_number_counts_as_the_worst(void **state)
{
    (void)state;
    assert_true(minimise(hole, 4, 2, 0.5, 0, 4000, 1) < 1e-3);
}

static void the_same_seed_gives_the_same_way(void **state)
{
    (void)state;
    double a = minimise(rosenbrock, 6, -1, 0.5, 0, 3000, 7), b = minimise(rosenbrock, 6, -1, 0.5, 0, 3000, 7);
    assert_true(a == b && a != minimise(rosenbrock, 6, -1, 0.5, 0, 3000, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_the_minimum_of_the_standard_functions),
        cmocka_unit_test(a_large_population_leaves_false_valleys),
        cmocka_unit_test(what_is_no_number_counts_as_the_worst),
        cmocka_unit_test(the_same_seed_gives_the_same_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
