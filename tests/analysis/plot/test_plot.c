/* Pictures by the data in their scripts: what is drawn where. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "analysis/place.h"
#include "analysis/plot/plot.h"
#include "analysis/plot/plot_script.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static json_t *row(const char *profile, int clients, double round_s, bool valid)
{
    json_t *codec = profile ? json_pack("{s:s, s:s}", "name", "sz", "profile", profile)
                            : json_pack("{s:s}", "name", "none");
    json_t *row = json_pack("{s:s, s:b, s:s, s:s, s:i, s:{s:O}, s:o, s:{s:s}, s:f, s:f}", "record",
                            "row", "valid", valid, "backend", "fluid", "title", "it's", "clients",
                            clients, "labels", "/codec", codec, "codec", codec, "download_codec",
                            "name", "none", "round_s", round_s, "total_s", round_s);
    struct strait_place place;
    CU_ASSERT_EQUAL_FATAL(strait_place_of_row(&place, row, NULL), 0);
    strait_place_put(row, &place);
    return row;
}

/* The script of a picture of these rows (taken). */
static char *script_of(json_t *rows, const json_t *breakevens, enum strait_plot_y y)
{
    char folder[] = "/tmp/strait-plot-XXXXXX", path[128];
    struct strait_error err = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/p", folder);
    const int status = strait_plot_scaling(path, rows, breakevens, y, NULL, &err);
    CU_ASSERT(status == 0 || err.code == STRAIT_ERR_HOST); /* without gnuplot the script is there */
    char *script = folder_text(folder, "p.gp");
    folder_remove(folder);
    json_decref(rows);
    return script;
}

/* The data under a name, "" where there is none. */
static const char *data_of(char buf[512], const char *script, const char *name)
{
    char begin[64];
    snprintf(begin, sizeof(begin), "$%s << EOD\n", name);
    const char *from = strstr(script, begin);
    const char *end = from ? strstr(from + strlen(begin), "EOD\n") : NULL;
    snprintf(buf, 512, "%.*s", end ? (int)(end - from - (long)strlen(begin)) : 0,
             end ? from + strlen(begin) : "");
    return buf;
}

/* Swept are 2 and 4 clients, looked at 2, 3 and 4. Without compression the round takes 4, 9 and 6
 * s: a straight line from 4 to 6 would pass below the codec's 8 s at 3, which it never does. */
static void baseline(void)
{
    json_t *rows = json_array(), *records = json_array();
    char data[512];
    json_t *with = row("a/p.json", 2, 3, true);
    json_array_append(rows, with);
    json_array_append_new(rows, row("a/p.json", 4, 5, true));
    json_array_append_new(rows, row(NULL, 2, 4, true));
    json_array_append_new(rows, row(NULL, 4, 6, true));
    json_array_append_new(records,
                          json_pack("{s:O, s:O, s:[i,i,i], s:[f,f,f], s:[f,f,f]}", "setting_key",
                                    json_object_get(with, "setting_key"), "codec_key",
                                    json_object_get(with, "codec_key"), "counts", 2, 3, 4, "with_s",
                                    3.0, 8.0, 5.0, "without_s", 4.0, 9.0, 6.0));
    json_decref(with);
    char *script = script_of(json_incref(rows), records, STRAIT_PLOT_TIME);
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "line_0_0"), "2 4\n3 9\n4 6\n");
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "line_0_1"), "2 3\n3 8\n4 5\n");
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "dots_0_0"), "2 4\n4 6\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "'it''s'"));
    free(script);
    script = script_of(rows, records, STRAIT_PLOT_SPEEDUP);
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "line_0_1"), "2 1.33333333\n3 1.125\n4 1.2\n");
    free(script);
    json_decref(records);
}

/* 4 clients are INVALID: the line ends at 2 and begins again at 8. */
static void gap(void)
{
    json_t *rows = json_array();
    char data[512];
    for (int clients = 2; clients <= 16; clients *= 2) {
        json_array_append_new(rows, row(NULL, clients, 2, true));
        json_array_append_new(rows, row("a/p.json", clients, 1, clients != 4));
    }
    char *script = script_of(rows, NULL, STRAIT_PLOT_TIME);
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "line_0_1"), "2 1\n\n8 1\n16 1\n");
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "dots_0_1"), "2 1\n8 1\n16 1\n");
    free(script);
}

