/* Aligned text tables for any letters, and numbers in a readable form. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "core/error.h"

enum { STRAIT_NUMBER_CHARS = 32 };

struct strait_table; /* a header line and rows of cells; copies its arguments */

/** A new table. NULL when memory runs out; the functions below then do nothing, and
 *  strait_table_finish reports it. */
struct strait_table *strait_table_new(void);
void strait_table_free(struct strait_table *t);
/** Add a column. numbers: right-aligned. */
void strait_table_column(struct strait_table *t, const char *title, bool numbers);
/** Wrap the cells of the last declared column at blanks into lines of at most `width` columns; a
 *  longer word gets a line of its own. */
void strait_table_wrap(struct strait_table *t, size_t width);
/** Omit the last declared column if all its cells equal this text, which is borrowed. */
void strait_table_omit(struct strait_table *t, const char *text);
/** Omit the last declared column where the others fit side by side, but not with it. */
void strait_table_spare(struct strait_table *t);
/** The columns declared so far name a row: where a table continues below, they are repeated. Else
 *  the first column is. */
void strait_table_key(struct strait_table *t);
/** Add the next cell, row by row; NULL: empty. */
void strait_table_cell(struct strait_table *t, const char *text);
void strait_table_cellf(struct strait_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Draw a thin line before the next row. */
void strait_table_rule(struct strait_table *t);
size_t strait_table_n_rows(const struct strait_table *t);
/* Whoever prints asked for tables as wide as they are, on a terminal too. */
extern bool strait_table_wide;
/** Print it with two blanks between columns: on a terminal within its width; in files and pipes as
 *  wide as it is, a row a line, or within COLUMNS of the environment. */
void strait_table_print(const struct strait_table *t, FILE *out);
/** Print it within max_columns; 0: as wide as it is. Titles and texts are broken into several
 *  lines; columns that still do not fit continue below. Only a number that is wider than the limit
 *  by itself exceeds it. */
void strait_table_print_within(const struct strait_table *t, FILE *out, size_t max_columns);
/** Print and free it. 0, or -1 with *err NOMEM if memory ran out earlier. */
int strait_table_finish(struct strait_table *t, FILE *out, struct strait_error *err);

/** Print text around tables, broken at blanks within the width of the tables; what follows a line
 *  is indented as it is. */
void strait_prose(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Terminal columns of UTF-8 text: code points without combining marks, wide East Asian letters
 *  count two. A byte that is not UTF-8 counts one. */
size_t strait_text_width(const char *text);

/** Format a number with `digits` significant digits, without exponent between 1e-4 and 1e7:
 *  "1.234", "12.34", "1234"; "-" if not finite. Returns: buf */
const char *strait_format_number(char buf[STRAIT_NUMBER_CHARS], double value, int digits);
/** Format seconds with a suitable unit: "1.234 s", "56.7 ms", "890 us", "2 h 05 min". Returns:
 *  buf */
const char *strait_seconds_text(char buf[STRAIT_NUMBER_CHARS], double value_s);
/** Format bytes in powers of ten: "498 MB". Returns: buf */
const char *strait_bytes_text(char buf[STRAIT_NUMBER_CHARS], double value_bytes);
