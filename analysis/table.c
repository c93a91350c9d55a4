/* Text tables and numbers. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "table.h"

enum { MAX_COLUMNS = 96 };

struct strait_table {
    char *titles[MAX_COLUMNS];
    bool numbers[MAX_COLUMNS];
    size_t wraps[MAX_COLUMNS]; /* width of a line; 0: one line */
    const char *omits[MAX_COLUMNS];
    size_t n_columns;
    char **cells; /* row by row */
    size_t n_cells, cap_cells;
    bool *rules; /* by row: a line above */
    size_t cap_rules;
    bool failed;
};

struct strait_table *strait_table_new(void)
{
    return calloc(1, sizeof(struct strait_table));
}

void strait_table_free(struct strait_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_columns; i++)
        free(t->titles[i]);
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t->rules);
    free(t);
}

static bool is_ok(const struct strait_table *t)
{
    return t && !t->failed;
}

void strait_table_column(struct strait_table *t, const char *title, bool numbers)
{
    if (!is_ok(t))
        return;
    char *copy = t->n_columns < MAX_COLUMNS ? strdup(title) : NULL;
    if (!copy) {
        t->failed = true;
        return;
    }
    t->numbers[t->n_columns] = numbers;
    t->titles[t->n_columns++] = copy;
}

void strait_table_wrap(struct strait_table *t, size_t width)
{
    if (is_ok(t) && t->n_columns > 0)
        t->wraps[t->n_columns - 1] = width;
}

void strait_table_omit(struct strait_table *t, const char *text)
{
    if (is_ok(t) && t->n_columns > 0)
        t->omits[t->n_columns - 1] = text;
}

void strait_table_cell(struct strait_table *t, const char *text)
{
    if (!is_ok(t))
        return;
    if (t->n_cells == t->cap_cells) {
        const size_t cap = t->cap_cells ? 2 * t->cap_cells : 64;
        char **more = realloc(t->cells, cap * sizeof(*more));
        if (!more) {
            t->failed = true;
            return;
        }
        t->cells = more;
        t->cap_cells = cap;
    }
    char *copy = strdup(text ? text : "");
    if (copy)
        t->cells[t->n_cells++] = copy;
    else
        t->failed = true;
}

void strait_table_cellf(struct strait_table *t, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&text, format, args);
    va_end(args);
    if (n >= 0)
        strait_table_cell(t, text);
    else if (t)
        t->failed = true;
    if (n >= 0)
        free(text);
}

size_t strait_table_n_rows(const struct strait_table *t)
{
    return t->n_columns > 0 ? (t->n_cells + t->n_columns - 1) / t->n_columns : 0;
}

void strait_table_rule(struct strait_table *t)
{
    if (!is_ok(t))
        return;
    const size_t row = strait_table_n_rows(t);
    if (row >= t->cap_rules) {
        const size_t cap = 2 * row + 64;
        bool *more = realloc(t->rules, cap * sizeof(*more));
        if (!more) {
            t->failed = true;
            return;
        }
        memset(more + t->cap_rules, 0, (cap - t->cap_rules) * sizeof(*more));
        t->rules = more;
        t->cap_rules = cap;
    }
    t->rules[row] = true;
}

/* Take one code point from text, advancing it; a byte that is not UTF-8 stands for itself. */
static uint32_t next_code_point(const unsigned char **text)
{
    const unsigned char *p = *text;
    const unsigned n_more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0;
    uint32_t code = n_more == 0 ? p[0] : p[0] & (0x3fu >> n_more);
    for (unsigned i = 1; i <= n_more; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *text = p + 1;
            return p[0];
        }
        code = code << 6 | (p[i] & 0x3f);
    }
    *text = p + 1 + n_more;
    return code;
}

static size_t code_point_width(uint32_t c)
{
    if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || c == 0xfeff ||
        (c >= 0xfe00 && c <= 0xfe0f))
        return 0;
    if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
        (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
        (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
        (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd))
        return 2;
    return 1;
}

