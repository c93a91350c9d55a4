/* Reports of several settings: what the charts, tables and words are made of. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/columns/columns.h"
#include "analysis/report/report_page.h"
#include "analysis/store.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

/* A row of 2 or 4 clients at a rate; an interval of a second around it, half of its time
 * compute. */
static json_t *row(const char *key, const char *rate, int clients, const char *codec,
                   double round_s)
{
    json_t *row = json_pack(
        "{s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:i, s:f, s:[f, f], s:{s:s}, s:{s:s}, s:{s:f, s:f, "
        "s:f, s:f, s:f, s:f}, s:s, s:f, s:{s:i}, s:s, s:{s:s}, s:{s:s}, s:[s, s]}",
        "record", "row", "key", key, "valid", 1, "backend", "fluid", "setting_key", rate,
        "codec_key", codec, "title", "T", "clients", clients, "round_s", round_s, "interval_s",
        round_s - 0.5, round_s + 0.5, "codec", "name", codec, "download_codec", "name", "none",
        "path_s", "compute", round_s / 2, "encode", 0.0, "transfer", round_s / 2, "decode", 0.0,
        "aggregate", 0.0, "other", 0.0, "point", key, "ratio", 1.5, "bytes", "payload", 2500000,
        "sweep", "s", "limits", "text", "a port", "evidence", "basis", "measured pieces",
        "approximations", "no packet is sent", key);
    json_object_set_new(row, "labels",
                        json_pack("{s:s, s:i, s:s}", "/network/client/rate", rate, "/clients",
                                  clients, "/codec", codec));
    return row;
}

static json_t *header(void)
{
    return json_pack(
        "{s:s, s:s, s:s, s:{s:s, s:{s:s, s:s, s:i, s:{s:{s:s}}}, s:{s:[s, s]}, s:{s:i}}, "
        "s:{s:{s:s, s:s}}, "
        "s:{s:{s:s, s:s, s:s}}, s:{s:s}, s:{s:i}, s:s, s:[{s:s, s:n}]}",
        "record", "header", "schema", STRAIT_RESULTS_SCHEMA, "sweep", "s", "experiment", "file",
        "e.json", "base", "model", "cnn", "codec", "none", "clients", 4, "network", "client",
        "rate", "1 Gbps", "vary", "/codec", "none", "sz", "set", "/rounds", 3, "constants", "rto",
        "value", "200 ms", "source", "RFC 6298", "profile", "as", "title", "the default", "machine",
        "a CPU", "source", "measured", "versions", "strait", "1.2", "machine", "cores", 2, "date",
        "2026-01-01", "runs", "backend", "fluid", "control");
}

/* At each of two rates 2 and 4 clients without and with sz; `change` is made to the rows. */
static char *page_of(void (*change)(json_t *rows), const char *timeline)
{
    static const double rounds_s[] = {6, 3, 12, 4, 2, 2, 5, 2};
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    char folder[] = "/tmp/strait-report-XXXXXX", *text = NULL;
    struct strait_store *store;
    struct strait_error err = {0};
    size_t len_bytes, i;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(strait_store_open(&store, folder, true, NULL), 0);
    json_t *head = header(), *made = json_array(), *announced = json_array(), *one;
    for (i = 0; i < 8; i++)
        json_array_append_new(made, row(keys[i], i < 4 ? "1 Gbps" : "5 Gbps", i / 2 % 2 ? 4 : 2,
                                        i % 2 ? "sz" : "none", rounds_s[i]));
    if (change)
        change(made);
    json_array_foreach (made, i, one)
        json_array_append(announced, json_object_get(one, "key"));
    json_object_set_new(json_array_get(json_object_get(head, "runs"), 0), "keys", announced);
    CU_ASSERT_EQUAL(strait_store_begin(store, head, NULL), 0);
    json_decref(head);
    json_array_foreach (made, i, one)
        CU_ASSERT_EQUAL(strait_store_add(store, one, NULL), 0);
    json_decref(made);
    one = json_pack("{s:s, s:s, s:{s:{s:s, s:s}, s:{s:i, s:s}}}", "record", "constants", "key", "k",
                    "constants", "rto", "value", "1 s", "source", "later", "mss", "value", 1448,
                    "source", "Ethernet");
    CU_ASSERT_EQUAL(strait_store_add(store, one, NULL), 0);
    json_decref(one);
    for (i = 0; i < 2; i++) {
        one = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "record", "break-even", "key",
                        i == 0 ? "x" : "y", "sweep", "s", "codec", "sz", "setting",
                        i == 0 ? "1 Gbps" : "", "text", i == 0 ? "from 2 on" : "always");
        CU_ASSERT_EQUAL(strait_store_add(store, one, NULL), 0);
        json_decref(one);
    }
    one = json_pack("{s:s, s:s, s:s, s:s}", "record", "break-even", "key", "z", "sweep", "another",
                    "text", "never seen");
    CU_ASSERT_EQUAL(strait_store_add(store, one, NULL), 0);
    json_decref(one);
    json_t *rows = strait_store_rows(store), *columns = strait_columns(store, rows, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(columns);
    struct strait_names *names;
    CU_ASSERT_EQUAL_FATAL(strait_names_new(&names, rows, &err), 0);
    const struct strait_report_section section = {"out", store,    columns,
                                                  names, timeline, "fluid, round 0"};
    FILE *out = open_memstream(&text, &len_bytes);
    CU_ASSERT_EQUAL(strait_report_put(out, &section, &err), 0);
    fclose(out);
    strait_names_free(names);
    json_decref(columns);
    json_decref(rows);
    strait_store_free(store);
    folder_remove(folder);
    return text;
}

