/* Expert parallelism: each rank holds other experts of every mixture-of-experts block, and all hold
 * the rest. A router gives each token to its `top` experts; two all-to-alls bring tokens there and
 * back, forward, and their gradients, backward. What a block does on one of three ranks, forward:
 *
 *     dense layers | tokens to their experts | experts | outputs back to their tokens
 *                    0 > 1, 0 > 2                        1 > 0, 2 > 0
 *
 * With a `capacity` every source sends each expert as many places, filled or not, and tokens that
 * find none are dropped: sizes are fixed (GShard: Lepikhin et al., ICLR 2021; Switch Transformer:
 * Fedus et al., JMLR 2022). Without one nothing is dropped or padded, sizes are told first, and the
 * rank of a popular expert receives and computes for longer (MegaBlocks: Gale et al., MLSys 2023).
 * The gradient of what all hold is summed by a ring behind the backward pass. */
#include <math.h>
#include <stdio.h>

#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/collectives.h"

enum { TOKENS = 0, GRADIENT }; /* channels; a tag is a block */

struct experts {
    int n_ranks, me, n_blocks, n_here; /* experts of a rank */
    double n_routed;                   /* choices of a rank's tokens, top for each */
    double places;                     /* of an expert for each source; 0: as many as it needs */
    struct strait_codec *codec;
    struct strait_tensor *out, *in; /* tokens to and from another rank; they keep their values */
    size_t width;
};

/* Choices of a rank's tokens that go to the experts that come before `expert` in a block:
 * popularity falls with the rank in it as 1 / (1 + rank)^skew, and another expert is first in each
 * block. */
static double before(const struct strait_experiment *e, int n_experts, double n_routed, int expert)
{
    const double skew = strait_experiment_param(e, "skew");
    double sum = 0, all = 0;
    for (int i = 0; i < n_experts; i++) {
        all += pow(1 + i, -skew);
        sum += i < expert ? pow(1 + i, -skew) : 0;
    }
    return expert == n_experts ? n_routed : floor(n_routed * sum / all);
}

static double chosen(const struct strait_experiment *e, int n_experts, double n_routed, int place)
{
    return before(e, n_experts, n_routed, place + 1) - before(e, n_experts, n_routed, place);
}

static double places_of(const struct strait_experiment *e, int n_experts)
{
    return ceil(strait_experiment_param(e, "capacity") * strait_experiment_param(e, "top") *
                strait_experiment_param(e, "tokens") / n_experts);
}

/* Tokens that each rank sends to the experts of rank `dst` in a block. */
static double sent_to(struct strait_rank *r, const struct experts *x, int block, int dst)
{
    const int n_experts = x->n_ranks * x->n_here;
    double sum = 0;
    for (int i = 0; i < x->n_here; i++)
        sum += x->places > 0
                   ? x->places
                   : chosen(strait_experiment(r), n_experts, x->n_routed,
                            (dst * x->n_here + i + n_experts - block % n_experts) % n_experts);
    return sum;
}

static struct strait_tensor *tokens(struct strait_rank *r, struct strait_tensor *x, double n,
                                    size_t width)
{
    return strait_range(r, x, 0, (size_t)n * width);
}

/* To everybody, the next neighbour first; back: what has come returns, else each rank's own goes
 * out. */
static void all_to_all(struct strait_rank *r, const struct experts *x, int block, bool back)
{
    const int n = x->n_ranks;
    const double mine = sent_to(r, x, block, x->me);
    for (int k = 1; k < n && x->places == 0 && !back; k++)
        strait_send(r, (x->me + k) % n, TOKENS, block,
                    strait_control(r, sent_to(r, x, block, (x->me + k) % n)));
    for (int k = 1; k < n && x->places == 0 && !back; k++)
        strait_drop(r, strait_recv(r, (x->me + n - k) % n, TOKENS).packet);
    for (int k = 1; k < n; k++) {
        const int dst = (x->me + k) % n;
        const double n_out = back ? mine : sent_to(r, x, block, dst);
        strait_send(r, dst, TOKENS, block,
                    strait_encode(r, x->codec, NAN, tokens(r, x->out, n_out, x->width)));
    }
    for (int k = 1; k < n; k++) {
        const int src = (x->me + n - k) % n;
        const double n_in = back ? sent_to(r, x, block, src) : mine;
        strait_decode(r, tokens(r, x->in, n_in, x->width), strait_recv(r, src, TOKENS).packet);
    }
}

/* A block's share of a pass: the dense layers, and the experts for as many tokens as came. */
static void block(struct strait_rank *r, const struct experts *x, int number, bool forward)
{
    void (*const pass)(struct strait_rank *, int, int, double) =
        forward ? strait_forward_share : strait_backward_share;
    const int n_layers = (int)strait_model(r)->n_layers;
    const double share = 1.0 / x->n_blocks, in_experts = strait_param(r, "expert_time"),
                 load = x->n_ranks * sent_to(r, x, number, x->me) / x->n_routed;
    if (forward)
        pass(r, 0, n_layers, share * (1 - in_experts));
    all_to_all(r, x, number, false);
    pass(r, 0, n_layers, share * in_experts * load);
    all_to_all(r, x, number, true);
    if (!forward)
        pass(r, 0, n_layers, share * (1 - in_experts));
}

