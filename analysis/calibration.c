/* Time an experiment's codecs as its ranks call them: the whole model, parameter by parameter,
 * through strait_bundle_encode, on held-out recordings. */
#include "calibration.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "core/buffer.h"
#include "traces/tensor_fill.h"
#include "workloads/timing/turns.h"

enum { MAX_BYTES = 128 << 20, N_REPEATS = 40 };
static const double MIN_S = 1.5;

/* A model's tensors of one kind, held-out recordings, for each of some senders; larger models are
 * cut down evenly. */
struct sample {
    float *values, *decoded;
    struct strait_sweeper sweeper;
    struct strait_slice *slices, *back; /* sender after sender */
    size_t n_slices, n_elems, n_turns;  /* of a sender */
};

static void sample_release(struct sample *s)
{
    strait_buffer_free(s->values);
    strait_buffer_free(s->decoded);
    strait_sweeper_release(&s->sweeper);
    free(s->slices);
    free(s->back);
}

/* Cut one sender's tensors out of the sample's memory. */
static void cut(struct sample *s, const struct strait_experiment *e, size_t turn, double share,
                const struct strait_tensor_fill_plan *plan)
{
    const struct strait_model *m = e->model;
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_param_row *row = &m->rows[i];
        struct strait_slice *slice = &s->slices[turn * m->n_rows + i];
        struct strait_slice *back = &s->back[turn * m->n_rows + i];
        const bool lossy =
            strait_slice_lossy(row->n_dims, row->n_elems, (size_t)e->up.cutoff_elems);
        const size_t n = lossy ? (size_t)ceil(share * (double)row->n_elems) : row->n_elems;
        *slice = (struct strait_slice){.x = s->values + s->n_elems,
                                       .n_elems = n,
                                       .lossy = lossy,
                                       .n_rows = lossy && n == row->n_elems ? row->shape[0] : 0};
        *back = (struct strait_slice){.x = s->decoded + s->n_elems, .n_elems = n, .lossy = lossy};
        strait_tensor_fill_row(slice->x, n, plan, i, 0, 1); /* the work of all is the same */
        s->n_elems += n;
    }
}

static int sample_init(struct sample *s, const struct strait_experiment *e, const char *kind,
                       struct strait_error *err)
{
    const struct strait_model *m = e->model;
    struct strait_tensors *tensors = NULL;
    struct strait_tensor_fill_plan *plan = NULL;
    const double share = fmin(1, MAX_BYTES / (4.0 * (double)m->n_elems));
    int failed = -1;
    *s = (struct sample){.n_slices = m->n_rows, .n_turns = strait_n_turns(4 * m->n_elems)};
    if (strait_tensors_load(&tensors, e->tensors, err) != 0 ||
        strait_tensor_fill_plan_new(&plan, m, tensors, kind, STRAIT_FILL_HELD_OUT, err) != 0)
        goto out;
    s->slices = calloc(s->n_turns * m->n_rows, sizeof(*s->slices));
    s->back = calloc(s->n_turns * m->n_rows, sizeof(*s->back));
    s->values = strait_buffer_new(s->n_turns * m->n_elems * sizeof(float));
    s->decoded = strait_buffer_new(s->n_turns * m->n_elems * sizeof(float));
    if (!s->slices || !s->back || !s->values || !s->decoded) {
        strait_error_set(err, STRAIT_ERR_NOMEM, "calibration", "memory ran out");
        goto out;
    }
    if (strait_sweeper_init(&s->sweeper, err) != 0)
        goto out;
    for (size_t turn = 0; turn < s->n_turns; turn++)
        cut(s, e, turn, share, plan);
    s->n_elems /= s->n_turns;
    failed = 0;
out:
    strait_tensor_fill_plan_free(plan);
    strait_tensors_free(tensors);
    return failed;
}

