/* Coding before and after a run: open codecs, allocate buffers, take first readings, check the
 * delivered error, release everything. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "coding.h"
#include "workloads/timing/turns.h"

enum { N_REHEARSALS = 16 };

/* Allocate for the worst case of the whole model. */
static void prepare_room(const struct strait_rank_state *w, struct strait_codec *c)
{
    const struct strait_model *m = w->point->experiment->model;
    const struct strait_bundle bundle = strait_codec_bundle(c, NAN);
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_slice row = {.n_elems = m->rows[i].n_elems,
                                         .lossy = strait_codec_is_lossy(c, &m->rows[i])};
        c->memory->room_bytes += strait_bundle_max_bytes(&bundle, &row, 1);
    }
    c->memory->room_bytes += strait_line_head_bytes(c, m->n_rows);
}

/* Ranks of a simulation share a process and code one after another: one state serves all of them.
 * What a codec remembers between messages is not in it (codecs/feedback.h). */
static struct strait_opened *opened_of(const struct strait_rank *r, const struct strait_codec *c)
{
    return r->run->real_payload && !r->run->measured_cost
               ? &strait_codec_owner(c)->point->opened[c->number]
               : NULL;
}

static void open_states(struct strait_rank *r, struct strait_codec *c)
{
    struct strait_error err = {0};
    struct strait_opened *all = opened_of(r, c);
    if (all && all->n_ranks++ > 0) {
        c->memory->lossy_state = all->lossy_state;
        c->memory->lossless_state = all->lossless_state;
        return;
    }
    const struct strait_codec_spec *lossy = &c->choice->spec, *lossless = &c->choice->lossless;
    if (strait_codec_open(lossy->ops, &c->memory->lossy_state, lossy->params, &err) != 0 ||
        strait_codec_open(lossless->ops, &c->memory->lossless_state, lossless->params, &err) != 0)
        r->backend->ops->fail(r, &err);
    if (all) {
        all->lossy_state = c->memory->lossy_state;
        all->lossless_state = c->memory->lossless_state;
    }
}

static void close_states(const struct strait_rank *r, struct strait_codec *c)
{
    struct strait_opened *all = opened_of(r, c);
    if (all && --all->n_ranks > 0)
        return;
    if (c->choice->spec.ops->close)
        c->choice->spec.ops->close(c->memory->lossy_state);
    if (c->choice->lossless.ops->close)
        c->choice->lossless.ops->close(c->memory->lossless_state);
    c->memory->lossy_state = c->memory->lossless_state = NULL;
}

void strait_coding_begin(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_trial *p = w->point;
    const struct strait_codec_choice *choices[STRAIT_N_CODECS];
    strait_trial_choices(choices, p);
    for (unsigned char i = 0; i < STRAIT_N_CODECS; i++)
        w->codecs[i] =
            (struct strait_codec){.number = i,
                                  .choice = choices[i],
                                  .is_none = strcmp(choices[i]->spec.ops->name, "none") == 0,
                                  .addressed = -1};
    const struct strait_codec *mine =
        &w->codecs[w->me == 0 && p->experiment->strategy->has_server ? 1 : 0];
    if (strait_feedback_needed(&mine->choice->spec)) /* residual, and momentum or state */
        strait_rank_state_hold(w, 2 * 4.0 * (double)p->experiment->model->n_elems);
    const bool planned = w->footprint != NULL;
    if (p->sizes)
        w->n_taken = strait_alloc(r, strait_sent_sizes_n(p->sizes, w->me), sizeof(*w->n_taken));
    for (int i = 0; i < STRAIT_N_CODECS && (planned || r->run->real_payload); i++) {
        struct strait_codec *c = &w->codecs[i];
        c->memory = strait_alloc(r, 1, sizeof(*c->memory));
        if (planned && strait_codec_is_none(c))
            continue;
        if (planned &&
            p->rooms[i] > 0) { /* another rank has asked: opening takes memory and time */
            c->memory->room_bytes = p->rooms[i];
        } else {
            open_states(r, c);
            if (strait_codec_is_none(c))
                continue;
            prepare_room(w, c);
            p->rooms[i] = c->memory->room_bytes;
            if (planned)
                close_states(r, c);
        }
        /* When memory is short: no buffer for codecs that this rank does not send with, and pages
         * only when written, since an encoded tensor rarely needs all of them. */
        c->memory->is_untouched = planned && p->shares_values;
        c->memory->has_room = planned && (!p->shares_values || c == mine);
        if (planned)
            strait_footprint_buffers(w->footprint, p->shares_values ? 0 : 1, c->memory->room_bytes);
        else if (!r->run->measured_cost)
            continue; /* strait_codec_packet */
        else if (!p->shares_values)
            atomic_init(&c->memory->spare, strait_buffer_new(c->memory->room_bytes));
        else if (c == mine)
            atomic_init(&c->memory->spare, strait_buffer_new_untouched(c->memory->room_bytes));
    }
}

