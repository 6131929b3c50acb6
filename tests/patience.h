/* Waiting for what another thread, another process or the kernel does. It ends at once when the thing is there, and
 * fails after a minute of rests: however busy the machine is, only what never happens fails. */
#pragma once

#include <unistd.h>

enum { WAIT_STEPS = 30000, WAIT_US = 2000 };
#define wait_until(condition, turn)                                                                                    \
    do {                                                                                                               \
        bool there_ = false;                                                                                           \
        for (int steps_ = 0; steps_ < WAIT_STEPS && !(there_ = (condition)); steps_++) {                               \
            turn;                                                                                                      \
            usleep(WAIT_US);                                                                                           \
        }                                                                                                              \
        if (!there_) fail_msg("never: %s", #condition);                                                                \
    } while (0)
