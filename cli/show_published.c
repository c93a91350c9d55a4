/* The table of published figures beside ours. */
#include <math.h>
#include <string.h>
#include "../analysis/fields.h"
#include "../analysis/table.h"
#include "published.h"

static void put_row(struct strait_table *t, const json_t *row)
{
    char text[STRAIT_NUMBER_CHARS];
    const json_t *ours = json_object_get(row, "ours");
    const double relative = json_number_value(json_object_get(row, "relative"));
    const bool figure = strcmp(strait_text_of(row, "kind"), "figure") == 0;
    strait_table_cell(t, strait_text_of(row, "case"));
    strait_table_cell(t, strait_text_of(row, "claim"));
    strait_table_cellf(
        t, "%s%s %s",
        figure                                             ? ""
        : strcmp(strait_text_of(row, "kind"), "from") == 0 ? "from "
                                                           : "up to ",
        strait_number_text(text, json_number_value(json_object_get(row, "published")), 4),
        strait_text_of(row, "unit"));
    if (json_is_number(ours))
        strait_table_cell(t, strait_number_text(text, json_number_value(ours), 4));
    else
        strait_table_cell(t, "-");
    if (!json_is_true(json_object_get(row, "reached")))
        strait_table_cell(t, "not reached");
    else if (figure)
        strait_table_cellf(t, "%+.1f %%", 100 * relative);
    else
        strait_table_cell(t, "reached");
}

/* Numbered below the table, since settings are longer than lines. */
static void put_settings(FILE *out, const json_t *rows)
{
    size_t i;
    json_t *row;
    fputs("\n", out);
    json_array_foreach(rows, i, row)
    {
        const char *setting = strait_text_of(row, "setting"),
                   *reason = strait_text_of(row, "reason");
        fprintf(out, "%2zu  %s: %s\n", i + 1, strait_text_of(row, "claim"),
                strait_text_of(row, "source"));
        if (*setting)
            fprintf(out, "    strait run %s\n", setting);
        if (*reason)
            fprintf(out, "    %s\n", reason);
    }
}

static void put_orders(FILE *out, const json_t *orders)
{
    size_t i, k;
    json_t *order, *text;
    json_array_foreach(orders, i, order)
    {
        const json_t *broken = json_object_get(order, "broken");
        fprintf(out, "%sorder of %s: %s\n", i == 0 ? "\n" : "", strait_text_of(order, "group"),
                json_array_size(broken) == 0 ? "as published" : "not as published");
        json_array_foreach(broken, k, text) fprintf(out, "    %s\n", json_string_value(text));
    }
}

int strait_show_published(FILE *out, const json_t *published, struct strait_error *err)
{
    const json_t *rows = json_object_get(published, "rows");
    struct strait_table *t = strait_table_new();
    size_t i;
    json_t *row;
    strait_table_column(t, "", true);
    strait_table_column(t, "case", false);
    strait_table_column(t, "claim", false);
    strait_table_column(t, "published", true);
    strait_table_column(t, "ours", true);
    strait_table_column(t, "difference", true);
    strait_table_rule(t);
    json_array_foreach(rows, i, row)
    {
        strait_table_cellf(t, "%zu", i + 1);
        put_row(t, row);
    }
    if (strait_table_finish(t, out, err) != 0)
        return -1;
    put_settings(out, rows);
    put_orders(out, json_object_get(published, "orders"));
    return 0;
}
