/* Optimisers against their formulas in double precision. */
#include <math.h>
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

enum { DIM = 10, STEPS = 6 };

static float gradient_at(int step, size_t i)
{
    return (float)sin(1.7 * step + 0.9 * (double)i);
}

/* Steps through two ranges, saved and loaded into another optimiser half-way. */
static void steps(float *w, const char *json)
{
    struct strait_learn *l =
        strait_test_learn("{\"task\": \"quadratic\", \"dim\": 10, \"layers\": 2}", 1, 1);
    const struct strait_training t = strait_test_training(json);
    struct strait_optimiser *o, *other;
    CU_ASSERT_EQUAL_FATAL(strait_optimiser_new(&o, &t, l, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_optimiser_new(&other, &t, l, NULL), 0);
    float g[DIM], state[2 * DIM + 2];
    for (size_t i = 0; i < DIM; i++)
        w[i] = (float)i / 4 - 1;
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < DIM; i++)
            g[i] = gradient_at(step, i);
        if (step == STEPS / 2) {
            CU_ASSERT_FATAL(strait_optimiser_n_state(o) <= sizeof(state) / sizeof(*state));
            strait_optimiser_save(o, state);
            strait_optimiser_load(other, state);
            struct strait_optimiser *kept = o;
            o = other;
            other = kept;
        }
        strait_optimiser_begin(o);
        strait_optimiser_step(o, w, g, 5, DIM);
        strait_optimiser_step(o, w, g, 0, 5);
    }
    strait_optimiser_free(o);
    strait_optimiser_free(other);
    strait_learn_free(l);
}

/* m = 0.9 m + g + 0.01 w; w -= 0.1 m (Nesterov: 0.1 (g + 0.01 w + 0.9 m)); six steps in float32
 * round to 2^-24 of about 3 each: 1e-6. */
static void sgd(void)
{
    for (int nesterov = 0; nesterov < 2; nesterov++) {
        float w[DIM];
        steps(w, nesterov ? "{\"task\": \"quadratic\", \"lr\": 0.1, \"weight_decay\": 0.01, "
                            "\"nesterov\": true}"
                          : "{\"task\": \"quadratic\", \"lr\": 0.1, \"weight_decay\": 0.01}");
        for (size_t i = 0; i < DIM; i++) {
            double v = (double)i / 4 - 1, m = 0;
            for (int step = 0; step < STEPS; step++) {
                const double g = gradient_at(step, i) + 0.01 * v;
                m = 0.9 * m + g;
                v -= 0.1 * (nesterov ? g + 0.9 * m : m);
            }
            CU_ASSERT_DOUBLE_EQUAL(w[i], v, 2e-6);
        }
    }
}

/* Kingma and Ba's algorithm 1 in double. A step moves w by up to lr = 0.05 and rounds it to 2^-24:
 * 1e-6 for six. */
static void adam(void)
{
    for (int decoupled = 0; decoupled < 2; decoupled++) {
        float w[DIM];
        steps(w, decoupled ? "{\"task\": \"quadratic\", \"optimiser\": \"adamw\", \"lr\": 0.05, "
                             "\"weight_decay\": 0.1}"
                           : "{\"task\": \"quadratic\", \"optimiser\": \"adam\", \"lr\": 0.05, "
                             "\"weight_decay\": 0.1}");
        for (size_t i = 0; i < DIM; i++) {
            double x = (double)i / 4 - 1, m = 0, v = 0;
            for (int step = 0; step < STEPS; step++) {
                double g = gradient_at(step, i);
                if (decoupled)
                    x -= 0.05 * 0.1 * x;
                else
                    g += 0.1 * x;
                m = 0.9 * m + 0.1 * g;
                v = 0.999 * v + 0.001 * g * g;
                x -= 0.05 * m / (1 - pow(0.9, step + 1)) /
                     (sqrt(v / (1 - pow(0.999, step + 1))) + 1e-8);
            }
            CU_ASSERT_DOUBLE_EQUAL(w[i], x, 2e-6);
        }
    }
}

/* The first step of Adam is lr sign(g), whatever g: its published property. */
static void first_step(void)
{
    struct strait_learn *l = strait_test_learn("{\"task\": \"quadratic\", \"dim\": 10}", 1, 1);
    const struct strait_training t =
        strait_test_training("{\"task\": \"quadratic\", \"optimiser\": \"adam\"}");
    struct strait_optimiser *o;
    CU_ASSERT_EQUAL_FATAL(strait_optimiser_new(&o, &t, l, NULL), 0);
    for (int again = 0; again < 2; again++) {
        float w[DIM] = {0}, g[DIM];
        for (size_t i = 0; i < DIM; i++)
            g[i] = (i % 2 ? -1 : 1) * (float)pow(10, (double)i - 4);
        strait_optimiser_begin(o);
        strait_optimiser_step(o, w, g, 0, DIM);
        for (size_t i = 0; i < DIM; i++)
            CU_ASSERT_DOUBLE_EQUAL(w[i], i % 2 ? 1e-3 : -1e-3, 2e-7); /* 1e-8 beside 1e-4 */
        strait_optimiser_reset(o); /* the next step is a first one again */
    }
    strait_optimiser_free(o);
    strait_learn_free(l);
}

/* You et al.'s algorithm 2 in double, over the two tensors of five elements. */
static void lamb(void)
{
    float w[DIM];
    steps(w, "{\"task\": \"quadratic\", \"optimiser\": \"lamb\", \"lr\": 0.05, "
             "\"weight_decay\": 0.1}");
    for (size_t first = 0; first < DIM; first += 5) {
        double x[5], m[5] = {0}, v[5] = {0}, r[5];
        for (size_t i = 0; i < 5; i++)
            x[i] = (double)(first + i) / 4 - 1;
        for (int step = 0; step < STEPS; step++) {
            double of_x = 0, of_r = 0;
            for (size_t i = 0; i < 5; i++) {
                const double g = gradient_at(step, first + i);
                m[i] = 0.9 * m[i] + 0.1 * g;
                v[i] = 0.999 * v[i] + 0.001 * g * g;
                r[i] = m[i] / (1 - pow(0.9, step + 1)) /
                           (sqrt(v[i] / (1 - pow(0.999, step + 1))) + 1e-6) +
                       0.1 * x[i];
                of_x += x[i] * x[i];
                of_r += r[i] * r[i];
            }
            for (size_t i = 0; i < 5; i++)
                x[i] -= 0.05 * sqrt(of_x) / sqrt(of_r) * r[i];
        }
        for (size_t i = 0; i < 5; i++)
            CU_ASSERT_DOUBLE_EQUAL(w[first + i], x[i], 2e-6);
    }
}

static const struct strait_test tests[] = {
    {"SGD with momentum takes PyTorch's steps, with Nesterov's too", sgd},
    {"Adam and AdamW take their published steps", adam},
    {"Adam's first step is lr in each element, also after a reset", first_step},
    {"LAMB scales each tensor's step by its norm", lamb},
};
STRAIT_SUITE("learn/optimiser", tests);
