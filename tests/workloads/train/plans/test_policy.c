/* Policies of error bounds: what each one reads, and the recorded adaptive runs replayed. */
#include <stdio.h>
#include <string.h>
#include "workloads/train/plans/policy.h"
#include "tests/kit/forms/policy_replay.h"
#include "tests/kit/suite.h"

static const struct strait_policy base = {.base = 0.01,
                                          .decay = 0.5,
                                          .rms_factor = 0.5,
                                          .gain = 1,
                                          .limit = 8,
                                          .tolerance = 0.02,
                                          .alpha = 0.4};

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

/* Wanted are 2 % of a loss of 0.5, 0.01. A probe that added 0.04 halves the bound, one that added
 * 0.02 divides it by sqrt(2), one that added 1e-4 or gained doubles it, not by sqrt(100); one that
 * diverged halves it. Without a probe it is the base; it stays within a factor of 8 of 0.01. */
static void guard(void)
{
    const struct strait_policy p = of_kind(STRAIT_POLICY_GUARD);
    static const double bounds[] = {0.01, 0.01, 0.01, 0.01, 0.01, 0.002, 0.06, NAN, 0.01};
    static const double probes[] = {0.54, 0.52, 0.5001, 0.45, NAN, 0.6, 0.5, 0.5, 0.51};
    const double expected[] = {0.005, 0.01 / sqrt(2), 0.02, 0.02, 0.005, 0.00125, 0.08, 0.01, 0.01};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
        struct strait_state s = state_of(3, 1, 1, 1);
        s.bound = bounds[i];
        s.plain_loss = 0.5;
        s.probe_loss = probes[i];
        CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), expected[i], 1e-12);
    }
}

/* A quarter of the first loss: what a bound adds falls as much with half of it. */
static void sensitivity(void)
{
    const struct strait_policy p = of_kind(STRAIT_POLICY_SENSITIVITY);
    const struct strait_state s = state_of(3, 1, 0.5, 1), first = state_of(0, 1, NAN, 1);
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.005, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &first), 0.01, 1e-15);
}

/* A round that gains a quarter of the first takes half of the bound; where the loss rises the
 * tightest, 0.01 / 8; the base while no slope is known. Gains of 0.4, then 0.2 make a slope of
 * 0.3. */
static void slope(void)
{
    const struct strait_policy p = of_kind(STRAIT_POLICY_SLOPE);
    struct strait_state s = state_of(3, 1, 1, 1);
    s.first_slope = 0.4;
    s.slope = 0.1;
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.005, 1e-15);
    s.slope = -0.1;
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.00125, 1e-15);
    s.slope = s.first_slope = NAN;
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.01, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_slope(NAN, 2, 1.6), 0.4, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_slope(0.4, 1.6, 1.4), 0.3, 1e-15);
}

/* Half of a noise of 0.04 as the rms of a uniform error, 0.02 sqrt(3); the base while none is
 * known; at most 8 times that. */
static void noise(void)
{
    const struct strait_policy p = of_kind(STRAIT_POLICY_NOISE);
    struct strait_state s = state_of(3, 1, 1, 1);
    s.noise = 0.04;
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.02 * sqrt(3), 1e-15);
    s.noise = NAN;
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.01, 1e-15);
    s.noise = 1;
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_bound(&p, &s), 0.08, 1e-15);
}

