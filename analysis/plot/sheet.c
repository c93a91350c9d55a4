/* Pages: sizes, margins and titles. All lengths in points, 72 to an inch. */
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fields.h"
#include "analysis/table.h"

enum { MAX_DIRECT = 6 };
#define MIN_LETTERS                                                                                \
    8.0 /* letters' heights of a panel: what a page grows to, unless it is a slide */
#define SCREEN_ROWS 3.0 /* of panels; with more of them the picture is higher */
/* How much of the page's height names may take. */
static const double NAMES_SHARE = 0.35;

double strait_sheet_text_pt(const struct strait_sheet *s, const char *text)
{
    return STRAIT_SHEET_LETTER * s->small_pt * (double)strait_text_width(text);
}

static bool is_kind(const struct strait_sheet *s, const char *kind)
{
    return strcmp(strait_text_of(s->figure, "kind"), kind) == 0;
}

size_t strait_sheet_n_panels(const json_t *figure)
{
    return json_array_size(json_object_get(figure, "panels"));
}

const json_t *strait_sheet_lines_of(const json_t *figure, size_t panel)
{
    return json_object_get(json_array_get(json_object_get(figure, "panels"), panel), "lines");
}

/* --- the page ----------------------------------------------------------------------------- */

static size_t longest_title(const json_t *figure)
{
    size_t longest = 0, i;
    json_t *panel;
    json_array_foreach (json_object_get(figure, "panels"), i, panel) {
        const size_t n = strait_text_width(strait_text_of(panel, "title"));
        longest = n > longest ? n : longest;
    }
    return longest;
}

static double longest_label_pt(const struct strait_sheet *s)
{
    double longest = 0;
    size_t i;
    json_t *line;
    for (size_t p = 0; p < strait_sheet_n_panels(s->figure); p++)
        json_array_foreach (strait_sheet_lines_of(s->figure, p), i, line)
            longest = fmax(longest, strait_sheet_text_pt(s, strait_text_of(line, "label")));
    return longest;
}

static size_t most_lines(const json_t *figure)
{
    size_t most = 0;
    for (size_t p = 0; p < strait_sheet_n_panels(figure); p++)
        most = json_array_size(strait_sheet_lines_of(figure, p)) > most
                   ? json_array_size(strait_sheet_lines_of(figure, p))
                   : most;
    return most;
}

static struct strait_plot_page page_of(enum strait_figure_style style, int n_columns, size_t n_rows)
{
    if (style == STRAIT_FIGURE_SLIDES) /* PowerPoint's and Impress's 16:9, full HD as PNG */
        return (struct strait_plot_page){13.333, 7.5, 18, 144, 1.4};
    if (style == STRAIT_FIGURE_PAPER) /* widths of IEEE's journals; 300 dots an inch */
        return (struct strait_plot_page){n_columns == 1 ? 3.5 : 7.16,
                                         (n_columns == 1 ? 1.2 : 1.4) + 1.6 * (double)n_rows, 8,
                                         300, 0.55};
    return (struct strait_plot_page){16.667, 10.417 * fmax(1, (double)n_rows / SCREEN_ROWS), 13, 96,
                                     1};
}

size_t strait_sheet_letters(double width_pt, double font_pt)
{
    return (size_t)fmax(8, width_pt / (STRAIT_SHEET_LETTER * font_pt));
}

static char *notes_text(const json_t *figure)
{
    char *text = NULL;
    size_t len_bytes, i;
    json_t *note;
    FILE *out = open_memstream(&text, &len_bytes);
    json_array_foreach (json_object_get(figure, "notes"), i, note)
        if (out)
            fprintf(out, "%s%s", i > 0 ? "; " : "", json_string_value(note));
    return out && fclose(out) == 0 ? text : NULL;
}

double strait_sheet_width_pt(const struct strait_sheet *s)
{
    return STRAIT_SHEET_POINTS * s->page.width_in;
}

double strait_sheet_height_pt(const struct strait_sheet *s)
{
    return STRAIT_SHEET_POINTS * s->page.height_in;
}

static double titles_pt(const struct strait_sheet *s)
{
    char *notes = notes_text(s->figure);
    const double room = 0.94 * strait_sheet_width_pt(s);
    const double title =
        (double)strait_plot_n_lines(strait_text_of(s->figure, "title"),
                                    strait_sheet_letters(room, 1.2 * s->page.font_pt)) *
        1.2 * STRAIT_SHEET_LINE * s->page.font_pt;
    const double below =
        notes && *notes
            ? (double)strait_plot_n_lines(notes, strait_sheet_letters(room, s->small_pt)) *
                  STRAIT_SHEET_LINE * s->small_pt
            : 0;
    free(notes);
    return title + below + s->page.font_pt;
}

