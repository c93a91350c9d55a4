/* omnireduce: blocks of consecutive values that hold any value other than 0, or the given share of
 * all blocks, those of the largest norms (Block Top-k); each with its number, as OmniReduce sends
 * blocks to its aggregators. Sums are those of blocks, so encoded tensors are added by merging.
 *
 *   u8    wire id of the codec
 *   u16   values of a block
 *   u32   n_elems
 *   u32   blocks that follow
 *   u32[] their numbers, ascending
 *   f32[] their values; a last block that is shorter has fewer
 *
 * A block with NaN or infinities is chosen first, and its values are restored bit by bit; of equal
 * norms, the first. Norms are sums of squares in double, in order. */
#include <math.h>
#include <stdlib.h>
#include "chunks.h"
#include "codecs/builtin.h"
#include "codecs/kit/checks.h"
#include "select.h"
#include "sparse.h"
#include "core/heap.h"

enum { HEAD_BYTES = 11, SHAPE_BYTES = 7, MAX_BLOCK = 4096 };

struct state {
    size_t block;
    double ratio;
    struct strait_pool pool;
};

static const struct strait_param params[] = {
    {"block", "values of a block", STRAIT_PARAM_INTEGER, .min = 1, .max = MAX_BLOCK,
     .fallback = 256},
    {"ratio", "share of the blocks that is sent, the largest; 1: all that are not 0", .min = 1e-6,
     .max = 1, .fallback = 0.01},
};

static void omnireduce_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct state *s = state;
    (void)ops;
    s->block = (size_t)values[0];
    s->ratio = values[1];
    strait_pool_init(&s->pool);
}

static void omnireduce_close(void *state)
{
    struct state *s = state;
    strait_chunk_pool_release(&s->pool);
    free(s);
}

static size_t n_blocks(size_t n_elems, size_t block)
{
    return n_elems / block + (n_elems % block != 0);
}

/* Values of block i. */
static size_t length(size_t n_elems, size_t block, size_t i)
{
    return strait_smaller(block, n_elems - i * block);
}

static size_t omnireduce_bytes(const void *state, size_t n_elems)
{
    const struct state *s = state;
    return HEAD_BYTES + 4 * n_blocks(n_elems, s->block) + 4 * n_elems;
}

/* 0 where all values are. */
static float norm_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return isfinite(sum) ? (float)sqrt(sum) : INFINITY;
}

static void put_head(unsigned char *out, size_t block, size_t n_elems, size_t n_sent)
{
    out[0] = (unsigned char)strait_codec_omnireduce.id;
    strait_put16(out + 1, (uint16_t)block);
    strait_put32(out + 3, (uint32_t)n_elems);
    strait_put32(out + SHAPE_BYTES, (uint32_t)n_sent);
}

static int omnireduce_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                             size_t n_elems, struct strait_request request,
                             struct strait_error *err)
{
    struct state *s = state;
    const size_t n = n_blocks(n_elems, s->block);
    const size_t k = strait_smaller(n, (size_t)fmax(1, floor(s->ratio * (double)n)));
    size_t n_sent = 0;
    (void)request;
    if (n_elems > STRAIT_SPARSE_MAX_ELEMS)
        return strait_refuse(err, "omnireduce", "expected at most %d values, found %zu",
                             STRAIT_SPARSE_MAX_ELEMS, n_elems);
    struct strait_chunk_piece *piece =
        strait_chunk_take(&s->pool, &strait_codec_omnireduce, 0, n, err);
    if (!piece)
        return -1;
    for (size_t i = 0; i < n; i++)
        piece->in[i] = norm_of(x + i * s->block, length(n_elems, s->block, i));
    if (n > 0)
        strait_select_largest(piece->index, piece->in, n, k, piece->scratch);
    for (size_t i = 0; i < k; i++)
        if (piece->in[piece->index[i]] > 0)
            piece->index[n_sent++] = piece->index[i];
    put_head(out, s->block, n_elems, n_sent);
    unsigned char *numbers = out + HEAD_BYTES, *values = numbers + 4 * n_sent;
    for (size_t i = 0; i < n_sent; i++) {
        const size_t b = piece->index[i], here = length(n_elems, s->block, b);
        strait_put32(numbers + 4 * i, (uint32_t)b);
        strait_put_floats(values, x + b * s->block, here);
        values += 4 * here;
    }
    strait_pool_give(&s->pool, piece);
    *len_bytes = (size_t)(values - out);
    return 0;
}

/* A stream whose numbers ascend and whose length is theirs; block 0: these bytes are none. */
struct stream {
    size_t block, n_sent;
    const unsigned char *numbers, *values;
};

