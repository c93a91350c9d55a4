/* Policies of error bounds: what each one reads, and the recorded adaptive runs replayed. */
#include <stdio.h>
#include <string.h>
#include "../workloads/policy.h"
#include "suite.h"

static const struct strait_policy base = {
    .base = 0.01, .decay = 0.5, .rms_factor = 0.5, .gain = 1, .limit = 8};

static struct strait_policy of_kind(enum strait_policy_kind kind)
{
    struct strait_policy p = base;
    p.kind = kind;
    return p;
}

static struct strait_state state_of(int round, double rms, double loss, double client_loss)
{
    return (struct strait_state){.round = round,
                                 .rms = rms,
                                 .loss = loss,
                                 .first_loss = 2,
                                 .client_loss = client_loss,
                                 .mean_loss = 1};
}

/* 0.01 in whatever state; 0.01 / 2^3, and not below 0.01 / 8; 0.5 sqrt(3) rms; 0.01 x 0.5 / 2; a
 * client at twice the mean loss half of 0.01. */
static void values(void)
{
    const struct strait_state s = state_of(3, 0.2, 0.5, 2);
    struct strait_policy p = of_kind(STRAIT_POLICY_FIXED);
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.01, 1e-15);
    p.kind = STRAIT_POLICY_SCHEDULE;
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.00125, 1e-15);
    const struct strait_state later = state_of(9, 1, 1, 1);
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &later), 0.00125, 1e-15);
    static const double list[] = {0.1, 0.03, 0.02};
    p.list = list;
    p.n_list = 3;
    const struct strait_state second = state_of(1, 1, 1, 1);
    CU_ASSERT_EQUAL(strait_policy_bound(&p, &second), 0.03);
    CU_ASSERT_EQUAL(strait_policy_bound(&p, &later), 0.02); /* the last one stays */
    p = of_kind(STRAIT_POLICY_RMS_ADAPTIVE);
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.5 * sqrt(3) * 0.2, 1e-15);
    p.kind = STRAIT_POLICY_LOSS_ADAPTIVE;
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.0025, 1e-15);
    p.kind = STRAIT_POLICY_FAIRNESS;
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.005, 1e-15);
}

/* Each policy changes with its own input and with nothing else: rows are policies, columns round,
 * rms, loss and the client's loss. */
static void inputs(void)
{
    static const bool reads[5][4] = {{false, false, false, false},
                                     {true, false, false, false},
                                     {false, true, false, false},
                                     {false, false, true, false},
                                     {false, false, false, true}};
    const struct strait_state before = state_of(1, 1, 1.5, 1.5);
    const struct strait_state after[4] = {state_of(2, 1, 1.5, 1.5), state_of(1, 2, 1.5, 1.5),
                                          state_of(1, 1, 1.2, 1.5), state_of(1, 1, 1.5, 1.2)};
    for (int kind = 0; kind < 5; kind++) {
        const struct strait_policy p = of_kind((enum strait_policy_kind)kind);
        for (int i = 0; i < 4; i++) {
            const bool changes =
                strait_policy_bound(&p, &before) != strait_policy_bound(&p, &after[i]);
            CU_ASSERT_EQUAL(changes, reads[kind][i]);
        }
    }
}

/* Losses that are not known yet, and losses that would lead far away: base, and base over or times
 * 8. All bounds lie in the range that is announced. */
static void limits(void)
{
    const double losses[] = {NAN, 1e-9, 1e9};
    const double expected[2][3] = {{0.01, 0.00125, 0.08}, {0.01, 0.08, 0.00125}};
    for (int i = 0; i < 3; i++) {
        const struct strait_state s = state_of(0, 1, losses[i], losses[i]);
        for (int k = 0; k < 2; k++) {
            const struct strait_policy p =
                of_kind(k == 0 ? STRAIT_POLICY_LOSS_ADAPTIVE : STRAIT_POLICY_FAIRNESS);
            double least, most;
            const double bound = strait_policy_bound(&p, &s);
            CU_ASSERT_DOUBLE_EQUAL(bound, expected[k][i], 1e-15);
            strait_policy_range(&least, &most, &p);
            CU_ASSERT(least <= bound && bound <= most);
        }
    }
    struct strait_policy p = of_kind(STRAIT_POLICY_SCHEDULE);
    double least, most;
    strait_policy_range(&least, &most, &p);
    CU_ASSERT_EQUAL(least, 0.00125);
    CU_ASSERT_EQUAL(most, 0.01); /* it only falls */
}

/* Normal values in bins of sqrt(12) e with e small: an rms error of e, and log2(sqrt(2 pi e) / bin)
 * bits. Bins of sqrt(3) rms: by the normal integral P(|x| < 0.8660) = 0.61351, 0.18850 in each
 * bin beside it, 0.00474 in each of the next: 1.4125 bits with what follows. */
