#include "sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/bound.h"
#include "core/random.h"
#include "workloads/train/plans/loss_budget.h"

const double STRAIT_NOISE_LEVELS[STRAIT_N_NOISE_LEVELS] = {0.01, 0.03, 0.1, 0.3, 1, 2};
enum { MAX_HALVINGS = 12 };

struct finding {
    const struct strait_sensitivity_asked *asked;
    struct strait_sensitivity_found *found;
    void *state;          /* of the codec */
    float *changed;       /* the model with some tensors changed */
    unsigned char *bytes; /* room for the largest tensor */
    size_t cap_bytes, coded_bytes, raw_bytes;
};

static int measure(struct finding *f, double *added, struct strait_error *err)
{
    double loss;
    if (f->asked->loss_of(f->asked->arg, &loss, f->changed, err) != 0)
        return -1;
    f->found->n_losses++;
    *added = loss - f->found->loss;
    return 0;
}

/* Keyed uniform noise within +-e on the tensor at lo. */
static void add_noise(struct finding *f, size_t row, size_t lo, size_t n, double e, int trial)
{
    struct strait_sequence s = strait_sequence_at(
        strait_random_bits(f->asked->seed, "sensitivity", (uint64_t)row, (uint64_t)trial));
    for (size_t i = lo; i < lo + n; i++)
        f->changed[i] = (float)((double)f->asked->w[i] + e * (2 * strait_sequence_unit(&s) - 1));
}

/* What the codec makes of the tensor at lo within +-e. */
static int code(struct finding *f, const struct strait_param_row *row, size_t lo, double e,
                struct strait_error *err)
{
    const struct strait_codec_ops *ops = f->asked->codec->spec.ops;
    const struct strait_request request = {.bound = {STRAIT_BOUND_ABS, e},
                                           .n_rows = row->n_dims >= 2 ? row->shape[0] : 0};
    size_t len_bytes;
    if (strait_codec_encode(ops, f->state, f->bytes, f->cap_bytes, &len_bytes, f->asked->w + lo,
                            row->n_elems, request, err) != 0 ||
        ops->decode(f->state, f->changed + lo, row->n_elems, f->bytes, len_bytes, err) != 0)
        return -1;
    f->coded_bytes += len_bytes;
    f->raw_bytes += 4 * row->n_elems;
    return 0;
}

static int measure_level(struct finding *f, size_t row, size_t lo, int level,
                         struct strait_error *err)
{
    const struct strait_param_row *p = &f->asked->model->rows[row];
    struct strait_tensor_sensitivity *t = &f->found->tensors[row];
    const double e = STRAIT_NOISE_LEVELS[level] * t->rms;
    double sum = 0, added;
    for (int trial = 0; trial < f->asked->n_trials; trial++) {
        add_noise(f, row, lo, p->n_elems, e, trial);
        if (measure(f, &added, err) != 0)
            return -1;
        sum += added;
    }
    t->uniform[level] = sum / f->asked->n_trials;
    if (code(f, p, lo, e, err) != 0 || measure(f, &t->coded[level], err) != 0)
        return -1;
    return 0;
}

/* The bound of a tensor: the smaller of what noise and what the codec's error let it be. */
static double bound_of(const struct strait_tensor_sensitivity *t, double share)
{
    double error[STRAIT_N_NOISE_LEVELS];
    for (int i = 0; i < STRAIT_N_NOISE_LEVELS; i++)
        error[i] = STRAIT_NOISE_LEVELS[i] * t->rms;
    const struct strait_sensitivity uniform = {error, t->uniform, STRAIT_N_NOISE_LEVELS},
                                    coded = {error, t->coded, STRAIT_N_NOISE_LEVELS};
    return fmin(strait_sensitivity_error(&uniform, share), strait_sensitivity_error(&coded, share));
}

static int measure_tensors(struct finding *f, struct strait_error *err)
{
    const struct strait_model *m = f->asked->model;
    size_t n_lossy = 0, lo = 0;
    for (size_t i = 0; i < m->n_rows; i++)
        n_lossy += f->found->tensors[i].is_lossy ? m->rows[i].n_elems : 0;
    if (n_lossy == 0)
        return strait_refuse(
            err, m->name,
            "expected a tensor that %s encodes with loss, found none: each has at "
            "most %ld values, the codec's \"cutoff\", or no weights, or only zeros",
            f->asked->codec->spec.ops->name, (long)f->asked->codec->cutoff_elems);
    for (size_t i = 0; i < m->n_rows; lo += m->rows[i++].n_elems) {
        struct strait_tensor_sensitivity *t = &f->found->tensors[i];
        for (int level = 0; level < STRAIT_N_NOISE_LEVELS && t->is_lossy; level++)
            if (measure_level(f, i, lo, level, err) != 0)
                return -1;
        memcpy(f->changed + lo, f->asked->w + lo, m->rows[i].n_elems * sizeof(float));
        if (t->is_lossy)
            t->bound = bound_of(t, strait_sensitivity_share(f->asked->budget * f->found->loss,
                                                            m->rows[i].n_elems, n_lossy));
    }
    return 0;
}

