/* sz: decode segments to values or to integers; sz_segment.c describes the bytes. All input is
 * checked before it is used. */
#include <math.h>
#include "sz_segment.h"

enum { ZERO_KIND = 255, LENGTH_BYTES = 3 };

static bool read_tables(struct sz_chain *chain, struct strait_reader *r, unsigned how)
{
    if (how & SZ_HOW_NEW) {
        chain->n_tables = strait_read_u8(r);
        if (r->bad || chain->n_tables > SZ_TABLES)
            return false;
        for (unsigned t = 0; t < chain->n_tables; t++) {
            if (!sz_read_freqs(r, &chain->freqs[t]))
                return false;
            sz_chain_changed(chain, t);
        }
    }
    if (!(how & SZ_HOW_MORE))
        return true;
    for (unsigned n = strait_read_u8(r); n > 0; n--) {
        const unsigned t = strait_read_u8(r), symbol = strait_read_u8(r);
        if (r->bad || t >= chain->n_tables || !sz_chain_add(chain, t, symbol))
            return false;
        sz_chain_changed(chain, t);
    }
    return !r->bad;
}

bool sz_segment_open(struct sz_unpacker *u, struct sz_decoder *d, struct sz_chain *chain,
                     struct strait_reader *r, const struct sz_head *head, size_t index)
{
    u->head = head;
    u->d = d;
    u->first = index * SZ_SEGMENT;
    u->n_elems = sz_segment_elems(head->n_elems, index);
    u->n_coded = u->at = 0;
    u->before = 0;
    u->any_escape = false;
    struct strait_reader body = {.p = r->p, .end = r->end};
    if (head->n_elems > SZ_SEGMENT) {
        const unsigned char *length = strait_read_bytes(r, LENGTH_BYTES);
        if (!length)
            return false;
        const size_t len = strait_get16(length) | (size_t)length[2] << 16;
        body.p = strait_read_bytes(r, len);
        if (!body.p)
            return false;
        body.end = body.p + len;
        if (strait_read_varint(&body) != index)
            return false;
    } else {
        r->p = r->end;
    }
    u->how = strait_read_u8(&body);
    if (body.bad || u->how > SZ_HOW_ALL || (u->how & SZ_HOW_WAY) > SZ_HOW_DELTA)
        return false;
    if ((u->how & SZ_HOW_WAY) != SZ_HOW_RAW && head->mode != SZ_SEGMENTS)
        return false;
    if ((u->how & SZ_HOW_WAY) == SZ_HOW_DELTA && head->pointwise)
        return false;
    if (!read_tables(chain, &body, u->how))
        return false;
    if ((u->how & SZ_HOW_WAY) != SZ_HOW_RAW) {
        d->n_tables = chain->n_tables;
        memcpy(d->freqs, chain->freqs, chain->n_tables * sizeof(d->freqs[0]));
        memcpy(d->wanted, chain->version, chain->n_tables * sizeof(d->wanted[0]));
    }
    u->body = body;
    return true;
}

static bool read_kinds(struct sz_decoder *d, struct strait_reader *r, size_t n)
{
    struct sz_model *m = &d->model;
    m->n_kinds = strait_read_u8(r);
    if (r->bad || m->n_kinds < 1 || m->n_kinds > SZ_KINDS)
        return false;
    for (unsigned k = 0; k < m->n_kinds; k++) {
        const unsigned byte = strait_read_u8(r);
        m->table_of[k] = (int8_t)(byte == ZERO_KIND ? -1 : (int)(byte & 7));
        m->shift_of[k] = (uint8_t)(byte >> 3);
        if (byte != ZERO_KIND && ((byte & 7) >= d->n_tables || byte >> 3 > SZ_MAX_SHIFT))
            return false;
    }
    return sz_read_kinds(r, d->kind, (n + SZ_BLOCK - 1) / SZ_BLOCK, m->n_kinds) && !r->bad;
}

