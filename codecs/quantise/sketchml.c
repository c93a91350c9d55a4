/* SketchML's quantile buckets: each value becomes the mean of its bin; bins hold equally many
 * values.
 *
 *   u8      codec id
 *   u8      payload: 0 packed, 1 published
 *   u16     bins Q
 *   u8      number of values mod 256, which the length leaves open if several share a byte
 *   f32[]   mean of each bin, 0 if it is empty
 *   codes   packed: bin in ceil(log2 Q) bits; published: in 8 bits, in 16 from 256 bins on
 *
 * Bin b holds x if b of the Q - 1 edges are <= x; edge i is the quantile i / Q, as quantiles.h
 * places it. Means are those of all values. The paper's sketches are approximate too, and as
 * published in GRACE the bins are those of the dense tensor, without the paper's hashing of sparse
 * keys.
 *
 * Values that are not finite count as 0. The request's key is not used. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"
#include "codecs/kit/scratch_pool.h"
#include "quantiles.h"

enum { HEAD_BYTES = 5, PIECE = STRAIT_QUANTILES_PIECE, N_LANES = 4 };
enum { MAX_BINS = STRAIT_QUANTILES_MAX_BINS };
enum payload { PACKED, PUBLISHED };

/* One lane of a bin's sum. */
struct tally {
    double sum;
    uint64_t count;
};

struct scratch {
    struct strait_pooled pooled;
    struct strait_quantiles *quantiles;
    struct tally *tallies; /* N_LANES for each bin */
    float values[PIECE];
    uint32_t bins[PIECE];
    uint16_t codes[PIECE];
};

struct state {
    struct strait_pool pool;
    enum payload payload;
    uint32_t n_bins;
};

static const char *const payloads[] = {"packed", "published", NULL};
static const struct strait_param params[] = {
    {"quantiles", "bins that hold equally many values", STRAIT_PARAM_INTEGER, .min = 2,
     .max = MAX_BINS, .fallback = 64},
    {"payload", "packed bits, or the bytes of GRACE's implementation", .min = 0, .max = 1,
     .fallback = PACKED, .choices = payloads},
};

static void sketchml_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    (void)ops;
    struct state *s = state;
    s->n_bins = (uint32_t)values[0];
    s->payload = (enum payload)values[1];
    strait_pool_init(&s->pool);
}

static void scratch_free(struct scratch *s)
{
    free(s->tallies);
    strait_quantiles_free(s->quantiles);
    free(s);
}

static void sketchml_close(void *state)
{
    struct state *s = state;
    for (struct scratch *piece; (piece = strait_pool_take(&s->pool)) != NULL;)
        scratch_free(piece);
    strait_pool_release(&s->pool);
    free(s);
}

static struct scratch *take(struct state *state)
{
    struct scratch *s = strait_pool_take(&state->pool);
    if (s)
        return s;
    s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->tallies = malloc(N_LANES * state->n_bins * sizeof(*s->tallies));
    s->quantiles = strait_quantiles_new(state->n_bins);
    if (s->tallies && s->quantiles)
        return s;
    scratch_free(s);
    return NULL;
}

static unsigned code_bits(enum payload payload, uint32_t n_bins)
{
    if (payload == PUBLISHED)
        return n_bins < 256 ? 8 : 16;
    return strait_code_bits(n_bins);
}

static size_t stream_bytes(enum payload payload, uint32_t n_bins, size_t n_elems)
{
    return HEAD_BYTES + 4 * (size_t)n_bins +
           strait_packed_bytes(n_elems, code_bits(payload, n_bins));
}

static size_t sketchml_bytes(const void *state, size_t n_elems)
{
    const struct state *s = state;
    return stream_bytes(s->payload, s->n_bins, n_elems);
}

/* Sums in four interleaved lanes, each in the order of the values. */
static void add_up(struct scratch *s, size_t n)
{
    struct tally *tallies = s->tallies;
    size_t i = 0;
    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t k = 0; k < N_LANES; k++) {
            struct tally *t = &tallies[s->bins[i + k] * N_LANES + k];
            t->sum += (double)s->values[i + k];
            t->count++;
        }
    for (; i < n; i++) {
        struct tally *t = &tallies[s->bins[i] * N_LANES + i % N_LANES];
        t->sum += (double)s->values[i];
        t->count++;
    }
}

