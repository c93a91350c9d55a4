/* sz: which blocks share a frequency table. Blocks are counted in slots by magnitude; neighbouring
 * slots are merged while data and tables together get shorter. All in integers, so that every
 * compiler and machine decides alike. */
#include "sz_parts.h"
#include <assert.h>

enum { LOG_BITS = 16 }; /* costs are in 1/65536 bit */

static inline unsigned ilog2(uint32_t v)
{
    return 31 - (unsigned)__builtin_clz(v);
}

uint64_t sz_log2_of(const struct sz_logs *logs, uint32_t v)
{
    const unsigned k = ilog2(v);
    const uint32_t mantissa = v << (31 - k), *at = &logs->mantissa[mantissa >> 21 & 1023];
    const uint64_t fraction = mantissa >> 5 & 0xffff;
    return ((uint64_t)k << LOG_BITS) + at[0] + ((at[1] - at[0]) * fraction >> 16);
}

static inline uint64_t times_log2(const struct sz_logs *logs, uint32_t n)
{
    return n < SZ_PROB ? logs->small[n] : n * sz_log2_of(logs, n);
}

/* Bit by bit: squaring doubles a logarithm. The last entry is log2(2). */
void sz_log_init(struct sz_logs *logs)
{
    for (unsigned i = 0; i < 1024; i++) {
        uint64_t x = (uint64_t)(1024 + i) << 20; /* in [1, 2), 30 fraction bits */
        uint32_t result = 0;
        for (unsigned bit = 0; bit < LOG_BITS; bit++) {
            x = x * x >> 30;
            result = result << 1 | (uint32_t)(x >> 31);
            x >>= x >> 31;
        }
        logs->mantissa[i] = result;
    }
    logs->mantissa[1024] = 1u << LOG_BITS;
    logs->small[0] = 0;
    for (uint32_t n = 1; n < SZ_PROB; n++)
        logs->small[n] = (uint32_t)(n * sz_log2_of(logs, n)); /* below 4096 * 12 * 65536 */
}

/* Data: sum n log2(total / n). Table: Rice codes of the frequencies' differences. */
static void set_cost(struct sz_count *c, const struct sz_logs *logs)
{
    uint64_t bits = times_log2(logs, c->total);
    const uint32_t n_coded = c->high - c->low + 1;
    const uint64_t scale = ((uint64_t)SZ_PROB << 32) / c->total;
    int32_t before = 0, steps = 0;
    for (unsigned i = c->low; i <= c->high; i++) {
        const uint32_t n = c->n[i];
        const int32_t f = (int32_t)(n * scale >> 32), step = f - before;
        bits -= times_log2(logs, n);
        steps += step < 0 ? -step : step;
        before = f;
    }
    c->data = bits;
    bits +=
        n_coded * (sz_log2_of(logs, 1 + 2 * (uint32_t)steps / n_coded) + (3u << (LOG_BITS - 1)));
    c->cost = bits + (40u << LOG_BITS);
}

/* Add up the histograms of a slot, where they may have symbols, and find the ends. */
static void take_slot(struct sz_count *c, const struct sz_slot *slot, uint32_t (*histogram)[256])
{
    unsigned low = slot->special ? 0 : SZ_CENTRE - 1u - slot->reach, high = SZ_CENTRE + slot->reach;
    uint32_t total = 0;
    memset(c->n, 0, low * sizeof(c->n[0]));
    memset(c->n + high, 0, (256 - high) * sizeof(c->n[0]));
    for (unsigned k = low; k <= high; k++) {
        c->n[k] = histogram[0][k] + histogram[1][k] + histogram[2][k] + histogram[3][k];
        total += c->n[k];
    }
    for (; c->n[low] == 0; low++)
        ;
    for (; c->n[high] == 0; high--)
        ;
    c->low = low;
    c->high = high;
    c->total = total;
}

static void merged(struct sz_count *sum, const struct sz_count *a, const struct sz_count *b,
                   const struct sz_logs *logs)
{
    sum->low = a->low < b->low ? a->low : b->low;
    sum->high = a->high > b->high ? a->high : b->high;
    sum->total = a->total + b->total;
    for (unsigned i = sum->low; i <= sum->high; i++)
        sum->n[i] = a->n[i] + b->n[i];
    set_cost(sum, logs);
}

