/* PyTorch's DistributedDataParallel over Gloo (Li et al., VLDB 2020; torch/csrc/distributed/c10d/
 * reducer.cpp): buckets of tensors in the order in which gradients are ready, each exchanged when
 * its last gradient is. Without a codec Gloo sums buckets, in two threads (ProcessGroupGloo). With
 * one it is what strait.ddp_hook does: a thread beside the backward pass takes one bucket after
 * another, encodes its tensors,
 * gathers what all ranks encoded, sizes first and padded to the largest, decodes all of it and adds
 * it in rank order. */
#include <math.h>
#include <string.h>

#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/experiment.h"
#include "workloads/rank/rank.h"

/* Gloo's threads have six channels each (gloo_ring.h); threads take buckets in turn. */
enum { N_THREADS = 2, READY = 0, SUMMED = N_THREADS, GLOO, N_GLOO = 6, END = -1 };
enum { BUFFERS = GLOO + N_THREADS * N_GLOO };
_Static_assert((int)BUFFERS < (int)STRAIT_MAX_CHANNELS, "channels for all threads");
static const double FIRST_BUCKET_BYTES = 1048576; /* torch: kDefaultFirstBucketBytes */

/* Buckets of rows of the model, from the last row on: bucket b has the rows [first[b], first[b - 1])
 * (the first one up to the last row). */
struct ddp {
    int n_buckets;
    size_t *first;                    /* row of each bucket */
    struct strait_tensor **bucket[2]; /* gradients by turn, then by bucket */
    struct strait_tensor *whole[2];   /* others may still read the last round's */
    struct strait_tensor **layer[2];
    struct strait_codec *codec;
    int n_threads;
    struct strait_packet **all; /* by rank; of the hook */
    struct strait_gloo_room room;
};

struct thread {
    struct ddp *d;
    int number;
};

/* A bucket is closed by the tensor with which it reaches its limit. Out: first, NULL: not needed.
 * Returns: how many there are */
static int lay_out(size_t *first, const struct strait_model *m, double most_bytes)
{
    double bytes = 0;
    int n = 0;
    for (size_t i = m->n_rows; i-- > 0;) {
        bytes += 4.0 * (double)m->rows[i].n_elems;
        if (i > 0 && bytes < (n == 0 ? fmin(FIRST_BUCKET_BYTES, most_bytes) : most_bytes))
            continue;
        if (first)
            first[n] = i;
        n++;
        bytes = 0;
    }
    return n;
}

/* Handles of all layers and buckets, made before there are two lanes. */
static void divide(struct strait_rank *r, struct ddp *d, int turn)
{
    const struct strait_model *m = strait_model(r);
    size_t lo = 0, hi = m->n_elems;
    d->whole[turn] = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    d->layer[turn] = strait_alloc(r, m->n_layers, sizeof(struct strait_tensor *));
    d->bucket[turn] = strait_alloc(r, (size_t)d->n_buckets, sizeof(struct strait_tensor *));
    for (size_t l = 0; l < m->n_layers; lo += m->layers[l++].n_elems)
        d->layer[turn][l] = strait_range(r, d->whole[turn], lo, lo + m->layers[l].n_elems);
    for (int b = 0; b < d->n_buckets; b++, hi = lo) {
        lo = hi;
        for (size_t i = d->first[b]; i < (b == 0 ? m->n_rows : d->first[b - 1]); i++)
            lo -= m->rows[i].n_elems;
        d->bucket[turn][b] = strait_range(r, d->whole[turn], lo, hi);
    }
}

/* The hook. */
static void gather_sum(struct strait_rank *lane, struct strait_group world, struct ddp *d,
                       struct strait_tensor *x)
{
    d->all[world.me] = strait_encode(lane, d->codec, NAN, x);
    strait_gather_by_gloo(lane, world, d->all, &d->room);
    for (int i = 0; i < world.n; i++) {
        struct strait_tensor *y = i == 0 ? x : strait_spare(lane, x);
        strait_decode(lane, y, d->all[i]);
        if (i > 0)
            strait_add(lane, x, y, 1);
    }
}

static void communicate(struct strait_rank *lane, void *arg)
{
    const struct thread *t = arg;
    struct ddp *d = t->d;
    const struct strait_group world = strait_world(lane, GLOO + N_GLOO * t->number);
    for (int word; (word = strait_pend(lane, READY + t->number)) != END;) {
        struct strait_tensor *x = d->bucket[word % 2][word / 2];
        strait_be_late(lane, strait_param(lane, "skew"), (unsigned)word / 2);
        if (strait_sends_views(d->codec)) {
            strait_launch(lane);
            strait_all_reduce(lane, world, d->codec, x, STRAIT_AR_GLOO);
        } else {
            gather_sum(lane, world, d, x);
        }
        strait_post(lane, SUMMED, word);
    }
}

