/* adaq: AdaQ sends the positions of the largest positive and the largest negative values, and the
 * mean of each. Means are of the finite values chosen, 0 if there are none; NaN and infinities are
 * chosen by their sign and decode to that sign's mean.
 *
 *   head of sparse_stream.h, with the number of both signs together
 *   u32    how many of them are positive
 *   float  mean of the positive, mean of the negative
 *   positions of the positive, then of the negative
 *
 * Published (GRACE, TensorFlow): 12 + 4 (k+ + k-) bytes behind a head of 10. */
#include "codecs/builtin.h"
#include <assert.h>
#include "select.h"
#include "sparse_stream.h"

static const struct strait_param params[] = {
    {"ratio", "share of the values of each sign that is sent, about", .max = 1, .fallback = 0.01},
    {"payload", "packed: gaps in Rice code; published: 32-bit indices", .max = 1,
     .choices = strait_sparse_two_payloads},
};

static size_t adaq_max_bytes(const void *state, size_t n_elems)
{
    const struct strait_sparse_state *s = state;
    const size_t one = strait_sparse_index_max_bytes(s->payload, n_elems, n_elems);
    return STRAIT_SPARSE_HEAD_BYTES + 12 +
           (s->payload == STRAIT_SPARSE_PACKED ? 2 * one : one); /* k+ + k- <= n_elems */
}

/* Mean of the finite ones among x[index[n]], summed in that order. */
static float mean_of(const float *x, const uint32_t *index, size_t n)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (strait_magnitude(&x[index[i]]) <= STRAIT_MAGNITUDE_LARGEST) {
            sum += (double)x[index[i]];
            count++;
        }
    return count > 0 ? (float)(sum / count) : 0;
}

/* Move the positive to the front, the negative behind them, each ascending. Returns how many are
 * positive. */
static size_t part(uint32_t *index, size_t n, const float *x, uint32_t *scratch)
{
    size_t n_plus = 0, n_minus = 0;
    for (size_t i = 0; i < n; i++) { /* both writes are within what was read */
        const uint32_t at = index[i];
        uint32_t bits;
        memcpy(&bits, &x[at], sizeof(bits));
        index[n_plus] = at;
        scratch[n_minus] = at;
        n_plus += bits >> 31 == 0;
        n_minus += bits >> 31;
    }
    if (n_minus > 0)
        memcpy(index + n_plus, scratch, n_minus * sizeof(*index));
    return n_plus;
}

static int adaq_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                       size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct strait_sparse_state *s = state;
    struct strait_writer w = {.p = out, .end = out + adaq_max_bytes(state, n_elems)};
    size_t n;
    struct strait_sparse_piece *piece = strait_sparse_choose(&n, s, x, n_elems, request, err);
    if (!piece)
        return -1;
    const size_t n_plus = part(piece->index, n, x, piece->scratch);
    uint32_t *minus = piece->index + n_plus;
    strait_sparse_write_head(&w, s, n_elems, n);
    strait_write_u32(&w, (uint32_t)n_plus);
    unsigned char means[8];
    strait_put_float(means, mean_of(x, piece->index, n_plus));
    strait_put_float(means + 4, mean_of(x, minus, n - n_plus));
    strait_write_bytes(&w, means, sizeof(means));
    strait_sparse_write_index(&w, s->payload, piece->index, n_plus, n_elems, piece->scratch);
    strait_sparse_write_index(&w, s->payload, minus, n - n_plus, n_elems, piece->scratch);
    assert(!w.full);
    *len_bytes = (size_t)(w.p - out);
    strait_sparse_give(s, piece);
    return 0;
}

/* index has room for n_elems, which is enough for either sign. */
static bool fill(float *y, size_t n_elems, struct strait_reader *r, unsigned payload, size_t n,
                 float mean, struct strait_sparse_piece *piece)
{
    if (!strait_sparse_read_index(r, payload, piece->index, n, n_elems, piece->scratch))
        return false;
    for (size_t i = 0; i < n; i++)
        y[piece->index[i]] = mean;
    return true;
}

static int adaq_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                       size_t len_bytes, struct strait_error *err)
{
    struct strait_sparse_state *s = state;
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    unsigned payload;
    size_t n;
    bool good = strait_sparse_read_head(&r, s->ops, n_elems, &payload, &n);
    const size_t n_plus = strait_read_u32(&r);
    const unsigned char *means = strait_read_bytes(&r, 8);
    if (!good || !means || n_plus > n || payload > STRAIT_SPARSE_PUBLISHED)
        return strait_sparse_refused(s->ops, n_elems, err);
    struct strait_sparse_piece *piece = strait_sparse_take(s, n_elems, err);
    if (!piece)
        return -1;
    if (n_elems > 0)
        memset(y, 0, 4 * n_elems);
    good = fill(y, n_elems, &r, payload, n_plus, strait_get_float(means), piece) &&
           fill(y, n_elems, &r, payload, n - n_plus, strait_get_float(means + 4), piece) &&
           r.p == r.end;
    strait_sparse_give(s, piece);
    return good ? 0 : strait_sparse_refused(s->ops, n_elems, err);
}

const struct strait_codec_ops strait_codec_adaq = {
    .name = "adaq",
    .family = "sparsifier",
    .source = "Dryden et al. 2016; thresholds and payload as in GRACE (Xu et al. 2021)",
    .id = 21,
    .flags = STRAIT_CODEC_SPARSE | STRAIT_CODEC_STOCHASTIC,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    .kernel = &strait_sparsifier_adaq,
    .state_bytes = sizeof(struct strait_sparse_state),
    .init = strait_sparse_init,
    .close = strait_sparse_close,
    .max_bytes = adaq_max_bytes,
    .encode = adaq_encode,
    .decode = adaq_decode,
};
