/* Closed forms of the task `quadratic`, as quadratic.c states them. */
#include <math.h>
#include <stdlib.h>
#include "learn/quadratic.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

enum { DIM = 40 };

/* 200 plain steps of one worker: w(t) - c = (1 - lr h)^t (0 - c). The model is float32: each step
 * rounds w by at most 2^-24 of it, and errors shrink as w does, so 1e-5 of c is ample. */
static void one_worker(void)
{
    struct strait_learn *l = strait_test_learn("{\"task\": \"quadratic\", \"dim\": 40, "
                                               "\"condition\": 20, \"momentum\": 0, \"lr\": 0.3}",
                                               1, 5);
    struct strait_learner *x;
    struct strait_optimiser *o;
    const struct strait_training t =
        strait_test_training("{\"task\": \"quadratic\", \"momentum\": 0, \"lr\": 0.3}");
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_optimiser_new(&o, &t, l, NULL), 0);
    float w[DIM], g[DIM];
    strait_learn_init(l, w);
    for (uint64_t step = 0; step < 200; step++) {
        strait_learner_gradient(x, w, step, g);
        strait_optimiser_begin(o);
        strait_optimiser_step(o, w, g, 0, DIM);
    }
    double excess = 0;
    for (size_t i = 0; i < DIM; i++) {
        const double h = pow(20, -(double)i / (DIM - 1)), c = strait_quadratic_centre(l, 0, i);
        CU_ASSERT_DOUBLE_EQUAL(w[i], c - pow(1 - 0.3 * h, 200) * c, 1e-5 * (1 + fabs(c)));
        excess += 0.5 * h * pow(pow(1 - 0.3 * h, 200) * c, 2);
    }
    struct strait_score score;
    strait_learner_evaluate(x, w, 0, &score);
    CU_ASSERT_DOUBLE_EQUAL(score.loss, excess, 1e-4 * excess);
    CU_ASSERT_TRUE(isnan(score.accuracy));
    CU_ASSERT_FALSE(strait_learn_has_accuracy(l));
    strait_optimiser_free(o);
    strait_learner_free(x);
    strait_learn_free(l);
}

/* Federated averaging of three workers that differ in optimum and curvature, five local steps:
 * rounds end at sum q c / sum q, away from the optimum of all. */
static void federated(void)
{
    enum { WORKERS = 3, STEPS = 5, ROUNDS = 400 };
    struct strait_learn *l =
        strait_test_learn("{\"task\": \"quadratic\", \"dim\": 40, \"condition\": 4, \"shift\": 2, "
                          "\"skew\": 0.5}",
                          WORKERS, 6);
    float w[DIM], mean[DIM], local[DIM], g[DIM];
    const double lr = 0.2;
    struct strait_learner *x[WORKERS];
    for (int k = 0; k < WORKERS; k++) {
        CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x[k], l, k, NULL), 0);
        CU_ASSERT_DOUBLE_EQUAL(strait_learn_share(l, k), 1.0 / WORKERS, 0);
    }
    strait_learn_init(l, w);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < DIM; i++)
            mean[i] = 0;
        for (int k = 0; k < WORKERS; k++) {
            for (size_t i = 0; i < DIM; i++)
                local[i] = w[i];
            for (uint64_t step = 0; step < STEPS; step++) {
                strait_learner_gradient(x[k], local, step, g);
                for (size_t i = 0; i < DIM; i++)
                    local[i] -= (float)lr * g[i];
            }
            for (size_t i = 0; i < DIM; i++)
                mean[i] += local[i] / WORKERS;
        }
        for (size_t i = 0; i < DIM; i++)
            w[i] = mean[i];
    }
    double excess = 0, biased = 0;
    for (size_t i = 0; i < DIM; i++) {
        double q = 0, qc = 0, h = 0, hc = 0;
        for (int k = 0; k < WORKERS; k++) {
            const double curvature = strait_quadratic_curvature(l, k, i);
            const double centre = strait_quadratic_centre(l, k, i);
            const double base = pow(4, -(double)i / (DIM - 1));
            CU_ASSERT_DOUBLE_EQUAL(fabs(curvature - base), 0.5 * base, 1e-12);
            q += 1 - pow(1 - lr * curvature, STEPS);
            qc += (1 - pow(1 - lr * curvature, STEPS)) * centre;
            h += curvature;
            hc += curvature * centre;
        }
        CU_ASSERT_DOUBLE_EQUAL(w[i], qc / q, 2e-5);
        excess += 0.5 * h / WORKERS * pow(qc / q - hc / h, 2);
        biased = fmax(biased, fabs(qc / q - hc / h));
    }
    CU_ASSERT(biased > 0.1);
    struct strait_score score;
    strait_learner_evaluate(x[0], w, 0, &score);
    CU_ASSERT_DOUBLE_EQUAL(score.loss, excess, 1e-4 * excess);
    for (int k = 0; k < WORKERS; k++)
        strait_learner_free(x[k]);
    strait_learn_free(l);
}

