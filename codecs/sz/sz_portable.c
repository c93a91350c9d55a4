/* sz: the inner loops in plain C, written so that compilers can vectorise them. */
#include "sz_kernels.h"
#include <math.h>
#include "sz_round.h"

/* ---- into the stream */

/* Branch-free; NaN and infinities fail the comparisons. */
static inline bool quantise(int32_t *restrict q, const float *restrict x, unsigned n,
                            const struct sz_grid *grid)
{
    const float centre = grid->centre, step = grid->step, inverse = grid->inverse;
    const float threshold = grid->threshold;
    uint32_t failed = 0;
    for (unsigned i = 0; i < n; i++) {
        const float scaled = (x[i] - centre) * inverse;
        const int32_t integer = sz_round(scaled);
        const float y = (float)integer * step + centre;
        const uint32_t good = -(uint32_t)(fabsf(x[i] - y) <= threshold) &
                              -(uint32_t)(fabsf(scaled) <= SZ_MAX_INTEGER);
        q[i] = (int32_t)((uint32_t)integer & good);
        failed |= ~good;
    }
    return failed != 0;
}

static inline struct sz_stats stats_of(const int32_t *q, unsigned n)
{
    uint32_t sum = 0, n_nonzero = 0;
    int32_t max = 0;
    for (unsigned i = 0; i < n; i++) {
        const int32_t sign = q[i] >> 31, magnitude = (q[i] ^ sign) - sign;
        sum += (uint32_t)magnitude; /* at most 256 * (2^23 - 1) */
        n_nonzero += q[i] != 0;
        max = magnitude > max ? magnitude : max;
    }
    return (struct sz_stats){.sum = sum, .n_nonzero = n_nonzero, .max = (uint32_t)max};
}

struct sz_stats sz_stats_of(const int32_t *q, unsigned n)
{
    return n == SZ_BLOCK ? stats_of(q, SZ_BLOCK) : stats_of(q, n);
}

bool sz_quantise_some(int32_t *q, struct sz_stats *stats, const float *x, unsigned n,
                      const struct sz_grid *grid)
{
    const bool failed = n == SZ_BLOCK ? quantise(q, x, SZ_BLOCK, grid) : quantise(q, x, n, grid);
    *stats = sz_stats_of(q, n);
    return failed;
}

/* Four values in a vector of any machine. */
typedef float floats __attribute__((vector_size(16)));
typedef int32_t integers __attribute__((vector_size(16)));
typedef uint32_t naturals __attribute__((vector_size(16))); /* wrap around */

static inline floats all_of(float v)
{
    return (floats){v, v, v, v};
}

static inline uint32_t sum_of(naturals v)
{
    return v[0] + v[1] + v[2] + v[3];
}

/* Quantises and judges in one pass. An integer of a value beyond SZ_MAX_INTEGER is at least as
 * large: that is noticed at the end. */
STRAIT_INLINE bool quantise_whole(int32_t *q, struct sz_stats *stats, const float *x,
                                  const struct sz_grid *grid, const struct sz_uncounted *before)
{
    const float threshold = grid->threshold;
    const floats centre = all_of(grid->centre), step = all_of(grid->step);
    const floats inverse = all_of(grid->inverse), magic = all_of(SZ_MAGIC);
    naturals sum = {0}, zeros = {0};
    integers max = {0}, all_good = ~max;
    for (unsigned i = 0; i < SZ_BLOCK; i += 4) {
        floats v;
        memcpy(&v, x + i, sizeof(v));
        const naturals offset = (naturals)((v - centre) * inverse + magic) - (naturals)magic;
        const integers nearest = (integers)offset;
        const floats y = __builtin_convertvector(nearest, floats) * step + centre;
        const integers good = (floats)((integers)(v - y) & INT32_MAX) <= threshold;
        const integers integer = nearest & good, sign = integer >> 31;
        const integers size = (integers)((naturals)(integer ^ sign) - (naturals)sign);
        const integers larger = size > max;
        memcpy(q + i, &integer, sizeof(integer));
        if (before)
            sz_count(before, i, 4);
        all_good &= good;
        sum += (naturals)size;
        zeros -= (naturals)(integer == 0);
        max = (size & larger) | (max & ~larger);
    }
    for (unsigned k = 1; k < 4; k++)
        max[0] = max[k] > max[0] ? max[k] : max[0];
    stats->max = (uint32_t)max[0];
    if (stats->max >= (uint32_t)SZ_MAX_INTEGER)
        return sz_quantise_some(q, stats, x, SZ_BLOCK, grid);
    stats->sum = sum_of(sum);
    stats->n_nonzero = SZ_BLOCK - sum_of(zeros);
    return (all_good[0] & all_good[1] & all_good[2] & all_good[3]) == 0;
}

static bool quantise_block(int32_t *q, struct sz_stats *stats, const float *x,
                           const struct sz_grid *grid, const struct sz_uncounted *before)
{
    if (!before)
        return quantise_whole(q, stats, x, grid, NULL);
    const struct sz_uncounted own = *before; /* which no store changes */
    return quantise_whole(q, stats, x, grid, &own);
}

