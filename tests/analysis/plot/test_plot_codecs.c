/* The picture of many codecs' scores: what its script holds. */
#include <stdlib.h>
#include <string.h>
#include "analysis/plot/plot.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

/* settings: what the row says of the codec beside its name; NULL: nothing. */
static void add(json_t *rows, const char *task, const char *codec, const char *settings,
                double bytes, double accuracy)
{
    json_t *row = json_pack(
        "{s:b, s:s, s:s, s:s, s:s+, s:i, s:f, s:f, s:{s:s}, s:{s:s}, s:{s:{s:s}}, s:{s:s, s:i, "
        "s:{s:{s:f, s:f}, s:{s:f, s:f}, s:{s:f, s:f}, s:{s:f, s:f}}}}",
        "valid", true, "backend", "fluid", "title", "Which codec?", "setting_key", task,
        "codec_key", codec, settings ? settings : "", "clients", 4, "round_s", 1.0, "total_s", 1.0,
        "codec", "name", codec, "download_codec", "name", "none", "labels", "/training", "task",
        task, "training", "task", task, "seeds", 3, "spread", "accuracy", "mean", accuracy, "sd",
        0.02, "loss", "mean", 2 * accuracy, "sd", 0.5, "bytes", "mean", bytes, "sd", 0.0, "time_s",
        "mean", bytes / 1e6, "sd", 0.25);
    if (settings)
        json_object_set_new(json_object_get(row, "codec"), "settings", json_string(settings));
    json_array_append_new(rows, row);
}

/* The script, to be freed; NULL with *err. */
static char *script(const json_t *rows, enum strait_plot_y y, struct strait_error *err)
{
    struct program p;
    char path[4096];
    program_set_up(&p);
    snprintf(path, sizeof(path), "%s/picture", p.folder);
    const int status = strait_plot_codecs(path, rows, y, NULL, err);
    char *text = status == 0 ? program_read(&p, "picture.gp") : NULL;
    program_tear_down(&p);
    return text;
}

static void add_task(json_t *rows, const char *task, double times)
{
    add(rows, task, "none", NULL, 64e6 * times, 0.75);
    add(rows, task, "topk", "error_feedback=no", 2e6 * times, 0.5);
    add(rows, task, "topk", NULL, 2.5e6 * times, 0.625);
    add(rows, task, "sz", NULL, 8e6 * times, 0.25);
    add(rows, task, "sz", "error_feedback=yes", 9e6 * times, 0.375);
    add(rows, task, "block", "type=int4,error_feedback=no", 16e6 * times, 0.125);
    add(rows, task, "zstd", NULL, 4e6 * times, 0.0625);
}

/* Line 1 is the codec of the most bytes. What differs in error feedback alone shares a line,
 * whichever of the two a codec does by itself; what has no other stands in the middle of its own.
 * Points are x, line, deviation. */
static void lines(void)
{
    struct strait_error err = {0};
    json_t *rows = json_array();
    add_task(rows, "fashion-mlp", 1);
    add_task(rows, "fashion-cnn", 2);
    char *text = script(rows, STRAIT_PLOT_ACCURACY, &err);
    json_decref(rows);
    if (!text && err.code == STRAIT_ERR_HOST) {
        strait_test_skip("gnuplot is not installed");
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_CONTAINS(text,
                       "set ytics ('no compression' 0, 'block type=int4' 1, 'sz' 2, 'zstd' 3, "
                       "'topk' 4)");
    CU_ASSERT_CONTAINS(text, "$d0_0_0 << EOD\n12.5 0.83 2\n25 1.83 2\n50 3.83 2\nEOD");
    CU_ASSERT_CONTAINS(text, "$d0_0_1 << EOD\n37.5 2.17 2\n62.5 4.17 2\nEOD");
    CU_ASSERT_CONTAINS(text, "$d0_0_2 << EOD\n6.25 3.00 2\nEOD");
    CU_ASSERT_CONTAINS(text, "$d1_1_1 << EOD\n18 2.17 0\n5 4.17 0\nEOD"); /* MB */
    CU_ASSERT_CONTAINS(text, "$d1_2_1 << EOD\n18 2.17 0.25\n5 4.17 0.25\nEOD");
    CU_ASSERT_CONTAINS(text, "$plain << EOD\n128 0 0\nEOD");
    CU_ASSERT_CONTAINS(text, "set title 'fashion-mlp'");
    CU_ASSERT_CONTAINS(text, "set title 'fashion-cnn'");
    CU_ASSERT_CONTAINS(text, "Which codec?");
    CU_ASSERT_CONTAINS(text, "with error feedback");
    CU_ASSERT_PTR_NULL(strstr(text, "no row"));
    free(text);
}

/* 64 MB to 2 span a factor of 32: logarithmic; accuracies never are. */
static void axes(void)
{
    struct strait_error err = {0};
    json_t *rows = json_array();
    add_task(rows, "fashion-mlp", 1);
    char *text = script(rows, STRAIT_PLOT_LOSS, &err);
    json_decref(rows);
    if (!text && err.code == STRAIT_ERR_HOST) {
        strait_test_skip("gnuplot is not installed");
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_CONTAINS(text, "set xlabel 'final loss'\nset nologscale x\n");
    CU_ASSERT_CONTAINS(text, "set xlabel 'MB sent'\nset logscale x\n");
    CU_ASSERT_CONTAINS(text, "$d0_0_0 << EOD\n0.25 0.83 0.5\n"); /* a loss is no share */
    free(text);
}

/* What one task lacks is named, a few by name. */
static void holes(void)
{
    struct strait_error err = {0};
    json_t *rows = json_array();
    add_task(rows, "fashion-mlp", 1);
    add(rows, "fashion-cnn", "none", NULL, 64e6, 0.75);
    add(rows, "fashion-cnn", "topk", "error_feedback=no", 2e6, 0.5);
    char *text = script(rows, STRAIT_PLOT_ACCURACY, &err);
    if (!text && err.code == STRAIT_ERR_HOST) {
        json_decref(rows);
        strait_test_skip("gnuplot is not installed");
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_CONTAINS(
        text, "no row, diverged or not run: block type=int4 without (fashion-cnn), sz "
              "without (fashion-cnn), sz with (fashion-cnn), zstd (fashion-cnn), topk with "
              "(fashion-cnn)");
    free(text);
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof(name), "other%d", i);
        add(rows, "fashion-mlp", name, NULL, 1e6, 0.5);
    }
    text = script(rows, STRAIT_PLOT_ACCURACY, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_CONTAINS(text, " and 2 more'");
    free(text);
    json_decref(rows);
}

static void refused(void)
{
    struct strait_error err = {0};
    json_t *rows = json_array(), *row;
    size_t i;
    add_task(rows, "quadratic", 1);
    json_array_foreach (rows, i, row)
        json_object_del(json_object_get(json_object_get(row, "training"), "spread"), "accuracy");
    CU_ASSERT_PTR_NULL(script(rows, STRAIT_PLOT_ACCURACY, &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_CONTAINS(err.text, "with an accuracy, found none");
    json_decref(rows);
}

static const struct strait_test tests[] = {
    {"with and without error feedback is one line, the most bytes first", lines},
    {"bytes are logarithmic where they differ much, scores are not", axes},
    {"points that are not there are named", holes},
    {"rows without a score are refused", refused},
};

STRAIT_SUITE("analysis/plot/plot_codecs", tests);
