/* A file that is read once from its beginning, plain or gzip, in a buffer of fixed size; it knows
 * the line and byte where it stands. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"

enum { STRAIT_SOURCE_BUFFER = 1 << 18 };

struct strait_source {
    const char *path;
    void *gz;              /* gzFile; NULL: bytes of memory */
    unsigned char *buffer; /* STRAIT_SOURCE_BUFFER bytes and a NUL */
    size_t at, end;        /* what of it is not read yet */
    uint64_t before;       /* bytes of the (unpacked) file before the buffer */
    size_t line;           /* of the last strait_source_line, the first is 1 */
    char *text;            /* the last line, if it did not fit into the buffer */
    size_t cap_text;
    bool has_failed; /* reading failed: `err` says how */
    struct strait_error err;
};

/** Open a regular file; a FIFO, a folder or an empty file is refused.
 *  Returns: 0, or -1 with *err INPUT; release in either case */
int strait_source_open(struct strait_source *s, const char *path, struct strait_error *err);
/** Read from memory that is borrowed until release; for tests and fuzzing. */
int strait_source_of(struct strait_source *s, const char *path, const void *bytes, size_t n,
                     struct strait_error *err);
void strait_source_release(struct strait_source *s);

/** Have at least n bytes (n <= STRAIT_SOURCE_BUFFER) at buffer + at, or all that are left.
 *  Returns: how many there are, 0 at the end and when reading has failed */
size_t strait_source_fill(struct strait_source *s, size_t n);
/** Bytes of the unpacked file before the next one. */
uint64_t strait_source_offset(const struct strait_source *s);
/** The next line without its end (LF or CRLF), valid until the next call.
 *  Returns: 1, or 0 after the last, or -1 with *err: a NUL, a line longer than 16 MB */
int strait_source_line(struct strait_source *s, char **line, struct strait_error *err);

/** Record what went wrong at the current line, "file:line: ...", or byte, "file: at byte N: ...".
 *  A failure of reading itself comes first. Returns: -1 */
int strait_source_fail_line(const struct strait_source *s, struct strait_error *err,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));
int strait_source_fail_byte(const struct strait_source *s, struct strait_error *err,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));

/** The next word of a line, cut in place at blanks; NULL: none is left. */
char *strait_source_word(char **rest);
/** What strtod reads at the beginning of a text, faster for plain digits and decimals.
 *  Returns: what follows it; NULL: no number */
const char *strait_source_double(double *out, const char *text);
/** A number from min to max that is the whole text; a suffix may follow, such as "b".
 *  Returns: whether it is one */
bool strait_source_number(double *out, const char *text, const char *suffix, double min,
                          double max);
/** The same for whole numbers up to 2^53. */
bool strait_source_integer(int64_t *out, const char *text, const char *suffix, int64_t min,
                           int64_t max);
