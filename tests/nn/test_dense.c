/* Products of any size and transpose are plain sums in the order of k, and curves are the functions they are named for.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nn/dense.h"

static float both(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*state >> 11) * 0x1p-52 - 1);
}

enum { MOST = 80 };

/* Bit for bit: whatever vectors the CPU has, every element is the same chain of roundings, one or two for each product.
 */
static void products_are_plain_sums(void **state)
{
    (void)state;
    static float a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], expected[MOST * MOST], fused[MOST * MOST];
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        uint32_t m = 1 + (uint32_t)(37 * fabsf(both(&seed))), k = (uint32_t)(MOST * fabsf(both(&seed))),
                 n = NM_LANES * (1 + (uint32_t)(4 * fabsf(both(&seed))));
        bool turned = both(&seed) > 0;
        for (int i = 0; i < MOST * MOST; i++)
            a[i] = both(&seed), b[i] = both(&seed), c[i] = expected[i] = fused[i] = both(&seed);
        size_t row = turned ? 1 : MOST, col = turned ? MOST : 1;
        for (uint32_t i = 0; i < m; i++)
            for (uint32_t j = 0; j < n; j++)
                for (uint32_t l = 0; l < k; l++) {
                    volatile float product = a[i * row + l * col] * b[l * MOST + j];
                    expected[i * MOST + j] += product;
                    fused[i * MOST + j] = fmaf(a[i * row + l * col], b[l * MOST + j], fused[i * MOST + j]);
                }
        nm_dense(&(struct nm_product){m, k, n, a, row, col, b, MOST, c, MOST});
        assert_true(!memcmp(c, expected, sizeof c) || !memcmp(c, fused, sizeof c)); /* what is outside is untouched */
    }
}

static void the_way_back_and_sums(void **state)
{
    (void)state;
    float y[2 * NM_LANES], dy[2 * NM_LANES], sum[2 * NM_LANES], rows[3 * 2 * NM_LANES];
    uint64_t seed = 7;
    for (int i = 0; i < 2 * NM_LANES; i++) {
        y[i] = both(&seed), dy[i] = sum[i] = 0.5f;
        for (int r = 0; r < 3; r++) rows[r * 2 * NM_LANES + i] = (float)(r + i);
    }
    nm_elu_back(dy, y, 2 * NM_LANES);
    nm_sum_rows(sum, rows, 3, 2 * NM_LANES);
    for (int i = 0; i < 2 * NM_LANES; i++) {
        assert_true(dy[i] == 0.5f * (y[i] > 0 ? 1 : y[i] + 1));
        assert_true(sum[i] == 0.5f + (float)(3 * i + 3));
    }
}

static void curves_are_what_they_are_named(void **state)
{
    (void)state;
    for (int i = -4000; i <= 4000; i++) {
        float x = (float)i * 0.011f, elu[NM_LANES], th[NM_LANES], sigmoid[NM_LANES];
        for (int l = 0; l < NM_LANES; l++) elu[l] = th[l] = sigmoid[l] = x;
        nm_elu(elu, NM_LANES, 1.5f);
        nm_tanh(th, NM_LANES);
        nm_sigmoid(sigmoid, NM_LANES);
        for (int l = 0; l < NM_LANES; l++) {
            assert_true(fabs(elu[l] - (x > 0 ? x : 1.5 * expm1(x))) < 4e-7);
            assert_true(fabs(th[l] - tanh(x)) < 4e-7);
            assert_true(fabs(sigmoid[l] - 1 / (1 + exp(-x))) < 4e-7);
        }
    }
}

static void ends_and_no_numbers(void **state)
{
    (void)state;
    const float x[NM_LANES] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0, -0.0f, 1e-30f};
    float y[NM_LANES];
    memcpy(y, x, sizeof y);
    nm_elu(y, NM_LANES, 1);
    assert_true(isnan(y[0]) && isinf(y[1]) && y[2] == -1 && y[3] == 1e30f && y[4] == -1 && y[5] == 0 && y[7] == 1e-30f);
    memcpy(y, x, sizeof y);
    nm_tanh(y, NM_LANES);
    assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -1 && y[3] == 1 && y[4] == -1 && y[5] == 0);
    memcpy(y, x, sizeof y);
    nm_sigmoid(y, NM_LANES);
    assert_true(isnan(y[0]) && y[1] == 1 && fabsf(y[2]) < 1e-30f && y[3] == 1 && y[5] == 0.5f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_plain_sums),
        cmocka_unit_test(the_way_back_and_sums),
        cmocka_unit_test(curves_are_what_they_are_named),
        cmocka_unit_test(ends_and_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
