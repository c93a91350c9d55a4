#include <float.h>
#include <math.h>
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

/* Defaults: SGD as in the recorded curves (traces/curves/README.md: batch 32, lr 0.05, momentum
 * 0.9); Adam and its kin as in PyTorch. */
static void defaults(void)
{
    struct strait_training t = strait_test_training("{\"task\": \"quadratic\"}");
    CU_ASSERT_STRING_EQUAL(t.task, "quadratic");
    CU_ASSERT_EQUAL(t.optimiser, STRAIT_SGD);
    CU_ASSERT_EQUAL(t.batch, 32);
    CU_ASSERT_EQUAL(t.lr, 0.05);
    CU_ASSERT_EQUAL(t.momentum, 0.9);
    CU_ASSERT_EQUAL(t.weight_decay, 0);
    CU_ASSERT_TRUE(isinf(t.alpha));
    CU_ASSERT_EQUAL(t.samples, 0);
    CU_ASSERT_EQUAL(t.eval_every, 1);
    CU_ASSERT_FALSE(t.charge_eval);
    CU_ASSERT_FALSE(t.keep_state);
    CU_ASSERT_EQUAL(t.options[0], 1000);
    t = strait_test_training("{\"task\": \"quadratic\", \"optimiser\": \"adamw\"}");
    CU_ASSERT_EQUAL(t.lr, 1e-3);
    CU_ASSERT_EQUAL(t.beta1, 0.9);
    CU_ASSERT_EQUAL(t.beta2, 0.999);
    CU_ASSERT_EQUAL(t.epsilon, 1e-8);
    CU_ASSERT_EQUAL(t.weight_decay, 0.01);
}

static void every_key(void)
{
    const struct strait_training t = strait_test_training(
        "{\"task\": \"quadratic\", \"dim\": 12, \"condition\": 7.5, \"batch\": 8, \"optimiser\": "
        "\"sgd\", \"lr\": 0.1, \"momentum\": 0, \"nesterov\": true, \"weight_decay\": 1e-4, "
        "\"split\": {\"dirichlet\": 0.5}, \"samples\": 100, \"keep_state\": true, \"eval\": "
        "{\"every\": 3, \"samples\": 50, \"charge\": true}}");
    CU_ASSERT_EQUAL(t.options[0], 12);
    CU_ASSERT_EQUAL(t.options[1], 7.5);
    CU_ASSERT_EQUAL(t.batch, 8);
    CU_ASSERT_EQUAL(t.lr, 0.1);
    CU_ASSERT_EQUAL(t.momentum, 0);
    CU_ASSERT_TRUE(t.nesterov);
    CU_ASSERT_EQUAL(t.weight_decay, 1e-4);
    CU_ASSERT_EQUAL(t.alpha, 0.5);
    CU_ASSERT_EQUAL(t.samples, 100);
    CU_ASSERT_TRUE(t.keep_state);
    CU_ASSERT_EQUAL(t.eval_every, 3);
    CU_ASSERT_EQUAL(t.eval_samples, 50);
    CU_ASSERT_TRUE(t.charge_eval);
}

static void refused(void)
{
    static const struct {
        const char *json, *where, *text;
    } cases[] = {
        {"{}", "e.json#/training/task", "expected"},
        {"{\"task\": \"quadratik\"}", "e.json#/training/task",
         "expected a task (strait list tasks), found \"quadratik\", did you mean \"quadratic\"?"},
        {"{\"task\": \"quadratic\", \"optimiser\": \"adams\"}", "e.json#/training/optimiser",
         "expected an optimiser, found \"adams\", did you mean \"adam\"?"},
        {"{\"task\": \"quadratic\", \"lr\": 0}", "e.json#/training/lr", "above 0"},
        {"{\"task\": \"quadratic\", \"momentum\": 1}", "e.json#/training/momentum", "found 1"},
        {"{\"task\": \"quadratic\", \"batch\": 0}", "e.json#/training/batch", "found 0"},
        {"{\"task\": \"quadratic\", \"beta1\": 0.5}", "e.json#/training", "unknown key"},
        {"{\"task\": \"quadratic\", \"optimiser\": \"adam\", \"momentum\": 0.5}",
         "e.json#/training", "unknown key"},
        {"{\"task\": \"quadratic\", \"dimm\": 3}", "e.json#/training", "did you mean \"dim\"?"},
        {"{\"task\": \"quadratic\", \"split\": \"odd\"}", "e.json#/training/split",
         "expected \"even\" or {\"dirichlet\": alpha}, found \"odd\""},
        {"{\"task\": \"quadratic\", \"split\": {\"dirichlet\": 0}}",
         "e.json#/training/split/dirichlet", "found 0"},
        {"{\"task\": \"quadratic\", \"eval\": {\"each\": 1}}", "e.json#/training/eval",
         "unknown key"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_training t;
        struct strait_error err = {0};
        strait_test_context("%s", cases[i].json);
        CU_ASSERT_EQUAL(strait_test_training_try(&t, cases[i].json, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].where);
        strait_check_contains(STRAIT_AT(false, "the error"), err.text, cases[i].text);
    }
}

static const struct strait_test tests[] = {
    {"what is left out has the defaults of the recording and of PyTorch", defaults},
    {"every key is read", every_key},
    {"unknown names, keys and values beyond their range are refused", refused},
};
STRAIT_SUITE("learn/training", tests);
