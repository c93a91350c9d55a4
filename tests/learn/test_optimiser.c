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

static const struct strait_test tests[] = {
    {"SGD with momentum takes PyTorch's steps, with Nesterov's too", sgd},
};
STRAIT_SUITE("learn/optimiser", tests);
