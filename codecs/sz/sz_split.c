/* sz: split the blocks of a segment into symbols, low bits and escapes, and count them. */
#include "codecs/sz/matrix/matrix.h"
#include "sz_kernels.h"

/* Differences within a segment. After an escape they continue from the integer nearest to it. If
 * `shift` is known, what does not fit a symbol becomes an escape. Returns the last integer. */
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

/* What the directions of a matrix leave of the integers; 0 for an escape. */
static struct sz_stats subtract_share(int32_t *d, const uint8_t *mark, bool marked,
                                      const int32_t *q, unsigned n, const struct sz_matrix *matrix,
                                      size_t at)
{
    const struct sz_sizes sizes = sz_matrix_subtract(matrix, d, q, at, n);
    for (unsigned i = 0; marked && i < n; i++)
        d[i] = mark[i] ? 0 : d[i];
    return (struct sz_stats){.sum = sizes.sum, .n_nonzero = sizes.n_nonzero, .max = sizes.max};
}

static inline int ilog2(uint32_t v)
{
    return 31 - __builtin_clz(v);
}

/* Mean magnitude of the non-zeros in [4, 8) after the shift; one more if the largest would not fit
 * a symbol otherwise: an escape costs 32 bits, an unnecessary shift 0.05 bit a value. */
static unsigned choose_shift(const struct sz_stats *s)
{
    if (s->n_nonzero == 0)
        return 0;
    const uint32_t mean = s->sum / s->n_nonzero;
    unsigned shift = mean < 8 ? 0 : (unsigned)ilog2(mean) - 2;
    if (s->max > 126u << shift && mean >> shift >= 4)
        shift++;
    return shift < SZ_MAX_SHIFT ? shift : SZ_MAX_SHIFT;
}

