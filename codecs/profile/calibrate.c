/* Measure on this machine what codecs cost and save: the maker of profiles. */
#include "calibrate.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/buffer.h"
#include "core/clock.h"
#include "core/heap.h"
#include "codecs/bound.h"
#include "codecs/bundle.h"

enum { MAX_REPEATS = 15, MEMORY_BYTES = 64 << 20, HEAD_ELEMS = 2048, LONG_ELEMS = 8 * HEAD_ELEMS };
static const double finest_s = 1e-9;
static const char *const kinds[] = {"param", "update", "grad", "any", "change"};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct measured { /* one tensor, or the head of a long one, under one case */
    const struct strait_calibration_tensor *tensor;
    size_t n_elems;
    const struct measured *head;
    double encode_s[MAX_REPEATS], decode_s[MAX_REPEATS];
    double encode_median_s, decode_median_s;
    size_t len_bytes;
    unsigned char *encoded;
    float *decoded;
    struct strait_feedback *memory;
    const float *x; /* what is coded, within this bound */
    struct strait_bound bound;
    float *difference;      /* of a change */
    const float *reference; /* of a change, for a codec that takes one; else NULL */
};

static double quantile(double *sorted, size_t n, double p)
{
    return sorted[(size_t)lround(p * (double)(n - 1))];
}

static struct strait_quantiles quantiles_of(double *v, size_t n)
{
    strait_sort(v, n);
    return (struct strait_quantiles){
        .p10 = quantile(v, n, 0.1), .p50 = quantile(v, n, 0.5), .p90 = quantile(v, n, 0.9)};
}

/* Of a head so many as it has. */
static size_t n_rows(const struct measured *m)
{
    const struct strait_calibration_tensor *t = m->tensor;
    return t->n_rows > 0 ? m->n_elems / (t->n_elems / t->n_rows) : 0;
}

/* ---- changes: parameters against those of before */

static bool can_refer(const struct strait_codec_spec *spec)
{
    return (spec->ops->flags & STRAIT_CODEC_BOUNDED || spec->ops->decode_from) &&
           !strait_feedback_needed(spec) && spec->bound.kind != STRAIT_BOUND_POINTWISE &&
           spec->bound.kind != STRAIT_BOUND_RATIO;
}

/* What is coded of a change: the difference from what receivers decoded before, within the bound
 * that the weights themselves have; all of the weights where that is less. The sender's own
 * decoding and the passes over the values are charged by who codes so, as in references.c of
 * workloads. */
static int prepare_change(struct measured *m, const struct strait_coder *coder, size_t cap,
                          struct strait_request request, struct strait_error *err)
{
    const float *x = m->tensor->x;
    if (!(m->difference = strait_buffer_new(4 * m->n_elems + 1)))
        return strait_error_memory(err, "calibration");
    if (strait_codec_encode(coder->ops, coder->state, m->encoded, cap, &m->len_bytes,
                            m->tensor->before, m->n_elems, request, err) != 0 ||
        coder->ops->decode(coder->state, m->difference, m->n_elems, m->encoded, m->len_bytes,
                           err) != 0)
        return -1;
    if (coder->ops->decode_from) {
        m->reference = m->difference;
        return 0;
    }
    for (size_t i = 0; i < m->n_elems; i++)
        m->difference[i] = x[i] - m->difference[i];
    const struct strait_extent whole = strait_extent_of(x, m->n_elems);
    const struct strait_extent part = strait_extent_of(m->difference, m->n_elems);
    if (part.max - part.min >= whole.max - whole.min)
        return 0;
    m->x = m->difference;
    m->bound = (struct strait_bound){STRAIT_BOUND_ABS,
                                     strait_bound_within(request.bound, &whole, x, m->n_elems)};
    return 0;
}

/* ---- one case over all tensors */

