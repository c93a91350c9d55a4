/* Inside plots: a gnuplot script that grows in memory, and running gnuplot. */
#pragma once
#include <jansson.h>
#include <stdio.h>
#include "core/error.h"

struct strait_plot_script {
    FILE *out; /* write the script here */
    char *text;
    size_t len_bytes;
    const char *const *ends; /* of the pictures: png, svg or pdf; NULL: png and svg */
    size_t n_ends;
};

/* A page: the same in every format. */
struct strait_plot_page {
    double width_in, height_in, font_pt;
    int png_dpi;
    double stroke; /* factor on widths of lines */
};

/* Position of panels as fractions of the picture; y counts from the bottom. */
struct strait_plot_layout {
    int n_columns, n_rows;
    double left, right, bottom, top;
    double gap_x, gap_y;
};

/** Begin a script that draws <path>.png, or with -e svg=1 <path>.svg, of 1600 x 1000. title and
 *  subtitle ("" for none) stand above all panels, down to 0.93 of the height. */
int strait_plot_script_begin(struct strait_plot_script *s, const char *path, const char *title,
                             const char *subtitle, struct strait_error *err);
/** Begin a script that draws <path>.EXT of a page, without titles. */
int strait_plot_script_open(struct strait_plot_script *s, const char *path,
                            const struct strait_plot_page *page, struct strait_error *err);
/** Write this after the first panel, so that titles are drawn once. */
void strait_plot_script_titled(struct strait_plot_script *s);
/** Write <path>.gp and run gnuplot on it for each picture. Ends the script in any case. */
int strait_plot_script_run(struct strait_plot_script *s, const char *path,
                           struct strait_error *err);
/** What --set put in, as a subtitle: "set: /clients=64", "" for nothing. A new string, or NULL. */
char *strait_plot_set(const json_t *set);
/** Text as an expression for gnuplot, in single quotes, inside of which it substitutes nothing; in
 *  lines of `wrap` letters at most, 0: in one. */
void strait_plot_put_text(FILE *out, const char *text, size_t wrap);
/** The same for a tic's label, which is a format of printf to gnuplot: "50 %" as '50 %%'. */
void strait_plot_put_tic(FILE *out, const char *text, size_t wrap);
/** How many lines that makes. */
size_t strait_plot_n_lines(const char *text, size_t wrap);
/** The narrowest wrap that gives no more lines and cuts no word: lines of like length. */
size_t strait_plot_balanced(const char *text, size_t wrap);
/** A codec's label, in words where there is none. */
void strait_plot_put_codec(FILE *out, const char *label);
/** Begin an empty panel up to this height of the picture, for a legend of so many columns. It ends
 *  in a `set key` line, to which fonts and the plot's lines are added. */
void strait_plot_legend(FILE *out, double height, size_t n_columns);
/** Write `set lmargin at screen ...` and so on for panel i of n. */
void strait_plot_place(FILE *out, const struct strait_plot_layout *l, int i);
/** Choose columns and rows for n panels. */
void strait_plot_arrange(struct strait_plot_layout *l, int n);
/** Colour i of a palette that is safe for colour-blind readers (Okabe and Ito, 2008). */
const char *strait_plot_color(size_t i);