static void keep_all(struct strait_readings *readings, const double *times_s, size_t n)
{
    for (size_t i = 0; readings && i < n; i++)
        strait_readings_add(readings, times_s[i]);
}

/* What is rehearsed: a whole model, by several senders in turn. */
struct rehearsal {
    struct strait_tensor whole;
    struct strait_task from, to;
    size_t n_turns;
    float *values, *decoded;
    struct strait_slice *slices; /* from all, to all */
    struct strait_sweeper sweeper;
};

static size_t n_rehearsed(size_t n_elems)
{
    const size_t n = strait_n_turns(4 * n_elems);
    return n < N_REHEARSALS ? n : N_REHEARSALS;
}

/* What the rehearsal takes: a model and two rooms for each turn, a model to send, one that sums,
 * and the sweeper. */
static double rehearsal_bytes(const struct strait_rank_state *w)
{
    const size_t n_elems = w->point->experiment->model->n_elems, n = n_rehearsed(n_elems);
    const size_t up_bytes = w->codecs[0].memory->room_bytes,
                 down_bytes = w->codecs[1].memory->room_bytes;
    return (double)strait_sweep_bytes() + (double)strait_buffer_bytes(4 * n * n_elems) +
           2 * (double)strait_buffer_bytes(n * (up_bytes > down_bytes ? up_bytes : down_bytes)) +
           2 * (double)strait_buffer_bytes(4 * n_elems);
}

static void rehearsal_release(struct rehearsal *h)
{
    free(h->from.slices);
    free(h->to.slices);
    free(h->slices);
    strait_buffer_free(h->values);
    strait_buffer_free(h->decoded);
    strait_sweeper_release(&h->sweeper);
}

/* Senders send the same values, each is decoded into memory of its own. */
static void rehearsal_init(struct rehearsal *h, struct strait_rank *r, struct strait_codec *c,
                           int sender, const char *kind)
{
    const struct strait_trial *p = strait_rank_state_of(r)->point;
    const size_t n_elems = p->experiment->model->n_elems;
    struct strait_error err = {0};
    *h = (struct rehearsal){.n_turns = n_rehearsed(n_elems)};
    h->values = strait_tensor_sent_values(p, sender, kind);
    h->decoded = strait_buffer_new(h->n_turns * n_elems * sizeof(*h->decoded));
    h->whole = (struct strait_tensor){.hi = n_elems, .values = h->values, .held = true};
    h->from = h->to = (struct strait_task){.codec = c, .tensor = &h->whole, .bound = NAN};
    if (!h->values || !h->decoded || strait_sweeper_init(&h->sweeper, &err) != 0)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    strait_task_cut(r, &h->from, true);
    strait_task_cut(r, &h->to, false);
    const size_t n = h->from.n_slices;
    h->slices = calloc(2 * h->n_turns * n + 1, sizeof(*h->slices));
    if (!h->slices)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    for (size_t turn = 0; turn < h->n_turns; turn++)
        for (size_t i = 0; i < n; i++) {
            struct strait_slice *to = &h->slices[(h->n_turns + turn) * n + i];
            h->slices[turn * n + i] = h->from.slices[i];
            *to = h->to.slices[i];
            to->x = h->decoded + turn * n_elems + (to->x - h->values);
        }
}

