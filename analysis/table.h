/* Text tables that line up whatever letters are in them, and numbers that read at a glance. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "core/error.h"

enum { STRAIT_NUMBER_CHARS = 32 };

struct strait_table; /* a header line and rows of cells; copies what it is given */

/** NULL when memory runs out, as every function below then does nothing: strait_table_finish
 *  tells. */
struct strait_table *strait_table_new(void);
void strait_table_free(struct strait_table *t);
/** A further column. numbers: right-aligned. */
void strait_table_column(struct strait_table *t, const char *title, bool numbers);
/** Break the cells of the column declared last at blanks into lines of `width` columns at most; a
 *  longer word keeps its line to itself. */
void strait_table_wrap(struct strait_table *t, size_t width);
/** Leave the column declared last out where all its cells are this text, which is borrowed: a share
 *  of 0 everywhere says nothing. */
void strait_table_omit(struct strait_table *t, const char *text);
/** The next cell, row by row; text may be NULL for an empty one. */
void strait_table_cell(struct strait_table *t, const char *text);
void strait_table_cellf(struct strait_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** A thin line before the next row. */
void strait_table_rule(struct strait_table *t);
size_t strait_table_n_rows(const struct strait_table *t);
/** Write it, two blanks between columns, to a stream of the caller's. */
void strait_table_print(const struct strait_table *t, FILE *out);
/** Write it and free it. 0, or -1 with *err NOMEM: memory ran out before. */
int strait_table_finish(struct strait_table *t, FILE *out, struct strait_error *err);

/** Columns that UTF-8 text takes on a terminal: code points without combining marks; two for the
 *  wide letters of East Asia. A byte that is not UTF-8 counts as one. */
size_t strait_text_width(const char *text);

/** A number with `digits` significant digits and no exponent between 1e-4 and 1e7: "1.234",
 *  "12.34", "1234"; "-" for what is not finite. Returns buf. */
const char *strait_number_text(char buf[STRAIT_NUMBER_CHARS], double value, int digits);
/** Seconds with the unit that suits: "1.234 s", "56.7 ms", "890 us", "2 h 05 min". Returns buf. */
const char *strait_seconds_text(char buf[STRAIT_NUMBER_CHARS], double value_s);
/** Bytes in powers of ten: "498 MB". Returns buf. */
const char *strait_bytes_text(char buf[STRAIT_NUMBER_CHARS], double value_bytes);