/* Names of categories are wrapped, and lie aslant where they do not fit beside each other. */
static double name_pt(const struct strait_sheet *s, const json_t *name)
{
    return fmin(strait_sheet_text_pt(s, json_string_value(name)),
                STRAIT_SHEET_LETTER * s->small_pt * STRAIT_SHEET_NAME_LETTERS);
}

static double widest_name_pt(const struct strait_sheet *s)
{
    double widest = 0;
    size_t i;
    json_t *name;
    json_array_foreach (json_object_get(json_object_get(s->figure, "x"), "names"), i, name)
        widest = fmax(widest, name_pt(s, name));
    return widest;
}

/* Lines of one name lie straight below each other: a flatter angle holds them apart. */
int strait_sheet_slant(const struct strait_sheet *s)
{
    const json_t *names = json_object_get(json_object_get(s->figure, "x"), "names");
    size_t i, n_lines = 0;
    json_t *name;
    json_array_foreach (names, i, name) {
        const size_t n = strait_plot_n_lines(json_string_value(name), STRAIT_SHEET_NAME_LETTERS);
        n_lines = n > n_lines ? n : n_lines;
    }
    if (widest_name_pt(s) * (double)json_array_size(names) * 1.15 <= s->panel_width_pt)
        return 0;
    return n_lines > 1 ? 30 : 40;
}

/* Sines and cosines: of a name's length what it is high, and long. */
static double rise(const struct strait_sheet *s)
{
    const int slant = strait_sheet_slant(s);
    return slant == 0 ? 0 : slant == 40 ? 0.64 : 0.5;
}

static double along(const struct strait_sheet *s)
{
    return strait_sheet_slant(s) == 40 ? 0.77 : 0.87;
}

/* Names that lie aslant end below their tics: by how much those on the left must shrink to begin on
 * the page. Beside the first and the last tic 6 % of their distance are left free. */
static double left_share(const struct strait_sheet *s)
{
    const double edge = 0.06 / 1.12;
    const json_t *names = json_object_get(json_object_get(s->figure, "x"), "names");
    const double n = (double)json_array_size(names),
                 left = s->layout.left * strait_sheet_width_pt(s);
    double share = 1;
    size_t i;
    json_t *name;
    json_array_foreach (names, i, name) {
        const double at = n > 1 ? edge + (1 - 2 * edge) * (double)i / (n - 1) : 0.5;
        const double needed = along(s) * name_pt(s, name);
        if (needed > 0)
            share = fmin(share, (left + at * s->panel_width_pt) / needed);
    }
    return share;
}

/* Long names have smaller letters rather than more of the page. */
double strait_sheet_name_font_pt(const struct strait_sheet *s)
{
    const double room = NAMES_SHARE * strait_sheet_height_pt(s),
                 needed = rise(s) * widest_name_pt(s);
    return strait_sheet_slant(s) > 0 ? s->small_pt * fmin(room / fmax(needed, room), left_share(s))
                                     : s->small_pt;
}

double strait_sheet_names_pt(const struct strait_sheet *s)
{
    return rise(s) * widest_name_pt(s) * strait_sheet_name_font_pt(s) / s->small_pt;
}

static double legend_height_pt(const struct strait_sheet *s)
{
    if (is_kind(s, "heat"))
        return 4.8 * s->page.font_pt;
    const double column = longest_label_pt(s) + 5 * s->small_pt;
    const size_t n = most_lines(s->figure),
                 fit = (size_t)fmax(1, 0.94 * strait_sheet_width_pt(s) / column);
    if (s->direct || n < 2)
        return 0;
    const size_t n_rows = (n + fit - 1) / fit;
    return (0.6 + (double)n_rows) * STRAIT_SHEET_LINE * s->small_pt;
}

static bool can_be_direct(const struct strait_sheet *s)
{
    return is_kind(s, "lines") && most_lines(s->figure) <= MAX_DIRECT &&
           most_lines(s->figure) > 1 && s->layout.n_columns <= 2 &&
           longest_label_pt(s) + s->small_pt <
               0.3 * strait_sheet_width_pt(s) / (double)s->layout.n_columns;
}

