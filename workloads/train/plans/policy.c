#include "policy.h"

#include <assert.h>

const char *const strait_policy_names[] = {"fixed",
                                           "schedule",
                                           "rms-adaptive",
                                           "loss-adaptive",
                                           "per-client-fairness",
                                           "accuracy-guard",
                                           "mean-abs",
                                           "sensitivity",
                                           "slope-adaptive",
                                           "noise-adaptive",
                                           NULL};

static double within(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

/* base (a / b)^gain */
static double by_ratio(const struct strait_policy *p, double a, double b)
{
    return isfinite(a) && isfinite(b) && a > 0 && b > 0 ? p->base * pow(a / b, p->gain) : p->base;
}

/* The bound that adds the wanted share of the loss, if what it adds grows with its square. */
static double guarded(const struct strait_policy *p, const struct strait_state *s)
{
    const double wanted = p->tolerance * s->plain_loss, found = s->probe_loss - s->plain_loss;
    if (!(s->bound > 0) || !isfinite(wanted))
        return p->base;
    if (!isfinite(found)) /* the probe diverged */
        return s->bound / 2;
    return s->bound * within(sqrt(wanted / fmax(found, wanted / 20)), 0.5, 2);
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
    case STRAIT_POLICY_RMS_ADAPTIVE: /* uniform in +-b has rms b / sqrt(3) */
        return p->rms_factor * sqrt(3) * s->rms;
    case STRAIT_POLICY_LOSS_ADAPTIVE:
        return by_ratio(p, s->loss, s->first_loss);
    case STRAIT_POLICY_FAIRNESS:
        return by_ratio(p, s->mean_loss, s->client_loss);
    case STRAIT_POLICY_GUARD:
        return guarded(p, s);
    case STRAIT_POLICY_MEAN_ABS:
        return p->alpha;
    case STRAIT_POLICY_SENSITIVITY: {
        const double share = s->loss / s->first_loss;
        return isfinite(share) && share > 0 ? p->base * sqrt(share) : p->base;
    }
    case STRAIT_POLICY_SLOPE:
        if (!isfinite(s->slope) || !(s->first_slope > 0))
            return p->base;
        return p->base * sqrt(fmax(s->slope, 0) / s->first_slope);
    case STRAIT_POLICY_NOISE:
        return isfinite(s->noise) ? p->rms_factor * sqrt(3) * s->noise : p->base;
    }
    assert(false);
    return p->base;
}

double strait_policy_bound(const struct strait_policy *p, const struct strait_state *s)
{
    const double bound = unlimited(p, s);
    const bool limited = p->kind == STRAIT_POLICY_LOSS_ADAPTIVE ||
                         p->kind == STRAIT_POLICY_FAIRNESS || p->kind == STRAIT_POLICY_GUARD ||
                         p->kind == STRAIT_POLICY_SENSITIVITY || p->kind == STRAIT_POLICY_SLOPE ||
                         p->kind == STRAIT_POLICY_NOISE ||
                         (p->kind == STRAIT_POLICY_SCHEDULE && !p->list);
    return limited ? within(bound, p->base / p->limit, p->base * p->limit) : bound;
}

double strait_policy_slope(double slope, double loss_before, double loss)
{
    const double gained = loss_before - loss;
    return isnan(slope) ? gained : (slope + gained) / 2;
}

void strait_policy_range(double *least, double *most, const struct strait_policy *p)
{
    *least = p->base / p->limit;
    *most = p->base * p->limit;
    if (p->kind == STRAIT_POLICY_FIXED)
        *least = *most = p->base;
    if (p->kind == STRAIT_POLICY_RMS_ADAPTIVE)
        *least = *most = p->rms_factor * sqrt(3);
    if (p->kind == STRAIT_POLICY_MEAN_ABS)
        *least = *most = p->alpha;
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

enum strait_policy_unit strait_policy_unit(const struct strait_policy *p, bool codes_parameters)
{
    if (p->kind == STRAIT_POLICY_MEAN_ABS)
        return STRAIT_UNIT_MEAN_ABS;
    return p->kind == STRAIT_POLICY_RMS_ADAPTIVE && codes_parameters ? STRAIT_UNIT_UPDATE_RMS
                                                                     : STRAIT_UNIT_OF_CODEC;
}

double strait_policy_absolute(enum strait_policy_unit unit, double bound, const float *x,
                              const float *update, size_t n_elems)
{
    double sum = 0;
    assert(unit != STRAIT_UNIT_OF_CODEC);
    if (n_elems == 0)
        return 0;
    if (unit == STRAIT_UNIT_UPDATE_RMS) {
        for (size_t i = 0; i < n_elems; i++)
            sum += (double)update[i] * (double)update[i];
        return bound * sqrt(sum / (double)n_elems);
    }
    for (size_t i = 0; i < n_elems; i++)
        sum += fabs((double)x[i]);
    return bound * sum / (double)n_elems;
}

static const struct strait_curve_round *round_of(const struct strait_curve *curve, int round)
{
    assert(curve->n_rounds > 0 && round >= 0);
    return &curve->rounds[(size_t)round < curve->n_rounds ? (size_t)round : curve->n_rounds - 1];
}

struct strait_state strait_state_of_curve(const struct strait_curve *curve, int round)
{
    const double loss = round_of(curve, round)->train_loss;
    double slope = NAN, first_slope = NAN;
    for (int i = 1; i <= round; i++) {
        slope = strait_policy_slope(slope, round_of(curve, i - 1)->train_loss,
                                    round_of(curve, i)->train_loss);
        first_slope = i == 1 ? slope : first_slope;
    }
    return (struct strait_state){.round = round,
                                 .rms = 1,
                                 .loss = loss,
                                 .first_loss = round_of(curve, 0)->train_loss,
                                 .client_loss = loss,
                                 .mean_loss = loss,
                                 .bound = NAN,
                                 .plain_loss = NAN,
                                 .probe_loss = NAN,
                                 .slope = slope,
                                 .first_slope = first_slope,
                                 .noise = NAN};
}
