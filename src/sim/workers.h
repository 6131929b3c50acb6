/* Helping hands: threads that share a list of independent jobs, such as the cameras of eight robots. Every job writes
 * only what is its own, so the number of hands changes nothing but the time. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct nm_workers;

/* `hands` counts the caller: 1 makes no thread at all. NULL with a sentence if the system gives no thread. */
struct nm_workers *nm_workers_new(uint32_t hands, struct nm_err *err);
void nm_workers_free(struct nm_workers *workers);

/* Calls job(user, i, hand) for every i below n, each once, in any order; returns when all are done. `hand` is below the
 * number of hands and differs between jobs that run at the same time: scratch memory may be chosen by it. */
void nm_workers_run(struct nm_workers *workers, uint32_t n, void (*job)(void *user, uint32_t i, uint32_t hand),
                    void *user);
