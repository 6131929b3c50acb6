#include "nn/dense.h"

/* LANES: floats of a register. A tile of ROWS x WIDE registers of c stays in registers; WIDE_ONE is for a single row.
 */
#define LANES    8
#define ROWS     4
#define WIDE     2
#define WIDE_ONE 4

#define KERNEL(name) name##_plain
#include "nn/dense_kernel.h"
#undef KERNEL

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#pragma GCC target("avx2,fma")
#undef ROWS
#define ROWS         6
#define KERNEL(name) name##_avx2
#include "nn/dense_kernel.h"
#undef KERNEL
#pragma GCC target("avx512f,avx512dq,prefer-vector-width=512")
#undef LANES
#define LANES 16
#undef WIDE
#define WIDE         4
#define KERNEL(name) name##_avx512
#include "nn/dense_kernel.h"
#undef KERNEL
#pragma GCC pop_options
#define CHOOSE(name, ...)                                                                                              \
    (__builtin_cpu_supports("avx512dq")                                                                                \
         ? name##_avx512(__VA_ARGS__)                                                                                  \
         : (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? name##_avx2(__VA_ARGS__)                 \
                                                                            : name##_plain(__VA_ARGS__)))
#else
#define CHOOSE(name, ...) name##_plain(__VA_ARGS__)
#endif

void nm_dense(const struct nm_product *product) { CHOOSE(dense, product); }
void nm_elu(float *x, size_t n, float alpha) { CHOOSE(elu, x, n, alpha); }
void nm_elu_back(float *dy, const float *y, size_t n) { CHOOSE(elu_back, dy, y, n); }
void nm_sum_rows(float *sum, const float *rows, uint32_t n_rows, size_t n) { CHOOSE(sum_rows, sum, rows, n_rows, n); }
void nm_tanh(float *x, size_t n) { CHOOSE(tanh, x, n); }
void nm_sigmoid(float *x, size_t n) { CHOOSE(sigmoid, x, n); }
