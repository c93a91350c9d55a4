/* A tensor is coded parameter by parameter: size and cost from the profile, the ranks' shared
 * readings, and the tensors passed to the real codec. */
#include <math.h>
#include <stdlib.h>

#include "codecs/reference.h"
#include "core/hash.h"
#include "coding.h"

bool strait_codec_is_lossy(const struct strait_codec *c, const struct strait_param_row *row)
{
    return (c->choice->spec.ops->flags & STRAIT_CODEC_LOSSLESS) == 0 &&
           strait_codec_choice_takes(c->choice, row);
}

size_t strait_each_row(const struct strait_rank_state *w, const struct strait_tensor *t,
                       void (*fn)(void *arg, const struct strait_param_row *row, size_t lo,
                                  size_t hi),
                       void *arg)
{
    const struct strait_model *m = w->point->experiment->model;
    size_t row_lo = 0, n = 0;
    for (size_t i = 0; i < m->n_rows && row_lo < t->hi && t->lo < m->n_elems; i++) {
        const size_t row_hi = row_lo + m->rows[i].n_elems;
        const size_t lo = row_lo > t->lo ? row_lo : t->lo, hi = row_hi < t->hi ? row_hi : t->hi;
        if (lo < hi) {
            n++;
            if (fn)
                fn(arg, &m->rows[i], lo, hi);
        }
        row_lo = row_hi;
    }
    if (t->lo >= m->n_elems && t->lo < t->hi) {
        const struct strait_param_row outside = {.n_dims = 2, .n_elems = t->hi - t->lo};
        n++;
        if (fn)
            fn(arg, &outside, t->lo, t->hi);
    }
    return n;
}

/* Ranges whose estimates are kept; those of a ring's parts, which come back a round later, too. */
enum { STRAIT_ESTIMATES = 512 };

struct estimating {
    const struct strait_codec *codec;
    struct strait_codec_cost lossy;
    const void *sized_state; /* for predict; NULL: sizes come from the profile */
    struct strait_estimate of;
    struct strait_rank *rank;
    struct strait_codec *mine;          /* codec, to look up other bounds */
    const struct strait_within *within; /* NULL: one bound for all */
    bool changes;
};

/* A tensor's own bound, or kind NONE: that of the whole encoding. */
static struct strait_bound bound_of(const struct strait_codec *c, const struct strait_model *m,
                                    const struct strait_within *within,
                                    const struct strait_param_row *row)
{
    const struct strait_bound own = c->choice->spec.bound;
    struct strait_bound bound = {.kind = STRAIT_BOUND_NONE};
    const bool outside = row < m->rows || row >= m->rows + m->n_rows;
    const size_t i = outside ? 0 : (size_t)(row - m->rows);
    if (outside || !(c->choice->spec.ops->flags & STRAIT_CODEC_BOUNDED))
        return bound;
    if (within->by_row)
        return within->by_row[i];
    if (c->choice->row_bounds && isfinite(c->choice->row_bounds[i])) {
        bound = (struct strait_bound){own.kind, c->choice->row_bounds[i]};
        if (!isnan(within->bound) && own.value > 0)
            bound.value *= within->bound / own.value;
    }
    return bound;
}

/* Rows of a parameter as a matrix; 0 for a part of one. */
static size_t n_rows_of(const struct strait_param_row *row, size_t n_elems)
{
    return n_elems == row->n_elems && row->n_dims >= 2 ? row->shape[0] : 0; /* 0 outside */
}

/* How many times as much as by its ratio, its first parameter, a codec sends. */
static double times_ratio(const struct strait_codec *c)
{
    return c->share > 0 ? c->share / c->choice->spec.params[0] : 1;
}

void strait_set_share(struct strait_codec *c, double share)
{
    c->share = share;
}

