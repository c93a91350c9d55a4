/* thc: tensor homomorphic compression (Li et al., NSDI 2024). The tensor, its signs flipped by a
 * shared key and its coordinates mixed by Hadamard's transform, is about normal with the standard
 * deviation norm / sqrt(d); values are cut where a share `overflow` of these would lie outside, and
 * rounded by chance to one of 2^bits levels. A table says which whole number a level stands for
 * (thc_table.h), so that streams add as these numbers, without decoding. The norm is the largest of
 * all ranks', where they have agreed on it (struct strait_request), else the tensor's own.
 *
 *   u8     wire id
 *   u8     bits
 *   u8     levels of the transform
 *   u8     number of values mod 256
 *   u16    granularity: the last level's number
 *   u16    how many streams were added
 *   f32    overflow
 *   f32    reach: what the last level stands for
 *   u64    key
 *   codes  `bits` each (pack.h); of a sum u8, or u16 where granularity times streams is above 255
 *
 * The transform mixes columns: values fill a matrix of 2^levels rows in row order, with zeros at
 * its end, and rows h apart are added and subtracted for h = 1, 2, 4, ...; as the authors' code
 * does where it rotates partly. All rows are 2^levels >= n. Values that are not finite count as 0.
 * Published: the codes, norms beforehand; here behind a head of 24. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "codecs/kit/chance.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"
#include "codecs/kit/scratch_pool.h"
#include "core/bytes.h"
#include "thc_table.h"

enum { HEAD_BYTES = 24, AT_ADDED = 6, PIECE = 4096, STRIP = 64, MAX_GRANULARITY = 1000 };

struct thc {
    struct strait_pool pool;
    unsigned bits, granularity, rotation;
    float overflow;
    double reach;
    uint16_t table[STRAIT_THC_MAX_LEVELS];
    /* of a number's whole part: the level below it, that level's number, 1 / the way to the next */
    float below[MAX_GRANULARITY], per_way[MAX_GRANULARITY];
    uint16_t level[MAX_GRANULARITY];
};

struct scratch {
    struct strait_pooled pooled;
    size_t cap;
    float *values;
    uint16_t codes[PIECE];
};

/* What a tensor is transformed as. */
struct form {
    unsigned levels;
    size_t n_rows, n_columns, size;
};

struct head {
    unsigned n_added;
    float reach;
    uint64_t key;
    struct form form;
    unsigned bytes_each; /* of a number of a sum; 0: codes of levels */
};

/* 4 bits, granularity 30 and 1 / 32 are the authors' settings (BytePS_THC's examples: 16 levels,
 * maximum 30, overflow frequency 32). */
static const struct strait_param params[] = {
    {"bits", "of a value as it is sent", STRAIT_PARAM_INTEGER, .min = 1, .max = STRAIT_THC_MAX_BITS,
     .fallback = 4},
    {"granularity",
     "the last level's number, at least 2^bits - 1 is taken: sums of 255 / granularity streams are "
     "sent in 8 bits a value, larger ones in 16",
     STRAIT_PARAM_INTEGER, .min = 1, .max = MAX_GRANULARITY, .fallback = 30},
    {"overflow", "share of normal values that are cut", .min = 1e-6, .max = 0.5,
     .fallback = 1.0 / 32},
    {"rotation", "levels of the transform, each of which mixes twice as many values",
     STRAIT_PARAM_INTEGER, .max = 30, .fallback = 10},
};

static void thc_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct thc *s = state;
    (void)ops;
    strait_pool_init(&s->pool);
    s->bits = (unsigned)values[0];
    s->granularity = (unsigned)values[1];
    if (s->granularity < (1u << s->bits) - 1)
        s->granularity = (1u << s->bits) - 1;
    s->overflow = (float)values[2];
    s->rotation = (unsigned)values[3];
    s->reach = strait_thc_reach((double)s->overflow);
    strait_thc_table(s->table, s->bits, s->granularity, s->reach);
    for (unsigned z = 0; z + 1 < 1u << s->bits; z++)
        for (unsigned k = s->table[z]; k < s->table[z + 1]; k++) {
            s->below[k] = s->table[z];
            s->per_way[k] = 1.0f / (float)(s->table[z + 1] - s->table[z]);
            s->level[k] = (uint16_t)z;
        }
}

static void scratch_free(struct scratch *piece)
{
    if (piece)
        free(piece->values);
    free(piece);
}

