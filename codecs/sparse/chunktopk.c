/* chunktopk: the k values of largest magnitude of each chunk of consecutive values, as SparseLoCo
 * sends outer gradients; of equal ones, the first. A position inside a chunk of 4096 takes 12 bits.
 *
 *   u8   wire id of the codec
 *   u8   values: 0 float32, 1 two bits
 *   u32  n_elems
 *   u16  chunk - 1
 *   u16  k - 1
 *   positions, ceil(log2 chunk) bits each, chunk after chunk, ascending inside each
 *   values in their order: float32; or four levels, float32, and codes of two bits
 *
 * A last chunk that is shorter sends min(k, its length). With float32 NaN and infinities are chosen
 * first and restored bit by bit.
 *
 * Two bits, over all values that are sent of a tensor: bins of 6/4 standard deviations (of n - 1),
 * the third of them about the mean, the first and the last open; a code is its bin, and a level the
 * mean of the bin's values. Values that are not finite count as 0 there. The published code has the
 * same bins and also sends the mean by itself, 4 bytes more a tensor. */
#include <math.h>
#include <stdlib.h>
#include "chunks.h"
#include "codecs/builtin.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"
#include "sparse.h"
#include "core/heap.h"

enum { HEAD_BYTES = 10, N_LEVELS = 4, LEVEL_BITS = 2 };
enum values { FLOAT32, TWO_BITS };
static const double range_in_deviations = 6;

struct state {
    size_t chunk, k;
    enum values values;
    struct strait_pool pool;
};

static const char *const value_forms[] = {"float32", "two_bits", NULL};
static const struct strait_param params[] = {
    {"chunk", "values of a chunk", .min = 2, .max = STRAIT_CHUNK_MAX, .fallback = 4096},
    {"k", "values sent of each chunk", .min = 1, .max = STRAIT_CHUNK_MAX, .fallback = 64},
    {"values", "as they are, or as one of four levels of the tensor", .max = TWO_BITS,
     .choices = value_forms},
};

static void chunktopk_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct state *s = state;
    (void)ops;
    s->chunk = (size_t)values[0];
    s->k = (size_t)fmin(values[1], (double)s->chunk);
    s->values = (enum values)values[2];
    strait_pool_init(&s->pool);
}

static void chunktopk_close(void *state)
{
    struct state *s = state;
    strait_chunk_pool_release(&s->pool);
    free(s);
}

static size_t n_chosen_of(size_t n_elems, size_t chunk, size_t k)
{
    return n_elems / chunk * strait_smaller(k, chunk) + strait_smaller(k, n_elems % chunk);
}

static size_t bytes_of(size_t n_elems, size_t chunk, size_t k, enum values values)
{
    const size_t n = n_chosen_of(n_elems, chunk, k);
    const size_t value_bytes =
        values == TWO_BITS ? 4 * N_LEVELS + strait_packed_bytes(n, LEVEL_BITS) : 4 * n;
    return HEAD_BYTES + strait_packed_bytes(n, strait_code_bits((uint32_t)chunk)) + value_bytes;
}

static size_t chunktopk_bytes(const void *state, size_t n_elems)
{
    const struct state *s = state;
    return bytes_of(n_elems, s->chunk, s->k, s->values);
}

/* --- two bits ----------------------------------------------------------------------------- */

struct bins {
    double mean, width;
};

static struct bins bins_of(const float *v, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)strait_finite(v[i]);
    const double mean = n > 0 ? sum / (double)n : 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)strait_finite(v[i]) - mean;
        squares += d * d;
    }
    const double deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0,
                 width = range_in_deviations * deviation / N_LEVELS;
    return (struct bins){mean, width > 0 ? width : 1};
}

static uint16_t bin_of(struct bins b, float v)
{
    const double at = floor(((double)strait_finite(v) - b.mean) / b.width + N_LEVELS / 2. + 0.5);
    return (uint16_t)(at < 0 ? 0 : at > N_LEVELS - 1 ? N_LEVELS - 1 : at);
}

/* Positions are written before: their memory takes the codes. */
static void write_two_bits(unsigned char *out, struct strait_chunk_piece *piece, size_t n)
{
    const struct bins b = bins_of(piece->values, n);
    double sum[N_LEVELS] = {0}, count[N_LEVELS] = {0};
    for (size_t i = 0; i < n; i++) {
        const uint16_t code = piece->at[i] = bin_of(b, piece->values[i]);
        sum[code] += (double)strait_finite(piece->values[i]);
        count[code]++;
    }
    for (size_t i = 0; i < N_LEVELS; i++)
        strait_put_float(out + 4 * i, count[i] > 0 ? (float)(sum[i] / count[i]) : 0);
    strait_pack(out + 4 * N_LEVELS, piece->at, n, LEVEL_BITS);
}

/* --- encode ------------------------------------------------------------------------------- */

