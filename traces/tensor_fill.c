/* Choose which recorded tensors stand for a model's parameters. */
#include "tensor_fill.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"

enum { MAX_MODELS = 16, TABLE_ASPECT = 8 };

/* Input of a search: the files still free, and the models ordered by nearness. */
struct search {
    const struct strait_tensors *t;
    const bool *taken; /* of recordings; NULL: none */
    const char *models[MAX_MODELS];
    size_t n_models;
};

/* What a pool stands for. */
struct target {
    const char *model, *kind;
    enum strait_tensor_fill_class class;
};

enum strait_tensor_fill_class strait_tensor_fill_class(unsigned n_dims, const size_t *shape)
{
    if (n_dims < 2)
        return STRAIT_FILL_VECTOR;
    if (n_dims == 2 && (shape[0] - 1) / TABLE_ASPECT >= shape[1])
        return STRAIT_FILL_TABLE;
    return STRAIT_FILL_INNER;
}

static enum strait_tensor_fill_class class_of(const struct strait_recording *r)
{
    return strait_tensor_fill_class(r->n_dims, r->shape);
}

static void add_model(struct search *s, const char *model)
{
    bool recorded = false;
    for (size_t i = 0; i < s->n_models; i++)
        if (strcmp(s->models[i], model) == 0)
            return;
    for (size_t i = 0; i < s->t->n_recordings; i++)
        recorded |= strcmp(s->t->recordings[i].model, model) == 0;
    if (recorded && s->n_models < MAX_MODELS)
        s->models[s->n_models++] = model;
}

/* The model itself if it was recorded, then the nearest family, then the rest. */
static void order_models(struct search *s, const struct strait_model *m)
{
    add_model(s, m->name);
    if (m->family == STRAIT_FAMILY_ATTENTION)
        add_model(s, "gpt");
    if (m->family != STRAIT_FAMILY_OTHER)
        add_model(s, "resnet");
    for (size_t i = 0; i < s->t->n_recordings; i++)
        add_model(s, s->t->recordings[i].model);
}

/* Last recorded step of this model and kind (and layer, unless NULL); -1: none. */
static long last_step(const struct strait_tensors *t, const char *model, const char *layer,
                      const char *kind)
{
    long step = -1;
    for (size_t i = 0; i < t->n_recordings; i++) {
        const struct strait_recording *r = &t->recordings[i];
        if (r->step > step && strcmp(r->kind, kind) == 0 && strcmp(r->model, model) == 0 &&
            (!layer || strcmp(r->layer, layer) == 0))
            step = r->step;
    }
    return step;
}

/* Distance of a recording from the step that SENT uses for the same layer. */
static double distance(const struct search *s, const struct strait_recording *r, const char *kind)
{
    const bool other_kind = strcmp(r->kind, kind) != 0;
    long step = last_step(s->t, r->model, other_kind ? NULL : r->layer, kind);
    if (step < 0)
        step = last_step(s->t, r->model, r->layer, r->kind);
    return fabs(log((double)r->step + 1) - log((double)step + 1));
}

/* The free recording of this tensor nearest to the step that SENT uses, or NULL. */
static const struct strait_recording *nearest_step(const struct search *s, const char *model,
                                                   const char *layer, const char *own_kind,
                                                   const char *kind)
{
    const struct strait_recording *best = NULL;
    double best_distance = INFINITY;
    for (size_t i = 0; i < s->t->n_recordings; i++) {
        const struct strait_recording *r = &s->t->recordings[i];
        if ((s->taken && s->taken[i]) || strcmp(r->layer, layer) != 0 ||
            strcmp(r->kind, own_kind) != 0 || strcmp(r->model, model) != 0)
            continue;
        const double d = distance(s, r, kind);
        if (d < best_distance) {
            best = r;
            best_distance = d;
        }
    }
    return best;
}

static bool add_source(struct strait_tensor_fill_pool *pool, const struct strait_recording *r)
{
    for (size_t i = 0; i < pool->n_sources; i++)
        if (pool->sources[i].recording == r)
            return true;
    struct strait_tensor_fill_source *more =
        realloc(pool->sources, (pool->n_sources + 1) * sizeof *more);
    if (!more)
        return false;
    pool->sources = more;
    pool->sources[pool->n_sources++] =
        (struct strait_tensor_fill_source){.recording = r, .scale = 1};
    pool->n_elems += r->n_elems;
    return true;
}

/* Add one recording of each layer of (model, own_kind, class); false when memory runs out. */
static bool add_layers(struct strait_tensor_fill_pool *pool, const struct search *s,
                       const char *model, const char *own_kind, enum strait_tensor_fill_class class,
                       const char *kind)
{
    for (size_t i = 0; i < s->t->n_recordings; i++) {
        const struct strait_recording *r = &s->t->recordings[i];
        if (strcmp(r->model, model) != 0 || strcmp(r->kind, own_kind) != 0 || class_of(r) != class)
            continue;
        const struct strait_recording *best = nearest_step(s, model, r->layer, own_kind, kind);
        if (best && !add_source(pool, best))
            return false;
    }
    return true;
}