static bool open_source(struct sz_source *s, struct strait_reader *r, size_t n_coded,
                        unsigned n_lanes)
{
    const uint64_t n_words = strait_read_varint(r), n_low = strait_read_varint(r);
    const uint64_t n_escapes = strait_read_varint(r);
    s->n_lanes = n_lanes;
    uint32_t all = 0;
    for (unsigned lane = 0; lane < n_lanes; lane++)
        all |= s->states[lane] = strait_read_u32(r);
    /* States that start below 2^31 stay below, whatever is decoded. */
    if (r->bad || all > INT32_MAX || n_words > n_coded || n_low > n_coded * 3 ||
        n_escapes > n_coded)
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

static bool is_raw(const struct sz_unpacker *u)
{
    return (u->how & SZ_HOW_WAY) == SZ_HOW_RAW;
}

bool sz_unpack_begin(struct sz_unpacker *u)
{
    struct sz_decoder *d = u->d;
    if (is_raw(u))
        return (size_t)(u->body.end - u->body.p) == 4 * u->n_elems;
    if (!read_kinds(d, &u->body, u->n_elems))
        return false;
    for (size_t i = 0; i < u->n_elems; i += SZ_BLOCK)
        if (d->model.table_of[d->kind[i / SZ_BLOCK]] >= 0)
            u->n_coded += u->n_elems - i < SZ_BLOCK ? u->n_elems - i : SZ_BLOCK;
    if (u->n_coded == 0)
        return true;
    for (unsigned t = 0; t < d->n_tables; t++)
        if (d->version[t] != d->wanted[t]) {
            d->kernels->get_slots(d->slots[t], &d->freqs[t]);
            d->version[t] = d->wanted[t];
        }
    u->source.kernels = d->kernels;
    return open_source(&u->source, &u->body, u->n_coded,
                       u->how & SZ_HOW_MANY ? SZ_LANES : SZ_FEW_LANES);
}

bool sz_unpack_end(const struct sz_unpacker *u)
{
    return u->body.p == u->body.end && (u->n_coded == 0 || sz_source_close(&u->source));
}

static void read_raw(struct sz_unpacker *u, float *y, unsigned m)
{
    strait_get_floats(y, u->body.p, m);
    u->body.p += 4 * m;
}

/* Integers of a block from the coder, NaN for escapes; the escapes' values go to y. */
static bool get_block(struct sz_unpacker *u, float *q, float *y, unsigned m, unsigned kind)
{
    struct sz_source *s = &u->source;
    const unsigned char *nans = u->d->nans, *escape = s->escape, *escape_end = s->escape_end;
    int32_t unused = 0;
    const size_t left = (size_t)(escape_end - escape);
    s->escape = nans;
    s->escape_end = nans + (left < sizeof(u->d->nans) ? left : sizeof(u->d->nans));
    const bool good =
        sz_block_decode(q, m, s, u->d->model.shift_of[kind],
                        u->d->slots[u->d->model.table_of[kind]], &sz_integers, false, &unused);
    const size_t used = good ? (size_t)(s->escape - nans) : 0;
    s->escape = escape + used;
    s->escape_end = escape_end;
    u->any_escape = used > 0;
    for (unsigned i = 0; i < m && used > 0; i++)
        if (isnan(q[i])) {
            y[i] = strait_get_float(escape);
            escape += 4;
        }
    return good;
}

/* Sum differences to integers, as long as a float holds them. */
static void sum_up(struct sz_unpacker *u, float *q, const float *y, unsigned m)
{
    int32_t before = u->before;
    for (unsigned i = 0; i < m; i++)
        if (isnan(q[i])) {
            before = sz_nearest(y[i], &u->head->grid, before);
        } else {
            before = (int32_t)((uint32_t)before + (uint32_t)(int32_t)q[i]);
            q[i] = (float)before;
        }
    u->before = before;
}

/* Integers as the stream has them: what a matrix left, or sums of differences. */
static bool unpack_integers(struct sz_unpacker *u, float *q, float *y, unsigned m)
{
    const size_t block = u->at / SZ_BLOCK;
    u->at += m;
    if (is_raw(u)) {
        read_raw(u, y, m);
        memset(q, UINT8_MAX, m * sizeof(*q));
        u->any_escape = true;
        return true;
    }
    u->any_escape = false;
    const unsigned kind = u->d->kind[block];
    const bool coded = u->d->model.table_of[kind] >= 0;
    if (coded && !get_block(u, q, y, m, kind))
        return false;
    if (!coded)
        for (unsigned i = 0; i < m; i++)
            q[i] = (float)u->before;
    else if ((u->how & SZ_HOW_WAY) == SZ_HOW_DELTA)
        sum_up(u, q, y, m);
    return true;
}

static bool has_share(const struct sz_unpacker *u)
{
    return u->head->matrix && (u->how & SZ_HOW_WAY) == SZ_HOW_PLAIN;
}

bool sz_unpack_integers(struct sz_unpacker *u, float *q, float *y, unsigned m)
{
    float share[SZ_BLOCK];
    if (!unpack_integers(u, q, y, m))
        return false;
    if (!has_share(u))
        return true;
    sz_matrix_share(u->head->matrix, share, u->first + u->at - m, m);
    for (unsigned i = 0; i < m; i++)
        q[i] += share[i];
    return true;
}

static bool unpack_with_share(struct sz_unpacker *u, float *y, unsigned m)
{
    float escape[SZ_BLOCK];
    if (!unpack_integers(u, y, escape, m))
        return false;
    sz_matrix_restore(u->head->matrix, y, u->first + u->at - m, m, u->head->grid.step);
    for (unsigned i = 0; i < m && u->any_escape; i++)
        y[i] = isnan(y[i]) ? escape[i] : y[i];
    return true;
}

static bool unpack_powers(struct sz_unpacker *u, float *y, unsigned m)
{
    float q[SZ_BLOCK], escape[SZ_BLOCK];
    if (is_raw(u)) {
        read_raw(u, y, m);
        u->at += m;
        return true;
    }
    if (!sz_unpack_integers(u, q, escape, m))
        return false;
    sz_powers_inverse(y, q, m, &u->head->powers, &u->d->kept, u->source.kernels->level);
    for (unsigned i = 0; i < m && u->any_escape; i++)
        y[i] = isnan(q[i]) ? escape[i] : y[i];
    return true;
}

/* The values of the next block, m of them. */
static bool unpack_values(struct sz_unpacker *u, float *y, unsigned m)
{
    const struct sz_grid *grid = &u->head->grid;
    if (u->head->pointwise)
        return unpack_powers(u, y, m);
    if (has_share(u))
        return unpack_with_share(u, y, m);
    const size_t block = u->at / SZ_BLOCK;
    u->at += m;
    if (is_raw(u)) {
        read_raw(u, y, m);
        return true;
    }
    const unsigned kind = u->d->kind[block];
    const int table = u->d->model.table_of[kind];
    if (table >= 0)
        return sz_block_decode(y, m, &u->source, u->d->model.shift_of[kind], u->d->slots[table],
                               grid, (u->how & SZ_HOW_WAY) == SZ_HOW_DELTA, &u->before);
    const float same = (float)u->before * grid->step + grid->centre;
    for (unsigned i = 0; i < m; i++)
        y[i] = same;
    return true;
}

bool sz_segment_decode(struct sz_unpacker *u, float *y)
{
    if (!sz_unpack_begin(u))
        return false;
    for (size_t i = 0; i < u->n_elems; i += SZ_BLOCK) {
        const size_t left = u->n_elems - i;
        if (!unpack_values(u, y + i, left < SZ_BLOCK ? (unsigned)left : SZ_BLOCK))
            return false;
    }
    return sz_unpack_end(u);
}
