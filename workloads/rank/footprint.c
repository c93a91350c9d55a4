#include "footprint.h"

#include <math.h>
#include <stdlib.h>

#include "core/buffer.h"

static void add_at(struct strait_footprint *f, double time_s, double bytes)
{
    if (f->n_changes == f->cap_changes) {
        const size_t cap = f->cap_changes ? 2 * f->cap_changes : 64;
        struct strait_footprint_change *more = realloc(f->changes, cap * sizeof(*more));
        f->is_short = f->is_short || !more;
        if (!more)
            return;
        f->changes = more;
        f->cap_changes = cap;
    }
    f->changes[f->n_changes] = (struct strait_footprint_change){time_s, bytes, f->n_changes};
    f->n_changes++;
}

void strait_footprint_add(struct strait_footprint *f, double bytes)
{
    if (f && bytes != 0)
        add_at(f,
               f->rank        ? f->rank->backend->ops->now_s(f->rank)
               : f->has_ended ? INFINITY
                              : -INFINITY,
               bytes);
}

void strait_footprint_buffers(struct strait_footprint *f, int n, size_t len_bytes)
{
    strait_footprint_add(f, n * (double)strait_buffer_bytes(len_bytes));
}

void strait_footprint_touch(struct strait_footprint *f, double bytes)
{
    strait_footprint_add(f, bytes);
    strait_footprint_add(f, -bytes);
}

bool strait_footprint_take(struct strait_footprint *f, enum strait_tensor_kind kind)
{
    if (kind == STRAIT_SCRATCH)
        return f->n_scratch > 0 && f->n_scratch-- > 0;
    const bool waits = f->prepared[kind];
    f->prepared[kind] = false;
    return waits;
}

/* On a stream a message begins when the one before it has arrived. */
void strait_footprint_arrive(struct strait_footprint *f, struct strait_rank *r,
                             const struct strait_message *m, int channel)
{
    const size_t n_streams = (size_t)r->run->n_ranks * STRAIT_MAX_CHANNELS;
    const double bytes = (double)m->packet->payload_bytes;
    if (!f || !(bytes > 0))
        return;
    if (!f->last_s)
        f->last_s = calloc(n_streams, sizeof(*f->last_s));
    f->is_short = f->is_short || !f->last_s;
    if (!f->last_s)
        return;
    double *last_s = &f->last_s[m->src * STRAIT_MAX_CHANNELS + channel];
    add_at(f, fmax(m->posted_s, *last_s), bytes);
    add_at(f, r->backend->ops->now_s(r), -bytes);
    *last_s = m->arrived_s;
}

static int by_time(const void *a, const void *b)
{
    const struct strait_footprint_change *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

double strait_footprint_end(struct strait_footprint *f)
{
    double now_bytes = 0, max_bytes = f->is_short ? INFINITY : 0;
    if (f->n_changes > 0)
        qsort(f->changes, f->n_changes, sizeof(*f->changes), by_time);
    for (size_t i = 0; i < f->n_changes; i++) {
        now_bytes += f->changes[i].bytes;
        max_bytes = fmax(max_bytes, now_bytes);
    }
    free(f->changes);
    free(f->last_s);
    f->changes = NULL;
    f->last_s = NULL;
    return max_bytes;
}