static inline void symbols(uint8_t *restrict sym, const int32_t *restrict q, unsigned n,
                           unsigned shift)
{
    for (unsigned i = 0; i < n; i++)
        sym[i] = (uint8_t)((q[i] >> shift) + SZ_CENTRE);
}

void sz_symbols_some(uint8_t *sym, const int32_t *q, unsigned n, unsigned shift)
{
    symbols(sym, q, n, shift);
}

static void symbols_block(uint8_t *sym, const int32_t *q, unsigned shift)
{
    symbols(sym, q, SZ_BLOCK, shift);
}

unsigned sz_special_some(uint8_t *sym, uint32_t *low, const int32_t *q, unsigned n,
                         const uint8_t *mark, bool sparse, unsigned shift)
{
    unsigned n_low = 0;
    symbols(sym, q, n, shift);
    for (unsigned i = 0; i < n; i++) {
        sym[i] = sparse && q[i] == 0 ? SZ_ZERO : sym[i];
        sym[i] = mark && mark[i] ? SZ_ESCAPE : sym[i];
        low[n_low] = (uint32_t)q[i];
        n_low += sym[i] > SZ_ZERO;
    }
    memset(low + n_low, 0, SZ_LANES * sizeof(*low));
    return n_low;
}

static unsigned special_block(uint8_t *sym, uint32_t *low, const int32_t *q, const uint8_t *mark,
                              bool sparse, unsigned shift)
{
    return sz_special_some(sym, low, q, SZ_BLOCK, mark, sparse, shift);
}

struct bit_sink {
    unsigned char *p;
    uint64_t held;
    unsigned n_held;
};

/* Fewer than 8 bits are pending before and after. */
static inline void put_bits(struct bit_sink *b, uint64_t bits, unsigned n)
{
    b->held |= bits << b->n_held;
    b->n_held += n;
    sz_store64(b->p, b->held);
    b->p += b->n_held >> 3;
    b->held >>= b->n_held & ~7u;
    b->n_held &= 7;
}

/* Four or two values at a time: at most 56 bits beside the pending ones. */
unsigned char *sz_pack_some(unsigned char *p, const uint32_t *v, unsigned n, unsigned width)
{
    const uint32_t mask = (1u << width) - 1;
    struct bit_sink b = {.p = p};
    unsigned i = 0;
    if (width <= 14)
        for (; i + 4 <= n; i += 4) {
            const uint64_t a = (v[i] & mask) | (uint64_t)(v[i + 1] & mask) << width;
            const uint64_t c = (v[i + 2] & mask) | (uint64_t)(v[i + 3] & mask) << width;
            put_bits(&b, a | c << 2 * width, 4 * width);
        }
    for (; i + 2 <= n; i += 2)
        put_bits(&b, (v[i] & mask) | (uint64_t)(v[i + 1] & mask) << width, 2 * width);
    for (; i < n; i++)
        put_bits(&b, v[i] & mask, width);
    return b.p + (b.n_held > 0);
}

static void pack_table(struct sz_encoder *e, unsigned table, const struct sz_freqs *freqs)
{
    (void)e, (void)table, (void)freqs;
}

static uint16_t *put_block(const struct sz_encoder *e, unsigned table, uint32_t *states,
                           uint16_t *p, const uint8_t *sym)
{
    return sz_rans_put_some(states, SZ_LANES, p, sym, SZ_BLOCK, &e->tables[table]);
}

/* ---- out of the stream */

/* Counts in bytes, which half a block cannot overflow. */
unsigned sz_count_upto(unsigned most, const uint8_t *sym, unsigned n)
{
    unsigned count = 0;
    while (n > 0) {
        const unsigned m = n < SZ_BLOCK / 2 ? n : SZ_BLOCK / 2;
        uint8_t in_bytes = 0;
        for (unsigned i = 0; i < m; i++)
            in_bytes = (uint8_t)(in_bytes + (sym[i] <= most));
        count += in_bytes;
        sym += m;
        n -= m;
    }
    return count;
}

static unsigned get_symbols(uint8_t *sym, uint32_t *states, const unsigned char **words,
                            const uint32_t *slots)
{
    sz_rans_decode(sym, SZ_BLOCK, states, SZ_LANES, words, slots);
    return sz_count_upto(SZ_ZERO, sym, SZ_BLOCK);
}

