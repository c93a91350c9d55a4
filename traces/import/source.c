#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const size_t MAX_LINE = (size_t)16 << 20;

static int begin(struct strait_source *s, const char *path, struct strait_error *err)
{
    *s = (struct strait_source){.path = path};
    if (!(s->buffer = malloc(STRAIT_SOURCE_BUFFER + 1)))
        return strait_error_memory(err, path);
    s->buffer[0] = '\0';
    return 0;
}

int strait_source_open(struct strait_source *s, const char *path, struct strait_error *err)
{
    struct stat status;
    if (begin(s, path, err) != 0)
        return -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO does not block us */
    if (fd < 0)
        return strait_error_path(err, path, "cannot read");
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
        const bool is_file = S_ISREG(status.st_mode);
        close(fd);
        return strait_refuse(err, path, "expected a file with a trace, found %s",
                             is_file                   ? "an empty one"
                             : S_ISDIR(status.st_mode) ? "a folder"
                                                       : "something that is no file");
    }
    if (!(s->gz = gzdopen(fd, "rb"))) {
        close(fd);
        return strait_error_memory(err, path);
    }
    gzbuffer(s->gz, STRAIT_SOURCE_BUFFER);
    return 0;
}

int strait_source_of(struct strait_source *s, const char *path, const void *bytes, size_t n,
                     struct strait_error *err)
{
    if (begin(s, path, err) != 0)
        return -1;
    if (n > STRAIT_SOURCE_BUFFER) {
        unsigned char *larger = realloc(s->buffer, n + 1);
        if (!larger)
            return strait_error_memory(err, path);
        s->buffer = larger;
    }
    memcpy(s->buffer, bytes, n);
    s->buffer[n] = '\0';
    s->end = n;
    return 0;
}

void strait_source_release(struct strait_source *s)
{
    if (s->gz)
        gzclose(s->gz);
    free(s->buffer);
    free(s->text);
    *s = (struct strait_source){0};
}

size_t strait_source_fill(struct strait_source *s, size_t n)
{
    if (s->end - s->at >= n || !s->gz || s->has_failed)
        return s->end - s->at;
    memmove(s->buffer, s->buffer + s->at, s->end - s->at);
    s->before += s->at;
    s->end -= s->at;
    s->at = 0;
    while (s->end < n) {
        const int got =
            gzread(s->gz, s->buffer + s->end, (unsigned)(STRAIT_SOURCE_BUFFER - s->end));
        int code = Z_OK;
        const char *why = got <= 0 ? gzerror(s->gz, &code) : "";
        if (got < 0 || code == Z_BUF_ERROR) {
            s->has_failed = true;
            if (code == Z_ERRNO)
                strait_error_path(&s->err, s->path, "cannot read");
            else
                strait_refuse(&s->err, s->path,
                              "expected gzip data, found them damaged or cut off after %llu bytes "
                              "of content: %s",
                              (unsigned long long)(s->before + s->end), why);
            s->end = s->at; /* nothing of it is believed */
        }
        if (got <= 0)
            break;
        s->end += (size_t)got;
    }
    s->buffer[s->end] = '\0';
    return s->end - s->at;
}

uint64_t strait_source_offset(const struct strait_source *s)
{
    return s->before + s->at;
}

/* --- errors ------------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 0))) static int fail(const struct strait_source *s,
                                                      struct strait_error *err, const char *where,
                                                      const char *format, va_list args)
{
    char text[384];
    if (s->has_failed)
        return strait_error_set(err, s->err.code, s->err.where, "%s", s->err.text);
    vsnprintf(text, sizeof(text), format, args);
    return strait_refuse(err, where, "%s", text);
}

int strait_source_fail_line(const struct strait_source *s, struct strait_error *err,
                            const char *format, ...)
{
    char where[256];
    va_list args;
    snprintf(where, sizeof(where), "%s:%zu", s->path, s->line);
    va_start(args, format);
    fail(s, err, where, format, args);
    va_end(args);
    return -1;
}

int strait_source_fail_byte(const struct strait_source *s, struct strait_error *err,
                            const char *format, ...)
{
    char where[256];
    va_list args;
    snprintf(where, sizeof(where), "%s: at byte %llu", s->path,
             (unsigned long long)strait_source_offset(s));
    va_start(args, format);
    fail(s, err, where, format, args);
    va_end(args);
    return -1;
}

/* --- lines and words ---------------------------------------------------------------------- */

/* Keep what the buffer has of a line that goes on behind it. */
static int append(struct strait_source *s, size_t *len, size_t n, struct strait_error *err)
{
    if (*len + n > MAX_LINE)
        return strait_source_fail_line(s, err,
                                       "expected lines of text, found one longer than 16 MB");
    if (*len + n + 1 > s->cap_text) {
        const size_t cap = 2 * (*len + n + 1);
        char *more = realloc(s->text, cap);
        if (!more)
            return strait_error_memory(err, s->path);
        s->text = more;
        s->cap_text = cap;
    }
    memcpy(s->text + *len, s->buffer + s->at, n);
    *len += n;
    return 0;
}

