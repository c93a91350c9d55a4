/* Figures as they are drawn: what lies beside what, and how names are shortened. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/plot/shorten.h"
#include "figure_cases.h"
#include "tests/kit/folder.h"

static void scripted(char **script, char **csv, const json_t *figure)
{
    static const char *const ends[] = {"png"};
    char folder[] = "/tmp/strait-figure-XXXXXX", path[64];
    struct strait_error err = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/f", folder);
    const int status = strait_figure_draw(path, figure, ends, 1, STRAIT_FIGURE_SCREEN, 2, &err);
    CU_ASSERT(status == 0 || err.code == STRAIT_ERR_HOST); /* without gnuplot the script is there */
    *script = folder_text(folder, "f.gp");
    *csv = folder_text(folder, "f.csv");
    folder_remove(folder);
}

/* Two rates above each codec: a tenth of the tics' distance apart. */
static void beside(void)
{
    char *script, *csv;
    json_t *columns = json_array();
    const char *const where[] = {"/clients=2"};
    const struct strait_figure_question q = {.x = "/codec", .where = where, .n_where = 1};
    for (int i = 0; i < 4; i++)
        json_array_append_new(
            columns, column(i < 2 ? "1 Gbps" : "2 Gbps", 2, i % 2 == 0 ? "none" : "sz", 1 + i));
    json_t *figure = figure_of(columns, &q);
    scripted(&script, &csv, figure);
    CU_ASSERT_CONTAINS(script, "$d_0_0 using ($1-0.05):2:3:4 with yerrorbars");
    CU_ASSERT_CONTAINS(script, "$d_0_1 using ($1+0.05):2 with points");
    free(script);
    free(csv);
    json_decref(figure);
}

/* Ends of lines at nearly one height: their labels lie a line apart, and no two lines have the same
 * colour and point. */
static void drawn(void)
{
    char *script, *csv, name[16];
    json_t *columns = json_array();
    for (int i = 0; i < 6; i++)
        for (int clients = 2; clients <= 4; clients += 2) {
            snprintf(name, sizeof(name), "codec %d", i);
            json_array_append_new(columns, column("1 Gbps", clients, name, 1 + 0.001 * i));
        }
    const struct strait_figure_question q = {0};
    json_t *figure = figure_of(columns, &q);
    scripted(&script, &csv, figure);
    double last = -1;
    unsigned n_labels = 0;
    for (const char *at = script; (at = strstr(at, " at graph 1,")); at++) {
        const double place = strtod(at + strlen(" at graph 1,"), NULL);
        /* letters of 11 pt in a panel of less than 700 pt */
        CU_ASSERT(n_labels == 0 || place - last > 11.0 / 700);
        CU_ASSERT(place > 0 && place <= 1);
        last = place;
        n_labels++;
    }
    CU_ASSERT_EQUAL(n_labels, 6);
    json_t *seen = json_object();
    for (const char *at = script; (at = strstr(at, "with linespoints"));) {
        const char *point = strstr(at, " pt "), *color = strstr(at, "rgb '");
        snprintf(name, sizeof(name), "%.2s %.7s", point + 4, color + 5);
        CU_ASSERT_PTR_NULL(json_object_get(seen, name));
        json_object_set_new(seen, name, json_true());
        at = color;
    }
    CU_ASSERT_EQUAL(json_object_size(seen), 6);
    json_decref(seen);
    static const char first[] = "panel,number,line,x,y,low,high\r\n,/round_s,codec 0,2,1,0.5,2\r\n";
    CU_ASSERT_EQUAL(strncmp(csv, first, strlen(first)), 0);
    free(script);
    free(csv);
    json_decref(figure);
}

