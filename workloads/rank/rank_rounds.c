/* A rank's rounds: what it computes in them, and how it begins and ends. */
#include "rank.h"

#include <math.h>
#include <stdlib.h>

#include "core/random.h"
#include "learning.h"

/* --- rounds ------------------------------------------------------------------------------- */

double strait_param(const struct strait_rank *r, const char *name)
{
    return strait_experiment_param(strait_rank_state_of(r)->point->experiment, name);
}

double strait_draw(const struct strait_rank *r, const char *purpose)
{
    strait_rank_state_of(r)->log->drew = true;
    return strait_random_unit(r->run->seed, purpose, (uint64_t)r->me,
                              (uint64_t)atomic_load(&strait_rank_state_of(r)->round));
}

bool strait_round(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const double now_s = strait_now_s(r);
    if (atomic_load(&w->round) >= 0) {
        const struct strait_times t = {w->round_start_s, w->round_start_s, now_s};
        strait_rank_state_span(r, STRAIT_SPAN_ROUND, &t, NULL, -1, -1, -1);
        if (w->learning)
            strait_learning_end_round(r, now_s, strait_is_last_round(r));
    }
    w->round_start_s = now_s;
    if (w->learning && w->learning->has_reached)
        return false;
    return atomic_fetch_add(&w->round, 1) + 1 < w->point->n_rounds;
}

bool strait_is_last_round(const struct strait_rank *r)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    return atomic_load(&w->round) + 1 >= w->point->n_rounds;
}

void strait_enter_round(struct strait_rank *r, int round)
{
    atomic_store(&strait_rank_state_of(r)->round, round);
}

/* --- compute ------------------------------------------------------------------------------ */

const struct strait_network *strait_network(const struct strait_rank *r)
{
    return strait_experiment(r)->network;
}

double strait_add_s_per_byte(const struct strait_rank *r)
{
    return 1 / strait_rank_state_of(r)->add_bytes_per_s;
}

double strait_copy_s_per_byte(const struct strait_rank *r)
{
    return 1 / strait_rank_state_of(r)->copy_bytes_per_s;
}

void strait_use_host_memory(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    strait_profile_memory(&w->add_bytes_per_s, &w->copy_bytes_per_s, w->point->profile,
                          w->point->experiment->model->name);
}

void strait_use_memory(struct strait_rank *r, double bytes_per_s)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    w->add_bytes_per_s = w->copy_bytes_per_s = bytes_per_s;
}

static double cost_s(const struct strait_rank *r, double model_s)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    const double slowness = w->slowness * strait_experiment_slowness(w->point->experiment, w->me);
    return model_s / strait_device_speed(r) * slowness;
}

static void compute(struct strait_rank *r, double model_s)
{
    if (model_s > 0)
        strait_work(r, STRAIT_SPAN_COMPUTE, strait_device(r), cost_s(r, model_s), NULL, NULL);
}

void strait_set_slowness(struct strait_rank *r, double factor)
{
    strait_rank_state_of(r)->slowness = factor;
}

static double forward_s(const struct strait_rank *r, int layer)
{
    const struct strait_model *m = strait_model(r);
    return layer == STRAIT_ALL_LAYERS
               ? m->fwd_s
               : m->layers[layer].fwd_s_p50 * strait_rank_state_of(r)->point->layer_fwd_scale;
}

void strait_forward(struct strait_rank *r, int layer)
{
    if (strait_trains(r))
        strait_learning_forget_gradient(r);
    compute(r, forward_s(r, layer));
}

void strait_forward_share(struct strait_rank *r, int first, int end, double share)
{
    double batch_s = 0;
    for (int l = first; l < end; l++)
        batch_s += forward_s(r, l);
    compute(r, share * batch_s);
}

static double backward_s(const struct strait_rank *r, int layer)
{
    const struct strait_model *m = strait_model(r);
    return layer == STRAIT_ALL_LAYERS
               ? m->bwd_s
               : m->layers[layer].bwd_s_p50 * strait_rank_state_of(r)->point->layer_bwd_scale;
}

void strait_backward(struct strait_rank *r, int layer)
{
    compute(r, backward_s(r, layer));
}

void strait_backward_share(struct strait_rank *r, int first, int end, double share)
{
    double batch_s = 0;
    for (int l = first; l < end; l++)
        batch_s += backward_s(r, l);
    compute(r, share * batch_s);
}

