#include "lowrank_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/random.h"
#include "workloads/rank/coding.h"

/* --- cost --------------------------------------------------------------------------------- */

static bool find(struct strait_profile_cost *cost, const struct strait_trial *p,
                 struct strait_codec_spec *spec, size_t rank)
{
    struct strait_error none = {0};
    spec->params[0] = (double)rank;
    return strait_profile_find(cost, p->profile, spec, "grad", p->experiment->model->name, &none) ==
           0;
}

/* Linear in the rank through the two nearest measured ranks. */
static bool find_near(struct strait_profile_cost *cost, const struct strait_trial *p,
                      struct strait_codec_spec *spec, size_t rank)
{
    struct strait_profile_cost near[2];
    size_t ranks[2], n = 0;
    for (size_t distance = 0; distance <= STRAIT_LOWRANK_MAX_RANK && n < 2; distance++)
        for (int way = -1; way <= 1 && n < 2; way += 2) {
            const long at = (long)rank + way * (long)distance;
            if (at < 1 || at > STRAIT_LOWRANK_MAX_RANK || (distance == 0 && way > 0))
                continue;
            if (find(&near[n], p, spec, (size_t)at))
                ranks[n++] = (size_t)at;
            if (n == 1 && ranks[0] == rank)
                n = 2, near[1] = near[0], ranks[1] = ranks[0];
        }
    if (n == 0)
        return false;
    *cost = near[0];
    if (n == 1 || ranks[0] == ranks[1])
        return true;
    const double t = ((double)rank - (double)ranks[0]) / ((double)ranks[1] - (double)ranks[0]);
    const double encode = 1 / near[0].encode_bytes_per_s, decode = 1 / near[0].decode_bytes_per_s;
    cost->encode_bytes_per_s =
        1 / fmax(encode + t * (1 / near[1].encode_bytes_per_s - encode), encode / 2);
    cost->decode_bytes_per_s =
        1 / fmax(decode + t * (1 / near[1].decode_bytes_per_s - decode), decode / 2);
    return true;
}

static void find_costs(struct strait_lowrank_work *w, const struct strait_trial *p,
                       const char *codec, size_t rank)
{
    struct strait_codec_spec spec = strait_codec_spec_default(strait_codec_find(codec));
    struct strait_profile_cost cost;
    const struct strait_codec_choice *up = &p->experiment->up;
    w->copy_s_per_byte = 1 / p->copy_bytes_per_s;
    if (find_near(&cost, p, &spec, rank)) {
        w->encode_s_per_byte = 1 / cost.encode_bytes_per_s;
        w->decode_s_per_byte = 1 / cost.decode_bytes_per_s;
        w->encode_s = cost.encode_fixed_s;
        w->decode_s = cost.decode_fixed_s;
    } else {
        w->encode_s_per_byte = STRAIT_LOWRANK_PASSES * w->copy_s_per_byte;
        w->decode_s_per_byte = w->copy_s_per_byte;
    }
    w->encode_s_per_byte /= up->encode_speed; /* the experiment's "codec" is none, with a speed */
    w->encode_s /= up->encode_speed;
    w->decode_s_per_byte /= up->decode_speed;
    w->decode_s /= up->decode_speed;
}

/* --- one job ------------------------------------------------------------------------------ */

struct job {
    struct strait_lowrank_work *w;
    const struct strait_lowrank_part *part;
    enum strait_side side;
    int n_ranks;
    size_t first, end;
    bool plain; /* unfactored tensors are copied too */
    void (*each)(const struct job *j);
};

struct views { /* views of one part */
    float *m, *mean, *sent[2], *factor[2];
    const float *gradient;
};

static struct views views_of(const struct job *j)
{
    const struct strait_lowrank_work *w = j->w;
    struct views v = {.m = w->error->values + j->part->lo,
                      .mean = w->mean->values + j->part->lo,
                      .gradient = w->gradient->values + j->part->lo};
    for (int side = 0; side < 2; side++) {
        v.sent[side] = w->buffers[side]->values + j->part->at[side];
        v.factor[side] = w->factors[side]->values + j->part->at[side];
    }
    return v;
}

static void all_parts(void *arg)
{
    struct job *j = arg;
    for (size_t i = j->first; i < j->end; i++) {
        j->part = &j->w->plan.parts[i];
        j->each(j);
    }
}

/* This job's share of the codec's time: matrices like the codec, the rest like a copy. */
static double cost_s(const struct job *j, double per_matrix_s, double per_byte_s)
{
    double sum_s = 0;
    for (size_t i = j->first; i < j->end; i++) {
        const struct strait_lowrank_part *p = &j->w->plan.parts[i];
        const double bytes = 4.0 * (double)p->n_elems;
        if (p->shape.rank > 0)
            sum_s += per_matrix_s + bytes * per_byte_s;
        else if (j->plain)
            sum_s += bytes * j->w->copy_s_per_byte;
    }
    return sum_s;
}

