/* Bytes coded under several tables: counting, joining tables, and the coder, sz's (sz_rans.c).
 *
 * Symbols are coded in tiles of 64 for each lane: lane k takes the k-th run of the tile, so that
 * the symbol before is known, and lanes do not wait for each other. */
#include "contexts.h"
#include "codecs/kit/stable_math.h"

/* Rows of contexts that are new are set to 0. */
static void mark(struct strait_context_counts *counts, const uint8_t *context, size_t n)
{
    bool seen[STRAIT_CONTEXTS] = {false};
    for (size_t i = 0; i < n; i++)
        seen[context[i]] = true;
    for (unsigned c = 0; c < STRAIT_CONTEXTS; c++)
        if (seen[c] && !counts->occurs[c]) {
            memset(counts->n[c], 0, sizeof(counts->n[c]));
            counts->occurs[c] = true;
        }
}

void strait_contexts_count(struct strait_context_counts *counts, const uint8_t *symbols,
                           const uint8_t *context, size_t n, size_t n_all)
{
    const unsigned n_lanes = strait_context_lanes(n_all);
    const size_t most = (size_t)n_lanes * STRAIT_CONTEXT_TILE;
    const uint8_t none = 0;
    mark(counts, context ? context : symbols, n);
    mark(counts, &none, n > 0 && !context);
    for (size_t i = 0; i < n && context; i++)
        counts->n[context[i]][symbols[i]]++;
    for (size_t i = 0; i < n && !context; i += most) {
        const unsigned here = (unsigned)(n - i < most ? n - i : most),
                       run = (here - 1) / n_lanes + 1;
        for (unsigned k = 0; k < here; k++)
            counts->n[k % run > 0 ? symbols[i + k - 1] : 0][symbols[i + k]]++;
    }
}

/* --- joining contexts ----------------------------------------------------------------------- */

struct run { /* of contexts that share a table */
    unsigned first;
    uint32_t *n;         /* their counts */
    double bits, joined; /* and together with the next run */
};

static double n_log_n(uint32_t n, const double *logs)
{
    return n < STRAIT_CONTEXT_LOGS ? logs[n] : n * strait_stable_log2(n);
}

void strait_contexts_logs(double *logs)
{
    logs[0] = 0;
    for (uint32_t n = 1; n < STRAIT_CONTEXT_LOGS; n++)
        logs[n] = n * strait_stable_log2(n);
}

/* Bits of the symbols of these counts (b: added, NULL: none), and of their table: its ends, and
 * about 5 bits a difference of frequencies. */
static double bits_of(const uint32_t *a, const uint32_t *b, const double *logs)
{
    uint32_t total = 0;
    unsigned low = 256, high = 0;
    double of_symbols = 0;
    for (unsigned i = 0; i < 256; i++) {
        const uint32_t n = a[i] + (b ? b[i] : 0);
        if (n == 0)
            continue;
        low = low < i ? low : i;
        high = i;
        total += n;
        of_symbols += n_log_n(n, logs);
    }
    return total == 0 ? 0 : n_log_n(total, logs) - of_symbols + 40 + 5 * (high - low);
}

static void join(struct run *runs, unsigned n_runs, unsigned at, const double *logs)
{
    for (unsigned i = 0; i < 256; i++)
        runs[at].n[i] += runs[at + 1].n[i];
    runs[at].bits = runs[at].joined;
    memmove(runs + at + 1, runs + at + 2, (n_runs - at - 2) * sizeof(*runs));
    for (unsigned i = at > 0 ? at - 1 : 0; i <= at && i + 2 < n_runs; i++)
        runs[i].joined = bits_of(runs[i].n, runs[i + 1].n, logs);
}

/* Where joining two neighbours costs least. */
static unsigned cheapest(const struct run *runs, unsigned n_runs, double *costs)
{
    unsigned best = 0;
    for (unsigned i = 0; i + 1 < n_runs; i++) {
        const double more = runs[i].joined - runs[i].bits - runs[i + 1].bits;
        if (i == 0 || more < *costs) {
            best = i;
            *costs = more;
        }
    }
    return best;
}

/* Frequencies stay below SZ_PROB: a symbol alone gets a companion. */
static void to_freqs(struct sz_freqs *freqs, uint32_t *n)
{
    unsigned n_kinds = 0;
    for (unsigned i = 0; i < 256 && n_kinds < 2; i++)
        n_kinds += n[i] > 0;
    if (n_kinds == 1)
        n[n[0] > 0]++;
    sz_normalise(freqs, n, 256);
}

double strait_contexts_join(struct strait_context_tables *tables,
                            struct strait_context_counts *counts, const double *logs)
{
    struct run runs[STRAIT_CONTEXTS];
    unsigned n_runs = 0;
    double bits = 0, costs = 0;
    for (unsigned c = 0; c < STRAIT_CONTEXTS; c++) {
        const double alone = counts->occurs[c] ? bits_of(counts->n[c], NULL, logs) : 0;
        if (alone > 0)
            runs[n_runs++] = (struct run){.first = c, .n = counts->n[c], .bits = alone};
    }
    for (unsigned i = 0; i + 1 < n_runs; i++)
        runs[i].joined = bits_of(runs[i].n, runs[i + 1].n, logs);
    while (n_runs > 1) {
        const unsigned at = cheapest(runs, n_runs, &costs);
        if (costs >= 0 && n_runs <= STRAIT_CONTEXT_TABLES)
            break;
        join(runs, n_runs--, at, logs);
    }
    memset(tables, 0, sizeof(*tables));
    tables->n_tables = n_runs;
    for (unsigned t = 0; t < n_runs; t++) {
        bits += runs[t].bits;
        to_freqs(&tables->freqs[t], runs[t].n);
        for (unsigned c = t > 0 ? runs[t].first : 0; c < STRAIT_CONTEXTS; c++)
            tables->of[c] = (uint8_t)t;
    }
    return bits;
}