static size_t width_of(const char *text, size_t n_bytes)
{
    size_t width = 0;
    for (const unsigned char *p = (const unsigned char *)text;
         p < (const unsigned char *)text + n_bytes;)
        width += code_point_width(next_code_point(&p));
    return width;
}

/* Bytes of text's first line, whole words within `wrap` columns; 0: all of it. */
static size_t line_bytes(const char *text, size_t wrap)
{
    size_t end = wrap > 0 ? strcspn(text, " ") : strlen(text);
    while (text[end]) {
        const size_t more = end + 1 + strcspn(text + end + 1, " ");
        if (width_of(text, more) > wrap)
            break;
        end = more;
    }
    return end;
}

static void print_cell(FILE *out, const char *text, size_t n_bytes, size_t width, bool right,
                       bool last)
{
    const size_t own = width_of(text, n_bytes);
    const int pad = own < width ? (int)(width - own) : 0;
    if (right)
        fprintf(out, "%*s", pad, "");
    fwrite(text, 1, n_bytes, out);
    fprintf(out, "%*s%s", right || last ? 0 : pad, "", last ? "\n" : "  ");
}

static const char *cell_at(const struct strait_table *t, size_t row, size_t column)
{
    const size_t i = row * t->n_columns + column;
    return i < t->n_cells ? t->cells[i] : "";
}

/* The columns that are shown. */
static size_t choose_columns(size_t shown[MAX_COLUMNS], const struct strait_table *t)
{
    const size_t n_rows = strait_table_n_rows(t);
    size_t n = 0;
    for (size_t c = 0; c < t->n_columns; c++) {
        bool says_something = !t->omits[c] || n_rows == 0;
        for (size_t row = 0; row < n_rows && !says_something; row++)
            says_something = strcmp(cell_at(t, row, c), t->omits[c]) != 0;
        if (says_something)
            shown[n++] = c;
    }
    return n;
}

static void print_rule(FILE *out, const size_t *widths, size_t n)
{
    for (size_t c = 0; c < n; c++) {
        for (size_t i = 0; i < widths[c]; i++)
            fputs("\u2500", out);
        fputs(c + 1 == n ? "\n" : "  ", out);
    }
}

/* Print one row, with as many lines as its longest cell needs. */
static void print_row(const struct strait_table *t, size_t row, const size_t *shown, size_t n_shown,
                      const size_t *widths, FILE *out)
{
    const char *rest[MAX_COLUMNS];
    size_t n; /* no blanks at the end of a line */
    for (size_t c = 0; c < n_shown; c++)
        rest[c] = cell_at(t, row, shown[c]);
    do {
        for (n = n_shown; n > 1 && !*rest[n - 1];)
            n--;
        for (size_t c = 0; c < n; c++) {
            const size_t len = line_bytes(rest[c], t->wraps[shown[c]]);
            print_cell(out, rest[c], len, widths[c], t->numbers[shown[c]], c + 1 == n);
            rest[c] += len + (rest[c][len] == ' ');
        }
        for (n = n_shown; n > 0 && !*rest[n - 1];)
            n--;
    } while (n > 0);
}

static size_t column_width(const struct strait_table *t, size_t column)
{
    size_t width = strait_text_width(t->titles[column]);
    for (size_t row = 0; row < strait_table_n_rows(t); row++)
        for (const char *p = cell_at(t, row, column); *p;) {
            const size_t len = line_bytes(p, t->wraps[column]), own = width_of(p, len);
            if (own > width)
                width = own;
            p += len + (p[len] == ' ');
        }
    return width;
}

