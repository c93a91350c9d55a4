#include "policy_replay.h"

#include <assert.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* --- a quantiser ----------------------------------------------------------------------------- */

/* Five-point Gauss-Legendre; panels of the first bin, where peaked shapes change fast, and of the
 * others. Bins end where they no longer contribute. */
static const double NODES[5] = {-0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831,
                                0.9061798459386640};
static const double WEIGHTS[5] = {0.2369268850561891, 0.4786286704993665, 0.5688888888888889,
                                  0.4786286704993665, 0.2369268850561891};
enum { N_PANELS_FIRST = 12, N_PANELS = 1, MAX_BINS = 8000, N_HALVINGS = 24 };
static const double MIN_SHAPE = 0.3, MAX_SHAPE = 2, MIN_PROBABILITY = 1e-9;

struct values {
    double shape, scale, height; /* height exp(-|x / scale|^shape), rms 1 */
};

/* Bin k and its mirror image: probability and mean square error. In the first bin x = width u^4. */
static double bin_of(double *square, const struct values *v, int k, double bin)
{
    const int n = k > 0 ? N_PANELS : N_PANELS_FIRST;
    const double lo = k > 0 ? (k - 0.5) * bin : 0, width = (k + 0.5) * bin - lo;
    double p = 0;
    *square = 0;
    for (int i = 0; i < 5 * n; i++) {
        const int panel = i / 5;
        const double u = (panel + 0.5 + NODES[i % 5] / 2) / n, u3 = u * u * u;
        const double x = k > 0 ? lo + width * u : width * u3 * u;
        const double dx = (k > 0 ? width : 4 * width * u3) * WEIGHTS[i % 5] / 2 / n;
        const double mass = 2 * v->height * exp(-pow(x / v->scale, v->shape)) * dx;
        p += mass;
        *square += mass * (x - k * bin) * (x - k * bin);
    }
    return p;
}

void strait_quantised(double *bits, double *rel_error, double shape, double bound)
{
    struct values v = {.shape = shape, .scale = sqrt(tgamma(1 / shape) / tgamma(3 / shape))};
    v.height = shape / (2 * v.scale * tgamma(1 / shape));
    double sum = 0, square, p = 1;
    *bits = 0;
    for (int k = 0; k < MAX_BINS && p > MIN_PROBABILITY; k++) {
        p = bin_of(&square, &v, k, 2 * bound);
        sum += square;
        if (p > 0) /* one bin around 0, two of each other */
            *bits -= p * log2(k > 0 ? p / 2 : p);
    }
    *rel_error = sqrt(sum);
}

double strait_shape_of_bits(double bits, double bound)
{
    double lo = MIN_SHAPE, hi = MAX_SHAPE, found, error;
    for (int i = 0; i < N_HALVINGS; i++) { /* more peaked means fewer bits */
        const double shape = (lo + hi) / 2;
        strait_quantised(&found, &error, shape, bound);
        if (found < bits)
            lo = shape;
        else
            hi = shape;
    }
    return (lo + hi) / 2;
}

/* --- recorded runs --------------------------------------------------------------------------- */

static const double NEAREST_BOUND =
    0.03; /* of the range: costs about as much as the adaptive rule */
enum { N_FIT = STRAIT_REPLAY_N_FIT, ROUNDS_BESIDE = 3 };

/* The bound of the recorded adaptive rule, see traces/curves/README.md. */
static double recorded_bound(const struct strait_curve *adaptive)
{
    return adaptive->par * sqrt(3);
}

static bool is_adaptive_update(const struct strait_curve *c)
{
    return strcmp(c->codec, "adaptive") == 0 && strcmp(c->target, "update") == 0;
}

static const struct strait_curve *fixed_of(const struct strait_curves *all,
                                           const struct strait_curve *adaptive, double bound)
{
    return strait_curves_find(all, adaptive->clients, adaptive->seed, adaptive->target, "rel",
                              bound, false);
}

/* Mean logarithms of bits and error around a round; the first round, before which all runs are
 * equal, is not averaged. */
static void around(double *log_bits, double *log_error, const struct strait_curve *c, size_t round,
                   size_t n_beside)
{
    const size_t first = round > n_beside ? round - n_beside : round > 0,
                 end = round == 0                            ? 1
                       : round + n_beside + 1 <= c->n_rounds ? round + n_beside + 1
                                                             : c->n_rounds;
    *log_bits = *log_error = 0;
    for (size_t t = first; t < end; t++) {
        *log_bits += log(c->rounds[t].bits_per_elem) / (double)(end - first);
        *log_error += log(c->rounds[t].rel_l2_err) / (double)(end - first);
    }
}

/* The level comes from the run with a fixed bound; the round's deviation from the error that the
 * server saw in the run itself. */
