/* The picture of predicted against measured, by the data in its script. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/compare.h"
#include "analysis/plot/plot.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static json_t *phase(double predicted_s, double measured_s, double min_s, double max_s)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "predicted_s", predicted_s, "measured_s", measured_s,
                     "measured_min_s", min_s, "measured_max_s", max_s);
}

/* Phase k of nine takes unit_s (k + 1) by prediction; the measured one is twice as long, 1.5 to 3
 * times in the extremes. */
static json_t *pair(int clients, double unit_s, bool within, const char *control)
{
    size_t n;
    const struct strait_compared *phases = strait_compared_phases(&n);
    json_t *all = json_object();
    for (size_t k = 0; k < n; k++) {
        const double s = unit_s * (double)(k + 1);
        json_object_set_new(all, phases[k].name, phase(s, 2 * s, 1.5 * s, 3 * s));
    }
    json_t *pair = json_pack("{s:{}, s:s, s:s, s:i, s:s, s:s, s:o, s:b}", "labels", "codec", "none",
                             "download_codec", "none", "clients", clients, "predicted", "sim",
                             "measured", "emu", "phases", all, "within", within);
    if (control)
        json_object_set_new(pair, "control", json_string(control));
    return pair;
}

/* The script of these pairs (taken). */
static char *script_of(json_t *pairs)
{
    char folder[] = "/tmp/strait-plot-XXXXXX", path[128];
    struct strait_error err = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/p", folder);
    json_t *comparison = json_pack("{s:o}", "pairs", pairs);
    const int status = strait_plot_comparison(path, comparison, 0.25, "a title", &err);
    CU_ASSERT(status == 0 || err.code == STRAIT_ERR_HOST); /* without gnuplot the script is there */
    char *script = folder_text(folder, "p.gp");
    folder_remove(folder);
    json_decref(comparison);
    return script;
}

static const char names[] = "set xtics (\"encode\" 0, \"transfer\" 1, \"wait\" 2, \"decode\" 3, "
                            "\"aggregate\" 4, \"round \u2212\\ncompute\" 5) font ',10'\n"
                            "set xrange [-0.6:5.6]\n";

/* Phases 0 to 4 and 8 of nine are shown, of 0.1 s, 0.2 s ... predicted: in milliseconds. Compute,
 * other and the round, longer than a second when measured, are not. */
static void bars(void)
{
    char *script = script_of(json_pack("[o]", pair(1, 0.05, true, NULL)));
    CU_ASSERT_CONTAINS(script, "$bars_0 << EOD\n0 50 100 75 150\n1 100 200 150 300\n"
                               "2 150 300 225 450\n3 200 400 300 600\n4 250 500 375 750\n"
                               "5 450 900 675 1350\nEOD\n");
    CU_ASSERT_CONTAINS(script, names);
    CU_ASSERT_CONTAINS(script, "set ylabel 'milliseconds'");
    CU_ASSERT_CONTAINS(script, "set title '1 client, none'.'' font ',12'");
    CU_ASSERT_CONTAINS(script, "set lmargin at screen 0.0550\nset rmargin at screen 0.9850\n"
                               "set bmargin at screen 0.1200\nset tmargin at screen 0.9000\n");
    CU_ASSERT_CONTAINS(script, "plot $bars_0 using ($1-0.2):2 with boxes lc rgb '#56b4e9'");
    CU_ASSERT_CONTAINS(script, "'' using ($1+0.2):3 with boxes lc rgb '#d55e00'");
    CU_ASSERT_CONTAINS(script, "'' using ($1+0.2):4:(0):($5-$4) with vectors");
    CU_ASSERT_CONTAINS(script, "lc rgb '#56b4e9' title 'predicted (sim)'");
    CU_ASSERT_CONTAINS(script, "lc rgb '#d55e00' title 'measured (emu)'");
    free(script);
}

/* Phases that nobody measured have no place; rounds have one if there is no part. */
static void measured_alone(void)
{
    json_t *one = pair(2, 0.05, true, NULL), *rounds = pair(2, 0.05, true, NULL);
    static const char *const left_out[] = {"encode",    "wait",  "decode",
                                           "aggregate", "other", "round minus compute"};
    for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++) {
        json_object_del(json_object_get(one, "phases"), left_out[i]);
        json_object_del(json_object_get(rounds, "phases"), left_out[i]);
    }
    char *script = script_of(json_pack("[o]", one));
    CU_ASSERT_CONTAINS(script, "set xtics (\"transfer\" 0) font ',10'\nset xrange [-0.6:0.6]\n");
    free(script);
    json_object_del(json_object_get(rounds, "phases"), "transfer");
    script = script_of(json_pack("[o]", rounds));
    CU_ASSERT_CONTAINS(script, "set xtics (\"round\" 0) font ',10'\nset xrange [-0.6:0.6]\n");
    free(script);
}

/* The second pair reaches 1 s: seconds, for both, named at the left panel alone. Two panels stand
 * side by side, (0.93 - 0.045) / 2 = 0.4425 wide. */