static inline void unpack(uint32_t *v, unsigned n, const unsigned char *p, unsigned width)
{
    const uint32_t mask = (1u << width) - 1;
    unsigned i = 0;
    size_t bit = 0;
    if (width <= 14)
        for (; i + 4 <= n; i += 4, bit += 4 * width) {
            const uint64_t four = strait_get64(p + (bit >> 3)) >> (bit & 7);
            v[i] = (uint32_t)four & mask;
            v[i + 1] = (uint32_t)(four >> width) & mask;
            v[i + 2] = (uint32_t)(four >> 2 * width) & mask;
            v[i + 3] = (uint32_t)(four >> 3 * width) & mask;
        }
    for (; i + 2 <= n; i += 2, bit += 2 * width) {
        const uint64_t two = strait_get64(p + (bit >> 3)) >> (bit & 7);
        v[i] = (uint32_t)two & mask;
        v[i + 1] = (uint32_t)(two >> width) & mask;
    }
    if (i < n)
        v[i] = (uint32_t)(strait_get64(p + (bit >> 3)) >> (bit & 7)) & mask;
}

static inline void join_plain(int32_t *restrict q, const uint8_t *restrict sym,
                              const uint32_t *restrict low, unsigned n, unsigned shift)
{
    for (unsigned i = 0; i < n; i++)
        q[i] = (int32_t)((((uint32_t)sym[i] - SZ_CENTRE) << shift) + low[i]);
}

void sz_join_some(int32_t *q, const uint8_t *sym, unsigned n, unsigned n_special,
                  const unsigned char *low, unsigned shift)
{
    uint32_t dense[SZ_BLOCK + 1];
    if (shift == 0)
        memset(dense, 0, sizeof(dense));
    else
        unpack(dense, n - n_special, low, shift);
    if (n_special == 0 && n == SZ_BLOCK) {
        join_plain(q, sym, dense, SZ_BLOCK, shift);
        return;
    }
    dense[n - n_special] = 0; /* read but not used */
    for (unsigned i = 0, k = 0; i < n; i++) {
        const uint32_t plain = sym[i] > SZ_ZERO;
        q[i] = (int32_t)(((((uint32_t)sym[i] - SZ_CENTRE) << shift) + dense[k]) & -plain);
        k += plain;
    }
}

static void join_block(int32_t *q, const uint8_t *sym, unsigned n_special, const unsigned char *low,
                       unsigned shift)
{
    sz_join_some(q, sym, SZ_BLOCK, n_special, low, shift);
}

static inline void values(float *restrict y, const int32_t *restrict q, unsigned n,
                          const struct sz_grid *grid)
{
    const float step = grid->step, centre = grid->centre;
    for (unsigned i = 0; i < n; i++)
        y[i] = (float)q[i] * step + centre;
}

void sz_values_some(float *y, const int32_t *q, unsigned n, const struct sz_grid *grid)
{
    values(y, q, n, grid);
}

static inline void join_values(float *restrict y, const uint8_t *restrict sym,
                               const uint32_t *restrict low, unsigned shift,
                               const struct sz_grid *grid)
{
    const float step = grid->step, centre = grid->centre;
    for (unsigned i = 0; i < SZ_BLOCK; i++)
        y[i] = (float)(int32_t)((((uint32_t)sym[i] - SZ_CENTRE) << shift) + low[i]) * step + centre;
}

static inline void symbol_values(float *restrict y, const uint8_t *restrict sym,
                                 const struct sz_grid *grid)
{
    const float step = grid->step, centre = grid->centre;
    for (unsigned i = 0; i < SZ_BLOCK; i++)
        y[i] = (float)((int32_t)sym[i] - SZ_CENTRE) * step + centre;
}

static void join_values_block(float *y, const uint8_t *sym, const unsigned char *low,
                              unsigned shift, const struct sz_grid *grid)
{
    uint32_t dense[SZ_BLOCK];
    if (shift > 0) {
        unpack(dense, SZ_BLOCK, low, shift);
        join_values(y, sym, dense, shift, grid);
    } else {
        symbol_values(y, sym, grid);
    }
}

static bool get_values(float *y, uint32_t *states, const unsigned char **words,
                       const uint32_t *slots, const unsigned char *low, unsigned shift,
                       const struct sz_grid *grid)
{
    uint8_t sym[SZ_BLOCK];
    uint32_t left[SZ_LANES];
    const unsigned char *p = *words;
    memcpy(left, states, sizeof(left));
    sz_rans_decode(sym, SZ_BLOCK, left, SZ_LANES, &p, slots);
    if (sz_count_upto(SZ_ZERO, sym, SZ_BLOCK) > 0)
        return false;
    memcpy(states, left, sizeof(left));
    *words = p;
    join_values_block(y, sym, low, shift, grid);
    return true;
}

static void values_block(float *y, const int32_t *q, const struct sz_grid *grid)
{
    values(y, q, SZ_BLOCK, grid);
}

const struct sz_kernels sz_portable = {
    .level = STRAIT_SIMD_PORTABLE,
    .quantise = quantise_block,
    .symbols = symbols_block,
    .special = special_block,
    .pack = sz_pack_some,
    .pack_table = pack_table,
    .put_block = put_block,
    .get_slots = sz_get_slots,
    .get_symbols = get_symbols,
    .get_values = get_values,
    .join = join_block,
    .values = values_block,
    .join_values = join_values_block,
};
