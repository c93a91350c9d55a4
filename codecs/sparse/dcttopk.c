/* dcttopk: the k largest coefficients of the cosine transform of each chunk, as DeMo sends its
 * momentum. A matrix is cut into blocks of chunk x chunk values and each is transformed along both
 * sides; a vector into chunks of `chunk` values. Edges are smaller blocks, with transforms of their
 * own size; the published code takes the largest divisors of the sides up to `chunk` instead, which
 * is the same for sides that `chunk` divides.
 *
 *   u8   wire id of the codec
 *   u8   payload: 0 packed, 1 published
 *   u32  n_elems
 *   u32  columns of the matrix; n_elems of a vector
 *   u16  chunk
 *   u16  k - 1
 *   positions in their blocks, row by row, blocks in rows: packed ceil(log2 chunk^2) bits each,
 *       of a vector ceil(log2 chunk); published 64 bits each
 *   coefficients: float32 each, in the order of their positions
 *
 * A block of fewer than k values sends all of its coefficients. The transform is DCT-II with
 * orthonormal rows; its cosines and its order of summing are fixed, so that all machines send the
 * same bytes. Values beyond 2^100 count as +-2^100 and NaN as 0: one of them would take its whole
 * block with it. */
#include <math.h>
#include <stdlib.h>
#include "chunks.h"
#include "codecs/builtin.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"
#include "dct.h"
#include "sparse.h"
#include "core/heap.h"

enum { HEAD_BYTES = 14, MAX_SIDE = 128, INDEX_BYTES = 8 };
enum payload { PACKED, PUBLISHED };

struct state {
    size_t chunk, k;
    enum payload payload;
    struct strait_pool pool, cosines;
};

static const char *const payloads[] = {"packed", "published", NULL};
static const struct strait_param params[] = {
    {"chunk", "values of a chunk's side", .min = 2, .max = MAX_SIDE, .fallback = 64},
    {"k", "coefficients sent of each chunk", .min = 1, .max = MAX_SIDE * MAX_SIDE, .fallback = 32},
    {"payload", "packed: as few bits a position as the chunk needs; published: 64",
     .max = PUBLISHED, .choices = payloads},
};

static void dcttopk_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct state *s = state;
    (void)ops;
    s->chunk = (size_t)values[0];
    s->k = (size_t)fmin(values[1], (double)(s->chunk * s->chunk));
    s->payload = (enum payload)values[2];
    strait_pool_init(&s->pool);
    strait_pool_init(&s->cosines);
}

static void dcttopk_close(void *state)
{
    struct state *s = state;
    strait_chunk_pool_release(&s->pool);
    strait_dct_pool_release(&s->cosines);
    free(s);
}

/* --- shapes ------------------------------------------------------------------------------- */

struct shape {
    size_t n_rows, n_columns, chunk, k;
    enum payload payload;
};

/* n_rows as of struct strait_request: a row alone, or one that does not fit, is a vector. */
static struct shape shape_of(const struct state *s, size_t n_elems, size_t n_rows)
{
    const bool matrix = n_rows > 1 && n_elems % n_rows == 0 && n_elems / n_rows > 1;
    return (struct shape){.n_rows = matrix ? n_rows : 1,
                          .n_columns = matrix ? n_elems / n_rows : n_elems,
                          .chunk = s->chunk,
                          .k = s->k,
                          .payload = s->payload};
}

/* Coefficients of a row of blocks of this height. */
static size_t row_chosen(const struct shape *s, size_t height)
{
    return s->n_columns / s->chunk * strait_smaller(s->k, height * s->chunk) +
           strait_smaller(s->k, height * (s->n_columns % s->chunk));
}

static size_t n_chosen_of(const struct shape *s)
{
    return s->n_rows / s->chunk * row_chosen(s, s->chunk) + row_chosen(s, s->n_rows % s->chunk);
}

static unsigned bits_of(const struct shape *s)
{
    return strait_code_bits((uint32_t)(s->n_rows > 1 ? s->chunk * s->chunk : s->chunk));
}

static size_t bytes_of(const struct shape *s, size_t n_chosen)
{
    return HEAD_BYTES + 4 * n_chosen +
           (s->payload == PUBLISHED ? INDEX_BYTES * n_chosen
                                    : strait_packed_bytes(n_chosen, bits_of(s)));
}

/* Of any shape: at most all values, and at most k of each block; there are at most
 * (rows / c + 1) (columns / c + 1) blocks, and rows + columns <= n + 1. */