/* mean|x| of 1, -2, 3, -6 is 3; the rms of an update of 1, 1, 1, -5 is sqrt(7). */
static void by_tensor(void)
{
    static const float x[] = {1, -2, 3, -6}, update[] = {1, 1, 1, -5};
    struct strait_policy p = of_kind(STRAIT_POLICY_MEAN_ABS);
    CU_ASSERT_EQUAL(strait_policy_unit(&p, true), STRAIT_UNIT_MEAN_ABS);
    CU_ASSERT_EQUAL(strait_policy_unit(&p, false), STRAIT_UNIT_MEAN_ABS);
    CU_ASSERT_DOUBLE_EQUAL(
        strait_policy_absolute(STRAIT_UNIT_MEAN_ABS, strait_policy_bound(&p, NULL), x, NULL, 4),
        1.2, 1e-12);
    p.kind = STRAIT_POLICY_RMS_ADAPTIVE;
    CU_ASSERT_EQUAL(strait_policy_unit(&p, true), STRAIT_UNIT_UPDATE_RMS);
    CU_ASSERT_EQUAL(strait_policy_unit(&p, false), STRAIT_UNIT_OF_CODEC);
    CU_ASSERT_DOUBLE_EQUAL(strait_policy_absolute(STRAIT_UNIT_UPDATE_RMS, 0.5, x, update, 4),
                           0.5 * sqrt(7), 1e-12);
    p.kind = STRAIT_POLICY_LOSS_ADAPTIVE;
    CU_ASSERT_EQUAL(strait_policy_unit(&p, true), STRAIT_UNIT_OF_CODEC);
    CU_ASSERT_EQUAL(strait_policy_absolute(STRAIT_UNIT_MEAN_ABS, 1, x, NULL, 0), 0);
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

/* base 0.01, limit 8: what can come is no wider than that. */
static void ranges(void)
{
    static const double list[] = {0.02, 0.5, 0.003};
    const struct {
        enum strait_policy_kind kind;
        double decay, least, most;
        size_t n_list;
    } all[] = {{STRAIT_POLICY_FIXED, 0.5, 0.01, 0.01, 0},
               {STRAIT_POLICY_RMS_ADAPTIVE, 0.5, 0.1 * sqrt(3), 0.1 * sqrt(3), 0},
               {STRAIT_POLICY_LOSS_ADAPTIVE, 0.5, 0.00125, 0.08, 0},
               {STRAIT_POLICY_FAIRNESS, 0.5, 0.00125, 0.08, 0},
               {STRAIT_POLICY_SCHEDULE, 0.5, 0.00125, 0.01, 0},
               {STRAIT_POLICY_SCHEDULE, 1, 0.01, 0.01, 0},
               {STRAIT_POLICY_SCHEDULE, 2, 0.01, 0.08, 0},
               {STRAIT_POLICY_SCHEDULE, 0.5, 0.003, 0.5, 3},
               {STRAIT_POLICY_SCHEDULE, 0.5, 0.02, 0.02, 1}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct strait_policy p = of_kind(all[i].kind);
        double least, most;
        p.decay = all[i].decay;
        p.rms_factor = 0.1;
        p.list = all[i].n_list > 0 ? list : NULL;
        p.n_list = all[i].n_list;
        strait_policy_range(&least, &most, &p);
        CU_ASSERT_DOUBLE_EQUAL(least, all[i].least, 1e-15);
        CU_ASSERT_DOUBLE_EQUAL(most, all[i].most, 1e-15);
    }
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
    CU_ASSERT_DOUBLE_EQUAL(strait_shape_of_bits(bits, b), 1, 1e-3);
}

/* --- recorded runs ------------------------------------------------------------------------- */

static double off_by(double bits, const struct strait_curve *c, size_t round)
{
    return fabs(bits / c->rounds[round].bits_per_elem - 1);
}

struct judgement {
    int n_rounds, n_beyond; /* 5 % */
    double worst, sum_ratio;
};

/* The policy chooses each round's bound, and what it costs comes from other runs. */
static struct judgement judge(const struct strait_curves *curves, const struct strait_curve *c,
                              double rms_factor)
{
    struct strait_error err = {0};
    struct strait_replay replay;
    struct strait_policy rule = of_kind(STRAIT_POLICY_RMS_ADAPTIVE);
    struct judgement j = {0};
    double sum = 0, recorded = 0;
    rule.rms_factor = rms_factor;
    CU_ASSERT_EQUAL_FATAL(strait_replay_fit(&replay, curves, c, &err), 0);
    for (size_t t = 0; t < c->n_rounds; t++, j.n_rounds++) {
        const struct strait_state s = strait_state_of_curve(c, (int)t);
        const double bits = strait_replay_bits(&replay, (int)t, strait_policy_bound(&rule, &s));
        const double off = off_by(bits, c, t);
        j.worst = fmax(j.worst, off);
        j.n_beyond += off > 0.05;
        sum += bits;
        recorded += c->rounds[t].bits_per_elem;
    }
    j.sum_ratio = sum / recorded;
    return j;
}

static const struct strait_curve *adaptive_run(const struct strait_curves *curves, unsigned clients,
                                               unsigned seed, const char *target)
{
    const struct strait_curve *c =
        strait_curves_find(curves, clients, seed, target, "adaptive", 0.5, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    return c;
}

/* Recorded adaptive runs of updates, each from the other four, from its neighbours of fixed bound
 * and from its own errors: within 5 % in every round. A factor of 0.4 or 0.6 in place of 0.5 is
 * told apart in every round. */
static void prediction(void)
{
    static const struct {
        unsigned clients, seed;
    } runs[] = {{2, 1}, {4, 1}, {8, 1}, {8, 2}, {16, 1}};
    struct strait_curves *curves;
    struct strait_error err = {0};
    int n_rounds = 0;
    CU_ASSERT_EQUAL_FATAL(strait_curves_load(&curves, NULL, &err), 0);
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        const struct strait_curve *c =
            adaptive_run(curves, runs[i].clients, runs[i].seed, "update");
        const struct judgement j = judge(curves, c, 0.5);
        printf("%s: %d of %d rounds beyond 5 %%, at most %.1f %%; all together %+.1f %%\n", c->run,
               j.n_beyond, j.n_rounds, 100 * j.worst, 100 * (j.sum_ratio - 1));
        CU_ASSERT_EQUAL(j.n_beyond, 0);
        CU_ASSERT_DOUBLE_EQUAL(j.sum_ratio, 1, 0.02);
        CU_ASSERT(judge(curves, c, 0.4).n_beyond == 20);
        CU_ASSERT(judge(curves, c, 0.6).n_beyond == 20);
        n_rounds += j.n_rounds;
    }
    CU_ASSERT_EQUAL(n_rounds, 100);
    strait_curves_free(curves);
}

/* No bits of the run that is judged are looked at: they may be anything. Its errors count, and
 * what others cost. */
static void unseen(void)
{
    struct strait_curves *curves;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_curves_load(&curves, NULL, &err), 0);
    const struct strait_curve *c = adaptive_run(curves, 8, 1, "update"),
                              *other = adaptive_run(curves, 4, 1, "update");
    struct strait_replay before, after;
    CU_ASSERT_EQUAL_FATAL(strait_replay_fit(&before, curves, c, &err), 0);
    for (size_t t = 0; t < c->n_rounds; t++)
        c->rounds[t].bits_per_elem = 7;
    CU_ASSERT_EQUAL_FATAL(strait_replay_fit(&after, curves, c, &err), 0);
    for (int t = 0; t < 20; t++)
        CU_ASSERT_EQUAL(strait_replay_bits(&after, t, 0.7), strait_replay_bits(&before, t, 0.7));
    const double at_3 = strait_replay_bits(&before, 3, 0.7),
                 at_8 = strait_replay_bits(&before, 8, 0.7), error = c->rounds[3].rel_l2_err;
    c->rounds[3].rel_l2_err = 1.1 * error;
    CU_ASSERT_NOT_EQUAL(strait_replay_bits(&before, 3, 0.7), at_3);
    CU_ASSERT_EQUAL(strait_replay_bits(&before, 8, 0.7), at_8);
    c->rounds[3].rel_l2_err = error;
    other->rounds[5].bits_per_elem *= 1.1;
    CU_ASSERT_EQUAL_FATAL(strait_replay_fit(&after, curves, c, &err), 0);
    CU_ASSERT_NOT_EQUAL(strait_replay_bits(&after, 3, 0.7), strait_replay_bits(&before, 3, 0.7));
    strait_curves_free(curves);
}

