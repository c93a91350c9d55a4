#include "kfac_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kfac_values.h"
#include "workloads/train/collectives/legal.h"

const char *const kfac_encodes[] = {"gradients", "factors", "all", NULL};

enum { END = -1, NONE = KFAC_NONE };
static const double MIN_S = 1e-5; /* of contention that is made up for */
static const double LONGEST_INVERSE_S = 1e12;

/* --- the lane ----------------------------------------------------------------------------- */

static void call(struct strait_rank *lane, struct strait_group world, const struct kfac_job *job)
{
    const double pack_s = world.n > 1 ? job->n_factors * strait_param(lane, "pack") : 0;
    strait_launch(lane);
    if (pack_s > 0)
        strait_work(lane, STRAIT_SPAN_WAIT, STRAIT_TIMER, pack_s, NULL, NULL);
}

static void run_job(struct strait_rank *lane, struct strait_group world, const struct kfac_job *job,
                    struct strait_tensor *x)
{
    if (job->what == KFAC_ALL_REDUCE) {
        strait_all_reduce(lane, world, job->codec, x, STRAIT_AR_RING);
        return;
    }
    const double piece_bytes = strait_param(lane, "piece");
    const int n_pieces =
        piece_bytes > 0 ? (int)ceil(4.0 * (double)strait_n_elems(x) / piece_bytes) : 0;
    if (job->what == KFAC_REDUCE && n_pieces > 0)
        strait_reduce_pipelined(lane, world, job->root, job->codec, x, n_pieces);
    else if (job->what == KFAC_REDUCE)
        strait_reduce(lane, world, job->root, job->codec, x);
    else if (n_pieces > 0)
        strait_broadcast_pipelined(lane, world, job->root, job->codec, x, n_pieces);
    else
        strait_broadcast(lane, world, job->root, job->codec, x);
}

static void communicate(struct strait_rank *lane, void *arg)
{
    struct kfac *k = arg;
    struct strait_group world = strait_world(lane, KFAC_COLLECTIVE);
    for (int word; (word = strait_pend(lane, KFAC_ASK)) != END;) {
        const struct kfac_job *job = &k->jobs[word / 2];
        call(lane, world, job);
        const double start_s = strait_now_s(lane);
        k->since_s = start_s;
        run_job(lane, world, job, job->x[word % 2]);
        k->since_s = -1;
        k->busy_s = k->busy_s + strait_now_s(lane) - start_s;
        strait_post(lane, (int)job->tell, word / 2);
    }
}

/* Make up for what was computed since the last call as if no collective had been beside it: each
 * costs a share of the speed, and so do those beside the time that making up takes. */
static void contend(struct kfac *k)
{
    const double share = strait_n_ranks(k->r) > 1 ? strait_param(k->r, "contention") : 0;
    enum { MAX_TURNS = 10 };
    for (int i = 0; share > 0 && i < MAX_TURNS; i++) {
        const double since_s = k->since_s,
                     busy_s = k->busy_s + (since_s < 0 ? 0 : strait_now_s(k->r) - since_s),
                     beside_s = busy_s - k->paid_s;
        k->paid_s = busy_s;
        if (beside_s <= MIN_S)
            return;
        strait_work(k->r, STRAIT_SPAN_COMPUTE, strait_device(k->r), share * beside_s, NULL, NULL);
    }
}

/* Collectives while nothing is computed cost nothing. */
static void idle(struct kfac *k)
{
    k->paid_s = k->busy_s;
}

/* Waits by receiving, so that the time is logged as waiting. */
void kfac_wait(struct kfac *k, enum kfac_channel tell)
{
    for (; k->n_asked[tell] > 0; k->n_asked[tell]--)
        strait_drop(k->r, strait_recv(k->r, strait_me(k->r), (int)tell).packet);
    idle(k);
}

/* --- plans -------------------------------------------------------------------------------- */

