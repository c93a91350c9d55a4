/* sz: segments of up to 2^20 values, each with its own tables.
 *
 *   u8      RAW: float32 values follow; PLAIN or DELTA:
 *   u8 u8   n_tables, n_kinds
 *   u8      a kind: shift << 3 | table, or 255: every integer of the block is 0    x n_kinds
 *   bits    a table                                                                x n_tables
 *   bits    the kinds of the blocks
 *   then for each chunk of 2^17 values with anything in it: varint n_words, n_low_bytes, n_escapes;
 *   u32 lane states; u16 words; low bits; float32 escapes
 */
#include "sz_parts.h"

enum { RAW, PLAIN, DELTA, ZERO_KIND = 255 };

static size_t blocks_of(size_t n)
{
    return (n + SZ_BLOCK - 1) / SZ_BLOCK;
}

/* Values of the chunk that the coder sees. */
static size_t coded_in(const struct sz_model *m, const uint8_t *kind, size_t n)
{
    size_t coded = 0;
    for (size_t i = 0; i < n; i += SZ_BLOCK)
        if (m->table_of[kind[i / SZ_BLOCK]] >= 0)
            coded += n - i < SZ_BLOCK ? n - i : SZ_BLOCK;
    return coded;
}

static void write_words(struct strait_writer *w, const uint16_t *words, size_t n)
{
    if (!strait_write_room(w, 2 * n))
        return;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(w->p, words, 2 * n);
#else
    for (size_t i = 0; i < n; i++)
        strait_put16(w->p + 2 * i, words[i]);
#endif
    w->p += 2 * n;
}

static void encode_chunk(struct sz_encoder *e, struct strait_writer *w, size_t chunk, size_t n)
{
    const struct sz_split *s = &e->split;
    const uint8_t *kind = s->kind + chunk * (SZ_CHUNK / SZ_BLOCK);
    const size_t n_coded = coded_in(&e->model, kind, n);
    if (n_coded == 0)
        return;
    const unsigned n_lanes = n_coded >= SZ_MANY ? SZ_LANES : SZ_FEW_LANES;
    uint32_t states[SZ_LANES];
    uint16_t *end = e->words + sizeof(e->words) / sizeof(e->words[0]);
    const uint16_t *words = sz_rans_encode(states, n_lanes, end, s->sym + chunk * SZ_CHUNK, n, kind,
                                           e->model.table_of, e->tables);
    const size_t low = chunk > 0 ? s->low_end[chunk - 1] : 0;
    const size_t escape = chunk > 0 ? s->escape_end[chunk - 1] : 0;
    strait_write_varint(w, (uint64_t)(end - words));
    strait_write_varint(w, s->low_end[chunk] - low);
    strait_write_varint(w, s->escape_end[chunk] - escape);
    for (unsigned lane = 0; lane < n_lanes; lane++)
        strait_write_u32(w, states[lane]);
    write_words(w, words, (size_t)(end - words));
    strait_write_bytes(w, s->low + low, s->low_end[chunk] - low);
    const size_t n_escapes = s->escape_end[chunk] - escape;
    if (strait_write_room(w, 4 * n_escapes)) {
        strait_put_floats(w->p, s->escape + escape, n_escapes);
        w->p += 4 * n_escapes;
    }
}

static void encode_tables(const struct sz_encoder *e, struct strait_writer *w, size_t n)
{
    const struct sz_model *m = &e->model;
    strait_write_u8(w, m->n_tables);
    strait_write_u8(w, m->n_kinds);
    for (unsigned k = 0; k < m->n_kinds; k++)
        strait_write_u8(w, m->table_of[k] < 0 ? (unsigned)ZERO_KIND
                                              : (unsigned)(m->shift_of[k] << 3 | m->table_of[k]));
    for (unsigned t = 0; t < m->n_tables; t++)
        sz_write_freqs(w, &m->freqs[t]);
    sz_write_kinds(w, e->split.kind, blocks_of(n), m->n_kinds);
}

void sz_segment_encode(struct sz_encoder *e, struct strait_writer *w, const float *x, size_t n,
                       const struct sz_grid *grid, bool delta)
{
    struct strait_writer coded = *w;
    if ((size_t)(coded.end - coded.p) > 4 * n)
        coded.end = coded.p + 4 * n;
    strait_write_u8(&coded, delta ? DELTA : PLAIN);
    if (sz_split(&e->split, x, n, grid, delta)) {
        sz_model_build(e, blocks_of(n));
        encode_tables(e, &coded, n);
        for (size_t i = 0; i < n; i += SZ_CHUNK)
            encode_chunk(e, &coded, i / SZ_CHUNK, n - i < SZ_CHUNK ? n - i : SZ_CHUNK);
        if (!coded.full) {
            w->p = coded.p;
            return;
        }
    }
    strait_write_u8(w, RAW);
    if (strait_write_room(w, 4 * n)) {
        strait_put_floats(w->p, x, n);
        w->p += 4 * n;
    }
}

/* ---- decoding: nothing that the bytes say is believed before it is checked */