/* All tensors at their bounds, times one scale that is halved until the budget is kept: losses of
 * single tensors need not add up. */
static int measure_together(struct finding *f, struct strait_error *err)
{
    const struct strait_model *m = f->asked->model;
    struct strait_sensitivity_found *found = f->found;
    found->scale = 1;
    for (int halving = 0; halving < MAX_HALVINGS; halving++) {
        size_t lo = 0;
        f->coded_bytes = f->raw_bytes = 0;
        for (size_t i = 0; i < m->n_rows; lo += m->rows[i++].n_elems)
            if (found->tensors[i].is_lossy && found->tensors[i].bound > 0 &&
                code(f, &m->rows[i], lo, found->scale * found->tensors[i].bound, err) != 0)
                return -1;
        if (measure(f, &found->added, err) != 0)
            return -1;
        if (found->added <= f->asked->budget * found->loss)
            break;
        found->scale /= 2;
    }
    found->ratio = f->coded_bytes > 0 ? (double)f->raw_bytes / (double)f->coded_bytes : NAN;
    for (size_t i = 0; i < m->n_rows; i++)
        found->tensors[i].bound *= found->scale;
    return 0;
}

static void begin_tensors(struct finding *f)
{
    const struct strait_model *m = f->asked->model;
    size_t lo = 0;
    for (size_t i = 0; i < m->n_rows; lo += m->rows[i++].n_elems) {
        struct strait_tensor_sensitivity *t = &f->found->tensors[i];
        t->rms = strait_rms_of(f->asked->w + lo, m->rows[i].n_elems);
        t->is_lossy = t->rms > 0 && strait_codec_choice_takes(f->asked->codec, &m->rows[i]);
        t->bound = NAN;
        for (int k = 0; k < STRAIT_N_NOISE_LEVELS; k++)
            t->uniform[k] = t->coded[k] = NAN;
    }
}

static int find(struct finding *f, struct strait_error *err)
{
    const struct strait_model *m = f->asked->model;
    const struct strait_codec_ops *ops = f->asked->codec->spec.ops;
    if (strait_codec_open(ops, &f->state, f->asked->codec->spec.params, err) != 0)
        return -1;
    for (size_t i = 0; i < m->n_rows; i++) {
        const size_t n_bytes = ops->max_bytes(f->state, m->rows[i].n_elems);
        f->cap_bytes = n_bytes > f->cap_bytes ? n_bytes : f->cap_bytes;
    }
    f->found->tensors = calloc(m->n_rows, sizeof(*f->found->tensors));
    f->changed = malloc(m->n_elems * sizeof(*f->changed));
    f->bytes = malloc(f->cap_bytes + 1);
    if (!f->found->tensors || !f->changed || !f->bytes)
        return strait_error_memory(err, "sensitivity");
    memcpy(f->changed, f->asked->w, m->n_elems * sizeof(*f->changed));
    if (f->asked->loss_of(f->asked->arg, &f->found->loss, f->changed, err) != 0)
        return -1;
    f->found->n_losses = 1;
    if (!(f->found->loss > 0) || !isfinite(f->found->loss))
        return strait_refuse(err, "sensitivity",
                             "expected a loss above 0 of the model itself, found %g",
                             f->found->loss);
    begin_tensors(f);
    return measure_tensors(f, err) != 0 || measure_together(f, err) != 0 ? -1 : 0;
}

int strait_sensitivity_find(struct strait_sensitivity_found *out,
                            const struct strait_sensitivity_asked *asked, struct strait_error *err)
{
    *out = (struct strait_sensitivity_found){0};
    struct finding f = {.asked = asked, .found = out};
    const int failed = find(&f, err);
    if (asked->codec->spec.ops->close && f.state)
        asked->codec->spec.ops->close(f.state);
    free(f.changed);
    free(f.bytes);
    if (failed)
        strait_sensitivity_release(out);
    return failed;
}

void strait_sensitivity_release(struct strait_sensitivity_found *found)
{
    free(found->tensors);
    found->tensors = NULL;
}

void strait_sensitivity_bounds(double *bounds, const struct strait_sensitivity_asked *asked,
                               const struct strait_sensitivity_found *found)
{
    const struct strait_model *m = asked->model;
    size_t lo = 0;
    for (size_t i = 0; i < m->n_rows; lo += m->rows[i++].n_elems) {
        const struct strait_bound one = {asked->codec->spec.bound.kind, 1};
        const double unit = strait_bound_absolute(one, asked->w + lo, m->rows[i].n_elems);
        const struct strait_tensor_sensitivity *t = &found->tensors[i];
        bounds[i] = t->is_lossy && t->bound > 0 && unit > 0 ? t->bound / unit : NAN;
    }
}