static void rehearse_coding(struct strait_rank *r, struct rehearsal *h)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_codec *c = h->from.codec;
    const size_t n = h->from.n_slices;
    const struct strait_bundle bundle = strait_codec_bundle(c, NAN);
    const struct strait_turns turns = {h->slices, h->slices + h->n_turns * n, n, h->n_turns, false};
    struct strait_error err = {0};
    struct strait_codec_times t;
    if (strait_time_turns(&t, &bundle, &turns, N_REHEARSALS, 0, &h->sweeper, &err) != 0)
        r->backend->ops->fail(r, &err);
    keep_all(strait_reading_of(w, STRAIT_READING_ENCODE, c, NAN, &h->whole), t.encode_s,
             t.n_repeats);
    keep_all(strait_reading_of(w, STRAIT_READING_DECODE, c, NAN, &h->whole), t.decode_s,
             t.n_repeats);
}

/* Sums, which the server makes of what it decoded. */
static void rehearse_adding(struct strait_rank *r, struct rehearsal *h)
{
    struct strait_memory_times t;
    float *sum = strait_buffer_new(h->whole.hi * sizeof(*sum));
    if (!sum)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    strait_time_memory(&t, sum, h->decoded, h->values, h->whole.hi, h->n_turns, N_REHEARSALS,
                       &h->sweeper);
    keep_all(strait_reading_of(strait_rank_state_of(r), STRAIT_READING_ADD, NULL, NAN, &h->whole),
             t.add_s, t.n_repeats);
    strait_buffer_free(sum);
}

static void forget_memories(struct strait_codec *c)
{
    for (struct strait_remembered *m = c->remembered, *next; m; m = next) {
        next = m->next;
        strait_feedback_free(m->memory);
        free(m);
    }
    c->remembered = NULL;
}

/* Each codec once, from the values that will be sent into the memory that will be used: the first
 * call of a process takes several times as long as all others. With error feedback a codec has a
 * state that this would change. */
static void warm_up(struct strait_rank *r, const char *sends)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_tensor whole = {.hi = w->point->experiment->model->n_elems, .held = true};
    for (int kind = 0; kind < 3 && !whole.values; kind++)
        whole.values = w->prepared->values[kind];
    for (int i = 0; i < 2 && sends && whole.values; i++) {
        struct strait_codec *c = &w->codecs[i];
        struct strait_error err = {0};
        struct strait_task from = {.codec = c, .tensor = &whole, .bound = NAN, .err = &err},
                           to = from;
        struct strait_packet encoded = {.data = atomic_load(&c->memory->spare)};
        if (strait_codec_is_none(c) || strait_feedback_needed(&c->choice->spec) || !encoded.data)
            continue;
        strait_task_cut(r, &from, false);
        strait_task_cut(r, &to, false);
        from.out = encoded.data;
        from.room_bytes = c->memory->room_bytes;
        strait_task_encode(&from);
        for (size_t k = 0; k < to.n_slices && w->prepared->n_scratch > 0; k++)
            to.slices[k].x = w->prepared->scratch[0] + (to.slices[k].x - whole.values);
        encoded.payload_bytes = from.len_bytes;
        to.packet = &encoded;
        if (err.code == STRAIT_OK && w->prepared->n_scratch > 0)
            strait_task_decode(&to);
        free(from.slices);
        free(to.slices);
        if (err.code != STRAIT_OK)
            r->backend->ops->fail(r, &err);
    }
}

static bool is_rehearsing(const struct strait_rank_state *w)
{
    return w->me == 0 && w->point->experiment->strategy->has_server &&
           !(strait_codec_is_none(&w->codecs[0]) && strait_codec_is_none(&w->codecs[1]));
}

/* Before time 0 the server takes readings of what it and its clients will do, in the way in which
 * calibration takes them, so that the first round does not depend on single readings. It alone: two
 * ranks that share a processor would empty each other's caches. Values that ranks are going to
 * train are not there yet. */
