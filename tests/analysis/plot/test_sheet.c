/* Pages of figures: sizes, ranges, tics, and what lies where. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/plot/figure.h"
#include "analysis/plot/sheet.h"
#include "tests/kit/suite.h"

static void near(double found, double expected)
{
    CU_ASSERT_DOUBLE_EQUAL(found, expected, 1e-9 * (1 + fabs(expected)));
}

/* n panels "p" of lines named `label`, all with the points (1, 2) and (3, 8). */
static json_t *figure_of(const char *kind, int n_panels, int n_lines, const char *label)
{
    json_t *panels = json_array();
    for (int p = 0; p < n_panels; p++) {
        json_t *lines = json_array();
        for (int k = 0; k < n_lines; k++)
            json_array_append_new(lines, json_pack("{s:s, s:[[f,f,n,n], [f,f,n,n]]}", "label",
                                                   label, "points", 1.0, 2.0, 3.0, 8.0));
        json_array_append_new(panels, json_pack("{s:s, s:{s:s}, s:o}", "title", "p", "y", "label",
                                                "time (s)", "lines", lines));
    }
    return json_pack("{s:s, s:s, s:{s:s}, s:[s, s], s:o}", "kind", kind, "title", "T", "x", "label",
                     "clients", "notes", "one", "two", "panels", panels);
}

