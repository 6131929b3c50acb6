/* Tilt, and where the turning leads, tell a fall from leaning; the direction of up says how a robot lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "modules/motion/fall.h"

static const struct fall_params params = {0.9, 0.15, 0.45};

static struct vec3 up_of(double roll, double pitch)
{
    return quat_apply(quat_inv(quat_rpy(roll, pitch, 0.7)), (struct vec3){0, 0, 1});
}

static void lying_is_named_by_the_side_that_is_down(void **state)
{
    (void)state;
    assert_int_equal(fall_lies(up_of(0, M_PI / 2)), FALL_FRONT);
    assert_int_equal(fall_lies(up_of(0, -M_PI / 2)), FALL_BACK);
    assert_int_equal(fall_lies(up_of(-M_PI / 2, 0)), FALL_LEFT);
    assert_int_equal(fall_lies(up_of(M_PI / 2, 0)), FALL_RIGHT);
}

/* Against the closed form in one plane: tilt + rate * ahead beyond the bound. */
static void a_fall_is_where_the_turning_leads(void **state)
{
    (void)state;
    for (double pitch = -1.2; pitch < 1.2; pitch += 0.05)
        for (double rate = -6; rate < 6; rate += 0.25) {
            double away = pitch > 0 ? rate : -rate, reach = fabs(pitch) + fmax(away, 0) * params.ahead;
            if (fabs(reach - params.tilt) < 1e-6 || fabs(fabs(pitch) - params.least) < 1e-6) continue;
            bool falls = fabs(pitch) > params.least && reach > params.tilt;
            enum fall_way way = fall_coming(&params, up_of(0, pitch), (struct vec3){0, rate, 0});
            assert_int_equal(way, !falls ? FALL_NONE : pitch > 0 ? FALL_FRONT : FALL_BACK);
            way = fall_coming(&params, up_of(pitch, 0), (struct vec3){rate, 0, 0});
            assert_int_equal(way, !falls ? FALL_NONE : pitch > 0 ? FALL_RIGHT : FALL_LEFT);
        }
}

/* Leaning more to the left than forward, but tipping forward. */
static void it_falls_where_it_is_going(void **state)
{
    (void)state;
    assert_int_equal(fall_coming(&params, up_of(-0.4, 0.3), (struct vec3){0, 5, 0}), FALL_FRONT);
    assert_int_equal(fall_coming(&params, up_of(-0.3, 0.4), (struct vec3){-5, 0, 0}), FALL_LEFT);
}

static void turning_on_the_spot_is_no_fall(void **state)
{
    (void)state;
    assert_int_equal(fall_coming(&params, up_of(0.3, 0.3), (struct vec3){0, 0, 20}), FALL_NONE);
}

/* One spike of the sensor is no fall; the side is that of the first look. */
static void it_takes_two_looks(void **state)
{
    (void)state;
    const struct vec3 still = {0, 0, 0}, over = up_of(0, 1.1), upright = up_of(0, 0);
    struct fall_watch watch = {0};
    assert_int_equal(fall_look(&watch, &params, over, still, 0.01), FALL_FRONT);
    assert_false(fall_is_coming(&watch, 0.01));
    assert_int_equal(fall_look(&watch, &params, upright, still, 0.01), FALL_NONE);
    assert_int_equal(fall_look(&watch, &params, over, still, 0.01), FALL_FRONT);
    assert_false(fall_is_coming(&watch, 0.01));
    assert_int_equal(fall_look(&watch, &params, up_of(0, -1.1), still, 0.01), FALL_NONE);
    assert_true(fall_is_coming(&watch, 0.01));
    assert_int_equal(fall_look(&watch, &params, upright, still, 0.01), FALL_NONE);
    assert_false(fall_is_coming(&watch, 0.01));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lying_is_named_by_the_side_that_is_down),
        cmocka_unit_test(a_fall_is_where_the_turning_leads),
        cmocka_unit_test(it_falls_where_it_is_going),
        cmocka_unit_test(turning_on_the_spot_is_no_fall),
        cmocka_unit_test(it_takes_two_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