/* Two profiles of one base name are two curves, two colours and two lines of the legend; a record
 * of the one is not drawn for the other. */
static void two_profiles(void)
{
    json_t *rows = json_array(), *records = json_array();
    char data[512];
    for (int clients = 2; clients <= 4; clients += 2) {
        json_array_append_new(rows, row(NULL, clients, 4, true));
        json_array_append_new(rows, row("a/p.json", clients, 2, true));
        json_array_append_new(rows, row("b/p.json", clients, 1, true));
    }
    const json_t *b = json_array_get(rows, 2);
    json_array_append_new(records,
                          json_pack("{s:O, s:O, s:s, s:[i,i], s:[f,f], s:[f,f]}", "setting_key",
                                    json_object_get(b, "setting_key"), "codec_key",
                                    json_object_get(b, "codec_key"), "codec", "sz [p]", "counts", 2,
                                    4, "with_s", 8.0, 1.0, "without_s", 4.0, 4.0));
    char *script = script_of(rows, records, STRAIT_PLOT_SPEEDUP);
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "line_0_1"), "2 2\n4 2\n");
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "line_0_2"), "2 0.5\n4 4\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "lc rgb '#0072b2' title 'sz [p] profile=a/p.json'"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "lc rgb '#d55e00' title 'sz [p] profile=b/p.json'"));
    free(script);
    json_decref(records);
}

/* Speed-ups of three codecs at 2, 4, ..., 256 clients: one rises above 1 at 10 and falls below
 * again at 100, one rises at 12, and one at 64. 10 and 12 lie together: sqrt(120) = 10.95. */
static void crossings(void)
{
    static const char *const profiles[] = {"a/p.json", "b/p.json", "c/p.json"};
    static const double with_s[][6] = {{8, 2, 2, 2, 2, 8}, {8, 8, 2, 2, 2, 2}, {8, 8, 8, 2, 2, 2}};
    json_t *rows = json_array(), *records = json_array();
    char data[512];
    for (int clients = 2; clients <= 256; clients *= 2) {
        json_array_append_new(rows, row(NULL, clients, 4, true));
        for (int i = 0; i < 3; i++)
            json_array_append_new(rows, row(profiles[i], clients, 2, true));
    }
    for (size_t i = 0; i < 3; i++) {
        const json_t *of = json_array_get(rows, i + 1);
        json_t *w = json_array();
        for (size_t k = 0; k < 6; k++)
            json_array_append_new(w, json_real(with_s[i][k]));
        json_array_append_new(
            records, json_pack("{s:O, s:O, s:[i,i,i,i,i,i], s:o, s:[f,f,f,f,f,f]}", "setting_key",
                               json_object_get(of, "setting_key"), "codec_key",
                               json_object_get(of, "codec_key"), "counts", 2, 10, 12, 64, 80, 100,
                               "with_s", w, "without_s", 4.0, 4.0, 4.0, 4.0, 4.0, 4.0));
    }
    char *script = script_of(json_incref(rows), records, STRAIT_PLOT_SPEEDUP);
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "cross_0_1"), "10 1\n12 1\n64 1\n");
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "crosslabel_0_1"),
                           "10.95 1 10\u201312\n64 1 64\n");
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "cross_0_0"), "100 1\n");
    CU_ASSERT_CONTAINS(script, "$crosslabel_0_1 using 1:2:3 with labels boxed offset 0,-1.2 ");
    CU_ASSERT_CONTAINS(script, "$crosslabel_0_0 using 1:2:3 with labels boxed offset 0,1.2 ");
    CU_ASSERT_CONTAINS(script, " title 'break-even (clients)'\n");
    /* 0.5 to 2: four times, so a logarithmic axis, with 4^0.06 = 1.0867 to spare at both ends */
    CU_ASSERT_CONTAINS(script, "set logscale y\nset yrange [0.460094:2.17347]\n"
                               "set ytics ('0.5' 0.5, '0.7' 0.7, '1' 1, '1.5' 1.5, '2' 2)\n");
    CU_ASSERT_CONTAINS(script, "set xtics (2, 4, 8, 16, 32, 64, 128, 256)\n"
                               "set xrange [1.83486:279.04]\n");
    CU_ASSERT_CONTAINS(script, "set xlabel 'clients' offset 0,0.3\nset ylabel 'speed-up over no "
                               "compression' offset 0.6,0\n");
    free(script);
    script = script_of(rows, records, STRAIT_PLOT_TIME); /* 2 to 8 s, and no break-even in it */
    CU_ASSERT_PTR_NULL(strstr(script, "cross_0_"));
    CU_ASSERT_PTR_NULL(strstr(script, "break-even"));
    CU_ASSERT_CONTAINS(script, "set ylabel 'time of a round (s)' offset 0.6,0\n");
    CU_ASSERT_CONTAINS(script, "set ytics ('2' 2, '3' 3, '5' 5, '7' 7)\n");
    free(script);
    json_decref(records);
}

