/* Plots by gnuplot: the scaling curve, and predicted against measured. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include "core/error.h"

enum strait_plot_y {
    STRAIT_PLOT_SPEEDUP,  /* relative to no compression; if that is missing, the time */
    STRAIT_PLOT_TIME,     /* of a round */
    STRAIT_PLOT_ACCURACY, /* these three: of strait_plot_training */
    STRAIT_PLOT_LOSS,
    STRAIT_PLOT_TIME_TO_TARGET
};

/** Plot a curve for each codec and bound over the number of clients, a panel for each setting.
 *  Out:     <path>.gp (script and data), <path>.png and <path>.svg
 *  In:      path        without extension
 *           rows        array of rows of one backend
 *           breakevens  array of records, for curves at every count and crossings; NULL: none
 *           title       NULL: that of the rows
 *  Returns: 0, or -1 with *err: HOST when gnuplot is missing, INPUT without a valid row */
int strait_plot_scaling(const char *path, const json_t *rows, const json_t *breakevens,
                        enum strait_plot_y y, const char *title, struct strait_error *err);

/** Plot the final accuracy or loss of runs that trained for real, or their time to the target,
 *  against the bytes that they sent or the time that they took: a point for each codec and
 *  setting with the deviation over its seeds, a panel for each task. Where that would be more than
 *  35 points' looks, a panel for each setting, of nine at most; the subtitle says what is left out.
 *  Returns: as above; INPUT also where no row has such a figure */
int strait_plot_training(const char *path, const json_t *rows, enum strait_plot_y y, bool by_time,
                         const char *title, struct strait_error *err);

/** Plot what strait_plot_training does where codecs are many: a line a codec with its score, bytes
 *  and time, without error feedback and with it, side by side for four tasks or settings at most.
 *  In:      y  STRAIT_PLOT_ACCURACY or STRAIT_PLOT_LOSS
 *  Returns: as above */
int strait_plot_codecs(const char *path, const json_t *rows, enum strait_plot_y y,
                       const char *title, struct strait_error *err);

/** Plot predicted and measured bars of every phase, a panel for each pair; above twelve pairs,
 *  points around the diagonal.
 *  In:      comparison  of strait_compare */
int strait_plot_comparison(const char *path, const json_t *comparison, double tolerance_ratio,
                           const char *title, struct strait_error *err);
