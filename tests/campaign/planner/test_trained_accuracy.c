/* What a plan knows of codecs from a results folder of runs that trained: by hand, from its
 * rows. */
#include "campaign/planner/trained_accuracy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "analysis/fields.h"
#include "analysis/store.h"
#include "analysis/tradeoff.h"
#include "campaign/planner/known_accuracy.h"
#include "core/hash.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static char folder[64], results[80];

/* A point of four clients with this codec. */
static json_t *point_of(const char *codec)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{\"schema\": \"strait-experiment/1\", \"model\": \"gpt2-small\", \"codec\": %s, "
             "\"clients\": 4, \"strategy\": {\"name\": \"fedavg\", \"rounds\": 4}, \"network\": "
             "{\"client\": {\"rate\": \"1 Gbps\"}, \"server\": {\"rate\": \"1 Gbps\"}}}",
             codec);
    json_t *point = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(point);
    return point;
}

/* A row of that point; training is JSON. */
static json_t *row_of(const json_t *point, const char *training)
{
    char key[STRAIT_KEY_CHARS];
    struct strait_experiment *e;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", point, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(strait_hash_json(key, e->json));
    strait_experiment_free(e);
    return json_pack("{s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:i, s:o}", "record", "row", "key",
                     "0123", "point", key, "valid", 1, "backend", "sim", "model", "gpt2-small",
                     "strategy", "fedavg", "clients", 4, "training", json_loads(training, 0, NULL));
}

/* A folder with that row alone. */
static void write_results(const char *codec, const char *training)
{
    struct strait_store *store;
    struct strait_error err = {0};
    json_t *point = point_of(codec), *row = row_of(point, training),
           *header =
               json_pack("{s:s, s:s, s:[{s:s, s:n, s:[s]}], s:{s:s, s:O}}", "record", "header",
                         "schema", STRAIT_RESULTS_SCHEMA, "runs", "backend", "sim", "control",
                         "keys", "0123", "experiment", "file", "test.json", "base", point);
    snprintf(folder, sizeof(folder), "/tmp/strait-trained-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(results, sizeof(results), "%s/results", folder);
    CU_ASSERT_EQUAL_FATAL(strait_store_open(&store, results, true, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_store_begin(store, header, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_store_add(store, row, &err), 0);
    strait_store_free(store);
    json_decref(point);
    json_decref(row);
    json_decref(header);
}

static json_t *first_entry(double target)
{
    struct strait_error err = {0};
    json_t *entries = json_array();
    CU_ASSERT_EQUAL(strait_trained_accuracy_add(entries, results, target, "here", &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL_FATAL(json_array_size(entries), 1);
    json_t *entry = json_incref(json_array_get(entries, 0));
    json_decref(entries);
    return entry;
}

/* The last three of 0.5, 0.8, 0.86, 0.88 have the mean 2.54 / 3; their distances from it are
 * -0.14 / 3, 0.04 / 3 and 0.1 / 3, so the sample's variance is 0.0312 / 9 / 2. 0.85 is reached in
 * the third round. */
static void one_seed(void)
{
    write_results("\"none\"", "{\"rounds\": [0, 1, 2, 3], \"accuracy\": [0.5, 0.8, 0.86, 0.88], "
                              "\"seeds\": 1, \"spread\": {\"accuracy\": {\"mean\": 0.88, \"sd\": "
                              "null}}}");
    json_t *entry = first_entry(0.85), *late = first_entry(0.9), *none = first_entry(NAN);
    CU_ASSERT_DOUBLE_EQUAL(strait_row_number(entry, "accuracy"), 2.54 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_row_number(entry, "spread"), 2 * sqrt(0.0312 / 18), 1e-12);
    CU_ASSERT_EQUAL(strait_row_number(entry, "rounds"), 3);
    CU_ASSERT_EQUAL(strait_row_number(late, "rounds"), 0);
    CU_ASSERT_EQUAL(strait_row_number(none, "rounds"), 0);
    json_decref(entry);
    json_decref(late);
    json_decref(none);
    folder_remove(folder);
}

/* Three seeds: their mean, and Student's 4.303 for two degrees of freedom. */
static void seeds(void)
{
    write_results("\"none\"", "{\"rounds\": [0], \"accuracy\": [0.8], \"seeds\": 3, \"spread\": "
                              "{\"accuracy\": {\"mean\": 0.83, \"sd\": 0.02}}}");
    json_t *entry = first_entry(0.85);
    CU_ASSERT_DOUBLE_EQUAL(strait_row_number(entry, "accuracy"), 0.83, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_row_number(entry, "spread"), 4.303 * 0.02 / sqrt(3), 1e-5);
    json_decref(entry);
    folder_remove(folder);
}

/* A candidate shares codec, model, strategy and clients with the run, or learns nothing from it. */
static void whose_it_is(void)
{
    static const char sz[] = "{\"name\": \"sz\", \"bound\": {\"range\": 0.01}}";
    struct strait_known_accuracy known;
    struct strait_curves curves = {0};
    write_results(sz, "{\"rounds\": [0], \"accuracy\": [0.8], \"seeds\": 1, \"spread\": null}");
    json_t *entry = first_entry(0.75), *point = point_of(sz), *other = point_of("\"topk\""),
           *row = json_pack("{s:s, s:s, s:i}", "model", "gpt2-small", "strategy", "fedavg",
                            "clients", 4);
    struct strait_plan_question q = {.target = STRAIT_TARGET_ROUND, .known = json_array()};
    json_array_append_new(q.known, entry);
    strait_known_accuracy_of(&known, &q, &curves, point, row);
    CU_ASSERT_TRUE(known.known);
    CU_ASSERT_EQUAL(known.accuracy, 0.8);
    CU_ASSERT_EQUAL(known.n_rounds, 1);
    CU_ASSERT_CONTAINS(known.source, "trained: ");
    strait_known_accuracy_of(&known, &q, &curves, other, row);
    CU_ASSERT_FALSE(known.known);
    json_object_set_new(row, "clients", json_integer(8));
    strait_known_accuracy_of(&known, &q, &curves, point, row);
    CU_ASSERT_FALSE(known.known);
    json_decref(q.known);
    json_decref(point);
    json_decref(other);
    json_decref(row);
    folder_remove(folder);
}

/* Results without training are none of these. */
static void no_training(void)
{
    struct strait_error err = {0};
    json_t *entries = json_array();
    write_results("\"none\"", "{}");
    CU_ASSERT_EQUAL(
        strait_trained_accuracy_add(entries, results, NAN, "plan.json#/accuracy/0", &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_CONTAINS(err.text, "expected results of runs that trained for real");
    json_decref(entries);
    folder_remove(folder);
}

static const struct strait_test tests[] = {
    {"accuracy, spread and rounds of a run are those of its evaluations", one_seed},
    {"of several seeds the mean is taken", seeds},
    {"a run tells of candidates with its codec, model, strategy and clients", whose_it_is},
    {"a folder whose runs did not train is refused", no_training},
};
STRAIT_SUITE("campaign/planner/trained_accuracy", tests);
