/* sz: interleaved range asymmetric numeral systems (Duda 2013), as in Giesen's "Interleaved entropy
 * coders" (arXiv:1402.3392), without branches: on such data renormalisation is unpredictable. */
#include "sz_kernels.h"

void sz_put_symbols(struct sz_put_table *table, const struct sz_freqs *freqs)
{
    uint32_t start = 0;
    for (unsigned i = sz_first_four(freqs); start < SZ_PROB; i++) {
        const uint32_t f = freqs->f[i];
        if (f == 0)
            continue; /* never looked up */
        /* A reciprocal that is at most 1 too large gives x / f for x below f << 19: x times the
         * excess is below f * 2^-24 of a unit, and so below the distance 1 / f to the next
         * integer. */
        table->reciprocal[i] = (uint64_t)(int64_t)(0x1p43 / f) + 1;
        table->limit[i] = f << 19;
        table->start[i] = start;
        table->complement[i] = SZ_PROB - f;
        start += f;
    }
}

/* Eight entries at a time: the next symbol overwrites the excess. */
void sz_get_slots(uint32_t slot[SZ_PROB], const struct sz_freqs *freqs)
{
    typedef uint32_t entries __attribute__((vector_size(16)));
    const entries four = {0, 1 << 8, 2 << 8, 3 << 8};
    uint32_t start = 0;
    for (uint32_t i = sz_first_four(freqs); start < SZ_PROB; i++) {
        const uint32_t f = freqs->f[i], end = start + f;
        entries v = four + (i | f << 20);
        for (; start < end && start + 8 <= SZ_PROB; start += 8) {
            const entries next = v + (4 << 8);
            memcpy(slot + start, &v, sizeof(v));
            memcpy(slot + start + 4, &next, sizeof(next));
            v = next + (4 << 8);
        }
        for (; start < end; start++)
            slot[start] = i | f << 20 | (start + f - end) << 8;
        start = end;
    }
}

/* States in registers: with more lanes than these they are in memory. */
static inline uint16_t *put_few(uint32_t *states, uint16_t *p, const uint8_t *sym, size_t n,
                                const struct sz_put_table *table)
{
    ptrdiff_t at = 0;
    for (; n % SZ_FEW_LANES != 0; n--)
        at = sz_rans_put(&states[(n - 1) % SZ_FEW_LANES], p, at, table, sym[n - 1]);
    uint32_t a = states[0], b = states[1], c = states[2], d = states[3];
    for (; n > 0; n -= SZ_FEW_LANES) {
        at = sz_rans_put(&d, p, at, table, sym[n - 1]);
        at = sz_rans_put(&c, p, at, table, sym[n - 2]);
        at = sz_rans_put(&b, p, at, table, sym[n - 3]);
        at = sz_rans_put(&a, p, at, table, sym[n - 4]);
    }
    states[0] = a;
    states[1] = b;
    states[2] = c;
    states[3] = d;
    return p + at;
}

static inline uint16_t *put_many(uint32_t *states, uint16_t *p, const uint8_t *sym, size_t n,
                                 const struct sz_put_table *table)
{
    ptrdiff_t at = 0;
    for (; n % SZ_LANES != 0; n--)
        at = sz_rans_put(&states[(n - 1) % SZ_LANES], p, at, table, sym[n - 1]);
    for (; n > 0; n -= SZ_LANES)
#pragma GCC unroll 4
        for (unsigned lane = SZ_LANES; lane-- > 0;)
            at = sz_rans_put(&states[lane], p, at, table, sym[n - SZ_LANES + lane]);
    return p + at;
}

uint16_t *sz_rans_put_some(uint32_t *states, unsigned n_lanes, uint16_t *p, const uint8_t *sym,
                           unsigned n, const struct sz_put_table *table)
{
    return n_lanes == SZ_LANES ? put_many(states, p, sym, n, table)
                               : put_few(states, p, sym, n, table);
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
                                 left < SZ_BLOCK ? (unsigned)left : SZ_BLOCK, &e->tables[table]);
    }
    return p;
}

static inline size_t get_many(uint8_t *sym, unsigned n, uint32_t *states,
                              const unsigned char *words, const uint32_t *slots)
{
    size_t at = 0;
    for (; n >= SZ_LANES; n -= SZ_LANES, sym += SZ_LANES)
        for (unsigned lane = 0; lane < SZ_LANES; lane += 4)
            for (unsigned k = 0; k < 4; k++) /* unrolled by four: 12 % faster */
                at = sz_rans_get(&sym[lane + k], &states[lane + k], words, at, slots);
    for (unsigned lane = 0; lane < n; lane++)
        at = sz_rans_get(&sym[lane], &states[lane], words, at, slots);
    return at;
}

static inline size_t get_few(uint8_t *sym, unsigned n, uint32_t *states, const unsigned char *words,
                             const uint32_t *slots)
{
    uint32_t a = states[0], b = states[1], c = states[2], d = states[3];
    size_t at = 0;
    for (; n >= SZ_FEW_LANES; n -= SZ_FEW_LANES, sym += SZ_FEW_LANES) {
        at = sz_rans_get(&sym[0], &a, words, at, slots);
        at = sz_rans_get(&sym[1], &b, words, at, slots);
        at = sz_rans_get(&sym[2], &c, words, at, slots);
        at = sz_rans_get(&sym[3], &d, words, at, slots);
    }
    states[0] = a;
    states[1] = b;
    states[2] = c;
    states[3] = d;
    for (unsigned lane = 0; lane < n; lane++)
        at = sz_rans_get(&sym[lane], &states[lane], words, at, slots);
    return at;
}

void sz_rans_decode(uint8_t *sym, unsigned n, uint32_t *states, unsigned n_lanes,
                    const unsigned char **words, const uint32_t *slots)
{
    *words += 2 * (n_lanes == SZ_LANES ? get_many(sym, n, states, *words, slots)
                                       : get_few(sym, n, states, *words, slots));
}
