/* Buckets of a fixed size, in two common styles. `ddp` (Li et al., PyTorch Distributed, VLDB 2020):
 * buckets are laid out before the first step, and each is all-reduced when its last gradient is
 * ready. `horovod` (Sergeev and Del Balso, 2018): every `cycle` the ranks tell rank 0 how many
 * gradients they have; those that all have are packed into buckets of at most `bucket` bytes, and
 * the next cycle begins when these are summed. */
#include <math.h>

#include "workloads/train/collectives/collectives.h"
#include "overlap.h"

enum { DDP, HOROVOD };
static const char *const styles[] = {"ddp", "horovod", NULL};
static const double FIRST_BUCKET_BYTES = 1048576; /* torch: kDefaultFirstBucketBytes */

static void ddp(struct strait_rank *r)
{
    const struct strait_layer_costs layers = strait_rank_layer_costs(r);
    const double bytes = strait_param(r, "bucket");
    struct strait_fusion f = strait_rank_fusion(r);
    strait_fuse_backward(&f, &layers, fmin(FIRST_BUCKET_BYTES, bytes), bytes);
    strait_train_overlapped(r, &f, false);
}

/* --- horovod ------------------------------------------------------------------------------ */

enum { GRADIENT = 0, READY = 1, SUMMED = 2, COUNT = 3, AGREED = 4, COORDINATOR = 0, END = -1 };

struct horovod {
    struct strait_layer_costs layers;
    struct strait_gradients gradients;
    struct strait_agreement *agreement;
    double bucket_bytes, cycle_s;
};

/* Count gradients that are ready now; n were counted before. */
static int count_ready(struct strait_rank *lane, int n)
{
    struct strait_message m;
    while (strait_recv_by(lane, &m, strait_me(lane), READY, -INFINITY)) {
        strait_drop(lane, m.packet);
        n++;
    }
    return n;
}

/* The minimum over all ranks, found by rank 0: gradients become ready in the same order
 * everywhere. */
static int agree(struct strait_rank *lane, int n_ready)
{
    const int n_ranks = strait_n_ranks(lane);
    struct strait_message m;
    if (strait_me(lane) != COORDINATOR) {
        strait_send(lane, COORDINATOR, COUNT, 0, strait_control(lane, n_ready));
        m = strait_recv(lane, COORDINATOR, AGREED);
        const int agreed = (int)m.packet->words[0];
        strait_drop(lane, m.packet);
        return agreed;
    }
    for (int i = 1; i < n_ranks; i++) {
        m = strait_recv(lane, i, COUNT);
        n_ready = (int)fmin(n_ready, m.packet->words[0]);
        strait_drop(lane, m.packet);
    }
    for (int i = 1; i < n_ranks; i++)
        strait_send(lane, i, AGREED, 0, strait_control(lane, n_ready));
    return n_ready;
}

/* Sum the layers [first, end) from the last one down, in as few buckets as their size allows. */
static void reduce_fused(struct strait_rank *lane, struct strait_group world,
                         const struct horovod *h, int round, int first, int end)
{
    while (end > first) {
        int low = end - 1;
        double bytes = h->layers.bytes[low];
        while (low > first && bytes + h->layers.bytes[low - 1] <= h->bucket_bytes)
            bytes += h->layers.bytes[--low];
        struct strait_tensor *bucket = strait_layers_of(lane, &h->gradients, round, low, end);
        strait_launch(lane);
        strait_all_reduce(lane, world, strait_codec(lane, "up"), bucket, STRAIT_AR_RING);
        for (; end > low; end--)
            strait_post(lane, SUMMED, end - 1);
    }
}

static void background(struct strait_rank *lane, void *arg)
{
    const struct horovod *h = arg;
    const int n = h->layers.n;
    struct strait_group world = strait_world(lane, GRADIENT);
    world.agreement = h->agreement;
    /* until no further step begins */
    for (int round = 0; strait_pend(lane, READY) != END; round++) {
        double cycle_start_s = strait_now_s(lane);
        for (int n_ready = 1, n_summed = 0; n_summed < n;) {
            strait_work(lane, STRAIT_SPAN_WAIT, STRAIT_TIMER,
                        fmax(0, cycle_start_s + h->cycle_s - strait_now_s(lane)), NULL, NULL);
            cycle_start_s = strait_now_s(lane);
            n_ready = count_ready(lane, n_ready);
            const int agreed = agree(lane, n_ready);
            reduce_fused(lane, world, h, round, n - agreed, n - n_summed);
            n_summed = agreed;
        }
    }
}

static void horovod(struct strait_rank *r)
{
    struct horovod h = {.layers = strait_rank_layer_costs(r),
                        .gradients = strait_rank_gradients(r),
                        .agreement = strait_statistics_of(r, strait_codec(r, "up")),
                        .bucket_bytes = strait_param(r, "bucket"),
                        .cycle_s = strait_param(r, "cycle")};
    struct strait_rank *lane = strait_spawn(r, background, &h);
    for (int round = 0; strait_round(r); round++) {
        strait_forward(r, STRAIT_ALL_LAYERS);
        for (int l = h.layers.n - 1; l >= 0; l--) {
            strait_backward_of(r, &h.gradients, round, l);
            strait_post(r, READY, l);
        }
        for (int l = h.layers.n - 1; l >= 0; l--)
            strait_pend(r, SUMMED);
        strait_step(r, h.gradients.whole[round % 2], 1.0 / strait_n_ranks(r));
    }
    strait_post(r, READY, END);
    strait_join(r, lane);
}

/* --- both --------------------------------------------------------------------------------- */

static void fusion(struct strait_rank *r)
{
    ((int)strait_param(r, "style") == DDP ? ddp : horovod)(r);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    if ((int)strait_experiment_param(e, "style") == HOROVOD && channel == COUNT)
        return src != COORDINATOR && dst == COORDINATOR;
    if ((int)strait_experiment_param(e, "style") == HOROVOD && channel == AGREED)
        return src == COORDINATOR && dst != COORDINATOR;
    return strait_overlap_uses_stream(e, src, dst, channel);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"style", "ddp: buckets laid out beforehand; horovod: what is there at each cycle",
     STRAIT_PARAM_CHOICE, .min = 0, .max = 1, .fallback = DDP, .choices = styles},
    {"bucket", "bytes of a bucket (published: 25 MiB with ddp, 64 MiB with horovod)",
     STRAIT_PARAM_BYTES, .min = 1, .max = 1e12, .fallback = 25 * 1048576.0},
    {"cycle", "horovod: time between two looks at what is there", STRAIT_PARAM_TIME, .min = 0,
     .max = 10, .fallback = 1e-3},
    STRAIT_LAUNCH_PARAM,
    STRAIT_NEGOTIATE_PARAM,
    STRAIT_UPDATE_PARAM,
};
const struct strait_strategy strait_strategy_fusion = {
    .name = "fusion",
    .summary = "gradients all-reduced in buckets of a fixed size behind the backward pass",
    .source = "Li et al., PyTorch Distributed, VLDB 2020; Sergeev and Del Balso, Horovod, 2018",
    .is_exact = true,
    .trains = true,
    .sums = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = strait_overlap_check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = fusion,
};