/* Noise 3 at batch 9 has a standard deviation of 1 in each element, is new in every step and for
 * every worker, and the loss has its gradient: 40 x 500 draws, mean 0 within 5 / sqrt(20000),
 * variance 1 within 5 sqrt(2 / 20000). */
static void noise(void)
{
    struct strait_learn *l = strait_test_learn(
        "{\"task\": \"quadratic\", \"dim\": 40, \"noise\": 3, \"batch\": 9}", 2, 7);
    struct strait_learner *x, *y;
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&y, l, 1, NULL), 0);
    float w[DIM], g[DIM], other[DIM], again[DIM];
    double sum = 0, squares = 0, across = 0;
    for (size_t i = 0; i < DIM; i++)
        w[i] = 0;
    for (uint64_t step = 0; step < 500; step++) {
        const double loss = strait_learner_gradient(x, w, step, g);
        strait_learner_gradient(y, w, step, other);
        double expected = 0;
        for (size_t i = 0; i < DIM; i++) {
            const double h = strait_quadratic_curvature(l, 0, i);
            const double c = strait_quadratic_centre(l, 0, i), z = (double)g[i] + h * c;
            expected += 0.5 * h * c * c - z * c;
            sum += z;
            squares += z * z;
            across += z * ((double)other[i] + h * c);
        }
        CU_ASSERT_DOUBLE_EQUAL(loss, expected, 1e-5 * DIM);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / 20000, 0, 5 / sqrt(20000));
    CU_ASSERT_DOUBLE_EQUAL(squares / 20000, 1, 5 * sqrt(2.0 / 20000));
    CU_ASSERT_DOUBLE_EQUAL(across / 20000, 0, 5 / sqrt(20000));
    strait_learner_gradient(x, w, 499, again);
    for (size_t i = 0; i < DIM; i++)
        CU_ASSERT_EQUAL(again[i], g[i]);
    strait_learner_free(x);
    strait_learner_free(y);
    strait_learn_free(l);
}

static void tensors(void)
{
    struct strait_learn *l =
        strait_test_learn("{\"task\": \"quadratic\", \"dim\": 10, \"layers\": 3}", 1, 1);
    size_t n, first = 0;
    const struct strait_learn_param *p = strait_learn_params(l, &n);
    static const size_t expected[] = {3, 3, 4}; /* 10/3 = 3.3, 20/3 = 6.7, 10 */
    CU_ASSERT_EQUAL_FATAL(n, 3);
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(p[i].n_elems, expected[i]);
        CU_ASSERT_EQUAL(p[i].first, first);
        CU_ASSERT_EQUAL(p[i].layer_index, i);
        first += p[i].n_elems;
    }
    CU_ASSERT_STRING_EQUAL(p[2].layer, "part3");
    CU_ASSERT_EQUAL(strait_learn_n_elems(l), 10);
    strait_learn_free(l);
}

static void refused(void)
{
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"{\"task\": \"quadratic\", \"dim\": 3}", "expected at most as many layers as dimensions"},
        {"{\"task\": \"quadratic\", \"split\": {\"dirichlet\": 1}}",
         "whose examples have no labels"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct strait_training t = strait_test_training(cases[i].json);
        struct strait_learn *l;
        struct strait_error err = {0};
        CU_ASSERT_EQUAL(strait_learn_open(&l, &t, 1, 1, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        strait_check_contains(STRAIT_AT(false, "the error"), err.text, cases[i].text);
    }
}

static const struct strait_test tests[] = {
    {"plain steps of one worker follow the power of 1 - lr h", one_worker},
    {"federated averaging goes to its fixed point, not to the optimum", federated},
    {"noise has the stated variance and is a worker's and a step's own", noise},
    {"the parameters are cut into layers", tensors},
    {"settings that cannot be are refused", refused},
};
STRAIT_SUITE("learn/quadratic", tests);
