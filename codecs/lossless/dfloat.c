/* dfloat16 and dfloat32: floats with their exponents coded, as DFloat11 (Zhang et al., 2025) does
 * with BF16: exponents of weights take 2.5 bits of their 8, signs and mantissas do not compress.
 * dfloat32 restores every bit. dfloat16 restores values that BF16 has, and rounds others to it, as
 * bf16 does. Lower halves that are all 0 are not sent.
 *
 *   u8    codec id
 *   u8    how: 0 plain, else which contexts; + 8: with lower halves; + 16: exponent 254 is 0, which
 *         has no raw bits
 *   u8    number of values mod 256
 *   u8    0
 *   how 0: the values, 2 or 4 bytes each; else
 *   how 3: u32 rows, classes of rows and columns: tables, u32 bytes of words, states, words
 *   tables (contexts.h) of the exponents; how 4: of what the differences are coded as
 *   raw   its length (varint); sign and 7 bits of each mantissa, then u16 lower halves; how 4:
 *         lower bits of the differences
 *   states, words
 *
 * A table belongs to contexts: 1 none, 2 the exponent before, 3 the scale of row and column (the
 * means of their exponents, in halves: gradients differ in both), 4 the exponent of the value that
 * the receiver has. Then the difference of the two as whole numbers in the order of the floats is
 * coded: to and fro as 0, -1, 1, ... up to 63 as it is, above as its length and next two bits, the
 * others raw. DFloat11 itself has no contexts, and codes by Huffman. */
#include <stdlib.h>
#include "dfloat_contexts.h"

enum { HEAD_BYTES = 4 };

static const char *const context_names[] = {"auto", "none", "left", "scale", NULL};
static const struct strait_param params[] = {
    {"contexts",
     "what selects an exponent's table: nothing, the exponent before, the scale of row and column, "
     "or whichever is shortest",
     .max = 3, .choices = context_names},
};

static bool is_32(const struct dfloat *s)
{
    return s->ops == &strait_codec_dfloat32;
}

static void init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct dfloat *s = state;
    s->ops = ops;
    s->contexts = (enum dfloat_how)values[0];
    strait_pool_init(&s->pool);
}

static void scratch_free(struct dfloat_scratch *piece)
{
    if (piece) {
        free(piece->symbols);
        free(piece->sums);
        free(piece->words);
    }
    free(piece);
}

static void dfloat_close(void *state)
{
    struct dfloat *s = state;
    for (struct dfloat_scratch *piece; (piece = strait_pool_take(&s->pool)) != NULL;)
        scratch_free(piece);
    strait_pool_release(&s->pool);
    free(s);
}

static struct dfloat_scratch *take(struct dfloat *s, size_t n, struct strait_error *err)
{
    struct dfloat_scratch *piece = strait_pool_take(&s->pool);
    if (piece && piece->cap >= n)
        return piece;
    scratch_free(piece);
    piece = calloc(1, sizeof(*piece));
    if (piece && n < SIZE_MAX / 8) {
        piece->symbols = malloc(3 * n + 3);
        piece->sums = malloc(4 * n + 4);
        piece->words = malloc(2 * n + 64);
    }
    if (piece && piece->symbols && piece->sums && piece->words) {
        piece->context = piece->symbols + n;
        piece->classes = piece->context + n;
        piece->cap = n;
        strait_contexts_logs(piece->logs);
        return piece;
    }
    scratch_free(piece);
    strait_error_set(err, STRAIT_ERR_NOMEM, s->ops->name, "%zu values do not fit in memory", n);
    return NULL;
}

static size_t max_bytes(const void *state, size_t n_elems)
{
    return HEAD_BYTES + (is_32(state) ? 4 : 2) * n_elems;
}

static void exponents_of(uint8_t *context, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        context[i] = (uint8_t)(strait_bits_of(x[i]) >> 23);
}

/* --- encode --------------------------------------------------------------------------------- */

static void put_coded(struct strait_writer *w, struct dfloat_scratch *piece, const uint8_t *symbols,
                      const uint8_t *context, size_t n, size_t *len_bytes)
{
    uint16_t *end = piece->words + n + 16;
    const uint16_t *p =
        strait_contexts_put(&piece->coder, end, &piece->tables, symbols, context, n);
    const unsigned n_lanes = strait_context_lanes(n);
    *len_bytes = (size_t)(end - p) * 2;
    if (!strait_write_room(w, 4 * n_lanes + *len_bytes))
        return;
    for (unsigned lane = 0; lane < n_lanes; lane++)
        strait_write_u32(w, piece->coder.states[lane]);
    for (; p < end; p++, w->p += 2)
        strait_put16(w->p, *p);
}

