/* Synchronous data parallelism with a sharded parameter server (Li et al., OSDI 2014; co-located
 * with the workers, and summing in nodes first, as in BytePS, Jiang et al., OSDI 2020): forward,
 * backward, push the gradient, servers add, pull the sum, step. Without co-location the last ranks
 * are servers and do not train, so that rank 0, whose rounds are the run's times, does. */
#include "servers.h"

static void ps(struct strait_rank *r)
{
    struct strait_servers *s = strait_servers_new(r, STRAIT_WHOLE, 0);
    if (!strait_servers_trains(r, s)) {
        strait_servers_serve(r, s);
        return;
    }
    strait_servers_start(r, s);
    for (int round = 0; strait_round(r); round++) {
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, s->x[round % 2][0]);
        strait_post(r, STRAIT_SERVERS_READY, 0);
        for (int i = strait_servers_n_parts(s, 0); i > 0; i--)
            strait_pend(r, STRAIT_SERVERS_SUMMED);
        strait_step(r, s->gradients.whole[round % 2], 1.0 / strait_n_workers(r));
    }
    strait_servers_stop(r, s);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    STRAIT_SERVERS_PARAMS,
    {"partition", "largest bytes of a part; there are as many as servers at least",
     STRAIT_PARAM_BYTES, .min = 4, .max = 1e12, .fallback = 1e12},
    STRAIT_UPDATE_PARAM,
};
const struct strait_strategy strait_strategy_ps = {
    .name = "ps",
    .summary = "data parallelism over a sharded parameter server: push, add, pull",
    .source = "Li et al., OSDI 2014; co-located as BytePS, Jiang et al., OSDI 2020",
    .is_exact = true,
    .trains = true,
    .n_workers = strait_servers_n_training,
    .uplink_kind = "grad",
    .downlink_kind = "grad",
    .tracks = strait_servers_track,
    STRAIT_PARAMS(params),
    .check = strait_servers_check,
    .uses_stream = strait_servers_use_stream,
    .period = strait_strategy_repeats,
    .rank_main = ps,
};