static void thc_close(void *state)
{
    struct thc *s = state;
    for (struct scratch *piece; (piece = strait_pool_take(&s->pool)) != NULL;)
        scratch_free(piece);
    strait_pool_release(&s->pool);
    free(s);
}

static struct scratch *take(struct thc *s, size_t n, struct strait_error *err)
{
    struct scratch *piece = strait_pool_take(&s->pool);
    if (piece && piece->cap >= n)
        return piece;
    scratch_free(piece);
    piece = calloc(1, sizeof(*piece));
    if (piece && n <= SIZE_MAX / sizeof(float))
        piece->values = malloc(n * sizeof(float));
    if (piece && piece->values) {
        piece->cap = n;
        return piece;
    }
    scratch_free(piece);
    strait_error_set(err, STRAIT_ERR_NOMEM, "thc", "%zu values do not fit in memory", n);
    return NULL;
}

static struct form form_of(const struct thc *s, size_t n_elems)
{
    struct form f = {.n_rows = 1};
    while (f.levels < s->rotation && f.n_rows < n_elems) {
        f.n_rows *= 2;
        f.levels++;
    }
    f.n_columns = n_elems / f.n_rows + (n_elems % f.n_rows != 0);
    f.size = f.n_rows * f.n_columns;
    return f;
}

/* How wide the numbers of a sum are. */
static unsigned bytes_of_sum(const struct thc *s, unsigned n_added)
{
    return n_added * s->granularity <= 255 ? 1 : 2;
}

static size_t thc_max_bytes(const void *state, size_t n_elems)
{
    return HEAD_BYTES + 2 * form_of(state, n_elems).size;
}

static size_t thc_predict(const void *state, size_t n_elems, size_t n_rows)
{
    const struct thc *s = state;
    (void)n_rows;
    return HEAD_BYTES + strait_packed_bytes(form_of(s, n_elems).size, s->bits);
}

static size_t thc_predict_sum(const void *state, size_t n_elems, unsigned n_added)
{
    const struct thc *s = state;
    return HEAD_BYTES + form_of(s, n_elems).size * bytes_of_sum(s, n_added);
}

/* --- the transform ------------------------------------------------------------------------- */

STRAIT_CLONED
static void add_and_subtract(float *restrict a, float *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float sum = a[i] + b[i], rest = a[i] - b[i];
        a[i] = sum;
        b[i] = rest;
    }
}

/* Hadamard's transform of every column, without its factor. A strip of columns at a time stays in
 * the cache. */
static void transform(float *v, const struct form *f)
{
    for (size_t at = 0; at < f->n_columns; at += STRIP) {
        const size_t width = f->n_columns - at < STRIP ? f->n_columns - at : STRIP;
        for (size_t h = 1; h < f->n_rows; h *= 2)
            for (size_t r = 0; r < f->n_rows; r += 2 * h)
                for (size_t k = r; k < r + h; k++)
                    add_and_subtract(v + k * f->n_columns + at, v + (k + h) * f->n_columns + at,
                                     width);
    }
}

/* y = x, times a factor and its sign: half of the signs are flipped, as the key says. */
STRAIT_CLONED
static void flip(float *y, const float *x, size_t n, struct strait_chance chance, float factor)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t sign = strait_chance_bits(chance, (uint32_t)i) & 0x80000000u;
        const float v = strait_finite(x[i]) * factor;
        y[i] = strait_float_of(strait_bits_of(v) ^ sign);
    }
}

/* --- levels -------------------------------------------------------------------------------- */

STRAIT_CLONED
static void round_by_chance(uint16_t *codes, const float *x, uint32_t n, uint32_t first,
                            struct strait_chance chance, const struct thc *s, float per_unit)
{
    const float middle = 0.5f * (float)s->granularity, most = (float)s->granularity;
    const int32_t last = (int32_t)s->granularity - 1;
    for (uint32_t i = 0; i < n; i++) {
        float v = x[i] * per_unit + middle;
        v = v > 0 ? v : 0;
        v = v < most ? v : most;
        int32_t k = (int32_t)v;
        k = k < last ? k : last;
        const float share = (v - s->below[k]) * s->per_way[k];
        codes[i] = (uint16_t)(s->level[k] + strait_chance_below(chance, first + i, share));
    }
}

