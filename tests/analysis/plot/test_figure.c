/* Figures of any question: what becomes a panel, a line, a point, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/plot/axis.h"
#include "analysis/plot/places.h"
#include "figure_cases.h"

/* 100 Mbps and 1 Gbps, 2 and 4 clients, two codecs: 8 rows of 1, 2, ... 8 s. */
static json_t *eight(void)
{
    static const char *const rates[] = {"100 Mbps", "1 Gbps"}, *const codecs[] = {"none", "sz"};
    json_t *all = json_array();
    for (int i = 0; i < 8; i++)
        json_array_append_new(all, column(rates[i / 4], i / 2 % 2 ? 4 : 2, codecs[i % 2], i + 1.0));
    return all;
}

static void panels_and_lines(void)
{
    const char *const facets[] = {"/network/client/rate"};
    const struct strait_figure_question q = {.facets = facets, .n_facets = 1};
    json_t *figure = figure_of(eight(), &q);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(figure, "panels")), 2);
    same(panel(figure, 0), "title", "\"client rate 100 Mbps\"");
    same(line(figure, 0, 0), "label", "\"no compression\"");
    same(line(figure, 1, 1), "label", "\"sz\"");
    /* of 1 Gbps the rows are 5 to 8 s, sz those of 6 and 8; half and twice as the interval has */
    same(line(figure, 1, 1), "points", "[[2.0,6.0,3.0,12.0],[4.0,8.0,4.0,16.0]]");
    same(figure, "notes", "[\"bands: 90 % intervals\"]");
    json_decref(figure);
}

/* A port is called by what it has, a model of a path by its file's name. */
static void short_titles(void)
{
    static const char *const values[][2] = {
        {"{\"rate\": \"1 Gbps\", \"rtt\": \"50 ms\"}", "\"client rate 1 Gbps 50 ms\""},
        {"my/models/blocks.csv", "\"client rate blocks\""}};
    const char *const facets[] = {"/network/client/rate"};
    const struct strait_figure_question q = {.x = "/clients", .facets = facets, .n_facets = 1};
    for (int i = 0; i < 2; i++) {
        json_t *columns = json_array();
        json_array_append_new(columns, column(values[i][0], 2, "sz", 1));
        json_array_append_new(columns, column(values[i][0], 4, "sz", 2));
        json_t *figure = figure_of(columns, &q);
        same(panel(figure, 0), "title", values[i][1]);
        json_decref(figure);
    }
}

/* Files of one name in two folders, and codecs that differ in such a file, are lines of their own;
 * so are ports that have the same in other words. */
static void alike_when_short(void)
{
    static const char *const values[][2] = {{"a/p.json", "b/p.json"},
                                            {"sz [p] profile=a/p.json", "sz [p] profile=b/p.json"},
                                            {"{\"in\":\"9 ms\"}", "{\"out\":\"9 ms\"}"}};
    for (int i = 0; i < 3; i++) {
        json_t *columns = json_array();
        for (int k = 0; k < 4; k++)
            json_array_append_new(columns, column(values[i][k % 2], 2 + k / 2, "sz", k + 1));
        json_t *figure = figure_of(columns, &(struct strait_figure_question){.x = "/clients"});
        json_t *names = json_pack("[s, s]", values[i][0], values[i][1]), *name;
        size_t n;
        json_array_foreach (names, n, name)
            CU_ASSERT_STRING_EQUAL(
                json_string_value(json_object_get(
                    json_array_get(json_object_get(panel(figure, 0), "lines"), n), "label")),
                json_string_value(name));
        json_decref(names);
        json_decref(figure);
    }
}

/* Texts with a unit are numbers, in the unit that the least reaches: 100 and 1000 Mbps. */
static void units(void)
{
    const struct strait_figure_question q = {.x = "/network/client/rate", .log = "x"};
    json_t *figure = figure_of(eight(), &q);
    const json_t *x = json_object_get(figure, "x");
    same(x, "label", "\"client rate (Mbps)\"");
    same(x, "log", "true");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(panel(figure, 0), "lines")), 4);
    same(line(figure, 0, 0), "label", "\"clients 2, no compression\"");
    same(line(figure, 0, 0), "points", "[[100.0,1.0,0.5,2.0],[1000.0,5.0,2.5,10.0]]");
    json_decref(figure);
}

