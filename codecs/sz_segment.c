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

static bool decode_chunk(const struct sz_decoder *d, float *y, size_t n, const uint8_t *kind,
                         struct strait_reader *r, const struct sz_grid *grid, bool delta)
{
    struct sz_source s;
    const size_t n_coded = coded_in(&d->model, kind, n);
    int32_t before = 0;
    if (n_coded > 0 && !sz_source_open(&s, r, n_coded))
        return false;
    for (size_t i = 0; i < n; i += SZ_BLOCK) {
        const unsigned k = kind[i / SZ_BLOCK], m = n - i < SZ_BLOCK ? (unsigned)(n - i) : SZ_BLOCK;
        const int table = d->model.table_of[k];
        if (table < 0) {
            const float same = (float)before * grid->step + grid->centre;
            for (unsigned j = 0; j < m; j++)
                y[i + j] = same;
        } else if (!sz_block_decode(y + i, m, &s, d->model.shift_of[k], d->slots[table], grid,
                                    delta, &before)) {
            return false;
        }
    }
    return n_coded == 0 || sz_source_close(&s);
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
