#include "cmd/wire_clock.h"

#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "codec/cdr.h"
#include "core/stamp.h"
#include "edge/dds/dds_look.h"
#include "rosgraph_msgs/Clock.h"

static const int64_t look_again = 50000000; /* ns between two looks for somebody who tells the time */

struct wire_clock {
    struct nm_look *look;
    bool listens;
    int64_t told; /* ns, -1: nothing yet */
};

struct wire_clock *wire_clock_new(int domain, bool network, struct nm_err *err)
{
    struct wire_clock *clock = nm_calloc(1, sizeof *clock);
    clock->told = -1;
    clock->look = nm_look_new(domain, network, err);
    if (clock->look) return clock;
    free(clock);
    return NULL;
}

void wire_clock_free(struct wire_clock *clock)
{
    if (!clock) return;
    nm_look_free(clock->look);
    free(clock);
}

/* Anybody may write to the topic: what is no time of this clock is left out. */
static void hear(struct wire_clock *clock, const struct nm_raw *sample)
{
    Clock message = {0};
    if (!sample->sample || nm_cdr_decode(&Clock_type, &message, sample->bytes, sample->size, NULL, NULL)) return;
    if (message.clock.sec < 0 || message.clock.nanosec >= 1000000000) return;
    clock->told = nm_stamp_ns(message.clock);
}

int64_t wire_clock_wait(struct wire_clock *clock, int64_t timeout)
{
    struct nm_look_topic topic;
    struct nm_raw samples[NM_RAW_MOST];
    if (!clock->listens) clock->listens = nm_look_listen(clock->look, "clock", &topic, NULL) == 0;
    if (!clock->listens) {
        int64_t pause = timeout < look_again ? timeout : look_again;
        nanosleep(&(struct timespec){.tv_nsec = (long)pause}, NULL);
        return clock->told;
    }
    if (!nm_look_wait(clock->look, timeout)) return clock->told;
    for (int n = NM_RAW_MOST; n == NM_RAW_MOST;) {
        n = nm_look_take(clock->look, samples, NM_RAW_MOST);
        for (int i = 0; i < n; i++) hear(clock, &samples[i]);
        if (n > 0) nm_raw_free(samples, n);
    }
    return clock->told;
}
