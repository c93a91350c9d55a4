/* sz: the inner loops with AVX2, eight values at a time. */
#include "sz_vector.h"
#if defined(__x86_64__)

/* ---- into the stream */

SZ_AVX2 SZ_INLINE uint32_t sum_of(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

SZ_AVX2 SZ_INLINE uint32_t max_of(__m256i v)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1)));
}

SZ_AVX2 SZ_INLINE bool quantise_from(int32_t *q, struct sz_stats *stats, const float *x,
                                     const struct sz_grid *grid, const struct sz_uncounted *before)
{
    const __m256 centre = _mm256_set1_ps(grid->centre), step = _mm256_set1_ps(grid->step);
    const __m256 inverse = _mm256_set1_ps(grid->inverse);
    const __m256 threshold = _mm256_set1_ps(grid->threshold);
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MAX));
    __m256 all_good = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    __m256i sum = _mm256_setzero_si256(), max = sum, zeros = sum;
    for (unsigned i = 0; i < SZ_BLOCK; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        const __m256 scaled = _mm256_mul_ps(_mm256_sub_ps(v, centre), inverse);
        const __m256i nearest = _mm256_cvtps_epi32(scaled);
        const __m256 y = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(nearest), step), centre);
        const __m256 difference = _mm256_and_ps(_mm256_sub_ps(v, y), magnitude);
        const __m256 good = _mm256_cmp_ps(difference, threshold, _CMP_LE_OQ);
        const __m256i integer = _mm256_and_si256(nearest, _mm256_castps_si256(good));
        const __m256i size = _mm256_abs_epi32(integer);
        _mm256_storeu_si256((__m256i *)(q + i), integer);
        if (before)
            sz_count(before, i, 8);
        all_good = _mm256_and_ps(all_good, good);
        sum = _mm256_add_epi32(sum, size);
        max = _mm256_max_epu32(max, size);
        zeros = _mm256_sub_epi32(zeros, _mm256_cmpeq_epi32(integer, _mm256_setzero_si256()));
    }
    stats->sum = sum_of(sum);
    stats->max = max_of(max);
    stats->n_nonzero = SZ_BLOCK - sum_of(zeros);
    if (stats->max >= (uint32_t)SZ_MAX_INTEGER) /* left to the portable loop */
        return sz_quantise_some(q, stats, x, SZ_BLOCK, grid);
    return _mm256_movemask_ps(all_good) != 0xff;
}

SZ_AVX2 static bool quantise(int32_t *q, struct sz_stats *stats, const float *x,
                             const struct sz_grid *grid, const struct sz_uncounted *before)
{
    if (!before)
        return quantise_from(q, stats, x, grid, NULL);
    const struct sz_uncounted own = *before; /* which no store changes */
    return quantise_from(q, stats, x, grid, &own);
}

/* Upper parts of 32 integers, as bytes. */
SZ_AVX2 SZ_INLINE __m256i bytes_of(const int32_t *q, __m128i shift)
{
    __m256i v[4];
    for (unsigned k = 0; k < 4; k++)
        v[k] = _mm256_sra_epi32(_mm256_loadu_si256((const __m256i *)(q + 8 * k)), shift);
    const __m256i bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return _mm256_xor_si256(_mm256_permutevar8x32_epi32(bytes, order), _mm256_set1_epi8(-128));
}

SZ_AVX2 void sz_avx2_symbols(uint8_t *sym, const int32_t *q, unsigned shift)
{
    for (unsigned i = 0; i < SZ_BLOCK; i += 32)
        _mm256_storeu_si256((__m256i *)(sym + i), bytes_of(q + i, _mm_cvtsi32_si128((int)shift)));
}

/* For each 8-bit mask: where its set members go, and which member goes to each place. */
#define BIT(m, i)   ((uint64_t)((m) >> (i)&1))
#define RANK1(m, i) (BIT(m, i) * UINT64_C(0x0101010101010101) << 8 * (i) << 8)
#define RANKS(m)                                                                                   \
    (RANK1(m, 0) + RANK1(m, 1) + RANK1(m, 2) + RANK1(m, 3) + RANK1(m, 4) + RANK1(m, 5) +           \
     RANK1(m, 6))
#define RANK(m, i)    (RANKS(m) >> 8 * (i)&7)
#define MEMBER1(m, i) ((BIT(m, i) * (i)) << 8 * RANK(m, i))
#define MEMBERS(m)                                                                                 \
    (MEMBER1(m, 1) | MEMBER1(m, 2) | MEMBER1(m, 3) | MEMBER1(m, 4) | MEMBER1(m, 5) |               \
     MEMBER1(m, 6) | MEMBER1(m, 7))