/* Search one model: its own kind in this class, then the other class of matrices, then, for
 * updates, gradients. */
static bool search_model(struct strait_tensor_fill_pool *pool, const struct search *s,
                         const struct target *want, const char *model)
{
    const enum strait_tensor_fill_class other =
        want->class == STRAIT_FILL_INNER ? STRAIT_FILL_TABLE : STRAIT_FILL_INNER;
    const char *const kinds[] = {want->kind, strcmp(want->kind, "update") == 0 ? "grad" : NULL};
    for (size_t k = 0; k < 2 && kinds[k]; k++) {
        if (!add_layers(pool, s, model, kinds[k], want->class, want->kind))
            return false;
        if (pool->n_sources == 0 && want->class != STRAIT_FILL_VECTOR &&
            !add_layers(pool, s, model, kinds[k], other, want->kind))
            return false;
        if (pool->n_sources > 0)
            break;
    }
    return true;
}

static bool search_all(struct strait_tensor_fill_pool *pool, const struct search *s,
                       const struct target *want)
{
    static const char *const any[] = {"update", "grad", "param"};
    if (!search_model(pool, s, want, want->model))
        return false;
    for (size_t i = 0; i < s->n_models && pool->n_sources == 0; i++)
        if (!search_model(pool, s, want, s->models[i]))
            return false;
    for (size_t k = 0; k < 3 && pool->n_sources == 0; k++)
        for (size_t i = 0; i < s->n_models && pool->n_sources == 0; i++) {
            const struct target last = {s->models[i], any[k], want->class};
            if (!search_model(pool, s, &last, s->models[i]))
                return false;
        }
    return true;
}

/* Largest minus smallest finite value; 0 if there is none. */
static double finite_range(const struct strait_recording *r)
{
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < r->n_elems; i++) {
        const double x = (double)r->values[i];
        if (!isfinite(x))
            continue;
        min = x < min ? x : min;
        max = x > max ? x : max;
    }
    return max > min ? max - min : 0;
}

static void scale_to_first(struct strait_tensor_fill_pool *pool)
{
    const double first = finite_range(pool->sources[0].recording);
    for (size_t i = 1; i < pool->n_sources; i++) {
        const double range = finite_range(pool->sources[i].recording);
        const double scale = range > 0 ? first / range : 0;
        /* A scale outside this range means that there is nothing to match. */
        pool->sources[i].scale = scale > 1e-12 && scale < 1e12 ? scale : 1;
    }
}

static const char *class_name(enum strait_tensor_fill_class class)
{
    static const char *const text[] = {"vectors", "matrices", "tables"};
    return text[class];
}

static int fill_pool(struct strait_tensor_fill_plan *p, const struct search *s,
                     enum strait_tensor_fill_class class,
                     const struct strait_tensor_fill_plan *sent, struct strait_error *err)
{
    struct strait_tensor_fill_pool *pool = &p->pools[class];
    struct target want = {s->n_models ? s->models[0] : "", p->kind, class};
    if (sent && sent->pools[class].n_sources > 0) {
        const struct strait_recording *r = sent->pools[class].sources[0].recording;
        want = (struct target){r->model, r->kind, class_of(r)};
    }
    if (!search_all(pool, s, &want))
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a fill plan");
    if (pool->n_sources == 0)
        return strait_refuse(err, s->t->folder,
                             "expected %s to fill %s with %s of kind %s, found none",
                             sent ? "recordings that are not sent" : "recordings", p->model,
                             class_name(class), p->kind);
    scale_to_first(pool);
    return 0;
}

static bool same_shape(const struct strait_recording *r, const struct strait_param_row *row)
{
    return r->n_dims == row->n_dims &&
           memcmp(r->shape, row->shape, row->n_dims * sizeof row->shape[0]) == 0;
}

static int fill_rows(struct strait_tensor_fill_plan *p, const struct search *s,
                     const struct strait_model *m, const struct strait_tensor_fill_plan *sent,
                     struct strait_error *err)
{
    char layer[sizeof m->rows->layer + sizeof m->rows->param + 1];
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_param_row *row = &m->rows[i];
        struct strait_tensor_fill_row *fill = &p->rows[i];
        fill->n_elems = row->n_elems;
        snprintf(layer, sizeof layer, "%s.%s", row->layer, row->param);
        const struct strait_recording *r = nearest_step(s, m->name, layer, p->kind, p->kind);
        if (r && same_shape(r, row)) {
            fill->recorded = r;
            p->recorded_bytes += row->n_elems * sizeof(float);
            continue;
        }
        const enum strait_tensor_fill_class class =
            strait_tensor_fill_class(row->n_dims, row->shape);
        if (p->pools[class].n_sources == 0 && fill_pool(p, s, class, sent, err) != 0)
            return -1;
        fill->tiled_from = &p->pools[class];
        p->tiled_bytes += row->n_elems * sizeof(float);
    }
    return 0;
}