/* Chart i of a page, as JSON. */
static json_t *chart(const char *page, size_t i)
{
    static const char begin[] = "<script type=\"application/json\">";
    const char *at = page;
    for (size_t k = 0; k <= i; k++) {
        at = strstr(at, begin);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        at += strlen(begin);
    }
    json_t *figure = json_loadb(at, (size_t)(strstr(at, "</script>") - at), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(figure);
    return figure;
}

static const json_t *at(const json_t *figure, size_t panel, size_t line)
{
    const json_t *panels = json_object_get(figure, "panels");
    return json_array_get(json_object_get(json_array_get(panels, panel), "lines"), line);
}

static void points(const json_t *line, const char *expected)
{
    char *text = json_dumps(json_object_get(line, "points"), JSON_COMPACT);
    CU_ASSERT_STRING_EQUAL(text ? text : "nothing", expected);
    free(text);
}

static void titled(const json_t *figure, size_t panel, const char *expected)
{
    const json_t *of = json_array_get(json_object_get(figure, "panels"), panel);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(of, "title")), expected);
}

/* Times with their intervals; speed-ups 6 / 3, 12 / 4, 2 / 2 and 5 / 2; of 4 clients the phases. */
static void charts(void)
{
    char *page = page_of(NULL, NULL);
    json_t *figure = chart(page, 0);
    points(at(figure, 0, 0), "[[2.0,6.0,5.5,6.5],[4.0,12.0,11.5,12.5]]");
    points(at(figure, 0, 1), "[[2.0,3.0,2.5,3.5],[4.0,4.0,3.5,4.5]]");
    points(at(figure, 0, 3), "[[2.0,2.0,1.5,2.5],[4.0,2.0,1.5,2.5]]");
    json_decref(figure);
    figure = chart(page, 1);
    points(at(figure, 0, 1), "[[2.0,2.0,null,null],[4.0,3.0,null,null]]");
    points(at(figure, 0, 3), "[[2.0,1.0,null,null],[4.0,2.5,null,null]]");
    json_decref(figure);
    figure = chart(page, 2);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(figure, "panels")), 2); /* a rate each */
    points(at(figure, 0, 0), "[[0.0,6.0,null,null],[1.0,2.0,null,null]]");
    points(at(figure, 1, 0), "[[0.0,2.5,null,null],[1.0,1.0,null,null]]");
    titled(figure, 0, "client rate 1 Gbps"); /* and not what is the same in all, or the codec */
    titled(figure, 1, "client rate 5 Gbps");
    json_decref(figure);
    CU_ASSERT_CONTAINS(page, "Chart: time of a round. Its points are in the table below.");
    CU_ASSERT_CONTAINS(page, "Chart: speed-up over no compression.");
    CU_ASSERT_CONTAINS(page, "<p>Seconds a round on the critical path, with 4 clients.</p>");
    CU_ASSERT_CONTAINS(page,
                       "<tr><td></td><td>4.000</td><td>client rate 1 Gbps, sz</td><td>time of "
                       "a round (s)</td><td>4.000</td><td>3.500</td><td>4.500</td></tr>");
    /* each phase's seconds under a name that holds for all of them */
    CU_ASSERT_CONTAINS(page, "<td>transfer</td><td>critical path (s a round)</td><td>6.000</td>");
    free(page);
}

/* Seven codecs at two rates, each with 2 and 4 clients: 1 to 28 s. */
static void many(json_t *rows)
{
    char key[8], codec[16];
    json_array_clear(rows);
    for (int i = 0; i < 28; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        snprintf(codec, sizeof(codec), "codec %d", i / 4);
        json_array_append_new(
            rows, row(key, i / 2 % 2 ? "5 Gbps" : "1 Gbps", i % 2 ? 4 : 2, codec, i + 1));
    }
}

