/* Iterations of a Kineto trace: which gradients each makes when, and what the operations of its
 * layers take. */
#include <math.h>
#include <stdlib.h>

#include "kineto.h"

enum { MAX_GRADIENTS = 100000 };
static const uint32_t NONE = UINT32_MAX;

/* Numbers are given as operations begin; where times are whole microseconds, they tell which of two
 * is inside of the other. */
static int by_lane(const void *a, const void *b)
{
    const struct strait_kineto_op *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    if (x->id != y->id && x->id > 0 && y->id > 0)
        return x->id < y->id ? -1 : 1;
    return (x->end_us < y->end_us) - (x->end_us > y->end_us);
}

static bool is_note(const struct strait_kineto_op *op)
{
    return op->kind >= STRAIT_KINETO_ITERATION;
}

/* Which outermost operation each is inside of. Operations of a thread are nested; what the autograd
 * engine runs is outermost. Where times are whole microseconds, cut off, an inner one may seem to
 * begin as its outer one ends, and to end one later. */
static void find_tops(struct strait_kineto *k)
{
    uint32_t top = NONE;
    for (uint32_t i = 0; i < k->n_ops; i++) {
        struct strait_kineto_op *op = &k->ops[i];
        op->top = i;
        if (is_note(op))
            continue;
        const struct strait_kineto_op *outer = top == NONE ? NULL : &k->ops[top];
        const bool is_later =
            outer && (op->start_us > outer->end_us ||
                      (op->start_us == outer->end_us && op->end_us > outer->end_us + 1));
        if (!outer || op->kind != STRAIT_KINETO_OP || outer->lane != op->lane || is_later)
            top = i;
        op->top = top;
    }
}

/* The outermost operation that runs in a lane at a moment; NONE: none does. */
static uint32_t running(const struct strait_kineto *k, const struct strait_kineto_launch *launch)
{
    size_t low = 0, high = k->n_ops; /* the first that begins later */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct strait_kineto_op *op = &k->ops[middle];
        if (op->lane < launch->lane || (op->lane == launch->lane && op->start_us <= launch->at_us))
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0 && k->ops[low - 1].lane == launch->lane && is_note(&k->ops[low - 1]))
        low--;
    if (low == 0 || k->ops[low - 1].lane != launch->lane)
        return NONE;
    const uint32_t top = k->ops[low - 1].top;
    return launch->at_us <= k->ops[top].end_us ? top : NONE;
}

static bool find_launches(struct strait_kineto *k)
{
    for (size_t i = 0; i < k->n_launches; i++) {
        const struct strait_kineto_launch *launch = &k->launches[i];
        const uint32_t top = running(k, launch);
        if (top != NONE && strait_labels_find(&k->launched, &launch->id, 4) < 0 &&
            !strait_labels_put(&k->launched, &launch->id, 4, top))
            return false;
    }
    return true;
}

/* What kernels take counts for the outermost operation that started them. */
static bool add_kernels(struct strait_kineto *k)
{
    if (!find_launches(k))
        return false;
    if (k->n_kernels > 0 && !(k->gpu = calloc(k->n_ops + 1, sizeof(*k->gpu))))
        return false;
    for (uint32_t i = 0; i < k->n_ops && k->n_kernels > 0; i++)
        if (k->ops[i].id > 0 && strait_labels_find(&k->ids, &k->ops[i].id, 4) < 0 &&
            !strait_labels_put(&k->ids, &k->ops[i].id, 4, k->ops[i].top))
            return false;
    for (size_t i = 0; i < k->n_kernels; i++) {
        const struct strait_kineto_kernel *kernel = &k->kernels[i];
        const struct strait_labels *ids = kernel->by_launch ? &k->launched : &k->ids;
        const int64_t at = strait_labels_find(ids, &kernel->id, 4);
        if (at < 0)
            continue;
        struct strait_kineto_gpu *gpu = &k->gpu[ids->items[at].value];
        gpu->start_us = gpu->us > 0 ? fmin(gpu->start_us, kernel->start_us) : kernel->start_us;
        gpu->us += kernel->end_us - kernel->start_us;
        gpu->end_us = fmax(gpu->end_us, kernel->end_us);
    }
    return true;
}

