#include "show_extras.h"

#include <stdio.h>
#include <string.h>

#include "analysis/fields.h"

enum { MAX_NOTES = 8 };

struct strait_extras strait_extras_find(const json_t *rows)
{
    struct strait_extras x = {0};
    size_t i;
    json_t *row, *value;
    const char *name;
    json_array_foreach (rows, i, row) {
        x.link |= strait_row_number(json_object_get(row, "bytes"), "link") > 0;
        json_object_foreach (json_object_get(row, "quality"), name, value) {
            bool known = !json_is_number(value);
            for (size_t k = 0; k < x.n_qualities && !known; k++)
                known = strcmp(x.qualities[k], name) == 0;
            if (!known && x.n_qualities < STRAIT_MAX_QUALITIES)
                x.qualities[x.n_qualities++] = name;
        }
    }
    return x;
}

void strait_extras_columns(struct strait_table *t, const struct strait_extras *x)
{
    if (x->link)
        strait_table_column(t, "link a round", true);
    for (size_t i = 0; i < x->n_qualities; i++) {
        char title[128];
        snprintf(title, sizeof(title), "%s %%", x->qualities[i]);
        for (char *p = title; (p = strchr(p, '_'));)
            *p = ' ';
        strait_table_column(t, title, true);
    }
}

void strait_extras_put(struct strait_table *t, const json_t *row, const struct strait_extras *x)
{
    char buf[STRAIT_NUMBER_CHARS];
    const double times =
        strait_row_number(row, "ranks") * (double)json_array_size(json_object_get(row, "rounds_s"));
    if (x->link)
        strait_table_cell(
            t, strait_bytes_text(buf,
                                 strait_row_number(json_object_get(row, "bytes"), "link") / times));
    for (size_t i = 0; i < x->n_qualities; i++)
        strait_table_cell(
            t,
            strait_format_number(
                buf, 100 * strait_row_number(json_object_get(row, "quality"), x->qualities[i]), 3));
}

void strait_extras_notes(FILE *out, const json_t *rows)
{
    const char *shown[MAX_NOTES];
    size_t i, n = 0;
    json_t *row;
    json_array_foreach (rows, i, row) {
        const char *of = strait_text_of(json_object_get(row, "quality"), "of");
        bool known = !*of;
        for (size_t k = 0; k < n && !known; k++)
            known = strcmp(shown[k], of) == 0;
        if (known || n == MAX_NOTES)
            continue;
        if (n == 0)
            fputs("\nRecall and errors are those of\n", out);
        strait_prose(out, "%s", of);
        shown[n++] = of;
    }
}
