/* Policies for error bounds that adapt to the training, behind one interface. Each is a pure
 * function of a state, so recorded curves can drive it. */
#pragma once
#include <math.h>
#include <stdbool.h>
#include "traces/curves.h"

enum strait_policy_kind {
    STRAIT_POLICY_FIXED,         /* always the experiment's bound */
    STRAIT_POLICY_SCHEDULE,      /* a list by round, or base decay^round */
    STRAIT_POLICY_RMS_ADAPTIVE,  /* rms_factor sqrt(3) rms(update) */
    STRAIT_POLICY_LOSS_ADAPTIVE, /* tightens as the loss falls, loosens where it rises */
    STRAIT_POLICY_FAIRNESS,      /* clients with a higher than mean loss get a tighter bound */
    STRAIT_POLICY_GUARD,         /* as wide as a probe of the held-out loss lets it be */
    STRAIT_POLICY_MEAN_ABS,      /* alpha mean|x| of each tensor */
    STRAIT_POLICY_SENSITIVITY,   /* bounds that were measured by tensor, scaled as the loss falls */
    STRAIT_POLICY_SLOPE,         /* tightens as a round gains less */
    STRAIT_POLICY_NOISE          /* a share of what clients' updates differ by */
};
extern const char *const strait_policy_names[]; /* in that order, NULL-terminated */

struct strait_policy {
    enum strait_policy_kind kind;
    double base;        /* the initial bound */
    const double *list; /* SCHEDULE: n_list bounds, the last one repeats; NULL: geometric */
    size_t n_list;
    double decay;      /* SCHEDULE: factor a round */
    double rms_factor; /* RMS_ADAPTIVE: target rms error relative to the rms of the update; NOISE:
                        * to the rms of its noise */
    double gain;       /* LOSS_ADAPTIVE, FAIRNESS: exponent of the ratio of losses */
    double tolerance;  /* GUARD: share of the loss that compression may add */
    double alpha;      /* MEAN_ABS: of the mean magnitude */
    double limit;      /* bounds stay in [base / limit, base limit]; at least 1 */
};

/* Input of a policy. NAN: not known yet. */
struct strait_state {
    int round;                     /* from 0 */
    double rms;                    /* of the update; 1 where bounds are relative to it */
    double loss, first_loss;       /* training loss of this round and of the first */
    double client_loss, mean_loss; /* of one client, and the mean over clients */
    double bound;                  /* of the last round */
    double plain_loss, probe_loss; /* of the probe: without compression, and at that bound */
    double slope, first_slope;     /* loss that a round gains (strait_policy_slope), and at first */
    double noise; /* rms of clients' updates less their mean, over that of updates */
};

/** The bound of this round (and client). Unknown losses leave the base as it is.
 *  Source:  RMS_ADAPTIVE: the rule of the recorded runs (traces/curves/README.md); MEAN_ABS: arXiv
 *           2509.07727, with alpha from 0.1 to 0.8; the others: own. FedCSpc's rule is not public;
 *           FedEFsz is described as a heuristic of its clients' bounds.
 *           GUARD and SENSITIVITY take what a bound adds to the loss as growing with its square,
 *           as it does near a minimum. So GUARD multiplies the bound by the square root of wanted
 *           over measured, from 1/2 to 2 a round; a probe that shows no loss counts as a twentieth
 *           of what is wanted. SENSITIVITY keeps the added share of the loss: base x sqrt(loss /
 *           first loss). SLOPE keeps it the same share of what a round gains: base x sqrt(slope /
 *           first slope), the tightest where the loss rises. NOISE lets compression add rms_factor
 *           of the noise that sampling has put into the updates already; the noise of gradients as
 *           in McCandlish et al., arXiv 1812.06162 */
double strait_policy_bound(const struct strait_policy *p, const struct strait_state *s);
/** The slope after one more round: the mean of the slope so far (NAN: none yet) and what this round
 *  gained. */
double strait_policy_slope(double slope, double loss_before, double loss);
/** The range of all bounds that the policy can give: [*least, *most]. */
void strait_policy_range(double *least, double *most, const struct strait_policy *p);

/* What a bound is a multiple of. */
enum strait_policy_unit {
    STRAIT_UNIT_OF_CODEC,   /* what the codec's kind of bound says */
    STRAIT_UNIT_MEAN_ABS,   /* each tensor's mean magnitude */
    STRAIT_UNIT_UPDATE_RMS, /* the rms of each tensor's update, where parameters are coded */
};
/** In:      codes_parameters: not updates */
enum strait_policy_unit strait_policy_unit(const struct strait_policy *p, bool codes_parameters);
/** The absolute bound of one tensor. In: update: its values, for UPDATE_RMS; kind UNIT_OF_CODEC has
 *  none. 0 where all values are 0. */
double strait_policy_absolute(enum strait_policy_unit unit, double bound, const float *x,
                              const float *update, size_t n_elems);

/** The state from a recorded run's round (from 0; the last one repeats): its losses, all clients
 *  alike, bounds in units of the update's rms. */
struct strait_state strait_state_of_curve(const struct strait_curve *curve, int round);
