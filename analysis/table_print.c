/* Text tables laid out: columns line up; where a terminal is too narrow, titles and texts take more
 * lines and then the columns that are left continue below. */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "core/host.h"
#include "table.h"
#include "table_parts.h"

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

size_t strait_text_width(const char *text)
{
    return width_of(text, strlen(text));
}

/* Bytes of text that fit into `width` columns, one letter at least. */
static size_t bytes_within(const char *text, size_t width)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n_bytes = 0;
    while (text[n_bytes]) {
        next_code_point(&p);
        const size_t more = (size_t)((const char *)p - text);
        if (n_bytes > 0 && width_of(text, more) > width)
            break;
        n_bytes = more;
    }
    return n_bytes;
}

/* Bytes of text's first line, whole words within `wrap` columns; 0: all of it. A longer word has
 * its own line, or with `cut` as many as it needs. */
static size_t line_bytes(const char *text, size_t wrap, bool cut)
{
    size_t end = wrap > 0 ? strcspn(text, " ") : strlen(text);
    if (cut && wrap > 0 && width_of(text, end) > wrap)
        return bytes_within(text, wrap);
    while (text[end]) {
        const size_t more = end + 1 + strcspn(text + end + 1, " ");
        if (width_of(text, more) > wrap)
            break;
        end = more;
    }
    return end;
}

/* --- columns ------------------------------------------------------------------------------ */

enum { MIN_COLUMNS = 8, MIN_CUT_COLUMNS = 2 }; /* to which a column of texts may shrink */

struct layout { /* columns side by side; arrays by their place */
    const struct strait_table *t;
    size_t shown[STRAIT_TABLE_MAX_COLUMNS], n;
    size_t wraps[STRAIT_TABLE_MAX_COLUMNS], widths[STRAIT_TABLE_MAX_COLUMNS];
    bool narrow; /* titles take several lines too */
    bool cut;    /* and so do words */
};

enum { TITLES = -1 }; /* the row of them */

static const char *cell_at(const struct strait_table *t, int64_t row, size_t column)
{
    const size_t i = (size_t)row * t->n_columns + column;
    return row == TITLES ? t->titles[column] : i < t->n_cells ? t->cells[i] : "";
}

/* Where the lines of a cell end. Numbers have one line, but not their titles. */
static size_t wrap_of(const struct layout *l, int64_t row, size_t place)
{
    const bool one_line = row == TITLES ? !l->narrow : l->t->numbers[l->shown[place]];
    return one_line ? 0 : row == TITLES ? l->widths[place] : l->wraps[place];
}

static size_t widest_line(const char *text, size_t wrap, bool cut)
{
    size_t width = 0;
    while (*text) {
        const size_t len = line_bytes(text, wrap, cut), own = width_of(text, len);
        width = own > width ? own : width;
        text += len + (text[len] == ' ');
    }
    return width;
}

static size_t column_width(const struct layout *l, size_t place)
{
    const size_t column = l->shown[place], n_rows = strait_table_n_rows(l->t);
    const bool number = l->t->numbers[column];
    const size_t least = l->cut && !number ? l->wraps[place] : 1;
    size_t width = widest_line(l->t->titles[column], l->narrow ? least : 0, l->cut && !number);
    for (size_t row = 0; row < n_rows; row++) {
        const size_t own =
            widest_line(cell_at(l->t, (int64_t)row, column), number ? 0 : l->wraps[place], l->cut);
        width = own > width ? own : width;
    }
    return width;
}

static void measure(struct layout *l)
{
    for (size_t i = 0; i < l->n; i++)
        l->widths[i] = column_width(l, i);
}

/* Columns of the terminal, two between each. */
static size_t total_width(const struct layout *l, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++)
        width += l->widths[i] + (i > 0 ? 2 : 0);
    return width;
}

/* Let texts of the first n columns take more lines, the widest first, until they are within `max`.
 * False: they cannot. */
static bool shrink(struct layout *l, size_t n, size_t max)
{
    bool stuck[STRAIT_TABLE_MAX_COLUMNS] = {false};
    const size_t least = l->cut ? MIN_CUT_COLUMNS : MIN_COLUMNS;
    while (total_width(l, n) > max) {
        size_t widest = n;
        for (size_t i = 0; i < n; i++)
            if (!l->t->numbers[l->shown[i]] && !stuck[i] && l->widths[i] > least &&
                (widest == n || l->widths[i] > l->widths[widest]))
                widest = i;
        if (widest == n)
            return false;
        l->wraps[widest] = l->widths[widest] - 1;
        const size_t width = column_width(l, widest);
        stuck[widest] = width >= l->widths[widest];
        if (stuck[widest])
            l->wraps[widest] = width;
        l->widths[widest] = width;
    }
    return true;
}

/* The columns that are shown, as wide as they like to be; spare ones too, or not. */
static struct layout wide(const struct strait_table *t, bool spare_too)
{
    struct layout l = {.t = t};
    const size_t n_rows = strait_table_n_rows(t);
    for (size_t c = 0; c < t->n_columns; c++) {
        bool says_something = !t->omits[c] || n_rows == 0;
        for (size_t row = 0; row < n_rows && !says_something; row++)
            says_something = strcmp(cell_at(t, (int64_t)row, c), t->omits[c]) != 0;
        if (says_something && (spare_too || !t->spares[c])) {
            l.wraps[l.n] = t->wraps[c];
            l.shown[l.n++] = c;
        }
    }
    measure(&l);
    return l;
}