/* Bits that tell which of the two a block uses. */
static uint64_t kind_cost(const struct sz_count *a, const struct sz_count *b,
                          const struct sz_logs *logs)
{
    uint64_t bits = 0;
    for (unsigned s = 0; s <= SZ_MAX_SHIFT; s++)
        if (a->n_blocks[s] > 0 && b->n_blocks[s] > 0)
            bits += times_log2(logs, a->n_blocks[s] + b->n_blocks[s]) -
                    times_log2(logs, a->n_blocks[s]) - times_log2(logs, b->n_blocks[s]);
    return bits;
}

static int64_t gain_of(const struct sz_count *a, const struct sz_count *b,
                       const struct sz_logs *logs)
{
    struct sz_count sum;
    merged(&sum, a, b, logs);
    return (int64_t)(a->cost + b->cost + kind_cost(a, b, logs)) - (int64_t)sum.cost;
}

static bool comes_before(const struct sz_slot *a, const struct sz_slot *b)
{
    if (a->sparse != b->sparse)
        return a->sparse < b->sparse;
    return a->bin != b->bin ? a->bin < b->bin : a->shift < b->shift;
}

void sz_model_gather(struct sz_encoder *e)
{
    struct sz_split *s = &e->split;
    uint8_t order[SZ_SLOTS];
    for (unsigned i = 0; i < s->n_slots; i++) {
        unsigned at = i;
        for (; at > 0 && comes_before(&s->slots[i], &s->slots[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)i;
    }
    for (unsigned k = 0; k < s->n_slots; k++) {
        const unsigned i = order[k];
        struct sz_count *c = &e->counts[k];
        c->slots[0] = (uint8_t)i;
        c->n_slots = 1;
        memset(c->n_blocks, 0, sizeof(c->n_blocks));
        c->n_blocks[s->slots[i].shift] = s->slots[i].n_blocks;
        take_slot(c, &s->slots[i], s->histogram[i]);
    }
    e->n_counts = s->n_slots;
}

/* Merge the next count into count `at`. */
static void take_in(struct sz_encoder *e, unsigned at)
{
    struct sz_count *c = e->counts;
    const struct sz_count a = c[at];
    merged(&c[at], &a, &c[at + 1], &e->logs);
    for (unsigned k = 0; k <= SZ_MAX_SHIFT; k++)
        c[at].n_blocks[k] += c[at + 1].n_blocks[k];
    for (unsigned k = 0; k < c[at + 1].n_slots; k++)
        c[at].slots[c[at].n_slots++] = c[at + 1].slots[k];
    e->n_counts--;
    memmove(c + at + 1, c + at + 2, (e->n_counts - at - 1) * sizeof(*c));
}

void sz_model_merge_first(struct sz_encoder *e)
{
    assert(e->n_counts > 1);
    take_in(e, 0);
}

void sz_model_merge(struct sz_encoder *e)
{
    const struct sz_logs *logs = &e->logs;
    const struct sz_count *c = e->counts;
    int64_t gain[SZ_SLOTS];
    for (unsigned i = 0; i < e->n_counts; i++)
        set_cost(&e->counts[i], logs);
    for (unsigned i = 0; i + 1 < e->n_counts; i++)
        gain[i] = gain_of(&c[i], &c[i + 1], logs);
    while (e->n_counts > 1) {
        unsigned best = 0;
        for (unsigned i = 1; i + 1 < e->n_counts; i++)
            best = gain[i] > gain[best] ? i : best;
        if (e->n_counts <= SZ_TABLES && gain[best] <= 0)
            break;
        take_in(e, best);
        memmove(gain + best, gain + best + 1, (e->n_counts - 1 - best) * sizeof(gain[0]));
        if (best + 1 < e->n_counts)
            gain[best] = gain_of(&c[best], &c[best + 1], logs);
        if (best > 0)
            gain[best - 1] = gain_of(&c[best - 1], &c[best], logs);
    }
}

uint64_t sz_entropy(const struct sz_logs *logs, const uint32_t *n, unsigned n_symbols)
{
    uint64_t total = 0, bits = 0;
    for (unsigned i = 0; i < n_symbols; i++) {
        total += n[i];
        bits += times_log2(logs, n[i]);
    }
    return times_log2(logs, (uint32_t)total) - bits;
}
