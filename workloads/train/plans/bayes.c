#include "bayes.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/host.h"

enum { N_PLACES = 1025 };
static const double lengths[] = {0.03, 0.06, 0.12, 0.25, 0.5, 1, 2, 4};
/* 1e-6: scikit-learn's alpha in bayes_opt; the others: for times that vary by themselves. */
static const double noises[] = {1e-6, 1e-3, 1e-2, 1e-1};

/* A process conditioned on its observations: K = L L', weights = K^-1 y. */
struct process {
    size_t n;
    double length, log_likelihood;
    const double *x;
    double *l, *weights, *k; /* n x n, n, n */
};

static double matern(double distance, double length)
{
    const double d = sqrt(5) * fabs(distance) / length;
    return (1 + d + d * d / 3) * exp(-d);
}

static void release(struct process *p)
{
    free(p->l);
    free(p->weights);
    free(p->k);
}

static int condition(struct process *p, const double *x, const double *y, size_t n, double length,
                     double noise, struct strait_error *err)
{
    *p = (struct process){.n = n, .length = length, .x = x};
    p->l = calloc(n * n, sizeof(*p->l));
    p->weights = calloc(n, sizeof(*p->weights));
    p->k = calloc(n, sizeof(*p->k));
    if (!p->l || !p->weights || !p->k) {
        release(p);
        return strait_error_memory(err, NULL);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            p->l[i * n + j] = matern(x[i] - x[j], length) + (i == j ? noise : 0);
    memcpy(p->weights, y, n * sizeof(*y));
    const lapack_int order = (lapack_int)n; /* in column order the upper half is L' */
    lapack_int bad;
    STRAIT_BLAS(bad = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', order, p->l, order));
    STRAIT_BLAS(bad |=
                LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'U', order, 1, p->l, order, p->weights, order));
    assert(bad == 0); /* the noise keeps it positive definite */
    p->log_likelihood = -0.5 * (double)n * log(2 * acos(-1));
    for (size_t i = 0; i < n; i++)
        p->log_likelihood -= 0.5 * y[i] * p->weights[i] + log(p->l[i * n + i]);
    return 0;
}

static struct strait_belief believe(struct process *p, double at)
{
    const int n = (int)p->n;
    struct strait_belief b = {0};
    for (size_t i = 0; i < p->n; i++) {
        p->k[i] = matern(at - p->x[i], p->length);
        b.mean += p->k[i] * p->weights[i];
    }
    STRAIT_BLAS(
        cblas_dtrsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, n, p->l, n, p->k, 1));
    double variance = 1;
    for (size_t i = 0; i < p->n; i++)
        variance -= p->k[i] * p->k[i];
    b.deviation = sqrt(fmax(variance, 0));
    return b;
}

int strait_gaussian_process(struct strait_belief *out, double *log_likelihood, const double *x,
                            const double *y, size_t n, double length, double noise, double at,
                            struct strait_error *err)
{
    struct process p;
    if (condition(&p, x, y, n, length, noise, err) != 0)
        return -1;
    *out = believe(&p, at);
    if (log_likelihood)
        *log_likelihood = p.log_likelihood;
    release(&p);
    return 0;
}

double strait_expected_improvement(struct strait_belief belief, double best, double xi)
{
    const double better = best - xi - belief.mean;
    if (!(belief.deviation > 0))
        return fmax(better, 0);
    const double z = better / belief.deviation;
    const double below = 0.5 * erfc(-z / sqrt(2)), density = exp(-0.5 * z * z) / sqrt(2 * acos(-1));
    return better * below + belief.deviation * density;
}

/* --- one number --------------------------------------------------------------------------- */

void strait_bayes_observe(struct strait_bayes *b, double x, double y)
{
    if (b->n == STRAIT_BAYES_MAX_POINTS)
        return;
    b->x[b->n] = x;
    b->y[b->n++] = y;
}

size_t strait_bayes_best(const struct strait_bayes *b)
{
    size_t best = 0;
    assert(b->n > 0);
    for (size_t i = 1; i < b->n; i++)
        if (b->y[i] < b->y[best])
            best = i;
    return best;
}

/* Scale observations for the process. */
static void scale(double *x, double *y, const struct strait_bayes *b)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < b->n; i++)
        mean += b->y[i] / (double)b->n;
    for (size_t i = 0; i < b->n; i++)
        variance += (b->y[i] - mean) * (b->y[i] - mean) / (double)b->n;
    const double deviation = variance > 0 ? sqrt(variance) : 1;
    for (size_t i = 0; i < b->n; i++) {
        x[i] = (b->x[i] - b->lo) / (b->hi - b->lo);
        y[i] = (b->y[i] - mean) / deviation;
    }
}

static int fit(struct process *best, const double *x, const double *y, size_t n,
               struct strait_error *err)
{
    *best = (struct process){.log_likelihood = -INFINITY};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
        for (size_t j = 0; j < sizeof(noises) / sizeof(*noises); j++) {
            struct process p;
            if (condition(&p, x, y, n, lengths[i], noises[j], err) != 0) {
                release(best);
                return -1;
            }
            const bool better = p.log_likelihood > best->log_likelihood;
            release(better ? best : &p);
            if (better)
                *best = p;
        }
    return 0;
}

int strait_bayes_suggest(double *out, const struct strait_bayes *b, struct strait_error *err)
{
    double x[STRAIT_BAYES_MAX_POINTS], y[STRAIT_BAYES_MAX_POINTS], most = -1;
    struct process p;
    *out = (b->lo + b->hi) / 2;
    if (b->n == 0)
        return 0;
    scale(x, y, b);
    if (fit(&p, x, y, b->n, err) != 0)
        return -1;
    const double best = y[strait_bayes_best(b)];
    for (int i = 0; i < N_PLACES; i++) {
        const double at = (double)i / (N_PLACES - 1);
        const double gain = strait_expected_improvement(believe(&p, at), best, b->xi);
        if (gain > most) {
            most = gain;
            *out = b->lo + at * (b->hi - b->lo);
        }
    }
    release(&p);
    return 0;
}