/* The narrowest port and the largest delay to a neighbour. */
static void slowest(const struct kfac *k, double *bytes_per_s, double *delay_s)
{
    const struct strait_network *n = k->r->run->network;
    const int n_ranks = strait_n_ranks(k->r);
    *bytes_per_s = INFINITY;
    *delay_s = 0;
    for (int i = 0; i < n_ranks; i++) {
        *bytes_per_s = fmin(*bytes_per_s, strait_goodput_bytes_per_s(n, &n->out[i]));
        *bytes_per_s = fmin(*bytes_per_s, strait_goodput_bytes_per_s(n, &n->in[i]));
        if (n_ranks > 1)
            *delay_s = fmax(*delay_s, strait_path_delay_s(n, i, (i + 1) % n_ranks));
    }
}

static double frame_bytes_of(const struct kfac *k)
{
    return strait_network_frame_bytes(k->r->run->network);
}

void kfac_ring_cost(const struct kfac *k, double *alpha_s, double *beta_s_per_byte)
{
    const int n = strait_n_ranks(k->r);
    double bytes_per_s, delay_s;
    slowest(k, &bytes_per_s, &delay_s);
    *alpha_s = strait_launch_s(k->r) + 2 * (n - 1) * (delay_s + frame_bytes_of(k) / bytes_per_s);
    *beta_s_per_byte = 2.0 * (n - 1) / n / bytes_per_s;
}

double kfac_broadcast_s(const struct kfac *k, double bytes)
{
    const int n = strait_n_ranks(k->r);
    const double piece_bytes = strait_param(k->r, "piece"), launch_s = strait_launch_s(k->r);
    double bytes_per_s, delay_s;
    slowest(k, &bytes_per_s, &delay_s);
    if (piece_bytes > 0) { /* the first piece down the chain, then the others */
        const double n_pieces = ceil(bytes / piece_bytes),
                     piece_s = (bytes / n_pieces + frame_bytes_of(k)) / bytes_per_s;
        return launch_s + (n - 1) * (delay_s + piece_s) + (n > 1 ? (n_pieces - 1) * piece_s : 0);
    }
    return launch_s + strait_broadcast_s(n, (bytes + frame_bytes_of(k)) / bytes_per_s, delay_s);
}

double kfac_inverse_s(const struct kfac *k, int i)
{
    return k->factors[i].inverse_s / strait_device_speed(k->r);
}

void kfac_plan_buckets(struct kfac *k, const int *first, int n_buckets, int lo)
{
    for (int g = 0; g < n_buckets; g++)
        for (int i = first[g]; i < first[g + 1]; i++)
            k->plan.bucket_of[lo + i] = k->plan.n_buckets + g;
    k->plan.n_buckets += n_buckets;
}

void kfac_plan_full_buffers(struct kfac *k, double max_bytes)
{
    double *bytes = strait_alloc(k->r, (size_t)k->n, sizeof(*bytes));
    int *first = strait_alloc(k->r, (size_t)k->n + 1, sizeof(*first));
    for (int i = 0; i < k->n; i++) {
        bytes[i] = 4.0 * (double)k->factors[i].n_elems;
        k->plan.owner[i] = STRAIT_EVERYWHERE;
    }
    kfac_plan_buckets(k, first, strait_fuse_full(first, k->n, bytes, max_bytes), 0);
}

/* --- begin and end ------------------------------------------------------------------------ */

/* Buckets of layers from the last to the first, as gradients become ready. */
static void make_buckets(struct kfac *k)
{
    const struct strait_model *m = strait_model(k->r);
    const int n_layers = (int)m->n_layers;
    double *bytes = strait_alloc(k->r, m->n_layers, sizeof(*bytes));
    int *first = strait_alloc(k->r, m->n_layers + 1, sizeof(*first));
    for (int i = 0; i < n_layers; i++)
        bytes[i] = 4.0 * (double)m->layers[n_layers - 1 - i].n_elems;
    k->n_buckets = strait_fuse_full(first, n_layers, bytes, strait_param(k->r, "gradient_fusion"));
    k->jobs = strait_alloc(k->r, (size_t)k->n_buckets + 2 * (size_t)k->n + 1, sizeof(*k->jobs));
    for (int b = 0; b < k->n_buckets; b++) {
        struct kfac_job *job = &k->jobs[b];
        *job = (struct kfac_job){
            .what = KFAC_ALL_REDUCE, .codec = strait_codec(k->r, "up"), .tell = KFAC_GRADIENTS};
        for (int turn = 0; turn < 2; turn++)
            job->x[turn] =
                strait_tensor(k->r, STRAIT_GRADIENTS, n_layers - first[b + 1], n_layers - first[b]);
        for (int i = first[b]; i < first[b + 1]; i++)
            k->bucket_of[n_layers - 1 - i] = b;
    }
}