static int begin(struct measured *m, const struct strait_calibration_case *c, void *state,
                 struct strait_error *err)
{
    const struct strait_coder coder = {c->spec.ops, state};
    const size_t cap = coder.ops->max_bytes(state, m->n_elems);
    const struct strait_request request = {.bound = c->spec.bound, .n_rows = n_rows(m)};
    m->x = m->tensor->x;
    m->bound = c->spec.bound;
    m->encoded = strait_buffer_new(cap + 1);
    m->decoded = strait_buffer_new(4 * m->n_elems + 1);
    if (!m->encoded || !m->decoded)
        return strait_error_memory(err, "calibration");
    if (strait_feedback_needed(&c->spec) &&
        !(m->memory =
              strait_feedback_new(c->spec.ops, c->spec.params, m->n_elems, c->spec.memory, err)))
        return -1;
    return m->tensor->before ? prepare_change(m, &coder, cap, request, err) : 0;
}

static int measure_once(struct measured *m, const struct strait_calibration_case *c, void *state,
                        unsigned repeat, struct strait_error *err)
{
    const float *x = m->x;
    const struct strait_coder coder = {c->spec.ops, state};
    const size_t cap = coder.ops->max_bytes(state, m->n_elems);
    const struct strait_request request = {
        .bound = m->bound, .key = repeat, .n_rows = n_rows(m), .reference = m->reference};
    const struct strait_instant begin = strait_instant_now();
    if ((m->memory ? strait_feedback_encode(m->memory, &coder, m->encoded, cap, &m->len_bytes, x,
                                            m->n_elems, request, err)
                   : strait_codec_encode(coder.ops, state, m->encoded, cap, &m->len_bytes, x,
                                         m->n_elems, request, err)) != 0)
        return -1;
    m->encode_s[repeat] = strait_instant_cost_s(&begin);
    const struct strait_instant encoded = strait_instant_now();
    if ((m->reference ? coder.ops->decode_from(state, m->decoded, m->reference, m->n_elems,
                                               m->encoded, m->len_bytes, err)
                      : coder.ops->decode(state, m->decoded, m->n_elems, m->encoded, m->len_bytes,
                                          err)) != 0)
        return -1;
    m->decode_s[repeat] = strait_instant_cost_s(&encoded);
    return 0;
}

static int measure_case(struct measured *m, size_t n, const struct strait_calibration_case *c,
                        unsigned n_repeats, struct strait_error *err)
{
    void *state;
    const struct strait_codec_ops *ops = c->spec.ops;
    int failed = strait_codec_open(ops, &state, c->spec.params, err);
    if (failed)
        return -1;
    for (size_t i = 0; i < n && !failed; i++)
        failed = begin(&m[i], c, state, err) != 0 ||
                 measure_once(&m[i], c, state, 0, err) != 0; /* a first time that does not count */
    for (unsigned k = 0; k < n_repeats && !failed; k++)
        for (size_t i = 0; i < n && !failed; i++)
            failed = measure_once(&m[i], c, state, k, err);
    for (size_t i = 0; i < n; i++) {
        strait_buffer_free(m[i].encoded);
        strait_buffer_free(m[i].decoded);
        strait_feedback_free(m[i].memory);
        strait_buffer_free(m[i].difference);
        if (failed)
            continue;
        strait_sort(m[i].encode_s, n_repeats);
        strait_sort(m[i].decode_s, n_repeats);
        m[i].encode_median_s = m[i].encode_s[n_repeats / 2];
        m[i].decode_median_s = m[i].decode_s[n_repeats / 2];
    }
    ops->close(state);
    return failed;
}

/* ---- from times to an entry */

struct fit {
    double fixed_s, bytes_per_s;
};

/* Fixed: the median over long tensors of what the line through head and whole leaves at no bytes;
 * the two have the same content, which two tensors of different length have not. Speed: what then
 * makes the sum of all times come out. fixed: n of them, reordered. */
