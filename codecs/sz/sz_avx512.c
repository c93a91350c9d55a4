/* sz: the inner loops with AVX-512: sixteen values at a time where they are independent; eight and
 * masks in the coder, where wider vectors would only wait for each other. */
#include "sz_vector.h"
#if defined(__x86_64__)

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))

/* ---- into the stream */

AVX512 SZ_INLINE bool quantise_from(int32_t *q, struct sz_stats *stats, const float *x,
                                    const struct sz_grid *grid, const bool centred,
                                    const struct sz_uncounted *before)
{
    const __m512 centre = _mm512_set1_ps(grid->centre), step = _mm512_set1_ps(grid->step);
    const __m512 inverse = _mm512_set1_ps(grid->inverse);
    const __m512 threshold = _mm512_set1_ps(grid->threshold);
    __m512i sum = _mm512_setzero_si512(), max = sum, nonzero = sum;
    const __m512i one = _mm512_set1_epi32(1);
    __mmask16 all_good = 0xffff;
    for (unsigned i = 0; i < SZ_BLOCK; i += 16) {
        const __m512 v = _mm512_loadu_ps(x + i);
        const __m512 scaled = _mm512_mul_ps(centred ? _mm512_sub_ps(v, centre) : v, inverse);
        const __m512i nearest = _mm512_cvtps_epi32(scaled);
        const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(nearest), step);
        const __m512 y = centred ? _mm512_add_ps(product, centre) : product;
        const __m512 difference = _mm512_abs_ps(_mm512_sub_ps(v, y));
        const __mmask16 good = _mm512_cmp_ps_mask(difference, threshold, _CMP_LE_OQ);
        const __m512i integer = _mm512_maskz_mov_epi32(good, nearest);
        const __m512i size = _mm512_abs_epi32(integer);
        _mm512_storeu_si512(q + i, integer);
        if (before)
            sz_count(before, i, 16);
        all_good &= good;
        sum = _mm512_add_epi32(sum, size);
        max = _mm512_max_epu32(max, size);
        nonzero = _mm512_add_epi32(nonzero, _mm512_min_epu32(size, one));
    }
    stats->max = _mm512_reduce_max_epu32(max);
    if (stats->max >= (uint32_t)SZ_MAX_INTEGER) /* left to the portable loop */
        return sz_quantise_some(q, stats, x, SZ_BLOCK, grid);
    stats->sum = (uint32_t)_mm512_reduce_add_epi32(sum); /* below 2^30 */
    stats->n_nonzero = (uint32_t)_mm512_reduce_add_epi32(nonzero);
    return all_good != 0xffff;
}

AVX512 static bool quantise(int32_t *q, struct sz_stats *stats, const float *x,
                            const struct sz_grid *grid, const struct sz_uncounted *before)
{
    const struct sz_uncounted none = {0},
                              own = before ? *before : none; /* which no store changes */
    if (grid->centre < 0 || grid->centre > 0)
        return before ? quantise_from(q, stats, x, grid, true, &own)
                      : quantise_from(q, stats, x, grid, true, NULL);
    return before ? quantise_from(q, stats, x, grid, false, &own)
                  : quantise_from(q, stats, x, grid, false, NULL);
}

AVX512 static unsigned special(uint8_t *sym, uint32_t *low, const int32_t *q, const uint8_t *mark,
                               bool sparse, unsigned shift)
{
    const __m128i count = _mm_cvtsi32_si128((int)shift), centre = _mm_set1_epi8(-128);
    unsigned n_low = 0;
    for (unsigned i = 0; i < SZ_BLOCK; i += 16) {
        const __m512i v = _mm512_loadu_si512(q + i);
        __mmask16 in = 0xffff;
        __m128i s = _mm_xor_si128(_mm512_cvtepi32_epi8(_mm512_sra_epi32(v, count)), centre);
        if (sparse) {
            in = _mm512_test_epi32_mask(v, v);
            s = _mm_mask_mov_epi8(_mm_set1_epi8(SZ_ZERO), in, s);
        }
        if (mark) {
            const __m128i m = _mm_loadu_si128((const __m128i *)(mark + i));
            const __mmask16 whole = _mm_testn_epi8_mask(m, m);
            s = _mm_maskz_mov_epi8(whole, s);
            in &= whole;
        }
        _mm_storeu_si128((__m128i *)(sym + i), s);
        _mm512_storeu_si512(low + n_low, _mm512_maskz_compress_epi32(in, v));
        n_low += (unsigned)_mm_popcnt_u32(in);
    }
    memset(low + n_low, 0, SZ_LANES * sizeof(*low));
    return n_low;
}

/* What sz_vector_body.h asks of this level. */
#define SZ_TARGET AVX512
typedef __mmask8 lane_mask;

AVX512 SZ_INLINE lane_mask below(__m256i a, __m256i b)
{
    return _mm256_cmplt_epu32_mask(a, b);
}

AVX512 SZ_INLINE lane_mask not_below(__m256i a, __m256i b)
{
    return _mm256_cmpge_epu32_mask(a, b);
}

