/* Tensors of a rank: allocated on first use, filled with recordings, counted as memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "rank_state.h"

/* In the order of enum strait_tensor_kind. */
static const char *const kind_names[] = {"param", "update", "grad"};

static struct strait_tensor *owner(struct strait_tensor *t)
{
    return t->parent ? t->parent : t;
}

/* A tensor with its own memory, added to the rank's list. */
static struct strait_tensor *new_owner(struct strait_rank *r, enum strait_tensor_kind kind,
                                       size_t lo, size_t hi)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_tensor *t = calloc(1, sizeof(*t));
    if (!t)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    *t = (struct strait_tensor){.kind = kind, .lo = lo, .hi = hi};
    pthread_mutex_lock(&w->mutex);
    t->next = w->tensors;
    w->tensors = t;
    pthread_mutex_unlock(&w->mutex);
    return t;
}

struct strait_tensor *strait_tensor(struct strait_rank *r, enum strait_tensor_kind kind, int first,
                                    int end)
{
    const struct strait_model *m = strait_model(r);
    const size_t last = end == STRAIT_ALL_LAYERS ? m->n_layers : (size_t)end;
    size_t lo = 0, hi = 0;
    for (size_t l = 0; l < last; l++) {
        lo += l < (size_t)first ? m->layers[l].n_elems : 0;
        hi += m->layers[l].n_elems;
    }
    return new_owner(r, kind, lo, hi);
}

struct strait_tensor *strait_scratch(struct strait_rank *r, size_t n_elems)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const size_t lo = strait_model(r)->n_elems + w->n_outside;
    w->n_outside += n_elems;
    return new_owner(r, STRAIT_SCRATCH, lo, lo + n_elems);
}

/* The hash slot of a range in the owner's table, or the free slot where it belongs. */
static struct strait_tensor **range_slot(const struct strait_tensor *of, size_t lo, size_t hi)
{
    struct strait_ranges *all = of->ranges;
    const size_t mask = all->cap - 1;
    uint64_t key = ((uint64_t)lo ^ (uint64_t)hi << 32) * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(key >> 32) & mask;; i = (i + 1) & mask)
        if (!all->at[i] || (all->at[i]->lo == lo && all->at[i]->hi == hi))
            return &all->at[i];
}

static bool grow_ranges(struct strait_tensor *of)
{
    struct strait_ranges *old = of->ranges;
    const size_t n_old = old ? old->cap : 0, cap = n_old > 0 ? 2 * n_old : 8;
    struct strait_ranges *ranges = calloc(1, sizeof(*ranges) + cap * sizeof(ranges->at[0]));
    if (!ranges)
        return false;
    ranges->n = old ? old->n : 0;
    ranges->cap = cap;
    of->ranges = ranges;
    for (size_t i = 0; i < n_old; i++)
        if (old->at[i])
            *range_slot(of, old->at[i]->lo, old->at[i]->hi) = old->at[i];
    free(old);
    return true;
}

struct strait_tensor *strait_like(struct strait_rank *r, const struct strait_tensor *x)
{
    return new_owner(r, STRAIT_SCRATCH, x->lo, x->hi);
}

struct strait_tensor *strait_range(struct strait_rank *r, struct strait_tensor *x, size_t lo,
                                   size_t hi)
{
    struct strait_tensor *of = owner(x);
    lo += x->lo;
    hi += x->lo;
    assert(lo <= hi && hi <= x->hi);
    if ((!of->ranges || 2 * of->ranges->n >= of->ranges->cap) && !grow_ranges(of))
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    struct strait_tensor **slot = range_slot(of, lo, hi);
    if (!*slot) {
        *slot = calloc(1, sizeof(**slot));
        if (!*slot)
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
        **slot = (struct strait_tensor){.parent = of, .kind = of->kind, .lo = lo, .hi = hi};
        of->ranges->n++;
    }
    return *slot;
}

/* Part i of n, counted from the tensor's start. */
static void slice_bounds(size_t *lo, size_t *hi, const struct strait_tensor *x, int i, int n)
{
    const size_t size = x->hi - x->lo, part = (size_t)i, parts = (size_t)n;
    const size_t each = size / parts, rest = size % parts;
    assert(i >= 0 && i < n);
    *lo = each * part + rest * part / parts;
    *hi = each * (part + 1) + rest * (part + 1) / parts;
}

