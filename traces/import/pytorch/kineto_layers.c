/* Layers of a Kineto trace. A gradient is ready when the autograd engine has accumulated it; the
 * node that ran before it says by its sequence number which forward operation it belongs to. A
 * layer is an outermost forward operation with gradients; operations without any belong to the
 * layer before.
 *
 *   forward   conv2d(0)  batch_norm(1)  relu(2)  linear(4)  loss(9)
 *   backward  loss(9) linear(4) Accumulate Accumulate relu(2) batch_norm(1) Accumulate ...
 *             > the first two gradients are linear's, the next are batch_norm's */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/heap.h"
#include "kineto.h"
#include "traces/models/model_build.h"

static const uint32_t NONE = UINT32_MAX;

/* --- the model ---------------------------------------------------------------------------- */

/* Median and 90th percentile of n samples, in seconds: the middle or the upper of two middles, and
 * the smallest that nine of ten do not exceed. */
static void quantiles(double out_s[2], double *samples_us, size_t n)
{
    strait_sort(samples_us, n);
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
static int add_layer(struct strait_kineto_maker *m, struct strait_builder *b, size_t layer,
                     double *samples, struct strait_error *err)
{
    const struct strait_kineto_iteration *first = &m->all[0];
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
                return strait_refuse(err, m->k->in->path,
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
                return strait_error_memory(err, m->k->in->path);
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

static void describe(const struct strait_kineto_maker *m, struct strait_model *model)
{
    snprintf(model->timing_source, sizeof(model->timing_source),
             "medians of %zu iterations of a Kineto trace", m->n_all);
    snprintf(model->device, sizeof(model->device), (m->k->gpu != NULL) ? "accelerator" : "cpu");
    model->on_cpu = !(m->k->gpu != NULL);
    model->timing = STRAIT_TIMING_USER_TABLE;
}

/* "8x1x28x28" of a convolution or linear layer begins with the batch. */
static void guess_batch(struct strait_kineto_maker *m, struct strait_model *model)
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

static int put_iterations(struct strait_kineto_maker *m, struct strait_error *err)
{
    size_t len;
    FILE *f = open_memstream(&m->k->in->iters, &len);
    if (!f)
        return strait_error_memory(err, m->k->in->path);
    fputs("iter,fwd_us,bwd_us,opt_us\n", f);
    for (size_t i = 0; i < m->n_all; i++)
        fprintf(f, "%zu,%.3f,%.3f,%.3f\n", i, m->all[i].total_us[0], m->all[i].total_us[1],
                m->all[i].total_us[2]);
    return fclose(f) == 0 ? 0 : strait_error_memory(err, m->k->in->path);
}

static int make_model(struct strait_kineto_maker *m, struct strait_error *err)
{
    struct strait_builder b;
    const char *slash = strrchr(m->k->in->path, '/');
    char name[64];
    double *samples = malloc((m->n_all + 1) * sizeof(*samples));
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(slash ? slash + 1 : m->k->in->path, "."),
             slash ? slash + 1 : m->k->in->path);
    strait_build_init(&b, *name ? name : "trace");
    int status = samples && !b.failed ? 0 : strait_error_memory(err, m->k->in->path);
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

static void say(struct strait_kineto_maker *m, size_t n_other)
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
    if (m->k->counts_flop)
        return;
    strait_import_inferred(in, (m->k->gpu != NULL)
                                   ? "times are those of kernels on the accelerator"
                                   : "the trace has no kernels: times are those of the CPU");
}

static int make(struct strait_kineto_maker *m, struct strait_error *err)
{
    struct strait_import *in = m->k->in;
    const size_t n_other = strait_kineto_keep_alike(m);
    if (m->n_all == 0) {
        strait_import_missing(in, "gradients: no backward pass (evaluate_function, AccumulateGrad) "
                                  "with sequence numbers is in the trace (a PyTorch built without "
                                  "Kineto, as Debian's, writes none: strait.record of the Python "
                                  "module does)");
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

int strait_kineto_layers(struct strait_kineto *k, struct strait_error *err)
{
    struct strait_kineto_maker m = {.k = k};
    const bool has_memory = strait_kineto_iterations(&m);
    const int status = has_memory ? make(&m, err) : strait_error_memory(err, k->in->path);
    for (size_t i = 0; i < m.n_all; i++)
        strait_kineto_iteration_release(&m.all[i]);
    free(m.all);
    free(m.tops);
    free(m.steps);
    strait_labels_release(&m.forward);
    return status;
}
