/* Synchronous data parallelism with a sharded parameter server (Li et al., OSDI 2014; co-located
 * with the workers as in BytePS, Jiang et al., OSDI 2020): forward, backward, push the gradient,
 * servers add, pull the sum, step. Without co-location the last ranks are servers and do not train,
 * so that rank 0, whose marks are the run's times, does. */
#include <stdio.h>

#include "../collectives.h"
#include "../experiment.h"
#include "../strategy.h"

enum { PUSH = 0, PULL = 1 }; /* channels */
enum { COLOCATED, SEPARATE };

static void ps(struct strait_rank *r)
{
    struct strait_tensor *gradient[2]; /* by turns: the other one's last views may still be read */
    for (int i = 0; i < 2; i++)
        gradient[i] = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    struct strait_shards shards =
        strait_shards_of(r, (int)strait_param(r, "servers"),
                         strait_param(r, "placement") == COLOCATED, PUSH, PULL, gradient[0]);
    const bool trains = strait_me(r) < shards.n_workers;
    for (int round = 0; strait_round(r); round++) {
        struct strait_tensor *x = gradient[round % 2];
        if (trains) {
            strait_forward(r, STRAIT_ALL_LAYERS);
            strait_backward_into(r, STRAIT_ALL_LAYERS, x);
            strait_push(r, &shards, strait_codec(r, "up"), x);
        }
        strait_serve(r, &shards, strait_codec(r, "down"), x);
        if (trains) {
            strait_pull(r, &shards, x);
            strait_step(r);
        }
    }
}

static bool is_colocated(const struct strait_experiment *e)
{
    return (int)strait_experiment_param(e, "placement") == COLOCATED;
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const int n_servers = (int)strait_experiment_param(e, "servers");
    const int n_workers = e->n_ranks - (is_colocated(e) ? 0 : n_servers);
    return (channel == PUSH || channel == PULL) &&
           strait_shards_use(n_servers, n_workers, is_colocated(e), src, dst, channel == PUSH);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const int n_servers = (int)strait_experiment_param(e, "servers");
    const int most = e->n_ranks - (is_colocated(e) ? 0 : 1);
    char where[512];
    if (n_servers <= most)
        return 0;
    snprintf(where, sizeof(where), "%s#/strategy/servers", e->file);
    if (most == 0)
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected a second client to train beside the server, found 1");
    return strait_error_set(
        err, STRAIT_ERR_INPUT, where, "expected at most %d servers for %d clients%s, found %d",
        most, e->n_clients, is_colocated(e) ? "" : ", of whom one at least has to train",
        n_servers);
}

static const char *const placements[] = {"colocated", "separate", NULL};
static const struct strait_strategy_param params[] = {
    {"rounds", "training steps of the run", STRAIT_PARAM_INTEGER, 1, 1e6, 5, NULL},
    {"servers", "servers, each of an equal part of the model; \"clients\": as many",
     STRAIT_PARAM_CORES, 1, 1e6, 1, NULL},
    {"placement", "colocated: the first clients are servers too; separate: the last only serve",
     STRAIT_PARAM_CHOICE, 0, 1, COLOCATED, placements},
};
const struct strait_strategy strait_strategy_ps = {
    .name = "ps",
    .summary = "data parallelism over a sharded parameter server: push, add, pull",
    .source = "Li et al., OSDI 2014; co-located as BytePS, Jiang et al., OSDI 2020",
    .uplink_kind = "grad",
    .downlink_kind = "grad",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .check = check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = ps,
};