static void run(struct strait_rank *r, enum strait_span_kind kind, struct job *j, double per_s,
                double per_byte_s)
{
    const struct strait_job job = {.resource = STRAIT_CPU,
                                   .cost_s =
                                       r->run->measured_cost ? NAN : cost_s(j, per_s, per_byte_s),
                                   .fn = r->run->real_payload ? all_parts : NULL,
                                   .arg = j};
    strait_rank_state_work(r, kind, &job);
}

/* --- set-up ------------------------------------------------------------------------------- */

/* Draw the same initial factors on all ranks: ACP-SGD's and PowerSGD's first steps need Q. */
static void draw_factors(struct strait_rank *r, const struct strait_lowrank_work *w)
{
    float *q = strait_values(r, w->factors[STRAIT_SIDE_Q]);
    for (size_t i = 0; i < w->plan.n && q; i++) {
        const struct strait_lowrank_part *p = &w->plan.parts[i];
        if (p->shape.rank > 0)
            strait_lowrank_draw(q + p->at[STRAIT_SIDE_Q], p->n_at[STRAIT_SIDE_Q],
                                strait_random_bits(r->run->seed, "low-rank factor", p->lo, 0));
    }
}

/* The order of BLAS's sums may depend on the operands' alignment: make it the same on all ranks, so
 * that equal factors stay equal. */
