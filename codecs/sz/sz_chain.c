/* sz: a segment takes over the tables of the previous segment if that is shorter, plus the few
 * symbols that these lack: histograms of weights hardly change from one segment to the next. */
#include <assert.h>
#include "sz_parts.h"

enum { LOG_BITS = 16, MORE_BITS = 16 + SZ_PROB_BITS, TABLE_BITS = 400, MAX_PATIENCE = 8 };

/* Without clearing tables, which takes as long as coding a small tensor. */
void sz_chain_begin(struct sz_chain *chain)
{
    chain->n_tables = 0;
    chain->newest = 0;
    chain->patience = chain->n_waits = 0;
    chain->hasty = false;
}

void sz_chain_changed(struct sz_chain *chain, unsigned t)
{
    chain->version[t] = ++chain->newest;
}

bool sz_chain_add(struct sz_chain *chain, unsigned table, unsigned symbol)
{
    struct sz_freqs *freqs = &chain->freqs[table];
    unsigned most = 0;
    for (unsigned i = 1; i < 256; i++)
        most = freqs->f[i] > freqs->f[most] ? i : most;
    if (freqs->f[symbol] != 0 || freqs->f[most] < 2)
        return false;
    freqs->f[most]--;
    freqs->f[symbol] = 1;
    return true;
}

static void set_prices(struct sz_chain *chain, unsigned t, const struct sz_logs *logs)
{
    for (unsigned i = 0; i < 256; i++) {
        const unsigned f = chain->freqs[t].f[i];
        chain->price[t][i] =
            f == 0 ? 0 : ((uint32_t)SZ_PROB_BITS << LOG_BITS) - (uint32_t)sz_log2_of(logs, f);
    }
}

/* Cost of a histogram under a table; each missing symbol is added at a price. */
static uint64_t cost_under(const struct sz_count *c, const uint32_t *price,
                           const struct sz_freqs *f, unsigned *n_more)
{
    uint64_t bits = 0;
    unsigned more = 0;
    for (unsigned i = c->low; i <= c->high; i++) {
        const uint32_t here = f->f[i] > 0 ? price[i] : (uint32_t)SZ_PROB_BITS << LOG_BITS;
        bits += (uint64_t)c->n[i] * here;
        more += c->n[i] > 0 && f->f[i] == 0;
    }
    *n_more = more;
    return bits + ((uint64_t)more * MORE_BITS << LOG_BITS);
}

/* Cost under the table used for such blocks when the tables were made, or under the best one. */
static uint64_t cost_of_slot(const struct sz_count *c, const struct sz_slot *slot,
                             const struct sz_chain *chain, int8_t *table, unsigned *n_more)
{
    const unsigned known = chain->table_of[slot->bin][slot->shift][slot->sparse];
    uint64_t best = UINT64_MAX;
    for (unsigned t = known > 0 ? known - 1 : 0; t < (known > 0 ? known : chain->n_tables); t++) {
        unsigned more = 0;
        const uint64_t cost = cost_under(c, chain->price[t], &chain->freqs[t], &more);
        if (cost < best) {
            best = cost;
            *n_more = more;
            *table = (int8_t)t;
        }
    }
    return best;
}

/* Bits of all slots under the tables of the chain, or UINT64_MAX. */
static uint64_t take_over(const struct sz_encoder *e, const struct sz_chain *chain,
                          int8_t table_of_slot[SZ_SLOTS])
{
    uint64_t sum = 0;
    unsigned n_more = 0;
    if (e->n_counts > 0 && chain->n_tables == 0)
        return UINT64_MAX;
    for (unsigned i = 0; i < e->n_counts; i++) {
        const unsigned slot = e->counts[i].slots[0];
        unsigned more = 0;
        sum +=
            cost_of_slot(&e->counts[i], &e->split.slots[slot], chain, &table_of_slot[slot], &more);
        n_more += more;
    }
    return n_more <= SZ_MORE / 2 ? sum : UINT64_MAX;
}

