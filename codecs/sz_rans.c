/* sz: interleaved range asymmetric numeral systems (Duda 2013), as in Giesen's "Interleaved
 * entropy coders" (arXiv:1402.3392), branch-free: on such data the renormalisation is a coin flip.
 */
#include "sz_parts.h"

void sz_put_symbols(struct sz_put_symbol e[256], const struct sz_freqs *freqs)
{
    uint32_t start = 0;
    for (unsigned i = 0; i < 256; i++) {
        const uint32_t f = freqs->f[i];
        /* x / f is the upper product with the reciprocal for every x below 2^31; for f = 1 that
         * gives x - 1, which the bias makes good. */
        e[i] = (struct sz_put_symbol){
            .reciprocal = f > 1 ? UINT64_MAX / f + 1 : UINT64_MAX,
            .limit = f << 19,
            .bias = (uint16_t)(f > 1 ? start : start + SZ_PROB - 1),
            .complement = (uint16_t)(SZ_PROB - f),
        };
        start += f;
    }
}

void sz_get_slots(uint32_t slot[SZ_PROB], const struct sz_freqs *freqs)
{
    uint32_t start = 0;
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t f = freqs->f[i];
        for (uint32_t k = 0; k < f; k++)
            slot[start + k] = i | f << 8 | k << 20;
        start += f;
    }
}

static inline uint16_t *put_block(uint32_t *states, const unsigned n_lanes, uint16_t *p,
                                  const uint8_t *sym, unsigned n, const struct sz_put_symbol *e)
{
    for (; n % n_lanes != 0; n--)
        p = sz_rans_put(&states[(n - 1) % n_lanes], p, &e[sym[n - 1]]);
    for (; n > 0; n -= n_lanes)
        for (unsigned lane = n_lanes; lane-- > 0;)
            p = sz_rans_put(&states[lane], p, &e[sym[n - n_lanes + lane]]);
    return p;
}

uint16_t *sz_rans_encode(uint32_t *states, unsigned n_lanes, uint16_t *end, const uint8_t *sym,
                         size_t n_elems, const uint8_t *kind, const int8_t *table_of,
                         struct sz_put_symbol (*tables)[256])
{
    uint16_t *p = end;
    for (unsigned lane = 0; lane < n_lanes; lane++)
        states[lane] = SZ_STATE_LOW;
    for (size_t block = (n_elems + SZ_BLOCK - 1) / SZ_BLOCK; block-- > 0;) {
        const int table = table_of[kind[block]];
        if (table < 0)
            continue;
        const size_t first = block * SZ_BLOCK, left = n_elems - first;
        const unsigned n = left < SZ_BLOCK ? (unsigned)left : SZ_BLOCK;
        if (n_lanes == SZ_LANES)
            p = put_block(states, SZ_LANES, p, sym + first, n, tables[table]);
        else
            p = put_block(states, SZ_FEW_LANES, p, sym + first, n, tables[table]);
    }
    return p;
}

static inline const unsigned char *get_block(uint8_t *sym, unsigned n, uint32_t *states,
                                             const unsigned n_lanes, const unsigned char *p,
                                             const uint32_t *slots)
{
    for (; n >= n_lanes; n -= n_lanes, sym += n_lanes)
        for (unsigned lane = 0; lane < n_lanes; lane += 4)
            for (unsigned k = 0; k < 4; k++) /* unrolled by four: an eighth faster */
                p = sz_rans_get(&sym[lane + k], &states[lane + k], p, slots);
    for (unsigned lane = 0; lane < n; lane++)
        p = sz_rans_get(&sym[lane], &states[lane], p, slots);
    return p;
}

void sz_rans_decode(uint8_t *sym, unsigned n, uint32_t *states, unsigned n_lanes,
                    const unsigned char **words, const uint32_t *slots)
{
    if (n_lanes == SZ_LANES)
        *words = get_block(sym, n, states, SZ_LANES, *words, slots);
    else
        *words = get_block(sym, n, states, SZ_FEW_LANES, *words, slots);
}