/* Speeds over the repeats, whose times are ascending. */
static struct strait_quantiles speeds(const double *times_s, size_t n, double bytes)
{
    return (struct strait_quantiles){bytes / times_s[n - 1 - n / 10], bytes / times_s[n / 2],
                                     bytes / times_s[n / 10]};
}

static bool has_class(const struct sample *s, bool lossy)
{
    for (size_t i = 0; i < s->n_slices; i++)
        if (s->slices[i].lossy == lossy)
            return true;
    return false;
}

/* The slices of one class of all senders; all slices where there is none of it, since tensors
 * outside the model may be of it. Out: raw_bytes: of a sender */
static int choose_slices(struct strait_turns *t, size_t *raw_bytes, const struct sample *s,
                         bool lossy, const struct strait_codec_spec *spec, struct strait_error *err)
{
    assert(s->n_turns > 0); /* there is a client */
    const bool all = !has_class(s, lossy);
    size_t n = 0, n_elems = 0;
    int failed = 0;
    for (size_t i = 0; i < s->n_turns * s->n_slices && !failed; i++) {
        if (s->slices[i].lossy != lossy && !all)
            continue;
        t->from[n] = s->slices[i];
        t->to[n] = s->back[i];
        t->from[n].lossy = t->to[n].lossy = true; /* one codec, one bound here */
        if (strait_feedback_needed(spec))
            failed = !(t->from[n].memory = strait_feedback_new(
                           spec->ops, spec->params, t->from[n].n_elems, spec->memory, err));
        n_elems += t->from[n++].n_elems;
    }
    t->n_turns = s->n_turns;
    t->n_slices = n / s->n_turns;
    *raw_bytes = 4 * n_elems / s->n_turns;
    return failed ? -1 : 0;
}

static void fill_entry(struct strait_profile_entry *entry, const struct strait_codec_times *t,
                       size_t raw_bytes, size_t n_slices)
{
    const double bytes = (double)raw_bytes;
    entry->encode = speeds(t->encode_s, t->n_repeats, bytes);
    entry->decode = speeds(t->decode_s, t->n_repeats, bytes);
    entry->encode_bytes_per_s = bytes / strait_typical_s(t->encode_s, t->n_repeats);
    entry->decode_bytes_per_s = bytes / strait_typical_s(t->decode_s, t->n_repeats);
    entry->ratio = bytes / (double)(t->len_bytes - n_slices * STRAIT_BUNDLE_SLICE_BYTES);
}

/* One codec at one bound on the slices of one class (lossy or not). The quantiles say how far the
 * readings lie apart. */
static int measure(struct strait_profile_entry *entry, struct sample *s, bool lossy,
                   const struct strait_codec_spec *spec, struct strait_error *err)
{
    const struct strait_codec_ops *ops = spec->ops;
    struct strait_bundle bundle = {.lossy.ops = ops, .lossless.ops = ops, .bound = spec->bound};
    const size_t n_all = s->n_turns * s->n_slices;
    struct strait_slice *of = calloc(2 * n_all + 1, sizeof(*of));
    struct strait_codec_times t;
    size_t raw_bytes;
    if (!of || strait_codec_open(ops, &bundle.lossy.state, spec->params, err) != 0) {
        free(of);
        return strait_error_set(err, STRAIT_ERR_NOMEM, "calibration", "memory ran out");
    }
    struct strait_turns turns = {.from = of, .to = of + n_all};
    bundle.lossless.state = bundle.lossy.state;
    const int failed =
        choose_slices(&turns, &raw_bytes, s, lossy, spec, err) != 0 ||
        strait_time_turns(&t, &bundle, &turns, N_REPEATS, MIN_S, &s->sweeper, err) != 0;
    if (!failed)
        fill_entry(entry, &t, raw_bytes, turns.n_slices);
    entry->ratios = (struct strait_quantiles){entry->ratio, entry->ratio, entry->ratio};
    entry->bound = spec->bound;
    snprintf(entry->codec, sizeof(entry->codec), "%s", ops->name);
    strait_codec_settings_text(entry->settings, spec);
    for (size_t i = 0; i < n_all; i++)
        strait_feedback_free(of[i].memory);
    if (ops->close)
        ops->close(bundle.lossy.state);
    free(of);
    return failed ? -1 : 0;
}

