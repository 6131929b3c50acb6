#include "nn/dense.h"

typedef float lane __attribute__((vector_size(4 * NM_LANES), aligned(4), may_alias));
typedef int32_t word __attribute__((vector_size(4 * NM_LANES)));

#define KERNEL(name) name##_plain
#include "nn/dense_kernel.h"
#undef KERNEL

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2")
#define KERNEL(name) name##_avx2
#include "nn/dense_kernel.h"
#undef KERNEL
#pragma GCC pop_options
#define CHOOSE(name, ...) (__builtin_cpu_supports("avx2") ? name##_avx2(__VA_ARGS__) : name##_plain(__VA_ARGS__))
#else
#define CHOOSE(name, ...) name##_plain(__VA_ARGS__)
#endif

void nm_dense(const struct nm_product *product) { CHOOSE(dense, product); }
void nm_elu(float *x, size_t n, float alpha) { CHOOSE(elu, x, n, alpha); }
void nm_tanh(float *x, size_t n) { CHOOSE(tanh, x, n); }
void nm_sigmoid(float *x, size_t n) { CHOOSE(sigmoid, x, n); }
