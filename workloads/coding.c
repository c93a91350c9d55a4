/* Encode, decode and add as strategies call them: the one place that knows whether payload is real
 * or sized and whether cost is measured or comes from a profile. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/buffer.h"
#include "../core/hash.h"
#include "../core/random.h"
#include "coding.h"
#include "legal.h"

/* --- what a call costs and gives ---------------------------------------------------------- */

bool strait_codec_is_lossy(const struct strait_codec *c, const struct strait_param_row *row)
{
    return (c->choice->spec.ops->flags & STRAIT_CODEC_LOSSLESS) == 0 &&
           strait_slice_lossy(row->n_dims, row->n_elems, (size_t)c->choice->cutoff_elems);
}

/* Call fn for every parameter that [lo, hi) meets; what lies outside the model is one matrix. */
static size_t
each_row(const struct strait_wrap *w, const struct strait_tensor *t,
         void (*fn)(void *arg, const struct strait_param_row *row, size_t lo, size_t hi), void *arg)
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

struct estimating {
    const struct strait_codec *codec;
    struct strait_codec_cost lossy;
    const void *sized_state; /* to ask predict of; NULL: only the profile knows sizes */
    struct strait_estimate of;
};

/* Rows of a piece of a parameter as a matrix: only the whole has them. */
static size_t n_rows_of(const struct strait_param_row *row, size_t n_elems)
{
    return n_elems == row->n_elems && row->n_dims >= 2 ? row->shape[0] : 0; /* 0 outside */
}

static void estimate_row(void *arg, const struct strait_param_row *row, size_t lo, size_t hi)
{
    struct estimating *e = arg;
    const struct strait_codec_ops *ops = e->codec->choice->spec.ops;
    const bool lossy = strait_codec_is_lossy(e->codec, row) || ops->flags & STRAIT_CODEC_LOSSLESS;
    const struct strait_codec_cost *cost = lossy ? &e->lossy : e->codec->lossless;
    const double raw_bytes = 4.0 * (double)(hi - lo);
    const size_t exact_bytes = lossy && e->sized_state
                                   ? ops->predict(e->sized_state, hi - lo, n_rows_of(row, hi - lo))
                                   : 0;
    e->of.encode_s += cost->encode_fixed_s + raw_bytes / cost->encode_bytes_per_s;
    e->of.decode_s += cost->decode_fixed_s + raw_bytes / cost->decode_bytes_per_s;
    e->of.bytes += exact_bytes > 0 ? (double)exact_bytes : raw_bytes / cost->ratio;
}

/* The profile is asked once a bound: rounds share it, and so do the pieces of a tensor. */
static struct strait_codec_cost cost_at(struct strait_rank *r, struct strait_codec *c, double bound)
{
    struct strait_wrap *w = strait_wrap_of(r);
    struct strait_error err = {0};
    const double own = c->choice->spec.bound.value;
    if (isnan(bound) || bound == own)
        return *c->lossy;
    pthread_mutex_lock(&w->mutex);
    if (bound != c->there &&
        strait_point_cost(&c->lossy_there, w->point, (int)(c - w->codecs), bound, &err) == 0)
        c->there = bound;
    const struct strait_codec_cost cost = c->lossy_there;
    pthread_mutex_unlock(&w->mutex);
    if (err.code != STRAIT_OK)
        r->backend->fail(r, &err);
    return cost;
}

struct strait_estimate strait_codec_estimate(struct strait_rank *r, struct strait_codec *c,
                                             double bound, const struct strait_tensor *t)
{
    const struct strait_wrap *w = strait_wrap_of(r);
    struct estimating e = {.codec = c,
                           .lossy = cost_at(r, c, bound),
                           .sized_state = w->point->sized_states[c - w->codecs]};
    const size_t n = each_row(w, t, estimate_row, &e);
    e.of.bytes = ceil(e.of.bytes + (double)n * STRAIT_BUNDLE_SLICE_BYTES);
    return e.of;
}

bool strait_adds_encoded(const struct strait_codec *c)
{
    return strait_codec_adds(&c->choice->spec);
}

struct sizing {
    const struct strait_codec *codec;
    const void *state; /* of its lossy codec */
    bool fixed;
};

