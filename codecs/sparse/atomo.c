/* atomo: values kept by chance, larger ones with a larger one, so that the mean is the tensor and
 * the variance the least for as many kept on average: n ratio, at least 1 (ATOMO, Wang et al.,
 * NeurIPS 2018, algorithm 1, with single values as atoms). A value is kept with probability |x| /
 * t, or always where |x| >= t, and then sent as t with its sign, or as it is; t is such that the
 * probabilities add up to the budget. The stream is that of `topk`. NaN and infinities are always
 * sent, as they are, beside the budget. The published spectral form, singular vectors as atoms, is
 * not here: `powersgd` sends factors. */
#include <assert.h>
#include <math.h>
#include "codecs/builtin.h"
#include "codecs/kit/chance.h"
#include "codecs/kit/checks.h"
#include "sparse_stream.h"

static const struct strait_param params[] = {
    {"ratio", "share of the values that is sent on average", .max = 1, .fallback = 0.01},
    {"payload", "packed: gaps in Rice code; published: 32-bit indices", .max = 1,
     .choices = strait_sparse_two_payloads},
};

/* Values of at least t are kept for certain and leave the rest a smaller budget, with which more
 * may be; t falls until none is. 0: all are kept. */
static float level_of(const float *x, size_t n_elems, double ratio)
{
    const double budget = fmax(1, (double)n_elems * ratio);
    double level = INFINITY;
    for (;;) {
        double left = budget, sum = 0;
        for (size_t i = 0; i < n_elems; i++) {
            const double a = (double)strait_finite_abs(x[i]);
            left -= a >= level;
            sum += a >= level ? 0 : a;
        }
        if (!(left > 0) || !(sum > 0))
            return isinf(level) ? 0 : (float)level;
        const double next = sum / left;
        if (!(next < level))
            return (float)level;
        level = next;
    }
}

static size_t all(const struct strait_sparsifier_params *p, size_t n_elems)
{
    (void)p;
    return n_elems;
}

static size_t choose(uint32_t *index, const float *x, size_t n_elems,
                     const struct strait_sparsifier_params *p, uint64_t key, uint32_t *scratch)
{
    const float level = level_of(x, n_elems, p->ratio);
    const struct strait_chance chance = strait_chance_at(key, 0);
    size_t n = 0;
    (void)scratch;
    for (size_t i = 0; i < n_elems; i++) {
        const float a = fabsf(x[i]);
        index[n] = (uint32_t)i;
        n += !(a < level) || strait_chance_below(chance, (uint32_t)i, a / level);
    }
    return n;
}

static const struct strait_sparsifier rule = {
    .name = "atomo",
    .source = "Wang et al., NeurIPS 2018, algorithm 1",
    .stochastic = true,
    .max_chosen = all,
    .choose = choose,
};

static int atomo_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                        size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct strait_sparse_state *s = state;
    struct strait_writer w = {.p = out, .end = out + strait_sparse_max_bytes(state, n_elems)};
    size_t n;
    struct strait_sparse_piece *piece = strait_sparse_choose(&n, s, x, n_elems, request, err);
    if (!piece)
        return -1;
    const float level = level_of(x, n_elems, s->params.ratio);
    strait_sparse_write_head(&w, s, n_elems, n);
    strait_sparse_write_index(&w, s->payload, piece->index, n, n_elems, piece->scratch);
    assert(!w.full);
    for (size_t i = 0; i < n; i++) {
        const float v = x[piece->index[i]];
        strait_put_float(w.p + 4 * i, fabsf(v) < level ? copysignf(level, v) : v);
    }
    *len_bytes = (size_t)(w.p - out) + 4 * n;
    strait_sparse_give(s, piece);
    return 0;
}

const struct strait_codec_ops strait_codec_atomo = {
    .name = "atomo",
    .family = "sparsifier",
    .source = "ATOMO (Wang et al., NeurIPS 2018), values as atoms",
    .id = 41,
    .flags = STRAIT_CODEC_SPARSE | STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_UNBIASED,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .kernel = &rule,
    .state_bytes = sizeof(struct strait_sparse_state),
    .init = strait_sparse_init,
    .close = strait_sparse_close,
    .max_bytes = strait_sparse_max_bytes,
    .encode = atomo_encode,
    .decode = strait_sparse_decode,
};