/* y += w x and memcpy over the whole sample, bytes of one operand a second. */
static int measure_memory(struct strait_profile *p, const struct sample *s,
                          struct strait_error *err)
{
    const double bytes = 4.0 * (double)s->n_elems;
    struct strait_memory_times t;
    float *sum = strait_buffer_new(s->n_elems * sizeof(*sum));
    if (!sum)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "calibration", "memory ran out");
    strait_time_memory(&t, sum, s->decoded, s->values, s->n_elems, s->n_turns, N_REPEATS);
    p->copy_bytes_per_s = bytes / fmax(strait_typical_s(t.copy_s, t.n_repeats), 1e-9);
    p->add_bytes_per_s = bytes / fmax(strait_typical_s(t.add_s, t.n_repeats), 1e-9);
    strait_buffer_free(sum);
    return 0;
}

static struct strait_profile_entry *find_entry(struct strait_profile *p,
                                               const struct strait_codec_spec *spec,
                                               const char *kind, const char *model)
{
    char settings[STRAIT_SPEC_CHARS];
    strait_codec_settings_text(settings, spec);
    for (size_t i = 0; i < p->n_entries; i++) {
        struct strait_profile_entry *e = &p->entries[i];
        if (strcmp(e->codec, spec->ops->name) == 0 && strcmp(e->settings, settings) == 0 &&
            e->bound.kind == spec->bound.kind && e->bound.value == spec->bound.value &&
            strcmp(e->kind, kind) == 0 && strcmp(e->model, model) == 0)
            return e;
    }
    return NULL;
}

static struct strait_profile_entry *new_entry(struct strait_profile *p, const char *kind,
                                              const char *model)
{
    struct strait_profile_entry *more =
        realloc(p->entries, (p->n_entries + 1) * sizeof(*p->entries));
    if (!more)
        return NULL;
    p->entries = more;
    struct strait_profile_entry *e = &p->entries[p->n_entries];
    *e = (struct strait_profile_entry){0};
    snprintf(e->kind, sizeof(e->kind), "%s", kind);
    snprintf(e->model, sizeof(e->model), "%s", model);
    return e;
}

struct calibrating {
    struct strait_profile *profile;
    size_t n_missing;
    bool measure; /* else count */
};

/* One direction of one point: its codec on the large tensors, the lossless one on the rest. */
static int calibrate_choice(struct calibrating *of, const struct strait_experiment *e,
                            const struct strait_codec_choice *c, const char *kind,
                            struct strait_error *err)
{
    struct strait_profile *p = of->profile;
    const bool is_none = strcmp(c->spec.ops->name, "none") == 0;
    const bool all = (c->spec.ops->flags & STRAIT_CODEC_LOSSLESS) != 0;
    struct sample s;
    const bool have = is_none || find_entry(p, &c->spec, kind, e->model->name);
    const bool have_lossless = is_none || all || find_entry(p, &c->lossless, "any", e->model->name);
    const size_t n_missing =
        (have ? 0u : 1u) + (have_lossless ? 0u : 1u) + (p->add_bytes_per_s > 0 ? 0u : 1u);
    int failed = 0;
    of->n_missing += n_missing;
    if (n_missing == 0 || !of->measure)
        return 0;
    if (sample_init(&s, e, kind, err) != 0) {
        sample_release(&s);
        return -1;
    }
    if (!(p->add_bytes_per_s > 0))
        failed = measure_memory(p, &s, err);
    if (!failed && !have) {
        struct strait_profile_entry *entry = new_entry(p, kind, e->model->name);
        if (all) /* a lossless codec takes every tensor */
            for (size_t i = 0; i < s.n_turns * s.n_slices; i++)
                s.slices[i].lossy = true;
        failed = !entry || measure(entry, &s, true, &c->spec, err) != 0;
        p->n_entries += !failed;
    }
    if (!failed && !have_lossless) {
        struct strait_profile_entry *entry = new_entry(p, "any", e->model->name);
        failed = !entry || measure(entry, &s, false, &c->lossless, err) != 0;
        p->n_entries += !failed;
    }
    sample_release(&s);
    return failed ? strait_error_set(err, STRAIT_ERR_NOMEM, "calibration", "memory ran out") : 0;
}

