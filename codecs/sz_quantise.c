/* sz: floats to integers under the bound, and integers apart into symbols, low bits and escapes. */
#include "sz_parts.h"
#include <math.h>

/* Adding 1.5 * 2^23 rounds a float below 2^22 in magnitude to an integer, held in its low bits. */
static const float magic = 12582912.0f;
static const float most = 4194303.0f;

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* The decoder forms the same product and sum: never fused, see -ffp-contract=off. */
static inline float value_of(int32_t q, const struct sz_grid *grid)
{
    return (float)q * grid->step + grid->centre;
}

/* Branch-free, so that it vectorises; NaN and infinities fail the comparisons. */
static inline bool quantise(int32_t *restrict q, const float *restrict x, unsigned n,
                            const struct sz_grid *grid)
{
    const float centre = grid->centre, step = grid->step, inverse = grid->inverse;
    const float threshold = grid->threshold;
    uint32_t failed = 0;
    for (unsigned i = 0; i < n; i++) {
        const float scaled = (x[i] - centre) * inverse;
        const int32_t integer = (int32_t)(bits_of(scaled + magic) - bits_of(magic));
        const float y = (float)integer * step + centre;
        const uint32_t good =
            -(uint32_t)(fabsf(x[i] - y) <= threshold) & -(uint32_t)(fabsf(scaled) <= most);
        q[i] = (int32_t)((uint32_t)integer & good);
        failed |= ~good;
    }
    return failed != 0;
}

bool sz_quantise(int32_t *q, const float *x, unsigned n, const struct sz_grid *grid)
{
    return n == SZ_BLOCK ? quantise(q, x, SZ_BLOCK, grid) : quantise(q, x, n, grid);
}

int32_t sz_nearest(float x, const struct sz_grid *grid, int32_t otherwise)
{
    const float scaled = (x - grid->centre) * grid->inverse;
    return fabsf(scaled) <= most ? (int32_t)(bits_of(scaled + magic) - bits_of(magic)) : otherwise;
}

static const int32_t tries[] = {0, -1, 1};

void sz_repair(int32_t *q, uint8_t *mark, const float *x, unsigned n, const struct sz_grid *grid)
{
    for (unsigned i = 0; i < n; i++) {
        const float scaled = (x[i] - grid->centre) * grid->inverse;
        mark[i] = 0;
        if (fabsf(scaled) <= most) {
            const int32_t nearest = (int32_t)(bits_of(scaled + magic) - bits_of(magic));
            unsigned k = 0;
            for (; k < 3; k++)
                if (fabsf(x[i] - value_of(nearest + tries[k], grid)) <= grid->threshold)
                    break;
            mark[i] = k == 3;
            q[i] = k == 3 ? 0 : nearest + tries[k];
        } else {
            mark[i] = 1;
        }
    }
}

/* Differences within a chunk. After an escape they go on from the integer next to it. Where `shift`
 * is known, what does not fit a symbol becomes an escape. Returns the last integer. */
static int32_t difference(int32_t *d, uint8_t *mark, const int32_t *q, const float *x, unsigned n,
                          const struct sz_grid *grid, int32_t before, int shift)
{
    for (unsigned i = 0; i < n; i++) {
        const int32_t step = q[i] - before;
        if (shift >= 0 && (step >> shift > 127 || step >> shift < -126))
            mark[i] = 1;
        d[i] = mark[i] ? 0 : step;
        before = mark[i] ? sz_nearest(x[i], grid, before) : q[i];
    }
    return before;
}

struct stats {
    uint32_t sum, n_nonzero, max; /* of magnitudes */
};

static inline struct stats stats_of(const int32_t *q, unsigned n)
{
    uint32_t sum = 0, n_nonzero = 0;
    int32_t max = 0;
    for (unsigned i = 0; i < n; i++) {
        const int32_t sign = q[i] >> 31, magnitude = (q[i] ^ sign) - sign;
        sum += (uint32_t)magnitude; /* at most 256 * (2^23 - 1) */
        n_nonzero += q[i] != 0;
        max = magnitude > max ? magnitude : max;
    }
    return (struct stats){.sum = sum, .n_nonzero = n_nonzero, .max = (uint32_t)max};
}

