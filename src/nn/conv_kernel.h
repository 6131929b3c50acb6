/* The loops of conv.c, compiled once for each kind of CPU and width of a tile: KERNEL(name) is the name in that
 * variant. A tile has VECTORS registers of LANES channels for each of its pixels; MOST is the most pixels. The loop
 * over input channels must not be unrolled: the sums would leave the registers. */

typedef float KERNEL(lane) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t KERNEL(word) __attribute__((vector_size(4 * LANES)));
#define lane KERNEL(lane)
#define word KERNEL(word)
/* a if it is greater (less) than b, else b: one instruction of x86, which compilers do not find by themselves */
#if defined(X86) && LANES == 16
#define MORE(a, b) ((lane)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define LESS(a, b) ((lane)_mm512_min_ps((__m512)(a), (__m512)(b)))
#elif defined(X86)
#define MORE(a, b) ((lane)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define LESS(a, b) ((lane)_mm256_min_ps((__m256)(a), (__m256)(b)))
#else
#define MORE(a, b) ((lane)(((word)(a) & ((a) > (b))) | ((word)(b) & ~((a) > (b)))))
#define LESS(a, b) ((lane)(((word)(a) & ((a) < (b))) | ((word)(b) & ~((a) < (b)))))
#endif

/* One row of pixels, or of two rows the largest of each four: nothing else of them is kept where a MaxPool follows. */
static inline __attribute__((always_inline)) void KERNEL(tile)(const struct nm_tile *t, const size_t rows,
                                                               const size_t pixels, const size_t step)
{
    lane sum[28];
    const float *w = t->weights, *in = t->in;
#pragma GCC unroll 28
    for (size_t p = 0; p < rows * pixels; p++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) sum[p * VECTORS + v] = *(const lane *)(t->bias + LANES * v);
    for (uint32_t b = 0; b < t->blocks; b++, in += t->in_block) {
        size_t channels = b + 1 == t->blocks ? t->last : 8, wide = t->wide;
        const float *row = in;
        if (channels == t->in_col) channels *= wide, wide = 1; /* all of a row of the window stand side by side */
        for (uint32_t y = 0; y < t->high; y++, row += t->in_row) {
            const float *q = row, *next = row + t->next;
            for (size_t x = 0; x < wide; x++, q += t->in_col, next += t->in_col)
#pragma GCC unroll 1
                for (size_t i = 0; i < channels; i++, w += VECTORS * LANES)
#pragma GCC unroll 28
                    for (size_t p = 0; p < rows * pixels; p++)
#pragma GCC unroll 4
                        for (size_t v = 0; v < VECTORS; v++)
                            sum[p * VECTORS + v] +=
                                *(const lane *)(w + LANES * v) * (p < pixels ? q : next)[p % pixels * step + i];
        }
    }
    const lane low = (lane){0} + t->low, high = (lane){0} + t->high_end;
#pragma GCC unroll 16
    for (size_t p = 0; p < pixels / rows; p++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) {
            const lane *first = sum + rows * p * VECTORS + v, *second = first + pixels * VECTORS;
            lane s = *first;
            if (rows == 2) {
                lane upper = MORE(first[0], first[VECTORS]), lower = MORE(second[0], second[VECTORS]);
                s = MORE(upper, lower);
            }
            s = MORE(low, s);
            s = LESS(high, s);
            float *to = t->out + p * 8 + LANES * v / 8 * t->out_block;
#if LANES == 16
            typedef float half __attribute__((vector_size(32), aligned(4), may_alias));
            *(half *)to = __builtin_shufflevector(s, s, 0, 1, 2, 3, 4, 5, 6, 7);
            *(half *)(to + t->out_block) = __builtin_shufflevector(s, s, 8, 9, 10, 11, 12, 13, 14, 15);
#else
            *(lane *)(to + LANES * v % 8) = s;
#endif
        }
}

#define NAME(pixels, step)  KERNEL(tile_##pixels##_##step)
#define LARGE(pixels, step) KERNEL(largest_##pixels##_##step)
#define TILE(pixels, step)                                                                                             \
    static void NAME(pixels, step)(const struct nm_tile *t) { KERNEL(tile)(t, 1, pixels, step); }