static void size_row(void *arg, const struct strait_param_row *row, size_t lo, size_t hi)
{
    struct sizing *s = arg;
    const bool lossy = strait_codec_is_lossy(s->codec, row);
    const struct strait_codec_ops *ops =
        lossy ? s->codec->choice->spec.ops : s->codec->choice->lossless.ops;
    s->fixed &= ops->predict && ops->predict(lossy ? s->state : s->codec->lossless_state, hi - lo,
                                             n_rows_of(row, hi - lo)) > 0;
}

bool strait_size_is_fixed(struct strait_rank *r, const struct strait_codec *c,
                          const struct strait_tensor *x)
{
    const struct strait_wrap *w = strait_wrap_of(r);
    const void *sized = c - w->codecs < 2 ? w->point->sized_states[c - w->codecs] : NULL;
    struct sizing s = {c, r->run->real_payload ? c->lossy_state : sized, true};
    if (!strait_codec_is_none(c))
        each_row(w, x, size_row, &s);
    return s.fixed;
}

/* --- readings that ranks share ------------------------------------------------------------ */

_Atomic(double) *strait_reading_of(const struct strait_wrap *w, enum strait_reading_of operation,
                                   const struct strait_codec *c, double bound,
                                   const struct strait_tensor *t)
{
    const bool own = !c || isnan(bound) || bound == c->choice->spec.bound.value;
    const uint64_t at = own ? 0 : strait_checksum(&bound, sizeof(bound));
    const uint64_t parts[5] = {operation, c ? 1 + (uint64_t)(c - w->codecs) : 0, t->lo, t->hi, at};
    const uint64_t key = strait_checksum(parts, sizeof(parts)) | 1;
    for (size_t i = 0; w->point->readings && i < STRAIT_MAX_READINGS; i++) {
        struct strait_reading *r = &w->point->readings[(key + i) % STRAIT_MAX_READINGS];
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&r->key, &found, key))
            atomic_store(&r->least_s, INFINITY); /* racing ranks lose one reading at most */
        else if (found != key)
            continue;
        return &r->least_s;
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
};