/* Parameters coded with a bound that follows the update, recorded once: from runs of fixed bounds,
 * the run's own errors, and what the allocation to tensors costs in the recorded tensors. Rounds 2
 * to 4, between the first two snapshots, lie beyond 5 %. */
static void parameters(void)
{
    struct strait_curves *curves;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_curves_load(&curves, NULL, &err), 0);
    const struct judgement j = judge(curves, adaptive_run(curves, 8, 1, "param"), 0.5);
    printf("parameters: %d of %d rounds beyond 5 %%, at most %.1f %%; all together %+.1f %%\n",
           j.n_beyond, j.n_rounds, 100 * j.worst, 100 * (j.sum_ratio - 1));
    struct strait_allocation a;
    CU_ASSERT_EQUAL_FATAL(strait_allocation_measure(&a, 0.5, &err), 0);
    for (int i = 0; i < STRAIT_N_SNAPSHOTS; i++) {
        printf("bounds by tensors: %.3f bits more in snapshot %d\n", a.bits[i], i);
        CU_ASSERT(a.bits[i] > 0.19 && a.bits[i] < 0.27);
    }
    CU_ASSERT(j.n_beyond <= 3);
    CU_ASSERT(j.worst < 0.1);
    CU_ASSERT_DOUBLE_EQUAL(j.sum_ratio, 1, 0.02);
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
    {"the guard follows its probe, at most by a factor of two", guard},
    {"measured bounds keep their share of the loss", sensitivity},
    {"a slope's bound keeps its share of what a round gains", slope},
    {"noise bounds the error by itself", noise},
    {"bounds of a tensor follow from its values or its update", by_tensor},
    {"each policy gives its bound", values},
    {"a policy changes with its own input and with no other", inputs},
    {"bounds stay within their limit, and unknown losses change nothing", limits},
    {"the range of a policy is as wide as it can go, and no wider", ranges},
    {"the entropy of quantised values is that of the normal and the Laplacian", entropy},
    {"recorded adaptive runs are predicted from their errors and from others, within 5 % in each "
     "round",
     prediction},
    {"no bits of the run that is judged are looked at", unseen},
    {"parameters under a bound of the update, within 5 % but for three rounds", parameters},
    {"recorded losses drive a policy round by round", follows},
};
STRAIT_SUITE("workloads/train/plans/policy", tests);