void strait_forward_micro(struct strait_rank *r, const struct strait_microbatch *m,
                          struct strait_tensor *w, struct strait_tensor *in,
                          struct strait_tensor *out)
{
    double batch_s = 0;
    for (int l = m->first; l < m->end; l++)
        batch_s += forward_s(r, l);
    if (strait_trains(r))
        strait_learning_forward_micro(r, m, w, in, out, cost_s(r, batch_s / m->n_micro));
    else
        compute(r, batch_s / m->n_micro);
}

void strait_backward_micro(struct strait_rank *r, const struct strait_microbatch *m,
                           struct strait_tensor *w, struct strait_tensor *in,
                           struct strait_tensor *dy, struct strait_tensor *dx,
                           struct strait_tensor *gradient)
{
    double batch_s = 0;
    for (int l = m->first; l < m->end; l++)
        batch_s += backward_s(r, l);
    if (strait_trains(r))
        strait_learning_backward_micro(r, m, w, in, dy, dx, gradient,
                                       cost_s(r, batch_s / m->n_micro));
    else
        compute(r, batch_s / m->n_micro);
}

void strait_backward_into(struct strait_rank *r, int layer, struct strait_tensor *x)
{
    const double time_s = cost_s(r, backward_s(r, layer));
    struct strait_tensor_refill refill = {strait_rank_state_of(r), x};
    strait_tensor_touch(r, x);
    if (strait_trains(r))
        strait_learning_backward(r, x, time_s);
    else
        strait_work(r, STRAIT_SPAN_COMPUTE, strait_device(r), time_s,
                    r->run->real_payload ? strait_tensor_refill : NULL, &refill);
}

void strait_factor_into(struct strait_rank *r, int layer, bool of_input, struct strait_tensor *x,
                        double cost_s)
{
    if (strait_trains(r))
        strait_learning_factor(r, x, layer, of_input, cost_s);
    else if (cost_s > 0)
        strait_work(r, STRAIT_SPAN_COMPUTE, strait_device(r), cost_s, NULL, NULL);
}

static void count_batches(struct strait_rank *r, double n)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    pthread_mutex_lock(&w->mutex);
    w->log->n_batches += n;
    pthread_mutex_unlock(&w->mutex);
}

/* Updating n tensors takes the software that long, beyond the optimiser's share of the model. */
static void update(struct strait_rank *r, size_t n_tensors)
{
    const struct strait_experiment *e = strait_experiment(r);
    const double each_s = e->n_ranks > 1 && strait_experiment_has_param(e, "update")
                              ? strait_experiment_param(e, "update")
                              : 0;
    if (each_s > 0)
        strait_work(r, STRAIT_SPAN_COMPUTE, strait_device(r), (double)n_tensors * each_s, NULL,
                    NULL);
}

static void step(struct strait_rank *r, double model_s, struct strait_tensor *x, size_t lo,
                 size_t hi, double weight)
{
    count_batches(r, (double)(hi - lo) / (double)strait_model(r)->n_elems);
    if (x && strait_trains(r))
        strait_learning_step(r, x, lo, hi, weight, cost_s(r, model_s));
    else
        compute(r, model_s);
}

void strait_step(struct strait_rank *r, struct strait_tensor *x, double weight)
{
    update(r, strait_model(r)->n_rows);
    step(r, strait_model(r)->opt_s, x, 0, strait_model(r)->n_elems, weight);
}

void strait_resume_part(struct strait_rank *r, double share, void (*fn)(void *), void *arg)
{
    count_batches(r, share);
    strait_work(r, STRAIT_SPAN_COMPUTE, strait_device(r), cost_s(r, share * strait_model(r)->opt_s),
                r->run->real_payload ? fn : NULL, arg);
}

void strait_step_layers(struct strait_rank *r, int first, int end, struct strait_tensor *x,
                        double weight)
{
    const struct strait_model *m = strait_model(r);
    size_t lo = 0, hi = 0, n_tensors = 0;
    for (int l = 0; l < end; l++) {
        lo += l < first ? m->layers[l].n_elems : 0;
        hi += m->layers[l].n_elems;
        n_tensors += l < first ? 0 : m->layers[l].n_rows;
    }
    update(r, n_tensors);
    step(r, m->opt_s * (double)(hi - lo) / (double)m->n_elems, x, lo, hi, weight);
}

void strait_step_shard(struct strait_rank *r, struct strait_tensor *x, double weight)
{
    const struct strait_model *m = strait_model(r);
    step(r, m->opt_s * (double)strait_n_elems(x) / (double)m->n_elems, x, x->lo, x->hi, weight);
}

double strait_train_step_s(const struct strait_rank *r)
{
    return cost_s(r, strait_model_step_s(strait_model(r)));
}

