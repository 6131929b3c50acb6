/* The loops of dense.c, compiled once for each kind of CPU: KERNEL(name) is the name in that variant. GCC takes vectors
 * apart before it inlines or clones functions, so neither inlining nor target_clones would do. */

typedef float KERNEL(lane) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t KERNEL(word) __attribute__((vector_size(4 * LANES)));
#define lane KERNEL(lane)
#define word KERNEL(word)

/* `rows` x `wide` registers of c; both are constants where it is called. */
static inline __attribute__((always_inline)) void KERNEL(tile)(const struct nm_product *p, uint32_t i, uint32_t j,
                                                               const uint32_t rows, const uint32_t wide)
{
    lane sum[ROWS * WIDE];
    const float *a = p->a + i * p->a_row, *b = p->b + j;
    float *c = p->c + i * p->c_row + j;
#pragma GCC unroll 8
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (uint32_t v = 0; v < wide; v++) sum[r * wide + v] = *(const lane *)(c + r * p->c_row + LANES * v);
    for (uint32_t k = 0; k < p->k; k++, a += p->a_col, b += p->b_row)
#pragma GCC unroll 8
        for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 8
            for (uint32_t v = 0; v < wide; v++) sum[r * wide + v] += a[r * p->a_row] * *(const lane *)(b + LANES * v);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (uint32_t v = 0; v < wide; v++) *(lane *)(c + r * p->c_row + LANES * v) = sum[r * wide + v];
}

/* `rows` rows of c. Many chains of sums hide the latency of an addition, so a few rows take more registers each. */
static inline __attribute__((always_inline)) void KERNEL(band)(const struct nm_product *p, uint32_t i,
                                                               const uint32_t rows, const uint32_t wide)
{
    uint32_t j = 0;
    for (; j + wide * LANES <= p->n; j += wide * LANES) KERNEL(tile)(p, i, j, rows, wide);
    for (; j < p->n; j += LANES) KERNEL(tile)(p, i, j, rows, 1);
}

static void KERNEL(dense)(const struct nm_product *p)
{
    uint32_t i = 0;
    for (; i + ROWS <= p->m; i += ROWS) KERNEL(band)(p, i, ROWS, WIDE);
    for (; i + 2 <= p->m; i += 2) KERNEL(band)(p, i, 2, WIDE_ONE);
    for (; i < p->m; i++) KERNEL(band)(p, i, 1, WIDE_ONE);
}

/* e^x = 2^n e^r with |r| <= ln 2 / 2, and the series of e^r to r^6; -87 to 87, beyond that the value at the end. */
static inline __attribute__((always_inline)) void KERNEL(exp)(lane *to, const lane *from)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: a sum with it has whole numbers in its lowest bits */
    const lane most = (lane){0} + 87.0f;
    lane x = *from;
    word over = x > most, under = x < -most;
    x = (lane)(((word)x & ~(over | under)) | ((word)most & over) | ((word)-most & under));
    lane t = x * 1.44269504f + magic, whole = t - magic;
    lane r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
    lane e = r * (1.0f / 720) + 1.0f / 120;
    e = e * r + 1.0f / 24;
    e = e * r + 1.0f / 6;
    e = e * r + 0.5f;
    e = e * r + 1;
    e = e * r + 1;
    word power = ((word)t - 0x4b400000 + 127) << 23; /* 2^n; 0x4b400000 are the bits of magic */
    *to = e * (lane)power;
}

static void KERNEL(elu)(float *x, size_t n, float alpha)
{
    for (size_t i = 0; i < n; i += LANES) {
        lane v = *(lane *)(x + i), e;
        KERNEL(exp)(&e, &v);
        word up = v > 0;
        *(lane *)(x + i) = (lane)(((word)v & up) | ((word)(alpha * (e - 1)) & ~up));
    }
}

static void KERNEL(elu_back)(float *dy, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        lane v = *(const lane *)(y + i);
        word up = v > 0;
        *(lane *)(dy + i) *= (lane)(((word)((lane){0} + 1) & up) | ((word)(v + 1) & ~up));
    }
}

static void KERNEL(sum_rows)(float *sum, const float *rows, uint32_t n_rows, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        lane s = *(lane *)(sum + i);
        for (uint32_t r = 0; r < n_rows; r++) s += *(const lane *)(rows + r * n + i);
        *(lane *)(sum + i) = s;
    }
}

static void KERNEL(tanh)(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        lane v = 2 * *(lane *)(x + i), e;
        KERNEL(exp)(&e, &v);
        *(lane *)(x + i) = 1 - 2 / (e + 1);
    }
}

static void KERNEL(sigmoid)(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        lane v = -*(lane *)(x + i), e;
        KERNEL(exp)(&e, &v);
        *(lane *)(x + i) = 1 / (1 + e);
    }
}

#undef lane
#undef word