/* Number the (shift, table) pairs that occur. False: too many. */
static bool name_kinds(struct sz_model *m, const struct sz_split *s, bool zero,
                       uint8_t kind_of_slot[SZ_SLOTS])
{
    m->n_kinds = 0;
    if (zero) {
        m->shift_of[0] = 0;
        m->table_of[m->n_kinds++] = -1;
    }
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

/* Collect the symbols that the tables lack. */
static bool add_symbols(struct sz_encoder *e, struct sz_chain *chain)
{
    e->n_more = 0;
    for (unsigned i = 0; i < e->n_counts; i++) {
        const struct sz_count *c = &e->counts[i];
        const unsigned t = (unsigned)e->split.slots[c->slots[0]].table;
        for (unsigned k = c->low; k <= c->high; k++) {
            if (c->n[k] == 0 || chain->freqs[t].f[k] > 0)
                continue;
            if (!sz_chain_add(chain, t, k))
                return false;
            e->more[e->n_more++] = (struct sz_more){.table = (uint8_t)t, .symbol = (uint8_t)k};
        }
    }
    return true;
}

static void name_tables(struct sz_encoder *e)
{
    for (unsigned t = 0; t < e->n_counts; t++)
        for (unsigned k = 0; k < e->counts[t].n_slots; k++)
            e->split.slots[e->counts[t].slots[k]].table = (int8_t)t;
}

static uint64_t cost_of_counts(const struct sz_encoder *e)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < e->n_counts; i++)
        sum += e->counts[i].cost;
    return sum;
}

/* Bits of the symbols under new tables made for this segment, slots as assigned. */
static uint64_t own_cost(const struct sz_encoder *e, const int8_t table_of_slot[SZ_SLOTS],
                         unsigned n_tables)
{
    uint32_t n[SZ_TABLES][256] = {{0}};
    uint64_t sum = 0;
    for (unsigned i = 0; i < e->n_counts; i++) {
        const struct sz_count *c = &e->counts[i];
        for (unsigned k = c->low; k <= c->high; k++)
            n[table_of_slot[c->slots[0]]][k] += c->n[k];
    }
    for (unsigned t = 0; t < n_tables; t++)
        sum += sz_entropy(&e->logs, n[t], 256);
    return sum;
}

static void set_tables(struct sz_encoder *e, struct sz_chain *chain, bool last)
{
    chain->n_tables = e->n_counts;
    if (!last)
        memset(chain->table_of, 0, sizeof(chain->table_of));
    for (unsigned t = 0; t < chain->n_tables; t++) {
        sz_normalise_count(&chain->freqs[t], &e->counts[t]);
        sz_chain_changed(chain, t);
        if (!last)
            set_prices(chain, t, &e->logs);
        for (unsigned k = 0; k < e->counts[t].n_slots; k++) {
            const struct sz_slot *s = &e->split.slots[e->counts[t].slots[k]];
            chain->table_of[s->bin][s->shift][s->sparse] = (uint8_t)(t + 1);
        }
    }
}

/* Old or new tables; costs are in 1/65536 bit. */
struct choice {
    bool again;    /* keep the tables of the chain */
    uint64_t cost; /* of symbols and tables */
};

/* Whether the old tables are good enough to skip trying new ones: yes if they do as well as new
 * ones would; tries become rarer when they fail. */
static bool will_do(uint64_t again, uint64_t own, unsigned n_tables, struct sz_chain *chain)
{
    if (again <= own + ((uint64_t)n_tables * TABLE_BITS << LOG_BITS))
        return true;
    if (chain->n_waits == 0 || again > own + own / 64)
        return false;
    chain->n_waits--;
    return true;
}

