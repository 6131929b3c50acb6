/* Every time inside a message moves from one clock to the other, and back to the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "edge/dds/stamps.h"
#include "geometry_msgs/Vector3.h"
#include "sensor_msgs/Imu.h"
#include "tf2_msgs/TFMessage.h"

static TFMessage frames;

static void nested_times_move_and_come_back(void **state)
{
    static const int64_t shifts[] = {0, 1, -1, 999999999, 1700000000123456789, -1700000000123456789};
    (void)state;
    for (size_t s = 0; s < sizeof shifts / sizeof shifts[0]; s++) {
        nm_reset(&TFMessage_type, &frames);
        for (int i = 0; i < 3; i++) {
            TransformStamped *t = nm_append(&frames.transforms, &TransformStamped_type);
            t->header.stamp.sec = 100 * i; /* the first is not set */
            t->header.stamp.nanosec = 500000000u * (uint32_t)(i > 0);
        }
        nm_shift_times(&TFMessage_type, &frames, shifts[s]);
        for (int i = 1; i < 3; i++) {
            const Time *at = &frames.transforms.at[i].header.stamp;
            assert_int_equal((int64_t)at->sec * 1000000000 + at->nanosec, 100000000000 * i + 500000000 + shifts[s]);
            assert_true(at->nanosec < 1000000000);
        }
        nm_shift_times(&TFMessage_type, &frames, -shifts[s]);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(frames.transforms.at[i].header.stamp.sec, 100 * i);
            assert_int_equal(frames.transforms.at[i].header.stamp.nanosec, i ? 500000000 : 0);
        }
    }
}

static void a_time_ends_at_its_bounds(void **state)
{
    Time t = {INT32_MAX, 4000000000u}; /* from a peer that does not count as we do */
    (void)state;
    nm_shift_times(&Time_type, &t, INT64_MAX / 2);
    assert_int_equal(t.sec, INT32_MAX);
    assert_true(t.nanosec < 1000000000);
    t = (Time){INT32_MIN, 1};
    nm_shift_times(&Time_type, &t, INT64_MIN / 2);
    assert_int_equal(t.sec, INT32_MIN);
}

static void types_without_times_are_known(void **state)
{
    (void)state;
    assert_true(nm_has_times(&Imu_type));
    assert_true(nm_has_times(&TFMessage_type));
    assert_false(nm_has_times(&Vector3_type));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_times_move_and_come_back),
        cmocka_unit_test(a_time_ends_at_its_bounds),
        cmocka_unit_test(types_without_times_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
