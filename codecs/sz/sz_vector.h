/* Inside the sz codec: common to its AVX2 and AVX-512 loops, eight values at a time. Everything is
 * inlined into functions of either target. */
#pragma once
#if defined(__x86_64__)
#include <immintrin.h>
#include "sz_kernels.h"
#include "sz_round.h"

#define SZ_AVX2   __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define SZ_INLINE static inline __attribute__((always_inline))

/** Eight entries of a table of 32-bit words; indices below 2^31. Loads one by one: gather
 *  instructions are slower on some machines, and slower still where microcode prevents their data
 *  leaks. */
SZ_AVX2 SZ_INLINE __m256i sz_look_up(const uint32_t *table, __m256i at)
{
    const __m128i lower = _mm256_castsi256_si128(at), upper = _mm256_extracti128_si256(at, 1);
    uint64_t i[4] = {(uint64_t)_mm_cvtsi128_si64(lower), (uint64_t)_mm_extract_epi64(lower, 1),
                     (uint64_t)_mm_cvtsi128_si64(upper), (uint64_t)_mm_extract_epi64(upper, 1)};
    /* Keeps the compiler from extracting the pairs in vector registers, which is slower. */
    __asm__("" : "+r"(i[0]), "+r"(i[1]), "+r"(i[2]), "+r"(i[3]));
    __m128i a = _mm_cvtsi32_si128((int)table[(uint32_t)i[0]]);
    __m128i b = _mm_cvtsi32_si128((int)table[(uint32_t)i[2]]);
    a = _mm_insert_epi32(a, (int)table[i[0] >> 32], 1);
    b = _mm_insert_epi32(b, (int)table[i[2] >> 32], 1);
    a = _mm_insert_epi32(a, (int)table[(uint32_t)i[1]], 2);
    b = _mm_insert_epi32(b, (int)table[(uint32_t)i[3]], 2);
    a = _mm_insert_epi32(a, (int)table[i[1] >> 32], 3);
    b = _mm_insert_epi32(b, (int)table[i[3] >> 32], 3);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

/* Unpack values of `width` bits: eight of them take `width` whole bytes. */
struct sz_spread {
    __m256i bytes, shift, mask; /* to the 32 bits of each value, down, excess bits off */
    size_t upper;               /* where the 16 bytes with values 4..7 begin */
};

SZ_AVX2 SZ_INLINE struct sz_spread sz_spread_for(unsigned width)
{
    const __m256i bit = _mm256_add_epi32(
        _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3),
                           _mm256_set1_epi32((int)width)),
        _mm256_set_m128i(_mm_set1_epi32((int)(4 * width & 7)), _mm_setzero_si128()));
    return (struct sz_spread){
        .bytes = _mm256_add_epi32(
            _mm256_mullo_epi32(_mm256_srli_epi32(bit, 3), _mm256_set1_epi32(0x01010101)),
            _mm256_set1_epi32(0x03020100)),
        .shift = _mm256_and_si256(bit, _mm256_set1_epi32(7)),
        .mask = _mm256_set1_epi32((int)((1u << width) - 1)),
        .upper = width / 2,
    };
}

/** Reads 16 bytes at p and at p + upper. */
SZ_AVX2 SZ_INLINE __m256i sz_spread_bits(const struct sz_spread *u, const unsigned char *p)
{
    const __m128i lower = _mm_loadu_si128((const __m128i *)p);
    const __m128i upper = _mm_loadu_si128((const __m128i *)(p + u->upper));
    const __m256i both = _mm256_set_m128i(upper, lower);
    return _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(both, u->bytes), u->shift),
                            u->mask);
}

/* Step and centre of a grid, the upper parts of symbols and their low bits. */
struct sz_joiner {
    __m256 step, centre;
    __m128i shift;
    __m256i bias;
};