/* Most ranks never ask for another bound. NULL: memory ran out. */
/* NULL: `none` has no costs. Inside a site it takes as long as with the codec's own bits. */
static const struct strait_codec_cost *lossy_cost(const struct strait_codec *c)
{
    const struct strait_codec_cost *const costs[STRAIT_N_CODECS] = {
        &strait_codec_owner(c)->point->up, &strait_codec_owner(c)->point->down, NULL,
        &strait_codec_owner(c)->point->up};
    return costs[c->number];
}

/* With the bound of the experiment. */
static const struct strait_codec_cost *own_cost(const struct strait_rank_state *w,
                                                const struct strait_codec *c, bool changes)
{
    return changes ? &w->point->changes[c - w->codecs] : lossy_cost(c);
}

static const struct strait_codec_cost *lossless_cost(const struct strait_codec *c)
{
    const struct strait_codec_cost *const costs[STRAIT_N_CODECS] = {
        &strait_codec_owner(c)->point->lossless_up, &strait_codec_owner(c)->point->lossless_down,
        NULL, &strait_codec_owner(c)->point->lossless_up};
    return costs[c->number];
}

static struct strait_cached_costs *cached_costs(struct strait_codec *c)
{
    if (!c->cached && (c->cached = malloc(sizeof(*c->cached))))
        c->cached->bound[0] = c->cached->bound[1] = NAN;
    return c->cached;
}

/* Look a bound up in the profile once: rounds and parts of tensors share the result. With real
 * payload the profile tells times alone, and where it lacks the bound those of the experiment's
 * do. */
static struct strait_codec_cost cost_at(struct strait_rank *r, struct strait_codec *c,
                                        const struct strait_within *within, double bound,
                                        bool changes)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_error err = {0};
    const double own = c->choice->spec.bound.value;
    if (isnan(bound) || bound == own)
        return !changes && c->number == 0 ? strait_trial_sum_cost(w->point, within->of_ranks)
                                          : *own_cost(w, c, changes);
    pthread_mutex_lock(&w->mutex);
    struct strait_codec_cost cost = {0};
    struct strait_cached_costs *cached = cached_costs(c);
    if (!cached) {
        strait_error_memory(&err, NULL);
    } else if (bound == cached->bound[changes]) {
        cost = cached->lossy[changes];
    } else if (strait_trial_cost(&cost, w->point, (int)(c - w->codecs), changes, bound, &err) ==
               0) {
        cached->lossy[changes] = cost;
        cached->bound[changes] = bound;
    }
    pthread_mutex_unlock(&w->mutex);
    if (err.code == STRAIT_OK)
        return cost;
    if (!r->run->real_payload || err.code == STRAIT_ERR_NOMEM)
        r->backend->ops->fail(r, &err);
    return *own_cost(w, c, changes);
}

static void estimate_row(void *arg, const struct strait_param_row *row, size_t lo, size_t hi)
{
    struct estimating *e = arg;
    const struct strait_codec_ops *ops = e->codec->choice->spec.ops;
    const bool lossy = strait_codec_is_lossy(e->codec, row) || ops->flags & STRAIT_CODEC_LOSSLESS;
    const struct strait_bound bound = bound_of(e->codec, strait_model(e->rank), e->within, row);
    const struct strait_codec_cost own =
        lossy && bound.kind == e->codec->choice->spec.bound.kind
            ? cost_at(e->rank, e->mine, e->within, bound.value, e->changes)
            : e->lossy;
    const struct strait_codec_cost *cost = lossy ? &own : lossless_cost(e->codec);
    const double raw_bytes = 4.0 * (double)(hi - lo);
    const size_t exact_bytes =
        !lossy || !e->sized_state ? 0
        : e->within->n_added > 1 && ops->predict_sum
            ? ops->predict_sum(e->sized_state, hi - lo, e->within->n_added)
        : e->within->settled
            ? ops->statistics->predict(e->sized_state, hi - lo)
            : strait_codec_predict(ops, e->sized_state, hi - lo, n_rows_of(row, hi - lo));
    e->of.encode_s += cost->encode_fixed_s + raw_bytes / cost->encode_bytes_per_s;
    e->of.decode_s += cost->decode_fixed_s + raw_bytes / cost->decode_bytes_per_s;
    const double more = lossy ? times_ratio(e->codec) : 1;
    e->of.bytes += exact_bytes > 0 ? (double)exact_bytes : raw_bytes / cost->ratio * more;
}