static struct experts begin(struct strait_rank *r)
{
    struct experts x = {.n_ranks = strait_n_ranks(r),
                        .me = strait_me(r),
                        .n_blocks = (int)strait_param(r, "blocks"),
                        .n_here = (int)strait_param(r, "experts"),
                        .n_routed = strait_param(r, "top") * strait_param(r, "tokens"),
                        .codec = strait_codec(r, "up"),
                        .width = (size_t)strait_param(r, "width")};
    double most = 0;
    x.places = places_of(strait_experiment(r), x.n_ranks * x.n_here);
    for (int b = 0; b < x.n_blocks; b++)
        for (int i = 0; i < x.n_ranks; i++)
            most = fmax(most, sent_to(r, &x, b, i));
    x.out = strait_scratch_of(r, (size_t)most * x.width,
                              strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS));
    x.in = strait_like(r, x.out);
    return x;
}

static void experts(struct strait_rank *r)
{
    const struct experts x = begin(r);
    struct strait_group world = strait_world(r, GRADIENT);
    struct strait_tensor *all = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS), *sum[2];
    const size_t n_dense = (size_t)(strait_param(r, "dense") * (double)strait_n_elems(all));
    struct strait_tensor *dense = strait_range(r, all, 0, n_dense);
    for (int i = 0; i < 2; i++) /* alternating: views of the other may still be read */
        sum[i] = strait_like(r, dense);
    for (int round = 0; strait_round(r); round++) {
        for (int b = 0; b < x.n_blocks; b++)
            block(r, &x, b, true);
        for (int b = x.n_blocks - 1; b >= 0; b--)
            block(r, &x, b, false);
        if (world.n > 1 && n_dense > 0) {
            strait_set(r, sum[round % 2], dense, 1);
            strait_all_reduce(r, world, strait_codec(r, "none"), sum[round % 2], STRAIT_AR_RING);
        }
        strait_step(r, NULL, 1);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    if (channel == GRADIENT)
        return dst == (src + 1) % e->n_ranks && strait_experiment_param(e, "dense") > 0;
    return channel == TOKENS;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    if (strait_feedback_needed(&e->up.spec))
        return strait_refuse_at(err, e->file, "/codec",
                                "expected a sender that remembers nothing (\"error_feedback\": "
                                "false), since no activations come again, found \"%s\"",
                                e->up.spec.ops->name);
    if (e->up.bounds_file)
        return strait_refuse_at(
            err, e->file, "/codec/bounds",
            "expected none, since activations are coded and no tensors of the model, "
            "found \"%s\"",
            e->up.bounds_file);
    return 0;
}

/* Of a rank's choices in a block; every block has the same. */
static int quality(json_t **out, const struct strait_experiment *e, struct strait_error *err)
{
    const int n = e->n_ranks * (int)strait_experiment_param(e, "experts");
    const double n_routed =
                     strait_experiment_param(e, "top") * strait_experiment_param(e, "tokens"),
                 places = places_of(e, n);
    double dropped = 0;
    for (int i = 0; i < n && places > 0; i++)
        dropped += fmax(0, chosen(e, n, n_routed, i) - places);
    *out = json_pack("{s:f}", "dropped_ratio", dropped / n_routed);
    return *out ? 0 : strait_error_memory(err, "experts");
}

/* Two thirds of a transformer block's products are its feed-forward layer's: 8 of 12 width^2. */
static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"blocks", "mixture-of-experts blocks of the model", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e4,
     .fallback = 12},
    {"experts", "experts of each rank in each block", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e4,
     .fallback = 1},
    {"tokens", "tokens of a rank's batch", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e8,
     .fallback = 1024},
    {"width", "values of a token, 4 bytes each", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6,
     .fallback = 768},
    {"top", "experts that each token goes to", STRAIT_PARAM_INTEGER, .min = 1, .max = 64,
     .fallback = 1},
    {"capacity", "places of an expert over its even share of tokens; 0: as many as come",
     STRAIT_PARAM_NUMBER, .min = 0, .max = 1e4, .fallback = 1.25},
    {"skew", "an expert of popularity k is chosen as 1 / k^skew", STRAIT_PARAM_NUMBER, .min = 0,
     .max = 10},
    {"expert_time", "share of a pass that experts take at an even load", STRAIT_PARAM_NUMBER,
     .min = 0, .max = 1, .fallback = 2.0 / 3},
    {"dense", "share of the model's values that all ranks hold and sum gradients of",
     STRAIT_PARAM_NUMBER, .min = 0, .max = 1, .fallback = 1.0 / 3},
};
const struct strait_strategy strait_strategy_experts = {
    .name = "experts",
    .summary = "expert parallelism: tokens to their experts on other ranks and back, all to all",
    .source = "Lepikhin et al., GShard, ICLR 2021; Fedus et al., Switch Transformer, JMLR 2022; "
              "capacity 0: Gale et al., MegaBlocks, MLSys 2023",
    .approximates = "tokens are coded as recorded gradients of parameters are",
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .needs_packets = strait_strategy_fills_both_ways,
    .period = strait_strategy_repeats,
    .quality = quality,
    .has_one_lane = true,
    .rank_main = experts,
};
