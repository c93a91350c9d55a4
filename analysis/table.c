/* Text tables, cell by cell, and numbers as they stand in them. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "table.h"
#include "table_parts.h"

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

void strait_table_column(struct strait_table *t, const char *title, bool numbers)
{
    if (!strait_table_is_ok(t))
        return;
    char *copy = t->n_columns < STRAIT_TABLE_MAX_COLUMNS ? strdup(title) : NULL;
    if (!copy) {
        t->failed = true;
        return;
    }
    t->numbers[t->n_columns] = numbers;
    t->titles[t->n_columns++] = copy;
}

void strait_table_wrap(struct strait_table *t, size_t width)
{
    if (strait_table_is_ok(t) && t->n_columns > 0)
        t->wraps[t->n_columns - 1] = width;
}

void strait_table_omit(struct strait_table *t, const char *text)
{
    if (strait_table_is_ok(t) && t->n_columns > 0)
        t->omits[t->n_columns - 1] = text;
}

void strait_table_spare(struct strait_table *t)
{
    if (strait_table_is_ok(t) && t->n_columns > 0)
        t->spares[t->n_columns - 1] = true;
}

void strait_table_key(struct strait_table *t)
{
    if (strait_table_is_ok(t))
        t->n_keys = t->n_columns;
}

void strait_table_cell(struct strait_table *t, const char *text)
{
    if (!strait_table_is_ok(t))
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
    if (!strait_table_is_ok(t))
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
