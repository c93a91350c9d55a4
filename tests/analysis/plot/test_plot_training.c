/* The picture of scores: which points its script holds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/plot/plot.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

enum { N_SEEDS = 3 };

static void add(json_t *rows, const char *codec, double bytes, double accuracy, double reached_s)
{
    json_array_append_new(
        rows, json_pack("{s:b, s:s, s:s, s:s, s:i, s:f, s:f, s:{s:s}, s:{s:s}, s:{s:s}, "
                        "s:{s:i, s:{s:f}, s:{s:{s:f, s:f}, s:{s:f, s:f}, s:{s:o, s:o}, s:{s:f}}}}",
                        "valid", true, "backend", "fluid", "setting_key", "one", "codec_key", codec,
                        "clients", 4, "round_s", 1.0, "total_s", 1.0, "codec", "name", codec,
                        "download_codec", "name", "none", "labels", "/codec", codec, "training",
                        "seeds", N_SEEDS, "until", "accuracy", 0.8, "spread", "bytes", "mean",
                        bytes, "sd", 0.0, "accuracy", "mean", accuracy, "sd", 0.01, "reached_s",
                        "mean", reached_s > 0 ? json_real(reached_s) : json_null(), "sd",
                        json_null(), "reached_bytes", "mean", bytes));
}

/* The script of a picture, to be freed; NULL: no gnuplot. */
static char *script(enum strait_plot_y y, const json_t *rows, struct strait_error *err)
{
    struct program p;
    char path[4096];
    program_set_up(&p);
    snprintf(path, sizeof(path), "%s/picture", p.folder);
    const int status = strait_plot_training(path, rows, y, false, NULL, err);
    char *text = status == 0 ? program_read(&p, "picture.gp") : NULL;
    program_tear_down(&p);
    return text;
}

