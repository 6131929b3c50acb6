/* Products of matrices and curves of neurons, in single precision: the loops in which networks spend their time.
 *
 * The same source is compiled for AVX-512, for AVX2 and for any other CPU, and chosen when it is called. Every sum runs
 * in the order of k. The first two variants fuse product and sum into one rounding, so they give the same bits; the
 * plain variant rounds twice.
 *
 * Rows are padded: the width of b and c is a multiple of NM_LANES, and so is the length that curves work on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/export.h"

enum { NM_LANES = 16 };

static inline uint32_t nm_padded(uint32_t n) { return (n + NM_LANES - 1) / NM_LANES * NM_LANES; }

/* c += a b, with m rows of a and c, k columns of a, n columns of b and c. */
struct nm_product {
    uint32_t m, k, n;    /* n: a multiple of NM_LANES                                  */
    const float *a;      /* element (i, j) is a[i * a_row + j * a_col]: any transpose  */
    size_t a_row, a_col; /* floats                                                     */
    const float *b;      /* element (i, j) is b[i * b_row + j]                         */
    size_t b_row;
    float *c; /* element (i, j) is c[i * c_row + j] */
    size_t c_row;
};
NM_EXPORT void nm_dense(const struct nm_product *product);

/* x > 0 ? x : alpha (e^x - 1); tanh x; 1 / (1 + e^-x): right to 2e-7 or so. What is not a number stays so. n: a
 * multiple of NM_LANES. */
NM_EXPORT void nm_elu(float *x, size_t n, float alpha);
/* The way back through Elu of alpha 1, from its output y: dy *= y > 0 ? 1 : y + 1. */
NM_EXPORT void nm_elu_back(float *dy, const float *y, size_t n);
/* sum += each of the rows, which stand one behind the other. */
NM_EXPORT void nm_sum_rows(float *sum, const float *rows, uint32_t n_rows, size_t n);
NM_EXPORT void nm_tanh(float *x, size_t n);
NM_EXPORT void nm_sigmoid(float *x, size_t n);
