/* A replay against the clock: which part of the log, how fast, and where it stops for somebody to look. */
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "record/replay_inside.h"

int replay_times(struct replay *r, struct nm_err *err)
{
    struct nm_mcap_query_options time;
    struct bag_choice choice = {.from = r->options->from, .to = r->options->to};
    if (bag_choose(&r->bag, &choice, &time, err)) return -1;
    r->from = time.from;
    r->to = time.to;
    r->break_at = INT64_MAX;
    if (r->options->break_at) {
        choice = (struct bag_choice){.from = r->options->break_at};
        if (bag_choose(&r->bag, &choice, &time, err)) return -1;
        if (time.from <= REPLAY_TIME_MOST) r->break_at = (int64_t)time.from;
    }
    return 0;
}

void replay_break(struct replay *r, int64_t now, const char *before)
{
    r->break_at = INT64_MAX;
    if (r->options->broke)
        r->options->broke(r->options->user, nm_seconds(now + r->offset - (int64_t)r->bag.first), before);
}

void replay_pace(const struct replay *r, int64_t now, double began, int64_t first)
{
    if (r->options->speed <= 0) return;
    double ahead = began + nm_seconds(now - first) / r->options->speed - nm_clock_seconds();
    struct timespec nap = {.tv_sec = (time_t)ahead, .tv_nsec = (long)(1e9 * (ahead - floor(ahead)))};
    if (ahead > 0) nanosleep(&nap, NULL);
}