void strait_train(struct strait_rank *r, struct strait_tensor *from, struct strait_tensor *to,
                  int n_steps)
{
    const double model_s = n_steps * strait_model_step_s(strait_model(r));
    count_batches(r, n_steps);
    strait_tensor_touch(r, to);
    if (strait_trains(r))
        strait_learning_train(r, from, to, n_steps, cost_s(r, model_s));
    else
        compute(r, model_s);
}

/* --- begin and end ------------------------------------------------------------------------ */

/* A server receives from all clients: it may keep the most spans, the others share the rest. */
static size_t max_spans(const struct strait_rank *r, const struct strait_trial *point)
{
    const bool has_server = point->experiment->strategy->has_server;
    if (point->plans_memory) /* who asks what a run holds reads no spans */
        return 1;
    if (has_server && r->me == 0)
        return STRAIT_LOG_MAX_SPANS;
    const size_t all = STRAIT_LOGS_MAX_SPANS - (has_server ? STRAIT_LOG_MAX_SPANS : 0);
    const size_t share = all / (size_t)r->run->n_ranks;
    return share < STRAIT_LOG_MAX_SPANS ? share : STRAIT_LOG_MAX_SPANS;
}

/* From so many ranks on, what is not packed takes most of the memory of a rank's log. */
enum { MANY_RANKS = 4096, SPANS_OF_MANY = 8 };

/* All ranks together have so many spans unpacked, in whole blocks of a rank; at least one. */
static void bound_spans(struct strait_spans *s, int n_ranks)
{
    s->n_a_block = n_ranks < MANY_RANKS ? STRAIT_SPANS_BLOCK : SPANS_OF_MANY;
    const unsigned blocks = STRAIT_SPANS_UNPACKED / s->n_a_block / (unsigned)n_ranks;
    s->max_unpacked = blocks > 0 ? blocks : 1;
}

void strait_rank_begin(struct strait_rank *r)
{
    if (r->me >= strait_n_ranks(r)) /* where flows of others end: it has no model */
        return;
    struct strait_rank_state *w = calloc(1, sizeof(*w));
    struct strait_error err = {0};
    if (!w) {
        strait_error_memory(&err, NULL);
        r->backend->ops->fail(r, &err);
    }
    w->point = r->run->context;
    w->add_bytes_per_s = w->point->add_bytes_per_s;
    w->copy_bytes_per_s = w->point->copy_bytes_per_s;
    w->me = r->me;
    w->leaves = r->run->network->out[r->me].present != NULL;
    w->log = &r->run->logs[r->me];
    w->log->error_over_bound = -1;
    w->log->max_spans = max_spans(r, w->point);
    bound_spans(&w->log->spans, r->run->n_ranks);
    w->slowness = 1;
    atomic_init(&w->round, -1);
    pthread_mutex_init(&w->mutex, NULL);
    r->wrap = w;
    if (w->point->experiment->strategy->has_server && w->me == 0)
        strait_use_host_memory(r);
    if (w->point->learn && !(w->learning = strait_learning_new(w->point, w->me)))
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    if (w->point->plans_memory)
        w->footprint = strait_alloc(r, 1, sizeof(*w->footprint));
    strait_coding_begin(r);
    strait_tensor_prepare(r);
    strait_coding_rehearse(r);
    if (w->footprint)
        w->footprint->rank = r;
}

static void follow_strategy(struct strait_rank *r)
{
    strait_rank_state_of(r)->point->experiment->strategy->rank_main(r);
    if (strait_trains(r))
        strait_learning_end(r);
}

void strait_rank_main(struct strait_rank *r)
{
    if (r->run->network->n_others == 0)
        follow_strategy(r);
    else if (r->me < strait_n_ranks(r))
        strait_others_beside(r, follow_strategy);
    else
        strait_others_main(r);
}

void strait_rank_end(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    if (!w)
        return;
    if (w->footprint) {
        w->footprint->rank = NULL;
        w->footprint->has_ended = true;
    }
    w->log->peak_bytes = (uint64_t)atomic_load(&w->peak_bytes);
    strait_coding_end(r);
    if (w->learning)
        strait_learning_score_rest(r);
    strait_learning_free(w->learning);
    w->log->allocated_bytes = w->footprint ? strait_footprint_end(w->footprint) : 0;
    strait_tensor_free_all(w);
    for (size_t i = 0; i < w->n_allocs; i++)
        free(w->allocs[i]);
    free(w->allocs);
    pthread_mutex_destroy(&w->mutex);
    free(w);
    r->wrap = NULL;
}
