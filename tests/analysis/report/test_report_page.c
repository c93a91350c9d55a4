/* Reports: nothing in a text leaves its place, and what is said follows from the rows. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/columns/columns.h"
#include "analysis/report/html.h"
#include "analysis/report/report_page.h"
#include "analysis/store.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static const char evil[] = "</script><img src=x onerror='a&b'>\n\"";

static void escaped(void)
{
    char *text = NULL;
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    strait_html_text(out, evil);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, "&lt;/script&gt;&lt;img src=x onerror=&#39;a&amp;b&#39;&gt; "
                                 "&quot;");
    free(text);
}

/* Inside a script element nothing but its end tag counts, and a line end of JavaScript. */
static void json_in_a_script(void)
{
    char *text = NULL;
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    json_t *value = json_pack("{s:s}", "a<", "</script> & \xe2\x80\xa8");
    strait_html_json(out, value);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, "{\"a\\u003c\":\"\\u003c/script\\u003e \\u0026 \\u2028\"}");
    json_t *again = json_loads(text, 0, NULL);
    CU_ASSERT(json_equal(again, value));
    json_decref(again);
    json_decref(value);
    free(text);
}

static json_t *row(const char *key, const char *codec, const char *backend, double round_s)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:i, s:f, s:[f, f], s:{s:s}, s:{s:s}, "
                     "s:{s:f, s:f, s:f, s:f, s:f, s:f}, s:s, s:{s:s}, s:{s:s}, s:[s]}",
                     "record", "row", "key", key, "valid", 1, "backend", backend, "setting_key",
                     "s", "codec_key", codec, "title", evil, "clients", 4, "round_s", round_s,
                     "interval_s", round_s - 1, round_s + 1, "codec", "name", codec,
                     "download_codec", "name", "none", "path_s", "compute", 1.0, "encode", 0.0,
                     "transfer", round_s - 1, "decode", 0.0, "aggregate", 0.0, "other", 0.0,
                     "point", codec, "labels", "/codec", codec, "limits", "text", "server port in",
                     "approximations", "no packet is sent");
}

static json_t *header(const char *backend, const char *keys[2])
{
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:{s:s, s:s, s:i}, s:{s:[s, s]}, s:{}}, s:{s:{s:s, "
                     "s:s}}, s:[{s:s, s:n, s:[s, s]}]}",
                     "record", "header", "schema", STRAIT_RESULTS_SCHEMA, "sweep", "s",
                     "experiment", "file", "e.json", "base", "model", "cnn", "codec", "none",
                     "clients", 4, "vary", "/codec", "none", "sz", "set", "constants", "rto",
                     "value", "200 ms", "source", "RFC 6298", "runs", "backend", backend, "control",
                     "keys", keys[0], keys[1]);
}

static char *page(bool measured)
{
    char folder[] = "/tmp/strait-report-XXXXXX", *text = NULL;
    const char *keys[2][2] = {{"a", "b"}, {"c", "d"}};
    struct strait_store *store;
    struct strait_error err = {0};
    size_t len_bytes;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(strait_store_open(&store, folder, true, NULL), 0);
    for (int i = 0; i < 1 + measured; i++) {
        const char *backend = i == 0 ? "fluid" : "emu";
        json_t *head = header(backend, keys[i]);
        /* 6 s without and 2 s with a codec; measured a quarter more */
        json_t *rows[] = {row(keys[i][0], "none", backend, 6 * (1 + 0.25 * i)),
                          row(keys[i][1], "sz", backend, 2 * (1 + 0.25 * i))};
        CU_ASSERT_EQUAL(strait_store_begin(store, head, NULL), 0);
        for (int k = 0; k < 2; k++) {
            CU_ASSERT_EQUAL(strait_store_add(store, rows[k], NULL), 0);
            json_decref(rows[k]);
        }
        json_decref(head);
    }
    json_t *rows = strait_store_rows(store), *columns = strait_columns(store, rows, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(columns);
    struct strait_names *names;
    CU_ASSERT_EQUAL_FATAL(strait_names_new(&names, rows, &err), 0);
    const struct strait_report_section section = {folder, store, columns, names, NULL, ""};
    FILE *out = open_memstream(&text, &len_bytes);
    strait_report_begin(out, evil, "/* charts */", "/* css */", "/* style */");
    CU_ASSERT_EQUAL(strait_report_put(out, &section, &err), 0);
    strait_report_end(out, "/* script */", "strait report <r>");
    fclose(out);
    strait_names_free(names);
    json_decref(columns);
    json_decref(rows);
    strait_store_free(store);
    folder_remove(folder);
    return text;
}

static void answered(void)
{
    char *text = page(false);
    CU_ASSERT_PTR_NULL(strstr(text, "<img"));
    CU_ASSERT_PTR_NULL(strstr(text, "http:"));
    CU_ASSERT_CONTAINS(text, "default-src 'none'");
    /* 6 s over 2 s */
    CU_ASSERT_CONTAINS(text, "Compression gains most with 4 clients, sz: a round takes 2.000 s, "
                             "3.00 times as fast as without. In 90 of 100 cases it lies between "
                             "1.000 s and 3.000 s. What limits it: server port in.");
    CU_ASSERT_CONTAINS(text, "<td>rto</td><td>200 ms</td><td>RFC 6298</td>");
    CU_ASSERT_CONTAINS(text, "<td>/model</td><td>cnn</td>");
    CU_ASSERT_CONTAINS(text, "<li>no packet is sent</li>");
    CU_ASSERT_CONTAINS(text, "strait run e.json --on fluid --out ");
    CU_ASSERT_CONTAINS(text, "strait report &lt;r&gt;");
    CU_ASSERT_PTR_NULL(strstr(text, "Predicted against measured"));
    free(text);
}

/* Measured rounds are a quarter longer, 2.5 s: the prediction is 20 % below them, and without the 1
 * s of compute a third. */
static void agreed(void)
{
    char *text = page(true);
    CU_ASSERT_CONTAINS(text, "Predicted against measured");
    CU_ASSERT_CONTAINS(text, "<td>4 clients, sz</td><td>round</td><td>2.000</td><td>2.500</td>"
                             "<td>-20.0 %</td><td></td>");
    CU_ASSERT_CONTAINS(text, "<td>1.000</td><td>1.500</td><td>-33.3 %</td><td>NO</td>");
    CU_ASSERT_PTR_NULL(strstr(text, "<td>wait</td>")); /* nobody knows it */
    free(text);
}

static const struct strait_test tests[] = {
    {"texts cannot leave their element", escaped},
    {"JSON cannot leave its script", json_in_a_script},
    {"the answer, its limits and its sources are told", answered},
    {"measured rows are held against predicted ones", agreed},
};
STRAIT_SUITE("analysis/report/report_page", tests);