static void names(void)
{
    static const struct {
        const char *pointer, *label;
    } cases[] = {{"/path_s/transfer", "critical path: transfer (s)"},
                 {"/wait_s", "a client's wait (s a round)"},
                 {"/utilisation/client_in/mean", "utilisation client in mean"},
                 {"/peak_bytes", "peak bytes (KB)"}};
    json_t *values = json_pack("[i]", 2000); /* 2 KB */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *axis = strait_plot_axis(cases[i].pointer, values, 0);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(axis, "label")), cases[i].label);
        json_decref(axis);
    }
    json_decref(values);
}

static void heat(void)
{
    const char *const facets[] = {"/codec"};
    const struct strait_figure_question q = {.kind = STRAIT_FIGURE_HEAT,
                                             .series = "/network/client/rate",
                                             .facets = facets,
                                             .n_facets = 1};
    json_t *figure = figure_of(eight(), &q);
    same(json_object_get(figure, "x"), "names", "[\"2\",\"4\"]");
    same(json_object_get(figure, "by"), "names", "[\"100 Mbps\",\"1 Gbps\"]");
    same(line(figure, 0, 0), "points",
         "[[0.0,0.0,1.0,null],[0.0,1.0,5.0,null],[1.0,0.0,3.0,null],[1.0,1.0,7.0,null]]");
    json_decref(figure);
}

static void phases(void)
{
    const struct strait_figure_question q = {.kind = STRAIT_FIGURE_PHASES};
    json_t *columns = json_array();
    json_array_append_new(columns, column("1 Gbps", 2, "sz", 3));
    json_t *row = json_array_get(columns, 0), *numbers = json_object_get(row, "numbers");
    static const char *const others[] = {"/path_s/encode", "/path_s/decode", "/path_s/aggregate",
                                         "/path_s/other"};
    for (size_t i = 0; i < 4; i++)
        json_object_set_new(numbers, others[i], json_real(0));
    json_t *figure = figure_of(columns, &q);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(panel(figure, 0), "lines")), 6);
    static const char *const order[] = {"\"compute\"", "\"encode\"",    "\"transfer\"",
                                        "\"decode\"",  "\"aggregate\"", "\"other\""};
    for (size_t i = 0; i < 6; i++)
        same(line(figure, 0, i), "label", order[i]);
    same(line(figure, 0, 2), "points", "[[0.0,2.0,null,null]]");
    json_decref(figure);
}

/* Without a word the clients go across; where they are all the same, the rate, a number; else the
 * codec. */
static void across(void)
{
    json_t *columns = eight();
    CU_ASSERT_STRING_EQUAL(strait_figure_x(columns), "/clients");
    for (size_t i = json_array_size(columns); i-- > 0;)
        if (i / 2 % 2)
            json_array_remove(columns, i);
    CU_ASSERT_STRING_EQUAL(strait_figure_x(columns), "/network/client/rate");
    while (json_array_size(columns) > 2)
        json_array_remove(columns, 2);
    CU_ASSERT_STRING_EQUAL(strait_figure_x(columns), "/codec");
    json_decref(columns);
}

static json_t *measured(double round_s)
{
    json_t *row = column("1 Gbps", 2, "sz", round_s);
    json_object_set_new(json_object_get(row, "row"), "backend", json_string("emu"));
    return row;
}

/* Measured are 4, 5 and 8 s, predicted 6: 20 % above the median, -25 and 50 % at the ends. */
static void residuals(void)
{
    const struct strait_figure_question q = {.kind = STRAIT_FIGURE_RESIDUALS};
    json_t *columns = json_array();
    json_array_append_new(columns, column("1 Gbps", 2, "sz", 6));
    json_array_append_new(columns, measured(5));
    json_array_append_new(columns, measured(8));
    json_array_append_new(columns, measured(4));
    json_t *figure = figure_of(columns, &q);
    same(line(figure, 0, 0), "points", "[[2.0,20.0,-25.0,50.0]]");
    json_decref(figure);
}

