/* Layers of a Kineto trace. A gradient is ready when the autograd engine has accumulated it; the node
 * that ran before it says by its sequence number which forward operation it belongs to. A layer is an
 * outermost forward operation with gradients; operations without any belong to the layer before.
 *
 *   forward   conv2d(0)  batch_norm(1)  relu(2)  linear(4)  loss(9)
 *   backward  loss(9) linear(4) Accumulate Accumulate relu(2) batch_norm(1) Accumulate ...
 *             > the first two gradients are linear's, the next are batch_norm's */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"
#include "kineto.h"
#include "traces/models/model_build.h"

enum { MAX_GRADIENTS = 100000 };
static const uint32_t NONE = UINT32_MAX;

/* One gradient of one iteration. */
struct gradient {
    uint32_t of;   /* forward operation */
    uint32_t dims; /* label */
    size_t layer;  /* place among the layers */
    double ready_us;
};

struct iteration {
    double from_us, to_us;
    uint32_t *layers; /* forward operations, in their order */
    size_t n_layers;
    double *fwd_us, *bwd_us; /* of each layer */
    struct gradient *gradients;
    size_t n_gradients;
    double total_us[3]; /* forward, backward, optimiser */
};

struct maker {
    struct strait_kineto *k;
    uint32_t *tops; /* outermost operations, by their start */
    size_t n_tops;
    uint32_t *steps; /* of the optimiser */
    size_t n_steps;
    struct strait_labels forward; /* sequence number > outermost forward operation */
    struct iteration *all;
    size_t n_all;
    bool has_marks;
};

/* Numbers are given as operations begin; where times are whole microseconds, they tell which of two is
 * inside of the other. */
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
 * engine runs is outermost. Where times are whole microseconds, cut off, an inner one may seem to begin
 * as its outer one ends, and to end one later. */
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

/* What kernels take counts for the outermost operation that started them. */
static bool add_kernels(struct strait_kineto *k)
{
    if (k->n_kernels > 0 && !(k->gpu = calloc(k->n_ops + 1, sizeof(*k->gpu))))
        return false;
    for (uint32_t i = 0; i < k->n_ops && k->n_kernels > 0; i++)
        if (k->ops[i].id > 0 && strait_labels_find(&k->ids, &k->ops[i].id, 4) < 0 &&
            !strait_labels_put(&k->ids, &k->ops[i].id, 4, k->ops[i].top))
            return false;
    for (size_t i = 0; i < k->n_kernels; i++) {
        const struct strait_kineto_kernel *kernel = &k->kernels[i];
        const int64_t at = strait_labels_find(&k->ids, &kernel->id, 4);
        if (at < 0)
            continue;
        struct strait_kineto_gpu *gpu = &k->gpu[k->ids.items[at].value];
        gpu->start_us = gpu->us > 0 ? fmin(gpu->start_us, kernel->start_us) : kernel->start_us;
        gpu->us += kernel->end_us - kernel->start_us;
        gpu->end_us = fmax(gpu->end_us, kernel->end_us);
    }
    return true;
}

/* --- one iteration ------------------------------------------------------------------------ */

static double time_us(const struct maker *m, uint32_t at)
{
    const struct strait_kineto_op *op = &m->k->ops[at];
    return m->k->gpu ? m->k->gpu[at].us : op->end_us - op->start_us;
}

/* When its work began and ended: that of its kernels, if the trace has any. False: it had none. */
static bool span_of(double span_us[2], const struct maker *m, uint32_t at)
{
    const struct strait_kineto_op *op = &m->k->ops[at];
    span_us[0] = m->k->gpu ? m->k->gpu[at].start_us : op->start_us;
    span_us[1] = m->k->gpu ? m->k->gpu[at].end_us : op->end_us;
    return !m->k->gpu || m->k->gpu[at].us > 0;
}

static uint32_t forward_of(const struct maker *m, const struct strait_kineto_op *op)
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
static bool gather(struct maker *m, struct iteration *it, size_t first, size_t end)
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
            struct gradient *more =
                realloc(it->gradients, (it->n_gradients + 1) * sizeof(*it->gradients));
            if (!more)
                return false;
            it->gradients = more;
            it->gradients[it->n_gradients++] = (struct gradient){
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
static bool number_layers(struct iteration *it)
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
static size_t layer_at(const struct iteration *it, uint32_t forward)
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

static void add_times(const struct maker *m, struct iteration *it, size_t first, size_t end)
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
    const struct iteration *x = a, *y = b;
    return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* Marked by ProfilerStep, else each ends with the optimiser, else there is one. */
static bool find_iterations(struct maker *m)
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
            m->all[m->n_all++] =
                (struct iteration){.from_us = n_marks > 0 ? k->ops[i].start_us : k->ops[i].end_us,
                                   .to_us = k->ops[i].end_us};
    qsort(m->all, m->n_all, sizeof(*m->all), by_start);
    for (size_t i = m->n_all; i-- > 0 && n_marks == 0;)
        m->all[i].from_us = i > 0 ? m->all[i - 1].to_us : -INFINITY;
    if (m->n_all == 0)
        m->all[m->n_all++] = (struct iteration){.from_us = -INFINITY, .to_us = INFINITY};
    return true;
}