/* What the sender remembers of elements [lo, hi), which are one parameter or a piece of one. */
static struct strait_memory *memory_of(struct strait_rank *r, struct strait_codec *c, size_t lo,
                                       size_t hi)
{
    const struct strait_codec_spec *spec = &c->choice->spec;
    struct strait_error err = {0};
    struct strait_remembered *m = c->remembered;
    if (!strait_memory_needed(spec))
        return NULL;
    while (m && (m->lo != lo || m->hi != hi))
        m = m->next;
    if (m)
        return m->memory;
    m = calloc(1, sizeof(*m));
    if (!m)
        strait_wrap_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    *m = (struct strait_remembered){.lo = lo, .hi = hi, .next = c->remembered};
    m->memory = strait_memory_new(spec->ops, spec->params, hi - lo, spec->memory, &err);
    if (!m->memory) {
        free(m);
        r->backend->fail(r, &err);
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
    if (slice->lossy && s->with_memory)
        slice->memory = memory_of(s->rank, s->codec, lo, hi);
}

void strait_task_cut(struct strait_rank *r, struct strait_task *task, bool with_memory)
{
    struct strait_wrap *w = strait_wrap_of(r);
    struct slicing s = {.rank = r,
                        .codec = task->codec,
                        .values = strait_values(r, task->tensor),
                        .lo = task->tensor->lo,
                        .with_memory = with_memory};
    task->n_slices = each_row(w, task->tensor, NULL, NULL);
    s.slices = task->slices = calloc(task->n_slices + 1, sizeof(*s.slices));
    if (!s.slices)
        strait_wrap_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    each_row(w, task->tensor, slice_row, &s);
}

struct strait_bundle strait_codec_bundle(const struct strait_codec *c, double bound)
{
    const struct strait_coder coder = {c->choice->spec.ops, c->lossy_state};
    const bool lossless = (coder.ops->flags & STRAIT_CODEC_LOSSLESS) != 0;
    struct strait_bundle bundle = {
        .lossy = coder,
        .lossless =
            lossless ? coder : (struct strait_coder){c->choice->lossless.ops, c->lossless_state},
        .bound = c->choice->spec.bound};
    if (!isnan(bound))
        bundle.bound.value = bound;
    return bundle;
}

void strait_task_encode(void *arg)
{
    struct strait_task *t = arg;
    struct strait_bundle bundle = strait_codec_bundle(t->codec, t->bound);
    bundle.key = t->key;
    strait_bundle_encode(&bundle, t->out, t->room_bytes, &t->len_bytes, NULL, t->slices,
                         t->n_slices, &t->err);
}

void strait_task_decode(void *arg)
{
    struct strait_task *t = arg;
    const struct strait_bundle bundle = strait_codec_bundle(t->codec, NAN);
    strait_bundle_decode(&bundle, t->slices, t->n_slices, t->packet->data, t->packet->payload_bytes,
                         &t->err);
}

static void copy_now(void *arg)
{
    struct strait_task *t = arg;
    memmove(t->tensor->values, t->packet->data, t->packet->payload_bytes);
}

/* --- calls -------------------------------------------------------------------------------- */

struct strait_codec *strait_codec(struct strait_rank *r, const char *which)
{
    struct strait_wrap *w = strait_wrap_of(r);
    int i = 0;
    while (i < STRAIT_N_CODECS && strcmp(w->codecs[i].which, which) != 0)
        i++;
    assert(i < STRAIT_N_CODECS);
    return &w->codecs[i];
}

bool strait_codec_is_none(const struct strait_codec *c)
{
    return strcmp(c->choice->spec.ops->name, "none") == 0;
}

bool strait_sends_views(const struct strait_codec *c)
{
    return strait_codec_is_none(c);
}

bool strait_codec_made(const struct strait_wrap *w, const struct strait_packet *p)
{
    const struct strait_codec *c = p->owner;
    return c >= w->codecs && c < w->codecs + STRAIT_N_CODECS;
}

static void release_view(struct strait_packet *p)
{
    free(p);
}

static void release_encoded(struct strait_packet *p)
{
    struct strait_codec *c = p->owner;
    unsigned char *none = NULL;
    strait_wrap_hold(c->wrap, -(double)p->payload_bytes);
    if (!atomic_compare_exchange_strong(&c->spare, &none, p->data))
        strait_buffer_free(p->data);
    free(p);
}

bool strait_packet_is_view(const struct strait_packet *p)
{
    return p->release == release_view;
}

struct view {
    struct strait_packet packet;
    const struct strait_tensor *of; /* alive for as long as the rank that made it */
};

static bool is_same_place(const struct strait_tensor *a, const struct strait_tensor *b)
{
    return (a->parent ? a->parent : a) == (b->parent ? b->parent : b) && a->lo == b->lo &&
           a->hi == b->hi;
}

/* The values themselves are what travels: nothing is copied, nothing is charged. */
static struct strait_packet *view(struct strait_rank *r, struct strait_codec *c,
                                  struct strait_tensor *x)
{
    struct view *v = calloc(1, sizeof(*v));
    if (!v)
        strait_wrap_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    struct strait_packet *p = &v->packet;
    atomic_init(&p->n_refs, 1);
    v->of = x;
    p->data = (unsigned char *)strait_values(r, x);
    p->payload_bytes = 4 * strait_n_elems(x);
    p->release = release_view;
    p->owner = c; /* made here, so not counted as received */
    return p;
}

/* The first client's first encoded tensor is checked against its bound when the run is over. */
static void note_sample(struct strait_rank *r, struct strait_codec *c, double bound,
                        struct strait_tensor *x)
{
    struct strait_wrap *w = strait_wrap_of(r);
    const int first = w->point->experiment->strategy->has_server ? 1 : 0;
    if (!(c->choice->spec.ops->flags & (STRAIT_CODEC_BOUNDED | STRAIT_CODEC_LOSSLESS)) ||
        c->choice->spec.bound.kind == STRAIT_BOUND_RATIO || strait_memory_needed(&c->choice->spec))
        return;
    if (w->sample_of || !r->run->real_payload || w->me != first || x->parent)
        return;
    w->sample_of = x;
    w->sample_codec = c;
    w->sample_bound = bound;
    w->sample_version = x->version;
}

/* Of this rank, round and place in the model; of round and place alone where streams are to be
 * summable. */
static uint64_t key_of(struct strait_wrap *w, const struct strait_codec *c, size_t lo)
{
    const bool shared = c->choice->spec.ops->flags & STRAIT_CODEC_SHARED_KEY;
    const uint64_t round = (uint64_t)atomic_load(&w->round);
    return strait_random_bits(w->point->experiment->seed, shared ? "codec" : "codec of a rank",
                              shared ? lo : (uint64_t)w->me << 40 ^ lo, round);
}

/* Larger than the room that waits: memory of its own, which nobody uses again. */
static void release_larger(struct strait_packet *p)
{
    struct strait_codec *c = p->owner;
    strait_wrap_hold(c->wrap, -(double)p->payload_bytes);
    strait_buffer_free(p->data);
    free(p);
}

struct strait_packet *strait_codec_packet(struct strait_rank *r, struct strait_codec *c,
                                          size_t *room_bytes)
{
    struct strait_packet *p = strait_packet_new(0);
    if (*room_bytes < c->room_bytes)
        *room_bytes = c->room_bytes;
    if (p && r->run->real_payload) {
        if (*room_bytes == c->room_bytes)
            p->data = atomic_exchange(&c->spare, NULL);
        if (!p->data)
            p->data = strait_buffer_new(*room_bytes);
    }
    if (!p || (r->run->real_payload && !p->data))
        strait_wrap_fail(r, STRAIT_ERR_NOMEM, "an encoded tensor does not fit in memory");
    p->release = *room_bytes > c->room_bytes ? release_larger : release_encoded;
    p->owner = c;
    return p;
}

void strait_codec_label(struct strait_packet *p, const struct strait_codec *c, double bound,
                        const struct strait_tensor *x)
{
    p->raw_bytes = 4 * strait_n_elems(x);
    p->n_elems = strait_n_elems(x);
    p->codec_id = c->choice->spec.ops->id;
    p->bound = c->choice->spec.bound;
    if (!isnan(bound))
        p->bound.value = bound;
}

struct strait_packet *strait_encode(struct strait_rank *r, struct strait_codec *c, double bound,
                                    struct strait_tensor *x)
{
    struct strait_wrap *w = strait_wrap_of(r);
    struct strait_packet *p;
    if (strait_codec_is_none(c)) {
        p = view(r, c, x);
    } else {
        struct strait_task task = {
            .codec = c, .tensor = x, .bound = bound, .key = key_of(w, c, x->lo)};
        struct strait_job job = {.resource = STRAIT_CPU};
        struct strait_times times;
        const bool sized = !r->run->real_payload || !r->run->measured_cost;
        const struct strait_estimate e =
            sized ? strait_codec_estimate(r, c, bound, x) : (struct strait_estimate){0};
        strait_tensor_touch(r, x);
        job.cost_s = r->run->measured_cost ? NAN : e.encode_s;
        job.least_s = strait_reading_of(w, STRAIT_READING_ENCODE, c, bound, x);
        if (r->run->real_payload) {
            strait_task_cut(r, &task, true);
            job.fn = strait_task_encode;
            job.arg = &task;
            const struct strait_bundle bundle = strait_codec_bundle(c, bound);
            task.room_bytes = strait_bundle_max_bytes(&bundle, task.slices, task.n_slices);
        }
        p = strait_codec_packet(r, c, &task.room_bytes);
        task.out = p->data;
        struct strait_op *op = r->backend->start(r, &job);
        r->backend->wait(r, op, &times);
        free(task.slices);
        if (task.err.code != STRAIT_OK)
            r->backend->fail(r, &task.err);
        p->payload_bytes = r->run->real_payload ? task.len_bytes : (size_t)e.bytes;
        strait_wrap_hold(w, (double)p->payload_bytes);
        strait_codec_label(p, c, bound, x);
        strait_wrap_span(r, STRAIT_SPAN_ENCODE, &times, p, -1, -1, -1);
        note_sample(r, c, bound, x);
    }
    strait_codec_label(p, c, bound, x);
    return p;
}

/* By the frame: of two codecs of one name the one whose own bound it is, else of the same kind. */
static struct strait_codec *codec_of(struct strait_wrap *w, const struct strait_packet *p)
{
    struct strait_codec *found = NULL;
    for (int i = STRAIT_N_CODECS - 1; i >= 0; i--) {
        const struct strait_codec_spec *spec = &w->codecs[i].choice->spec;
        if (spec->ops->id != p->codec_id || spec->bound.kind != p->bound.kind)
            continue;
        if (!found || spec->bound.value == p->bound.value ||
            found->choice->spec.bound.value != p->bound.value)
            found = &w->codecs[i];
    }
    return found;
}

struct strait_task *strait_decode_start(struct strait_rank *r, struct strait_tensor *y,
                                        struct strait_packet *taken)
{
    struct strait_wrap *w = strait_wrap_of(r);
    struct strait_task *task = calloc(1, sizeof(*task));
    struct strait_job job = {.resource = STRAIT_CPU};
    if (!task)
        strait_wrap_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    *task = (struct strait_task){.kind = STRAIT_SPAN_DECODE, .tensor = y, .packet = taken};
    task->codec = codec_of(w, taken);
    if (!task->codec || taken->n_elems != strait_n_elems(y))
        strait_wrap_fail(r, STRAIT_ERR_BACKEND, "a packet came that this rank did not expect");
    if (strait_codec_is_none(task->codec)) {
        const bool real = r->run->real_payload;
        if (real && taken->payload_bytes != 4 * strait_n_elems(y))
            strait_wrap_fail(r, STRAIT_ERR_BACKEND, "a tensor came that is not of its own length");
        const bool mine = strait_codec_made(w, taken);
        if (mine && is_same_place(((const struct view *)taken)->of, y))
            return task; /* a view of its own values: nothing to do */
        if (!mine && strait_tensor_adopt(r, y, taken)) {
            task->packet = NULL;
            return task;
        }
        strait_tensor_touch(r, y);
        job.cost_s = r->run->measured_cost
                         ? NAN
                         : 4.0 * (double)strait_n_elems(y) / w->point->copy_bytes_per_s;
        job.fn = real ? copy_now : NULL;
        job.least_s = strait_reading_of(w, STRAIT_READING_COPY, NULL, NAN, y);
    } else {
        strait_tensor_touch(r, y);
        const double bound = taken->bound.value;
        job.cost_s =
            r->run->measured_cost ? NAN : strait_codec_estimate(r, task->codec, bound, y).decode_s;
        job.least_s = strait_reading_of(w, STRAIT_READING_DECODE, task->codec, bound, y);
        if (r->run->real_payload) {
            strait_task_cut(r, task, false);
            job.fn = strait_task_decode;
        }
    }
    job.arg = task;
    task->op = r->backend->start(r, &job);
    return task;
}

struct strait_task *strait_task_of(struct strait_rank *r, enum strait_span_kind kind,
                                   struct strait_op *op)
{
    struct strait_task *task = calloc(1, sizeof(*task));
    if (!task)
        strait_wrap_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    *task = (struct strait_task){.kind = kind, .op = op};
    return task;
}

void strait_wait(struct strait_rank *r, struct strait_task *task)
{
    struct strait_times times;
    if (task->op) {
        r->backend->wait(r, task->op, &times);
        if (task->err.code != STRAIT_OK)
            r->backend->fail(r, &task->err);
        if (task->tensor)
            task->tensor->version++;
        const struct strait_packet moved = {.payload_bytes = task->moved_bytes,
                                            .raw_bytes = task->moved_bytes};
        strait_wrap_span(r, task->kind, &times, task->moved_bytes > 0 ? &moved : task->packet, -1,
                         -1, -1);
    }
    strait_drop(r, task->packet);
    free(task->slices);
    free(task);
}

void strait_decode(struct strait_rank *r, struct strait_tensor *y, struct strait_packet *taken)
{
    strait_wait(r, strait_decode_start(r, y, taken));
}

struct adding {
    float *sum;
    const float *x;
    size_t n;
    float weight;
};

static void add_now(void *arg)
{
    const struct adding *a = arg;
    float *restrict sum = a->sum;
    const float *restrict x = a->x;
    for (size_t i = 0; i < a->n; i++)
        sum[i] += a->weight * x[i];
}

void strait_add(struct strait_rank *r, struct strait_tensor *sum, struct strait_tensor *x,
                double weight)
{
    struct strait_wrap *w = strait_wrap_of(r);
    assert(strait_n_elems(sum) == strait_n_elems(x));
    strait_tensor_touch(r, sum);
    strait_tensor_touch(r, x);
    struct adding a = {
        .sum = sum->values, .x = x->values, .n = strait_n_elems(sum), .weight = (float)weight};
    const struct strait_job job = {
        .resource = STRAIT_CPU,
        .cost_s = r->run->measured_cost ? NAN : 4.0 * (double)a.n / w->point->add_bytes_per_s,
        .fn = r->run->real_payload ? add_now : NULL,
        .arg = &a,
        .least_s = strait_reading_of(w, STRAIT_READING_ADD, NULL, NAN, sum)};
    strait_wrap_work(r, STRAIT_SPAN_AGGREGATE, &job);
    sum->version++;
    if (sum->parent)
        sum->parent->version++;
}