static void entropy(void)
{
    double bits, error;
    strait_quantised(&bits, &error, 2, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(error, 0.01 / sqrt(3), 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(bits, log2(sqrt(2 * acos(-1) * exp(1)) / 0.02), 1e-4);
    strait_quantised(&bits, &error, 2, sqrt(3) / 2);
    const double p0 = erf(sqrt(3) / 2 / sqrt(2)), p1 = (erf(3 * sqrt(3) / 2 / sqrt(2)) - p0) / 2,
                 p2 = (erf(5 * sqrt(3) / 2 / sqrt(2)) - p0) / 2 - p1,
                 p3 = (1 - p0) / 2 - p1 - p2; /* the rest in one: it adds 1e-4 */
    CU_ASSERT_DOUBLE_EQUAL(
        bits, -p0 * log2(p0) - 2 * p1 * log2(p1) - 2 * p2 * log2(p2) - 2 * p3 * log2(p3), 1e-3);
    /* Laplacian, density 1/2 s e^(-s |x|) with s = sqrt(2): P0 = 1 - e^(-s b), bins 2 b fall by
     * q = e^(-2 s b), Pk = e^(-s b) (1 - q) q^(k - 1) for both sides together */
    const double b = 0.7, s = sqrt(2), q = exp(-2 * s * b);
    double expected = -(1 - exp(-s * b)) * log2(1 - exp(-s * b));
    for (int k = 1; k < 60; k++) {
        const double both = exp(-s * b) * (1 - q) * pow(q, k - 1);
        expected -= both * log2(both / 2);
    }
    strait_quantised(&bits, &error, 1, b);
    CU_ASSERT_DOUBLE_EQUAL(bits, expected, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(strait_shape_of_error(error, b), 1, 1e-3);
}

/* --- recorded runs ------------------------------------------------------------------------- */

static bool is_adaptive(const struct strait_curve *c)
{
    return strcmp(c->codec, "adaptive") == 0;
}

static double off_by(double bits, const struct strait_curve *c, size_t round)
{
    return fabs(bits / c->rounds[round].bits_per_elem - 1);
}

/* The policy in place of the recorded rule: bits a value within 5 % in all 120 rounds. A factor of
 * 0.45 or 0.55, and bounds that do not follow the rms, are told apart. */
static void replay(void)
{
    struct strait_curves *curves;
    struct strait_error err = {0};
    size_t n_rounds = 0;
    CU_ASSERT_EQUAL_FATAL(strait_curves_load(&curves, NULL, &err), 0);
    for (size_t i = 0; i < curves->n_curves; i++) {
        const struct strait_curve *c = &curves->curves[i];
        if (!is_adaptive(c))
            continue;
        struct strait_policy rule = of_kind(STRAIT_POLICY_RMS_ADAPTIVE), other = rule;
        double worst = 0, least_of_other = INFINITY;
        for (size_t t = 0; t < c->n_rounds; t++, n_rounds++) {
            const struct strait_state s = strait_state_of_curve(c, (int)t);
            worst =
                fmax(worst,
                     off_by(strait_replayed_bits(c, (int)t, strait_policy_bound(&rule, &s)), c, t));
            other.rms_factor = t % 2 == 0 ? 0.4 : 0.6;
            least_of_other = fmin(
                least_of_other,
                off_by(strait_replayed_bits(c, (int)t, strait_policy_bound(&other, &s)), c, t));
        }
        CU_ASSERT(worst < 0.05);
        CU_ASSERT(least_of_other > 0.05);
    }
    CU_ASSERT_EQUAL(n_rounds, 120);
    strait_curves_free(curves);
}

/* Without a look at the recorded bits: the recorded error gives the shape of the values, the shape
 * and the policy's bound give the bits. The error is one of the mean over clients, whose errors
 * partly cancel, so with few clients it scatters: within 5.5 % in every round of 8 and 16 clients,
 * within 8 % of 2 and 4; the mean of a run within 2.5 %. */
static void prediction(void)
{
    struct strait_curves *curves;
    struct strait_error err = {0};
    const struct strait_policy rule = of_kind(STRAIT_POLICY_RMS_ADAPTIVE);
    int n_runs = 0;
    CU_ASSERT_EQUAL_FATAL(strait_curves_load(&curves, NULL, &err), 0);
    for (size_t i = 0; i < curves->n_curves; i++) {
        const struct strait_curve *c = &curves->curves[i];
        if (!is_adaptive(c) || strcmp(c->target, "update") != 0)
            continue;
        double sum = 0, recorded = 0;
        for (size_t t = 0; t < c->n_rounds; t++) {
            const struct strait_state s = strait_state_of_curve(c, (int)t);
            const double bits = strait_predicted_bits(c, (int)t, strait_policy_bound(&rule, &s));
            CU_ASSERT(off_by(bits, c, t) < (c->clients < 8 ? 0.08 : 0.055));
            sum += bits;
            recorded += c->rounds[t].bits_per_elem;
        }
        CU_ASSERT_DOUBLE_EQUAL(sum / recorded, 1, 0.025);
        n_runs++;
    }
    CU_ASSERT_EQUAL(n_runs, 5);
    strait_curves_free(curves);
}

/* The losses of a recorded run drive a policy: as the loss falls, the bound does. */
static void follows(void)
{
    struct strait_curves *curves;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_curves_load(&curves, NULL, &err), 0);
    const struct strait_curve *c = strait_curves_find(curves, 8, 1, "update", "none", 0, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    const struct strait_policy p = of_kind(STRAIT_POLICY_LOSS_ADAPTIVE);
    for (int t = 0; t < 20; t++) {
        const struct strait_state s = strait_state_of_curve(c, t);
        CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s),
                               0.01 * c->rounds[t].train_loss / c->rounds[0].train_loss, 1e-12);
    }
    const struct strait_state last = strait_state_of_curve(c, 19),
                              beyond = strait_state_of_curve(c, 100);
    CU_ASSERT_EQUAL(last.loss, beyond.loss);
    strait_curves_free(curves);
}

static const struct strait_test tests[] = {
    {"each policy gives its bound", values},
    {"a policy changes with its own input and with no other", inputs},
    {"bounds stay within their limit, and unknown losses change nothing", limits},
    {"the entropy of quantised values is that of the normal and the Laplacian", entropy},
    {"recorded adaptive runs are replayed, bits a value within 5 % in every round", replay},
    {"their bits follow from the recorded error alone, within 2.5 % of a run", prediction},
    {"recorded losses drive a policy round by round", follows},
};
STRAIT_SUITE("workloads/policy", tests);