/* 14 lines are too many for one panel: a panel for each rate, and none for each codec. */
static void panels(void)
{
    char *page = page_of(many, NULL);
    json_t *figure = chart(page, 0);
    CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(figure, "panels")), 2);
    titled(figure, 0, "client rate 1 Gbps");
    titled(figure, 1, "client rate 5 Gbps");
    points(at(figure, 0, 6), "[[2.0,25.0,24.5,25.5],[4.0,26.0,25.5,26.5]]");
    points(at(figure, 1, 0), "[[2.0,3.0,2.5,3.5],[4.0,4.0,3.5,4.5]]");
    json_decref(figure);
    free(page);
}

static void words(void)
{
    char *page = page_of(NULL, "<svg/>");
    /* 12 over 4 is more than 5 over 2 and 6 over 3 */
    CU_ASSERT_CONTAINS(page, "Compression gains most with 4 clients, sz, client rate 1 Gbps: a "
                             "round takes 4.000 s, 3.00 times as fast as without. In 90 of 100 "
                             "cases it lies between 3.500 s and 4.500 s. What limits it: a port.");
    CU_ASSERT_CONTAINS(page, "<details open><summary>2 curves</summary>\n<ul>\n<li>sz, 1 Gbps: "
                             "from 2 on</li>\n<li>sz: always</li>\n</ul>\n</details>");
    CU_ASSERT_PTR_NULL(strstr(page, "never seen"));
    CU_ASSERT_CONTAINS(page, "<summary>8 rows</summary>");
    CU_ASSERT_CONTAINS(page,
                       "<tr><td>2 clients, no compression, client rate 1 Gbps</td><td>fluid"
                       "</td><td>6.000</td><td>5.500</td><td>6.500</td><td>1.000</td><td>"
                       "1.500</td><td>2.500</td><td>a port</td><td>measured pieces</td></tr>");
    CU_ASSERT_CONTAINS(page, "What every rank does when: fluid, round 0.");
    CU_ASSERT_CONTAINS(page, "<svg/></div>");
    free(page);
}

/* The header's constants before those of records; each approximation once. */
static void sources(void)
{
    char *page = page_of(NULL, NULL);
    CU_ASSERT_CONTAINS(page, "<td>rto</td><td>200 ms</td><td>RFC 6298</td>");
    CU_ASSERT_PTR_NULL(strstr(page, "<td>later</td>"));
    CU_ASSERT_CONTAINS(page, "<td>mss</td><td>1448</td><td>Ethernet</td>");
    const char *first = strstr(page, "<li>no packet is sent</li>");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    CU_ASSERT_PTR_NULL(strstr(first + 1, "<li>no packet is sent</li>"));
    CU_ASSERT_CONTAINS(page, "<li>h</li>\n</ul>");
    static const char *const pairs[][2] = {{"version/strait", "1.2"},
                                           {"machine/cores", "2"},
                                           {"date", "2026-01-01"},
                                           {"profile", "the default"},
                                           {"profile/machine", "a CPU"},
                                           {"profile/source", "measured"},
                                           {"/clients", "4"},
                                           {"/network/client/rate", "1 Gbps"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        char expected[96];
        snprintf(expected, sizeof(expected), "<tr><td>%s</td><td>%s</td></tr>", pairs[i][0],
                 pairs[i][1]);
        CU_ASSERT_CONTAINS(page, expected);
    }
    CU_ASSERT_CONTAINS(page, "strait run e.json --on fluid --set &#39;/rounds=3&#39; --out out<");
    CU_ASSERT_PTR_NULL(strstr(page, "One round"));
    free(page);
}

/* Nothing gains: the quickest valid one. The quickest of all is INVALID. */
static void slower(json_t *rows)
{
    size_t i;
    json_t *one;
    json_array_foreach (rows, i, one)
        if (i % 2)
            json_object_set_new(one, "round_s", json_real(20 + (double)i));
    json_object_set_new(json_array_get(rows, 4), "valid", json_false());
    json_object_set_new(json_array_get(rows, 6), "interval_s", json_null());
    json_object_set_new(json_array_get(rows, 6), "limits", json_null());
}

static void quickest(void)
{
    char *page = page_of(slower, NULL);
    CU_ASSERT_CONTAINS(page, "<p class=\"answer\">The quickest of all points is 4 clients, no "
                             "compression, client rate 5 Gbps: a round takes 5.000 s.</p>");
    CU_ASSERT_CONTAINS(page, "<td>2 clients, no compression, client rate 5 Gbps</td><td>INVALID"
                             "</td><td>2.000</td>");
    free(page);
}

static const struct strait_test tests[] = {
    {"charts have times, speed-ups and phases of the most clients", charts},
    {"more lines than a panel holds make a panel for each setting", panels},
    {"the best point is told, and every point is listed", words},
    {"what it rests on stands once, with its source", sources},
    {"where nothing gains the quickest valid point is told", quickest},
};
STRAIT_SUITE("analysis/report/report_sections", tests);