/* A power of two that brings values of such a norm away from the ends of float's range. */
static float scale_for(float norm)
{
    return norm > 0x1p60f ? 0x1p-80f : norm < 0x1p-60f ? 0x1p64f : 1;
}

struct keys {
    struct strait_chance signs, draws;
};

/* All ranks flip the same signs; each draws for itself. */
static struct keys keys_of(uint64_t key, uint64_t own)
{
    struct strait_sequence s = strait_sequence_at(key);
    const struct strait_chance signs = strait_chance_at(strait_sequence_next(&s), 0);
    return (struct keys){signs, strait_chance_at(strait_sequence_next(&s) + own, 0)};
}

static int thc_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                      size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct thc *s = state;
    const struct form f = form_of(s, n_elems);
    const struct keys keys = keys_of(request.key, request.own);
    const float norm = request.scale > 0 ? request.scale : strait_norm_of(x, n_elems);
    const double exact = f.size > 0 ? s->reach * (double)norm / sqrt((double)f.size) : 0;
    const float reach = exact < (double)FLT_MAX ? (float)exact : FLT_MAX, scale = scale_for(norm);
    /* The transform's factor and the numbers' unit in one. */
    const float per_unit =
        reach > 0 ? (float)((double)s->granularity /
                            (2 * (double)reach * (double)scale * sqrt((double)f.n_rows)))
                  : 0;
    struct scratch *piece = take(s, f.size + 1, err);
    if (!piece)
        return -1;
    flip(piece->values, x, n_elems, keys.signs, scale);
    memset(piece->values + n_elems, 0, (f.size - n_elems) * sizeof(float));
    transform(piece->values, &f);
    out[0] = (unsigned char)strait_codec_thc.id;
    out[1] = (unsigned char)s->bits;
    out[2] = (unsigned char)f.levels;
    out[3] = (unsigned char)(n_elems & 255);
    strait_put16(out + 4, (uint16_t)s->granularity);
    strait_put16(out + AT_ADDED, 1);
    strait_put_float(out + 8, s->overflow);
    strait_put_float(out + 12, reach);
    strait_put64(out + 16, request.key);
    for (size_t i = 0; i < f.size; i += PIECE) {
        const size_t n = f.size - i < PIECE ? f.size - i : PIECE;
        round_by_chance(piece->codes, piece->values + i, (uint32_t)n, (uint32_t)i, keys.draws, s,
                        per_unit);
        strait_pack(out + HEAD_BYTES + i / 8 * s->bits, piece->codes, n, s->bits);
    }
    *len_bytes = thc_predict(s, n_elems, 0);
    strait_pool_give(&s->pool, piece);
    return 0;
}

/* False: no stream of n_elems values with this state's parameters. */
static bool read_head(struct head *h, const struct thc *s, const unsigned char *in,
                      size_t len_bytes, size_t n_elems)
{
    h->form = form_of(s, n_elems);
    if (len_bytes < HEAD_BYTES || in[0] != strait_codec_thc.id || in[1] != s->bits ||
        in[2] != h->form.levels || in[3] != (n_elems & 255) ||
        strait_get16(in + 4) != s->granularity ||
        strait_bits_of(strait_get_float(in + 8)) != strait_bits_of(s->overflow))
        return false;
    h->n_added = strait_get16(in + AT_ADDED);
    h->reach = strait_get_float(in + 12);
    h->key = strait_get64(in + 16);
    h->bytes_each = h->n_added > 1 ? bytes_of_sum(s, h->n_added) : 0;
    return h->n_added >= 1 && h->reach >= 0 && h->reach <= FLT_MAX &&
           len_bytes == (h->n_added > 1 ? thc_predict_sum(s, n_elems, h->n_added)
                                        : thc_predict(s, n_elems, 0));
}

/* The numbers of values [i, i + n) of a stream. */
static void read_numbers(uint16_t *numbers, const struct thc *s, const struct head *h,
                         const unsigned char *in, size_t i, size_t n)
{
    const unsigned char *codes = in + HEAD_BYTES;
    if (h->bytes_each > 0) {
        strait_unpack(numbers, codes + i * h->bytes_each, n, 8 * h->bytes_each);
        return;
    }
    strait_unpack(numbers, codes + i / 8 * s->bits, n, s->bits);
    for (size_t k = 0; k < n; k++)
        numbers[k] = s->table[numbers[k]];
}

static float held(float v)
{
    return v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : v;
}

