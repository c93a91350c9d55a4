/* Compile a function twice and choose at load time by what the processor supports. The clones
 * differ in vector width only and give the same bits. Functions that it calls must be inline.
 *
 * Sanitizers run the portable code: their run time is not ready when the choice is made. So does
 * clang, which (as of 14) exports the choosers of static functions. */
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STRAIT_CLONED __attribute__((target_clones("avx2", "default")))
#else
#define STRAIT_CLONED
#endif
#define STRAIT_INLINE static inline __attribute__((always_inline))
