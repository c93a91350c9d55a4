/* The interval of a prediction: what is known to vary, and by how much the model was off in
 * settings like it. */
#pragma once
#include <jansson.h>
#include "learned.h"

/* Other draws than the run's own, at most. */
enum { STRAIT_INTERVAL_DRAWS = 8 };
/* Factor by which rates are changed in `edges_s`. A change of the round in proportion to it counts
 * as none. */
#define STRAIT_INTERVAL_OFF 1.03
/* How far delays are off in `order_s`, as a share: less than anybody knows of a path, but which of
 * equal streams gets ahead depends on it. So many draws. */
#define STRAIT_INTERVAL_DELAYS 1e-3
enum { STRAIT_INTERVAL_ORDERS = 3 };

/* Seconds a round of the run itself, and of runs whose inputs were changed a little. */
struct strait_interval_inputs {
    double round_s, compute_s; /* of the prediction, and of it the computing on its critical path */
    double codec_s[2];         /* with the codec's quick and slow quantiles; NAN: nothing varies */
    double other_draws_s[STRAIT_INTERVAL_DRAWS]; /* with other draws of losses */
    size_t n_draws;                              /* 0: nothing is drawn */
    /* With software's constants off by their errors, and with ranks that are never late or often;
     * NAN: none has any. */
    double constants_s[2];
    /* Least and most with each rank's delay STRAIT_INTERVAL_DELAYS off; 0 or NAN: not run */
    double order_s[2];
    double edges_s[2]; /* rates STRAIT_INTERVAL_OFF times, and divided by it; NAN: not run */
    /* Of training steps: ln of the 90th percentile over the median, how many of them a client does
     * in a round, how many rounds there are and how many clients a round waits for. */
    double step_log_p90, n_steps, n_rounds, n_waited;
    const char *doubt; /* what of it no measurement stands for; NULL: nothing */
    bool is_published; /* compute times are from a publication */
};

/** The interval that holds the measured round in 90 % of cases (STRAIT_INTERVAL_LEVEL).
 *  Out:     interval_s   low and high end; both NAN: nothing is known of any spread
 *  In:      learned      NULL: no margin for the model's own error
 *  Returns: a new object for a row's "uncertainty": {level, codec_s, draws_s, other_draws_s,
 *           edges_s, compute_s, base_s, model}: ends of each part alone, null where it has none,
 *           constants_s and order_s only where it has some
 *           (draws_s: least and most, its own too); base_s, what codec, draws and edges make of the
 *           round; and "evidence" */
json_t *strait_interval_of(double interval_s[2], const struct strait_interval_inputs *inputs,
                           const struct strait_case *c, const struct strait_learned *learned);

/** Compare a measured round with its prediction, for the table: fills low, high, miss and off of
 *  `out`.
 *  In:      predicted  a row with "uncertainty" */
void strait_interval_scores(struct strait_learned_setting *out, const json_t *predicted,
                            double measured_s);

/** How far the mean of `n_rounds` rounds may lie below and above the sum of medians, in units of
 *  that sum. A round is as long as the slowest of n_waited sums of n_steps steps.
 *  Source:  steps lognormal and independent, the sum taken as normal; the mean of the largest of n
 *           by Blom, Statistical Estimates and Transformed Beta-Variables, 1958 */
void strait_interval_compute(double *below, double *above,
                             const struct strait_interval_inputs *inputs);