static double left_pt(const struct strait_sheet *s)
{
    double widest = 5 * STRAIT_SHEET_LETTER * s->small_pt;
    size_t i;
    json_t *name;
    json_array_foreach (json_object_get(json_object_get(s->figure, "by"), "names"), i, name)
        widest = fmax(widest, strait_sheet_text_pt(s, json_string_value(name)));
    return widest + 3.6 * s->page.font_pt; /* a title on its side, and tics */
}

/* What stands where on the page. */
static void lay_out(struct strait_sheet *s)
{
    const double w = strait_sheet_width_pt(s), h = strait_sheet_height_pt(s),
                 columns = s->layout.n_columns;
    const double right = s->direct ? longest_label_pt(s) + 2 * s->small_pt : 1.2 * s->small_pt;
    const double left = left_pt(s);
    const double gap = is_kind(s, "heat") ? 2 * s->page.font_pt : left + right;
    s->panel_width_pt = (w - left - right - (columns - 1) * gap) / columns;
    s->layout.left = left / w;
    s->legend_pt = legend_height_pt(s);
    const double below = strait_sheet_names_pt(s) + 4 * s->page.font_pt;
    const double wrap = (double)strait_sheet_letters(s->panel_width_pt, s->small_pt);
    const double title =
        ceil((double)longest_title(s->figure) * 1.1 / wrap) * STRAIT_SHEET_LINE * s->small_pt +
        0.5 * s->small_pt;
    const double top = titles_pt(s) + (longest_title(s->figure) > 0 ? title : 0);
    s->layout.right = 1 - right / w;
    s->layout.gap_x = gap / w;
    s->layout.bottom = (s->legend_pt + below) / h;
    s->layout.top = 1 - top / h;
    s->layout.gap_y = (below + (longest_title(s->figure) > 0 ? title : 0)) / h;
    s->panel_height_pt =
        (h * (s->layout.top - s->layout.bottom) - (s->layout.n_rows - 1) * s->layout.gap_y * h) /
        s->layout.n_rows;
}

void strait_sheet_plan(struct strait_sheet *s, const json_t *figure, enum strait_figure_style style,
                       int n_columns)
{
    const size_t n = strait_sheet_n_panels(figure);
    s->figure = figure;
    strait_plot_arrange(&s->layout, (int)n);
    const bool narrow = style == STRAIT_FIGURE_PAPER && n_columns == 1;
    if (narrow && s->layout.n_columns > 2)
        s->layout.n_columns = 2;
    else if (!narrow && n == 3)
        s->layout.n_columns = 3;
    s->layout.n_rows = ((int)n + s->layout.n_columns - 1) / s->layout.n_columns;
    s->page = page_of(style, n_columns, (size_t)s->layout.n_rows);
    s->small_pt = style == STRAIT_FIGURE_PAPER ? 7 : 0.85 * s->page.font_pt;
    s->direct = can_be_direct(s);
    lay_out(s);
    const double low_pt = MIN_LETTERS * s->small_pt - s->panel_height_pt;
    if (low_pt > 0 && style != STRAIT_FIGURE_SLIDES) {
        s->page.height_in += s->layout.n_rows * low_pt / STRAIT_SHEET_POINTS;
        lay_out(s);
    }
}

void strait_sheet_titles(struct strait_sheet *s)
{
    FILE *out = s->script.out;
    char *notes = notes_text(s->figure);
    const double room = 0.94 * strait_sheet_width_pt(s), font = 1.2 * s->page.font_pt;
    const char *title = strait_text_of(s->figure, "title");
    const size_t n = strait_plot_n_lines(title, strait_sheet_letters(room, font));
    double y = strait_sheet_height_pt(s) - 0.9 * font;
    fputs("set label 1 ", out);
    strait_plot_put_text(out, title, strait_plot_balanced(title, strait_sheet_letters(room, font)));
    fprintf(out, " at screen 0.5,%.4f center font ',%.4g'\n", y / strait_sheet_height_pt(s), font);
    y -= (double)n * STRAIT_SHEET_LINE * font;
    if (notes && *notes) {
        fputs("set label 2 ", out);
        strait_plot_put_text(out, notes, strait_sheet_letters(room, s->small_pt));
        fprintf(out, " at screen 0.5,%.4f center font ',%.4g'\n",
                (y + 0.35 * font) / strait_sheet_height_pt(s), s->small_pt);
    }
    fputs("set grid lc rgb '#e4e4e4' lt 1 lw 1\nset border lc rgb '#606060'\nunset key\n"
          "set tics nomirror out\n",
          out);
    free(notes);
}
