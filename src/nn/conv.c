#include "nn/conv.h"

#if defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>
#endif

const uint8_t nm_tile_width[NM_TILE_WIDTHS] = {1, 2, 3, 4, 6, 8, 10, 12, 14};

#define LANES        4
#define VECTORS      2
#define MOST         6
#define KERNEL(name) name##_plain
#include "nn/conv_kernel.h"
#undef KERNEL
#undef LANES
#undef VECTORS
#undef MOST
static const struct nm_conv_kind plain = {"plain",      1,        {&tiles_plain}, each_plain, pool_plain, spread_plain,
                                          gather_plain, mix_plain};

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast", "no-predictive-commoning")
#pragma GCC target("avx2,fma")
#define X86
#define LANES        8
#define VECTORS      2
#define MOST         6
#define KERNEL(name) name##_avx2_wide
#include "nn/conv_kernel.h"
#undef KERNEL
#undef VECTORS
#undef MOST
#define VECTORS      1
#define MOST         12
#define KERNEL(name) name##_avx2
#include "nn/conv_kernel.h"
#undef KERNEL
#undef MOST
static const struct nm_conv_kind avx2 = {
    "AVX2", 2, {&tiles_avx2_wide, &tiles_avx2}, each_avx2, pool_avx2, spread_avx2, gather_avx2, mix_avx2};

#pragma GCC target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")
#define MOST         14
#define KERNEL(name) name##_avx512_narrow
#include "nn/conv_kernel.h"
#undef KERNEL
#undef LANES
#define LANES        16
#define KERNEL(name) name##_avx512
#include "nn/conv_kernel.h"
#undef KERNEL
#undef VECTORS
#undef MOST
#define VECTORS      2
#define MOST         12
#define KERNEL(name) name##_avx512_wide
#include "nn/conv_kernel.h"
#undef KERNEL
#pragma GCC pop_options
static const struct nm_conv_kind avx512 = {"AVX-512",
                                           3,
                                           {&tiles_avx512_wide, &tiles_avx512, &tiles_avx512_narrow},
                                           each_avx512_narrow,
                                           pool_avx512_narrow,
                                           spread_avx512_narrow,
                                           gather_avx512_narrow,
                                           mix_avx512_narrow};

const struct nm_conv_kind *nm_conv_kind(uint32_t which)
{
    bool has_avx512 = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
         has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if ((!which || which == 3) && has_avx512) return &avx512;
    return which != 1 && has_avx2 ? &avx2 : &plain;
}
#else
const struct nm_conv_kind *nm_conv_kind(uint32_t which)
{
    (void)which;
    return &plain;
}
#endif