size_t strait_task_n_slices(const struct strait_rank_state *w, const struct strait_tensor *t)
{
    return strait_each_row(w, t, NULL, NULL);
}

static struct strait_estimate estimate(struct strait_rank *r, struct strait_codec *c,
                                       struct strait_within within, const struct strait_tensor *t,
                                       bool changes)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    struct estimating e = {.codec = c,
                           .rank = r,
                           .mine = c,
                           .within = &within,
                           .changes = changes,
                           .lossy = cost_at(r, c, &within, within.bound, changes),
                           .sized_state = w->point->sized_states[c - w->codecs]};
    const size_t n = strait_each_row(w, t, estimate_row, &e);
    e.of.bytes = ceil(e.of.bytes + (double)n * STRAIT_BUNDLE_SLICE_BYTES) +
                 (double)strait_line_head_bytes(c, n);
    return e.of;
}

/* What was estimated, for all ranks of a trial: they encode the same ranges round after round. */
struct strait_estimates {
    struct strait_estimate_of {
        double bound, share;
        size_t lo, hi;
        int codec, of_ranks;
        bool changes, is_known, settled;
        struct strait_estimate is;
    } slots[STRAIT_ESTIMATES];
};

static bool is_same(const struct strait_estimate_of *a, const struct strait_estimate_of *b)
{
    return a->is_known && a->lo == b->lo && a->hi == b->hi && a->codec == b->codec &&
           a->changes == b->changes && a->settled == b->settled && a->of_ranks == b->of_ranks &&
           a->share == b->share && (a->bound == b->bound || (isnan(a->bound) && isnan(b->bound)));
}

struct strait_estimate strait_codec_estimate(struct strait_rank *r, struct strait_codec *c,
                                             struct strait_within within,
                                             const struct strait_tensor *t, bool changes)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_estimates *all = w->point->estimates;
    if (within.by_row || within.n_added > 1 || !all)
        return estimate(r, c, within, t, changes);
    struct strait_estimate_of this = {.bound = within.bound,
                                      .share = c->share,
                                      .lo = t->lo,
                                      .hi = t->hi,
                                      .codec = (int)(c - w->codecs),
                                      .of_ranks = w->point->n_sums > 0 ? within.of_ranks : 0,
                                      .changes = changes,
                                      .settled = within.settled,
                                      .is_known = true};
    const uint64_t key = ((uint64_t)t->lo * 31 + (uint64_t)t->hi) * 0x9e3779b97f4a7c15u;
    struct strait_estimate_of *slot =
        &all->slots[((key >> 40) ^ (uint64_t)(2 * this.codec + changes)) % STRAIT_ESTIMATES];
    pthread_mutex_lock(&w->mutex); /* of the lanes of a rank that is a process */
    const bool known = is_same(slot, &this);
    if (known)
        this.is = slot->is;
    pthread_mutex_unlock(&w->mutex);
    if (known)
        return this.is;
    this.is = estimate(r, c, within, t, changes); /* which may fail the rank */
    pthread_mutex_lock(&w->mutex);
    *slot = this;
    pthread_mutex_unlock(&w->mutex);
    return this.is;
}

struct strait_estimates *strait_estimates_new(void)
{
    return calloc(1, sizeof(struct strait_estimates));
}