static void put_classes(struct strait_writer *w, struct dfloat_scratch *piece, size_t n_rows,
                        size_t n)
{
    size_t len_bytes;
    dfloat_price_of_classes(piece, n);
    strait_write_u32(w, (uint32_t)n_rows);
    strait_contexts_write(w, &piece->tables);
    unsigned char *length = w->p;
    strait_write_u32(w, 0);
    put_coded(w, piece, piece->classes, NULL, n, &len_bytes);
    if (!w->full)
        strait_put32(length, (uint32_t)len_bytes);
}

static void put_plain(unsigned char *out, const float *x, size_t n, bool is_32)
{
    for (size_t i = 0; i < n; i++)
        if (is_32)
            strait_put_float(out + 4 * i, x[i]);
        else
            strait_put16(out + 2 * i, (uint16_t)(dfloat_bits(x[i], true) >> 16));
}

static int dfloat_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                         size_t n, struct strait_request request, struct strait_error *err)
{
    struct dfloat *s = state;
    const float *from = request.reference;
    struct strait_writer w = {.p = out + HEAD_BYTES, .end = out + max_bytes(s, n)};
    struct dfloat_scratch *piece = take(s, n + 1, err);
    enum dfloat_how how = DFLOAT_REFERENCE;
    size_t words_bytes;
    if (!piece)
        return -1;
    struct dfloat_form form = dfloat_exponents(piece->symbols, x, n, is_32(s));
    if (from) {
        form.zeros = false;
        dfloat_ways(piece->symbols, x, from, n, form);
        exponents_of(piece->context, from, n);
    } else if (n > 0) {
        how = dfloat_choose(s, piece, n, request.n_rows, form.zeros);
    }
    if (how == DFLOAT_SCALE) {
        put_classes(&w, piece, request.n_rows, request.n_rows + n / request.n_rows);
        dfloat_scale_contexts(piece, request.n_rows, n / request.n_rows);
    }
    const uint8_t *context = dfloat_context_of(piece, how, n);
    memset(piece->counts.occurs, 0, sizeof(piece->counts.occurs));
    strait_contexts_count(&piece->counts, piece->symbols, context, n, n);
    strait_contexts_join(&piece->tables, &piece->counts, piece->logs);
    strait_contexts_write(&w, &piece->tables);
    strait_write_varint(&w, from ? dfloat_way_bytes(piece->symbols, n)
                                 : dfloat_raw_bytes(piece->symbols, n, form));
    if (from)
        dfloat_put_ways(&w, piece->symbols, x, from, n, form);
    else
        dfloat_put_raw(&w, piece->symbols, x, n, form);
    put_coded(&w, piece, piece->symbols, context, n, &words_bytes);
    strait_pool_give(&s->pool, piece);
    const bool plain = w.full || n == 0;
    if (plain) {
        put_plain(out + HEAD_BYTES, x, n, is_32(s));
        w.p = out + max_bytes(s, n);
    }
    out[0] = (unsigned char)s->ops->id;
    out[1] = (unsigned char)(plain ? DFLOAT_PLAIN
                                   : how | (form.halves ? DFLOAT_HALVES : 0) |
                                         (form.zeros ? DFLOAT_ZEROS : 0));
    out[2] = (unsigned char)(n & 255);
    out[3] = 0;
    *len_bytes = (size_t)(w.p - out);
    return 0;
}

/* --- decode --------------------------------------------------------------------------------- */

/* Symbols from their states and len_bytes of words. False: they are not of n symbols. */
static bool get_coded(struct strait_reader *r, struct dfloat_scratch *piece, uint8_t *symbols,
                      const uint8_t *context, size_t n, size_t len_bytes)
{
    const unsigned n_lanes = strait_context_lanes(n);
    for (unsigned lane = 0; lane < n_lanes; lane++)
        piece->coder.states[lane] = strait_read_u32(r);
    const unsigned char *words = strait_read_bytes(r, len_bytes);
    if (!words || len_bytes > 2 * n)
        return false;
    unsigned char *copy = (unsigned char *)piece->words;
    memcpy(copy, words, len_bytes);
    memset(copy + len_bytes, 0, 2 * n + 2 - len_bytes);
    if (strait_contexts_get(&piece->coder, symbols, &piece->tables, context, n, copy) !=
        copy + len_bytes)
        return false;
    for (unsigned lane = 0; lane < n_lanes; lane++)
        if (piece->coder.states[lane] != SZ_STATE_LOW)
            return false;
    return true;
}

/* The contexts of rows and columns. */
static bool get_classes(struct strait_reader *r, struct dfloat_scratch *piece, size_t n)
{
    const size_t n_rows = strait_read_u32(r);
    if (n_rows < 2 || n % n_rows != 0 || n / n_rows < 2)
        return false;
    const size_t n_columns = n / n_rows;
    if (!strait_contexts_read(r, &piece->tables))
        return false;
    const size_t len_bytes = strait_read_u32(r);
    if (!get_coded(r, piece, piece->classes, NULL, n_rows + n_columns, len_bytes))
        return false;
    dfloat_scale_contexts(piece, n_rows, n_columns);
    return true;
}

