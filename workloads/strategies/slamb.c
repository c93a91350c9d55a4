/* SLAMB (Xu et al., ICML 2023): large-batch training whose workers keep moments of their own and
 * sum a part of them. Step j sums chunk j mod (1 / ratio) of one fixed permutation, the same on
 * every rank, so that no indices travel, and everything that is small; one fused buffer. Every
 * local_steps steps all parameters are averaged, tensor by tensor. LAMB's step with its trust
 * ratios is the model's optimiser time.
 *
 * The permutation is affine, i -> (a i + b) mod n with a coprime to n, both drawn from the seed: it
 * needs no memory; a random one would spread the same bytes. */
#include <math.h>
#include <stdlib.h>

#include "../../core/random.h"
#include "../collectives.h"
#include "../experiment.h"
#include "../legal.h"
#include "../strategy.h"

enum { MOMENTS = 0, SMALL_ELEMS = 1024 };

/* Where the elements of the fused buffer come from. */
struct mask {
    size_t *large, *small; /* first elements of runs in the flattened model, ascending */
    size_t *large_before;  /* elements of all large runs before each */
    size_t n_large, n_small, n_masked, n_always;
    size_t *small_size;
    uint64_t a, b; /* of the permutation */
    int n_chunks;
};

struct moving { /* a job: between the moments and the buffer */
    const struct mask *mask;
    float *moments, *buffer;
    size_t first, end; /* of the permutation */
    bool out;          /* to the buffer */
};

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Large matrices are masked; what has one dimension or is small is summed in every step. */
static struct mask mask_of(struct strait_rank *r)
{
    const struct strait_model *m = strait_model(r);
    struct mask k = {.n_chunks = (int)lround(1 / strait_param(r, "ratio"))};
    k.large = strait_alloc(r, m->n_rows, sizeof(*k.large));
    k.large_before = strait_alloc(r, m->n_rows, sizeof(*k.large_before));
    k.small = strait_alloc(r, m->n_rows, sizeof(*k.small));
    k.small_size = strait_alloc(r, m->n_rows, sizeof(*k.small_size));
    size_t at = 0;
    for (size_t i = 0; i < m->n_rows; at += m->rows[i++].n_elems) {
        const struct strait_param_row *row = &m->rows[i];
        if (row->n_dims > 1 && row->n_elems > SMALL_ELEMS) {
            k.large_before[k.n_large] = k.n_masked;
            k.large[k.n_large++] = at;
            k.n_masked += row->n_elems;
        } else {
            k.small_size[k.n_small] = row->n_elems;
            k.small[k.n_small++] = at;
            k.n_always += row->n_elems;
        }
    }
    const uint64_t n = k.n_masked > 0 ? k.n_masked : 1;
    k.a = 1 + strait_random_bits(r->run->seed, "slamb", 0, 0) % n;
    while (gcd(k.a, n) != 1)
        k.a = k.a % n + 1;
    k.b = strait_random_bits(r->run->seed, "slamb", 1, 0) % n;
    return k;
}

/* The element of the model that masked element i is. */
static size_t place_of(const struct mask *k, size_t i)
{
    size_t lo = 0, hi = k->n_large; /* the last run that begins at or before i */
    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        if (k->large_before[mid] <= i)
            lo = mid;
        else
            hi = mid;
    }
    return k->large[lo] + (i - k->large_before[lo]);
}

static void move(void *arg)
{
    const struct moving *m = arg;
    const struct mask *k = m->mask;
    float *buffer = m->buffer;
    for (size_t i = m->first; i < m->end; i++) {
        const uint64_t to = (uint64_t)(((__uint128_t)k->a * i + k->b) % k->n_masked);
        float *moment = &m->moments[place_of(k, (size_t)to)];
        if (m->out)
            *buffer++ = *moment;
        else
            *moment = *buffer++;
    }
    for (size_t s = 0; s < k->n_small; s++)
        for (size_t i = 0; i < k->small_size[s]; i++) {
            float *moment = &m->moments[k->small[s] + i];
            if (m->out)
                *buffer++ = *moment;
            else
                *moment = *buffer++;
        }
}