static struct stream stream_of(const unsigned char *in, size_t len_bytes, size_t n_elems)
{
    struct stream s = {0};
    if (len_bytes < HEAD_BYTES || in[0] != strait_codec_omnireduce.id ||
        strait_get32(in + 3) != n_elems)
        return s;
    const size_t block = strait_get16(in + 1), n_sent = strait_get32(in + SHAPE_BYTES);
    if (block == 0 || block > MAX_BLOCK || n_sent > n_blocks(n_elems, block) ||
        4 * n_sent > len_bytes - HEAD_BYTES)
        return s;
    const unsigned char *numbers = in + HEAD_BYTES;
    size_t n_values = 0, next = 0;
    for (size_t i = 0; i < n_sent; i++) {
        const size_t b = strait_get32(numbers + 4 * i);
        if (b < next || b >= n_blocks(n_elems, block))
            return s;
        n_values += length(n_elems, block, b);
        next = b + 1;
    }
    if (HEAD_BYTES + 4 * n_sent + 4 * n_values == len_bytes)
        s = (struct stream){block, n_sent, numbers, numbers + 4 * n_sent};
    return s;
}

static int refuse(size_t n_elems, struct strait_error *err)
{
    return strait_refuse(err, "omnireduce",
                         "expected ascending blocks of %zu values, found something else", n_elems);
}

static int omnireduce_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                             size_t len_bytes, struct strait_error *err)
{
    struct stream s = stream_of(in, len_bytes, n_elems);
    (void)state;
    if (s.block == 0)
        return refuse(n_elems, err);
    memset(y, 0, 4 * n_elems);
    for (size_t i = 0; i < s.n_sent; i++) {
        const size_t b = strait_get32(s.numbers + 4 * i), here = length(n_elems, s.block, b);
        strait_get_floats(y + b * s.block, s.values, here);
        s.values += 4 * here;
    }
    return 0;
}

static bool omnireduce_summable(const void *state, const unsigned char *a, size_t a_bytes,
                                const unsigned char *b, size_t b_bytes)
{
    (void)state;
    return a_bytes >= HEAD_BYTES && b_bytes >= HEAD_BYTES && memcmp(a, b, SHAPE_BYTES) == 0;
}

/* The block numbered next in either stream, or in both. SIZE_MAX: none is left. */
static size_t number(const struct stream *s, size_t at)
{
    return at < s->n_sent ? strait_get32(s->numbers + 4 * at) : SIZE_MAX;
}

static size_t n_merged(const struct stream *a, const struct stream *b)
{
    size_t n = 0;
    for (size_t i = 0, j = 0; i < a->n_sent || j < b->n_sent; n++) {
        const size_t of_a = number(a, i), of_b = number(b, j);
        i += of_a <= of_b;
        j += of_b <= of_a;
    }
    return n;
}

static int omnireduce_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                          const unsigned char *a, size_t a_bytes, const unsigned char *b,
                          size_t b_bytes, size_t n_elems, struct strait_error *err)
{
    struct stream s[2] = {stream_of(a, a_bytes, n_elems), stream_of(b, b_bytes, n_elems)};
    (void)state;
    if (s[0].block == 0 || s[0].block != s[1].block)
        return refuse(n_elems, err);
    const size_t block = s[0].block, n = n_merged(&s[0], &s[1]);
    unsigned char *numbers = out + HEAD_BYTES, *values = numbers + 4 * n;
    if (cap_bytes < HEAD_BYTES + 4 * n_blocks(n_elems, block) + 4 * n_elems)
        return strait_refuse(err, "omnireduce", "expected more room");
    put_head(out, block, n_elems, n);
    for (size_t i = 0, j = 0; i < s[0].n_sent || j < s[1].n_sent; numbers += 4) {
        const size_t of_a = number(&s[0], i), of_b = number(&s[1], j),
                     at = strait_smaller(of_a, of_b), here = length(n_elems, block, at);
        strait_put32(numbers, (uint32_t)at);
        for (size_t v = 0; v < here; v++) {
            const float x = of_a == at ? strait_get_float(s[0].values + 4 * v) : 0,
                        y = of_b == at ? strait_get_float(s[1].values + 4 * v) : 0;
            strait_put_float(values + 4 * v, of_a != at ? y : of_b != at ? x : x + y);
        }
        values += 4 * here;
        s[0].values += of_a == at ? 4 * here : 0;
        s[1].values += of_b == at ? 4 * here : 0;
        i += of_a == at;
        j += of_b == at;
    }
    *len_bytes = (size_t)(values - out);
    return 0;
}

const struct strait_codec_ops strait_codec_omnireduce = {
    .name = "omnireduce",
    .family = "sparsifier",
    .source =
        "OmniReduce (Fei et al., SIGCOMM 2021): blocks of 256, Block Top-k; the share is ours",
    .id = 36,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    .state_bytes = sizeof(struct state),
    .init = omnireduce_init,
    .close = omnireduce_close,
    .max_bytes = omnireduce_bytes,
    .encode = omnireduce_encode,
    .decode = omnireduce_decode,
    .add = omnireduce_add,
    .summable = omnireduce_summable,
};
