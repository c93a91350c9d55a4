/* Where the factors of K-FAC are, and what they take, by hand: a perceptron of 784, 3, 3 and 10
 * units. */
#include "learn/factors.h"
#include "tests/kit/fashion.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

#define MLP(optimiser)                                                                             \
    "{\"task\": \"fashion-mlp\", \"width\": 3, \"hidden\": 2, \"optimiser\": \"" optimiser         \
    "\", \"lr\": 0.1}"

/* Weights and biases: 784 x 3 + 3 = 2355, 3 x 3 + 3 = 12, 3 x 10 + 10 = 40: 2407 in all. A has the
 * bias' 1 too: 785, 4 and 4; G 3, 3 and 10. Triangles of d (d + 1) / 2: 308505 and 6, 10 and 6, 10
 * and 55: 308592. */
static void places(void)
{
    static const struct strait_factor_layer expected[] = {
        {.d_in = 785, .d_out = 3, .a = 0, .g = 308505, .weight = 0, .bias = 2352},
        {.d_in = 4, .d_out = 3, .a = 308511, .g = 308521, .weight = 2355, .bias = 2364},
        {.d_in = 4, .d_out = 10, .a = 308527, .g = 308537, .weight = 2367, .bias = 2397}};
    struct strait_factor_layer f;
    struct fashion_folder folder;
    fashion_set_up(&folder, 10, 10);
    struct strait_learn *l = strait_test_learn(MLP("kfac"), 1, 1);
    CU_ASSERT_EQUAL(strait_learn_n_elems(l), 2407);
    CU_ASSERT_EQUAL(strait_learn_n_factor_elems(l), 308592);
    for (size_t i = 0; i < 3; i++) {
        strait_test_context("layer %zu", i);
        CU_ASSERT_FATAL(strait_learn_factor_layer(l, i, &f));
        CU_ASSERT_EQUAL(f.d_in, expected[i].d_in);
        CU_ASSERT_EQUAL(f.d_out, expected[i].d_out);
        CU_ASSERT_EQUAL(f.a, expected[i].a);
        CU_ASSERT_EQUAL(f.g, expected[i].g);
        CU_ASSERT_EQUAL(f.weight, expected[i].weight);
        CU_ASSERT_EQUAL(f.bias, expected[i].bias);
        CU_ASSERT_EQUAL(f.param, 2 * i);
        CU_ASSERT_EQUAL(f.n_inputs, expected[i].d_in - 1);
        CU_ASSERT_TRUE(f.has_bias);
    }
    CU_ASSERT_FALSE(strait_learn_factor_layer(l, 3, &f));
    /* three copies of the triangles, a model of directions and a gradient; the work on the largest
     * factor, 785 x 785, twice in double precision */
    CU_ASSERT_EQUAL(strait_learn_kfac_bytes(l), (3 * 308592 + 2 * 2407) * 4 + 2 * 785 * 785 * 8);
    strait_learn_free(l);
    fashion_tear_down(&folder);
}

static void none(void)
{
    struct strait_factor_layer f;
    struct fashion_folder folder;
    fashion_set_up(&folder, 10, 10);
    struct strait_learn *l = strait_test_learn(MLP("sgd"), 1, 1);
    CU_ASSERT_EQUAL(strait_learn_n_factor_elems(l), 0);
    CU_ASSERT_EQUAL(strait_learn_kfac_bytes(l), 0);
    CU_ASSERT_FALSE(strait_learn_factor_layer(l, 0, &f));
    strait_learn_free(l);
    fashion_tear_down(&folder);
    CU_ASSERT_TRUE(strait_task_has_factors("fashion-mlp"));
    CU_ASSERT_TRUE(strait_task_has_factors("char-transformer"));
    CU_ASSERT_FALSE(strait_task_has_factors("quadratic"));
    CU_ASSERT_FALSE(strait_task_has_factors("fashion"));
}

static const struct strait_test tests[] = {
    {"each layer's factors begin where the last one's end", places},
    {"other optimisers and tasks have none", none},
};
STRAIT_SUITE("learn/factors", tests);
