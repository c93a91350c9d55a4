/* ByteScheduler (Peng et al., SOSP 2019): gradients are cut into partitions, and those that the
 * next forward pass needs first are sent first. Layer l of the next step waits only for its own
 * partitions. All-reduces need the same order on all ranks, so rank 0 announces it, partition by
 * partition, by control words; it keeps at most `credit` partitions announced and not yet summed.
 * With parameter servers every worker has its own order and at most `credit` partitions sent and
 * not yet acknowledged: a posted message cannot be overtaken, so credit limits the queue of a
 * stream. More credit keeps the link busy, less lets an urgent partition in sooner. */
#include <math.h>

#include "servers.h"

enum {
    GRADIENT = 0,
    READY = STRAIT_SERVERS_READY,
    SUMMED = STRAIT_SERVERS_SUMMED,
    EVENT = 3,
    ORDER = 4,
    SCHEDULER = 0
};
enum { END = -1, CREDIT_BACK = -2 }; /* other words are layers */

struct bytescheduler {
    struct strait_gradients gradients;
    struct strait_servers *servers; /* NULL: all-reduce */
    struct strait_agreement *agreement;
    int n_layers, *n_parts; /* of each layer */
    int *unsummed;          /* of each layer, in the training lane */
    int *unstarted;         /* ready but not started, in the communicating lane */
    int *unannounced;       /* in the scheduler */
    int *n_rounds;          /* in which it was ready, in the communicating lane */
};

/* Rank 0: announce the most urgent partition while there is credit. */
static void schedule(struct strait_rank *lane, void *arg)
{
    struct bytescheduler *b = arg;
    int credit = (int)strait_param(lane, "credit");
    const double announce_s = strait_param(lane, "announce");
    for (int event; (event = strait_pend(lane, EVENT)) != END;) {
        if (event == CREDIT_BACK)
            credit++;
        else
            b->unannounced[event] = b->n_parts[event];
        for (int l = 0; l < b->n_layers; l++)
            for (; credit > 0 && b->unannounced[l] > 0; credit--, b->unannounced[l]--) {
                if (announce_s > 0)
                    strait_work(lane, STRAIT_SPAN_WAIT, STRAIT_TIMER, announce_s, NULL, NULL);
                for (int i = 0; i < strait_n_ranks(lane); i++)
                    strait_send(lane, i, ORDER, 0, strait_control(lane, l));
            }
    }
    for (int i = 0; i < strait_n_ranks(lane); i++)
        strait_send(lane, i, ORDER, 0, strait_control(lane, END));
}

static int next_layer(struct strait_rank *lane)
{
    struct strait_message m = strait_recv(lane, SCHEDULER, ORDER);
    const int layer = (int)m.packet->words[0];
    strait_drop(lane, m.packet);
    return layer;
}

/* All ranks: reduce the next partition of each announced layer, as soon as its gradient is ready
 * here. */
static void communicate(struct strait_rank *lane, void *arg)
{
    struct bytescheduler *b = arg;
    struct strait_group world = strait_world(lane, GRADIENT);
    struct strait_codec *codec = strait_codec(lane, "up");
    world.agreement = b->agreement;
    for (int l; (l = next_layer(lane)) != END;) {
        while (b->unstarted[l] == 0) {
            const int here = strait_pend(lane, READY);
            b->unstarted[here] = b->n_parts[here];
            b->n_rounds[here]++;
        }
        struct strait_tensor *part =
            strait_slice(lane, strait_layers_of(lane, &b->gradients, b->n_rounds[l] - 1, l, l + 1),
                         b->n_parts[l] - b->unstarted[l]--, b->n_parts[l]);
        strait_launch(lane);
        strait_all_reduce(lane, world, codec, part, STRAIT_AR_RING);
        strait_post(lane, SUMMED, l);
        if (strait_me(lane) == SCHEDULER)
            strait_post(lane, EVENT, CREDIT_BACK);
    }
}

/* Wait until this layer of this round is summed, then do its optimiser step. */
static void finish_layer(struct strait_rank *r, struct bytescheduler *b, int round, int layer)
{
    while (b->unsummed[layer] > 0)
        b->unsummed[strait_pend(r, SUMMED)]--;
    strait_step_layers(r, layer, layer + 1, b->gradients.whole[round % 2],
                       1.0 / strait_n_workers(r));
}