#define FOUR(f, m)    f((m)), f((m) + 1), f((m) + 2), f((m) + 3)
#define SIXTEEN(f, m) FOUR(f, m), FOUR(f, (m) + 4), FOUR(f, (m) + 8), FOUR(f, (m) + 12)
#define MANY(f, m)    SIXTEEN(f, m), SIXTEEN(f, (m) + 16), SIXTEEN(f, (m) + 32), SIXTEEN(f, (m) + 48)
#define ALL(f)        MANY(f, 0), MANY(f, 64), MANY(f, 128), MANY(f, 192)
static const uint64_t ranks[256] = {ALL(RANKS)};
static const uint64_t members[256] = {ALL(MEMBERS)};

SZ_AVX2 SZ_INLINE __m256i indices(const uint64_t *table, unsigned set)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)table[set]));
}

SZ_AVX2 static unsigned special(uint8_t *sym, uint32_t *low, const int32_t *q, const uint8_t *mark,
                                bool sparse, unsigned shift)
{
    const __m256i zero = _mm256_setzero_si256(), of_zero = _mm256_set1_epi32(sparse ? -1 : 0);
    unsigned n_low = 0;
    sz_avx2_symbols(sym, q, shift);
    for (unsigned i = 0; i < SZ_BLOCK; i += 8) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(q + i));
        const __m256i is_zero = _mm256_and_si256(_mm256_cmpeq_epi32(v, zero), of_zero);
        __m256i escaped = zero;
        if (mark)
            escaped = _mm256_cmpgt_epi32(
                _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(mark + i))), zero);
        const __m256i out = _mm256_or_si256(is_zero, escaped);
        const unsigned in = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(out)) ^ 255;
        /* 0 or 1 where out: the bytes of the masks as 16, then as 8 bits */
        const __m256i one = _mm256_andnot_si256(escaped, _mm256_set1_epi32(1));
        const __m128i out16 =
            _mm_packs_epi32(_mm256_castsi256_si128(out), _mm256_extracti128_si256(out, 1));
        const __m128i one16 =
            _mm_packs_epi32(_mm256_castsi256_si128(one), _mm256_extracti128_si256(one, 1));
        const __m128i plain = _mm_loadl_epi64((const __m128i *)(sym + i));
        _mm_storel_epi64((__m128i *)(sym + i), _mm_blendv_epi8(plain, _mm_packs_epi16(one16, one16),
                                                               _mm_packs_epi16(out16, out16)));
        _mm256_storeu_si256((__m256i *)(low + n_low),
                            _mm256_permutevar8x32_epi32(v, indices(members, in)));
        n_low += (unsigned)_mm_popcnt_u32(in);
    }
    memset(low + n_low, 0, SZ_LANES * sizeof(*low));
    return n_low;
}

/* What sz_vector_body.h asks of this level. */
#define SZ_TARGET SZ_AVX2
typedef __m256i lane_mask;

SZ_AVX2 SZ_INLINE lane_mask below(__m256i a, __m256i b)
{
    return _mm256_cmpgt_epi32(b, a);
}

SZ_AVX2 SZ_INLINE lane_mask not_below(__m256i a, __m256i b)
{
    return _mm256_xor_si256(below(a, b), _mm256_set1_epi32(-1));
}

SZ_AVX2 SZ_INLINE unsigned bits_of(lane_mask m)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m));
}

SZ_AVX2 SZ_INLINE unsigned count_of(lane_mask m)
{
    return (unsigned)_mm_popcnt_u32(bits_of(m));
}

SZ_AVX2 SZ_INLINE __m256i put_16(lane_mask m, __m256i x)
{
    return _mm256_blendv_epi8(x, _mm256_srli_epi32(x, 16), m);
}

SZ_AVX2 SZ_INLINE __m128i words_of(lane_mask m, __m256i x)
{
    const __m256i words = _mm256_permutevar8x32_epi32(
        _mm256_blend_epi16(x, _mm256_setzero_si256(), 0xaa), indices(members, bits_of(m)));
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

SZ_AVX2 SZ_INLINE __m256i refilled(lane_mask m, __m256i x, __m256i words)
{
    const __m256i word = _mm256_permutevar8x32_epi32(words, indices(ranks, bits_of(m)));
    return _mm256_blendv_epi8(x, _mm256_or_si256(_mm256_slli_epi32(x, 16), word), m);
}

#include "sz_vector_body.h"

/* ---- out of the stream */

/* Sixteen entries at a time: what is too many the next symbol writes over. */
SZ_AVX2 static void get_slots(uint32_t slot[SZ_PROB], const struct sz_freqs *freqs)
{
    const __m256i next = _mm256_set1_epi32(8 << 8);
    const __m256i eight = _mm256_slli_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), 8);
    uint32_t start = 0;
    for (uint32_t i = sz_first_four(freqs); start < SZ_PROB; i++) {
        const uint32_t f = freqs->f[i], end = start + f, first = i | f << 20;
        uint32_t at = start;
        if (f == 0)
            continue;
        __m256i v = _mm256_add_epi32(_mm256_set1_epi32((int)first), eight);
        for (; at < end && at + 16 <= SZ_PROB; at += 16) {
            _mm256_storeu_si256((__m256i *)(slot + at), v);
            v = _mm256_add_epi32(v, next);
            _mm256_storeu_si256((__m256i *)(slot + at + 8), v);
            v = _mm256_add_epi32(v, next);
        }
        for (; at < end; at++)
            slot[at] = first + ((at - start) << 8);
        start = end;
    }
}

