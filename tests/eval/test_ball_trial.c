/* The ball of a robot on a flat field against the truth, with wide margins: that the filter works as a whole, from the
 * percepts of a simulated vision to what is published. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/ball_trial.h"

static struct setup setup;
static struct ball_result results[2];

static int begin(void **state)
{
    (void)state;
    if (chdir(NM_ROOT)) return -1;
    setup_begin(&setup);
    return 0;
}

static int end(void **state)
{
    (void)state;
    setup_end(&setup);
    return 0;
}

static void try_out(uint64_t seed, struct ball_result *to)
{
    const struct ball_trial trial = {NM_FIDELITY_FLAT, seed, 41, NM_ROOT "/lineups/ball.yaml"};
    ball_trial(&setup, &trial, to);
    if (!to->done) fail_msg("%s", to->why);
}

static void the_ball_is_where_the_robot_believes_it_to_be(void **state)
{
    (void)state;
    double sum[BALL_ERRORS] = {0};
    uint32_t n[BALL_ERRORS] = {0}, upright = 0, known = 0, wrong = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        try_out(seed, &results[0]);
        for (int k = 0; k < BALL_ERRORS; k++) {
            for (uint32_t i = 0; i < results[0].n[k]; i++) sum[k] += results[0].errors[k][i];
            n[k] += results[0].n[k];
        }
        upright += results[0].upright;
        known += results[0].known;
        wrong += results[0].wrong;
    }
    for (int k = 0; k < BALL_ERRORS; k++) assert_true(n[k] > 20);
    assert_true(sum[BALL_PLACE] / n[BALL_PLACE] < 0.12);
    assert_true(sum[BALL_ROLLING] / n[BALL_ROLLING] < 0.25);
    assert_true(sum[BALL_VELOCITY] / n[BALL_VELOCITY] < 0.3);
    assert_true(sum[BALL_INTERCEPT] / n[BALL_INTERCEPT] < 0.4);
    assert_true(known > 0.95 * upright);
    assert_true(wrong < 0.05 * known);
}

static void the_same_seed_shows_the_same(void **state)
{
    (void)state;
    try_out(3, &results[0]);
    try_out(3, &results[1]);
    assert_true(results[0].hash == results[1].hash);
    assert_int_equal(results[0].n[BALL_PLACE], results[1].n[BALL_PLACE]);
    for (uint32_t i = 0; i < results[0].n[BALL_PLACE]; i++)
        assert_true(results[0].errors[BALL_PLACE][i] == results[1].errors[BALL_PLACE][i]);
    try_out(4, &results[1]);
    assert_true(results[0].hash != results[1].hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ball_is_where_the_robot_believes_it_to_be),
        cmocka_unit_test(the_same_seed_shows_the_same),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
