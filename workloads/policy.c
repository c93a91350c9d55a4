#include "policy.h"

#include <assert.h>
#include <string.h>

const char *const strait_policy_names[] = {
    "fixed", "schedule", "rms-adaptive", "loss-adaptive", "per-client-fairness", NULL};

static double within(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

/* base (a / b)^gain */
static double by_ratio(const struct strait_policy *p, double a, double b)
{
    return isfinite(a) && isfinite(b) && a > 0 && b > 0 ? p->base * pow(a / b, p->gain) : p->base;
}

static double unlimited(const struct strait_policy *p, const struct strait_state *s)
{
    switch (p->kind) {
    case STRAIT_POLICY_FIXED:
        return p->base;
    case STRAIT_POLICY_SCHEDULE:
        if (p->list)
            return p->list[(size_t)s->round < p->n_list ? (size_t)s->round : p->n_list - 1];
        return p->base * pow(p->decay, s->round);
    case STRAIT_POLICY_RMS_ADAPTIVE: /* uniform in +-b is an error of b / sqrt(3) */
        return p->rms_factor * sqrt(3) * s->rms;
    case STRAIT_POLICY_LOSS_ADAPTIVE:
        return by_ratio(p, s->loss, s->first_loss);
    case STRAIT_POLICY_FAIRNESS:
        return by_ratio(p, s->mean_loss, s->client_loss);
    }
    assert(false);
    return p->base;
}

double strait_policy_bound(const struct strait_policy *p, const struct strait_state *s)
{
    const double bound = unlimited(p, s);
    const bool limited = p->kind == STRAIT_POLICY_LOSS_ADAPTIVE ||
                         p->kind == STRAIT_POLICY_FAIRNESS ||
                         (p->kind == STRAIT_POLICY_SCHEDULE && !p->list);
    return limited ? within(bound, p->base / p->limit, p->base * p->limit) : bound;
}

void strait_policy_range(double *least, double *most, const struct strait_policy *p)
{
    *least = p->base / p->limit;
    *most = p->base * p->limit;
    if (p->kind == STRAIT_POLICY_FIXED)
        *least = *most = p->base;
    if (p->kind == STRAIT_POLICY_RMS_ADAPTIVE)
        *least = *most = p->rms_factor * sqrt(3);
    if (p->kind != STRAIT_POLICY_SCHEDULE)
        return;
    if (p->decay <= 1)
        *most = p->base;
    if (p->decay >= 1)
        *least = p->base;
    for (size_t i = 0; p->list && i < p->n_list; i++) {
        *least = i == 0 ? p->list[0] : fmin(*least, p->list[i]);
        *most = i == 0 ? p->list[0] : fmax(*most, p->list[i]);
    }
}

static const struct strait_curve_round *round_of(const struct strait_curve *curve, int round)
{
    assert(curve->n_rounds > 0 && round >= 0);
    return &curve->rounds[(size_t)round < curve->n_rounds ? (size_t)round : curve->n_rounds - 1];
}

struct strait_state strait_state_of_curve(const struct strait_curve *curve, int round)
{
    const double loss = round_of(curve, round)->train_loss;
    return (struct strait_state){.round = round,
                                 .rms = 1,
                                 .loss = loss,
                                 .first_loss = round_of(curve, 0)->train_loss,
                                 .client_loss = loss,
                                 .mean_loss = loss};
}

/* --- bits --------------------------------------------------------------------------------- */

/* Five-point Gauss-Legendre; panels of the first bin, where peaked shapes change fast, and of every
 * other. Bins end where nothing is left to add. */
static const double NODES[5] = {-0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831,
                                0.9061798459386640};
static const double WEIGHTS[5] = {0.2369268850561891, 0.4786286704993665, 0.5688888888888889,
                                  0.4786286704993665, 0.2369268850561891};
enum { N_PANELS_FIRST = 12, N_PANELS = 1, MOST_BINS = 8000, N_HALVINGS = 24 };
static const double LEAST_SHAPE = 0.3, MOST_SHAPE = 2, LEAST_PROBABILITY = 1e-9;

struct values {
    double shape, scale, height; /* height exp(-|x / scale|^shape), rms 1 */
};

/* Bin k and its mirror image: probability and mean square error. x = width u^4 in the first one. */
static double bin_of(double *square, const struct values *v, int k, double bin)
{
    const int n = k > 0 ? N_PANELS : N_PANELS_FIRST;
    const double lo = k > 0 ? (k - 0.5) * bin : 0, width = (k + 0.5) * bin - lo;
    double p = 0;
    *square = 0;
    for (int i = 0; i < 5 * n; i++) {
        const double u = (i / 5 + 0.5 + NODES[i % 5] / 2) / n, u3 = u * u * u;
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
    for (int k = 0; k < MOST_BINS && p > LEAST_PROBABILITY; k++) {
        p = bin_of(&square, &v, k, 2 * bound);
        sum += square;
        if (p > 0) /* one bin around 0, two of every other */
            *bits -= p * log2(k > 0 ? p / 2 : p);
    }
    *rel_error = sqrt(sum);
}

double strait_shape_of_error(double rel_error, double bound)
{
    double lo = LEAST_SHAPE, hi = MOST_SHAPE, bits, error;
    for (int i = 0; i < N_HALVINGS; i++) { /* coarse bins: the more peaked, the less error */
        const double shape = (lo + hi) / 2;
        strait_quantised(&bits, &error, shape, bound);
        if (error < rel_error)
            lo = shape;
        else
            hi = shape;
    }
    return (lo + hi) / 2;
}

/* The rule of the recorded runs: README of the curves. */
static double recorded_bound(const struct strait_curve *adaptive)
{
    return adaptive->par * sqrt(3);
}

static double shape_of(const struct strait_curve *adaptive, int round)
{
    return strait_shape_of_error(round_of(adaptive, round)->rel_l2_err, recorded_bound(adaptive));
}

static double bits_of(double shape, double bound)
{
    double bits, error;
    strait_quantised(&bits, &error, shape, bound);
    return bits;
}

double strait_predicted_bits(const struct strait_curve *adaptive, int round, double bound)
{
    return bits_of(shape_of(adaptive, round), bound);
}

double strait_replayed_bits(const struct strait_curve *adaptive, int round, double bound)
{
    const double recorded = round_of(adaptive, round)->bits_per_elem;
    if (strcmp(adaptive->target, "update") != 0)
        return fmax(0, recorded - log2(bound / recorded_bound(adaptive)));
    const double shape = shape_of(adaptive, round);
    return recorded * bits_of(shape, bound) / bits_of(shape, recorded_bound(adaptive));
}