static struct strait_factor_costs costs_of(const struct strait_experiment *e)
{
    return (struct strait_factor_costs){
        .factor_speed = strait_experiment_param(e, "factor_speed"),
        .matrix_flop_per_s = 1e9 * strait_experiment_param(e, "matrix_gflops"),
        .inverse_base_s = strait_experiment_param(e, "inverse_base"),
        .inverse_growth = strait_experiment_param(e, "inverse_growth"),
        .inverse_cubic_s = strait_experiment_param(e, "inverse_cubic"),
        .inverse_s = &e->inverse_s,
        .largest_dim = (size_t)strait_experiment_param(e, "largest_dim")};
}

struct kfac *kfac_begin(struct strait_rank *r)
{
    const struct strait_model *m = strait_model(r);
    const struct strait_factor_costs costs = costs_of(strait_experiment(r));
    struct kfac *k = strait_alloc(r, 1, sizeof(*k));
    k->r = r;
    k->round = -1;
    k->since_s = -1;
    k->n = 2 * strait_n_factor_layers(m, costs.largest_dim);
    k->factors = strait_alloc(r, (size_t)k->n, sizeof(*k->factors));
    strait_factors_of(k->factors, m, &costs);
    k->plan.owner = strait_alloc(r, (size_t)k->n, sizeof(int));
    k->plan.bucket_of = strait_alloc(r, (size_t)k->n, sizeof(int));
    k->bucket_end = strait_alloc(r, (size_t)k->n, sizeof(int));
    k->broadcast_end = strait_alloc(r, (size_t)k->n, sizeof(int));
    k->factor_before = strait_alloc(r, m->n_layers, sizeof(int));
    k->factor_after = strait_alloc(r, m->n_layers, sizeof(int));
    k->bucket_of = strait_alloc(r, m->n_layers, sizeof(int));
    for (size_t l = 0; l < m->n_layers; l++)
        k->factor_before[l] = k->factor_after[l] = NONE;
    for (int i = 0; i < k->n; i++)
        (k->factors[i].of_input ? k->factor_before : k->factor_after)[k->factors[i].layer] = i;
    make_buckets(k);
    return k;
}

/* A buffer for the factors of one bucket, or for one factor; `completes`: the bucket's last
 * factor. */
static struct kfac_job job_for(struct kfac *k, size_t n_elems, int n_factors, int root,
                               enum kfac_channel tell)
{
    struct strait_tensor *x = strait_scratch(k->r, n_elems);
    const bool sum = tell == KFAC_FACTORS;
    const enum kfac_encode encode = (enum kfac_encode)strait_param(k->r, "encode");
    const bool encodes = encode == KFAC_ENCODE_ALL || (sum && encode == KFAC_ENCODE_FACTORS);
    return (struct kfac_job){
        .what = !sum                            ? KFAC_BROADCAST
                : k->plan.to_owner && root >= 0 ? KFAC_REDUCE
                                                : KFAC_ALL_REDUCE,
        .x = {x, x}, /* reused only after an all-reduce of gradients was waited for */
        .codec = strait_codec(k->r, encodes ? "up" : "none"),
        .root = root,
        .n_factors = n_factors,
        .tell = tell};
}

static size_t bucket_elems(const struct kfac *k, int bucket, int *n_factors, int *last)
{
    size_t n_elems = 0;
    *n_factors = 0;
    for (int i = 0; i < k->n; i++)
        if (k->plan.bucket_of[i] == bucket) {
            n_elems += k->factors[i].n_elems;
            ++*n_factors;
            *last = i;
        }
    return n_elems;
}

