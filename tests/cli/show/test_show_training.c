/* The table of runs that trained: figures in the units of their columns, with the digits that are
 * meant. */
#include "cli/show/show_training.h"
#include <stdlib.h>
#include <string.h>
#include "tests/kit/suite.h"

/* Means and deviations over the seeds. */
static void add(json_t *rows, const char *codec, double accuracy)
{
    json_t *spread =
        json_pack("{s:{s:f, s:f}, s:{s:f, s:f}, s:{s:f, s:f}}", "bytes", "mean", 8e6, "sd", 1e5,
                  "time_s", "mean", 12.0, "sd", 0.5, "loss", "mean", 0.5, "sd", 0.01);
    if (accuracy > 0)
        json_object_set_new(spread, "accuracy",
                            json_pack("{s:f, s:f}", "mean", accuracy, "sd", 0.01));
    json_t *training = json_pack("{s:o}", "spread", spread);
    json_array_append_new(
        rows,
        json_pack("{s:b, s:s, s:s, s:s, s:i, s:f, s:f, s:{s:s}, s:{s:s}, s:{s:s}, s:o}", "valid",
                  true, "backend", "fluid", "setting_key", "one", "codec_key", codec, "clients", 4,
                  "round_s", 1.0, "total_s", 1.0, "codec", "name", codec, "download_codec", "name",
                  "none", "labels", "/codec", codec, "training", training));
}

/* One blank between words. */
static char *shown(const json_t *rows)
{
    struct strait_grid *g = NULL;
    struct strait_error err = {0};
    char *text = NULL;
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(strait_grid_new(&g, rows, &err), 0);
    FILE *f = open_memstream(&text, &n);
    CU_ASSERT_EQUAL(strait_show_training(f, g, &err), 0);
    fclose(f);
    strait_grid_free(g);
    printf("%s", text);
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || (to > text && to[-1] != ' '))
            *to++ = *from;
    *to = '\0';
    return text;
}

/* 8e6 bytes are 8 MB +- 0.1; 0.75 +- 0.01 are 75 % +- 1. Four digits, two of a deviation. */
static void figures(void)
{
    json_t *rows = json_array();
    add(rows, "none", 0.75);
    CU_ASSERT(strait_show_any_training(rows));
    char *text = shown(rows);
    CU_ASSERT_CONTAINS(text, "clients codec MB sent run s loss accuracy %");
    CU_ASSERT_CONTAINS(text, "4 none 8.000 +- 0.10 12.00 +- 0.50 0.5000 +- 0.010 75.00 +- 1.0");
    free(text);
    json_array_clear(rows);
    add(rows, "none", 0.75); /* three times 12 s, as sums leave them */
    json_t *training = json_object_get(json_array_get(rows, 0), "training");
    json_object_set_new(json_object_get(json_object_get(training, "spread"), "time_s"), "sd",
                        json_real(1.8e-15));
    text = shown(rows);
    CU_ASSERT_CONTAINS(text, "8.000 +- 0.10 12.00 +- 0 0.5000 +- 0.010");
    free(text);
    json_array_clear(rows);
    add(rows, "none", 0); /* a task without accuracy has no such column */
    text = shown(rows);
    CU_ASSERT_PTR_NULL(strstr(text, "accuracy"));
    CU_ASSERT_CONTAINS(text, "4 none 8.000 +- 0.10 12.00 +- 0.50 0.5000 +- 0.010");
    free(text);
    json_object_del(json_array_get(rows, 0), "training");
    CU_ASSERT_FALSE(strait_show_any_training(rows));
    json_decref(rows);
}

/* The last row is of this seed, and its two runs reached their target after these times. */
static void reaches(json_t *rows, int seed, double first_s, double second_s)
{
    char setting[16];
    json_t *row = json_array_get(rows, json_array_size(rows) - 1),
           *training = json_object_get(row, "training"),
           *spread = json_object_get(training, "spread");
    snprintf(setting, sizeof(setting), "seed %d", seed);
    json_object_set_new(row, "setting_key", json_string(setting));
    json_object_set_new(json_object_get(row, "labels"), "/seed", json_integer(seed));
    json_object_set_new(training, "until", json_object());
    json_object_set_new(training, "payload", json_string("live"));
    json_object_set_new(spread, "reached_round", json_pack("{s:f, s:f}", "mean", 20.0, "sd", 2.0));
    json_object_set_new(spread, "reached_bytes", json_pack("{s:f, s:f}", "mean", 3e6, "sd", 1e5));
    json_object_set_new(spread, "reached_s",
                        json_pack("{s:f, s:f, s:[o, o]}", "mean", (first_s + second_s) / 2, "sd",
                                  0.5, "each", first_s > 0 ? json_real(first_s) : json_null(),
                                  second_s > 0 ? json_real(second_s) : json_null()));
}

/* Each setting has a sentence for each codec; what did not get there is counted. */
static void targets(void)
{
    json_t *rows = json_array();
    for (int seed = 1; seed <= 2; seed++) {
        add(rows, "none", 0.75);
        reaches(rows, seed, 12, 12);
        add(rows, "sz", 0.75);
        reaches(rows, seed, seed == 1 ? 6 : 24, seed == 1 ? 6 : 24);
    }
    char *text = shown(rows);
    CU_ASSERT_CONTAINS(text, "Trained for real: ");
    CU_ASSERT_CONTAINS(text, "; means over the seeds, +- the deviation of a run.\n");
    CU_ASSERT_CONTAINS(text, "accuracy % target round target s target MB\n");
    CU_ASSERT_CONTAINS(text, "75.00 +- 1.0 20.0 +- 2.0 6.000 +- 0.50 3.000 +- 0.10\n");
    CU_ASSERT_CONTAINS(text, "By time to the target: seed 1, sz: pays (4 clients run)\n");
    CU_ASSERT_CONTAINS(text, "By time to the target: seed 2, sz: never pays (4 clients run)\n");
    free(text);
    reaches(rows, 2, 24, 0);
    text = shown(rows);
    CU_ASSERT_CONTAINS(text, "75.00 +- 1.0 not reached by 1 of 2 seeds - -\n");
    free(text);
    reaches(rows, 2, 0, 0);
    text = shown(rows);
    CU_ASSERT_CONTAINS(text, "75.00 +- 1.0 not reached - -\n");
    free(text);
    json_object_del(json_object_get(json_array_get(rows, 3), "training"), "until");
    text = shown(rows);
    CU_ASSERT_CONTAINS(text, "75.00 +- 1.0 - - -\n");
    free(text);
    json_decref(rows);
}

static const struct strait_test tests[] = {
    {"who reached the target, when, and whether a codec pays", targets},
    {"figures stand in the units of their columns", figures},
};
STRAIT_SUITE("cli/show/show_training", tests);