static void two_panels(void)
{
    char *script =
        script_of(json_pack("[o,o]", pair(2, 0.05, true, NULL), pair(4, 0.5, false, "loss")));
    CU_ASSERT_CONTAINS(script, "$bars_0 << EOD\n0 0.05 0.1 0.075 0.15\n");
    CU_ASSERT_CONTAINS(script, "$bars_1 << EOD\n0 0.5 1 0.75 1.5\n");
    CU_ASSERT_CONTAINS(script, "set title '2 clients, none'.'' font ',12' offset 0,-0.4\n"
                               "set ylabel 'seconds'");
    CU_ASSERT_CONTAINS(script,
                       "set title '4 clients, none, control loss'.' (outside tolerance)' font "
                       "',12' offset 0,-0.4\nset ylabel '' ");
    CU_ASSERT_CONTAINS(script, "set lmargin at screen 0.0550\nset rmargin at screen 0.4975\n");
    CU_ASSERT_CONTAINS(script, "set lmargin at screen 0.5425\nset rmargin at screen 0.9850\n");
    free(script);
}

/* One second of either kind suffices, and of a phase that is shown. */
static void unit(void)
{
    json_t *one = pair(2, 0.01, true, NULL);
    json_object_set_new(json_object_get(one, "phases"), "decode", phase(1, 0.5, 0.5, 0.5));
    json_object_set_new(json_object_get(one, "phases"), "compute", phase(7, 8, 8, 8));
    char *script = script_of(json_pack("[o]", one));
    CU_ASSERT_CONTAINS(script, "set ylabel 'seconds'");
    free(script);
    one = pair(2, 0.01, true, NULL);
    json_object_set_new(json_object_get(one, "phases"), "compute", phase(7, 8, 8, 8));
    script = script_of(json_pack("[o]", one));
    CU_ASSERT_CONTAINS(script, "set ylabel 'milliseconds'");
    free(script);
}

/* Twelve pairs have panels, thirteen are points: 1 to 13 units of 0.1 s, predicted on y. The
 * shortest point is 0.1 s on y, the longest 2 x 9 x 1.3 = 23.4 s on x (round minus compute). What
 * took no time has no point. */
static void scatter(void)
{
    json_t *pairs = json_array();
    for (int i = 1; i <= 12; i++)
        json_array_append_new(pairs, pair(i, 0.1 * i, true, NULL));
    char *script = script_of(json_deep_copy(pairs));
    CU_ASSERT_CONTAINS(script, "$bars_11 << EOD\n");
    free(script);
    json_array_append_new(pairs, pair(13, 1.3, true, NULL));
    json_object_set_new(json_object_get(json_array_get(pairs, 1), "phases"), "encode",
                        phase(0, 0.4, 0, 0));
    json_object_set_new(json_object_get(json_array_get(pairs, 2), "phases"), "encode",
                        phase(0.4, 0, 0, 0));
    script = script_of(pairs);
    CU_ASSERT_CONTAINS(script, "$points_0 << EOD\nNaN NaN\n0.2 0.1\n0.8 0.4\n1 0.5\n");
    CU_ASSERT_CONTAINS(script, "$points_5 << EOD\nNaN NaN\nEOD\n"); /* compute: not shown */
    CU_ASSERT_CONTAINS(script, "$points_8 << EOD\nNaN NaN\n1.8 0.9\n");
    CU_ASSERT_CONTAINS(script, "set xrange [0.0666667:35.1]\nset yrange [0.0666667:35.1]\n");
    CU_ASSERT_CONTAINS(script, "  x*1.25 lc rgb '#909090' dt '-' title '25 % tolerance', \\\n"
                               "  x*0.75 lc rgb '#909090' dt '-' notitle, \\\n"
                               "  $points_0 with points pt 7 ps 1.3 lc rgb '#0072b2' title "
                               "'encode'");
    CU_ASSERT_CONTAINS(script, "$points_8 with points pt 7 ps 1.3 lc rgb '#56b4e9' title 'round "
                               "minus compute'");
    free(script);
}

/* Without any point the axes are from 1 ms to 1 s. */
static void no_points(void)
{
    json_t *pairs = json_array();
    for (int i = 1; i <= 13; i++)
        json_array_append_new(pairs, pair(i, 0, true, NULL));
    char *script = script_of(pairs);
    CU_ASSERT_CONTAINS(script, "set xrange [0.001:1]\nset yrange [0.001:1]\n");
    free(script);
}

static void no_pairs(void)
{
    struct strait_error err = {0};
    json_t *comparison = json_pack("{s:[]}", "pairs");
    CU_ASSERT_EQUAL(strait_plot_comparison("/tmp/none", comparison, 0.1, "t", &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a predicted and a measured row, found none");
    json_decref(comparison);
}

static const struct strait_test tests[] = {
    {"bars of each phase, in milliseconds below a second", bars},
    {"phases that were not measured have no place", measured_alone},
    {"panels have their pair's name and verdict", two_panels},
    {"the longest bar that is shown decides the unit", unit},
    {"more than twelve pairs are points around the diagonal", scatter},
    {"axes without points are whole", no_points},
    {"without pairs there is no picture", no_pairs},
};
STRAIT_SUITE("analysis/plot/plot_compare", tests);