static inline int ilog2(uint32_t v)
{
    return 31 - __builtin_clz(v);
}

/* Mean magnitude of the non-zeros in [8, 16) after the shift; one more where the largest would
 * not fit a symbol otherwise: an escape costs 32 bits, a shift too many 0.05 bit a value. */
static unsigned choose_shift(const struct stats *s)
{
    if (s->n_nonzero == 0)
        return 0;
    const uint32_t mean = s->sum / s->n_nonzero;
    unsigned shift = mean < 16 ? 0 : (unsigned)ilog2(mean) - 3;
    if (s->max > 126u << shift && mean >> shift >= 8)
        shift++;
    return shift < SZ_MAX_SHIFT ? shift : SZ_MAX_SHIFT;
}

/* The histogram of blocks like this one. Few enough stay free for one of each shift. */
static unsigned choose_slot(struct sz_split *s, const struct stats *stats, unsigned shift,
                            bool sparse)
{
    enum { RESERVED = 2 * (SZ_MAX_SHIFT + 1) };
    const uint32_t scaled = stats->sum >> shift;
    unsigned bin = 0;
    if (scaled > 0) { /* half octaves: 2^(k + 1/2) squared is 2^(2k + 1) */
        const int octave = ilog2(scaled);
        bin = 1 + 2 * (unsigned)octave + (unsigned)((uint64_t)scaled * scaled >> (2 * octave + 1));
        bin = bin < 31 ? bin : 31;
    }
    uint8_t *slot = &s->slot_of[bin][shift][sparse];
    if (*slot == UINT8_MAX && s->n_slots >= SZ_SLOTS - RESERVED)
        *slot = s->slot_of_shift[shift][sparse];
    if (*slot == UINT8_MAX) {
        *slot = (uint8_t)s->n_slots++;
        s->slots[*slot] = (struct sz_slot){
            .shift = (uint8_t)shift, .bin = (uint8_t)bin, .sparse = sparse, .table = -1};
        memset(s->histogram[*slot], 0, sizeof(s->histogram[*slot]));
    }
    s->slot_of_shift[shift][sparse] = *slot;
    return *slot;
}

/* Append n values of `width` bits, four or two at a time; whole bytes at the end of a block. */
static void pack(struct sz_split *s, const uint32_t *v, unsigned n, unsigned width)
{
    unsigned char *p = s->low + s->n_low_bytes;
    uint64_t held = 0;
    unsigned n_held = 0, i = 0;
    if (width <= 14)
        for (; i + 4 <= n; i += 4) {
            const uint64_t four = v[i] | (uint64_t)v[i + 1] << width |
                                  (uint64_t)v[i + 2] << 2 * width | (uint64_t)v[i + 3] << 3 * width;
            held |= four << n_held;
            n_held += 4 * width;
            strait_put64(p, held);
            p += n_held >> 3;
            held >>= n_held & ~7u;
            n_held &= 7;
        }
    for (; i < n; i++) {
        held |= (uint64_t)v[i] << n_held;
        n_held += width;
        strait_put64(p, held);
        p += n_held >> 3;
        held >>= n_held & ~7u;
        n_held &= 7;
    }
    s->n_low_bytes = (size_t)(p - s->low) + (n_held > 0);
}

static inline void symbols_of(uint8_t *restrict sym, const int32_t *restrict q, unsigned n,
                              unsigned shift)
{
    for (unsigned i = 0; i < n; i++)
        sym[i] = (uint8_t)((q[i] >> shift) + SZ_CENTRE);
}

