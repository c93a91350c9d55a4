#include "overlap.h"

#include <stdio.h>

#include "workloads/train/collectives/collectives.h"
#include "workloads/train/collectives/legal.h"

enum {
    GRADIENT = 0,
    READY = 1,
    SUMMED = 2,
    NEGOTIATED = 3,
    END = -1
}; /* messages are bucket numbers */

struct strait_layer_costs strait_rank_layer_costs(struct strait_rank *r)
{
    const struct strait_model *m = strait_model(r);
    struct strait_layer_costs c = {.bytes = strait_alloc(r, m->n_layers, sizeof(double)),
                                   .fwd_s = strait_alloc(r, m->n_layers, sizeof(double)),
                                   .bwd_s = strait_alloc(r, m->n_layers, sizeof(double))};
    strait_layer_costs_fill(&c, m, strait_device_speed(r));
    return c;
}

struct strait_fusion strait_rank_fusion(struct strait_rank *r)
{
    return (struct strait_fusion){.first =
                                      strait_alloc(r, strait_model(r)->n_layers + 1, sizeof(int))};
}

struct strait_linear_cost strait_rank_ring_cost(struct strait_rank *r)
{
    struct strait_ring_work work = {.add_s_per_byte = strait_add_s_per_byte(r),
                                    .copy_s_per_byte = strait_copy_s_per_byte(r),
                                    .sent_share = 1};
    struct strait_coding_cost coding;
    struct strait_tensor *x = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    if (strait_coding_cost(r, &coding, strait_codec(r, "up"), x)) {
        const double raw_bytes = 4.0 * (double)strait_n_elems(x);
        work = (struct strait_ring_work){.add_s_per_byte = work.add_s_per_byte,
                                         .encode_s_per_byte = coding.encode_s / raw_bytes,
                                         .decode_s_per_byte = coding.decode_s / raw_bytes,
                                         .sent_share = coding.bytes / raw_bytes};
    }
    struct strait_linear_cost cost = strait_ring_cost(strait_network(r), strait_n_ranks(r), work);
    cost.alpha_s += strait_launch_s(r);
    return cost;
}

struct strait_gradients strait_rank_gradients(struct strait_rank *r)
{
    const struct strait_model *m = strait_model(r);
    struct strait_gradients g = {0};
    for (int turn = 0; turn < 2; turn++) {
        g.whole[turn] = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
        g.layer[turn] = strait_alloc(r, m->n_layers, sizeof(struct strait_tensor *));
        for (int l = 0; l < (int)m->n_layers; l++)
            g.layer[turn][l] = strait_layers_of(r, &g, turn, l, l + 1);
    }
    return g;
}

void strait_backward_of(struct strait_rank *r, const struct strait_gradients *g, int round,
                        int layer)
{
    strait_backward_into(r, layer, g->layer[round % 2][layer]);
}

struct strait_tensor *strait_layers_of(struct strait_rank *r, const struct strait_gradients *g,
                                       int round, int first, int end)
{
    const struct strait_model *m = strait_model(r);
    size_t lo = 0, hi = 0;
    for (int l = 0; l < end; l++) {
        lo += l < first ? m->layers[l].n_elems : 0;
        hi += m->layers[l].n_elems;
    }
    return strait_range(r, g->whole[round % 2], lo, hi);
}

/* --- the step ----------------------------------------------------------------------------- */

struct overlap {
    const struct strait_fusion *f;
    bool tensors_alone;
    int ready; /* the channel of buckets that may be sent */
    struct strait_gradients gradients;
    struct strait_agreement *agreement;
};

/* Tensors of each bucket, where each is summed by a call of its own; NULL: buckets are. */
static int *calls_of(struct strait_rank *r, const struct strait_fusion *f, bool tensors_alone)
{
    int *n_calls = NULL;
    if (tensors_alone)
        n_calls = strait_alloc(r, (size_t)f->n_buckets, sizeof(int));
    for (int g = 0; n_calls && g < f->n_buckets; g++)
        for (int l = f->first[g]; l < f->first[g + 1]; l++)
            n_calls[g] += (int)strait_model(r)->layers[l].n_rows;
    return n_calls;
}

static void all_reduce(struct strait_rank *lane, struct strait_group world,
                       struct strait_codec *codec, struct strait_tensor *x)
{
    strait_launch(lane);
    strait_all_reduce(lane, world, codec, x, STRAIT_AR_RING);
}

/* All-reduce the tensors of layers [first, end), the last one first. */
static void all_reduce_each(struct strait_rank *lane, struct strait_group world,
                            struct strait_codec *codec, struct strait_tensor *x, int first, int end)
{
    const struct strait_model *m = strait_model(lane);
    const struct strait_layer *last = &m->layers[end - 1];
    size_t hi = strait_n_elems(x);
    for (size_t i = last->first_row + last->n_rows; i > m->layers[first].first_row; i--) {
        const size_t lo = hi - m->rows[i - 1].n_elems;
        all_reduce(lane, world, codec, strait_range(lane, x, lo, hi));
        hi = lo;
    }
}

static void communicate(struct strait_rank *lane, void *arg)
{
    const struct overlap *o = arg;
    struct strait_group world = strait_world(lane, GRADIENT);
    struct strait_codec *codec = strait_codec(lane, "up");
    world.agreement = o->agreement;
    for (int g, n = 0; (g = strait_pend(lane, o->ready)) != END; n++) {
        struct strait_tensor *bucket = strait_layers_of(lane, &o->gradients, n / o->f->n_buckets,
                                                        o->f->first[g], o->f->first[g + 1]);
        if (o->tensors_alone)
            all_reduce_each(lane, world, codec, bucket, o->f->first[g], o->f->first[g + 1]);
        else
            all_reduce(lane, world, codec, bucket);
        strait_post(lane, SUMMED, g);
    }
}

void strait_train_overlapped(struct strait_rank *r, const struct strait_fusion *f,
                             bool tensors_alone)
{
    struct overlap o = {f, tensors_alone, READY, strait_rank_gradients(r),
                        strait_statistics_of(r, strait_codec(r, "up"))};
    struct strait_rank *negotiator =
        strait_negotiator(r, READY, NEGOTIATED, calls_of(r, f, tensors_alone));
    if (negotiator)
        o.ready = NEGOTIATED;
    struct strait_rank *lane = strait_spawn(r, communicate, &o);
    for (int round = 0; strait_round(r); round++) {
        strait_forward(r, STRAIT_ALL_LAYERS);
        for (int g = f->n_buckets - 1; g >= 0; g--) {
            for (int l = f->first[g + 1] - 1; l >= f->first[g]; l--)
                strait_backward_of(r, &o.gradients, round, l);
            strait_post(r, READY, g);
        }
        for (int g = f->n_buckets - 1; g >= 0; g--)
            strait_pend(r, SUMMED);
        strait_step(r, o.gradients.whole[round % 2], 1.0 / strait_n_ranks(r));
    }
    strait_post(r, READY, END);
    if (negotiator)
        strait_join(r, negotiator);
    strait_join(r, lane);
}

int strait_overlap_check(const struct strait_experiment *e, struct strait_error *err)
{
    if (strait_experiment_has_param(e, "sums") &&
        (int)strait_experiment_param(e, "sums") == STRAIT_SUMS_ENCODED)
        return strait_refuse_at(
            err, e->file, "/strategy/sums",
            "expected \"decoded\" where \"exchange\" is not \"servers\", found \"encoded\"");
    return strait_ring_check(e, err);
}

bool strait_overlap_uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return strait_ring_uses_stream(e, GRADIENT, src, dst, channel);
}
