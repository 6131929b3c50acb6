/* Converts between the nanoseconds of the runtime and the Time of messages. */
#pragma once

#include <stdint.h>

#include "builtin_interfaces/Time.h"

/* The nanoseconds of a Time are never negative; for times before zero the seconds are one less. */
static inline Time nm_stamp(int64_t ns)
{
    int64_t sec = ns / 1000000000, rest = ns % 1000000000;
    return (Time){(int32_t)(rest < 0 ? sec - 1 : sec), (uint32_t)(rest < 0 ? rest + 1000000000 : rest)};
}

static inline int64_t nm_stamp_ns(Time time) { return (int64_t)time.sec * 1000000000 + time.nanosec; }