static struct choice choose(struct sz_encoder *e, struct sz_chain *chain, bool zero,
                            uint8_t kind_of_slot[SZ_SLOTS])
{
    int8_t table_of_slot[SZ_SLOTS] = {0};
    const uint64_t again = take_over(e, chain, table_of_slot);
    if (again < UINT64_MAX) {
        for (unsigned i = 0; i < e->split.n_slots; i++)
            e->split.slots[i].table = table_of_slot[i];
        if (will_do(again, own_cost(e, table_of_slot, chain->n_tables), chain->n_tables, chain) &&
            name_kinds(&e->model, &e->split, zero, kind_of_slot))
            return (struct choice){.again = true, .cost = again};
    }
    sz_model_merge(e);
    if (again <= cost_of_counts(e) && name_kinds(&e->model, &e->split, zero, kind_of_slot)) {
        sz_model_gather(e); /* for the symbols to add */
        chain->patience = 2 * chain->patience + 1;
        if (chain->patience > MAX_PATIENCE)
            chain->patience = MAX_PATIENCE;
        chain->n_waits = chain->patience;
        return (struct choice){.again = true, .cost = again};
    }
    chain->patience = chain->n_waits = 0;
    name_tables(e);
    /* 21 shifts of two tables always fit. */
    while (!name_kinds(&e->model, &e->split, zero, kind_of_slot)) {
        sz_model_merge_first(e);
        name_tables(e);
    }
    return (struct choice){.cost = cost_of_counts(e)};
}

/* The coder takes slightly more than the entropy. */
static bool longer_than_raw(const struct sz_split *s, uint64_t bits, size_t n_elems)
{
    return bits + bits / 64 + 8 * s->n_low_bytes + 32 * (uint64_t)s->n_escapes >= 32 * n_elems;
}

/* Whether a small tensor takes one new table whatever that costs: a byte a symbol, and the table
 * that costs most, are below all limits. */
static bool decides_nothing(const struct sz_encoder *e, const struct sz_chain *chain,
                            size_t n_elems, uint64_t many)
{
    enum { MOST_TABLE_BITS = 2048 }; /* 256 (log2(1 + 4 * SZ_PROB / 256) + 1.5) + 40, set_cost's */
    const uint64_t most = 8 * n_elems + MOST_TABLE_BITS;
    return e->n_counts == 1 && chain->n_tables == 0 && most < many &&
           !longer_than_raw(&e->split, most, n_elems);
}

static struct choice only_choice(struct sz_encoder *e, bool zero, uint8_t kind_of_slot[SZ_SLOTS])
{
    name_tables(e);
    const bool named = name_kinds(&e->model, &e->split, zero, kind_of_slot);
    assert(named); /* two of them */
    return (struct choice){0};
}

void sz_chain_choose(struct sz_encoder *e, struct sz_chain *chain, size_t n_elems)
{
    struct sz_split *s = &e->split;
    uint8_t kind_of_slot[UINT8_MAX + 1];
    const bool last = n_elems < SZ_SEGMENT; /* of its tensor: nothing will ask for prices */
    const size_t n_blocks = (n_elems + SZ_BLOCK - 1) / SZ_BLOCK;
    if (e->how == SZ_HOW_RAW)
        return;
    const bool zero = memchr(s->kind, UINT8_MAX, n_blocks) != NULL;
    const uint64_t many = (chain->hasty ? 2 : 8) * SZ_MANY;
    const struct choice choice = decides_nothing(e, chain, n_elems, many)
                                     ? only_choice(e, zero, kind_of_slot)
                                     : choose(e, chain, zero, kind_of_slot);
    if (choice.cost >> LOG_BITS >= many)
        e->how |= SZ_HOW_MANY;
    if (longer_than_raw(s, choice.cost >> LOG_BITS, n_elems)) {
        e->how = SZ_HOW_RAW;
        return;
    }
    e->n_more = 0;
    if (!choice.again) {
        e->how |= SZ_HOW_NEW;
        set_tables(e, chain, last);
    } else {
        const bool added = add_symbols(e, chain);
        assert(added); /* at most 127 symbols into a table of 4096 */
        for (unsigned i = 0; i < e->n_more; i++) {
            sz_chain_changed(chain, e->more[i].table);
            if (!last)
                set_prices(chain, e->more[i].table, &e->logs);
        }
        e->how |= e->n_more > 0 ? SZ_HOW_MORE : 0;
    }
    e->model.n_tables = chain->n_tables;
    memcpy(e->model.freqs, chain->freqs, chain->n_tables * sizeof(e->model.freqs[0]));
    memcpy(e->wanted, chain->version, chain->n_tables * sizeof(e->wanted[0]));
    kind_of_slot[UINT8_MAX] = 0;
    for (size_t i = 0; i < n_blocks; i++)
        s->kind[i] = kind_of_slot[s->kind[i]];
}