static struct fit fit_cost(double *fixed, size_t n_fixed, double sum_bytes, double sum_t, size_t n)
{
    struct fit f = {0};
    if (n_fixed > 0)
        f.fixed_s = fmin(fmax(quantiles_of(fixed, n_fixed).p50, 0), 0.5 * sum_t / (double)n);
    f.bytes_per_s = sum_bytes / fmax(sum_t - (double)n * f.fixed_s, finest_s);
    return f;
}

static double left_at_none(double t, double bytes, double head_t, double head_bytes)
{
    return head_t - head_bytes * (t - head_t) / (bytes - head_bytes);
}

static bool is_of_kind(const struct measured *m, const char *kind)
{
    return strcmp(kind, "any") == 0 ? !m->tensor->before : strcmp(m->tensor->kind, kind) == 0;
}

/* The measured tensors of one kind as one entry; v has room for COLUMNS numbers a tensor. */
enum { COLUMNS = 5 };

static void summarise(struct strait_profile_entry *e, const struct measured *m, size_t n,
                      const struct strait_calibration_case *c, const char *kind, double *v)
{
    double *encode = v, *decode = v + n, *ratio = v + 2 * n;
    double *encode_fixed = v + 3 * n, *decode_fixed = v + 4 * n;
    double raw = 0, encoded = 0, encode_s = 0, decode_s = 0;
    size_t k = 0, n_fixed = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_of_kind(&m[i], kind))
            continue;
        const double bytes = 4 * (double)m[i].n_elems;
        const struct measured *head = m[i].head;
        encode[k] = bytes / m[i].encode_median_s;
        decode[k] = bytes / m[i].decode_median_s;
        ratio[k++] = bytes / (double)m[i].len_bytes;
        raw += bytes;
        encoded += (double)m[i].len_bytes;
        encode_s += m[i].encode_median_s;
        decode_s += m[i].decode_median_s;
        if (!head)
            continue;
        encode_fixed[n_fixed] = left_at_none(m[i].encode_median_s, bytes, head->encode_median_s,
                                             4 * (double)head->n_elems);
        decode_fixed[n_fixed++] = left_at_none(m[i].decode_median_s, bytes, head->decode_median_s,
                                               4 * (double)head->n_elems);
    }
    const struct fit in = fit_cost(encode_fixed, n_fixed, raw, encode_s, k);
    const struct fit out = fit_cost(decode_fixed, n_fixed, raw, decode_s, k);
    *e = (struct strait_profile_entry){
        .bound = c->spec.bound,
        .ratio = raw / encoded,
        .encode_bytes_per_s = in.bytes_per_s,
        .encode_fixed_s = in.fixed_s,
        .decode_bytes_per_s = out.bytes_per_s,
        .decode_fixed_s = out.fixed_s,
        .ratios = quantiles_of(ratio, k),
        .encode = quantiles_of(encode, k),
        .decode = quantiles_of(decode, k),
    };
    snprintf(e->codec, sizeof(e->codec), "%s", c->spec.ops->name);
    strait_codec_settings_text(e->settings, &c->spec);
    snprintf(e->kind, sizeof(e->kind), "%s", kind);
}

/* Whole rows of about HEAD_ELEMS values; 0: the tensor is too short to tell. */
static size_t head_elems(const struct strait_calibration_tensor *t)
{
    const size_t columns = t->n_rows > 0 ? t->n_elems / t->n_rows : 1;
    const size_t n = columns * ((HEAD_ELEMS + columns - 1) / columns);
    return n <= t->n_elems / (LONG_ELEMS / HEAD_ELEMS) ? n : 0;
}

