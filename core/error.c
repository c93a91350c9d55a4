/* Errors: the first failure wins, and the text is always one line. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "error.h"
#undef strait_error_set
#undef strait_refuse
#undef strait_refuse_at
#undef strait_error_memory
#undef strait_error_system
#undef strait_error_path

/* Bytes of the UTF-8 character that begins here, by its first byte and those that go on; 0: none
 * that may be printed. */
static size_t character_bytes(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if (c[0] < 0x20 || c[0] == 0x7f || c[0] > 0xf4 || (c[0] == 0xc2 && c[1] < 0xa0))
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Inputs quoted in an error may contain control characters, or bytes that are no text; replace
 * them. */
static void make_one_line(char *text)
{
    for (char *c = text; *c;) {
        const size_t n = character_bytes(c);
        if (n == 0)
            *c = '?';
        c += n > 0 ? n : 1;
    }
}

/* A text that was cut to fit must not end within a UTF-8 sequence. */
static void drop_partial_character(char *text, size_t cap)
{
    size_t end = strlen(text), start = end;
    if (end + 1 < cap)
        return; /* nothing was cut */
    while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0)
        return;
    const unsigned char lead = (unsigned char)text[start - 1];
    const size_t n_bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (end - (start - 1) < n_bytes)
        text[start - 1] = '\0';
}

static void tidy(char *text, size_t cap)
{
    drop_partial_character(text, cap);
    make_one_line(text);
}

static void record(struct strait_error *err, enum strait_error_code code, const char *where,
                   const char *format, va_list args) __attribute__((format(printf, 4, 0)));

static void record(struct strait_error *err, enum strait_error_code code, const char *where,
                   const char *format, va_list args)
{
    if (!err || err->code != STRAIT_OK)
        return;
    err->code = code;
    err->saved_errno = 0;
    snprintf(err->where, sizeof(err->where), "%s", where ? where : "");
    vsnprintf(err->text, sizeof(err->text), format, args);
    tidy(err->where, sizeof(err->where));
    tidy(err->text, sizeof(err->text));
}

int strait_error_set(struct strait_error *err, enum strait_error_code code, const char *where,
                     const char *format, ...)
{
    assert(code != STRAIT_OK);
    va_list args;
    va_start(args, format);
    record(err, code, where, format, args);
    va_end(args);
    return -1;
}

int strait_refuse(struct strait_error *err, const char *where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record(err, STRAIT_ERR_INPUT, where, format, args);
    va_end(args);
    return -1;
}

int strait_refuse_at(struct strait_error *err, const char *file, const char *pointer,
                     const char *format, ...)
{
    char where[512];
    va_list args;
    snprintf(where, sizeof(where), "%s#%s", file, pointer);
    va_start(args, format);
    record(err, STRAIT_ERR_INPUT, where, format, args);
    va_end(args);
    return -1;
}

int strait_error_memory(struct strait_error *err, const char *where)
{
    return strait_error_set(err, STRAIT_ERR_NOMEM, where, "memory ran out");
}

static void add_errno(struct strait_error *err, int saved_errno)
{
    char buf[128];
    const size_t used = strlen(err->text);
    err->saved_errno = saved_errno;
    if (saved_errno != 0)
        snprintf(err->text + used, sizeof(err->text) - used, ": %s",
                 strerror_r(saved_errno, buf, sizeof(buf)));
}

int strait_error_system(struct strait_error *err, const char *where, const char *format, ...)
{
    const int saved_errno = errno;
    if (!err || err->code != STRAIT_OK)
        return -1;
    va_list args;
    va_start(args, format);
    record(err, saved_errno == ENOMEM ? STRAIT_ERR_NOMEM : STRAIT_ERR_SYSTEM, where, format, args);
    va_end(args);
    add_errno(err, saved_errno);
    return -1;
}

static bool is_wrong_name(int saved_errno)
{
    static const int all[] = {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, EROFS, ENAMETOOLONG, ELOOP};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i] == saved_errno)
            return true;
    return false;
}

int strait_error_path(struct strait_error *err, const char *path, const char *format, ...)
{
    const int saved_errno = errno;
    if (!err || err->code != STRAIT_OK)
        return -1;
    va_list args;
    va_start(args, format);
    record(err,
           is_wrong_name(saved_errno) ? STRAIT_ERR_INPUT
           : saved_errno == ENOMEM    ? STRAIT_ERR_NOMEM
                                      : STRAIT_ERR_SYSTEM,
           path, format, args);
    va_end(args);
    add_errno(err, saved_errno);
    return -1;
}

int strait_error_exit_status(const struct strait_error *err)
{
    switch (err->code) {
    case STRAIT_OK:
        return 0;
    case STRAIT_ERR_USAGE:
    case STRAIT_ERR_INPUT:
        return 2;
    case STRAIT_ERR_HOST:
        return 3;
    case STRAIT_ERR_SYSTEM:
    case STRAIT_ERR_BACKEND:
    case STRAIT_ERR_NOMEM:
        return 1;
    }
    return 1;
}
