/* Stacked phases and heat maps: which boxes, in which colours, and where compression begins to
 * pay. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/plot/sheet.h"
#include "tests/kit/suite.h"

/* Two bars: 1 s of compute, 2 and 4 s of transfer, half a second of what has no phase. */
static json_t *bars(void)
{
    return json_pack("{s:s, s:s, s:{s:s, s:[s, s]}, s:[{s:s, s:{s:s}, s:[{s:s, s:[[f,f], [f,f]]}, "
                     "{s:s, s:[[f,f], [f,f]]}, {s:s, s:[[f,f], [f,f]]}]}]}",
                     "kind", "phases", "title", "T", "x", "label", "codec", "names", "none", "sz",
                     "panels", "title", "", "y", "label", "s", "lines", "label", "compute",
                     "points", 0.0, 1.0, 1.0, 1.0, "label", "transfer", "points", 0.0, 2.0, 1.0,
                     4.0, "label", "rest", "points", 0.0, 0.5, 1.0, 0.5);
}

/* Two by two cells of a number: by 0: 0.5 and 2, by 1: 0.8 and 4. */
static json_t *cells(const char *pointer)
{
    json_t *panel =
        json_pack("{s:s, s:{s:s, s:s}, s:[{s:s, s:[[f,f,f,n], [f,f,f,n], [f,f,f,n], "
                  "[f,f,f,n]]}]}",
                  "title", "", "y", "label", "speed-up", "pointer", pointer, "lines", "label", "",
                  "points", 0.0, 0.0, 0.5, 0.0, 1.0, 0.8, 1.0, 0.0, 2.0, 1.0, 1.0, 4.0);
    return json_pack("{s:s, s:s, s:{s:s, s:[s, s]}, s:{s:s, s:[s, s]}, s:[O, o]}", "kind", "heat",
                     "title", "T", "x", "label", "clients", "names", "2", "4", "by", "label",
                     "rate", "names", "1 Gbps", "5 Gbps", "panels", panel, panel);
}

/* What of a figure's script is written by one of the functions of sheet.h. */
static char *script_of(const json_t *figure, void (*put)(struct strait_sheet *, size_t), size_t i)
{
    char *text = NULL;
    size_t len_bytes;
    struct strait_sheet s = {0};
    strait_sheet_plan(&s, figure, STRAIT_FIGURE_SCREEN, 2);
    s.script.out = open_memstream(&text, &len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.script.out);
    put(&s, i);
    fclose(s.script.out);
    return text;
}

static void stacked(void)
{
    json_t *figure = bars();
    char *text = script_of(figure, strait_sheet_phases, 0);
    CU_ASSERT_CONTAINS(text, "$d_0_0 << EOD\n0 0 1\n1 0 1\nEOD\n");
    CU_ASSERT_CONTAINS(text, "$d_0_1 << EOD\n0 1 3\n1 1 5\nEOD\n");
    CU_ASSERT_CONTAINS(text, "$d_0_2 << EOD\n0 3 3.5\n1 5 5.5\nEOD\n");
    CU_ASSERT_CONTAINS(text, "set xrange [-0.5:1.5]\n");
    CU_ASSERT_CONTAINS(text, "set yrange [0:5.83]\n"); /* 6 % above 5.5 */
    /* one colour for each phase, those of other plots; what is none is grey */
    CU_ASSERT_CONTAINS(text, "plot $d_0_0 using 1:2:($1-0.36):($1+0.36):2:3 with boxxyerror fs "
                             "solid 1 noborder lc rgb '#0072b2' notitle, \\\n  $d_0_1 using");
    CU_ASSERT_CONTAINS(text, "lc rgb '#009e73' notitle, \\\n  $d_0_2 using");
    CU_ASSERT_CONTAINS(text, "lc rgb '#a0a0a0' notitle\n");
    free(text);
    json_decref(figure);
}

static void put_legend(struct strait_sheet *s, size_t i)
{
    (void)i;
    strait_sheet_phase_legend(s);
}

