#include "layers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MAX_ELEMS = 1e15;

bool strait_plain_layers_add(struct strait_plain_layers *l, const struct strait_plain_layer *one)
{
    if (l->n == l->cap) {
        const size_t cap = l->cap ? 2 * l->cap : 64;
        struct strait_plain_layer *more = realloc(l->items, cap * sizeof(*more));
        if (!more)
            return false;
        l->items = more;
        l->cap = cap;
    }
    l->items[l->n++] = *one;
    return true;
}

/* Names of a table's fields: no comma, no blank at an end, unique. */
static void put_name(char *out, size_t cap, const char *name, size_t number, const json_t *seen)
{
    snprintf(out, cap, "%.63s", *name ? name : "layer");
    for (char *c = out; *c; c++)
        if (*c == ',' || (unsigned char)*c < 33)
            *c = '_';
    if (json_object_get(seen, out)) {
        const size_t n = strlen(out) < cap - 24 ? strlen(out) : cap - 24;
        snprintf(out + n, cap - n, "#%zu", number);
    }
}

static bool add(struct strait_builder *b, const struct strait_plain_layer *one, double ready_s,
                size_t order, json_t *seen)
{
    char name[96];
    const size_t n_elems = (size_t)one->n_elems;
    put_name(name, sizeof(name), one->name, b->m->n_layers, seen);
    json_object_set_new(seen, name, json_true());
    struct strait_layer *l = strait_build_layer(b, name, one->type, 0);
    if (l) {
        l->fwd_s_p50 = l->fwd_s_p90 = one->fwd_s;
        l->bwd_s_p50 = l->bwd_s_p90 = one->bwd_s;
    }
    struct strait_param_row *row = l ? strait_build_param(b, "weight", 1, &n_elems) : NULL;
    if (!row)
        return false;
    row->fwd_s_p50 = row->fwd_s_p90 = one->fwd_s;
    row->bwd_s_p50 = row->bwd_s_p90 = one->bwd_s;
    row->ready_s_p50 = row->ready_s_p90 = ready_s;
    row->ready_order = order;
    return true;
}

int strait_plain_layers_finish(struct strait_plain_layers *l, struct strait_import *in,
                               const char *timing, const char *device, struct strait_error *err)
{
    struct strait_builder b;
    const char *slash = strrchr(in->path, '/'), *base = slash ? slash + 1 : in->path;
    char name[64];
    double ready_s = 0;
    snprintf(name, sizeof(name), "%.*s", (int)(strcspn(base, ".") < 63 ? strcspn(base, ".") : 63),
             base);
    strait_build_init(&b, *name ? name : "trace");
    json_t *seen = json_object();
    bool has_memory = seen && !b.failed;
    for (size_t i = 0; i < l->n; i++) {
        ready_s += l->items[i].bwd_s;
        if (!(l->items[i].n_elems >= 1 && l->items[i].n_elems <= MAX_ELEMS)) {
            json_decref(seen);
            strait_build_release(&b);
            return strait_refuse(err, in->path, "expected 1 to %g elements of \"%s\", found %g",
                                 MAX_ELEMS, l->items[i].name, l->items[i].n_elems);
        }
    }
    for (size_t i = 0; i < l->n && has_memory; ready_s -= l->items[i++].bwd_s)
        has_memory = add(&b, &l->items[i], fmax(ready_s, 0), l->n - 1 - i, seen);
    json_decref(seen);
    int status = -1;
    if (!has_memory) {
        strait_error_memory(err, in->path);
    } else {
        b.m->timing = STRAIT_TIMING_USER_TABLE;
        snprintf(b.m->timing_source, sizeof(b.m->timing_source), "%s", timing);
        snprintf(b.m->device, sizeof(b.m->device), "%s", device);
        status = strait_model_set_source(b.m, in->path, err) != 0
                     ? -1
                     : strait_build_finish(&in->model, &b, err);
    }
    strait_build_release(&b);
    return status;
}