/* Measured three times, 4, 8 and 5 s: the median, between the others. */
static void repeats(void)
{
    const struct strait_figure_question q = {0};
    json_t *columns = json_array();
    json_array_append_new(columns, measured(4));
    json_array_append_new(columns, measured(8));
    json_array_append_new(columns, measured(5));
    json_t *figure = figure_of(columns, &q);
    same(line(figure, 0, 0), "points", "[[2.0,5.0,4.0,8.0]]");
    json_decref(figure);
}

/* A mean has its deviation on both sides; a total its own interval; rounds a line of their own. */
static void spreads(void)
{
    json_t *columns = json_array(), *row = column("1 Gbps", 2, "sz", 3), *figure;
    json_t *numbers = json_object_get(row, "numbers");
    json_object_set_new(numbers, "/training/accuracy/mean", json_real(0.75));
    json_object_set_new(numbers, "/training/accuracy/sd", json_real(0.125));
    json_object_set_new(numbers, "/total_s", json_real(10));
    json_object_set_new(numbers, "/total_interval_s/0", json_real(8));
    json_object_set_new(numbers, "/total_interval_s/1", json_real(13));
    json_array_append_new(columns, row);
    const char *const y[] = {"/training/accuracy/mean", "/total_s"};
    struct strait_figure_question q = {.y = y, .n_y = 1};
    figure = figure_of(json_incref(columns), &q);
    same(line(figure, 0, 0), "points", "[[2.0,0.75,0.625,0.875]]");
    json_decref(figure);
    q.y++;
    figure = figure_of(columns, &q);
    same(line(figure, 0, 0), "points", "[[2.0,10.0,8.0,13.0]]");
    json_decref(figure);
}

/* 8 s between 4 and 60 span a factor of 15, between 4 and 64 one of 16: then 8 s would lie on 0. */
static void wide(void)
{
    const struct strait_figure_question q = {0}, linear = {.log = ""};
    json_t *columns = json_pack("[o]", column("1 Gbps", 2, "none", 8)), *figure;
    json_t *numbers = json_object_get(json_array_get(columns, 0), "numbers");
    json_object_set_new(numbers, "/interval_s/0", json_real(4));
    static const struct {
        double high_s;
        bool log;
    } cases[] = {{60, false}, {64, true}};
    for (size_t i = 0; i < 2; i++) {
        json_object_set_new(numbers, "/interval_s/1", json_real(cases[i].high_s));
        figure = figure_of(json_incref(columns), &q);
        json_t *panel = json_array_get(json_object_get(figure, "panels"), 0);
        CU_ASSERT_EQUAL(json_is_true(json_object_get(json_object_get(panel, "y"), "log")),
                        cases[i].log);
        json_decref(figure);
    }
    figure = figure_of(columns, &linear);
    json_t *panel = json_array_get(json_object_get(figure, "panels"), 0);
    CU_ASSERT_FALSE(json_is_true(json_object_get(json_object_get(panel, "y"), "log")));
    json_decref(figure);
}

/* 0.998 to 1.001 of 8 s are less than a hundredth of the panel's height; 0.998 to 1.01 are more. */
static void narrow(void)
{
    const struct strait_figure_question q = {0};
    json_t *columns = json_pack("[o]", column("1 Gbps", 2, "none", 8)), *figure;
    json_t *numbers = json_object_get(json_array_get(columns, 0), "numbers");
    json_object_set_new(numbers, "/interval_s/0", json_real(0.998 * 8));
    json_object_set_new(numbers, "/interval_s/1", json_real(1.001 * 8));
    figure = figure_of(json_incref(columns), &q);
    same(figure, "notes", "[\"bands: 90 % intervals, narrower than the points\"]");
    json_decref(figure);
    json_object_set_new(numbers, "/interval_s/1", json_real(1.01 * 8));
    figure = figure_of(json_incref(columns), &q);
    same(figure, "notes", "[\"bands: 90 % intervals\"]");
    json_decref(figure);
    /* a heat map has none to show */
    const struct strait_figure_question heat_map = {
        .kind = STRAIT_FIGURE_HEAT, .x = "/clients", .series = "/codec"};
    figure = figure_of(columns, &heat_map);
    same(figure, "notes", "[]");
    json_decref(figure);
}

