/* The model that corrects steps: plain, it changes nothing; linear, it is its formula; local, it acts near typical
 * steps and nowhere else. Steps are cut where the support foot changes, and together they are the whole way. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "body/step_model.h"

#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

static void a_plain_model_changes_nothing(void **state)
{
    (void)state;
    struct nm_step_model m = NM_STEP_PLAIN, none = {0};
    struct pose2 told = {0.05, -0.02, 0.1}, a = nm_step_correct(&m, told), b = nm_step_correct(&none, told);
    assert_true(a.x == told.x && a.y == told.y && a.theta == told.theta);
    assert_true(b.x == told.x && b.y == told.y && b.theta == told.theta);
}

static void a_linear_model_is_its_formula(void **state)
{
    (void)state;
    struct nm_step_model m = {
        .linear = true, .forward = {0.9, 0.1, 0.2, 0.001}, .left = {0, 1.1, 0, -0.002}, .turn = {0.5, 0, 1, 0.01}};
    struct pose2 p = nm_step_correct(&m, (struct pose2){0.1, 0.02, 0.3});
    assert_near(p.x, 0.09 + 0.002 + 0.06 + 0.001, 1e-12);
    assert_near(p.y, 0.022 - 0.002, 1e-12);
    assert_near(p.theta, 0.05 + 0.3 + 0.01, 1e-12);
}

static void a_local_model_acts_near_typical_steps(void **state)
{
    (void)state;
    struct nm_step_model m = NM_STEP_PLAIN;
    m.local = true;
    m.width = 0.01;
    for (int k = 0; k < NM_STEP_NEAR; k++) m.near[k][0] = 1 + k; /* far away, but for one */
    m.near[2][0] = 0.1;
    m.more[2][0] = 0.02;
    m.more[2][2] = -0.03;
    struct pose2 at = nm_step_correct(&m, (struct pose2){0.1, 0, 0}),
                 far = nm_step_correct(&m, (struct pose2){-0.1, 0, 0});
    assert_near(at.x, 0.12, 1e-4);
    assert_near(at.theta, -0.03, 1e-4);
    assert_near(far.x, -0.1, 1e-9);
    assert_near(far.theta, 0, 1e-9);
}

static void steps_together_are_the_whole_way(void **state)
{
    (void)state;
    struct nm_steps steps = {0};
    struct pose2 sum = {0}, step = {0}, told = {0}, first = {3, -2, 1};
    for (int i = 0; i < 200; i++) {
        struct pose2 way = {0.003 * sin(i), 0.002 * cos(2 * i), 0.02 * sin(3 * i)};
        told = i ? pose2_mul(told, way) : first;
        if (nm_steps_take(&steps, told, (uint32_t)i / 17, &step)) sum = pose2_mul(sum, step), step = (struct pose2){0};
    }
    struct pose2 went = pose2_mul(pose2_inv(first), told), found = pose2_mul(sum, step);
    assert_near(found.x, went.x, 1e-12);
    assert_near(found.y, went.y, 1e-12);
    assert_near(angle_normal(found.theta - went.theta), 0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_model_changes_nothing),
        cmocka_unit_test(a_linear_model_is_its_formula),
        cmocka_unit_test(a_local_model_acts_near_typical_steps),
        cmocka_unit_test(steps_together_are_the_whole_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
