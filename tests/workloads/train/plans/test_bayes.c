/* The Gaussian process against two points by hand, the expected improvement against its integral,
 * and the tuner on functions whose optimum is known. */
#include "workloads/train/plans/bayes.h"

#include <math.h>

#include "tests/kit/suite.h"

static double matern(double d, double length)
{
    const double s = sqrt(5) * d / length;
    return (1 + s + s * s / 3) * exp(-s);
}

/* Two observations, noise v: K = [a k; k a] with a = 1 + v, so K^-1 = [a -k; -k a] / (a^2 - k^2).
 * Mean = q K^-1 y, variance = 1 - q K^-1 q, log likelihood = -(y K^-1 y + log det K) / 2 - log 2
 * pi.
 */
static void two_points(void)
{
    const double x[] = {0.2, 0.7}, y[] = {1, -0.5}, length = 0.4, noise = 0.01, at = 0.35;
    const double a = 1 + noise, k = matern(0.5, length), det = a * a - k * k;
    const double q[] = {matern(0.15, length), matern(0.35, length)};
    const double mean = (q[0] * (a * y[0] - k * y[1]) + q[1] * (a * y[1] - k * y[0])) / det;
    const double variance = 1 - (a * q[0] * q[0] - 2 * k * q[0] * q[1] + a * q[1] * q[1]) / det;
    const double fit = (a * y[0] * y[0] - 2 * k * y[0] * y[1] + a * y[1] * y[1]) / det;
    struct strait_belief b;
    double likelihood;
    CU_ASSERT_EQUAL_FATAL(
        strait_gaussian_process(&b, &likelihood, x, y, 2, length, noise, at, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(b.mean, mean, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b.deviation, sqrt(variance), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(likelihood, -0.5 * (fit + log(det)) - log(2 * acos(-1)), 1e-12);
    /* without noise an observation is certain, and far away there is only the prior */
    CU_ASSERT_EQUAL_FATAL(strait_gaussian_process(&b, NULL, x, y, 2, length, 0, 0.7, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(b.mean, -0.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b.deviation, 0, 1e-7);
    CU_ASSERT_EQUAL_FATAL(strait_gaussian_process(&b, NULL, x, y, 2, length, 0, 100, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(b.mean, 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b.deviation, 1, 1e-12);
}

/* E[max(best - xi - Y, 0)] by the midpoint rule over 12 deviations. */
static void improvement(void)
{
    static const struct {
        double mean, deviation, best, xi;
    } all[] = {{0, 1, 0, 0}, {0.5, 2, 0.1, 0.1}, {-1, 0.3, 0, 0.2}, {3, 1, 0, 0}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct strait_belief b = {all[i].mean, all[i].deviation};
        enum { N = 200000 };
        double sum = 0;
        for (int k = 0; k < N; k++) {
            const double z = -12 + 24 * (k + 0.5) / N, y = b.mean + b.deviation * z;
            sum += fmax(all[i].best - all[i].xi - y, 0) * exp(-z * z / 2) / sqrt(2 * acos(-1)) *
                   24 / N;
        }
        CU_ASSERT_DOUBLE_EQUAL(strait_expected_improvement(b, all[i].best, all[i].xi), sum, 1e-8);
    }
    /* of a standard normal below 0: 1 / sqrt(2 pi) */
    CU_ASSERT_DOUBLE_EQUAL(strait_expected_improvement((struct strait_belief){0, 1}, 0, 0),
                           0.3989422804014327, 1e-15);
    CU_ASSERT_EQUAL(strait_expected_improvement((struct strait_belief){1, 0}, 4, 1), 2);
    CU_ASSERT_EQUAL(strait_expected_improvement((struct strait_belief){4, 0}, 4, 1), 0);
}

static double parabola(double x)
{
    return (x - 37) * (x - 37);
}

/* A time as a fusion threshold gives it: start-ups fall, the unhidden bucket grows. 0.1 at 100. */
static double threshold(double x)
{
    return 5 / x + 0.0005 * x;
}

/* Two valleys: the deeper one is narrow, at 200. */
static double valleys(double x)
{
    return 2 - exp(-pow((x - 60) / 40, 2)) - 1.5 * exp(-pow((x - 200) / 15, 2));
}

static double best_of(double (*f)(double), int n_trials)
{
    struct strait_bayes b = {.lo = 1, .hi = 256, .xi = 0.1};
    double x = 25;
    for (int i = 0; i < n_trials; i++) {
        strait_bayes_observe(&b, x, f(x));
        CU_ASSERT_EQUAL_FATAL(strait_bayes_suggest(&x, &b, NULL), 0);
        CU_ASSERT(x >= 1 && x <= 256);
    }
    return b.x[strait_bayes_best(&b)];
}

/* Smooth functions: within 5 % of the range, or of the least value, after ten trials. */
static void known_optima(void)
{
    CU_ASSERT_DOUBLE_EQUAL(best_of(parabola, 10), 37, 12.75);
    CU_ASSERT(threshold(best_of(threshold, 10)) < 1.05 * 0.1);
    CU_ASSERT_DOUBLE_EQUAL(best_of(valleys, 30), 200, 12.75);
}

static void degenerate(void)
{
    struct strait_bayes b = {.lo = 2, .hi = 4, .xi = 0.1};
    double x;
    CU_ASSERT_EQUAL(strait_bayes_suggest(&x, &b, NULL), 0);
    CU_ASSERT_EQUAL(x, 3);      /* nothing known: the middle */
    for (int i = 0; i < 5; i++) /* the same place and value again and again */
        strait_bayes_observe(&b, 3, 7);
    CU_ASSERT_EQUAL(strait_bayes_suggest(&x, &b, NULL), 0);
    CU_ASSERT(x == 2 || x == 4); /* as far from what is known as can be */
    CU_ASSERT_EQUAL(strait_bayes_best(&b), 0);
    for (int i = 0; i < 2 * STRAIT_BAYES_MAX_POINTS; i++)
        strait_bayes_observe(&b, 2, 1);
    CU_ASSERT_EQUAL(b.n, STRAIT_BAYES_MAX_POINTS);
}

static const struct strait_test tests[] = {
    {"a process of two observations is what two by two matrices give", two_points},
    {"the expected improvement is its integral", improvement},
    {"the optimum of known functions is found within few trials", known_optima},
    {"nothing, the same or too much observed does no harm", degenerate},
};
STRAIT_SUITE("workloads/train/plans/bayes", tests);
