/* Sums of encoded packets. Real payload: the codec's own `add`, tensor by tensor. Sized: the size
 * of one summand, since how much a sum grows depends on how similar the summands are, or that of
 * the sum over all ranks where it follows from the shape (predict_sum); the cost of
 * one encode and two decodes, which is what an addition consists of. Measured on normal values (AMD
 * EPYC, one core), an sz addition takes 1.00 to 1.04 times that at 1.6 to 7.8 bits a value, fp16
 * 1.25, bf16 0.86; randomk far less. Where streams are numbers that add (LINEAR, AGREED): one
 * addition of as many bytes. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "codecs/bound.h"
#include "core/buffer.h"
#include "coding.h"

struct adding {
    struct strait_task task; /* codec, slices, out */
    const struct strait_packet *a, *b;
    float *scratch;
};

static void add_now(void *arg)
{
    struct adding *d = arg;
    const struct strait_bundle bundle = strait_codec_bundle(d->task.codec, NAN);
    strait_bundle_add(&bundle, d->task.out, d->task.room_bytes, &d->task.len_bytes, d->task.slices,
                      d->task.n_slices, d->a->data, d->a->payload_bytes, d->b->data,
                      d->b->payload_bytes, d->scratch, d->task.err);
}

struct strait_packet *strait_add_encoded(struct strait_rank *r, struct strait_codec *c,
                                         struct strait_tensor *x, struct strait_packet *a_taken,
                                         struct strait_packet *b_taken)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_error err = {0};
    struct adding d = {
        .task = {.codec = c, .tensor = x, .bound = NAN, .err = &err}, .a = a_taken, .b = b_taken};
    const struct strait_codec_ops *ops = c->choice->spec.ops;
    const unsigned n_added = ops->predict_sum ? (unsigned)strait_n_workers(r) : 1;
    const struct strait_estimate e = strait_codec_estimate(
        r, c, (struct strait_within){.bound = NAN, .n_added = n_added}, x, false);
    const bool is_linear = ops->flags & (STRAIT_CODEC_LINEAR | STRAIT_CODEC_AGREED);
    const double cost_s = is_linear ? e.bytes / w->add_bytes_per_s : e.encode_s + 2 * e.decode_s;
    struct strait_job job = {.resource = STRAIT_CPU,
                             .cost_s = r->run->measured_cost ? NAN : cost_s,
                             .arg = &d,
                             .readings =
                                 strait_reading_of(w, STRAIT_READING_ADD_ENCODED, c, NAN, x)};
    struct strait_times times;
    if (a_taken->n_elems != strait_n_elems(x) || b_taken->n_elems != strait_n_elems(x))
        strait_rank_state_fail(r, STRAIT_ERR_BACKEND,
                               "a packet came that this rank did not expect");
    if (r->run->real_payload) {
        const struct strait_bundle bundle = strait_codec_bundle(c, NAN);
        strait_task_cut(r, &d.task, false);
        d.task.room_bytes = strait_bundle_max_bytes(&bundle, d.task.slices, d.task.n_slices);
        d.scratch = strait_buffer_new((2 * strait_n_elems(x) + 1) * sizeof(float));
        if (!d.scratch)
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "an encoded sum does not fit in memory");
        job.fn = add_now;
    }
    struct strait_packet *sum = strait_codec_packet(r, c, &d.task.room_bytes);
    d.task.out = sum->data;
    r->backend->ops->wait(r, r->backend->ops->start(r, &job), &times);
    free(d.task.slices);
    strait_buffer_free(d.scratch);
    if (err.code != STRAIT_OK)
        r->backend->ops->fail(r, &err);
    sum->payload_bytes =
        strait_codec_sent_bytes(r, c, x, (struct strait_within){.bound = NAN, .n_added = n_added},
                                d.task.len_bytes, e.bytes);
    strait_rank_state_hold_in_room(w, (double)sum->payload_bytes);
    strait_footprint_touch(w->footprint, (2.0 * (double)strait_n_elems(x) + 1) * sizeof(float));
    strait_codec_label(sum, c, NAN, x);
    strait_rank_state_span(r, STRAIT_SPAN_AGGREGATE, &times, sum, -1, -1, -1);
    strait_drop(r, a_taken);
    strait_drop(r, b_taken);
    return sum;
}

/* --- what ranks agree on before ------------------------------------------------------------ */

struct measuring {
    struct strait_task task;
    float *norms;
};

static void measure_now(void *arg)
{
    const struct measuring *m = arg;
    for (size_t i = 0; i < m->task.n_slices; i++) {
        const struct strait_slice *s = &m->task.slices[i];
        m->norms[i] = !s->lossy   ? 0
                      : s->memory ? strait_feedback_norm(s->memory, s->x, s->n_elems)
                                  : strait_norm_of(s->x, s->n_elems);
    }
}

