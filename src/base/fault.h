/* The one way to report faults without a flood.
 *
 * A fault that lasts is reported when it begins and when it is over. It is over when it was not seen for a while. If it
 * comes back soon, it has to stay away twice as long before it counts as over again: a contact that flickers is one
 * fault.
 *
 * Things that just happen, such as malformed packets, are counted: the first one is reported at once, the others
 * together at most every ten seconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/export.h"

struct nm_fault { /* begins as {0} */
    bool on;
    int64_t since, seen, over; /* ns: began, seen last, ended last */
    int64_t calm;              /* ns without it that end it        */
    uint64_t times;            /* seen since it began              */
};

enum nm_fault_news { NM_FAULT_SAME, NM_FAULT_BEGINS, NM_FAULT_OVER };

/* It is there. `calm`: ns without it after which it is over, if it does not flicker. */
NM_EXPORT enum nm_fault_news nm_fault_seen(struct nm_fault *fault, int64_t now, int64_t calm);
/* It is not there. */
NM_EXPORT enum nm_fault_news nm_fault_absent(struct nm_fault *fault, int64_t now);

static inline enum nm_fault_news nm_fault_now(struct nm_fault *fault, bool there, int64_t now, int64_t calm)
{
    return there ? nm_fault_seen(fault, now, calm) : nm_fault_absent(fault, now);
}

struct nm_fault_count { /* of things that happen; begins as {0} */
    bool begun;
    int64_t told;    /* ns, last report      */
    uint64_t untold; /* since the last report */
};

/* It happened n more times; 0: only time has passed. Returns how many are to be reported now; 0: none. */
NM_EXPORT uint64_t nm_fault_count_add(struct nm_fault_count *count, uint64_t n, int64_t now);
