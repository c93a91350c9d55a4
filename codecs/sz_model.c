/* sz: which blocks share a frequency table. Blocks are counted in slots by magnitude; neighbouring
 * slots are merged while data and tables together get shorter. Integers throughout, so that every
 * compiler and machine decides alike. */
#include "sz_parts.h"
#include <assert.h>

enum { LOG_BITS = 16 }; /* costs are in 1/65536 bit */

static inline unsigned ilog2(uint32_t v)
{
    return 31 - (unsigned)__builtin_clz(v);
}

static inline uint64_t log2_of(const struct sz_logs *logs, uint32_t v)
{
    const unsigned k = ilog2(v);
    const uint32_t mantissa = v << (31 - k), *at = &logs->mantissa[mantissa >> 21 & 1023];
    const uint64_t fraction = mantissa >> 5 & 0xffff;
    return ((uint64_t)k << LOG_BITS) + at[0] + ((at[1] - at[0]) * fraction >> 16);
}

static inline uint64_t times_log2(const struct sz_logs *logs, uint32_t n)
{
    return n < SZ_PROB ? logs->small[n] : n * log2_of(logs, n);
}

/* Bit by bit: squaring doubles a logarithm. The last entry is log2 of 2. */
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
        logs->small[n] = (uint32_t)(n * log2_of(logs, n)); /* below 4096 * 12 * 65536 */
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
    bits += n_coded * (log2_of(logs, 1 + 2 * (uint32_t)steps / n_coded) + (3u << (LOG_BITS - 1)));
    c->cost = bits + (40u << LOG_BITS);
}

static void find_ends(struct sz_count *c)
{
    for (c->low = 0; c->n[c->low] == 0; c->low++)
        ;
    for (c->high = 255; c->n[c->high] == 0; c->high--)
        ;
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

static int64_t gain_of(const struct sz_count *a, const struct sz_count *b,
                       const struct sz_logs *logs)
{
    struct sz_count sum;
    merged(&sum, a, b, logs);
    return (int64_t)(a->cost + b->cost) - (int64_t)sum.cost;
}

static bool comes_before(const struct sz_slot *a, const struct sz_slot *b)
{
    if (a->sparse != b->sparse)
        return a->sparse < b->sparse;
    return a->bin != b->bin ? a->bin < b->bin : a->shift < b->shift;
}

/* One count for each slot, in the order of magnitude. */
static unsigned gather(struct sz_encoder *e, const struct sz_logs *logs)
{
    const struct sz_split *s = &e->split;
    for (unsigned i = 0; i < s->n_slots; i++) {
        unsigned at = i;
        for (; at > 0 && comes_before(&s->slots[i], &s->slots[e->counts[at - 1].slots[0]]); at--)
            e->counts[at] = e->counts[at - 1];
        struct sz_count *c = &e->counts[at];
        c->slots[0] = (uint8_t)i;
        c->n_slots = 1;
        c->total = 0;
        for (unsigned k = 0; k < 256; k++) {
            c->n[k] = s->histogram[i][0][k] + s->histogram[i][1][k] + s->histogram[i][2][k] +
                      s->histogram[i][3][k];
            c->total += c->n[k];
        }
        find_ends(c);
        set_cost(c, logs);
    }
    return s->n_slots;
}

static unsigned merge(struct sz_count *c, unsigned n, const struct sz_logs *logs)
{
    int64_t gain[SZ_SLOTS];
    for (unsigned i = 0; i + 1 < n; i++)
        gain[i] = gain_of(&c[i], &c[i + 1], logs);
    while (n > 1) {
        unsigned best = 0;
        for (unsigned i = 1; i + 1 < n; i++)
            best = gain[i] > gain[best] ? i : best;
        if (n <= SZ_TABLES && gain[best] <= 0)
            break;
        const struct sz_count a = c[best];
        struct sz_count *into = &c[best];
        merged(into, &a, &c[best + 1], logs);
        for (unsigned k = 0; k < c[best + 1].n_slots; k++)
            into->slots[into->n_slots++] = c[best + 1].slots[k];
        for (unsigned i = best + 1; i + 1 < n; i++) {
            c[i] = c[i + 1];
            gain[i - 1] = gain[i];
        }
        n--;
        if (best + 1 < n)
            gain[best] = gain_of(&c[best], &c[best + 1], logs);
        if (best > 0)
            gain[best - 1] = gain_of(&c[best - 1], &c[best], logs);
    }
    return n;
}

/* The (shift, table) pairs that occur. A segment has at most 4096 blocks, 21 shifts and 8 tables:
 * beyond SZ_KINDS pairs the caller's merge is taken further. */
static bool name_kinds(struct sz_model *m, const struct sz_split *s, uint8_t *kind_of_slot)
{
    for (unsigned i = 0; i < s->n_slots; i++) {
        unsigned kind = 0;
        while (kind < m->n_kinds &&
               !(m->table_of[kind] == s->slots[i].table && m->shift_of[kind] == s->slots[i].shift))
            kind++;
        if (kind == SZ_KINDS)
            return false;
        if (kind == m->n_kinds) {
            m->table_of[kind] = s->slots[i].table;
            m->shift_of[kind] = s->slots[i].shift;
            m->n_kinds++;
        }
        kind_of_slot[i] = (uint8_t)kind;
    }
    return true;
}

void sz_model_build(struct sz_encoder *e, size_t n_blocks)
{
    const struct sz_logs *logs = &e->logs;
    struct sz_split *s = &e->split;
    struct sz_model *m = &e->model;
    uint8_t kind_of_slot[UINT8_MAX + 1];
    bool zero = false;
    for (size_t i = 0; i < n_blocks && !zero; i++)
        zero = s->kind[i] == UINT8_MAX;
    m->n_tables = merge(e->counts, gather(e, logs), logs);
    for (;;) {
        for (unsigned t = 0; t < m->n_tables; t++)
            for (unsigned k = 0; k < e->counts[t].n_slots; k++)
                s->slots[e->counts[t].slots[k]].table = (int8_t)t;
        m->n_kinds = 0;
        if (zero) {
            m->shift_of[0] = 0;
            m->table_of[m->n_kinds++] = -1;
        }
        if (name_kinds(m, s, kind_of_slot))
            break;
        /* 21 shifts of two tables are always few enough */
        struct sz_count sum = {0};
        merged(&sum, &e->counts[0], &e->counts[1], logs);
        for (unsigned t = 0; t < 2; t++)
            for (unsigned k = 0; k < e->counts[t].n_slots; k++)
                sum.slots[sum.n_slots++] = e->counts[t].slots[k];
        e->counts[0] = sum;
        for (unsigned t = 1; t + 1 < m->n_tables; t++)
            e->counts[t] = e->counts[t + 1];
        m->n_tables--;
    }
    for (unsigned t = 0; t < m->n_tables; t++) {
        sz_normalise(&m->freqs[t], e->counts[t].n, 256);
        sz_put_symbols(e->tables[t], &m->freqs[t]);
    }
    kind_of_slot[UINT8_MAX] = 0;
    for (size_t i = 0; i < n_blocks; i++)
        s->kind[i] = kind_of_slot[s->kind[i]];
    assert(m->n_kinds >= 1 && m->n_kinds <= SZ_KINDS);
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
