/* Any bytes as CDR of any type: refused and the message reset, or a message that encodes and decodes to itself. The
 * first byte picks the type, the second pool or borrowing. */
#include <assert.h>

#include "codec/cdr.h"

#include "../messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"Everything", "Album", "Inner", "Mixed", "Picture", "Point"};
enum { TYPES = sizeof names / sizeof names[0] };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nm_arena arena;
    static const struct nm_type *types[TYPES];
    static struct nm_blob_pool *pool;
    static uint8_t bytes[1 << 16];
    if (!pool) {
        pool = nm_pool_new(&arena, 4096, 32);
        for (int i = 0; i < TYPES; i++) types[i] = odd_type(&arena, names[i]);
    }
    if (size < 2) return 0;
    const struct nm_type *type = types[data[0] % TYPES];
    struct nm_blob_pool *blobs = data[1] & 1 ? pool : NULL;
    size -= 2;
    uint8_t *exact = malloc(size + 1), *a = calloc(1, type->size), *b = calloc(1, type->size);
    memcpy(exact, data + 2, size);
    exact[size] = 0xee;
    nm_reset(type, a);
    nm_reset(type, b);

    struct nm_err err = {0};
    if (nm_cdr_decode(type, a, exact, size, blobs, &err)) {
        assert(err.n == 1);
        assert(nm_compare(type, a, b, 0, NULL, NULL) == 0);
    } else {
        size_t needs = nm_cdr_size(type, a);
        int64_t written = nm_cdr_encode(type, a, bytes, sizeof bytes);
        assert(needs > sizeof bytes ? written == NM_CDR_ROOM : written == (int64_t)needs);
        if (written > 0) {
            assert(!nm_cdr_decode(type, b, bytes, (size_t)written, pool, NULL));
            assert(nm_compare(type, a, b, 0, NULL, NULL) == 0);
        }
    }
    nm_reset(type, a);
    nm_reset(type, b);
    assert(pool->used == 0);
    free(exact);
    free(a);
    free(b);
    return 0;
}
