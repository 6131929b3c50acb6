/* Two messages of a log, compared by definitions that differ: any bytes at all. What compares with itself is the same.
 * The first byte says where the second message begins. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/cdr_compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct nm_def *def_of(struct nm_arena *arena, const char *text)
{
    struct nm_defs *set = nm_take_n(arena, struct nm_defs, 1);
    set->arena = arena;
    if (nm_defs_add_merged(set, "t", "t/msg/T", text, strlen(text), NULL) || nm_defs_link(set, NULL)) abort();
    return nm_defs_find(set, "t/msg/T");
}

#define NEXT "\n========================================\nMSG: t/P\n"
static const char old[] = "bool b\nstring name\nint8[] data\nP[] points\nP[2] pair\nfloat64 x\nstring[] words" NEXT
                          "float32 u\nuint64[] v\nbool ok",
                  new[] = "float32 x\nP[] points\nstring[] words\nint32 b\nint8[] data\nstring name\nint16 more" NEXT
                          "bool ok\nfloat64 u\nint8[] v";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    struct nm_arena arena = {0};
    const struct nm_def *defs[2] = {def_of(&arena, old), def_of(&arena, new)};
    size_t cut = (size_t)data[0] % size, n = cut ? cut - 1 : 0, m = size - 1 - n;
    uint8_t *a = malloc(n + 1), *b = malloc(m + 1); /* ends that a sanitizer sees */
    memcpy(a, data + 1, n);
    memcpy(b, data + 1 + n, m);
    for (int i = 0; i < 4; i++) {
        struct nm_diff diff = {.arena = &arena};
        struct nm_err err = {0};
        if ((nm_diff_pair(&diff, defs[i & 1], a, n, defs[i >> 1], b, m, &err) < 0) != (err.n > 0)) abort();
        diff = (struct nm_diff){.arena = &arena};
        if (nm_diff_pair(&diff, defs[i & 1], b, m, defs[i & 1], b, m, NULL) > 0) abort();
    }
    free(a);
    free(b);
    nm_arena_free(&arena);
    return 0;
}