/* What follows the tables. False: not of n values. */
static bool get_values(struct strait_reader *r, struct dfloat_scratch *piece, float *y,
                       const float *from, size_t n, enum dfloat_how how, struct dfloat_form form)
{
    const size_t states_bytes = 4 * strait_context_lanes(n),
                 raw_bytes = (size_t)strait_read_varint(r);
    struct strait_reader raw = *r;
    if (!strait_read_bytes(r, raw_bytes) || (size_t)(r->end - r->p) < states_bytes ||
        !get_coded(r, piece, piece->symbols, dfloat_context_of(piece, how, n), n,
                   (size_t)(r->end - r->p) - states_bytes))
        return false;
    if (raw_bytes !=
        (from ? dfloat_way_bytes(piece->symbols, n) : dfloat_raw_bytes(piece->symbols, n, form)))
        return false;
    if (!from)
        return dfloat_get_raw(&raw, y, piece->symbols, n, form);
    dfloat_follow(y, from, piece->symbols, raw.p, raw_bytes, n, form);
    return true;
}

static bool get_plain(float *y, size_t n, const unsigned char *in, size_t len_bytes, bool is_32)
{
    if (len_bytes != n * (is_32 ? 4 : 2))
        return false;
    for (size_t i = 0; i < n; i++)
        y[i] = is_32 ? strait_get_float(in + 4 * i)
                     : strait_float_of_bfloat((uint16_t)strait_get16(in + 2 * i));
    return true;
}

static bool get_all(struct strait_reader *r, struct dfloat_scratch *piece, float *y,
                    const float *from, size_t n, unsigned how)
{
    const struct dfloat_form form = {.halves = how & DFLOAT_HALVES, .zeros = how & DFLOAT_ZEROS};
    const enum dfloat_how by = (enum dfloat_how)(how & (DFLOAT_HALVES - 1));
    if (by == DFLOAT_SCALE && !get_classes(r, piece, n))
        return false;
    if (from)
        exponents_of(piece->context, from, n);
    return strait_contexts_read(r, &piece->tables) && get_values(r, piece, y, from, n, by, form);
}

static int dfloat_decode_from(void *state, float *y, const float *from, size_t n,
                              const unsigned char *in, size_t len_bytes, struct strait_error *err)
{
    struct dfloat *s = state;
    if (strait_check_head(s->ops, in, len_bytes, HEAD_BYTES, err) != 0 ||
        strait_check_count(s->ops, in[2], n, err) != 0)
        return -1;
    const unsigned how = in[1];
    const unsigned by = how & (DFLOAT_HALVES - 1),
                   largest = is_32(s) ? DFLOAT_ALL : DFLOAT_ALL - DFLOAT_HALVES;
    if (in[3] != 0 || by > DFLOAT_REFERENCE || (how & ~largest) != 0 ||
        (how != DFLOAT_PLAIN &&
         (n == 0 || by == DFLOAT_PLAIN || (by == DFLOAT_REFERENCE) != (from != NULL))))
        return strait_refuse(err, s->ops->name,
                             "expected a stream %s a reference, found another one",
                             from ? "with" : "without");
    struct strait_reader r = {.p = in + HEAD_BYTES, .end = in + len_bytes};
    struct dfloat_scratch *piece = take(s, n + 1, err);
    if (!piece)
        return -1;
    const bool good = how == DFLOAT_PLAIN ? get_plain(y, n, r.p, len_bytes - HEAD_BYTES, is_32(s))
                                          : get_all(&r, piece, y, from, n, how);
    strait_pool_give(&s->pool, piece);
    return good ? 0 : strait_refuse(err, s->ops->name, "expected a stream of %zu values", n);
}

static int dfloat_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err)
{
    return dfloat_decode_from(state, y, NULL, n_elems, in, len_bytes, err);
}

#define COMMON                                                                                     \
    .bounds = 1u << STRAIT_BOUND_NONE, .params = params, .n_params = 1,                            \
    .state_bytes = sizeof(struct dfloat), .init = init, .close = dfloat_close,                     \
    .max_bytes = max_bytes, .encode = dfloat_encode, .decode = dfloat_decode,                      \
    .decode_from = dfloat_decode_from

const struct strait_codec_ops strait_codec_dfloat16 = {
    .name = "dfloat16",
    .family = "quantiser",
    .source = "DFloat11 (Zhang et al., 2025): coded exponents of BF16; contexts and coder own",
    .id = 42,
    COMMON,
};

const struct strait_codec_ops strait_codec_dfloat32 = {
    .name = "dfloat32",
    .family = "lossless",
    .source = "own, after DFloat11 (Zhang et al., 2025): coded exponents",
    .id = 43,
    .flags = STRAIT_CODEC_LOSSLESS,
    COMMON,
};
