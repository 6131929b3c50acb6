/* The clocks of this machine, in nanoseconds. Modules do not use them: their time is nm->now. */
#pragma once

#include <stdint.h>
#include <time.h>

enum { NM_SECOND = 1000000000 }; /* ns */

static inline int64_t nm_clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * NM_SECOND + t.tv_nsec;
}

static inline int64_t nm_clock(void) { return nm_clock_of(CLOCK_MONOTONIC); }               /* never set, never back */
static inline int64_t nm_wall(void) { return nm_clock_of(CLOCK_REALTIME); }                 /* since 1970            */
static inline int64_t nm_thread_time(void) { return nm_clock_of(CLOCK_THREAD_CPUTIME_ID); } /* of this thread      */

/* The same in seconds, for pauses and progress. */
static inline double nm_clock_seconds(void) { return 1e-9 * (double)nm_clock(); }

static inline struct timespec nm_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NM_SECOND, .tv_nsec = ns % NM_SECOND};
}

/* Sleeps until that time of nm_clock; a signal ends it early. */
static inline void nm_sleep_until(int64_t ns)
{
    struct timespec t = nm_timespec(ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}
