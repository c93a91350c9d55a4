/* One error on the caller's stack: the first failure wins, libraries never print and never exit. */
#pragma once
#include <stdbool.h>
#include "error_struct.h"

/** Record a failure unless one is recorded already.
 *  Out:     err    may be NULL
 *  In:      where  file and JSON Pointer or line, or the command that ran; NULL: none
 *  Returns: -1, so that callers can write `return strait_error_set(...)` */
int strait_error_set(struct strait_error *err, enum strait_error_code code, const char *where,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/** The same with STRAIT_ERR_SYSTEM (NOMEM for ENOMEM), errno saved and its meaning appended. */
int strait_error_system(struct strait_error *err, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The same for a file or folder that somebody named: INPUT where it cannot be there (no such
 *  folder, a file in the place of one, not allowed), for that is a wrong name and no failure. */
int strait_error_path(struct strait_error *err, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Exit status of the program for this error: 0, 1, 2 or 3. */
int strait_error_exit_status(const struct strait_error *err);

/* The analyzer of make lint sees one file at a time: what these return is said here. */
#ifdef __clang_analyzer__
#define strait_error_set(...)    (strait_error_set(__VA_ARGS__), -1)
#define strait_error_system(...) (strait_error_system(__VA_ARGS__), -1)
#define strait_error_path(...)   (strait_error_path(__VA_ARGS__), -1)
#endif
