/* The processes that learn together, perhaps on several machines. Each has a share of the worlds; what they have seen
 * is summed, so that all of them make the same step with the same bits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct nm_crew {
    uint32_t rank, size;
    /* All processes call the same of these in the same order. Sums are over all processes, in the order of their ranks:
     * the same bits everywhere, and each time. `share` gives all the bytes of rank 0. -1: a process is gone, and
     * nothing more can be shared. */
    int (*sum_floats)(struct nm_crew *crew, float *x, size_t n);
    int (*sum)(struct nm_crew *crew, double *x, size_t n);
    int (*share)(struct nm_crew *crew, void *bytes, size_t n);
};

/* The crew that mpirun has started this process in. Open MPI is loaded now, so that neither the build nor a process
 * that learns alone needs it. NULL without a sentence where nobody said mpirun, with one where it does not work. `quit`
 * is asked while it waits for others: once it says true, who does not answer is taken to be gone. */
struct nm_crew *nm_crew_mpi(bool (*quit)(void), struct nm_err *err);
uint32_t nm_crew_on_this_machine(const struct nm_crew *crew); /* processes */
/* `together`: all others leave now too, and are waited for. */
void nm_crew_leave(struct nm_crew *crew, bool together);