static void points(void)
{
    struct strait_error err = {0};
    json_t *rows = json_array();
    add(rows, "none", 8e6, 0.75, 12);
    add(rows, "fp16", 4e6, 0.5, 0);
    char *accuracy = script(STRAIT_PLOT_ACCURACY, rows, &err);
    if (!accuracy && err.code == STRAIT_ERR_HOST) {
        json_decref(rows);
        strait_test_skip("gnuplot is not installed");
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(accuracy);
    CU_ASSERT_PTR_NOT_NULL(strstr(accuracy, "\n8 75 1\n")); /* MB, per cent, its deviation */
    CU_ASSERT_PTR_NOT_NULL(strstr(accuracy, "\n4 50 1\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(accuracy, "means over the seeds, bars"));
    free(accuracy);
    for (size_t i = 0; i < 2; i++)
        json_object_set_new(json_object_get(json_array_get(rows, i), "training"), "seeds",
                            json_integer(1));
    accuracy = script(STRAIT_PLOT_ACCURACY, rows, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(accuracy);
    CU_ASSERT_PTR_NOT_NULL(strstr(accuracy, "one seed"));
    CU_ASSERT_PTR_NULL(strstr(accuracy, "means over"));
    free(accuracy);
    char *target = script(STRAIT_PLOT_TIME_TO_TARGET, rows, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(target);
    CU_ASSERT_PTR_NOT_NULL(strstr(target, "\n8 12 0\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(target, "target not reached: 1 of 2"));
    free(target);
    json_array_remove(rows, 0);
    CU_ASSERT_PTR_NULL(script(STRAIT_PLOT_TIME_TO_TARGET, rows, &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    json_decref(rows);
}

/* What each axis is of, with its unit. */
static void axes(void)
{
    static const struct {
        enum strait_plot_y y;
        const char *title;
    } cases[] = {{STRAIT_PLOT_ACCURACY, "final accuracy (%)"},
                 {STRAIT_PLOT_LOSS, "final loss"},
                 {STRAIT_PLOT_TIME_TO_TARGET, "time to the target (s)"}};
    struct strait_error err = {0};
    json_t *rows = json_array();
    add(rows, "none", 8e6, 0.75, 12);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *spread =
            json_object_get(json_object_get(json_array_get(rows, 0), "training"), "spread");
        json_object_set_new(spread, "loss", json_pack("{s:f, s:f}", "mean", 0.5, "sd", 0.0));
        char *text = script(cases[i].y, rows, &err);
        if (!text && err.code == STRAIT_ERR_HOST) {
            strait_test_skip("gnuplot is not installed");
            break;
        }
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_CONTAINS(text, cases[i].title);
        free(text);
    }
    json_decref(rows);
}

static json_t *row_of_setting(const char *key, const char *task, const char *strategy)
{
    json_t *rows = json_array();
    add(rows, "none", 8e6, 0.75, 0);
    json_t *row = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    json_object_set_new(row, "setting_key", json_string(key));
    json_object_set_new(row, "labels",
                        json_pack("{s:s, s:{s:s, s:i}}", "/training/task", task, "/strategy",
                                  "name", strategy, "rounds", 15));
    json_object_set_new(json_object_get(row, "training"), "task", json_string(task));
    json_object_set_new(row, "set", json_pack("{s:i}", "/clients", 4));
    return row;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

/* Two strategies on each of two tasks are two panels, and two names; 36 on one task, more than
 * there are looks, are nine panels, and the picture says so. */
static void panels(void)
{
    struct strait_error err = {0};
    json_t *rows = json_array();
    json_array_append_new(rows, row_of_setting("1", "fashion-mlp", "bsp"));
    json_array_append_new(rows, row_of_setting("2", "fashion-mlp", "slamb"));
    json_array_append_new(rows, row_of_setting("3", "fashion-cnn", "bsp"));
    json_array_append_new(rows, row_of_setting("4", "fashion-cnn", "slamb"));
    char *text = script(STRAIT_PLOT_ACCURACY, rows, &err);
    json_array_clear(rows);
    if (!text && err.code == STRAIT_ERR_HOST) {
        json_decref(rows);
        strait_test_skip("gnuplot is not installed");
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(count(text, "set ylabel 'final"), 2);
    CU_ASSERT_EQUAL(count(text, " title 'bsp'"), 1);
    CU_ASSERT_EQUAL(count(text, " title 'slamb'"), 1);
    CU_ASSERT_EQUAL(count(text, "set: /clients=4"), 1);
    CU_ASSERT_CONTAINS(text, "set title 'fashion-mlp");
    CU_ASSERT_CONTAINS(text, "set title 'fashion-cnn");
    free(text);
    json_array_clear(rows);
    for (int i = 1; i < 3; i++) {
        json_t *row = row_of_setting(i == 1 ? "1" : "2", "fashion-mlp", "bsp");
        json_object_set_new(row, "labels", json_pack("{s:f}", "/training/lr", 0.25 * i));
        json_array_append_new(rows, row);
    }
    text = script(STRAIT_PLOT_ACCURACY, rows, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_CONTAINS(text, " title 'lr 0.25'"); /* a number alone would be one of anything */
    CU_ASSERT_PTR_NULL(strstr(text, "set title 'fashion-mlp")); /* the only task there is */
    free(text);
    json_array_clear(rows);
    for (int i = 0; i < 36; i++) {
        char name[16];
        snprintf(name, sizeof(name), "s%d", i);
        json_array_append_new(rows, row_of_setting(name, "fashion-mlp", name));
    }
    text = script(STRAIT_PLOT_ACCURACY, rows, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(count(text, "set ylabel 'final"), 9);
    CU_ASSERT_CONTAINS(text, "9 of 36 panels");
    free(text);
    json_array_remove(rows, 35);
    text = script(STRAIT_PLOT_ACCURACY, rows, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(count(text, "set ylabel 'final"), 1);
    free(text);
    json_decref(rows);
}

static const struct strait_test tests[] = {
    {"each picture says what its axis is of", axes},
    {"settings of a task share a panel", panels},
    {"each codec is a point at its bytes and its score, and who missed the target is counted",
     points},
};
STRAIT_SUITE("analysis/plot/plot_training", tests);
