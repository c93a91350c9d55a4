/* sz: low bits packed with AVX2, and the tables of the vector coders. */
#include "sz_vector.h"
#if defined(__x86_64__)

/* 32 values of up to 8 bits: combined to pairs, fours and eights, which are whole bytes again. */
SZ_AVX2 SZ_INLINE unsigned char *pack_narrow(unsigned char *p, const uint32_t *v, unsigned width)
{
    const __m256i mask = _mm256_set1_epi32((int)((1u << width) - 1));
    __m256i in[4];
    for (unsigned k = 0; k < 4; k++)
        in[k] = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(v + 8 * k)), mask);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(
        _mm256_packus_epi16(_mm256_packus_epi32(in[0], in[1]), _mm256_packus_epi32(in[2], in[3])),
        order);
    if (width == 8) {
        _mm256_storeu_si256((__m256i *)p, bytes);
        return p + 32;
    }
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi16((short)(1 | 256 << width)), bytes);
    const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 | 0x10000 << 2 * width));
    const __m256i eights = _mm256_or_si256(
        _mm256_and_si256(fours, _mm256_set1_epi64x(UINT32_MAX)),
        _mm256_sll_epi64(_mm256_srli_epi64(fours, 32), _mm_cvtsi32_si128((int)(4 * width))));
    uint64_t eight[4];
    _mm256_storeu_si256((__m256i *)eight, eights);
    for (unsigned k = 0; k < 4; k++, p += width)
        sz_store64(p, eight[k]);
    return p;
}

/* Eight values of 9 to 16 bits: combined to pairs and fours, then the fours one after the other. */
SZ_AVX2 SZ_INLINE unsigned char *pack_wide(unsigned char *p, const uint32_t *v, unsigned width)
{
    const __m256i mask = _mm256_set1_epi32((int)((1u << width) - 1));
    const __m256i in = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)v), mask);
    const __m256i pairs =
        _mm256_or_si256(_mm256_and_si256(in, _mm256_set1_epi64x(UINT32_MAX)),
                        _mm256_sll_epi64(_mm256_srli_epi64(in, 32), _mm_cvtsi32_si128((int)width)));
    const __m256i fours = _mm256_or_si256(
        pairs, _mm256_sll_epi64(_mm256_srli_si256(pairs, 8), _mm_cvtsi32_si128((int)(2 * width))));
    const uint64_t a = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(fours));
    const uint64_t b = (uint64_t)_mm_cvtsi128_si64(_mm256_extracti128_si256(fours, 1));
    if (width == 16) {
        sz_store64(p, a);
        sz_store64(p + 8, b);
    } else {
        sz_store64(p, a | b << 4 * width);
        sz_store64(p + 8, b >> (64 - 4 * width));
    }
    return p + width;
}

SZ_AVX2 unsigned char *sz_avx2_pack(unsigned char *p, const uint32_t *v, unsigned n, unsigned width)
{
    if (width > 16)
        return sz_pack_some(p, v, n, width);
    unsigned char *out = p;
    if (width <= 8)
        for (unsigned i = 0; i < n; i += 32)
            out = pack_narrow(out, v + i, width);
    else
        for (unsigned i = 0; i < n; i += 8)
            out = pack_wide(out, v + i, width);
    return p + (n * width + 7) / 8;
}

void sz_pack_table(struct sz_encoder *e, unsigned table, const struct sz_freqs *freqs)
{
    sz_packed_symbol *out = e->packed[table];
    uint32_t start = 0;
    for (unsigned i = sz_first_four(freqs); start < SZ_PROB; i++) {
        const uint32_t f = freqs->f[i];
        if (f == 0)
            continue;
        /* With the smallest shift such that f <= 2^shift, q = x * ceil(2^(31 + shift) / f) >> (31 +
         * shift) is x / f for every x below 2^31 (Alverson 1991). For f = 1 the reciprocal does not
         * fit: one less makes q = x - 1, which the bias corrects. */
        const unsigned shift = f > 1 ? 32 - (unsigned)__builtin_clz(f - 1) : 1;
        const uint64_t power = UINT64_C(1) << (31 + shift);
        const uint64_t floor = (uint64_t)(int64_t)((double)power / f);
        const uint64_t reciprocal = f > 1 ? floor + (floor * f != power) : UINT32_MAX;
        const uint32_t bias = f > 1 ? start : start + SZ_PROB - 1;
        out[i] = reciprocal << 32 | (shift - 1) << 25 | bias << 12 | f;
        start += f;
    }
}
#else
typedef int sz_avx2_pack_is_not_of_this_machine;
#endif
