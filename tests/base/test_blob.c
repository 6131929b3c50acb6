/* labels: threads
 * Blobs are shared, counted, come back to their pool when the last holder lets go, and never cost memory after start.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/blob.h"

static void an_empty_pool_refuses_and_counts(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_blob_pool *pool = nm_pool_new(&arena, 100, 3);
    size_t taken = arena.taken;
    struct nm_blob blob[4] = {{0}};
    for (int i = 0; i < 3; i++) {
        assert_true(nm_pool_take(pool, &blob[i]));
        assert_int_equal(blob[i].n, 0);
        assert_int_equal(blob[i].cap, 100);
        assert_int_equal((uintptr_t)blob[i].data % 64, 0);
        memset(blob[i].data, i, 100);
    }
    assert_false(nm_pool_take(pool, &blob[3]));
    assert_null(blob[3].data);
    assert_int_equal(pool->refused, 1);
    assert_int_equal(pool->used, 3);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 100; k++) assert_int_equal(blob[i].data[k], i);
    nm_blob_release(&blob[1]);
    assert_null(blob[1].data);
    assert_true(nm_pool_take(pool, &blob[3]));
    for (int i = 0; i < 4; i++) nm_blob_release(&blob[i]);
    assert_int_equal(pool->used, 0);
    assert_int_equal(pool->most, 3);
    assert_int_equal(arena.taken, taken);
    nm_arena_free(&arena);
}

static void the_last_holder_gives_a_block_back(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_blob_pool *pool = nm_pool_new(&arena, 8, 1);
    struct nm_blob first = {0}, third = {0};
    assert_true(nm_pool_take(pool, &first));
    struct nm_blob second = first;
    nm_blob_hold(&second);
    nm_blob_release(&first);
    assert_false(nm_pool_take(pool, &third));
    nm_blob_release(&second);
    assert_true(nm_pool_take(pool, &third));
    nm_blob_release(&third);
    nm_blob_release(&third); /* an empty handle: nothing happens */
    assert_int_equal(pool->used, 0);
    nm_arena_free(&arena);
}

static void taking_into_a_full_handle_releases_what_it_held(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_blob_pool *pool = nm_pool_new(&arena, 8, 1);
    struct nm_blob blob = {0};
    for (int i = 0; i < 10; i++) assert_true(nm_pool_take(pool, &blob));
    assert_int_equal(pool->used, 1);
    assert_int_equal(pool->refused, 0);
    nm_blob_release(&blob);
    nm_arena_free(&arena);
}

static void borrowed_memory_is_left_alone(void **state)
{
    (void)state;
    uint8_t bytes[4] = {1, 2, 3, 4};
    struct nm_blob blob = {.data = bytes, .n = 4, .cap = 4};
    nm_blob_hold(&blob);
    nm_blob_release(&blob);
    assert_null(blob.data);
    assert_int_equal(bytes[3], 4);
}

enum { THREADS = 4, ROUNDS = 20000, BLOCKS = 6 };

/* Each thread writes its own mark into a block and finds it again: no block is ever in two hands. */
static void *use_blocks(void *shared)
{
    struct nm_blob_pool *pool = shared;
    uintptr_t mark = (uintptr_t)pthread_self(), wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct nm_blob a = {0}, b = {0};
        if (nm_pool_take(pool, &a)) memcpy(a.data, &mark, sizeof mark);
        if (nm_pool_take(pool, &b)) memset(b.data, 0, sizeof mark);
        struct nm_blob also = a;
        nm_blob_hold(&also);
        nm_blob_release(&a);
        if (also.data) wrong += memcmp(also.data, &mark, sizeof mark) != 0;
        nm_blob_release(&b);
        nm_blob_release(&also);
    }
    return (void *)wrong;
}

static void threads_never_share_a_block_by_accident(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_blob_pool *pool = nm_pool_new(&arena, 64, BLOCKS);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, use_blocks, pool);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(pool->used, 0);
    assert_true(pool->most <= BLOCKS);
    struct nm_blob blob[BLOCKS] = {{0}};
    for (int i = 0; i < BLOCKS; i++) assert_true(nm_pool_take(pool, &blob[i]));
    for (int i = 0; i < BLOCKS; i++)
        for (int k = 0; k < i; k++) assert_ptr_not_equal(blob[i].data, blob[k].data);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_pool_refuses_and_counts),
        cmocka_unit_test(the_last_holder_gives_a_block_back),
        cmocka_unit_test(taking_into_a_full_handle_releases_what_it_held),
        cmocka_unit_test(borrowed_memory_is_left_alone),
        cmocka_unit_test(threads_never_share_a_block_by_accident),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