struct strait_tensor *strait_slice(struct strait_rank *r, struct strait_tensor *x, int i, int n)
{
    size_t lo, hi;
    slice_bounds(&lo, &hi, x, i, n);
    return strait_range(r, x, lo, hi);
}

struct strait_tensor *strait_slice_in(struct strait_slice_room *room, struct strait_rank *r,
                                      struct strait_tensor *x, int i, int n)
{
    struct strait_tensor *slice = (struct strait_tensor *)(void *)room->words;
    size_t lo, hi;
    _Static_assert(sizeof(*slice) <= sizeof(room->words), "a handle does not fit in its room");
    if (r->run->real_payload)
        return strait_slice(r, x, i, n);
    slice_bounds(&lo, &hi, x, i, n);
    *slice = (struct strait_tensor){
        .parent = owner(x), .kind = x->kind, .lo = x->lo + lo, .hi = x->lo + hi};
    return slice;
}

/* Free values unless they are shared by ranks; those belong to the point. */
static void free_own(const struct strait_rank_state *w, float *values)
{
    if (values != w->point->shared_values)
        strait_buffer_free(values);
}

/* To the footprint: what a tensor's memory takes beside its values, but nothing where the point's
 * is shared. */
static void count_buffer(struct strait_rank_state *w, const struct strait_tensor *t, int sign)
{
    const size_t n_bytes = 4 * (t->cap > 0 ? t->cap : t->hi - t->lo);
    const size_t all_bytes = t->is_shared ? 0 : strait_buffer_bytes(n_bytes);
    strait_footprint_add(w->footprint, sign * ((double)all_bytes - (double)n_bytes));
}

static void let_go(struct strait_rank_state *w, struct strait_tensor *t)
{
    if (t->adopted)
        strait_packet_drop(t->adopted);
    else
        free_own(w, t->values);
    if (t->held)
        strait_rank_state_hold(w, -4.0 * (double)(t->cap > 0 ? t->cap : t->hi - t->lo));
    if (t->held && !t->adopted)
        count_buffer(w, t, -1);
    t->adopted = NULL;
    t->values = NULL;
    t->held = false;
}

struct strait_tensor *strait_spare(struct strait_rank *r, struct strait_tensor *x)
{
    struct strait_tensor *parent = owner(x);
    const size_t n = x->hi - x->lo;
    if (!parent->spare) {
        parent->spare = calloc(1, sizeof(*parent->spare));
        if (!parent->spare)
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
        parent->spare->kind = STRAIT_SCRATCH;
    }
    struct strait_tensor *s = parent->spare;
    if (s->adopted || s->cap < n) {
        let_go(strait_rank_state_of(r), s);
        s->cap = n;
    }
    s->lo = x->lo;
    s->hi = x->hi;
    return s;
}

size_t strait_n_elems(const struct strait_tensor *x)
{
    return x->hi - x->lo;
}

/* Recorded values of [first, end), row by row; SCRATCH has none. Where ranks train for real WEIGHTS
 * are the initial ones, and all others zeros. */
static void fill_values(const struct strait_trial *p, int rank, enum strait_tensor_kind kind,
                        float *values, size_t first, size_t end)
{
    if (p->learn && kind == STRAIT_WEIGHTS && first < end)
        memcpy(values, p->initial + first, (end - first) * sizeof(*values));
    if (p->learn || kind == STRAIT_SCRATCH || !p->fills[kind])
        return;
    const struct strait_model *m = p->experiment->model;
    size_t row_lo = 0;
    for (size_t i = 0; i < m->n_rows; i++) {
        const size_t row_hi = row_lo + m->rows[i].n_elems;
        const size_t lo = row_lo > first ? row_lo : first, hi = row_hi < end ? row_hi : end;
        if (lo < hi)
            strait_tensor_fill_row(values + (lo - first), hi - lo, p->fills[kind], i, lo - row_lo,
                                   (unsigned)rank);
        row_lo = row_hi;
    }
}

/* Allocate a whole model for every sender whose packets must be decoded; `none` needs no
 * decoding. */
