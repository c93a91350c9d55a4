/* Rows by their places: no two settings share a cell, no two share a label. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/grid.h"
#include "analysis/label.h"
#include "analysis/row_names.h"
#include "analysis/place.h"
#include "tests/kit/suite.h"

/* A row of a resolved point as strait run makes it, which took `round_s`. */
static json_t *row(const char *resolved, const char *labels, double round_s)
{
    json_t *point = json_loads(resolved, 0, NULL), *named = json_loads(labels, 0, NULL);
    CU_ASSERT_FATAL(point != NULL && named != NULL);
    struct strait_place place;
    CU_ASSERT_EQUAL_FATAL(strait_place_of_point(&place, point, NULL), 0);
    json_t *codec = json_deep_copy(json_object_get(point, "codec"));
    json_object_del(codec, "cutoff"); /* which rows do not show */
    json_t *out = json_pack(
        "{s:s, s:b, s:s, s:O, s:o, s:o, s:{s:s}, s:f, s:f}", "record", "row", "valid", 1, "backend",
        "fluid", "clients", json_object_get(point, "clients"), "labels", named, "codec", codec,
        "download_codec", "name", "none", "round_s", round_s, "total_s", 2 * round_s);
    strait_place_put(out, &place);
    json_decref(point);
    return out;
}

/* A point and its labels from the values that differ. */
static json_t *row_of(const char *network, const char *codec, int clients, double round_s)
{
    char point[2048], labels[2048];
    snprintf(point, sizeof(point), "{\"network\":%s,\"codec\":%s,\"clients\":%d}", network, codec,
             clients);
    snprintf(labels, sizeof(labels), "{\"/network\":%s,\"/codec\":%s}", network, codec);
    return row(point, labels, round_s);
}

#define NONE        "{\"name\":\"none\"}"
#define SZ(more)    "{\"name\":\"sz\",\"bound\":{\"range\":1e-3}" more "}"
#define NET(client) "{\"client\":{\"rate\":\"" client "\",\"rtt\":\"10 ms\"}}"

/* The network as an object, two profiles of one base name, two cutoffs, bounds that print alike
 * with six digits: 2 x 6 points are 12 cells, each with the time of its own row. Times are chosen
 * so that a speed-up over another network's baseline would show: none takes 8 s and 16 s. */
