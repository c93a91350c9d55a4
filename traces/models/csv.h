/* The strict CSV reader: plain fields without quotes, errors with file and line. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

enum { STRAIT_CSV_MAX_FIELDS = 32 };

struct strait_csv {
    const char *path;
    char *text;   /* the whole file; lines and fields are cut in place */
    char *cursor; /* next line, NULL after the last */
    size_t line;  /* of `fields`, the first is 1 */
    char *fields[STRAIT_CSV_MAX_FIELDS];
    size_t n_fields;
    const char *header; /* the argument of strait_csv_header */
};

/** Read a text file. Lines may end in CRLF; a byte below 32 other than tab or newline is an error.
 *  Returns: 0, or -1 with *err INPUT; call release in either case when csv was zeroed */
int strait_csv_open(struct strait_csv *csv, const char *path, struct strait_error *err);
void strait_csv_release(struct strait_csv *csv);

/** Read the next leading line "# key: value", cut in place. False at any other line; leading
 *  comment lines of another form are skipped. */
bool strait_csv_comment(struct strait_csv *csv, char **key, char **value);
/** Read the header line, which must be exactly `header`. */
int strait_csv_header(struct strait_csv *csv, const char *header, struct strait_error *err);
/** Read the next row into `fields`. Blank lines are allowed at the end of the file only.
 *  Out:     more  false after the last row
 *  Returns: 0, or -1 with *err when the number of fields differs from the header's */
int strait_csv_next(struct strait_csv *csv, bool *more, struct strait_error *err);

/** Set an error at the current line, "file:line: text". Returns -1. */
int strait_csv_fail(const struct strait_csv *csv, struct strait_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Whether a text can stand in results, which are JSON: UTF-8. */
bool strait_csv_is_utf8(const char *text);

/* Read one field of the current row; errors name its column. */
int strait_csv_number(const struct strait_csv *csv, double *out, size_t field, double min,
                      double max, struct strait_error *err);
int strait_csv_integer(const struct strait_csv *csv, size_t *out, size_t field, size_t max,
                       struct strait_error *err);
/** Non-empty UTF-8 that fits cap bytes. */
int strait_csv_text(const struct strait_csv *csv, char *out, size_t cap, size_t field,
                    struct strait_error *err);
