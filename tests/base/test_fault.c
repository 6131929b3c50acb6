/* Faults are reported when they begin and end, however they flicker, and things that happen often as counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/fault.h"

static const int64_t second = 1000000000, ms = 1000000;

static void test_a_fault_begins_and_ends_once(void **state)
{
    (void)state;
    struct nm_fault f = {0};
    assert_int_equal(nm_fault_absent(&f, 0), NM_FAULT_SAME);
    assert_int_equal(nm_fault_seen(&f, 1 * second, 50 * ms), NM_FAULT_BEGINS);
    assert_int_equal(nm_fault_seen(&f, 2 * second, 50 * ms), NM_FAULT_SAME);
    assert_int_equal(nm_fault_absent(&f, 2 * second + 49 * ms), NM_FAULT_SAME);
    assert_int_equal(nm_fault_absent(&f, 2 * second + 50 * ms), NM_FAULT_OVER);
    assert_int_equal(nm_fault_absent(&f, 3 * second), NM_FAULT_SAME);
    assert_int_equal(f.times, 2);
    assert_int_equal(f.seen - f.since, second);
}

/* An hour of a contact that fails for an instant now and then, however often that is. */
static void test_what_flickers_is_no_flood(void **state)
{
    (void)state;
    static const int64_t pauses[] = {10, 60, 100, 700, 3000, 9000, 20000, 31000}; /* ms */
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        struct nm_fault f = {0};
        uint32_t told = 0;
        for (int64_t t = 0; t < 3600000; t += 10)
            told += nm_fault_now(&f, t % pauses[i] == 0, (t + 1) * ms, 50 * ms) != NM_FAULT_SAME;
        if (told > 2 * 120) fail_msg("%u reports of one that comes every %d ms", told, (int)pauses[i]);
        if (pauses[i] < 30000 && told > 22) fail_msg("%u reports of one that comes every %d ms", told, (int)pauses[i]);
    }
}

static void test_what_happens_often_is_counted(void **state)
{
    (void)state;
    struct nm_fault_count c = {0};
    uint64_t told = 0, reports = 0;
    assert_int_equal(nm_fault_count_add(&c, 0, 0), 0);
    assert_int_equal(nm_fault_count_add(&c, 1, 0), 1); /* the first at once */
    for (int64_t t = 1; t < 31000; t++) {
        uint64_t n = nm_fault_count_add(&c, 1, t * ms);
        told += n;
        reports += n > 0;
    }
    assert_int_equal(reports, 3);
    told += nm_fault_count_add(&c, 0, 100 * second); /* the rest later */
    assert_int_equal(told, 30999);
    assert_int_equal(nm_fault_count_add(&c, 0, 200 * second), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fault_begins_and_ends_once),
        cmocka_unit_test(test_what_flickers_is_no_flood),
        cmocka_unit_test(test_what_happens_often_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