bool strait_codec_agrees(const struct strait_codec *c)
{
    return c->choice->spec.ops->flags & STRAIT_CODEC_AGREED;
}

size_t strait_norms(struct strait_rank *r, struct strait_codec *c, struct strait_tensor *norms,
                    size_t at, struct strait_tensor *x)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    struct measuring m = {.task = {.codec = c, .tensor = x, .bound = NAN}};
    const size_t n = strait_task_n_slices(w, x);
    assert(at + n <= strait_n_elems(norms));
    struct strait_job job = {.resource = STRAIT_CPU,
                             .cost_s = r->run->measured_cost
                                           ? NAN
                                           : 4.0 * (double)strait_n_elems(x) / w->add_bytes_per_s,
                             .arg = &m,
                             .readings = strait_reading_of(w, STRAIT_READING_NORMS, c, NAN, x)};
    if (r->run->real_payload) {
        m.norms = strait_values(r, norms) + at;
        strait_task_cut(r, &m.task, true);
        job.fn = measure_now;
    }
    strait_rank_state_work(r, STRAIT_SPAN_AGGREGATE, &job);
    free(m.task.slices);
    return n;
}

struct raising {
    float *y;
    const float *x;
    size_t n;
};

static void raise_now(void *arg)
{
    const struct raising *a = arg;
    for (size_t i = 0; i < a->n; i++)
        a->y[i] = a->x[i] > a->y[i] ? a->x[i] : a->y[i];
}

void strait_raise(struct strait_rank *r, struct strait_tensor *y, struct strait_tensor *x)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    struct raising a = {strait_values(r, y), strait_values(r, x), strait_n_elems(y)};
    const struct strait_job job = {
        .resource = STRAIT_CPU,
        .cost_s = r->run->measured_cost ? NAN : 4.0 * (double)a.n / w->add_bytes_per_s,
        .fn = r->run->real_payload ? raise_now : NULL,
        .arg = &a,
        .readings = strait_reading_of(w, STRAIT_READING_NORMS, NULL, NAN, y)};
    strait_rank_state_work(r, STRAIT_SPAN_AGGREGATE, &job);
}

struct strait_packet *strait_encode_agreed(struct strait_rank *r, struct strait_codec *c,
                                           struct strait_tensor *x, struct strait_tensor *norms,
                                           size_t at)
{
    const float *scales = strait_values(r, norms);
    return strait_encode_at(
        r, c, (struct strait_within){.bound = NAN, .scales = scales ? scales + at : NULL}, x);
}

/* --- statistics that all hops code by ------------------------------------------------------- */

bool strait_codec_has_statistics(const struct strait_codec *c)
{
    return strait_codec_wants_statistics(&c->choice->spec);
}

struct placing {
    const struct strait_codec *codec;
    const struct strait_model *model;
    struct strait_settled_row *rows; /* NULL: only count */
    const float *x;                  /* NULL: measure nothing */
    uint32_t *words;
    size_t lo, n_words;
};

static void place_row(void *arg, const struct strait_param_row *row, size_t lo, size_t hi)
{
    struct placing *p = arg;
    const struct strait_codec_statistics *s = p->codec->choice->spec.ops->statistics;
    const bool outside = row < p->model->rows || row >= p->model->rows + p->model->n_rows;
    if (outside || !strait_codec_is_lossy(p->codec, row))
        return;
    if (p->rows)
        p->rows[row - p->model->rows] = (struct strait_settled_row){lo, p->n_words};
    if (p->x)
        s->measure(p->words + p->n_words, p->x + (lo - p->lo), hi - lo);
    p->n_words += s->n_words(hi - lo);
}

size_t strait_n_statistics(struct strait_rank *r, struct strait_codec *c, struct strait_tensor *x)
{
    struct placing p = {.codec = c, .model = strait_model(r)};
    const struct strait_tensor whole = {.hi = p.model->n_elems};
    strait_each_row(strait_rank_state_of(r), x ? x : &whole, place_row, &p);
    return p.n_words;
}

/* What is done to words, on the rank's CPU. */
struct words_task {
    struct placing place;
    const struct strait_tensor *of;
    const struct strait_codec *codec;
    uint32_t *words;
    const uint32_t *more;
    size_t n_words;
    unsigned n_ranks;
    struct strait_error err;
};

/* Words are the bits of a tensor's values. */
static uint32_t *words_of(struct strait_rank *r, struct strait_tensor *t)
{
    return (uint32_t *)(void *)strait_values(r, t);
}