enum { ALIGNMENT = 64 };
static float *aligned(void *p)
{
    return (float *)(((uintptr_t)p + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

struct strait_lowrank_work *strait_lowrank_work_new(struct strait_rank *r, const char *codec,
                                                    size_t rank, bool plain_on_both_sides)
{
    const struct strait_model *m = strait_model(r);
    struct strait_lowrank_work *w = strait_alloc(r, 1, sizeof(*w));
    size_t side = 1;
    w->plan = strait_lowrank_plan(strait_alloc(r, m->n_rows, sizeof(*w->plan.parts)), m, rank,
                                  plain_on_both_sides);
    for (size_t i = 0; i < w->plan.n; i++) {
        const struct strait_lowrank *s = &w->plan.parts[i].shape;
        const size_t longer = s->n_rows > s->n_cols ? s->n_rows : s->n_cols;
        side = longer > side ? longer : side;
    }
    w->gradient = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    w->mean = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    w->error = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    for (int i = 0; i < 2; i++) {
        w->buffers[i] = strait_scratch(r, w->plan.n_elems[i]);
        w->factors[i] = strait_scratch(r, w->plan.n_elems[i]);
    }
    struct strait_tensor *all[] = {w->gradient,   w->mean,       w->error,     w->buffers[0],
                                   w->buffers[1], w->factors[0], w->factors[1]};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        strait_tensor_touch(r, all[i]);
    w->scratch = aligned(strait_alloc(
        r, strait_lowrank_work_elems(side, rank) + ALIGNMENT / sizeof(float), sizeof(float)));
    draw_factors(r, w);
    find_costs(w, strait_rank_state_of(r)->point, codec, rank);
    return w;
}

void strait_lowrank_backward(struct strait_rank *r, int layer, struct strait_tensor *x)
{
    if (strait_trains(r))
        strait_backward_into(r, layer, x);
    else
        strait_backward(r, layer);
}

int strait_lowrank_check(const struct strait_experiment *e, struct strait_error *err)
{
    if (strcmp(e->up.spec.ops->name, "none") == 0)
        return 0;
    return strait_refuse_at(
        err, e->file, "/codec",
        "expected \"none\", since \"%s\" sends factors of its own, found \"%s\"", e->strategy->name,
        e->up.spec.ops->name);
}

/* --- PowerSGD ----------------------------------------------------------------------------- */

/* M = error + gradient, stored in error. */
static void compensate(const struct views *v, size_t n_elems)
{
    for (size_t i = 0; i < n_elems; i++)
        v->m[i] += v->gradient[i];
}

static void p_of(const struct job *j)
{
    const struct views v = views_of(j);
    const struct strait_lowrank_part *p = j->part;
    if (p->shape.rank == 0) {
        memcpy(v.sent[STRAIT_SIDE_P], v.gradient, 4 * p->n_elems);
        return;
    }
    compensate(&v, p->n_elems);
    strait_lowrank_left(v.sent[STRAIT_SIDE_P], &p->shape, v.m, v.factor[STRAIT_SIDE_Q]);
}

void strait_lowrank_p(struct strait_rank *r, struct strait_lowrank_work *w)
{
    struct job j = {.w = w, .end = w->plan.n, .plain = true, .each = p_of};
    run(r, STRAIT_SPAN_ENCODE, &j, w->encode_s / 3, w->encode_s_per_byte / 3);
}

static void q_of(const struct job *j)
{
    const struct views v = views_of(j);
    const struct strait_lowrank_part *p = j->part;
    if (p->shape.rank == 0)
        return;
    memcpy(v.factor[STRAIT_SIDE_P], v.sent[STRAIT_SIDE_P], 4 * p->n_at[STRAIT_SIDE_P]);
    strait_lowrank_orthonormalise(v.factor[STRAIT_SIDE_P], p->shape.n_rows, p->shape.rank,
                                  j->w->scratch);
    strait_lowrank_right(v.sent[STRAIT_SIDE_Q], &p->shape, v.m, v.factor[STRAIT_SIDE_P]);
}

void strait_lowrank_q(struct strait_rank *r, struct strait_lowrank_work *w)
{
    struct job j = {.w = w, .end = w->plan.n, .each = q_of};
    run(r, STRAIT_SPAN_ENCODE, &j, w->encode_s / 3, w->encode_s_per_byte / 3);
}

/* Not in place: others may still read the sum in the buffer. */
static void mean_of(float *mean, const float *sum, size_t n, int n_ranks)
{
    for (size_t i = 0; i < n; i++)
        mean[i] = sum[i] / (float)n_ranks;
}

static void finish(const struct job *j)
{
    const struct views v = views_of(j);
    const struct strait_lowrank_part *p = j->part;
    if (p->shape.rank == 0) { /* nothing left to remember */
        mean_of(v.mean, v.sent[STRAIT_SIDE_P], p->n_elems, j->n_ranks);
        return;
    }
    mean_of(v.factor[STRAIT_SIDE_Q], v.sent[STRAIT_SIDE_Q], p->n_at[STRAIT_SIDE_Q], j->n_ranks);
    strait_lowrank_product(v.mean, &p->shape, v.factor[STRAIT_SIDE_P], v.factor[STRAIT_SIDE_Q]);
    for (size_t i = 0; i < p->n_elems; i++)
        v.m[i] -= v.mean[i];
}

void strait_lowrank_finish(struct strait_rank *r, struct strait_lowrank_work *w, int n_ranks)
{
    struct job j = {.w = w, .n_ranks = n_ranks, .end = w->plan.n, .plain = true, .each = finish};
    run(r, STRAIT_SPAN_DECODE, &j, w->encode_s / 3, w->encode_s_per_byte / 3);
}

/* --- ACP-SGD ------------------------------------------------------------------------------ */

static void compress(const struct job *j)
{
    const struct views v = views_of(j);
    const struct strait_lowrank_part *p = j->part;
    float *sent = v.sent[j->side], *other = v.factor[!j->side];
    if (p->shape.rank == 0) {
        memcpy(sent, v.gradient, 4 * p->n_elems);
        return;
    }
    compensate(&v, p->n_elems);
    strait_lowrank_orthonormalise(other, p->n_at[!j->side] / p->shape.rank, p->shape.rank,
                                  j->w->scratch);
    if (j->side == STRAIT_SIDE_P) {
        strait_lowrank_left(sent, &p->shape, v.m, other);
        strait_lowrank_product(v.mean, &p->shape, sent, other);
    } else {
        strait_lowrank_right(sent, &p->shape, v.m, other);
        strait_lowrank_product(v.mean, &p->shape, other, sent);
    }
    for (size_t i = 0; i < p->n_elems; i++)
        v.m[i] -= v.mean[i];
}

void strait_lowrank_compress(struct strait_rank *r, struct strait_lowrank_work *w,
                             enum strait_side side, size_t first, size_t end)
{
    struct job j = {
        .w = w, .side = side, .first = first, .end = end, .plain = true, .each = compress};
    run(r, STRAIT_SPAN_ENCODE, &j, w->encode_s, w->encode_s_per_byte);
}

static void decompress(const struct job *j)
{
    const struct views v = views_of(j);
    const struct strait_lowrank_part *p = j->part;
    if (p->shape.rank == 0) {
        mean_of(v.mean, v.sent[j->side], p->n_elems, j->n_ranks);
        return;
    }
    mean_of(v.factor[j->side], v.sent[j->side], p->n_at[j->side], j->n_ranks);
    strait_lowrank_product(v.mean, &p->shape, v.factor[STRAIT_SIDE_P], v.factor[STRAIT_SIDE_Q]);
}

void strait_lowrank_decompress(struct strait_rank *r, struct strait_lowrank_work *w,
                               enum strait_side side, int n_ranks)
{
    struct job j = {.w = w,
                    .side = side,
                    .n_ranks = n_ranks,
                    .end = w->plan.n,
                    .plain = true,
                    .each = decompress};
    run(r, STRAIT_SPAN_DECODE, &j, w->decode_s, w->decode_s_per_byte);
}
