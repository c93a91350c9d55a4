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
    {"what never, always or only somewhere pays, and what is unknown, is said", ends},
};
STRAIT_SUITE("analysis/training/target", tests);
