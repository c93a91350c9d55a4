#include "lowrank_plan.h"

struct strait_lowrank_plan strait_lowrank_plan(struct strait_lowrank_part *parts,
                                               const struct strait_model *m, size_t rank,
                                               bool plain_on_both_sides)
{
    struct strait_lowrank_plan plan = {.parts = parts, .n = m->n_rows};
    size_t hi = m->n_elems;
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_param_row *row = &m->rows[m->n_rows - 1 - i];
        struct strait_lowrank_part *p = &parts[i];
        *p = (struct strait_lowrank_part){.lo = hi - row->n_elems, .n_elems = row->n_elems};
        hi = p->lo;
        if (row->n_dims >= 2 && strait_lowrank_fits(&p->shape, row->n_elems, row->shape[0], rank)) {
            p->n_at[STRAIT_SIDE_P] = rank * p->shape.n_rows;
            p->n_at[STRAIT_SIDE_Q] = rank * p->shape.n_cols;
        } else {
            p->n_at[STRAIT_SIDE_P] = row->n_elems;
            p->n_at[STRAIT_SIDE_Q] = plain_on_both_sides ? row->n_elems : 0;
        }
        for (int side = 0; side < 2; side++) {
            p->at[side] = plan.n_elems[side];
            plan.n_elems[side] += p->n_at[side];
        }
    }
    return plan;
}

size_t strait_lowrank_fuse(struct strait_lowrank_bucket *buckets,
                           const struct strait_lowrank_plan *plan, const struct strait_model *m,
                           enum strait_side side, double bytes)
{
    size_t n = 0, n_elems = 0;
    buckets[0] = (struct strait_lowrank_bucket){0, 0};
    for (size_t l = m->n_layers; l-- > 0;) {
        struct strait_lowrank_bucket *b = &buckets[n];
        for (size_t k = 0; k < m->layers[l].n_rows; k++)
            n_elems += plan->parts[b->end++].n_at[side];
        if (4.0 * (double)n_elems >= bytes || l == 0) {
            if (l > 0)
                buckets[n + 1] = (struct strait_lowrank_bucket){b->end, b->end};
            n++;
            n_elems = 0;
        }
    }
    return n;
}