struct source { /* what is left of one chunk */
    const unsigned char *words, *words_end, *low, *low_end, *escape, *escape_end;
    unsigned n_lanes;
    uint32_t states[SZ_LANES];
    unsigned char tail[4 * SZ_BLOCK + 8]; /* the last words, so that none is read beyond the end */
    bool in_tail;
};

static bool open_source(struct source *s, struct strait_reader *r, size_t n_coded)
{
    const uint64_t n_words = strait_read_varint(r), n_low = strait_read_varint(r);
    const uint64_t n_escapes = strait_read_varint(r);
    s->n_lanes = n_coded >= SZ_MANY ? SZ_LANES : SZ_FEW_LANES;
    for (unsigned lane = 0; lane < s->n_lanes; lane++)
        s->states[lane] = strait_read_u32(r);
    if (r->bad || n_words > n_coded || n_low > n_coded * 3 || n_escapes > n_coded)
        return false;
    s->words = strait_read_bytes(r, 2 * (size_t)n_words);
    s->low = strait_read_bytes(r, (size_t)n_low);
    s->escape = strait_read_bytes(r, 4 * (size_t)n_escapes);
    if (r->bad)
        return false;
    s->words_end = s->words + 2 * n_words;
    s->low_end = s->low + n_low;
    s->escape_end = s->escape + 4 * n_escapes;
    s->in_tail = false;
    return true;
}

/* All is used up and every lane is where its encoder began. */
static bool close_source(const struct source *s)
{
    for (unsigned lane = 0; lane < s->n_lanes; lane++)
        if (s->states[lane] != SZ_STATE_LOW)
            return false;
    return s->words == s->words_end && s->low == s->low_end && s->escape == s->escape_end;
}

static bool get_symbols(uint8_t *sym, unsigned n, struct source *s, const uint32_t *slots)
{
    const size_t left = (size_t)(s->words_end - s->words);
    if (!s->in_tail && left < 2 * SZ_BLOCK + 2) {
        memset(s->tail, 0, sizeof(s->tail));
        memcpy(s->tail, s->words, left);
        s->words = s->tail;
        s->words_end = s->tail + left;
        s->in_tail = true;
    }
    sz_rans_decode(sym, n, s->states, s->n_lanes, &s->words, slots);
    return s->words <= s->words_end;
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
    for (; i < n; i++, bit += width)
        v[i] = (uint32_t)(strait_get64(p + (bit >> 3)) >> (bit & 7)) & mask;
}

/* The low bits of n values; zeros where the stream has too few. */
static bool get_low(uint32_t *v, unsigned n, struct source *s, unsigned width)
{
    unsigned char padded[SZ_BLOCK * SZ_MAX_SHIFT / 8 + 16];
    const size_t need = ((size_t)n * width + 7) / 8, left = (size_t)(s->low_end - s->low);
    if (need > left)
        return false;
    if (left < need + 8) {
        memset(padded, 0, sizeof(padded));
        memcpy(padded, s->low, need);
        unpack(v, n, padded, width);
    } else {
        unpack(v, n, s->low, width);
    }
    s->low += need;
    return true;
}

static inline unsigned count_special(const uint8_t *sym, unsigned n)
{
    unsigned special = 0;
    for (unsigned i = 0; i < n; i++)
        special += sym[i] <= SZ_ZERO;
    return special;
}

static inline void join(int32_t *q, const uint8_t *sym, const uint32_t *low, unsigned n,
                        unsigned shift)
{
    for (unsigned i = 0; i < n; i++)
        q[i] = (int32_t)((((uint32_t)sym[i] - SZ_CENTRE) << shift) + low[i]);
}

/* Symbols and low bits to integers; escapes give 0. */
static bool get_integers(int32_t *q, uint8_t *sym, unsigned n, unsigned n_special, struct source *s,
                         unsigned shift)
{
    uint32_t low[SZ_BLOCK + 1], spread[SZ_BLOCK];
    if (shift == 0)
        memset(low, 0, sizeof(low));
    else if (!get_low(low, n - n_special, s, shift))
        return false;
    if (n_special == 0) {
        join(q, sym, low, n, shift);
        return true;
    }
    low[n - n_special] = 0; /* looked at, not used */
    for (unsigned i = 0, k = 0; i < n; i++) {
        const uint32_t plain = sym[i] > SZ_ZERO;
        spread[i] = low[k] & -plain;
        k += plain;
    }
    for (unsigned i = 0; i < n; i++) {
        const uint32_t upper = sym[i] > SZ_ZERO ? (uint32_t)sym[i] - SZ_CENTRE : 0;
        q[i] = (int32_t)((upper << shift) + spread[i]);
    }
    return true;
}

static inline void values_of(float *restrict y, const int32_t *restrict q, unsigned n,
                             const struct sz_grid *grid)
{
    const float step = grid->step, centre = grid->centre;
    for (unsigned i = 0; i < n; i++)
        y[i] = (float)q[i] * step + centre;
}