void strait_table_print(const struct strait_table *t, FILE *out)
{
    if (!is_ok(t) || t->n_columns == 0)
        return;
    size_t shown[MAX_COLUMNS], widths[MAX_COLUMNS];
    const size_t n = choose_columns(shown, t), n_rows = strait_table_n_rows(t);
    for (size_t c = 0; c < n; c++)
        widths[c] = column_width(t, shown[c]);
    for (size_t c = 0; c < n; c++)
        print_cell(out, t->titles[shown[c]], strlen(t->titles[shown[c]]), widths[c],
                   t->numbers[shown[c]], c + 1 == n);
    print_rule(out, widths, n);
    for (size_t row = 0; row < n_rows; row++) {
        if (row > 0 && row < t->cap_rules && t->rules[row])
            print_rule(out, widths, n);
        print_row(t, row, shown, n, widths, out);
    }
}

int strait_table_finish(struct strait_table *t, FILE *out, struct strait_error *err)
{
    const bool ok = is_ok(t);
    strait_table_print(t, out);
    strait_table_free(t);
    return ok ? 0 : strait_error_set(err, STRAIT_ERR_NOMEM, "table", "memory ran out");
}

size_t strait_text_width(const char *text)
{
    return width_of(text, strlen(text));
}

const char *strait_format_number(char buf[STRAIT_NUMBER_CHARS], double value, int digits)
{
    if (!isfinite(value)) {
        snprintf(buf, STRAIT_NUMBER_CHARS, "-");
        return buf;
    }
    const double size = fabs(value);
    if (size > 0 && (size < 1e-4 || size >= 1e7)) {
        snprintf(buf, STRAIT_NUMBER_CHARS, "%.*e", digits - 1, value);
        return buf;
    }
    int decimals = size > 0 ? digits - 1 - (int)floor(log10(size)) : 0;
    if (decimals < 0)
        decimals = 0;
    /* 9.9996 with four digits is 10.00 and not 10.000 */
    if (decimals > 0 && size * pow(10, decimals) + 0.5 >= pow(10, digits))
        decimals--;
    snprintf(buf, STRAIT_NUMBER_CHARS, "%.*f", decimals, value);
    return buf;
}

const char *strait_seconds_text(char buf[STRAIT_NUMBER_CHARS], double value_s)
{
    char number[STRAIT_NUMBER_CHARS];
    const double size_s = fabs(value_s);
    if (!isfinite(value_s)) {
        snprintf(buf, STRAIT_NUMBER_CHARS, "-");
    } else if (size_s >= 5999.5) { /* 100 minutes and more */
        const long minutes = lround(size_s / 60);
        snprintf(buf, STRAIT_NUMBER_CHARS, "%s%ld h %02ld min", value_s < 0 ? "-" : "",
                 minutes / 60, minutes % 60);
    } else if (size_s < 0.5e-9) { /* less than a nanosecond is rounding */
        snprintf(buf, STRAIT_NUMBER_CHARS, "0 s");
    } else if (size_s >= 0.9995) {
        snprintf(buf, STRAIT_NUMBER_CHARS, "%s s", strait_format_number(number, value_s, 4));
    } else if (size_s >= 0.9995e-3) {
        snprintf(buf, STRAIT_NUMBER_CHARS, "%s ms", strait_format_number(number, 1e3 * value_s, 3));
    } else {
        snprintf(buf, STRAIT_NUMBER_CHARS, "%s us", strait_format_number(number, 1e6 * value_s, 3));
    }
    return buf;
}

const char *strait_bytes_text(char buf[STRAIT_NUMBER_CHARS], double value_bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    char number[STRAIT_NUMBER_CHARS];
    size_t i = 0;
    while (i + 1 < sizeof(units) / sizeof(*units) && fabs(value_bytes) >= 999.5) {
        value_bytes /= 1000;
        i++;
    }
    if (!isfinite(value_bytes))
        snprintf(buf, STRAIT_NUMBER_CHARS, "-");
    else
        snprintf(buf, STRAIT_NUMBER_CHARS, "%s %s", strait_format_number(number, value_bytes, 3),
                 units[i]);
    return buf;
}