/* The first outermost operation that begins then or later. */
static size_t top_at(const struct maker *m, double time_us)
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

static bool read_iteration(struct maker *m, struct iteration *it)
{
    const size_t first = top_at(m, it->from_us), end = top_at(m, it->to_us);
    if (!gather(m, it, first, end) || !number_layers(it))
        return false;
    add_times(m, it, first, end);
    return true;
}

/* Are they the same layers and gradients? Gradients of one layer come in any order: those of b are put
 * in that of a. */
static bool same_structure(const struct strait_kineto *k, const struct iteration *a,
                           struct iteration *b)
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
            const struct gradient found = b->gradients[at];
            b->gradients[at] = b->gradients[i];
            b->gradients[i] = found;
        }
    }
    return same;
}

/* Keep those that are like the first with gradients. Returns how many were left out. */
static size_t keep_alike(struct maker *m)
{
    size_t n_kept = 0, n_other = 0;
    for (size_t i = 0; i < m->n_all; i++) {
        struct iteration it = m->all[i];
        const bool has_any = it.n_gradients > 0;
        if (has_any && (n_kept == 0 || same_structure(m->k, &m->all[0], &it))) {
            m->all[i] = m->all[n_kept];
            m->all[n_kept++] = it;
        } else {
            n_other += has_any;
        }
    }
    for (size_t i = n_kept; i < m->n_all; i++) {
        free(m->all[i].layers);
        free(m->all[i].fwd_us);
        free(m->all[i].bwd_us);
        free(m->all[i].gradients);
    }
    m->n_all = n_kept;
    return n_other;
}

/* --- the model ---------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median and 90th percentile of n samples, in seconds: the middle or the upper of two middles, and
 * the smallest that nine of ten do not exceed. */
static void quantiles(double out_s[2], double *samples_us, size_t n)
{
    qsort(samples_us, n, sizeof(*samples_us), by_value);
    out_s[0] = samples_us[n / 2] * 1e-6;
    out_s[1] = samples_us[(9 * n + 9) / 10 - 1] * 1e-6;
    out_s[1] = fmax(out_s[0], out_s[1]);
}

static const char *label_text(char *buf, size_t cap, const struct strait_labels *l, uint32_t item)
{
    const size_t len = l->items[item].len;
    snprintf(buf, cap, "%.*s", len < cap ? (int)len : (int)cap - 1, l->bytes + l->items[item].at);
    return buf;
}

static bool shape_of(size_t shape[STRAIT_MAX_DIMS], unsigned *n_dims, const char *text)
{
    size_t n_elems;
    *n_dims = 0;
    for (const char *c = text; *c && *n_dims < STRAIT_MAX_DIMS;) {
        char *end;
        const unsigned long long x = strtoull(c, &end, 10);
        if (end == c || (*end && *end != 'x'))
            return false;
        shape[(*n_dims)++] = (size_t)x;
        c = *end ? end + 1 : end;
    }
    return strait_shape_elems(&n_elems, shape, *n_dims);
}

/* "aten::linear": Linear; batch and layer norms as PyTorch's modules are called. */
static void type_of(char *type, size_t cap, const char *op)
{
    static const char *const known[][2] = {
        {"aten::linear", "Linear"},          {"aten::addmm", "Linear"},
        {"aten::conv1d", "Conv1d"},          {"aten::conv2d", "Conv2d"},
        {"aten::conv3d", "Conv3d"},          {"aten::convolution", "Conv2d"},
        {"aten::batch_norm", "BatchNorm2d"}, {"aten::layer_norm", "LayerNorm"},
        {"aten::embedding", "Embedding"},    {"aten::group_norm", "GroupNorm"}};
    const char *plain = strstr(op, "::") ? strstr(op, "::") + 2 : op;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(op, known[i][0]) == 0)
            plain = known[i][1];
    snprintf(type, cap, "%.31s", plain);
    for (char *c = type; *c; c++)
        if (*c == ',' || *c == ' ')
            *c = '_';
}