void strait_contexts_write(struct strait_writer *w, const struct strait_context_tables *tables)
{
    strait_write_u8(w, tables->n_tables);
    for (unsigned c = 1; c < STRAIT_CONTEXTS; c++)
        if (tables->of[c] != tables->of[c - 1])
            strait_write_u8(w, c);
    for (unsigned t = 0; t < tables->n_tables; t++)
        sz_write_freqs(w, &tables->freqs[t]);
}

bool strait_contexts_read(struct strait_reader *r, struct strait_context_tables *tables)
{
    tables->n_tables = strait_read_u8(r);
    if (tables->n_tables < 1 || tables->n_tables > STRAIT_CONTEXT_TABLES)
        return false;
    memset(tables->of, 0, sizeof(tables->of));
    for (unsigned t = 1, before = 0; t < tables->n_tables; t++) {
        const unsigned first = strait_read_u8(r);
        if (first <= before)
            return false;
        before = first;
        for (unsigned c = first; c < STRAIT_CONTEXTS; c++)
            tables->of[c] = (uint8_t)t;
    }
    for (unsigned t = 0; t < tables->n_tables; t++)
        if (!sz_read_freqs(r, &tables->freqs[t]))
            return false;
    return !r->bad;
}

/* --- coding --------------------------------------------------------------------------------- */

struct tile {
    const uint8_t *context; /* of its symbols; NULL: the symbol before */
    unsigned n, run;        /* symbols; of each lane */
};

static struct tile tile_of(const uint8_t *context, size_t at, size_t n, unsigned n_lanes)
{
    const size_t most = (size_t)n_lanes * STRAIT_CONTEXT_TILE, left = n - at;
    const unsigned here = (unsigned)(left < most ? left : most);
    return (struct tile){
        .context = context ? context + at : NULL, .n = here, .run = (here - 1) / n_lanes + 1};
}

/* How many lanes have a symbol j. */
static unsigned lanes_at(const struct tile *t, unsigned j)
{
    return (t->n - j - 1) / t->run + 1;
}

static inline uint16_t *put_tile(struct strait_context_coder *c, uint16_t *p, const uint8_t *of,
                                 const uint8_t *symbols, const struct tile *t)
{
    ptrdiff_t at = 0;
    for (unsigned j = t->run; j-- > 0;)
        for (unsigned lane = lanes_at(t, j); lane-- > 0;) {
            const unsigned i = lane * t->run + j, context = t->context ? t->context[i]
                                                            : j > 0    ? symbols[i - 1]
                                                                       : 0;
            at = sz_rans_put(&c->states[lane], p, at, &c->put[of[context]], symbols[i]);
        }
    return p + at;
}

uint16_t *strait_contexts_put(struct strait_context_coder *c, uint16_t *end,
                              const struct strait_context_tables *tables, const uint8_t *symbols,
                              const uint8_t *context, size_t n)
{
    const unsigned n_lanes = strait_context_lanes(n);
    const size_t most = (size_t)n_lanes * STRAIT_CONTEXT_TILE;
    for (unsigned t = 0; t < tables->n_tables; t++)
        sz_put_symbols(&c->put[t], &tables->freqs[t]);
    for (unsigned lane = 0; lane < n_lanes; lane++)
        c->states[lane] = SZ_STATE_LOW;
    for (size_t i = (n + most - 1) / most; i-- > 0;) {
        const struct tile t = tile_of(context, i * most, n, n_lanes);
        end = put_tile(c, end, tables->of, symbols + i * most, &t);
    }
    return end;
}

static inline const unsigned char *get_tile(struct strait_context_coder *c, uint8_t *symbols,
                                            const uint8_t *of, const struct tile *t,
                                            const unsigned char *p)
{
    size_t at = 0;
    for (unsigned j = 0; j < t->run; j++) {
        const unsigned n_lanes = lanes_at(t, j);
        for (unsigned lane = 0; lane < n_lanes; lane++) {
            const unsigned i = lane * t->run + j, context = t->context ? t->context[i]
                                                            : j > 0    ? symbols[i - 1]
                                                                       : 0;
            at = sz_rans_get(&symbols[i], &c->states[lane], p, at, c->slots[of[context]]);
        }
    }
    return p + 2 * at;
}

const unsigned char *strait_contexts_get(struct strait_context_coder *c, uint8_t *symbols,
                                         const struct strait_context_tables *tables,
                                         const uint8_t *context, size_t n,
                                         const unsigned char *words)
{
    const unsigned n_lanes = strait_context_lanes(n);
    const size_t most = (size_t)n_lanes * STRAIT_CONTEXT_TILE;
    for (unsigned t = 0; t < tables->n_tables; t++)
        sz_get_slots(c->slots[t], &tables->freqs[t]);
    for (size_t i = 0; i < n; i += most) {
        const struct tile t = tile_of(context, i, n, n_lanes);
        words = get_tile(c, symbols + i, tables->of, &t, words);
    }
    return words;
}