bool strait_coding_cost(struct strait_rank *r, struct strait_coding_cost *cost,
                        struct strait_codec *c, const struct strait_tensor *x)
{
    if (strait_codec_is_none(c) || !(lossy_cost(c)->ratio > 0))
        return false;
    const struct strait_estimate e =
        strait_codec_estimate(r, c, (struct strait_within){.bound = NAN}, x, false);
    *cost = (struct strait_coding_cost){e.bytes, e.encode_s, e.decode_s};
    return true;
}

bool strait_adds_encoded(const struct strait_codec *c)
{
    return strait_codec_adds(&c->choice->spec);
}

struct sizing {
    const struct strait_codec *codec;
    const void *lossy_state, *lossless_state;
    bool fixed;
};

static void size_row(void *arg, const struct strait_param_row *row, size_t lo, size_t hi)
{
    struct sizing *s = arg;
    const bool lossy = strait_codec_is_lossy(s->codec, row);
    const struct strait_codec_ops *ops =
        lossy ? s->codec->choice->spec.ops : s->codec->choice->lossless.ops;
    s->fixed &= strait_codec_predict(ops, lossy ? s->lossy_state : s->lossless_state, hi - lo,
                                     n_rows_of(row, hi - lo)) > 0;
}

bool strait_size_is_fixed(struct strait_rank *r, const struct strait_codec *c,
                          const struct strait_tensor *x)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    const void *sized = w->point->sized_states[c - w->codecs];
    const bool real = r->run->real_payload;
    struct sizing s = {c, real ? c->memory->lossy_state : sized,
                       real ? c->memory->lossless_state : NULL, true};
    if (!strait_codec_is_none(c))
        strait_each_row(w, x, size_row, &s);
    return s.fixed;
}

/* --- readings shared by ranks ------------------------------------------------------------- */

struct strait_readings *strait_reading_of(const struct strait_rank_state *w,
                                          enum strait_reading_of operation,
                                          const struct strait_codec *c, double bound,
                                          const struct strait_tensor *t)
{
    if (!w->point->readings)
        return NULL;
    const bool own = !c || isnan(bound) || bound == c->choice->spec.bound.value;
    const uint64_t at = own ? 0 : strait_checksum(&bound, sizeof(bound));
    const bool refers = c && c->choice->reference;
    const uint64_t parts[5] = {(uint64_t)operation + (refers ? 16 : 0),
                               c ? 1 + (uint64_t)(c - w->codecs) : 0, t->lo, t->hi, at};
    const uint64_t key = strait_checksum(parts, sizeof(parts)) | 1;
    for (size_t i = 0; i < STRAIT_MAX_READINGS; i++) {
        struct strait_reading *r = &w->point->readings[(key + i) % STRAIT_MAX_READINGS];
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&r->key, &found, key) || found == key)
            return &r->of;
    }
    return NULL;
}

/* --- real work ---------------------------------------------------------------------------- */

struct slicing {
    struct strait_rank *rank;
    struct strait_codec *codec;
    struct strait_slice *slices;
    size_t n;
    float *values;
    size_t lo;
    bool with_memory;
    struct strait_within within;
    const struct strait_settled *settled;
    unsigned of_ranks;
};

/* The sender's memory for elements [lo, hi), which are one parameter or a part of one. */
static struct strait_feedback *memory_of(struct strait_rank *r, struct strait_codec *c, size_t lo,
                                         size_t hi)
{
    const struct strait_codec_spec *spec = &c->choice->spec;
    struct strait_error err = {0};
    struct strait_remembered *m = c->remembered;
    if (!strait_feedback_needed(spec))
        return NULL;
    while (m && (m->lo != lo || m->hi != hi))
        m = m->next;
    if (m)
        return m->memory;
    m = calloc(1, sizeof(*m));
    if (!m)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    *m = (struct strait_remembered){.lo = lo, .hi = hi, .next = c->remembered};
    m->memory = strait_feedback_new(spec->ops, spec->params, hi - lo, spec->memory, &err);
    if (!m->memory) {
        free(m);
        r->backend->ops->fail(r, &err);
    }
    c->remembered = m;
    return m->memory;
}

