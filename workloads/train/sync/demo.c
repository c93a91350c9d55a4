/* DeMo (Peng, Quesnelle and Kingma 2024): momentum that is not synchronised. Every rank adds its
 * gradient to its own momentum, which decays, takes the fast components out of it (the largest
 * coefficients of each chunk's cosine transform), and all ranks gather these and step along the
 * sign of their mean. The momentum with what is taken out of it is a sender's memory with a decay:
 * that of the codec `dcttopk`.
 *
 * The published code divides each coefficient by the number of ranks that sent it; this is the mean
 * over all ranks, as the paper writes it. */
#include "gathered.h"

struct signs {
    float *x;
    size_t n;
};

static void sign_now(void *arg)
{
    const struct signs *s = arg;
    for (size_t i = 0; i < s->n; i++)
        s->x[i] = (float)((s->x[i] > 0) - (s->x[i] < 0));
}

/* Charged as a pass that copies. */
static void take_signs(struct strait_rank *r, struct strait_tensor *x)
{
    struct signs s = {strait_values(r, x), strait_n_elems(x)};
    strait_work(r, STRAIT_SPAN_AGGREGATE, STRAIT_CPU, 4.0 * (double)s.n * strait_copy_s_per_byte(r),
                s.x ? sign_now : NULL, &s);
}

static void demo(struct strait_rank *r)
{
    struct strait_gathering g = strait_gathering_of(r);
    for (int round = 0; strait_round(r); round++) {
        struct strait_tensor *x = g.gradient[round % 2];
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, x);
        strait_gather_sum(r, &g, x);
        take_signs(r, g.sum);
        strait_step(r, g.sum, 1);
    }
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    STRAIT_LIBRARY_PARAMS,
};
const struct strait_strategy strait_strategy_demo = {
    .name = "demo",
    .summary = "DeMo: a momentum for each rank, its largest waves gathered, a step along the sign",
    .source = "Peng, Quesnelle and Kingma, 2024 (arXiv 2411.19870)",
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .uses_stream = strait_gathering_uses_stream,
    .carrier = strait_library_carrier,
    .needs_packets = strait_library_needs_packets,
    .period = strait_strategy_repeats,
    .rank_main = demo,
};
