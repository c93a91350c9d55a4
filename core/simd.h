/* Which vector instructions the codecs use: what the machine has, unless the user asked for less.
 * Every level gives the same bytes and the same values; they differ in speed alone. */
#pragma once

enum strait_simd { STRAIT_SIMD_PORTABLE, STRAIT_SIMD_AVX2, STRAIT_SIMD_AVX512, N_STRAIT_SIMD };

/** The highest level that this processor and its operating system can do. */
enum strait_simd strait_simd_best(void);
/** What a codec uses that is opened now: the best, or what the environment variable STRAIT_SIMD
 * names ("portable", "avx2", "avx512") where that is less. Another text there counts as not set. */
enum strait_simd strait_simd_level(void);
const char *strait_simd_name(enum strait_simd level);
