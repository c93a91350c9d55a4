/* A model: its end, its times on another device, its names for people. */
#include "model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/shipped.h"

const char *strait_traces_path(char *buf, size_t cap, const char *relative)
{
    char below[256];
    snprintf(below, sizeof(below), "traces/%s", relative);
    return strait_share_path(buf, cap, below);
}

static void *copy_of(const void *items, size_t len_bytes)
{
    void *copy = malloc(len_bytes + 1);
    return copy ? memcpy(copy, items, len_bytes) : NULL;
}

struct strait_model *strait_model_copy(const struct strait_model *m)
{
    struct strait_model *copy = copy_of(m, sizeof(*m));
    if (!copy)
        return NULL;
    copy->source = strdup(m->source);
    copy->rows = copy_of(m->rows, m->n_rows * sizeof(*m->rows));
    copy->layers = copy_of(m->layers, m->n_layers * sizeof(*m->layers));
    if (copy->source && copy->rows && copy->layers)
        return copy;
    strait_model_free(copy);
    return NULL;
}

void strait_model_free(struct strait_model *m)
{
    if (!m)
        return;
    free(m->source);
    free(m->rows);
    free(m->layers);
    free(m);
}

/* All times but the optimiser's. */
static void stretch_times(struct strait_model *m, double stretch)
{
    for (size_t i = 0; i < m->n_rows; i++) {
        struct strait_param_row *r = &m->rows[i];
        double *const times[] = {&r->fwd_s_p50, &r->fwd_s_p90,   &r->bwd_s_p50,
                                 &r->bwd_s_p90, &r->ready_s_p50, &r->ready_s_p90};
        for (size_t t = 0; t < sizeof times / sizeof times[0]; t++)
            *times[t] *= stretch;
    }
    for (size_t l = 0; l < m->n_layers; l++) {
        struct strait_layer *layer = &m->layers[l];
        double *const times[] = {&layer->fwd_s_p50, &layer->fwd_s_p90, &layer->bwd_s_p50,
                                 &layer->bwd_s_p90, &layer->ready_s_p50};
        for (size_t t = 0; t < sizeof times / sizeof times[0]; t++)
            *times[t] *= stretch;
    }
    m->fwd_s *= stretch;
    m->bwd_s *= stretch;
}

int strait_model_set_device_rate(struct strait_model *m, double flop_per_s,
                                 struct strait_error *err)
{
    if (!isfinite(flop_per_s) || flop_per_s <= 0)
        return strait_refuse(err, m->name, "expected a device rate above 0, found %g FLOP/s",
                             flop_per_s);
    if (m->device_flop_per_s <= 0)
        return strait_refuse(err, m->name,
                             "expected a model whose layers state their FLOPs, found one with "
                             "times from %s: scale its compute by a factor instead",
                             strait_timing_name(m->timing));
    const double stretch = m->device_flop_per_s / flop_per_s;
    stretch_times(m, stretch);
    m->opt_s *= stretch;
    m->device_flop_per_s = flop_per_s;
    m->timing = STRAIT_TIMING_STATED_FLOPS;
    snprintf(m->device, sizeof m->device, "a device of %.4g TFLOP/s", flop_per_s / 1e12);
    snprintf(m->timing_source, sizeof m->timing_source,
             "%.4g GFLOP forward a sample x 3 x batch %u at %.4g TFLOP/s: stated by the user",
             m->fwd_flop_per_sample / 1e9, m->batch, flop_per_s / 1e12);
    return 0;
}

int strait_model_set_step(struct strait_model *m, double step_s, struct strait_error *err)
{
    char before[128];
    if (strait_model_step_s(m) <= 0)
        return strait_refuse(err, m->name,
                             "expected a model whose layers take time, found none that does");
    const double stretch = step_s / strait_model_step_s(m);
    stretch_times(m, stretch);
    m->opt_s *= stretch;
    m->device_flop_per_s /= stretch;
    m->timing = STRAIT_TIMING_STATED_STEP;
    snprintf(m->device, sizeof m->device, "the user's device");
    snprintf(before, sizeof before, "%.120s", m->timing_source);
    snprintf(m->timing_source, sizeof m->timing_source,
             "a step of %.6g s, stated by the user; its division: %s", step_s, before);
    return 0;
}

int strait_model_set_batch(struct strait_model *m, unsigned batch, struct strait_error *err)
{
    const size_t said = strlen(m->timing_source);
    if (m->batch == 0)
        return strait_refuse(err, m->name,
                             "expected a model whose table says its batch, found one without");
    if (batch == m->batch)
        return 0;
    stretch_times(m, (double)batch / m->batch);
    snprintf(m->timing_source + said, sizeof m->timing_source - said,
             "; from batch %u to %u at the same samples a second", m->batch, batch);
    m->batch = batch;
    return 0;
}

double strait_model_step_s(const struct strait_model *m)
{
    return m->fwd_s + m->bwd_s + m->opt_s;
}

const char *strait_timing_name(enum strait_timing timing)
{
    static const char *const text[] = {"recorded", "stated FLOPs", "published throughput",
                                       "user's table", "stated step"};
    return text[timing];
}
