/* Pictures by the data in their scripts: what is drawn where. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const struct strait_test tests[] = {
    {"no compression is drawn at every count that was looked at", baseline},
    {"a point that is missing is a gap", gap},
    {"settings that share a name are drawn apart", two_profiles},
    {"titles are wrapped and never cut", wrapped},
};
STRAIT_SUITE("analysis/plot/plot", tests);
