#include <stdio.h>
#include <string.h>
#include "traces/curves.h"
#include "bad_traces.h"
#include "tests/kit/suite.h"

static struct strait_curves *load_shipped(void)
{
    struct strait_curves *c = NULL;
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_curves_load(&c, NULL, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    return c;
}

static void the_shipped_table_has_51_runs_of_20_rounds(void)
{
    struct strait_curves *c = load_shipped();
    CU_ASSERT_EQUAL(c->n_curves, 51); /* curves/README.md */
    for (size_t i = 0; i < c->n_curves; i++)
        CU_ASSERT_EQUAL(c->curves[i].n_rounds, 20);
    strait_curves_free(c);
}

static void find_goes_by_all_settings(void)
{
    struct strait_curves *c = load_shipped();
    const struct strait_curve *k = strait_curves_find(c, 8, 1, "update", "rel", 0.03, true);
    CU_ASSERT_PTR_NOT_NULL_FATAL(k);
    CU_ASSERT_STRING_EQUAL(k->run, "k8-s1-update-rel0.03-ef");
    k = strait_curves_find(c, 8, 1, "update", "none", 0, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(k);
    /* first row of the file's run: 1.4751, 1.4751, 0.5090, 32 bits, no error, 0.0963 s */
    CU_ASSERT_EQUAL(k->rounds[0].train_loss, 1.4751);
    CU_ASSERT_EQUAL(k->rounds[0].test_acc_ratio, 0.5090);
    CU_ASSERT_EQUAL(k->rounds[0].bits_per_elem, 32);
    CU_ASSERT_EQUAL(k->rounds[0].rel_l2_err, 0);
    CU_ASSERT_EQUAL(k->rounds[0].local_s, 0.0963);
    CU_ASSERT_PTR_NULL(strait_curves_find(c, 8, 3, "update", "none", 0, false));
    CU_ASSERT_PTR_NULL(strait_curves_find(c, 8, 1, "update", "none", 0, true));
    CU_ASSERT_PTR_NULL(strait_curves_find(c, 8, 1, "update", "rel", 0.02, false));
    strait_curves_free(c);
}

static void final_accuracy_is_the_mean_of_the_last_rounds(void)
{
    /* K=8, mean of seeds 1 and 2 over the last 3 rounds, update coded: none .8599, 1e-3 .8602,
     * 1e-1 .8364, as evaluated when the curves were recorded; four digits are given. */
    const struct {
        const char *codec;
        double par, acc;
    } expected[] = {{"none", 0, .8599}, {"rel", 1e-3, .8602}, {"rel", 1e-1, .8364}};
    struct strait_curves *c = load_shipped();
    for (size_t i = 0; i < 3; i++) {
        double acc = 0;
        for (unsigned seed = 1; seed <= 2; seed++) {
            const struct strait_curve *k =
                strait_curves_find(c, 8, seed, "update", expected[i].codec, expected[i].par, false);
            CU_ASSERT_PTR_NOT_NULL_FATAL(k);
            acc += strait_curve_final_acc(k, 3) / 2;
        }
        CU_ASSERT_DOUBLE_EQUAL(acc, expected[i].acc, 0.00006);
    }
    strait_curves_free(c);
}

static void rounds_to_an_accuracy_are_those_of_the_recorded_evaluation(void)
{
    /* K=8 seed 1, rounds to 83 % and to 85 % (0: never), as evaluated when they were recorded */
    const struct {
        const char *codec;
        double par;
        bool error_feedback;
        unsigned to_83, to_85;
    } expected[] = {
        {"none", 0, false, 11, 17},   {"rel", 3e-2, true, 11, 17}, {"rel", 1e-1, true, 13, 17},
        {"qsgd", 127, false, 11, 16}, {"tern", 0, false, 13, 18},  {"sign", 0, true, 12, 19},
        {"topk", 0.1, true, 12, 18},  {"topk", 0.01, true, 18, 0}, {"topk", 0.01, false, 0, 0},
        {"rel", 3e-1, true, 0, 0},    {"powersgd", 2, true, 20, 0}};
    struct strait_curves *c = load_shipped();
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct strait_curve *k = strait_curves_find(
            c, 8, 1, "update", expected[i].codec, expected[i].par, expected[i].error_feedback);
        CU_ASSERT_PTR_NOT_NULL_FATAL(k);
        CU_ASSERT_EQUAL(strait_curve_rounds_to(k, 0.83), expected[i].to_83);
        CU_ASSERT_EQUAL(strait_curve_rounds_to(k, 0.85), expected[i].to_85);
    }
    strait_curves_free(c);
}

static int load_curves(const char *folder, struct strait_error *err)
{
    char path[1100];
    struct strait_curves *c = NULL;
    snprintf(path, sizeof path, "%s/curves.csv", folder);
    const int status = strait_curves_load(&c, path, err);
    strait_curves_free(c);
    return status;
}

static void every_bad_table_is_one_error_with_its_line(void)
{
    CU_ASSERT_TRUE(strait_bad_cases("curves-", load_curves) >= 12);
}

static const struct strait_test tests[] = {
    {"the shipped table has 51 runs of 20 rounds", the_shipped_table_has_51_runs_of_20_rounds},
    {"find goes by all settings", find_goes_by_all_settings},
    {"final accuracy is the mean of the last rounds",
     final_accuracy_is_the_mean_of_the_last_rounds},
    {"rounds to an accuracy are those of the recorded evaluation",
     rounds_to_an_accuracy_are_those_of_the_recorded_evaluation},
    {"every bad table is one error with its line", every_bad_table_is_one_error_with_its_line},
};
STRAIT_SUITE("traces/curves", tests);
