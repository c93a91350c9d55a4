/* Encode, decode and add as strategies call them: the one place that knows whether payload is real
 * or sized and whether cost is measured or comes from a profile. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/buffer.h"
#include "../core/hash.h"
#include "timing.h"
#include "wrap.h"

struct strait_task {
    struct strait_op *op;
    enum strait_span_kind kind;
    struct strait_codec *codec;
    struct strait_tensor *tensor;
    struct strait_packet *packet;
    struct strait_slice *slices; /* the tensor cut at the model's parameters; real payload only */
    size_t n_slices;
    double bound;
    unsigned char *out; /* of encode: room_bytes of the codec's */
    size_t len_bytes;
    struct strait_error err; /* of the worker that ran it */
};

/* --- what a call costs and gives ---------------------------------------------------------- */

struct estimate {
    double cost_s, bytes;
};

static bool is_lossy_row(const struct strait_codec *c, const struct strait_param_row *row)
{
    return (c->choice->ops->flags & STRAIT_CODEC_LOSSLESS) == 0 &&
           strait_slice_lossy(row->n_dims, row->n_elems, (size_t)c->choice->cutoff_elems);
}

/* Call fn for every parameter that [lo, hi) meets. */
static size_t
each_row(const struct strait_wrap *w, const struct strait_tensor *t,
         void (*fn)(void *arg, const struct strait_param_row *row, size_t lo, size_t hi), void *arg)
{
    const struct strait_model *m = w->point->experiment->model;
    size_t row_lo = 0, n = 0;
    for (size_t i = 0; i < m->n_rows && row_lo < t->hi; i++) {
        const size_t row_hi = row_lo + m->rows[i].n_elems;
        const size_t lo = row_lo > t->lo ? row_lo : t->lo, hi = row_hi < t->hi ? row_hi : t->hi;
        if (lo < hi) {
            n++;
            if (fn)
                fn(arg, &m->rows[i], lo, hi);
        }
        row_lo = row_hi;
    }
    return n;
}

struct estimating {
    const struct strait_codec *codec;
    struct estimate encode, decode;
};

static void estimate_row(void *arg, const struct strait_param_row *row, size_t lo, size_t hi)
{
    struct estimating *e = arg;
    const bool lossy = is_lossy_row(e->codec, row);
    const struct strait_codec_cost *cost =
        lossy || (e->codec->choice->ops->flags & STRAIT_CODEC_LOSSLESS) ? e->codec->lossy
                                                                        : e->codec->lossless;
    const double raw_bytes = 4.0 * (double)(hi - lo);
    e->encode.cost_s += cost->encode_fixed_s + raw_bytes / cost->encode_bytes_per_s;
    e->decode.cost_s += cost->decode_fixed_s + raw_bytes / cost->decode_bytes_per_s;
    e->encode.bytes += raw_bytes / cost->ratio;
}

static struct estimating estimate(const struct strait_wrap *w, const struct strait_codec *c,
                                  const struct strait_tensor *t)
{
    struct estimating e = {.codec = c};
    const size_t n = each_row(w, t, estimate_row, &e);
    e.encode.bytes = ceil(e.encode.bytes + (double)n * STRAIT_BUNDLE_SLICE_BYTES);
    return e;
}

/* --- readings that ranks share ------------------------------------------------------------ */

enum { N_REHEARSALS = 5 };
enum operation { ENCODE = 1, DECODE, ADD, COPY };

/* Where the quickest reading of this work stands; NULL in a run that measures nothing. */
static _Atomic(double) *reading_of(const struct strait_wrap *w, enum operation operation,
                                   const struct strait_codec *c, const struct strait_tensor *t)
{
    const uint64_t parts[4] = {operation, c ? 1 + (uint64_t)(c - w->codecs) : 0, t->lo, t->hi};
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
    const struct strait_codec *codec;
    struct strait_slice *slices;
    size_t n;
    float *values;
    size_t lo;
};

static void slice_row(void *arg, const struct strait_param_row *row, size_t lo, size_t hi)
{
    struct slicing *s = arg;
    s->slices[s->n++] = (struct strait_slice){
        .x = s->values + (lo - s->lo), .n_elems = hi - lo, .lossy = is_lossy_row(s->codec, row)};
}

static void cut(struct strait_rank *r, struct strait_task *task)
{
    struct strait_wrap *w = strait_wrap_of(r);
    struct slicing s = {
        .codec = task->codec, .values = strait_values(r, task->tensor), .lo = task->tensor->lo};
    task->n_slices = each_row(w, task->tensor, NULL, NULL);
    s.slices = task->slices = calloc(task->n_slices + 1, sizeof(*s.slices));
    if (!s.slices)
        strait_wrap_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    each_row(w, task->tensor, slice_row, &s);
}