/* Gradients of a layer, those with more dimensions first: weight, then bias. */
static int add_layer(struct maker *m, struct strait_builder *b, size_t layer, double *samples,
                     struct strait_error *err)
{
    const struct iteration *first = &m->all[0];
    char op[128], type[32], name[64], text[STRAIT_MAX_DIMS * 21], param[32];
    double fwd_s[2], bwd_s[2], ready_s[2];
    unsigned n_params = 0;
    type_of(type, sizeof(type),
            label_text(op, sizeof(op), &m->k->labels, m->k->ops[first->layers[layer]].name));
    snprintf(name, sizeof(name), "%s_%zu", type, layer);
    for (size_t i = 0; i < m->n_all; i++)
        samples[i] = m->all[i].fwd_us[layer];
    quantiles(fwd_s, samples, m->n_all);
    for (size_t i = 0; i < m->n_all; i++)
        samples[i] = m->all[i].bwd_us[layer];
    quantiles(bwd_s, samples, m->n_all);
    struct strait_layer *l = strait_build_layer(b, name, type, 0);
    if (l) {
        l->fwd_s_p50 = fwd_s[0], l->fwd_s_p90 = fwd_s[1];
        l->bwd_s_p50 = bwd_s[0], l->bwd_s_p90 = bwd_s[1];
    }
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t g = 0; g < first->n_gradients; g++) {
            size_t shape[STRAIT_MAX_DIMS];
            unsigned n_dims;
            if (first->gradients[g].layer != layer)
                continue;
            label_text(text, sizeof(text), &m->k->labels, first->gradients[g].dims);
            if (!shape_of(shape, &n_dims, text))
                return strait_error_set(err, STRAIT_ERR_INPUT, m->k->in->path,
                                        "expected 1 to 8 dimensions of a gradient, found \"%.60s\"",
                                        text);
            if ((n_dims >= 2) != (pass == 0))
                continue;
            snprintf(param, sizeof(param),
                     n_params == 0   ? "weight"
                     : n_params == 1 ? "bias"
                                     : "param%u",
                     n_params);
            n_params++;
            for (size_t i = 0; i < m->n_all; i++)
                samples[i] = m->all[i].gradients[g].ready_us;
            quantiles(ready_s, samples, m->n_all);
            struct strait_param_row *row = strait_build_param(b, param, n_dims, shape);
            if (!row)
                return strait_error_set(err, STRAIT_ERR_NOMEM, m->k->in->path, "memory ran out");
            row->fwd_s_p50 = fwd_s[0], row->fwd_s_p90 = fwd_s[1];
            row->bwd_s_p50 = bwd_s[0], row->bwd_s_p90 = bwd_s[1];
            row->ready_s_p50 = ready_s[0], row->ready_s_p90 = ready_s[1];
            row->ready_order = g;
        }
    return 0;
}

/* By the median of when they are ready; at the same time, as the first iteration had them. */
static void order_by_time(struct strait_model *model)
{
    size_t *order = calloc(model->n_rows, sizeof(*order));
    for (size_t i = 0; order && i < model->n_rows; i++)
        for (size_t k = 0; k < model->n_rows; k++) {
            const struct strait_param_row *a = &model->rows[k], *b = &model->rows[i];
            order[i] += a->ready_s_p50 < b->ready_s_p50 ||
                        (a->ready_s_p50 == b->ready_s_p50 && a->ready_order < b->ready_order);
        }
    for (size_t i = 0; order && i < model->n_rows; i++)
        model->rows[i].ready_order = order[i];
    free(order);
}

static void describe(const struct maker *m, struct strait_model *model)
{
    snprintf(model->timing_source, sizeof(model->timing_source),
             "medians of %zu iterations of a Kineto trace", m->n_all);
    snprintf(model->device, sizeof(model->device), (m->k->gpu != NULL) ? "accelerator" : "cpu");
    model->on_cpu = !(m->k->gpu != NULL);
    model->timing = STRAIT_TIMING_USER_TABLE;
}

/* "8x1x28x28" of a convolution or linear layer begins with the batch. */
static void guess_batch(struct maker *m, struct strait_model *model)
{
    char op[64], dims[128];
    const struct strait_kineto_op *first = &m->k->ops[m->all[0].layers[0]];
    label_text(op, sizeof(op), &m->k->labels, first->name);
    label_text(dims, sizeof(dims), &m->k->labels, first->dims);
    const long batch = strtol(dims, NULL, 10);
    if (!strstr(op, "conv") && !strstr(op, "linear"))
        strait_import_missing(m->k->in,
                              "samples an iteration: the first layer, %s, does not show "
                              "them",
                              op);
    if ((strstr(op, "conv") || strstr(op, "linear")) && batch > 0 && batch <= 1000000000) {
        model->batch = (unsigned)batch;
        strait_import_inferred(m->k->in,
                               "the batch is the first dimension of the first layer's "
                               "input: %ld",
                               batch);
    }
}