static size_t dcttopk_max_bytes(const void *state, size_t n_elems)
{
    const struct state *s = state;
    const size_t c = s->chunk, n_blocks = n_elems / (c * c) + (n_elems + 1) / c + 2;
    const size_t n = n_elems / s->k < n_blocks ? n_elems : n_blocks * s->k;
    return HEAD_BYTES + 4 * n +
           (s->payload == PUBLISHED ? INDEX_BYTES * n
                                    : strait_packed_bytes(n, strait_code_bits((uint32_t)(c * c))));
}

static size_t dcttopk_predict(const void *state, size_t n_elems, size_t n_rows)
{
    const struct shape shape = shape_of(state, n_elems, n_rows);
    return bytes_of(&shape, n_chosen_of(&shape));
}

/* --- blocks ------------------------------------------------------------------------------- */

struct block {
    size_t first, n_rows, n_columns; /* its first element in the tensor */
};

static size_t n_blocks_of(const struct shape *s)
{
    return ((s->n_rows + s->chunk - 1) / s->chunk) * ((s->n_columns + s->chunk - 1) / s->chunk);
}

static struct block block_at(const struct shape *s, size_t i)
{
    const size_t wide = (s->n_columns + s->chunk - 1) / s->chunk, row = i / wide * s->chunk,
                 column = i % wide * s->chunk;
    return (struct block){row * s->n_columns + column, strait_smaller(s->chunk, s->n_rows - row),
                          strait_smaller(s->chunk, s->n_columns - column)};
}

static void load(float *in, const float *x, const struct shape *s, struct block b)
{
    const float most = 0x1p100f;
    for (size_t i = 0; i < b.n_rows; i++)
        for (size_t j = 0; j < b.n_columns; j++) {
            const float v = x[b.first + i * s->n_columns + j];
            in[i * b.n_columns + j] = isnan(v) ? 0 : v > most ? most : v < -most ? -most : v;
        }
}

static void store(float *y, const float *out, const struct shape *s, struct block b)
{
    for (size_t i = 0; i < b.n_rows; i++)
        memcpy(y + b.first + i * s->n_columns, out + i * b.n_columns, 4 * b.n_columns);
}

/* --- encode ------------------------------------------------------------------------------- */

static void write_stream(struct strait_writer *w, const struct shape *s,
                         const struct strait_chunk_piece *piece, size_t n_chosen)
{
    strait_write_u8(w, strait_codec_dcttopk.id);
    strait_write_u8(w, s->payload);
    strait_write_u32(w, (uint32_t)(s->n_rows * s->n_columns));
    strait_write_u32(w, (uint32_t)s->n_columns);
    strait_put16(w->p, (uint16_t)s->chunk);
    strait_put16(w->p + 2, (uint16_t)(s->k - 1));
    w->p += 4;
    if (s->payload == PACKED)
        strait_chunk_write_at(w, piece, n_chosen, bits_of(s));
    for (size_t i = 0; i < n_chosen && s->payload == PUBLISHED; i++, w->p += INDEX_BYTES)
        strait_put64(w->p, piece->at[i]);
    strait_put_floats(w->p, piece->values, n_chosen);
}

static int dcttopk_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                          size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct state *s = state;
    const struct shape shape = shape_of(s, n_elems, request.n_rows);
    struct strait_writer w = {.p = out, .end = out + dcttopk_max_bytes(s, n_elems)};
    if (n_elems > STRAIT_SPARSE_MAX_ELEMS)
        return strait_refuse(err, "dcttopk", "expected at most %d values, found %zu",
                             STRAIT_SPARSE_MAX_ELEMS, n_elems);
    const size_t n_chosen = n_chosen_of(&shape);
    struct strait_chunk_piece *piece =
        strait_chunk_take(&s->pool, &strait_codec_dcttopk, n_chosen, s->chunk * s->chunk, err);
    struct strait_dct *dct = piece ? strait_dct_take(&s->cosines, err) : NULL;
    size_t n = 0;
    for (size_t i = 0; dct && i < n_blocks_of(&shape); i++) {
        const struct block b = block_at(&shape, i);
        load(piece->in, x, &shape, b);
        strait_dct_forward(dct, piece->out, piece->in, b.n_rows, b.n_columns, piece->between);
        n += strait_chunk_choose(piece, n, piece->out, b.n_rows * b.n_columns, s->k);
    }
    if (dct)
        write_stream(&w, &shape, piece, n);
    *len_bytes = bytes_of(&shape, n);
    if (piece)
        strait_pool_give(&s->pool, piece);
    if (dct)
        strait_pool_give(&s->cosines, dct);
    return dct ? 0 : -1;
}