static struct bytescheduler partitioned(struct strait_rank *r, struct strait_servers *servers)
{
    const struct strait_model *m = strait_model(r);
    const size_t n = m->n_layers;
    const double bytes = strait_param(r, "partition");
    struct bytescheduler b = {.servers = servers,
                              .gradients = servers ? servers->gradients : strait_rank_gradients(r),
                              .n_layers = (int)n,
                              .n_parts = strait_alloc(r, n, sizeof(int)),
                              .unsummed = strait_alloc(r, n, sizeof(int)),
                              .unstarted = strait_alloc(r, n, sizeof(int)),
                              .unannounced = strait_alloc(r, n, sizeof(int)),
                              .n_rounds = strait_alloc(r, n, sizeof(int))};
    if (!servers)
        b.agreement = strait_statistics_of(r, strait_codec(r, "up"));
    for (size_t l = 0; l < n; l++)
        b.n_parts[l] = servers ? strait_servers_n_parts(servers, (int)l)
                               : (int)fmax(1, ceil(4.0 * (double)m->layers[l].n_elems / bytes));
    return b;
}

struct lanes {
    struct strait_rank *communicate, *schedule;
};

static struct lanes start(struct strait_rank *r, struct bytescheduler *b)
{
    if (b->servers) {
        strait_servers_start(r, b->servers);
        return (struct lanes){NULL, NULL};
    }
    return (struct lanes){strait_spawn(r, communicate, b),
                          strait_me(r) == SCHEDULER ? strait_spawn(r, schedule, b) : NULL};
}

static void stop(struct strait_rank *r, struct bytescheduler *b, struct lanes lanes)
{
    if (b->servers) {
        strait_servers_stop(r, b->servers);
        return;
    }
    if (lanes.schedule) {
        strait_post(r, EVENT, END);
        strait_join(r, lanes.schedule);
    }
    strait_join(r, lanes.communicate);
}

static void train(struct strait_rank *r, struct strait_servers *servers)
{
    struct bytescheduler b = partitioned(r, servers);
    const struct lanes lanes = start(r, &b);
    for (int round = 0; strait_round(r); round++) {
        for (int l = 0; l < b.n_layers; l++) {
            if (round > 0)
                finish_layer(r, &b, round - 1, l);
            strait_forward(r, l);
        }
        for (int l = b.n_layers - 1; l >= 0; l--) {
            strait_backward_of(r, &b.gradients, round, l);
            b.unsummed[l] = b.n_parts[l];
            strait_post(r, READY, l);
            if (lanes.schedule)
                strait_post(r, EVENT, l);
        }
        for (int l = 0; strait_is_last_round(r) && l < b.n_layers; l++)
            finish_layer(r, &b, round, l);
    }
    stop(r, &b, lanes);
}

static void bytescheduler(struct strait_rank *r)
{
    struct strait_servers *servers = NULL;
    if (strait_uses_servers(strait_experiment(r)))
        servers = strait_servers_new(r, STRAIT_URGENT_FIRST, (int)strait_param(r, "credit"));
    if (servers && !strait_servers_trains(r, servers))
        strait_servers_serve(r, servers);
    else
        train(r, servers);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    if (strait_uses_servers(e))
        return strait_servers_use_stream(e, src, dst, channel);
    if (channel == ORDER)
        return src == SCHEDULER && dst != SCHEDULER;
    return strait_overlap_uses_stream(e, src, dst, channel);
}

/* Messages identify a partition by its layer; the number of partitions is limited by a tag's
 * int. */
static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const double bytes = strait_experiment_param(e, "partition");
    double n_parts = 0;
    for (size_t l = 0; l < e->model->n_layers; l++)
        n_parts += ceil(4.0 * (double)e->model->layers[l].n_elems / bytes);
    enum { MAX_PARTS = 1000000 };
    if (n_parts <= MAX_PARTS)
        return strait_uses_servers(e) ? strait_servers_check(e, err) : strait_overlap_check(e, err);
    return strait_refuse_at(
        err, e->file, "/strategy/partition",
        "expected a size that cuts the model into at most %d partitions, found one that makes %.0f",
        MAX_PARTS, n_parts);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"partition", "largest bytes of a partition; a layer is cut into equal ones",
     STRAIT_PARAM_BYTES, .min = 4, .max = 1e12, .fallback = 4e6},
    STRAIT_EXCHANGE_PARAM,
    STRAIT_SERVERS_PARAMS,
    {"credit", "partitions announced and not yet summed, or pushed and not yet acknowledged",
     STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 2},
    {"announce", "what announcing a partition takes rank 0, one after another", STRAIT_PARAM_TIME,
     .min = 0, .max = 10},
    STRAIT_LAUNCH_PARAM,
    STRAIT_UPDATE_PARAM,
};
const struct strait_strategy strait_strategy_bytescheduler = {
    .name = "bytescheduler",
    .summary = "gradients in partitions, those that the next forward pass needs first go first",
    .source = "Peng et al., ByteScheduler, SOSP 2019",
    .is_exact = true,
    .trains = true,
    .n_workers = strait_servers_n_training,
    .sums = true,
    .uplink_kind = "grad",
    .downlink_kind = "grad",
    .tracks = strait_servers_track,
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = bytescheduler,
};