/* Nine counts and more have every second tic; near values a linear axis, which begins at 0 for
 * times: 2 to 3 s, and 6 % of 1.5 - 1 to spare: 3 x 1.03 = 3.09. */
static void axes(void)
{
    json_t *rows = json_array();
    for (int i = 0; i < 9; i++) {
        json_array_append_new(rows, row(NULL, 1 + i, 3, true));
        json_array_append_new(rows, row("a/p.json", 1 + i, 2, true));
    }
    json_array_append_new(rows, row("a/p.json", 9, 2.5, true));
    json_object_set_new(json_array_get(rows, 0), "set", json_pack("{s:i}", "/seed", 3));
    char *script = script_of(json_incref(rows), NULL, STRAIT_PLOT_TIME);
    CU_ASSERT_CONTAINS(script, "set xtics (1, 3, 5, 7, 9)\nset xrange [0.917431:9.81]\n"
                               "set yrange [0:3.09]\n");
    CU_ASSERT_CONTAINS(script, "/seed=3; medians of up to 2 repeats");
    free(script);
    script = script_of(rows, NULL, STRAIT_PLOT_SPEEDUP); /* 1 to 1.5 */
    CU_ASSERT_CONTAINS(script, "set yrange [0.970874:1.545]\n");
    free(script);
    /* over 20 times it has 1, 2 and 5 of each decade, over 300 times decades alone */
    rows = json_array();
    json_array_append_new(rows, row(NULL, 2, 0.15, true));
    json_array_append_new(rows, row(NULL, 4, 30, true));
    script = script_of(json_incref(rows), NULL, STRAIT_PLOT_TIME);
    CU_ASSERT_CONTAINS(script, "set ytics ('0.2' 0.2, '0.5' 0.5, '1' 1, '2' 2, '5' 5, '10' 10, "
                               "'20' 20)\n");
    free(script);
    json_array_append_new(rows, row(NULL, 8, 60, true));
    script = script_of(rows, NULL, STRAIT_PLOT_TIME);
    CU_ASSERT_CONTAINS(script, "set ytics ('1' 1, '10' 10)\n");
    free(script);
    /* one value alone lies on no edge, which a rounded one would cut it off by: 1 % to spare */
    rows = json_array();
    json_array_append_new(rows, row("a/p.json", 8, 0.230029107, true));
    script = script_of(rows, NULL, STRAIT_PLOT_TIME);
    CU_ASSERT_CONTAINS(script, "set yrange [0:0.232329]\n");
    free(script);
}

/* Of 27 settings the first panels are drawn, and the subtitle says so; of 40 codecs the legend has
 * small letters. */
