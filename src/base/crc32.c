/* Two ways to the same number. Plain: eight tables, eight bytes a step (Kounavis and Berry 2005). With carry-less
 * multiplication: four blocks of 16 bytes are folded onto the next four until one block is left that has the same
 * remainder as all that was read (Gopal et al. 2009, "Fast CRC computation using PCLMULQDQ"); the tables finish it. */
#include "base/crc32.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as the bytes stand");

/* A CRC is linear: the entry of a byte is the sum of the entries of its bits. So a table is written down by eight
 * numbers, and each table is the one before it shifted on by one zero byte. */
#define BIT(b, i, c)  ((b) >> (i)&1 ? (c) : 0u)
#define ENTRY(b, ...) ENTRY_(b, __VA_ARGS__)
#define ENTRY_(b, c0, c1, c2, c3, c4, c5, c6, c7)                                                                      \
    (BIT(b, 0, c0) ^ BIT(b, 1, c1) ^ BIT(b, 2, c2) ^ BIT(b, 3, c3) ^ BIT(b, 4, c4) ^ BIT(b, 5, c5) ^ BIT(b, 6, c6) ^   \
     BIT(b, 7, c7))
#define ROW4(b, ...)                                                                                                   \
    ENTRY(b, __VA_ARGS__), ENTRY(b + 1, __VA_ARGS__), ENTRY(b + 2, __VA_ARGS__), ENTRY(b + 3, __VA_ARGS__)
#define ROW16(b, ...)                                                                                                  \
    ROW4(b, __VA_ARGS__), ROW4(b + 4, __VA_ARGS__), ROW4(b + 8, __VA_ARGS__), ROW4(b + 12, __VA_ARGS__)
#define ROW64(b, ...)                                                                                                  \
    ROW16(b, __VA_ARGS__), ROW16(b + 16, __VA_ARGS__), ROW16(b + 32, __VA_ARGS__), ROW16(b + 48, __VA_ARGS__)
#define TABLE(...)                                                                                                     \
    {                                                                                                                  \
        ROW64(0, __VA_ARGS__), ROW64(64, __VA_ARGS__), ROW64(128, __VA_ARGS__), ROW64(192, __VA_ARGS__)                \
    }

static const uint32_t tables[8][256] = {
    TABLE(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320),
    TABLE(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b),
    TABLE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80),
    TABLE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b),
    TABLE(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092),
    TABLE(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8),
    TABLE(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2),
    TABLE(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da),
};

/* On the register as it is, without the complements at both ends. */
static uint32_t divide(uint32_t state, const uint8_t *at, size_t size)
{
    for (; size >= 8; at += 8, size -= 8) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + 4, 4);
        low ^= state;
        state = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
                tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^
                tables[0][high >> 24];
    }
    for (; size; at++, size--) state = tables[0][(state ^ *at) & 255] ^ state >> 8;
    return state;
}

uint32_t nm_crc32_plain(uint32_t crc, const void *data, size_t size) { return ~divide(~crc, data, size); }

#ifdef __x86_64__
#include <wmmintrin.h>

enum { LANES = 4, LANE = 16 };

/* Moves a block on by the distance that `by` stands for (x^n and x^(n-64) modulo the polynomial, bits reversed) and
 * adds it to the block there. */
static inline __attribute__((always_inline, target("pclmul"))) __m128i fold(__m128i block, __m128i by, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(block, by, 0x00), high = _mm_clmulepi64_si128(block, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* Divides the whole lanes and moves *at and *size behind them. At least LANES lanes. */
static __attribute__((target("pclmul"))) uint32_t divide_lanes(uint32_t state, const uint8_t **at, size_t *size)
{
    const __m128i by_4 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), by_1 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    const __m128i *from = (const __m128i *)*at;
    size_t left = *size / LANE - LANES;
    __m128i a = _mm_xor_si128(_mm_loadu_si128(from), _mm_cvtsi32_si128((int)state)), b = _mm_loadu_si128(from + 1),
            c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    for (from += LANES; left >= LANES; left -= LANES, from += LANES) {
        a = fold(a, by_4, _mm_loadu_si128(from));
        b = fold(b, by_4, _mm_loadu_si128(from + 1));
        c = fold(c, by_4, _mm_loadu_si128(from + 2));
        d = fold(d, by_4, _mm_loadu_si128(from + 3));
    }
    a = fold(fold(fold(a, by_1, b), by_1, c), by_1, d);
    for (; left; left--) a = fold(a, by_1, _mm_loadu_si128(from++));
    uint8_t rest[LANE];
    _mm_storeu_si128((__m128i *)rest, a);
    *at = (const uint8_t *)from;
    *size %= LANE;
    return divide(0, rest, LANE);
}

uint32_t nm_crc32(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *at = data;
    crc = ~crc;
    if (size >= LANES * LANE && __builtin_cpu_supports("pclmul")) crc = divide_lanes(crc, &at, &size);
    return ~divide(crc, at, size);
}
#else
uint32_t nm_crc32(uint32_t crc, const void *data, size_t size) { return nm_crc32_plain(crc, data, size); }
#endif
