/* The spans of one run for viewers: Chrome's and Perfetto's JSON, Paje, letters in a terminal. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "analysis/breakdown.h"

/* A run, or the part of it from from_s to to_s. Borrowed. */
struct strait_timeline {
    const char *title;
    const struct strait_log *logs; /* n_ranks */
    int n_ranks;
    bool has_server;                     /* rank 0 */
    const struct strait_path_step *path; /* the critical path, NULL: not known */
    size_t n_path;
    double from_s, to_s; /* of the run's time: spans that begin here are shown */
};

enum { STRAIT_TIMELINE_MAX_LINES = 64 }; /* ranks that letters and pictures show */

/** Write all spans as JSON in the Trace Event Format, for ui.perfetto.dev and chrome://tracing: a
 *  process a rank, a thread for each lane and, since slices of a thread must not overlap, as many
 *  more as overlapping work and transfers need; the critical path as a process of its own, and
 *  "critical": true in the args of its spans.
 *  Source: Google, Trace Event Format, complete ("X") and metadata ("M") events; microseconds
 *  Returns: 0, or -1 with *err NOMEM. What the stream cannot take its owner asks it. */
int strait_timeline_chrome(FILE *out, const struct strait_timeline *t, struct strait_error *err);
/** The same as a Paje trace: a container a rank and in it one a thread, states and, for transfers,
 *  links. Source: Schnorr, Paje trace file format, 2016 */
int strait_timeline_paje(FILE *out, const struct strait_timeline *t, struct strait_error *err);
/** A line a rank within so many columns: each letter is what the rank did for most of that time, a
 *  capital where the critical path passes.
 *  Returns: 0, or -1 with *err: INPUT for more than STRAIT_TIMELINE_MAX_LINES ranks */
int strait_timeline_text(FILE *out, const struct strait_timeline *t, size_t columns,
                         struct strait_error *err);
/** An <svg> for a page: bars of the classes compute, encode, transfer, ..., with "critical".
 *  Returns: 0, or -1 with *err: INPUT for more ranks or spans than a picture shows */
int strait_timeline_svg(FILE *out, const struct strait_timeline *t, struct strait_error *err);
