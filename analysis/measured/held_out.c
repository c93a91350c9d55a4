#include "held_out.h"

#include <math.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "traces/tensor_fill.h"
#include "workloads/timing/turns.h"

enum { MAX_BYTES = 128 << 20 };

void strait_held_out_release(struct strait_held_out *h)
{
    strait_buffer_free(h->values);
    strait_buffer_free(h->decoded);
    strait_sweeper_release(&h->sweeper);
    free(h->slices);
    free(h->back);
}

/* One sender's tensors, in memory from the model's beginning on. */
static void cut(struct strait_held_out *h, const struct strait_experiment *e, double share,
                const struct strait_tensor_fill_plan *plan)
{
    const struct strait_model *m = e->model;
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_param_row *row = &m->rows[i];
        const bool lossy = strait_codec_choice_takes(&e->up, row);
        const size_t n = lossy ? (size_t)ceil(share * (double)row->n_elems) : row->n_elems;
        h->slices[i] = (struct strait_slice){
            .x = h->values + h->n_elems,
            .n_elems = n,
            .lossy = lossy,
            .n_rows = lossy && n == row->n_elems && row->n_dims > 1 ? row->shape[0] : 0};
        strait_tensor_fill_row(h->slices[i].x, n, plan, i, 0, 1);
        h->n_elems += n;
    }
}

static void share_out(struct strait_held_out *h)
{
    for (size_t turn = 0; turn < h->n_turns; turn++)
        for (size_t i = 0; i < h->n_slices; i++) {
            const struct strait_slice *first = &h->slices[i];
            h->slices[turn * h->n_slices + i] = *first;
            h->back[turn * h->n_slices + i] =
                (struct strait_slice){.x = h->decoded + turn * h->n_elems + (first->x - h->values),
                                      .n_elems = first->n_elems,
                                      .lossy = first->lossy};
        }
}

int strait_held_out_init(struct strait_held_out *h, const struct strait_experiment *e,
                         const char *kind, struct strait_error *err)
{
    const struct strait_model *m = e->model;
    struct strait_tensors *tensors = NULL;
    struct strait_tensor_fill_plan *plan = NULL;
    const double share = fmin(1, MAX_BYTES / (4.0 * (double)m->n_elems));
    int failed = -1;
    *h = (struct strait_held_out){.n_slices = m->n_rows, .n_turns = strait_n_turns(4 * m->n_elems)};
    if (strait_tensors_load(&tensors, e->tensors, err) != 0 ||
        strait_tensor_fill_plan_new(&plan, m, tensors, kind, STRAIT_FILL_HELD_OUT, err) != 0)
        goto out;
    h->slices = calloc(h->n_turns * m->n_rows, sizeof(*h->slices));
    h->back = calloc(h->n_turns * m->n_rows, sizeof(*h->back));
    h->values = strait_buffer_new(m->n_elems * sizeof(float));
    h->decoded = strait_buffer_new(h->n_turns * m->n_elems * sizeof(float));
    if (!h->slices || !h->back || !h->values || !h->decoded) {
        strait_error_memory(err, "calibration");
        goto out;
    }
    if (strait_sweeper_init(&h->sweeper, err) != 0)
        goto out;
    cut(h, e, share, plan);
    share_out(h);
    failed = 0;
out:
    strait_tensor_fill_plan_free(plan);
    strait_tensors_free(tensors);
    return failed;
}
