/* sz: segments of up to 2^17 values.
 *
 *   u24 varint  if the tensor has more than one: bytes that follow this number, and its index
 *   u8          how: RAW, PLAIN or DELTA; 4: new tables; 8: more symbols; 16: many lanes
 *   with new tables: u8 n_tables, bits of each; else they are those of the previous segment
 *   with more symbols: u8 how many, and of each: u8 table, u8 symbol; its frequency is 1, taken
 *               from the first symbol of the highest
 *   RAW: float32 values, that is all; else:
 *   u8          n_kinds
 *   u8          a kind: shift << 3 | table, or 255: every integer of the block is 0    x n_kinds
 *   bits        the kinds of the blocks
 *   if any block is coded: varint n_words, n_low_bytes, n_escapes; u32 lane states;
 *               u16 words; low bits; float32 escapes */
#include <math.h>
#include "sz_segment.h"

enum { ZERO_KIND = 255, LENGTH_BYTES = 3 };

static size_t blocks_of(size_t n)
{
    return (n + SZ_BLOCK - 1) / SZ_BLOCK;
}

/* Number of values of the segment that the coder codes. */
static size_t coded_in(const struct sz_model *m, const uint8_t *kind, size_t n)
{
    size_t coded = 0;
    for (size_t i = 0; i < n; i += SZ_BLOCK)
        if (m->table_of[kind[i / SZ_BLOCK]] >= 0)
            coded += n - i < SZ_BLOCK ? n - i : SZ_BLOCK;
    return coded;
}

/* ---- encoding */

static void finish_split(struct sz_encoder *e, bool good, bool delta)
{
    e->how = !good ? SZ_HOW_RAW : delta ? SZ_HOW_DELTA : SZ_HOW_PLAIN;
    if (good)
        sz_model_gather(e);
}

/* The split may have stored an integer or NaN as the value of an escape: store the true value. */
static void set_escapes(struct sz_split *s, const float *value, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n && k < s->n_escapes; i += SZ_BLOCK) {
        const size_t m = n - i < SZ_BLOCK ? n - i : SZ_BLOCK;
        if (s->kind[i / SZ_BLOCK] == UINT8_MAX || !memchr(s->sym + i, SZ_ESCAPE, m))
            continue;
        for (size_t j = i; j < i + m; j++)
            if (s->sym[j] == SZ_ESCAPE)
                s->escape[k++] = value[j];
    }
}

void sz_segment_split(struct sz_encoder *e, const float *x, size_t n, const struct sz_head *head,
                      size_t index)
{
    if (head->mode == SZ_RAW_SEGMENTS) {
        e->how = SZ_HOW_RAW;
    } else if (head->pointwise) {
        sz_powers_forward(e->integer, x, n, &head->powers, e->kernels->level);
        sz_segment_split_integers(e, x, n, head, false);
    } else {
        finish_split(e,
                     sz_split(&e->split, e->kernels, x, n, &head->grid, head->delta, head->matrix,
                              index * SZ_SEGMENT),
                     head->delta);
    }
}

/* Integers to differences, as the decoder sums them; none continues from a value without
 * integer. */
static void difference(float *d, const float *value, size_t n, const struct sz_grid *grid)
{
    int32_t before = 0;
    for (size_t i = 0; i < n; i++) {
        const bool escape = isnan(d[i]) || fabsf(d[i]) > 4194303.0f;
        const int32_t q = escape ? sz_nearest(value[i], grid, before) : (int32_t)d[i];
        d[i] = escape ? NAN : (float)(q - before);
        before = q;
    }
}

/* Where a difference was too large for a symbol: does the decoder continue from the same
 * integer? */
static bool goes_on(const struct sz_encoder *e, const float *value, size_t n,
                    const struct sz_grid *grid)
{
    const struct sz_split *s = &e->split;
    int32_t q = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t before = q;
        if (!isnan(e->integer[i]))
            q += (int32_t)e->integer[i];
        else
            q = sz_nearest(value[i], grid, before);
        if (s->kind[i / SZ_BLOCK] != UINT8_MAX && s->sym[i] == SZ_ESCAPE &&
            q != sz_nearest(value[i], grid, before))
            return false;
    }
    return true;
}

