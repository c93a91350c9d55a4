/* Comparisons of rows made by hand. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "analysis/compare.h"
#include "tests/kit/suite.h"

static const struct strait_compare_options options = {0.1, 0.005, false};

/* A round of 1 s with 0.5 s compute and 0.3 s transfer, a client that encodes 0.1 s and waits 0.4
 * s, a server that decodes 0.08 s and a client that decodes 0.02 s; all but compute times `scale`.
 */
static json_t *row(const char *backend, const char *point, double scale, const char *control)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:s?, s:s, s:i, s:{}, s:{s:s}, s:f, s:f,"
                     " s:{s:f, s:f, s:f}, s:{s:{s:f, s:f, s:f}, s:{s:f, s:f, s:f}}}",
                     "record", "row", "backend", backend, "point", point, "valid", 1, "control",
                     control, "profile", "p", "clients", 8, "labels", "codec", "name", "sz",
                     "round_s", 0.5 + 0.5 * scale, "wait_s", 0.4 * scale, "path_s", "compute", 0.5,
                     "transfer", 0.3 * scale, "other", 0.0, "busy_s", "client", "encode",
                     0.1 * scale, "decode", 0.02 * scale, "aggregate", 0.0, "server", "encode", 0.0,
                     "decode", 0.08 * scale, "aggregate", 0.0);
}

static json_t *rows_of(json_t *a, json_t *b, json_t *c)
{
    json_t *rows = json_array();
    json_array_append_new(rows, a);
    if (b)
        json_array_append_new(rows, b);
    if (c)
        json_array_append_new(rows, c);
    return rows;
}

static json_t *compare(json_t *rows, struct strait_error *err)
{
    json_t *comparison = strait_compare(rows, NULL, &options, err);
    json_decref(rows);
    return comparison;
}

static const json_t *phase(const json_t *comparison, size_t pair, const char *name)
{
    const json_t *p = json_array_get(json_object_get(comparison, "pairs"), pair);
    return json_object_get(json_object_get(p, "phases"), name);
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool is(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* 1.05 of 1: every phase is 5 % off. Transfer: 0.315 against 0.3. */
static void test_within(void)
{
    json_t *c = compare(rows_of(row("emu", "a", 1, NULL), row("sim", "a", 1.05, NULL), NULL), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(is(c, "within"));
    CU_ASSERT_EQUAL(json_array_size(json_object_get(c, "pairs")), 1);
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "transfer"), "difference_s"), 0.015, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "transfer"), "relative"), 0.05, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "round minus compute"), "measured_s"), 0.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "decode"), "measured_s"), 0.1, 1e-12);
    CU_ASSERT_FALSE(is(phase(c, 0, "round"), "judged"));
    json_decref(c);
}

/* 1.2 of 1: the judged phases are 20 % off; but 20 ms of 0.1 s is above the floor as well. */
static void test_outside(void)
{
    json_t *c = compare(rows_of(row("emu", "a", 1, NULL), row("sim", "a", 1.2, NULL), NULL), NULL);
    static const char *const judged[] = {"encode", "transfer", "wait", "decode",
                                         "round minus compute"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_FALSE(is(c, "within"));
    for (size_t i = 0; i < sizeof(judged) / sizeof(*judged); i++) {
        CU_ASSERT_TRUE(is(phase(c, 0, judged[i]), "judged"));
        CU_ASSERT_FALSE(is(phase(c, 0, judged[i]), "within"));
    }
    /* the round itself is 10 % off: 1.1 against 1.0, and is not what is judged */
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "round"), "relative"), 0.1, 1e-12);
    json_decref(c);
    /* 0.038 of 0.03: encode differs by 0.8 ms of 3, which the floor of 5 ms forgives */
    c = compare(rows_of(row("emu", "a", 0.03, NULL), row("sim", "a", 0.038, NULL), NULL), NULL);
    CU_ASSERT_TRUE(is(phase(c, 0, "encode"), "within"));
    CU_ASSERT_TRUE(is(c, "within"));
    json_decref(c);
}

/* The larger of tolerance and floor counts, not their sum: 10 % of 0.1 s are 10 ms, so that 12 ms
 * are outside, which 10 ms and the floor of 5 would let pass. Encode is 0.1 s times the scale. */
static void test_larger_counts(void)
{
    json_t *c = compare(rows_of(row("emu", "a", 1, NULL), row("sim", "a", 1.12, NULL), NULL), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "encode"), "difference_s"), 0.012, 1e-12);
    CU_ASSERT_FALSE(is(phase(c, 0, "encode"), "within"));
    CU_ASSERT_FALSE(is(c, "within"));
    json_decref(c);
}

/* Of two the mean, of four the mean of the two in the middle: 0.4 s times 1 and 3; and times 1, 2,
 * 4 and 9. */