static int thc_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                      size_t len_bytes, struct strait_error *err)
{
    struct thc *s = state;
    struct head h;
    if (!read_head(&h, s, in, len_bytes, n_elems))
        return strait_refuse(err, "thc", "expected a stream of %zu values with these settings",
                             n_elems);
    struct scratch *piece = take(s, h.form.size + 1, err);
    if (!piece)
        return -1;
    const float scale = scale_for(h.reach);
    const float unit =
        (float)((double)h.reach * (double)scale / (s->granularity * sqrt((double)h.form.n_rows)));
    const int32_t middle = (int32_t)(h.n_added * s->granularity);
    for (size_t i = 0; i < h.form.size; i += PIECE) {
        const size_t n = h.form.size - i < PIECE ? h.form.size - i : PIECE;
        read_numbers(piece->codes, s, &h, in, i, n);
        for (size_t k = 0; k < n; k++)
            piece->values[i + k] = (float)(2 * (int32_t)piece->codes[k] - middle) * unit;
    }
    transform(piece->values, &h.form);
    flip(y, piece->values, n_elems, keys_of(h.key, 0).signs, 1);
    for (size_t i = 0; i < n_elems; i++)
        y[i] = held(y[i] / scale);
    strait_pool_give(&s->pool, piece);
    return 0;
}

/* --- sums ---------------------------------------------------------------------------------- */

static bool thc_summable(const void *state, const unsigned char *a, size_t a_bytes,
                         const unsigned char *b, size_t b_bytes)
{
    const struct thc *s = state;
    return a_bytes >= HEAD_BYTES && b_bytes >= HEAD_BYTES && a[0] == strait_codec_thc.id &&
           memcmp(a, b, AT_ADDED) == 0 &&
           memcmp(a + AT_ADDED + 2, b + AT_ADDED + 2, HEAD_BYTES - AT_ADDED - 2) == 0 &&
           (strait_get16(a + AT_ADDED) + strait_get16(b + AT_ADDED)) * s->granularity <= UINT16_MAX;
}

static int thc_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                   const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
                   size_t n_elems, struct strait_error *err)
{
    const struct thc *s = state;
    struct head of_a, of_b;
    uint16_t sums[PIECE], more[PIECE];
    unsigned most = 0;
    if (!thc_summable(s, a, a_bytes, b, b_bytes) || !read_head(&of_a, s, a, a_bytes, n_elems) ||
        !read_head(&of_b, s, b, b_bytes, n_elems) || cap_bytes < thc_max_bytes(s, n_elems))
        return strait_refuse(
            err, "thc", "expected streams of %zu values, one norm, one key and at most %u in all",
            n_elems, UINT16_MAX / s->granularity);
    const unsigned n_added = of_a.n_added + of_b.n_added, each = bytes_of_sum(s, n_added),
                   limit = n_added * s->granularity;
    memcpy(out, a, HEAD_BYTES);
    strait_put16(out + AT_ADDED, (uint16_t)n_added);
    for (size_t i = 0; i < of_a.form.size; i += PIECE) {
        const size_t n = of_a.form.size - i < PIECE ? of_a.form.size - i : PIECE;
        read_numbers(sums, s, &of_a, a, i, n);
        read_numbers(more, s, &of_b, b, i, n);
        for (size_t k = 0; k < n; k++) {
            const unsigned sum = (unsigned)sums[k] + more[k];
            most = sum > most ? sum : most;
            sums[k] = (uint16_t)sum;
        }
        strait_pack(out + HEAD_BYTES + i * each, sums, n, 8 * each);
    }
    if (most > limit)
        return strait_refuse(err, "thc", "expected numbers up to %u, found %u", limit, most);
    *len_bytes = HEAD_BYTES + of_a.form.size * each;
    return 0;
}

const struct strait_codec_ops strait_codec_thc = {
    .name = "thc",
    .family = "quantiser",
    .source = "THC (Li et al., NSDI 2024)",
    .id = 39,
    .flags = STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_SHARED_KEY | STRAIT_CODEC_AGREED,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    .state_bytes = sizeof(struct thc),
    .init = thc_init,
    .close = thc_close,
    .max_bytes = thc_max_bytes,
    .predict = thc_predict,
    .predict_sum = thc_predict_sum,
    .encode = thc_encode,
    .decode = thc_decode,
    .add = thc_add,
    .summable = thc_summable,
};