static int describe(struct strait_profile *p, struct strait_error *err)
{
    char text[512], date[32];
    struct utsname u;
    const time_t now = time(NULL);
    struct tm tm;
    uname(&u);
    gmtime_r(&now, &tm);
    strftime(date, sizeof(date), "%Y-%m-%d", &tm);
    snprintf(text, sizeof(text), "%s, Linux %s", u.machine, u.release);
    p->title = strdup("measured for this run");
    p->machine = strdup(text);
    p->date = strdup(date);
    p->version = strdup(STRAIT_VERSION);
    p->source = strdup("this machine, one core, recordings held out from what is sent");
    return p->title && p->machine && p->date && p->version && p->source
               ? 0
               : strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
}

/* Bounds that the strategy may ask for beside the experiment's: both ends, and between them so many
 * that neighbours are at most half a decade apart. */
static int calibrate_bounds(struct calibrating *of, const struct strait_experiment *e,
                            int direction, struct strait_error *err)
{
    struct strait_codec_choice choice = direction == 0 ? e->up : e->down;
    const char *kind = direction == 0 ? strait_uplink_kind(e) : e->strategy->downlink_kind;
    double least, most;
    int failed = 0;
    if (!kind || !e->strategy->bounds_of || !e->strategy->bounds_of(&least, &most, e, direction))
        return 0;
    const int n = (int)ceil(2 * log10(most / least) - 1e-9);
    for (int i = 0; i <= n && !failed; i++) {
        choice.spec.bound.value = i == n ? most : least * pow(most / least, (double)i / n);
        failed = calibrate_choice(of, e, &choice, kind, err);
    }
    return failed;
}

static int calibrate_point(struct calibrating *of, const struct strait_sweep *sweep, size_t i,
                           struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    json_t *point = strait_sweep_point(sweep, i, NULL, err);
    int failed = !point || strait_experiment_read(&e, sweep->file, point, err) != 0;
    json_decref(point);
    if (failed)
        return -1;
    const struct strait_strategy *s = e->strategy;
    failed = calibrate_choice(of, e, &e->up, strait_uplink_kind(e), err) != 0 ||
             calibrate_bounds(of, e, 0, err) != 0 || calibrate_bounds(of, e, 1, err) != 0 ||
             (s->downlink_kind && calibrate_choice(of, e, &e->down, s->downlink_kind, err) != 0);
    strait_experiment_free(e);
    return failed ? -1 : 0;
}

int strait_calibrate_missing(struct strait_profile *p, size_t *n_missing,
                             const struct strait_sweep *sweep, bool measure,
                             struct strait_error *err)
{
    struct calibrating of = {.profile = p, .measure = measure};
    int failed = 0;
    for (size_t i = 0; i < sweep->n_points && !failed; i++)
        failed = calibrate_point(&of, sweep, i, err);
    *n_missing = of.n_missing;
    return failed || (measure && strait_profile_round(p, err) != 0) ? -1 : 0;
}

int strait_calibrate_for(struct strait_profile **out, const struct strait_sweep *sweep,
                         struct strait_error *err)
{
    struct strait_profile *p = calloc(1, sizeof(*p));
    size_t n_missing;
    *out = NULL;
    if (!p)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
    if (describe(p, err) != 0 || strait_calibrate_missing(p, &n_missing, sweep, true, err) != 0) {
        strait_profile_free(p);
        return -1;
    }
    *out = p;
    return 0;
}
