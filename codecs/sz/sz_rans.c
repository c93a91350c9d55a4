/* sz: interleaved range asymmetric numeral systems (Duda 2013), as in Giesen's "Interleaved entropy
 * coders" (arXiv:1402.3392), without branches: on such data renormalisation is unpredictable. */
#include "sz_kernels.h"

void sz_put_symbols(struct sz_put_symbol e[256], const struct sz_freqs *freqs)
{
    uint32_t start = 0;
    for (unsigned i = 0; i < 256; i++) {
        const uint32_t f = freqs->f[i];
        if (f == 0)
            continue; /* never looked up */
        /* A reciprocal that is at most 1 too large gives x / f for x below f << 19: x times the
         * excess is below f * 2^-24 of a unit, and so below the distance 1 / f to the next
         * integer. */
        e[i] = (struct sz_put_symbol){
            .reciprocal = (uint64_t)(0x1p43 / f) + 1,
            .limit = f << 19,
            .start = (uint16_t)start,
            .complement = (uint16_t)(SZ_PROB - f),
        };
        start += f;
    }
}

/* Four entries at a time: the next symbol overwrites the excess. */
void sz_get_slots(uint32_t slot[SZ_PROB], const struct sz_freqs *freqs)
{
    uint32_t start = 0;
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t f = freqs->f[i], first = i | f << 8;
        uint32_t *at = slot + start;
        start += f;
        if (start + 3 <= SZ_PROB)
            for (uint32_t k = 0; k < f; k += 4)
                for (uint32_t j = 0; j < 4; j++)
                    at[k + j] = first + ((k + j) << 20);
        else
            for (uint32_t k = 0; k < f; k++)
                at[k] = first + (k << 20);
    }
}

static inline uint16_t *put_some(uint32_t *states, const unsigned n_lanes, uint16_t *p,
                                 const uint8_t *sym, unsigned n, const struct sz_put_symbol *e)
{
    for (; n % n_lanes != 0; n--)
        p = sz_rans_put(&states[(n - 1) % n_lanes], p, &e[sym[n - 1]]);
    for (; n > 0; n -= n_lanes)
        for (unsigned lane = n_lanes; lane-- > 0;)
            p = sz_rans_put(&states[lane], p, &e[sym[n - n_lanes + lane]]);
    return p;
}

uint16_t *sz_rans_put_some(uint32_t *states, unsigned n_lanes, uint16_t *p, const uint8_t *sym,
                           unsigned n, const struct sz_put_symbol *e)
{
    return n_lanes == SZ_LANES ? put_some(states, SZ_LANES, p, sym, n, e)
                               : put_some(states, SZ_FEW_LANES, p, sym, n, e);
}

uint16_t *sz_rans_encode(const struct sz_encoder *e, uint32_t *states, unsigned n_lanes,
                         uint16_t *end, const uint8_t *sym, size_t n_elems, const uint8_t *kind)
{
    uint16_t *p = end;
    for (unsigned lane = 0; lane < n_lanes; lane++)
        states[lane] = SZ_STATE_LOW;
    for (size_t block = (n_elems + SZ_BLOCK - 1) / SZ_BLOCK; block-- > 0;) {
        const int table = e->model.table_of[kind[block]];
        if (table < 0)
            continue;
        const size_t first = block * SZ_BLOCK, left = n_elems - first;
        if (left >= SZ_BLOCK && n_lanes == SZ_LANES)
            p = e->kernels->put_block(e, (unsigned)table, states, p, sym + first);
        else
            p = sz_rans_put_some(states, n_lanes, p, sym + first,
                                 left < SZ_BLOCK ? (unsigned)left : SZ_BLOCK, e->tables[table]);
    }
    return p;
}

static inline const unsigned char *get_some(uint8_t *sym, unsigned n, uint32_t *states,
                                            const unsigned n_lanes, const unsigned char *p,
                                            const uint32_t *slots)
{
    for (; n >= n_lanes; n -= n_lanes, sym += n_lanes)
        for (unsigned lane = 0; lane < n_lanes; lane += 4)
            for (unsigned k = 0; k < 4; k++) /* unrolled by four: 12 % faster */
                p = sz_rans_get(&sym[lane + k], &states[lane + k], p, slots);
    for (unsigned lane = 0; lane < n; lane++)
        p = sz_rans_get(&sym[lane], &states[lane], p, slots);
    return p;
}

void sz_rans_decode(uint8_t *sym, unsigned n, uint32_t *states, unsigned n_lanes,
                    const unsigned char **words, const uint32_t *slots)
{
    if (n_lanes == SZ_LANES)
        *words = get_some(sym, n, states, SZ_LANES, *words, slots);
    else
        *words = get_some(sym, n, states, SZ_FEW_LANES, *words, slots);
}
