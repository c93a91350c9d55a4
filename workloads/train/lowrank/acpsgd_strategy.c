/* ACP-SGD (Zhang et al., ICDCS 2023): alternate compressed PowerSGD. Even steps send P = M Q for an
 * orthonormal Q, odd ones Q = M^T P for an orthonormal P: one all-reduce a step, of half the bytes,
 * which depends only on its own gradients. So factors are computed layer by layer during the
 * backward pass, fused into buckets, and summed on a second lane at the same time. */
#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/experiment.h"
#include "lowrank_work.h"
#include "workloads/ask/strategy.h"

enum { FACTORS = 0, TO_COMM = 1, SUMMED = 2, END = -1 };

struct acpsgd {
    struct strait_lowrank_work *w;
    struct strait_tensor **layers;            /* of the gradient */
    struct strait_lowrank_bucket *buckets[2]; /* by side */
    size_t n_buckets[2];
};

static struct strait_tensor *range_of(struct strait_rank *r, const struct acpsgd *a, int side,
                                      size_t bucket)
{
    const struct strait_lowrank_part *first = &a->w->plan.parts[a->buckets[side][bucket].first],
                                     *last = &a->w->plan.parts[a->buckets[side][bucket].end - 1];
    return strait_range(r, a->w->buffers[side], first->at[side], last->at[side] + last->n_at[side]);
}

static void communicate(struct strait_rank *lane, void *arg)
{
    const struct acpsgd *a = arg;
    struct strait_group world = strait_world(lane, FACTORS);
    for (int side = STRAIT_SIDE_P, word; (word = strait_pend(lane, TO_COMM)) != END;) {
        const size_t bucket = (size_t)word;
        strait_all_reduce(lane, world, strait_codec(lane, "none"), range_of(lane, a, side, bucket),
                          STRAIT_AR_RING);
        strait_post(lane, SUMMED, word);
        if (bucket + 1 == a->n_buckets[side])
            side = !side;
    }
}

/* Backward from the last layer; a bucket is sent as soon as its last factor is computed. */
static void backward(struct strait_rank *r, const struct acpsgd *a, enum strait_side side)
{
    const struct strait_model *m = strait_model(r);
    size_t part = 0, bucket = 0;
    for (size_t l = m->n_layers; l-- > 0; part += m->layers[l].n_rows) {
        strait_lowrank_backward(r, (int)l, a->layers[l]);
        strait_lowrank_compress(r, a->w, side, part, part + m->layers[l].n_rows);
        if (part + m->layers[l].n_rows == a->buckets[side][bucket].end)
            strait_post(r, TO_COMM, (int)bucket++);
    }
}

/* Handles of the gradient's layers, made before there are two lanes. */
static struct strait_tensor **layers_of(struct strait_rank *r, struct strait_tensor *gradient)
{
    const struct strait_model *m = strait_model(r);
    struct strait_tensor **layers = strait_alloc(r, m->n_layers, sizeof(struct strait_tensor *));
    for (size_t l = 0, lo = 0; l < m->n_layers; lo += m->layers[l++].n_elems)
        layers[l] = strait_range(r, gradient, lo, lo + m->layers[l].n_elems);
    return layers;
}

static void acpsgd(struct strait_rank *r)
{
    const struct strait_model *m = strait_model(r);
    struct acpsgd a = {
        .w = strait_lowrank_work_new(r, "acpsgd", (size_t)strait_param(r, "rank"), true)};
    a.layers = layers_of(r, a.w->gradient);
    for (int side = 0; side < 2; side++) { /* as many buckets as for the gradients */
        const double share = (double)a.w->plan.n_elems[side] / (double)m->n_elems;
        a.buckets[side] = strait_alloc(r, m->n_layers, sizeof(*a.buckets[side]));
        a.n_buckets[side] = strait_lowrank_fuse(a.buckets[side], &a.w->plan, m, side,
                                                share * strait_param(r, "bucket"));
    }
    struct strait_rank *lane = strait_spawn(r, communicate, &a);
    for (enum strait_side side = STRAIT_SIDE_P; strait_round(r); side = !side) {
        strait_forward(r, STRAIT_ALL_LAYERS);
        backward(r, &a, side);
        for (size_t bucket = 0; bucket < a.n_buckets[side]; bucket++)
            strait_pend(r, SUMMED);
        strait_lowrank_decompress(r, a.w, side, strait_n_ranks(r));
        strait_step(r, a.w->mean, 1);
    }
    strait_post(r, TO_COMM, END);
    strait_join(r, lane);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    return strait_lowrank_check(e, err);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == FACTORS && strait_all_reduce_uses(STRAIT_AR_RING, e->n_ranks, src, dst);
}

/* Rows one step, columns the next. */
static int period(const struct strait_experiment *e)
{
    (void)e;
    return 2;
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"rank", "columns of the factors", STRAIT_PARAM_INTEGER, .min = 1,
     .max = STRAIT_LOWRANK_MAX_RANK, .fallback = 4},
    {"bucket", "gradients whose factors are summed by one call", STRAIT_PARAM_BYTES, .min = 1,
     .max = 1e12, .fallback = 25e6},
};
const struct strait_strategy strait_strategy_acpsgd = {
    .name = "acpsgd",
    .summary = "low-rank gradients: one factor a step, all-reduced beside the backward pass",
    .source = "Zhang et al., ICDCS 2023",
    .trains = true,
    .uplink_kind = "grad",
    .works_as = "acpsgd",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .period = period,
    .rank_main = acpsgd,
};