static void prepare_scratch(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_experiment *e = w->point->experiment;
    const bool server = e->strategy->has_server && w->me == 0;
    const struct strait_codec_choice *from = server ? &e->up : &e->down;
    const int n = server ? e->n_clients : 1;
    if (!e->strategy->has_server || strcmp(from->spec.ops->name, "none") == 0)
        return;
    if (w->footprint) {
        w->footprint->n_scratch = n;
        strait_footprint_buffers(w->footprint, n, 4 * e->model->n_elems);
        return;
    }
    struct strait_prepared *to = w->prepared;
    to->scratch = calloc((size_t)n, sizeof(*to->scratch));
    for (; to->scratch && to->n_scratch < n; to->n_scratch++)
        if (!(to->scratch[to->n_scratch] = strait_buffer_new(e->model->n_elems * sizeof(float))))
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "a tensor does not fit in memory");
}

/* The first scratch of a strategy that says how much it needs. */
static void prepare_early(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_experiment *e = w->point->experiment;
    struct strait_prepared *to = w->prepared;
    const size_t n =
        e->strategy->early_scratch ? e->strategy->early_scratch(to->early_elems, e) : 0;
    for (size_t i = 0; i < STRAIT_MAX_EARLY_SCRATCH; i++) {
        if (i >= n)
            to->early_elems[i] = 0;
        else if (w->footprint)
            strait_footprint_buffers(w->footprint, 1, 4 * to->early_elems[i]);
        else if (!(to->early[i] = strait_buffer_new(4 * to->early_elems[i])))
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "a tensor does not fit in memory");
    }
}

/* Which of them this tensor, now touched, takes; -1: none. */
static int take_early(struct strait_rank_state *w, const struct strait_tensor *t)
{
    struct strait_prepared *p = w->prepared;
    size_t lo = w->point->experiment->model->n_elems;
    for (int i = 0; p && i < STRAIT_MAX_EARLY_SCRATCH && p->early_elems[i] > 0; i++) {
        if (t->kind == STRAIT_SCRATCH && t->lo == lo && strait_n_elems(t) == p->early_elems[i] &&
            !p->early_taken[i]) {
            p->early_taken[i] = true;
            return i;
        }
        lo += p->early_elems[i];
    }
    return -1;
}

float *strait_tensor_sent_values(const struct strait_trial *p, int rank, const char *kind_name)
{
    const size_t n_elems = p->experiment->model->n_elems;
    float *values = strait_buffer_new(n_elems * sizeof(float));
    for (int kind = 0; kind < 3 && values && kind_name; kind++)
        if (strcmp(kind_names[kind], kind_name) == 0)
            fill_values(p, rank, (enum strait_tensor_kind)kind, values, 0, n_elems);
    return values;
}

/* Is what this rank will send in memory of the point's? */
static bool shares_memory(const struct strait_rank_state *w)
{
    return w->point->shares_values && !(w->point->experiment->strategy->has_server && w->me == 0);
}

void strait_tensor_prepare(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const struct strait_strategy *s = w->point->experiment->strategy;
    const size_t n_elems = w->point->experiment->model->n_elems;
    const bool server = s->has_server && w->me == 0;
    const char *sends = server ? s->downlink_kind : strait_uplink_kind(w->point->experiment);
    const bool planned = w->footprint != NULL;
    if (r->run->real_payload || planned)
        w->prepared = strait_alloc(r, 1, sizeof(*w->prepared));
    for (int kind = 0; kind < 3 && (planned || r->run->real_payload) && sends; kind++) {
        if (strcmp(kind_names[kind], sends) != 0)
            continue;
        if (planned) {
            w->footprint->prepared[kind] = true;
            strait_footprint_buffers(w->footprint, shares_memory(w) ? 0 : 1, 4 * n_elems);
            continue;
        }
        if (w->point->shared_values && !server) {
            w->prepared->values[kind] = w->point->shared_values;
            continue;
        }
        w->prepared->values[kind] = strait_buffer_new(n_elems * sizeof(float));
        if (!w->prepared->values[kind])
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "a tensor does not fit in memory");
        fill_values(w->point, w->me, (enum strait_tensor_kind)kind, w->prepared->values[kind], 0,
                    n_elems);
    }
    if (planned || r->run->real_payload) {
        prepare_scratch(r);
        prepare_early(r);
    }
}