/* In KiB: 16 and 1024, not 16.384 and 1048.576 KB, also where 1 MiB is among them; KB among them:
 * KB as ever. */
static void powers_of_two(void)
{
    static const char *const sizes[][2] = {
        {"16 KiB", "1024 KiB"}, {"16 KiB", "1 MiB"}, {"16 KiB", "1 MB"}};
    static const char *const labels[] = {"\"pool (KiB)\"", "\"pool (KiB)\"", "\"pool (KB)\""};
    static const char *const firsts[] = {"[16.0,1.0,0.5,2.0]", "[16.0,1.0,0.5,2.0]",
                                         "[16.384,1.0,0.5,2.0]"};
    for (int i = 0; i < 3; i++) {
        json_t *columns = json_array();
        for (int k = 0; k < 2; k++) {
            json_t *one = column("1 Gbps", 2, "none", k + 1.0);
            json_object_set_new(json_object_get(one, "settings"), "/strategy/pool",
                                json_string(sizes[i][k]));
            json_array_append_new(columns, one);
        }
        json_t *figure =
            figure_of(columns, &(struct strait_figure_question){.x = "/strategy/pool"});
        same(json_object_get(figure, "x"), "label", labels[i]);
        char *text = json_dumps(json_array_get(json_object_get(line(figure, 0, 0), "points"), 0),
                                JSON_COMPACT | JSON_REAL_PRECISION(9));
        CU_ASSERT_STRING_EQUAL(text, firsts[i]);
        free(text);
        json_decref(figure);
    }
}

/* Scores of each second round, against when it ended: numbers, and no names of 0.5 and 0.75. */
static void curves(void)
{
    json_t *columns = json_pack("[o]", column("1 Gbps", 2, "none", 1)), *figure;
    json_t *numbers = json_object_get(json_array_get(columns, 0), "numbers");
    json_object_set_new(numbers, "/training/accuracy", json_pack("[n, f, n, f]", 0.5, 0.75));
    json_object_set_new(numbers, "/training/end_s", json_pack("[f, f, f, f]", 1.0, 2.0, 3.0, 4.0));
    const char *const y[] = {"/training/accuracy"};
    figure = figure_of(columns,
                       &(struct strait_figure_question){.x = "/training/end_s", .y = y, .n_y = 1});
    same(json_object_get(panel(figure, 0), "y"), "names", "null");
    same(line(figure, 0, 0), "points", "[[2.0,0.5,null,null],[4.0,0.75,null,null]]");
    json_decref(figure);
}

/* Two and four repeats: the mean of the middle two, between the least and the most. */
static void even_repeats(void)
{
    const struct strait_figure_question q = {0};
    static const double rounds_s[] = {4, 8, 5, 7};
    json_t *columns = json_array(), *figure;
    for (size_t i = 0; i < 4; i++)
        json_array_append_new(columns, measured(rounds_s[i]));
    figure = figure_of(json_incref(columns), &q);
    same(line(figure, 0, 0), "points", "[[2.0,6.0,4.0,8.0]]");
    same(figure, "notes",
         "[\"bands: 90 % intervals\",\"medians of up to 4 repeats, bands: their "
         "range\"]");
    /* and what was set, chosen or left out is said */
    const char *const where[] = {"/clients=2"};
    const struct strait_figure_question chosen = {.where = where, .n_where = 1};
    json_object_set_new(json_object_get(json_array_get(columns, 0), "row"), "set",
                        json_pack("{s:i}", "/clients", 2));
    json_object_set_new(json_object_get(json_array_get(columns, 1), "row"), "valid", json_false());
    json_object_del(json_object_get(json_array_get(columns, 2), "numbers"), "/round_s");
    json_decref(figure);
    figure = figure_of(columns, &chosen);
    same(figure, "notes",
         "[\"set: /clients=2\",\"/clients=2\",\"bands: 90 % intervals\",\"medians of up to 2 "
         "repeats, bands: their range\",\"1 of 3 rows have no such number\",\"1 INVALID rows left "
         "out\"]");
    json_decref(figure);
}

