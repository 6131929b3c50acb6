/* Hot loops over pixels are compiled three times, for the widest vectors a CPU may have, and chosen when the program
 * starts. No fused contraction (CMakeLists.txt), so all three give the same bits. */
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define NM_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define NM_WIDE
#endif