/* Make the plan of one set; for HELD_OUT, files that `sent` uses are taken. */
static int plan(struct strait_tensor_fill_plan **out, const struct strait_model *m,
                const struct strait_tensors *t, const char *kind,
                const struct strait_tensor_fill_plan *sent, struct strait_error *err)
{
    struct search s = {.t = t};
    bool *taken = calloc(t->n_recordings, sizeof *taken);
    struct strait_tensor_fill_plan *p = calloc(1, sizeof *p);
    int status = -1;
    if (p)
        p->rows = calloc(m->n_rows, sizeof *p->rows);
    if (!taken || !p || !p->rows) {
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a fill plan");
        goto out;
    }
    snprintf(p->model, sizeof p->model, "%s", m->name);
    snprintf(p->kind, sizeof p->kind, "%s", kind);
    p->set = sent ? STRAIT_FILL_HELD_OUT : STRAIT_FILL_SENT;
    p->n_rows = m->n_rows;
    for (size_t i = 0; sent && i < t->n_recordings; i++)
        taken[i] = strait_tensor_fill_uses(sent, &t->recordings[i]);
    s.taken = taken;
    order_models(&s, m);
    if (fill_rows(p, &s, m, sent, err) != 0)
        goto out;
    *out = p;
    p = NULL;
    status = 0;
out:
    strait_tensor_fill_plan_free(p);
    free(taken);
    return status;
}

int strait_tensor_fill_plan_new(struct strait_tensor_fill_plan **out, const struct strait_model *m,
                                const struct strait_tensors *t, const char *kind,
                                enum strait_tensor_fill_set set, struct strait_error *err)
{
    struct strait_tensor_fill_plan *sent = NULL;
    if (strcmp(kind, "param") != 0 && strcmp(kind, "grad") != 0 && strcmp(kind, "update") != 0)
        return strait_refuse(err, NULL, "expected the kind param, grad or update, found \"%.40s\"",
                             kind);
    if (plan(&sent, m, t, kind, NULL, err) != 0)
        return -1;
    if (set == STRAIT_FILL_SENT) {
        *out = sent;
        return 0;
    }
    const int status = plan(out, m, t, kind, sent, err);
    strait_tensor_fill_plan_free(sent);
    return status;
}

void strait_tensor_fill_plan_free(struct strait_tensor_fill_plan *p)
{
    if (!p)
        return;
    for (size_t c = 0; c < STRAIT_FILL_N_CLASSES; c++)
        free(p->pools[c].sources);
    free(p->rows);
    free(p);
}

/* Write elements [position, position + n) of the endless repetition of a pool. */
static void tile(float *out, size_t n, const struct strait_tensor_fill_pool *pool, size_t position,
                 size_t row, unsigned rank)
{
    while (n > 0) {
        const size_t repetition = position / pool->n_elems;
        const double factor = 1 - strait_random_unit(rank, "fill-scale", row, repetition) / 256;
        size_t at = position % pool->n_elems;
        const struct strait_tensor_fill_source *source = pool->sources;
        for (; at >= source->recording->n_elems; source++)
            at -= source->recording->n_elems;
        const size_t left = source->recording->n_elems - at, count = n < left ? n : left;
        const float *values = source->recording->values + at;
        const float scale = (float)(source->scale * factor);
        for (size_t i = 0; i < count; i++)
            out[i] = values[i] * scale;
        out += count;
        position += count;
        n -= count;
    }
}

void strait_tensor_fill_row(float *out, size_t n_elems, const struct strait_tensor_fill_plan *p,
                            size_t row, size_t first, unsigned rank)
{
    const struct strait_tensor_fill_row *fill = &p->rows[row];
    assert(row < p->n_rows && first <= fill->n_elems && n_elems <= fill->n_elems - first);
    if (fill->recorded) {
        memcpy(out, fill->recorded->values + first, n_elems * sizeof *out);
        return;
    }
    const uint64_t offset =
        strait_random_bits(rank, "fill-offset", row, 0) % fill->tiled_from->n_elems;
    tile(out, n_elems, fill->tiled_from, (size_t)offset + first, row, rank);
}

double strait_tensor_fill_recorded_ratio(const struct strait_tensor_fill_plan *p)
{
    return (double)p->recorded_bytes / (double)(p->recorded_bytes + p->tiled_bytes);
}

bool strait_tensor_fill_uses(const struct strait_tensor_fill_plan *p,
                             const struct strait_recording *r)
{
    for (size_t i = 0; i < p->n_rows; i++)
        if (p->rows[i].recorded == r)
            return true;
    for (size_t c = 0; c < STRAIT_FILL_N_CLASSES; c++)
        for (size_t i = 0; i < p->pools[c].n_sources; i++)
            if (p->pools[c].sources[i].recording == r)
                return true;
    return false;
}
