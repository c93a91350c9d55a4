/* SLAMB (Xu et al., ICML 2023): large-batch training whose workers keep their own moments and
 * average a part of them. Step j averages chunk j mod (1 / ratio) of one fixed permutation, the
 * same on every rank, so that no indices are sent, plus all small tensors; one fused buffer. The
 * LAMB step goes from that of all ranks to that of one as an element's last averaging gets older.
 * Every local_steps steps all parameters are averaged, tensor by tensor; the authors' program does
 * that one step after ours, in the first step too. */
#include <math.h>

#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/legal.h"
#include "workloads/ask/strategy.h"
#include "slamb_parts.h"

enum { MOMENTS = 0 };

/* One pass over the sent elements, on the host's CPU. */
static void move_all(struct strait_rank *r, void (*fn)(void *), struct slamb_work *k)
{
    const size_t n = k->end - k->first + k->mask->n_always;
    strait_work(r, STRAIT_SPAN_AGGREGATE, STRAIT_CPU, 4.0 * (double)n * strait_copy_s_per_byte(r),
                k->moments ? fn : NULL, k);
}

/* w becomes the mean over all ranks. A copy is sent: w changes while others still read. The copy is
 * free again at the next averaging: every rank has read all of it by then. */
static void average(struct strait_rank *r, struct strait_group world, struct strait_tensor *w,
                    struct strait_tensor *copy)
{
    const struct strait_model *model = strait_model(r);
    struct strait_codec *plain = strait_codec(r, "none");
    size_t at = 0;
    strait_set(r, copy, w, 1);
    for (size_t i = 0; i < model->n_rows; at += model->rows[i++].n_elems) {
        struct strait_tensor *x = strait_range(r, copy, at, at + model->rows[i].n_elems);
        strait_reduce_scatter(r, world, plain, x);
        strait_all_gather(r, world, plain, x);
    }
    strait_set(r, w, copy, 1.0 / world.n);
}

static void slamb(struct strait_rank *r)
{
    const int n_chunks = (int)lround(1 / strait_param(r, "ratio"));
    const int every = (int)strait_param(r, "local_steps");
    const struct slamb_mask mask = slamb_mask_of(r, n_chunks);
    const size_t most = mask.n_masked / (size_t)n_chunks + 1 + mask.n_always;
    struct strait_group world = strait_world(r, MOMENTS);
    struct strait_codec *codec = strait_codec(r, "up");
    struct strait_tensor *gradients = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS),
                         *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
                         *copy = strait_like(r, w), *moments = strait_like(r, gradients),
                         *squares = strait_like(r, gradients),
                         *last = strait_scratch(r, mask.n_masked),
                         *buffers[2] = {strait_scratch(r, most), strait_scratch(r, most)};
    struct slamb_work k = {.mask = &mask,
                           .model = strait_model(r),
                           .gradients = strait_values(r, gradients),
                           .moments = strait_values(r, moments),
                           .squares = strait_values(r, squares),
                           .w = strait_values(r, w),
                           .last = strait_values(r, last),
                           .n_ranks = strait_n_ranks(r),
                           .lr = strait_param(r, "lr"),
                           .powers = slamb_powers(r, strait_param(r, "beta_3"), n_chunks)};
    strait_owns(r, w);
    for (; strait_round(r); k.step++) {
        const int chunk = k.step % n_chunks;
        k.first = strait_part_start(mask.n_masked, chunk, n_chunks);
        k.end = strait_part_start(mask.n_masked, chunk + 1, n_chunks);
        struct strait_tensor *buffer = /* alternating: views may be under way */
            strait_range(r, buffers[k.step % 2], 0, k.end - k.first + mask.n_always);
        k.buffer = strait_values(r, buffer);
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, gradients);
        strait_resume_part(r, 0.5, slamb_moments, &k);
        move_all(r, slamb_gather, &k);
        strait_reduce_scatter(r, world, codec, buffer);
        strait_all_gather(r, world, codec, buffer);
        move_all(r, slamb_scatter, &k);
        strait_resume_part(r, 0.5, slamb_lamb, &k);
        if ((k.step + 1) % every == 0)
            average(r, world, w, copy);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == MOMENTS && dst == (src + 1) % e->n_ranks;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    if (e->up.bounds_file)
        return strait_refuse_at(err, e->file, "/codec/bounds",
                                "expected none, since parts of many tensors are coded as one, "
                                "found \"%s\"",
                                e->up.bounds_file);
    return strait_ring_check(e, err);
}

/* The common period of chunks and synchronisations. */
static int period(const struct strait_experiment *e)
{
    const uint64_t n_chunks = (uint64_t)lround(1 / strait_experiment_param(e, "ratio"));
    const uint64_t every = (uint64_t)strait_experiment_param(e, "local_steps");
    const uint64_t both = n_chunks / slamb_gcd(n_chunks, every) * every;
    return both < 1000000 ? (int)both : 0;
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"ratio", "share of the large tensors' moments that a step sums; 1 / ratio is rounded",
     STRAIT_PARAM_NUMBER, .min = 1e-4, .max = 1, .fallback = 0.1},
    {"local_steps", "steps from one averaging of all parameters to the next", STRAIT_PARAM_INTEGER,
     .min = 1, .max = 1e6, .fallback = 50},
    {"lr", "step of LAMB, on real payload alone", STRAIT_PARAM_NUMBER, .min = 0, .max = 1e3,
     .fallback = 1e-3},
    {"beta_3", "what is left of an averaged moment's step a step later, likewise",
     STRAIT_PARAM_NUMBER, .min = 0, .max = 1, .fallback = 0.99},
};
const struct strait_strategy strait_strategy_slamb = {
    .name = "slamb",
    .summary =
        "sparse large-batch training: a masked part of the moments is summed, without indices",
    .source = "SLAMB, Xu et al., ICML 2023",
    .trains = true,
    .uplink_kind = "grad",
    .downlink_kind = "param",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .period = period,
    .rank_main = slamb,
};