SZ_AVX2 static unsigned get_symbols(uint8_t *sym, uint32_t *states, const unsigned char **words,
                                    const uint32_t *slots)
{
    const __m256i byte = _mm256_set1_epi32(255), special = _mm256_set1_epi8(SZ_ZERO);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const unsigned char *p = *words;
    __m256i lane[4], s[4], count = _mm256_setzero_si256();
    for (unsigned k = 0; k < 4; k++)
        lane[k] = _mm256_loadu_si256((const __m256i *)(states + 8 * k));
    for (unsigned i = 0; i < SZ_BLOCK; i += SZ_LANES) {
        for (unsigned k = 0; k < 4; k++)
            s[k] = _mm256_and_si256(pop(&lane[k], &p, slots), byte);
        const __m256i mixed =
            _mm256_packus_epi16(_mm256_packus_epi32(s[0], s[1]), _mm256_packus_epi32(s[2], s[3]));
        const __m256i all = _mm256_permutevar8x32_epi32(mixed, order);
        _mm256_storeu_si256((__m256i *)(sym + i), all);
        count = _mm256_sub_epi8(count, _mm256_cmpeq_epi8(_mm256_min_epu8(all, special), all));
    }
    for (unsigned k = 0; k < 4; k++)
        _mm256_storeu_si256((__m256i *)(states + 8 * k), lane[k]);
    *words = p;
    return sum_of(_mm256_sad_epu8(count, _mm256_setzero_si256()));
}

SZ_AVX2 static void join(int32_t *q, const uint8_t *sym, unsigned n_special,
                         const unsigned char *low, unsigned shift)
{
    const struct sz_spread u = sz_spread_for(shift);
    const struct sz_joiner j = sz_joiner_for(shift, NULL);
    const __m256i special = _mm256_set1_epi32(SZ_ZERO);
    const unsigned n_low = shift > 0 ? SZ_BLOCK - n_special : 0;
    uint32_t dense[SZ_BLOCK + 8];
    unsigned at = 0;
    for (unsigned i = 0; i < n_low; i += 8, low += shift)
        _mm256_storeu_si256((__m256i *)(dense + i), sz_spread_bits(&u, low));
    if (shift == 0)
        memset(dense, 0, sizeof(dense));
    for (unsigned i = 0; i < SZ_BLOCK; i += 8) {
        const __m256i s = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(sym + i)));
        const __m256i plain = _mm256_cmpgt_epi32(s, special);
        const unsigned set = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(plain));
        const __m256i next = _mm256_loadu_si256((const __m256i *)(dense + at));
        const __m256i rest = _mm256_permutevar8x32_epi32(next, indices(ranks, set));
        _mm256_storeu_si256((__m256i *)(q + i), _mm256_and_si256(sz_joined(&j, s, rest), plain));
        at += (unsigned)_mm_popcnt_u32(set);
    }
}

SZ_AVX2 void sz_avx2_values(float *y, const int32_t *q, const struct sz_grid *grid)
{
    const struct sz_joiner j = sz_joiner_for(0, grid);
    for (unsigned i = 0; i < SZ_BLOCK; i += 8)
        _mm256_storeu_ps(y + i, sz_scaled(&j, _mm256_loadu_si256((const __m256i *)(q + i))));
}

SZ_AVX2 SZ_INLINE void join_values(float *y, const uint8_t *sym, const unsigned char *low,
                                   const bool shifted, unsigned shift, const struct sz_grid *grid)
{
    const struct sz_spread u = sz_spread_for(shift);
    const struct sz_joiner j = sz_joiner_for(shift, grid);
    for (unsigned i = 0; i < SZ_BLOCK; i += 8, low += shift) {
        const __m256i s = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(sym + i)));
        const __m256i rest = shifted ? sz_spread_bits(&u, low) : _mm256_setzero_si256();
        _mm256_storeu_ps(y + i, sz_scaled(&j, sz_joined(&j, s, rest)));
    }
}

SZ_AVX2 void sz_avx2_join_values(float *y, const uint8_t *sym, const unsigned char *low,
                                 unsigned shift, const struct sz_grid *grid)
{
    if (shift > 0)
        join_values(y, sym, low, true, shift, grid);
    else
        join_values(y, sym, low, false, 0, grid);
}

const struct sz_kernels sz_avx2 = {
    .level = STRAIT_SIMD_AVX2,
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
typedef int sz_avx2_is_not_of_this_machine;
#endif
