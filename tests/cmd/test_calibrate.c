/* Drives whose steps were spoilt in a known way: the fit finds the way back, also for drives that it has not seen. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cmd/calibrate.h"

enum { DRIVES = 30, KNOWN = 20, STEPS = 30 };

static double roll(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (double)(*s >> 40) / (1 << 23) - 1;
}

/* The robot's feet slip by a tenth, it veers to the left, and long steps lose 8 mm. */
static struct pose2 really(struct pose2 told, bool bent)
{
    struct pose2 made = {0.9 * told.x, told.y + 0.05 * told.x, 1.05 * told.theta + 0.004};
    if (bent && told.x > 0.08) made.x -= 0.008;
    return made;
}

static struct drive_steps *drives(bool bent)
{
    struct drive_steps *all = calloc(DRIVES, sizeof *all);
    uint64_t s = 7;
    assert_non_null(all);
    for (int i = 0; i < DRIVES; i++) {
        double vx = 0.05 + 0.06 * roll(&s), vy = 0.03 * roll(&s), turn = 0.1 * roll(&s);
        all[i].n = STEPS;
        all[i].turn_known = true;
        for (int k = 0; k < STEPS; k++) {
            struct pose2 told = {vx + 0.005 * roll(&s), vy + 0.005 * roll(&s), turn + 0.01 * roll(&s)};
            all[i].steps[k] = told;
            all[i].end = pose2_mul(all[i].end, really(told, bent));
        }
    }
    return all;
}

static void a_linear_error_is_found(void **state)
{
    (void)state;
    struct drive_steps *all = drives(false);
    struct nm_step_model m;
    calibrate_fit(all, KNOWN, CALIBRATE_LINEAR, &m);
    double before = calibrate_drift(NULL, all + KNOWN, DRIVES - KNOWN),
           after = calibrate_drift(&m, all + KNOWN, DRIVES - KNOWN);
    assert_true(before > 0.1);
    assert_true(after < 0.1 * before);
    assert_true(fabs(m.forward[0] - 0.9) < 0.03);
    assert_false(m.local);
    free(all);
}

static void what_is_not_linear_is_found_locally(void **state)
{
    (void)state;
    struct drive_steps *all = drives(true);
    struct nm_step_model linear, local;
    calibrate_fit(all, KNOWN, CALIBRATE_LINEAR, &linear);
    calibrate_fit(all, KNOWN, CALIBRATE_LOCAL, &local);
    assert_true(local.local && local.width > 0);
    assert_true(calibrate_drift(&local, all, KNOWN) < calibrate_drift(&linear, all, KNOWN));
    free(all);
}

static void few_drives_do_no_harm(void **state)
{
    (void)state;
    struct drive_steps *all = drives(false);
    struct nm_step_model m;
    calibrate_fit(all, 0, CALIBRATE_LOCAL, &m);
    assert_true(m.forward[0] == 1 && m.turn[2] == 1);
    calibrate_fit(all, 1, CALIBRATE_SYMMETRIC, &m);
    assert_true(m.turn[0] == 0 && m.turn[3] == 0 && m.left[0] == 0);
    calibrate_fit(all, 1, CALIBRATE_LOCAL, &m);
    assert_true(isfinite(calibrate_drift(&m, all, DRIVES)));
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_error_is_found),
        cmocka_unit_test(what_is_not_linear_is_found_locally),
        cmocka_unit_test(few_drives_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
