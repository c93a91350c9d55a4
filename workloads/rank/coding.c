/* Encode, decode and add for strategies: the only file that knows whether payload is real or sized
 * and whether cost is measured or from a profile. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/random.h"
#include "coding.h"

struct strait_codec *strait_codec(struct strait_rank *r, const char *which)
{
    static const char *const names[STRAIT_N_CODECS] = {"up", "down", "none", "inside"};
    struct strait_rank_state *w = strait_rank_state_of(r);
    int i = 0;
    while (i < STRAIT_N_CODECS && strcmp(names[i], which) != 0)
        i++;
    assert(i < STRAIT_N_CODECS);
    return &w->codecs[i];
}

struct view {
    struct strait_packet packet;
    const struct strait_tensor *of; /* with its own memory; lives as long as the rank */
    size_t lo;                      /* to lo + packet.n_elems */
};

static const struct strait_tensor *owner(const struct strait_tensor *t)
{
    return t->parent ? t->parent : t;
}

static bool is_view_of(const struct strait_packet *p, const struct strait_tensor *x)
{
    const struct view *v = (const struct view *)p;
    return v->of == owner(x) && v->lo == x->lo && p->n_elems == strait_n_elems(x);
}

/* A packet that is the values themselves: nothing is copied or charged. */
static struct strait_packet *view(struct strait_rank *r, struct strait_codec *c,
                                  struct strait_tensor *x)
{
    struct view *v = calloc(1, sizeof(*v));
    if (!v)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    struct strait_packet *p = &v->packet;
    atomic_init(&p->n_refs, 1);
    p->has_one_thread = strait_rank_state_has_one_thread(r);
    v->of = owner(x);
    v->lo = x->lo;
    p->data = (unsigned char *)strait_values(r, x);
    p->payload_bytes = 4 * strait_n_elems(x);
    p->release = strait_packet_release_view;
    p->owner = c; /* encoded here, so not counted as received */
    return p;
}

/* Keep the first client's first encoded tensor, to check it against its bound after the run. */
static void note_sample(struct strait_rank *r, struct strait_codec *c, double bound,
                        struct strait_tensor *x)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const int first = w->point->experiment->strategy->has_server ? 1 : 0;
    if (!(c->choice->spec.ops->flags & (STRAIT_CODEC_BOUNDED | STRAIT_CODEC_LOSSLESS)) ||
        c->choice->spec.bound.kind == STRAIT_BOUND_RATIO ||
        strait_feedback_needed(&c->choice->spec) || c->choice->reference)
        return;
    if (w->sample || !r->run->real_payload || w->me != first || x->parent)
        return;
    w->sample = malloc(sizeof(*w->sample));
    if (!w->sample)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    *w->sample = (struct strait_sample){x, c, bound, x->version};
}

/* Key of the random draws: rank, round and position in the model; without the rank if shared. */
static uint64_t key_of(struct strait_rank_state *w, bool shared, size_t lo)
{
    const uint64_t round = (uint64_t)atomic_load(&w->round);
    return strait_random_bits(w->point->experiment->seed, shared ? "codec" : "codec of a rank",
                              shared ? lo : (uint64_t)w->me << 40 ^ lo, round);
}

size_t strait_codec_sent_bytes(struct strait_rank *r, const struct strait_codec *c,
                               const struct strait_tensor *x, struct strait_within within,
                               size_t written_bytes, double estimated_bytes)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_trial *p = w->point;
    size_t n_bytes = r->run->real_payload ? written_bytes : (size_t)estimated_bytes;
    const struct strait_encoding what = {.codec = c->number,
                                         .lo = x->lo,
                                         .hi = x->hi,
                                         .of_ranks = (uint64_t)within.of_ranks,
                                         .is_sum = within.n_added > 0,
                                         .bound = within.bound};
    if (p->noted && r->run->real_payload)
        strait_sent_sizes_note(p->noted, w->me, what, n_bytes);
    else if (p->sizes && !r->run->real_payload)
        strait_sent_sizes_next(&n_bytes, w->n_taken, p->sizes, w->me, what);
    return n_bytes;
}