void strait_coding_rehearse(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_experiment *e = w->point->experiment;
    const char *const kinds[2] = {strait_uplink_kind(e), e->strategy->downlink_kind};
    const bool planned = w->footprint != NULL, serves = is_rehearsing(w);
    if (planned && serves)
        strait_footprint_touch(w->footprint, rehearsal_bytes(w));
    if (planned || !r->run->measured_cost || !r->run->real_payload)
        return;
    if (!w->point->learn && !w->point->shares_values)
        warm_up(r, kinds[e->strategy->has_server && w->me == 0]);
    if (!serves)
        return;
    for (int i = 0; i < 2; i++) {
        struct strait_codec *c = &w->codecs[i];
        const bool codes = !w->point->learn && kinds[i] && !strait_codec_is_none(c);
        struct rehearsal h;
        if (!codes && i == 1)
            continue;
        rehearsal_init(&h, r, c, i == 0 ? 1 : 0, kinds[i]);
        if (codes)
            rehearse_coding(r, &h);
        if (i == 0)
            rehearse_adding(r, &h);
        rehearsal_release(&h);
        forget_memories(c);
    }
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

/* Encode the sample again, decode it, and compare with its bound tensor by tensor, since relative
 * bounds are per tensor. A lossless tensor must come back unchanged. */
static double sample_error(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_codec *c = w->sample->codec;
    struct strait_bound bound = c->choice->spec.bound;
    struct strait_error err = {0};
    struct strait_task task = {
        .codec = c, .tensor = w->sample->of, .bound = w->sample->bound, .err = &err};
    const size_t n = strait_n_elems(w->sample->of);
    double worst = 0;
    float *decoded = strait_buffer_new(n * sizeof(*decoded));
    struct strait_packet encoded = {0};
    task.out = strait_buffer_new(task.room_bytes = c->memory->room_bytes);
    if (!isnan(w->sample->bound))
        bound.value = w->sample->bound;
    if (decoded && task.out) {
        strait_task_cut(r, &task, false);
        strait_task_encode(&task);
        for (size_t i = 0; i < task.n_slices; i++)
            task.slices[i].x = decoded + (task.slices[i].x - w->sample->of->values);
        encoded.data = task.out;
        encoded.payload_bytes = task.len_bytes;
        task.packet = &encoded;
        if (err.code == STRAIT_OK)
            strait_task_decode(&task);
        for (size_t i = 0; i < task.n_slices; i++) {
            const struct strait_bound exact = {.kind = STRAIT_BOUND_ABS, .value = 0};
            const float *y = task.slices[i].x, *x = w->sample->of->values + (y - decoded);
            const struct strait_bound own = task.slices[i].bound;
            worst = fmax(worst, slice_error(x, y, task.slices[i].n_elems,
                                            !task.slices[i].lossy           ? exact
                                            : own.kind == STRAIT_BOUND_NONE ? bound
                                                                            : own));
        }
    }
    const bool checked = decoded && task.out && err.code == STRAIT_OK;
    free(task.slices);
    strait_buffer_free(task.out);
    strait_buffer_free(decoded);
    return checked ? worst : -1;
}

/* A whole model, encoded and decoded once more. */
static double one_coding_bytes(const struct strait_rank_state *w, const struct strait_codec *c)
{
    return (double)strait_buffer_bytes(4 * w->point->experiment->model->n_elems) +
           (double)strait_buffer_bytes(c->memory->room_bytes);
}

void strait_coding_end(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    strait_lines_free(w);
    const bool planned = w->footprint != NULL;
    if (w->sample && w->sample->of->version == w->sample->version)
        w->log->error_over_bound = sample_error(r);
    free(w->sample);
    w->sample = NULL;
    if (planned && w->me == (w->point->experiment->strategy->has_server ? 1 : 0) &&
        !strait_codec_is_none(&w->codecs[0]))
        strait_footprint_touch(w->footprint, one_coding_bytes(w, &w->codecs[0]));
    for (int i = 0; i < STRAIT_N_CODECS && (planned || r->run->real_payload); i++) {
        struct strait_codec *c = &w->codecs[i];
        if (!planned)
            close_states(r, c);
        strait_buffer_free(atomic_load(&c->memory->spare));
        forget_memories(c);
    }
    for (int i = 0; i < STRAIT_N_CODECS; i++)
        free(w->codecs[i].cached);
}
