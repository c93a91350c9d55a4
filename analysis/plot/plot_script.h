/* Inside of plots: a gnuplot script that grows in memory, and gnuplot itself. */
#pragma once
#include <stdio.h>
#include "core/error.h"

enum { STRAIT_PLOT_QUOTED_CHARS = 512 };

struct strait_plot_script {
    FILE *out; /* write the script here */
    char *text;
    size_t len_bytes;
};

/* Where panels lie, in shares of the picture; y counts from the bottom. */
struct strait_plot_layout {
    int n_columns, n_rows;
    double left, right, bottom, top;
    double gap_x, gap_y;
};

/** Begin a script that draws <path>.png, or with -e svg=1 <path>.svg, of 1600 x 1000. */
int strait_plot_script_begin(struct strait_plot_script *s, const char *path, const char *title,
                             struct strait_error *err);
/** Write <path>.gp and run gnuplot on it for both pictures. Ends the script either way. */
int strait_plot_script_run(struct strait_plot_script *s, const char *path,
                           struct strait_error *err);
/** Text inside single quotes for gnuplot, which then substitutes nothing. Returns buf. */
const char *strait_plot_quote(char buf[STRAIT_PLOT_QUOTED_CHARS], const char *text);
/** `set lmargin at screen ...` and so on for panel i of n. */
void strait_plot_place(FILE *out, const struct strait_plot_layout *l, int i);
/** Columns and rows for n panels. */
void strait_plot_arrange(struct strait_plot_layout *l, int n);
/** Colour i of a palette that the colour-blind tell apart (Okabe and Ito, 2008). */
const char *strait_plot_color(size_t i);
