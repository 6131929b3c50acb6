/* Any text as a message: sentences and a reset message, or a message that prints and reads back as itself, in YAML and
 * in JSON. The first byte picks the type. */
#include <assert.h>

#include "codec/text.h"

#include "../messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"Everything", "Album", "Inner", "Mixed", "Picture", "Point"};
enum { TYPES = sizeof names / sizeof names[0] };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nm_arena arena;
    static const struct nm_type *types[TYPES];
    static struct nm_blob_pool *pool;
    if (!pool) {
        pool = nm_pool_new(&arena, 4096, 32);
        for (int i = 0; i < TYPES; i++) types[i] = odd_type(&arena, names[i]);
    }
    if (size < 1) return 0;
    const struct nm_type *type = types[data[0] % TYPES];
    uint8_t *a = calloc(1, type->size), *b = calloc(1, type->size);
    nm_reset(type, a);
    nm_reset(type, b);

    struct nm_err err = {0};
    if (nm_parse_text(type, a, "fuzz", (const char *)data + 1, size - 1, pool, &err)) {
        assert(err.n >= 1 && !strncmp(err.text, "fuzz:", 5));
        assert(nm_compare(type, a, b, 0, NULL, NULL) == 0);
    } else {
        for (unsigned style = NM_TEXT_YAML; style <= NM_TEXT_JSON; style++) {
            struct nm_text_out out = {.grows = true};
            nm_print(&out, type, a, style | NM_TEXT_WHOLE);
            assert(!nm_parse_text(type, b, "back", out.text, out.used, pool, &err));
            assert(nm_compare(type, a, b, 0, NULL, NULL) == 0);
            free(out.text);
        }
    }
    nm_reset(type, a);
    nm_reset(type, b);
    assert(pool->used == 0);
    free(a);
    free(b);
    return 0;
}
