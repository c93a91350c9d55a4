/* Recorded curves: which one stands for a codec, and what a row makes of it. */
#include <math.h>
#include <string.h>
#include "analysis/training/recorded_curve.h"
#include "tests/kit/data.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

#define OWN DATA("tests/data/curves.csv")

static struct strait_curves *load(const char *path)
{
    struct strait_error err = {0};
    struct strait_curves *c = NULL;
    CU_ASSERT_EQUAL(strait_curves_load(&c, path, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    return c;
}

static const char *run_of(const struct strait_curves *curves, unsigned clients, const char *target,
                          const char *spec)
{
    struct strait_codec_spec s;
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&s, spec, NULL), 0);
    const struct strait_curve *c = strait_recorded_curve(curves, clients, 1, target, &s);
    return c ? c->run : "-";
}

static void which(void)
{
    struct strait_curves *own = load(OWN), *shipped = load(NULL);
    CU_ASSERT_STRING_EQUAL(own->model, "my-cnn");
    CU_ASSERT_STRING_EQUAL(own->strategy, "fedavg");
    CU_ASSERT_EQUAL(own->n_elems, 105866);
    CU_ASSERT_EQUAL(own->local_steps, 2);
    static const char spelled[] = "topk:error_feedback=no,ratio=1e-2"; /* b's settings */
    CU_ASSERT_STRING_EQUAL(run_of(own, 3, "update", "none"), "a");
    CU_ASSERT_STRING_EQUAL(run_of(own, 3, "update", "zstd"), "a"); /* loses nothing */
    CU_ASSERT_STRING_EQUAL(run_of(own, 3, "update", spelled), "b");
    CU_ASSERT_STRING_EQUAL(run_of(own, 3, "grad", spelled), "c");
    CU_ASSERT_STRING_EQUAL(run_of(own, 4, "update", spelled), "-");
    CU_ASSERT_STRING_EQUAL(run_of(own, 3, "update", "topk:ratio=0.01"), "-");
    CU_ASSERT_STRING_EQUAL(run_of(own, 3, "update", "topk:ratio=0.02,error_feedback=no"), "-");
    /* names of traces/curves/README.md */
    CU_ASSERT_STRING_EQUAL(run_of(shipped, 8, "update", "sz:range=3e-2,error_feedback=yes"),
                           "k8-s1-update-rel0.03-ef");
    strait_curves_free(own);
    strait_curves_free(shipped);
}

static struct strait_outcome outcome(const char *codec, int n_clients)
{
    static const char text[] =
        "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":3,"
        "\"strategy\":{\"name\":\"fedavg\",\"rounds\":4,\"local_steps\":2},"
        "\"curves\":\"tests/data/curves.csv\",\"until\":{\"accuracy\":0.7},"
        "\"network\":{\"client\":{\"rate\":\"100 Mbps\"},\"server\":{\"rate\":\"100 Mbps\"},"
        "\"tcp\":{\"initial_window\":\"1 GB\"}}}";
    return strait_outcome_of(text, json_pack("{s:s, s:i}", "/codec", codec, "/clients", n_clients),
                             "default", &strait_fluid, (struct strait_trial_options){0});
}

static double at(const json_t *training, const char *list, size_t i)
{
    return json_number_value(json_array_get(json_object_get(training, list), i));
}

/* Rounds of 1, 2, 3 and 4 s against a curve of three: they end at 1, 3 and 6 s. The second has 0.7;
 * by its end two rounds' models have gone down and up between the server and three clients. */
static void row(void)
{
    static const double rounds_s[] = {1, 2, 3, 4};
    struct strait_outcome o = outcome("none", 3);
    const double all_s = o.total_s;
    const double even_s[] = {all_s / 4, all_s / 4, all_s / 4, all_s / 4};
    json_t *training = strait_recorded_row(o.point, rounds_s, 4);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(training, "payload")), "recorded");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(training, "task")), "my-cnn");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(training, "rounds")), 3);
    static const double end_s[] = {1, 3, 6}, accuracy[] = {0.5, 0.7, 0.8}, loss[] = {2.1, 1.6, 1.1};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(at(training, "end_s", i), end_s[i]);
        CU_ASSERT_EQUAL(at(training, "accuracy", i), accuracy[i]);
        CU_ASSERT_EQUAL(at(training, "loss", i), loss[i]);
    }
    const json_t *reached = json_object_get(training, "reached");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(reached, "round")), 1);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(reached, "time_s")), 3);
    json_decref(training);
    training = strait_recorded_row(o.point, even_s, 4);
    CU_ASSERT_EQUAL(at(training, "bytes", 1), 2.0 * 2 * 3 * 4 * 105866);
    json_decref(training);
    training = strait_recorded_row(o.point, rounds_s, 1); /* a shorter run */
    CU_ASSERT_EQUAL(json_array_size(json_object_get(training, "rounds")), 1);
    CU_ASSERT(json_is_null(json_object_get(training, "reached")));
    json_decref(training);
    strait_outcome_free(&o);
}

static void unknown(void)
{
    struct strait_outcome known = outcome("none", 3), other = outcome("none", 4);
    CU_ASSERT_PTR_NOT_NULL(strait_recorded_of(known.experiment));
    CU_ASSERT_PTR_NULL(strait_recorded_of(other.experiment));
    strait_outcome_free(&known);
    strait_outcome_free(&other);
}

static const struct strait_test tests[] = {
    {"a codec's curve is found however its settings are written", which},
    {"a row has the curve's scores at its own times and bytes", row},
    {"other numbers of clients have no curve", unknown},
};
STRAIT_SUITE("analysis/training/recorded_curve", tests);
