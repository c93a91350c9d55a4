/* Time to a target: of codecs beside no compression, count by count. */
#include "analysis/training/target.h"

#include <math.h>
#include <string.h>
#include "tests/kit/suite.h"

/* A row whose two seeds reached the target after these times; 0: not. */
static void add(json_t *rows, const char *codec, int clients, double first_s, double second_s)
{
    json_t *each = json_array();
    const double times[2] = {first_s, second_s};
    for (int i = 0; i < 2; i++)
        json_array_append_new(each, times[i] > 0 ? json_real(times[i]) : json_null());
    const bool all = first_s > 0 && second_s > 0;
    json_t *spread =
        json_pack("{s:{s:o, s:o, s:o}}", "reached_s", "mean",
                  all ? json_real((first_s + second_s) / 2) : json_null(), "sd",
                  all ? json_real(fabs(first_s - second_s) / sqrt(2)) : json_null(), "each", each);
    json_array_append_new(rows, json_pack("{s:s, s:i, s:{s:{s:f}, s:o}}", "codec", codec, "clients",
                                          clients, "training", "until", "accuracy", 0.8, "spread",
                                          spread));
}

/* The text of rows that alternate: without, with. */
static void says(const json_t *rows, const char *expected)
{
    char text[256];
    json_t *speedups = json_array();
    for (size_t i = 0; i + 1 < json_array_size(rows); i += 2)
        json_array_append_new(
            speedups, strait_target_speedup(json_array_get(rows, i + 1), json_array_get(rows, i)));
    CU_ASSERT_STRING_EQUAL(strait_target_pays_text(text, sizeof(text), speedups), expected);
    json_decref(speedups);
}

static void counts(void)
{
    json_t *rows = json_array();
    add(rows, "none", 2, 10, 12); /* 11 s against 12: slower */
    add(rows, "fp16", 2, 12, 12);
    add(rows, "none", 4, 20, 20); /* a seed is missing */
    add(rows, "fp16", 4, 5, 0);
    add(rows, "none", 8, 30, 32); /* 31 s against 10 */
    add(rows, "fp16", 8, 10, 10);
    says(rows,
         "pays from 8 clients on, between counts not known: no target in all seeds at 4 (2, 4, "
         "8 clients run; target not reached in all seeds at 4)");
    const struct strait_target t = strait_target_of(json_array_get(rows, 3));
    CU_ASSERT(t.asked && t.n_seeds == 2 && t.n_reached == 1 && isnan(t.time_s.mean));
    /* 10 and 12: mean 11, sd sqrt 2 */
    CU_ASSERT_DOUBLE_EQUAL(strait_target_of(json_array_get(rows, 0)).time_s.mean, 11, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_target_of(json_array_get(rows, 0)).time_s.sd, sqrt(2), 1e-12);
    json_decref(rows);
}

/* 0.5 at 2 clients and 2 at 8: in logarithms the line crosses 1 half-way, at 4. With seeds whose
 * ratios are 0.5 e^-d and 0.5 e^d the mean logarithm's interval is 12.706 d sqrt 2 / sqrt 2, with
 * d = 0.01 a factor of e^0.127 = 1.1355: the upper line runs from 0.5678 to 2.271, which crosses at
 * 2 x 4^(0.5661 / 1.3863) = 3.523, the lower one at 4.542. */
static void between(void)
{
    const double d = exp(0.01);
    json_t *rows = json_array();
    add(rows, "none", 2, 10 / d, 10 * d);
    add(rows, "fp16", 2, 20, 20);
    add(rows, "none", 8, 40 / d, 40 * d);
    add(rows, "fp16", 8, 20, 20);
    says(rows, "pays from 8 clients on, between counts from about 4 (3.52 to 4.54) (2, 8 clients "
               "run)");
    json_array_clear(rows);
    const double wide = exp(0.1); /* e^1.27: 0.5 to 1.78, 2 to 0.56; 4 / cosh 0.1 */
    add(rows, "none", 2, 10 / wide, 10 * wide);
    add(rows, "fp16", 2, 20, 20);
    add(rows, "none", 8, 40 / wide, 40 * wide);
    add(rows, "fp16", 8, 20, 20);
    says(rows, "pays from 8 clients on, between counts from about 3.98 (2 or fewer to more than 8) "
               "(2, 8 clients run)");
    json_decref(rows);
}