static int put_iterations(struct maker *m, struct strait_error *err)
{
    size_t len;
    FILE *f = open_memstream(&m->k->in->iters, &len);
    if (!f)
        return strait_error_set(err, STRAIT_ERR_NOMEM, m->k->in->path, "memory ran out");
    fputs("iter,fwd_us,bwd_us,opt_us\n", f);
    for (size_t i = 0; i < m->n_all; i++)
        fprintf(f, "%zu,%.3f,%.3f,%.3f\n", i, m->all[i].total_us[0], m->all[i].total_us[1],
                m->all[i].total_us[2]);
    return fclose(f) == 0
               ? 0
               : strait_error_set(err, STRAIT_ERR_NOMEM, m->k->in->path, "memory ran out");
}

static int make_model(struct maker *m, struct strait_error *err)
{
    struct strait_builder b;
    const char *slash = strrchr(m->k->in->path, '/');
    char name[64];
    double *samples = malloc((m->n_all + 1) * sizeof(*samples));
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(slash ? slash + 1 : m->k->in->path, "."),
             slash ? slash + 1 : m->k->in->path);
    strait_build_init(&b, *name ? name : "trace");
    int status = samples && !b.failed
                     ? 0
                     : strait_error_set(err, STRAIT_ERR_NOMEM, m->k->in->path, "memory ran out");
    for (size_t l = 0; l < m->all[0].n_layers && status == 0; l++)
        status = add_layer(m, &b, l, samples, err);
    if (status == 0) {
        order_by_time(b.m);
        describe(m, b.m);
        guess_batch(m, b.m);
        status = strait_model_set_source(b.m, m->k->in->path, err) != 0
                     ? -1
                     : strait_build_finish(&m->k->in->model, &b, err);
    }
    strait_build_release(&b);
    free(samples);
    return status;
}

static void say(struct maker *m, size_t n_other)
{
    struct strait_import *in = m->k->in;
    strait_import_fact(in, "iterations", json_integer((json_int_t)m->n_all));
    if (!m->has_marks)
        strait_import_inferred(in,
                               "iterations end with the optimiser's step, since no ProfilerStep "
                               "marks them");
    if (n_other > 0)
        strait_import_inferred(in, "%zu iterations with other layers or gradients are left out",
                               n_other);
    strait_import_inferred(in, "operations without parameters count for the layer before them");
    strait_import_inferred(in, "layers are named by their operation and place; weight is the "
                               "parameter with more dimensions");
    strait_import_inferred(in, (m->k->gpu != NULL)
                                   ? "times are those of kernels on the accelerator"
                                   : "the trace has no kernels: times are those of the CPU");
}

static int make(struct maker *m, struct strait_error *err)
{
    struct strait_import *in = m->k->in;
    const size_t n_other = keep_alike(m);
    if (m->n_all == 0) {
        strait_import_missing(in, "gradients: no backward pass (evaluate_function, AccumulateGrad) "
                                  "with sequence numbers is in the trace");
        return 0;
    }
    for (size_t i = 0; i < m->all[0].n_gradients; i++)
        if (m->all[0].gradients[i].dims == NONE) {
            strait_import_missing(in, "shapes: record the profile with record_shapes=True");
            return 0;
        }
    say(m, n_other);
    return make_model(m, err) != 0 ? -1 : put_iterations(m, err);
}

static int by_top_start(const void *a, const void *b, void *of)
{
    const struct strait_kineto_op *ops = of, *x = &ops[*(const uint32_t *)a],
                                  *y = &ops[*(const uint32_t *)b];
    return (x->start_us > y->start_us) - (x->start_us < y->start_us);
}

static bool prepare(struct maker *m)
{
    struct strait_kineto *k = m->k;
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

int strait_kineto_layers(struct strait_kineto *k, struct strait_error *err)
{
    struct maker m = {.k = k};
    bool has_memory = prepare(&m);
    for (size_t i = 0; i < m.n_all && has_memory; i++)
        has_memory = read_iteration(&m, &m.all[i]);
    const int status = has_memory
                           ? make(&m, err)
                           : strait_error_set(err, STRAIT_ERR_NOMEM, k->in->path, "memory ran out");
    for (size_t i = 0; i < m.n_all; i++) {
        free(m.all[i].layers);
        free(m.all[i].fwd_us);
        free(m.all[i].bwd_us);
        free(m.all[i].gradients);
    }
    free(m.all);
    free(m.tops);
    free(m.steps);
    strait_labels_release(&m.forward);
    return status;
}
