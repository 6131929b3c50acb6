/* Where a robot was: between two poses on the straight line, turned the short way; outside of them the nearest one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/trail.h"

static const int64_t MS = 1000000;

static void assert_pose(struct pose2 a, double x, double y, double theta)
{
    assert_true(fabs(a.x - x) < 1e-9 && fabs(a.y - y) < 1e-9 && fabs(angle_normal(a.theta - theta)) < 1e-9);
}

static void poses_between_are_interpolated(void **state)
{
    (void)state;
    struct nm_trail t = {0};
    assert_pose(nm_trail_at(&t, 5 * MS), 0, 0, 0);
    assert_pose(nm_trail_newest(&t), 0, 0, 0);
    /* three times as many as there is room for, on a line, turning on */
    for (int i = 0; i < 3 * NM_TRAIL; i++)
        nm_trail_put(&t, 10 * i * MS, (struct pose2){i, -2.0 * i, angle_normal(0.3 * i)});
    int last = 3 * NM_TRAIL - 1, first = 2 * NM_TRAIL;
    for (double at = first; at <= last; at += 0.125)
        assert_pose(nm_trail_at(&t, (int64_t)(10 * at * (double)MS)), at, -2 * at, 0.3 * at);
    assert_pose(nm_trail_at(&t, 0), first, -2.0 * first, 0.3 * first); /* forgotten */
    assert_pose(nm_trail_at(&t, 100000 * MS), last, -2.0 * last, 0.3 * last);
    assert_pose(nm_trail_newest(&t), last, -2.0 * last, 0.3 * last);
}

static void what_makes_no_sense_is_left_out(void **state)
{
    (void)state;
    struct nm_trail t = {0};
    nm_trail_put(&t, 10 * MS, (struct pose2){1, 0, 0});
    nm_trail_put(&t, 10 * MS, (struct pose2){2, 0, 0}); /* not newer */
    nm_trail_put(&t, 5 * MS, (struct pose2){3, 0, 0});  /* older */
    nm_trail_put(&t, 20 * MS, (struct pose2){NAN, 0, 0});
    nm_trail_put(&t, 20 * MS, (struct pose2){4, INFINITY, 0});
    assert_int_equal(t.n, 1);
    assert_pose(nm_trail_at(&t, 30 * MS), 1, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_between_are_interpolated),
        cmocka_unit_test(what_makes_no_sense_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