static void refusals(void)
{
    struct strait_figure_question q = {.series = "/codec"};
    refused(eight(), &q, "found several that differ in /network/client/rate: give it to --facet");
    const char *const y[] = {"/rund_s"};
    q = (struct strait_figure_question){.y = y, .n_y = 1};
    refused(eight(), &q, "did you mean \"/round_s\"?");
    q = (struct strait_figure_question){.x = "/client"};
    refused(eight(), &q, "did you mean \"/clients\"?");
    q = (struct strait_figure_question){.kind = STRAIT_FIGURE_HEAT};
    refused(eight(), &q, "expected --series POINTER with --kind heat");
    q = (struct strait_figure_question){.kind = STRAIT_FIGURE_RESIDUALS};
    refused(eight(), &q, "predicted and measured");
    json_t *many = json_array();
    for (int i = 0; i < 13; i++) {
        char name[16];
        snprintf(name, sizeof(name), "codec %d", i);
        json_array_append_new(many, column("1 Gbps", 2, name, 1));
    }
    q = (struct strait_figure_question){.x = "/clients"};
    refused(many, &q,
            "expected at most 12 lines in a panel, found 13; /codec (13 values): --where "
            "'/codec=codec 0' or --facet /codec");
}

/* What the lines of all panels have is said once, though each line stands in two panels. */
static void lines_of_panels(void)
{
    const char *const facets[] = {"/network/client/rate"};
    const struct strait_figure_question q = {.x = "/clients", .facets = facets, .n_facets = 1};
    json_t *columns = json_array();
    for (int i = 0; i < 8; i++)
        json_array_append_new(columns, column(i / 4 ? "1 Gbps" : "2 Gbps", i / 2 % 2 ? 4 : 2,
                                              i % 2 ? "x a=1,b=2" : "x a=1,b=3", i + 1.0));
    json_t *figure = figure_of(columns, &q);
    for (size_t i = 0; i < 2; i++) {
        same(line(figure, i, 0), "label", "\"x b=3\"");
        same(line(figure, i, 1), "label", "\"x b=2\"");
    }
    same(figure, "notes", "[\"all with a=1\",\"bands: 90 % intervals\"]");
    json_decref(figure);
}

/* Advice is whole or left out: one of two values of 390 letters would not fit. */
static void advice(void)
{
    char value[400];
    struct strait_error err = {0};
    const struct strait_plot_places places = {.series = json_pack("[s, s, s]", "/a", "/b", "/c"),
                                              .facets = json_array()};
    snprintf(value, sizeof(value), "%390s", "one");
    json_t *columns =
        json_pack("[{s:{s:s, s:s, s:i}}]", "settings", "/a", "one", "/b", value, "/c", 3);
    CU_ASSERT_EQUAL(strait_plot_places_refuse(columns, &places, "lines", 13, 12, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected at most 12 lines, found 13; /a (1 values): --where '/a=one' "
                           "or --facet /a; /c (1 values): --where '/c=3' or --facet /c; 1 more");
    json_decref(columns);
    json_decref(places.series);
    json_decref(places.facets);
}

static const struct strait_test tests[] = {
    {"advice is not cut", advice},
    {"what all lines of all panels have is said once", lines_of_panels},
    {"names that are short alike are told whole", alike_when_short},
    {"facets are panels, what else is varied lines", panels_and_lines},
    {"titles of panels are short", short_titles},
    {"texts with a unit are numbers in one unit", units},
    {"axes say what their number is", names},
    {"a heat map has two settings and a number", heat},
    {"phases are stacked in their order", phases},
    {"what goes across where nothing is said", across},
    {"residuals hold predictions against the median of measurements", residuals},
    {"repeats count by their median", repeats},
    {"a mean, a total and an even number of repeats have their spread", spreads},
    {"an axis holds the ends of intervals", wide},
    {"bands that nobody can see are said to be so", narrow},
    {"sizes in powers of two stay in these", powers_of_two},
    {"rounds without a score leave a curve one of numbers", curves},
    {"of an even number of repeats the middle two count", even_repeats},
    {"what cannot be read is refused, and says what helps", refusals},
};
STRAIT_SUITE("analysis/plot/figure", tests);