static void cells(void)
{
    static const char *const networks[] = {NET("1 Gbps"), NET("2 Gbps")},
                             *const codecs[] = {
                                 NONE,
                                 SZ(""),
                                 SZ(",\"profile\":\"a/p.json\""),
                                 SZ(",\"profile\":\"b/p.json\""),
                                 SZ(",\"cutoff\":512"),
                                 "{\"name\":\"sz\",\"bound\":{\"range\":1.0000001e-3}}"};
    enum { N_CODECS = sizeof(codecs) / sizeof(codecs[0]) };
    json_t *rows = json_array();
    for (size_t n = 0; n < 2; n++)
        for (size_t c = 0; c < N_CODECS; c++)
            json_array_append_new(
                rows, row_of(networks[n], codecs[c], 4, (n == 0 ? 8.0 : 16.0) / (double)(c + 1)));
    struct strait_grid *g;
    CU_ASSERT_EQUAL_FATAL(strait_grid_new(&g, rows, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(g->n_settings, 2);
    CU_ASSERT_EQUAL_FATAL(g->n_codecs, N_CODECS);
    for (size_t n = 0; n < 2; n++)
        for (size_t c = 0; c < N_CODECS; c++) {
            const struct strait_cell *cell = strait_grid_cell(g, n, c, 0);
            CU_ASSERT_EQUAL(cell->n_repeats, 1);
            CU_ASSERT_EQUAL(cell->round_s, (n == 0 ? 8.0 : 16.0) / (double)(c + 1));
            CU_ASSERT_DOUBLE_EQUAL(cell->speedup, (double)(c + 1), 1e-12);
        }
    CU_ASSERT_STRING_EQUAL(g->settings[0].label, "client rate 1 Gbps");
    CU_ASSERT_STRING_EQUAL(g->settings[1].label, "client rate 2 Gbps");
    static const char *const labels[] = {"none",
                                         "sz 1e-3",
                                         "sz 1e-3 [p] profile=a/p.json",
                                         "sz 1e-3 [p] profile=b/p.json",
                                         "sz 1e-3 cutoff=512",
                                         "sz 0.0010000001"};
    for (size_t c = 0; c < N_CODECS; c++)
        CU_ASSERT_STRING_EQUAL(g->codecs[c].label, labels[c]);
    strait_grid_free(g);
    json_decref(rows);
}

/* The same point four times, at 4, 1, 3 and 8 s: the median is (3 + 4) / 2, and what is shown of a
 * row is of the one at 3 s. */
static void repeats(void)
{
    static const double rounds_s[] = {4, 1, 3, 8};
    json_t *rows = json_array();
    for (size_t i = 0; i < 4; i++)
        json_array_append_new(rows, row_of(NET("1 Gbps"), SZ(""), 4, rounds_s[i]));
    struct strait_grid *g;
    CU_ASSERT_EQUAL_FATAL(strait_grid_new(&g, rows, NULL), 0);
    const struct strait_cell *cell = strait_grid_cell(g, 0, 0, 0);
    CU_ASSERT_EQUAL(cell->n_repeats, 4);
    CU_ASSERT_EQUAL(cell->round_s, 3.5);
    CU_ASSERT_EQUAL(cell->round_min_s, 1);
    CU_ASSERT_EQUAL(cell->round_max_s, 8);
    CU_ASSERT_PTR_EQUAL(cell->row, json_array_get(rows, 2));
    strait_grid_free(g);
    json_decref(rows);
}

/* Settings that differ far behind, longer than any fixed room for them; values without a name;
 * values that read alike. */
static void labels(void)
{
    char longer[2][1200], text[1024];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    snprintf(longer[0], sizeof(longer[0]), "{\"server\":{\"note\":\"%s\",\"queue\":1}}", text);
    snprintf(longer[1], sizeof(longer[1]), "{\"server\":{\"note\":\"%s\",\"queue\":[2,3]}}", text);
    const char *const networks[] = {longer[0], longer[1], "\"1\"", "1", "{\"server\":{}}"};
    enum { N = sizeof(networks) / sizeof(networks[0]) };
    json_t *rows = json_array();
    for (size_t i = 0; i < N; i++)
        json_array_append_new(rows, row_of(networks[i], NONE, 4, 1));
    struct strait_names *n;
    CU_ASSERT_EQUAL_FATAL(strait_names_new(&n, rows, NULL), 0);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < i; k++) {
            const char *a = strait_names_setting(n, json_array_get(rows, i)),
                       *b = strait_names_setting(n, json_array_get(rows, k));
            CU_ASSERT_STRING_NOT_EQUAL(a, b);
        }
    strait_names_free(n);
    json_decref(rows);
}

/* Two places of a network with one short name; what all have alike is not repeated. */
static void axes(void)
{
    json_t *rows = json_array();
    static const char *const sites[][2] = {
        {"1 Gbps", "1 Gbps"}, {"1 Gbps", "2 Gbps"}, {"2 Gbps", "1 Gbps"}};
    for (size_t i = 0; i < 3; i++) {
        char network[256];
        snprintf(network, sizeof(network),
                 "{\"overhead\":\"78 B\",\"sites\":[{\"client\":{\"rate\":\"%s\"},\"queue\":\"1 "
                 "MB\"},{\"client\":{\"rate\":\"%s\"},\"queue\":\"1 MB\"}]}",
                 sites[i][0], sites[i][1]);
        json_array_append_new(rows, row_of(network, NONE, 4, 1));
    }
    struct strait_names *n;
    CU_ASSERT_EQUAL_FATAL(strait_names_new(&n, rows, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_names_n_axes(n), 2);
    CU_ASSERT_STRING_EQUAL(strait_names_axis(n, 0), "/network/sites/0/client/rate");
    CU_ASSERT_STRING_EQUAL(strait_names_axis(n, 1), "/network/sites/1/client/rate");
    CU_ASSERT_STRING_EQUAL(strait_names_setting(n, json_array_get(rows, 1)),
                           "/network/sites/0/client/rate 1 Gbps, "
                           "/network/sites/1/client/rate 2 Gbps");
    strait_names_free(n);
    json_decref(rows);
}

/* Of two axes a row may have been varied along one alone, as after --set: the other is left out. */
static void one_axis(void)
{
    json_t *rows = json_array();
    json_array_append_new(rows, row("{\"codec\":" NONE ",\"clients\":4,\"seed\":1}",
                                    "{\"/seed\":1,\"/model\":\"a\"}", 1));
    json_array_append_new(rows, row("{\"codec\":" NONE ",\"clients\":4,\"seed\":2}",
                                    "{\"/seed\":2,\"/model\":\"b\"}", 1));
    json_array_append_new(rows,
                          row("{\"codec\":" NONE ",\"clients\":4,\"seed\":3}", "{\"/seed\":3}", 1));
    struct strait_names *n;
    CU_ASSERT_EQUAL_FATAL(strait_names_new(&n, rows, NULL), 0);
    CU_ASSERT_STRING_EQUAL(strait_names_setting(n, json_array_get(rows, 1)), "seed 2, model b");
    CU_ASSERT_STRING_EQUAL(strait_names_setting(n, json_array_get(rows, 2)), "seed 3");
    strait_names_free(n);
    json_decref(rows);
}

/* A network that has a name is a value as a whole as long as that takes 96 letters; a longer one
 * differs in its name. */
static void long_names(void)
{
    for (int length = 96; length <= 97; length++) {
        json_t *rows = json_array();
        for (int i = 0; i < 2; i++) {
            char network[256];
            snprintf(network, sizeof(network), "{\"name\":\"%0*d\"}", length, i);
            json_array_append_new(rows, row_of(network, NONE, 4, 1));
        }
        struct strait_names *n;
        CU_ASSERT_EQUAL_FATAL(strait_names_new(&n, rows, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(strait_names_n_axes(n), 1);
        CU_ASSERT_STRING_EQUAL(strait_names_axis(n, 0), length == 96 ? "network" : "network name");
        strait_names_free(n);
        json_decref(rows);
    }
}

/* Numbers keep the digits that tell them apart: 1e-3 and its next neighbour, 2^53 and the integer
 * above it, which no double holds. */
static void numbers(void)
{
    static const struct {
        const char *json, *label;
    } cases[] = {{"0.001", "1e-3"},
                 {"0.0010000000000000002", "0.0010000000000000002"},
                 {"20", "20"},
                 {"9007199254740992", "9007199254740992"},
                 {"9007199254740993", "9007199254740993"},
                 {"{\"name\":\"dear\",\"deep\":{\"b\":[1,{\"c\":2}],\"a\":null}}",
                  "dear deep={\"a\":null,\"b\":[1,{\"c\":2}]}"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *value = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        char *label = strait_label_value(value);
        CU_ASSERT_PTR_NOT_NULL_FATAL(label);
        CU_ASSERT_STRING_EQUAL(label, cases[i].label);
        if (strcmp(label, cases[i].label) != 0)
            fprintf(stderr, "found %s, expected %s\n", label, cases[i].label);
        free(label);
        json_decref(value);
    }
}

/* The order of keys is nothing, codecs and clients are no part of the setting, all else is. */
static void places(void)
{
    static const struct {
        const char *point;
        bool setting, codec; /* as the first one's */
    } points[] = {{"{\"model\":\"a\",\"codec\":" NONE ",\"clients\":4,\"seed\":1}", true, true},
                  {"{\"seed\":1,\"clients\":8,\"model\":\"a\",\"codec\":" NONE "}", true, true},
                  {"{\"model\":\"a\",\"codec\":" SZ("") ",\"clients\":4,\"seed\":1}", true, false},
                  {"{\"model\":\"a\",\"codec\":" NONE
                   ",\"download_codec\":" SZ("") ",\"clients\":4,\"seed\":1}",
                   true, false},
                  {"{\"model\":\"a\",\"codec\":" NONE ",\"clients\":4,\"seed\":2}", false, true},
                  {"{\"model\":\"b\",\"codec\":" NONE ",\"clients\":4,\"seed\":1}", false, true}};
    struct strait_place first = {.setting = ""};
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        struct strait_place place;
        json_t *point = json_loads(points[i].point, 0, NULL);
        CU_ASSERT_EQUAL_FATAL(strait_place_of_point(&place, point, NULL), 0);
        if (i == 0)
            first = place;
        CU_ASSERT_EQUAL(strcmp(place.setting, first.setting) == 0, points[i].setting);
        CU_ASSERT_EQUAL(strcmp(place.codec, first.codec) == 0, points[i].codec);
        json_decref(point);
    }
}

static const struct strait_test tests[] = {
    {"every setting and codec has a cell and a label of its own", cells},
    {"rows of one point are repeats, of which the median counts", repeats},
    {"labels differ however long or alike the values are", labels},
    {"an object that is varied shows where its values differ, by pointer where names clash", axes},
    {"a row is named by what it was varied in", one_axis},
    {"a value with a name is long above 96 letters", long_names},
    {"numbers and nested values are shown to the last digit", numbers},
    {"keys are of the canonical JSON", places},
};
STRAIT_SUITE("analysis/row_names", tests);