static struct strait_bundle bundle_of(const struct strait_codec *c, double bound)
{
    const struct strait_coder coder = {c->choice->ops, c->lossy_state};
    const bool lossless = (coder.ops->flags & STRAIT_CODEC_LOSSLESS) != 0;
    struct strait_bundle bundle = {
        .lossy = coder,
        .lossless =
            lossless ? coder : (struct strait_coder){c->choice->lossless, c->lossless_state},
        .bound = c->choice->bound};
    if (!isnan(bound))
        bundle.bound.value = bound;
    return bundle;
}

static void encode_now(void *arg)
{
    struct strait_task *t = arg;
    const struct strait_bundle bundle = bundle_of(t->codec, t->bound);
    strait_bundle_encode(&bundle, t->out, t->codec->room_bytes, &t->len_bytes, NULL, t->slices,
                         t->n_slices, &t->err);
}

static void decode_now(void *arg)
{
    struct strait_task *t = arg;
    const struct strait_bundle bundle = bundle_of(t->codec, NAN);
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
    struct strait_codec *c = &w->codecs[strcmp(which, "up") == 0 ? 0 : 1];
    assert(strcmp(c->which, which) == 0);
    return c;
}

static bool is_none(const struct strait_codec *c)
{
    return strcmp(c->choice->ops->name, "none") == 0;
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

/* The values themselves are what travels: nothing is copied, nothing is charged. */
static struct strait_packet *view(struct strait_rank *r, struct strait_codec *c,
                                  struct strait_tensor *x)
{
    struct strait_packet *p = strait_packet_new(0);
    if (!p)
        strait_wrap_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
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
    if (w->sample_of || !r->run->real_payload || w->me != first || x->parent)
        return;
    w->sample_of = x;
    w->sample_codec = c;
    w->sample_bound = bound;
    w->sample_version = x->version;
}

struct strait_packet *strait_encode(struct strait_rank *r, struct strait_codec *c, double bound,
                                    struct strait_tensor *x)
{
    struct strait_wrap *w = strait_wrap_of(r);
    struct strait_packet *p;
    if (is_none(c)) {
        p = view(r, c, x);
    } else {
        struct strait_task task = {.codec = c, .tensor = x, .bound = bound};
        struct strait_job job = {.resource = STRAIT_CPU};
        struct strait_times times;
        const struct estimating e = estimate(w, c, x);
        strait_tensor_touch(r, x);
        job.cost_s = r->run->measured_cost ? NAN : e.encode.cost_s;
        job.least_s = reading_of(w, ENCODE, c, x);
        p = strait_packet_new(0);
        if (r->run->real_payload) {
            cut(r, &task);
            job.fn = encode_now;
            job.arg = &task;
            task.out = atomic_exchange(&c->spare, NULL);
            if (!task.out)
                task.out = strait_buffer_new(c->room_bytes);
        }
        if (!p || (r->run->real_payload && !task.out))
            strait_wrap_fail(r, STRAIT_ERR_NOMEM, "an encoded tensor does not fit in memory");
        struct strait_op *op = r->backend->start(r, &job);
        r->backend->wait(r, op, &times);
        free(task.slices);
        if (task.err.code != STRAIT_OK)
            r->backend->fail(r, &task.err);
        p->payload_bytes = r->run->real_payload ? task.len_bytes : (size_t)e.encode.bytes;
        p->data = task.out;
        p->release = release_encoded;
        p->owner = c;
        strait_wrap_hold(w, (double)p->payload_bytes);
        p->raw_bytes = 4 * strait_n_elems(x);
        strait_wrap_span(r, STRAIT_SPAN_ENCODE, &times, p, -1, -1, -1);
        note_sample(r, c, bound, x);
    }
    p->raw_bytes = 4 * strait_n_elems(x);
    p->n_elems = strait_n_elems(x);
    p->codec_id = c->choice->ops->id;
    p->bound = c->choice->bound;
    if (!isnan(bound))
        p->bound.value = bound;
    return p;
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
    for (int i = 0; i < 2 && !task->codec; i++)
        if (w->codecs[i].choice->ops->id == taken->codec_id)
            task->codec = &w->codecs[i];
    if (!task->codec || taken->n_elems != strait_n_elems(y))
        strait_wrap_fail(r, STRAIT_ERR_BACKEND, "a packet came that this rank did not expect");
    if (is_none(task->codec)) {
        const bool real = r->run->real_payload;
        if (real && taken->payload_bytes != 4 * strait_n_elems(y))
            strait_wrap_fail(r, STRAIT_ERR_BACKEND, "a tensor came that is not of its own length");
        if (taken->owner == task->codec) {
            assert(!real || strait_values(r, y) == (float *)(void *)taken->data);
            return task; /* a view of its own values: nothing to do */
        }
        if (strait_tensor_adopt(r, y, taken)) {
            task->packet = NULL;
            return task;
        }
        strait_tensor_touch(r, y);
        job.cost_s = r->run->measured_cost
                         ? NAN
                         : 4.0 * (double)strait_n_elems(y) / w->point->copy_bytes_per_s;
        job.fn = real ? copy_now : NULL;
        job.least_s = reading_of(w, COPY, NULL, y);
    } else {
        strait_tensor_touch(r, y);
        job.cost_s = r->run->measured_cost ? NAN : estimate(w, task->codec, y).decode.cost_s;
        job.least_s = reading_of(w, DECODE, task->codec, y);
        if (r->run->real_payload) {
            cut(r, task);
            job.fn = decode_now;
        }
    }
    job.arg = task;
    task->op = r->backend->start(r, &job);
    return task;
}

void strait_wait(struct strait_rank *r, struct strait_task *task)
{
    struct strait_times times;
    if (task->op) {
        r->backend->wait(r, task->op, &times);
        if (task->err.code != STRAIT_OK)
            r->backend->fail(r, &task->err);
        task->tensor->version++;
        strait_wrap_span(r, task->kind, &times, task->packet, -1, -1, -1);
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
        .least_s = reading_of(w, ADD, NULL, sum)};
    strait_wrap_work(r, STRAIT_SPAN_AGGREGATE, &job);
    sum->version++;
    if (sum->parent)
        sum->parent->version++;
}

/* --- set up and tear down ----------------------------------------------------------------- */

/* Room for the whole model, whatever its values. */
static void prepare_room(const struct strait_wrap *w, struct strait_codec *c)
{
    const struct strait_model *m = w->point->experiment->model;
    const struct strait_bundle bundle = bundle_of(c, NAN);
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_slice row = {.n_elems = m->rows[i].n_elems,
                                         .lossy = is_lossy_row(c, &m->rows[i])};
        c->room_bytes += strait_bundle_max_bytes(&bundle, &row, 1);
    }
}

