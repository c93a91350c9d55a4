/* Styles of curves. */
#include "plot_styles.h"

#include <stdlib.h>
#include <string.h>

#include "plot_script.h"

enum { N_COLORS = 7, N_DASHES = 5 };

/* Of each codec its family and which of its members it is. Families are counted in the order of the
 * codecs, those that compress nothing apart. Returns whether colours and dashes suffice. */
static bool find_families(size_t *family, size_t *member, const struct strait_grid *g)
{
    size_t n[2] = {0, 0};
    bool suffice = true;
    for (size_t c = 0; c < g->n_codecs; c++) {
        const bool plain = g->codecs[c].is_plain;
        member[c] = 0;
        family[c] = n[plain];
        for (size_t i = 0; i < c; i++)
            if (g->codecs[i].is_plain == plain &&
                strcmp(g->codecs[i].family, g->codecs[c].family) == 0) {
                family[c] = family[i];
                member[c]++;
            }
        n[plain] += family[c] == n[plain];
        suffice = suffice && family[c] < N_COLORS && member[c] < N_DASHES;
    }
    return suffice;
}

struct strait_plot_style *strait_plot_styles(const struct strait_grid *g)
{
    struct strait_plot_style *styles = calloc(g->n_codecs + 1, sizeof(*styles));
    size_t *family = calloc(g->n_codecs + 1, sizeof(*family));
    size_t *member = calloc(g->n_codecs + 1, sizeof(*member)), n = 0, n_plain = 0;
    if (styles && family && member) {
        const bool by_family = find_families(family, member, g);
        for (size_t c = 0; c < g->n_codecs; c++) {
            const bool plain = g->codecs[c].is_plain;
            const size_t i = plain ? n_plain++ : by_family ? member[c] : n++ / N_COLORS;
            const size_t color = by_family ? family[c] : (n - 1) % N_COLORS;
            styles[c] = (struct strait_plot_style){plain ? "#000000" : strait_plot_color(color),
                                                   (i + i / N_DASHES) % N_DASHES, i % N_DASHES, 0,
                                                   i / N_DASHES};
        }
    } else {
        free(styles);
        styles = NULL;
    }
    free(family);
    free(member);
    return styles;
}

struct strait_plot_style strait_plot_style_at(size_t i)
{
    return (struct strait_plot_style){strait_plot_color(i % N_COLORS), i % N_DASHES, i % N_DASHES,
                                      0, 0};
}

void strait_plot_put_style(FILE *out, const struct strait_plot_style *style,
                           enum strait_plot_drawing drawing)
{
    /* Filled; hollow; of lines, for what has no line by which it could be told. */
    static const int points[][N_DASHES] = {{7, 5, 9, 11, 13}, {6, 4, 8, 10, 12}, {1, 2, 3, 1, 2}};
    static const char *const dashes[N_DASHES] = {"1", "'-'", "'.'", "'_-'", "'-..'"};
    const double size = style->size > 0 ? style->size : 1.2;
    if (drawing == STRAIT_PLOT_DOTS)
        fprintf(out, "with points pt %d ps %.3g lc rgb '%s'",
                points[style->turn < 2 ? style->turn : 2][style->point], size, style->color);
    else if (drawing == STRAIT_PLOT_LINE)
        fprintf(out, "with lines lw 2.4 dt %s lc rgb '%s'", dashes[style->dash], style->color);
    else
        fprintf(out, "with linespoints lw 2.4 dt %s pt %d ps %.3g lc rgb '%s'", dashes[style->dash],
                points[0][style->point], size, style->color);
}
