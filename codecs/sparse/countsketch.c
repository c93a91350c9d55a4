/* countsketch: FetchSGD's sketch of a gradient. Each of a few rows of counters sees every value, in
 * a column and with a sign drawn by the shared key; a value is estimated by the median over rows of
 * what its columns hold, and the k estimates of largest magnitude are what is decoded. Sketches are
 * linear: those of one key are added counter by counter, and the sum is the sketch of the sum, so
 * an all-reduce finds the largest values of the sum although no rank knows them. NaN and infinities
 * count as 0.
 *
 *   u8     wire id
 *   u8     rows
 *   u32    n_elems
 *   u32    columns = max(1, floor(n share / rows))
 *   u32    k = max(1, floor(n ratio))
 *   u64    key
 *   float  rows * columns counters, row by row
 *
 * Published: the counters, the hash functions being agreed on beforehand; here behind a head of 22.
 * FetchSGD keeps momentum and what was left in sketches on the server; here the residual is each
 * sender's, as with other sparsifiers, and the hash functions change with the key. */
#include "codecs/builtin.h"
#include "codecs/kit/chance.h"
#include "codecs/kit/checks.h"
#include "sparse_stream.h"

enum { HEAD_BYTES = 22, MAX_ROWS = 15 };

struct sketch {
    struct strait_sparse_state sparse; /* scratch memory alone */
    unsigned rows;
    double share, ratio;
};

struct shape {
    size_t columns, k;
    uint64_t key;
    struct strait_chance chance[MAX_ROWS];
};

static const struct strait_param params[] = {
    {"share", "counters for each value", .max = 1, .fallback = 0.1},
    {"rows", "of counters, the median over which is the estimate", STRAIT_PARAM_INTEGER, .min = 1,
     .max = MAX_ROWS, .fallback = 5},
    {"ratio", "share of the values that is decoded", .max = 1, .fallback = 0.01},
};

static void countsketch_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct sketch *s = state;
    s->sparse.ops = ops;
    strait_pool_init(&s->sparse.pool);
    s->share = values[0];
    s->rows = (unsigned)values[1];
    s->ratio = values[2];
}

static size_t at_least_1(double n)
{
    return n >= 1 ? (size_t)n : 1;
}

static size_t columns_for(const struct sketch *s, size_t n_elems)
{
    return at_least_1((double)n_elems * s->share / s->rows);
}

static size_t countsketch_bytes(const void *state, size_t n_elems)
{
    const struct sketch *s = state;
    return HEAD_BYTES + (n_elems > 0 ? 4 * s->rows * columns_for(s, n_elems) : 0);
}

static void draw(struct shape *shape, unsigned rows)
{
    struct strait_sequence keys = strait_sequence_at(shape->key);
    for (unsigned j = 0; j < rows; j++)
        shape->chance[j] = strait_chance_at(strait_sequence_next(&keys), 0);
}

/* The counter of value i in row j, and 1 or -1. */
static size_t counter_of(const struct shape *shape, unsigned j, size_t i, float *sign)
{
    const uint32_t bits = strait_chance_bits(shape->chance[j], (uint32_t)i);
    *sign = bits & 1 ? 1.0f : -1.0f;
    return j * shape->columns + ((uint64_t)(bits >> 1) * shape->columns >> 31);
}

static int countsketch_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                              size_t n_elems, struct strait_request request,
                              struct strait_error *err)
{
    struct sketch *s = state;
    struct shape shape = {.columns = columns_for(s, n_elems),
                          .k = at_least_1((double)n_elems * s->ratio),
                          .key = request.key};
    const size_t n_counters = n_elems > 0 ? s->rows * shape.columns : 0;
    struct strait_sparse_piece *piece = strait_sparse_take(&s->sparse, n_elems + MAX_ROWS, err);
    if (!piece)
        return -1;
    float *counters = piece->values;
    draw(&shape, s->rows);
    memset(counters, 0, n_counters * sizeof(*counters));
    for (size_t i = 0; i < n_elems; i++)
        for (unsigned j = 0; j < s->rows; j++) {
            float sign;
            const size_t at = counter_of(&shape, j, i, &sign);
            counters[at] += sign * strait_finite(x[i]);
        }
    out[0] = (unsigned char)strait_codec_countsketch.id;
    out[1] = (unsigned char)s->rows;
    strait_put32(out + 2, (uint32_t)n_elems);
    strait_put32(out + 6, (uint32_t)shape.columns);
    strait_put32(out + 10, (uint32_t)shape.k);
    strait_put64(out + 14, shape.key);
    strait_put_floats(out + HEAD_BYTES, counters, n_counters);
    *len_bytes = HEAD_BYTES + 4 * n_counters;
    strait_sparse_give(&s->sparse, piece);
    return 0;
}