static int calibrate_case(struct strait_profile *p, const struct strait_calibration *c,
                          const struct strait_calibration_case *which, struct measured *m,
                          double *v, struct strait_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_tensors; i++) {
        const struct strait_calibration_tensor *t = &c->tensors[i];
        const bool lossy = strait_slice_lossy(t->n_dims, t->n_elems, STRAIT_BUNDLE_CUTOFF_ELEMS);
        if (t->before && !(lossy && can_refer(&which->spec)))
            continue;
        if (t->n_elems > 0 && (lossy || which->spec.ops->flags & STRAIT_CODEC_LOSSLESS))
            m[n++] = (struct measured){.tensor = t, .n_elems = t->n_elems};
    }
    size_t n_heads = 0;
    for (size_t i = 0; i < n; i++)
        if (head_elems(m[i].tensor) > 0) {
            struct measured *head = &m[n + n_heads++];
            *head = (struct measured){.tensor = m[i].tensor, .n_elems = head_elems(m[i].tensor)};
            m[i].head = head;
        }
    if (measure_case(m, n + n_heads, which, c->n_repeats, err) != 0)
        return -1;
    for (size_t k = 0; k < N_KINDS; k++) {
        bool occurs = false;
        for (size_t i = 0; i < n; i++)
            occurs = occurs || is_of_kind(&m[i], kinds[k]);
        if (occurs)
            summarise(&p->entries[p->n_entries++], m, n, which, kinds[k], v);
    }
    return 0;
}

/* ---- y += w x, and memcpy, on memory that no cache holds */

static int measure_memory(struct strait_profile *p, unsigned n_repeats, struct strait_error *err)
{
    const size_t n = MEMORY_BYTES / sizeof(float);
    double add_s[MAX_REPEATS], copy_s[MAX_REPEATS];
    float *restrict x = strait_buffer_new(MEMORY_BYTES);
    float *restrict y = strait_buffer_new(MEMORY_BYTES);
    if (x && y)
        for (unsigned k = 0; k < n_repeats; k++) {
            const struct strait_instant begin = strait_instant_now();
            for (size_t i = 0; i < n; i++)
                y[i] += 0.25f * x[i];
            add_s[k] = strait_instant_cost_s(&begin);
            const struct strait_instant added = strait_instant_now();
            memcpy(x, y, MEMORY_BYTES);
            copy_s[k] = strait_instant_cost_s(&added);
        }
    const bool good = x && y;
    strait_buffer_free(x);
    strait_buffer_free(y);
    if (!good)
        return strait_error_memory(err, "calibration");
    strait_sort(add_s, n_repeats);
    strait_sort(copy_s, n_repeats);
    p->add_bytes_per_s = MEMORY_BYTES / add_s[n_repeats / 2];
    p->copy_bytes_per_s = MEMORY_BYTES / copy_s[n_repeats / 2];
    return 0;
}

int strait_calibrate(struct strait_profile **out, const struct strait_calibration *c,
                     struct strait_error *err)
{
    assert(c->n_repeats >= 1 && c->n_repeats <= MAX_REPEATS);
    struct strait_profile *p = calloc(1, sizeof(*p));
    struct measured *m = calloc(2 * c->n_tensors + 1, sizeof(*m));
    double *v = calloc(COLUMNS * c->n_tensors + 1, sizeof(*v));
    int failed = -1;
    if (p) {
        p->title = strdup(c->title);
        p->machine = strdup(c->machine);
        p->date = strdup(c->date);
        p->version = strdup(c->version);
        p->source = strdup(c->source);
        p->entries = calloc(N_KINDS * c->n_cases + 1, sizeof(*p->entries));
    }
    if (!p || !m || !v || !p->title || !p->machine || !p->date || !p->version || !p->source ||
        !p->entries)
        strait_error_memory(err, "calibration");
    else
        failed = measure_memory(p, c->n_repeats, err);
    for (size_t i = 0; i < c->n_cases && !failed; i++)
        failed = calibrate_case(p, c, &c->cases[i], m, v, err);
    free(m);
    free(v);
    if (failed) {
        strait_profile_free(p);
        return -1;
    }
    *out = p;
    return 0;
}
