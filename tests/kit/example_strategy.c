/* echo: rank 0 sends the model around a ring, once a round. */
#include <math.h>
#include "workloads/ask/experiment.h"
#include "workloads/rank/rank.h"
#include "example_strategy.h"

enum { RING = 0 }; /* the one channel; a tag is the round */

static void echo(struct strait_rank *r)
{
    const int n = strait_n_ranks(r), next = (strait_me(r) + 1) % n,
              previous = (strait_me(r) + n - 1) % n;
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    for (int round = 0; strait_round(r); round++) {
        if (strait_me(r) == 0)
            strait_send(r, next, RING, round, strait_encode(r, strait_codec(r, "up"), NAN, w));
        struct strait_message m = strait_recv(r, previous, RING);
        if (strait_me(r) == 0)
            strait_drop(r, m.packet);
        else
            strait_send(r, next, RING, round, m.packet);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == RING && dst == (src + 1) % e->n_ranks;
}

static const struct strait_param params[] = {
    {"rounds", "times around the ring", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
};
const struct strait_strategy strait_strategy_echo = {
    .name = "echo",
    .summary = "the model once around a ring",
    .source = "an example",
    .uplink_kind = "param",
    STRAIT_PARAMS(params),
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = echo,
};