void strait_coding_begin(struct strait_rank *r)
{
    struct strait_wrap *w = strait_wrap_of(r);
    const struct strait_point *p = w->point;
    struct strait_error err = {0};
    w->codecs[0] = (struct strait_codec){.which = "up",
                                         .wrap = w,
                                         .choice = &p->experiment->up,
                                         .lossy = &p->up,
                                         .lossless = &p->lossless_up};
    w->codecs[1] = (struct strait_codec){.which = "down",
                                         .wrap = w,
                                         .choice = &p->experiment->down,
                                         .lossy = &p->down,
                                         .lossless = &p->lossless_down};
    for (int i = 0; i < 2 && r->run->real_payload; i++) {
        struct strait_codec *c = &w->codecs[i];
        double fallbacks[STRAIT_MAX_CODEC_PARAMS] = {0};
        for (unsigned k = 0; k < c->choice->lossless->n_params; k++)
            fallbacks[k] = c->choice->lossless->params[k].fallback;
        if (c->choice->ops->open(&c->lossy_state, c->choice->params, &err) != 0 ||
            c->choice->lossless->open(&c->lossless_state, fallbacks, &err) != 0)
            r->backend->fail(r, &err);
        if (is_none(c))
            continue;
        prepare_room(w, c);
        atomic_init(&c->spare, strait_buffer_new(c->room_bytes));
    }
}

static void keep_least(_Atomic(double) *reading, double s)
{
    if (reading)
        atomic_store(reading, fmin(atomic_load(reading), s));
}

/* Before time 0 the first sender takes readings of what it will send, so that the first round does
 * not hang on a single one. */