static bool has_escapes(const uint8_t *sym, unsigned n, const struct source *s)
{
    size_t escapes = 0;
    for (unsigned i = 0; i < n; i++)
        escapes += sym[i] == SZ_ESCAPE;
    return 4 * escapes <= (size_t)(s->escape_end - s->escape);
}

static void get_escapes(float *y, const uint8_t *sym, unsigned n, struct source *s)
{
    for (unsigned i = 0; i < n; i++)
        if (sym[i] == SZ_ESCAPE) {
            y[i] = strait_get_float(s->escape);
            s->escape += 4;
        }
}

/* Differences to integers, in place. Returns the last integer. */
static int32_t sum_up(int32_t *q, const uint8_t *sym, unsigned n, const unsigned char *escape,
                      const struct sz_grid *grid, int32_t before)
{
    for (unsigned i = 0; i < n; i++) {
        if (sym[i] == SZ_ESCAPE) {
            before = sz_nearest(strait_get_float(escape), grid, before);
            escape += 4;
        } else {
            before = (int32_t)((uint32_t)before + (uint32_t)q[i]);
        }
        q[i] = before;
    }
    return before;
}

static bool decode_block(float *y, unsigned n, struct source *s, unsigned shift,
                         const uint32_t *slots, const struct sz_grid *grid, bool delta,
                         int32_t *before)
{
    uint8_t sym[SZ_BLOCK];
    int32_t q[SZ_BLOCK];
    if (!get_symbols(sym, n, s, slots))
        return false;
    const unsigned n_special = n == SZ_BLOCK ? count_special(sym, SZ_BLOCK) : count_special(sym, n);
    if (!get_integers(q, sym, n, n_special, s, shift))
        return false;
    if (n_special > 0 && !has_escapes(sym, n, s))
        return false;
    if (delta)
        *before = sum_up(q, sym, n, s->escape, grid, *before);
    if (n == SZ_BLOCK)
        values_of(y, q, SZ_BLOCK, grid);
    else
        values_of(y, q, n, grid);
    if (n_special > 0)
        get_escapes(y, sym, n, s);
    return true;
}

static bool decode_chunk(const struct sz_decoder *d, float *y, size_t n, const uint8_t *kind,
                         struct strait_reader *r, const struct sz_grid *grid, bool delta)
{
    struct source s;
    const size_t n_coded = coded_in(&d->model, kind, n);
    int32_t before = 0;
    if (n_coded > 0 && !open_source(&s, r, n_coded))
        return false;
    for (size_t i = 0; i < n; i += SZ_BLOCK) {
        const unsigned k = kind[i / SZ_BLOCK], m = n - i < SZ_BLOCK ? (unsigned)(n - i) : SZ_BLOCK;
        const int table = d->model.table_of[k];
        if (table < 0) {
            const float same = (float)before * grid->step + grid->centre;
            for (unsigned j = 0; j < m; j++)
                y[i + j] = same;
        } else if (!decode_block(y + i, m, &s, d->model.shift_of[k], d->slots[table], grid, delta,
                                 &before)) {
            return false;
        }
    }
    return n_coded == 0 || close_source(&s);
}

static bool decode_tables(struct sz_decoder *d, struct strait_reader *r, size_t n)
{
    struct sz_model *m = &d->model;
    m->n_tables = strait_read_u8(r);
    m->n_kinds = strait_read_u8(r);
    if (r->bad || m->n_tables > SZ_TABLES || m->n_kinds < 1 || m->n_kinds > SZ_KINDS)
        return false;
    for (unsigned k = 0; k < m->n_kinds; k++) {
        const unsigned byte = strait_read_u8(r);
        m->table_of[k] = byte == ZERO_KIND ? -1 : (int8_t)(byte & 7);
        m->shift_of[k] = (uint8_t)(byte >> 3);
        if (byte != ZERO_KIND && ((byte & 7) >= m->n_tables || byte >> 3 > SZ_MAX_SHIFT))
            return false;
    }
    for (unsigned t = 0; t < m->n_tables; t++) {
        if (!sz_read_freqs(r, &m->freqs[t]))
            return false;
        sz_get_slots(d->slots[t], &m->freqs[t]);
    }
    return sz_read_kinds(r, d->kind, blocks_of(n), m->n_kinds) && !r->bad;
}

bool sz_segment_decode(struct sz_decoder *d, float *y, size_t n, struct strait_reader *r,
                       const struct sz_grid *grid)
{
    const unsigned how = strait_read_u8(r);
    if (r->bad || how > DELTA)
        return false;
    if (how == RAW) {
        const unsigned char *p = strait_read_bytes(r, 4 * n);
        if (p)
            strait_get_floats(y, p, n);
        return p != NULL;
    }
    if (!decode_tables(d, r, n))
        return false;
    for (size_t i = 0; i < n; i += SZ_CHUNK)
        if (!decode_chunk(d, y + i, n - i < SZ_CHUNK ? n - i : SZ_CHUNK, d->kind + i / SZ_BLOCK, r,
                          grid, how == DELTA))
            return false;
    return true;
}
