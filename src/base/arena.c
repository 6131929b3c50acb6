#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nm_chunk {
    struct nm_chunk *older;
    size_t used, size;
    unsigned char data[] __attribute__((aligned(64)));
};

enum { CHUNK = 64 * 1024, LARGE = 256 };

void *nm_take(struct nm_arena *arena, size_t bytes)
{
    size_t align = bytes >= LARGE ? 64 : 16;
    struct nm_chunk *chunk = arena->chunks;
    size_t at = chunk ? (chunk->used + align - 1) / align * align : 0;

    if (!chunk || bytes > chunk->size || at > chunk->size - bytes) {
        size_t size = bytes > CHUNK ? bytes : CHUNK;
        size_t whole = size <= SIZE_MAX - 128 ? (sizeof *chunk + size + 63) / 64 * 64 : 0;
        chunk = whole ? aligned_alloc(64, whole) : NULL;
        if (!chunk) {
            fprintf(stderr, "nutmeg: out of memory: %zu bytes wanted, %zu in use\n", bytes, arena->taken);
            abort();
        }
        *chunk = (struct nm_chunk){.older = arena->chunks, .size = size};
        arena->chunks = chunk;
        at = 0;
    }
    chunk->used = at + bytes;
    arena->taken += bytes;
    return memset(chunk->data + at, 0, bytes);
}

char *nm_take_text(struct nm_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(nm_take(arena, size), text, size);
}

char *nm_take_format(struct nm_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    char *text = nm_take(arena, (size_t)(len < 0 ? 0 : len) + 1);
    vsnprintf(text, (size_t)(len < 0 ? 0 : len) + 1, format, again);
    va_end(args);
    va_end(again);
    return text;
}

void *nm_take_more(struct nm_arena *arena, void *array, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room) return array;
    *room = *room ? 2 * *room : 8;
    void *larger = nm_take(arena, size * *room);
    return n ? memcpy(larger, array, size * n) : larger;
}

void nm_arena_free(struct nm_arena *arena)
{
    for (struct nm_chunk *chunk = arena->chunks, *older; chunk; chunk = older) {
        older = chunk->older;
        free(chunk);
    }
    *arena = (struct nm_arena){0};
}