static void put_symbols(struct sz_split *s, uint8_t *sym, const int32_t *q, unsigned n,
                        unsigned shift, bool sparse, const uint8_t *mark, const float *x)
{
    uint32_t low[SZ_BLOCK];
    const uint32_t mask = (1u << shift) - 1;
    unsigned n_low = 0;
    if (n == SZ_BLOCK)
        symbols_of(sym, q, SZ_BLOCK, shift);
    else
        symbols_of(sym, q, n, shift);
    if (!sparse && !mark) {
        if (shift == 0)
            return;
        for (unsigned i = 0; i < n; i++)
            low[i] = (uint32_t)q[i] & mask;
        n_low = n;
    } else {
        for (unsigned i = 0; i < n; i++) {
            sym[i] = sparse && q[i] == 0 ? SZ_ZERO : sym[i];
            if (mark && mark[i]) {
                sym[i] = SZ_ESCAPE;
                s->escape[s->n_escapes++] = x[i];
            }
            low[n_low] = (uint32_t)q[i] & mask;
            n_low += sym[i] > SZ_ZERO;
        }
    }
    if (shift > 0)
        pack(s, low, n_low, shift);
}

static void count(uint32_t (*histogram)[256], const uint8_t *sym, unsigned n)
{
    unsigned i = 0;
    for (; i + 4 <= n; i += 4)
        for (unsigned k = 0; k < 4; k++)
            histogram[k][sym[i + k]]++;
    for (; i < n; i++)
        histogram[0][sym[i]]++;
}

/* One block. Returns the last integer, for the next block's differences. */
static int32_t split_block(struct sz_split *s, size_t block, const float *x, unsigned n,
                           const struct sz_grid *grid, bool delta, int32_t before)
{
    int32_t q[SZ_BLOCK], d[SZ_BLOCK];
    uint8_t mark[SZ_BLOCK] = {0};
    bool marked = sz_quantise(q, x, n, grid);
    const int32_t *integers = q;
    int32_t last = 0;
    if (marked)
        sz_repair(q, mark, x, n, grid);
    if (delta) {
        last = difference(d, mark, q, x, n, grid, before, -1);
        integers = d;
    }
    const struct stats stats = n == SZ_BLOCK ? stats_of(integers, SZ_BLOCK) : stats_of(integers, n);
    const unsigned shift = choose_shift(&stats);
    if (stats.max > 126u << shift) {
        if (delta)
            last = difference(d, mark, q, x, n, grid, before, (int)shift);
        else
            for (unsigned i = 0; i < n; i++)
                if (q[i] >> shift > 127 || q[i] >> shift < -126) {
                    mark[i] = 1;
                    q[i] = 0;
                }
        marked = true;
    }
    if (stats.max == 0 && !(marked && memchr(mark, 1, n))) {
        s->kind[block] = UINT8_MAX;
        return last;
    }
    const bool sparse = shift > 0 && 10 * (n - stats.n_nonzero) > n;
    const unsigned slot = choose_slot(s, &stats, shift, sparse);
    uint8_t *sym = s->sym + block * SZ_BLOCK;
    put_symbols(s, sym, integers, n, shift, sparse, marked ? mark : NULL, x);
    count(s->histogram[slot], sym, n);
    s->slots[slot].n_blocks++;
    s->kind[block] = (uint8_t)slot;
    return last;
}

bool sz_split(struct sz_split *s, const float *x, size_t n, const struct sz_grid *grid, bool delta)
{
    s->n_low_bytes = s->n_escapes = 0;
    s->n_slots = 0;
    memset(s->slot_of, UINT8_MAX, sizeof(s->slot_of));
    memset(s->slot_of_shift, UINT8_MAX, sizeof(s->slot_of_shift));
    int32_t before = 0;
    for (size_t i = 0; i < n; i += SZ_BLOCK) {
        const unsigned m = n - i < SZ_BLOCK ? (unsigned)(n - i) : SZ_BLOCK;
        if (i % SZ_CHUNK == 0)
            before = 0;
        before = split_block(s, i / SZ_BLOCK, x + i, m, grid, delta, before);
        if (s->n_escapes > n / 2)
            return false;
        s->low_end[i / SZ_CHUNK] = s->n_low_bytes;
        s->escape_end[i / SZ_CHUNK] = s->n_escapes;
    }
    return true;
}