/* With one seed there is a figure, but no interval; with none of either, nothing. */
static void one_seed(void)
{
    char text[256];
    json_t *speedups = json_pack("[[i, f, n, n], [i, f, n, n]]", 2, 0.5, 8, 2.0);
    CU_ASSERT_STRING_EQUAL(strait_target_pays_text(text, sizeof(text), speedups),
                           "pays from 8 clients on, between counts from about 4 (one seed: no "
                           "interval) (2, 8 clients run)");
    json_array_clear(speedups);
    CU_ASSERT_STRING_EQUAL(strait_target_pays_text(text, sizeof(text), speedups), "");
    /* exactly as quick is no gain */
    json_array_append_new(speedups, json_pack("[i, f, f, f]", 2, 1.0, 0.9, 1.1));
    CU_ASSERT_STRING_EQUAL(strait_target_pays_text(text, sizeof(text), speedups),
                           "never pays (2 clients run)");
    /* 1 at 2 clients: the line leaves 1 there; one edge is unknown */
    json_array_append_new(speedups, json_pack("[i, f, f, n]", 8, 2.0, 1.5));
    CU_ASSERT_STRING_EQUAL(strait_target_pays_text(text, sizeof(text), speedups),
                           "pays from 8 clients on, between counts from about 2 (one seed: no "
                           "interval) (2, 8 clients run)");
    json_decref(speedups);
}

/* Rows of one seed have no interval; of two that differ in number neither; without a target there
 * is no ratio at all. */
static void pairs(void)
{
    json_t *rows = json_array(), *ratio;
    add(rows, "none", 3, 10, 10);
    add(rows, "fp16", 3, 5, 5);
    json_t *with = json_array_get(rows, 1), *without = json_array_get(rows, 0);
    json_t *training = json_object_get(with, "training");
    ratio = strait_target_speedup(with, without);
    CU_ASSERT_EQUAL(json_integer_value(json_array_get(ratio, 0)), 3);
    for (size_t i = 1; i < 4; i++) /* both seeds say 2 */
        CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_array_get(ratio, i)), 2, 1e-12);
    json_decref(ratio);
    json_array_remove(
        json_object_get(json_object_get(json_object_get(training, "spread"), "reached_s"), "each"),
        1);
    ratio = strait_target_speedup(with, without);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_array_get(ratio, 1)), 2, 1e-12);
    CU_ASSERT(json_is_null(json_array_get(ratio, 2)) && json_is_null(json_array_get(ratio, 3)));
    json_decref(ratio);
    json_object_del(training, "until");
    CU_ASSERT_PTR_NULL(strait_target_speedup(with, without));
    CU_ASSERT_PTR_NULL(strait_target_speedup(without, with));
    json_decref(rows);
}

static void ends(void)
{
    json_t *rows = json_array();
    add(rows, "none", 2, 10, 10);
    add(rows, "fp16", 2, 0, 0);
    says(rows, "unknown (2 clients run; target not reached in all seeds at 2)");
    json_array_clear(rows);
    add(rows, "none", 2, 10, 10);
    add(rows, "fp16", 2, 9, 9);
    says(rows, "pays (2 clients run)");
    add(rows, "none", 4, 10, 10);
    add(rows, "fp16", 4, 11, 11);
    says(rows, "pays at some of these counts, not at the largest (2, 4 clients run)");
    json_array_remove(rows, 1);
    json_array_remove(rows, 0);
    says(rows, "never pays (4 clients run)");
    json_decref(rows);
}

static const struct strait_test tests[] = {
    {"a codec pays from the count on from which every known time is shorter", counts},
    {"between the counts that were run the crossing is interpolated", between},
    {"one seed has no interval", one_seed},
    {"seeds are held against seeds, one by one", pairs},
    {"what never, always or only somewhere pays, and what is unknown, is said", ends},
};
STRAIT_SUITE("analysis/training/target", tests);
