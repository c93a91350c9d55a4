/* Policies for error bounds that adapt to the training, behind one interface. Each is a pure
 * function of a state, so recorded curves can drive it. */
#pragma once
#include <math.h>
#include "traces/curves.h"

enum strait_policy_kind {
    STRAIT_POLICY_FIXED,         /* always the experiment's bound */
    STRAIT_POLICY_SCHEDULE,      /* a list by round, or base decay^round */
    STRAIT_POLICY_RMS_ADAPTIVE,  /* rms_factor sqrt(3) rms(update) */
    STRAIT_POLICY_LOSS_ADAPTIVE, /* tightens as the loss falls, loosens where it rises */
    STRAIT_POLICY_FAIRNESS       /* clients with a higher than mean loss get a tighter bound */
};
extern const char *const strait_policy_names[]; /* in that order, NULL-terminated */

struct strait_policy {
    enum strait_policy_kind kind;
    double base;        /* the initial bound */
    const double *list; /* SCHEDULE: n_list bounds, the last one repeats; NULL: geometric */
    size_t n_list;
    double decay;      /* SCHEDULE: factor a round */
    double rms_factor; /* RMS_ADAPTIVE: target rms error relative to the rms of the update */
    double gain;       /* LOSS_ADAPTIVE, FAIRNESS: exponent of the ratio of losses */
    double limit;      /* bounds stay in [base / limit, base limit]; at least 1 */
};

/* Input of a policy. NAN: not known yet. */
struct strait_state {
    int round;                     /* from 0 */
    double rms;                    /* of the update; 1 where bounds are relative to it */
    double loss, first_loss;       /* training loss of this round and of the first */
    double client_loss, mean_loss; /* of one client, and the mean over clients */
};

/** The bound of this round (and client). Unknown losses leave the base as it is.
 *  Source:  RMS_ADAPTIVE: the rule of the recorded runs (traces/curves/README.md); the others: own.
 *           FedCSpc's rule is not public; FedEFsz is described as a heuristic of its clients'
 *           bounds */
double strait_policy_bound(const struct strait_policy *p, const struct strait_state *s);
/** The range of all bounds that the policy can give: [*least, *most]. */
void strait_policy_range(double *least, double *most, const struct strait_policy *p);

/** The state from a recorded run's round (from 0; the last one repeats): its losses, all clients
 *  alike, bounds in units of the update's rms. */
struct strait_state strait_state_of_curve(const struct strait_curve *curve, int round);
