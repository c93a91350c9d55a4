/* randomk: k = max(1, floor(n ratio)) values at positions that the request's key chooses, so only
 * the key and the values are sent; ranks that share the key choose the same positions, and their
 * streams can be added. With `scale` values are multiplied by n / k, which makes them unbiased
 * (Stich et al. 2018, as rand-k without memory); GRACE does not scale. NaN and infinities are sent
 * as they are.
 *
 *   u8     wire id
 *   u8     1: scaled
 *   u32    n_elems
 *   u32    k
 *   u64    key
 *   float  k values, by ascending position
 *
 * Published (GRACE): 4k bytes, the seed being agreed on beforehand; here behind a head of 18. */
#include "codecs/builtin.h"
#include "sparse_stream.h"
#include "subset.h"

enum { HEAD_BYTES = STRAIT_SPARSE_HEAD_BYTES + 8 };

static const char *const no_yes[] = {"no", "yes", NULL};
static const struct strait_param params[] = {
    {"ratio", "share of the values that is sent", .max = 1, .fallback = 0.01},
    {"scale", "send values times n / k: unbiased", .max = 1, .choices = no_yes},
};

static size_t randomk_max_bytes(const void *state, size_t n_elems)
{
    const struct strait_sparse_state *s = state;
    return HEAD_BYTES + 4 * s->rule->max_chosen(&s->params, n_elems);
}

static int randomk_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                          size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct strait_sparse_state *s = state;
    struct strait_writer w = {.p = out, .end = out + randomk_max_bytes(state, n_elems)};
    size_t k;
    struct strait_sparse_piece *piece = strait_sparse_choose(&k, s, x, n_elems, request, err);
    if (!piece)
        return -1;
    strait_sparse_write_head(&w, s, n_elems, k);
    strait_put64(w.p, request.key);
    w.p += 8;
    if (s->payload) { /* the parameter `scale` */
        const double scale = k > 0 ? (double)n_elems / (double)k : 0;
        for (size_t i = 0; i < k; i++)
            strait_put_float(w.p + 4 * i, (float)((double)x[piece->index[i]] * scale));
    } else {
        for (size_t i = 0; i < k; i++)
            strait_put_float(w.p + 4 * i, x[piece->index[i]]);
    }
    *len_bytes = HEAD_BYTES + 4 * k;
    strait_sparse_give(s, piece);
    return 0;
}

/* Read the head; the stream must have exactly that length. */
static bool read_head(const struct strait_codec_ops *ops, const unsigned char *in, size_t len_bytes,
                      size_t n_elems, size_t *k, uint64_t *key)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    unsigned scaled;
    if (!strait_sparse_read_head(&r, ops, n_elems, &scaled, k) || scaled > 1 ||
        len_bytes != HEAD_BYTES + 4 * *k)
        return false;
    *key = strait_get64(r.p);
    return true;
}

static int randomk_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                          size_t len_bytes, struct strait_error *err)
{
    struct strait_sparse_state *s = state;
    size_t k;
    uint64_t key;
    if (!read_head(s->ops, in, len_bytes, n_elems, &k, &key))
        return strait_sparse_refused(s->ops, n_elems, err);
    struct strait_sparse_piece *piece = strait_sparse_take(s, n_elems, err);
    if (!piece)
        return -1;
    strait_random_subset(piece->index, n_elems, k, key, piece->scratch);
    if (n_elems > 0)
        memset(y, 0, 4 * n_elems);
    for (size_t i = 0; i < k; i++)
        y[piece->index[i]] = strait_get_float(in + HEAD_BYTES + 4 * i);
    strait_sparse_give(s, piece);
    return 0;
}

static bool randomk_summable(const void *state, const unsigned char *a, size_t a_bytes,
                             const unsigned char *b, size_t b_bytes)
{
    const struct strait_sparse_state *s = state;
    return a_bytes >= HEAD_BYTES && a_bytes == b_bytes && a[0] == s->ops->id &&
           memcmp(a, b, HEAD_BYTES) == 0;
}

static int randomk_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                       const unsigned char *a, size_t a_bytes, const unsigned char *b,
                       size_t b_bytes, size_t n_elems, struct strait_error *err)
{
    const struct strait_sparse_state *s = state;
    size_t k;
    uint64_t key;
    if (!randomk_summable(state, a, a_bytes, b, b_bytes) ||
        !read_head(s->ops, a, a_bytes, n_elems, &k, &key) || cap_bytes < a_bytes)
        return strait_refuse(err, s->ops->name,
                             "expected two streams of one length, ratio, scale and key");
    memcpy(out, a, HEAD_BYTES);
    for (size_t i = 0; i < k; i++) {
        const size_t at = HEAD_BYTES + 4 * i;
        strait_put_float(out + at,
                         strait_sparse_sum(strait_get_float(a + at), strait_get_float(b + at)));
    }
    *len_bytes = a_bytes;
    return 0;
}

const struct strait_codec_ops strait_codec_randomk = {
    .name = "randomk",
    .family = "sparsifier",
    .source = "Stich, Cordonnier, Jaggi 2018; shared seed as in GRACE (Xu et al. 2021)",
    .id = 7,
    .flags = STRAIT_CODEC_SPARSE | STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_SHARED_KEY,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    .kernel = &strait_sparsifier_randomk,
    .state_bytes = sizeof(struct strait_sparse_state),
    .init = strait_sparse_init,
    .close = strait_sparse_close,
    .max_bytes = randomk_max_bytes,
    .fixed_size = true,
    .encode = randomk_encode,
    .decode = randomk_decode,
    .add = randomk_add,
    .summable = randomk_summable,
};
