/* Coding before and after a run: open codecs, allocate buffers, take first readings, check the
 * delivered error, release everything. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "coding.h"
#include "workloads/timing/timing.h"

enum { N_REHEARSALS = 5 };

/* Allocate for the worst case of the whole model. */
static void prepare_room(const struct strait_rank_state *w, struct strait_codec *c)
{
    const struct strait_model *m = w->point->experiment->model;
    const struct strait_bundle bundle = strait_codec_bundle(c, NAN);
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_slice row = {.n_elems = m->rows[i].n_elems,
                                         .lossy = strait_codec_is_lossy(c, &m->rows[i])};
        c->room_bytes += strait_bundle_max_bytes(&bundle, &row, 1);
    }
    c->room_bytes += strait_line_head_bytes(c, m->n_rows);
}

void strait_coding_begin(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_trial *p = w->point;
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
    w->codecs[2] = (struct strait_codec){.which = "none", .wrap = w, .choice = &p->plain};
    for (int i = 0; i < STRAIT_N_CODECS; i++)
        w->codecs[i].there[0] = w->codecs[i].there[1] = NAN, w->codecs[i].addressed = -1;
    const struct strait_codec *mine =
        &w->codecs[w->me == 0 && p->experiment->strategy->has_server ? 1 : 0];
    if (strait_feedback_needed(&mine->choice->spec)) /* residual, and momentum or state */
        strait_rank_state_hold(w, 2 * 4.0 * (double)p->experiment->model->n_elems);
    const bool planned = w->footprint.is_wanted;
    for (int i = 0; i < STRAIT_N_CODECS && (planned || r->run->real_payload); i++) {
        struct strait_codec *c = &w->codecs[i];
        if (strait_codec_open(c->choice->spec.ops, &c->lossy_state, c->choice->spec.params, &err) !=
                0 ||
            strait_codec_open(c->choice->lossless.ops, &c->lossless_state,
                              c->choice->lossless.params, &err) != 0)
            r->backend->ops->fail(r, &err);
        if (strait_codec_is_none(c))
            continue;
        prepare_room(w, c);
        /* When memory is short: no buffer for codecs that this rank does not send with, and pages
         * only when written, since an encoded tensor rarely needs all of them. */
        c->is_untouched = planned && p->shares_values;
        c->has_room = planned && (!p->shares_values || c == mine);
        if (planned)
            strait_footprint_buffers(w, p->shares_values ? 0 : 1, c->room_bytes);
        else if (!p->shares_values)
            atomic_init(&c->spare, strait_buffer_new(c->room_bytes));
        else if (c == mine)
            atomic_init(&c->spare, strait_buffer_new_untouched(c->room_bytes));
    }
}

static void keep_least(_Atomic(double) *reading, double s)
{
    if (reading)
        atomic_store(reading, fmin(atomic_load(reading), s));
}

/* A whole model, encoded and decoded once more. */
static double one_coding_bytes(const struct strait_rank_state *w, const struct strait_codec *c)
{
    return (double)strait_buffer_bytes(4 * w->point->experiment->model->n_elems) +
           (double)strait_buffer_bytes(c->room_bytes);
}

/* Before time 0 the first sender takes readings of what it will send, so that the first round does
 * not depend on a single reading. */
