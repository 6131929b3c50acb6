/* Pools of equal blocks for large payloads. A pool is made at start and never grows; blocks are taken and given back
 * without a lock from any thread, and a taken block lives as long as somebody counts it (nm_blob_hold, nm_blob_release
 * in base/type.h). An empty pool is no error: the message is not published this time, and that is counted. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/type.h"

struct nm_blob_block {
    struct nm_blob_pool *pool;
    uint8_t *data;
    _Atomic uint32_t holders;
    _Atomic uint32_t next; /* free block below this one, as index + 1; 0 ends the stack */
};

struct nm_blob_pool {
    uint32_t bytes; /* of one block */
    uint32_t count; /* of blocks    */
    struct nm_blob_block *blocks;

    /* statistics, for anyone to read */
    _Atomic uint32_t used;    /* blocks taken now                              */
    _Atomic uint32_t most;    /* the highest `used` so far                     */
    _Atomic uint64_t refused; /* takes that found the pool empty               */

    _Atomic uint64_t top __attribute__((aligned(64))); /* free stack: change count << 32 | index + 1 */
};

/* The pool and its blocks live in the arena. Each block begins on a cache line. */
struct nm_blob_pool *nm_pool_new(struct nm_arena *arena, uint32_t bytes, uint32_t count);

/* Puts an empty block (n = 0, cap = bytes) with one holder into a handle. What the handle held is released first, so a
 * handle may be filled again and again. False, with the handle empty and the miss counted, when no block is free. */
bool nm_pool_take(struct nm_blob_pool *pool, struct nm_blob *blob);
