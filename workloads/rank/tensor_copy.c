/* Copies of values: a scaled copy of a tensor, and a packet with its own data. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/buffer.h"
#include "coding.h"

struct setting {
    float *y;
    const float *x;
    size_t n;
    float weight;
};

static void set_now(void *arg)
{
    const struct setting *s = arg;
    for (size_t i = 0; i < s->n; i++)
        s->y[i] = s->weight * s->x[i];
}

void strait_set(struct strait_rank *r, struct strait_tensor *y, struct strait_tensor *x,
                double weight)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    assert(strait_n_elems(y) == strait_n_elems(x));
    strait_tensor_touch(r, y);
    strait_tensor_touch(r, x);
    struct setting s = {y->values, x->values, strait_n_elems(y), (float)weight};
    const struct strait_job job = {
        .resource = STRAIT_CPU,
        .cost_s = r->run->measured_cost ? NAN : 4.0 * (double)s.n / w->copy_bytes_per_s,
        .fn = r->run->real_payload ? set_now : NULL,
        .is_pure = y != x,
        .arg = &s,
        .readings = strait_reading_of(w, STRAIT_READING_SET, NULL, NAN, y)};
    strait_rank_state_work(r, STRAIT_SPAN_AGGREGATE, &job);
    y->version++;
    if (y->parent)
        y->parent->version++;
}

struct changing {
    float *y;
    const float *after, *before;
    size_t n;
};

static void change_now(void *arg)
{
    const struct changing *c = arg;
    for (size_t i = 0; i < c->n; i++)
        c->y[i] = c->after[i] - c->before[i];
}

void strait_set_change(struct strait_rank *r, struct strait_tensor *y, struct strait_tensor *after,
                       struct strait_tensor *before, struct strait_tensor *recorded)
{
    if (!strait_trains(r)) {
        strait_set(r, y, recorded, 1);
        return;
    }
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct changing c = {strait_values(r, y), strait_values(r, after), strait_values(r, before),
                         strait_n_elems(y)};
    const struct strait_job job = {
        .resource = STRAIT_CPU,
        .cost_s = r->run->measured_cost ? NAN : 4.0 * (double)c.n / w->copy_bytes_per_s,
        .fn = change_now,
        .arg = &c,
        .readings = strait_reading_of(w, STRAIT_READING_SET, NULL, NAN, y)};
    strait_rank_state_work(r, STRAIT_SPAN_AGGREGATE, &job);
    y->version++;
    if (y->parent)
        y->parent->version++;
}

struct copying {
    unsigned char *to;
    const float *from;
    size_t n_bytes;
};

static void copy_now(void *arg)
{
    const struct copying *c = arg;
    memcpy(c->to, c->from, c->n_bytes);
}

struct strait_packet *strait_snapshot(struct strait_rank *r, struct strait_codec *c, double bound,
                                      struct strait_tensor *x)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    if (!strait_codec_is_none(c))
        return strait_encode(r, c, bound, x);
    const size_t n_bytes = 4 * strait_n_elems(x);
    const bool real = r->run->real_payload;
    strait_tensor_touch(r, x);
    struct strait_packet *p = strait_packet_new(real ? n_bytes : 0);
    if (!p)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "a copy of a tensor does not fit in memory");
    if (real)
        strait_buffer_populate(p->data, n_bytes); /* faults in fresh memory are none of its work */
    struct copying copy = {p->data, x->values, n_bytes};
    const struct strait_job job = {
        .resource = STRAIT_CPU,
        .cost_s = r->run->measured_cost ? NAN : (double)n_bytes / w->copy_bytes_per_s,
        .fn = real ? copy_now : NULL,
        .is_pure = true,
        .arg = &copy,
        .readings = strait_reading_of(w, STRAIT_READING_COPY, NULL, NAN, x)};
    strait_rank_state_work(r, STRAIT_SPAN_ENCODE, &job);
    p->payload_bytes = n_bytes;
    strait_codec_label(p, c, NAN, x);
    strait_rank_state_hold(w,
                           (double)n_bytes); /* until this rank drops it, like a received packet */
    return p;
}

struct strait_tensor *strait_scratch_of(struct strait_rank *r, size_t n_elems,
                                        struct strait_tensor *recorded)
{
    struct strait_tensor *x = strait_scratch(r, n_elems);
    float *to = strait_values(r, x), *from = strait_values(r, recorded);
    for (size_t i = 0, period = strait_n_elems(recorded); to && from && i < n_elems; i++)
        to[i] = from[i % period];
    return x;
}

/* --- rows of a memory beside the accelerator ----------------------------------------------- */

static size_t row_bytes(const struct strait_rows *rows)
{
    return 4 * strait_n_elems(rows->x) / rows->n_rows;
}

static float *stored_row(const struct strait_rows *rows, size_t i)
{
    return rows->stored + (size_t)rows->rows[i] * (row_bytes(rows) / 4);
}

static void load_now(void *arg)
{
    const struct strait_rows *rows = arg;
    for (size_t i = 0; i < rows->n_rows; i++)
        memcpy(rows->values + i * (row_bytes(rows) / 4), stored_row(rows, i), row_bytes(rows));
}

static void store_now(void *arg)
{
    const struct strait_rows *rows = arg;
    for (size_t i = 0; i < rows->n_rows; i++)
        memcpy(stored_row(rows, i), rows->values + i * (row_bytes(rows) / 4), row_bytes(rows));
}

static struct strait_task *copy_rows(struct strait_rank *r, struct strait_rows *rows,
                                     enum strait_resource link, void (*fn)(void *))
{
    const double n_bytes = 4.0 * (double)strait_n_elems(rows->x);
    rows->values = strait_values(r, rows->x);
    rows->stored = strait_values(r, rows->memory);
    return strait_copy_start(r, link, n_bytes, n_bytes / rows->bytes_per_s,
                             r->run->real_payload ? fn : NULL, rows);
}

struct strait_task *strait_rows_load(struct strait_rank *r, struct strait_rows *rows)
{
    rows->x->version++;
    return copy_rows(r, rows, STRAIT_TO_ACCEL, load_now);
}

struct strait_task *strait_rows_store(struct strait_rank *r, struct strait_rows *rows)
{
    return copy_rows(r, rows, STRAIT_FROM_ACCEL, store_now);
}