static void slice_row(void *arg, const struct strait_param_row *row, size_t lo, size_t hi)
{
    struct slicing *s = arg;
    struct strait_slice *slice = &s->slices[s->n++];
    *slice = (struct strait_slice){.x = s->values + (lo - s->lo),
                                   .n_elems = hi - lo,
                                   .lossy = strait_codec_is_lossy(s->codec, row),
                                   .n_rows = n_rows_of(row, hi - lo)};
    slice->bound = bound_of(s->codec, strait_model(s->rank), &s->within, row);
    if (slice->lossy && s->settled) {
        const struct strait_settled_row *r = &s->settled->rows[row - strait_model(s->rank)->rows];
        slice->agreed =
            (struct strait_agreed){s->settled->words + r->at, lo - r->first, s->of_ranks};
    }
    if (slice->lossy && s->with_memory)
        slice->memory = memory_of(s->rank, s->codec, lo, hi);
}

void strait_task_cut(struct strait_rank *r, struct strait_task *task, bool with_memory)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct slicing s = {.rank = r,
                        .codec = task->codec,
                        .values = strait_values(r, task->tensor),
                        .lo = task->tensor->lo,
                        .with_memory = with_memory,
                        .settled = task->settled,
                        .of_ranks = task->of_ranks,
                        .within = {.bound = task->bound, .by_row = task->by_row}};
    task->n_slices = strait_each_row(w, task->tensor, NULL, NULL);
    s.slices = task->slices = calloc(task->n_slices + 1, sizeof(*s.slices));
    if (!s.slices)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    strait_each_row(w, task->tensor, slice_row, &s);
    for (size_t i = 0; task->scales && i < task->n_slices; i++)
        task->slices[i].scale = task->scales[i];
}

struct strait_bundle strait_codec_bundle(const struct strait_codec *c, double bound)
{
    const struct strait_coder coder = {c->choice->spec.ops, c->memory->lossy_state};
    const bool lossless = (coder.ops->flags & STRAIT_CODEC_LOSSLESS) != 0;
    struct strait_bundle bundle = {
        .lossy = coder,
        .lossless = lossless
                        ? coder
                        : (struct strait_coder){c->choice->lossless.ops, c->memory->lossless_state},
        .bound = c->choice->spec.bound,
        .share = c->share};
    if (!isnan(bound))
        bundle.bound.value = bound;
    return bundle;
}

void strait_task_encode(void *arg)
{
    struct strait_task *t = arg;
    struct strait_bundle bundle = strait_codec_bundle(t->codec, t->bound);
    bundle.key = t->key;
    bundle.own = t->own;
    bundle.common = t->common;
    bundle.rank = (unsigned)strait_codec_owner(t->codec)->me;
    bundle.n_ranks = (unsigned)strait_codec_owner(t->codec)->point->run.n_ranks;
    if (t->line)
        strait_reference_encode(t->line->values, (uint32_t)strait_codec_owner(t->codec)->me,
                                &bundle, t->out, t->room_bytes, &t->len_bytes, t->slices,
                                t->n_slices, strait_line_keeps(t->codec), t->err);
    else
        strait_bundle_encode(&bundle, t->out, t->room_bytes, &t->len_bytes, NULL, t->slices,
                             t->n_slices, t->err);
}

void strait_task_decode(void *arg)
{
    struct strait_task *t = arg;
    const struct strait_bundle bundle = strait_codec_bundle(t->codec, NAN);
    if (t->line)
        strait_reference_decode(t->line->values, &bundle, t->slices, t->n_slices, t->packet->data,
                                t->packet->payload_bytes,
                                !(t->packet->flags & STRAIT_PACKET_COMES_BACK), t->err);
    else
        strait_bundle_decode(&bundle, t->slices, t->n_slices, t->packet->data,
                             t->packet->payload_bytes, t->err);
}