static void words_work(struct strait_rank *r, struct words_task *t, void (*fn)(void *),
                       double n_values, const struct strait_tensor *on)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_job job = {
        .resource = STRAIT_CPU,
        .cost_s = r->run->measured_cost ? NAN : 4.0 * n_values / w->add_bytes_per_s,
        .fn = r->run->real_payload ? fn : NULL,
        .arg = t,
        .readings = strait_reading_of(w, STRAIT_READING_NORMS, t->codec, NAN, on)};
    strait_rank_state_work(r, STRAIT_SPAN_AGGREGATE, &job);
    if (t->err.code != STRAIT_OK)
        r->backend->ops->fail(r, &t->err);
}

static void measure_words(void *arg)
{
    struct words_task *t = arg;
    strait_each_row(strait_codec_owner(t->codec), t->of, place_row, &t->place);
}

void strait_measure_statistics(struct strait_rank *r, struct strait_codec *c,
                               struct strait_tensor *words, struct strait_tensor *x)
{
    strait_tensor_touch(r, words);
    strait_tensor_touch(r, x);
    struct words_task t = {.codec = c,
                           .of = x,
                           .place = {.codec = c,
                                     .model = strait_model(r),
                                     .x = strait_values(r, x),
                                     .words = words_of(r, words),
                                     .lo = x->lo}};
    words_work(r, &t, measure_words, (double)strait_n_elems(x), x);
}

static void merge_words(void *arg)
{
    struct words_task *t = arg;
    t->codec->choice->spec.ops->statistics->merge(t->words, t->more, t->n_words);
}

void strait_merge_statistics(struct strait_rank *r, struct strait_codec *c,
                             struct strait_tensor *sum, struct strait_tensor *more)
{
    assert(strait_n_elems(sum) == strait_n_elems(more));
    struct words_task t = {.codec = c,
                           .words = words_of(r, sum),
                           .more = words_of(r, more),
                           .n_words = strait_n_elems(sum)};
    words_work(r, &t, merge_words, (double)t.n_words, sum);
}

const struct strait_settled *strait_settled_of(struct strait_rank *r, const struct strait_codec *c,
                                               const struct strait_tensor *x)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_settled *s;
    if (!c->choice->spec.ops->statistics)
        return NULL;
    strait_rank_state_lock(r);
    for (s = w->settled; s; s = s->next)
        if (s->codec == c && s->lo <= x->lo && x->hi <= s->hi)
            break;
    strait_rank_state_unlock(r);
    return s;
}

/* The same range's of a round before, or a new one; first of the list from now on. */
static struct strait_settled *settled_for(struct strait_rank *r, const struct strait_codec *c,
                                          const struct strait_tensor *x, size_t n_words)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_settled **at = &w->settled, *s;
    strait_rank_state_lock(r);
    while (*at && ((*at)->codec != c || (*at)->lo != x->lo || (*at)->hi != x->hi))
        at = &(*at)->next;
    s = *at;
    if (s)
        *at = s->next;
    strait_rank_state_unlock(r);
    if (!s) {
        s = strait_alloc(r, 1, sizeof(*s));
        *s = (struct strait_settled){.codec = c, .lo = x->lo, .hi = x->hi};
        if (r->run->real_payload) {
            s->rows = strait_alloc(r, strait_model(r)->n_rows, sizeof(*s->rows));
            s->words = strait_alloc(r, n_words, sizeof(*s->words));
        }
        strait_rank_state_hold(w, 4.0 * (double)n_words);
    }
    strait_rank_state_lock(r);
    s->next = w->settled;
    w->settled = s;
    strait_rank_state_unlock(r);
    return s;
}

static void settle_words(void *arg)
{
    struct words_task *t = arg;
    strait_each_row(strait_codec_owner(t->codec), t->of, place_row, &t->place);
    t->codec->choice->spec.ops->statistics->settle(t->codec->memory->lossy_state, t->words, t->more,
                                                   t->n_words, t->n_ranks, &t->err);
}

void strait_settle_statistics(struct strait_rank *r, struct strait_codec *c,
                              struct strait_tensor *x, struct strait_tensor *sum, int n_ranks)
{
    enum { PASSES = 32 }; /* one for each bit of a threshold */
    const size_t n_words = strait_n_elems(sum);
    struct strait_settled *s = settled_for(r, c, x, n_words);
    struct words_task t = {.codec = c,
                           .of = x,
                           .place = {.codec = c, .model = strait_model(r), .rows = s->rows},
                           .words = s->words,
                           .more = words_of(r, sum),
                           .n_words = n_words,
                           .n_ranks = (unsigned)n_ranks};
    words_work(r, &t, settle_words, PASSES * (double)n_words, sum);
}