/* --- one iteration ------------------------------------------------------------------------ */

static double time_us(const struct strait_kineto_maker *m, uint32_t at)
{
    const struct strait_kineto_op *op = &m->k->ops[at];
    return m->k->gpu ? m->k->gpu[at].us : op->end_us - op->start_us;
}

/* When its work began and ended: that of its kernels, if the trace has any. False: it had none. */
static bool span_of(double span_us[2], const struct strait_kineto_maker *m, uint32_t at)
{
    const struct strait_kineto_op *op = &m->k->ops[at];
    span_us[0] = m->k->gpu ? m->k->gpu[at].start_us : op->start_us;
    span_us[1] = m->k->gpu ? m->k->gpu[at].end_us : op->end_us;
    return !m->k->gpu || m->k->gpu[at].us > 0;
}

static uint32_t forward_of(const struct strait_kineto_maker *m, const struct strait_kineto_op *op)
{
    const int64_t at = op->sequence > 0 ? strait_labels_find(&m->forward, &op->sequence, 4) : -1;
    return at >= 0 ? m->forward.items[at].value : NONE;
}

/* The shape that AccumulateGrad, inside of this one, was given. */
static uint32_t dims_of(const struct strait_kineto *k, uint32_t top)
{
    for (uint32_t i = top; i < k->n_ops && k->ops[i].top == top; i++) {
        const uint32_t dims = k->ops[i].dims;
        if (k->labels.items[dims].len > 0)
            return dims;
    }
    return NONE;
}