/* --- decode ------------------------------------------------------------------------------- */

/* What a stream says of itself; chunk 0: these bytes are none of n_elems values. */
static struct shape head_of(const unsigned char *in, size_t len_bytes, size_t n_elems)
{
    struct shape s = {0};
    if (len_bytes < HEAD_BYTES || in[0] != strait_codec_dcttopk.id || in[1] > PUBLISHED ||
        strait_get32(in + 2) != n_elems)
        return s;
    const size_t n_columns = strait_get32(in + 6);
    const struct shape found = {.n_rows = n_columns > 0 ? n_elems / n_columns : 1,
                                .n_columns = n_columns,
                                .chunk = strait_get16(in + 10),
                                .k = (size_t)strait_get16(in + 12) + 1,
                                .payload = (enum payload)in[1]};
    if (found.n_rows * found.n_columns == n_elems && found.chunk >= 2 && found.chunk <= MAX_SIDE &&
        bytes_of(&found, n_chosen_of(&found)) == len_bytes)
        s = found;
    return s;
}

/* The next k coefficients into an empty block. False: positions that do not ascend in it. */
static bool scatter(struct strait_chunk_piece *piece, size_t first, size_t k, size_t n_elems)
{
    memset(piece->in, 0, 4 * n_elems);
    if (!strait_chunk_ascends(piece, first, k, n_elems))
        return false;
    for (size_t i = first; i < first + k; i++)
        piece->in[piece->at[i]] = piece->values[i];
    return true;
}

static bool read_chosen(struct strait_chunk_piece *piece, const struct shape *s, size_t n,
                        const unsigned char *in, const unsigned char *end)
{
    struct strait_reader r = {.p = in, .end = end};
    bool good = true;
    if (s->payload == PACKED)
        good = strait_chunk_read_at(&r, piece, n, bits_of(s));
    for (size_t i = 0; i < n && s->payload == PUBLISHED; i++) {
        const uint64_t at = strait_get64(r.p + INDEX_BYTES * i);
        good = good && at <= UINT16_MAX;
        piece->at[i] = (uint16_t)at;
    }
    strait_get_floats(piece->values, end - 4 * n, n);
    return good;
}

static int dcttopk_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                          size_t len_bytes, struct strait_error *err)
{
    struct state *s = state;
    const struct shape shape = head_of(in, len_bytes, n_elems);
    if (shape.chunk == 0)
        return strait_refuse(err, "dcttopk",
                             "expected a stream of %zu values, found something else", n_elems);
    const size_t n_chosen = n_chosen_of(&shape);
    struct strait_chunk_piece *piece = strait_chunk_take(&s->pool, &strait_codec_dcttopk, n_chosen,
                                                         shape.chunk * shape.chunk, err);
    struct strait_dct *dct = piece ? strait_dct_take(&s->cosines, err) : NULL;
    bool good = dct && read_chosen(piece, &shape, n_chosen, in + HEAD_BYTES, in + len_bytes);
    for (size_t i = 0, n = 0; good && i < n_blocks_of(&shape); i++) {
        const struct block b = block_at(&shape, i);
        const size_t size = b.n_rows * b.n_columns, k = strait_smaller(shape.k, size);
        good = scatter(piece, n, k, size);
        strait_dct_inverse(dct, piece->out, piece->in, b.n_rows, b.n_columns, piece->between);
        store(y, piece->out, &shape, b);
        n += k;
    }
    const bool had_memory = dct != NULL;
    if (piece)
        strait_pool_give(&s->pool, piece);
    if (dct)
        strait_pool_give(&s->cosines, dct);
    if (had_memory && !good)
        strait_refuse(err, "dcttopk", "expected ascending positions inside each chunk");
    return good ? 0 : -1;
}

const struct strait_codec_ops strait_codec_dcttopk = {
    .name = "dcttopk",
    .family = "sparsifier",
    .source = "DeMo (Peng, Quesnelle and Kingma 2024, arXiv 2411.19870)",
    .id = 33,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true, .decay = 0.999}, /* together the decoupled momentum */
    .state_bytes = sizeof(struct state),
    .init = dcttopk_init,
    .close = dcttopk_close,
    .max_bytes = dcttopk_max_bytes,
    .predict = dcttopk_predict,
    .encode = dcttopk_encode,
    .decode = dcttopk_decode,
};
