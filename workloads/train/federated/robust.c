#include "robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const strait_means[] = {"mean", "trimmed", "median", "krum", NULL};

struct strait_robust strait_robust_of(struct strait_rank *r, enum strait_mean how, int n_bad,
                                      int n_most)
{
    const size_t n = (size_t)n_most;
    struct strait_robust s = {.how = how, .n_bad = n_bad};
    if (how == STRAIT_KRUM)
        s.apart2 = strait_alloc(r, n * n, sizeof(*s.apart2));
    else if (how != STRAIT_MEAN)
        s.column = strait_alloc(r, n, sizeof(*s.column));
    return s;
}

struct job {
    const struct strait_robust *s;
    float *out;
    struct strait_rank *r;
    struct strait_tensor *const *x;
    int n;
};

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Of a sorted column: the mean of what is left when `cut` are taken off at each end. */
static float middle(const float *column, int n, int cut)
{
    double sum = 0;
    for (int i = cut; i < n - cut; i++)
        sum += (double)column[i];
    return (float)(sum / (n - 2 * cut));
}

static void sort_now(void *arg)
{
    const struct job *j = arg;
    const int most = (j->n - 1) / 2,
              cut = j->s->how == STRAIT_MEDIAN || j->s->n_bad > most ? most : j->s->n_bad;
    for (size_t i = 0, n_elems = strait_n_elems(j->x[0]); i < n_elems; i++) {
        for (int k = 0; k < j->n; k++)
            j->s->column[k] = strait_values(j->r, j->x[k])[i];
        qsort(j->s->column, (size_t)j->n, sizeof(float), ascending);
        j->out[i] = middle(j->s->column, j->n, cut);
    }
}

static double apart2(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum;
}

/* The sum of the distances to its n - f - 2 nearest, at least one. */
static double krum_score(const struct job *j, int i)
{
    double sum = 0, last = -1;
    int n_left = j->n - j->s->n_bad - 2, n_ties = 0;
    n_left = n_left < 1 ? 1 : n_left;
    while (n_left > 0) { /* next larger distance, as often as it occurs */
        double next = INFINITY;
        n_ties = 0;
        for (int k = 0; k < j->n; k++) {
            const double d = j->s->apart2[i * j->n + k];
            if (k == i || d <= last || d > next)
                continue;
            n_ties = d < next ? 1 : n_ties + 1;
            next = d;
        }
        if (isinf(next))
            break;
        sum += next * (n_ties < n_left ? n_ties : n_left);
        n_left -= n_ties;
        last = next;
    }
    return sum;
}

static void krum_now(void *arg)
{
    const struct job *j = arg;
    const size_t n_elems = strait_n_elems(j->x[0]);
    int best = 0;
    for (int i = 0; i < j->n; i++)
        for (int k = 0; k < i; k++)
            j->s->apart2[i * j->n + k] = j->s->apart2[k * j->n + i] =
                apart2(strait_values(j->r, j->x[i]), strait_values(j->r, j->x[k]), n_elems);
    for (int i = 1; i < j->n; i++)
        best = krum_score(j, i) < krum_score(j, best) ? i : best;
    memcpy(j->out, strait_values(j->r, j->x[best]), n_elems * sizeof(float));
}

void strait_robust_mean(struct strait_rank *r, const struct strait_robust *s,
                        struct strait_tensor *out, struct strait_tensor *const *x, int n)
{
    struct job j = {.s = s, .out = strait_values(r, out), .r = r, .x = x, .n = n};
    const bool krum = s->how == STRAIT_KRUM;
    const double bytes = 4.0 * (double)strait_n_elems(out),
                 n_passes = krum ? 0.5 * n * (n - 1) : n * ceil(log2(n));
    strait_work(r, STRAIT_SPAN_AGGREGATE, STRAIT_CPU,
                bytes * (n_passes * strait_add_s_per_byte(r) + strait_copy_s_per_byte(r)),
                !j.out ? NULL
                : krum ? krum_now
                       : sort_now,
                &j);
}
