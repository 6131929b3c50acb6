/* Counts durations in buckets that grow by a constant factor, so that a percentile needs no memory and no sorting. One
 * thread writes with plain stores, any thread reads. */

#include "base/clock.h"
#include "core/internal.h"

/* Four buckets to each power of two from 16 ns on: bucket = 4 log2(ns / 16). */
enum { FIRST = 4, PARTS = 4 };

static uint32_t bucket_of(int64_t ns)
{
    uint64_t v = ns < 16 ? 16 : (uint64_t)ns;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(v);
    uint32_t part = (uint32_t)(v >> (power - 2)) & (PARTS - 1);
    uint32_t b = (power - FIRST) * PARTS + part;
    return b < BUCKETS ? b : BUCKETS - 1;
}

/* upper end of a bucket */
int64_t tally_end(uint32_t b) { return (int64_t)(((uint64_t)PARTS + b % PARTS + 1) << (b / PARTS + FIRST - 2)); }

void tally_add(struct tally *tally, int64_t ns)
{
    _Atomic uint32_t *bucket = &tally->bucket[bucket_of(ns)];
    atomic_store_explicit(bucket, atomic_load_explicit(bucket, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store_explicit(&tally->n, atomic_load_explicit(&tally->n, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store_explicit(&tally->sum,
                          atomic_load_explicit(&tally->sum, memory_order_relaxed) + (uint64_t)(ns < 0 ? 0 : ns),
                          memory_order_relaxed);
    if (ns > atomic_load_explicit(&tally->max, memory_order_relaxed))
        atomic_store_explicit(&tally->max, ns, memory_order_relaxed);
}

void tally_read(const struct tally *tally, struct nm_times *times)
{
    uint64_t n = atomic_load_explicit(&tally->n, memory_order_relaxed), below = 0;
    int64_t *const at[] = {&times->p50, &times->p99, &times->p999};
    const double share[] = {0.5, 0.99, 0.999};
    *times = (struct nm_times){0};
    if (!n) return;
    times->mean = (double)atomic_load_explicit(&tally->sum, memory_order_relaxed) / (double)n;
    times->max = atomic_load_explicit(&tally->max, memory_order_relaxed);
    for (uint32_t b = 0, k = 0; b < BUCKETS && k < 3; b++) {
        uint32_t here = atomic_load_explicit(&tally->bucket[b], memory_order_relaxed);
        int64_t begin = b ? tally_end(b - 1) : 0, end = tally_end(b);
        /* durations lie evenly between the ends of a bucket */
        for (; k < 3 && (double)(below + here) >= share[k] * (double)n; k++) {
            int64_t ns = begin + (int64_t)((double)(end - begin) * (share[k] * (double)n - (double)below) / here);
            *at[k] = ns < times->max ? ns : times->max;
        }
        below += here;
    }
}
