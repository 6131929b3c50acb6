/* Free blocks form a stack of indices (Treiber 1986). The top carries a count of its changes, so that a block that was
 * taken and came back between two looks is not mistaken for an unchanged stack. */
#include "base/blob.h"

#include <assert.h>

enum { LINE = 64 };

static uint64_t new_top(uint64_t old, uint32_t index) { return ((old >> 32) + 1) << 32 | index; }

static void push(struct nm_blob_pool *pool, struct nm_blob_block *block)
{
    uint64_t top = atomic_load_explicit(&pool->top, memory_order_relaxed);
    uint32_t index = (uint32_t)(block - pool->blocks) + 1;
    do {
        atomic_store_explicit(&block->next, (uint32_t)top, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&pool->top, &top, new_top(top, index), memory_order_release,
                                                    memory_order_relaxed));
}

static struct nm_blob_block *pop(struct nm_blob_pool *pool)
{
    uint64_t top = atomic_load_explicit(&pool->top, memory_order_acquire);
    struct nm_blob_block *block;
    uint32_t next;
    do {
        if (!(uint32_t)top) return NULL;
        block = &pool->blocks[(uint32_t)top - 1];
        next = atomic_load_explicit(&block->next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&pool->top, &top, new_top(top, next), memory_order_acquire,
                                                    memory_order_acquire));
    return block;
}

struct nm_blob_pool *nm_pool_new(struct nm_arena *arena, uint32_t bytes, uint32_t count)
{
    /* as a large piece the pool itself begins on a cache line, too */
    size_t size = sizeof(struct nm_blob_pool) < 256 ? 256 : sizeof(struct nm_blob_pool);
    struct nm_blob_pool *pool = nm_take(arena, size);
    size_t stride = ((size_t)bytes + LINE - 1) / LINE * LINE;
    uint8_t *data = nm_take(arena, stride * count < 256 ? 256 : stride * count);
    *pool = (struct nm_blob_pool){.bytes = bytes, .count = count};
    pool->blocks = nm_take_n(arena, struct nm_blob_block, count);
    for (uint32_t i = count; i-- > 0;) {
        pool->blocks[i] = (struct nm_blob_block){.pool = pool, .data = data + stride * i};
        push(pool, &pool->blocks[i]);
    }
    return pool;
}

bool nm_pool_take(struct nm_blob_pool *pool, struct nm_blob *blob)
{
    nm_blob_release(blob);
    struct nm_blob_block *block = pop(pool);
    if (!block) {
        atomic_fetch_add_explicit(&pool->refused, 1, memory_order_relaxed);
        return false;
    }
    uint32_t used = atomic_fetch_add_explicit(&pool->used, 1, memory_order_relaxed) + 1;
    uint32_t most = atomic_load_explicit(&pool->most, memory_order_relaxed);
    while (used > most && !atomic_compare_exchange_weak_explicit(&pool->most, &most, used, memory_order_relaxed,
                                                                 memory_order_relaxed)) {}
    atomic_store_explicit(&block->holders, 1, memory_order_relaxed);
    *blob = (struct nm_blob){.data = block->data, .cap = pool->bytes, .ref = block};
    return true;
}

void nm_blob_hold(struct nm_blob *blob)
{
    if (blob->ref) atomic_fetch_add_explicit(&blob->ref->holders, 1, memory_order_relaxed);
}

void nm_blob_release(struct nm_blob *blob)
{
    struct nm_blob_block *block = blob->ref;
    *blob = (struct nm_blob){0};
    if (!block) return;
    uint32_t holders = atomic_fetch_sub_explicit(&block->holders, 1, memory_order_acq_rel);
    assert(holders > 0 && "a blob was released more often than held");
    if (holders != 1) return;
    atomic_fetch_sub_explicit(&block->pool->used, 1, memory_order_relaxed);
    push(block->pool, block);
}
