#include "slamb_parts.h"

#include <math.h>

#include "core/random.h"

/* The defaults of the authors' program (github.com/hangxu0304/SLAMB, Swin-Transformer/optimizer.py):
 * below SMALL_ELEMS a matrix is averaged in every step; trust ratios of matrices have a limit, and
 * one of 1000 above, which a decay of 0.01 leaves to elements whose two terms cancel. */
enum { SMALL_ELEMS = 9000 };
static const double MIN_TRUST = 0.01;
static const double BETA_1 = 0.9, BETA_2 = 0.999, EPSILON = 1e-6, DECAY = 0.01; /* LAMB's */

/* --- the mask -------------------------------------------------------------------------------- */

uint64_t slamb_gcd(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool is_masked(const struct strait_param_row *row)
{
    return row->n_dims > 1 && row->n_elems >= SMALL_ELEMS;
}

struct slamb_mask slamb_mask_of(struct strait_rank *r, int n_chunks)
{
    const struct strait_model *m = strait_model(r);
    struct slamb_mask k = {.n_chunks = n_chunks};
    k.large = strait_alloc(r, m->n_rows, sizeof(*k.large));
    k.large_before = strait_alloc(r, m->n_rows, sizeof(*k.large_before));
    k.small = strait_alloc(r, m->n_rows, sizeof(*k.small));
    k.small_size = strait_alloc(r, m->n_rows, sizeof(*k.small_size));
    size_t at = 0;
    for (size_t i = 0; i < m->n_rows; at += m->rows[i++].n_elems) {
        const struct strait_param_row *row = &m->rows[i];
        if (is_masked(row)) {
            k.large_before[k.n_large] = k.n_masked;
            k.large[k.n_large++] = at;
            k.n_masked += row->n_elems;
        } else {
            k.small_size[k.n_small] = row->n_elems;
            k.small[k.n_small++] = at;
            k.n_always += row->n_elems;
        }
    }
    const uint64_t n = k.n_masked > 0 ? k.n_masked : 1;
    k.a = 1 + strait_random_bits(r->run->seed, "slamb", 0, 0) % n;
    while (slamb_gcd(k.a, n) != 1)
        k.a = k.a % n + 1;
    k.b = strait_random_bits(r->run->seed, "slamb", 1, 0) % n;
    return k;
}

/* The masked element at position i of the permutation. */
static size_t permuted(const struct slamb_mask *k, size_t i)
{
    return (size_t)(((__uint128_t)k->a * i + k->b) % k->n_masked);
}

/* The model's element of masked element i. */
static size_t place_of(const struct slamb_mask *k, size_t i)
{
    size_t lo = 0, hi = k->n_large; /* the last run that begins at or before i */
    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        if (k->large_before[mid] <= i)
            lo = mid;
        else
            hi = mid;
    }
    return k->large[lo] + (i - k->large_before[lo]);
}

/* --- moments --------------------------------------------------------------------------------- */

void slamb_moments(void *work)
{
    const struct slamb_work *k = work;
    const float b1 = (float)BETA_1, b2 = (float)BETA_2;
    const float rest_1 = (float)(1 - BETA_1), rest_2 = (float)(1 - BETA_2);
    for (size_t i = 0; i < k->model->n_elems; i++) {
        const float g = k->gradients[i];
        k->moments[i] = b1 * k->moments[i] + rest_1 * g;
        k->squares[i] = b2 * k->squares[i] + rest_2 * g * g;
    }
}

void slamb_gather(void *work)
{
    const struct slamb_work *k = work;
    float *buffer = k->buffer;
    for (size_t i = k->first; i < k->end; i++)
        *buffer++ = k->moments[place_of(k->mask, permuted(k->mask, i))];
    for (size_t s = 0; s < k->mask->n_small; s++)
        for (size_t i = 0; i < k->mask->small_size[s]; i++)
            *buffer++ = k->moments[k->mask->small[s] + i];
}

void slamb_scatter(void *work)
{
    const struct slamb_work *k = work;
    const float *buffer = k->buffer, share = 1 / (float)k->n_ranks;
    for (size_t i = k->first; i < k->end; i++) {
        const size_t masked = permuted(k->mask, i);
        k->moments[place_of(k->mask, masked)] = share * *buffer++;
        k->last[masked] = (float)(k->step + 1);
    }
    for (size_t s = 0; s < k->mask->n_small; s++)
        for (size_t i = 0; i < k->mask->small_size[s]; i++)
            k->moments[k->mask->small[s] + i] = share * *buffer++;
}

/* --- LAMB ------------------------------------------------------------------------------------ */

struct step {
    double over_1, over_2;         /* bias correction: 1 / (1 - beta^step) */
    double w2[2], u2[2], trust[2]; /* [1]: not averaged in this step */
};

static double update_of(const struct slamb_work *k, const struct step *s, size_t i)
{
    return (double)k->moments[i] * s->over_1 / (sqrt((double)k->squares[i] * s->over_2) + EPSILON) +
           DECAY * (double)k->w[i];
}

double *slamb_powers(struct strait_rank *r, double beta_3, int n_chunks)
{
    double *powers = strait_alloc(r, (size_t)n_chunks, sizeof(*powers));
    for (int age = 0; age < n_chunks; age++)
        powers[age] = pow(beta_3, age);
    return powers;
}

/* Steps since a masked element was last averaged; 0 for small tensors, which have no `last`. */
static int age_of(const struct slamb_work *k, const float *last, size_t i)
{
    return last ? k->step + 1 - (int)last[i] : 0;
}

/* Step of one tensor: elements from `at` on. */
static void lamb_tensor(const struct slamb_work *k, struct step s, size_t at,
                        const struct strait_param_row *row, const float *last)
{
    const size_t n = row->n_elems;
    const double own_lr = k->lr / sqrt(k->n_ranks);
    for (size_t i = 0; i < n; i++) {
        const int late = age_of(k, last, i) > 0;
        const double u = update_of(k, &s, at + i), w = (double)k->w[at + i];
        s.w2[late] += w * w;
        s.u2[late] += u * u;
    }
    for (int late = 0; late < 2; late++)
        s.trust[late] = s.w2[late] > 0 && s.u2[late] > 0 ? sqrt(s.w2[late] / s.u2[late]) : 1;
    for (size_t i = 0; i < n; i++) {
        const double fresh = k->powers[age_of(k, last, i)];
        const double lr = fresh * k->lr + (1 - fresh) * own_lr;
        double trust = fresh * s.trust[0] + (1 - fresh) * s.trust[1];
        if (row->n_dims > 1)
            trust = fmax(trust, MIN_TRUST);
        k->w[at + i] -= (float)(lr * trust * update_of(k, &s, at + i));
    }
}

void slamb_lamb(void *work)
{
    const struct slamb_work *k = work;
    const struct step s = {.over_1 = 1 / (1 - pow(BETA_1, k->step + 1)),
                           .over_2 = 1 / (1 - pow(BETA_2, k->step + 1))};
    size_t at = 0, masked = 0;
    for (size_t i = 0; i < k->model->n_rows; at += k->model->rows[i++].n_elems) {
        const struct strait_param_row *row = &k->model->rows[i];
        lamb_tensor(k, s, at, row, is_masked(row) ? k->last + masked : NULL);
        masked += is_masked(row) ? row->n_elems : 0;
    }
}