static void many(void)
{
    json_t *rows = json_array();
    for (int s = 0; s < 27; s++)
        for (int clients = 2; clients <= 4; clients += 2) {
            json_t *one = row(NULL, clients, 1 + s, true);
            json_object_set_new(json_object_get(one, "labels"), "/seed", json_integer(s));
            json_object_del(one, "setting_key");
            json_object_del(one, "codec_key");
            json_array_append_new(rows, one);
        }
    char *script = script_of(rows, NULL, STRAIT_PLOT_SPEEDUP), said[64];
    snprintf(said, sizeof(said), "%d of 27 settings", 25);
    CU_ASSERT_CONTAINS(script, said);
    CU_ASSERT_CONTAINS(script, "$line_24_0 ");
    CU_ASSERT_PTR_NULL(strstr(script, "$line_25_0 "));
    CU_ASSERT_CONTAINS(script, "time of a round (s)"); /* nothing was compressed */
    free(script);
    rows = json_array();
    for (int c = 0; c < 40; c++) {
        char name[32];
        snprintf(name, sizeof(name), "%d/p.json", c);
        json_array_append_new(rows, row(name, 2, 1, true));
        json_array_append_new(rows, row(name, 4, 1, true));
    }
    script = script_of(rows, NULL, STRAIT_PLOT_TIME);
    /* labels of 23 letters: 1504 / (9 x 23 + 90) = 5, at most 4 columns, so 11 rows: 0.05 + 0.352
     * is more than 0.3, and so 0.02 + 0.209 = 0.229 of the height, less 0.01 */
    CU_ASSERT_CONTAINS(script, "set tmargin at screen 0.219\n");
    CU_ASSERT_CONTAINS(script, " maxcols 4 Left reverse samplen 3 spacing 0.95 font ',9'\n");
    free(script);
}

/* Lines of at most so many letters, also where a word is longer; nothing is cut off. */
static void wrapped(void)
{
    static const struct {
        const char *text, *expected;
        size_t wrap, n_lines;
    } cases[] = {{"a bc d", "'a bc d'", 0, 1},
                 {"a bc d", "'a bc'.\"\\n\".'d'", 4, 2},
                 {"abcdef g", "'abcd'.\"\\n\".'ef g'", 4, 2},
                 {"\u00e4\u00e4 it's", "'\u00e4\u00e4'.\"\\n\".'it''s'", 4, 2},
                 {"\u00e4\u00e4\u00e4\u00e4 b", "'\u00e4\u00e4\u00e4\u00e4'.\"\\n\".'b'", 4, 2},
                 {"", "''", 4, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = NULL;
        size_t len_bytes;
        FILE *out = open_memstream(&text, &len_bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        strait_plot_put_text(out, cases[i].text, cases[i].wrap);
        fclose(out);
        CU_ASSERT_STRING_EQUAL(text, cases[i].expected);
        CU_ASSERT_EQUAL(strait_plot_n_lines(cases[i].text, cases[i].wrap), cases[i].n_lines);
        free(text);
    }
}

/* "one two three four" of 18 letters takes two lines of 17 to 9 letters: 9 gives "one two" and
 * "three four" no more, since that has 10; no word is cut, and one line stays as it is. */
static void balanced(void)
{
    CU_ASSERT_EQUAL(strait_plot_balanced("one two three four", 17), 10);
    CU_ASSERT_EQUAL(strait_plot_balanced("one two three four", 18), 18);
    CU_ASSERT_EQUAL(strait_plot_balanced("abcdefghij kl", 12), 10);
    CU_ASSERT_EQUAL(strait_plot_balanced("", 5), 5);
}

/* In a child whose files take 8 KiB, as on a disk that is full: gnuplot says nothing of it. */
static void full(void)
{
    char folder[] = "/tmp/strait-plot-XXXXXX", path[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/p", folder);
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit small = {8192, 8192};
        struct strait_error err = {0};
        json_t *rows = json_array();
        json_array_append_new(rows, row("a/p.json", 2, 3, true));
        json_array_append_new(rows, row("a/p.json", 4, 5, true));
        json_array_append_new(rows, row(NULL, 2, 4, true));
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        const int status =
            strait_plot_scaling(path, rows, json_array(), STRAIT_PLOT_TIME, NULL, &err);
        _exit(status == 0 ? 0 : err.code == STRAIT_ERR_HOST ? 3 : 1);
    }
    int status = 0;
    CU_ASSERT_FATAL(waitpid(pid, &status, 0) == pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
        strait_test_skip("gnuplot is not installed");
        folder_remove(folder);
    } else {
        CU_ASSERT_EQUAL(status, 1 << 8);
        CU_ASSERT_EQUAL(rmdir(folder), 0); /* nothing is left */
    }
}

/* A prediction's interval, or the range of repeats, is a band, and the axis reaches its ends; a
 * gain has none. */
static void bands(void)
{
    json_t *rows = json_array();
    char data[512];
    for (int n = 2; n <= 8; n *= 2) {
        json_t *one = row("a/p.json", n, n, true);
        json_object_set_new(one, "interval_s", json_pack("[f, f]", 0.5 * n, 3.0 * n));
        json_array_append_new(rows, one);
        json_array_append_new(rows, row(NULL, n, 2 * n, true));
    }
    char *script = script_of(json_incref(rows), NULL, STRAIT_PLOT_TIME);
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "band_0_1"), "2 1 6\n4 2 12\n8 4 24\n");
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "band_0_0"), "");
    CU_ASSERT_CONTAINS(script, "$band_0_1 using 1:2:3 with filledcurves");
    CU_ASSERT_CONTAINS(script, "bands: 90 % intervals");
    double low = 0, high = 0;
    const char *range = strstr(script, "set yrange [");
    CU_ASSERT_PTR_NOT_NULL_FATAL(range);
    CU_ASSERT_EQUAL(sscanf(range, "set yrange [%lf:%lf]", &low, &high), 2);
    CU_ASSERT(low < 1 && high > 24);
    free(script);
    json_array_append_new(rows, row("a/p.json", 2, 2.5, true));
    script = script_of(json_incref(rows), NULL, STRAIT_PLOT_TIME);
    CU_ASSERT_STRING_EQUAL(data_of(data, script, "band_0_1"), "2 2 2.5\n");
    CU_ASSERT_CONTAINS(script, "medians of up to 2 repeats; bands: their range");
    free(script);
    script = script_of(rows, NULL, STRAIT_PLOT_SPEEDUP);
    CU_ASSERT_PTR_NULL(strstr(script, "band"));
    free(script);
}