/* A pass over the elements that travel, on the host's CPU. */
static void move_all(struct strait_rank *r, struct moving m)
{
    const size_t n = m.end - m.first + m.mask->n_always;
    strait_work(r, STRAIT_SPAN_AGGREGATE, STRAIT_CPU, 4.0 * (double)n * strait_copy_s_per_byte(r),
                m.moments ? move : NULL, &m);
}

static void slamb(struct strait_rank *r)
{
    const struct mask mask = mask_of(r);
    const int every = (int)strait_param(r, "local_steps");
    const struct strait_model *model = strait_model(r);
    struct strait_group world = strait_world(r, MOMENTS);
    struct strait_codec *codec = strait_codec(r, "up"), *plain = strait_codec(r, "none");
    struct strait_tensor *moments[2], *buffers[2], *w[2]; /* by turns: views may be on their way */
    const size_t most = mask.n_masked / (size_t)mask.n_chunks + 1 + mask.n_always;
    for (int i = 0; i < 2; i++) {
        moments[i] = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
        buffers[i] = strait_scratch(r, most);
        w[i] = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    }
    for (int step = 0; strait_round(r); step++) {
        struct strait_tensor *m = moments[step % 2];
        const int chunk = step % mask.n_chunks;
        const size_t first = strait_part_start(mask.n_masked, chunk, mask.n_chunks),
                     end = strait_part_start(mask.n_masked, chunk + 1, mask.n_chunks);
        struct strait_tensor *buffer =
            strait_range(r, buffers[step % 2], 0, end - first + mask.n_always);
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, m);
        struct moving moving = {&mask, strait_values(r, m), strait_values(r, buffer), first, end,
                                true};
        move_all(r, moving);
        strait_reduce_scatter(r, world, codec, buffer);
        strait_all_gather(r, world, codec, buffer);
        moving.out = false;
        move_all(r, moving);
        strait_step(r);
        if ((step + 1) % every > 0)
            continue;
        size_t at = 0;
        for (size_t i = 0; i < model->n_rows; at += model->rows[i++].n_elems) {
            struct strait_tensor *x =
                strait_range(r, w[step / every % 2], at, at + model->rows[i].n_elems);
            strait_reduce_scatter(r, world, plain, x);
            strait_all_gather(r, world, plain, x);
        }
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == MOMENTS && dst == (src + 1) % e->n_ranks;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    return strait_all_reduce_check(e, STRAIT_AR_RING, "ring", err);
}

/* Chunks and synchronisations come round together. */
static int period(const struct strait_experiment *e)
{
    const uint64_t n_chunks = (uint64_t)lround(1 / strait_experiment_param(e, "ratio"));
    const uint64_t every = (uint64_t)strait_experiment_param(e, "local_steps");
    const uint64_t both = n_chunks / gcd(n_chunks, every) * every;
    return both < 1000000 ? (int)both : 0;
}

static const struct strait_strategy_param params[] = {
    {"rounds", "training steps of the run", STRAIT_PARAM_INTEGER, 1, 1e6, 5, NULL},
    {"ratio", "share of the large tensors' moments that a step sums; 1 / ratio is rounded",
     STRAIT_PARAM_NUMBER, 1e-4, 1, 0.1, NULL},
    {"local_steps", "steps from one averaging of all parameters to the next", STRAIT_PARAM_INTEGER,
     1, 1e6, 50, NULL},
};
const struct strait_strategy strait_strategy_slamb = {
    .name = "slamb",
    .summary =
        "sparse large-batch training: a masked part of the moments is summed, without indices",
    .source = "SLAMB, Xu et al., ICML 2023",
    .uplink_kind = "grad",
    .downlink_kind = "param",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .check = check,
    .uses_stream = uses_stream,
    .period = period,
    .rank_main = slamb,
};