/* False: no stream of n_elems values. It may have other parameters than this state. */
static bool read_head(struct shape *shape, unsigned *rows, const unsigned char *in,
                      size_t len_bytes, size_t n_elems)
{
    if (len_bytes < HEAD_BYTES || in[0] != strait_codec_countsketch.id ||
        strait_get32(in + 2) != n_elems)
        return false;
    *rows = in[1];
    shape->columns = strait_get32(in + 6);
    shape->k = strait_get32(in + 10);
    shape->key = strait_get64(in + 14);
    if (*rows < 1 || *rows > MAX_ROWS || shape->columns < 1 || shape->k < 1 ||
        (n_elems > 0 && (shape->k > n_elems || shape->columns > n_elems)))
        return false;
    return len_bytes - HEAD_BYTES == (n_elems > 0 ? 4 * *rows * shape->columns : 0);
}

/* Of finite values; without branches, which would go either way. */
static inline float median_of(float *v, unsigned n)
{
    for (unsigned last = n - 1; last > 0; last--)
        for (unsigned k = 0; k < last; k++) {
            const float a = v[k], b = v[k + 1];
            v[k] = a < b ? a : b;
            v[k + 1] = a < b ? b : a;
        }
    return n % 2 == 1 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
}

static int countsketch_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                              size_t len_bytes, struct strait_error *err)
{
    struct sketch *s = state;
    struct shape shape;
    unsigned rows;
    if (!read_head(&shape, &rows, in, len_bytes, n_elems))
        return strait_sparse_refused(&strait_codec_countsketch, n_elems, err);
    if (n_elems == 0)
        return 0;
    struct strait_sparse_piece *piece = strait_sparse_take(&s->sparse, n_elems, err);
    if (!piece)
        return -1;
    draw(&shape, rows);
    for (size_t i = 0; i < n_elems; i++) {
        float of_row[MAX_ROWS], sign;
        for (unsigned j = 0; j < rows; j++) {
            const size_t at = counter_of(&shape, j, i, &sign);
            of_row[j] = strait_finite(strait_get_float(in + HEAD_BYTES + 4 * at)) * sign;
        }
        piece->values[i] = median_of(of_row, rows);
    }
    strait_select_largest(piece->index, piece->values, n_elems, shape.k, piece->scratch);
    memset(y, 0, n_elems * sizeof(*y));
    for (size_t i = 0; i < shape.k; i++)
        y[piece->index[i]] = piece->values[piece->index[i]];
    strait_sparse_give(&s->sparse, piece);
    return 0;
}

static bool countsketch_summable(const void *state, const unsigned char *a, size_t a_bytes,
                                 const unsigned char *b, size_t b_bytes)
{
    (void)state;
    return a_bytes == b_bytes && a_bytes >= HEAD_BYTES && a[0] == strait_codec_countsketch.id &&
           memcmp(a, b, HEAD_BYTES) == 0;
}

static int countsketch_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                           const unsigned char *a, size_t a_bytes, const unsigned char *b,
                           size_t b_bytes, size_t n_elems, struct strait_error *err)
{
    struct shape shape;
    unsigned rows;
    if (!countsketch_summable(state, a, a_bytes, b, b_bytes) ||
        !read_head(&shape, &rows, a, a_bytes, n_elems) || cap_bytes < a_bytes)
        return strait_refuse(err, "countsketch",
                             "expected two sketches of %zu values, one shape and one key", n_elems);
    memcpy(out, a, HEAD_BYTES);
    for (size_t at = HEAD_BYTES; at < a_bytes; at += 4)
        strait_put_float(out + at,
                         strait_sparse_sum(strait_get_float(a + at), strait_get_float(b + at)));
    *len_bytes = a_bytes;
    return 0;
}

const struct strait_codec_ops strait_codec_countsketch = {
    .name = "countsketch",
    .family = "sparsifier",
    .source = "FetchSGD (Rothchild et al., ICML 2020); Charikar, Chen, Farach-Colton 2002",
    .id = 38,
    .flags = STRAIT_CODEC_SPARSE | STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_SHARED_KEY |
             STRAIT_CODEC_LINEAR,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    .state_bytes = sizeof(struct sketch),
    .init = countsketch_init,
    .close = strait_sparse_close,
    .max_bytes = countsketch_bytes,
    .fixed_size = true,
    .encode = countsketch_encode,
    .decode = countsketch_decode,
    .add = countsketch_add,
    .summable = countsketch_summable,
};