void kfac_start(struct kfac *k)
{
    const struct kfac_plan *p = &k->plan;
    const struct strait_model *m = strait_model(k->r);
    int last = 0, n_factors;
    k->n_jobs = k->n_buckets;
    for (int i = 0; i < k->n; i++)
        k->bucket_end[i] = k->broadcast_end[i] = NONE;
    for (int g = 0; g < p->n_buckets; g++) {
        const size_t n_elems = bucket_elems(k, g, &n_factors, &last);
        k->bucket_end[last] = k->n_jobs;
        k->jobs[k->n_jobs++] = job_for(k, n_elems, n_factors, p->owner[last], KFAC_FACTORS);
    }
    for (int g = 0; p->broadcasts == KFAC_BUCKETS_OF_INVERSES && g < p->n_buckets; g++) {
        const size_t n_elems = bucket_elems(k, g, &n_factors, &last);
        if (p->owner[last] == STRAIT_EVERYWHERE)
            continue;
        k->broadcast_end[last] = k->n_jobs;
        k->jobs[k->n_jobs++] = job_for(k, n_elems, n_factors, p->owner[last], KFAC_INVERSES);
    }
    for (int i = 0; i < k->n; i++) {
        const struct strait_factor *f = &k->factors[i];
        const bool by_layer =
            p->broadcasts == KFAC_EACH_GRADIENT || p->broadcasts == KFAC_EACH_LAYERS_INVERSES;
        if ((p->broadcasts != KFAC_EACH_INVERSE && (!by_layer || !f->of_input)) ||
            p->owner[i] == STRAIT_EVERYWHERE)
            continue;
        k->broadcast_end[i] = k->n_jobs;
        k->jobs[k->n_jobs++] = job_for(
            k,
            p->broadcasts == KFAC_EACH_GRADIENT ? m->layers[f->layer].n_elems
            : by_layer                          ? f->n_elems + k->factors[k->n - 1 - i].n_elems
                                                : f->n_elems,
            p->broadcasts == KFAC_EACH_GRADIENT ? 0 : 1 + by_layer, p->owner[i], KFAC_INVERSES);
    }
    kfac_values_begin(k);
    k->lane = strait_spawn(k->r, communicate, k);
}

void kfac_end(struct kfac *k)
{
    strait_post(k->r, KFAC_ASK, END);
    strait_join(k->r, k->lane);
}

/* --- steps -------------------------------------------------------------------------------- */

bool kfac_updates(struct kfac *k)
{
    return ++k->round % (int)strait_param(k->r, "update_freq") == 0;
}

void kfac_compute(struct kfac *k, int i)
{
    const struct strait_factor *f = &k->factors[i];
    strait_factor_into(k->r, f->layer, f->of_input, kfac_factor(k, i),
                       f->compute_s / strait_device_speed(k->r));
    contend(k);
    kfac_note_trace(k, i);
    if (k->plan.pipelined && k->bucket_end[i] != NONE)
        kfac_ask(k, k->bucket_end[i]);
}

static void send_buckets(struct kfac *k)
{
    for (int i = 0; i < k->n; i++)
        if (k->bucket_end[i] != NONE)
            kfac_ask(k, k->bucket_end[i]);
}

void kfac_forward(struct kfac *k, bool with_factors)
{
    for (int l = 0; l < (int)strait_model(k->r)->n_layers; l++) {
        if (with_factors && k->factor_before[l] != NONE)
            kfac_compute(k, k->factor_before[l]);
        strait_forward(k->r, l);
        contend(k);
    }
}

/* A bucket is requested after the factors of its last layer, so an all-reduce of gradients follows
 * all sums of factors, and a rank that has waited for it may overwrite factors. */
void kfac_backward(struct kfac *k, bool with_factors)
{
    const struct strait_model *m = strait_model(k->r);
    size_t end = 0; /* end of the layer in its bucket */
    for (int l = (int)m->n_layers - 1; l >= 0; l--) {
        const int b = k->bucket_of[l];
        struct strait_tensor *x = k->jobs[b].x[k->round % 2];
        if (l + 1 == (int)m->n_layers || k->bucket_of[l + 1] != b)
            end = strait_n_elems(x);
        const size_t start = end - m->layers[l].n_elems;
        strait_backward_into(k->r, l, strait_range(k->r, x, start, end));
        end = start;
        contend(k);
        if (with_factors && k->factor_after[l] != NONE)
            kfac_compute(k, k->factor_after[l]);
        if (l == 0 && with_factors)
            kfac_send_traces(k);
        if (l == 0 || k->bucket_of[l - 1] != b)
            kfac_ask(k, b);
    }
}

