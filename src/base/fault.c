#include "base/fault.h"

static const int64_t soon = 60LL * 1000000000;         /* ns; back within that it is the same trouble */
static const int64_t longest_calm = 30LL * 1000000000; /* ns                                          */
static const int64_t tell_every = 10LL * 1000000000;   /* ns                                          */

enum nm_fault_news nm_fault_seen(struct nm_fault *fault, int64_t now, int64_t calm)
{
    fault->seen = now;
    fault->times++;
    if (fault->on) return NM_FAULT_SAME;
    bool again = fault->over && now - fault->over < soon;
    int64_t longer = 2 * fault->calm < longest_calm ? 2 * fault->calm : longest_calm;
    fault->calm = again && longer > calm ? longer : calm;
    fault->on = true;
    fault->since = now;
    fault->times = 1;
    return NM_FAULT_BEGINS;
}

enum nm_fault_news nm_fault_absent(struct nm_fault *fault, int64_t now)
{
    if (!fault->on || now - fault->seen < fault->calm) return NM_FAULT_SAME;
    fault->on = false;
    fault->over = now;
    return NM_FAULT_OVER;
}

uint64_t nm_fault_count_add(struct nm_fault_count *count, uint64_t n, int64_t now)
{
    count->untold += n;
    if (!count->untold || (count->begun && now - count->told < tell_every)) return 0;
    uint64_t untold = count->untold;
    *count = (struct nm_fault_count){.begun = true, .told = now};
    return untold;
}