void sz_segment_split_integers(struct sz_encoder *e, const float *value, size_t n,
                               const struct sz_head *head, bool delta)
{
    if (delta)
        difference(e->integer, value, n, &head->grid);
    bool good = sz_split(&e->split, e->kernels, e->integer, n, &sz_integers, false, NULL, 0);
    if (good && delta && e->split.n_escapes > 0)
        good = goes_on(e, value, n, &head->grid);
    if (good && e->split.n_escapes > 0)
        set_escapes(&e->split, value, n);
    finish_split(e, good, delta);
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

static void write_floats(struct strait_writer *w, const float *x, size_t n)
{
    if (!strait_write_room(w, 4 * n))
        return;
    strait_put_floats(w->p, x, n);
    w->p += 4 * n;
}

static void prepare_table(struct sz_encoder *e, unsigned t, unsigned n_lanes)
{
    if (e->version[t] != e->wanted[t]) {
        sz_put_symbols(&e->tables[t], &e->model.freqs[t]);
        e->version[t] = e->wanted[t];
        e->has_packed[t] = false;
    }
    if (n_lanes == SZ_LANES && !e->has_packed[t]) {
        e->kernels->pack_table(e, t, &e->model.freqs[t]);
        e->has_packed[t] = true;
    }
}

static void write_values(struct sz_encoder *e, struct strait_writer *w, size_t n)
{
    const struct sz_split *s = &e->split;
    if (coded_in(&e->model, s->kind, n) == 0)
        return;
    const unsigned n_lanes = e->how & SZ_HOW_MANY ? SZ_LANES : SZ_FEW_LANES;
    uint32_t states[SZ_LANES];
    uint16_t *end = e->words + sizeof(e->words) / sizeof(e->words[0]);
    for (unsigned t = 0; t < e->model.n_tables; t++)
        prepare_table(e, t, n_lanes);
    const uint16_t *words = sz_rans_encode(e, states, n_lanes, end, s->sym, n, s->kind);
    strait_write_varint(w, (uint64_t)(end - words));
    strait_write_varint(w, s->n_low_bytes);
    strait_write_varint(w, s->n_escapes);
    for (unsigned lane = 0; lane < n_lanes; lane++)
        strait_write_u32(w, states[lane]);
    write_words(w, words, (size_t)(end - words));
    strait_write_bytes(w, s->low, s->n_low_bytes);
    write_floats(w, s->escape, s->n_escapes);
}

static void write_tables(const struct sz_encoder *e, struct strait_writer *w)
{
    if (e->how & SZ_HOW_NEW) {
        strait_write_u8(w, e->model.n_tables);
        for (unsigned t = 0; t < e->model.n_tables; t++)
            sz_write_freqs(w, &e->model.freqs[t]);
    }
    if (e->how & SZ_HOW_MORE) {
        strait_write_u8(w, e->n_more);
        for (unsigned i = 0; i < e->n_more; i++) {
            strait_write_u8(w, e->more[i].table);
            strait_write_u8(w, e->more[i].symbol);
        }
    }
}

static void write_kinds(const struct sz_encoder *e, struct strait_writer *w, size_t n)
{
    const struct sz_model *m = &e->model;
    strait_write_u8(w, m->n_kinds);
    for (unsigned k = 0; k < m->n_kinds; k++)
        strait_write_u8(w, m->table_of[k] < 0 ? (unsigned)ZERO_KIND
                                              : (unsigned)(m->shift_of[k] << 3 | m->table_of[k]));
    sz_write_kinds(w, e->split.kind, blocks_of(n), m->n_kinds);
}

void sz_segment_write(struct sz_encoder *e, struct strait_writer *w, const float *value, size_t n,
                      const struct sz_head *head, size_t index)
{
    unsigned char *const length = w->p;
    const bool alone = head->n_elems <= SZ_SEGMENT;
    if (!alone && strait_write_room(w, LENGTH_BYTES)) {
        w->p += LENGTH_BYTES;
        strait_write_varint(w, index);
    }
    unsigned char *const how = w->p;
    strait_write_u8(w, e->how);
    write_tables(e, w);
    e->table_bytes = (size_t)(w->p - how);
    struct strait_writer coded = *w;
    if (e->how != SZ_HOW_RAW) {
        if ((size_t)(coded.end - coded.p) > 4 * n)
            coded.end = coded.p + 4 * n;
        write_kinds(e, &coded, n);
        write_values(e, &coded, n);
    }
    if (e->how == SZ_HOW_RAW || coded.full) {
        if (!w->full) /* only then: other segments may depend on the tables */
            *how = (unsigned char)(e->how & ~(unsigned)SZ_HOW_WAY);
        write_floats(w, value, n);
    } else {
        w->p = coded.p;
    }
    if (!alone && !w->full) {
        const size_t len = (size_t)(w->p - length) - LENGTH_BYTES;
        for (unsigned i = 0; i < LENGTH_BYTES; i++)
            length[i] = (unsigned char)(len >> 8 * i);
    }
}
