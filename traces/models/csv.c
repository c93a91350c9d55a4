/* The strict CSV reader. Quotes are not supported: none of our tables needs them. */
#include "csv.h"
#include "core/host.h"
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILE_BYTES = 256 * 1000 * 1000 };

int strait_csv_fail(const struct strait_csv *csv, struct strait_error *err, const char *format, ...)
{
    char text[384], where[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(where, sizeof where, "%s:%zu", csv->path, csv->line);
    return strait_refuse(err, where, "%s", text);
}

static int fail_open(const char *path, struct strait_error *err)
{
    if (errno == ENOENT || errno == EISDIR || errno == ENOTDIR || errno == EACCES)
        return strait_refuse(err, path, "expected a readable file, found: %s", strerror(errno));
    return strait_error_system(err, path, "cannot read");
}

/* The first control character that is not allowed, or NULL. CR is allowed only before LF. */
static const char *odd_byte(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '\r' && i + 1 < len && text[i + 1] == '\n')
            continue;
        if ((c < 32 && c != '\t' && c != '\n') || c == 127)
            return text + i;
    }
    return NULL;
}

int strait_csv_open(struct strait_csv *csv, const char *path, struct strait_error *err)
{
    *csv = (struct strait_csv){.path = path};
    FILE *f = strait_host_open(path);
    if (!f)
        return fail_open(path, err);
    struct stat st;
    size_t len = 0;
    int status = -1;
    if (fstat(fileno(f), &st) != 0) {
        strait_error_system(err, path, "cannot read");
        goto out;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > MAX_FILE_BYTES) {
        strait_refuse(err, path, "expected a file of at most 256 MB, found %s",
                      S_ISREG(st.st_mode) ? "a larger one" : "something else");
        goto out;
    }
    csv->text = malloc((size_t)st.st_size + 1);
    if (!csv->text) {
        strait_error_memory(err, path);
        goto out;
    }
    len = fread(csv->text, 1, (size_t)st.st_size, f);
    if (ferror(f)) {
        fail_open(path, err);
        goto out;
    }
    csv->text[len] = '\0';
    csv->cursor = csv->text;
    const char *odd = odd_byte(csv->text, len);
    if (odd) {
        csv->line = 1;
        for (const char *c = csv->text; c < odd; c++)
            csv->line += *c == '\n';
        strait_csv_fail(csv, err, "expected lines of text, found the byte 0x%02x",
                        (unsigned)(unsigned char)*odd);
        goto out;
    }
    status = 0;
out:
    fclose(f);
    return status;
}

void strait_csv_release(struct strait_csv *csv)
{
    free(csv->text);
    csv->text = csv->cursor = NULL;
}

/* The next line without its end, or NULL after the last. */
static char *next_line(struct strait_csv *csv)
{
    if (!csv->cursor || !*csv->cursor)
        return NULL;
    char *line = csv->cursor;
    char *end = strchr(line, '\n');
    csv->cursor = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    const size_t len = strlen(line);
    if (len > 0 && line[len - 1] == '\r')
        line[len - 1] = '\0';
    csv->line++;
    return line;
}

static char *trim(char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    size_t len = strlen(s);
    while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
        s[--len] = '\0';
    return s;
}

bool strait_csv_comment(struct strait_csv *csv, char **key, char **value)
{
    while (csv->cursor && *csv->cursor == '#') {
        char *line = next_line(csv) + 1;
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = '\0';
        *key = trim(line);
        *value = trim(colon + 1);
        return true;
    }
    return false;
}

int strait_csv_header(struct strait_csv *csv, const char *header, struct strait_error *err)
{
    csv->header = header;
    const char *line = next_line(csv);
    if (!line) {
        csv->line++;
        return strait_csv_fail(csv, err, "expected the header \"%s\", found the end of the file",
                               header);
    }
    if (strcmp(line, header) != 0)
        return strait_csv_fail(csv, err, "expected the header \"%s\", found \"%.60s\"", header,
                               line);
    return 0;
}

static size_t count_fields(const char *line)
{
    size_t n = 1;
    for (; *line; line++)
        n += *line == ',';
    return n;
}

int strait_csv_next(struct strait_csv *csv, bool *more, struct strait_error *err)
{
    *more = false;
    char *line = next_line(csv);
    if (!line)
        return 0;
    if (!*line) {
        const size_t blank = csv->line;
        while ((line = next_line(csv)) && !*line)
            ;
        if (!line)
            return 0;
        csv->line = blank;
        return strait_csv_fail(csv, err, "expected a row, found an empty line");
    }
    const size_t n_expected = count_fields(csv->header), n_found = count_fields(line);
    if (n_found != n_expected)
        return strait_csv_fail(csv, err, "expected %zu columns, found %zu", n_expected, n_found);
    csv->n_fields = 0;
    for (char *field = line; field;) {
        char *comma = strchr(field, ',');
        if (comma)
            *comma = '\0';
        csv->fields[csv->n_fields++] = field;
        field = comma ? comma + 1 : NULL;
    }
    *more = true;
    return 0;
}

/* Name of a column, cut from the header. Returns buf. */
static const char *column(const struct strait_csv *csv, size_t field, char *buf, size_t cap)
{
    const char *start = csv->header;
    for (size_t i = 0; i < field; i++)
        start = strchr(start, ',') + 1;
    snprintf(buf, cap, "%.*s", (int)strcspn(start, ","), start);
    return buf;
}

int strait_csv_number(const struct strait_csv *csv, double *out, size_t field, double min,
                      double max, struct strait_error *err)
{
    const char *text = csv->fields[field];
    char name[64], *end = NULL;
    double value = NAN;
    if (*text && strspn(text, "0123456789+-.eE") == strlen(text))
        value = strtod(text, &end);
    if (!end || *end || !isfinite(value))
        return strait_csv_fail(csv, err, "expected a number in column %s, found \"%.40s\"",
                               column(csv, field, name, sizeof name), text);
    if (value < min || value > max)
        return strait_csv_fail(csv, err,
                               "expected a number from %g to %g in column %s, found \"%.40s\"", min,
                               max, column(csv, field, name, sizeof name), text);
    *out = value;
    return 0;
}

int strait_csv_integer(const struct strait_csv *csv, size_t *out, size_t field, size_t max,
                       struct strait_error *err)
{
    const char *text = csv->fields[field];
    char name[64], *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (!*text || strspn(text, "0123456789") != strlen(text) || *end || errno || value > max)
        return strait_csv_fail(
            csv, err, "expected a whole number of at most %zu in column %s, found \"%.40s\"", max,
            column(csv, field, name, sizeof name), text);
    *out = (size_t)value;
    return 0;
}

bool strait_csv_is_utf8(const char *text)
{
    json_t *string = json_string(text);
    const bool taken = string != NULL;
    json_decref(string);
    return taken;
}

int strait_csv_text(const struct strait_csv *csv, char *out, size_t cap, size_t field,
                    struct strait_error *err)
{
    const char *text = csv->fields[field];
    char name[64];
    const size_t len = strlen(text);
    if (len == 0 || len >= cap)
        return strait_csv_fail(csv, err, "expected 1 to %zu characters in column %s, found %zu",
                               cap - 1, column(csv, field, name, sizeof name), len);
    if (!strait_csv_is_utf8(text))
        return strait_csv_fail(csv, err, "expected UTF-8 in column %s, found \"%.40s\"",
                               column(csv, field, name, sizeof name), text);
    memcpy(out, text, len + 1);
    return 0;
}