/* Take the prepared values of its kind for the first whole tensor; else allocate. */
static float *take_values(struct strait_rank_state *w, const struct strait_tensor *t)
{
    float *values = NULL;
    int early;
    const bool whole = t->lo == 0 && t->hi == w->point->experiment->model->n_elems;
    pthread_mutex_lock(&w->mutex);
    if (whole && t->kind != STRAIT_SCRATCH) {
        values = w->prepared->values[t->kind];
        w->prepared->values[t->kind] = NULL;
    } else if (whole && w->prepared->n_scratch > 0) {
        values = w->prepared->scratch[--w->prepared->n_scratch];
    } else if ((early = take_early(w, t)) >= 0) {
        values = w->prepared->early[early];
        w->prepared->early[early] = NULL;
    }
    pthread_mutex_unlock(&w->mutex);
    const size_t n_elems = t->cap > 0 ? t->cap : strait_n_elems(t);
    if (!values && (values = strait_buffer_new(n_elems * sizeof(float))))
        fill_values(w->point, w->me, t->kind, values, t->lo, t->hi);
    return values;
}

/* What was prepared was counted then; but the point's memory never. */
static void count_taken(struct strait_rank_state *w, struct strait_tensor *t)
{
    const bool is_whole = t->lo == 0 && t->hi == w->point->experiment->model->n_elems;
    const bool was_there = is_whole && strait_footprint_take(w->footprint, t->kind);
    if (!was_there && take_early(w, t) < 0) {
        count_buffer(w, t, 1);
        return;
    }
    t->is_shared = t->kind != STRAIT_SCRATCH && shares_memory(w);
    strait_footprint_add(w->footprint, -4.0 * (double)strait_n_elems(t));
}

void strait_tensor_touch(struct strait_rank *r, struct strait_tensor *x)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_tensor *t = owner(x);
    if (!t->held) {
        t->held = true;
        if (w->footprint) /* before it is held, or it would count twice for a moment */
            count_taken(w, t);
        strait_rank_state_hold(w, 4.0 * (double)(t->cap > 0 ? t->cap : strait_n_elems(t)));
        if (r->run->real_payload) {
            t->values = take_values(w, t);
            if (!t->values)
                strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "a tensor does not fit in memory");
        }
    }
    if (t != x && t->values)
        x->values = t->values + (x->lo - t->lo);
}

void strait_tensor_refill(void *refill)
{
    const struct strait_tensor_refill *f = refill;
    fill_values(f->wrap->point, f->wrap->me, f->tensor->kind, f->tensor->values, f->tensor->lo,
                f->tensor->hi);
    f->tensor->version++;
}

float *strait_values(struct strait_rank *r, struct strait_tensor *x)
{
    strait_tensor_touch(r, x);
    return x->values;
}

bool strait_tensor_adopt(struct strait_rank *r, struct strait_tensor *t, struct strait_packet *p)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    if (t->parent || (r->run->real_payload && atomic_load(&p->n_refs) != 1))
        return false; /* a range shares its memory; a packet with other holders must not change */
    if (r->run->real_payload && strait_packet_is_view(p)) { /* of a rank in this address space */
        memcpy(strait_values(r, t), p->data, p->payload_bytes);
        strait_drop(r, p);
        t->version++;
        return true;
    }
    let_go(w, t); /* the packet was counted on arrival: its memory changes owner */
    t->cap = 0;
    t->held = true;
    t->version++;
    if (!r->run->real_payload && !w->footprint) { /* nothing is in it */
        strait_packet_drop(p);
        return true;
    }
    t->adopted = p;
    t->values = r->run->real_payload ? (float *)(void *)p->data : NULL;
    return true;
}

static void free_values(const struct strait_rank_state *w, struct strait_tensor *t)
{
    if (t->adopted)
        strait_packet_drop(t->adopted);
    else
        free_own(w, t->values);
}

void strait_tensor_free_all(struct strait_rank_state *w)
{
    for (struct strait_tensor *t = w->tensors, *next; t; t = next) {
        next = t->next;
        if (t->spare) {
            free_values(w, t->spare);
            free(t->spare);
        }
        free_values(w, t);
        for (size_t i = 0; t->ranges && i < t->ranges->cap; i++)
            free(t->ranges->at[i]);
        free(t->ranges);
        free(t);
    }
    w->tensors = NULL;
    struct strait_prepared *p = w->prepared;
    for (int kind = 0; kind < 3 && p; kind++)
        free_own(w, p->values[kind]);
    while (p && p->n_scratch > 0)
        strait_buffer_free(p->scratch[--p->n_scratch]);
    if (p)
        free(p->scratch);
    for (int i = 0; i < STRAIT_MAX_EARLY_SCRATCH && p; i++)
        strait_buffer_free(p->early[i]);
}
