/* A function that is compiled twice and chosen at load time by what the processor can do. Only
 * wider vectors, never other arithmetic: every clone gives the same bits. What it calls has to be
 * inline.
 *
 * Sanitizers run the portable code: their run time is not up yet when the choice is made. So does
 * clang, which (as of 14) makes the choosers of static functions visible to other files. */
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STRAIT_CLONED __attribute__((target_clones("avx2", "default")))
#else
#define STRAIT_CLONED
#endif
#define STRAIT_INLINE static inline __attribute__((always_inline))