/* What all names say is said once, unless two would then be alike. */
static void shortened(void)
{
    static const struct {
        const char *names, *taken, *left;
    } cases[] = {{"[\"ps rounds=2,servers=1\",\"ring rounds=2\"]", "rounds=2",
                  "[\"ps servers=1\",\"ring\"]"},
                 {"[\"none\",\"x a=1,b=2 KB\",\"x a=1,b=3 KB\"]", "a=1",
                  "[\"none\",\"x b=2 KB\",\"x b=3 KB\"]"},
                 {"[\"x a=1\",\"x a=1,b=2\"]", "a=1", "[\"x\",\"x b=2\"]"},
                 {"[\"x a=1\",\"x a=12\"]", "", "[\"x a=1\",\"x a=12\"]"},
                 {"[\"x a=1\",\"y\"]", "", "[\"x a=1\",\"y\"]"},
                 {"[\"x a=1\"]", "", "[\"x a=1\"]"},
                 {"[\"x a=1\",\"x a=1\"]", "", "[\"x a=1\",\"x a=1\"]"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *names = json_loads(cases[i].names, 0, NULL);
        char *taken = strait_plot_shorten(names), *left = json_dumps(names, JSON_COMPACT);
        CU_ASSERT_STRING_EQUAL(taken, cases[i].taken);
        CU_ASSERT_STRING_EQUAL(left, cases[i].left);
        free(taken);
        free(left);
        json_decref(names);
    }
}

/* 14 codecs at two rates are 28 lines over the clients, 14 with a panel for each rate: too many
 * still. Of 7 codecs they are 14 and 7. */
static void own_panels(void)
{
    struct strait_figure_question q = {.x = "/clients", .panels = true};
    char name[16];
    for (int n_codecs = 7; n_codecs <= 14; n_codecs += 7) {
        json_t *columns = json_array();
        for (int i = 0; i < 2 * n_codecs; i++) {
            snprintf(name, sizeof(name), "codec %d", i / 2);
            json_array_append_new(columns, column(i % 2 ? "1 Gbps" : "2 Gbps", 2, name, 1));
        }
        if (n_codecs > 12) {
            refused(columns, &q, "expected at most 12 lines in a panel, found 14");
            continue;
        }
        json_t *figure = figure_of(columns, &q);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(figure, "panels")), 2);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(panel(figure, 0), "lines")), 7);
        json_decref(figure);
    }
}

/* Long names of categories begin on the page: the letters of the first shrink. */
static void long_names(void)
{
    static const char *const ends[] = {"svg"};
    char folder[] = "/tmp/strait-figure-XXXXXX", path[64];
    struct strait_error err = {0};
    json_t *columns = json_array();
    json_array_append_new(columns, column("1 Gbps", 2,
                                          "one of so many letters that it is wrapped "
                                          "behind its forty-fourth",
                                          1));
    json_array_append_new(columns, column("1 Gbps", 2,
                                          "another of so many letters that it is "
                                          "wrapped behind its forty-fourth",
                                          2));
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof(path), "short %d", i);
        json_array_append_new(columns, column("1 Gbps", 2, path, 3));
    }
    const struct strait_figure_question q = {.x = "/codec"};
    json_t *figure = figure_of(columns, &q);
    same(figure, "notes", "[\"bars: 90 % intervals\"]"); /* nothing lies between categories */
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/f", folder);
    const int status = strait_figure_draw(path, figure, ends, 1, STRAIT_FIGURE_SCREEN, 2, &err);
    CU_ASSERT(status == 0 || err.code == STRAIT_ERR_HOST);
    char *script = folder_text(folder, "f.gp");
    CU_ASSERT_CONTAINS(script, "'one of so many letters that it is wrapped'.\"\\n\".'behind");
    const char *font = strstr(script, "set xtics font ',");
    CU_ASSERT_PTR_NOT_NULL_FATAL(font);
    /* 44 letters of 0.62 at 30 degrees need 23.7 times the letters' size to the left; the first tic
     * of ten is less than an eighth of 1200 points from the page's edge: at most 6.33 points, of the
     * 11 of other names */
    CU_ASSERT_AT_MOST(strtod(font + strlen("set xtics font ',"), NULL), 6.33);
    free(script);
    folder_remove(folder);
    json_decref(figure);
}

/* What the eye holds lines against: residuals 0 and 10 % on both sides, times nothing. */
static void held_against(void)
{
    static const char *const lines[] = {" 0 with lines lw 1.4", " 10 with lines lw 1 dt",
                                        " -10 with lines lw 1 dt"};
    for (int residuals = 0; residuals < 2; residuals++) {
        char *script, *csv;
        struct strait_figure_question q = {0};
        json_t *columns = json_array();
        json_array_append_new(columns, column("1 Gbps", 2, "sz", 6));
        if (residuals) {
            json_t *measured = column("1 Gbps", 2, "sz", 5);
            json_object_set_new(json_object_get(measured, "row"), "backend", json_string("emu"));
            json_array_append_new(columns, measured);
            q.kind = STRAIT_FIGURE_RESIDUALS;
        }
        json_t *figure = figure_of(columns, &q);
        scripted(&script, &csv, figure);
        for (size_t i = 0; i < 3; i++)
            CU_ASSERT_EQUAL(strstr(script, lines[i]) != NULL, residuals);
        CU_ASSERT_PTR_NULL(strstr(script, "(null)"));
        free(script);
        free(csv);
        json_decref(figure);
    }
}

static const struct strait_test tests[] = {
    {"lines of categories stand beside each other", beside},
    {"labels lie apart, and lines differ in colour and point", drawn},
    {"what all names say is said once", shortened},
    {"residuals have lines at 0 and at the tolerance", held_against},
    {"settings that are too many for lines make panels", own_panels},
    {"long names of categories begin on the page", long_names},
};
STRAIT_SUITE("analysis/plot/figure_drawn", tests);
