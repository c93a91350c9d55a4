/* Build a model row by row. */
#include "model_build.h"
#include "core/buffer.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strait_build_init(struct strait_builder *b, const char *name)
{
    *b = (struct strait_builder){.m = calloc(1, sizeof(struct strait_model))};
    if (!b->m)
        b->failed = true;
    else
        snprintf(b->m->name, sizeof b->m->name, "%s", name);
}

void strait_build_release(struct strait_builder *b)
{
    strait_model_free(b->m);
    b->m = NULL;
}

struct strait_layer *strait_build_layer(struct strait_builder *b, const char *name,
                                        const char *type, double fwd_flop_per_sample)
{
    struct strait_model *m = b->m;
    if (b->failed)
        return NULL;
    void *layers = m->layers, *rows = m->rows;
    const bool ok = strait_grow(&layers, &b->cap_layers, m->n_layers, sizeof *m->layers, SIZE_MAX);
    m->layers = layers;
    /* Store the layer's name and type in the row that its first parameter will use. */
    const bool ok_row =
        ok && strait_grow(&rows, &b->cap_rows, m->n_rows, sizeof *m->rows, SIZE_MAX);
    m->rows = rows;
    if (!ok_row) {
        b->failed = true;
        return NULL;
    }
    struct strait_param_row *row = &m->rows[m->n_rows];
    *row = (struct strait_param_row){.layer_index = m->n_layers};
    snprintf(row->layer, sizeof row->layer, "%s", name);
    snprintf(row->type, sizeof row->type, "%s", type);
    struct strait_layer *layer = &m->layers[m->n_layers++];
    *layer =
        (struct strait_layer){.first_row = m->n_rows, .fwd_flop_per_sample = fwd_flop_per_sample};
    return layer;
}

struct strait_param_row *strait_build_param(struct strait_builder *b, const char *param,
                                            unsigned n_dims, const size_t *shape)
{
    struct strait_model *m = b->m;
    if (b->failed)
        return NULL;
    void *rows = m->rows;
    if (!strait_grow(&rows, &b->cap_rows, m->n_rows, sizeof *m->rows, SIZE_MAX)) {
        b->failed = true;
        return NULL;
    }
    m->rows = rows;
    struct strait_layer *layer = &m->layers[m->n_layers - 1];
    struct strait_param_row *row = &m->rows[m->n_rows];
    if (layer->n_rows > 0) {
        const struct strait_param_row *first = &m->rows[layer->first_row];
        *row = (struct strait_param_row){.layer_index = first->layer_index};
        memcpy(row->layer, first->layer, sizeof row->layer);
        memcpy(row->type, first->type, sizeof row->type);
    }
    snprintf(row->param, sizeof row->param, "%s", param);
    row->n_dims = n_dims;
    memcpy(row->shape, shape, n_dims * sizeof *shape);
    strait_shape_elems(&row->n_elems, shape, n_dims);
    layer->n_rows++;
    m->n_rows++;
    return row;
}

/* Normalisation over the features of a token means attention; convolutional layers mean
 * convolutional. */
static enum strait_family guess_family(const struct strait_model *m)
{
    bool conv = false;
    for (size_t i = 0; i < m->n_rows; i++) {
        const char *type = m->rows[i].type;
        if (strstr(type, "LayerNorm") || strstr(type, "RMSNorm") || strstr(type, "Attention"))
            return STRAIT_FAMILY_ATTENTION;
        conv |= strncmp(type, "Conv", 4) == 0;
    }
    return conv ? STRAIT_FAMILY_CONVOLUTIONAL : STRAIT_FAMILY_OTHER;
}

static void sum_up(struct strait_model *m)
{
    m->n_elems = 0;
    m->fwd_s = m->bwd_s = m->fwd_flop_per_sample = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        struct strait_layer *layer = &m->layers[l];
        const struct strait_param_row *rows = &m->rows[layer->first_row];
        layer->n_elems = 0;
        layer->ready_s_p50 = 0;
        for (size_t i = 0; i < layer->n_rows; i++) {
            layer->n_elems += rows[i].n_elems;
            if (rows[i].ready_s_p50 > layer->ready_s_p50)
                layer->ready_s_p50 = rows[i].ready_s_p50;
        }
        layer->fwd_s_p50 = rows[0].fwd_s_p50;
        layer->fwd_s_p90 = rows[0].fwd_s_p90;
        layer->bwd_s_p50 = rows[0].bwd_s_p50;
        layer->bwd_s_p90 = rows[0].bwd_s_p90;
        m->n_elems += layer->n_elems;
        m->fwd_s += layer->fwd_s_p50;
        m->bwd_s += layer->bwd_s_p50;
        m->fwd_flop_per_sample += layer->fwd_flop_per_sample;
    }
}

int strait_build_finish(struct strait_model **out, struct strait_builder *b,
                        struct strait_error *err)
{
    if (b->failed || (!b->m->source && strait_model_set_source(b->m, "", err) != 0)) {
        strait_build_release(b);
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a model");
    }
    sum_up(b->m);
    b->m->family = guess_family(b->m);
    *out = b->m;
    b->m = NULL;
    return 0;
}

void strait_model_spread_times(struct strait_model *m, double fwd_s, double bwd_s)
{
    double ready_s = 0;
    size_t order = 0;
    for (size_t l = m->n_layers; l-- > 0;) {
        const struct strait_layer *layer = &m->layers[l];
        const double share = layer->fwd_flop_per_sample / m->fwd_flop_per_sample;
        ready_s += bwd_s * share;
        for (size_t i = layer->first_row + layer->n_rows; i-- > layer->first_row;) {
            struct strait_param_row *row = &m->rows[i];
            row->fwd_s_p50 = row->fwd_s_p90 = fwd_s * share;
            row->bwd_s_p50 = row->bwd_s_p90 = bwd_s * share;
            row->ready_s_p50 = row->ready_s_p90 = ready_s;
            row->ready_order = order++;
        }
    }
    sum_up(m);
}

int strait_model_set_source(struct strait_model *m, const char *source, struct strait_error *err)
{
    char *copy = strdup(source);
    if (!copy)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a model");
    free(m->source);
    m->source = copy;
    return 0;
}

bool strait_shape_elems(size_t *n_elems, const size_t *shape, size_t n_dims)
{
    size_t n = 1;
    if (n_dims > STRAIT_MAX_DIMS)
        return false;
    for (size_t i = 0; i < n_dims; i++) {
        if (shape[i] == 0 || n > SIZE_MAX / sizeof(float) / shape[i])
            return false;
        n *= shape[i];
    }
    *n_elems = n;
    return true;
}