/* Gradients in the order in which they were made, and the layers that they belong to. */
static bool gather(struct strait_kineto_maker *m, struct strait_kineto_iteration *it, size_t first,
                   size_t end)
{
    const struct strait_kineto_op *ops = m->k->ops;
    uint32_t forward = NONE, node = NONE;
    double began_us = INFINITY, ended_us = -INFINITY;
    for (size_t i = first; i < end; i++) {
        const struct strait_kineto_op *op = &ops[m->tops[i]];
        if (op->kind != STRAIT_KINETO_BACKWARD && op->kind != STRAIT_KINETO_ACCUMULATE)
            continue;
        double span_us[2];
        if (span_of(span_us, m, m->tops[i])) {
            began_us = fmin(began_us, span_us[0]);
            ended_us = fmax(ended_us, span_us[1]);
        }
        if (op->kind == STRAIT_KINETO_BACKWARD) {
            const uint32_t found = forward_of(m, op);
            forward = found != NONE ? found : forward;
            node = m->tops[i];
        } else if (forward != NONE && it->n_gradients < MAX_GRADIENTS) {
            struct strait_kineto_gradient *more =
                realloc(it->gradients, (it->n_gradients + 1) * sizeof(*it->gradients));
            if (!more)
                return false;
            it->gradients = more;
            it->gradients[it->n_gradients++] = (struct strait_kineto_gradient){
                .of = forward,
                .dims = dims_of(m->k, m->tops[i]),
                .ready_us = m->k->gpu && node != NONE ? fmax(m->k->gpu[node].end_us, span_us[1])
                                                      : span_us[1]};
        }
    }
    for (size_t i = 0; i < it->n_gradients; i++)
        it->gradients[i].ready_us = fmax(it->gradients[i].ready_us - began_us, 0);
    it->total_us[1] = ended_us > began_us ? ended_us - began_us : 0;
    it->total_us[0] = began_us; /* until the forward pass' beginning is known */
    return true;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Operations are sorted by thread and start, so that their numbers are the forward order. */
static bool number_layers(struct strait_kineto_iteration *it)
{
    it->layers = malloc((it->n_gradients + 1) * sizeof(*it->layers));
    it->fwd_us = calloc(it->n_gradients + 1, sizeof(*it->fwd_us));
    it->bwd_us = calloc(it->n_gradients + 1, sizeof(*it->bwd_us));
    if (!it->layers || !it->fwd_us || !it->bwd_us)
        return false;
    for (size_t i = 0; i < it->n_gradients; i++)
        it->layers[i] = it->gradients[i].of;
    qsort(it->layers, it->n_gradients, sizeof(*it->layers), by_number);
    for (size_t i = 0; i < it->n_gradients; i++)
        if (i == 0 || it->layers[i] != it->layers[it->n_layers - 1])
            it->layers[it->n_layers++] = it->layers[i];
    for (size_t i = 0; i < it->n_gradients; i++)
        for (size_t l = 0; l < it->n_layers; l++)
            if (it->layers[l] == it->gradients[i].of)
                it->gradients[i].layer = l;
    return true;
}

/* The last layer that begins no later than this forward operation. */
static size_t layer_at(const struct strait_kineto_iteration *it, uint32_t forward)
{
    size_t low = 0, high = it->n_layers;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (it->layers[middle] <= forward)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : 0;
}

static void add_times(const struct strait_kineto_maker *m, struct strait_kineto_iteration *it,
                      size_t first, size_t end)
{
    const struct strait_kineto_op *ops = m->k->ops;
    uint32_t forward = NONE;
    bool has_begun = false;
    double began_us = INFINITY;
    for (size_t i = first; i < end && it->n_layers > 0; i++) {
        const uint32_t at = m->tops[i];
        const struct strait_kineto_op *op = &ops[at];
        if (op->kind == STRAIT_KINETO_OP) {
            if (has_begun || at < it->layers[0] || op->lane != ops[it->layers[0]].lane)
                continue;
            it->fwd_us[layer_at(it, at)] += time_us(m, at);
            double span_us[2];
            if (span_of(span_us, m, at))
                began_us = fmin(began_us, span_us[0]);
            continue;
        }
        has_begun = true;
        const uint32_t found = op->kind == STRAIT_KINETO_BACKWARD ? forward_of(m, op) : NONE;
        forward = found != NONE ? found : forward;
        it->bwd_us[forward != NONE ? layer_at(it, forward) : it->n_layers - 1] += time_us(m, at);
    }
    it->total_us[0] = it->total_us[0] > began_us ? it->total_us[0] - began_us : 0;
    for (size_t i = 0; i < m->n_steps; i++) {
        const struct strait_kineto_op *step = &ops[m->steps[i]];
        if (step->start_us >= it->from_us && step->start_us < it->to_us)
            it->total_us[2] += step->end_us - step->start_us;
    }
}

/* --- iterations --------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct strait_kineto_iteration *x = a, *y = b;
    return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* Marked by ProfilerStep, else each ends with the optimiser, else there is one. */
static bool find_iterations(struct strait_kineto_maker *m)
{
    const struct strait_kineto *k = m->k;
    size_t n = 0, n_marks = 0;
    for (size_t i = 0; i < k->n_ops; i++) {
        n += is_note(&k->ops[i]);
        n_marks += k->ops[i].kind == STRAIT_KINETO_ITERATION;
    }
    if (!(m->all = calloc(n + 1, sizeof(*m->all))))
        return false;
    m->has_marks = n_marks > 0;
    for (size_t i = 0; i < k->n_ops; i++)
        if (k->ops[i].kind == (n_marks > 0 ? STRAIT_KINETO_ITERATION : STRAIT_KINETO_OPTIMISER))
            m->all[m->n_all++] = (struct strait_kineto_iteration){
                .from_us = n_marks > 0 ? k->ops[i].start_us : k->ops[i].end_us,
                .to_us = k->ops[i].end_us};
    if (m->n_all > 0)
        qsort(m->all, m->n_all, sizeof(*m->all), by_start);
    for (size_t i = m->n_all; i-- > 0 && n_marks == 0;)
        m->all[i].from_us = i > 0 ? m->all[i - 1].to_us : -INFINITY;
    if (m->n_all == 0)
        m->all[m->n_all++] =
            (struct strait_kineto_iteration){.from_us = -INFINITY, .to_us = INFINITY};
    return true;
}

/* The first outermost operation that begins then or later. */
static size_t top_at(const struct strait_kineto_maker *m, double time_us)
{
    size_t low = 0, high = m->n_tops;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (m->k->ops[m->tops[middle]].start_us < time_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool read_iteration(struct strait_kineto_maker *m, struct strait_kineto_iteration *it)
{
    const size_t first = top_at(m, it->from_us), end = top_at(m, it->to_us);
    if (!gather(m, it, first, end) || !number_layers(it))
        return false;
    add_times(m, it, first, end);
    return true;
}

/* Are they the same layers and gradients? Gradients of one layer come in any order: those of b are
 * put in that of a. */
static bool same_structure(const struct strait_kineto *k, const struct strait_kineto_iteration *a,
                           struct strait_kineto_iteration *b)
{
    bool same = a->n_layers == b->n_layers && a->n_gradients == b->n_gradients;
    for (size_t i = 0; same && i < a->n_layers; i++)
        same = k->ops[a->layers[i]].name == k->ops[b->layers[i]].name;
    for (size_t i = 0; same && i < a->n_gradients; i++) {
        size_t at = i;
        while (at < b->n_gradients && (b->gradients[at].layer != a->gradients[i].layer ||
                                       b->gradients[at].dims != a->gradients[i].dims))
            at++;
        same = at < b->n_gradients;
        if (same) {
            const struct strait_kineto_gradient found = b->gradients[at];
            b->gradients[at] = b->gradients[i];
            b->gradients[i] = found;
        }
    }
    return same;
}

void strait_kineto_iteration_release(struct strait_kineto_iteration *it)
{
    free(it->layers);
    free(it->fwd_us);
    free(it->bwd_us);
    free(it->gradients);
}

size_t strait_kineto_keep_alike(struct strait_kineto_maker *m)
{
    size_t n_kept = 0, n_other = 0;
    for (size_t i = 0; i < m->n_all; i++) {
        struct strait_kineto_iteration it = m->all[i];
        const bool has_any = it.n_gradients > 0;
        if (has_any && (n_kept == 0 || same_structure(m->k, &m->all[0], &it))) {
            m->all[i] = m->all[n_kept];
            m->all[n_kept++] = it;
        } else {
            n_other += has_any;
        }
    }
    for (size_t i = n_kept; i < m->n_all; i++)
        strait_kineto_iteration_release(&m->all[i]);
    m->n_all = n_kept;
    return n_other;
}

static int by_top_start(const void *a, const void *b, void *of)
{
    const struct strait_kineto_op *ops = of, *x = &ops[*(const uint32_t *)a],
                                  *y = &ops[*(const uint32_t *)b];
    return (x->start_us > y->start_us) - (x->start_us < y->start_us);
}

static bool prepare(struct strait_kineto_maker *m)
{
    struct strait_kineto *k = m->k;
    if (k->n_ops > 0)
        qsort(k->ops, k->n_ops, sizeof(*k->ops), by_lane);
    find_tops(k);
    m->tops = malloc((k->n_ops + 1) * sizeof(*m->tops));
    m->steps = malloc((k->n_ops + 1) * sizeof(*m->steps));
    if (!m->tops || !m->steps || !add_kernels(k))
        return false;
    for (uint32_t i = 0; i < k->n_ops; i++) {
        const struct strait_kineto_op *op = &k->ops[i];
        if (op->kind == STRAIT_KINETO_OPTIMISER)
            m->steps[m->n_steps++] = i;
        if (op->top == i && !is_note(op))
            m->tops[m->n_tops++] = i;
        if (op->kind != STRAIT_KINETO_OP || k->ops[op->top].kind != STRAIT_KINETO_OP ||
            op->sequence == 0)
            continue;
        const int64_t known = strait_labels_find(&m->forward, &op->sequence, 4);
        if (known >= 0) /* the last one made the node: others only saw the number that came next */
            m->forward.items[known].value = op->top;
        else if (!strait_labels_put(&m->forward, &op->sequence, 4, op->top))
            return false;
    }
    qsort_r(m->tops, m->n_tops, sizeof(*m->tops), by_top_start, k->ops);
    return find_iterations(m);
}

bool strait_kineto_iterations(struct strait_kineto_maker *m)
{
    bool has_memory = prepare(m);
    for (size_t i = 0; i < m->n_all && has_memory; i++)
        has_memory = read_iteration(m, &m->all[i]);
    return has_memory;
}