int strait_source_line(struct strait_source *s, char **line, struct strait_error *err)
{
    size_t len = 0, n;
    bool ended = false;
    s->line++;
    *line = NULL;
    while (!ended && (n = strait_source_fill(s, 1)) > 0) {
        unsigned char *from = s->buffer + s->at, *end = memchr(from, '\n', n);
        const size_t more = end ? (size_t)(end - from) : n;
        ended = end != NULL;
        if (memchr(from, '\0', more))
            return strait_source_fail_line(s, err, "expected text, found a zero byte");
        if (ended && len == 0) { /* all of it is here: nothing is copied */
            *line = (char *)from;
            len = more;
        } else if (append(s, &len, more, err) != 0) {
            return -1;
        }
        s->at += more + ended;
    }
    if (s->has_failed)
        return strait_source_fail_line(s, err, "cannot read");
    if (!ended && len == 0)
        return 0;
    if (!*line)
        *line = s->text;
    len -= len > 0 && (*line)[len - 1] == '\r';
    (*line)[len] = '\0';
    return 1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

char *strait_source_word(char **rest)
{
    char *word = *rest, *end;
    while (is_blank(*word))
        word++;
    if (!*word)
        return NULL;
    for (end = word; *end && !is_blank(*end);)
        end++;
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* Digits alone, as most numbers are: strtod takes several times as long. NULL: something else. */
static const char *whole(double *out, const char *text)
{
    int64_t x = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && c < text + 15; c++)
        x = 10 * x + (*c - '0');
    *out = (double)x;
    return c == text || (*c && strchr("0123456789.eExXpP", *c)) ? NULL : c;
}

/* Digits with a point, of which the second most numbers are, rounded as by strtod in a fifth of its
 * time: at most 19 digits are a whole number of 64 bits, and powers of ten up to 27 have as many,
 * so that their quotient is off by half a unit in its 64 bits at most; that may decide to which
 * double it is rounded only if it looks halfway between two. NULL: something else, or just that. */
static const char *decimal(double *out, const char *text)
{
#if LDBL_MANT_DIG == 64
    enum { MAX_DIGITS = 19, HALF = 1 << 10, BELOW = 2 * HALF - 1 };
    uint64_t digits = 0, bits;
    long double power = 1, value;
    const char *c = text;
    int n = 0;
    for (; *c >= '0' && *c <= '9'; c++, n++)
        digits = 10 * digits + (uint64_t)(*c - '0');
    if (n == 0 || n >= MAX_DIGITS || *c != '.')
        return NULL;
    for (c++; *c >= '0' && *c <= '9' && n < MAX_DIGITS; c++, n++, power *= 10)
        digits = 10 * digits + (uint64_t)(*c - '0');
    if (*c && strchr("0123456789.eExXpP", *c))
        return NULL;
    value = (long double)digits / power;
    memcpy(&bits, &value, sizeof(bits)); /* x87: the significand comes first */
    if ((bits & BELOW) == HALF)
        return NULL;
    *out = (double)value;
    return c;
#else
    (void)out;
    (void)text;
    return NULL;
#endif
}

static const char *plain(double *out, const char *text)
{
    const char *rest = whole(out, text);
    return rest ? rest : decimal(out, text);
}

const char *strait_source_double(double *out, const char *text)
{
    const char *rest = plain(out, text);
    char *end;
    if (rest)
        return rest;
    *out = strtod(text, &end);
    return end == text ? NULL : end;
}

bool strait_source_number(double *out, const char *text, const char *suffix, double min, double max)
{
    const char *rest = text ? plain(out, text) : NULL;
    if (!rest) {
        if (!text || !((*text >= '0' && *text <= '9') || strchr("+-.", *text)) || !*text ||
            strpbrk(text, "xXnN") || !(rest = strait_source_double(out, text)) || !isfinite(*out))
            return false;
    }
    return (!*rest || (suffix && strcmp(rest, suffix) == 0)) && *out >= min && *out <= max;
}

bool strait_source_integer(int64_t *out, const char *text, const char *suffix, int64_t min,
                           int64_t max)
{
    double x;
    int64_t digits = 0;
    const char *c = text;
    while (c && *c >= '0' && *c <= '9' && c < text + 15)
        digits = 10 * digits + (*c++ - '0');
    if (c > text && !*c) { /* as most are */
        *out = digits;
        return digits >= min && digits <= max;
    }
    if (!strait_source_number(&x, text, suffix, (double)min, (double)max) || x != floor(x) ||
        fabs(x) > 9007199254740992.0)
        return false;
    *out = (int64_t)x;
    return true;
}