static void test_even_median(void)
{
    json_t *rows =
        rows_of(row("sim", "a", 1, NULL), row("emu", "a", 3, NULL), row("emu", "a", 1, NULL));
    json_t *c = compare(rows, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "wait"), "measured_s"), 0.8, 1e-12);
    json_decref(c);
    rows = rows_of(row("sim", "a", 1, NULL), row("emu", "a", 9, NULL), row("emu", "a", 4, NULL));
    json_array_append_new(rows, row("emu", "a", 1, NULL));
    json_array_append_new(rows, row("emu", "a", 2, NULL));
    c = compare(rows, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "wait"), "measured_s"), 0.4 * 3, 1e-12);
    json_decref(c);
}

/* What each side was set to stands beside its pairs. */
static void test_set(void)
{
    json_t *guess = row("sim", "a", 1, NULL), *truth = row("emu", "a", 1, NULL);
    json_object_set_new(guess, "title", json_string("t"));
    json_object_set_new(guess, "set", json_pack("{s:i}", "/clients", 8));
    json_t *c = compare(rows_of(guess, truth, NULL), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(c, "title")), "t");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(c, "set"), "/clients")), 8);
    CU_ASSERT_PTR_NULL(json_object_get(c, "measured_set"));
    json_decref(c);
}

static void test_repeats(void)
{
    json_t *rows =
        rows_of(row("sim", "a", 1, NULL), row("emu", "a", 5, NULL), row("emu", "a", 1.02, NULL));
    json_array_append_new(rows, row("emu", "a", 0.9, NULL));
    json_t *c = compare(rows, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(is(c, "within")); /* the median is 1.02, whatever the slowest was */
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "wait"), "measured_s"), 0.4 * 1.02, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "wait"), "measured_min_s"), 0.36, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(phase(c, 0, "wait"), "measured_max_s"), 2.0, 1e-12);
    json_decref(c);
}

static void test_invalid(void)
{
    struct strait_error err = {0};
    json_t *bad = row("emu", "a", 1, NULL);
    json_object_set_new(bad, "valid", json_false());
    json_object_set_new(bad, "invalid", json_pack("[s]", "late"));
    json_t *c = compare(rows_of(json_deep_copy(bad), row("sim", "a", 1, NULL), NULL), &err);
    CU_ASSERT_PTR_NULL(c);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "INVALID: late"));
    /* beside a valid repeat it is named, not used, and no reason to fail */
    c = compare(rows_of(bad, row("sim", "a", 1, NULL), row("emu", "a", 1, NULL)), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(c, "refused")), 1);
    CU_ASSERT_TRUE(is(c, "within"));
    json_decref(c);
    /* a second point of which only INVALID rows exist makes the whole fail */
    bad = row("emu", "b", 1, NULL);
    json_object_set_new(bad, "valid", json_false());
    c = compare(rows_of(bad, row("sim", "a", 1, NULL), row("emu", "a", 1, NULL)), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_FALSE(is(c, "within"));
    json_decref(c);
}

static void test_controls(void)
{
    json_t *c =
        compare(rows_of(row("emu", "a", 1, NULL), row("sim", "a", 0.5, "no-ramp"), NULL), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_FALSE(is(c, "within")); /* a negative control is held to the same measurement */
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(
                               json_array_get(json_object_get(c, "pairs"), 0), "control")),
                           "no-ramp");
    json_decref(c);
}

static void test_two_folders(void)
{
    json_t *a = rows_of(row("fluid", "a", 1, NULL), row("fluid", "b", 1, NULL), NULL);
    json_t *b = rows_of(row("sim", "b", 1, NULL), NULL, NULL);
    json_t *c = strait_compare(a, b, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(c, "pairs")), 1); /* b alone is in both */
    json_decref(c);
    json_decref(a);
    json_decref(b);
}

static void test_nothing(void)
{
    struct strait_error err = {0};
    CU_ASSERT_PTR_NULL(compare(rows_of(row("sim", "a", 1, NULL), NULL, NULL), &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text, "expected rows of two backends, found only sim");
    err = (struct strait_error){0};
    CU_ASSERT_PTR_NULL(
        compare(rows_of(row("sim", "a", 1, NULL), row("emu", "b", 1, NULL), NULL), &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
}

static const struct strait_test tests[] = {
    {"5 % off is within 10 %, phase by phase", test_within},
    {"20 % off is outside, and a small difference is forgiven", test_outside},
    {"tolerance or floor, whichever is larger", test_larger_counts},
    {"of repeats the median counts and the range is told", test_repeats},
    {"of an even number the median is the mean of the two in the middle", test_even_median},
    {"what was set on either side is told", test_set},
    {"INVALID rows are named and never used", test_invalid},
    {"a negative control is held against the measurement", test_controls},
    {"two folders are paired by point", test_two_folders},
    {"nothing to compare is an error", test_nothing},
};
STRAIT_SUITE("analysis/compare", tests);