struct strait_packet *strait_encode_at(struct strait_rank *r, struct strait_codec *c,
                                       struct strait_within within, struct strait_tensor *x)
{
    const double bound = within.bound;
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_packet *p;
    if (strait_codec_is_none(c)) {
        p = view(r, c, x);
    } else {
        const bool shared = c->choice->spec.ops->flags & STRAIT_CODEC_SHARED_KEY;
        struct strait_error err;
        err.code = STRAIT_OK; /* what else it has says nothing */
        struct strait_task task = {.codec = c,
                                   .tensor = x,
                                   .bound = bound,
                                   .by_row = within.by_row,
                                   .scales = within.scales,
                                   .key = key_of(w, shared, x->lo),
                                   .own = key_of(w, false, x->lo),
                                   .common = key_of(w, true, x->lo),
                                   .err = &err};
        struct strait_job job = {.resource = STRAIT_CPU};
        struct strait_times times;
        const bool sized = !r->run->real_payload || !r->run->measured_cost;
        task.line = strait_line_to_encode(r, c, x);
        if (within.of_ranks > 0 && !task.line)
            task.settled = strait_settled_of(r, c, x);
        task.of_ranks = (unsigned)within.of_ranks;
        within.settled = task.settled;
        const struct strait_estimate e =
            sized ? strait_codec_estimate(r, c, within, x, task.line && !task.line->is_key)
                  : (struct strait_estimate){0};
        strait_tensor_touch(r, x);
        job.cost_s =
            r->run->measured_cost ? NAN : e.encode_s + strait_line_cost_s(w, c, x, e.decode_s);
        job.readings = strait_reading_of(w, STRAIT_READING_ENCODE, c, bound, x);
        if (r->run->real_payload) {
            strait_task_cut(r, &task, true);
            job.fn = strait_task_encode;
            job.arg = &task;
            job.is_pure = !task.line && !strait_feedback_needed(&c->choice->spec);
            const struct strait_bundle bundle = strait_codec_bundle(c, bound);
            task.room_bytes = strait_bundle_max_bytes(&bundle, task.slices, task.n_slices) +
                              strait_line_head_bytes(c, task.n_slices);
        }
        p = strait_codec_packet(r, c, &task.room_bytes);
        task.out = p->data;
        struct strait_op *op = r->backend->ops->start(r, &job);
        r->backend->ops->wait(r, op, &times);
        free(task.slices);
        if (err.code != STRAIT_OK)
            r->backend->ops->fail(r, &err);
        if (task.line)
            strait_line_encoded(r, c, task.line);
        p->payload_bytes = strait_codec_sent_bytes(r, c, x, within, task.len_bytes, e.bytes);
        strait_rank_state_hold_in_room(w, (double)p->payload_bytes);
        strait_codec_written(c, p->payload_bytes);
        strait_codec_label(p, c, bound, x);
        strait_rank_state_span(r, STRAIT_SPAN_ENCODE, &times, p, -1, -1, -1);
        if (!within.by_row)
            note_sample(r, c, bound, x);
    }
    strait_codec_label(p, c, bound, x);
    return p;
}

struct strait_packet *strait_encode(struct strait_rank *r, struct strait_codec *c, double bound,
                                    struct strait_tensor *x)
{
    return strait_encode_at(r, c, (struct strait_within){.bound = bound}, x);
}

struct strait_packet *strait_encode_sum(struct strait_rank *r, struct strait_codec *c, int n_ranks,
                                        struct strait_tensor *x)
{
    return strait_encode_at(r, c, (struct strait_within){.bound = NAN, .of_ranks = n_ranks}, x);
}

struct strait_packet *strait_encode_within(struct strait_rank *r, struct strait_codec *c,
                                           const struct strait_bound *by_row,
                                           struct strait_tensor *x)
{
    return strait_encode_at(r, c, (struct strait_within){NAN, .by_row = by_row}, x);
}

/* The codec of a received frame, or NULL. */
static struct strait_codec *codec_of(struct strait_rank_state *w, const struct strait_packet *p)
{
    const unsigned i = p->flags / STRAIT_PACKET_CODEC;
    if (i >= STRAIT_N_CODECS)
        return NULL;
    const struct strait_codec_choice *choice = w->codecs[i].choice;
    return choice->spec.ops->id == p->codec_id && choice->spec.bound.kind == p->bound.kind &&
                   choice->reference == (bool)(p->flags & STRAIT_PACKET_REFERS)
               ? &w->codecs[i]
               : NULL;
}

/* Of what has nothing to wait for. */
static struct strait_task done;

/* Whether the packet's data become the values of y: nothing is copied or charged. What is no packet
 * for y is left to begin_decode. */
static bool becomes_values(struct strait_rank *r, struct strait_tensor *y,
                           struct strait_packet *taken)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_codec *c = codec_of(w, taken);
    return c && strait_codec_is_none(c) && taken->n_elems == strait_n_elems(y) &&
           (!r->run->real_payload || taken->payload_bytes == 4 * strait_n_elems(y)) &&
           !strait_codec_made(w, taken) && strait_tensor_adopt(r, y, taken);
}

static void copy_now(void *arg)
{
    struct strait_task *t = arg;
    if (t->packet->payload_bytes > 0) /* without a payload there is no data either */
        memmove(t->tensor->values, t->packet->data, t->packet->payload_bytes);
}

