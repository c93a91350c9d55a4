/* A model that is trained here for its sensitivity, where training has a closed form. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign/trained/sensitivity.h"
#include "learn/quadratic.h"
#include "tests/kit/data.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

enum { DIM = 40, SEED = 5 };

#define TASK                                                                                       \
    "{\"task\": \"quadratic\", \"dim\": 40, \"condition\": 20, \"momentum\": 0, \"lr\": %g}"

static struct strait_experiment *experiment(const char *model, double lr)
{
    char task[200], text[1000];
    struct strait_error err = {0};
    struct strait_experiment *e = NULL;
    snprintf(task, sizeof(task), TASK, lr);
    snprintf(
        text, sizeof(text),
        "{\"schema\": \"strait-experiment/1\", \"model\": \"%s\", \"clients\": 3, \"seed\": %d,"
        " \"strategy\": {\"name\": \"fedavg\"}, \"training\": %s, \"network\": {\"client\":"
        " {\"rate\": \"1 Gbps\"}, \"server\": {\"rate\": \"1 Gbps\"}}}",
        model, SEED, task);
    json_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "x", json, &err), 0);
    json_decref(json);
    return e;
}

/* Plain steps of one worker: w(t) - c = (1 - lr h)^t (0 - c), and a loss of 0.5 h (w - c)^2 above
 * the least; tolerances as in learn/quadratic's test of the same steps. */
static void as_the_closed_form(void)
{
    static const long steps[] = {0, 1, 7, 200};
    char task[200];
    snprintf(task, sizeof(task), TASK, 0.3);
    struct strait_learn *l = strait_test_learn(task, 1, SEED);
    struct strait_experiment *e = experiment(DATA("tests/data/quadratic.csv"), 0.3);
    for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
        struct strait_trained_model *m = NULL;
        struct strait_error err = {0};
        double loss, changed, excess = 0, zero = 0;
        float w[DIM];
        strait_test_context("%ld steps", steps[k]);
        CU_ASSERT_EQUAL_FATAL(strait_trained_model_new(&m, e, steps[k], &err), 0);
        memcpy(w, strait_trained_model_values(m), sizeof(w));
        for (size_t i = 0; i < DIM; i++) {
            const double h = pow(20, -(double)i / (DIM - 1)), c = strait_quadratic_centre(l, 0, i),
                         left = pow(1 - 0.3 * h, (double)steps[k]) * c;
            CU_ASSERT_DOUBLE_EQUAL(w[i], c - left, 1e-5 * (1 + fabs(c)));
            excess += 0.5 * h * left * left;
            zero += 0.5 * h * c * c;
        }
        CU_ASSERT_EQUAL(strait_trained_model_loss(m, &loss, w, &err), 0);
        CU_ASSERT_DOUBLE_EQUAL(loss, excess, 1e-4 * excess);
        memset(w, 0, sizeof(w)); /* the loss of what is given, not of what was trained */
        CU_ASSERT_EQUAL(strait_trained_model_loss(m, &changed, w, &err), 0);
        CU_ASSERT_DOUBLE_EQUAL(changed, zero, 1e-4 * zero);
        strait_trained_model_free(m);
    }
    strait_experiment_free(e);
    strait_learn_free(l);
}

/* Where lr h is 90, each step multiplies by -89: beyond float32 after 20. */
static void refused(void)
{
    struct strait_trained_model *m = NULL;
    struct strait_error err = {0};
    struct strait_experiment *e = experiment(DATA("tests/data/quadratic.csv"), 90);
    CU_ASSERT_EQUAL(strait_trained_model_new(&m, e, 1000, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_CONTAINS(err.text, "training diverged in step ");
    CU_ASSERT_PTR_NULL(m);
    strait_experiment_free(e);
    err = (struct strait_error){0};
    e = experiment(DATA("tests/data/mlp8.csv"), 0.3);
    CU_ASSERT_EQUAL(strait_trained_model_new(&m, e, 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    strait_experiment_free(e);
}

/* Three values of a checkpoint; of a table of two or four, and of no file. */
static void checkpoints(void)
{
    const float given[] = {1.5f, -2, 1e-20f};
    char path[] = "/tmp/strait-checkpoint-XXXXXX";
    struct strait_error err = {0};
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, given, sizeof(given)), (ssize_t)sizeof(given));
    close(fd);
    float *w = strait_checkpoint_read(path, 3, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    CU_ASSERT_EQUAL(memcmp(w, given, sizeof(given)), 0);
    free(w);
    CU_ASSERT_PTR_NULL(strait_checkpoint_read(path, 2, &err));
    CU_ASSERT_STRING_EQUAL(err.text, "expected the 2 float32 of the model's table, found more");
    err = (struct strait_error){0};
    CU_ASSERT_PTR_NULL(strait_checkpoint_read(path, 4, &err));
    CU_ASSERT_STRING_EQUAL(err.text, "expected the 4 float32 of the model's table, found fewer");
    CU_ASSERT_STRING_EQUAL(err.where, path);
    unlink(path);
    err = (struct strait_error){0};
    CU_ASSERT_PTR_NULL(strait_checkpoint_read(path, 3, &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_CONTAINS(err.text, "expected a checkpoint of raw float32");
}

static const struct strait_test tests[] = {
    {"a quadratic is trained to its closed form", as_the_closed_form},
    {"what diverges, and what is another model, is refused", refused},
    {"a checkpoint has as many values as its model", checkpoints},
};
STRAIT_SUITE("campaign/trained/trained_model", tests);
