/* The spread of a point over its seeds. */
#include "analysis/training/spread.h"
#include <math.h>
#include "tests/kit/suite.h"

static json_t *row_of(double accuracy, double total_s, int round)
{
    json_t *row = json_pack("{s:b, s:[], s:f, s:{s:I}, s:{s:{s:f, s:n}}}", "valid", true, "invalid",
                            "total_s", total_s, "bytes", "payload", (json_int_t)1000, "training",
                            "final", "accuracy", accuracy, "loss");
    json_object_set_new(json_object_get(row, "training"), "reached",
                        round < 0 ? json_null()
                                  : json_pack("{s:i, s:f, s:f}", "round", round, "time_s",
                                              10.0 * round, "bytes", 100.0 * round));
    return row;
}

static double value_of(const json_t *row, const char *figure, const char *key)
{
    const json_t *spread = json_object_get(json_object_get(row, "training"), "spread");
    const json_t *value = json_object_get(json_object_get(spread, figure), key);
    CU_ASSERT_PTR_NOT_NULL(value);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* 1, 2 and 6: mean 3, squares 4 + 1 + 9 over 2: sd sqrt 7. */
static void figures(void)
{
    json_t *rows = json_array();
    json_array_append_new(rows, row_of(0.5, 1, 4));
    json_array_append_new(rows, row_of(0.5, 2, 5));
    json_array_append_new(rows, row_of(0.8, 6, -1));
    json_t *row = json_array_get(rows, 0);
    CU_ASSERT_TRUE(strait_training_spread(row, rows));
    CU_ASSERT_DOUBLE_EQUAL(value_of(row, "time_s", "mean"), 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(value_of(row, "time_s", "sd"), sqrt(7), 1e-12);
    CU_ASSERT_EQUAL(value_of(row, "time_s", "least"), 1);
    CU_ASSERT_EQUAL(value_of(row, "time_s", "most"), 6);
    CU_ASSERT_DOUBLE_EQUAL(value_of(row, "accuracy", "mean"), 0.6, 1e-12);
    CU_ASSERT_EQUAL(value_of(row, "bytes", "sd"), 0);
    CU_ASSERT_TRUE(isnan(value_of(row, "loss", "mean")));          /* there is none */
    CU_ASSERT_TRUE(isnan(value_of(row, "reached_round", "mean"))); /* one seed never did */
    const json_t *spread = json_object_get(json_object_get(row, "training"), "spread");
    const json_t *each = json_object_get(json_object_get(spread, "reached_s"), "each");
    CU_ASSERT_EQUAL(json_number_value(json_array_get(each, 1)), 50);
    CU_ASSERT_TRUE(json_is_null(json_array_get(each, 2)));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(row, "training"), "seeds")),
                    3);
    CU_ASSERT_TRUE(json_is_true(json_object_get(row, "valid")));
    json_decref(rows);
}

static void invalid_seed(void)
{
    json_t *rows = json_array(), *bad = row_of(0.5, 1, 1);
    json_array_append_new(rows, row_of(0.5, 1, 1));
    json_array_append_new(rows, bad);
    json_object_set_new(bad, "valid", json_false());
    json_array_append_new(json_object_get(bad, "invalid"), json_string("late"));
    json_t *row = json_array_get(rows, 0);
    CU_ASSERT_TRUE(strait_training_spread(row, rows));
    CU_ASSERT_TRUE(json_is_false(json_object_get(row, "valid")));
    CU_ASSERT_EQUAL(json_array_size(json_object_get(row, "invalid")), 1);
    json_decref(rows);
}

static const struct strait_test tests[] = {
    {"a spread is that of the sample, and a seed that fell short is null", figures},
    {"a seed that is not valid makes the row so", invalid_seed},
};
STRAIT_SUITE("analysis/training/spread", tests);
