/* fashion-resnet: its parameters, and its gradient against differences of its loss. Against PyTorch
 * it stands in make torch-check. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "learn/learn.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

static const char *const small = "{\"task\": \"fashion-resnet\", \"batch\": 2, \"samples\": 100, "
                                 "\"eval\": {\"samples\": 40}}";

struct fixture {
    struct strait_learn *l;
    struct strait_learner *x;
    size_t n, n_params;
    const struct strait_learn_param *params;
    float *w, *g, *moved;
};

static void set_up(struct fixture *f)
{
    struct strait_error err = {0};
    f->l = strait_test_learn(small, 1, 3);
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&f->x, f->l, 0, &err), 0);
    f->n = strait_learn_n_elems(f->l);
    f->params = strait_learn_params(f->l, &f->n_params);
    f->w = malloc(f->n * sizeof(*f->w));
    f->g = malloc((f->n + 1) * sizeof(*f->g));
    f->moved = malloc((f->n + 1) * sizeof(*f->moved));
    strait_learn_init(f->l, f->w);
}

static void tear_down(struct fixture *f)
{
    strait_learner_free(f->x);
    strait_learn_free(f->l);
    free(f->w);
    free(f->g);
    free(f->moved);
}

/* Convolutions 9 (16 + 4 x 16^2 + 16 x 32 + 3 x 32^2 + 32 x 64 + 3 x 64^2) = 172,944 - 1,440... in
 * the order of the table: stem 144, stages 9,216, 32,256 + 512 and 129,024 + 2,048; scale and bias
 * of each norm, 2 (16 x 5 + 32 x 5 + 64 x 5) = 1,120; the last layer 650. */
static void parameters(void)
{
    struct fixture f;
    size_t norms = 0;
    set_up(&f);
    CU_ASSERT_EQUAL(f.n, 144 + 9216 + 32256 + 512 + 129024 + 2048 + 1120 + 650);
    CU_ASSERT_EQUAL(f.n, 174970);
    CU_ASSERT_EQUAL(f.n_params, 15 * 3 + 2);
    for (size_t p = 0; p < f.n_params; p++) {
        const struct strait_learn_param *param = &f.params[p];
        if (strcmp(param->type, "GroupNorm") != 0)
            continue;
        norms += param->n_elems;
        for (size_t i = 0; i < param->n_elems; i++)
            CU_ASSERT_EQUAL(f.w[param->first + i], strcmp(param->param, "weight") == 0);
    }
    CU_ASSERT_EQUAL(norms, 1120);
    tear_down(&f);
}

/* Along a direction that follows the gradient's signs, one tensor at a time: the slope is the sum
 * of |g| times the lengths drawn. Steps move the loss by about 1e-4, of which floats keep 1e-2, and
 * central differences lose the square of the step; ReLU's corners are few so near: 2 %. */
static void slopes(void)
{
    struct fixture f;
    set_up(&f);
    for (size_t i = 0; i < f.n; i++) /* norms and biases away from 1 and 0 */
        f.w[i] += 0.2f * (float)(strait_random_unit(9, "moved", i, 0) - 0.5);
    strait_learner_gradient(f.x, f.w, 5, f.g);
    for (size_t p = 0; p < f.n_params; p++) {
        const struct strait_learn_param *param = &f.params[p];
        double slope = 0, loss[2];
        strait_test_context("%s %s", param->layer, param->param);
        for (size_t i = param->first; i < param->first + param->n_elems; i++)
            slope += fabs((double)f.g[i]) * (0.5 + strait_random_unit(9, "length", i, 0));
        CU_ASSERT(slope > 0);
        const double step = 1e-4 / slope;
        for (int side = 0; side < 2; side++) {
            memcpy(f.moved, f.w, f.n * sizeof(*f.w));
            for (size_t i = param->first; i < param->first + param->n_elems; i++)
                f.moved[i] += (float)((side ? step : -step) * (f.g[i] > 0 ? 1 : -1) *
                                      (0.5 + strait_random_unit(9, "length", i, 0)));
            float *unused = malloc(f.n * sizeof(*unused));
            loss[side] = strait_learner_gradient(f.x, f.moved, 5, unused);
            free(unused);
        }
        CU_ASSERT_DOUBLE_EQUAL((loss[1] - loss[0]) / (2 * step), slope, 0.02 * slope);
    }
    tear_down(&f);
}

static void same_bits(void)
{
    struct fixture f;
    struct strait_learner *other;
    struct strait_error err = {0};
    set_up(&f);
    float *again = malloc(f.n * sizeof(*again));
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&other, f.l, 0, &err), 0);
    memcpy(f.moved + 1, f.w, f.n * sizeof(*f.w));
    const double a = strait_learner_gradient(f.x, f.w, 0, f.g);
    strait_learner_gradient(other, f.w, 1, again);
    const double b = strait_learner_gradient(other, f.moved + 1, 0, again);
    CU_ASSERT_EQUAL(a, b);
    CU_ASSERT_EQUAL(memcmp(f.g, again, f.n * sizeof(*again)), 0);
    strait_learner_free(other);
    free(again);
    tear_down(&f);
}

static const struct strait_test tests[] = {
    {"parameters and their first values", parameters},
    {"the gradient is the slope of every tensor", slopes},
    {"the same bits in another learner and place", same_bits},
};
STRAIT_SUITE("learn/fashion_resnet", tests);
