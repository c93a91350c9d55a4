/* Inside plots: the scaling curve as numbers, for each setting s and codec c of a grid. */
#pragma once
#include "analysis/grid.h"
#include "plot.h"

struct strait_scaling {
    const struct strait_grid *grid;
    const json_t *breakevens;
    struct strait_plot_style *styles; /* of the grid's codecs */
    enum strait_plot_y y;
    size_t n_panels;
    double lo, hi; /* of y */
    bool repeats;  /* what bands are: the range of repeats; else the intervals of predictions */
    bool bands;    /* some are drawn */
};

struct strait_scaling_dot {
    long count;
    double y;
};

/** The speed-up or the time of a cell; NAN: there is no row. */
double strait_scaling_y(const struct strait_scaling *p, const struct strait_cell *cell);
/** The band of count n: the range of its repeats, or its 90 % interval. False: there is none, as
 *  for all speed-ups. */
bool strait_scaling_band(double ends[2], const struct strait_scaling *p, size_t s, size_t c,
                         size_t n);
bool strait_scaling_has_curve(const struct strait_scaling *p, size_t s, size_t c);
/** A curve at every count that the break-even search looked at, else at the swept ones.
 *  Out:     dots  new array
 *  Returns: how many; 0 if there is no memory */
size_t strait_scaling_curve(struct strait_scaling_dot **dots, const struct strait_scaling *p,
                            size_t s, size_t c);
/** The counts at which a curve begins (rising) or ceases to pay: each the first on the other side.
 *  Returns: how many, at most cap */
size_t strait_scaling_crossings(long *at, size_t cap, const struct strait_scaling *p, size_t s,
                                size_t c, bool rising);
/** Find lo, hi and bands. */
void strait_scaling_find_range(struct strait_scaling *p);
