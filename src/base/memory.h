/* Memory for what starts, reads files or prints. Without memory none of it can go on, so the program ends. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline void *nm_sure(void *memory)
{
    if (!memory) abort();
    return memory;
}

static inline void *nm_malloc(size_t size) { return nm_sure(malloc(size)); }
static inline void *nm_calloc(size_t n, size_t size) { return nm_sure(calloc(n, size)); }
static inline void *nm_realloc(void *memory, size_t size) { return nm_sure(realloc(memory, size)); }
static inline FILE *nm_memstream(char **text, size_t *size) { return nm_sure(open_memstream(text, size)); }
/* Room for one more behind the n elements of an array, which may move; doubles the room when it is full. */
static inline void *nm_more(void *array, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room) return array;
    *room = *room ? 2 * *room : 64;
    return nm_realloc(array, *room * size);
}
