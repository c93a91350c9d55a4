/* Inside the sz codec: its inner loops, one set for each level of host.h. All sets give the same
 * integers, bytes and values. They work on whole blocks; partial blocks and rare cases use the
 * functions of sz_portable.c. */
#pragma once
#include "core/error.h"
#include "core/host.h"
#include "sz_parts.h"

/* A symbol for the vector coder: 12 bits frequency f, 13 a bias, 4 a shift; above them 32 bits of a
 * reciprocal: x / f is the upper product with it, shifted. */
typedef uint64_t sz_packed_symbol;

struct sz_kernels {
    enum strait_simd level;

    /** As sz_quantise, also gives statistics of the result, and counts the symbols of another block
     *  on the way (`before`; NULL: none): counting waits for memory, quantising for arithmetic. */
    bool (*quantise)(int32_t *q, struct sz_stats *stats, const float *x, const struct sz_grid *grid,
                     const struct sz_uncounted *before);
    /** Symbols of a block whose integers all fit a symbol. */
    void (*symbols)(uint8_t *sym, const int32_t *q, unsigned shift);
    /** Symbols of a block with escapes as in `mark` (NULL: none), and with SZ_ZERO if `sparse`.
     *  Out:     low  the integers of the other symbols, then SZ_LANES zeros
     *  Returns: how many those are */
    unsigned (*special)(uint8_t *sym, uint32_t *low, const int32_t *q, const uint8_t *mark,
                        bool sparse, unsigned shift);
    /** Pack the lower `width` bits (1..SZ_MAX_SHIFT) of n values, padded to whole bytes. v must be
     *  zero behind v[n] up to a multiple of SZ_LANES.
     *  Returns: the end; 80 bytes behind it may be written too */
    unsigned char *(*pack)(unsigned char *p, const uint32_t *v, unsigned n, unsigned width);
    /** Prepare the tables that put_block uses beside those of sz_put_symbols. */
    void (*pack_table)(struct sz_encoder *e, unsigned table, const struct sz_freqs *freqs);
    /** Push a block, last symbol first, on SZ_LANES states.
     *  Returns: as sz_rans_put; 8 words below that may be overwritten */
    uint16_t *(*put_block)(const struct sz_encoder *e, unsigned table, uint32_t *states,
                           uint16_t *p, const uint8_t *sym);

    /** As sz_get_slots. */
    void (*get_slots)(uint32_t slot[SZ_PROB], const struct sz_freqs *freqs);
    /** Pop a block from SZ_LANES states; reads at most 2 * SZ_BLOCK bytes at *words.
     *  Returns: number of escapes and SZ_ZEROs among the symbols */
    unsigned (*get_symbols)(uint8_t *sym, uint32_t *states, const unsigned char **words,
                            const uint32_t *slots);
    /** Decode a block to values in one pass, if it has no escape and no SZ_ZERO.
     *  In:      low  SZ_BLOCK * shift bits and 24 bytes more
     *  Returns: false: it has; states and *words are unchanged, y is undefined */
    bool (*get_values)(float *y, uint32_t *states, const unsigned char **words,
                       const uint32_t *slots, const unsigned char *low, unsigned shift,
                       const struct sz_grid *grid);
    /** Combine symbols and low bits to integers, 0 for an escape.
     *  In:      low  the low bits, and 24 readable bytes more
     *           n_special  escapes and SZ_ZEROs among the symbols */
    void (*join)(int32_t *q, const uint8_t *sym, unsigned n_special, const unsigned char *low,
                 unsigned shift);
    void (*values)(float *y, const int32_t *q, const struct sz_grid *grid);
    /** Both in one pass, of a block without escapes and SZ_ZEROs. */
    void (*join_values)(float *y, const uint8_t *sym, const unsigned char *low, unsigned shift,
                        const struct sz_grid *grid);
};

/** Count n of the symbols, from `at` on, a multiple of four, in four histograms in turn: a counter
 *  that was just written is slow to read. */
static inline void sz_count(const struct sz_uncounted *u, unsigned at, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        u->histogram[k % 4][u->sym[at + k]]++;
}

/** As strait_put64, which compilers sometimes turn into eight stores. */
static inline void sz_store64(unsigned char *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(p, &v, sizeof(v));
#else
    strait_put64(p, v);
#endif
}

/** The set of a level, or of the next lower level that this build has (sz.c). */
const struct sz_kernels *sz_kernels_at(enum strait_simd level);

/** As the codec's `open`, with inner loops of this level, which the machine must support (sz.c). */
int sz_open_at(void **state, const double *params, enum strait_simd level,
               struct strait_error *err);

extern const struct sz_kernels sz_portable, sz_avx2, sz_avx512;

/* ---- for n <= SZ_BLOCK values, as the members of the same name (sz_portable.c) */

bool sz_quantise_some(int32_t *q, struct sz_stats *stats, const float *x, unsigned n,
                      const struct sz_grid *grid);
struct sz_stats sz_stats_of(const int32_t *q, unsigned n);
void sz_symbols_some(uint8_t *sym, const int32_t *q, unsigned n, unsigned shift);
unsigned sz_special_some(uint8_t *sym, uint32_t *low, const int32_t *q, unsigned n,
                         const uint8_t *mark, bool sparse, unsigned shift);
unsigned char *sz_pack_some(unsigned char *p, const uint32_t *v, unsigned n, unsigned width);
/** Number of symbols that are at most `most`. */
unsigned sz_count_upto(unsigned most, const uint8_t *sym, unsigned n);
void sz_join_some(int32_t *q, const uint8_t *sym, unsigned n, unsigned n_special,
                  const unsigned char *low, unsigned shift);
void sz_values_some(float *y, const int32_t *q, unsigned n, const struct sz_grid *grid);