/* Find the histogram for blocks like this one. Enough stay free for one of each shift. */
static unsigned choose_slot(struct sz_split *s, const struct sz_stats *stats, unsigned shift,
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

/* The symbols of one more block. */
static void note_symbols(struct sz_slot *slot, uint32_t reach, bool special)
{
    slot->reach = reach > slot->reach ? (uint8_t)reach : slot->reach;
    slot->special = slot->special || special;
}

static void put_symbols(struct sz_split *s, const struct sz_kernels *kernels, uint8_t *sym,
                        const int32_t *q, unsigned n, unsigned shift, bool sparse,
                        const uint8_t *mark, const float *x)
{
    const bool whole = n == SZ_BLOCK;
    uint32_t dense[SZ_BLOCK + SZ_LANES];
    const uint32_t *low = dense;
    unsigned n_low = n;
    if (sparse || mark) {
        n_low = whole ? kernels->special(sym, dense, q, mark, sparse, shift)
                      : sz_special_some(sym, dense, q, n, mark, sparse, shift);
        for (unsigned i = 0; mark && i < n; i++)
            if (mark[i])
                s->escape[s->n_escapes++] = x[i];
    } else if (whole) {
        kernels->symbols(sym, q, shift);
        low = (const uint32_t *)q;
    } else {
        sz_symbols_some(sym, q, n, shift);
        memcpy(dense, q, n * sizeof(*q));
        memset(dense + n, 0, SZ_LANES * sizeof(*dense));
    }
    if (shift > 0)
        s->n_low_bytes =
            (size_t)(kernels->pack(s->low + s->n_low_bytes, low, n_low, shift) - s->low);
}

static void count_some(struct sz_uncounted *u, unsigned n)
{
    unsigned i = 0;
    for (; i + 8 <= n; i += 8)
        sz_count(u, i, 8);
    sz_count(u, i, n - i);
    u->sym = NULL;
}

static void count(struct sz_uncounted *u)
{
    if (u->sym)
        count_some(u, SZ_BLOCK);
}

/* Integers too large for a symbol become escapes, beside those that are marked. */
static void mark_large(int32_t *q, uint8_t *mark, unsigned n, unsigned shift, bool first)
{
    if (first)
        memset(mark, 0, n);
    for (unsigned i = 0; i < n; i++)
        if (q[i] >> shift > 127 || q[i] >> shift < -126) {
            mark[i] = 1;
            q[i] = 0;
        }
}

/* One block. Returns the last integer, for the next block's differences. */
static int32_t split_block(struct sz_split *s, const struct sz_kernels *kernels, size_t block,
                           const float *x, unsigned n, const struct sz_grid *grid, bool delta,
                           int32_t before, const struct sz_matrix *matrix, size_t at)
{
    int32_t own[SZ_BLOCK], d[SZ_BLOCK];
    uint8_t mark[SZ_BLOCK];
    struct sz_stats stats;
    bool marked;
    int32_t *q = own, last = 0;
    if (block < s->known.n_blocks) {
        q = s->known.q[block];
        stats = s->known.stats[block];
        marked = s->known.marked[block];
    } else {
        marked = n == SZ_BLOCK ? kernels->quantise(q, &stats, x, grid,
                                                   s->uncounted.sym ? &s->uncounted : NULL)
                               : sz_quantise_some(q, &stats, x, n, grid);
        if (n == SZ_BLOCK)
            s->uncounted.sym = NULL;
    }
    int32_t *integers = q;
    if (marked)
        sz_repair(q, mark, x, n, grid);
    else if (delta)
        memset(mark, 0, n);
    if (delta) {
        last = difference(d, mark, q, x, n, grid, before, -1);
        integers = d;
    }
    if (matrix) {
        stats = subtract_share(d, mark, marked, q, n, matrix, at);
        integers = d;
    }
    if (marked || delta)
        stats = sz_stats_of(integers, n);
    const unsigned shift = choose_shift(&stats);
    const bool large = stats.max > 126u << shift;
    if (large) {
        if (delta)
            last = difference(d, mark, q, x, n, grid, before, (int)shift);
        else
            mark_large(integers, mark, n, shift, !marked);
        marked = true;
    }
    marked = marked && memchr(mark, 1, n);
    if (stats.max == 0 && !marked) {
        s->kind[block] = UINT8_MAX;
        return last;
    }
    const bool sparse = shift > 0 && 10 * (n - stats.n_nonzero) > n;
    const unsigned slot = choose_slot(s, &stats, shift, sparse);
    note_symbols(&s->slots[slot], large ? 127 : stats.max >> shift, sparse || marked);
    uint8_t *sym = s->sym + block * SZ_BLOCK;
    put_symbols(s, kernels, sym, integers, n, shift, sparse, marked ? mark : NULL, x);
    count(&s->uncounted);
    s->uncounted = (struct sz_uncounted){.sym = sym, .histogram = s->histogram[slot]};
    if (n < SZ_BLOCK)
        count_some(&s->uncounted, n);
    s->slots[slot].n_blocks++;
    s->kind[block] = (uint8_t)slot;
    return last;
}

bool sz_split(struct sz_split *s, const struct sz_kernels *kernels, const float *x, size_t n,
              const struct sz_grid *grid, bool delta, const struct sz_matrix *matrix, size_t at)
{
    s->n_low_bytes = s->n_escapes = 0;
    s->n_slots = 0;
    s->uncounted.sym = NULL;
    memset(s->slot_of, UINT8_MAX, sizeof(s->slot_of));
    memset(s->slot_of_shift, UINT8_MAX, sizeof(s->slot_of_shift));
    int32_t before = 0;
    for (size_t i = 0; i < n; i += SZ_BLOCK) {
        const unsigned m = n - i < SZ_BLOCK ? (unsigned)(n - i) : SZ_BLOCK;
        before =
            split_block(s, kernels, i / SZ_BLOCK, x + i, m, grid, delta, before, matrix, at + i);
        if (s->n_escapes > n / 2)
            break;
    }
    count(&s->uncounted);
    s->known.n_blocks = 0;
    return s->n_escapes <= n / 2;
}