SZ_AVX2 SZ_INLINE struct sz_joiner sz_joiner_for(unsigned shift, const struct sz_grid *grid)
{
    return (struct sz_joiner){
        .step = _mm256_set1_ps(grid ? grid->step : 0),
        .centre = _mm256_set1_ps(grid ? grid->centre : 0),
        .shift = _mm_cvtsi32_si128((int)shift),
        .bias = _mm256_set1_epi32((int)((uint32_t)SZ_CENTRE << shift)),
    };
}

SZ_AVX2 SZ_INLINE __m256i sz_joined(const struct sz_joiner *j, __m256i sym, __m256i low)
{
    return _mm256_add_epi32(_mm256_sll_epi32(sym, j->shift), _mm256_sub_epi32(low, j->bias));
}

SZ_AVX2 SZ_INLINE __m256 sz_scaled(const struct sz_joiner *j, __m256i q)
{
    return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(q), j->step), j->centre);
}

/* Bytes -16..-1 take nothing. */
static const int8_t sz_places[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                     -1, -1, -1, -1, -1, 0,  1,  2,  3,  4,  5,
                                     6,  7,  8,  9,  10, 11, 12, 13, 14, 15};

/** Write the first n of eight words just below p; the bytes below may be overwritten. */
SZ_AVX2 SZ_INLINE uint16_t *sz_put_words(uint16_t *p, __m128i words, unsigned n)
{
    const __m128i up = _mm_loadu_si128((const __m128i *)(sz_places + 2 * n));
    _mm_storeu_si128((__m128i *)(p - 8), _mm_shuffle_epi8(words, up));
    return p - n;
}

/** Look up eight symbols. Returns the parts below the reciprocals; *reciprocal: the reciprocals. */
SZ_AVX2 SZ_INLINE __m256i sz_entries(__m256i *reciprocal, const uint64_t *packed,
                                     const uint8_t *sym)
{
    __m128i two[4];
    for (unsigned k = 0; k < 4; k++)
        two[k] = _mm_insert_epi64(_mm_cvtsi64_si128((long long)packed[sym[2 * k]]),
                                  (long long)packed[sym[2 * k + 1]], 1);
    const __m256 a = _mm256_castsi256_ps(_mm256_set_m128i(two[2], two[0]));
    const __m256 b = _mm256_castsi256_ps(_mm256_set_m128i(two[3], two[1]));
    *reciprocal = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
    return _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
}

/** The states after their words were written; x < f << 19. */
SZ_AVX2 SZ_INLINE __m256i sz_push(__m256i x, __m256i entry, __m256i reciprocal)
{
    const __m256i even = _mm256_mul_epu32(x, reciprocal);
    const __m256i odd =
        _mm256_mul_epu32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(reciprocal, 32));
    const __m256i product = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    const __m256i quotient = _mm256_srlv_epi32(product, _mm256_srli_epi32(entry, 25));
    const __m256i f = _mm256_and_si256(entry, _mm256_set1_epi32(SZ_PROB - 1));
    const __m256i bias =
        _mm256_and_si256(_mm256_srli_epi32(entry, 12), _mm256_set1_epi32(2 * SZ_PROB - 1));
    const __m256i complement = _mm256_sub_epi32(_mm256_set1_epi32(SZ_PROB), f);
    return _mm256_add_epi32(_mm256_add_epi32(x, bias), _mm256_mullo_epi32(quotient, complement));
}

/* ---- common members of both levels (sz_avx2.c, sz_avx2_pack.c) */

void sz_pack_table(struct sz_encoder *e, unsigned table, const struct sz_freqs *freqs);
void sz_avx2_symbols(uint8_t *sym, const int32_t *q, unsigned shift);
unsigned char *sz_avx2_pack(unsigned char *p, const uint32_t *v, unsigned n, unsigned width);
void sz_avx2_values(float *y, const int32_t *q, const struct sz_grid *grid);
void sz_avx2_join_values(float *y, const uint8_t *sym, const unsigned char *low, unsigned shift,
                         const struct sz_grid *grid);
#endif