/* A gnuplot that says no to the first kind of picture is not asked for the second, and the script
 * stays for another one. */
static void drawn_no_further(void)
{
    static const char fake[] =
        "#!/bin/sh\nfor a; do case $a in svg=1|png=1) echo $a >>asked; exit 1;; esac; done\n";
    char folder[] = "/tmp/strait-plot-XXXXXX", path[128], *before = strdup(getenv("PATH"));
    struct strait_error err = {0};
    json_t *rows = json_pack("[o]", row(NULL, 2, 1, true));
    const int here = open(".", O_PATH | O_CLOEXEC);
    CU_ASSERT_FATAL(before && here >= 0 && mkdtemp(folder) && chdir(folder) == 0);
    FILE *f = fopen("gnuplot", "w");
    CU_ASSERT_FATAL(f && fputs(fake, f) >= 0 && fchmod(fileno(f), 0755) == 0 && fclose(f) == 0);
    snprintf(path, sizeof(path), "%s:/usr/bin:/bin", folder);
    setenv("PATH", path, 1);
    CU_ASSERT_EQUAL(strait_plot_scaling("p", rows, NULL, STRAIT_PLOT_TIME, NULL, &err), -1);
    setenv("PATH", before, 1);
    CU_ASSERT(fchdir(here) == 0 && close(here) == 0);
    char *asked = folder_text(folder, "asked"), *script = folder_text(folder, "p.gp");
    CU_ASSERT_STRING_EQUAL(asked, "png=1\n");
    CU_ASSERT_CONTAINS(script, "set ylabel");
    free(asked);
    free(script);
    free(before);
    folder_remove(folder);
    json_decref(rows);
}

static const struct strait_test tests[] = {
    {"a time's interval or range is a band", bands},
    {"what gnuplot does not draw ends the drawing, and the script stays", drawn_no_further},
    {"a disk that is full is told and leaves nothing", full},
    {"no compression is drawn at every count that was looked at", baseline},
    {"a point that is missing is a gap", gap},
    {"settings that share a name are drawn apart", two_profiles},
    {"crossings of 1 are marked, and those close together share a label", crossings},
    {"axes hold what is drawn", axes},
    {"many settings and many codecs", many},
    {"titles are wrapped and never cut", wrapped},
    {"a title of several lines has lines of like length", balanced},
};
STRAIT_SUITE("analysis/plot/plot", tests);