AVX512 SZ_INLINE unsigned count_of(lane_mask m)
{
    return (unsigned)_mm_popcnt_u32(m);
}

AVX512 SZ_INLINE __m256i put_16(lane_mask m, __m256i x)
{
    return _mm256_mask_srli_epi32(x, m, x, 16);
}

AVX512 SZ_INLINE __m128i words_of(lane_mask m, __m256i x)
{
    return _mm256_cvtepi32_epi16(_mm256_maskz_compress_epi32(m, x));
}

AVX512 SZ_INLINE __m256i refilled(lane_mask m, __m256i x, __m256i words)
{
    return _mm256_or_si256(_mm256_mask_slli_epi32(x, m, x, 16),
                           _mm256_maskz_expand_epi32(m, words));
}

#include "sz_vector_body.h"

/* ---- out of the stream */

/* Whole lines of the cache: the next symbol writes over what is too much of the last, and nothing
 * before its own first entry. */
AVX512 static void get_slots(uint32_t slot[SZ_PROB], const struct sz_freqs *freqs)
{
    enum { LINE = 16 };
    const __m512i next = _mm512_set1_epi32(LINE << 8);
    const __m512i line = _mm512_slli_epi32(
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 8);
    uint32_t start = 0;
    for (uint32_t i = sz_first_four(freqs); start < SZ_PROB; i++) {
        const uint32_t f = freqs->f[i], end = start + f, before = start % LINE;
        if (f == 0)
            continue;
        __m512i v = _mm512_add_epi32(_mm512_set1_epi32((int)((i | f << 20) - (before << 8))), line);
        _mm512_mask_storeu_epi32(slot + start - before, (__mmask16)(0xffffu << before), v);
        for (uint32_t at = start - before + LINE; at < end; at += LINE) {
            v = _mm512_add_epi32(v, next);
            _mm512_storeu_si512(slot + at, v);
        }
        start = end;
    }
}

AVX512 static unsigned get_symbols(uint8_t *sym, uint32_t *states, const unsigned char **words,
                                   const uint32_t *slots)
{
    const unsigned char *p = *words;
    unsigned n_special = 0;
    __m256i lane[4];
    for (unsigned k = 0; k < 4; k++)
        lane[k] = _mm256_loadu_si256((const __m256i *)(states + 8 * k));
    for (unsigned i = 0; i < SZ_BLOCK; i += SZ_LANES)
        for (unsigned k = 0; k < 4; k++) {
            const __m128i s = _mm256_cvtepi32_epi8(pop(&lane[k], &p, slots));
            /* the upper eight bytes are 0 and count as special in every iteration */
            n_special +=
                (unsigned)_mm_popcnt_u32(_mm_cmple_epu8_mask(s, _mm_set1_epi8(SZ_ZERO))) - 8;
            _mm_storel_epi64((__m128i *)(sym + i + 8 * k), s);
        }
    for (unsigned k = 0; k < 4; k++)
        _mm256_storeu_si256((__m256i *)(states + 8 * k), lane[k]);
    *words = p;
    return n_special;
}

AVX512 static void join(int32_t *q, const uint8_t *sym, unsigned n_special,
                        const unsigned char *low, unsigned shift)
{
    const struct sz_spread u = sz_spread_for(shift);
    const unsigned n_low = shift > 0 ? SZ_BLOCK - n_special : 0;
    const __m128i count = _mm_cvtsi32_si128((int)shift);
    uint32_t dense[SZ_BLOCK + 16];
    unsigned at = 0;
    for (unsigned i = 0; i < n_low; i += 8, low += shift)
        _mm256_storeu_si256((__m256i *)(dense + i), sz_spread_bits(&u, low));
    if (shift == 0)
        memset(dense, 0, sizeof(dense));
    for (unsigned i = 0; i < SZ_BLOCK; i += 16) {
        const __m128i s = _mm_loadu_si128((const __m128i *)(sym + i));
        const __mmask16 plain = _mm_cmpgt_epu8_mask(s, _mm_set1_epi8(SZ_ZERO));
        const __m512i upper =
            _mm512_sub_epi32(_mm512_cvtepu8_epi32(s), _mm512_set1_epi32(SZ_CENTRE));
        const __m512i rest = _mm512_maskz_expand_epi32(plain, _mm512_loadu_si512(dense + at));
        _mm512_storeu_si512(q + i,
                            _mm512_maskz_add_epi32(plain, _mm512_sll_epi32(upper, count), rest));
        at += (unsigned)_mm_popcnt_u32(plain);
    }
}

const struct sz_kernels sz_avx512 = {
    .level = STRAIT_SIMD_AVX512,
    .quantise = quantise,
    .symbols = sz_avx2_symbols,
    .special = special,
    .pack = sz_avx2_pack,
    .pack_table = sz_pack_table,
    .put_block = put_block,
    .get_slots = get_slots,
    .get_symbols = get_symbols,
    .get_values = get_values_block,
    .join = join,
    .values = sz_avx2_values,
    .join_values = sz_avx2_join_values,
};
#else
typedef int sz_avx512_is_not_of_this_machine;
#endif