/* Before each forward pass all take rank 0's buffers (a BatchNorm's statistics), by Gloo's tree
 * (gloo/broadcast.cc): 0 sends to 1, then 0 to 2 and 1 to 3, ..., to whoever has said that it is
 * ready, which all do at once. */
static void share_buffers(struct strait_rank *r, double bytes)
{
    const int me = strait_me(r), n = strait_n_ranks(r);
    for (int bit = 1; bit < n && bytes > 0; bit *= 2)
        if (me < bit && me + bit < n) {
            strait_drop(r, strait_recv(r, me + bit, BUFFERS).packet);
            strait_send(r, me + bit, BUFFERS, 0, strait_filler(r, (size_t)bytes));
        } else if (me >= bit && me < 2 * bit) {
            strait_send(r, me - bit, BUFFERS, 0, strait_control(r, 0));
            strait_drop(r, strait_recv(r, me - bit, BUFFERS).packet);
        }
}

static bool shares_buffers(int src, int dst)
{
    int bit = 1;
    const int child = src > dst ? src : dst, parent = src > dst ? dst : src;
    while (2 * bit <= child)
        bit *= 2;
    return child - bit == parent;
}

/* Layer by layer from the last; a bucket is ready with the layer of its first row. */
static void backward(struct strait_rank *r, const struct ddp *d, int turn)
{
    const struct strait_model *m = strait_model(r);
    int b = 0;
    for (size_t l = m->n_layers; l-- > 0;) {
        strait_backward_into(r, (int)l, d->layer[turn][l]);
        for (; b < d->n_buckets && d->first[b] >= m->layers[l].first_row; b++)
            strait_post(r, READY + b % d->n_threads, 2 * b + turn);
    }
}

static void ddp(struct strait_rank *r)
{
    struct ddp d = {.codec = strait_codec(r, "up"),
                    .all = strait_alloc(r, (size_t)strait_n_ranks(r), sizeof(*d.all)),
                    .room = strait_gloo_room_of(r)};
    struct thread threads[N_THREADS];
    struct strait_rank *lanes[N_THREADS];
    d.n_threads = strait_sends_views(d.codec) ? N_THREADS : 1;
    d.first = strait_alloc(r, strait_model(r)->n_rows, sizeof(*d.first));
    d.n_buckets = lay_out(d.first, strait_model(r), strait_param(r, "bucket"));
    for (int turn = 0; turn < 2; turn++)
        divide(r, &d, turn);
    for (int i = 0; i < d.n_threads; i++) {
        threads[i] = (struct thread){&d, i};
        lanes[i] = strait_spawn(r, communicate, &threads[i]);
    }
    for (int round = 0; strait_round(r); round++) {
        share_buffers(r, strait_param(r, "buffers"));
        strait_forward(r, STRAIT_ALL_LAYERS);
        backward(r, &d, round % 2);
        for (int b = 0; b < d.n_buckets; b++)
            strait_pend(r, SUMMED);
        strait_step(r, d.whole[round % 2], 1.0 / strait_n_ranks(r));
    }
    for (int i = 0; i < d.n_threads; i++) {
        strait_post(r, READY + i, END);
        strait_join(r, lanes[i]);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const bool sums = strcmp(e->up.spec.ops->name, "none") == 0;
    if (channel == BUFFERS)
        return strait_experiment_param(e, "buffers") > 0 && shares_buffers(src, dst);
    const int n_buckets = lay_out(NULL, e->model, strait_experiment_param(e, "bucket")),
              n_threads = sums && n_buckets > 1 ? N_THREADS : 1;
    return channel >= GLOO && channel < GLOO + n_threads * N_GLOO &&
           (sums ? strait_gloo_uses : strait_gloo_gather_uses)(e->n_ranks,
                                                               (channel - GLOO) % N_GLOO, src, dst);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"bucket", "bytes of gradients that close a bucket (bucket_cap_mb; the first: 1 MiB at most)",
     STRAIT_PARAM_BYTES, .min = 1, .max = 1e12, .fallback = 25 * 1048576.0},
    {"buffers", "bytes that rank 0 sends to all before each forward pass: a BatchNorm's statistics",
     STRAIT_PARAM_BYTES, .min = 0, .max = 1e12},
    {"skew", "how late a rank begins to exchange a bucket at most, drawn", STRAIT_PARAM_TIME,
     .min = 0, .max = 10, .fallback = 1e-4},
    STRAIT_LAUNCH_PARAM,
    STRAIT_UPDATE_PARAM,
};
const struct strait_strategy strait_strategy_ddp = {
    .name = "ddp",
    .summary = "PyTorch's DistributedDataParallel over Gloo; with a codec, under strait.ddp_hook",
    .source = "Li et al., PyTorch Distributed, VLDB 2020; gloo/allreduce.cc, gloo/allgather.cc",
    .is_exact = true,
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .uses_stream = uses_stream,
    .needs_packets = strait_strategy_fills_both_ways, /* words wait behind data in a port's queue */
    .period = strait_strategy_repeats,
    .rank_main = ddp,
};