static void invert_if_mine(struct kfac *k, int i)
{
    const int owner = k->plan.owner[i];
    if (owner == STRAIT_EVERYWHERE || owner == strait_me(k->r))
        kfac_invert(k, i);
    idle(k);
}

/* Invert every factor, at its owner or here; each broadcast starts when its owner's work is
 * done. */
static void invert_and_broadcast(struct kfac *k)
{
    const bool by_layer = k->plan.broadcasts == KFAC_EACH_LAYERS_INVERSES;
    for (int i = 0; i < (by_layer ? k->n / 2 : k->n); i++) {
        invert_if_mine(k, i);
        if (by_layer)
            invert_if_mine(k, k->n - 1 - i);
        if (k->broadcast_end[i] != NONE)
            kfac_ask(k, k->broadcast_end[i]);
    }
}

void kfac_broadcast_gradient(struct kfac *k, int i)
{
    kfac_ask(k, k->broadcast_end[i]);
}

/* Precondition all gradients, then the optimiser's step. */
static void finish(struct kfac *k)
{
    for (int i = 0; i < k->n; i++)
        kfac_precondition(k, i);
    kfac_step(k);
}

void kfac_train(struct kfac *k)
{
    const bool behind = k->plan.pipelined;
    kfac_start(k);
    while (strait_round(k->r)) {
        const bool update = kfac_updates(k);
        kfac_forward(k, update && behind);
        kfac_backward(k, update && behind);
        kfac_wait(k, KFAC_GRADIENTS);
        if (update) {
            for (int i = 0; i < k->n && !behind; i++)
                kfac_compute(k, i);
            if (!behind)
                send_buckets(k);
            kfac_wait(k, KFAC_FACTORS);
            kfac_take_traces(k);
            invert_and_broadcast(k);
            kfac_wait(k, KFAC_INVERSES); /* none where everybody inverts everything */
        }
        finish(k);
    }
    kfac_end(k);
}

/* --- checks of an experiment ---------------------------------------------------------------- */

/* A growth that suits factors of hundreds has no number for thousands. */
static int check_inverses(const struct strait_experiment *e, size_t n, struct strait_error *err)
{
    const struct strait_factor_costs costs = costs_of(e);
    struct strait_factor *all = calloc(n, sizeof(*all));
    size_t dim = 0;
    if (!all)
        return strait_error_memory(err, NULL);
    strait_factors_of(all, e->model, &costs);
    for (size_t i = 0; i < n; i++)
        dim = all[i].dim > dim ? all[i].dim : dim;
    free(all);
    if (strait_inverse_s(&costs, dim) <= LONGEST_INVERSE_S)
        return 0;
    return strait_refuse_at(err, e->file, "/strategy/inverse_growth",
                            "expected inverses of at most %g s, found %.3g s for the largest "
                            "factor, %zu",
                            LONGEST_INVERSE_S, strait_inverse_s(&costs, dim), dim);
}

int kfac_check(const struct strait_experiment *e, struct strait_error *err)
{
    const size_t largest_dim = (size_t)strait_experiment_param(e, "largest_dim");
    const int n_layers = strait_n_factor_layers(e->model, largest_dim);
    if (n_layers == 0)
        return strait_refuse_at(
            err, e->file, "/model",
            "expected a model with Linear or Conv layers of factors up to %zu, found none in %s",
            largest_dim, e->model->name);
    if (check_inverses(e, 2 * (size_t)n_layers, err) != 0)
        return -1;
    if (e->trains && kfac_values_check(e, err) != 0)
        return -1;
    if (!e->trains && strait_experiment_param(e, "encode") != KFAC_ENCODE_GRADIENTS)
        return strait_refuse_at(
            err, e->file, "/strategy/encode",
            "expected \"gradients\" without \"training\", since factors are zeros "
            "then, found \"%s\"",
            kfac_encodes[(int)strait_experiment_param(e, "encode")]);
    return strait_ring_check(e, err);
}

bool kfac_uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const bool tree =
        strait_experiment_has_param(e, "piece") && strait_experiment_param(e, "piece") == 0;
    return channel == KFAC_COLLECTIVE &&
           (strait_all_reduce_uses(STRAIT_AR_RING, e->n_ranks, src, dst) ||
            (tree && strait_tree_uses(e->n_ranks, src, dst)));
}
