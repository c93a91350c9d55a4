/* The codecs of an experiment timed as its ranks will call them: the whole model, cut at its
 * parameters, through strait_bundle_encode, on recordings that are not the ones that are sent. */
#include "calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../codecs/bundle.h"
#include "../core/buffer.h"
#include "../traces/fill.h"

enum { MAX_BYTES = 128 << 20, MIN_REPEATS = 8, MAX_REPEATS = 16, LEAST_SWEEP_BYTES = 128 << 20 };
static const double least_s = 0.4; /* repeat until this much was timed */

/* A model's tensors of one kind: the held-out recordings, larger models cut down evenly. */
struct sample {
    float *values, *decoded;
    unsigned char *encoded, *sweeper; /* as large as two last-level caches */
    size_t sweeper_bytes;
    struct strait_slice *slices, *back;
    size_t n_slices, n_elems;
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sample_release(struct sample *s)
{
    strait_buffer_free(s->values);
    strait_buffer_free(s->decoded);
    strait_buffer_free(s->encoded);
    strait_buffer_free(s->sweeper);
    free(s->slices);
    free(s->back);
}

/* What a rank encodes or decodes was last touched before others used the caches. */
static void empty_caches(struct sample *s)
{
    memset(s->sweeper, s->sweeper[0] + 1, s->sweeper_bytes);
}

static int sample_init(struct sample *s, const struct strait_experiment *e, const char *kind,
                       struct strait_error *err)
{
    const struct strait_model *m = e->model;
    struct strait_tensors *tensors = NULL;
    struct strait_fill_plan *plan = NULL;
    const double share = fmin(1, MAX_BYTES / (4.0 * (double)m->n_elems));
    int failed = -1;
    *s = (struct sample){0};
    if (strait_tensors_load(&tensors, e->tensors, err) != 0 ||
        strait_fill_plan_new(&plan, m, tensors, kind, STRAIT_FILL_HELD_OUT, err) != 0)
        goto out;
    s->slices = calloc(m->n_rows, sizeof(*s->slices));
    s->back = calloc(m->n_rows, sizeof(*s->back));
    s->values = strait_buffer_new(m->n_elems * sizeof(float));
    s->decoded = strait_buffer_new(m->n_elems * sizeof(float));
    const long cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    s->sweeper_bytes = cache_bytes > LEAST_SWEEP_BYTES / 2 && cache_bytes < MAX_BYTES
                           ? 2 * (size_t)cache_bytes
                           : LEAST_SWEEP_BYTES;
    s->sweeper = strait_buffer_new(s->sweeper_bytes);
    if (!s->slices || !s->back || !s->values || !s->decoded || !s->sweeper) {
        strait_error_set(err, STRAIT_ERR_NOMEM, "calibration", "memory ran out");
        goto out;
    }
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_param_row *row = &m->rows[i];
        const bool lossy =
            strait_slice_lossy(row->n_dims, row->n_elems, (size_t)e->up.cutoff_elems);
        const size_t n = lossy ? (size_t)ceil(share * (double)row->n_elems) : row->n_elems;
        s->slices[i] = (struct strait_slice){s->values + s->n_elems, n, lossy};
        s->back[i] = (struct strait_slice){s->decoded + s->n_elems, n, lossy};
        strait_fill_row(s->slices[i].x, n, plan, i, 0, 1);
        s->n_elems += n;
    }
    s->n_slices = m->n_rows;
    failed = 0;
out:
    strait_fill_plan_free(plan);
    strait_tensors_free(tensors);
    return failed;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct strait_quantiles quantiles(double *x, size_t n)
{
    qsort(x, n, sizeof(*x), by_value);
    return (struct strait_quantiles){x[n / 10], x[n / 2], x[n - 1 - n / 10]};
}

static double upper_quartile(const double *sorted, size_t n)
{
    return sorted[n - 1 - n / 4];
}

/* One codec at one bound on the slices of one class (lossy or not). The speed is the upper quartile
 * of the repeats: one that something else on the machine disturbed does not count. */
static int measure(struct strait_profile_entry *entry, struct sample *s, bool lossy,
                   const struct strait_codec_ops *ops, const double *params,
                   struct strait_bound bound, struct strait_error *err)
{
    struct strait_bundle bundle = {.lossy.ops = ops, .lossless.ops = ops, .bound = bound};
    struct strait_slice *of = calloc(2 * s->n_slices + 1, sizeof(*of)), *to = of + s->n_slices;
    double encode[MAX_REPEATS], decode[MAX_REPEATS], timed_s = 0;
    size_t n = 0, n_repeats = 0, raw_bytes = 0, len = 0;
    int failed = -1;
    if (!of || ops->open(&bundle.lossy.state, params, err) != 0) {
        free(of);
        return strait_error_set(err, STRAIT_ERR_NOMEM, "calibration", "memory ran out");
    }
    bundle.lossless.state = bundle.lossy.state;
    for (size_t i = 0; i < s->n_slices; i++) {
        if (s->slices[i].lossy != lossy)
            continue;
        of[n] = s->slices[i];
        to[n] = s->back[i];
        of[n].lossy = to[n].lossy = true; /* one codec, one bound here */
        raw_bytes += 4 * of[n++].n_elems;
    }
    const size_t room = strait_bundle_max_bytes(&bundle, of, n);
    s->encoded = strait_buffer_new(room);
    if (!s->encoded) {
        strait_error_set(err, STRAIT_ERR_NOMEM, "calibration", "memory ran out");
        goto out;
    }
    while (n > 0 && n_repeats < MAX_REPEATS && (n_repeats < MIN_REPEATS || timed_s < least_s)) {
        empty_caches(s);
        const double t0 = cpu_s();
        if (strait_bundle_encode(&bundle, s->encoded, room, &len, NULL, of, n, err) != 0)
            goto out;
        const double t1 = cpu_s();
        empty_caches(s);
        const double t2 = cpu_s();
        if (strait_bundle_decode(&bundle, to, n, s->encoded, len, err) != 0)
            goto out;
        const double t3 = cpu_s();
        timed_s += t1 - t0 + t3 - t2;
        if (n_repeats > 0 || timed_s > least_s) { /* the first run warms up */
            encode[n_repeats] = (double)raw_bytes / fmax(t1 - t0, 1e-9);
            decode[n_repeats] = (double)raw_bytes / fmax(t3 - t2, 1e-9);
        } else {
            encode[0] = decode[0] = NAN;
        }
        n_repeats++;
    }
    if (n > 0) {
        const size_t first = isnan(encode[0]) ? 1u : 0u;
        entry->encode = quantiles(encode + first, n_repeats - first);
        entry->decode = quantiles(decode + first, n_repeats - first);
        entry->encode_bytes_per_s = upper_quartile(encode + first, n_repeats - first);
        entry->decode_bytes_per_s = upper_quartile(decode + first, n_repeats - first);
        entry->ratio =
            (double)raw_bytes /
            (double)(len > n * STRAIT_BUNDLE_SLICE_BYTES ? len - n * STRAIT_BUNDLE_SLICE_BYTES : 1);
    } else { /* no such tensor in this model: nothing is ever charged at this speed */
        entry->encode = entry->decode = (struct strait_quantiles){1e9, 1e9, 1e9};
        entry->encode_bytes_per_s = entry->decode_bytes_per_s = 1e9;
        entry->ratio = 1;
    }
    entry->ratios = (struct strait_quantiles){entry->ratio, entry->ratio, entry->ratio};
    entry->bound = bound;
    snprintf(entry->codec, sizeof(entry->codec), "%s", ops->name);
    failed = 0;
out:
    strait_buffer_free(s->encoded);
    s->encoded = NULL;
    if (ops->close)
        ops->close(bundle.lossy.state);
    free(of);
    return failed;
}

/* y += w x and memcpy over the whole sample, bytes of one operand a second. */
static void measure_memory(struct strait_profile *p, struct sample *s)
{
    double add[MIN_REPEATS], copy[MIN_REPEATS];
    const double bytes = 4.0 * (double)s->n_elems;
    for (int k = 0; k < MIN_REPEATS; k++) {
        empty_caches(s);
        const double t0 = cpu_s();
        memcpy(s->decoded, s->values, s->n_elems * sizeof(float));
        const double t1 = cpu_s();
        float *restrict y = s->decoded;
        const float *restrict x = s->values;
        empty_caches(s);
        const double t2 = cpu_s();
        for (size_t i = 0; i < s->n_elems; i++)
            y[i] += 0.125f * x[i];
        const double t3 = cpu_s();
        copy[k] = bytes / fmax(t1 - t0, 1e-9);
        add[k] = bytes / fmax(t3 - t2, 1e-9);
    }
    quantiles(copy, MIN_REPEATS);
    quantiles(add, MIN_REPEATS);
    p->copy_bytes_per_s = upper_quartile(copy, MIN_REPEATS);
    p->add_bytes_per_s = upper_quartile(add, MIN_REPEATS);
}

static struct strait_profile_entry *find_entry(struct strait_profile *p, const char *codec,
                                               struct strait_bound bound, const char *kind,
                                               const char *model)
{
    for (size_t i = 0; i < p->n_entries; i++) {
        struct strait_profile_entry *e = &p->entries[i];
        if (strcmp(e->codec, codec) == 0 && e->bound.kind == bound.kind &&
            e->bound.value == bound.value && strcmp(e->kind, kind) == 0 &&
            strcmp(e->model, model) == 0)
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

/* One direction of one point: its codec on the large tensors, the lossless one on the rest. */
static int calibrate_choice(struct strait_profile *p, const struct strait_experiment *e,
                            const struct strait_codec_choice *c, const char *kind,
                            struct strait_error *err)
{
    const struct strait_bound none = {.kind = STRAIT_BOUND_NONE};
    const bool is_none = strcmp(c->ops->name, "none") == 0;
    const bool all = (c->ops->flags & STRAIT_CODEC_LOSSLESS) != 0;
    double fallbacks[STRAIT_MAX_CODEC_PARAMS] = {0};
    struct sample s;
    const bool have = is_none || find_entry(p, c->ops->name, c->bound, kind, e->model->name);
    const bool have_lossless =
        is_none || find_entry(p, c->lossless->name, none, "any", e->model->name);
    int failed = 0;
    if (have && have_lossless && p->add_bytes_per_s > 0)
        return 0;
    if (sample_init(&s, e, kind, err) != 0) {
        sample_release(&s);
        return -1;
    }
    if (!(p->add_bytes_per_s > 0))
        measure_memory(p, &s);
    for (unsigned i = 0; i < c->lossless->n_params; i++)
        fallbacks[i] = c->lossless->params[i].fallback;
    if (!have) {
        struct strait_profile_entry *entry = new_entry(p, kind, e->model->name);
        if (all) /* a lossless codec takes every tensor */
            for (size_t i = 0; i < s.n_slices; i++)
                s.slices[i].lossy = true;
        failed = !entry || measure(entry, &s, true, c->ops, c->params, c->bound, err) != 0;
        p->n_entries += !failed;
    }
    if (!failed && !have_lossless && !all) {
        struct strait_profile_entry *entry = new_entry(p, "any", e->model->name);
        failed = !entry || measure(entry, &s, false, c->lossless, fallbacks, none, err) != 0;
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

static int calibrate_point(struct strait_profile *p, const struct strait_sweep *sweep, size_t i,
                           struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    json_t *point = strait_sweep_point(sweep, i, NULL, err);
    int failed = !point || strait_experiment_read(&e, sweep->file, point, err) != 0;
    json_decref(point);
    if (failed)
        return -1;
    const struct strait_strategy *s = e->strategy;
    failed = calibrate_choice(p, e, &e->up, s->uplink_kind, err) != 0 ||
             (s->downlink_kind && calibrate_choice(p, e, &e->down, s->downlink_kind, err) != 0);
    strait_experiment_free(e);
    return failed ? -1 : 0;
}

int strait_calibrate_for(struct strait_profile **out, const struct strait_sweep *sweep,
                         struct strait_error *err)
{
    struct strait_profile *p = calloc(1, sizeof(*p));
    *out = NULL;
    if (!p)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
    int failed = describe(p, err);
    for (size_t i = 0; i < sweep->n_points && !failed; i++)
        failed = calibrate_point(p, sweep, i, err);
    if (failed) {
        strait_profile_free(p);
        return -1;
    }
    *out = p;
    return 0;
}
