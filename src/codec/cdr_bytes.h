/* What both directions of CDR share: alignment, and copies in words and blocks, since a call into the C library costs
 * more than most of these copies do. Only cdr.c and cdr_decode.c include it. */
#ifndef NM_CODEC_CDR_BYTES_H
#define NM_CODEC_CDR_BYTES_H

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/type.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire's byte order is the machine's");

enum { NM_CDR_HEAD = 4 /* encapsulation */, WORD = 8 };

static inline uint64_t load_word(const void *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline void store_word(void *at, uint64_t word) { memcpy(at, &word, sizeof word); }

/* Non-zero if a byte of the word is zero; its lowest bit set then lies in the first such byte (Mycroft 1987). */
static inline uint64_t zero_byte(uint64_t word) { return (word - 0x0101010101010101u) & ~word & 0x8080808080808080u; }

/* Copies BLOCK bytes and returns where the first NUL among them is, BLOCK without one. */
#ifdef __SSE2__
enum { BLOCK = 16 };
static inline size_t copy_block(uint8_t *to, const uint8_t *from)
{
    __m128i block = _mm_loadu_si128((const __m128i *)from);
    unsigned zeros = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_setzero_si128()));
    _mm_storeu_si128((__m128i *)to, block);
    return (size_t)__builtin_ctz(zeros | 1u << BLOCK);
}
#else
enum { BLOCK = WORD };
static inline size_t copy_block(uint8_t *to, const uint8_t *from)
{
    uint64_t word = load_word(from), zeros = zero_byte(word);
    store_word(to, word);
    return zeros ? (size_t)__builtin_ctzll(zeros) / 8 : BLOCK;
}
#endif

/* memcpy for sizes that are mostly small: both ends, overlapping in the middle. */
static inline void copy(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n > 64) {
        memcpy(to, from, n);
    } else if (n > 32) {
        memcpy(to, from, 32);
        memcpy(to + n - 32, from + n - 32, 32);
    } else if (n >= 16) {
        memcpy(to, from, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++) to[i] = from[i];
    }
}

/* A struct that is one run of equal primitives without padding: sequences of it are runs, too. */
static inline bool one_run(const struct nm_type *type)
{
    return type->n_ops == 1 && type->ops->code == NM_OP_COPY && type->ops->n * type->ops->elem == type->size;
}

static inline size_t padding(const uint8_t *base, const uint8_t *at, size_t align)
{
    return (size_t)(base - at) & (align - 1);
}

#endif
