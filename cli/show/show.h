/* Print results for people. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/compare.h"
#include "core/error.h"

/** Print the rows of one backend: one line a point and each curve's break-even; above
 *  STRAIT_SHOW_MAX_LINES points a grid of speed-ups with settings and codecs as rows, numbers of
 *  clients as columns, break-even last; with more than STRAIT_SHOW_MAX_COUNTS of these a line each
 *  all the same.
 *  In:      breakevens  array of records; NULL: none
 *  Returns: 0, or -1 with *err */
enum { STRAIT_SHOW_MAX_LINES = 60, STRAIT_SHOW_MAX_COUNTS = 90 };
int strait_show_rows(FILE *out, const json_t *rows, const json_t *breakevens,
                     struct strait_error *err);
/** Marks of a row that strait_show_notes explains; "" for most rows. Returns: buf */
enum { STRAIT_MARKS_CHARS = 4 };
const char *strait_show_marks(char buf[STRAIT_MARKS_CHARS], const json_t *row);
bool strait_show_any_marks(const json_t *rows);
/** A line for each thing that a reader should know of some of the rows: rounds that were not
 *  simulated because they repeat, a log that was full, effects of packets that are not modelled.
 *  marked: the lines of the table say of
 *  which; else how many they are. */
void strait_show_notes(FILE *out, const json_t *rows, bool marked);
/** "set: /clients=64, /codec=none": what --set put in, {pointer: value}; nothing for none. */
void strait_show_set(FILE *out, const char *before, const json_t *set);
/** Print the lines above the rows: title, values of --set, model, strategy, backend, and how it was
 *  emulated. */
void strait_show_head(FILE *out, const json_t *rows);
/** "server port in", "compute", "latency": what a row's "limits" name, without its share. */
const char *strait_limit_short(const json_t *limits);
/** Print the result of strait_tradeoff as a table. 0, or -1 with *err. */
int strait_show_tradeoff(FILE *out, const json_t *tradeoff, struct strait_error *err);
/** Print a comparison: all phases of each pair, or above a few pairs one line a pair. 0, or -1 with
 *  *err. */
int strait_show_comparison(FILE *out, const json_t *comparison,
                           const struct strait_compare_options *options, struct strait_error *err);