static void write_stream(struct strait_writer *w, const struct state *s,
                         struct strait_chunk_piece *piece, size_t n_elems, size_t n_chosen)
{
    strait_write_u8(w, strait_codec_chunktopk.id);
    strait_write_u8(w, s->values);
    strait_write_u32(w, (uint32_t)n_elems);
    strait_put16(w->p, (uint16_t)(s->chunk - 1));
    strait_put16(w->p + 2, (uint16_t)(s->k - 1));
    w->p += 4;
    strait_chunk_write_at(w, piece, n_chosen, strait_code_bits((uint32_t)s->chunk));
    if (s->values == TWO_BITS)
        write_two_bits(w->p, piece, n_chosen);
    else
        strait_put_floats(w->p, piece->values, n_chosen);
}

static int chunktopk_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                            size_t n_elems, struct strait_request request, struct strait_error *err)
{
    (void)request;
    struct state *s = state;
    struct strait_writer w = {.p = out, .end = out + chunktopk_bytes(s, n_elems)};
    if (n_elems > STRAIT_SPARSE_MAX_ELEMS)
        return strait_refuse(err, "chunktopk", "expected at most %d values, found %zu",
                             STRAIT_SPARSE_MAX_ELEMS, n_elems);
    struct strait_chunk_piece *piece = strait_chunk_take(
        &s->pool, &strait_codec_chunktopk, n_chosen_of(n_elems, s->chunk, s->k), s->chunk, err);
    if (!piece)
        return -1;
    size_t n = 0;
    for (size_t lo = 0; lo < n_elems; lo += s->chunk)
        n += strait_chunk_choose(piece, n, x + lo, strait_smaller(s->chunk, n_elems - lo), s->k);
    write_stream(&w, s, piece, n_elems, n);
    strait_pool_give(&s->pool, piece);
    *len_bytes = chunktopk_bytes(s, n_elems);
    return 0;
}

/* --- decode ------------------------------------------------------------------------------- */

/* What a stream says of itself; chunk 0: these bytes are none of n_elems values. */
struct head {
    size_t chunk, k;
    enum values values;
};

static struct head head_of(const unsigned char *in, size_t len_bytes, size_t n_elems)
{
    struct head h = {0};
    if (len_bytes < HEAD_BYTES || in[0] != strait_codec_chunktopk.id || in[1] > TWO_BITS ||
        strait_get32(in + 2) != n_elems)
        return h;
    const struct head found = {(size_t)strait_get16(in + 6) + 1, (size_t)strait_get16(in + 8) + 1,
                               (enum values)in[1]};
    if (found.chunk >= 2 && found.k <= found.chunk &&
        bytes_of(n_elems, found.chunk, found.k, found.values) == len_bytes)
        h = found;
    return h;
}

/* The values behind the positions, into the piece's. */
static void read_values(struct strait_chunk_piece *piece, const struct head *h,
                        const unsigned char *in, size_t n)
{
    if (h->values == FLOAT32) {
        strait_get_floats(piece->values, in, n);
        return;
    }
    const unsigned char *codes = in + 4 * N_LEVELS;
    for (size_t i = 0; i < n; i++)
        piece->values[i] = strait_get_float(in + 4 * (codes[i / 4] >> 2 * (i % 4) & 3));
}

static int chunktopk_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                            size_t len_bytes, struct strait_error *err)
{
    struct state *s = state;
    const struct head h = head_of(in, len_bytes, n_elems);
    if (h.chunk == 0)
        return strait_refuse(err, "chunktopk",
                             "expected a stream of %zu values, found something else", n_elems);
    const size_t n_chosen = n_chosen_of(n_elems, h.chunk, h.k);
    struct strait_reader r = {.p = in + HEAD_BYTES, .end = in + len_bytes};
    struct strait_chunk_piece *piece =
        strait_chunk_take(&s->pool, &strait_codec_chunktopk, n_chosen, 0, err);
    if (!piece)
        return -1;
    bool good = strait_chunk_read_at(&r, piece, n_chosen, strait_code_bits((uint32_t)h.chunk));
    read_values(piece, &h, r.p, n_chosen);
    memset(y, 0, 4 * n_elems);
    for (size_t lo = 0, n = 0; lo < n_elems && good; lo += h.chunk) {
        const size_t chunk = strait_smaller(h.chunk, n_elems - lo), k = strait_smaller(h.k, chunk);
        good = strait_chunk_ascends(piece, n, k, chunk);
        for (size_t i = n; i < n + k && good; i++)
            y[lo + piece->at[i]] = piece->values[i];
        n += k;
    }
    strait_pool_give(&s->pool, piece);
    return good ? 0
                : strait_refuse(err, "chunktopk", "expected ascending positions inside each chunk");
}

const struct strait_codec_ops strait_codec_chunktopk = {
    .name = "chunktopk",
    .family = "sparsifier",
    .source = "SparseLoCo (Sarfi et al. 2025, arXiv 2508.15706); its bins of two bits",
    .id = 32,
    .flags = STRAIT_CODEC_SPARSE,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true, .decay = 0.95},
    .state_bytes = sizeof(struct state),
    .init = chunktopk_init,
    .close = chunktopk_close,
    .max_bytes = chunktopk_bytes,
    .fixed_size = true,
    .encode = chunktopk_encode,
    .decode = chunktopk_decode,
};