#define POOL(pixels, step)                                                                                             \
    static void LARGE(pixels, step)(const struct nm_tile *t) { KERNEL(tile)(t, 2, 2 * pixels, step); }
#if MOST >= 14
#define ROW(step)                                                                                                      \
    TILE(1, step)                                                                                                      \
    TILE(2, step) TILE(3, step) TILE(4, step) TILE(6, step) TILE(8, step) TILE(10, step) TILE(12, step) TILE(14, step)
#define NAMES(step)                                                                                                    \
    {                                                                                                                  \
        NAME(1, step), NAME(2, step), NAME(3, step), NAME(4, step), NAME(6, step), NAME(8, step), NAME(10, step),      \
            NAME(12, step), NAME(14, step)                                                                             \
    }
#define POOLS(step) POOL(1, step) POOL(2, step) POOL(3, step) POOL(4, step) POOL(6, step)
#define POOL_NAMES(step)                                                                                               \
    {                                                                                                                  \
        LARGE(1, step), LARGE(2, step), LARGE(3, step), LARGE(4, step), LARGE(6, step)                                 \
    }
#elif MOST >= 12
#define ROW(step)                                                                                                      \
    TILE(1, step) TILE(2, step) TILE(3, step) TILE(4, step) TILE(6, step) TILE(8, step) TILE(10, step) TILE(12, step)
#define NAMES(step)                                                                                                    \
    {                                                                                                                  \
        NAME(1, step), NAME(2, step), NAME(3, step), NAME(4, step), NAME(6, step), NAME(8, step), NAME(10, step),      \
            NAME(12, step)                                                                                             \
    }
#define POOLS(step) POOL(1, step) POOL(2, step) POOL(3, step)
#define POOL_NAMES(step)                                                                                               \
    {                                                                                                                  \
        LARGE(1, step), LARGE(2, step), LARGE(3, step)                                                                 \
    }
#else
#define ROW(step) TILE(1, step) TILE(2, step) TILE(3, step) TILE(4, step) TILE(6, step)
#define NAMES(step)                                                                                                    \
    {                                                                                                                  \
        NAME(1, step), NAME(2, step), NAME(3, step), NAME(4, step), NAME(6, step)                                      \
    }
#define POOLS(step) POOL(1, step)
#define POOL_NAMES(step)                                                                                               \
    {                                                                                                                  \
        LARGE(1, step)                                                                                                 \
    }
#endif
/* clang-format off */
ROW(1) ROW(2) ROW(4) ROW(8) ROW(16)
POOLS(1) POOLS(4) POOLS(8)
static void LARGE(1, any)(const struct nm_tile *t) { KERNEL(tile)(t, 2, 2, t->step); }
static const struct nm_tiles KERNEL(tiles) = {
    LANES * VECTORS / 8,
    {{NAMES(1), NAMES(2), NAMES(4), NAMES(8), NAMES(16), {NAME(1, 8)}},
     {POOL_NAMES(1), {LARGE(1, any)}, POOL_NAMES(4), POOL_NAMES(8), {LARGE(1, any)}, {LARGE(1, any)}}}};
/* clang-format on */

#if LANES <= 8 && VECTORS * LANES == 8
static void KERNEL(each)(const struct nm_tile *t, uint32_t pixels)
{
    for (uint32_t p = 0; p < pixels; p++) {
        lane sum[VECTORS];
        const float *w = t->weights, *row = t->in + (size_t)p * t->step;
#pragma GCC unroll 4
        for (uint32_t v = 0; v < VECTORS; v++) sum[v] = *(const lane *)(t->bias + LANES * v);
        for (uint32_t y = 0; y < t->high; y++, row += t->in_row) {
            const float *q = row;
            for (uint32_t x = 0; x < t->wide; x++, q += t->in_col, w += 8)
#pragma GCC unroll 4
                for (uint32_t v = 0; v < VECTORS; v++)
                    sum[v] += *(const lane *)(w + LANES * v) * *(const lane *)(q + LANES * v);
        }
        const lane low = (lane){0} + t->low, high = (lane){0} + t->high_end;
#pragma GCC unroll 4
        for (uint32_t v = 0; v < VECTORS; v++) {
            lane s = MORE(low, sum[v]);
            *(lane *)(t->out + (size_t)p * 8 + LANES * v) = LESS(high, s);
        }
    }
}