void strait_coding_rehearse(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_strategy *s = w->point->experiment->strategy;
    struct strait_codec *c = &w->codecs[w->me == 0 ? 1 : 0];
    struct strait_error err = {0};
    struct strait_sweeper sweeper = {0};
    struct strait_codec_times t;
    const bool planned = w->footprint.is_wanted;
    if (!(planned || r->run->measured_cost) || !s->has_server || w->me > 1 ||
        strait_codec_is_none(c))
        return;
    if (planned) {
        strait_footprint_touch(w, (double)strait_sweep_bytes() + one_coding_bytes(w, c));
        return;
    }
    const char *sends = w->me == 0 ? s->downlink_kind : strait_uplink_kind(w->point->experiment);
    const enum strait_tensor_kind kind = strcmp(sends, "param") == 0    ? STRAIT_WEIGHTS
                                         : strcmp(sends, "update") == 0 ? STRAIT_UPDATE
                                                                        : STRAIT_GRADIENTS;
    struct strait_tensor whole = {.kind = kind,
                                  .hi = w->point->experiment->model->n_elems,
                                  .values = w->prepared[kind],
                                  .held = true};
    float *decoded = strait_buffer_new(whole.hi * sizeof(*decoded));
    struct strait_task from = {.codec = c, .tensor = &whole, .bound = NAN}, to = from;
    if (!whole.values || !decoded || strait_sweeper_init(&sweeper, &err) != 0)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    strait_task_cut(r, &from, true);
    strait_task_cut(r, &to, false);
    for (size_t i = 0; i < to.n_slices; i++)
        to.slices[i].x = decoded + (to.slices[i].x - whole.values);
    const struct strait_bundle bundle = strait_codec_bundle(c, NAN);
    if (strait_time_bundle(&t, &bundle, from.slices, to.slices, to.n_slices, N_REHEARSALS, 0,
                           &sweeper, &err) != 0)
        r->backend->ops->fail(r, &err);
    keep_least(strait_reading_of(w, STRAIT_READING_ENCODE, c, NAN, &whole), t.encode_s[0]);
    keep_least(strait_reading_of(w, STRAIT_READING_DECODE, c, NAN, &whole), t.decode_s[0]);
    for (size_t i = 0; i < from.n_slices; i++) /* the rehearsal must not count as a round */
        if (from.slices[i].memory && strait_feedback_reset(from.slices[i].memory, &err) != 0)
            r->backend->ops->fail(r, &err);
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

/* Encode the sample again, decode it, and compare with its bound tensor by tensor, since relative
 * bounds are per tensor. A lossless tensor must come back unchanged. */
static double sample_error(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_codec *c = w->sample_codec;
    struct strait_bound bound = c->choice->spec.bound;
    struct strait_task task = {.codec = c, .tensor = w->sample_of, .bound = w->sample_bound};
    const size_t n = strait_n_elems(w->sample_of);
    double worst = 0;
    float *decoded = strait_buffer_new(n * sizeof(*decoded));
    struct strait_packet encoded = {0};
    task.out = strait_buffer_new(task.room_bytes = c->room_bytes);
    if (!isnan(w->sample_bound))
        bound.value = w->sample_bound;
    if (decoded && task.out) {
        strait_task_cut(r, &task, false);
        strait_task_encode(&task);
        for (size_t i = 0; i < task.n_slices; i++)
            task.slices[i].x = decoded + (task.slices[i].x - w->sample_of->values);
        encoded.data = task.out;
        encoded.payload_bytes = task.len_bytes;
        task.packet = &encoded;
        if (task.err.code == STRAIT_OK)
            strait_task_decode(&task);
        for (size_t i = 0; i < task.n_slices; i++) {
            const struct strait_bound exact = {.kind = STRAIT_BOUND_ABS, .value = 0};
            const float *y = task.slices[i].x, *x = w->sample_of->values + (y - decoded);
            const struct strait_bound own = task.slices[i].bound;
            worst = fmax(worst, slice_error(x, y, task.slices[i].n_elems,
                                            !task.slices[i].lossy           ? exact
                                            : own.kind == STRAIT_BOUND_NONE ? bound
                                                                            : own));
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
    struct strait_rank_state *w = strait_rank_state_of(r);
    strait_lines_free(w);
    const bool planned = w->footprint.is_wanted;
    if (w->sample_of && w->sample_of->version == w->sample_version)
        w->log->error_over_bound = sample_error(r);
    if (planned && w->me == (w->point->experiment->strategy->has_server ? 1 : 0) &&
        !strait_codec_is_none(&w->codecs[0]))
        strait_footprint_touch(w, one_coding_bytes(w, &w->codecs[0]));
    for (int i = 0; i < STRAIT_N_CODECS && (planned || r->run->real_payload); i++) {
        struct strait_codec *c = &w->codecs[i];
        if (c->choice->spec.ops->close)
            c->choice->spec.ops->close(c->lossy_state);
        if (c->choice->lossless.ops->close)
            c->choice->lossless.ops->close(c->lossless_state);
        strait_buffer_free(atomic_load(&c->spare));
        for (struct strait_remembered *m = c->remembered, *next; m; m = next) {
            next = m->next;
            strait_feedback_free(m->memory);
            free(m);
        }
    }
}