static void begin_decode(struct strait_rank *r, struct strait_task *task, struct strait_tensor *y,
                         struct strait_packet *taken)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_job job = {.resource = STRAIT_CPU};
    task->tensor = y;
    task->packet = taken;
    task->codec = codec_of(w, taken);
    if (!task->codec || taken->n_elems != strait_n_elems(y))
        strait_rank_state_fail(r, STRAIT_ERR_BACKEND,
                               "a packet came that this rank did not expect");
    if (strait_codec_is_none(task->codec)) {
        const bool real = r->run->real_payload;
        if (real && taken->payload_bytes != 4 * strait_n_elems(y))
            strait_rank_state_fail(r, STRAIT_ERR_BACKEND,
                                   "a tensor came that is not of its own length");
        if (strait_codec_made(w, taken) && is_view_of(taken, y))
            return; /* a view of its own values: nothing to do */
        strait_tensor_touch(r, y);
        job.cost_s =
            r->run->measured_cost ? NAN : 4.0 * (double)strait_n_elems(y) / w->copy_bytes_per_s;
        job.fn = real ? copy_now : NULL;
        job.is_pure = true;
        job.readings = strait_reading_of(w, STRAIT_READING_COPY, NULL, NAN, y);
    } else {
        strait_tensor_touch(r, y);
        const double bound = taken->bound.value;
        const bool refers = task->codec->choice->reference;
        const double pass_s = refers ? 4.0 * (double)strait_n_elems(y) / w->add_bytes_per_s : 0;
        job.cost_s = r->run->measured_cost
                         ? NAN
                         : strait_codec_estimate(r, task->codec,
                                                 (struct strait_within){.bound = bound}, y, refers)
                                   .decode_s +
                               pass_s;
        job.readings = strait_reading_of(w, STRAIT_READING_DECODE, task->codec, bound, y);
        task->line = strait_line_to_decode(r, taken, y);
        if (!task->line)
            task->settled = strait_settled_of(r, task->codec, y);
        if (r->run->real_payload) {
            strait_task_cut(r, task, false);
            job.fn = strait_task_decode;
            job.is_pure = !task->line;
        }
    }
    job.arg = task;
    task->op = r->backend->ops->start(r, &job);
}

struct strait_task *strait_decode_start(struct strait_rank *r, struct strait_tensor *y,
                                        struct strait_packet *taken)
{
    if (becomes_values(r, y, taken))
        return &done;
    struct strait_task *task = strait_task_of(r, STRAIT_SPAN_DECODE, NULL);
    begin_decode(r, task, y, taken);
    return task;
}

static void finish(struct strait_rank *r, struct strait_task *task)
{
    struct strait_times times;
    if (task->op) {
        r->backend->ops->wait(r, task->op, &times);
        if (task->err && task->err->code != STRAIT_OK)
            r->backend->ops->fail(r, task->err);
        if (task->tensor)
            task->tensor->version++;
        const struct strait_packet moved = {.payload_bytes = task->moved_bytes,
                                            .raw_bytes = task->moved_bytes};
        strait_rank_state_span(r, task->kind, &times, task->moved_bytes > 0 ? &moved : task->packet,
                               -1, -1, -1);
    }
    if (task->packet)
        strait_drop(r, task->packet);
    free(task->slices);
}

void strait_wait(struct strait_rank *r, struct strait_task *task)
{
    if (task == &done)
        return;
    finish(r, task);
    free(task);
}

void strait_decode(struct strait_rank *r, struct strait_tensor *y, struct strait_packet *taken)
{
    if (r->run->real_payload) { /* with an error, which is large: not on the stack of a lane */
        strait_wait(r, strait_decode_start(r, y, taken));
        return;
    }
    if (becomes_values(r, y, taken))
        return;
    struct strait_task task = {.kind = STRAIT_SPAN_DECODE};
    begin_decode(r, &task, y, taken);
    finish(r, &task);
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
    struct strait_rank_state *w = strait_rank_state_of(r);
    assert(strait_n_elems(sum) == strait_n_elems(x));
    strait_tensor_touch(r, sum);
    strait_tensor_touch(r, x);
    struct adding a = {
        .sum = sum->values, .x = x->values, .n = strait_n_elems(sum), .weight = (float)weight};
    const struct strait_job job = {
        .resource = STRAIT_CPU,
        .cost_s = r->run->measured_cost ? NAN : 4.0 * (double)a.n / w->add_bytes_per_s,
        .fn = r->run->real_payload ? add_now : NULL,
        .arg = &a,
        .readings = strait_reading_of(w, STRAIT_READING_ADD, NULL, NAN, sum)};
    strait_rank_state_work(r, STRAIT_SPAN_AGGREGATE, &job);
    sum->version++;
    if (sum->parent)
        sum->parent->version++;
}
