#include "merging.h"

#include <math.h>
#include <string.h>

#include "traces/models/model.h"

const char *const strait_merges[] = {"mean", "radial", NULL};

struct job {
    struct strait_rank *r;
    enum strait_merge how;
    float *out;
    struct strait_tensor *const *x;
    const double *w;
    int n;
    size_t first, n_elems;
};

static double norm(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* The elements [lo, hi) of all: sum of w x, in the order of x, each x by its own norm if asked. */
static void add_up(const struct job *j, size_t lo, size_t hi, double w_sum, bool directions)
{
    memset(j->out + lo, 0, (hi - lo) * sizeof(float));
    for (int k = 0; k < j->n; k++) {
        const float *x = strait_values(j->r, j->x[k]);
        const double length = directions ? norm(x + lo, hi - lo) : 1;
        for (size_t i = lo; i < hi && length > 0; i++)
            j->out[i] += (float)(j->w[k] / w_sum / length * (double)x[i]);
    }
}

static void merge_part(const struct job *j, size_t lo, size_t hi)
{
    double w_sum = 0, length = 0;
    for (int k = 0; k < j->n; k++) {
        w_sum += j->w[k];
        length += j->w[k] * norm(strait_values(j->r, j->x[k]) + lo, hi - lo);
    }
    add_up(j, lo, hi, w_sum, j->how == STRAIT_MERGE_RADIAL);
    if (j->how == STRAIT_MERGE_MEAN)
        return;
    const double direction = norm(j->out + lo, hi - lo);
    if (!(direction > 1e-12)) { /* unit vectors that cancel: nothing but rounding is left */
        add_up(j, lo, hi, w_sum, false);
        return;
    }
    for (size_t i = lo; i < hi; i++)
        j->out[i] = (float)(length / w_sum / direction * (double)j->out[i]);
}

static void merge_now(void *arg)
{
    const struct job *j = arg;
    const struct strait_model *m = strait_model(j->r);
    size_t start = 0;
    if (j->how == STRAIT_MERGE_MEAN) {
        merge_part(j, 0, j->n_elems);
        return;
    }
    for (size_t i = 0; i < m->n_rows; i++) {
        const size_t end = start + m->rows[i].n_elems, last = j->first + j->n_elems,
                     lo = start > j->first ? start : j->first, hi = end < last ? end : last;
        if (lo < hi)
            merge_part(j, lo - j->first, hi - j->first);
        start = end;
    }
}

void strait_merge_changes(struct strait_rank *r, enum strait_merge how, struct strait_tensor *out,
                          struct strait_tensor *const *x, const double *w, int n, size_t first)
{
    const size_t n_elems = strait_n_elems(out);
    struct job j = {.r = r,
                    .how = how,
                    .out = strait_values(r, out),
                    .x = x,
                    .w = w,
                    .n = n,
                    .first = first,
                    .n_elems = n_elems};
    const bool radial = how == STRAIT_MERGE_RADIAL;
    strait_work(r, STRAIT_SPAN_AGGREGATE, STRAIT_CPU,
                4.0 * (double)n_elems *
                    ((radial ? 2 * n + 1 : n) * strait_add_s_per_byte(r) +
                     (radial ? 2 : 1) * strait_copy_s_per_byte(r)),
                j.out ? merge_now : NULL, &j);
}