static void KERNEL(pool)(float *to, const float *row, const float *next, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, row += 16, next += 16, to += 8)
#pragma GCC unroll 4
        for (uint32_t v = 0; v < VECTORS; v++) {
            lane a = *(const lane *)(row + LANES * v), b = *(const lane *)(row + 8 + LANES * v);
            lane c = *(const lane *)(next + LANES * v), d = *(const lane *)(next + 8 + LANES * v);
            a = MORE(a, b), c = MORE(c, d);
            *(lane *)(to + LANES * v) = MORE(a, c);
        }
}

/* The rows and columns of B'dB: (a - c, b + c, c - b, b - d). */
static void KERNEL(spread)(float *to, size_t apart, const float *from, size_t row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, from += 16, to += 8)
#pragma GCC unroll 4
        for (uint32_t v = 0; v < 8; v += LANES) {
            lane half[16];
#pragma GCC unroll 4
            for (uint32_t x = 0; x < 4; x++) {
                const float *q = from + 8 * x + v;
                lane a = *(const lane *)q, b = *(const lane *)(q + row), c = *(const lane *)(q + 2 * row),
                     d = *(const lane *)(q + 3 * row);
                half[x] = a - c, half[4 + x] = b + c, half[8 + x] = c - b, half[12 + x] = b - d;
            }
#pragma GCC unroll 4
            for (uint32_t y = 0; y < 4; y++) {
                float *q = to + 4 * y * apart + v;
                lane a = half[4 * y], b = half[4 * y + 1], c = half[4 * y + 2], d = half[4 * y + 3];
                *(lane *)q = a - c, *(lane *)(q + apart) = b + c;
                *(lane *)(q + 2 * apart) = c - b, *(lane *)(q + 3 * apart) = b - d;
            }
        }
}

/* The rows and columns of A'mA: (a + b + c, b - c - d), then bias and ends. `to`: two rows, the second may be NULL; the
 * last square may have only its left half. */
static void KERNEL(gather)(float *const to[2], const float *from, size_t apart, uint32_t pixels,
                           const struct nm_tile *t)
{
    const float *bias = t->bias;
    const lane low = (lane){0} + t->low, high = (lane){0} + t->high_end;
    for (uint32_t i = 0; i < pixels; i += 2, from += 8)
#pragma GCC unroll 4
        for (uint32_t v = 0; v < 8; v += LANES) {
            lane half[8];
#pragma GCC unroll 4
            for (uint32_t x = 0; x < 4; x++) {
                const float *q = from + x * apart + v;
                lane b = *(const lane *)(q + 4 * apart), c = *(const lane *)(q + 8 * apart);
                half[x] = *(const lane *)q + b + c, half[4 + x] = b - c - *(const lane *)(q + 12 * apart);
            }
#pragma GCC unroll 2
            for (uint32_t y = 0; y < 2; y++) {
                if (!to[y]) continue;
                const lane *a = half + 4 * y;
                lane left = a[0] + a[1] + a[2] + *(const lane *)(bias + v),
                     right = a[1] - a[2] - a[3] + *(const lane *)(bias + v);
                left = MORE(low, left), right = MORE(low, right);
                *(lane *)(to[y] + 8 * i + v) = LESS(high, left);
                if (i + 1 < pixels) *(lane *)(to[y] + 8 * i + 8 + v) = LESS(high, right);
            }
        }
}

static void KERNEL(mix)(float *to, const float *a, const float *b, float by, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        lane p = *(const lane *)(a + i), q = *(const lane *)(b + i);
        *(lane *)(to + i) = p + (q - p) * by;
    }
}
#endif

#undef lane
#undef word
#undef MORE
#undef LESS
#undef TILE
#undef POOL
#undef NAME
#undef LARGE
#undef ROW
#undef NAMES
#undef POOLS
#undef POOL_NAMES
