/* The gradient of a chain of layers is the slope that finite differences see, and Adam finds a minimum. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "nn/mlp.h"

static float both(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*state >> 11) * 0x1p-52 - 1);
}

enum { IN = 5, OUT = 3, ROWS = 7 };
static const uint32_t WIDTHS[] = {IN, 11, 6, OUT};

/* The chain in double precision, from the same parameters: sum over rows of slope * output. */
static double plain(const struct nm_mlp *mlp, const float *x, const float *slopes)
{
    double sum = 0;
    for (uint32_t r = 0; r < ROWS; r++) {
        double v[16], y[16];
        for (uint32_t i = 0; i < IN; i++) v[i] = x[r * IN + i];
        for (uint32_t l = 0; l < mlp->layers; l++) {
            uint32_t in = mlp->width[l], out = mlp->width[l + 1], wide = nm_padded(out);
            for (uint32_t o = 0; o < out; o++) {
                y[o] = mlp->at[nm_mlp_bias(mlp, l) + o];
                for (uint32_t i = 0; i < in; i++) y[o] += v[i] * mlp->at[nm_mlp_matrix(mlp, l) + i * wide + o];
                if (l + 1 < mlp->layers && y[o] < 0) y[o] = expm1(y[o]);
            }
            memcpy(v, y, sizeof v);
        }
        for (uint32_t o = 0; o < OUT; o++) sum += slopes[r * OUT + o] * v[o];
    }
    return sum;
}

struct rig {
    struct nm_arena arena;
    struct nm_mlp mlp;
    struct nm_tape tape;
    float x[ROWS * IN], slopes[ROWS * OUT], *gradient;
};

static void begin(struct rig *rig, uint64_t seed)
{
    *rig = (struct rig){0};
    nm_mlp_new(&rig->mlp, &rig->arena, WIDTHS, 3);
    nm_tape_new(&rig->tape, &rig->arena, &rig->mlp, ROWS);
    rig->gradient = nm_take_n(&rig->arena, float, rig->mlp.n);
    for (uint32_t l = 0; l < 3; l++)
        for (uint32_t i = 0; i < WIDTHS[l] + 1; i++)
            for (uint32_t o = 0; o < WIDTHS[l + 1]; o++)
                rig->mlp.at[nm_mlp_matrix(&rig->mlp, l) + i * nm_padded(WIDTHS[l + 1]) + o] = both(&seed);
    for (uint32_t i = 0; i < ROWS * IN; i++) rig->x[i] = 2 * both(&seed);
    for (uint32_t i = 0; i < ROWS * OUT; i++) rig->slopes[i] = both(&seed);
}

static void forward_is_the_plain_sum(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct rig rig;
        begin(&rig, seed);
        const float *y = nm_mlp_forward(&rig.mlp, &rig.tape, rig.x, IN, ROWS);
        double sum = 0;
        for (uint32_t r = 0; r < ROWS; r++)
            for (uint32_t o = 0; o < OUT; o++) sum += rig.slopes[r * OUT + o] * y[r * nm_padded(OUT) + o];
        assert_true(fabs(sum - plain(&rig.mlp, rig.x, rig.slopes)) < 1e-4);
        nm_arena_free(&rig.arena);
    }
}

static void gradient_is_the_slope(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        struct rig rig;
        begin(&rig, seed);
        nm_mlp_forward(&rig.mlp, &rig.tape, rig.x, IN, ROWS);
        for (uint32_t r = 0; r < ROWS; r++)
            for (uint32_t o = 0; o < OUT; o++) rig.tape.dy[2][r * nm_padded(OUT) + o] = rig.slopes[r * OUT + o];
        nm_mlp_turn(&rig.mlp);
        nm_mlp_backward(&rig.mlp, &rig.tape, rig.gradient);
        for (uint32_t l = 0; l < 3; l++)
            for (uint32_t i = 0; i < WIDTHS[l] + 1; i++) /* the last row is the bias */
                for (uint32_t o = 0; o < nm_padded(WIDTHS[l + 1]); o++) {
                    size_t k = nm_mlp_matrix(&rig.mlp, l) + i * nm_padded(WIDTHS[l + 1]) + o;
                    if (o >= WIDTHS[l + 1]) {
                        assert_true(rig.gradient[k] == 0); /* padding stays zero */
                        continue;
                    }
                    const float h = 0x1p-10f, at = rig.mlp.at[k];
                    rig.mlp.at[k] = at + h;
                    double more = plain(&rig.mlp, rig.x, rig.slopes);
                    rig.mlp.at[k] = at - h;
                    double less = plain(&rig.mlp, rig.x, rig.slopes), slope = (more - less) / (2 * h);
                    rig.mlp.at[k] = at;
                    assert_true(fabs(slope - rig.gradient[k]) < 2e-3 * (1 + fabs(slope)));
                }
        nm_arena_free(&rig.arena);
    }
}

static void adam_finds_the_minimum(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_adam adam;
    float at[2] = {3, -2}, slope[2];
    nm_adam_new(&adam, &arena, 2);
    for (int i = 0; i < 3000; i++) {
        slope[0] = 2 * (at[0] - 1), slope[1] = 20 * (at[1] - 0.5f);
        nm_adam_step(&adam, at, slope, 0.01f);
    }
    assert_true(fabsf(at[0] - 1) < 0.01f && fabsf(at[1] - 0.5f) < 0.01f);
    nm_arena_free(&arena);
}

/* Weights that jump about a place, and then about another one: the mean lies near the second place, nearer than any
 * single ones. The first weights are the first mean. */
static void the_mean_is_of_the_last_weights(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(7, 0, 0);
    float mean[8] = {0}, now[8];
    double off = 0, single = 0;
    for (uint64_t count = 1; count <= 600; count++) {
        for (int i = 0; i < 8; i++) now[i] = (count <= 300 ? 1 : 2) + (float)(0.5 * nm_dice_both(&dice));
        nm_mean_of_last(mean, now, 8, count);
        for (int i = 0; i < 8 && count == 1; i++) assert_true(fabsf(mean[i] - now[i]) < 1e-6f);
    }
    for (int i = 0; i < 8; i++) {
        off = fmax(off, fabs((double)mean[i] - 2));
        single = fmax(single, fabs((double)now[i] - 2));
    }
    assert_true(off < 0.15 && off < 0.5 * single);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_the_plain_sum),
        cmocka_unit_test(gradient_is_the_slope),
        cmocka_unit_test(adam_finds_the_minimum),
        cmocka_unit_test(the_mean_is_of_the_last_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
