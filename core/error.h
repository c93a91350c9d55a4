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

/** Record bad input: the same with STRAIT_ERR_INPUT. */
int strait_refuse(struct strait_error *err, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Record bad input at a JSON Pointer of a file: where is "FILE#/POINTER". */
int strait_refuse_at(struct strait_error *err, const char *file, const char *pointer,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/** Record that memory ran out; the same with STRAIT_ERR_NOMEM. */
int strait_error_memory(struct strait_error *err, const char *where);

/** The same with STRAIT_ERR_SYSTEM (NOMEM for ENOMEM), errno saved and its meaning appended. */
int strait_error_system(struct strait_error *err, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The same for a path that the user named: INPUT when the path is at fault (no such folder, a file
 *  where a folder is needed, not allowed), otherwise SYSTEM. */
int strait_error_path(struct strait_error *err, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Exit status of the program for this error: 0, 1, 2 or 3. */
int strait_error_exit_status(const struct strait_error *err);

/* `make lint`'s analyzer sees one file at a time, so it is told here what these return. */
#ifdef __clang_analyzer__
#define strait_error_set(...)    (strait_error_set(__VA_ARGS__), -1)
#define strait_refuse(...)       (strait_refuse(__VA_ARGS__), -1)
#define strait_refuse_at(...)    (strait_refuse_at(__VA_ARGS__), -1)
#define strait_error_memory(...) (strait_error_memory(__VA_ARGS__), -1)
#define strait_error_system(...) (strait_error_system(__VA_ARGS__), -1)
#define strait_error_path(...)   (strait_error_path(__VA_ARGS__), -1)
#endif
