/* char-transformer: its text, its sizes, its first loss. The network itself: layers/test_gpt.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "learn/learn.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

static const char *const small =
    "{\"task\": \"char-transformer\", \"layers\": 2, \"width\": 32, \"heads\": 2, \"context\": 32, "
    "\"batch\": 4, \"optimiser\": \"adamw\", \"lr\": 0.005}";

/* Logits begin near 0, so every one of 96 characters is about as likely. */
static void first_loss(void)
{
    struct strait_learn *l = strait_test_learn(small, 2, 1);
    struct strait_learner *x;
    struct strait_score score;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 0, &err), 0);
    /* (96 + 32) 32 + 2 (12 32^2 + 13 32) + 2 32 */
    CU_ASSERT_EQUAL_FATAL(strait_learn_n_elems(l), 4096 + 2 * (12288 + 416) + 64);
    float *w = malloc(strait_learn_n_elems(l) * sizeof(*w)),
          *g = malloc(strait_learn_n_elems(l) * sizeof(*g));
    strait_learn_init(l, w);
    CU_ASSERT_DOUBLE_EQUAL(strait_learner_gradient(x, w, 0, g), log(96), 0.05);
    strait_learner_evaluate(x, w, 21, &score);
    CU_ASSERT_EQUAL(score.n, 21 * 32);
    CU_ASSERT_DOUBLE_EQUAL(score.loss, log(96), 0.05);
    CU_ASSERT_TRUE(strait_learn_has_accuracy(l));
    free(w);
    free(g);
    strait_learner_free(x);
    strait_learn_free(l);
}

/* Who knows how often each character comes in the training text has a loss of 3.269 on the held-out
 * text, counted by another program over all of it; 300 steps must know more. */
static void it_learns(void)
{
    struct strait_training t = strait_test_training(small);
    struct strait_learn *l = strait_test_learn(small, 1, 1);
    struct strait_learner *x;
    struct strait_optimiser *o;
    struct strait_score score;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x, l, 0, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_optimiser_new(&o, &t, l, &err), 0);
    const size_t n = strait_learn_n_elems(l);
    float *w = malloc(n * sizeof(*w)), *g = malloc(n * sizeof(*g));
    strait_learn_init(l, w);
    for (uint64_t step = 0; step < 300; step++) {
        strait_learner_gradient(x, w, step, g);
        strait_optimiser_begin(o);
        strait_optimiser_step(o, w, g, 0, n);
    }
    strait_learner_evaluate(x, w, 200, &score);
    CU_ASSERT_AT_MOST(score.loss, 3.2);
    free(w);
    free(g);
    strait_optimiser_free(o);
    strait_learner_free(x);
    strait_learn_free(l);
}

static void workers_have_topics(void)
{
    char json[512];
    snprintf(json, sizeof(json), "%.*s, \"split\": {\"dirichlet\": 0.1}}", (int)strlen(small) - 1,
             small);
    struct strait_learn *even = strait_test_learn(small, 4, 1),
                        *uneven = strait_test_learn(json, 4, 1);
    long least = 1000000, most = 0;
    for (int k = 0; k < 4; k++) {
        const long n = strait_learn_examples(uneven, k);
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    CU_ASSERT_AT_MOST(strait_learn_examples(even, 0) - strait_learn_examples(even, 3), 1);
    CU_ASSERT_AT_LEAST(most, least + 1000); /* a topic has 1,000 to 7,700 examples of 32 */
    strait_learn_free(even);
    strait_learn_free(uneven);
}

static void heads_that_do_not_divide(void)
{
    const struct strait_training t =
        strait_test_training("{\"task\": \"char-transformer\", \"width\": 100, \"heads\": 3}");
    struct strait_learn *l = NULL;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_learn_open(&l, &t, 1, 1, &err), -1);
    CU_ASSERT_PTR_NULL(l);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a width that heads divides, found 100 and 3 heads");
}

static const struct strait_test tests[] = {
    {"before training all characters are as likely", first_loss},
    {"it learns more than how often characters come", it_learns},
    {"workers differ in their topics", workers_have_topics},
    {"heads that do not divide the width are refused", heads_that_do_not_divide},
};
STRAIT_SUITE("learn/char_transformer", tests);
