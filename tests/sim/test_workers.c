/* labels: threads
 * Every job is done exactly once, whatever the number of hands, and no two jobs share a hand at the same time. */
#include "sim/sim_help.h"

#include <stdatomic.h>

#include "sim/workers.h"

struct work {
    _Atomic int done[100];
    _Atomic int busy[8];
    _Atomic int clashes;
    uint32_t hands;
};

static void job(void *user, uint32_t i, uint32_t hand)
{
    struct work *w = user;
    if (hand >= w->hands || atomic_fetch_add(&w->busy[hand], 1)) atomic_fetch_add(&w->clashes, 1);
    for (volatile int k = 0; k < 500; k++) {}
    atomic_fetch_add(&w->done[i], 1);
    atomic_fetch_sub(&w->busy[hand], 1);
}

static void every_job_is_done_once(void **state)
{
    (void)state;
    for (uint32_t hands = 1; hands <= 4; hands++) {
        struct nm_workers *workers = nm_workers_new(hands, NULL);
        struct work work = {.hands = hands};
        assert_non_null(workers);
        for (int round = 0; round < 50; round++) nm_workers_run(workers, (uint32_t)(round * 2), job, &work);
        for (int i = 0; i < 100; i++) assert_int_equal(work.done[i], 49 - i / 2);
        assert_int_equal(work.clashes, 0);
        nm_workers_free(workers);
    }
    struct nm_err err = {0};
    assert_null(nm_workers_new(0, &err));
    assert_int_equal(err.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_job_is_done_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
