/* Memory that is taken piece by piece at start and given back all at once. Pieces are zeroed, aligned to 64 bytes where
 * they are large (a cache line), to 16 otherwise. Out of memory ends the program with a sentence: it happens at
 * start or not at all. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/export.h"

struct nm_arena {
    struct nm_chunk *chunks; /* newest first       */
    size_t taken;            /* bytes handed out   */
};

NM_EXPORT void *nm_take(struct nm_arena *arena, size_t bytes);
NM_EXPORT char *nm_take_text(struct nm_arena *arena, const char *text);
NM_EXPORT char *nm_take_format(struct nm_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for one more behind the n elements of an array that lives in the arena; doubles the room when it is full.
 * Returns where the array is now. */
NM_EXPORT void *nm_take_more(struct nm_arena *arena, void *array, uint32_t n, uint32_t *room, size_t size);
NM_EXPORT void nm_arena_free(struct nm_arena *arena);

#define nm_take_n(arena, type, n) ((type *)nm_take((arena), sizeof(type) * (size_t)(n)))