/* 1: 1 x 1, 2: 2 x 1, 4: 2 x 2, 5 and 9: 3 wide, 10 and 16: 4 wide, more: 5. */
static void arranged(void)
{
    static const struct {
        int n, n_columns, n_rows;
    } cases[] = {{1, 1, 1}, {2, 2, 1},  {4, 2, 2},  {5, 3, 2},
                 {9, 3, 3}, {10, 4, 3}, {16, 4, 4}, {17, 5, 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_plot_layout l;
        strait_plot_arrange(&l, cases[i].n);
        CU_ASSERT_EQUAL(l.n_columns, cases[i].n_columns);
        CU_ASSERT_EQUAL(l.n_rows, cases[i].n_rows);
    }
}

/* Screens of 1600 x 1000 pixels, 96 to an inch, higher from four rows of panels on; slides of full
 * HD, 144 to an inch of PowerPoint's 13.333 x 7.5; IEEE's columns of 3.5 and 7.16 inches. A paper's
 * page grows by 1.6 inches a row. */
static void pages(void)
{
    json_t *figure = figure_of("lines", 4, 2, "sz");
    struct strait_sheet s = {0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    CU_ASSERT_DOUBLE_EQUAL(s.page.width_in * s.page.png_dpi, 1600, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(s.page.height_in * s.page.png_dpi, 1000, 0.5);
    near(s.page.font_pt, 13);
    near(s.page.stroke, 1);
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SLIDES, 2);
    CU_ASSERT_DOUBLE_EQUAL(s.page.width_in * s.page.png_dpi, 1920, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(s.page.height_in * s.page.png_dpi, 1080, 0.5);
    near(s.page.font_pt, 18);
    near(s.small_pt, 0.85 * 18);
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_PAPER, 1);
    near(strait_sheet_width_pt(&s), 3.5 * 72);
    near(strait_sheet_height_pt(&s), (1.2 + 2 * 1.6) * 72);
    CU_ASSERT_EQUAL(s.page.png_dpi, 300);
    near(s.page.font_pt, 8);
    near(s.small_pt, 7);
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_PAPER, 2);
    near(strait_sheet_width_pt(&s), 7.16 * 72);
    near(strait_sheet_height_pt(&s), (1.4 + 2 * 1.6) * 72);
    json_decref(figure);
    figure = figure_of("lines", 16, 2, "sz"); /* four rows: a third more than three */
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    CU_ASSERT_DOUBLE_EQUAL(s.page.height_in * s.page.png_dpi, 1000 * 4 / 3.0, 0.5);
    json_decref(figure);
}

/* Three panels stand beside each other but in a paper's one column. */
static void three(void)
{
    json_t *figure = figure_of("lines", 3, 2, "sz");
    struct strait_sheet s = {0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    CU_ASSERT_EQUAL(s.layout.n_columns, 3);
    CU_ASSERT_EQUAL(s.layout.n_rows, 1);
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_PAPER, 1);
    CU_ASSERT_EQUAL(s.layout.n_columns, 2);
    CU_ASSERT_EQUAL(s.layout.n_rows, 2);
    json_decref(figure);
}

/* Panels, the gaps between them and the margins fill the page: what is said of sizes is what the
 * fractions give. Below the lowest panels there is room for the legend, the tics and the axis'
 * name; between two for all but the legend, and a title. */
static void filled(void)
{
    static const char *const kinds[] = {"lines", "phases", "heat"};
    for (int n = 1; n <= 5; n++)
        for (size_t k = 0; k < 3; k++) {
            json_t *figure = figure_of(kinds[k], n, 8, "a codec with a name");
            struct strait_sheet s = {0};
            strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
            const double w = strait_sheet_width_pt(&s), h = strait_sheet_height_pt(&s);
            const struct strait_plot_layout *l = &s.layout;
            strait_test_context("%s, %d panels", kinds[k], n);
            near(l->n_columns * s.panel_width_pt + (l->n_columns - 1) * l->gap_x * w,
                 w * (l->right - l->left));
            near(l->n_rows * s.panel_height_pt + (l->n_rows - 1) * l->gap_y * h,
                 h * (l->top - l->bottom));
            CU_ASSERT(s.panel_width_pt > 10 * s.small_pt && s.panel_height_pt > 5 * s.small_pt);
            CU_ASSERT_FALSE(s.direct); /* eight lines are too many, and others have no ends */
            /* eight lines of 19 letters and a sample: 2 rows or so; a colour bar is as high */
            CU_ASSERT(s.legend_pt > STRAIT_SHEET_LINE * s.small_pt);
            CU_ASSERT(s.legend_pt < 9 * STRAIT_SHEET_LINE * s.small_pt);
            near(h * l->bottom, s.legend_pt + 4 * s.page.font_pt);
            /* a title of one line, and half a letter */
            near(h * l->gap_y, 4 * s.page.font_pt + (STRAIT_SHEET_LINE + 0.5) * s.small_pt);
            json_decref(figure);
        }
}

/* Eight lines in one column of a paper take what two panels had: the page grows until a panel is
 * eight letters high. A slide cannot. */
static void grown(void)
{
    json_t *figure = figure_of("lines", 2, 8, "a codec with a name and settings");
    struct strait_sheet s = {0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_PAPER, 1);
    near(s.panel_height_pt, 8 * 7);
    CU_ASSERT(strait_sheet_height_pt(&s) > (1.2 + 1.6) * 72);
    json_decref(figure);
    figure = figure_of("lines", 16, 8, "a codec with a name and settings");
    s = (struct strait_sheet){0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SLIDES, 2);
    near(strait_sheet_height_pt(&s), 7.5 * 72);
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(
        strait_figure_draw("/tmp/strait-never", figure, NULL, 0, STRAIT_FIGURE_SLIDES, 2, &err),
        -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected fewer panels than 16, which do not fit on this "
                                     "page; --where takes some of them, --style screen and paper "
                                     "grow");
    json_decref(figure);
}

/* In two lines at most: beside a panel of 56 pt 70 pt hold eight letters of 13 pt, of 8.6 pt 13. */
static void names_of_y(void)
{
    json_t *figure = figure_of("lines", 2, 8, "a codec with a name and settings");
    char *text = NULL;
    size_t len_bytes;
    struct strait_sheet s = {0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_PAPER, 1);
    s.script.out = open_memstream(&text, &len_bytes);
    const struct strait_sheet_range x = {0, 4, false}, y = {0, 9, false};
    strait_sheet_panel(&s, 0, &x, &y, "speed-up over no compression");
    fflush(s.script.out);
    CU_ASSERT_CONTAINS(text, "set label 4 'speed-up over'.\"\\n\".'no compression' at screen");
    fclose(s.script.out);
    free(text);
    json_decref(figure);
}

/* A legend of n lines in columns as wide as their label and five letters' heights: of 94 % of 1200
 * pt a column of 19 * 0.62 * 11.05 + 5 * 11.05 = 185.4 pt takes 6, so that eight make two rows. */
static void legend(void)
{
    json_t *figure = figure_of("lines", 1, 8, "a codec with a name");
    struct strait_sheet s = {0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    near(s.legend_pt, 2.6 * 1.4 * 0.85 * 13);
    json_decref(figure);
    figure = figure_of("lines", 1, 6, "a codec with a name, and another one, and yet another");
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    /* 53 letters: 418 pt, of which 2 fit; with a label of more than 30 % of 1200 pt none is
     * direct */
    CU_ASSERT_FALSE(s.direct);
    near(s.legend_pt, 3.6 * 1.4 * 0.85 * 13);
    json_decref(figure);
    figure = figure_of("lines", 1, 1, "sz"); /* one line needs no legend */
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    near(s.legend_pt, 0);
    CU_ASSERT_FALSE(s.direct);
    json_decref(figure);
    figure = figure_of("lines", 1, 6, "sz"); /* at their ends is room */
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    near(s.legend_pt, 0);
    CU_ASSERT_TRUE(s.direct);
    CU_ASSERT(s.layout.right < 1 - (2 * 0.62 + 1.9) * s.small_pt / strait_sheet_width_pt(&s));
    json_decref(figure);
    figure = figure_of("lines", 1, 7, "sz");
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    CU_ASSERT_FALSE(s.direct);
    json_decref(figure);
    figure = figure_of("lines", 5, 2, "sz"); /* in three columns there is none */
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    CU_ASSERT_FALSE(s.direct);
    json_decref(figure);
}

/* Letters of 10 pt are 6.2 pt wide: two names of 10 letters take 124 pt and 15 % between them. */
static void aslant(void)
{
    json_t *figure = json_pack("{s:{s:[s, s]}}", "x", "names", "abc", "abcdefghij");
    struct strait_sheet s = {.figure = figure, .small_pt = 10, .panel_width_pt = 143};
    s.page.height_in = s.page.width_in = 10;
    s.layout.left = 0.1;
    CU_ASSERT_EQUAL(strait_sheet_slant(&s), 0);
    near(strait_sheet_names_pt(&s), 0);
    s.panel_width_pt = 142;
    CU_ASSERT_EQUAL(strait_sheet_slant(&s), 40);
    near(strait_sheet_names_pt(&s), 0.64 * 62); /* the sine of 40 degrees */
    near(strait_sheet_name_font_pt(&s), 10);
    s.page.height_in = 1; /* 35 % of 72 pt, 25.2, are less than 39.68: smaller letters */
    near(strait_sheet_name_font_pt(&s), 10 * 25.2 / 39.68);
    near(strait_sheet_names_pt(&s), 25.2);
    /* without room left of the panel the first name, 18.6 pt, has 0.06 / 1.12 of 142 pt to its
     * tic, and needs the cosine of 40 degrees of its length */
    s.page.height_in = 10;
    s.layout.left = 0;
    near(strait_sheet_name_font_pt(&s), 10 * 142 * (0.06 / 1.12) / (0.77 * 18.6));
    json_decref(figure);
    /* 45 letters are two lines, which 30 degrees hold apart: the sine, of 44 letters */
    figure =
        json_pack("{s:{s:[s]}}", "x", "names", "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqr");
    s.figure = figure;
    s.layout.left = 1;
    CU_ASSERT_EQUAL(strait_sheet_slant(&s), 30);
    near(strait_sheet_names_pt(&s), 0.5 * 44 * 6.2);
    json_decref(figure);
}

/* A title of 16 pt and notes of 10 pt: which lines, where and in which letters. */
static void titled(void)
{
    json_t *figure = figure_of("lines", 1, 2, "sz");
    char *text = NULL;
    size_t len_bytes;
    struct strait_sheet s = {.figure = figure, .small_pt = 10};
    s.page.width_in = s.page.height_in = 10; /* 720 pt */
    s.page.font_pt = 50;
    s.script.out = open_memstream(&text, &len_bytes);
    strait_sheet_titles(&s);
    fclose(s.script.out);
    /* 60 pt letters, the middle of their line 54 below the top: 666 of 720; the notes a line of 84
     * lower and 21 up again: 603 */
    CU_ASSERT_CONTAINS(text, "set label 1 'T' at screen 0.5,0.9250 center font ',60'\n");
    CU_ASSERT_CONTAINS(text, "set label 2 'one; two' at screen 0.5,0.8375 center font ',10'\n");
    free(text);
    json_decref(figure);
}

/* Room of 6 % at both ends; what is not far above 0 begins there. */
static void ranges(void)
{
    json_t *figure = figure_of("lines", 2, 1, "sz");
    struct strait_sheet_range r = strait_sheet_range_of(figure, 0, true, 1, 1, false);
    near(r.low, 0); /* 2 is below 70 % of 8 */
    near(r.high, 8 + 0.06 * 8);
    r = strait_sheet_range_of(figure, 0, true, 0, 0, false); /* across nothing begins at 0 */
    near(r.low, 1 - 0.06 * 2);
    near(r.high, 3 + 0.06 * 2);
    r = strait_sheet_range_of(figure, 0, true, 1, 3, true); /* 4 times: 4^0.06 */
    CU_ASSERT_TRUE(r.log);
    near(r.low, 2 / pow(4, 0.06));
    near(r.high, 8 * pow(4, 0.06));
    json_t *point = json_array_get(
        json_object_get(json_array_get(strait_sheet_lines_of(figure, 1), 0), "points"), 0);
    json_array_set_new(point, 1, json_real(16)); /* the other panel has the same number */
    near(strait_sheet_range_of(figure, 0, true, 1, 1, false).high, 16 + 0.06 * 16);
    near(strait_sheet_range_of(figure, 0, false, 1, 1, false).high, 8 + 0.06 * 8);
    json_object_set_new(json_object_get(json_array_get(json_object_get(figure, "panels"), 1), "y"),
                        "label", json_string("other"));
    near(strait_sheet_range_of(figure, 0, true, 1, 1, false).high, 8 + 0.06 * 8);
    json_decref(figure);
    /* far above 0: 80 to 100 keeps its place; one value has a tenth of itself on both sides */
    figure = json_pack("{s:[{s:[{s:[[f,f], [f,f]]}]}]}", "panels", "lines", "points", 1.0, 80.0,
                       1.0, 100.0);
    r = strait_sheet_range_of(figure, 0, true, 1, 1, false);
    near(r.low, 80 - 1.2);
    near(r.high, 101.2);
    r = strait_sheet_range_of(figure, 0, true, 0, 0, false);
    near(r.low, 0.9);
    near(r.high, 1.1);
    r = strait_sheet_range_of(figure, 0, true, 0, 0, true);
    near(r.low, 1 / 1.3);
    near(r.high, 1.3);
    r = strait_sheet_range_of(figure, 0, true, 2, 3, false); /* nothing there: around 1 */
    near(r.high, 1.1);
    json_decref(figure);
}

static void places(void)
{
    const struct strait_sheet_range even = {2, 6, false}, logs = {1, 100, true};
    near(strait_sheet_place(&even, 3), 0.25);
    near(strait_sheet_place(&logs, 10), 0.5);
}

static void tics(void)
{
    static const struct {
        double low, high;
        size_t n;
        double first, second, last;
    } cases[] = {{1, 10, 9, 1, 1.5, 10},    /* a decade: 1 1.5 2 3 4 5 6 8 and 10 */
                 {1, 15.8, 10, 1, 1.5, 15}, /* and 15, just below 1.2 decades */
                 {0.5, 50, 7, 0.5, 1, 50},  /* two: 0.5 1 2 5 10 20 50 */
                 {1, 9999, 12, 1, 2, 5000}, /* just below four */
                 {1, 1e5, 6, 1, 10, 1e5}};  /* five: decades alone */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double at[STRAIT_SHEET_MAX_TICS];
        const struct strait_sheet_range r = {cases[i].low, cases[i].high, true};
        strait_test_context("%g to %g", r.low, r.high);
        CU_ASSERT_EQUAL_FATAL(strait_sheet_log_tics(at, &r), cases[i].n);
        near(at[0], cases[i].first);
        near(at[1], cases[i].second);
        near(at[cases[i].n - 1], cases[i].last);
    }
}

/* The script of one panel: where its axes have tics, their names, and what ends direct labels. */
static void panel(void)
{
    json_t *figure = figure_of("lines", 2, 1, "sz");
    char *text = NULL;
    size_t len_bytes;
    struct strait_sheet s = {0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    s.script.out = open_memstream(&text, &len_bytes);
    const struct strait_sheet_range x = {0, 4, false}, y = {1, 1000, true};
    strait_sheet_panel(&s, 0, &x, &y, "time");
    fflush(s.script.out);
    CU_ASSERT_CONTAINS(text, "set title 'p' font ',11.05' offset 0,-0.5\n");
    CU_ASSERT_CONTAINS(text, "unset logscale x\nset xrange [0:4]\nset xtics ('1' 1, '3' 3)\n");
    CU_ASSERT_CONTAINS(text, "set logscale y\nset yrange [1:1000]\nset ytics ('1' 1, '2' 2, '5' 5, "
                             "'10' 10, '20' 20, '50' 50, '100' 100, '200' 200, '500' 500, '1000' "
                             "1000)\n");
    CU_ASSERT_CONTAINS(text, "set label 4 'time' at screen ");
    CU_ASSERT_CONTAINS(text, "set label 3 'clients' at screen ");
    fclose(s.script.out);
    free(text);
    s.script.out = open_memstream(&text, &len_bytes);
    strait_sheet_panel(&s, 1, &x, &y, "time"); /* beside one with the same number */
    fflush(s.script.out);
    CU_ASSERT_PTR_NULL(strstr(text, "\nset label 4"));
    fclose(s.script.out);
    free(text);
    json_object_set_new(/* beside one with another */
                        json_object_get(json_array_get(json_object_get(figure, "panels"), 1), "y"),
                        "label", json_string("bytes"));
    s.script.out = open_memstream(&text, &len_bytes);
    strait_sheet_panel(&s, 1, &x, &y, "bytes");
    fflush(s.script.out);
    CU_ASSERT_CONTAINS(text, "\nset label 4 'bytes' at screen ");
    fclose(s.script.out);
    free(text);
    json_decref(figure);
}

/* Tics of letters that would touch are left out: of 100 and 101 on an axis of 0 to 1000, one. */
static void crowded(void)
{
    json_t *figure =
        json_pack("{s:s, s:{s:s}, s:[{s:s, s:{s:s}, s:[{s:s, s:[[f,f], [f,f], "
                  "[f,f]]}]}]}",
                  "kind", "lines", "x", "label", "x", "panels", "title", "", "y", "label", "y",
                  "lines", "label", "sz", "points", 100.0, 1.0, 101.0, 1.0, 900.0, 1.0);
    char *text = NULL;
    size_t len_bytes;
    struct strait_sheet s = {0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    s.script.out = open_memstream(&text, &len_bytes);
    const struct strait_sheet_range x = {0, 1000, false}, y = {0, 2, false};
    strait_sheet_panel(&s, 0, &x, &y, "y");
    fflush(s.script.out);
    CU_ASSERT_CONTAINS(text, "set xtics ('100' 100, '900' 900)\n");
    CU_ASSERT_CONTAINS(text, "set ytics autofreq\nset format y '%g'\n");
    CU_ASSERT_CONTAINS(text, "unset title\n");
    fclose(s.script.out);
    free(text);
    json_decref(figure);
}

/* Each label once, however many panels have it. */
static void legend_lines(void)
{
    json_t *figure = figure_of("lines", 2, 2, "sz");
    json_object_set_new(json_array_get(strait_sheet_lines_of(figure, 0), 1), "label",
                        json_string("fp16"));
    char *text = NULL;
    size_t len_bytes;
    struct strait_sheet s = {0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    s.script.out = open_memstream(&text, &len_bytes);
    strait_sheet_line_legend(&s);
    fclose(s.script.out);
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, " title '")); at++)
        n++;
    CU_ASSERT_EQUAL(n, 2);
    CU_ASSERT_CONTAINS(text, "title 'sz', \\\n  NaN ");
    CU_ASSERT_CONTAINS(text, "title 'fp16'\n");
    free(text);
    json_decref(figure);
}

/* To gnuplot a tic's label is a format, in which a percent sign is written twice. */
static void percent(void)
{
    char *text = NULL;
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    strait_plot_put_tic(out, "loss 0.5 %, it's", 11);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, "'loss 0.5 %%,'.\"\\n\".'it''s'");
    free(text);
}

static const struct strait_test tests[] = {
    {"a tic's label may have a percent sign", percent},
    {"panels stand in as many columns as their number wants", arranged},
    {"pages have the sizes of screens, slides and journals", pages},
    {"three panels stand beside each other where there is room", three},
    {"panels, gaps and margins fill the page", filled},
    {"a page grows with its legend, and a slide that is too full is refused", grown},
    {"the name of y takes two lines", names_of_y},
    {"a legend is as high as its rows, and none where lines bear their names", legend},
    {"names that do not fit lie aslant, in smaller letters", aslant},
    {"titles and notes stand below each other", titled},
    {"ranges hold all points of a number, with room", ranges},
    {"where a value stands", places},
    {"tics of logarithms", tics},
    {"a panel has tics where its points are, and names of its axes", panel},
    {"tics do not touch", crowded},
    {"a legend names every line once", legend_lines},
};
STRAIT_SUITE("analysis/plot/sheet", tests);