static void put_means(unsigned char *out, const struct scratch *s, uint32_t n_bins)
{
    for (size_t b = 0; b < n_bins; b++) {
        double sum = 0;
        uint64_t count = 0;
        for (size_t k = 0; k < N_LANES; k++) {
            sum += s->tallies[b * N_LANES + k].sum;
            count += s->tallies[b * N_LANES + k].count;
        }
        strait_put_float(out + 4 * b, count > 0 ? (float)(sum / (double)count) : 0.0f);
    }
}

STRAIT_CLONED
static void narrow(uint16_t *codes, const uint32_t *bins, size_t n)
{
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint16_t)bins[i];
}

/* n_elems > 0. */
static void encode_values(struct scratch *s, unsigned char *means, const float *x, size_t n_elems,
                          const struct state *state)
{
    const unsigned bits = code_bits(state->payload, state->n_bins);
    unsigned char *codes = means + 4 * (size_t)state->n_bins;
    strait_quantiles_place(s->quantiles, x, n_elems);
    memset(s->tallies, 0, N_LANES * state->n_bins * sizeof(*s->tallies));
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = n_elems - i < PIECE ? n_elems - i : PIECE;
        strait_quantiles_find(s->quantiles, s->values, s->bins, x + i, n);
        add_up(s, n);
        narrow(s->codes, s->bins, n);
        strait_pack(codes + i / 8 * bits, s->codes, n, bits);
    }
    put_means(means, s, state->n_bins);
}

static int sketchml_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                           size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct state *s = state;
    (void)request;
    out[0] = (unsigned char)strait_codec_sketchml.id;
    out[1] = (unsigned char)s->payload;
    strait_put16(out + 2, (uint16_t)s->n_bins);
    out[4] = (unsigned char)n_elems;
    memset(out + HEAD_BYTES, 0, 4 * (size_t)s->n_bins);
    if (n_elems > 0) {
        struct scratch *scratch = take(s);
        if (!scratch)
            return strait_error_memory(err, "sketchml");
        encode_values(scratch, out + HEAD_BYTES, x, n_elems, s);
        strait_pool_give(&s->pool, scratch);
    }
    *len_bytes = sketchml_bytes(s, n_elems);
    return 0;
}

/* False if a code is not a bin. */
static bool look_up(float *y, const uint16_t *codes, size_t n, const unsigned char *means,
                    uint32_t n_bins)
{
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        const uint32_t bin = codes[i] < n_bins ? codes[i] : 0;
        good &= codes[i] < n_bins;
        y[i] = strait_get_float(means + 4 * (size_t)bin);
    }
    return good;
}

static int sketchml_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                           size_t len_bytes, struct strait_error *err)
{
    const struct strait_codec_ops *ops = &strait_codec_sketchml;
    uint16_t codes[PIECE];
    (void)state;
    if (strait_check_head(ops, in, len_bytes, HEAD_BYTES, err) != 0)
        return -1;
    const uint32_t n_bins = strait_get16(in + 2);
    if (in[1] > PUBLISHED || n_bins < 2 || n_bins > MAX_BINS)
        return strait_refuse(err, "sketchml", "expected 2 to %d bins, found %u", MAX_BINS,
                             (unsigned)n_bins);
    const enum payload payload = (enum payload)in[1];
    if (strait_check_count(ops, in[4], n_elems, err) != 0 ||
        strait_check_length(ops, stream_bytes(payload, n_bins, n_elems), len_bytes, err) != 0)
        return -1;
    const unsigned bits = code_bits(payload, n_bins);
    const unsigned char *means = in + HEAD_BYTES, *packed = means + 4 * (size_t)n_bins;
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = n_elems - i < PIECE ? n_elems - i : PIECE;
        strait_unpack(codes, packed + i / 8 * bits, n, bits);
        if (!look_up(y + i, codes, n, means, n_bins))
            return strait_refuse(err, "sketchml", "expected bins below %u, found others",
                                 (unsigned)n_bins);
    }
    return 0;
}

const struct strait_codec_ops strait_codec_sketchml = {
    .name = "sketchml",
    .family = "quantiser",
    .source = "Jiang et al. 2018, section 3.2, on dense tensors as in GRACE",
    .id = 22,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct state),
    .init = sketchml_init,
    .close = sketchml_close,
    .max_bytes = sketchml_bytes,
    .fixed_size = true,
    .encode = sketchml_encode,
    .decode = sketchml_decode,
};