/* --- lines -------------------------------------------------------------------------------- */

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

static void print_rule(FILE *out, const size_t *widths, size_t n)
{
    for (size_t c = 0; c < n; c++) {
        for (size_t i = 0; i < widths[c]; i++)
            fputs("\u2500", out);
        fputs(c + 1 == n ? "\n" : "  ", out);
    }
}

/* Print one row, with as many lines as its longest cell needs. */
static void print_row(const struct layout *l, int64_t row, FILE *out)
{
    const char *rest[STRAIT_TABLE_MAX_COLUMNS];
    size_t n; /* no blanks at the end of a line */
    for (size_t i = 0; i < l->n; i++)
        rest[i] = cell_at(l->t, row, l->shown[i]);
    do {
        for (n = l->n; n > 1 && !*rest[n - 1];)
            n--;
        for (size_t i = 0; i < n; i++) {
            const size_t len = line_bytes(rest[i], wrap_of(l, row, i), l->cut);
            print_cell(out, rest[i], len, l->widths[i], l->t->numbers[l->shown[i]], i + 1 == n);
            rest[i] += len + (rest[i][len] == ' ');
        }
        for (n = l->n; n > 0 && !*rest[n - 1];)
            n--;
    } while (n > 0);
}

static void print_block(const struct layout *l, FILE *out)
{
    const struct strait_table *t = l->t;
    print_row(l, TITLES, out);
    print_rule(out, l->widths, l->n);
    for (size_t row = 0; row < strait_table_n_rows(t); row++) {
        if (row > 0 && row < t->cap_rules && t->rules[row])
            print_rule(out, l->widths, l->n);
        print_row(l, (int64_t)row, out);
    }
}

/* The keys and, from column `first` on, as many others as fit; one at least. */
static struct layout block_of(const struct layout *all, size_t n_keys, size_t first, size_t max)
{
    struct layout l = *all;
    l.n = n_keys;
    for (size_t i = first; i < all->n; i++) {
        l.shown[l.n] = all->shown[i];
        l.wraps[l.n] = all->wraps[i];
        l.widths[l.n] = all->widths[i];
        if (l.n > n_keys && total_width(&l, l.n + 1) > max)
            break;
        l.n++;
    }
    if (!shrink(&l, l.n, max)) {
        l.cut = true;
        for (size_t i = 0; i < l.n; i++)
            l.wraps[i] = l.widths[i];
        shrink(&l, l.n, max);
    }
    return l;
}

/* Blocks one below the other, each with the columns that name its rows. */
static void print_blocks(struct layout *l, size_t max, FILE *out)
{
    const size_t asked = l->t->n_keys > 0 ? l->t->n_keys : 1;
    size_t n_keys = 0;
    while (n_keys + 1 < l->n && l->shown[n_keys] < asked)
        n_keys++;
    shrink(l, n_keys, max / 2);
    for (size_t first = n_keys; first < l->n;) {
        const struct layout block = block_of(l, n_keys, first, max);
        if (first > n_keys)
            fputc('\n', out);
        print_block(&block, out);
        first += block.n - n_keys;
    }
}

void strait_table_print_within(const struct strait_table *t, FILE *out, size_t max)
{
    if (!strait_table_is_ok(t) || t->n_columns == 0)
        return;
    struct layout l = wide(t, true);
    if (max == 0 || total_width(&l, l.n) <= max) {
        print_block(&l, out);
        return;
    }
    for (int spare_too = 1; spare_too >= 0; spare_too--) {
        struct layout one = wide(t, spare_too);
        one.narrow = true;
        measure(&one);
        if (shrink(&one, one.n, max)) {
            print_block(&one, out);
            return;
        }
    }
    l.narrow = true;
    measure(&l);
    print_blocks(&l, max, out);
}

bool strait_table_wide;

/* Columns for what goes there; 0: any number. */
static size_t columns_for(FILE *out)
{
    const size_t columns = strait_terminal_columns(fileno(out));
    return columns > 0 ? columns : strait_columns_asked();
}

void strait_table_print(const struct strait_table *t, FILE *out)
{
    strait_table_print_within(t, out, strait_table_wide ? 0 : columns_for(out));
}

int strait_table_finish(struct strait_table *t, FILE *out, struct strait_error *err)
{
    const bool ok = strait_table_is_ok(t);
    strait_table_print(t, out);
    strait_table_free(t);
    return ok ? 0 : strait_error_memory(err, "table");
}

void strait_prose(FILE *out, const char *format, ...)
{
    const size_t columns = columns_for(out);
    char *text = NULL, *rest = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        const size_t indent = strspn(line, " ");
        for (line += indent; *line;) {
            const size_t len =
                line_bytes(line, columns > indent ? columns - indent : columns, false);
            fprintf(out, "%*s%.*s\n", (int)indent, "", (int)len, line);
            line += len + (line[len] == ' ');
        }
    }
    free(text);
}
