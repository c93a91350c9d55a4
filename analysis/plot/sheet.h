/* Inside figures: the page that a figure is drawn on, its margins and its axes. */
#pragma once
#include "figure.h"
#include "plot_script.h"

enum { STRAIT_SHEET_MAX_TICS = 64, STRAIT_SHEET_POINTS = 72 /* an inch */ };
/* Letters of DejaVu Sans: their mean width and the distance of lines, in font sizes. */
#define STRAIT_SHEET_LETTER 0.62
enum { STRAIT_SHEET_NAME_LETTERS = 44 }; /* of a category across, in one line */
#define STRAIT_SHEET_LINE 1.4

struct strait_sheet {
    const json_t *figure;
    struct strait_plot_script script;
    struct strait_plot_page page;
    struct strait_plot_layout layout;
    double small_pt; /* of notes, tics and legends */
    double panel_width_pt, panel_height_pt;
    bool direct;      /* lines bear their labels at their ends: there is no legend */
    double legend_pt; /* height of the legend or colour bar */
};

/* What a value axis covers, with room at its ends. */
struct strait_sheet_range {
    double low, high;
    bool log;
};

/** Choose page, panels and margins. */
void strait_sheet_plan(struct strait_sheet *s, const json_t *figure, enum strait_figure_style style,
                       int n_columns);
/** Title and notes above all panels. */
void strait_sheet_titles(struct strait_sheet *s);
/** Margins, title and the x axis of panel i; ends with its ranges set. */
void strait_sheet_panel(struct strait_sheet *s, size_t i, const struct strait_sheet_range *x,
                        const struct strait_sheet_range *y, const char *y_label);
/** Where a value stands in a range: 0 at its low end, 1 at its high end. */
double strait_sheet_place(const struct strait_sheet_range *range, double value);
/** The range of columns from..to of all points of a panel's lines, all: of all panels with the same
 *  number, with room at both ends. */
struct strait_sheet_range strait_sheet_range_of(const json_t *figure, size_t panel, bool all,
                                                size_t from, size_t to, bool log);
/** Tics of a logarithmic range: 1, 2, 5 in each decade, or more where there is less than one, or
 *  decades alone. Returns how many, at most STRAIT_SHEET_MAX_TICS. */
size_t strait_sheet_log_tics(double *at, const struct strait_sheet_range *range);
/** Width of a text in the page's small letters, in points. */
double strait_sheet_text_pt(const struct strait_sheet *s, const char *text);

size_t strait_sheet_n_panels(const json_t *figure);
const json_t *strait_sheet_lines_of(const json_t *figure, size_t panel);
double strait_sheet_width_pt(const struct strait_sheet *s);
double strait_sheet_height_pt(const struct strait_sheet *s);
/** Letters of a line of this width. */
size_t strait_sheet_letters(double width_pt, double font_pt);
/** The degrees at which names of categories lie that do not fit beside each other, and the height
 *  that they then take. */
int strait_sheet_slant(const struct strait_sheet *s);
double strait_sheet_names_pt(const struct strait_sheet *s);
/** Size of their letters. */
double strait_sheet_name_font_pt(const struct strait_sheet *s);

/** Draw panel i; of figure_lines.c and figure_cells.c. */
void strait_sheet_lines(struct strait_sheet *s, size_t i);
void strait_sheet_phases(struct strait_sheet *s, size_t i);
void strait_sheet_heat(struct strait_sheet *s, size_t i);
/** The legend below all panels. */
void strait_sheet_line_legend(struct strait_sheet *s);
void strait_sheet_phase_legend(struct strait_sheet *s);