static void features(double x[N_FIT], const struct strait_curve *fixed,
                     const struct strait_curve *adaptive, size_t round)
{
    double own_bits;
    x[0] = 1;
    around(&x[1], &x[2], fixed, round, ROUNDS_BESIDE);
    x[3] = log(adaptive->rounds[round].rel_l2_err);
    around(&own_bits, &x[4], adaptive, round, 1);
}

/* Add to the normal equations: 5 x 5, condition of a few decades. */
static void add_run(double squares[N_FIT * N_FIT], double right[N_FIT],
                    const struct strait_curve *adaptive, const struct strait_curve *fixed)
{
    double x[N_FIT];
    for (size_t t = 0; t < adaptive->n_rounds && t < fixed->n_rounds; t++) {
        features(x, fixed, adaptive, t);
        for (int i = 0; i < N_FIT; i++) {
            for (int j = 0; j < N_FIT; j++)
                squares[N_FIT * i + j] += x[i] * x[j];
            right[i] += x[i] * log(adaptive->rounds[t].bits_per_elem);
        }
    }
}

static int need_fixed(const struct strait_curves *curves, const struct strait_curve *judged,
                      double bound, struct strait_error *err)
{
    return fixed_of(curves, judged, bound)
               ? 0
               : strait_refuse(err, judged->run,
                               "expected a run of the same clients and seed with a range bound of "
                               "%g, found none",
                               bound);
}

static int fit_params(struct strait_replay *out, struct strait_error *err)
{
    for (int i = 0; i < STRAIT_N_RANGE_BOUNDS; i++)
        if (need_fixed(out->curves, out->judged, STRAIT_RANGE_BOUNDS[i], err) != 0)
            return -1;
    return strait_allocation_measure(&out->allocation, out->judged->par, err);
}

int strait_replay_fit(struct strait_replay *out, const struct strait_curves *curves,
                      const struct strait_curve *judged, struct strait_error *err)
{
    double squares[N_FIT * N_FIT] = {0};
    *out = (struct strait_replay){.curves = curves, .judged = judged};
    if (strcmp(judged->target, "update") != 0)
        return fit_params(out, err);
    if (need_fixed(curves, judged, NEAREST_BOUND, err) != 0)
        return -1;
    for (size_t i = 0; i < curves->n_curves; i++) {
        const struct strait_curve *c = &curves->curves[i];
        const struct strait_curve *fixed = fixed_of(curves, c, NEAREST_BOUND);
        if (c != judged && is_adaptive_update(c) && c->par == judged->par && fixed)
            add_run(squares, out->fit, c, fixed);
    }
    if (LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', N_FIT, 1, squares, N_FIT, out->fit, 1) != 0)
        return strait_refuse(err, judged->run,
                             "expected other adaptive runs to learn from, found too few");
    return 0;
}

static size_t within_run(const struct strait_curve *c, int round)
{
    assert(c->n_rounds > 0 && round >= 0);
    return (size_t)round < c->n_rounds ? (size_t)round : c->n_rounds - 1;
}

static double update_bits(const struct strait_replay *r, int round, double bound)
{
    const struct strait_curve *fixed = fixed_of(r->curves, r->judged, NEAREST_BOUND);
    double x[N_FIT], log_bits = 0, bits, error;
    features(x, fixed, r->judged, within_run(r->judged, round));
    for (int i = 0; i < N_FIT; i++)
        log_bits += r->fit[i] * x[i];
    strait_quantised(&bits, &error, strait_shape_of_bits(exp(log_bits), recorded_bound(r->judged)),
                     bound);
    return bits;
}

/* Parameters in bins that are fine relative to their own rms: every halving of the error costs one
 * bit. In the runs of fixed bounds the same error is distributed differently, mostly in tensors of
 * wide range. */
static double param_bits(const struct strait_replay *r, int round, double bound)
{
    struct strait_rate_point points[STRAIT_N_RANGE_BOUNDS];
    const size_t t = within_run(r->judged, round);
    for (int i = 0; i < STRAIT_N_RANGE_BOUNDS; i++) {
        const struct strait_curve *fixed = fixed_of(r->curves, r->judged, STRAIT_RANGE_BOUNDS[i]);
        points[i] =
            (struct strait_rate_point){fixed->rounds[t].bits_per_elem, fixed->rounds[t].rel_l2_err};
    }
    const double error = r->judged->rounds[t].rel_l2_err * bound / recorded_bound(r->judged);
    return fmax(0, strait_rate_at(points, error) + strait_allocation_bits(&r->allocation, (int)t));
}

double strait_replay_bits(const struct strait_replay *r, int round, double bound)
{
    return strcmp(r->judged->target, "update") == 0 ? update_bits(r, round, bound)
                                                    : param_bits(r, round, bound);
}
