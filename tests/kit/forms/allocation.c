#include "allocation.h"

#include <math.h>
#include <stdlib.h>
#include "traces/tensors.h"

const double STRAIT_RANGE_BOUNDS[STRAIT_N_RANGE_BOUNDS] = {1e-4, 1e-3, 1e-2, 3e-2, 1e-1};
static const long SNAPSHOTS[STRAIT_N_SNAPSHOTS] = {10, 150, 390}; /* steps: tensors/README.md */
static const double STEPS_A_ROUND = 24;                           /* curves/README.md */

double strait_rate_at(const struct strait_rate_point points[STRAIT_N_RANGE_BOUNDS], double error)
{
    int i = 1;
    while (i < STRAIT_N_RANGE_BOUNDS - 1 && points[i].error < error)
        i++;
    const struct strait_rate_point a = points[i - 1], b = points[i];
    return a.bits + (b.bits - a.bits) * log(error / a.error) / log(b.error / a.error);
}

/* One parameter after its local steps. */
struct tensor {
    const float *before, *update;
    size_t n;
    double lo, hi, rms; /* of the parameters, of the update */
};

static float value(const struct tensor *t, size_t i)
{
    return t->before[i] + t->update[i];
}

static void look(struct tensor *t)
{
    double squares = 0;
    t->lo = t->hi = value(t, 0);
    for (size_t i = 0; i < t->n; i++) {
        t->lo = fmin(t->lo, value(t, i));
        t->hi = fmax(t->hi, value(t, i));
        squares += (double)t->update[i] * t->update[i];
    }
    t->rms = sqrt(squares / (double)t->n);
}

/* Bits and squared errors of a tensor in bins of this width centred on its multiples. */
static int quantise(double *bits, double *squares, const struct tensor *t, double bin,
                    struct strait_error *err)
{
    const long first = lround(t->lo / bin), n_bins = lround(t->hi / bin) - first + 1;
    size_t *counts = calloc((size_t)n_bins, sizeof(*counts));
    if (!counts)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for %ld bins", n_bins);
    for (size_t i = 0; i < t->n; i++) {
        const long at = lround(value(t, i) / bin);
        const double off = value(t, i) - (double)at * bin;
        counts[at - first]++;
        *squares += off * off;
    }
    for (long k = 0; k < n_bins; k++)
        if (counts[k] > 0)
            *bits += (double)counts[k] * log2((double)t->n / (double)counts[k]);
    free(counts);
    return 0;
}

/* Load the tensors of a snapshot. Returns how many, or 0 with *err. */
enum { MAX_TENSORS = 16 };
static size_t open_snapshot(struct tensor tensors[MAX_TENSORS], const struct strait_tensors *all,
                            long step, struct strait_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n_recordings && n < MAX_TENSORS; i++) {
        const struct strait_recording *u = &all->recordings[i], *p;
        p = strait_tensors_find(all, "cnn", u->layer, "param", step);
        if (u != strait_tensors_find(all, "cnn", u->layer, "update", step) || !p)
            continue;
        tensors[n] = (struct tensor){p->values, u->values, u->n_elems, 0, 0, 0};
        look(&tensors[n++]);
    }
    if (n == 0)
        strait_refuse(err, all->folder, "expected updates of cnn at step %ld, found none", step);
    return n;
}

/* All tensors under one rule: bins relative to the range, or if that is 0 to the rms of their
 * updates. */
static int rate_of(struct strait_rate_point *out, const struct tensor *tensors, size_t n,
                   double of_range, double of_rms, struct strait_error *err)
{
    double bits = 0, squares = 0, norm = 0, n_values = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tensor *t = &tensors[i];
        const double bound = of_range > 0 ? of_range * (t->hi - t->lo) : of_rms * t->rms;
        if (quantise(&bits, &squares, t, 2 * bound, err) != 0)
            return -1;
        norm += t->rms * t->rms * (double)t->n;
        n_values += (double)t->n;
    }
    *out = (struct strait_rate_point){bits / n_values, sqrt(squares / norm)};
    return 0;
}

int strait_allocation_measure(struct strait_allocation *out, double par, struct strait_error *err)
{
    struct strait_tensors *all;
    struct tensor tensors[MAX_TENSORS];
    struct strait_rate_point line[STRAIT_N_RANGE_BOUNDS], own;
    int failed = strait_tensors_load(&all, NULL, err);
    if (failed)
        return -1;
    for (int s = 0; s < STRAIT_N_SNAPSHOTS && !failed; s++) {
        const size_t n = open_snapshot(tensors, all, SNAPSHOTS[s], err);
        failed = n == 0 || rate_of(&own, tensors, n, 0, par * sqrt(3), err) != 0;
        for (int i = 0; i < STRAIT_N_RANGE_BOUNDS && !failed; i++)
            failed = rate_of(&line[i], tensors, n, STRAIT_RANGE_BOUNDS[i], 0, err) != 0;
        if (!failed)
            out->bits[s] = own.bits - strait_rate_at(line, own.error);
    }
    strait_tensors_free(all);
    return failed ? -1 : 0;
}

double strait_allocation_bits(const struct strait_allocation *a, int round)
{
    const double step = STEPS_A_ROUND * round;
    int i = 1;
    while (i < STRAIT_N_SNAPSHOTS - 1 && (double)SNAPSHOTS[i] < step)
        i++;
    const double share =
        (step - (double)SNAPSHOTS[i - 1]) / (double)(SNAPSHOTS[i] - SNAPSHOTS[i - 1]);
    return a->bits[i - 1] + (a->bits[i] - a->bits[i - 1]) * fmin(fmax(share, 0), 1);
}
