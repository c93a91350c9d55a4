/* gTop-k S-SGD (Shi et al., ICDCS 2019): after the backward pass each rank chooses the k largest
 * elements of its gradient; a binomial tree merges the choices, and each merge keeps the k largest
 * sums, so that every hop carries k elements; the result is broadcast along the tree. 2 ceil(log2
 * P) hops one after another, 2 (P - 1) messages. With three ranks:
 *
 *             rank 0             rank 1         rank 2
 *   start     A                  B              C
 *   merge     top(A+B)           .              C             1 > 0
 *   merge     top(top(A+B)+C)    .              .             2 > 0
 *   back      S                  S              S             0 > 2, 0 > 1
 *
 * Here k is for each tensor, and one-dimensional tensors are summed whole. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/experiment.h"
#include "workloads/ask/strategy.h"

enum { CHOSEN = 0 };

/* Returns the merged choice, the same on every rank. */
static struct strait_packet *all_reduce(struct strait_rank *r, struct strait_codec *codec,
                                        struct strait_tensor *x, int round)
{
    const int me = strait_me(r), n = strait_n_ranks(r);
    struct strait_packet *chosen = strait_encode(r, codec, NAN, x);
    int mask = 1;
    for (; mask < n && !(me & mask); mask *= 2)
        if (me + mask < n)
            chosen =
                strait_add_encoded(r, codec, x, chosen, strait_recv(r, me + mask, CHOSEN).packet);
    if (me > 0) {
        strait_send(r, me - mask, CHOSEN, round, chosen);
        chosen = strait_recv(r, me - mask, CHOSEN).packet;
    }
    for (mask /= 2; mask > 0; mask /= 2)
        if (me + mask < n)
            strait_send(r, me + mask, CHOSEN, round, strait_keep(chosen));
    return chosen;
}

static void gtopk(struct strait_rank *r)
{
    struct strait_codec *codec = strait_codec(r, "up");
    struct strait_group world = strait_world(r, CHOSEN);
    struct strait_tensor *gradient[2], *sum; /* alternating: others may still read the last one */
    for (int turn = 0; turn < 2; turn++)
        gradient[turn] = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    sum = strait_like(r, gradient[0]);
    for (int round = 0; strait_round(r); round++) {
        struct strait_tensor *x = gradient[round % 2];
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, x);
        if (strait_sends_views(codec)) /* without a codec: the same tree with all elements */
            strait_all_reduce(r, world, codec, x, STRAIT_AR_TREE);
        else
            strait_decode(r, sum, all_reduce(r, codec, x, round));
        strait_step(r, strait_sends_views(codec) ? x : sum, 1.0 / strait_n_ranks(r));
    }
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const char *codec = e->up.spec.ops->name;
    if (strcmp(codec, "gtopk") == 0 || strcmp(codec, "none") == 0)
        return 0;
    return strait_refuse_at(
        err, e->file, "/codec",
        "expected \"gtopk\", whose sums keep the largest, or \"none\", found \"%s\"", codec);
}

/* Both directions use the same pairs. */
static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == CHOSEN && strait_all_reduce_uses(STRAIT_AR_TREE, e->n_ranks, src, dst);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
};
const struct strait_strategy strait_strategy_gtopk = {
    .name = "gtopk",
    .summary = "the k largest of all ranks' gradients, merged along a tree",
    .source = "Shi et al., gTop-k S-SGD, ICDCS 2019",
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = gtopk,
};