static void named(void)
{
    static const char *const names[] = {"compute", "encode", "transfer", "decode", "aggregate"};
    json_t *figure = bars();
    char *text = script_of(figure, put_legend, 0), expected[128];
    for (size_t i = 0; i < 5; i++) {
        snprintf(expected, sizeof(expected), "lc rgb '%s' title '%s'", strait_plot_color(i),
                 names[i]);
        CU_ASSERT_CONTAINS(text, expected);
    }
    CU_ASSERT_CONTAINS(text, "lc rgb '#a0a0a0' title 'other'\n");
    CU_ASSERT_CONTAINS(text, "maxcols 6 ");
    free(text);
    json_decref(figure);
}

/* Speed-ups from 1/2 to 4 lie between 1/4 and 4, white at 1. Only the outer 12 % of a scale are
 * dark: 4 is, at its end; 2, at three quarters, and 0.5 are not. */
static void speed_ups(void)
{
    json_t *figure = cells("/speedup");
    char *text = script_of(figure, strait_sheet_heat, 0);
    CU_ASSERT_CONTAINS(text, "set logscale cb\nset cbrange [0.25:4]\n");
    CU_ASSERT_CONTAINS(text, "set cbtics font ',11.05' ('0.5' 0.5, '1' 1, '2' 2)\n");
    CU_ASSERT_CONTAINS(text, "set palette defined (0 '#d55e00', 1 '#ffffff', 2 '#0072b2')\n");
    CU_ASSERT_CONTAINS(text, "set label 5 'speed-up' at screen 0.5,");
    CU_ASSERT_CONTAINS(text, "$d_0 << EOD\n0 0 0.5 0.500 0\n0 1 0.8 0.800 0\n1 0 2 2.00 0\n"
                             "1 1 4 4.00 16777215\nEOD\n");
    /* it pays right of 0 in both rows, and nowhere changes upward */
    CU_ASSERT_CONTAINS(text, "$edge_0 << EOD\n0.5 -0.5\n0.5 0.5\n\n0.5 0.5\n0.5 1.5\n\nNaN NaN\n"
                             "EOD\n");
    CU_ASSERT_CONTAINS(text, "unset grid\n");
    CU_ASSERT_CONTAINS(text, ", \\\n  $edge_0 using 1:2 with lines");
    CU_ASSERT_CONTAINS(text, ", \\\n  $d_0 using 1:2:4:5 with labels");
    free(text);
    text = script_of(figure, strait_sheet_heat, 1); /* one colour bar is enough */
    CU_ASSERT_PTR_NULL(strstr(text, "colorbox horizontal"));
    CU_ASSERT_CONTAINS(text, "unset colorbox\nunset label 5\n");
    free(text);
    json_decref(figure);
}

/* Seconds from 0.5 to 4: (2 - 0.5) / 3.5 is 43 %, light; more than 60 % of the way is dark. */
static void seconds(void)
{
    json_t *figure = cells("/round_s");
    char *text = script_of(figure, strait_sheet_heat, 0);
    CU_ASSERT_CONTAINS(text, "unset logscale cb\nset cbrange [0.5:4]\n");
    CU_ASSERT_CONTAINS(text, "set cbtics font ',11.05' autofreq\n");
    CU_ASSERT_CONTAINS(text, "1 0 2 2.00 0\n1 1 4 4.00 16777215\nEOD\n");
    CU_ASSERT_PTR_NULL(strstr(text, "$edge_0 using"));
    free(text);
    /* where all are alike the scale has some room */
    static const double alike[] = {2, -2, 0};
    static const char *const ranges[] = {"[1.98:2.02]", "[-2.02:-1.98]", "[-1:1]"};
    for (size_t k = 0; k < 3; k++) {
        char expected[40];
        size_t i;
        json_t *point;
        json_array_foreach (
            json_object_get(json_array_get(strait_sheet_lines_of(figure, 0), 0), "points"), i,
            point)
            json_array_set_new(point, 2, json_real(alike[k]));
        text = script_of(figure, strait_sheet_heat, 0);
        snprintf(expected, sizeof(expected), "set cbrange %s\n", ranges[k]);
        CU_ASSERT_CONTAINS(text, expected);
        free(text);
    }
    json_decref(figure);
}

static const struct strait_test tests[] = {
    {"bars stand on each other, a colour for each phase", stacked},
    {"the legend names every phase", named},
    {"speed-ups are white at 1, with an edge where they pass it", speed_ups},
    {"other numbers go from light to dark", seconds},
};
STRAIT_SUITE("analysis/plot/figure_cells", tests);