void strait_coding_rehearse(struct strait_rank *r)
{
    struct strait_wrap *w = strait_wrap_of(r);
    const struct strait_strategy *s = w->point->experiment->strategy;
    struct strait_codec *c = &w->codecs[w->me == 0 ? 1 : 0];
    struct strait_error err = {0};
    struct strait_sweeper sweeper = {0};
    struct strait_codec_times t;
    if (!r->run->measured_cost || !s->has_server || w->me > 1 || is_none(c))
        return;
    const enum strait_tensor_kind kind = w->me == 0 ? STRAIT_WEIGHTS : STRAIT_UPDATE;
    struct strait_tensor whole = {.kind = kind,
                                  .hi = w->point->experiment->model->n_elems,
                                  .values = w->prepared[kind],
                                  .held = true};
    float *decoded = strait_buffer_new(whole.hi * sizeof(*decoded));
    struct strait_task from = {.codec = c, .tensor = &whole}, to = from;
    if (!whole.values || !decoded || strait_sweeper_init(&sweeper, &err) != 0)
        strait_wrap_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    cut(r, &from);
    cut(r, &to);
    for (size_t i = 0; i < to.n_slices; i++)
        to.slices[i].x = decoded + (to.slices[i].x - whole.values);
    const struct strait_bundle bundle = bundle_of(c, NAN);
    if (strait_time_bundle(&t, &bundle, from.slices, to.slices, to.n_slices, N_REHEARSALS, 0,
                           &sweeper, &err) != 0)
        r->backend->fail(r, &err);
    keep_least(reading_of(w, ENCODE, c, &whole), t.encode_s[0]);
    keep_least(reading_of(w, DECODE, c, &whole), t.decode_s[0]);
    free(from.slices);
    free(to.slices);
    strait_buffer_free(decoded);
    strait_sweeper_release(&sweeper);
}

/* Largest |x - y| / bound over one tensor. */
static double slice_error(const float *x, const float *y, size_t n, struct strait_bound bound)
{
    const bool pointwise = bound.kind == STRAIT_BOUND_POINTWISE;
    const double absolute = pointwise ? 0 : strait_bound_absolute(bound, x, n);
    double worst = 0;
    for (size_t k = 0; k < n; k++) {
        const double at_most = pointwise ? bound.value * fabs((double)x[k]) : absolute;
        const double error = fabs((double)x[k] - (double)y[k]);
        if (isfinite(x[k]) && error > 0)
            worst = fmax(worst, at_most > 0 ? error / at_most : INFINITY);
    }
    return worst;
}

/* The sample encoded again, decoded, and held against its bound tensor by tensor, since relative
 * bounds are per tensor. A lossless tensor must come back as it was. */
static double sample_error(struct strait_rank *r)
{
    struct strait_wrap *w = strait_wrap_of(r);
    struct strait_codec *c = w->sample_codec;
    struct strait_bound bound = c->choice->bound;
    struct strait_task task = {.codec = c, .tensor = w->sample_of, .bound = w->sample_bound};
    const size_t n = strait_n_elems(w->sample_of);
    double worst = 0;
    float *decoded = strait_buffer_new(n * sizeof(*decoded));
    task.out = strait_buffer_new(c->room_bytes);
    if (!isnan(w->sample_bound))
        bound.value = w->sample_bound;
    if (decoded && task.out) {
        cut(r, &task);
        encode_now(&task);
        for (size_t i = 0; i < task.n_slices; i++)
            task.slices[i].x = decoded + (task.slices[i].x - w->sample_of->values);
        struct strait_packet encoded = {.data = task.out, .payload_bytes = task.len_bytes};
        task.packet = &encoded;
        if (task.err.code == STRAIT_OK)
            decode_now(&task);
        for (size_t i = 0; i < task.n_slices; i++) {
            const struct strait_bound exact = {.kind = STRAIT_BOUND_ABS, .value = 0};
            const float *y = task.slices[i].x, *x = w->sample_of->values + (y - decoded);
            worst = fmax(worst, slice_error(x, y, task.slices[i].n_elems,
                                            task.slices[i].lossy ? bound : exact));
        }
    }
    const bool checked = decoded && task.out && task.err.code == STRAIT_OK;
    free(task.slices);
    strait_buffer_free(task.out);
    strait_buffer_free(decoded);
    return checked ? worst : -1;
}

void strait_coding_end(struct strait_rank *r)
{
    struct strait_wrap *w = strait_wrap_of(r);
    if (w->sample_of && w->sample_of->version == w->sample_version)
        w->log->error_over_bound = sample_error(r);
    for (int i = 0; i < 2 && r->run->real_payload; i++) {
        struct strait_codec *c = &w->codecs[i];
        if (c->choice->ops->close)
            c->choice->ops->close(c->lossy_state);
        if (c->choice->lossless->close)
            c->choice->lossless->close(c->lossless_state);
        strait_buffer_free(atomic_load(&c->spare));
    }
}
