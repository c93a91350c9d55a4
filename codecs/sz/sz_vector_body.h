/* Inside the sz codec: loops of both vector levels, eight values at a time. Included once by each
 * level, which first defines SZ_TARGET (the attribute of its functions), lane_mask and:
 *
 *   lane_mask below(a, b)            lanes with a < b; all of them below 2^31
 *   lane_mask not_below(a, b)        the others
 *   unsigned count_of(m)             lanes in the mask
 *   __m256i put_16(m, x)             x >> 16 in these lanes, x in the others
 *   __m128i words_of(m, x)           the lower words of these lanes, side by side
 *   __m256i refilled(m, x, words)    x << 16 and the next of the words in these lanes, x
 *   elsewhere */

SZ_TARGET static uint16_t *put_block(const struct sz_encoder *e, unsigned table, uint32_t *states,
                                     uint16_t *p, const uint8_t *sym)
{
    const sz_packed_symbol *packed = e->packed[table];
    __m256i lane[4];
    for (unsigned k = 0; k < 4; k++)
        lane[k] = _mm256_loadu_si256((const __m256i *)(states + 8 * k));
    for (unsigned i = SZ_BLOCK; i > 0; i -= SZ_LANES)
        for (unsigned k = 4; k-- > 0;) {
            __m256i reciprocal, x = lane[k];
            const __m256i entry = sz_entries(&reciprocal, packed, sym + i - SZ_LANES + 8 * k);
            const __m256i limit = _mm256_srli_epi32(_mm256_slli_epi32(entry, 20), 1);
            const lane_mask over = not_below(x, limit);
            p = sz_put_words(p, words_of(over, x), count_of(over));
            lane[k] = sz_push(put_16(over, x), entry, reciprocal);
        }
    for (unsigned k = 0; k < 4; k++)
        _mm256_storeu_si256((__m256i *)(states + 8 * k), lane[k]);
    return p;
}

/* Pop eight symbols. Returns the slots; their lowest bytes are the symbols. */
SZ_TARGET SZ_INLINE __m256i pop(__m256i *state, const unsigned char **words, const uint32_t *slots)
{
    const __m256i mask = _mm256_set1_epi32(SZ_PROB - 1);
    const __m256i slot = sz_look_up(slots, _mm256_and_si256(*state, mask));
    const __m256i f = _mm256_srli_epi32(slot, 20);
    const __m256i x =
        _mm256_add_epi32(_mm256_mullo_epi32(f, _mm256_srli_epi32(*state, SZ_PROB_BITS)),
                         _mm256_and_si256(_mm256_srli_epi32(slot, 8), mask));
    const lane_mask under = below(x, _mm256_set1_epi32(SZ_STATE_LOW));
    const __m256i next = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)*words));
    *words += 2 * count_of(under);
    *state = refilled(under, x, next);
    return slot;
}

SZ_TARGET SZ_INLINE bool get_values(float *y, uint32_t *states, const unsigned char **words,
                                    const uint32_t *slots, const unsigned char *low,
                                    const bool shifted, unsigned shift, const struct sz_grid *grid)
{
    const struct sz_spread u = sz_spread_for(shift);
    const struct sz_joiner j = sz_joiner_for(shift, grid);
    const __m256i byte = _mm256_set1_epi32(255);
    const unsigned char *p = *words;
    __m256i lane[4], least = byte;
    for (unsigned k = 0; k < 4; k++)
        lane[k] = _mm256_loadu_si256((const __m256i *)(states + 8 * k));
    for (unsigned i = 0; i < SZ_BLOCK; i += SZ_LANES)
        for (unsigned k = 0; k < 4; k++, low += shift) {
            const __m256i sym = _mm256_and_si256(pop(&lane[k], &p, slots), byte);
            const __m256i rest = shifted ? sz_spread_bits(&u, low) : _mm256_setzero_si256();
            least = _mm256_min_epi32(least, sym);
            _mm256_storeu_ps(y + i + 8 * k, sz_scaled(&j, sz_joined(&j, sym, rest)));
        }
    if (count_of(below(least, _mm256_set1_epi32(SZ_ZERO + 1))) > 0)
        return false;
    for (unsigned k = 0; k < 4; k++)
        _mm256_storeu_si256((__m256i *)(states + 8 * k), lane[k]);
    *words = p;
    return true;
}

SZ_TARGET static bool get_values_block(float *y, uint32_t *states, const unsigned char **words,
                                       const uint32_t *slots, const unsigned char *low,
                                       unsigned shift, const struct sz_grid *grid)
{
    return shift > 0 ? get_values(y, states, words, slots, low, true, shift, grid)
                     : get_values(y, states, words, slots, low, false, 0, grid);
}
